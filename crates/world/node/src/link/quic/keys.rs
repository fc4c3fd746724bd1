//! Certificates of QUIC links: which side checks the other, and when.
//!
//! | configured | the node that connects checks | the node that is connected to checks |
//! | --- | --- | --- |
//! | nothing | nothing: encrypted, not authenticated | nothing |
//! | `pin` of the link | that the other has exactly that certificate, and its key | nothing |
//! | `authority` | that the authority vouches for the other and the name in the URL | that the authority vouches for the other |
//!
//! A pin takes precedence over an authority.

use std::path::Path;
use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::super::Fingerprint;
use crate::config::network;

/// The name of the protocol in the TLS handshake (ALPN).
const PROTOCOL: &[u8] = b"meshrti-link/1";

/// The certificate of a node, and the certificates that it accepts.
pub(crate) struct Keys {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    pub(crate) authority: Option<Arc<RootCertStore>>,
    provider: Arc<CryptoProvider>,
}

impl Keys {
    /// The configured keys. Without a certificate, it makes one that lives as long as the process.
    pub(crate) fn new(settings: &network::Quic) -> Result<Self, String> {
        let (certificates, key) = match (&settings.certificate, &settings.key) {
            (Some(certificate), Some(key)) => (read_certificates(certificate)?, read_key(key)?),
            _ => make()?,
        };
        let authority = settings.authority.as_deref().map(read_authority).transpose()?.map(Arc::new);
        Ok(Self { certificates, key, authority, provider: Arc::new(ring::default_provider()) })
    }

    /// The SHA-256 of the node's own certificate.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.certificates.first().map_or(Fingerprint([0; 32]), |certificate| sha256(certificate))
    }

    /// The settings for accepting links.
    pub(crate) fn server(&self) -> Result<quinn::ServerConfig, String> {
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(text)?;
        let builder = match &self.authority {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(
                    Arc::clone(authority),
                    Arc::clone(&self.provider),
                );
                builder.with_client_cert_verifier(verifier.build().map_err(text)?)
            }
        };
        let mut tls =
            builder.with_single_cert(self.certificates.clone(), self.key.clone_key()).map_err(text)?;
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let crypto = QuicServerConfig::try_from(tls).map_err(text)?;
        Ok(quinn::ServerConfig::with_crypto(Arc::new(crypto)))
    }

    /// The settings for making a link to a peer whose certificate may be known.
    pub(crate) fn client(&self, pin: Option<Fingerprint>) -> Result<quinn::ClientConfig, String> {
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(text)?;
        let builder = match (&self.authority, pin) {
            (Some(authority), None) => builder.with_root_certificates(Arc::clone(authority)),
            (_, pin) => {
                let verifier = ByFingerprint { pin, provider: Arc::clone(&self.provider) };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        let mut tls = if self.authority.is_some() {
            builder.with_client_auth_cert(self.certificates.clone(), self.key.clone_key()).map_err(text)?
        } else {
            builder.with_no_client_auth()
        };
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let crypto = QuicClientConfig::try_from(tls).map_err(text)?;
        Ok(quinn::ClientConfig::new(Arc::new(crypto)))
    }
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

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let fail = |why: String| format!("certificate {}: {why}", path.display());
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| fail(error.to_string()))?.collect();
    let certificates = certificates.map_err(|error| fail(error.to_string()))?;
    if certificates.is_empty() { Err(fail("there is none in the file".to_owned())) } else { Ok(certificates) }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("private key {}: {error}", path.display()))
}

fn read_authority(path: &Path) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        store.add(certificate).map_err(|error| format!("authority {}: {error}", path.display()))?;
    }
    Ok(store)
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

/// Accepts the certificate with the right fingerprint, or any certificate. In both cases the peer
/// must have its key.
#[derive(Debug)]
struct ByFingerprint {
    pin: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ByFingerprint {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.pin {
            Some(pin) if pin != sha256(certificate) => Err(rustls::Error::General(format!(
                "the peer's certificate has the SHA-256 {}, and the link pins another one",
                sha256(certificate)
            ))),
            _ => Ok(ServerCertVerified::assertion()),
        }
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use quinn::Endpoint;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    use super::*;

    /// Tries to make a link from a node with `client` to one with `server`. Returns the error if it
    /// fails.
    async fn try_out(server: &Keys, client: &Keys, pin: Option<Fingerprint>) -> Result<(), String> {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listening = Endpoint::server(server.server()?, loopback).map_err(text)?;
        let address = listening.local_addr().map_err(text)?;
        let connecting = Endpoint::client(loopback).map_err(text)?;
        let taken = tokio::spawn(async move {
            let connection = listening.accept().await.expect("it listens").await.map_err(text)?;
            // A client learns that its certificate was refused only from what follows the
            // handshake.
            let (_, mut receive) = connection.accept_bi().await.map_err(text)?;
            receive.read_to_end(10).await.map_err(text).map(drop)
        });
        let connection = connecting
            .connect_with(client.client(pin)?, address, "localhost")
            .map_err(text)?
            .await
            .map_err(text)?;
        let (mut send, _receive) = connection.open_bi().await.map_err(text)?;
        send.write_all(b"hello").await.map_err(text)?;
        send.finish().map_err(text)?;
        taken.await.map_err(text)?
    }

    fn own() -> Keys {
        Keys::new(&network::Quic::default()).unwrap()
    }

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    fn vouched_for(issuer: &CertifiedIssuer<'static, KeyPair>) -> Keys {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, issuer).unwrap();
        let mut store = RootCertStore::empty();
        store.add(issuer.der().clone()).unwrap();
        Keys {
            certificates: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            authority: Some(Arc::new(store)),
            provider: Arc::new(ring::default_provider()),
        }
    }

    #[tokio::test]
    async fn a_pin_lets_only_one_certificate_pass() {
        let (server, client) = (own(), own());
        assert_ne!(server.fingerprint(), client.fingerprint());
        try_out(&server, &client, None).await.unwrap();
        try_out(&server, &client, Some(server.fingerprint())).await.unwrap();
        let why = try_out(&server, &client, Some(client.fingerprint())).await.unwrap_err();
        assert!(why.contains("the link pins another one"), "{why}");
    }

    #[tokio::test]
    async fn an_authority_vouches_for_both_sides() {
        let (issuer, stranger) = (authority(), authority());
        let (a, b) = (vouched_for(&issuer), vouched_for(&issuer));
        try_out(&a, &b, None).await.unwrap();
        try_out(&own(), &b, None).await.unwrap_err();
        try_out(&a, &own(), None).await.unwrap_err();
        try_out(&a, &vouched_for(&stranger), None).await.unwrap_err();
    }
}
