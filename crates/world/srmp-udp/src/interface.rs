//! The network interface of a group.

use std::convert::Infallible;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::str::FromStr;

use super::OpenError;

/// The selection of a group's network interface.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Interface {
    /// The one to which the system's routes lead.
    #[default]
    Routed,
    /// By its name, such as `eth0` or `lo`.
    Name(String),
    /// By one of its addresses.
    Address(IpAddr),
}

impl FromStr for Interface {
    type Err = Infallible;

    /// Parses an address, or else a name.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Address))
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Routed => f.write_str("the routed interface"),
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// An interface that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its index; 0 if the system does not report it.
    pub(super) index: u32,
    /// Its address of the group's family.
    pub(super) address: IpAddr,
}

impl Found {
    /// A socket address on this interface. Link-local IPv6 addresses need the interface's index.
    pub(super) fn at(&self, ip: IpAddr, port: u16) -> SocketAddr {
        match ip {
            IpAddr::V4(_) => SocketAddr::new(ip, port),
            IpAddr::V6(ip) => {
                SocketAddrV6::new(ip, port, 0, if is_of_link(ip) { self.index } else { 0 }).into()
            }
        }
    }
}

/// Whether the address is ambiguous without an interface.
fn is_of_link(ip: Ipv6Addr) -> bool {
    ip.is_unicast_link_local() || ip.is_multicast() && matches!(ip.octets()[1] & 0x0f, 1 | 2)
}

/// Finds the interface for a group.
pub(super) fn find(wanted: &Interface, group: SocketAddr) -> Result<Found, OpenError> {
    let all =
        if_addrs::get_if_addrs().map_err(OpenError::system("the system does not tell its interfaces"))?;
    let of_family = |one: &&if_addrs::Interface| one.ip().is_ipv4() == group.is_ipv4();
    let candidates: Vec<_> = match wanted {
        Interface::Routed => {
            let address = routed(group)?;
            let index = all.iter().find(|one| one.ip() == address).and_then(|one| one.index);
            return Ok(Found { index: index.unwrap_or(0), address });
        }
        Interface::Name(name) => all.iter().filter(|one| one.name == *name).collect(),
        Interface::Address(address) => all.iter().filter(|one| one.ip() == *address).collect(),
    };
    if candidates.is_empty() {
        return Err(OpenError::UnknownInterface { name: wanted.to_string(), known: names(&all) });
    }
    let name = candidates[0].name.clone();
    // The source address of datagrams, with the scope of the group if there is one.
    let narrow = matches!(group.ip(), IpAddr::V6(ip) if is_of_link(ip));
    let fits = |one: &&&if_addrs::Interface| matches!(one.ip(), IpAddr::V6(ip) if is_of_link(ip)) == narrow;
    let mut usable = candidates.iter().copied().filter(of_family);
    let best = usable.clone().find(|one| fits(&one)).or_else(|| usable.next());
    let Some(best) = best else {
        let family = if group.is_ipv4() { "IPv4" } else { "IPv6" };
        return Err(OpenError::NoAddress { name, family, group: group.ip() });
    };
    Ok(Found { index: best.index.unwrap_or(0), address: best.ip() })
}

/// The address from which the system would send to the group. Nothing is sent.
fn routed(group: SocketAddr) -> Result<IpAddr, OpenError> {
    let any: IpAddr =
        if group.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let probe = UdpSocket::bind((any, 0)).and_then(|probe| {
        probe.connect(group)?;
        probe.local_addr()
    });
    match probe {
        Ok(address) if !address.ip().is_unspecified() => Ok(address.ip()),
        Ok(_) => Err(std::io::Error::other("the system names no address to send from")),
        Err(error) => Err(error),
    }
    .map_err(|source| OpenError::NoRoute { group: group.ip(), source })
}

fn names(all: &[if_addrs::Interface]) -> String {
    let mut names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
