//! A run: nodes and scripted federates on a simulated network, watched by every property.

use super::casts::Casts;
use super::invariants::{self, Invariant};
use super::kernel_links::{self, View};
use super::ledger::{Ledger, Run};
use super::node::Node;
use super::options::Options;
use super::trouble::TroubleKind;
use crate::federate::Federate;
use crate::fom;
use crate::invariants::Violation;
use crate::observation::{Observation, Seen};
use crate::script::{Knowledge, Standing};
use crate::world::{Failure, knowledge};
use base::Moment;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use netsim::{Digest, Host, HostEvent, HostId, LinkSpec, Network, NetworkOptions, Port, RuleId, Simulation};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How many of the last observations a failure shows.
const TRACE_LENGTH: usize = 60;
/// How long nodes may take to find each other when nothing goes wrong.
const FORM_MAX: Duration = Duration::from_secs(10);
/// How long a node that leaves has for it.
pub(super) const LEAVE_MAX: Duration = Duration::from_secs(3);

/// What runs on a host.
#[allow(clippy::large_enum_variant)] // a handful of each
pub(super) enum Process {
    Node(Node),
    Federate(Federate),
}

impl Host for Process {
    fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        match self {
            Process::Node(node) => node.handle(event, port),
            Process::Federate(federate) => federate.handle(event, port),
        }
    }
}

/// How a run went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The digest of everything that happened.
    pub digest: Digest,
    /// Answers that federates got.
    pub answers: u64,
    /// Callbacks that they got.
    pub callbacks: u64,
    /// Sessions that began.
    pub sessions: u64,
    /// Starts of nodes that were given up, or ended.
    pub lost_nodes: u64,
    /// Networks that served federates: two or more when a founder began one that gave way later.
    pub networks: usize,
    /// How often a node held a federate back.
    pub held_back: u64,
    /// Messages that went through multicast groups, once each for several nodes, and to one node alone: of the nodes that lived to the end.
    pub multicast: (u64, u64),
    /// How often each property had something to look at.
    pub checked: BTreeMap<&'static str, u64>,
    /// When the run ended.
    pub ended: Moment,
}

/// How a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    /// It was never started.
    Absent,
    /// Its process runs.
    Up,
    /// Its process runs, and leaves the network.
    Leaving,
    /// Its process is dead.
    Down,
}

/// A step of the plan: the beginning or the end of a trouble.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Begin(usize),
    End(usize),
}

/// Nodes, federates, a network between them, and a plan of what goes wrong.
pub struct Cluster {
    pub(super) options: Options,
    pub(super) sim: Simulation<Process>,
    pub(super) directory: Arc<BTreeMap<String, HostId>>,
    pub(super) nodes: Vec<HostId>,
    pub(super) federates: Vec<HostId>,
    /// Which start of each node runs, and how it is.
    pub(super) starts: Vec<(u32, Condition)>,
    plan: VecDeque<(Moment, Step)>,
    rules: BTreeMap<usize, RuleId>,
    pub(super) ledger: Ledger,
    invariants: Vec<Box<dyn Invariant>>,
    trace: VecDeque<Seen>,
    pub(super) outcome: Outcome,
    /// Observations since the silence began.
    pub(super) observed: u64,
    /// Callbacks are kept for a scenario to look at.
    recorded: Option<Vec<(HostId, Seen)>>,
}

