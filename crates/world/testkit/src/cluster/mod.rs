//! A run: nodes and scripted federates on a simulated network, checked by every property.

mod faults;
mod outcome;
mod rounds;

pub use outcome::{Failure, Outcome};

use crate::draw::Draw;
use crate::federate::Federate;
use crate::hostile::{self, Hostile};
use crate::invariants::{self, AsTheModel, Invariant, Violation};
use crate::ledger::{Ledger, Run};
use crate::node::{self, Directory, FrameCounts, Node, Refuses, View};
use crate::observation::{Observation, Seen};
use crate::options::{FaultKind, FederateFault, Options};
use crate::script::{Knowledge, Standing, calls};
use base::Moment;
use bytes::Bytes;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use kernel::Kernel;
use netsim::{Host, HostEvent, HostId, LinkSpec, Network, NetworkOptions, Port, RuleId, Simulation};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Number of the last observations that a failure shows.
const TRACE_LENGTH: usize = 60;
/// Longest time that nodes may take to find each other without faults.
const FORM_MAX: Duration = Duration::from_secs(10);
/// Longest time that answers may take without faults.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Longest time that a node may take to leave.
const LEAVE_MAX: Duration = Duration::from_secs(3);

/// The process on a host.
#[allow(clippy::large_enum_variant)] // there are few of each
enum Process {
    Node(Node),
    Federate(Federate),
    Hostile(Hostile),
}

impl Host for Process {
    fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        match self {
            Process::Node(node) => node.handle(event, port),
            Process::Federate(federate) => federate.handle(event, port),
            Process::Hostile(client) => client.handle(event, port),
        }
    }
}

/// The condition of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    /// The node was never started.
    Absent,
    /// Its process runs.
    Up,
    /// Its process runs and is leaving the network.
    Leaving,
    /// Its process is dead.
    Down,
}

/// A step of the plan: the beginning or the end of a fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Begin(usize),
    End(usize),
}

/// Nodes, federates, a network between them, and a plan of faults.
pub struct Cluster {
    options: Options,
    sim: Simulation<Process>,
    directory: Directory,
    nodes: Vec<HostId>,
    federates: Vec<HostId>,
    hostile: Vec<HostId>,
    /// The number of the current start of each node, and its condition.
    starts: Vec<(u32, Condition)>,
    plan: VecDeque<(Moment, Step)>,
    rules: BTreeMap<usize, RuleId>,
    ledger: Ledger,
    /// The comparison with the model, in runs that are [tapped](Options::is_tapped).
    model: Option<AsTheModel>,
    invariants: Vec<Box<dyn Invariant>>,
    trace: VecDeque<Seen>,
    outcome: Outcome,
    /// Number of observations since the silence began.
    observed: u64,
    /// Observations of federates, if a scenario wants them recorded.
    recorded: Option<Vec<(HostId, Seen)>>,
}

impl Cluster {
    /// The cluster that `options` describe, at its beginning: all nodes except the spare ones are
    /// started.
    pub fn new(options: Options) -> Self {
        let network =
            NetworkOptions { link: usual_link(&options), stream_window: options.limits.stream_window };
        let mut sim = Simulation::new(options.seed.split("network"), network);
        let directory = node::directory(options.nodes());
        let mut nodes = Vec::new();
        for node in 0..options.nodes() {
            let process = Node::new(&options, Moment::ZERO, (node, 0), &directory, None, |_| {});
            nodes.push(sim.add_host(&node::name(node), Process::Node(process)));
        }
        let known = Knowledge::new(&options);
        let mut federates = Vec::new();
        for number in 0..options.federates {
            let host = HostId((nodes.len() + number) as u32);
            let federation = known.federations[number % known.federations.len()].clone();
            let known = Knowledge { federation, host: host.0, ..known.clone() };
            let home = options.homes.as_ref().and_then(|homes| homes.get(number).copied());
            let home = home.unwrap_or(number % options.shape.nodes);
            let chooses = options.is_networked() && !options.is_by_hand;
            let others = if chooses { nodes.clone() } else { Vec::new() };
            let federate = Federate::new(&options, number, (nodes[home], others), known);
            federates.push(sim.add_host(&format!("federate {number}"), Process::Federate(federate)));
        }
        let hostile = (0..options.hostile).map(|number| {
            let draw = Draw::new(options.seed.split_index(number as u64), "hostile client");
            let client = Hostile::new(nodes.clone(), options.call_interval, draw);
            sim.add_host(&format!("hostile {number}"), Process::Hostile(client))
        });
        let hostile = hostile.collect();
        let mut starts = vec![(0, Condition::Up); nodes.len()];
        starts[options.shape.nodes..].fill((0, Condition::Absent));
        let tight = options.limits.stream_window < 64 << 10;
        let model =
            options.is_tapped.then(|| AsTheModel::new(Arc::clone(&known.model), options.timeouts, tight));
        let mut cluster = Self {
            plan: plan(&options),
            invariants: invariants::all(&options),
            ledger: Ledger::new(&known),
            options,
            sim,
            directory,
            nodes,
            federates,
            hostile,
            starts,
            rules: BTreeMap::new(),
            model,
            trace: VecDeque::new(),
            outcome: Outcome::default(),
            observed: 0,
            recorded: None,
        };
        cluster.lay_links();
        cluster.start();
        cluster
    }

