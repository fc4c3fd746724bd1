//! The address of a site's multicast groups.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use wan::Schedule;

use kernel::GroupKeyConfig;
use srmp_udp::Interface;

/// Maximum number of groups of one site.
const GROUPS_MAX: usize = 64;
/// The default number of groups.
const GROUPS: usize = 8;
/// The default minimum rate of congestion control, in bit/s.
const RATE_MIN: u64 = 100_000_000;
/// The default interval at which keys of the network are rotated.
const KEY_INTERVAL: Duration = Duration::from_secs(3_600);
/// The shortest interval: a key reaches all nodes of a site in a fraction of it.
const KEY_INTERVAL_MIN: Duration = Duration::from_secs(5);
/// The longest interval: 30 days.
const KEY_INTERVAL_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Maximum length of the name of a site, in bytes.
const SITE_BYTES_MAX: usize = 64;

/// The multicast groups of a site: `srmp://239.255.44.32:4420,interface=eth0,groups=8`.
///
/// The groups are the given address and those that follow it, all on one port. Every node of the
/// site must have the same address, number of groups and key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct MulticastUrl {
    /// The first group and the port of all.
    pub group: SocketAddr,
    /// The number of groups. Default: 8.
    pub groups: usize,
    /// The network interface. Default: the one to which the system's routes lead.
    pub interface: Interface,
    /// The number of networks that datagrams may cross; 1 means only the local one. Default: 1.
    pub ttl: u8,
    /// The secret of the groups. Only members that have it are accepted. Default: none.
    pub key: SiteKey,
    /// How often a key of the network is rotated. Default: 1 h.
    pub key_interval: Duration,
    /// The name of the site, if others of the network use the same address. Default: empty.
    pub site: String,
    /// The minimum rate of congestion control, in bit/s. Default: 100 Mbit/s.
    pub rate_min: u64,
    /// The emulated line, as text, for datagrams from the network to this node. Default: none.
    pub line: String,
}

/// Where the secret of a site's groups comes from.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum SiteKey {
    /// There is none: anybody on the local network can read and write.
    #[default]
    None,
    /// A file that every node of the site has.
    File(PathBuf),
    /// The nodes of the site hand it to each other over links that prove who they are, and rotate it.
    /// Datagrams are encrypted.
    Network,
}

/// The reason why a text does not name multicast groups.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MulticastUrlError {
    /// It does not begin with an address and a port.
    #[error(
        "`{0}` names no multicast groups: expected `srmp://GROUP:PORT`, for example `srmp://239.255.44.32:4420`"
    )]
    Form(String),
    /// The address of the group is a unicast address.
    #[error(
        "{0} is not a multicast address: groups are 224.0.0.0 to 239.255.255.255 (239.0.0.0/8 is for private use), and ff00::/8"
    )]
    NotMulticast(IpAddr),
    /// The addresses of the last groups would not be multicast addresses.
    #[error("{groups} groups from {first} on leave the multicast addresses")]
    TooFar {
        /// The first.
        first: IpAddr,
        /// The number of groups.
        groups: usize,
    },
    /// The value of an option is invalid.
    #[error("option `{key}`: {why}")]
    Value {
        /// The option.
        key: String,
        /// The defect.
        why: String,
    },
}

impl MulticastUrl {
    /// The prefix of an address of groups.
    pub const SCHEME: &'static str = "srmp://";

    /// The address of one of the groups, from 0.
    pub fn group_at(&self, number: usize) -> Option<SocketAddr> {
        let ip = nth(self.group.ip(), number)?;
        Some(SocketAddr::new(ip, self.group.port()))
    }

    /// The settings of keys that the network hands out.
    pub(crate) fn group_keys(&self) -> Option<GroupKeyConfig> {
        let site = format!("{self},site={}", self.site);
        (self.key == SiteKey::Network).then_some(GroupKeyConfig { site, interval: self.key_interval })
    }

    /// The emulated line.
    pub(crate) fn schedule(&self) -> Option<Schedule> {
        self.line.parse().ok().filter(|_| !self.line.is_empty())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = |least: usize, most: usize| {
            let found = value.parse().ok().filter(|number| (least..=most).contains(number));
            found.ok_or_else(|| format!("`{value}` is no number from {least} to {most}"))
        };
        match key {
            "groups" => self.groups = number(1, GROUPS_MAX)?,
            "ttl" => self.ttl = number(0, 255)? as u8,
            "interface" if value.is_empty() => return Err("name an interface, or an address of it".into()),
            "interface" => {
                self.interface =
                    value.parse().unwrap_or_else(|never: std::convert::Infallible| match never {});
            }
            "key" if value.is_empty() => return Err("name a file, or write `key=network`".into()),
            "key" if value == "network" => self.key = SiteKey::Network,
            "key" => self.key = SiteKey::File(value.into()),
            "key-interval" => {
                let interval = wan::units::parse_duration(value)?;
                if !(KEY_INTERVAL_MIN..=KEY_INTERVAL_MAX).contains(&interval) {
                    return Err(format!("`{value}` is not between 5s and 720h"));
                }
                self.key_interval = interval;
            }
            "site" if value.is_empty() || value.len() > SITE_BYTES_MAX => {
                return Err(format!("has to have 1 to {SITE_BYTES_MAX} bytes"));
            }
            "site" => self.site = value.to_owned(),
            "rate-min" => {
                self.rate_min = wan::units::parse_rate(value)?;
            }
            "delay" | "jitter" | "loss" | "rate" | "duplicate" | "reorder" => {
                let comma = if self.line.is_empty() { "" } else { "," };
                self.line.push_str(&format!("{comma}{key}={value}"));
            }
            _ => {
                return Err(
                    "is none (there are: interface, groups, ttl, key, key-interval, site, rate-min, and delay, jitter, loss, \
                            rate, duplicate, reorder for an emulated line)"
                        .into(),
                );
            }
        }
        Ok(())
    }
}

