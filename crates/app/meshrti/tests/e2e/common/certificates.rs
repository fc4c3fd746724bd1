//! An authority, and certificates that it has signed.

use std::path::PathBuf;

use carrier::ClientTls;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::server::Folder;

/// Files of an authority, a server on loopback and a federate.
pub(crate) struct Certificates {
    pub(crate) authority: PathBuf,
    pub(crate) server: (PathBuf, PathBuf),
    pub(crate) federate: (PathBuf, PathBuf),
    _folder: Folder,
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let mut params = CertificateParams::new(vec![]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = || KeyPair::generate().expect("there are random numbers");
        let issuer = CertifiedIssuer::self_signed(params, key()).expect("it signs itself");
        let issue = |name: &str, hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
            let (params, key) = (CertificateParams::new(hosts).expect("they are names"), key());
            let certificate = params.signed_by(&key, &issuer).expect("it is signed");
            let file = |what: &str, text: String| folder.write(&format!("{name}.{what}"), text);
            (file("pem", certificate.pem()), file("key", key.serialize_pem()))
        };
        let (server, federate) =
            (issue("server", &["localhost", "127.0.0.1"]), issue("federate", &["federate"]));
        Self { authority: folder.write("authority.pem", issuer.pem()), server, federate, _folder: folder }
    }

    /// `[tls]` of a server.
    pub(crate) fn settings(&self) -> String {
        let (certificate, key) = &self.server;
        format!("[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n")
    }

    /// How a federate without a certificate encrypts.
    pub(crate) fn trust(&self) -> ClientTls {
        ClientTls::new(&read(&self.authority)).expect("it is a certificate")
    }

    /// How a federate with a certificate encrypts.
    pub(crate) fn identity(&self) -> ClientTls {
        let (certificate, key) = &self.federate;
        ClientTls::with_certificate(&read(&self.authority), &read(certificate), &read(key)).expect("they fit")
    }
}

fn read(path: &PathBuf) -> Vec<u8> {
    std::fs::read(path).expect("it was written")
}