impl Cluster {
    /// The cluster that `options` describe, at its beginning: every node but the one that joins later is started.
    pub fn new(options: Options) -> Self {
        let members = &options.members;
        let base = Arc::new(fom::model(&members.switches));
        let network = NetworkOptions { stream_window: members.limits.stream_window, ..Default::default() };
        let mut sim = Simulation::new(members.seed.split("network"), network);
        let nodes: Vec<HostId> = (0..options.nodes() as u32).map(HostId).collect();
        let directory: BTreeMap<_, _> =
            nodes.iter().enumerate().map(|(node, &host)| (kernel_links::url(node), host)).collect();
        let directory = Arc::new(directory);
        for node in 0..nodes.len() {
            let process = fresh(&options, Moment::ZERO, node, 0, &directory);
            sim.add_host(&kernel_links::name(node), process);
        }
        let known = knowledge(members, &base);
        let mut federates = Vec::new();
        for number in 0..members.federates {
            let host = HostId((nodes.len() + number) as u32);
            let federation = known.federations[number % known.federations.len()].clone();
            let known = Knowledge { federation, ..known.clone() };
            let home = options.homes.as_ref().and_then(|homes| homes.get(number).copied());
            let server = nodes[home.unwrap_or(number % options.shape.nodes)];
            let mut federate = Federate::new(members, number, host, server, known);
            federate.set_servers(nodes.clone());
            federates.push(sim.add_host(&format!("federate {number}"), Process::Federate(federate)));
        }
        let ledger = Ledger::new(&known);
        let mut starts = vec![(0, Condition::Up); nodes.len()];
        starts[options.shape.nodes] = (0, Condition::Absent);
        let mut cluster = Self {
            plan: plan(&options),
            invariants: invariants::all(patience(&options)),
            options,
            sim,
            directory,
            nodes,
            federates,
            starts,
            rules: BTreeMap::new(),
            ledger,
            trace: VecDeque::new(),
            outcome: Outcome {
                digest: Digest::EMPTY,
                answers: 0,
                callbacks: 0,
                sessions: 0,
                lost_nodes: 0,
                networks: 0,
                held_back: 0,
                multicast: (0, 0),
                checked: BTreeMap::new(),
                ended: Moment::ZERO,
            },
            observed: 0,
            recorded: None,
        };
        cluster.lay_links();
        cluster.start();
        cluster
    }

    fn lay_links(&mut self) {
        let options = &self.options;
        let rate = options.members.rate;
        for (a, &host) in self.nodes.iter().enumerate() {
            for (b, &other) in self.nodes.iter().enumerate().take(a) {
                let delay = options.sites[a] + options.sites[b];
                self.sim.network_mut().set_link(host, other, LinkSpec { rate, delay });
            }
            for (number, &federate) in self.federates.iter().enumerate() {
                let delay = options.members.delays[number % options.members.delays.len()];
                self.sim.network_mut().set_link(host, federate, LinkSpec { rate, delay });
            }
        }
    }

    fn start(&mut self) {
        for node in 0..self.nodes.len() {
            let host = self.nodes[node];
            match self.starts[node].1 {
                Condition::Absent => self.sim.network_mut().kill(host),
                _ => self.with_node(node, Node::begin),
            }
        }
        for &host in &self.federates {
            self.sim.network_mut().wake(host, Some(Moment::from_micros(1)));
        }
    }

    /// The present.
    pub fn now(&self) -> Moment {
        self.sim.now()
    }

    /// The network between the hosts: links, rules, counters.
    pub fn network(&self) -> &Network {
        self.sim.network()
    }

    /// The same, to be changed.
    pub fn network_mut(&mut self) -> &mut Network {
        self.sim.network_mut()
    }

    /// Hosts of the nodes.
    pub fn nodes(&self) -> &[HostId] {
        &self.nodes
    }

    /// Hosts of the federates.
    pub fn federates(&self) -> &[HostId] {
        &self.federates
    }

    /// The kernel of a node.
    pub fn kernel(&self, node: usize) -> &kernel::Kernel {
        match self.sim.host(self.nodes[node]) {
            Process::Node(node) => node.kernel(),
            Process::Federate(_) => unreachable!("nodes are the first hosts"),
        }
    }

    /// What a node knows of the network.
    pub fn view(&self, node: usize) -> View {
        kernel_links::view(self.kernel(node)).expect("every node of a cluster has a network")
    }