    fn lay_links(&mut self) {
        let Options { rate, ref sites, ref delays, .. } = self.options;
        let usual = usual_link(&self.options);
        for (a, &host) in self.nodes.iter().enumerate() {
            for (b, &other) in self.nodes.iter().enumerate().take(a) {
                let link = LinkSpec { rate, delay: sites[a] + sites[b] };
                if link != usual {
                    self.sim.network_mut().set_link(host, other, link);
                }
            }
        }
        for (number, &host) in self.federates.iter().enumerate() {
            let link = LinkSpec { rate, delay: delays[number % delays.len()] };
            for server in self.federate(host).servers().collect::<Vec<_>>() {
                self.sim.network_mut().set_link(server, host, link);
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
        for &host in self.federates.iter().filter(|_| !self.options.is_by_hand) {
            self.sim.network_mut().wake(host, Some(Moment::from_micros(1)));
        }
        for &host in &self.hostile {
            self.sim.network_mut().wake(host, Some(hostile::BEGIN));
        }
    }

    /// The current time.
    pub fn now(&self) -> Moment {
        self.sim.now()
    }

    /// The network between the hosts: links, rules, counters.
    pub fn network(&self) -> &Network {
        self.sim.network()
    }

    /// Like [`Cluster::network`], but mutable.
    pub fn network_mut(&mut self) -> &mut Network {
        self.sim.network_mut()
    }

    /// Frames that all nodes together have sent over links.
    pub fn sent_frames(&self) -> FrameCounts {
        let nodes = (0..self.nodes.len()).map(|node| self.node(node).sent_frames());
        nodes.fold(FrameCounts::default(), |all, of_node| all.plus(of_node))
    }

    /// The hosts of the nodes.
    pub fn nodes(&self) -> &[HostId] {
        &self.nodes
    }

    /// The hosts of the federates.
    pub fn federates(&self) -> &[HostId] {
        &self.federates
    }

    /// The node with this number.
    pub fn node(&self, node: usize) -> &Node {
        match self.sim.host(self.nodes[node]) {
            Process::Node(node) => node,
            Process::Federate(_) | Process::Hostile(_) => unreachable!("nodes are the first hosts"),
        }
    }

    /// The kernel of a node.
    pub fn kernel(&self, node: usize) -> &Kernel {
        self.node(node).kernel()
    }

    /// A node's view of its network.
    pub fn view(&self, node: usize) -> View {
        node::view(self.kernel(node)).expect("it is asked of networks only")
    }

    /// The knowledge of a federate.
    pub fn known(&self, host: HostId) -> &Knowledge {
        self.federate(host).known()
    }

    /// Whether a federate is joined, as far as it knows.
    pub fn is_joined(&self, host: HostId) -> bool {
        matches!(self.known(host).standing, Standing::Joined(_))
    }

    /// The observations of a run so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn federate(&self, host: HostId) -> &Federate {
        match self.sim.host(host) {
            Process::Federate(federate) => federate,
            Process::Node(_) | Process::Hostile(_) => unreachable!("{host} is no federate's host"),
        }
    }

    fn with_federate<R>(&mut self, host: HostId, act: impl FnOnce(&mut Federate, &mut Port<'_>) -> R) -> R {
        self.sim.call(host, |process, port| match process {
            Process::Federate(federate) => act(federate, port),
            Process::Node(_) | Process::Hostile(_) => unreachable!("{host} is no federate's host"),
        })
    }

    fn with_node<R>(&mut self, node: usize, act: impl FnOnce(&mut Node, &mut Port<'_>) -> R) -> R {
        self.sim.call(self.nodes[node], |process, port| match process {
            Process::Node(node) => act(node, port),
            Process::Federate(_) | Process::Hostile(_) => unreachable!("nodes are the first hosts"),
        })
    }

    /// Nodes whose processes run and are not leaving.
    fn up(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&node| self.starts[node].1 == Condition::Up).collect()
    }

    /// Makes a federate call a service now, if it has a session.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn act(&mut self, host: HostId, call: Call) -> Result<(), Failure> {
        self.with_federate(host, |federate, port| federate.act(port, call));
        self.watch(host)
    }

    /// Runs until every call is answered.
    ///
    /// # Errors
    /// A property does not hold, or a call is not answered in time.
    pub fn settle_calls(&mut self, bound: Duration) -> Result<(), Failure> {
        self.wait(bound, "answers", |cluster| cluster.all_federates(Federate::is_settled))
    }

    fn all_federates(&self, fits: impl Fn(&Federate) -> bool) -> Result<(), String> {
        let missing = self.federates.iter().find(|&&host| !fits(self.federate(host)));
        missing.map_or(Ok(()), |host| Err(format!("{host} is not that far")))
    }

    /// Makes the federates, which are [driven by hand](Options::is_by_hand), begin sessions and
    /// join; the first one creates the federation.
    ///
    /// # Errors
    /// A property does not hold, or they have not joined in time.
    pub fn join_all(&mut self) -> Result<(), Failure> {
        for host in self.federates.clone() {
            self.with_federate(host, Federate::begin);
        }
        self.wait(ANSWER_MAX, "sessions", |cluster| cluster.all_federates(Federate::is_alive))?;
        for (place, host) in self.federates.clone().into_iter().enumerate() {
            self.act(host, Call::ConnectRequest(api::ConnectRequest {}))?;
            if place == 0 {
                self.act(host, calls::create(self.known(host).federation.clone(), self.known(host)))?;
                self.settle_calls(ANSWER_MAX)?;
            }
            self.act(host, calls::join_by_name(self.known(host)))?;
        }
        self.wait(ANSWER_MAX, "joining", |cluster| {
            cluster.all_federates(|federate| matches!(federate.known().standing, Standing::Joined(_)))
        })
    }

    /// The next stamp of a federate, for the tag of a call by [`Cluster::act`].
    pub fn stamp(&mut self, host: HostId) -> Bytes {
        self.with_federate(host, |federate, _| federate.stamp())
    }

    /// Records the observations of federates from now on.
    pub fn record(&mut self) {
        self.recorded = Some(Vec::new());
    }

    /// The observations of federates since [`Cluster::record`].
    pub fn recorded(&self) -> &[(HostId, Seen)] {
        self.recorded.as_deref().unwrap_or_default()
    }

    /// Runs the whole life of the cluster: first with faults; then healed, until it has converged;
    /// then a last round in which no message may be missing; then silence; then an orderly end.
    ///
    /// # Errors
    /// A property does not hold, or an expected event did not occur in time.
    pub fn run(mut self) -> Result<Outcome, Failure> {
        self.form()?;
        self.run_for(self.options.lasts)?;
        self.finish()
    }

    /// Heals all faults, and runs the rest of the life of the cluster.
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
        self.outcome.paused += (0..self.nodes.len()).map(|node| self.node(node).paused().1).sum::<u64>();
        self.outcome.networks = self.ledger.networks();
        self.outcome.dropped = self.model.as_ref().map_or(0, AsTheModel::dropped);
        self.outcome.digest = self.sim.digest();
        self.outcome.ended = self.now();
        Ok(self.outcome)
    }

