//! `[access]`: who may connect, and what federates may do.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kerberos::Acceptor;
use kernel::{KerberosVerifier, Policy, TokenKeys};
use serde::Deserialize;
use toml::Spanned;

use super::{ConfigError, units};

/// `[access]`: who may connect, and what federates may do. Without `password` and `policy` everybody
/// may do anything.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Access {
    /// The Argon2id hash of a password, as `meshrti access hash` makes it. Federates that know the
    /// password may do anything, and no others may connect. For more than one account use `policy`. Default: none.
    pub password: Option<Spanned<String>>,
    /// The file with the access policy. It is read again when it changes. A relative path is relative
    /// to the configuration file. Default: none.
    pub policy: Option<PathBuf>,
    /// Tokens that federates may connect with. They need a `policy`, whose accounts name claims.
    /// Default: none.
    pub tokens: Option<Tokens>,
    /// Kerberos tokens that federates may connect with. They need a `policy`, whose accounts name
    /// principals. Default: none.
    pub kerberos: Option<Kerberos>,
    /// A program of the site that also decides who may connect, create, destroy and join. Default: none.
    pub authorizer: Option<Authorizer>,
    /// Whether a password or token may come from another host over a connection that does not encrypt,
    /// where others can read it. Default `refused`.
    pub unencrypted_passwords: Permission,
    /// Wrong passwords that one address may try in `password-window`. It is then refused until the
    /// window is over. Default 10.
    pub wrong_passwords: u32,
    /// Length of the window in which wrong passwords count. Default `60s`.
    #[serde(deserialize_with = "units::duration")]
    pub password_window: Duration,
    /// The file to which each decision is appended, a line of JSON each. Default: none.
    pub audit: Option<PathBuf>,
    /// Size at which the file is renamed, and a new one begun. Default `16MiB`.
    #[serde(deserialize_with = "units::size")]
    pub audit_size: usize,
    /// Renamed files that are kept: `FILE.1` is the latest. Default 9.
    pub audit_files: usize,
}

/// `[access.tokens]`: the tokens (JSON Web Tokens, RFC 7519) that count.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tokens {
    /// The file with the public key or key set (RFC 7517, JSON) of those that issue tokens. It is read
    /// again when it changes. A relative path is relative to the configuration file.
    pub keys: PathBuf,
    /// The audience of this server: `aud` of a token has to name it.
    pub audience: String,
    /// The issuer: `iss` of a token has to be this. Default: anybody whose key is in the file.
    pub issuer: Option<String>,
}

/// `[access.kerberos]`: the service that federates have tickets for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kerberos {
    /// The service: `HLA@HOST`, or a principal `HLA/HOST@REALM`.
    pub service: String,
    /// The file with its keys. A relative path is relative to the configuration file.
    pub keytab: PathBuf,
}

/// `[access.authorizer]`: a program of the site that also decides.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Authorizer {
    /// The program and its arguments. A program with a `/` in its name and no `/` at its start is relative
    /// to the configuration file; one without is looked for in `PATH`.
    pub command: Vec<String>,
    /// How long an answer may take. The call is refused then. Default `5s`.
    #[serde(default = "authorizer_timeout", deserialize_with = "units::duration")]
    pub timeout: Duration,
}

const fn authorizer_timeout() -> Duration {
    Duration::from_secs(5)
}

/// Verifies Kerberos tokens by the library of the system.
#[derive(Debug)]
struct SystemLibrary(Acceptor);

impl KerberosVerifier for SystemLibrary {
    fn verify(&self, token: &[u8]) -> Result<String, String> {
        self.0.accept(token).map_err(|error| error.to_string())
    }
}

/// Whether something that weakens the security of a node is allowed. It has to be said in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// It is allowed.
    Allowed,
    /// It is refused.
    #[default]
    Refused,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            password: None,
            policy: None,
            tokens: None,
            kerberos: None,
            authorizer: None,
            unencrypted_passwords: Permission::default(),
            wrong_passwords: 10,
            password_window: Duration::from_secs(60),
            audit: None,
            audit_size: 16 << 20,
            audit_files: 9,
        }
    }
}

impl Access {
    /// Whether federates need accounts.
    pub fn is_controlled(&self) -> bool {
        self.password.is_some() || self.policy.is_some() || self.authorizer.is_some()
    }

