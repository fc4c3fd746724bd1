//! A run: messages are born at sources, are carried as fluid, and end.

use std::hint::black_box;

use super::MessageId;
use crate::births::Births;
use crate::host::{Hosts, StageUse};
use crate::traffic::{Delivered, Traffic};
use crate::units::Picos;

/// A model that carries messages over links, in one of the ways of [`crate::fluid`].
pub trait Carrier {
    /// Takes a message that is born now. Its number is reused after its end.
    fn send(&mut self, now: Picos, path: &[u32], lanes: &[u32], bytes: u64) -> MessageId;

    /// Touches the data of a message with this path and these lanes that is sent soon; changes
    /// nothing.
    fn look(&self, _path: &[u32], _lanes: &[u32]) {}

    /// Touches the data of the next ends of messages, several at once, and calls `next` with these
    /// messages. Most calls have nothing to do.
    fn look_at_ends(&mut self, _next: impl FnMut(MessageId)) {}

    /// The time of the next event.
    fn next_event(&self) -> Option<Picos>;

    /// Processes the next event; returns the message that it ends. Does nothing when no event is
    /// pending.
    fn step(&mut self) -> Option<MessageId>;

    /// Bytes that each link has carried by `now`. Nothing changes.
    fn carried(&self, now: Picos) -> Vec<f64>;

    /// Number of times that a rate was set.
    fn rate_changes(&self) -> u64;
}

/// A message under way.
#[repr(align(64))] // so that none straddles two cache lines
struct Place(Delivered);

/// A run of `traffic` over a carrier.
pub struct Run<T, C> {
    carrier: C,
    births: Births<T>,
    /// By message; `ended` is not set yet.
    under_way: Vec<Place>,
    ended: u64,
    steps: u64,
}

impl<T: Traffic, C: Carrier> Run<T, C> {
    /// A run of sources 0 to `sources` - 1.
    pub fn new(carrier: C, traffic: T, sources: u32) -> Self {
        let births = Births::new(traffic, sources);
        Self { carrier, births, under_way: Vec::new(), ended: 0, steps: 0 }
    }

    /// The same, with hosts as chains of stages.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Option<Hosts>) -> Self {
        self.births = self.births.with_hosts(hosts);
        self
    }

    /// The use of the stages of hosts so far.
    pub fn stage_uses(&self) -> Vec<StageUse> {
        self.births.stage_uses()
    }

    /// Runs until no event is left up to `until`; false when none is left at all.
    pub fn run_until(&mut self, until: Picos, mut delivered: impl FnMut(&Delivered)) -> bool {
        loop {
            let birth = self.births.next();
            // Of events at the same moment, ends come first, so that they make room for births.
            match (self.carrier.next_event(), birth) {
                (Some(now), birth) if birth.is_none_or(|birth| now <= birth) => {
                    if now > until {
                        return true;
                    }
                    self.steps += 1;
                    let under_way = &self.under_way;
                    self.carrier.look_at_ends(|id| {
                        black_box(under_way.get(id as usize).map(|place| place.0.number));
                    });
                    if let Some(id) = self.carrier.step() {
                        self.ended += 1;
                        let mut message = Delivered { ended: now, ..self.under_way[id as usize].0 };
                        self.births.ended(&mut message, true);
                        delivered(&message);
                    }
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
        self.born() - self.ended - self.births.unrouted()
    }

    /// Messages so far that had no way to their destination.
    pub fn unrouted(&self) -> u64 {
        self.births.unrouted()
    }

    /// Number of events so far: births and steps of the carrier. End to end, the steps are the
    /// ends.
    pub fn events(&self) -> u64 {
        self.born() + self.steps
    }

    /// The carrier.
    pub fn carrier(&self) -> &C {
        &self.carrier
    }

    /// The carrier, for counters that are reset by reading.
    pub fn carrier_mut(&mut self) -> &mut C {
        &mut self.carrier
    }

    /// The traffic model.
    pub fn traffic(&self) -> &T {
        self.births.traffic()
    }

    fn bear(&mut self) {
        let carrier = &self.carrier;
        let Some(message) = self.births.send(|path, lanes| carrier.look(path, lanes)) else { return };
        let (now, path, lanes) = self.births.way();
        let id = self.carrier.send(now, path, lanes, message.parcel.bytes);
        match self.under_way.get_mut(id as usize) {
            Some(place) => *place = Place(message),
            None => self.under_way.push(Place(message)),
        }
    }
}
