//! Certificates of links over TLS and QUIC: which side checks the other, and when.
//!
//! | configured | the node that connects checks | the node that is connected to checks |
//! | --- | --- | --- |
//! | nothing (QUIC only) | nothing: encrypted, not authenticated | nothing |
//! | `pin` of the link | that the other has exactly that certificate, and its key | nothing |
//! | `authority` | that the authority vouches for the other, and the host of a URL without a node's name | that the authority vouches for the other |
//!
//! The authority vouches for a certificate if it has signed it, if it is in date and not revoked, and
//! if it is for servers and for clients. A certificate that is for clients alone, as federates have,
//! makes no node. With a pin and an authority, the node that connects checks both.
//!
//! The machines exchange names later. The overlay compares them with [`Proof::names`].

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};

use super::Fingerprint;
use super::alerts::in_words;
use crate::config::network::LinkTls;
use crate::file_stamp::{FileStamp, stamps};

/// The name of the protocol in the TLS handshake (ALPN).
const PROTOCOL: &[u8] = b"meshrti-link/1";

/// The certificate of a node, and the certificates that it accepts.
pub(crate) struct Keys {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    authority: Option<Arc<Authority>>,
    provider: Arc<CryptoProvider>,
    server: Arc<rustls::ServerConfig>,
    /// The files as they were before they were read.
    stamps: Vec<FileStamp>,
}

/// The authorities that a node trusts, and what they have revoked.
#[derive(Debug)]
struct Authority {
    roots: Arc<RootCertStore>,
    verifier: Arc<dyn ClientCertVerifier>,
}

/// Reads the files of `[network.tls]`, and drops their content.
///
/// # Errors
/// A file cannot be read, or its content is of no use. The error names the file.
pub fn check_certificates(settings: &LinkTls) -> Result<(), String> {
    Keys::new(settings).map(drop).map_err(|why| format!("[network.tls]: {why}"))
}

/// The proof of who is at the other end of a link.
pub(crate) struct Proof {
    /// The certificate of the other node, and those of its authorities.
    pub(crate) chain: Arc<[CertificateDer<'static>]>,
    /// The keys that found it valid.
    pub(crate) checked: Arc<Keys>,
}

impl Proof {
    /// The names that the certificate proves.
    pub(crate) fn names(&self) -> Vec<String> {
        let certificate =
            self.chain.first().and_then(|certificate| webpki::EndEntityCert::try_from(certificate).ok());
        certificate.iter().flat_map(|certificate| certificate.valid_dns_names()).map(str::to_owned).collect()
    }
}

impl Keys {
    /// The configured keys. Without a certificate, it makes one that lives as long as the process.
    pub(crate) fn new(settings: &LinkTls) -> Result<Self, String> {
        let stamps = stamps(settings.files()); // first: a file that changes meanwhile is to be read again
        let (certificates, key) = match (&settings.certificate, &settings.key) {
            (Some(certificate), Some(key)) => (read_certificates(certificate)?, read_key(key)?),
            _ => make()?,
        };
        let provider = Arc::new(ring::default_provider());
        let revocations =
            settings.revocations.as_deref().map(read_revocations).transpose()?.unwrap_or_default();
        let authority = match &settings.authority {
            None => None,
            Some(path) => {
                let fail = |error: &dyn std::fmt::Display| format!("authority {}: {error}", path.display());
                let mut roots = RootCertStore::empty();
                for certificate in read_certificates(path)? {
                    roots.add(certificate).map_err(|error| fail(&error))?;
                }
                Some(Authority::new(roots, revocations, &provider).map_err(|error| fail(&error))?)
            }
        };
        let authority = authority.map(Arc::new);
        let server = server(&provider, authority.as_ref(), (&certificates, &key)).map_err(|error| {
            let file = settings.key.as_deref().unwrap_or(Path::new("made here"));
            format!("private key {}: {error}", file.display())
        })?;
        Ok(Self { certificates, key, authority, provider, server: Arc::new(server), stamps })
    }

    /// Whether the files are those that these keys were read from.
    pub(crate) fn is_current(&self, settings: &LinkTls) -> bool {
        self.stamps == stamps(settings.files())
    }

    /// Whether the peer of every link is checked.
    pub(crate) fn checks(&self) -> bool {
        self.authority.is_some()
    }