    /// Federates that a node holds back now, and how often it has held back one.
    pub fn held(&self, node: usize) -> (usize, u64) {
        match self.sim.host(self.nodes[node]) {
            Process::Node(node) => node.held(),
            Process::Federate(_) => unreachable!("nodes are the first hosts"),
        }
    }

    /// What a federate knows.
    pub fn known(&self, host: HostId) -> &Knowledge {
        self.federate(host).known()
    }

    /// Whether a federate is joined, as far as it knows.
    pub fn is_joined(&self, host: HostId) -> bool {
        matches!(self.known(host).standing, Standing::Joined(_))
    }

    /// What a run has shown so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn federate(&self, host: HostId) -> &Federate {
        match self.sim.host(host) {
            Process::Federate(federate) => federate,
            Process::Node(_) => unreachable!("{host} is no federate's host"),
        }
    }

    pub(super) fn with_federate<R>(
        &mut self,
        host: HostId,
        act: impl FnOnce(&mut Federate, &mut Port<'_>) -> R,
    ) -> R {
        self.sim.call(host, |process, port| match process {
            Process::Federate(federate) => act(federate, port),
            Process::Node(_) => unreachable!("{host} is no federate's host"),
        })
    }

    pub(super) fn with_node<R>(&mut self, node: usize, act: impl FnOnce(&mut Node, &mut Port<'_>) -> R) -> R {
        self.sim.call(self.nodes[node], |process, port| match process {
            Process::Node(node) => act(node, port),
            Process::Federate(_) => unreachable!("nodes are the first hosts"),
        })
    }

    /// Nodes whose process runs and is to stay.
    pub(super) fn up(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&node| self.starts[node].1 == Condition::Up).collect()
    }

    /// A federate makes a call now, if it has a session.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn act(&mut self, host: HostId, call: Call) -> Result<(), Failure> {
        self.with_federate(host, |federate, port| federate.act(port, call));
        self.watch(host)
    }

    /// The next stamp of a federate, for a tag of a call that [`Cluster::act`] makes.
    pub fn stamp(&mut self, host: HostId) -> Bytes {
        self.with_federate(host, |federate, _| federate.stamp())
    }

    /// From now on keeps what federates see.
    pub fn record(&mut self) {
        self.recorded = Some(Vec::new());
    }

    /// What federates have seen since [`Cluster::record`].
    pub fn recorded(&self) -> &[(HostId, Seen)] {
        self.recorded.as_deref().unwrap_or_default()
    }

    /// Runs the whole life of the cluster.
    ///
    /// # Errors
    /// A property does not hold, or what should happen did not in time.
    pub fn run(mut self) -> Result<Outcome, Failure> {
        self.form()?;
        self.run_for(self.options.members.lasts)?;
        self.finish()
    }

    /// Heals everything, and runs the rest of the life of the cluster.
    ///
    /// # Errors
    /// As [`Cluster::run`].
    pub fn finish(mut self) -> Result<Outcome, Failure> {
        self.heal()?;
        self.converge()?;
        self.last_round()?;
        self.keep_silent()?;
        self.judge()?;
        self.end()?;
        self.outcome.held_back += (0..self.nodes.len()).map(|node| self.held(node).1).sum::<u64>();
        self.outcome.networks = self.ledger.networks();
        self.outcome.digest = self.sim.digest();
        self.outcome.ended = self.now();
        Ok(self.outcome)
    }

    /// Runs until `until`, with what the plan has for the time.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn run_until(&mut self, until: Moment) -> Result<(), Failure> {
        loop {
            let next = self.plan.front().map(|(at, _)| *at).filter(|at| *at <= until);
            let stop = next.unwrap_or(until);
            loop {
                match self.sim.step(stop) {
                    Ok(Some(host)) => self.watch(host)?,
                    Ok(None) => break,
                    Err(livelock) => return Err(self.failure("progress", livelock.to_string())),
                }
            }
            match next.and_then(|_| self.plan.pop_front()) {
                Some((_, step)) => self.follow(step)?,
                None => return Ok(()),
            }
        }
    }

    /// Runs for a while.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn run_for(&mut self, span: Duration) -> Result<(), Failure> {
        self.run_until(self.now() + span)
    }

    /// Shows what a host saw to the properties.
    pub(super) fn watch(&mut self, host: HostId) -> Result<(), Failure> {
        if (host.0 as usize) < self.nodes.len() {
            self.learn_served(host.0 as usize);
            return Ok(());
        }
        let what = self.with_federate(host, |federate, _| federate.take_seen());
        let at = self.now();
        for what in what {
            let seen = Seen { at, what };
            self.observed += 1;
            match &seen.what {
                Observation::Established { session, host } => {
                    self.outcome.sessions += 1;
                    let server = self.federate(*host).server().0 as usize;
                    let run = Run { node: server, start: self.starts[server].0 };
                    self.ledger.established(*session, *host, run);
                }
                Observation::Got { .. } => self.outcome.answers += 1,
                Observation::Received { .. } => self.outcome.callbacks += 1,
                _ => {}
            }
            tracing::debug!(target: "federate", %host, seen = ?seen.what);
            self.ledger.learn(&seen);
            self.trace.push_back(seen.clone());
            if self.trace.len() > TRACE_LENGTH {
                self.trace.pop_front();
            }
            for place in 0..self.invariants.len() {
                let invariant = &mut self.invariants[place];
                let name = invariant.name();
                invariant.observe(&seen, &self.ledger).map_err(|text| self.failure(name, text))?;
            }
            if let Some(recorded) = &mut self.recorded {
                recorded.push((host, seen));
            }
        }
        Ok(())
    }

    /// Notes which network serves the sessions of a node.
    pub(super) fn learn_served(&mut self, node: usize) {
        for (session, network) in self.with_node(node, |node, _| node.take_served()) {
            self.ledger.served(session, network);
        }
    }

    pub(super) fn failure(&self, invariant: &'static str, text: String) -> Failure {
        let violation = Violation { invariant, at: self.now(), text };
        Failure { violation, trace: self.trace.iter().cloned().collect() }
    }

    fn follow(&mut self, step: Step) -> Result<(), Failure> {
        let (Step::Begin(place) | Step::End(place)) = step;
        let begins = matches!(step, Step::Begin(_));
        match self.options.troubles[place].kind.clone() {
            TroubleKind::Crash(node) if begins => self.crash(node),
            TroubleKind::Restart(node) if begins => self.crash(node),
            TroubleKind::Restart(node) => self.launch(node),
            TroubleKind::Join(node) if begins => self.launch(node),
            TroubleKind::Leave(node) if begins => self.leave(node),
            TroubleKind::Leave(node) => self.crash(node),
            TroubleKind::Pause(node) if begins => self.pause(node),
            TroubleKind::Pause(node) => self.go_on(node),
            TroubleKind::KillFederate(number) if begins => return self.kill_federate(self.federates[number]),
            TroubleKind::Crash(_) | TroubleKind::Join(_) | TroubleKind::KillFederate(_) => {}
            kind if begins => {
                let rule = self.add_rule(kind);
                self.rules.insert(place, rule);
            }
            _ => {
                if let Some(rule) = self.rules.remove(&place) {
                    self.sim.network_mut().remove_rule(rule);
                }
            }
        }
        Ok(())
    }

    /// Runs until the nodes have found each other; times of the plan count from then.
    fn form(&mut self) -> Result<(), Failure> {
        let plan = std::mem::take(&mut self.plan);
        self.wait(FORM_MAX, "the nodes find each other", |cluster| {
            let views: Vec<_> = cluster.up().into_iter().map(|node| cluster.view(node)).collect();
            // An even number of voters bears no more losses than one less.
            let all = |view: &View| {
                view.member && view.members.len() == views.len() && view.voters + 1 >= views.len()
            };
            match views.iter().find(|view| !all(view)) {
                Some(view) => Err(format!("{view:?}")),
                None => Ok(()),
            }
        })?;
        let begin = self.now().since(Moment::ZERO);
        self.plan = plan.into_iter().map(|(at, step)| (at + begin, step)).collect();
        Ok(())
    }

    /// No faults from now on: what stood still goes on, what was to be restarted is, and nobody begins anything new.
    pub(super) fn heal(&mut self) -> Result<(), Failure> {
        while let Some((_, step)) = self.plan.pop_front() {
            self.follow(step)?;
        }
        self.sim.network_mut().heal();
        for host in self.federates.clone() {
            self.with_federate(host, |federate, _| federate.calm_down());
            self.watch(host)?;
        }
        Ok(())
    }

    /// Asks every property for its last word.
    fn judge(&mut self) -> Result<(), Failure> {
        for node in self.up() {
            for (_, stats) in self.kernel(node).network().map(|network| network.routers).unwrap_or_default() {
                self.outcome.multicast.0 += stats.cast_messages;
                self.outcome.multicast.1 += stats.directed_messages;
            }
            let run = Run { node, start: self.starts[node].0 };
            let view = self.view(node);
            if view.member && view.key == kernel_links::key(&self.options, node, run.start) {
                self.ledger.lived.insert(run);
            } else {
                self.outcome.lost_nodes += 1;
            }
        }
        if self.options.troubles.is_empty() && self.ledger.lived.len() < self.options.shape.nodes {
            return Err(
                self.failure("membership", "a node was given up though nothing went wrong".to_owned())
            );
        }
        for place in 0..self.invariants.len() {
            let invariant = &mut self.invariants[place];
            let name = invariant.name();
            let judged = invariant.finish(&self.ledger);
            *self.outcome.checked.entry(name).or_default() += invariant.checked();
            judged.map_err(|text| self.failure(name, text))?;
        }
        Ok(())
    }

    /// Ends the process of a node that left.
    pub(super) fn set_down(&mut self, node: usize) {
        self.starts[node].1 = Condition::Down;
        self.sim.network_mut().kill(self.nodes[node]);
    }
}

