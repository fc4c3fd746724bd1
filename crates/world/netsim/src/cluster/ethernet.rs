//! Switched Ethernet: the size of a message on the wire, and the ports where messages queue.

use base::Moment;
use std::time::Duration;
use wan::Transmitter;

/// The division of messages into packets, and the overhead of each packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// Message bytes in a full packet; at least 1.
    pub payload_bytes_max: usize,
    /// Overhead of each packet on the wire, in bytes: headers, checksum, preamble, gap.
    pub overhead_bytes: usize,
}

impl Framing {
    /// TCP with timestamps over IPv4 on Ethernet. A packet has 1,500 bytes, of which 1,448 are
    /// payload and 52 are IP and TCP headers. Ethernet adds 38 bytes (preamble 8, header 14,
    /// checksum 4, gap 12; IEEE 802.3).
    pub const TCP: Framing = Framing { payload_bytes_max: 1_448, overhead_bytes: 90 };

    /// UDP over IPv4 on Ethernet. A packet has 1,500 bytes, of which 28 are IP and UDP headers.
    /// Ethernet adds 38.
    pub const UDP: Framing = Framing { payload_bytes_max: 1_472, overhead_bytes: 66 };

    /// Bytes on the wire for a message of `bytes` bytes. An empty message takes one packet.
    pub fn wire_bytes(&self, bytes: usize) -> usize {
        let packets = bytes.div_ceil(self.payload_bytes_max.max(1)).max(1);
        bytes.saturating_add(packets.saturating_mul(self.overhead_bytes))
    }

    /// Bytes on the wire for the first packet of such a message.
    pub fn first_packet_bytes(&self, bytes: usize) -> usize {
        bytes.min(self.payload_bytes_max.max(1)).saturating_add(self.overhead_bytes)
    }
}

/// Identical links between hosts and a non-blocking switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ethernet {
    /// Rate of each link in each direction, in bit/s; at least 1.
    pub rate: u64,
    /// Propagation delay of a cable.
    pub propagation: Duration,
    /// Forwarding delay of the switch without a queue, from the last bit in to the first bit out.
    pub forwarding: Duration,
    /// Delay from the last bit of a message to the interrupt of the receiving processor.
    pub interrupt: Duration,
    /// Packet sizes.
    pub framing: Framing,
}

/// The FIFO queue of a link, without a limit: at the port of a host, or at the switch's port
/// towards a host.
#[derive(Clone, Debug, Default)]
pub struct Port {
    line: Transmitter,
    stats: PortStats,
}

/// Counters of a port; they never decrease.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortStats {
    /// Messages sent, including those still queued.
    pub messages: u64,
    /// Bytes of these messages on the wire.
    pub wire_bytes: u64,
    /// Time that messages waited for earlier ones.
    pub waited: Duration,
}

/// Timing of a message on its way from a host's port through the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// Moment at which the first packet has crossed the switch and queues at the port towards the
    /// receiver.
    pub head: Moment,
    /// Moment at which the last packet has crossed the switch.
    pub tail: Moment,
}

impl Ethernet {
    /// Gigabit Ethernet of about 2005: a store-and-forward switch with a delay of 4 µs, interrupt
    /// moderation of 20 µs, cables and transceivers with 0.5 µs, and TCP.
    pub const GIGABIT: Ethernet = Ethernet {
        rate: 1_000_000_000,
        propagation: Duration::from_nanos(500),
        forwarding: Duration::from_micros(4),
        interrupt: Duration::from_micros(20),
        framing: Framing::TCP,
    };

    /// Queues a message of `bytes` bytes at the port of its sender.
    pub fn depart(&self, port: &mut Port, now: Moment, bytes: usize) -> Departure {
        let wire = self.framing.wire_bytes(bytes);
        let rate = self.rate.max(1);
        let on = port.line.carry(now, rate, wire);
        port.stats.count(now, on.start, wire);
        let crossing = self.propagation + self.forwarding;
        let first = on.start + transmission(self.framing.first_packet_bytes(bytes), rate);
        Departure { head: first.min(on.end) + crossing, tail: on.end + crossing }
    }

    /// Queues a message at the switch's port towards its receiver at `departure.head`. Returns the
    /// moment of the receiver's interrupt. The switch forwards each packet on arrival, so that a
    /// message takes the time of its bytes once, and that of one packet in addition.
    pub fn arrive(&self, port: &mut Port, departure: &Departure, bytes: usize) -> Moment {
        let wire = self.framing.wire_bytes(bytes);
        let on = port.line.carry(departure.head, self.rate.max(1), wire);
        port.stats.count(departure.head, on.start, wire);
        let end = on.end.max(departure.tail);
        port.line.hold(end);
        end + self.propagation + self.interrupt
    }
}

/// Transmission time on the wire, rounded up to a nanosecond.
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
    /// Remaining transmission time of all queued messages.
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
        // A second message waits for the first at both ports, and for nothing else.
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
