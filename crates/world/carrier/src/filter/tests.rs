//! Both ends of connections, with octets that are cut anywhere.

use super::*;
use crate::tls::ClientCertificates;
use proptest::prelude::*;
use std::sync::LazyLock;

/// An authority, and what it has signed.
struct Authority {
    pem: String,
    server: (String, String),
    client: (String, String),
}

static AUTHORITY: LazyLock<Authority> = LazyLock::new(authority);

fn authority() -> Authority {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    };
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let issue = |name: &str, purpose| {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    Authority {
        pem: issuer.pem(),
        server: issue("localhost", ExtendedKeyUsagePurpose::ServerAuth),
        client: issue("federate", ExtendedKeyUsagePurpose::ClientAuth),
    }
}

fn server_tls(clients: ClientCertificates<'_>) -> ServerTls {
    let (certificate, key) = &AUTHORITY.server;
    ServerTls::new(certificate.as_bytes(), key.as_bytes(), clients).unwrap()
}

fn at(carrier: Carrier, host: &str) -> ServerUrl {
    ServerUrl { carrier, host: host.to_owned(), port: 1 }
}

fn client_tls() -> ClientTls {
    ClientTls::new(AUTHORITY.pem.as_bytes()).unwrap()
}

/// One end, with what it has received.
struct End {
    filter: Option<Filter>,
    messages: BytesMut,
    flow: Flow,
}

impl End {
    fn new(filter: Option<Filter>) -> Self {
        Self { filter, messages: BytesMut::new(), flow: Flow::Open }
    }

    fn is_open(&self) -> bool {
        self.filter.as_ref().is_none_or(Filter::is_open)
    }

    /// Takes octets in parts of these lengths, in turns. Returns what it sends.
    fn take(&mut self, mut octets: BytesMut, parts: &[usize]) -> Result<BytesMut, CarrierError> {
        let mut out = BytesMut::new();
        let mut parts = parts.iter().cycle();
        while !octets.is_empty() {
            let part = octets.split_to(parts.next().copied().unwrap_or(1).clamp(1, octets.len()));
            match &mut self.filter {
                None => self.messages.extend_from_slice(&part),
                Some(filter) => {
                    self.flow = filter.receive(part, &mut self.messages)?;
                    filter.take_output(&mut out);
                }
            }
        }
        Ok(out)
    }

    fn send(&mut self, message: &[u8]) -> BytesMut {
        let (mut message, mut out) = (BytesMut::from(message), BytesMut::new());
        match &mut self.filter {
            None => out.unsplit(message),
            Some(filter) => filter.send(&mut message, &mut out),
        }
        out
    }
}

fn ends(carrier: Carrier, listening: Listening) -> (End, End) {
    let client = Filter::client(&at(carrier, "localhost"), Some(&client_tls())).unwrap();
    let server = Filter::server(listening, Some(&server_tls(ClientCertificates::None)));
    (End::new(client), End::new(server))
}

/// Exchanges what both ends have to say until they are silent.
fn open(client: &mut End, server: &mut End, parts: &[usize]) -> Result<(), CarrierError> {
    let mut from_client = BytesMut::new();
    if let Some(filter) = &mut client.filter {
        filter.take_output(&mut from_client);
    }
    while !from_client.is_empty() {
        let from_server = server.take(from_client, parts)?;
        from_client = client.take(from_server, parts)?;
    }
    Ok(())
}

fn carriers() -> impl Strategy<Value = (Carrier, Listening)> {
    (0..4_usize, any::<bool>()).prop_map(|(carrier, is_any)| {
        let carrier = Carrier::ALL[carrier];
        (carrier, if is_any { Listening::Any } else { Listening::For(carrier) })
    })
}