    /// The files.
    pub(super) fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let keys = self.tokens.iter_mut().map(|tokens| &mut tokens.keys);
        let keytab = self.kerberos.iter_mut().map(|kerberos| &mut kerberos.keytab);
        self.policy.iter_mut().chain(&mut self.audit).chain(keys).chain(keytab)
    }

    /// The files that the policy is read from.
    pub(crate) fn policy_files(&self) -> impl Iterator<Item = &PathBuf> {
        let keytab = self.kerberos.iter().map(|kerberos| &kerberos.keytab);
        self.policy.iter().chain(self.tokens.iter().map(|tokens| &tokens.keys)).chain(keytab)
    }

    /// The policy: that of its file, or one for the password. `None`: everybody may do anything.
    ///
    /// # Errors
    /// The file cannot be read, or makes no sense.
    pub fn read_policy(&self) -> Result<Option<Policy>, ConfigError> {
        let policy = match (&self.policy, &self.password) {
            (Some(path), _) => read_policy(path)?,
            (None, Some(hash)) => Policy::of_password(hash.get_ref())
                .map_err(|error| ConfigError::whole("access.password", error.message))?,
            (None, None) => return Ok(None),
        };
        let keys = self.tokens.as_ref().map(Tokens::read).transpose()?;
        let kerberos = self.kerberos.as_ref().map(Kerberos::read).transpose()?;
        let policy = policy.with_token_keys(keys).with_kerberos(kerberos);
        Ok(Some(policy.with_unencrypted_passwords(self.unencrypted_passwords == Permission::Allowed)))
    }

    /// Checks the password, which stands in `text` of `file`, and that there is no policy beside it.
    pub(super) fn check(&self, text: &str, file: &str) -> Result<(), ConfigError> {
        let Some(hash) = &self.password else { return Ok(()) };
        let fail = |message| Err(ConfigError::spanned(file, text, message, Some(hash.span())));
        if self.policy.is_some() {
            return fail("`policy` has the passwords of its accounts: there is no other one".to_owned());
        }
        Policy::of_password(hash.get_ref()).map(drop).or_else(|error| fail(error.message))
    }

    /// Checks the combination of settings, and the limits.
    pub(super) fn check_limits(&self) -> Result<(), String> {
        if self.tokens.is_some() && self.policy.is_none() {
            return Err(
                "[access.tokens] needs `access.policy`, whose accounts name the claims of tokens".into()
            );
        }
        if self.kerberos.is_some() && self.policy.is_none() {
            return Err("[access.kerberos] needs `access.policy`, whose accounts name principals".into());
        }
        if let Some(Authorizer { command, timeout }) = &self.authorizer {
            if command.is_empty() {
                return Err("`access.authorizer.command` is empty: name the program and its arguments".into());
            }
            if timeout.is_zero() {
                return Err("`access.authorizer.timeout` is 0: nobody could ever connect".into());
            }
        }
        if self.wrong_passwords == 0 {
            return Err("`access.wrong-passwords` is 0: no federate could ever connect".into());
        }
        if self.audit_size < 4 << 10 {
            return Err(format!("`access.audit-size` is {}, and should be 4KiB at least", self.audit_size));
        }
        Ok(())
    }
}

impl Tokens {
    fn read(&self) -> Result<TokenKeys, ConfigError> {
        let text = std::fs::read_to_string(&self.keys)
            .map_err(|error| ConfigError::unreadable(&self.keys, &error))?;
        TokenKeys::read(&text, self.audience.clone(), self.issuer.clone())
            .map_err(|why| ConfigError::whole(&self.keys.display().to_string(), why))
    }
}

impl Kerberos {
    fn read(&self) -> Result<Arc<dyn KerberosVerifier>, ConfigError> {
        let acceptor = Acceptor::new(&self.service, &self.keytab)
            .map_err(|error| ConfigError::whole("access.kerberos", error.to_string()))?;
        Ok(Arc::new(SystemLibrary(acceptor)))
    }
}

/// Reads the file of an access policy.
///
/// # Errors
/// The file cannot be read, or makes no sense. The error has the place.
pub fn read_policy(path: &Path) -> Result<Policy, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::unreadable(path, &error))?;
    Policy::read(&text).map_err(|error| {
        ConfigError::spanned(&path.display().to_string(), &text, super::in_words(&error.message), error.span)
    })
}
