//! Connect calls under an access policy: the order in which passwords are verified, and the end of
//! sessions that a changed policy does not cover.

use access::hash_password;
use base::{Address, Moment, Serial31};
use bytes::BytesMut;
use fedpro::frame::{Control, Decoder, Message, MessageType, Numbers, ResumeStatus, put_control, put_hla};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, Credentials, Message as _};
use hla::encoding::{KERBEROS_TOKEN, PLAIN_TEXT_PASSWORD, encode_plain_text_password};
use kernel::{AccessRecord, Certificate, Config, ConnId, KerberosVerifier, Kernel, NoFoms, Policy};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

fn here() -> Address {
    IpAddr::V4(Ipv4Addr::LOCALHOST).into()
}

/// An address of another host.
const THERE: Address = Address::numbered(7);

/// A server and its clients. A connection has the number of its session.
struct World {
    kernel: Kernel,
    now: Moment,
    numbers: u32,
}

fn policy(more: &str) -> Policy {
    let hash = |password| hash_password(password, [3; 16]).unwrap();
    Policy::read(&format!(
        "[accounts.crew]\npassword = \"{}\"\nmay = [\"do anything\"]\n{more}\n\
         [accounts.sim]\ncertificate = \"sim-host\"\nmay = [\"join *\"]\nmay-not = [\"see status\"]\n",
        hash("open sesame"),
    ))
    .unwrap()
}

impl World {
    fn new(policy: Policy) -> Self {
        let config = Config { policy: Some(policy), passwords_wrong_max: 3, ..Config::default() };
        Self { kernel: Kernel::new(config, Box::new(NoFoms)), now: Moment::ZERO, numbers: 0 }
    }

    /// Opens a session.
    fn open(&mut self, address: Address, conn: u64) {
        self.kernel.handle_open(self.now, ConnId(conn), address, conn);
        self.begin(conn);
    }

    /// Opens a session over a connection that encrypts.
    fn open_secured(&mut self, address: Address, conn: u64, name: Option<&str>) {
        self.kernel.handle_open(self.now, ConnId(conn), address, conn);
        let certificate = |name: &str| Certificate { digest: [0xab; 32], names: vec![name.to_owned()] };
        self.kernel.handle_secured(ConnId(conn), name.map(certificate));
        self.begin(conn);
    }

    fn begin(&mut self, conn: u64) {
        let mut hello = BytesMut::new();
        put_control(&mut hello, 0, Numbers::default(), Control::NewSession { version: 1 });
        self.kernel.handle_bytes(self.now, ConnId(conn), hello.freeze());
        assert_eq!(self.read(conn).len(), 1, "the session is opened");
    }

    fn call(&mut self, conn: u64, call: Call) {
        self.numbers += 1;
        let body = api::CallRequest { call_request: Some(call) }.encode_to_vec();
        let mut out = BytesMut::new();
        let numbers = Numbers { sequence: Serial31::new(self.numbers), last_received: None };
        put_hla(&mut out, MessageType::CallRequest, conn, numbers, None, &body);
        self.kernel.handle_bytes(self.now, ConnId(conn), out.freeze());
    }

    fn connect(&mut self, conn: u64, password: Option<&str>) {
        let credentials = password.map(|text| Credentials {
            r#type: PLAIN_TEXT_PASSWORD.to_owned(),
            data: encode_plain_text_password(text).unwrap(),
        });
        self.call(
            conn,
            match credentials {
                None => Call::ConnectRequest(api::ConnectRequest {}),
                some => Call::ConnectWithCredentialsRequest(api::ConnectWithCredentialsRequest {
                    credentials: some,
                }),
            },
        );
    }

    /// Verifies the password that is to be verified next. Returns whether there was one.
    fn verify(&mut self) -> bool {
        let Some(check) = self.kernel.poll_credentials_check() else { return false };
        self.kernel.finish_credentials_check(self.now, check.run(0));
        true
    }

