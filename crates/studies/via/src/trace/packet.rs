//! Packets of a capture: addresses and payload, read by `etherparse`.

use std::net::IpAddr;

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, LenSource, TransportSlice, ether_type};
use pcap_parser::Linktype;

use super::{Address, LeftOut};

/// A packet.
pub(super) enum Decoded {
    /// From one address to another.
    Message {
        /// The sender.
        source: Address,
        /// The receiver.
        destination: Address,
        /// Bytes of its payload.
        bytes: u64,
    },
    /// It is none.
    LeftOut(LeftOut),
    /// Too little of it was captured.
    Cut,
}

/// Raw IP under its numbers in older systems (`DLT_RAW` of OpenBSD and of others).
const RAW: [i32; 3] = [101, 12, 14];
/// Octets of the header of loopback interfaces: the family of addresses.
const LOOPBACK: usize = 4;
/// Octets of the headers of Linux's "any" interface, and the place of the protocol in them.
const COOKED: (usize, usize) = (16, 14);
const COOKED_2: (usize, usize) = (20, 0);
/// Octets of the header of UDP (RFC 768).
const UDP: u64 = 8;

/// Reads a packet of a kind of link.
///
/// # Errors
/// The kind of link is not known.
pub(super) fn decode(link: Linktype, data: &[u8]) -> Result<Decoded, String> {
    let packet = match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        Linktype::NULL | Linktype::LOOP => return Ok(raw(data.get(LOOPBACK..).unwrap_or(&[]))),
        Linktype::IPV4 | Linktype::IPV6 => return Ok(raw(data)),
        Linktype(number) if RAW.contains(&number) => return Ok(raw(data)),
        Linktype::LINUX_SLL => cooked(data, COOKED),
        Linktype::LINUX_SLL2 => cooked(data, COOKED_2),
        Linktype(number) => {
            return Err(format!(
                "its link type is {number}; expected 1 (Ethernet), 101 (IP), 113 or 276 (Linux cooked), 0 or 108 (loopback), 228 or 229 (IPv4, IPv6)"
            ));
        }
    };
    Ok(packet.map_or(Decoded::Cut, |packet| message(&packet)))
}

/// A packet that begins with the header of IP.
fn raw(data: &[u8]) -> Decoded {
    let kind = match data.first().map(|octet| octet >> 4) {
        None => return Decoded::Cut,
        Some(4) => ether_type::IPV4,
        Some(6) => ether_type::IPV6,
        Some(_) => return Decoded::LeftOut(LeftOut::NotIp),
    };
    message(&LaxSlicedPacket::from_ether_type(kind, data))
}

fn cooked(data: &[u8], (header, place): (usize, usize)) -> Option<LaxSlicedPacket<'_>> {
    let kind: [u8; 2] = data.get(place..place + 2)?.try_into().ok()?;
    Some(LaxSlicedPacket::from_ether_type(EtherType(u16::from_be_bytes(kind)), data.get(header..)?))
}

fn message(packet: &LaxSlicedPacket<'_>) -> Decoded {
    let (source, destination, declared, payload): (IpAddr, IpAddr, _, _) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let (header, more) = (ip.header(), ip.extensions());
            let more = more.auth.as_ref().map_or(0, |auth| auth.slice().len());
            let declared = usize::from(header.total_len()).checked_sub(header.slice().len() + more);
            (header.source_addr().into(), header.destination_addr().into(), declared, ip.payload())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let more = ip.extensions().slice().len();
            let declared = usize::from(header.payload_length()).checked_sub(more);
            (header.source_addr().into(), header.destination_addr().into(), declared, ip.payload())
        }
        Some(LaxNetSlice::Arp(_)) => return Decoded::LeftOut(LeftOut::NotIp),
        None => {
            return match &packet.stop_err {
                None => Decoded::LeftOut(LeftOut::NotIp),
                Some((etherparse::err::packet::SliceError::Len(_), _)) => Decoded::Cut,
                Some(_) => Decoded::LeftOut(LeftOut::Malformed),
            };
        }
    };
    // A capture at the sender may come before the length is set, when hardware cuts into segments.
    let counts_captured = payload.len_source == LenSource::Slice && !payload.incomplete;
    let length = if counts_captured { payload.payload.len() } else { declared.unwrap_or(0) } as u64;
    let headers = match (payload.ip_number, &packet.transport) {
        // A fragment counts with all of its part; the header of the whole is in one of them.
        _ if payload.fragmented => 0,
        (IpNumber::UDP, _) => UDP,
        (IpNumber::TCP, Some(TransportSlice::Tcp(tcp))) => tcp.header_len() as u64,
        (IpNumber::TCP, _) if payload.incomplete => return Decoded::Cut,
        (IpNumber::TCP, _) => return Decoded::LeftOut(LeftOut::Malformed),
        _ => 0,
    };
    Decoded::Message {
        source: Address::Ip(source),
        destination: Address::Ip(destination),
        bytes: length.saturating_sub(headers),
    }
}