    /// Runs until `until`, with the planned faults of that time.
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

    /// Runs for this time.
    ///
    /// # Errors
    /// A property does not hold.
    pub fn run_for(&mut self, span: Duration) -> Result<(), Failure> {
        self.run_until(self.now() + span)
    }

    /// Passes the observations of a host to the properties.
    fn watch(&mut self, host: HostId) -> Result<(), Failure> {
        if self.hostile.contains(&host) {
            return Ok(());
        }
        let node = (host.0 as usize) < self.nodes.len();
        let observations = match node {
            true => {
                self.learn_served(host.0 as usize);
                self.with_node(host.0 as usize, |node, _| node.take_seen())
            }
            false => self.with_federate(host, |federate, _| federate.take_seen()),
        };
        if observations.is_empty() {
            return Ok(());
        }
        let at = self.now();
        let seen: Vec<_> = observations.into_iter().map(|observation| Seen { at, observation }).collect();
        let wrong = self.judge_seen(&seen).err();
        if let Some(recorded) = self.recorded.as_mut().filter(|_| !node) {
            recorded.extend(seen.iter().map(|seen| (host, seen.clone())));
        }
        self.trace.extend(seen);
        self.trace.drain(..self.trace.len().saturating_sub(TRACE_LENGTH));
        wrong.map_or(Ok(()), |(name, text)| Err(self.failure(name, text)))
    }