    fn read(&mut self, conn: u64) -> Vec<Message> {
        let (mut out, mut decoder) = (BytesMut::new(), Decoder::new(1 << 20));
        while self.kernel.poll_transmit(self.now, ConnId(conn), &mut out, 1 << 20).more {}
        decoder.push(out.freeze());
        std::iter::from_fn(|| decoder.next_frame().unwrap()).map(|frame| frame.message().unwrap()).collect()
    }

    /// The responses: empty ones, or the details of exceptions.
    fn answers(&mut self, conn: u64) -> Vec<Result<(), String>> {
        let response = |message| match message {
            Message::CallResponse { body, .. } => {
                Some(match api::CallResponse::decode(body).unwrap().call_response {
                    Some(Answer::ExceptionData(raised)) => {
                        Err(format!("{}: {}", raised.exception_name, raised.details))
                    }
                    _ => Ok(()),
                })
            }
            _ => None,
        };
        self.read(conn).into_iter().filter_map(response).collect()
    }

    fn records(&mut self) -> Vec<AccessRecord> {
        std::iter::from_fn(|| self.kernel.poll_access_record()).collect()
    }
}

fn list() -> Call {
    Call::ListFederationExecutionsRequest(api::ListFederationExecutionsRequest {})
}

fn refused(answers: &[Result<(), String>], words: &str) {
    assert!(matches!(answers, [Err(text)] if text.contains(words)), "{answers:?}");
}

#[test]
fn nobody_waits_for_the_password_of_another() {
    let mut world = World::new(policy(""));
    for conn in [1, 2] {
        world.open(here(), conn);
        world.connect(conn, Some("crew:open sesame"));
        world.call(conn, list());
        assert_eq!(world.answers(conn), [], "its calls wait for the password");
    }
    let check = world.kernel.poll_credentials_check().unwrap();
    assert!(world.kernel.poll_credentials_check().is_none(), "one at a time");
    world.open_secured(here(), 3, Some("sim-host"));
    world.connect(3, None);
    world.call(3, list());
    assert_eq!(world.answers(3), [Ok(()), Ok(())], "it needs no password");
    world.kernel.finish_credentials_check(world.now, check.run(0));
    assert_eq!(world.answers(1), [Ok(()), Ok(())]);
    assert_eq!(world.answers(2), [Ok(()), Ok(())], "the password is known by now");
    assert!(!world.verify());
}

#[test]
fn a_session_that_ends_while_its_password_is_verified_holds_up_nobody() {
    let mut world = World::new(policy(""));
    for conn in [1, 2] {
        world.open(here(), conn);
    }
    world.connect(1, Some("crew:wrong"));
    world.connect(2, Some("crew:open sesame"));
    let check = world.kernel.poll_credentials_check().unwrap();
    world.kernel.handle_closed(world.now, ConnId(1));
    world.now += Duration::from_secs(3);
    world.kernel.handle_timeout(world.now);
    world.kernel.finish_credentials_check(world.now, check.run(0));
    assert!(world.verify());
    assert_eq!(world.answers(2), [Ok(())]);
}

#[test]
fn wrong_passwords_are_counted_for_their_address() {
    let mut world = World::new(policy(""));
    let secured = |world: &mut World, address, conn, password| {
        world.open_secured(address, conn, None);
        world.connect(conn, Some(password));
    };
    for conn in 1..=5 {
        secured(&mut world, THERE, conn, "crew:wrong");
    }
    while world.verify() {}
    for conn in 1..=3 {
        refused(&world.answers(conn), "Unauthorized: wrong account or password");
    }
    for conn in 4..=5 {
        refused(&world.answers(conn), "too many wrong passwords from this address");
    }
    secured(&mut world, here(), 6, "crew:open sesame");
    assert!(world.verify());
    assert_eq!(world.answers(6), [Ok(())], "another address is not concerned");
    let records = world.records();
    assert!(records[..5].iter().all(|record| !record.allowed && record.account.is_none()), "{records:?}");
    assert_eq!((records[5].account.as_deref(), records[5].allowed), (Some("crew"), true));
}

