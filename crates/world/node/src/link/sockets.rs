//! Sockets and addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

/// Connections that the system queues while the node has no time to accept them.
const BACKLOG: i32 = 1024;

/// Bytes that may wait inside the system to be sent. More would stand between the machine's urgent
/// frames and the network.
const NOT_SENT_BYTES: u32 = 128 << 10;

/// Whether the error means that this machine has no IPv6.
pub(crate) fn has_no_ipv6(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
        || cfg!(target_os = "linux") && error.raw_os_error() == Some(97) // EAFNOSUPPORT
}

/// All addresses of `host`, each once. `*` is the unspecified IPv6 address.
pub(crate) async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if host == "*" {
        return Ok(vec![SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port)]);
    }
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in tokio::net::lookup_host((host, port)).await? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(addresses)
}

/// Opens a UDP socket. The unspecified IPv6 address also receives IPv4; on a machine without IPv6
/// it is replaced by the IPv4 one.
pub(crate) fn bind_udp(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let every = address.ip().is_unspecified();
    match open_udp(address) {
        Err(error) if every && address.is_ipv6() && has_no_ipv6(&error) => {
            open_udp(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port()))
        }
        other => other,
    }
}

fn open_udp(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Configures a TCP stream for frames: no frame waits to be bundled, and few bytes wait in the
/// system.
pub(crate) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    SockRef::from(stream).set_tcp_notsent_lowat(NOT_SENT_BYTES)?;
    Ok(())
}

/// The address, with an IPv4-mapped IPv6 address converted to IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Listens on every address of `host`; `*` is every address of this machine.
pub(crate) async fn tcp_listeners(host: &str, port: u16) -> io::Result<Vec<TcpListener>> {
    let addresses = resolve(host, port).await?;
    addresses
        .into_iter()
        .map(|address| match listen(address) {
            Err(error) if host == "*" && has_no_ipv6(&error) => {
                listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port))
            }
            other => other,
        })
        .collect()
}

/// Opens one listening socket. The unspecified IPv6 address also accepts IPv4 connections.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    #[cfg(unix)] // elsewhere the option would let two processes share the port
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