    /// Checks observations that were made at once. The error has the property that does not hold,
    /// and the reason.
    fn judge_seen(&mut self, seen: &[Seen]) -> Result<(), (&'static str, String)> {
        // First all events in the kernel, then all its outputs: the host reports one before the
        // other.
        if let Some(model) = &mut self.model {
            let compared = seen.iter().try_for_each(|seen| model.cause(seen));
            let compared = compared.and_then(|()| seen.iter().try_for_each(|seen| model.outcome(seen)));
            compared.map_err(|text| ("as_the_model", text))?;
        }
        for seen in seen {
            tracing::debug!(target: "seen", seen = ?seen.observation);
            self.observed += u64::from(!matches!(seen.observation, Observation::TimedOut));
            self.outcome.count(&seen.observation);
            if let Observation::Established { session, host } = seen.observation {
                let server = self.federate(host).server().0 as usize;
                let run = Run { node: server, start: self.starts[server].0 };
                self.ledger.established(session, host, run);
            }
            self.ledger.learn(seen);
            for invariant in &mut self.invariants {
                invariant.observe(seen, &self.ledger).map_err(|text| (invariant.name(), text))?;
            }
        }
        Ok(())
    }

    /// Records the network that serves the sessions of a node.
    fn learn_served(&mut self, node: usize) {
        for (session, network) in self.with_node(node, |node, _| node.take_served()) {
            self.ledger.served(session, network);
        }
    }

    fn failure(&self, invariant: &'static str, text: String) -> Failure {
        let violation = Violation { invariant, at: self.now(), text };
        Failure { violation, trace: self.trace.iter().cloned().collect() }
    }

    fn follow(&mut self, step: Step) -> Result<(), Failure> {
        let (Step::Begin(place) | Step::End(place)) = step;
        let begins = matches!(step, Step::Begin(_));
        match self.options.faults[place].kind.clone() {
            FaultKind::Crash(node) if begins => self.crash(node),
            FaultKind::Restart(node) if begins => self.crash(node),
            FaultKind::Restart(node) => self.launch(node),
            FaultKind::Outage(nodes) if begins => nodes.into_iter().for_each(|node| self.crash(node)),
            FaultKind::Outage(nodes) => nodes.into_iter().for_each(|node| self.launch(node)),
            FaultKind::Join(node) if begins => self.launch(node),
            FaultKind::Leave(node) if begins => self.leave(node),
            FaultKind::Leave(node) => self.crash(node),
            FaultKind::Pause(node) if begins => self.pause(node),
            FaultKind::Pause(node) => self.go_on(node),
            FaultKind::Suspend(nodes) if begins => nodes.into_iter().for_each(|node| self.pause(node)),
            FaultKind::Suspend(nodes) => nodes.into_iter().for_each(|node| self.go_on(node)),
            FaultKind::Clock(node, by) if begins => self.advance_clock(node, by),
            FaultKind::Disk(node, everything) => {
                let refuses = if everything { Refuses::Everything } else { Refuses::Storing };
                self.refuse(node, if begins { refuses } else { Refuses::Nothing });
            }
            FaultKind::Crash(_) | FaultKind::Join(_) | FaultKind::Clock(..) => {}
            FaultKind::Federate(number, fault) => return self.disturb(place, number, fault, begins),
            kind => self.set_rule(place, begins, kind),
        }
        Ok(())
    }

    /// Begins or ends a fault of a federate.
    fn disturb(
        &mut self,
        place: usize,
        number: usize,
        fault: FederateFault,
        begins: bool,
    ) -> Result<(), Failure> {
        let host = self.federates[number];
        if !self.sim.network().is_up(host) {
            return Ok(());
        }
        if let Some(model) = &mut self.model {
            model.disturb(host);
        }
        match fault {
            FederateFault::Kill if begins => return self.kill_federate(host),
            FederateFault::Kill => {}
            FederateFault::SlowReader => self.set_reading(host, !begins),
            _ => self.set_rule(place, begins, FaultKind::Federate(number, fault)),
        }
        Ok(())
    }

    /// Applies the network fault at `place` of the plan, or removes it.
    fn set_rule(&mut self, place: usize, begins: bool, kind: FaultKind) {
        if begins {
            let rule = self.add_rule(kind);
            self.rules.insert(place, rule);
        } else if let Some(rule) = self.rules.remove(&place) {
            self.sim.network_mut().remove_rule(rule);
        }
    }
}

/// The settings of most links between nodes, so that only the others have to be configured.
fn usual_link(options: &Options) -> LinkSpec {
    LinkSpec { rate: options.rate, delay: options.sites[0] * 2 }
}

fn plan(options: &Options) -> VecDeque<(Moment, Step)> {
    let mut plan = Vec::new();
    for (place, fault) in options.faults.iter().enumerate() {
        plan.push((fault.at, Step::Begin(place)));
        let lasts = if matches!(fault.kind, FaultKind::Leave(_)) { LEAVE_MAX } else { fault.lasts };
        plan.push((fault.at + lasts, Step::End(place)));
    }
    plan.sort_unstable();
    plan.into()
}
