//! Members on one machine, on real sockets, over the loopback interface.

mod exchange;
mod faults;
mod loggers;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use srmp::Event;
use srmp::model::{MemberId, Profile};
use srmp::rate::Rate;

use super::{HostConfig, Interface, SrmpEvents, SrmpHost};

/// How long an operation may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// A member with a name.
struct Member {
    host: SrmpHost,
    events: SrmpEvents,
}

/// An IPv4 group that nobody else uses.
fn group() -> SocketAddr {
    group_at(Ipv4Addr::new(239, 255, 44, 10).into(), Ipv4Addr::LOCALHOST.into())
}

/// The group with an unused port.
fn group_at(group: IpAddr, local: IpAddr) -> SocketAddr {
    let port = UdpSocket::bind((local, 0)).and_then(|socket| socket.local_addr());
    SocketAddr::new(group, port.expect("loopback has ports").port())
}

fn config(group: SocketAddr, member: u64, profile: Profile) -> HostConfig {
    let mut config = HostConfig::new(group, profile).expect("there is randomness");
    let local: IpAddr = if group.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    config.interface = Interface::Address(local);
    config.protocol.member = MemberId(member);
    // A private network: no slow start.
    config.protocol.rate.rate_min = Rate::new(20e6).expect("a rate");
    config
}

fn open(config: HostConfig) -> Member {
    let (host, events) = SrmpHost::open(config).expect("the group can be joined");
    Member { host, events }
}

fn join(group: SocketAddr, member: u64, profile: Profile) -> Member {
    open(config(group, member, profile))
}

impl Member {
    /// The first event that `choose` accepts. Others are dropped.
    async fn next<T>(&mut self, mut choose: impl FnMut(Event) -> Option<T>) -> T {
        let search = async {
            loop {
                let event = self.events.recv().await.expect("the host runs");
                if let Some(found) = choose(event) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, search).await.expect("it comes in time")
    }

    /// Waits until the member receives from this many others.
    async fn sees(&self, members: u32) {
        let seen = async {
            while self.host.inspect(srmp::Endpoint::live_members) < members {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.expect("members show themselves");
    }
}

/// Whether multicast over loopback works on this machine, tested without our code.
#[allow(clippy::print_stderr)] // a test that is not run says so
fn has_multicast(ip: IpAddr) -> bool {
    let works = || -> std::io::Result<bool> {
        let group =
            group_at(ip, if ip.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
        let (hears, speaks) = match ip {
            IpAddr::V4(ip) => {
                let hears = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, group.port()))?;
                hears.join_multicast_v4(&ip, &Ipv4Addr::LOCALHOST)?;
                let speaks = socket2::Socket::from(hears.try_clone()?);
                speaks.set_multicast_if_v4(&Ipv4Addr::LOCALHOST)?;
                (hears, speaks)
            }
            IpAddr::V6(ip) => {
                let hears = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, group.port()))?;
                let all = if_addrs::get_if_addrs()?;
                let one = all.iter().find(|one| one.ip() == IpAddr::V6(Ipv6Addr::LOCALHOST));
                let index = one.and_then(|one| one.index).unwrap_or(1);
                hears.join_multicast_v6(&ip, index)?;
                let speaks = socket2::Socket::from(hears.try_clone()?);
                speaks.set_multicast_if_v6(index)?;
                (hears, speaks)
            }
        };
        hears.set_read_timeout(Some(Duration::from_secs(1)))?;
        speaks.send_to(b"anybody", &group.into())?;
        Ok(hears.recv(&mut [0; 16])? == 7)
    };
    match works() {
        Ok(true) => true,
        other => {
            eprintln!("SKIPPED: this machine has no multicast to {ip} over loopback: {other:?}");
            false
        }
    }
}
