//! Accepted configurations, and the texts of errors.

use super::*;

fn error(text: &str) -> String {
    Config::parse(text, "meshrti.toml").expect_err("the text is wrong").to_string()
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(Config::parse("", "meshrti.toml").unwrap(), Config::default());
}

#[test]
fn units_and_addresses_are_read() {
    let text = r#"
        name = "west"
        listen = ["tcp://*:0", "localhost", "[::1]:99", "tls://*", "wss://[::1]", "any://10.0.0.1"]
        [limits]
        queue = "1MiB"
        [session]
        resume-window = "10min"
        handshake-timeout = "200ms"
        [fom]
        directories = ["foms"]
        [tls]
        certificate = "server.pem"
        key = "server.key"
    "#;
    let config = Config::parse(text, "meshrti.toml").unwrap();
    let listen: Vec<String> = config.listen.iter().map(ToString::to_string).collect();
    let encrypted = ["tls://*:15165", "wss://[::1]:443", "any://10.0.0.1:15164"];
    assert_eq!(listen, [&["tcp://*:0", "tcp://localhost:15164", "tcp://[::1]:99"], &encrypted[..]].concat());
    let tls = config.tls.expect("it is configured");
    assert_eq!((tls.client_authority, tls.client_certificates), (None, None));
    assert_eq!(config.limits.queue, 1 << 20);
    assert_eq!(config.session.resume_window, Duration::from_secs(600));
    assert_eq!(config.session.handshake_timeout, Duration::from_millis(200));
    assert_eq!(config.limits.sessions, Limits::default().sessions);
}

#[test]
fn a_misspelt_key_is_shown_with_the_keys_that_exist() {
    let text = "name = \"x\"\nlisen = []\n";
    assert_eq!(
        error(text),
        "meshrti.toml:2:1\n2 | lisen = []\n  | ^^^^^ unknown field `lisen`, expected one of `name`, `listen`, `limits`, \
         `access`, `session`, `federation`, `fom`, `shutdown`, `network`, `tls`"
    );
    assert!(error("[limits]\nsesions = 3").contains("meshrti.toml:2:1"));
    assert!(error("[limits]\nsesions = 3").contains("expected one of `memory`, `connections`"));
}

#[test]
fn a_wrong_value_is_shown_where_it_stands() {
    let text = error("[session]\nresume-window = \"10 parsecs\"");
    assert!(text.starts_with("meshrti.toml:2:17\n2 | resume-window = \"10 parsecs\""), "{text}");
    assert!(text.contains("is no length of time") && text.contains("\"200us\""), "{text}");
    let text = error("listen = [\"tcp://*\", \"quic://*\"]");
    assert!(
        text.contains("`quic` carries no federates (expected one of tcp, tls, ws, wss, any), in `quic://*`"),
        "{text}"
    );
    let text = error("[limits]\nqueue = \"lots\"");
    assert!(text.contains("`lots` is no size"), "{text}");
    assert!(error("listen = [").contains("meshrti.toml:1:"));
}

/// MAK's client in Python opens a session, waits for 10 s, and connects. A shorter limit locks it out.
#[test]
fn a_client_that_connects_late_is_waited_for() {
    let waits = Duration::from_secs(10);
    assert!(Config::default().session.connect_timeout >= waits * 2);
}

#[test]
fn values_that_make_no_node_are_refused() {
    assert!(error("listen = []").contains("`listen` is empty"));
    assert!(error("[limits]\nsessions = 0").contains("`limits.sessions` is 0"));
    assert!(error("[session]\nheartbeat-timeout = \"0s\"").contains("is zero"));
    assert!(error("[session]\nconnect-timeout = \"0s\"").contains("is zero"));
    assert!(error("[limits]\nsessions-per-address = 0").contains("`limits.sessions-per-address` is 0"));
    assert!(
        error("[limits]\nsessions = 9\nreserved-sessions = 9").contains("`limits.reserved-sessions` is 9")
    );
    assert!(error("[access]\nwrong-passwords = 0").contains("`access.wrong-passwords` is 0"));
    let lenient = Config::parse("[session]\nheartbeat-timeout = \"never\"", "meshrti.toml").unwrap();
    assert_eq!(lenient.session.heartbeat_timeout, None);
}