    /// The SHA-256 of the node's own certificate.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.certificates.first().map_or(Fingerprint([0; 32]), |certificate| sha256(certificate))
    }

    /// Whether the authority still vouches for the peer of a link.
    pub(crate) fn check(&self, chain: &[CertificateDer<'static>]) -> Result<(), String> {
        let (Some(authority), Some((certificate, others))) = (&self.authority, chain.split_first()) else {
            return Ok(());
        };
        authority.vouch(certificate, others, UnixTime::now()).map_err(|error| in_words(&error))
    }

    /// The settings for accepting links.
    pub(crate) fn server(&self) -> Arc<rustls::ServerConfig> {
        Arc::clone(&self.server)
    }

    /// The settings for making a link to a peer whose certificate may be known. `host`: the
    /// certificate has to name the host that the node connects to.
    pub(crate) fn client(
        &self,
        pin: Option<Fingerprint>,
        host: bool,
    ) -> Result<rustls::ClientConfig, String> {
        let (authority, provider) = (self.authority.clone(), Arc::clone(&self.provider));
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(text)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier { authority, pin, host, provider }));
        let mut tls = match &self.authority {
            Some(_) => builder
                .with_client_auth_cert(self.certificates.clone(), self.key.clone_key())
                .map_err(text)?,
            None => builder.with_no_client_auth(),
        };
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        tls.resumption = Resumption::disabled();
        Ok(tls)
    }
}

/// The settings for accepting links, with this certificate and its key.
fn server(
    provider: &Arc<CryptoProvider>,
    authority: Option<&Arc<Authority>>,
    (certificates, key): (&[CertificateDer<'static>], &PrivateKeyDer<'static>),
) -> Result<rustls::ServerConfig, String> {
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(text)?;
    let builder = match authority {
        None => builder.with_no_client_auth(),
        Some(authority) => builder.with_client_cert_verifier(Arc::<Authority>::clone(authority)),
    };
    let mut tls = builder.with_single_cert(certificates.to_vec(), key.clone_key()).map_err(text)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    // A session that is resumed would not look at the certificate again: it may be revoked by now.
    tls.send_tls13_tickets = 0;
    tls.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(tls)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes a self-signed certificate.
fn make() -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let made = rcgen::generate_simple_self_signed(vec!["meshrti".to_owned()])
        .map_err(|error| format!("cannot make a certificate for QUIC links: {error}"))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

/// The sections of a PEM file, of which there has to be one.
fn read_sections<T: PemObject>(what: &str, path: &Path) -> Result<Vec<T>, String> {
    let fail = |why: String| format!("{what} {}: {why}", path.display());
    let sections: Result<Vec<_>, _> =
        T::pem_file_iter(path).map_err(|error| fail(error.to_string()))?.collect();
    let sections = sections.map_err(|error| fail(error.to_string()))?;
    if sections.is_empty() { Err(fail("there is none in the file".to_owned())) } else { Ok(sections) }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    read_sections("certificate", path)
}

fn read_revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    read_sections("revocation list", path)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("private key {}: {error}", path.display()))
}

fn sha256(octets: &[u8]) -> Fingerprint {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let hash = suite.tls13().map(|suite| suite.common.hash_provider.hash(octets));
    let mut fingerprint = [0; 32];
    if let Some(hash) = hash {
        fingerprint.copy_from_slice(hash.as_ref());
    }
    Fingerprint(fingerprint)
}

impl Authority {
    fn new(
        roots: RootCertStore,
        revocations: Vec<CertificateRevocationListDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, rustls::client::VerifierBuilderError> {
        let roots = Arc::new(roots);
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(provider));
        let verifier = builder.with_crls(revocations).build()?;
        Ok(Self { roots, verifier })
    }

    /// Checks the signatures, the dates, the revocations and both purposes.
    fn vouch(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        self.verifier.verify_client_cert(certificate, others, now)?;
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = ring::default_provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, others, now, algorithms)
    }
}

