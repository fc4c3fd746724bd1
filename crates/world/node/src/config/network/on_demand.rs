//! `on-demand = {}` of `[network]`: links that follow the traffic.

use serde::{Deserialize, Deserializer};
use std::time::Duration;
use wan::units::parse_rate;

use crate::config::units;

/// When two nodes of a mesh link for their traffic, and when they give that link up. Over the
/// configured links, other nodes relay the traffic of all pairs without a link of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OnDemand {
    /// Traffic between two nodes, both directions together, above which they link, in bit/s. Default
    /// `256kbit/s`.
    #[serde(deserialize_with = "rate")]
    pub above: u64,
    /// Traffic below which they need no link, in bit/s; at most `above`. Default `64kbit/s`.
    #[serde(deserialize_with = "rate")]
    pub below: u64,
    /// How long the traffic is below until the link is given up. Default `30s`.
    #[serde(deserialize_with = "units::duration")]
    pub idle_after: Duration,
}

impl Default for OnDemand {
    fn default() -> Self {
        let kernel::OnDemand { above, below, idle_after, .. } = kernel::OnDemand::default();
        Self { above: 8 * above, below: 8 * below, idle_after }
    }
}

impl OnDemand {
    /// The settings in the units of a kernel.
    pub(crate) fn settings(&self) -> kernel::OnDemand {
        let Self { above, below, idle_after } = *self;
        kernel::OnDemand { above: above / 8, below: below / 8, idle_after, ..Default::default() }
    }
}

fn rate<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    parse_rate(&String::deserialize(input)?).map_err(serde::de::Error::custom)
}