/// Messages as of the Federate Protocol: they begin with a zero.
fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let message = proptest::collection::vec(any::<u8>(), 0..40)
        .prop_flat_map(|octets| (Just(octets), prop_oneof![4 => 1..4_usize, 1 => Just(3_000)]))
        .prop_map(|(octets, times)| [&[0][..], &octets.repeat(times)].concat());
    proptest::collection::vec(message, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn messages_arrive_as_they_were_sent(
        (carrier, listening) in carriers(),
        parts in proptest::collection::vec(prop_oneof![1..9_usize, 1..20_000_usize], 1..5),
        there in messages(),
        back in messages(),
    ) {
        let (mut client, mut server) = ends(carrier, listening);
        open(&mut client, &mut server, &parts).unwrap();
        prop_assert!(client.is_open());
        for message in &there {
            let octets = client.send(message);
            let answers = server.take(octets, &parts).unwrap();
            client.take(answers, &parts).unwrap();
        }
        prop_assert!(server.is_open());
        prop_assert_eq!(&server.messages[..], &there.concat()[..]);
        for message in &back {
            let octets = server.send(message);
            let answers = client.take(octets, &parts).unwrap();
            prop_assert!(answers.is_empty());
        }
        prop_assert_eq!(&client.messages[..], &back.concat()[..]);
        let mut last = BytesMut::new();
        if let Some(filter) = &mut client.filter {
            filter.close(&mut last);
            server.take(last, &parts).unwrap();
            prop_assert_eq!(server.flow, Flow::Ended);
        }
    }

    #[test]
    fn no_octets_make_a_server_panic_or_grow(
        (_, listening) in carriers(),
        octets in proptest::collection::vec(any::<u8>(), 0..300),
        begin in prop_oneof![Just(&b""[..]), Just(&b"\x16\x03\x01"[..]), Just(&b"GET / HTTP/1.1\r\n"[..])],
        part in 1..300_usize,
    ) {
        let mut server = End::new(Filter::server(listening, Some(&server_tls(ClientCertificates::None))));
        let all = [begin, &octets].concat();
        let _ = server.take(BytesMut::from(&all[..]), &[part]);
        prop_assert!(server.messages.len() <= all.len());
    }
}