/// Checks the certificate of the node that is connected to. In every case that must have its key.
#[derive(Debug)]
struct Verifier {
    authority: Option<Arc<Authority>>,
    pin: Option<Fingerprint>,
    host: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.pin.is_some_and(|pin| pin != sha256(certificate)) {
            return Err(rustls::Error::General(format!(
                "the peer's certificate has the SHA-256 {}, and the link pins another one",
                sha256(certificate)
            )));
        }
        if let Some(authority) = &self.authority {
            authority.vouch(certificate, others, now)?;
            if self.host {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, host)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Checks the certificate of a node that connects.
impl ClientCertVerifier for Authority {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.verifier.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.vouch(certificate, others, now)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rustls::{ClientConnection, Connection, ServerConnection};

    use super::*;
    use crate::tests::certificates::Authority as Issuer;

    /// Shakes hands without sockets. Returns the first error of either end.
    fn try_out(server: &Keys, client: &Keys, pin: Option<Fingerprint>, host: &str) -> Result<(), String> {
        let client = client.client(pin, !host.is_empty())?;
        let name = if host.is_empty() { "localhost" } else { host };
        let name = ServerName::try_from(name.to_owned()).map_err(text)?;
        let mut client = Connection::from(ClientConnection::new(Arc::new(client), name).map_err(text)?);
        let mut server = Connection::from(ServerConnection::new(server.server()).map_err(text)?);
        while client.wants_write() || server.wants_write() {
            for (from, to) in [(0, 1), (1, 0)] {
                let ends = [&mut client, &mut server];
                let mut octets = Vec::new();
                while ends[from].wants_write() {
                    ends[from].write_tls(&mut octets).map_err(text)?;
                }
                let mut octets = &octets[..];
                while !octets.is_empty() {
                    ends[to].read_tls(&mut octets).map_err(text)?;
                    ends[to].process_new_packets().map_err(|error| in_words(&error))?;
                }
            }
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        Ok(())
    }

    fn own() -> Keys {
        Keys::new(&LinkTls::default()).unwrap()
    }

    fn keys(issuer: &Issuer, names: &[&str], serial: u64) -> Keys {
        Keys::new(&issuer.node(names, serial)).unwrap()
    }

    #[test]
    fn a_pin_lets_only_one_certificate_pass() {
        let (server, client) = (own(), own());
        assert_ne!(server.fingerprint(), client.fingerprint());
        try_out(&server, &client, None, "").unwrap();
        try_out(&server, &client, Some(server.fingerprint()), "").unwrap();
        let why = try_out(&server, &client, Some(client.fingerprint()), "").unwrap_err();
        assert!(why.contains("the link pins another one"), "{why}");
    }

    #[test]
    fn an_authority_vouches_for_both_sides() {
        let (issuer, stranger) = (Issuer::new(), Issuer::new());
        let (a, b) = (keys(&issuer, &["A", "a.example"], 1), keys(&issuer, &["B"], 2));
        for host in ["", "a.example", "a"] {
            try_out(&a, &b, None, host).unwrap();
        }
        try_out(&a, &b, Some(a.fingerprint()), "").unwrap();
        let why = try_out(&a, &b, Some(b.fingerprint()), "").unwrap_err();
        assert!(why.contains("the link pins another one"), "{why}");
        let why = try_out(&a, &b, None, "b.example").unwrap_err();
        assert!(why.contains("not valid for name"), "{why}");
        let why = try_out(&own(), &b, None, "").unwrap_err();
        assert!(why.contains("other node is refused"), "{why}");
        assert!(try_out(&a, &own(), None, "").unwrap_err().contains("there is none"));
        let why = try_out(&a, &keys(&stranger, &["B"], 3), None, "").unwrap_err();
        assert!(why.contains("no trusted authority has signed it"), "{why}");
    }

    #[test]
    fn files_that_do_not_fit_are_named() {
        let issuer = Issuer::new();
        let (a, b) = (issuer.node(&["A"], 1), issuer.node(&["B"], 2));
        let error = |settings: LinkTls| Keys::new(&settings).err().unwrap();
        assert!(error(LinkTls { key: b.key, ..a.clone() }).starts_with("private key "));
        let missing = error(LinkTls { authority: Some("none.pem".into()), ..a.clone() });
        assert!(missing.starts_with("certificate none.pem: "), "{missing}");
        let other = error(LinkTls { revocations: a.certificate.clone(), ..a.clone() });
        assert!(
            other.starts_with("revocation list ") && other.ends_with("there is none in the file"),
            "{other}"
        );
        let other = error(LinkTls { certificate: a.revocations.clone(), ..a });
        assert!(other.starts_with("certificate ") && other.ends_with("there is none in the file"), "{other}");
    }
}