/// A process for a node.
pub(super) fn fresh(
    options: &Options,
    now: Moment,
    node: usize,
    start: u32,
    directory: &Arc<BTreeMap<String, HostId>>,
) -> Process {
    let seed = kernel_links::seed(options, node, start);
    let kernel = kernel_links::kernel(now, options, node, start);
    let hosts = (0..options.nodes() as u32).map(HostId).collect();
    let loss = options.multicast.map_or(0, |multicast| multicast.loss);
    let casts = Casts::new(hosts, loss, seed.split("casts"));
    Process::Node(Node::new(kernel, seed.split("sessions"), Arc::clone(directory), casts))
}

/// How long an answer may take: as long as the trouble lasts, and then until nodes have sorted themselves out.
fn patience(options: &Options) -> Duration {
    let trouble = options.troubles.iter().map(|trouble| trouble.lasts).sum::<Duration>();
    let timing = &options.timing;
    let timeouts = &options.members.timeouts;
    trouble
        + timing.minority
        + timing.node
        + 2 * timing.silence
        + 2 * timeouts.heart
        + Duration::from_secs(10)
}

fn plan(options: &Options) -> VecDeque<(Moment, Step)> {
    let mut plan = Vec::new();
    for (place, trouble) in options.troubles.iter().enumerate() {
        plan.push((trouble.at, Step::Begin(place)));
        let lasts = if matches!(trouble.kind, TroubleKind::Leave(_)) { LEAVE_MAX } else { trouble.lasts };
        plan.push((trouble.at + lasts, Step::End(place)));
    }
    plan.sort_unstable();
    plan.into()
}
