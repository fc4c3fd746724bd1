//! Floods of updates: of many publishers to one subscriber, and of one publisher to many subscribers.

use std::time::Duration;

use super::order::{Awaited, Class, Order};
use super::plan::{Group, Node, ONE, Phase, departure, phase, preparation};
use crate::share;

/// The federates of a flood, beside which as many reflects come from one publisher to one subscriber.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fan {
    /// So many publishers at the first node, each in a process of its own, and a subscriber at the last one.
    In {
        /// Number of publishers; 0 is as good as 1.
        publishers: u32,
    },
    /// A publisher at the first node, and so many subscribers at the last one, in one process.
    Out {
        /// Number of subscribers.
        subscribers: u32,
    },
}

/// Floods in which many federates and one take turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Floods {
    /// The federates.
    pub fan: Fan,
    /// Updates of all publishers together, or to all subscribers.
    pub updates: u32,
    /// Number of slices of these updates.
    pub slices: u32,
    /// Octets of a value.
    pub size: u32,
}

const SUBSCRIBER: usize = 0;
/// The publisher whose turn it is when one alone publishes.
const PUBLISHER: usize = 1;

/// The groups of a fan-out: one publisher, all subscribers, and one that subscribes to another class.
const SENDER: usize = 0;
const ALL: usize = 1;
const SINGLE: usize = 2;

impl Floods {
    /// The phase in which updates go from many publishers or to many subscribers.
    pub const MANY: &'static str = "many";
    /// Its end, for which nobody but the publishers has to wait: the RTI has taken all updates. The times of a
    /// fan-in are how long it takes the updates of each publisher.
    pub const TAKEN: &'static str = "taken";
    /// The phase in which updates go from one publisher to one subscriber.
    pub const ONE: &'static str = "one";

    /// Updates from one publisher to one subscriber: as many as there are reflects of the others.
    pub fn singles(self) -> u64 {
        match self.fan {
            Fan::In { .. } => self.updates.into(),
            Fan::Out { subscribers } => u64::from(self.updates) * u64::from(subscribers),
        }
    }

    /// The part of each publisher in these updates.
    pub fn updates_of_each(self) -> Vec<u64> {
        let publishers = match self.fan {
            Fan::In { publishers } => u64::from(publishers.max(1)),
            Fan::Out { .. } => 1,
        };
        let slices = u64::from(self.slices);
        let in_slice = |slice| share(self.updates.into(), slices, slice);
        let of = |publisher| (0..slices).map(|slice| share(in_slice(slice), publishers, publisher)).sum();
        (0..publishers).map(of).collect()
    }

    pub(super) fn groups(self) -> Vec<Group> {
        let far = Group { node: Node::Last, ..ONE };
        match self.fan {
            Fan::In { publishers } => [far].into_iter().chain((0..publishers.max(1)).map(|_| ONE)).collect(),
            Fan::Out { subscribers } => vec![ONE, Group { federates: subscribers, ..far }, far],
        }
    }

    pub(super) fn phases(self) -> Vec<Phase> {
        let groups = self.groups().len();
        let begin = match self.fan {
            Fan::In { publishers } => publishers_join(publishers.max(1)),
            Fan::Out { .. } => subscribers_join(),
        };
        let warm_up = [(self.updates.into(), Self::MANY), (self.singles(), Self::ONE)]
            .into_iter()
            .flat_map(|(updates, name)| self.flood(u64::div_ceil(updates, 10), name))
            .map(|phase| Phase { name: None, ..phase });
        let slices = u64::from(self.slices);
        let slices = (0..slices).flat_map(|slice| {
            let many = self.flood(share(self.updates.into(), slices, slice), Self::MANY);
            many.into_iter().chain(self.flood(share(self.singles(), slices, slice), Self::ONE))
        });
        begin.into_iter().chain(warm_up).chain(slices).chain([departure(0..groups)]).collect()
    }

    /// A flood that ends when its subscribers have got all updates, and the wait for the publishers' answers.
    fn flood(self, updates: u64, name: &'static str) -> [Phase; 2] {
        let is_one = name == Self::ONE;
        let (publishers, subscriber, class, count) = match self.fan {
            Fan::In { publishers } if !is_one => {
                (1..=publishers.max(1) as usize, SUBSCRIBER, Class::Ping, publishers)
            }
            Fan::In { .. } => (PUBLISHER..=PUBLISHER, SUBSCRIBER, Class::Ping, 1),
            Fan::Out { subscribers } if !is_one => (SENDER..=SENDER, ALL, Class::Ping, subscribers),
            Fan::Out { .. } => (SENDER..=SENDER, SINGLE, Class::Pong, 1),
        };
        let number = |updates| u32::try_from(updates).unwrap_or(u32::MAX);
        let parts = publishers.clone().count() as u64;
        let floods = (0..).zip(publishers.clone()).map(|(part, publisher)| {
            (publisher, Order::Flood(class, number(share(updates, parts, part)), self.size))
        });
        let wait = (subscriber, Order::Await(Awaited::Reflect, number(updates)));
        let flood = Phase {
            orders: [wait].into_iter().chain(floods).collect(),
            ..phase(name, count, [], [subscriber])
        };
        let taken = Phase { until: publishers.collect(), ..phase(Self::TAKEN, count, [], []) };
        [flood, Phase { name: taken.name.filter(|_| !is_one), ..taken }]
    }
}

fn publishers_join(publishers: u32) -> Vec<Phase> {
    let at_once = Order::Join(Duration::ZERO);
    let of_all = 1..=publishers as usize;
    let join = of_all.flat_map(|publisher| {
        [at_once, Order::Publish(Class::Ping), Order::Register(Class::Ping, 1)]
            .map(|order| (publisher, order))
    });
    let subscribe = [at_once, Order::Subscribe(Class::Ping)].map(|order| (SUBSCRIBER, order));
    vec![
        preparation(subscribe.into_iter().chain(join)),
        preparation([(SUBSCRIBER, Order::Await(Awaited::Discovery, publishers))]),
    ]
}

fn subscribers_join() -> Vec<Phase> {
    let at_once = Order::Join(Duration::ZERO);
    let publish = [Class::Ping, Class::Pong]
        .into_iter()
        .flat_map(|class| [Order::Publish(class), Order::Register(class, 1)]);
    let subscribe = [(ALL, Class::Ping), (SINGLE, Class::Pong)].into_iter().flat_map(|(group, class)| {
        [at_once, Order::Subscribe(class), Order::Await(Awaited::Discovery, 1)].map(|order| (group, order))
    });
    vec![preparation([at_once].into_iter().chain(publish).map(|order| (SENDER, order)).chain(subscribe))]
}
