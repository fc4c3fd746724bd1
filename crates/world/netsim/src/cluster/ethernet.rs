//! Switched Ethernet: what a message is on the wire, and the ports that it queues at.

use base::Moment;
use std::time::Duration;
use wan::Transmitter;

/// How messages are cut into packets, and what each packet costs beside them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Bytes of messages in a full packet; at least 1.
    pub payload_bytes_max: usize,
    /// Bytes on the wire with each packet: headers, check sum, preamble, gap.
    pub overhead_bytes: usize,
}

impl Framing {
    /// TCP with time stamps over IPv4 on Ethernet: packets of 1,500 bytes, of which 1,448 are payload; 38 bytes of Ethernet
    /// (preamble 8, header 14, check sum 4, gap 12; IEEE 802.3) and 52 of IP and TCP with each.
    pub const TCP: Framing = Framing { payload_bytes_max: 1_448, overhead_bytes: 90 };

    /// UDP over IPv4 on Ethernet: as much of the 1,500 bytes as IP and UDP leave, and their 28 bytes and Ethernet's 38 with each packet.
    pub const UDP: Framing = Framing { payload_bytes_max: 1_472, overhead_bytes: 66 };

    /// Bytes on the wire for a message of `bytes` bytes: an empty one is one packet.
    pub fn wire_bytes(&self, bytes: usize) -> usize {
        let packets = bytes.div_ceil(self.payload_bytes_max.max(1)).max(1);
        bytes.saturating_add(packets.saturating_mul(self.overhead_bytes))
    }

    /// Bytes on the wire of its first packet.
    pub fn first_packet_bytes(&self, bytes: usize) -> usize {
        bytes.min(self.payload_bytes_max.max(1)).saturating_add(self.overhead_bytes)
    }
}

/// Links of one kind between hosts and a switch that never blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ethernet {
    /// Bits per second of each link, each way; at least 1.
    pub rate: u64,
    /// From one end of a cable to the other.
    pub propagation: Duration,
    /// From a packet's last bit into the switch to its first bit out of it, when nothing is in its way.
    pub forwarding: Duration,
    /// From a message's last bit to the moment at which its host's processor hears of it.
    pub interrupt: Duration,
    /// Packets.
    pub framing: Framing,
}

/// Where messages queue for a link: the port of a host, or of the switch towards a host. First come, first served,
/// without a limit.
#[derive(Clone, Debug, Default)]
pub struct Port {
    line: Transmitter,
    stats: PortStats,
}

/// Counters of a port. Each only grows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortStats {
    /// Messages that left or will leave.
    pub messages: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Time that they waited for others before they.
    pub waited: Duration,
}

/// A message on its way from a host's port to the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The first packet has crossed the switch, and queues at the port towards the receiver.
    pub head: Moment,
    /// The last packet has crossed the switch.
    pub tail: Moment,
}

impl Ethernet {
    /// Gigabit Ethernet of about 2005: a store-and-forward switch that takes 4 µs, 20 µs of interrupt moderation, 0.5 µs of cable
    /// and transceivers, TCP.
    pub const GIGABIT: Ethernet = Ethernet {
        rate: 1_000_000_000,
        propagation: Duration::from_nanos(500),
        forwarding: Duration::from_micros(4),
        interrupt: Duration::from_micros(20),
        framing: Framing::TCP,
    };

    /// A message of `bytes` bytes queues at the port of its sender.
    pub fn depart(&self, port: &mut Port, now: Moment, bytes: usize) -> Departure {
        let wire = self.framing.wire_bytes(bytes);
        let rate = self.rate.max(1);
        let on = port.line.carry(now, rate, wire);
        port.stats.count(now, on.start, wire);
        let crossing = self.propagation + self.forwarding;
        let first = on.start + transmission(self.framing.first_packet_bytes(bytes), rate);
        Departure { head: first.min(on.end) + crossing, tail: on.end + crossing }
    }

    /// It queues at the switch's port towards its receiver at `departure.head`; returns when the receiver's processor
    /// hears of it. Packets are passed on as they come, so a message costs the time of its bytes once and that of one packet
    /// more, not the time of its bytes twice.
    pub fn arrive(&self, port: &mut Port, departure: &Departure, bytes: usize) -> Moment {
        let wire = self.framing.wire_bytes(bytes);
        let on = port.line.carry(departure.head, self.rate.max(1), wire);
        port.stats.count(departure.head, on.start, wire);
        let end = on.end.max(departure.tail);
        port.line.hold(end);
        end + self.propagation + self.interrupt
    }
}

/// Time on the wire, rounded up.
pub(super) fn transmission(bytes: usize, rate: u64) -> Duration {
    let nanos = (bytes as u128 * 8 * 1_000_000_000).div_ceil(u128::from(rate));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl PortStats {
    pub(super) fn count(&mut self, now: Moment, start: Moment, wire: usize) {
        self.messages += 1;
        self.wire_bytes += wire as u64;
        self.waited += start.since(now);
    }
}

impl Port {
    /// How long what is queued now will take.
    pub fn backlog(&self, now: Moment) -> Duration {
        self.line.busy_until().since(now)
    }

    /// Counters.
    pub fn stats(&self) -> &PortStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_and_their_overhead() {
        let tcp = Framing::TCP;
        assert_eq!(
            [0, 1, 1_448, 1_449, 8_192].map(|n| tcp.wire_bytes(n)),
            [90, 91, 1_538, 1_629, 8_192 + 6 * 90]
        );
        assert_eq!([0, 1_448, 9_000].map(|n| tcp.first_packet_bytes(n)), [90, 1_538, 1_538]);
    }

    #[test]
    fn a_message_is_serialised_once_and_its_first_packet_twice() {
        let net = Ethernet::GIGABIT;
        let (mut out, mut into) = (Port::default(), Port::default());
        let bytes = 1_448 * 4;
        let departure = net.depart(&mut out, Moment::ZERO, bytes);
        let packet = 1_538 * 8;
        assert_eq!(departure.head, Moment::from_nanos(packet + 4_500));
        assert_eq!(departure.tail, Moment::from_nanos(4 * packet + 4_500));
        let heard = net.arrive(&mut into, &departure, bytes);
        assert_eq!(heard, Moment::from_nanos(5 * packet + 4_500 + 500 + 20_000));
        // A second one waits for the first at both ports, and nothing else.
        let second = net.depart(&mut out, Moment::ZERO, bytes);
        assert_eq!(net.arrive(&mut into, &second, bytes), heard + Duration::from_nanos(4 * packet));
        assert_eq!(out.stats().waited, Duration::from_nanos(4 * packet));
        assert_eq!(into.stats().waited, Duration::ZERO, "it came as fast as the port could send");
    }

    #[test]
    fn small_messages_of_many_senders_queue_at_the_receivers_port() {
        let net = Ethernet::GIGABIT;
        let mut into = Port::default();
        let heard: Vec<_> = (0..3)
            .map(|_| net.arrive(&mut into, &net.depart(&mut Port::default(), Moment::ZERO, 1_448), 1_448))
            .collect();
        assert_eq!(heard[1] - heard[0], Duration::from_nanos(1_538 * 8));
        assert_eq!(heard[2] - heard[1], Duration::from_nanos(1_538 * 8));
    }
}
