//! An authority in a folder, and what nodes and OpenSSL think of its files.

use super::authority::{Authority, TrustError};
use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("meshrti-trust-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn keys_are_secret_and_never_replaced() {
    let folder = Scratch::new("keys");
    Authority::init(&folder.0, 10 * DAY).unwrap();
    assert!(matches!(Authority::init(&folder.0, DAY), Err(TrustError::NotEmpty(_))));
    let mut authority = Authority::open(&folder.0).unwrap();
    assert!(matches!(Authority::open(&folder.0), Err(TrustError::InUse(_))));
    authority.add("A", &["a.example".to_owned(), "192.0.2.7".to_owned()], DAY).unwrap();
    let read = |name: &str| std::fs::read(folder.0.join(name)).unwrap();
    let (key, certificate) = (read("A.key"), read("A.pem"));
    assert!(matches!(authority.add("a", &[], DAY), Err(TrustError::Exists(_))));
    authority.renew("A", 100 * DAY).unwrap();
    assert_eq!(read("A.key"), key);
    assert_ne!(read("A.pem"), certificate);
    assert_eq!(authority.entries()[1].names(), ["A", "a.example", "192.0.2.7"]);
    assert!(authority.entries()[1].until() < SystemTime::now() + 11 * DAY, "no longer than the authority");
    assert_eq!(authority.revoke("A").unwrap(), 2);
    assert_eq!(authority.revoke("A").unwrap(), 0);
    assert!(matches!(authority.renew("A", DAY), Err(TrustError::Unknown(_))));
    assert!(matches!(authority.revoke("B"), Err(TrustError::Unknown(_))));
    authority.add("A", &[], DAY).unwrap();
    assert_ne!(read("A.key"), key);
    for name in ["", "authority", "Revocations", "../x", "a/b", "1", "a..b", "a b", "-a"] {
        assert!(matches!(authority.add(name, &[], DAY), Err(TrustError::Name(_))), "{name}");
    }
    #[cfg(unix)]
    for (name, mode) in [("", 0o700), ("A.key", 0o600), ("authority.key", 0o600), ("register.toml", 0o600)] {
        use std::os::unix::fs::PermissionsExt as _;
        let permissions = std::fs::metadata(folder.0.join(name)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn nodes_take_its_files() {
    let folder = Scratch::new("nodes");
    Authority::init(&folder.0, 10 * DAY).unwrap();
    Authority::open(&folder.0).unwrap().add("A", &[], DAY).unwrap();
    let file = |name: &str| Some(folder.0.join(name));
    let tls = node::config::network::LinkTls {
        certificate: file("A.pem"),
        key: file("A.key"),
        authority: file("authority.pem"),
        revocations: file("revocations.pem"),
        ..Default::default()
    };
    node::link::check_certificates(&tls).unwrap();
}
