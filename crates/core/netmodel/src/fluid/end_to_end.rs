//! End to end: a message waits in its lanes, then holds all links of its path at once.

use super::lanes::Lanes;
use super::run::Carrier;
use super::{Fluid, MessageId};
use crate::units::Picos;

/// Messages that move at one rate over their whole path, with the lanes in which they wait.
#[derive(Clone, Debug)]
pub struct EndToEnd {
    fluid: Fluid,
    lanes: Lanes,
    free: Vec<MessageId>,
}

impl EndToEnd {
    /// Idle links and empty lanes.
    pub fn new(fluid: Fluid, lanes: Lanes) -> Self {
        Self { fluid, lanes, free: Vec::new() }
    }

    /// Bytes carried by each link since the last call; see [`Fluid::take_carried`].
    pub fn take_carried(&mut self, now: Picos) -> Vec<f64> {
        self.fluid.take_carried(now)
    }
}

impl Carrier for EndToEnd {
    fn send(&mut self, now: Picos, path: &[u32], lanes: &[u32], bytes: u64) -> MessageId {
        let id = self.fluid.add(path, bytes);
        if lanes.is_empty() || self.lanes.join(id, lanes) {
            self.fluid.start(now, id);
        }
        id
    }

    fn look(&self, path: &[u32], lanes: &[u32]) {
        self.fluid.look(path);
        self.lanes.look(lanes);
    }

    #[inline]
    fn look_at_ends(&mut self, mut next: impl FnMut(MessageId)) {
        let lanes = &self.lanes;
        self.fluid.look_at_ends(|id| {
            lanes.look_of(id);
            next(id);
        });
    }

    #[inline]
    fn next_event(&self) -> Option<Picos> {
        self.fluid.next_end().map(|(now, _)| now)
    }

    fn step(&mut self) -> Option<MessageId> {
        let (now, id) = self.fluid.next_end()?;
        self.fluid.end(now, id);
        if self.lanes.holds(id) {
            let mut free = std::mem::take(&mut self.free);
            self.lanes.leave(id, &mut free);
            for id in free.drain(..) {
                self.fluid.start(now, id);
            }
            self.free = free;
        }
        Some(id)
    }

    fn carried(&self, now: Picos) -> Vec<f64> {
        self.fluid.carried(now)
    }

    fn rate_changes(&self) -> u64 {
        self.fluid.rate_changes()
    }
}
