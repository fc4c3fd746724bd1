//! A run: messages are born at sources, go as packets, and are complete or lost.

use super::Packets;
use crate::births::Births;
use crate::traffic::{Delivered, Traffic};
use crate::units::Picos;

/// A run of `traffic` over `packets`.
pub struct Run<T> {
    packets: Packets,
    births: Births<T>,
    /// By message; `ended` is not set yet.
    under_way: Vec<Delivered>,
    ended: u64,
    lost: u64,
}

impl<T: Traffic> Run<T> {
    /// A run of sources 0 to `sources` - 1.
    pub fn new(packets: Packets, traffic: T, sources: u32) -> Self {
        let births = Births::new(traffic, sources);
        Self { packets, births, under_way: Vec::new(), ended: 0, lost: 0 }
    }

    /// Runs until nothing is left to happen up to `until`; false when nothing is left at all. `delivered` is told of messages
    /// all of which arrived.
    pub fn run_until(&mut self, until: Picos, mut delivered: impl FnMut(&Delivered)) -> bool {
        loop {
            let birth = self.births.next();
            // At the same moment packets move before messages are born.
            match self.packets.next_event() {
                Some(now) if birth.is_none_or(|birth| now <= birth) => {
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
                _ => match birth {
                    None => return false,
                    Some(birth) if birth > until => return true,
                    Some(_) => self.bear(),
                },
            }
        }
    }

    /// Messages born so far, and those of them that lost a packet.
    pub fn born_and_lost(&self) -> (u64, u64) {
        (self.births.born(), self.lost)
    }

    /// Messages born that have not ended.
    pub fn in_flight(&self) -> u64 {
        self.births.born() - self.ended
    }

    /// The packets.
    pub fn packets(&self) -> &Packets {
        &self.packets
    }

    fn bear(&mut self) {
        let packets = &self.packets;
        let Some(message) = self.births.send(|path, _| packets.look(path)) else { return };
        let (path, _) = self.births.way();
        let id = self.packets.send(message.born, path, message.parcel.bytes) as usize;
        match self.under_way.get_mut(id) {
            Some(place) => *place = message,
            None => self.under_way.push(message),
        }
    }
}
