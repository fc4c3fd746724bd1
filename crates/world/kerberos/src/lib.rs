//! Kerberos tokens: an [`Acceptor`] says whose token it has got, and [`initiate`] makes one from the
//! caller's ticket cache.
//!
//! A token is the first context token of the Kerberos 5 mechanism (RFC 4121, 4.1) of the GSS-API (RFC
//! 2743). One has to be enough: nothing is sent back, so it does not prove the server to the client.
//! The system's MIT Kerberos library makes and verifies tokens. It is loaded when it is first needed:
//! MeshRTI is built without it, and runs without it where nobody asks for Kerberos.
//!
//! All functions block, on files, and [`initiate`] on the network, too: call them on a thread that may wait.

mod gss;

use std::ffi::CString;
use std::fs::File;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// The reason why a token cannot be made, or is no good.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// The library cannot be used.
    #[error(
        "Kerberos needs the library {library} of MIT Kerberos 1.11 or newer (Debian: `apt-get install libgssapi-krb5-2`): {0}",
        library = gss::LIBRARY
    )]
    Library(String),
    /// The text names no service.
    #[error("`{0}` is no service: it is SERVICE@HOST, or a principal SERVICE/HOST@REALM")]
    Service(String),
    /// The file of keys cannot be read.
    #[error("{0}")]
    Keytab(String),
    /// The library said no, in its words.
    #[error("{0}")]
    Refused(String),
}

/// The name of a service: `SERVICE@HOST`, a host-based service of the GSS-API (RFC 2743, 4.1), or a
/// principal `SERVICE/HOST@REALM`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    text: String,
    is_principal: bool,
}

impl FromStr for Service {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Service(text.to_owned());
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(wrong());
        }
        let is_principal = text.contains('/');
        let parts: Vec<_> = text.split(if is_principal { ['/', '@'] } else { ['@'; 2] }).collect();
        // A principal without a realm is of the default realm.
        let is_whole = parts.len() == 2 || (is_principal && parts.len() == 3);
        match is_whole && parts.iter().all(|part| !part.is_empty()) {
            true => Ok(Self { text: text.to_owned(), is_principal }),
            false => Err(wrong()),
        }
    }
}

/// A service that verifies tokens with the keys of a file.
#[derive(Debug)]
pub struct Acceptor {
    /// It is kept, because the library looks the host of a service up in the DNS to make it. The keys
    /// themselves are read from the file for each token.
    credential: Mutex<gss::Credential>,
}

impl Acceptor {
    /// A service with the keys of `keytab`.
    ///
    /// # Errors
    /// There is no library, or no key of the service in the file.
    pub fn new(service: &str, keytab: &Path) -> Result<Self, Error> {
        let service: Service = service.parse()?;
        // The library says less about a file that cannot be read.
        let fail = |why: String| Error::Keytab(format!("{}: {why}", keytab.display()));
        File::open(keytab).map_err(|error| fail(format!("cannot read the keytab: {error}")))?;
        let path = keytab.to_str().ok_or_else(|| fail("the name of a keytab is UTF-8".to_owned()))?;
        let name = CString::new(format!("FILE:{path}")).map_err(|error| fail(error.to_string()))?;
        let service = gss::Name::of(gss::library()?, &service)?;
        let credential = gss::Credential::to_accept(&service, &name).map_err(|error| match error {
            Error::Refused(why) => fail(why),
            error => error,
        })?;
        Ok(Self { credential: Mutex::new(credential) })
    }

    /// The principal whose ticket is in `token`, with its realm. The library remembers the token: the
    /// same one is refused from now on.
    ///
    /// # Errors
    /// The token is no good: in particular, it is for another service or another key, has expired, was
    /// made by another clock, or came before.
    pub fn accept(&self, token: &[u8]) -> Result<String, Error> {
        // A thread that has panicked has left the credential as it was: nothing of it changes here.
        self.credential.lock().unwrap_or_else(PoisonError::into_inner).accept(token)
    }
}

/// A token for `service`, by the tickets of the caller's cache (`KRB5CCNAME`, or the system's default).
/// It counts once.
///
/// # Errors
/// There is no library, or no ticket for the service to be had.
pub fn initiate(service: &str) -> Result<Vec<u8>, Error> {
    let service: Service = service.parse()?;
    gss::Name::of(gss::library()?, &service)?.initiate()
}

#[cfg(test)]
mod tests;
