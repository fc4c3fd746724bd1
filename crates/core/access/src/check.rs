//! Credentials that take long to verify: work for another thread.

use crate::account::Account;
use crate::kerberos::KerberosVerifier;
use crate::password::{PasswordCheck, PasswordVerdict};
use crate::policy::Policy;
use crate::token::{Claims, TokenKeys};
use bytes::Bytes;
use hla::{Exception, RtiError};
use std::sync::Arc;

/// Credentials to be verified, which takes tens of milliseconds for a password, and tens of
/// microseconds for a JSON Web Token. A Kerberos token waits for files.
pub struct CredentialsCheck(pub(crate) Check);

pub(crate) enum Check {
    Password(PasswordCheck),
    Token { token: String, keys: Arc<TokenKeys> },
    Kerberos { token: Bytes, verifier: Arc<dyn KerberosVerifier> },
}

/// The outcome of a [`CredentialsCheck`].
pub struct CredentialsVerdict(Verdict);

enum Verdict {
    Password(PasswordVerdict),
    Token(Result<Claims, String>),
    /// The principal.
    Kerberos(Result<String, String>),
    Failed,
}

impl CredentialsCheck {
    /// Verifies the credentials at this moment, in seconds since 1970.
    pub fn run(self, now: u64) -> CredentialsVerdict {
        CredentialsVerdict(match self.0 {
            Check::Password(check) => Verdict::Password(check.run()),
            Check::Token { token, keys } => Verdict::Token(keys.verify(&token, now)),
            Check::Kerberos { token, verifier } => Verdict::Kerberos(verifier.verify(&token)),
        })
    }

    /// The outcome if the work could not be done: the credentials count as wrong.
    pub fn failed() -> CredentialsVerdict {
        CredentialsVerdict(Verdict::Failed)
    }
}

/// The refusal of credentials.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The answer to the federate.
    pub error: RtiError,
    /// The reason for the audit log, where the federate is not told all of it.
    pub reason: Option<String>,
}

impl From<RtiError> for Refusal {
    fn from(error: RtiError) -> Self {
        Self { error, reason: None }
    }
}

/// The refusal of a Kerberos token. Its holder is not told which keys, clocks and accounts the server has.
fn refused_kerberos(why: &str) -> Refusal {
    let text = "the Kerberos token is refused";
    Refusal { error: unauthorized(text), reason: Some(format!("{text}: {why}")) }
}

/// The refusal of a wrong account or password. It does not tell which of them was wrong.
pub fn wrong_password() -> RtiError {
    unauthorized("wrong account or password")
}

pub(crate) fn unauthorized(text: impl Into<std::borrow::Cow<'static, str>>) -> RtiError {
    RtiError::new(Exception::Unauthorized, text)
}

impl Policy {
    /// The account of verified credentials. A password is recognized from now on. The policy may have
    /// changed since the check began.
    ///
    /// # Errors
    /// Unauthorized: the account or the password was wrong, or the token is no good or of no account.
    pub fn admit(&mut self, verdict: CredentialsVerdict) -> Result<Arc<Account>, Refusal> {
        Ok(match verdict.0 {
            Verdict::Password(verdict) => self.admit_password(verdict)?,
            Verdict::Token(claims) => {
                let claims = claims.map_err(|why| unauthorized(format!("the token is refused: {why}")))?;
                self.account_of_token(&claims)?
            }
            Verdict::Kerberos(principal) => {
                self.account_of_principal(&principal.map_err(|why| refused_kerberos(&why))?)?
            }
            Verdict::Failed => return Err(unauthorized("the credentials could not be verified").into()),
        })
    }

    fn account_of_principal(&self, principal: &String) -> Result<Arc<Account>, Refusal> {
        let mut accounts = self.accounts.values();
        let account = accounts.find(|account| account.proofs.principals.contains(principal));
        account.cloned().ok_or_else(|| refused_kerberos(&format!("no account has the principal {principal}")))
    }

    fn admit_password(&mut self, verdict: PasswordVerdict) -> Result<Arc<Account>, RtiError> {
        let PasswordVerdict { right, fingerprint } = verdict;
        let account = right.and_then(|(name, hash)| {
            self.accounts.get(&name).filter(|account| account.proofs.password.as_deref() == Some(&*hash))
        });
        let account = Arc::clone(account.ok_or_else(wrong_password)?);
        self.verified.insert(account.name().to_owned(), fingerprint);
        Ok(account)
    }

    fn account_of_token(&self, claims: &Claims) -> Result<Arc<Account>, RtiError> {
        let is_its =
            |account: &&Arc<Account>| account.proofs.token.as_ref().is_some_and(|wanted| claims.have(wanted));
        let accounts: Vec<_> = self.accounts.values().filter(is_its).collect();
        match accounts[..] {
            [account] => Ok(Arc::clone(account)),
            [] => Err(unauthorized("no account has the claims of this token")),
            _ => {
                let names: Vec<_> = accounts.iter().map(|account| account.name()).collect();
                Err(unauthorized(format!(
                    "several accounts have the claims of this token: {}",
                    names.join(", ")
                )))
            }
        }
    }
}
