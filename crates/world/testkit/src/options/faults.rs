//! Faults of federates, nodes and links, and a plan of faults that a federation survives.

use super::{Kind, Shape, Timing};
use crate::draw::Draw;
use base::Moment;
use std::collections::BTreeSet;
use std::time::Duration;

/// A fault of the plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedFault {
    /// When it begins.
    pub at: Moment,
    /// How long it lasts; zero for an event without duration.
    pub lasts: Duration,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// The kinds of faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Connections between two nodes break.
    Cut(usize, usize),
    /// Nothing passes between two nodes, and neither is notified.
    Stall(usize, usize),
    /// Nothing passes from the first node to the second.
    OneWay(usize, usize),
    /// Packets between two nodes take this much longer.
    Slow(usize, usize, Duration),
    /// Nothing passes between these nodes and the others; true: connections break.
    Partition(BTreeSet<usize>, bool),
    /// The process of a node dies for good.
    Crash(usize),
    /// The process of a node dies, and another one takes its place after a while.
    Restart(usize),
    /// The processes of these nodes die at once, and are started again after a while.
    Outage(BTreeSet<usize>),
    /// A node leaves in order.
    Leave(usize),
    /// A spare node joins.
    Join(usize),
    /// The process of a node is suspended.
    Pause(usize),
    /// The processes of these nodes are suspended together, as on machines that are suspended
    /// together.
    Suspend(BTreeSet<usize>),
    /// The clock of a node jumps ahead.
    Clock(usize, Duration),
    /// The disk of a node stores nothing; true: nothing can be removed from it either.
    Disk(usize, bool),
    /// A fault of a federate, which is given by its number.
    Federate(usize, FederateFault),
}

/// Faults of a federate and its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FederateFault {
    /// Packets arrive late, each by up to this.
    Delay(Duration),
    /// Bytes arrive in pieces of at most this many.
    Fragment(usize),
    /// Each packet breaks the connection with this chance, in parts per million.
    Cut(u32),
    /// Nothing passes, and neither side is notified.
    Stall,
    /// Its process dies and never returns.
    Kill,
    /// Its process lives and reads nothing.
    SlowReader,
}

/// The nodes and links that the plan takes away, all at once in the worst case.
#[derive(Clone, Default)]
struct Loss {
    gone: BTreeSet<usize>,
    /// Those of `gone` that never come back.
    dead: BTreeSet<usize>,
    parted: BTreeSet<usize>,
    cut: Vec<usize>,
    /// A partition in which no part has a majority is planned, so nothing else may be lost.
    split: bool,
}

/// An outage of any of the nodes, even of a majority or of all, which replaces the plan's other
/// faults of nodes and partitions. All these nodes are started again, so that the network can
/// recover.
pub(super) fn outage(plan: &mut Vec<PlannedFault>, nodes: usize, span: Duration, draw: &mut Draw) {
    plan.retain(|fault| {
        matches!(fault.kind, FaultKind::Federate(..) | FaultKind::Cut(..) | FaultKind::Slow(..))
    });
    let all: Vec<usize> = (0..nodes).collect();
    let some = if draw.chance(40) { all } else { draw.some(&all) };
    let at = Moment::from_micros(draw.between(200_000, span.as_micros() as u64));
    let lasts = draw.millis(50, 9_000);
    plan.push(PlannedFault { at, lasts, kind: FaultKind::Outage(some.into_iter().collect()) });
    plan.sort_by_key(|fault| fault.at);
}

/// Faults that operators meet rarely, in place of the plan's other faults of nodes and links: long
/// stalls, clocks that jump, disks that store nothing. Returns when the last of them is over.
pub(super) fn hardship(
    plan: &mut Vec<PlannedFault>,
    planner: &mut Planner<'_>,
    has_disks: bool,
    draw: &mut Draw,
) -> Moment {
    plan.retain(|fault| matches!(fault.kind, FaultKind::Federate(..) | FaultKind::Slow(..)));
    let all: Vec<usize> = (0..planner.shape.nodes).collect();
    let alone = has_disks && draw.chance(25);
    let number = if alone { 1 } else { draw.between(1, 3) };
    let faults = (0..number).filter_map(|_| {
        if !alone {
            return planner.draw_hardship(has_disks, draw);
        }
        // There are no other faults, so the nodes only have to find each other again.
        let some = if draw.chance(40) { all.clone() } else { draw.some(&all) };
        let at = Moment::from_micros(draw.between(200_000, planner.span.as_micros() as u64));
        let kind = FaultKind::Suspend(some.into_iter().collect());
        Some(PlannedFault { at, lasts: draw.millis(50, 15_000), kind })
    });
    plan.extend(faults);
    plan.sort_by_key(|fault| fault.at);
    plan.iter().map(|fault| fault.at + fault.lasts).max().unwrap_or_default()
}

