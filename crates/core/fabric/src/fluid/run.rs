//! A run: messages are born at sources, wait in lanes, move as fluid, and end.

use super::lanes::Lanes;
use super::{Fluid, MessageId};
use crate::births::Births;
use crate::traffic::{Delivered, Traffic};
use crate::units::Picos;

/// A run of `traffic` over `fluid`.
pub struct Run<T> {
    fluid: Fluid,
    lanes: Lanes,
    births: Births<T>,
    /// By message; `ended` is not set yet.
    under_way: Vec<Delivered>,
    ended: u64,
    free: Vec<MessageId>,
}

impl<T: Traffic> Run<T> {
    /// A run of sources 0 to `sources` - 1.
    pub fn new(fluid: Fluid, lanes: Lanes, traffic: T, sources: u32) -> Self {
        let births = Births::new(traffic, sources);
        Self { fluid, lanes, births, under_way: Vec::new(), ended: 0, free: Vec::new() }
    }

    /// Runs until nothing is left to happen up to `until`; false when nothing is left at all.
    pub fn run_until(&mut self, until: Picos, mut delivered: impl FnMut(&Delivered)) -> bool {
        loop {
            let birth = self.births.next();
            let end = self.fluid.next_end();
            // At the same moment what ends makes room for what is born.
            match (end, birth) {
                (Some((now, id)), birth) if birth.is_none_or(|birth| now <= birth) => {
                    if now > until {
                        return true;
                    }
                    delivered(&self.end(now, id));
                }
                (_, Some(now)) => {
                    if now > until {
                        return true;
                    }
                    self.bear();
                }
                (_, None) => return false,
            }
        }
    }

    /// Messages born so far.
    pub fn born(&self) -> u64 {
        self.births.born()
    }

    /// Messages born that have not ended: waiting or moving.
    pub fn in_flight(&self) -> u64 {
        self.births.born() - self.ended
    }

    /// Events so far: births and ends.
    pub fn events(&self) -> u64 {
        self.births.born() + self.ended
    }

    /// The messages under way.
    pub fn fluid(&self) -> &Fluid {
        &self.fluid
    }

    /// Bytes carried by each link since this was last called; see [`Fluid::take_carried`].
    pub fn take_carried(&mut self, now: Picos) -> Vec<f64> {
        self.fluid.take_carried(now)
    }

    fn bear(&mut self) {
        let (fluid, lanes) = (&self.fluid, &self.lanes);
        let message = self.births.send(|path, next_lanes| {
            fluid.look(path);
            lanes.look(next_lanes);
        });
        let Some(message) = message else { return };
        let (path, own_lanes) = self.births.way();
        let id = self.fluid.add(path, message.parcel.bytes);
        match self.under_way.get_mut(id as usize) {
            Some(place) => *place = message,
            None => self.under_way.push(message),
        }
        if own_lanes.is_empty() || self.lanes.join(id, own_lanes) {
            self.fluid.start(message.born, id);
        }
    }

    fn end(&mut self, now: Picos, id: MessageId) -> Delivered {
        self.fluid.end(now, id);
        let lanes = &self.lanes;
        self.fluid.look_at_ends(|next| lanes.look_of(next));
        self.ended += 1;
        if self.lanes.holds(id) {
            let mut free = std::mem::take(&mut self.free);
            self.lanes.leave(id, &mut free);
            for id in free.drain(..) {
                self.fluid.start(now, id);
            }
            self.free = free;
        }
        Delivered { ended: now, ..self.under_way[id as usize] }
    }
}
