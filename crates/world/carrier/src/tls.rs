//! TLS: settings from PEM texts, and the stage of a filter.

use std::fmt;
use std::io::BufRead as _;
use std::sync::Arc;

use bytes::{BufMut as _, BytesMut};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};

use crate::error::{CarrierError, TlsFilesError};

/// The first octet of a TLS connection: a record of the handshake (RFC 8446, 5.1).
pub(crate) const HANDSHAKE: u8 = 0x16;

/// Whether a server asks its clients for certificates, and the authorities that may have signed them,
/// as PEM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClientCertificates<'a> {
    /// It does not.
    #[default]
    None,
    /// A client may have one.
    Optional(&'a [u8]),
    /// A client must have one.
    Required(&'a [u8]),
}

/// How a server encrypts: TLS 1.2 and 1.3 with its certificate.
#[derive(Clone)]
pub struct ServerTls(Arc<ServerConfig>);

impl ServerTls {
    /// A server with a chain of certificates, its own one first, and its private key, all PEM.
    ///
    /// # Errors
    /// A text is not PEM or lacks what it should have, or the key is not that of the certificate.
    pub fn new(
        certificates: &[u8],
        key: &[u8],
        clients: ClientCertificates<'_>,
    ) -> Result<Self, TlsFilesError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match clients {
            ClientCertificates::None => builder.with_no_client_auth(),
            ClientCertificates::Optional(authorities) | ClientCertificates::Required(authorities) => {
                let roots = roots(authorities, "the authorities of clients")?;
                let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                if matches!(clients, ClientCertificates::Optional(_)) {
                    verifier = verifier.allow_unauthenticated();
                }
                builder.with_client_cert_verifier(verifier.build()?)
            }
        };
        let config = builder.with_single_cert(chain(certificates, "the certificate")?, private_key(key)?)?;
        Ok(Self(Arc::new(config)))
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls(..)") // its key is nobody's business
    }
}

/// How a client encrypts: TLS 1.2 and 1.3. It verifies the name of the server, and that an authority
/// it trusts has signed the server's certificate.
#[derive(Clone)]
pub struct ClientTls(Arc<ClientConfig>);

impl ClientTls {
    /// A client that trusts the authorities in `authorities`, and has no certificate.
    ///
    /// # Errors
    /// The text is not PEM, or has no certificate.
    pub fn new(authorities: &[u8]) -> Result<Self, TlsFilesError> {
        Self::build(authorities, None)
    }

    /// A client that trusts the authorities in `authorities`, and offers a chain of certificates, its own
    /// one first, with its private key. All are PEM.
    ///
    /// # Errors
    /// A text is not PEM or lacks what it should have, or the key is not that of the certificate.
    pub fn with_certificate(
        authorities: &[u8],
        certificates: &[u8],
        key: &[u8],
    ) -> Result<Self, TlsFilesError> {
        Self::build(authorities, Some((certificates, key)))
    }

    fn build(authorities: &[u8], identity: Option<(&[u8], &[u8])>) -> Result<Self, TlsFilesError> {
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let roots = roots(authorities, "the trusted authorities")?;
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_webpki_verifier(verifier.build()?);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((certificates, key)) => {
                builder.with_client_auth_cert(chain(certificates, "the certificate")?, private_key(key)?)?
            }
        };
        Ok(Self(Arc::new(config)))
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTls(..)")
    }
}

/// The certificates in a PEM text.
fn chain(text: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsFilesError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let all = all.map_err(|error| TlsFilesError::Pem { what, reason: error.to_string() })?;
    if all.is_empty() { Err(TlsFilesError::Missing { what }) } else { Ok(all) }
}

fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, TlsFilesError> {
    let what = "the private key";
    PrivateKeyDer::from_pem_slice(text).map_err(|error| match error {
        rustls::pki_types::pem::Error::NoItemsFound => TlsFilesError::Missing { what },
        error => TlsFilesError::Pem { what, reason: error.to_string() },
    })
}

fn roots(text: &[u8], what: &'static str) -> Result<RootCertStore, TlsFilesError> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(text, what)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

/// A verified certificate of a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerCertificate {
    /// Its SHA-256.
    pub digest: [u8; 32],
    /// The names in it: the DNS names among its subject's alternative names (RFC 5280, 4.2.1.6).
    pub names: Vec<String>,
}

/// The stage of a filter that encrypts.
pub(crate) struct Tls {
    connection: Box<Connection>,
}

impl Tls {
    pub(crate) fn server(tls: &ServerTls) -> Result<Self, CarrierError> {
        Ok(Self::new(ServerConnection::new(Arc::clone(&tls.0))?.into()))
    }

    pub(crate) fn client(tls: &ClientTls, host: &str) -> Result<Self, TlsFilesError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsFilesError::Host(host.to_owned()))?;
        Ok(Self::new(ClientConnection::new(Arc::clone(&tls.0), name)?.into()))
    }

    fn new(mut connection: Connection) -> Self {
        // Everything is taken out again in the same call.
        connection.set_buffer_limit(None);
        Self { connection: Box::new(connection) }
    }

    /// Whether the handshake is over.
    pub(crate) fn is_open(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// The certificate of the peer, if it has one, and the handshake is over.
    pub(crate) fn certificate(&self) -> Option<PeerCertificate> {
        let certificate = self.connection.peer_certificates()?.first().filter(|_| self.is_open())?;
        let digest = ::ring::digest::digest(&::ring::digest::SHA256, certificate);
        let parsed = webpki::EndEntityCert::try_from(certificate).ok()?;
        Some(PeerCertificate {
            digest: digest.as_ref().try_into().ok()?,
            names: parsed.valid_dns_names().map(str::to_owned).collect(),
        })
    }

    /// Decrypts `octets` to the end of `clear`. Returns whether the peer has ended its stream.
    pub(crate) fn receive(&mut self, mut octets: &[u8], clear: &mut BytesMut) -> Result<bool, CarrierError> {
        let mut ended = false;
        while !octets.is_empty() && !ended {
            // It takes at most what its buffer has room for, and fails only if what it has decrypted is
            // not taken.
            if !matches!(self.connection.read_tls(&mut octets), Ok(count) if count > 0) {
                return Err(CarrierError::Tls(rustls::Error::General("its buffer is full".to_owned())));
            }
            ended = self.connection.process_new_packets()?.peer_has_closed();
            let mut reader = self.connection.reader();
            while let Ok(part) = reader.fill_buf()
                && !part.is_empty()
            {
                let count = part.len();
                clear.put_slice(part);
                reader.consume(count);
            }
        }
        Ok(ended)
    }

    /// Encrypts `parts`.
    pub(crate) fn send(&mut self, parts: [&[u8]; 2], out: &mut BytesMut) {
        use std::io::Write as _;
        for part in parts {
            let written = self.connection.writer().write_all(part);
            debug_assert!(written.is_ok(), "the buffer has no limit");
        }
        self.take_output(out);
    }

    /// Takes what is to be sent.
    pub(crate) fn take_output(&mut self, out: &mut BytesMut) {
        while self.connection.wants_write() {
            let written = self.connection.write_tls(&mut out.writer());
            debug_assert!(written.is_ok(), "memory takes everything");
        }
    }

    /// Says that nothing more will be sent.
    pub(crate) fn close(&mut self) {
        self.connection.send_close_notify();
    }
}