pub(super) struct Planner<'a> {
    shape: &'a Shape,
    protected: usize,
    timing: &'a Timing,
    span: Duration,
    federates: usize,
    loss: Loss,
    joined: bool,
}

/// A plan under which a majority of the nodes stays together, or comes together again in time.
pub(super) fn plan(
    shape: &Shape,
    protected: usize,
    timing: &Timing,
    span: Duration,
    federates: usize,
    draw: &mut Draw,
) -> Vec<PlannedFault> {
    let mut planner = Planner::new(shape, protected, timing, span, federates);
    // The kinds of faults that this run has at all.
    let allowed: Vec<u64> = (0..12).filter(|_| draw.chance(45)).collect();
    let mut faults = Vec::new();
    for _ in 0..draw.between(1, 6) {
        let Some(&which) = draw.pick(&allowed) else { break };
        faults.extend(planner.draw(which, draw));
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}

impl<'a> Planner<'a> {
    /// A planner with nothing planned.
    pub(super) fn new(
        shape: &'a Shape,
        protected: usize,
        timing: &'a Timing,
        span: Duration,
        federates: usize,
    ) -> Self {
        Self { shape, protected, timing, span, federates, loss: Loss::default(), joined: false }
    }

    fn draw_hardship(&mut self, has_disks: bool, draw: &mut Draw) -> Option<PlannedFault> {
        let at = Moment::from_micros(draw.between(200_000, self.span.as_micros() as u64));
        let long = draw.millis(4_000, 15_000);
        let node = draw.below(self.shape.nodes as u64) as usize;
        let (lasts, kind) = match draw.below(7) {
            0 if self.take(node) => (long, FaultKind::Pause(node)),
            1 => {
                let mut loss = self.loss.clone();
                let place = draw.below(self.shape.edges.len() as u64) as usize;
                let edge = *self.shape.edges.get(place)?;
                loss.cut.push(place);
                let (a, b) = (edge.from, edge.to);
                let kind = if draw.chance(50) { FaultKind::Stall(a, b) } else { FaultKind::OneWay(b, a) };
                (self.accept(loss).then_some(long)?, kind)
            }
            2 if self.take(node) => (Duration::ZERO, FaultKind::Clock(node, draw.millis(100, 60_000))),
            3 => (Duration::ZERO, FaultKind::Clock(node, self.brief(self.timing.silence, draw))),
            4 if has_disks => (long, FaultKind::Disk(node, false)),
            // While nothing can be stored or removed, the node takes no part in decisions.
            5 if has_disks && self.take(node) => (long, FaultKind::Disk(node, true)),
            6 if self.may_restart(node) => (draw.millis(50, 3_000), FaultKind::Restart(node)),
            _ => return None,
        };
        Some(PlannedFault { at, lasts, kind })
    }

    fn draw(&mut self, which: u64, draw: &mut Draw) -> Option<PlannedFault> {
        let at = Moment::from_micros(draw.between(200_000, self.span.as_micros() as u64));
        let long = draw.millis(50, 4_000);
        let federate = draw.below(self.federates as u64) as usize;
        let node = draw.below(self.shape.nodes as u64) as usize;
        let (lasts, kind) = match which {
            0..=3 => self.link(which, long, draw)?,
            4 => self.partition(long, draw)?,
            5 if self.take_for_good(node) => (Duration::ZERO, FaultKind::Crash(node)),
            6 if self.may_restart(node) => (draw.millis(50, 3_000), FaultKind::Restart(node)),
            7 if self.take_for_good(node) => (Duration::ZERO, FaultKind::Leave(node)),
            8 if !std::mem::replace(&mut self.joined, true) && self.shape.kind != Kind::Hypercube => {
                (Duration::ZERO, FaultKind::Join(self.shape.nodes))
            }
            9 if draw.chance(50) && self.take(node) => (long, FaultKind::Pause(node)),
            9 => (self.brief(self.timing.silence, draw), FaultKind::Pause(node)),
            10 => (Duration::ZERO, FaultKind::Federate(federate, FederateFault::Kill)),
            11 if draw.chance(50) => (long, FaultKind::Federate(federate, FederateFault::Stall)),
            11 => {
                let cut = FederateFault::Cut(draw.between(2_000, 200_000) as u32);
                (long, FaultKind::Federate(federate, cut))
            }
            _ => return None,
        };
        Some(PlannedFault { at, lasts, kind })
    }

    /// A time that is too short for any node to be given up.
    fn brief(&self, timeout: Duration, draw: &mut Draw) -> Duration {
        draw.micros(1_000, timeout.as_micros() as u64 * 2 / 5)
    }

    fn link(&mut self, which: u64, long: Duration, draw: &mut Draw) -> Option<(Duration, FaultKind)> {
        let place = draw.below(self.shape.edges.len() as u64) as usize;
        let edge = *self.shape.edges.get(place)?;
        let (a, b) = if draw.chance(50) { (edge.from, edge.to) } else { (edge.to, edge.from) };
        let mut loss = self.loss.clone();
        loss.cut.push(place);
        let lasting = self.accept(loss);
        let limit = |timeout, draw: &mut Draw| if lasting { long } else { self.brief(timeout, draw) };
        Some(match which {
            0 => (limit(self.timing.node, draw), FaultKind::Cut(a, b)),
            1 => (limit(self.timing.silence, draw), FaultKind::Stall(a, b)),
            2 => (limit(self.timing.silence, draw), FaultKind::OneWay(a, b)),
            _ => (long, FaultKind::Slow(a, b, draw.millis(1, 150))),
        })
    }

    fn partition(&mut self, long: Duration, draw: &mut Draw) -> Option<(Duration, FaultKind)> {
        let all: Vec<usize> = (0..self.shape.nodes).collect();
        let side: BTreeSet<usize> = draw.some(&all).into_iter().collect();
        if side.is_empty() || side.len() == all.len() {
            return None;
        }
        let cut = draw.chance(50);
        let timeout = if cut { self.timing.node } else { self.timing.silence };
        let fresh = self.loss.parted.is_empty() && !self.loss.split;
        let mut loss = self.loss.clone();
        loss.parted.clone_from(&side);
        let lasts = if fresh && self.accept(loss.clone()) {
            long
        } else if fresh && self.is_split(&loss) {
            self.loss = Loss { split: true, ..loss };
            long.min(self.timing.minority / 2)
        } else {
            self.brief(timeout, draw)
        };
        Some((lasts, FaultKind::Partition(side, cut)))
    }

    /// Takes a node away for good, if the others tolerate it and stay connected without it.
    fn take_for_good(&mut self, node: usize) -> bool {
        let mut dead = self.loss.dead.clone();
        dead.insert(node);
        // A node that is away for a while comes back, and needs another node to come back to.
        let spare = self.shape.largest_part(&dead, &BTreeSet::new(), &[]) == self.shape.nodes - dead.len();
        let taken = spare && self.take(node);
        if taken {
            self.loss.dead = dead;
        }
        taken
    }

    /// Takes a node away until it is started again. A node that is gone for good is not started
    /// again: its only neighbour may be gone, too.
    fn may_restart(&mut self, node: usize) -> bool {
        !self.loss.dead.contains(&node) && self.take(node)
    }

    /// Takes a node away for a while or for good, if the others tolerate it.
    fn take(&mut self, node: usize) -> bool {
        let mut loss = self.loss.clone();
        loss.gone.insert(node);
        node != self.protected && self.accept(loss)
    }

    /// Adds the loss to the plan if the nodes that stay connected are a majority even then.
    fn accept(&mut self, loss: Loss) -> bool {
        let nodes = self.shape.nodes;
        let part = self.shape.largest_part(&loss.gone, &loss.parted, &loss.cut);
        let borne = !loss.split && part >= nodes - (nodes - 1) / 2;
        if borne {
            self.loss = loss;
        }
        borne
    }

    /// Whether no part has a majority, so that no node can give up another, and no node is lost.
    fn is_split(&self, loss: &Loss) -> bool {
        let part = self.shape.largest_part(&loss.gone, &loss.parted, &loss.cut);
        loss.gone.is_empty() && part * 2 <= self.shape.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Seed;

    #[test]
    fn a_plan_takes_away_a_minority_and_never_the_protected() {
        for seed in 0..300 {
            let mut draw = Draw::new(Seed(seed), "plan");
            let shape = Shape::graph(draw.between(1, 6) as usize, &mut draw);
            let protected = draw.below(shape.nodes as u64) as usize;
            let plan = plan(&shape, protected, &Timing::SHORT, Duration::from_secs(3), 4, &mut draw);
            let dead: BTreeSet<usize> = plan
                .iter()
                .filter_map(|fault| match fault.kind {
                    FaultKind::Crash(node) | FaultKind::Restart(node) | FaultKind::Leave(node) => Some(node),
                    _ => None,
                })
                .collect();
            assert!(dead.len() <= (shape.nodes - 1) / 2, "{plan:?}");
            assert!(!dead.contains(&protected), "{plan:?}");
            let for_good = plan.iter().filter_map(|fault| match fault.kind {
                FaultKind::Crash(node) | FaultKind::Leave(node) => Some(node),
                _ => None,
            });
            let for_good: BTreeSet<usize> = for_good.collect();
            let part = shape.largest_part(&for_good, &BTreeSet::new(), &[]);
            assert_eq!(part, shape.nodes - for_good.len(), "those that come back find the others: {plan:?}");
        }
    }
}