/// The address `number` places after `first`; `None` if that is not a multicast address.
fn nth(first: IpAddr, number: usize) -> Option<IpAddr> {
    let ip: IpAddr = match first {
        IpAddr::V4(ip) => Ipv4Addr::from(u32::from(ip).checked_add(u32::try_from(number).ok()?)?).into(),
        IpAddr::V6(ip) => Ipv6Addr::from(u128::from(ip).checked_add(number as u128)?).into(),
    };
    ip.is_multicast().then_some(ip)
}

impl FromStr for MulticastUrl {
    type Err = MulticastUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || MulticastUrlError::Form(text.to_owned());
        let rest = text.strip_prefix(Self::SCHEME).ok_or_else(form)?;
        let mut parts = rest.split(',');
        let group: SocketAddr = parts.next().and_then(|group| group.parse().ok()).ok_or_else(form)?;
        if group.port() == 0 {
            return Err(form());
        }
        if !group.ip().is_multicast() {
            return Err(MulticastUrlError::NotMulticast(group.ip()));
        }
        let mut url = Self {
            group,
            groups: GROUPS,
            interface: Interface::Routed,
            ttl: 1,
            key: SiteKey::None,
            key_interval: KEY_INTERVAL,
            site: String::new(),
            rate_min: RATE_MIN,
            line: String::new(),
        };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (key.trim(), value.trim());
            let wrong = |why| MulticastUrlError::Value { key: key.to_owned(), why };
            url.set(key, value).map_err(wrong)?;
            if !url.line.is_empty()
                && let Err(error) = url.line.parse::<Schedule>()
            {
                return Err(wrong(error.to_string()));
            }
        }
        if nth(group.ip(), url.groups - 1).is_none() {
            return Err(MulticastUrlError::TooFar { first: group.ip(), groups: url.groups });
        }
        Ok(url)
    }
}

impl TryFrom<String> for MulticastUrl {
    type Error = MulticastUrlError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for MulticastUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{},groups={}", Self::SCHEME, self.group, self.groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read() {
        let url: MulticastUrl =
            "srmp://239.255.44.32:4420,interface=lo,groups=3,ttl=4,key=/k,rate-min=5Mbit/s,loss=5%,delay=2ms"
                .parse()
                .unwrap();
        assert_eq!((url.groups, url.ttl, url.rate_min), (3, 4, 5_000_000));
        assert_eq!(url.interface, Interface::Name("lo".into()));
        assert_eq!(url.group_at(2), Some("239.255.44.34:4420".parse().unwrap()));
        assert!(url.schedule().is_some());
        assert_eq!((url.key.clone(), url.group_keys()), (SiteKey::File("/k".into()), None));
        let url: MulticastUrl =
            "srmp://239.255.44.32:4420,key=network,key-interval=20s,site=HQ".parse().unwrap();
        let keys = url.group_keys().unwrap();
        assert_eq!(keys.site, "srmp://239.255.44.32:4420,groups=8,site=HQ");
        assert_eq!(keys.interval, Duration::from_secs(20));
        let url: MulticastUrl = "srmp://[ff15::4420]:4420".parse().unwrap();
        assert_eq!((url.groups, url.schedule()), (8, None));
        assert_eq!(url.group_at(1), Some("[ff15::4421]:4420".parse().unwrap()));
        assert_eq!(url.to_string(), "srmp://[ff15::4420]:4420,groups=8");
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| text.parse::<MulticastUrl>().unwrap_err().to_string();
        assert!(error("srmp://10.0.0.1:4420").contains("10.0.0.1 is not a multicast address"));
        for text in ["srmp://239.1.1.1", "srmp://239.1.1.1:0", "srmp://host:4420", "tcp://239.1.1.1:1"] {
            assert!(error(text).contains("expected `srmp://GROUP:PORT`"), "{text}");
        }
        assert!(error("srmp://239.255.255.255:1,groups=2").contains("2 groups from 239.255.255.255"));
        assert!(error("srmp://239.1.1.1:1,groups=65").contains("`65` is no number from 1 to 64"));
        assert!(error("srmp://239.1.1.1:1,color=red").contains("option `color`: is none"));
        assert!(error("srmp://239.1.1.1:1,loss=2").contains("option `loss`"));
        for interval in ["1s", "721h"] {
            let text = format!("srmp://239.1.1.1:1,key-interval={interval}");
            assert!(error(&text).contains(&format!("`{interval}` is not between 5s and 720h")));
        }
        assert!(error("srmp://239.1.1.1:1,site=").contains("has to have 1 to 64 bytes"));
        assert!(error("srmp://239.1.1.1:1,interface=").contains("name an interface"));
    }
}
