//! A run: messages are born at sources, go as packets, and are complete or lost.

use super::Packets;
use crate::heap::EventHeap;
use crate::traffic::{Delivered, Traffic};
use crate::units::Picos;

/// A run of `traffic` over `packets`.
pub struct Run<T> {
    packets: Packets,
    traffic: T,
    births: EventHeap,
    /// By message; `ended` is not set yet.
    under_way: Vec<Delivered>,
    born: u64,
    ended: u64,
    lost: u64,
    path: Vec<u32>,
    lanes: Vec<u32>,
}

impl<T: Traffic> Run<T> {
    /// A run of sources 0 to `sources` - 1.
    pub fn new(packets: Packets, mut traffic: T, sources: u32) -> Self {
        let mut births = EventHeap::default();
        for source in 0..sources {
            if let Some(first) = traffic.first(source) {
                births.push((first.0, source));
            }
        }
        let (path, lanes) = (Vec::new(), Vec::new());
        Self { packets, traffic, births, under_way: Vec::new(), born: 0, ended: 0, lost: 0, path, lanes }
    }

    /// Runs until nothing is left to happen up to `until`; false when nothing is left at all. `delivered` is told of messages
    /// all of which arrived.
    pub fn run_until(&mut self, until: Picos, mut delivered: impl FnMut(&Delivered)) -> bool {
        loop {
            let birth = self.births.first().map_or(Picos::MAX, |(time, _)| Picos(time));
            // At the same moment packets move before messages are born.
            match self.packets.next_event() {
                Some(now) if now <= birth => {
                    if now > until {
                        return true;
                    }
                    if let Some(gone) = self.packets.step() {
                        self.ended += 1;
                        let message = Delivered { ended: now, ..self.under_way[gone.message as usize] };
                        if gone.dropped == 0 {
                            delivered(&message);
                        } else {
                            self.lost += 1;
                        }
                    }
                }
                _ => match self.births.first() {
                    None => return false,
                    Some(_) if birth > until => return true,
                    Some((_, source)) => self.bear(birth, source),
                },
            }
        }
    }

    /// Messages born so far, and those of them that lost a packet.
    pub fn born_and_lost(&self) -> (u64, u64) {
        (self.born, self.lost)
    }

    /// Messages born that have not ended.
    pub fn in_flight(&self) -> u64 {
        self.born - self.ended
    }

    /// The packets.
    pub fn packets(&self) -> &Packets {
        &self.packets
    }

    fn bear(&mut self, now: Picos, source: u32) {
        self.path.clear();
        self.lanes.clear();
        let parcel = self.traffic.message(source, &mut self.path, &mut self.lanes);
        match self.traffic.next(source, now) {
            Some(next) => self.births.replace_first((next.max(now).0, source)),
            None => self.births.pop(),
        }
        let id = self.packets.send(now, &self.path, parcel.bytes) as usize;
        let record = Delivered { number: self.born, source, parcel, born: now, ended: Picos::ZERO };
        self.born += 1;
        match self.under_way.get_mut(id) {
            Some(place) => *place = record,
            None => self.under_way.push(record),
        }
    }
}
