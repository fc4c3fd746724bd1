//! Kerberos: tickets of a real KDC of the distribution, which each test starts for itself.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use federate::hla::api::Credentials;
use federate::{Callbacks, ConnectError, Federate, kerberos_token};
use hla::Exception;
use serde_json::Value;

use crate::common::server::{Folder, lasting_listener, meshrti, run};
use crate::common::{Server, create_and_join, eventually, helper, options, soon};

/// `required`: a test fails where there is no KDC, as in the gate, which installs one. `skip`: there is no
/// test.
const REQUIREMENT: &str = "MESHRTI_KERBEROS";
const PROGRAMS: [&str; 4] = ["krb5kdc", "kdb5_util", "kadmin.local", "kinit"];
const PASSWORD: &str = "open sesame";
/// The life of a ticket that is to expire. It has to last for one request to the KDC.
const SHORT_LIFE: Duration = Duration::from_secs(8);

/// A program of the KDC. Users have no folder of system programs in their path.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Whether there is a KDC for a test.
fn has_kdc() -> bool {
    let requirement = std::env::var(REQUIREMENT).unwrap_or_default();
    assert!(["", "required", "skip"].contains(&requirement.as_str()), "{REQUIREMENT}={requirement}");
    let missing: Vec<_> = PROGRAMS.into_iter().filter(|name| program(name).is_none()).collect();
    let why = match missing.is_empty() {
        true if requirement != "skip" => return true,
        true => format!("{REQUIREMENT} is `skip`"),
        false => {
            format!("{missing:?} not found (Debian: apt-get install krb5-kdc krb5-admin-server krb5-user)")
        }
    };
    assert_ne!(requirement, "required", "{why}");
    eprintln!("SKIPPED, Kerberos is NOT tested: {why}");
    false
}

/// A realm with its KDC, which ends when this is dropped.
struct Realm {
    name: &'static str,
    folder: Folder,
    kdc: Option<Child>,
}

impl Realm {
    async fn start(name: &'static str) -> Self {
        let mut realm = Self { name, folder: Folder::new(), kdc: None };
        let listener = lasting_listener();
        let address = listener.local_addr().expect("it listens");
        realm.folder.write("krb5.conf", realm.config(&address.to_string(), ""));
        // Another clock than that of the ticket counts for one second only.
        realm.folder.write("strict.conf", realm.config(&address.to_string(), "clockskew = 1"));
        let at = realm.folder.path().display();
        realm.folder.write(
            "kdc.conf",
            format!(
                "[kdcdefaults]\n kdc_listen = \"\"\n kdc_tcp_listen = {address}\n[realms]\n {name} = {{\n\
                 database_name = {at}/principal\n key_stash_file = {at}/stash\n acl_file = {at}/acl\n }}\n\
                 [logging]\n kdc = FILE:{at}/kdc.log\n"
            ),
        );
        std::fs::create_dir(realm.file("replays")).expect("a folder can be made");
        realm.run("kdb5_util", &["create", "-s", "-r", name, "-P", "master"], "");
        drop(listener);
        let kdc = realm
            .command(&program("krb5kdc").expect("it is there"), "none")
            .arg("-n")
            .stderr(Stdio::null())
            .spawn();
        realm.kdc = Some(kdc.expect("it starts"));
        eventually("the KDC listens", || TcpStream::connect(address).is_ok()).await;
        realm
    }

