//! Addresses of links and of multicast groups, with their options, as configurations and command
//! lines write them.

mod host;
mod link;
mod multicast;
mod options;

pub(crate) use host::split_host;
pub(crate) use link::written;
pub use link::{DEFAULT_LINK_PORT, LinkListen, LinkUrl, LinkUrlError, Scheme};
pub(crate) use multicast::SiteKey;
pub use multicast::{MulticastUrl, MulticastUrlError};
pub use options::{BestEffort, DEFAULT_MTU, Fingerprint, LinkOptions, OptionError};

/// Parsers of option values, for configurations.
pub(crate) mod option_values {
    pub(crate) use super::options::{best_effort, delay, fingerprint, jitter, loss, mtu};
}
