use super::*;

#[test]
fn a_service_is_host_based_or_a_principal() {
    for (text, is_principal) in
        [("HLA@host.example", false), ("HLA/host.example", true), ("HLA/host.example@EXAMPLE.ORG", true)]
    {
        let service: Service = text.parse().unwrap();
        assert_eq!((service.text.as_str(), service.is_principal), (text, is_principal));
    }
    for text in ["", "HLA", "HLA@", "@host", "HLA@a@b", "HLA/", "/host@R", "HLA/a@", "HLA/a/b@R", "H A@b"] {
        assert_eq!(text.parse::<Service>(), Err(Error::Service(text.to_owned())), "{text}");
    }
}

#[test]
fn a_library_that_is_missing_is_named_with_the_remedy() {
    let error = gss::Library::load("libno-such-library-of-kerberos.so.2").err().unwrap().to_string();
    for words in ["libgssapi_krb5.so.2", "apt-get install", "libno-such-library-of-kerberos.so.2"] {
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_keytab_that_cannot_be_read_is_named() {
    let error = Acceptor::new("HLA@host", Path::new("/no/such/file")).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file: cannot read the keytab: "), "{error}");
}

/// Where the library is installed, every function that needs no KDC is called, with what it takes and
/// with what it refuses.
#[test]
fn the_library_says_what_is_wrong() {
    if gss::library().is_err() {
        return;
    }
    let file = std::env::temp_dir().join(format!("meshrti-keytab-{}", std::process::id()));
    std::fs::write(&file, "no keys").unwrap();
    let error = Acceptor::new("HLA/localhost@NOWHERE", &file).unwrap_err().to_string();
    std::fs::write(&file, KEYTAB).unwrap();
    let acceptor = Acceptor::new("HLA/localhost@NOWHERE", &file);
    let other = Acceptor::new("other/localhost@NOWHERE", &file).unwrap_err().to_string();
    let garbage = acceptor.as_ref().unwrap().accept(b"\x60\x00garbage").unwrap_err();
    std::fs::remove_file(&file).unwrap();
    let path = file.display().to_string();
    assert!(error.starts_with(&path) && other.starts_with(&path), "{error}; {other}");
    assert!(other.contains("No key table entry found"), "{other}");
    assert!(matches!(&garbage, Error::Refused(why) if why.contains("token")), "{garbage}");
}

/// A keytab with one key of the principal `HLA/localhost@NOWHERE`, in MIT's format, version 2: aes256-cts,
/// version 1 of the key, whose octets are all 7.
const KEYTAB: &[u8] = &{
    let mut octets = [7; 78];
    let head =
        *b"\x05\x02\0\0\0\x48\0\x02\0\x07NOWHERE\0\x03HLA\0\x09localhost\0\0\0\x01\0\0\0\0\x01\0\x12\0\x20";
    let mut i = 0;
    while i < head.len() {
        octets[i] = head[i];
        i += 1;
    }
    octets
};
