//! The certificates with which a command reaches a server that encrypts.

use std::path::{Path, PathBuf};

use carrier::ClientTls;

use crate::exit::Failure;

/// The environment variable with the file of the trusted authority, for commands and their processes.
pub const VARIABLE: &str = "MESHRTI_AUTHORITY";

/// The options for servers that encrypt.
#[derive(clap::Args, Clone, Debug)]
pub struct TrustFlags {
    /// PEM file with the authorities to trust for tls:// and wss://; else MESHRTI_AUTHORITY
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
    /// PEM file with a certificate to show to the server, and its private key
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

impl TrustFlags {
    /// How to encrypt, if an authority is known.
    ///
    /// # Errors
    /// A file cannot be read, or is of no use.
    pub fn read(&self) -> Result<Option<ClientTls>, Failure> {
        let authority = self.authority.clone().or_else(file_of_environment);
        authority.map(|authority| client(&authority, self.certificate.as_deref())).transpose()
    }
}

/// How to encrypt, with the authority that the environment names.
///
/// # Errors
/// As for [`TrustFlags::read`].
pub fn of_environment() -> Result<Option<ClientTls>, Failure> {
    file_of_environment().map(|authority| client(&authority, None)).transpose()
}

fn file_of_environment() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|file| !file.is_empty()).map(PathBuf::from)
}

/// How to encrypt, with these PEM files: the authorities to trust, and perhaps a certificate to show with its
/// private key.
///
/// # Errors
/// As for [`TrustFlags::read`].
pub fn client(authority: &Path, identity: Option<&Path>) -> Result<ClientTls, Failure> {
    let trusted = read(authority)?;
    let tls = match identity.map(read).transpose()? {
        None => ClientTls::new(&trusted),
        Some(own) => ClientTls::with_certificate(&trusted, &own, &own),
    };
    tls.map_err(|error| {
        let identity = identity.map(|file| format!(" and {}", file.display())).unwrap_or_default();
        Failure::wrong_use(format_args!("{}{identity}: {error}", authority.display()))
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::wrong_use(format_args!("{}: the certificate or key cannot be read: {error}", path.display()))
    })
}
