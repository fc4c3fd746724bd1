//! Accounts, and what federates may do.

use std::path::PathBuf;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use federate::{ConnectError, Federate, FederateError, Options, bearer_token, plain_text_password};
use hla::Exception;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::common::certificates::Certificates;
use crate::common::server::{Folder, meshrti, run};
use crate::common::{Member, Server, eventually, join, options, range, soon};

/// The Argon2id hash of a password.
pub(crate) fn hash(password: &str) -> String {
    ::access::hash_password(password, [5; 16]).expect("it is a password")
}

/// A policy with three accounts.
fn policy() -> String {
    format!(
        r#"without-credentials = "guest"

[accounts.white-cell]
password = "{}"
may = ["do anything"]

[accounts.sim]
password = "{}"
roles = ["viewer"]
may = ["publish HLAobjectRoot.BaseEntity", "publish HLAinteractionRoot.WeaponFire"]
limits = {{ sessions = 2 }}

[accounts.guest]

[roles.viewer]
may = ["join Range", "subscribe *"]
may-not = ["subscribe HLAinteractionRoot.RadarSweep"]
"#,
        hash("all"),
        hash("some")
    )
}

/// A server with that policy and an audit log.
struct Range {
    folder: Folder,
    server: Server,
}

impl Range {
    fn new() -> Self {
        let folder = Folder::new();
        let policy = folder.write("access.toml", policy());
        let audit = folder.path().join("audit.jsonl");
        let server = Server::configured(&format!("[access]\npolicy = {policy:?}\naudit = {audit:?}\n"));
        Self { folder, server }
    }

    /// How an account connects.
    fn options(&self, password: &str) -> Options {
        let mut options = options(self.server.address());
        options.credentials = Some(plain_text_password(password).expect("it can be encoded"));
        options
    }

    async fn member(&self, password: &str, name: &str) -> Member {
        let (federate, callbacks) = soon(Federate::connect(self.options(password))).await.expect("it may");
        join(federate, callbacks, "Range", name).await.expect("it may")
    }

    /// The entries of the audit log, in which `operation` occurs.
    fn audit(&self, operation: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap_or_default();
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        entries.filter(|entry| entry["operation"].as_str().expect("a sentence").contains(operation)).collect()
    }
}

fn refused(result: Result<impl Sized, FederateError>, exception: Exception, words: &str) {
    let error = result.err().expect("it may not");
    assert!(error.is(exception) && error.to_string().contains(words), "{error}");
}

#[tokio::test]
async fn accounts_do_what_the_policy_allows() {
    let range_server = Range::new();
    let (boss, _callbacks) =
        soon(Federate::connect(range_server.options("white-cell:all"))).await.expect("it may");
    let (sim, _sim_callbacks) =
        soon(Federate::connect(range_server.options("sim:some"))).await.expect("it may");
    let none = "account `sim` may not create Range: no line of the access policy allows it";
    refused(soon(sim.create_federation_execution("Range", range())).await, Exception::Unauthorized, none);
    soon(boss.create_federation_execution("Range", range())).await.expect("it may");
    refused(
        soon(sim.destroy_federation_execution("Range")).await,
        Exception::Unauthorized,
        "may not destroy Range",
    );
    soon(sim.disconnect()).await.expect("it leaves");

    let (mut viewer, speaker) =
        (range_server.member("sim:some", "V").await, range_server.member("sim:some", "S").await);
    let model = viewer.model;
    soon(viewer.federate.subscribe_object_class_attributes(model.aircraft, [model.identifier]))
        .await
        .expect("it may");
    refused(
        soon(viewer.federate.subscribe_interaction_class(model.sweep)).await,
        Exception::RTIinternalError,
        "line 17, `may-not` of [roles.viewer]",
    );
    refused(
        soon(viewer.federate.publish_interaction_class(model.sweep)).await,
        Exception::RTIinternalError,
        "may not publish HLAinteractionRoot.RadarSweep in Range",
    );
    soon(speaker.federate.publish_object_class_attributes(model.aircraft, [model.identifier]))
        .await
        .expect("it may");
    let instance = speaker.registers().await;
    viewer.discovers().await;
    speaker.update(instance, 7).await;
    assert_eq!(viewer.reflects(instance).await, 7);

    // A third session of the account, and a guest.
    match soon(Federate::connect(range_server.options("sim:some"))).await.map(drop) {
        Err(ConnectError::Service { source, .. }) => {
            refused(Err::<(), _>(source), Exception::Unauthorized, "account `sim` has 2 sessions");
        }
        other => panic!("{other:?}"),
    }
    let (guest, callbacks) =
        soon(Federate::connect(options(range_server.server.address()))).await.expect("everybody may");
    let joins = soon(join(guest, callbacks, "Range", "G")).await;
    refused(joins, Exception::Unauthorized, "account `guest` may not join Range as G of type e2e");

    eventually("it is in the audit log", || range_server.audit("as G").len() == 1).await;
    let entry = &range_server.audit("create Range")[0];
    assert_eq!((&entry["account"], &entry["allowed"]), (&"sim".into(), &false.into()), "{entry}");
    let entry = &range_server.audit("subscribe HLAinteractionRoot.RadarSweep in Range")[0];
    assert_eq!((&entry["line"], &entry["address"]), (&17.into(), &"127.0.0.1".into()), "{entry}");
    let text = std::fs::read_to_string(range_server.folder.path().join("audit.jsonl")).expect("it is there");
    assert!(!text.contains("some") && !text.contains("argon2"), "no secret is in it");
}

