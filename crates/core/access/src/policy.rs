//! The policy: a TOML file of accounts and roles.

use crate::account::{Account, Limits, Proofs, Rule};
use crate::kerberos::{self, KerberosVerifier};
use crate::password::{Fingerprint, check_hash};
use crate::right::Right;
use crate::token::TokenKeys;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;

/// The most accounts and roles of a policy.
const TABLES_MAX: usize = 10_000;

/// The lowest limit on the bytes per second of a session. A node reads up to 64 KiB at once, and a
/// session that has sent so much then waits for 7 s. With less, heartbeats would wait so long that
/// clients took the server for dead.
const RATE_MIN: u64 = 10_000;

/// The reason why a policy cannot be used, with its place in the text, if that is known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PolicyError {
    /// The defect, and the expected input.
    pub message: String,
    /// Octets of the text.
    pub span: Option<Range<usize>>,
}

/// A policy: who federates are, and what they may do.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) accounts: BTreeMap<String, Arc<Account>>,
    /// The account of federates without credentials.
    pub(crate) without_credentials: Option<String>,
    /// The account of passwords that name no account.
    pub(crate) default_account: Option<String>,
    /// The keys that sign tokens.
    pub(crate) token_keys: Option<Arc<TokenKeys>>,
    /// Verifies Kerberos tokens.
    pub(crate) kerberos: Option<Arc<dyn KerberosVerifier>>,
    /// Whether a password or token may come from another host without encryption.
    pub(crate) unencrypted_passwords: bool,
    /// The last verified password of each account.
    pub(crate) verified: BTreeMap<String, Fingerprint>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    without_credentials: Option<Spanned<String>>,
    default_account: Option<Spanned<String>>,
    #[serde(default)]
    accounts: BTreeMap<Spanned<String>, AccountTable>,
    #[serde(default)]
    roles: BTreeMap<Spanned<String>, RoleTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct AccountTable {
    password: Option<Spanned<String>>,
    certificate: Option<Spanned<Names>>,
    token: Option<Spanned<BTreeMap<String, String>>>,
    principal: Option<Spanned<Names>>,
    #[serde(default)]
    roles: Vec<Spanned<String>>,
    #[serde(default)]
    may: Vec<Spanned<String>>,
    #[serde(default)]
    may_not: Vec<Spanned<String>>,
    #[serde(default)]
    limits: LimitsTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RoleTable {
    #[serde(default)]
    may: Vec<Spanned<String>>,
    #[serde(default)]
    may_not: Vec<Spanned<String>>,
}

/// One name, or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name in quotes, or a list of them")]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl Names {
    fn all(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LimitsTable {
    sessions: Option<usize>,
    objects: Option<usize>,
    bytes_per_second: Option<Spanned<u64>>,
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// The text is no TOML, has unknown keys, wrong sentences or hashes, names that lead nowhere, an
    /// account that nobody can be, or contradicts itself.
    pub fn read(text: &str) -> Result<Self, PolicyError> {
        let file: File = toml::from_str(text)
            .map_err(|error| PolicyError { message: error.message().to_owned(), span: error.span() })?;
        let reader = Reader { text, file: &file };
        reader.policy()
    }

    /// A policy of one account, `federate`, which may do anything, and whose password has this Argon2
    /// hash.
    ///
    /// # Errors
    /// The text is no such hash.
    pub fn of_password(hash: &str) -> Result<Self, PolicyError> {
        let text = format!(
            "default-account = \"federate\"\n[accounts.federate]\npassword = {hash:?}\nmay = [\"do anything\"]\n"
        );
        Self::read(&text).map_err(|error| PolicyError { span: None, ..error })
    }

    /// The same policy, which takes passwords of other hosts over connections that do not encrypt, if
    /// that is `allowed`.
    #[must_use]
    pub fn with_unencrypted_passwords(mut self, allowed: bool) -> Self {
        self.unencrypted_passwords = allowed;
        self
    }

    /// The same policy, which takes tokens that these keys sign.
    #[must_use]
    pub fn with_token_keys(mut self, keys: Option<TokenKeys>) -> Self {
        self.token_keys = keys.map(Arc::new);
        self
    }

    /// The same policy, which takes Kerberos tokens that this verifies.
    #[must_use]
    pub fn with_kerberos(mut self, verifier: Option<Arc<dyn KerberosVerifier>>) -> Self {
        self.kerberos = verifier;
        self
    }

    /// The account of this name.
    pub fn account(&self, name: &str) -> Option<&Arc<Account>> {
        self.accounts.get(name)
    }

    /// All accounts, by name.
    pub fn accounts(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.accounts.values()
    }

    /// Whether federates without credentials and certificate have an account.
    pub fn admits_without_credentials(&self) -> bool {
        self.without_credentials.is_some()
    }
}

/// A file that is turned into a policy.
struct Reader<'a> {
    text: &'a str,
    file: &'a File,
}

impl Reader<'_> {
    fn policy(&self) -> Result<Policy, PolicyError> {
        let File { accounts: tables, roles, .. } = self.file;
        if tables.len() + roles.len() > TABLES_MAX {
            let message = format!("over {TABLES_MAX} accounts and roles");
            return Err(PolicyError { message, span: None });
        }
        for key in [&self.file.without_credentials, &self.file.default_account].into_iter().flatten() {
            if !tables.contains_key(key) {
                return fail(key, format!("there is no account `{}`", key.get_ref()));
            }
        }
        if let Some(key) = &self.file.default_account
            && tables.get(key).is_some_and(|table| table.password.is_none())
        {
            return fail(key, format!("account `{}` has no password", key.get_ref()));
        }
        let mut role_rules = BTreeMap::new();
        for (name, table) in roles {
            let rules = self.rules(&format!("roles.{}", name.get_ref()), &table.may, &table.may_not)?;
            role_rules.insert(name.get_ref().as_str(), rules);
        }
        let mut accounts = BTreeMap::new();
        let (mut certificates, mut principals) = (BTreeSet::new(), BTreeSet::new());
        for (name, table) in tables {
            let account = self.account(name, table, &role_rules)?;
            for certificate in &account.proofs.certificates {
                if !certificates.insert(certificate.clone()) {
                    return fail(name, format!("the certificate of `{certificate}` has an account already"));
                }
            }
            for principal in &account.proofs.principals {
                if !principals.insert(principal.clone()) {
                    return fail(name, format!("the principal `{principal}` has an account already"));
                }
            }
            accounts.insert(name.get_ref().clone(), Arc::new(account));
        }
        let name = |key: &Option<Spanned<String>>| key.as_ref().map(|key| key.get_ref().clone());
        Ok(Policy {
            accounts,
            without_credentials: name(&self.file.without_credentials),
            default_account: name(&self.file.default_account),
            token_keys: None,
            kerberos: None,
            unencrypted_passwords: false,
            verified: BTreeMap::new(),
        })
    }

    fn account(
        &self,
        key: &Spanned<String>,
        table: &AccountTable,
        role_rules: &BTreeMap<&str, Vec<Rule>>,
    ) -> Result<Account, PolicyError> {
        let name = key.get_ref();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_.@/".contains(c)) {
            return fail(key, format!("account `{name}`: a name has letters, digits and `-_.@/`"));
        }
        if let Some(password) = &table.password {
            check_hash(password.get_ref()).or_else(|error| fail(password, error.to_string()))?;
        }
        let proofs = Proofs {
            password: table.password.as_ref().map(|hash| hash.get_ref().clone()),
            certificates: match &table.certificate {
                None => Vec::new(),
                Some(names) => certificates(names)?,
            },
            token: match &table.token {
                None => None,
                Some(claims) if claims.get_ref().is_empty() => {
                    return fail(
                        claims,
                        "any token would do: name a claim, such as { sub = \"alice\" }".to_owned(),
                    );
                }
                Some(claims) => Some(claims.get_ref().clone()),
            },
            principals: match &table.principal {
                None => Vec::new(),
                Some(names) => principals(names)?,
            },
            nothing: self.file.without_credentials.as_ref() == Some(key),
        };
        if proofs == Proofs::default() {
            return fail(
                key,
                format!(
                    "nobody can be `{name}`: it has no password, certificate, token or principal, and `without-credentials` names another"
                ),
            );
        }
        let mut rules = self.rules(&format!("accounts.{name}"), &table.may, &table.may_not)?;
        for role in &table.roles {
            match role_rules.get(role.get_ref().as_str()) {
                Some(more) => rules.extend_from_slice(more),
                None => return fail(role, format!("there is no role `{}`", role.get_ref())),
            }
        }
        rules.sort_by_key(|rule| rule.allows); // stable: by line otherwise
        let LimitsTable { sessions, objects, bytes_per_second } = &table.limits;
        if let Some(rate) = bytes_per_second
            && *rate.get_ref() < RATE_MIN
        {
            return fail(rate, format!("a session needs at least {RATE_MIN} bytes per second"));
        }
        let rate = bytes_per_second.as_ref().and_then(|rate| NonZeroU64::new(*rate.get_ref()));
        let limits = Limits { sessions: *sessions, objects: *objects, bytes_per_second: rate };
        Ok(Account { name: name.clone(), line: self.line(key), rules, limits, proofs })
    }

    /// The rules of a table: those that allow, then those that forbid.
    fn rules(
        &self,
        table: &str,
        may: &[Spanned<String>],
        may_not: &[Spanned<String>],
    ) -> Result<Vec<Rule>, PolicyError> {
        let mut rules: Vec<Rule> = Vec::with_capacity(may.len() + may_not.len());
        let sentences = may.iter().map(|sentence| (true, sentence));
        for (allows, sentence) in sentences.chain(may_not.iter().map(|sentence| (false, sentence))) {
            let right: Right = sentence.get_ref().parse().or_else(|error: String| fail(sentence, error))?;
            if let Some(other) = rules.iter().find(|rule| rule.right == right) {
                let contradicts = if other.allows == allows { "repeats" } else { "contradicts" };
                return fail(sentence, format!("this {contradicts} line {}", other.line));
            }
            let (line, sentence) = (self.line(sentence), sentence.get_ref().clone());
            rules.push(Rule { allows, sentence, table: table.to_owned(), line, right });
        }
        Ok(rules)
    }

    /// The line of a value, from 1.
    fn line(&self, of: &Spanned<String>) -> usize {
        self.text.bytes().take(of.span().start).filter(|&octet| octet == b'\n').count() + 1
    }
}

