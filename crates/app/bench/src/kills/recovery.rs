//! Recovery times after kills.

use std::collections::BTreeMap;

use super::federates::deletes;
use super::log::Micros;
use super::timeline::{Life, Timeline};

/// Time after a kill that is examined.
const WINDOW: Micros = 5_000_000;
/// Messages sent up to this long before a kill may have been in flight.
const BEFORE: Micros = 1_000_000;

/// The recovery from one kill. Times are counted from the kill, and are those of the pair or the
/// federate that waited longest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The time of the kill.
    pub at: Micros,
    /// The node.
    pub node: usize,
    /// Number of federates that were joined there.
    pub lost: usize,
    /// Number of federates at nodes that were not killed, neither before nor for five seconds.
    pub survivors: usize,
    /// Time until each survivor had got a message from each other one that was sent after the kill.
    pub delivered: Option<Micros>,
    /// Longest time from sending to arrival among survivors, for messages sent in the second before
    /// the kill and the five seconds after it.
    pub slowest: Option<Micros>,
    /// Time until the last lost federate was joined at another node.
    pub rejoined: Option<Micros>,
    /// Time until each survivor had got a message from each lost federate.
    pub heard: Option<Micros>,
    /// Time until each lost federate had got a message from each survivor.
    pub hears: Option<Micros>,
    /// Time until the last object that is deleted with its federate was removed at the last
    /// survivor.
    pub removed: Option<Micros>,
}

impl Recovery {
    /// Time until all federates that were there before get messages from all others again.
    pub fn recovered(&self) -> Option<Micros> {
        [self.delivered, self.heard, self.hears].into_iter().flatten().max()
    }
}

/// Updates are numbered from 0 here, interactions from this number.
const INTERACTIONS: u64 = 1 << 62;

/// Arrival times of the messages of one session at another.
struct Arrivals(BTreeMap<(usize, usize), BTreeMap<u64, Micros>>);

impl Arrivals {
    fn of(timeline: &Timeline) -> Self {
        let mut all: BTreeMap<(usize, usize), BTreeMap<u64, Micros>> = BTreeMap::new();
        for (receiver, life) in timeline.lives.iter().enumerate() {
            let updates = life.reflects.iter().map(|(at, _, stamp)| (*at, *stamp, 0));
            let interactions = life.receives.iter().map(|(at, stamp)| (*at, *stamp, INTERACTIONS));
            for (at, stamp, kind) in updates.chain(interactions) {
                if let Some(sender) = timeline.places.get(&(stamp.slot, stamp.life)) {
                    all.entry((*sender, receiver)).or_default().insert(kind + stamp.number, at);
                }
            }
        }
        Self(all)
    }

    fn between(&self, sender: usize, receiver: usize) -> impl Iterator<Item = (u64, Micros)> {
        self.0.get(&(sender, receiver)).into_iter().flatten().map(|(number, at)| (*number, *at))
    }
}

fn made(sender: &Life, number: u64) -> Option<Micros> {
    let (list, number) = match number.checked_sub(INTERACTIONS) {
        Some(number) => (&sender.interactions, number),
        None => (&sender.updates, number),
    };
    list.get(usize::try_from(number).ok()?.checked_sub(1)?).map(|sent| sent.made)
}

/// The recovery from each kill.
pub fn recoveries(timeline: &Timeline) -> Vec<Recovery> {
    let arrivals = Arrivals::of(timeline);
    timeline.kills.iter().map(|(at, node)| recovery(timeline, &arrivals, *at, *node)).collect()
}

fn recovery(timeline: &Timeline, arrivals: &Arrivals, at: Micros, node: usize) -> Recovery {
    let lives = || timeline.lives.iter().enumerate();
    let survives = |life: &Life| {
        life.registered.is_some_and(|(since, _)| since < at)
            && life.until() > at + WINDOW
            && life.node != node
    };
    let survivors: Vec<usize> = lives().filter(|(_, life)| survives(life)).map(|(place, _)| place).collect();
    let lost: Vec<&Life> =
        lives().map(|(_, life)| life).filter(|life| life.node == node && life.killed == Some(at)).collect();
    let next = |lost: &Life| lives().find(|(_, life)| life.slot == lost.slot && life.joined > at);
    let successors: Vec<usize> = lost.iter().filter_map(|lost| next(lost)).map(|(place, _)| place).collect();
    let first = |sender: usize, receiver: usize| {
        let of = arrivals.between(sender, receiver);
        let after = of.filter(|(number, _)| made(&timeline.lives[sender], *number) > Some(at));
        after.map(|(_, came)| came - at).min()
    };
    let among = |from: &[usize], to: &[usize]| -> Option<Micros> {
        let pairs = from.iter().flat_map(|sender| to.iter().map(move |receiver| (*sender, *receiver)));
        let apart = |(sender, receiver): &(usize, usize)| {
            timeline.lives[*sender].slot != timeline.lives[*receiver].slot
        };
        pairs.filter(apart).filter_map(|(sender, receiver)| first(sender, receiver)).max()
    };
    Recovery {
        at,
        node,
        lost: lost.len(),
        survivors: survivors.len(),
        delivered: among(&survivors, &survivors),
        slowest: slowest(timeline, arrivals, &survivors, at),
        rejoined: successors.iter().map(|place| timeline.lives[*place].joined - at).max(),
        heard: among(&successors, &survivors),
        hears: among(&survivors, &successors),
        removed: removed(timeline, &lost, &survivors, at),
    }
}

fn slowest(timeline: &Timeline, arrivals: &Arrivals, survivors: &[usize], at: Micros) -> Option<Micros> {
    let pairs = survivors.iter().flat_map(|from| survivors.iter().map(move |to| (*from, *to)));
    let took = pairs.flat_map(|(sender, receiver)| {
        arrivals.between(sender, receiver).filter_map(move |(number, came)| {
            let made = made(&timeline.lives[sender], number)?;
            (at.saturating_sub(BEFORE)..at + WINDOW).contains(&made).then(|| came.saturating_sub(made))
        })
    });
    took.max()
}

fn removed(timeline: &Timeline, lost: &[&Life], survivors: &[usize], at: Micros) -> Option<Micros> {
    let objects = lost.iter().filter(|life| deletes(life.slot)).filter_map(|life| life.registered);
    let removals = objects.flat_map(|(_, object)| {
        survivors.iter().filter_map(move |place| timeline.lives[*place].known.get(&object)?.removed)
    });
    removals.max().map(|last| last.saturating_sub(at))
}