#[tokio::test]
async fn a_changed_policy_counts_for_those_who_are_connected() {
    let range_server = Range::new();
    let (boss, _callbacks) =
        soon(Federate::connect(range_server.options("white-cell:all"))).await.expect("it may");
    soon(boss.create_federation_execution("Range", range())).await.expect("it may");
    let (mut leaving, staying) =
        (range_server.member("sim:some", "L").await, range_server.member("sim:some", "S").await);
    soon(leaving.federate.subscribe_interaction_class(leaving.model.fire)).await.expect("it may");

    range_server.folder.write("access.toml", "nonsense");
    eventually("it is refused", || range_server.server.log().contains("the former one still counts")).await;
    assert!(range_server.server.log().contains("access.toml:1:"), "{}", range_server.server.log());
    soon(boss.list_federation_executions()).await.expect("nothing has changed");

    let changed = policy().replace("subscribe *", "subscribe HLAobjectRoot");
    range_server.folder.write("access.toml", changed);
    let reason = leaving.loses_connection().await;
    let words =
        "the access policy has changed: account `sim` may not subscribe HLAinteractionRoot.WeaponFire";
    assert!(reason.contains(words), "{reason}");
    soon(
        staying
            .federate
            .subscribe_object_class_attributes(staying.model.aircraft, [staying.model.identifier]),
    )
    .await
    .expect("it still may");
    refused(
        soon(staying.federate.subscribe_interaction_class(staying.model.fire)).await,
        Exception::RTIinternalError,
        "no line of the access policy allows it",
    );
    eventually("it is in the audit log", || range_server.audit("stay connected").len() == 1).await;
}

