//! A run: one server and scripted federates on a simulated network, watched by every invariant.

use crate::federate::Federate;
use crate::fom;
use crate::invariants::{self, AsTheModel, Invariant, Violation};
use crate::observation::{Observation, Seen, SessionId};
use crate::options::{Options, Trouble, TroubleKind};
use crate::script::{Knowledge, Standing};
use crate::server::Server;
use base::Moment;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use netsim::{
    Digest, Effect, Fault, Host, HostEvent, HostId, LinkSpec, Network, NetworkOptions, Port, RuleId, Scope,
    Simulation,
};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How many of the last observations a failure shows.
const TRACE_LENGTH: usize = 40;
/// How long nothing may happen, at the end of a run, but for heartbeats.
const SILENCE: Duration = Duration::from_secs(130);

/// What runs on a host.
#[allow(clippy::large_enum_variant)] // a handful of each
enum Node {
    Server(Server),
    Federate(Federate),
}

impl Host for Node {
    fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        match self {
            Node::Server(server) => server.handle(event, port),
            Node::Federate(federate) => federate.handle(event, port),
        }
    }
}

/// How a run went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The digest of everything that happened.
    pub digest: Digest,
    /// Calls that the kernel executed.
    pub calls: u64,
    /// Callbacks that it sent.
    pub callbacks: u64,
    /// Sessions that went on after their connection was lost.
    pub resumes: u64,
    /// Federates that were resigned because they were lost.
    pub lost: u64,
    /// Best-effort callbacks left out for federates that did not keep up.
    pub dropped: u64,
    /// When the run ended.
    pub ended: Moment,
}

/// Why a run failed: what was wrong, and what had happened just before.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was wrong.
    pub violation: Violation,
    /// The last observations, oldest first.
    pub trace: Vec<Seen>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for seen in &self.trace {
            let text = format!("{:?}", seen.what);
            let short: String = text.chars().take(600).collect();
            writeln!(f, "  {} {short}", seen.at)?;
        }
        write!(f, "{}", self.violation)
    }
}

/// A server, federates, a network between them, and a plan of what goes wrong.
pub struct World {
    options: Options,
    sim: Simulation<Node>,
    server: HostId,
    federates: Vec<HostId>,
    /// What the plan does next, earliest first.
    plan: VecDeque<(Moment, Step)>,
    rules: BTreeMap<usize, RuleId>,
    model: AsTheModel,
    invariants: Vec<Box<dyn Invariant>>,
    trace: VecDeque<Seen>,
    outcome: Outcome,
    /// Observations since the silence began.
    observed: u64,
    /// Whose reflections are recorded, and when they came.
    recorded: (Option<HostId>, Vec<Moment>),
}

/// A step of the plan: the beginning or the end of a trouble.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Begin(usize),
    End(usize),
}

impl World {
    /// The world that `options` describe, at its beginning.
    pub fn new(options: Options) -> Self {
        let base = Arc::new(fom::model(&options.switches));
        let network = NetworkOptions { stream_window: options.limits.stream_window, ..Default::default() };
        let mut sim = Simulation::new(options.seed.split("network"), network);
        let server = sim
            .add_host("server", Node::Server(Server::new(config(&options), options.seed.split("sessions"))));
        let known = knowledge(&options, &base);
        let mut federates = Vec::new();
        for number in 0..options.federates {
            let host = HostId(number as u32 + 1);
            let federation = known.federations[number % known.federations.len()].clone();
            let known = Knowledge { federation, ..known.clone() };
            let federate = Federate::new(&options, number, host, server, known);
            federates.push(sim.add_host(&format!("federate {number}"), Node::Federate(federate)));
            let delay = options.delays[number % options.delays.len()];
            sim.network_mut().set_link(server, host, LinkSpec { rate: options.rate, delay });
        }
        for &host in &federates {
            sim.network_mut().wake(host, Some(Moment::from_micros(1)));
        }
        let tight = options.limits.stream_window < 64 << 10;
        let outcome = Outcome {
            digest: Digest::EMPTY,
            calls: 0,
            callbacks: 0,
            resumes: 0,
            lost: 0,
            dropped: 0,
            ended: Moment::ZERO,
        };
        Self {
            plan: plan(&options.troubles),
            model: AsTheModel::new(base, options.timeouts, tight),
            invariants: invariants::all(),
            options,
            sim,
            server,
            federates,
            rules: BTreeMap::new(),
            trace: VecDeque::new(),
            outcome,
            observed: 0,
            recorded: (None, Vec::new()),
        }
    }

