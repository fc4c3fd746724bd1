//! Datagrams, which are independent of each other.

use super::{Event, HostEvent, HostId, Network};
use crate::fault::{Fate, PacketKind};
use base::Moment;
use bytes::Bytes;

/// A datagram in flight.
#[derive(Debug)]
pub(super) struct Datagram {
    from: HostId,
    to: HostId,
    bytes: Bytes,
}

impl Network {
    /// Sends a datagram. It arrives once, whole and in order, unless a rule interferes or the
    /// receiving host is down.
    pub fn send_datagram(&mut self, from: HostId, to: HostId, bytes: Bytes) {
        let link = self.link_id(from, to);
        self.stats.sent_datagrams += 1;
        let fate = self.judge(link, from, to, PacketKind::Datagram, &bytes);
        let now = self.now;
        // A lost datagram occupies the link like any other.
        let arrives = self.link_mut(link).depart(now, bytes.len());
        let Fate::Arrives(arrival) = fate else {
            self.stats.dropped_datagrams += 1;
            return;
        };
        self.stats.duplicated_datagrams += u64::from(arrival.copies);
        self.stats.reordered_datagrams += u64::from(arrival.reordered);
        let arrives = arrives + arrival.delay;
        for _ in 0..arrival.copies {
            self.send_off_datagram(arrives, Datagram { from, to, bytes: bytes.clone() });
        }
        self.send_off_datagram(arrives, Datagram { from, to, bytes });
    }

    fn send_off_datagram(&mut self, arrives: Moment, datagram: Datagram) {
        let slot = self.datagrams.put(datagram);
        self.queue.push(arrives, Event::Datagram(slot));
    }

    pub(super) fn arrive_datagram(&mut self, slot: u32) -> Option<(HostId, HostEvent)> {
        let Datagram { from, to, bytes } = self.datagrams.take(slot)?;
        if !self.host(to).up {
            self.stats.dropped_datagrams += 1;
            return None;
        }
        self.stats.received_datagrams += 1;
        Some((to, HostEvent::Datagram { from, bytes }))
    }
}
