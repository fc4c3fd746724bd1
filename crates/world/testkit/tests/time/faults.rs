//! Faults of a trial over many nodes: partitions, slow links, nodes that come and go, federates that
//! are killed.

use crate::nodes::Trial;
use base::Moment;
use netsim::RuleId;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use testkit::{Draw, Failure, FaultKind, Timing};

/// Links break and come back several times before a node is given up.
pub(crate) const TIMING: Timing = Timing {
    keep_alive: Duration::from_millis(200),
    silence: Duration::from_secs(1),
    node: Duration::from_secs(6),
    minority: Duration::from_secs(30),
    backoff: Duration::from_millis(400),
};

/// A fault, and its end if it has one.
#[derive(Clone, Debug)]
enum Fault {
    /// Of the network, for a while in which no node is given up.
    Network(FaultKind, Duration),
    /// A node without federates joins the network, leaves it, or dies.
    NodeComes,
    NodeGoes {
        dies: bool,
    },
    /// A federate is killed.
    Kill(usize),
}

/// The faults of a trial.
#[derive(Default)]
pub(crate) struct Troubles {
    /// Each with the number of grants after which it begins.
    planned: VecDeque<(usize, Fault)>,
    /// Rules of the network, and when they are removed.
    rules: Vec<(Moment, RuleId)>,
    /// The node that comes and goes.
    guest: usize,
}

impl Troubles {
    /// The faults of a trial with `nodes` nodes, and after them one that comes and goes.
    pub(crate) fn new(draw: &mut Draw, nodes: usize, federates: usize) -> Self {
        let mut planned: Vec<_> =
            (0..draw.between(3, 7)).map(|_| (draw.below(60) as usize, fault(draw, nodes))).collect();
        if draw.chance(30) {
            planned.push((draw.below(60) as usize, Fault::Kill(draw.below(federates as u64) as usize)));
        }
        if draw.chance(60) {
            let comes = draw.below(30) as usize;
            let goes = comes + 5 + draw.below(30) as usize;
            planned.push((comes, Fault::NodeComes));
            planned.push((goes, Fault::NodeGoes { dies: draw.chance(50) }));
        }
        planned.sort_by_key(|&(after, _)| after);
        Self { planned: planned.into(), rules: Vec::new(), guest: nodes }
    }
}

fn fault(draw: &mut Draw, nodes: usize) -> Fault {
    let lasts = Duration::from_millis(50 + draw.below(2_000));
    let (a, mut b) = (draw.below(nodes as u64) as usize, draw.below(nodes as u64 - 1) as usize);
    b += usize::from(b >= a);
    let kind = match draw.below(5) {
        0 => FaultKind::Partition(BTreeSet::from([a]), draw.chance(50)),
        1 => FaultKind::Partition((0..nodes).filter(|_| draw.chance(50)).collect(), draw.chance(50)),
        2 => FaultKind::Cut(a, b),
        3 => FaultKind::OneWay(a, b),
        _ => FaultKind::Slow(a, b, Duration::from_millis(1 + draw.below(300))),
    };
    Fault::Network(kind, lasts)
}

impl Trial {
    /// Begins and ends the faults whose time has come.
    pub(crate) fn trouble_in_time(&mut self) -> Result<(), Failure> {
        let (now, grants) = (self.cluster.now(), self.grants());
        let (over, rules) = self.troubles.rules.iter().copied().partition(|&(until, _)| until <= now);
        self.troubles.rules = rules;
        let over: Vec<(Moment, RuleId)> = over;
        for (_, rule) in over {
            self.cluster.network_mut().remove_rule(rule);
        }
        while let Some((_, fault)) = self.troubles.planned.pop_front_if(|&mut (after, _)| after <= grants) {
            self.begin(fault)?;
        }
        Ok(())
    }

    /// Ends the faults of the network that are under way.
    pub(crate) fn end_troubles(&mut self) {
        for (_, rule) in self.troubles.rules.drain(..) {
            self.cluster.network_mut().remove_rule(rule);
        }
    }

    fn begin(&mut self, fault: Fault) -> Result<(), Failure> {
        let guest = self.troubles.guest;
        match fault {
            Fault::Network(kind, lasts) => {
                let rule = self.cluster.add_rule(kind);
                self.troubles.rules.push((self.cluster.now() + lasts, rule));
            }
            Fault::NodeComes => self.cluster.launch(guest),
            Fault::NodeGoes { dies: true } => self.cluster.crash(guest),
            Fault::NodeGoes { dies: false } => self.cluster.leave(guest),
            Fault::Kill(federate) => {
                self.feds[federate].dead = true;
                self.cluster.kill_federate(self.feds[federate].host)?;
            }
        }
        Ok(())
    }
}
