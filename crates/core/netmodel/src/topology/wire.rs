//! Properties of links other than rate and delay, and named links.

use super::LinkClass;
use crate::stage::TokenRate;
use crate::units::{Picos, Rate, Share};

/// The effects of a link on packets other than their time. The default has none: a packet consists
/// of its bytes, of any number, and arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wire {
    /// Bytes that each packet takes on the link beyond those of its message: headers, check
    /// sequence, preamble, gap.
    pub overhead: u32,
    /// Most bytes of a message in one packet; `None`: any number.
    pub payload: Option<u32>,
    /// Probability of the loss of a packet, independent for each packet.
    pub loss: Share,
    /// The token bucket that limits how long the link keeps its rate.
    pub bucket: Option<Sustained>,
}

impl Wire {
    /// True if all packets arrive, at one rate.
    pub fn is_plain(&self) -> bool {
        self.loss == Share::NONE && self.bucket.is_none()
    }
}

/// The rate that remains when a token bucket is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sustained {
    /// The rate at which tokens grow; below that of the link.
    pub rate: Rate,
    /// Most tokens, in bytes on the wire.
    pub depth: u64,
}

impl LinkClass {
    /// Its long-run rate.
    pub fn capacity(&self) -> Rate {
        self.wire.bucket.map_or(self.rate, |bucket| bucket.rate)
    }

    /// Its rate with tokens and without, if it has a bucket.
    pub fn tokens(&self) -> Option<TokenRate> {
        let Sustained { rate: sustained, depth } = self.wire.bucket?;
        Some(TokenRate { peak: self.rate, sustained, depth })
    }

    /// The share of message bytes in all bytes that it carries, for messages of `bytes` bytes in
    /// `packets` packets.
    pub fn efficiency(&self, bytes: u64, packets: u64) -> f64 {
        let overhead = packets as f64 * f64::from(self.wire.overhead);
        bytes as f64 / (bytes as f64 + overhead).max(1.0)
    }
}

/// Headers between a message and an Ethernet frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transport {
    /// IPv4 and UDP: 20 and 8 bytes (RFC 791, RFC 768).
    #[default]
    Udp,
    /// IPv4 and TCP with time stamps: 20, 20 and 12 bytes (RFC 791, RFC 9293, RFC 7323).
    Tcp,
}

impl Transport {
    fn headers(self) -> u32 {
        match self {
            Transport::Udp => 20 + 8,
            Transport::Tcp => 20 + 20 + 12,
        }
    }
}

/// A named link, as defined by a standard or a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSet {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its rate.
    pub rate: Rate,
    /// The delay of a cable, and of forwarding in a switch.
    pub delay: Picos,
    /// Largest IP packet, in bytes; `None`: the link is not Ethernet, and its rate is already that
    /// of messages.
    pub mtu: Option<u32>,
}

/// Bytes of an Ethernet frame beyond the IP packet (IEEE 802.3, clauses 3.1 and 4.4): preamble and
/// start delimiter 8, header 14, check sequence 4, gap between packets 12.
const FRAME: u32 = 8 + 14 + 4 + 12;
/// Bytes of an IP packet in a basic frame (IEEE 802.3, clause 3.2.7).
const MTU: u32 = 1_500;

const fn ethernet(name: &'static str, gbit: u64, delay_ns: u64) -> LinkSet {
    LinkSet { name, rate: Rate::mbit(gbit * 1_000), delay: Picos::from_nanos(delay_ns), mtu: Some(MTU) }
}

/// All named links. Delays are choices. A metre of cable takes 5 ns, with 100 m at 1 Gbit/s and 20
/// m otherwise. A switch takes 4 us at 1 Gbit/s, 1 us at 10 and 40, 0.6 us (error correction
/// included) from 25 on, and 0.5 us for VIA, whose rate is that of the paper.
pub const LINK_SETS: [LinkSet; 8] = [
    LinkSet { name: "via-clan", rate: Rate::mbit(856), delay: Picos::from_nanos(500), mtu: None },
    ethernet("gigabit-ethernet", 1, 4_500),
    ethernet("10-gigabit-ethernet", 10, 1_100),
    ethernet("25-gigabit-ethernet", 25, 700),
    ethernet("40-gigabit-ethernet", 40, 1_100),
    ethernet("100-gigabit-ethernet", 100, 700),
    ethernet("200-gigabit-ethernet", 200, 700),
    ethernet("400-gigabit-ethernet", 400, 700),
];

impl LinkSet {
    /// The link with this name.
    pub fn named(name: &str) -> Option<Self> {
        LINK_SETS.into_iter().find(|set| set.name == name)
    }

    /// Its effects on packets under a transport.
    pub fn wire(&self, transport: Transport) -> Wire {
        let Some(mtu) = self.mtu else { return Wire::default() };
        let headers = transport.headers();
        Wire { overhead: FRAME + headers, payload: Some(mtu - headers), ..Wire::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 957 Mbit/s with UDP and 941 with TCP, on gigabit Ethernet.
    #[test]
    fn named_links_have_the_goodput_that_they_are_known_for() {
        for (transport, payload, mbit) in [(Transport::Udp, 1_472, 957.1), (Transport::Tcp, 1_448, 941.5)] {
            let set = LinkSet::named("gigabit-ethernet").unwrap();
            let wire = set.wire(transport);
            assert_eq!((wire.payload, wire.overhead + payload), (Some(payload), 1_538));
            let class = LinkClass { name: String::new(), rate: set.rate, delay: set.delay, wire };
            let goodput = 1_000.0 * class.efficiency(u64::from(payload) * 7, 7);
            assert!((goodput - mbit).abs() < 0.05, "{goodput}");
        }
        assert_eq!(LinkSet::named("100-gigabit-ethernet").unwrap().rate, Rate::mbit(100_000));
        assert_eq!(LinkSet::named("via-clan").unwrap().wire(Transport::Tcp), Wire::default());
        assert_eq!(LinkSet::named("token-ring"), None);
    }
}
