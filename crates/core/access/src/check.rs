//! Credentials that take long to verify: work for another thread.

use crate::account::Account;
use crate::password::{PasswordCheck, PasswordVerdict};
use crate::policy::Policy;
use crate::token::{Claims, TokenKeys};
use hla::{Exception, RtiError};
use std::sync::Arc;

/// Credentials to be verified, which takes tens of milliseconds for a password, and tens of
/// microseconds for a token.
pub struct CredentialsCheck(pub(crate) Check);

pub(crate) enum Check {
    Password(PasswordCheck),
    Token { token: String, keys: Arc<TokenKeys> },
}

/// The outcome of a [`CredentialsCheck`].
pub struct CredentialsVerdict(Verdict);

enum Verdict {
    Password(PasswordVerdict),
    Token(Result<Claims, String>),
    Failed,
}

impl CredentialsCheck {
    /// Verifies the credentials at this moment, in seconds since 1970.
    pub fn run(self, now: u64) -> CredentialsVerdict {
        CredentialsVerdict(match self.0 {
            Check::Password(check) => Verdict::Password(check.run()),
            Check::Token { token, keys } => Verdict::Token(keys.verify(&token, now)),
        })
    }

    /// The outcome if the work could not be done: the credentials count as wrong.
    pub fn failed() -> CredentialsVerdict {
        CredentialsVerdict(Verdict::Failed)
    }
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
    pub fn admit(&mut self, verdict: CredentialsVerdict) -> Result<Arc<Account>, RtiError> {
        match verdict.0 {
            Verdict::Password(verdict) => self.admit_password(verdict),
            Verdict::Token(claims) => {
                let claims = claims.map_err(|why| unauthorized(format!("the token is refused: {why}")))?;
                self.account_of_token(&claims)
            }
            Verdict::Failed => Err(unauthorized("the credentials could not be verified")),
        }
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
