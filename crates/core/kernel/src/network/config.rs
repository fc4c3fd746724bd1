//! Settings of a node of a network.

use super::GroupKeyConfig;
use base::{NodeKey, Seed};
use bytes::Bytes;
use consensus::reformation::Kept;
use overlay::TopologyKind;
use router::{ClientFlags, PipeConfig};
use std::time::Duration;

/// Source and sink: the flags of a neighbour in a tree or a graph.
const BOTH: ClientFlags = ClientFlags::SOURCE.union(ClientFlags::SINK);

/// A link that this node initiates, and initiates again when it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// Where to connect to. Only the world interprets it.
    pub url: String,
    /// The name of the node that is expected there. A node with another name is refused.
    pub name: Option<String>,
    /// The terms of the link.
    pub terms: LinkTerms,
}

/// The terms that both ends of a link share. The end that initiates the link states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTerms {
    /// Flags of the client that represents the other end here. Tree and graph only.
    pub near: ClientFlags,
    /// Flags of the client that represents this end there. Tree and graph only.
    pub far: ClientFlags,
    /// Rank of the link among those of a hypercube: its dimension.
    pub rank: u8,
}

impl Default for LinkTerms {
    fn default() -> Self {
        Self { near: BOTH, far: BOTH, rank: 0 }
    }
}

impl LinkTerms {
    /// The octets that are sent to the other end.
    pub(crate) fn encode(self) -> Bytes {
        Bytes::copy_from_slice(&[self.near.bits(), self.far.bits(), self.rank])
    }

    /// Reads the octets of the end that initiated the link. No octets mean the default.
    ///
    /// # Errors
    /// A description of what is wrong with them.
    pub(crate) fn decode(octets: &[u8]) -> Result<Self, String> {
        match *octets {
            [] => Ok(Self::default()),
            [near, far, rank] => {
                let flags = |bits: u8| {
                    ClientFlags::from_bits(bits).ok_or_else(|| format!("{bits:#x} are no flags of a client"))
                };
                Ok(Self { near: flags(near)?, far: flags(far)?, rank })
            }
            _ => Err(format!("terms of a link have 3 octets, not {}", octets.len())),
        }
    }
}

/// The multicast groups of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multicast {
    /// The number of groups, over which topics are spread. At most [`router::GROUPS_MAX`].
    pub groups: usize,
    /// The longest frame that fits into one datagram, in bytes.
    pub frame_bytes: usize,
}

/// Settings of a kernel that is a node of a network.
#[derive(Clone, Debug)]
pub struct NetworkConfig {
    /// Name, incarnation key, topology, addresses, timing and limits of links. The kernel sets
    /// `network` and `targets`. If the network removes the node while it is alive, the node rejoins
    /// with a key derived from this one.
    pub overlay: overlay::Config,
    /// Links that this node initiates.
    pub targets: Vec<LinkTarget>,
    /// Whether the node adopts the shape (topology, redundancy) of the network that it joins. If
    /// not, the nodes of a network of another shape refuse this one. Default false.
    pub any_shape: bool,
    /// Whether this node creates a network of its own when none of its links leads to one, and
    /// after which wait. `None`: never; it only joins. A restarted node that finds the network it
    /// created earlier gives up the new one.
    pub bootstrap: Option<Duration>,
    /// The creator's name for a network that this node creates. It must be the same at every start.
    /// Default: the name of the node.
    pub creator: String,
    /// Settings of the pipes to neighbours.
    pub pipe: PipeConfig,
    /// Multicast groups that reach several neighbours at once. Default: none.
    pub multicast: Option<Multicast>,
    /// Settings of the keys of the multicast groups, if the nodes of a site hand them to each other.
    /// They do so only over links that the world [proves](crate::LinkInput::Proven). Default: the
    /// world has the keys, or there are none.
    pub group_keys: Option<GroupKeyConfig>,
    /// The replicated log.
    pub consensus: consensus::Config,
    /// The record that this node kept from its last start, and whether it has a place to keep one.
    /// Default: neither; then the node loses its vote when its process ends.
    pub kept: Kept,
    /// A member that cannot be reached for this long counts as dead, and its federates are
    /// resigned. Default 1 s.
    pub node_timeout: Duration,
    /// A node without contact to a majority of the network for this long gives up: its federates
    /// are told that the connection is lost, and the node tries to rejoin. Must be longer than
    /// `node_timeout`. Default 10 s.
    pub minority_timeout: Duration,
}

impl NetworkConfig {
    /// The defaults for a node called `name` that creates a network of its own at once.
    pub fn new(key: NodeKey, seed: Seed, name: &str, topology: TopologyKind) -> Self {
        Self {
            overlay: overlay::Config::new(key, name, topology, seed.split("overlay")),
            targets: Vec::new(),
            any_shape: false,
            bootstrap: Some(Duration::ZERO),
            creator: name.to_owned(),
            pipe: link_pipe(),
            multicast: None,
            group_keys: None,
            consensus: consensus::Config::default(),
            kept: Kept::default(),
            node_timeout: Duration::from_secs(1),
            minority_timeout: Duration::from_secs(10),
        }
    }
}

/// Settings of a pipe to a neighbour: newer state replaces older state, and bulk is sent against
/// credit.
pub fn link_pipe() -> PipeConfig {
    PipeConfig { newest_wins: true, credit_bytes: Some(4 << 20), ..PipeConfig::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_understood_at_the_other_end() {
        let terms = LinkTerms { near: BOTH | ClientFlags::UPPER, far: BOTH, rank: 3 };
        assert_eq!(LinkTerms::decode(&terms.encode()), Ok(terms));
        assert_eq!(LinkTerms::decode(b""), Ok(LinkTerms::default()));
        assert!(LinkTerms::decode(b"\xff\0\0").is_err());
        assert!(LinkTerms::decode(b"\0").is_err());
    }
}
