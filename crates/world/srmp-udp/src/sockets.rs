//! The two sockets of a member.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use quinn_udp::UdpSocketState;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use tokio::net::UdpSocket;

use super::interface::{self, Found};
use super::{HostConfig, OpenError};

/// A socket, with the state that `quinn-udp` needs for it.
#[derive(Debug)]
pub(super) struct Batched {
    pub(super) socket: UdpSocket,
    pub(super) state: UdpSocketState,
}

/// The socket that receives from the group, and the one that sends everything and receives
/// unicasts.
#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) group: Batched,
    pub(super) unicast: Batched,
    /// The socket that receives from the site's own group, if loggers are used.
    pub(super) site: Option<Batched>,
    /// The address for datagrams to the site.
    pub(super) to_site: Option<SocketAddr>,
    /// The address for datagrams to the group.
    pub(super) to_group: SocketAddr,
    /// The address of this member.
    pub(super) local: SocketAddr,
}

impl Sockets {
    /// Waits until the site's group has a datagram. Waits for ever if there is no such group.
    pub(super) async fn site_readable(&self) {
        match &self.site {
            Some(site) => {
                // A read meets the same error again, and counts it.
                let _ = site.socket.readable().await;
            }
            None => std::future::pending().await,
        }
    }

    /// Opens the sockets. Needs a runtime with its I/O driver.
    pub(super) fn open(config: &HostConfig) -> Result<Self, OpenError> {
        let group = config.group;
        if !group.ip().is_multicast() {
            return Err(OpenError::NotMulticast(group.ip()));
        }
        if group.port() == 0 {
            return Err(OpenError::NoPort(group.ip()));
        }
        let found = interface::find(&config.interface, group)?;
        let to_group = found.at(group.ip(), group.port());
        let listening = listen(to_group, found, config)?;
        let to_site = site_of(config)?.map(|site| found.at(site.ip(), site.port()));
        let in_site = to_site.map(|site| listen(site, found, config)).transpose()?;
        let sending = sender(found, config)?;
        let local = sending.local_addr().and_then(|address| {
            address.as_socket().ok_or_else(|| io::Error::other("it is no address of the Internet"))
        });
        let local = local.map_err(OpenError::system("the member's address"))?;
        // Without the filter the member receives its own datagrams, which only costs time.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Err(error) = super::own::drop_own(&listening, local) {
            tracing::debug!(%error, "own datagrams come back");
        }
        Ok(Self {
            group: batched(listening).map_err(OpenError::system("the group's socket"))?,
            unicast: batched_with_fragments(sending).map_err(OpenError::system("the member's socket"))?,
            site: in_site.map(batched).transpose().map_err(OpenError::system("the site's socket"))?,
            to_site,
            to_group,
            local,
        })
    }
}

/// The group of the site, if loggers are used.
fn site_of(config: &HostConfig) -> Result<Option<SocketAddr>, OpenError> {
    if !config.protocol.logger.site {
        return Ok(None);
    }
    let group = config.group;
    let site = config.site_group.unwrap_or_else(|| derived_site(group));
    let is_other = SocketAddr::new(site.ip(), site.port()) != SocketAddr::new(group.ip(), group.port());
    if !site.ip().is_multicast() || site.port() == 0 || site.is_ipv4() != group.is_ipv4() || !is_other {
        return Err(OpenError::Site { site, group });
    }
    Ok(Some(site))
}

/// The site's group that all members derive in the same way: with the low 16 bits of FNV-1a over
/// the text of the group's address and port.
pub(super) fn derived_site(group: SocketAddr) -> SocketAddr {
    let text = SocketAddr::new(group.ip(), group.port()).to_string();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let at = |hash: u64| {
        let [high, low] = (hash as u16).to_be_bytes();
        let ip: IpAddr = if group.is_ipv4() {
            Ipv4Addr::new(239, 255, high, low).into()
        } else {
            std::net::Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0, 0x4410, hash as u16).into()
        };
        SocketAddr::new(ip, group.port())
    };
    if at(hash).ip() == group.ip() { at(hash.wrapping_add(1)) } else { at(hash) }
}

