//! `[tls]`: how federates' connections are encrypted.

use std::io;
use std::path::{Path, PathBuf};

use carrier::ServerTls;
use serde::Deserialize;

/// `[tls]`: the certificates for addresses that encrypt. The files are PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tls {
    /// The certificate of the node, followed by those of its authorities up to one that federates
    /// trust. A relative path is relative to the configuration file.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The authorities that sign certificates of federates. Default: federates are not asked for
    /// certificates.
    pub client_authority: Option<PathBuf>,
    /// Whether federates must have certificates. Default: `optional` with `client-authority`.
    pub client_certificates: Option<ClientCertificates>,
}

/// Whether federates must have certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientCertificates {
    /// A federate may have one; it must then be valid.
    Optional,
    /// A federate without one is refused.
    Required,
}

impl Tls {
    /// The files.
    pub(super) fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        [&mut self.certificate, &mut self.key].into_iter().chain(&mut self.client_authority)
    }

    /// The files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.certificate, &self.key].into_iter().chain(&self.client_authority)
    }

    /// Reads the files.
    ///
    /// # Errors
    /// A file cannot be read, or its content is of no use. The error names the file.
    pub fn read(&self) -> io::Result<ServerTls> {
        let (certificate, key) = (read(&self.certificate)?, read(&self.key)?);
        let authorities = self.client_authority.as_deref().map(read).transpose()?;
        let clients = match (&authorities, self.client_certificates) {
            (None, _) => carrier::ClientCertificates::None,
            (Some(authorities), Some(ClientCertificates::Required)) => {
                carrier::ClientCertificates::Required(authorities)
            }
            (Some(authorities), _) => carrier::ClientCertificates::Optional(authorities),
        };
        ServerTls::new(&certificate, &key, clients).map_err(|error| {
            let (certificate, key) = (self.certificate.display(), self.key.display());
            io::Error::other(format!("[tls] with {certificate} and {key}: {error}"))
        })
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
