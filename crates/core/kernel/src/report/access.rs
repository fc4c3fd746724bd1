//! Access control of a node.

use access::Limits;
use serde::{Deserialize, Serialize};

/// The accounts of a node, and the decisions since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessReport {
    /// Whether there is an access policy. Without one everybody may do anything.
    pub is_on: bool,
    /// The accounts, by name.
    pub accounts: Vec<AccountReport>,
    /// Operations that were allowed.
    pub allowed: u64,
    /// Operations that were refused.
    pub refused: u64,
    /// How often a session was slowed down, because its account limits what it may send in a second.
    pub slowed: u64,
}

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountReport {
    /// Its name.
    pub name: String,
    /// The line of the policy with its name.
    pub line: usize,
    /// Its sessions at the node.
    pub sessions: usize,
    /// Its limits.
    pub limits: Limits,
}