#[tokio::test]
async fn a_certificate_is_an_account() {
    let (certificates, folder) = (Certificates::new(), Folder::new());
    let text = "[accounts.radar]\ncertificate = \"federate\"\nmay = [\"do anything\"]\n";
    let policy: PathBuf = folder.write("access.toml", text);
    let server = Server::with(
        &format!(
            "[access]\npolicy = {policy:?}\n{}client-authority = {:?}\nclient-certificates = \"optional\"\n",
            certificates.settings(),
            certificates.authority
        ),
        &["--listen", "any://127.0.0.1:0"],
    );
    let address = server.address().strip_prefix("any://").expect("it is that one").to_owned();
    for scheme in ["tls", "wss"] {
        let url = format!("{scheme}://{address}");
        let known = Options { tls: Some(certificates.identity()), ..options(&url) };
        let (federate, _callbacks) = soon(Federate::connect(known)).await.expect("it has the certificate");
        let name = format!("By {scheme}");
        soon(federate.create_federation_execution(&name, range())).await.expect("it may");
        let unknown = Options { tls: Some(certificates.trust()), ..options(&url) };
        match soon(Federate::connect(unknown)).await.map(drop) {
            Err(ConnectError::Service { source, .. }) => {
                refused(
                    Err::<(), _>(source),
                    Exception::Unauthorized,
                    "asks for credentials or a certificate",
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

/// An authority that signs tokens.
struct Signer(EcdsaKeyPair, SystemRandom);

impl Signer {
    fn new() -> Self {
        let (random, how) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(how, &random).expect("there are random numbers");
        Self(EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).expect("it was made here"), random)
    }

    /// Its public key, as a key set.
    fn keys(&self) -> String {
        let point = self.0.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|part| URL_SAFE_NO_PAD.encode(part));
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": x, "y": y }] }).to_string()
    }

    fn sign(&self, claims: &Value) -> String {
        let message = [json!({ "alg": "ES256", "typ": "JWT" }).to_string(), claims.to_string()]
            .map(|part| URL_SAFE_NO_PAD.encode(part))
            .join(".");
        let sign = self.0.sign(&self.1, message.as_bytes()).expect("it signs");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(sign.as_ref()))
    }
}

#[tokio::test]
async fn a_token_is_an_account_while_it_lasts() {
    let (folder, signer) = (Folder::new(), Signer::new());
    let text = "[accounts.crew]\ntoken = { roles = \"crew\" }\nmay = [\"do anything\"]\n";
    let (policy, keys) = (folder.write("access.toml", text), folder.write("keys.json", signer.keys()));
    let server = Server::configured(&format!(
        "[access]\npolicy = {policy:?}\n[access.tokens]\nkeys = {keys:?}\naudience = \"range\"\nissuer = \"login\"\n"
    ));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970").as_secs();
    let claims = |more: &[(&str, Value)]| {
        let mut claims = json!({ "iss": "login", "aud": "range", "roles": ["crew"], "exp": now + 600 });
        for (name, value) in more {
            claims[*name] = value.clone();
        }
        claims
    };
    let connect = async |token: &str| {
        let mut options = options(server.address());
        options.credentials = Some(bearer_token(token));
        soon(Federate::connect(options)).await
    };
    let good = signer.sign(&claims(&[]));
    let (federate, _callbacks) = connect(&good).await.expect("it is in order");
    soon(federate.create_federation_execution("Range", range())).await.expect("it may");

    let (_, rest) = good.split_once('.').expect("it has parts");
    let unsigned = format!(
        "{}.{}.",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#),
        rest.split_once('.').expect("a part").0
    );
    for (token, words) in [
        (signer.sign(&claims(&[("exp", json!(now - 120))])), "it has expired"),
        (signer.sign(&claims(&[("aud", json!("other"))])), "it is not for the audience \"range\""),
        (signer.sign(&claims(&[("roles", json!(["guest"]))])), "no account has the claims"),
        (Signer::new().sign(&claims(&[])), "no key of this server has signed it"),
        (unsigned, "no key of this server has signed it with \"none\""),
    ] {
        match connect(&token).await.map(drop) {
            Err(ConnectError::Service { source, .. }) => {
                refused(Err::<(), _>(source), Exception::Unauthorized, words);
            }
            other => panic!("{other:?}"),
        }
    }
    // Commands take it from a file.
    let file = folder.write("token", format!("{good}\n"));
    let ping = |flags: &[&str]| run(&[&["ping", server.address()], flags].concat());
    let file = file.to_str().expect("UTF-8");
    assert!(ping(&["--token-file", file]).status.success());
    assert!(!ping(&[]).status.success());
    assert!(!ping(&["--token-file", "nowhere"]).status.success());
    // The authority has another key from now on.
    let next = Signer::new();
    folder.write("keys.json", next.keys());
    eventually("it is read", || server.log().contains("the access policy was read again")).await;
    connect(&next.sign(&claims(&[]))).await.map(drop).expect("it is in order");
    connect(&good).await.map(drop).expect_err("its key is gone");
    soon(federate.list_federation_executions()).await.expect("who is connected stays");
}

#[tokio::test]
async fn the_certificate_of_a_server_is_renewed_without_a_restart() {
    let (first, second) = (Certificates::new(), Certificates::new());
    let server = Server::with(&first.settings(), &["--listen", "tls://127.0.0.1:0"]);
    let encrypted = |of: &Certificates| Options { tls: Some(of.trust()), ..options(server.address()) };
    let (federate, _callbacks) = soon(Federate::connect(encrypted(&first))).await.expect("it is trusted");
    for (new, old) in [(&second.server.1, &first.server.1), (&second.server.0, &first.server.0)] {
        std::fs::copy(new, old).expect("files can be copied");
    }
    eventually("it is read", || server.log().contains("the certificate for federates was read again")).await;
    soon(Federate::connect(encrypted(&second))).await.expect("it has the new certificate");
    soon(federate.list_federation_executions()).await.expect("connections stay");
    soon(Federate::connect(encrypted(&first))).await.err().expect("the old one is gone");
}

#[test]
fn an_operator_sees_the_accounts() {
    let range_server = Range::new();
    let password = range_server.folder.write("password", "white-cell:all\n");
    let output = run(&[
        "status",
        range_server.server.address(),
        "--access",
        "--password-file",
        password.to_str().expect("a path"),
    ]);
    let said = String::from_utf8(output.stdout).expect("it is UTF-8");
    for words in ["account", "white-cell", "guest", "any number", "operations allowed"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let output = run(&["status", range_server.server.address()]);
    let said = String::from_utf8(output.stderr).expect("it is UTF-8");
    assert!(said.contains("account `guest` may not see status"), "{said}");
}

#[test]
fn a_policy_is_checked_and_explained() {
    let folder = Folder::new();
    let file = folder.write("access.toml", policy());
    let file = file.to_str().expect("a path");
    let check = |more: &[&str]| {
        let output = run(&[&["access", "check", file], more].concat());
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).expect("it is UTF-8"))
    };
    let (status, said) = check(&[]);
    assert!(status == Some(0) && said.contains("white-cell") && said.contains("none needed"), "{said}");
    let (status, said) = check(&["--as", "sim", "--may", "join Range as Viewer"]);
    let words = "yes: account `sim` may join Range as Viewer: line 16, `may` of [roles.viewer]: join Range";
    assert!(status == Some(0) && said.contains(words), "{said}");
    let (status, said) = check(&["--as", "guest", "--may", "join Range as Viewer"]);
    assert!(status == Some(1) && said.contains("no: account `guest` may not join Range"), "{said}");
    let (status, said) = check(&["--as", "nobody", "--may", "connect"]);
    assert!(status == Some(2) && said.contains("there are: guest, sim, white-cell"), "{said}");
    let (status, said) = check(&["--as", "sim", "--may", "fly"]);
    assert!(status == Some(2) && said.contains("`fly` begins no operation"), "{said}");
    folder.write("access.toml", policy().replace("[accounts.guest]", "[accounts.guest]\nmay = [\"fly\"]"));
    let (status, said) = check(&[]);
    assert!(status == Some(2) && said.contains("access.toml:14:8"), "{said}");
}

#[test]
fn a_hash_is_that_of_the_password_of_a_file_the_environment_or_a_pipe() {
    let folder = Folder::new();
    let file = folder.write("password", "open sesame\n");
    let output = run(&["access", "hash", "--password-file", file.to_str().expect("a path")]);
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    let server = Server::configured(&format!("[access]\npassword = \"{}\"", text.trim()));
    let ping = meshrti()
        .args(["ping", server.address(), "--count", "1"])
        .env("MESHRTI_PASSWORD", "open sesame")
        .output()
        .expect("it starts");
    assert!(ping.status.success(), "{ping:?}");
    let empty = meshrti().args(["access", "hash"]).output().expect("it starts");
    assert!(!empty.status.success(), "there is no password");
}

/// A port that others reach, without accounts and encryption, is said, and may be refused.
#[test]
fn a_server_that_is_open_to_all_says_so() {
    let folder = Folder::new();
    let config = folder.write("meshrti.toml", "listen = [\"tcp://*:0\"]\n");
    let check = |more: &[&str]| {
        let output =
            run(&[&["serve", "--config", config.to_str().expect("a path"), "--check"], more].concat());
        (output.status.code(), String::from_utf8(output.stderr).expect("it is UTF-8"))
    };
    let (status, said) = check(&[]);
    assert!(
        status == Some(0) && said.contains("whoever reaches tcp://*:0 may join, read and write"),
        "{said}"
    );
    let (status, said) = check(&["--require-security"]);
    assert!(status == Some(2) && said.contains("`meshrti access hash` makes a password"), "{said}");
    let (status, said) = check(&["--require-security", "--listen", "tcp://127.0.0.1:0"]);
    assert_eq!(status, Some(0), "{said}");
}
