//! Routes that follow the state of the network: around links that failed, and by load.
//!
//! The path of a message is chosen when it is sent, from the links that are known to work at that
//! moment. Each link of a path leads to a switch that is nearer to the destination over these
//! links. No switch can therefore occur twice, and a path has as few links as are possible.

use std::collections::BTreeMap;

use super::{NextLinks, RouteError, Routes, SWITCHES_MAX, ShortestPaths, walk};
use crate::topology::Topology;
use crate::units::Picos;

/// Most failures of a run.
pub const FAULTS_MAX: usize = 10_000;

/// The rule by which routes are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    /// As if no link ever failed.
    #[default]
    Static,
    /// Along a shortest path over the links that work; a hash of the flow chooses among equals. In
    /// a network of sites along the quickest.
    Shortest,
    /// Along a shortest path over the links that work. Each switch takes the link with the fewest
    /// bytes under way among those that lead nearer.
    Adaptive,
}

/// All cables between two switches fail, in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The switches, by number.
    pub between: (u32, u32),
    /// The time of the failure.
    pub from: Picos,
    /// The time from which they work again; [`Picos::MAX`]: never.
    pub until: Picos,
}

/// The routes of a network, and what fails in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Routing {
    /// The rule.
    pub rule: Rule,
    /// The time from a failure, or a repair, until routes follow it.
    pub detection: Picos,
    /// The failures.
    pub faults: Vec<Fault>,
}

impl Routing {
    /// True if routes never change.
    pub fn is_static(&self) -> bool {
        self.rule == Rule::Static && self.faults.is_empty()
    }
}

/// The reason why routes cannot follow the network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DynamicError {
    /// There are too many failures.
    #[error("{0} faults are too many: at most {FAULTS_MAX}")]
    TooMany(usize),
    /// A failure concerns no cable.
    #[error("fault {number}: no cable joins switches {} and {} of {switches}", .between.0, .between.1)]
    NoCable {
        /// Its place in the list, from 1.
        number: usize,
        /// The switches.
        between: (u32, u32),
        /// Number of switches.
        switches: u32,
    },
    /// A failure ends before it begins.
    #[error("fault {number} ends at {until}, not after it begins, at {from}")]
    Order {
        /// Its place in the list, from 1.
        number: usize,
        /// Its beginning.
        from: Picos,
        /// Its end.
        until: Picos,
    },
    /// Sites have no equal paths.
    #[error(
        "in a `wan` a message takes the quickest lines, which are not chosen by load: use the rule `shortest`"
    )]
    Quickest,
    /// Routes that are written by hand do not follow failures.
    #[error("`routes` that are written by hand are static: leave them out, or use the rule `static`")]
    Written,
    /// There are no shortest paths.
    #[error(transparent)]
    Route(#[from] RouteError),
}

/// A change of links at some time: they fail or are repaired.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: Picos,
    fault: usize,
    fails: bool,
}

/// The links of which some fail, with their number of failures at the present time.
#[derive(Clone, Debug)]
struct State {
    changes: Vec<Change>,
    next: usize,
    /// By link.
    failures: Vec<u16>,
}

impl State {
    /// Takes the changes up to a time. True if there were any.
    fn advance(&mut self, now: Picos, links: &[Vec<u32>]) -> bool {
        let before = self.next;
        while let Some(change) = self.changes.get(self.next).filter(|change| change.at <= now) {
            for link in &links[change.fault] {
                let failures = &mut self.failures[*link as usize];
                *failures = if change.fails { *failures + 1 } else { *failures - 1 };
            }
            self.next += 1;
        }
        self.next > before
    }

    fn works(&self, link: u32) -> bool {
        self.failures[link as usize] == 0
    }
}

/// The present routes over the links that are known to work.
#[derive(Clone, Debug)]
enum Present {
    Given(Routes),
    Shortest(ShortestPaths),
    Quickest(NextLinks),
}

/// Routes that follow the state of the network.
#[derive(Clone, Debug)]
pub(crate) struct DynamicRoutes {
    rule: Rule,
    present: Present,
    /// By fault: its links.
    links: Vec<Vec<u32>>,
    real: State,
    known: State,
    /// By link: bytes of messages under way whose path crosses it. Empty if routes do not depend on
    /// it.
    load: Vec<u64>,
    /// By the number of the message: its path and its bytes.
    under_way: BTreeMap<u64, (Vec<u32>, u64)>,
    sent: u64,
}

impl DynamicRoutes {
    /// Routes of a topology. `given` are those in force without failures. Those of a table follow
    /// the quickest lines.
    pub(crate) fn new(routing: &Routing, topology: &Topology, given: Routes) -> Result<Self, DynamicError> {
        let links = routing.links(topology)?;
        let state = |delay: Picos| State {
            changes: routing.changes(delay),
            next: 0,
            failures: vec![0; topology.links() as usize],
        };
        let present = match (routing.rule, given) {
            (Rule::Static, given) => Present::Given(given),
            (Rule::Shortest, Routes::Table(next)) => Present::Quickest(next),
            (Rule::Adaptive, Routes::Table(_) | Routes::Clusters(_)) => return Err(DynamicError::Quickest),
            (Rule::Shortest, Routes::Clusters(_)) if topology.switches() > SWITCHES_MAX => {
                return Err(RouteError::TooLarge { switches: topology.switches() }.into());
            }
            (Rule::Shortest, Routes::Clusters(_)) => Present::Quickest(NextLinks::quickest(topology)),
            (_, Routes::Shortest(paths)) => Present::Shortest(paths),
            (_, Routes::DimensionOrder(_)) => Present::Shortest(ShortestPaths::new(topology)?),
        };
        let loads = if routing.rule == Rule::Adaptive { topology.links() as usize } else { 0 };
        Ok(Self {
            rule: routing.rule,
            present,
            links,
            real: state(Picos::ZERO),
            known: state(routing.detection),
            load: vec![0; loads],
            under_way: BTreeMap::new(),
            sent: 0,
        })
    }