#[test]
fn a_password_is_a_hash_and_has_no_policy_beside_it() {
    let text = error("[access]\npassword = \"secret\"");
    assert!(text.starts_with("meshrti.toml:2:12\n2 | password = \"secret\""), "{text}");
    assert!(text.contains("this is no Argon2id hash") && text.contains("`meshrti access hash`"), "{text}");
    let both = "[access]\npassword = \"$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1\"\npolicy = \"p\"";
    assert!(error(both).contains("there is no other one"), "{}", error(both));
    assert!(error("[access]\naudit-size = \"1KiB\"").contains("`access.audit-size` is 1024"));
    assert!(error("[access]\nunencrypted-passwords = true").contains("unencrypted-passwords = true"));
    let tokens = "[access.tokens]\nkeys = \"k\"\naudience = \"a\"";
    assert!(error(tokens).contains("[access.tokens] needs `access.policy`"));
    assert!(error("[access.tokens]\nkeys = \"k\"").contains("missing field `audience`"));
    let kerberos = "[access.kerberos]\nservice = \"HLA@host\"\nkeytab = \"k\"";
    assert!(error(kerberos).contains("[access.kerberos] needs `access.policy`"));
    let missing = Config::parse("[access]\npolicy = \"/nowhere/access.toml\"", "meshrti.toml").unwrap();
    let why = missing.access.read_policy().unwrap_err().to_string();
    assert!(why.contains("/nowhere/access.toml") && why.contains("cannot be read"), "{why}");
}

#[test]
fn the_share_of_an_address_follows_the_sessions() {
    let limits = |text: &str| Config::parse(text, "meshrti.toml").unwrap().limits;
    let shares = |text| (limits(text).sessions_per_address(), limits(text).reserved_sessions());
    assert_eq!(shares(""), (1024, 256));
    assert_eq!(shares("limits.sessions = 2"), (64, 0));
    assert_eq!(shares("[limits]\nsessions-per-address = 5\nreserved-sessions = 1"), (5, 1));
}

#[test]
fn addresses_that_are_none() {
    let error = |text: &str| text.parse::<ListenAddress>().unwrap_err().to_string();
    for text in ["", "tcp://", ":15164", "::1", "a/b", "[::1", "[::1]x"] {
        assert!(error(text).contains("is no address to listen on"), "{text}");
    }
    assert!(error("host:http").contains("`http` is no port"));
    assert!(error("host:65536").contains("`65536` is no port"));
}

#[test]
fn a_directive_has_one_of_the_standards_names() {
    let text = |name: &str| format!("[federation]\nautomatic-resign = \"{name}\"\n");
    let config = Config::parse(&text("DeleteObjectsThenDivest"), "x.toml").unwrap();
    assert_eq!(config.federation.automatic_resign, AutomaticResign::DeleteObjectsThenDivest);
    let error = Config::parse(&text("Delete"), "x.toml").unwrap_err().to_string();
    assert!(error.contains("`NoAction`") && error.contains("`DeleteObjects`"), "{error}");
}

#[test]
fn saves_have_a_folder_or_no_place() {
    let saves = |text: &str| Config::parse(text, "x.toml").unwrap().federation.saves;
    assert_eq!(saves(""), StatePlace::Default);
    assert_eq!(saves("[federation]\nsaves = \"none\""), StatePlace::Nowhere);
    assert_eq!(saves("[federation]\nsaves = \"/var/saves\""), StatePlace::Directory("/var/saves".into()));
}

#[test]
fn encryption_needs_a_certificate() {
    let text = error("listen = [\"tls://*\"]");
    assert!(text.contains("`tls://*:15165` encrypts, and [tls] has no certificate and key for it"), "{text}");
    let tls = "[tls]\ncertificate = \"c\"\nkey = \"k\"\n";
    let text = error(&format!("{tls}client-certificates = \"required\""));
    assert!(text.contains("`tls.client-certificates` needs `tls.client-authority`"), "{text}");
    assert!(error("[tls]\nkey = \"k\"").contains("missing field `certificate`"));
    assert!(Config::parse(&format!("listen = [\"wss://*\"]\n{tls}"), "x").is_ok());
    assert!(Config::parse("listen = [\"any://*\"]", "x").is_ok(), "it may do without");
}
