//! A filter against a member's own datagrams.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{SockFilter, Socket};

// Classic BPF (linux/bpf_common.h): loads of 16 and 32 bits, comparison, return.
const LOAD_HALF: u16 = 0x28;
const LOAD_WORD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// Offsets from here on are relative to the IP header (`SKF_NET_OFF`). Others are relative to the
/// UDP header, which begins with the source port.
const NETWORK: u32 = 0xfff0_0000;
/// All bytes of a datagram, and none.
const TAKE: u32 = u32::MAX;
const DROP: u32 = 0;

/// Makes the system drop datagrams sent by `own` before they reach the socket. The group returns
/// every datagram of a member, so half of the datagrams it reads would be its own. The protocol
/// recognizes its own datagrams as well; the filter only saves work.
///
/// # Errors
/// The system does not accept the filter.
pub(super) fn drop_own(socket: &Socket, own: SocketAddr) -> io::Result<()> {
    let (first, words): (u32, Vec<u32>) = match own.ip() {
        IpAddr::V4(ip) => (12, vec![u32::from(ip)]),
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            let word = |at: usize| octets[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
            (8, [0, 4, 8, 12].map(word).to_vec())
        }
    };
    // Each comparison that fails jumps to the instruction that takes the datagram.
    let comparisons = 1 + words.len();
    let mut program = vec![SockFilter::new(LOAD_HALF, 0, 0, 0)];
    let to_take = |done: usize| (2 * (comparisons - done) + 1) as u8;
    program.push(SockFilter::new(JUMP_EQUAL, 0, to_take(1), own.port().into()));
    for (index, word) in (0_u32..).zip(&words) {
        program.push(SockFilter::new(LOAD_WORD, 0, 0, NETWORK + first + 4 * index));
        let done = 2 + index as usize;
        program.push(SockFilter::new(JUMP_EQUAL, 0, to_take(done), *word));
    }
    program.push(SockFilter::new(RETURN, 0, 0, DROP));
    program.push(SockFilter::new(RETURN, 0, 0, TAKE));
    socket.attach_filter(&program)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Duration;

    use super::*;

    #[test]
    fn own_datagrams_do_not_come_and_others_do() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(hears) = UdpSocket::bind(local) else { continue };
            let [own, other] = [(); 2].map(|()| UdpSocket::bind(local).unwrap());
            let hears = Socket::from(hears);
            drop_own(&hears, own.local_addr().unwrap()).unwrap();
            let to = hears.local_addr().unwrap().as_socket().unwrap();
            own.send_to(b"own", to).unwrap();
            other.send_to(b"other", to).unwrap();
            let hears: UdpSocket = hears.into();
            hears.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut buffer = [0; 16];
            assert_eq!(hears.recv(&mut buffer).unwrap(), 5, "{local}");
            hears.set_nonblocking(true).unwrap();
            assert!(hears.recv(&mut buffer).is_err(), "{local}: nothing else");
        }
    }
}