    /// The configuration of those that use the KDC at this address.
    fn config(&self, address: &str, more: &str) -> String {
        let name = self.name;
        format!(
            "[libdefaults]\n default_realm = {name}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n\
             dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n{more}\n\
             [realms]\n {name} = {{\n kdc = {address}\n }}\n[domain_realm]\n localhost = {name}\n"
        )
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Gives a command the environment of the realm, and the tickets of a cache.
    fn environ(&self, mut command: Command, cache: &str) -> Command {
        command.env("KRB5_CONFIG", self.file("krb5.conf")).env("KRB5_KDC_PROFILE", self.file("kdc.conf"));
        command.env("KRB5CCNAME", format!("FILE:{}", self.file(cache).display()));
        command.env("KRB5RCACHEDIR", self.file("replays")).env_remove("KRB5RCACHENAME");
        command.env_remove("KRB5_KTNAME").env_remove("KRB5_CLIENT_KTNAME").env("LC_ALL", "C");
        command
    }

    fn command(&self, program: &Path, cache: &str) -> Command {
        let mut command = self.environ(Command::new(program), cache);
        command.current_dir(self.folder.path()).stdout(Stdio::null());
        command
    }

    /// Runs a program of the KDC to its end, which has to be a good one.
    fn run(&self, name: &str, arguments: &[&str], input: &str) {
        let mut command = self.command(&program(name).expect("it is there"), "none");
        let mut child = command.args(arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        assert!(child.wait().expect("it is our child").success(), "{name} {arguments:?}");
    }

    /// A user, and the tickets of the user in a cache of that name.
    fn user(&self, name: &str) {
        self.run("kadmin.local", &["addprinc", "-pw", PASSWORD, name], "");
        self.run("kinit", &["-c", name, name], &format!("{PASSWORD}\n"));
    }

    /// A service, and the file with its keys.
    fn service(&self, name: &str) -> PathBuf {
        let file = self.file(&name.replace('/', "-"));
        self.run("kadmin.local", &["addprinc", "-randkey", name], "");
        self.run("kadmin.local", &["ktadd", "-k", file.to_str().expect("UTF-8"), name], "");
        file
    }

    /// A token, as the library for federates makes it, with the tickets of a cache.
    fn token(&self, cache: &str, service: &str) -> Vec<u8> {
        let command = helper::command(&["kerberos token", service]);
        let output = self.environ(command, cache).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let token = said.lines().find_map(|line| line.split_once("helper: token ").map(|(_, token)| token));
        STANDARD.decode(token.unwrap_or_else(|| panic!("{output:?}"))).expect("it is base64")
    }

    /// `meshrti`, with the tickets of a cache.
    fn meshrti(&self, cache: &str, arguments: &[&str]) -> Output {
        let mut command = self.environ(meshrti(), cache);
        command.args(arguments).output().expect("it starts")
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        if let Some(kdc) = &mut self.kdc {
            let _ = kdc.kill();
            let _ = kdc.wait();
        }
    }
}

/// Says a token: the work of a helper, because an environment belongs to a process.
pub(crate) fn say_token(service: &str) {
    let token = kerberos_token(service).expect("there is a ticket");
    assert_eq!(token.r#type, "Kerberos");
    helper::say(&format!("token {}", STANDARD.encode(&token.data)));
}

/// A server for the account `crew`, with an audit log.
struct Range {
    server: Server,
    audit: PathBuf,
}

impl Range {
    /// A server with the keys of `keytab`. It reads the Kerberos configuration `config`.
    fn start(realm: &Realm, keytab: &Path, config: &str) -> Self {
        let policy = "[accounts.crew]\nprincipal = \"alice@RANGE.TEST\"\nmay = [\"do anything\"]\n";
        let policy = realm.folder.write("access.toml", policy);
        let audit = realm.file(&format!("audit-{config}.jsonl"));
        let mut command = realm.environ(meshrti(), "none");
        command.env("KRB5_CONFIG", realm.file(config));
        let server = Server::of_command(
            command,
            &format!(
                "[access]\npolicy = {policy:?}\naudit = {audit:?}\n\
                 [access.kerberos]\nservice = \"HLA@localhost\"\nkeytab = {keytab:?}\n"
            ),
        );
        Self { server, audit }
    }

    fn options(&self, data: &[u8]) -> federate::Options {
        let mut options = options(self.server.address());
        let data = data.to_vec().into();
        options.credentials = Some(Credentials { r#type: "Kerberos".to_owned(), data });
        options
    }

    async fn connect(&self, token: &[u8]) -> Result<(Federate, Callbacks), ConnectError> {
        soon(Federate::connect(self.options(token))).await
    }

    /// The server refuses a token: the federate is not told why, and the audit log is.
    async fn refuses(&self, token: &[u8], why: &str) {
        let before = self.reasons().len();
        match self.connect(token).await.map(drop) {
            Err(ConnectError::Service { source, .. }) => {
                assert!(source.is(Exception::Unauthorized), "{source}");
                assert!(source.to_string().ends_with("the Kerberos token is refused"), "{source}");
            }
            other => panic!("{why}: {other:?}"),
        }
        eventually("it is in the audit log", || self.reasons().len() > before).await;
        let reason = self.reasons().pop().expect("it is there");
        assert!(reason.contains(why), "{why}: {reason}");
    }

    /// The reasons of refused connections.
    fn reasons(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.audit).unwrap_or_default();
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        entries.filter_map(|entry| Some(entry["reason"].as_str()?.to_owned())).collect()
    }
}

#[tokio::test]
async fn a_ticket_of_a_real_kdc_is_an_account() {
    if !has_kdc() {
        return;
    }
    let (realm, other) = (Realm::start("RANGE.TEST").await, Realm::start("OTHER.TEST").await);
    let keytab = realm.service("HLA/localhost");
    realm.service("other/localhost");
    other.service("HLA/localhost");
    for (realm, user) in [(&realm, "alice"), (&realm, "bob"), (&other, "alice")] {
        realm.user(user);
    }
    let life = format!("{}s", SHORT_LIFE.as_secs());
    realm.run("kinit", &["-l", &life, "-c", "short", "alice"], &format!("{PASSWORD}\n"));
    let (expiring, made) = (realm.token("short", "HLA@localhost"), Instant::now());

    let range = Range::start(&realm, &keytab, "krb5.conf");
    let good = realm.token("alice", "HLA@localhost");
    let member = create_and_join(range.options(&good), "Range", "Alice").await;
    range.refuses(&good, "replay").await;
    range.refuses(&realm.token("bob", "HLA@localhost"), "no account has the principal bob@RANGE.TEST").await;
    range.refuses(&realm.token("alice", "other@localhost"), "other/localhost@RANGE.TEST").await;
    range.refuses(&other.token("alice", "HLA@localhost"), "HLA/localhost@OTHER.TEST").await;
    let mut forged = realm.token("alice", "HLA/localhost@RANGE.TEST");
    *forged.last_mut().expect("it is not empty") ^= 1;
    range.refuses(&forged, "integrity").await;
    // The forgery did not use the token up.
    *forged.last_mut().expect("it is not empty") ^= 1;
    range.connect(&forged).await.map(drop).expect("it is in order again");
    let frame = forged.len();
    forged[17..frame].fill(0);
    range.refuses(&forged, ": ").await;
    match range.connect(b"no token").await.map(drop) {
        Err(ConnectError::Service { source, .. }) => assert!(source.is(Exception::InvalidCredentials)),
        other => panic!("{other:?}"),
    }

    // A server that begins again remembers the tokens. This one allows clocks to differ by a second.
    let strict = Range::start(&realm, &keytab, "strict.conf");
    eventually("the ticket has expired", || made.elapsed() > SHORT_LIFE + Duration::from_secs(3)).await;
    strict.refuses(&expiring, "expired").await;
    soon(member.federate.list_federation_executions()).await.expect("who is connected stays");
    drop(range);
    let again = Range::start(&realm, &keytab, "krb5.conf");
    again.refuses(&good, "replay").await;
}

#[tokio::test]
async fn commands_show_a_ticket() {
    if !has_kdc() {
        return;
    }
    let realm = Realm::start("RANGE.TEST").await;
    let keytab = realm.service("HLA/localhost");
    realm.user("alice");
    let range = Range::start(&realm, &keytab, "krb5.conf");
    let ping = |cache: &str, service: &str| {
        let output = realm.meshrti(cache, &["ping", range.server.address(), "--kerberos", service]);
        (output.status.code(), String::from_utf8(output.stderr).expect("it is UTF-8"))
    };
    let (status, said) = ping("alice", "HLA@localhost");
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = ping("nobody", "HLA@localhost");
    let none = "there is no Kerberos token for the server: No Kerberos credentials available";
    assert!(status == Some(1) && said.contains(none) && said.contains("`kinit` gets a ticket"), "{said}");
    let (status, said) = ping("alice", "unknown@localhost");
    assert!(status == Some(1) && said.contains("unknown/localhost@RANGE.TEST not found"), "{said}");
    let (status, said) = ping("alice", "HLA");
    assert!(status == Some(2) && said.contains("`HLA` is no service"), "{said}");
    let bench = |service: &str| {
        let address = range.server.address();
        let counts =
            ["--kind", "update", "--size", "16", "--samples", "5", "--slices", "1", "--warm-up", "1"];
        let mut command = realm.environ(meshrti(), "alice");
        command.args(["bench", "ping", "--server", address]).args(counts);
        command.env("MESHRTI_KERBEROS_SERVICE", service).output().expect("it starts")
    };
    let output = bench("HLA@localhost");
    assert!(output.status.success(), "each connection shows a token of its own: {output:?}");
    let said = format!("{:?}", bench("unknown@localhost"));
    assert!(said.contains("unknown/localhost@RANGE.TEST not found"), "{said}");
    let policy = realm.file("access.toml");
    let output = run(&["access", "check", policy.to_str().expect("UTF-8")]);
    let said = String::from_utf8(output.stdout).expect("it is UTF-8");
    assert!(said.contains("principal") && said.contains("alice@RANGE.TEST"), "{said}");
}

/// Whatever is missing is missed when the server starts, and named.
#[test]
fn a_server_without_keys_or_library_does_not_start() {
    let folder = Folder::new();
    let policy = folder.write("access.toml", "[accounts.crew]\nprincipal = \"alice@RANGE.TEST\"\n");
    let keytab = folder.write("keytab", "no keys");
    let check = |service: &str, keytab: &Path, libraries: &Path| {
        let config = format!(
            "[access]\npolicy = {policy:?}\n[access.kerberos]\nservice = {service:?}\nkeytab = {keytab:?}\n"
        );
        let config = folder.write("meshrti.toml", config);
        let output = meshrti()
            .args(["serve", "--check", "--listen", "tcp://127.0.0.1:0", "--config"])
            .arg(config)
            .env("LD_LIBRARY_PATH", libraries)
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).expect("it is UTF-8")
    };
    let nowhere = Path::new("");
    let said = check("HLA", &keytab, nowhere);
    assert!(said.contains("access.kerberos: `HLA` is no service"), "{said}");
    let said = check("HLA@localhost", Path::new("/no/such/keytab"), nowhere);
    assert!(said.contains("/no/such/keytab: cannot read the keytab"), "{said}");
    if has_kdc() {
        let said = check("HLA@localhost", &keytab, nowhere);
        assert!(said.contains(keytab.to_str().expect("UTF-8")), "{said}");
    }
    // The loader finds a file of this name first, and it is no library.
    if cfg!(target_os = "linux") {
        folder.write("libgssapi_krb5.so.2", "no library");
        let said = check("HLA@localhost", &keytab, folder.path());
        assert!(said.contains("Kerberos needs the library libgssapi_krb5.so.2"), "{said}");
    }
}
