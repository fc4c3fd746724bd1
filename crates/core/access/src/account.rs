//! Accounts and the decisions about them.

use crate::operation::Operation;
use crate::right::Right;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;

/// An account: an identity of federates, with its rights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    pub(crate) name: String,
    /// The line of the policy with its name, from 1.
    pub(crate) line: usize,
    /// The rules of the account and of its roles. Those that forbid come first.
    pub(crate) rules: Vec<Rule>,
    pub(crate) limits: Limits,
    pub(crate) proofs: Proofs,
}

/// The ways to prove that one is the account.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Proofs {
    /// The Argon2 hash of its password.
    pub(crate) password: Option<String>,
    /// Names in certificates of its federates.
    pub(crate) certificates: Vec<String>,
    /// Claims that its tokens have.
    pub(crate) token: Option<BTreeMap<String, String>>,
    /// Kerberos principals of its federates.
    pub(crate) principals: Vec<String>,
    /// It is the account of federates without credentials.
    pub(crate) nothing: bool,
}

/// Limits of an account. `None`: those of the node alone.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Sessions that it may have at a time, at one node.
    pub sessions: Option<usize>,
    /// Object instances that each of its federates may have registered at a time.
    pub objects: Option<usize>,
    /// Bytes that each of its sessions may send in a second.
    pub bytes_per_second: Option<NonZeroU64>,
}

/// The limits in words, for people.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sessions, objects, bytes_per_second } = *self;
        match sessions {
            None => write!(f, "any number of sessions")?,
            Some(1) => write!(f, "1 session")?,
            Some(most) => write!(f, "{most} sessions")?,
        }
        if let Some(objects) = objects {
            write!(f, ", {objects} objects each")?;
        }
        if let Some(rate) = bytes_per_second {
            write!(f, ", {rate} bytes/s each")?;
        }
        Ok(())
    }
}

/// A sentence of a policy that allows or forbids something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Whether it allows or forbids.
    pub allows: bool,
    /// The sentence, as written.
    pub sentence: String,
    /// The table of the sentence, such as `roles.viewer`.
    pub table: String,
    /// The line of the policy, from 1.
    pub line: usize,
    pub(crate) right: Right,
}

/// The rule as it stands in the policy.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.allows { "may" } else { "may-not" };
        write!(f, "line {}, `{key}` of [{}]: {}", self.line, self.table, self.sentence)
    }
}

/// A decision about an operation of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision<'a> {
    /// Whether the account may do it.
    pub allowed: bool,
    /// The rule that decided. `None`: no rule is about it, and the account may do nothing else than
    /// connect.
    pub rule: Option<&'a Rule>,
}

impl Account {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line of the policy with its name, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Decides about an operation: it is allowed if a rule allows it, and none forbids it. An account
    /// may connect if no rule forbids it.
    pub fn decide(&self, operation: &Operation<'_>) -> Decision<'_> {
        match self.rules.iter().find(|rule| rule.right.covers(operation)) {
            Some(rule) => Decision { allowed: rule.allows, rule: Some(rule) },
            None => Decision { allowed: matches!(operation, Operation::Connect), rule: None },
        }
    }

    /// Why the account may not do `operation`, for the federate; `None` if it may.
    pub fn refusal(&self, operation: &Operation<'_>) -> Option<String> {
        let decision = self.decide(operation);
        let why = match decision.rule {
            _ if decision.allowed => return None,
            Some(rule) => format!("{rule} forbids it"),
            None => "no line of the access policy allows it".to_owned(),
        };
        Some(format!("account `{}` may not {operation}: {why}", self.name))
    }

    /// The rules of the account and of its roles. Those that forbid come first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The ways to prove that one is the account, in words. The hash of a password is not among them.
    pub fn proofs(&self) -> Vec<String> {
        let Proofs { password, certificates, token, principals, nothing } = &self.proofs;
        let password = password.iter().map(|_| "password".to_owned());
        let certificates = certificates.iter().map(|name| format!("certificate of {name}"));
        let claims = token.iter().flatten().map(|(name, value)| format!("{name} = {value}"));
        let claims: Vec<_> = claims.collect();
        let token = token.iter().map(|_| format!("token with {}", claims.join(", ")));
        let principals = principals.iter().map(|name| format!("principal {name}"));
        let nothing = nothing.then(|| "none needed".to_owned());
        password.chain(certificates).chain(token).chain(principals).chain(nothing).collect()
    }

    /// Whether `other` is proved in the same way.
    pub fn is_proved_like(&self, other: &Account) -> bool {
        self.proofs == other.proofs
    }
}
