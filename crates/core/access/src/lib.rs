//! Access control: who federates are, and what they may do.
//!
//! A [`Policy`] is a TOML file of accounts and roles. [`Policy::identify`] finds the account of a
//! federate by its credentials or its certificate. A password takes long to verify, so it becomes a
//! [`CredentialsCheck`] for another thread, as does a token. [`Account::decide`] is the reference authorizer
//! `HLAauthorizer` of the standard (IEEE 1516.1-2025, 4.2 to 4.11): whether an account may connect,
//! create, destroy or join a federation execution. It also decides about declarations and other
//! services. Decisions are made when a federate declares what it wants, never per update.
//!
//! The crate does no I/O and draws no random numbers.

mod account;
mod check;
mod identify;
mod kerberos;
mod operation;
mod password;
mod pattern;
mod policy;
mod right;
mod token;
mod words;

pub use account::{Account, Decision, Limits, Rule};
pub use check::{CredentialsCheck, CredentialsVerdict, Refusal, wrong_password};
pub use identify::{Identity, Peer, check_form};
pub use kerberos::{KERBEROS_BYTES_MAX, KerberosVerifier};
pub use operation::{Operation, Topic};
pub use password::{PASSWORD_BYTES_MAX, PasswordError, hash_password};
pub use policy::{Policy, PolicyError};
pub use token::{TOKEN_BYTES_MAX, TokenKeys};

/// The name of the authorizer, as federates' configurations may give it.
pub const AUTHORIZER: &str = "HLAauthorizer";
