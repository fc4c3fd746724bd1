//! A run: messages are born at sources, wait in lanes, move as fluid, and end.

use super::lanes::Lanes;
use super::{Fluid, MessageId};
use crate::heap::EventHeap;
use crate::traffic::{Delivered, Traffic};
use crate::units::Picos;

/// A run of `traffic` over `fluid`.
pub struct Run<T> {
    fluid: Fluid,
    lanes: Lanes,
    traffic: T,
    births: EventHeap,
    /// By message; `ended` is not set yet.
    under_way: Vec<Delivered>,
    born: u64,
    ended: u64,
    path: Vec<u32>,
    own_lanes: Vec<u32>,
    free: Vec<MessageId>,
}

impl<T: Traffic> Run<T> {
    /// A run of sources 0 to `sources` - 1.
    pub fn new(fluid: Fluid, lanes: Lanes, mut traffic: T, sources: u32) -> Self {
        let mut births = EventHeap::default();
        for source in 0..sources {
            if let Some(first) = traffic.first(source) {
                births.push((first.0, source));
            }
        }
        Self {
            fluid,
            lanes,
            traffic,
            births,
            under_way: Vec::new(),
            born: 0,
            ended: 0,
            path: Vec::new(),
            own_lanes: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Runs until nothing is left to happen up to `until`; false when nothing is left at all.
    pub fn run_until(&mut self, until: Picos, mut delivered: impl FnMut(&Delivered)) -> bool {
        loop {
            let birth = self.births.first();
            let end = self.fluid.next_end();
            // At the same moment what ends makes room for what is born.
            match (end, birth) {
                (Some((now, id)), birth) if birth.is_none_or(|(birth, _)| now.0 <= birth) => {
                    if now > until {
                        return true;
                    }
                    delivered(&self.end(now, id));
                }
                (_, Some((now, source))) => {
                    if now > until.0 {
                        return true;
                    }
                    self.bear(Picos(now), source);
                }
                (_, None) => return false,
            }
        }
    }

    /// Messages born so far.
    pub fn born(&self) -> u64 {
        self.born
    }

    /// Messages born that have not ended: waiting or moving.
    pub fn in_flight(&self) -> u64 {
        self.born - self.ended
    }

    /// Events so far: births and ends.
    pub fn events(&self) -> u64 {
        self.born + self.ended
    }

    /// The messages under way.
    pub fn fluid(&self) -> &Fluid {
        &self.fluid
    }

    /// Bytes carried by each link since this was last called; see [`Fluid::take_carried`].
    pub fn take_carried(&mut self, now: Picos) -> Vec<f64> {
        self.fluid.take_carried(now)
    }

    fn bear(&mut self, now: Picos, source: u32) {
        self.path.clear();
        self.own_lanes.clear();
        let parcel = self.traffic.message(source, &mut self.path, &mut self.own_lanes);
        match self.traffic.next(source, now) {
            Some(next) => self.births.replace_first((next.max(now).0, source)),
            None => self.births.pop(),
        }
        let id = self.fluid.add(&self.path, parcel.bytes);
        let record = Delivered { number: self.born, source, parcel, born: now, ended: Picos::ZERO };
        self.born += 1;
        match self.under_way.get_mut(id as usize) {
            Some(place) => *place = record,
            None => self.under_way.push(record),
        }
        if self.own_lanes.is_empty() || self.lanes.join(id, &self.own_lanes) {
            self.fluid.start(now, id);
        }
    }

    fn end(&mut self, now: Picos, id: MessageId) -> Delivered {
        self.fluid.end(now, id);
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
