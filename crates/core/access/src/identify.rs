//! The account of a federate, by what it proves.

use crate::account::Account;
use crate::check::{Check, CredentialsCheck, unauthorized, wrong_password};
use crate::kerberos::is_context_token;
use crate::password::{PASSWORD_BYTES_MAX, PasswordCheck, fingerprint, is_same};
use crate::policy::Policy;
use bytes::Bytes;
use hla::api::Credentials;
use hla::encoding::{
    BEARER_TOKEN, KERBEROS_TOKEN, NO_CREDENTIALS, PLAIN_TEXT_PASSWORD, decode_plain_text_password,
};
use hla::{Exception, RtiError};
use std::sync::Arc;

/// The proofs that the connection of a federate brings.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Peer {
    /// The names in its verified certificate, and `sha256:` with the digest of the certificate in
    /// hexadecimal digits. Empty without a certificate.
    pub names: Vec<String>,
    /// Others can read what it sends: it does not encrypt, and comes from another host.
    pub is_readable: bool,
}

/// The account of a federate, if it can be told at once.
pub enum Identity {
    /// It is this one.
    Known(Arc<Account>),
    /// The credentials are to be verified first, see [`Policy::admit`].
    Unverified(CredentialsCheck),
}

/// The content of credentials.
enum Proof {
    Nothing,
    Password(String),
    Token(String),
    Kerberos(Bytes),
}

/// Reads credentials. Missing credentials count as `HLAnoCredentials` (4.2).
///
/// # Errors
/// InvalidCredentials: the type is unknown, or the data are not of the type.
fn read(credentials: Option<&Credentials>) -> Result<Proof, RtiError> {
    let invalid = |text: String| Err(RtiError::new(Exception::InvalidCredentials, text));
    let Some(credentials) = credentials else { return Ok(Proof::Nothing) };
    match credentials.r#type.as_str() {
        NO_CREDENTIALS if credentials.data.is_empty() => Ok(Proof::Nothing),
        NO_CREDENTIALS => invalid("HLAnoCredentials carries no data".to_owned()),
        PLAIN_TEXT_PASSWORD => match decode_plain_text_password(&credentials.data) {
            Ok(text) => Ok(Proof::Password(text)),
            Err(_) => invalid("HLAplainTextPassword does not hold an HLAunicodeString".to_owned()),
        },
        BEARER_TOKEN => match std::str::from_utf8(&credentials.data) {
            Ok(text) if text.is_ascii() => Ok(Proof::Token(text.to_owned())),
            _ => invalid(format!("{BEARER_TOKEN} holds no ASCII text")),
        },
        KERBEROS_TOKEN if is_context_token(&credentials.data) => {
            Ok(Proof::Kerberos(credentials.data.clone()))
        }
        KERBEROS_TOKEN => invalid(format!("{KERBEROS_TOKEN} holds no first token of Kerberos 5 (RFC 4121)")),
        other => {
            let known = "HLAnoCredentials, HLAplainTextPassword, JWT or Kerberos";
            invalid(format!("credentials of type `{other}`; this RTI takes {known}"))
        }
    }
}

/// Checks the form of credentials, which count for nothing: every federate is admitted.
///
/// # Errors
/// InvalidCredentials, as [`Policy::identify`].
pub fn check_form(credentials: Option<&Credentials>) -> Result<(), RtiError> {
    read(credentials).map(drop)
}

impl Policy {
    /// Finds the account of a federate: by its credentials; without them by its certificate; without
    /// one the account for federates without credentials.
    ///
    /// # Errors
    /// InvalidCredentials: the credentials are malformed. Unauthorized: there is no such account, or a
    /// password or token came unprotected from another host.
    pub fn identify(&self, credentials: Option<&Credentials>, peer: &Peer) -> Result<Identity, RtiError> {
        let proof = read(credentials)?;
        if matches!(proof, Proof::Nothing) {
            return self.of_peer(peer);
        }
        if peer.is_readable && !self.unencrypted_passwords {
            return Err(unauthorized(
                "a password or token from another host must come encrypted, by tls:// or wss://; \
                 the server does not look at this one",
            ));
        }
        match proof {
            Proof::Nothing => self.of_peer(peer),
            Proof::Password(text) => self.of_password_text(&text),
            Proof::Token(token) => match &self.token_keys {
                None => Err(unauthorized("this RTI takes no tokens")),
                Some(keys) => {
                    let keys = Arc::clone(keys);
                    Ok(Identity::Unverified(CredentialsCheck(Check::Token { token, keys })))
                }
            },
            Proof::Kerberos(token) => match &self.kerberos {
                None => Err(unauthorized("this RTI takes no Kerberos tokens")),
                Some(verifier) => {
                    let verifier = Arc::clone(verifier);
                    Ok(Identity::Unverified(CredentialsCheck(Check::Kerberos { token, verifier })))
                }
            },
        }
    }

    /// The account of a password: `ACCOUNT:PASSWORD`, or that of the default account.
    fn of_password_text(&self, text: &str) -> Result<Identity, RtiError> {
        let (name, password) = match text.split_once(':') {
            Some((name, password)) if self.accounts.contains_key(name) => (Some(name), password),
            _ => (self.default_account.as_deref(), text),
        };
        if password.len() > PASSWORD_BYTES_MAX {
            return Err(wrong_password());
        }
        let of = |account: &Arc<Account>| account.proofs.password.clone();
        let account = name.and_then(|name| self.accounts.get(name)).filter(|account| of(account).is_some());
        // Without an account another hash is computed all the same: the time must not tell.
        let hash = account.and_then(of).or_else(|| self.accounts.values().filter_map(of).next());
        let Some(hash) = hash else {
            return Err(unauthorized("this RTI takes no passwords"));
        };
        if let Some(account) = account
            && let Some(verified) = self.verified.get(account.name())
            && is_same(verified, &fingerprint(&hash, password))
        {
            return Ok(Identity::Known(Arc::clone(account)));
        }
        let account = account.map(|account| account.name().to_owned());
        let check = PasswordCheck { password: password.to_owned(), hash, account };
        Ok(Identity::Unverified(CredentialsCheck(Check::Password(check))))
    }

    /// The account of a federate without credentials.
    fn of_peer(&self, peer: &Peer) -> Result<Identity, RtiError> {
        let has = |account: &&Arc<Account>| {
            account.proofs.certificates.iter().any(|certificate| peer.names.contains(certificate))
        };
        if let Some(account) = self.accounts.values().find(has) {
            return Ok(Identity::Known(Arc::clone(account)));
        }
        if let Some(account) = self.without_credentials.as_ref().and_then(|name| self.accounts.get(name)) {
            return Ok(Identity::Known(Arc::clone(account)));
        }
        Err(match peer.names.is_empty() {
            true => unauthorized("this RTI asks for credentials or a certificate"),
            false => {
                let names = peer.names.join(", ");
                unauthorized(format!(
                    "there are no credentials, and no account has this certificate ({names})"
                ))
            }
        })
    }
}

#[cfg(test)]
mod tests;
