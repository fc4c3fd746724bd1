//! Store and forward: a message enters the next queue when its last byte has left the one before.
//!
//! That is the ideal queue of the VIA paper (Fig. 3) taken literally, link by link. Each of the n
//! subqueues that are not empty gets C/n, the messages of a subqueue are served one after the
//! other, and a message pays for its bytes at every link.

use super::end_to_end::EndToEnd;
use super::lanes::Lanes;
use super::run::Carrier;
use super::runs::Runs;
use super::{Fluid, MessageId, Sharing};
use crate::units::{Picos, Rate};

/// No lane.
const NONE: u32 = u32::MAX;

/// A message on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Journey {
    /// The index of its first link.
    first: u32,
    links: u32,
    /// The position on its path of its present link.
    at: u32,
    /// The lane of its flow at its first link; the lanes of the other links follow.
    lane: u32,
    bytes: u64,
}

/// Messages that are whole at each link.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The legs of all journeys. A leg is a message whose path is one link.
    legs: EndToEnd,
    /// By leg: its journey.
    journey_of: Vec<MessageId>,
    journeys: Vec<Journey>,
    unused: Vec<MessageId>,
    /// Links of all paths.
    links: Vec<u32>,
    runs: Runs,
    /// By lane of the traffic: the first of its lanes at links.
    lanes: Vec<u32>,
    lanes_used: u32,
}

impl Stored {
    /// Idle links of these rates.
    pub fn new(rates: impl IntoIterator<Item = Rate>) -> Self {
        // On one link both ways of sharing are the same.
        let legs = EndToEnd::new(Fluid::new(Sharing::MinShare, rates), Lanes::default());
        Self {
            legs,
            journey_of: Vec::new(),
            journeys: Vec::new(),
            unused: Vec::new(),
            links: Vec::new(),
            runs: Runs::default(),
            lanes: Vec::new(),
            lanes_used: 0,
        }
    }

    /// The first of the lanes of a flow over `links` links.
    fn first_lane(&mut self, lane: u32, links: u32) -> u32 {
        if self.lanes.len() <= lane as usize {
            self.lanes.resize(lane as usize + 1, NONE);
        }
        let place = &mut self.lanes[lane as usize];
        if *place == NONE {
            *place = self.lanes_used;
            self.lanes_used += links;
        }
        *place
    }

    /// Lets a message enter the queue of its present link.
    fn enter(&mut self, now: Picos, id: MessageId) {
        let Journey { first, at, lane, bytes, .. } = self.journeys[id as usize];
        let link = self.links[(first + at) as usize];
        let leg = match lane {
            NONE => self.legs.send(now, &[link], &[], bytes),
            lane => self.legs.send(now, &[link], &[lane + at], bytes),
        };
        if self.journey_of.len() <= leg as usize {
            self.journey_of.resize(leg as usize + 1, 0);
        }
        self.journey_of[leg as usize] = id;
    }
}

impl Carrier for Stored {
    fn send(&mut self, now: Picos, path: &[u32], lanes: &[u32], bytes: u64) -> MessageId {
        assert!(!path.is_empty() && lanes.len() < 2, "a message has a path, and at most one lane");
        let first = self.runs.take(path.len());
        self.links.resize(self.runs.end().max(self.links.len()), 0);
        self.links[first as usize..first as usize + path.len()].copy_from_slice(path);
        let links = path.len() as u32; // a few; `Runs` would have refused 2^32
        let lane = lanes.first().map_or(NONE, |lane| self.first_lane(*lane, links));
        let id = self.unused.pop().unwrap_or(self.journeys.len() as u32);
        let journey = Journey { first, links, at: 0, lane, bytes };
        match self.journeys.get_mut(id as usize) {
            Some(place) => *place = journey,
            None => self.journeys.push(journey),
        }
        self.enter(now, id);
        id
    }

    #[inline]
    fn look_at_ends(&mut self, _next: impl FnMut(MessageId)) {
        self.legs.look_at_ends(|_| ());
    }

    #[inline]
    fn next_event(&self) -> Option<Picos> {
        self.legs.next_event()
    }

    fn step(&mut self) -> Option<MessageId> {
        let now = self.legs.next_event()?;
        let leg = self.legs.step()?;
        let id = self.journey_of[leg as usize];
        let journey = &mut self.journeys[id as usize];
        journey.at += 1;
        if journey.at < journey.links {
            self.enter(now, id);
            return None;
        }
        self.runs.give_back(journey.first, journey.links as usize);
        self.unused.push(id);
        Some(id)
    }

    fn carried(&self, now: Picos) -> Vec<f64> {
        self.legs.carried(now)
    }

    fn rate_changes(&self) -> u64 {
        self.legs.rate_changes()
    }
}