/// The certificates of an account: names, or digests in the form of [`Peer::names`](crate::Peer).
fn certificates(names: &Spanned<Names>) -> Result<Vec<String>, PolicyError> {
    let read = |name: &String| match name.strip_prefix("sha256:") {
        None => Ok(name.clone()),
        // OpenSSL and keytool write colons and capital letters.
        Some(digest) => {
            let digest: String = digest.chars().filter(|c| *c != ':').collect();
            match digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit()) {
                true => Ok(format!("sha256:{}", digest.to_ascii_lowercase())),
                false => fail(names, "a SHA-256 has 64 hexadecimal digits".to_owned()),
            }
        }
    };
    names.get_ref().all().iter().map(read).collect()
}

/// The Kerberos principals of an account.
fn principals(names: &Spanned<Names>) -> Result<Vec<String>, PolicyError> {
    let all = names.get_ref().all();
    match all.iter().find(|name| !kerberos::is_principal(name)) {
        Some(name) => fail(names, format!("`{name}`: a principal has a realm, such as alice@EXAMPLE.ORG")),
        None => Ok(all.to_vec()),
    }
}

fn fail<T, V>(at: &Spanned<V>, message: String) -> Result<T, PolicyError> {
    Err(PolicyError { message, span: Some(at.span()) })
}

#[cfg(test)]
mod tests;