#[test]
fn a_password_from_another_host_must_come_encrypted() {
    let mut world = World::new(policy(""));
    world.open(THERE, 1);
    world.connect(1, Some("crew:open sesame"));
    refused(&world.answers(1), "must come encrypted");
    assert!(!world.verify(), "it is not looked at");
    let mut world = World::new(policy("").with_unencrypted_passwords(true));
    world.open(THERE, 1);
    world.connect(1, Some("crew:open sesame"));
    assert!(world.verify());
    assert_eq!(world.answers(1), [Ok(())]);
}

#[test]
fn an_account_has_so_many_sessions_and_no_more() {
    let mut world = World::new(policy("limits = { sessions = 1 }"));
    for conn in [1, 2] {
        world.open(here(), conn);
        world.connect(conn, Some("crew:open sesame"));
    }
    while world.verify() {}
    assert_eq!(world.answers(1), [Ok(())]);
    refused(&world.answers(2), "account `crew` has 1 sessions at this node, as many as it may have");
    world.call(1, Call::DisconnectRequest(api::DisconnectRequest {}));
    world.connect(2, Some("crew:open sesame"));
    assert_eq!(world.answers(2), [Ok(())]);
}

#[test]
fn a_session_that_sends_too_much_is_not_read_for_a_while() {
    let mut world = World::new(policy("limits = { bytes-per-second = 10_000 }"));
    for conn in [1, 2] {
        world.open_secured(here(), conn, (conn == 2).then_some("sim-host"));
        world.connect(conn, (conn == 1).then_some("crew:open sesame"));
    }
    assert!(world.verify());
    let flood = |world: &mut World, conn| (0..1_000).for_each(|_| world.call(conn, list()));
    flood(&mut world, 1);
    flood(&mut world, 2);
    assert!(world.kernel.is_paused(ConnId(1)) && !world.kernel.is_paused(ConnId(2)));
    assert_eq!(world.answers(1).len(), 1_001, "what was read is served");
    world.now = world.kernel.poll_timeout().unwrap();
    assert!(world.now > Moment::ZERO && world.now < Moment::from_secs(10), "{}", world.now);
    world.kernel.handle_timeout(world.now);
    assert_eq!(world.kernel.poll_released(), Some(ConnId(1)));
    assert!(!world.kernel.is_paused(ConnId(1)));
    flood(&mut world, 1);
    assert!(world.kernel.is_paused(ConnId(1)));
    world.kernel.set_policy(world.now, policy(""));
    assert_eq!(world.kernel.poll_released(), Some(ConnId(1)), "the limit was lifted");
    assert!(!world.kernel.is_paused(ConnId(1)));
}

#[test]
fn the_state_of_the_server_is_for_those_who_may_see_it() {
    let mut world = World::new(policy(""));
    let ask = || {
        let additional_settings = kernel::report::REPORT_SETTING.to_owned();
        let configuration = api::RtiConfiguration { additional_settings, ..Default::default() };
        Call::ConnectWithConfigurationRequest(api::ConnectWithConfigurationRequest {
            rti_configuration: Some(configuration),
        })
    };
    world.open_secured(here(), 1, Some("sim-host"));
    world.call(1, ask());
    refused(&world.answers(1), "account `sim` may not see status: line");
    world.call(1, list());
    refused(&world.answers(1), "NotConnected");
    world.connect(1, None);
    assert_eq!(world.answers(1), [Ok(())]);
}

