//! Settings of a host, and the reasons why one cannot be opened.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use base::Seed;
use srmp::model::{Epoch, MemberId, Profile};
use wan::Schedule;

use super::Interface;

/// The origin of epochs, 2020-01-01 00:00 UTC, in seconds of the system's time.
const EPOCHS_BEGIN: u64 = 1_577_836_800;

/// Settings of an [`SrmpHost`](super::SrmpHost).
#[derive(Debug)]
pub struct HostConfig {
    /// The group's address and port.
    pub group: SocketAddr,
    /// The network interface of the group. Default: the one to which the system's routes lead.
    pub interface: Interface,
    /// The number of routers that multicast datagrams may pass, plus one: TTL in IPv4, hop limit in
    /// IPv6. Default: 1, the local network only.
    pub ttl: u8,
    /// The group of this member's site, in which loggers are elected, with a port. It is used if
    /// [`LoggerConfig::site`](srmp::LoggerConfig::site) is set. Default: one derived from the
    /// group's address and port, the same for all members: 239.255.x.y, or ff12::4410:x.
    pub site_group: Option<SocketAddr>,
    /// The number of routers that datagrams to the site may pass, plus one. Default: 1, so that a
    /// site is one network.
    pub site_ttl: u8,
    /// Whether members on the same machine receive from this one. On the loopback interface they
    /// always do. Default: true.
    pub loopback: bool,
    /// The port from which datagrams are sent and at which unicasts to this member arrive; 0 lets
    /// the system choose. Default: 0.
    pub unicast_port: u16,
    /// Bytes that each socket may buffer; the system may allow less. Default: 4 MiB.
    pub socket_bytes: usize,
    /// The emulated line from this member to the network. Default: none.
    pub outgoing: Option<Schedule>,
    /// The emulated line from the network to this member. Default: none.
    pub incoming: Option<Schedule>,
    /// Number of events that may wait to be read. Beyond it mode 0 messages and notices are dropped
    /// and counted. Beyond twice as many, nothing is read from the network. Default: 65 536.
    pub events_max: usize,
    /// Bytes of messages that may wait to be read, with the same consequences. Default: 64 MiB.
    pub events_bytes_max: usize,
    /// Whether [`Event::Sent`](srmp::Event::Sent) is emitted for every message. Default: false.
    pub tells_sent: bool,
    /// The seed of all random choices of the protocol and the lines. Default: drawn from the
    /// system's randomness.
    pub seed: Seed,
    /// Settings of the protocol. If its text for the group is empty, it is set to that of
    /// [`group`](Self::group).
    pub protocol: srmp::Config,
}

impl HostConfig {
    /// The defaults of a profile, for a member with a random identity and the present epoch.
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

/// The epoch of a member that starts now.
fn epoch_now() -> Epoch {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    Epoch(u32::try_from(seconds.saturating_sub(EPOCHS_BEGIN)).unwrap_or(u32::MAX))
}

/// The reason why a group cannot be joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address of the group is a unicast address.
    #[error(
        "{0} is not a multicast address: groups are 224.0.0.0 to 239.255.255.255 (239.0.0.0/8 is for private use), and ff00::/8"
    )]
    NotMulticast(IpAddr),
    /// The group has no port.
    #[error("the group {0} has no port: write for example {0}:4410")]
    NoPort(IpAddr),
    /// The interface does not exist.
    #[error("there is no interface `{name}` with an address; there are: {known}")]
    UnknownInterface {
        /// The given name.
        name: String,
        /// The existing interfaces.
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
    /// The group of the site is invalid.
    #[error(
        "{site} cannot be the site's part of the group {group}: it must be another multicast address of the same family, with a port"
    )]
    Site {
        /// The given address.
        site: SocketAddr,
        /// The group.
        group: SocketAddr,
    },
    /// The system's routes do not lead to the group.
    #[error("no route leads to the multicast group {group} ({source}): name an interface, or add a route")]
    NoRoute {
        /// The group.
        group: IpAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// Another program has exclusive use of the port.
    #[error("port {} is in use on {} by a program that does not share it", .0.port(), .0.ip())]
    PortInUse(SocketAddr),
    /// Another operation of the system failed.
    #[error("{what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The settings of the protocol are invalid.
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
