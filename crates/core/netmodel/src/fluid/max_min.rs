//! Max-min fair rates by progressive filling, for the messages that a change can concern.
//!
//! Those are the messages that share a link with the one that started or ended, the messages that
//! share a link with these, and so on. Beyond that component nothing changes. Inside it, the link
//! that can offer least to each of its messages settles them at that rate. The capacity that they
//! leave on other links is for the other messages, and the next link follows. The offers of links
//! only grow while others are settled, so that a heap with stale entries finds the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::engine::{Fluid, MessageId};
use super::indices::NONE;

/// In components of at most this many links a linear search is faster than a heap.
const LOOK_AT_EACH: usize = 48;

/// A link while its component is solved.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// Capacity that is not settled yet.
    left: f64,
    /// Messages that are not settled yet.
    unsettled: u32,
    /// The round in which it was last visited.
    met: u32,
}

impl Open {
    fn offer(self) -> f64 {
        (self.left / f64::from(self.unsettled)).max(0.0)
    }
}

/// The working memory of the solver, kept so that it is not allocated each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Solver {
    round: u32,
    /// By the first hop on a link.
    open: Vec<Open>,
    /// The rounds in which a message was last visited, and last settled.
    met: Vec<u32>,
    settled: Vec<u32>,
    /// The links of the component, with their first hops.
    links: Vec<(u32, u32)>,
    /// The messages of the component.
    messages: Vec<MessageId>,
    rates: Vec<(MessageId, f64)>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Solver {
    /// The rates of the last solution.
    pub(super) fn rates(&self) -> &[(MessageId, f64)] {
        &self.rates
    }

    /// Finds the rates of the component around the links of these hops.
    pub(super) fn solve(&mut self, fluid: &Fluid, path: Range<usize>) {
        self.begin(fluid.messages.len(), fluid.links.hops.len());
        for at in path {
            self.meet_link(fluid, fluid.links.hops[at].link);
        }
        let mut next = 0;
        while let Some(&(_, head)) = self.links.get(next) {
            self.meet_messages(fluid, head);
            next += 1;
        }
        match self.messages.as_slice() {
            [] => {}
            // A single message gets the capacity of its narrowest link.
            &[only] => {
                let path = fluid.messages[only as usize].path();
                let capacities = fluid.links.hops[path].iter().map(|hop| fluid.links.capacity(hop.link));
                self.rates.push((only, capacities.fold(f64::INFINITY, f64::min)));
            }
            _ if self.links.len() <= LOOK_AT_EACH => self.fill_by_looking(fluid),
            _ => self.fill_by_heap(fluid),
        }
    }

    fn begin(&mut self, messages: usize, hops: usize) {
        self.links.clear();
        self.messages.clear();
        self.rates.clear();
        if self.met.len() < messages {
            self.met.resize(messages, 0);
            self.settled.resize(messages, 0);
        }
        if self.open.len() < hops {
            self.open.resize(hops, Open::default());
        }
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            // Marks of 2^32 rounds ago must not count as those of this round.
            self.met.fill(0);
            self.settled.fill(0);
            self.open.iter_mut().for_each(|open| open.met = 0);
            self.round = 1;
        }
    }

    #[inline]
    fn meet_link(&mut self, fluid: &Fluid, link: u32) {
        let head = fluid.links.head(link);
        if head == NONE {
            return;
        }
        let open = &mut self.open[head as usize];
        if open.met != self.round {
            let (left, unsettled) = (fluid.links.capacity(link), fluid.links.active(head));
            *open = Open { left, unsettled, met: self.round };
            self.links.push((link, head));
        }
    }

    /// Visits the messages on the link whose list begins with `head`.
    fn meet_messages(&mut self, fluid: &Fluid, head: u32) {
        let mut at = head;
        while at != NONE {
            let hop = fluid.links.hops[at as usize];
            at = hop.next;
            if std::mem::replace(&mut self.met[hop.message as usize], self.round) != self.round {
                self.messages.push(hop.message);
                for own in fluid.messages[hop.message as usize].path() {
                    self.meet_link(fluid, fluid.links.hops[own].link);
                }
            }
        }
    }

    fn fill_by_looking(&mut self, fluid: &Fluid) {
        loop {
            let open = &self.open;
            self.links.retain(|(_, head)| open[*head as usize].unsettled > 0);
            // Of equal offers take that of the link with the lowest number, so that the order of
            // visits does not matter.
            let offers =
                self.links.iter().map(|&(link, head)| (self.open[head as usize].offer(), link, head));
            let least = offers.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some((offer, _, head)) = least else { return };
            self.settle(fluid, head, offer);
        }
    }

    fn fill_by_heap(&mut self, fluid: &Fluid) {
        // The bits of numbers that are not negative have the order of the numbers.
        let entry = |link: u32, open: Open| Reverse((open.offer().to_bits(), link));
        self.heap.clear();
        self.heap.extend(self.links.iter().map(|&(link, head)| entry(link, self.open[head as usize])));
        while let Some(Reverse((bits, link))) = self.heap.pop() {
            let head = fluid.links.head(link);
            let open = self.open[head as usize];
            if open.unsettled == 0 {
                continue;
            }
            if open.offer().to_bits() > bits {
                self.heap.push(entry(link, open));
            } else {
                self.settle(fluid, head, open.offer());
            }
        }
    }

    /// Settles at this rate all messages that are not settled yet on the link whose list begins
    /// with `head`.
    fn settle(&mut self, fluid: &Fluid, head: u32, rate: f64) {
        let mut at = head;
        while at != NONE {
            let hop = fluid.links.hops[at as usize];
            at = hop.next;
            if std::mem::replace(&mut self.settled[hop.message as usize], self.round) == self.round {
                continue;
            }
            self.rates.push((hop.message, rate));
            for own in fluid.messages[hop.message as usize].path() {
                let head = fluid.links.head(fluid.links.hops[own].link);
                let open = &mut self.open[head as usize];
                open.left -= rate;
                open.unsettled -= 1;
            }
        }
    }
}