    /// Adds the links of the path of a message that is sent now. It adds none if the message cannot
    /// arrive: because no path is known, or because its path has a link whose failure is not known
    /// yet.
    pub(crate) fn path(
        &mut self,
        topology: &Topology,
        now: Picos,
        (source, destination, bytes): (u32, u32, u64),
        path: &mut Vec<u32>,
    ) {
        self.real.advance(now, &self.links);
        if self.known.advance(now, &self.links) {
            let works = |link| self.known.works(link);
            match &mut self.present {
                Present::Given(_) => {}
                Present::Shortest(paths) => paths.compute(topology, works),
                Present::Quickest(next) => *next = NextLinks::quickest_over(topology, works),
            }
        }
        let flow = u64::from(source) << 32 | u64::from(destination);
        match &self.present {
            Present::Given(routes) => routes.path(topology, source, destination, flow, path),
            Present::Quickest(next) => next.path(topology, source, destination, path),
            Present::Shortest(paths) if self.rule == Rule::Adaptive => {
                self.by_load(paths, topology, (source, destination, flow), path);
            }
            Present::Shortest(paths) => {
                let works = |link| self.known.works(link);
                paths.path_over(topology, (source, destination, flow), works, path);
            }
        }
        let arrives = path.last().is_some_and(|link| topology.to(*link) == destination);
        if !arrives || path.iter().any(|link| !self.real.works(*link)) {
            path.clear();
        }
        if self.rule == Rule::Adaptive {
            for link in path.iter() {
                self.load[*link as usize] += bytes;
            }
            self.under_way.insert(self.sent, (path.clone(), bytes));
        }
        self.sent += 1;
    }

    /// Along a shortest path, at each switch by the link with the least load.
    fn by_load(
        &self,
        paths: &ShortestPaths,
        topology: &Topology,
        (source, destination, flow): (u32, u32, u64),
        path: &mut Vec<u32>,
    ) {
        let hosts = topology.hosts();
        walk(topology, source, destination, path, |switch, goal| {
            let left = paths.distance(goal, switch);
            let nearer = |link: &u32| {
                let next = topology.to(*link).checked_sub(hosts);
                next.is_some_and(|next| paths.distance(goal, next) < left) && self.known.works(*link)
            };
            let ways = topology.out_of(hosts + switch).filter(nearer);
            // Of equals a hash chooses, so that messages that find no load spread.
            let drawn = |link: u32| base::Seed(flow).split_index(u64::from(link)).0;
            ways.min_by_key(|link| (self.load[*link as usize], drawn(*link)))
        });
    }

    /// Takes note of the end of a message.
    pub(crate) fn ended(&mut self, number: u64) {
        if let Some((path, bytes)) = self.under_way.remove(&number) {
            for link in path {
                self.load[link as usize] -= bytes;
            }
        }
    }
}

impl Routing {
    /// By fault: the links between its switches.
    fn links(&self, topology: &Topology) -> Result<Vec<Vec<u32>>, DynamicError> {
        if self.faults.len() > FAULTS_MAX {
            return Err(DynamicError::TooMany(self.faults.len()));
        }
        let (hosts, switches) = (topology.hosts(), topology.switches());
        let between = |from: u32, to: u32| {
            topology.out_of(hosts + from).filter(move |link| topology.to(*link) == hosts + to)
        };
        let links = |(number, fault): (usize, &Fault)| {
            let Fault { between: (a, b), from, until } = *fault;
            if until <= from {
                return Err(DynamicError::Order { number, from, until });
            }
            let links: Vec<u32> = match a.max(b) < switches && a != b {
                true => between(a, b).chain(between(b, a)).collect(),
                false => Vec::new(),
            };
            match links.is_empty() {
                true => Err(DynamicError::NoCable { number, between: (a, b), switches }),
                false => Ok(links),
            }
        };
        (1..).zip(&self.faults).map(links).collect()
    }

    /// All failures and repairs by time, each later by `delay`.
    fn changes(&self, delay: Picos) -> Vec<Change> {
        let of = |(fault, Fault { from, until, .. }): (usize, &Fault)| {
            let fails = Change { at: *from + delay, fault, fails: true };
            let works = Change { at: *until + delay, fault, fails: false };
            [Some(fails), Some(works).filter(|_| *until < Picos::MAX)]
        };
        let mut changes: Vec<Change> = (0..).zip(&self.faults).flat_map(of).flatten().collect();
        changes.sort_by_key(|change| change.at);
        changes
    }
}

#[cfg(test)]
mod tests;
