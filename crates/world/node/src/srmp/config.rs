//! Settings of a host, and why one cannot be opened.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use base::Seed;
use srmp::model::{Epoch, MemberId, Profile};
use wan::Schedule;

use super::Interface;

/// 2020-01-01 00:00 UTC, from where epochs count, in seconds of the system's time.
const EPOCHS_BEGIN: u64 = 1_577_836_800;

/// Settings of an [`SrmpHost`](super::SrmpHost).
#[derive(Debug)]
pub struct HostConfig {
    /// The group's address and port.
    pub group: SocketAddr,
    /// The interface that the group is on. Default: where the system's routes lead.
    pub interface: Interface,
    /// How many routers multicast datagrams may pass, plus one: TTL in IPv4, hop limit in IPv6. Default: 1, this network only.
    pub ttl: u8,
    /// The group of this member's site, in which loggers are elected, with a port; used when
    /// [`LoggerConfig::site`](srmp::LoggerConfig::site) is set. Default: one that the group's address and port make, the same for all
    /// members: 239.255.x.y, or ff12::4410:x.
    pub site_group: Option<SocketAddr>,
    /// How many routers datagrams to the site may pass, plus one. Default: 1, so that a site is a network.
    pub site_ttl: u8,
    /// Whether members of the same machine hear this one. On the loopback interface they do in any case. Default: true.
    pub loopback: bool,
    /// The port that datagrams are sent from, and that those for this member alone come to; 0 lets the system choose. Default: 0.
    pub unicast_port: u16,
    /// Bytes that each socket may hold before they are read; the system may allow less. Default: 4 MiB.
    pub socket_bytes: usize,
    /// The emulated line that datagrams take from this member to the network. Default: none.
    pub outgoing: Option<Schedule>,
    /// The emulated line that datagrams take from the network to this member. Default: none.
    pub incoming: Option<Schedule>,
    /// Events that may wait to be read. With more, mode 0 messages and notices are dropped, and counted; with twice as many, nothing
    /// more is read from the network. Default: 65 536.
    pub events_max: usize,
    /// Bytes of messages that may wait to be read, likewise. Default: 64 MiB.
    pub events_bytes_max: usize,
    /// Whether [`Event::Sent`](srmp::Event::Sent) is told for every message. Default: false.
    pub tells_sent: bool,
    /// Where the chance of protocol and lines comes from. Default: the system's randomness.
    pub seed: Seed,
    /// The protocol. When its text for the group is empty, it becomes that of [`group`](Self::group).
    pub protocol: srmp::Config,
}

impl HostConfig {
    /// The defaults of a profile, for a member of random identity whose epoch is the present.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new(group: SocketAddr, profile: Profile) -> Result<Self, OpenError> {
        let random = getrandom::u64()?;
        let member = match profile {
            Profile::V2 => random >> 32,
            Profile::V3 => random,
        };
        let mut protocol = srmp::Config::new(profile, MemberId(member.max(1)));
        protocol.epoch = epoch_now();
        Ok(Self {
            group,
            interface: Interface::Routed,
            ttl: 1,
            site_group: None,
            site_ttl: 1,
            loopback: true,
            unicast_port: 0,
            socket_bytes: 4 << 20,
            outgoing: None,
            incoming: None,
            events_max: 65_536,
            events_bytes_max: 64 << 20,
            tells_sent: false,
            seed: Seed(getrandom::u64()?),
            protocol,
        })
    }
}

/// The epoch of a member that begins now.
fn epoch_now() -> Epoch {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    Epoch(u32::try_from(seconds.saturating_sub(EPOCHS_BEGIN)).unwrap_or(u32::MAX))
}

/// Why a group cannot be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The group is the address of one host.
    #[error(
        "{0} is not a multicast address: groups are 224.0.0.0 to 239.255.255.255 (239.0.0.0/8 is for private use), and ff00::/8"
    )]
    NotMulticast(IpAddr),
    /// The group has no port.
    #[error("the group {0} has no port: write for example {0}:4410")]
    NoPort(IpAddr),
    /// There is no such interface.
    #[error("there is no interface `{name}` with an address; there are: {known}")]
    UnknownInterface {
        /// What it was called.
        name: String,
        /// What there is.
        known: String,
    },
    /// The interface has no address of the group's family.
    #[error("interface {name} has no {family} address, which the group {group} needs")]
    NoAddress {
        /// The interface.
        name: String,
        /// IPv4 or IPv6.
        family: &'static str,
        /// The group.
        group: IpAddr,
    },
    /// The group of the site cannot be.
    #[error(
        "{site} cannot be the site's part of the group {group}: it must be another multicast address of the same family, with a port"
    )]
    Site {
        /// What was given.
        site: SocketAddr,
        /// The group.
        group: SocketAddr,
    },
    /// The system's routes do not lead to the group.
    #[error("no route leads to the multicast group {group} ({source}): name an interface, or add a route")]
    NoRoute {
        /// The group.
        group: IpAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody has the port to himself.
    #[error("port {} is in use on {} by a program that does not share it", .0.port(), .0.ip())]
    PortInUse(SocketAddr),
    /// Something else the system does not do.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// The protocol cannot be set up so.
    #[error(transparent)]
    Protocol(#[from] srmp::ConfigError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

impl OpenError {
    pub(super) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
