//! Addresses of peers, for limits per address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The address of a peer, by which limits are counted. Nothing is ever sent to it.
///
/// An IPv4 address counts by itself. Of an IPv6 address only the first 64 bits count, because a
/// host that has one address of such a network can use all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(u128);

impl Address {
    /// The address of a peer in a world without IP addresses. Equal numbers mean the same peer.
    pub const fn numbered(number: u64) -> Self {
        // Below 2^64, where there are neither IPv4-mapped addresses nor IPv6 network prefixes.
        Self(number as u128)
    }
}

impl Address {
    /// Whether it is an address of this host for itself.
    pub fn is_loopback(self) -> bool {
        Ipv6Addr::from_bits(self.0).to_canonical().is_loopback()
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Self {
        const NETWORK: u128 = !0 << 64;
        match ip.to_canonical() {
            IpAddr::V4(v4) => Self(v4.to_ipv6_mapped().to_bits()),
            IpAddr::V6(v6) if v6.is_loopback() => Self(v6.to_bits()),
            IpAddr::V6(v6) => Self(v6.to_bits() & NETWORK),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from_bits(self.0).to_canonical().fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_one_peer_count_as_one() {
        let address = |text: &str| Address::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(address("10.0.0.1"), address("::ffff:10.0.0.1"));
        assert_ne!(address("10.0.0.1"), address("10.0.0.2"));
        assert_eq!(address("2001:db8:1:2::7"), address("2001:db8:1:2:ffff::1"));
        assert_ne!(address("2001:db8:1:2::7"), address("2001:db8:1:3::7"));
        assert_eq!(address("10.0.0.1").to_string(), "10.0.0.1");
        assert_eq!(address("2001:db8:1:2::7").to_string(), "2001:db8:1:2::");
        assert_eq!(address("::1").to_string(), "::1");
        assert!(address("::1").is_loopback() && address("127.0.0.1").is_loopback());
        assert!(!address("10.0.0.1").is_loopback() && !Address::numbered(7).is_loopback());
    }
}