    /// The present.
    pub fn now(&self) -> Moment {
        self.sim.now()
    }

    /// The network: links, rules, counters.
    pub fn network(&self) -> &Network {
        self.sim.network()
    }

    /// Hosts of the federates.
    pub fn federates(&self) -> &[HostId] {
        &self.federates
    }

    /// What the kernel reports of itself.
    pub fn status(&self) -> kernel::Status {
        match self.sim.host(self.server) {
            Node::Server(server) => server.kernel().status(),
            Node::Federate(_) => unreachable!("the server's host runs the server"),
        }
    }

    /// What a federate knows.
    pub fn known(&self, host: HostId) -> &Knowledge {
        self.federate(host).known()
    }

    fn federate(&self, host: HostId) -> &Federate {
        match self.sim.host(host) {
            Node::Federate(federate) => federate,
            Node::Server(_) => unreachable!("{host} is no federate's host"),
        }
    }

    fn with_federate(&mut self, host: HostId, act: impl FnOnce(&mut Federate, &mut Port<'_>)) {
        self.sim.call(host, |node, port| match node {
            Node::Federate(federate) => act(federate, port),
            Node::Server(_) => unreachable!("{host} is no federate's host"),
        });
    }

    /// A federate makes a call now, if it has a session.
    ///
    /// # Errors
    /// An invariant does not hold.
    pub fn act(&mut self, host: HostId, call: Call) -> Result<(), Failure> {
        self.with_federate(host, |federate, port| federate.act(port, call));
        self.watch(host)
    }

    /// The next stamp of a federate, for a tag of a call that [`World::act`] makes.
    pub fn stamp(&mut self, host: HostId) -> Bytes {
        let mut stamp = Bytes::new();
        self.with_federate(host, |federate, _| stamp = federate.stamp());
        stamp
    }

    /// From now on, notes when callbacks reach `host`.
    pub fn record(&mut self, host: HostId) {
        self.recorded = (Some(host), Vec::new());
    }

    /// What was noted, see [`World::record`].
    pub fn recorded(&self) -> &[Moment] {
        &self.recorded.1
    }

    /// A federate stops, or goes on, to take what arrives.
    pub fn set_reading(&mut self, host: HostId, reading: bool) {
        self.model.disturb(host);
        self.with_federate(host, |federate, port| federate.set_reading(port, reading));
    }

    /// Kills the process of a federate.
    ///
    /// # Errors
    /// An invariant does not hold.
    pub fn kill(&mut self, host: HostId) -> Result<(), Failure> {
        self.sim.network_mut().kill(host);
        self.with_federate(host, |federate, _| federate.die());
        self.watch(host)
    }

    /// Runs the whole life of the world: troubles under way, then everything healed, then silence,
    /// then an orderly end.
    ///
    /// # Errors
    /// An invariant does not hold, or what should happen did not in time.
    pub fn run(mut self) -> Result<Outcome, Failure> {
        self.run_until(Moment::ZERO + self.options.lasts)?;
        self.heal()?;
        self.converge()?;
        self.keep_silent()?;
        self.finish()?;
        self.end()?;
        self.outcome.digest = self.sim.digest();
        self.outcome.dropped = self.model.dropped();
        self.outcome.ended = self.now();
        Ok(self.outcome)
    }

    /// Runs until `until`, with what the plan has for the time.
    ///
    /// # Errors
    /// An invariant does not hold.
    pub fn run_until(&mut self, until: Moment) -> Result<(), Failure> {
        loop {
            let next = self.plan.front().map(|(at, _)| *at).filter(|at| *at <= until);
            while self.step(next.unwrap_or(until))? {}
            match next.and_then(|_| self.plan.pop_front()) {
                Some((_, step)) => self.follow(step)?,
                None => return Ok(()),
            }
        }
    }

    /// One event, if there is one until `until`; then every invariant is asked.
    fn step(&mut self, until: Moment) -> Result<bool, Failure> {
        match self.sim.step(until) {
            Ok(Some(host)) => self.watch(host).map(|()| true),
            Ok(None) => Ok(false),
            Err(livelock) => Err(self.failure("progress", livelock.to_string())),
        }
    }

    /// Shows what a host saw to the invariants.
    fn watch(&mut self, host: HostId) -> Result<(), Failure> {
        let what = self.sim.call(host, |node, _| match node {
            Node::Server(server) => server.take_seen(),
            Node::Federate(federate) => federate.take_seen(),
        });
        let at = self.now();
        let seen: Vec<_> = what.into_iter().map(|what| Seen { at, what }).collect();
        self.observed +=
            seen.iter().filter(|seen| !matches!(seen.what, Observation::TimedOut)).count() as u64;
        for seen in &seen {
            if self.recorded.0 == Some(host) && matches!(seen.what, Observation::Received { .. }) {
                self.recorded.1.push(at);
            }
            self.count(&seen.what);
            self.trace.push_back(seen.clone());
            if self.trace.len() > TRACE_LENGTH {
                self.trace.pop_front();
            }
        }
        // All that happened in the kernel, then all that came out of it: it says one before the other.
        let model = &mut self.model;
        let compared = seen.iter().try_for_each(|seen| model.cause(seen));
        let compared = compared.and_then(|()| seen.iter().try_for_each(|seen| model.outcome(seen)));
        compared.map_err(|text| self.failure("as_the_model", text))?;
        for place in 0..self.invariants.len() {
            for seen in &seen {
                let invariant = &mut self.invariants[place];
                let name = invariant.name();
                invariant.observe(seen).map_err(|text| self.failure(name, text))?;
            }
        }
        Ok(())
    }

    fn count(&mut self, what: &Observation) {
        let outcome = &mut self.outcome;
        match what {
            Observation::Executed { .. } => outcome.calls += 1,
            Observation::Called { .. } => outcome.callbacks += 1,
            Observation::Resumed { .. } => outcome.resumes += 1,
            Observation::Killed { .. } => outcome.lost += 1,
            _ => {}
        }
    }

    fn failure(&self, invariant: &'static str, text: String) -> Failure {
        let violation = Violation { invariant, at: self.now(), text };
        Failure { violation, trace: self.trace.iter().cloned().collect() }
    }

    fn follow(&mut self, step: Step) -> Result<(), Failure> {
        let (Step::Begin(place) | Step::End(place)) = step;
        let trouble = self.options.troubles[place].clone();
        let host = self.federates[trouble.federate];
        if !self.sim.network().is_up(host) {
            return Ok(());
        }
        self.model.disturb(host);
        match (step, trouble.kind) {
            (Step::End(_), TroubleKind::SlowReader) => self.set_reading(host, true),
            (Step::End(_), _) => {
                if let Some(rule) = self.rules.remove(&place) {
                    self.sim.network_mut().remove_rule(rule);
                }
            }
            (_, TroubleKind::Kill) => return self.kill(host),
            (_, TroubleKind::SlowReader) => self.set_reading(host, false),
            (_, kind) => {
                let rule = self.sim.network_mut().add_rule(fault(host, kind));
                self.rules.insert(place, rule);
            }
        }
        Ok(())
    }

    /// No faults from now on, and nobody begins anything new.
    fn heal(&mut self) -> Result<(), Failure> {
        self.plan.clear();
        self.sim.network_mut().heal();
        for host in self.federates.clone() {
            self.with_federate(host, |federate, port| {
                federate.calm_down();
                federate.set_reading(port, true);
            });
            self.watch(host)?;
        }
        Ok(())
    }

    fn is_converged(&self) -> bool {
        self.model.is_settled() && self.federates.iter().all(|&host| self.federate(host).is_settled())
    }

    /// Runs until every call is answered, every callback delivered and every lost session resumed or
    /// expired, in bounded time.
    fn converge(&mut self) -> Result<(), Failure> {
        let timeouts = self.options.timeouts;
        let bound = timeouts.resume_window + 2 * timeouts.heart + Duration::from_secs(60);
        let until = self.now() + bound;
        while !self.is_converged() {
            if !self.step(until)? {
                return Err(self.failure("convergence", format!("not everything is done after {bound:?}")));
            }
        }
        // What is left under way may still be noticed by its receiver.
        let until = self.now() + Duration::from_secs(3) + 3 * timeouts.heart;
        self.run_until(until)?;
        match self.is_converged() {
            true => Ok(()),
            false => Err(self.failure("convergence", "what had converged did not stay so".to_owned())),
        }
    }

    /// With nothing to do, nothing is said but heartbeats.
    fn keep_silent(&mut self) -> Result<(), Failure> {
        self.observed = 0;
        let sent = self.network().stats().stream_sent_bytes;
        self.run_until(self.now() + SILENCE)?;
        if self.observed > 0 {
            return Err(self.failure("silence", format!("{} things were seen", self.observed)));
        }
        let alive = self.federates.iter().filter(|&&host| self.federate(host).is_alive()).count() as u64;
        let beats =
            SILENCE.as_millis() as u64 / (self.options.timeouts.heartbeat.as_millis() as u64 * 5 / 6) + 1;
        let sent = self.network().stats().stream_sent_bytes - sent;
        // A heartbeat takes 24 octets, its answer 28.
        match sent <= alive * beats * (24 + 28) {
            true => Ok(()),
            false => Err(self.failure("silence", format!("{sent} octets were sent by {alive} federates"))),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.model.finish().map_err(|text| self.failure("as_the_model", text))?;
        for place in 0..self.invariants.len() {
            let invariant = &mut self.invariants[place];
            let name = invariant.name();
            invariant.finish().map_err(|text| self.failure(name, text))?;
        }
        Ok(())
    }

    /// Everybody leaves; then the server holds nothing.
    fn end(&mut self) -> Result<(), Failure> {
        for host in self.federates.clone() {
            self.with_federate(host, Federate::terminate);
            self.watch(host)?;
        }
        self.run_until(self.now() + Duration::from_secs(15))?;
        let status = self.status();
        let joined: usize = status.federations.iter().map(|federation| federation.federates.len()).sum();
        if (status.sessions, status.connections, joined) != (0, 0, 0) {
            return Err(self.failure("orderly_end", format!("the server still holds {status:?}")));
        }
        Ok(())
    }

    /// The session of a federate.
    pub fn session(&self, host: HostId) -> Option<SessionId> {
        self.federate(host).session_id()
    }

    /// Whether a federate is joined, as far as it knows.
    pub fn is_joined(&self, host: HostId) -> bool {
        matches!(self.known(host).standing, Standing::Joined(_))
    }
}

/// Settings of a kernel.
pub(crate) fn config(options: &Options) -> kernel::Config {
    let (timeouts, limits) = (&options.timeouts, &options.limits);
    let mut config = kernel::Config {
        closed_window: timeouts.closed_window,
        unjoined_window: timeouts.unjoined_window,
        ..kernel::Config::default()
    };
    config.sessions.heart_timeout = Some(timeouts.heart);
    config.sessions.resume_window = timeouts.resume_window;
    config.sessions.unsent_bytes_high = limits.unsent_bytes_high;
    config.sessions.unsent_bytes_low = limits.unsent_bytes_high / 4;
    config.rti.queue_bytes_max = limits.queue_bytes_max;
    config
}

/// What every federate knows at its start.
pub(crate) fn knowledge(options: &Options, base: &Arc<hla::fom::Fdd>) -> Knowledge {
    let federations: Vec<_> = (0..options.federations).map(|number| format!("federation {number}")).collect();
    Knowledge {
        model: base.clone(),
        module: fom::module(&options.switches).into(),
        standing: Standing::Alone,
        federation: federations[0].clone(),
        federations,
        host: 0,
        stamps: 0,
        padding: options.padding,
        mistakes: options.mistakes,
        published: Default::default(),
        published_interactions: Default::default(),
        own: Default::default(),
        others: Default::default(),
        gone: Vec::new(),
        reserved: Default::default(),
        announced: Default::default(),
        peers: Default::default(),
    }
}

fn plan(troubles: &[Trouble]) -> VecDeque<(Moment, Step)> {
    let mut plan = Vec::new();
    for (place, trouble) in troubles.iter().enumerate() {
        plan.push((trouble.at, Step::Begin(place)));
        plan.push((trouble.at + trouble.lasts, Step::End(place)));
    }
    plan.sort_unstable();
    plan.into()
}

fn fault(host: HostId, kind: TroubleKind) -> Fault {
    let scope = Scope::Host(host);
    match kind {
        TroubleKind::Delay(by) => Fault::new(scope, Effect::Delay(Duration::ZERO..=by)),
        TroubleKind::Fragment(size) => Fault::new(scope, Effect::Fragment(size)),
        TroubleKind::Cut(ppm) => Fault::new(scope, Effect::Cut).with_chance(ppm),
        TroubleKind::Stall | TroubleKind::Kill | TroubleKind::SlowReader => Fault::new(scope, Effect::Stall),
    }
}