/// An open WebSocket of a server, as a client without a library sees it.
fn web_socket() -> End {
    let mut server = End::new(Filter::server(Listening::For(Carrier::WebSocket), None));
    let answer = server.take(BytesMut::from(REQUEST), &[usize::MAX]).unwrap();
    let answer = String::from_utf8(answer.to_vec()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    // The example of RFC 6455, 1.3.
    assert!(answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
    server
}

const REQUEST: &str = "GET / HTTP/1.1\r\nConnection: Upgrade\r\nHost: localhost:8080\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
                       Upgrade: websocket\r\n\r\n";

/// A frame of a client, masked with zeros.
fn frame(first: u8, payload: &[u8]) -> BytesMut {
    let mut frame = BytesMut::from(&[first, 0x80 | payload.len() as u8, 0, 0, 0, 0][..]);
    frame.extend_from_slice(payload);
    frame
}

#[test]
fn whole_messages_are_one_frame() {
    let mut server = web_socket();
    let mut out = server.send(&[0; 28]);
    assert_eq!(&out.split_to(2)[..], [0x82, 28]);
    assert_eq!(out.len(), 28);
    let mut out = server.send(&[0; 70_000]);
    assert_eq!(&out.split_to(10)[..], [0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]);
}

#[test]
fn control_frames_are_answered_between_those_of_a_message() {
    let mut server = web_socket();
    let mut octets = frame(0x02, &[0, 1]);
    octets.unsplit(frame(0x89, b"earlier"));
    octets.unsplit(frame(0x89, b"?"));
    octets.unsplit(frame(0x8a, b"unasked"));
    octets.unsplit(frame(0x80, &[2]));
    let answer = server.take(octets, &[usize::MAX]).unwrap();
    assert_eq!(&answer[..], [0x8a, 1, b'?'], "the latest ping is enough");
    assert_eq!(&server.messages[..], [0, 1, 2]);
    let answer = server.take(frame(0x88, &1001_u16.to_be_bytes()), &[1]).unwrap();
    assert_eq!((&answer[..], server.flow), (&[0x88, 2, 3, 0xe8][..], Flow::Ended));
    assert_eq!(server.take(frame(0x82, &[3]), &[1]), Ok(BytesMut::new()), "nothing counts after it");
    assert_eq!(server.messages.len(), 3);
}

#[test]
fn frames_that_break_the_rules_end_the_connection() {
    let long = [0x89, 0xfe, 0, 126, 0, 0, 0, 0];
    let endless = [0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let cases: [(&[u8], &str); 9] = [
        (&[0x82, 1, 0], "without a mask"),
        (&[0x81, 0x80, 0, 0, 0, 0], "text"),
        (&[0xc2, 0x80, 0, 0, 0, 0], "extension"),
        (&[0x83, 0x80, 0, 0, 0, 0], "opcode"),
        (&[0x80, 0x80, 0, 0, 0, 0], "continuation of no message"),
        (&[0x09, 0x80, 0, 0, 0, 0], "control frame in parts"),
        (&long, "more than 125"),
        (&endless, "63 bits"),
        (&[0x02, 0x80, 0, 0, 0, 0, 0x82, 0x80, 0, 0, 0, 0], "before the last one was over"),
    ];
    for (octets, why) in cases {
        for part in [1, 3, usize::MAX] {
            let error = web_socket().take(BytesMut::from(octets), &[part]).unwrap_err();
            assert!(error.to_string().contains(why), "{error}, {why}");
        }
    }
}

#[test]
fn requests_that_open_no_web_socket_are_told_why() {
    let page = REQUEST.replace("Host", "Origin: https://evil.example\r\nHost");
    let other = REQUEST.replace("Upgrade: websocket\r\n", "");
    for (request, status, why) in [
        (page, "403", "web page (`Origin: https://evil.example`)"),
        (other, "400", "Upgrade"),
        ("POST / HTTP/1.1\r\n\r\n".to_owned(), "400", "GET"),
        ("GET\r\n\r\n".to_owned(), "400", "handshake"),
    ] {
        let mut filter = Filter::server(Listening::For(Carrier::WebSocket), None).unwrap();
        let (mut messages, mut out) = (BytesMut::new(), BytesMut::new());
        let error = filter.receive(BytesMut::from(request.as_str()), &mut messages).unwrap_err();
        filter.take_output(&mut out);
        let answer = String::from_utf8_lossy(&out).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(error.to_string().contains(why) && answer.contains(why), "{error}: {answer}");
    }
    let mut server = End::new(Filter::server(Listening::For(Carrier::WebSocket), None));
    let endless = BytesMut::from(&vec![b'G'; 9_000][..]);
    assert_eq!(server.take(endless, &[7]), Err(CarrierError::HandshakeTooLong { max: 8192 }));
}

#[test]
fn who_does_not_encrypt_is_refused_where_it_must_be() {
    for carrier in [Carrier::Tls, Carrier::SecureWebSocket] {
        let (_, mut server) = ends(carrier, Listening::For(carrier));
        let result = server.take(BytesMut::from(&[0, 0, 0, 28][..]), &[4]);
        assert_eq!(result, Err(CarrierError::NotEncrypted(0)));
    }
    let mut without = End::new(Filter::server(Listening::Any, None));
    assert_eq!(without.take(BytesMut::from(&[HANDSHAKE][..]), &[1]), Err(CarrierError::NoCertificate));
}

#[test]
fn certificates_of_clients_are_verified() {
    let authorities = AUTHORITY.pem.as_bytes();
    let (certificate, key) = &AUTHORITY.client;
    let known = ClientTls::with_certificate(authorities, certificate.as_bytes(), key.as_bytes()).unwrap();
    let stranger = authority();
    let (certificate, key) = &stranger.client;
    let unknown = ClientTls::with_certificate(authorities, certificate.as_bytes(), key.as_bytes()).unwrap();
    let none = client_tls();
    let connect = |tls: &ClientTls, clients| {
        let client = Filter::client(&at(Carrier::Tls, "localhost"), Some(tls)).unwrap();
        let server = Filter::server(Listening::For(Carrier::Tls), Some(&server_tls(clients)));
        let (mut client, mut server) = (End::new(client), End::new(server));
        open(&mut client, &mut server, &[usize::MAX])?;
        server.take(client.send(&[0]), &[usize::MAX])
    };
    let (required, optional) =
        (ClientCertificates::Required(authorities), ClientCertificates::Optional(authorities));
    for (tls, clients, is_accepted) in [
        (&known, required, true),
        (&none, required, false),
        (&unknown, required, false),
        (&known, optional, true),
        (&none, optional, true),
        (&unknown, optional, false),
    ] {
        assert_eq!(connect(tls, clients).is_ok(), is_accepted, "{clients:?}");
    }
}

#[test]
fn a_client_trusts_no_other_authority_and_no_other_name() {
    let stranger = ClientTls::new(authority().pem.as_bytes()).unwrap();
    for (host, tls) in [("localhost", &stranger), ("elsewhere", &client_tls())] {
        let client = Filter::client(&at(Carrier::Tls, host), Some(tls)).unwrap();
        let (mut client, (_, mut server)) =
            (End::new(client), ends(Carrier::Tls, Listening::For(Carrier::Tls)));
        let error = open(&mut client, &mut server, &[usize::MAX]).unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}

#[test]
fn texts_without_certificates_are_refused_by_what_is_missing() {
    let (certificate, key) = &AUTHORITY.server;
    let other = &AUTHORITY.client.1;
    let refused = |certificate: &str, key: &str| {
        ServerTls::new(certificate.as_bytes(), key.as_bytes(), ClientCertificates::None)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refused(key, key), "the certificate: there is none in this PEM text");
    assert_eq!(refused(certificate, certificate), "the private key: there is none in this PEM text");
    assert!(refused(certificate, other).contains("keys"), "{}", refused(certificate, other));
    let none = ClientTls::new(b"").unwrap_err().to_string();
    assert_eq!(none, "the trusted authorities: there is none in this PEM text");
    let error = Filter::client(&at(Carrier::Tls, "localhost"), None).err().unwrap().to_string();
    assert_eq!(error, "it is not known which authorities to trust");
    let error = Filter::client(&at(Carrier::Tls, "not a host"), Some(&client_tls())).err().unwrap();
    assert_eq!(error.to_string(), "`not a host` is no name of a host");
}