#[test]
fn a_changed_policy_ends_the_sessions_that_it_does_not_cover() {
    let mut world = World::new(policy(""));
    world.open(here(), 1);
    world.connect(1, Some("crew:open sesame"));
    assert!(world.verify());
    for conn in [2, 3] {
        world.open_secured(here(), conn, Some("sim-host"));
        world.connect(conn, None);
    }
    (1..=3).for_each(|conn| assert_eq!(world.answers(conn), [Ok(())]));
    world.records();
    world.kernel.set_policy(world.now, policy(""));
    assert_eq!(world.records(), [], "nothing has changed");
    let smaller = "[accounts.sim]\ncertificate = \"sim-host\"\n[accounts.new]\ncertificate = \"x\"";
    world.kernel.set_policy(world.now, Policy::read(smaller).unwrap());
    let records = world.records();
    let [ended] = &records[..] else { panic!("{records:?}") };
    assert_eq!((ended.account.as_deref(), ended.operation.as_str()), (Some("crew"), "stay connected"));
    assert!(ended.reason.as_ref().unwrap().contains("the account no longer exists"), "{ended:?}");
    world.call(2, list());
    assert_eq!(world.answers(2), [Ok(())], "it still has its account");
    assert!(!world.read(1).is_empty(), "it is told why");
    world.call(1, list());
    assert_eq!(world.answers(1), [], "and nothing more");
}

#[test]
fn a_session_number_is_worth_nothing_without_the_certificate() {
    let mut world = World::new(policy(""));
    world.open_secured(here(), 1, Some("sim-host"));
    world.connect(1, None);
    assert_eq!(world.answers(1), [Ok(())]);
    for (conn, certificate) in [(2, None), (3, Some(None)), (4, Some(Some([0xcd; 32])))] {
        world.kernel.handle_open(world.now, ConnId(conn), here(), conn);
        if let Some(digest) = certificate {
            let certificate = digest.map(|digest| Certificate { digest, names: vec!["sim-host".to_owned()] });
            world.kernel.handle_secured(ConnId(conn), certificate);
        }
        let mut resume = BytesMut::new();
        let request = Control::ResumeRequest { last_received: None, oldest_available: None };
        put_control(&mut resume, 1, Numbers::default(), request);
        world.kernel.handle_bytes(world.now, ConnId(conn), resume.freeze());
        let unknown = Control::ResumeStatus { status: ResumeStatus::UnknownSession, last_received: None };
        assert_eq!(world.read(conn), [Message::Control(unknown)], "as if there were no such session");
    }
    world.call(1, list());
    assert_eq!(world.answers(1), [Ok(())], "nothing has happened to it");
}

#[test]
fn no_password_is_recorded() {
    let mut world = World::new(policy(""));
    world.open(here(), 1);
    world.connect(1, Some("crew:secret"));
    while world.verify() {}
    let text = format!("{:?}", world.records());
    assert!(text.contains("wrong account or password") && !text.contains("secret"), "{text}");
}

/// Refuses all tokens.
#[derive(Debug)]
struct OtherKeys;

impl KerberosVerifier for OtherKeys {
    fn verify(&self, _token: &[u8]) -> Result<String, String> {
        Err("no key for it".to_owned())
    }
}

#[test]
fn the_reason_against_a_kerberos_token_is_for_the_audit_log_alone() {
    let policy = policy("").with_kerberos(Some(std::sync::Arc::new(OtherKeys)));
    let mut world = World::new(policy);
    let token = b"\x60\x0d\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01\x00";
    for conn in 1..=4 {
        world.open(here(), conn);
        let credentials = Credentials { r#type: KERBEROS_TOKEN.to_owned(), data: token[..].into() };
        let request = api::ConnectWithCredentialsRequest { credentials: Some(credentials) };
        world.call(conn, Call::ConnectWithCredentialsRequest(request));
        assert_eq!(world.verify(), conn <= 3, "after three wrong ones the address has to wait");
        let answers = world.answers(conn);
        if conn <= 3 {
            assert_eq!(answers, [Err("Unauthorized: the Kerberos token is refused".to_owned())]);
        }
    }
    let reasons: Vec<_> = world.records().into_iter().filter_map(|record| record.reason).collect();
    assert_eq!(reasons[..3], ["the Kerberos token is refused: no key for it"; 3]);
    assert!(reasons[3].contains("wrong"), "{reasons:?}");
}