fn new_socket(address: SocketAddr, config: &HostConfig) -> Result<Socket, OpenError> {
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        // The system reduces an excessive size. A small buffer is no reason to fail.
        let _ = socket.set_recv_buffer_size(config.socket_bytes);
        let _ = socket.set_send_buffer_size(config.socket_bytes);
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(OpenError::system("the system gives no UDP socket"))
}

fn bind(socket: &Socket, address: SocketAddr) -> Result<(), OpenError> {
    socket.bind(&address.into()).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => OpenError::PortInUse(address),
        _ => OpenError::system(format!("the address {address} cannot be used"))(error),
    })
}

/// Opens the socket that receives from the group, possibly one of many on this machine.
fn listen(group: SocketAddr, found: Found, config: &HostConfig) -> Result<Socket, OpenError> {
    let socket = new_socket(group, config)?;
    share(&socket).map_err(OpenError::system("the group's port cannot be shared"))?;
    // Bound to the group's address, the socket receives nothing else on that port. Windows does not
    // support this.
    let address = if cfg!(windows) { SocketAddr::new(any_like(group.ip()), group.port()) } else { group };
    bind(&socket, address)?;
    join(&socket, group.ip(), found).map_err(|error| {
        OpenError::system(format!("the group {} cannot be joined on {}", group.ip(), found.address))(error)
    })?;
    Ok(socket)
}

fn share(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)?;
    // On Linux the option above suffices. The one below would require all programs to belong to one
    // user.
    #[cfg(all(
        unix,
        not(any(target_os = "linux", target_os = "android", target_os = "solaris", target_os = "illumos"))
    ))]
    socket.set_reuse_port(true)?;
    Ok(())
}

fn any_like(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn join(socket: &Socket, group: IpAddr, found: Found) -> io::Result<()> {
    match (group, found.address) {
        (IpAddr::V4(group), IpAddr::V4(address)) => {
            let interface = match found.index {
                0 => InterfaceIndexOrAddress::Address(address),
                index => InterfaceIndexOrAddress::Index(index),
            };
            // Receive only from this interface, not from groups that other programs on this machine
            // joined elsewhere.
            #[cfg(target_os = "linux")]
            socket.set_multicast_all_v4(false)?;
            socket.join_multicast_v4_n(&group, &interface)
        }
        (IpAddr::V6(group), _) => {
            #[cfg(target_os = "linux")]
            socket.set_multicast_all_v6(false)?;
            socket.join_multicast_v6(&group, found.index)
        }
        (IpAddr::V4(_), IpAddr::V6(_)) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Opens the socket that sends, on the interface's address.
fn sender(found: Found, config: &HostConfig) -> Result<Socket, OpenError> {
    let address = found.at(found.address, config.unicast_port);
    let socket = new_socket(address, config)?;
    let ttl = u32::from(config.ttl);
    let set = || match found.address {
        IpAddr::V4(address) => {
            socket.set_multicast_if_v4(&address)?;
            socket.set_multicast_ttl_v4(ttl)?;
            socket.set_multicast_loop_v4(config.loopback)
        }
        IpAddr::V6(_) => {
            socket.set_multicast_if_v6(found.index)?;
            socket.set_multicast_hops_v6(ttl)?;
            socket.set_multicast_loop_v6(config.loopback)
        }
    };
    set().map_err(OpenError::system(format!("the interface of {} does not do multicast", found.address)))?;
    bind(&socket, address)?;
    Ok(socket)
}

fn batched(socket: Socket) -> io::Result<Batched> {
    let socket = UdpSocket::from_std(socket.into())?;
    let state = UdpSocketState::new((&socket).into())?;
    Ok(Batched { socket, state })
}

/// Prepares a socket for sending. `quinn-udp` forbids fragmentation on each socket for which it
/// makes a state. Mode 2 messages may be longer than the network carries in one piece, so the state
/// is made for another socket of the same kind.
fn batched_with_fragments(socket: Socket) -> io::Result<Batched> {
    let domain = if socket.local_addr()?.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let twin = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    let state = UdpSocketState::new((&twin).into())?;
    Ok(Batched { socket: UdpSocket::from_std(socket.into())?, state })
}
