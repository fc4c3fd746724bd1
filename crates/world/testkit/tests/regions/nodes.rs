//! Data distribution over many nodes: whole kernels on a simulated network.
//!
//! The federates call services at random, with messages in between. From time to time they stop, and
//! the network becomes quiet. Then everybody must know what the mirror says, and every message must
//! reach exactly those whom it concerns (see [`judge`](crate::judge)).

use crate::calls::{Act, CLASSES, Handles, Ranges, attributes, module};
use crate::mirror::{Fed, Mirror, Place};
use crate::script;
use base::{Moment, Seed};
use hla::Exception;
use hla::api::call_response::CallResponse as Answer;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use netsim::{HostId, RuleId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use testkit::observation::Observation;
use testkit::{Cluster, Draw, FaultKind, Options, Shape, Timing};

/// Links break and come back several times before a node is given up.
const TIMING: Timing = Timing {
    keep_alive: Duration::from_millis(200),
    silence: Duration::from_secs(1),
    node: Duration::from_secs(6),
    minority: Duration::from_secs(30),
    backoff: Duration::from_millis(400),
};
const ROUNDS: u64 = 60;

/// How a federate reaches the cluster, and what it has not finished.
pub(crate) struct Port {
    pub(crate) host: HostId,
    pub(crate) node: usize,
    pub(crate) handle: FederateHandle,
    /// The call that is not answered.
    pub(crate) call: Option<Act>,
    /// Calls that follow.
    pub(crate) next: VecDeque<Act>,
}

/// The class at which an interaction came, and its regions.
pub(crate) type Heard = (usize, Vec<Ranges>);

/// Messages that have come since the last time that they were counted.
#[derive(Default)]
pub(crate) struct Received {
    /// By receiver and attribute.
    pub(crate) reflected: BTreeMap<(usize, Place), Vec<Vec<Ranges>>>,
    /// By receiver and tag.
    pub(crate) heard: BTreeMap<(usize, Vec<u8>), Vec<Heard>>,
    /// Attributes for which values were requested, by owner.
    pub(crate) asked: BTreeMap<(usize, Place), usize>,
}

/// See the module.
pub(crate) struct Trial {
    pub(crate) draw: Draw,
    pub(crate) cluster: Cluster,
    pub(crate) handles: Handles,
    pub(crate) ports: Vec<Port>,
    pub(crate) mirror: Mirror,
    pub(crate) received: Received,
    /// The longest virtual time until everything that a call causes has happened.
    pub(crate) settled: Duration,
    pub(crate) has_faults: bool,
    /// Deliveries that were expected, and those that regions have prevented.
    pub(crate) counts: (u64, u64),
    pub(crate) history: Vec<String>,
    /// Instances whose registrars have called to delete them.
    pub(crate) doomed: BTreeSet<ObjectInstanceHandle>,
    /// Those that federates have deleted while nodes can die: a deletion may be lost with the node of
    /// its federate.
    pub(crate) deleted: BTreeMap<ObjectInstanceHandle, usize>,
    /// The automatic resign directive deletes instances.
    pub(crate) deletes: bool,
    read: usize,
    /// The round in which a node dies.
    crash: Option<(u64, usize)>,
    /// The federates make no further calls before the end.
    is_silent: bool,
    rules: Vec<(Moment, RuleId)>,
}

fn every_edge(nodes: usize) -> Vec<(usize, usize)> {
    (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b))).collect()
}

impl Trial {
    pub(crate) fn new(seed: Seed) -> Self {
        let mut draw = Draw::new(seed, "cluster");
        let nodes = draw.between(2, 4) as usize;
        let shape = match draw.below(3) {
            0 => Shape::tree(nodes, &mut draw),
            1 => Shape::mesh(nodes, 0),
            _ => Shape::graph(nodes, &mut draw),
        };
        Self::of_shape(seed, shape, draw, false)
    }

    pub(crate) fn with_faults(seed: Seed) -> Self {
        let mut draw = Draw::new(seed, "faults");
        let nodes = draw.between(3, 5) as usize;
        let shape = Shape::of_edges(nodes, &every_edge(nodes));
        Self::of_shape(seed, shape, draw, true)
    }

    fn of_shape(seed: Seed, shape: Shape, mut draw: Draw, has_faults: bool) -> Self {
        let (nodes, federates) = (shape.nodes, draw.between(3, 6) as usize);
        let homes = (0..federates).map(|_| draw.below(nodes as u64) as usize).collect();
        let directives = ["UnconditionallyDivestAttributes", "DeleteObjects", "DeleteObjectsThenDivest"];
        let directive = draw.pick(&directives).copied().unwrap_or_default();
        let mut options = Options::quiet(seed, shape, federates);
        options.module = Some(module(directive));
        options.spares = 0;
        options.sites = (0..nodes).map(|_| Duration::from_micros(50 + draw.below(20_000))).collect();
        if has_faults {
            options.timing = TIMING;
        }
        let mut trial = Self::of_options(options, homes, draw);
        trial.has_faults = has_faults;
        trial.deletes = directive.starts_with("Delete");
        if has_faults {
            trial.settled = Duration::from_secs(20);
            // The node of the witness survives.
            let witness = trial.ports[0].node;
            let node = (witness + 1 + trial.draw.below(nodes as u64 - 1) as usize) % nodes;
            trial.crash = trial.draw.chance(80).then(|| (trial.draw.below(ROUNDS), node));
        }
        trial
    }

    /// Federates that nobody has called yet, at the nodes of `homes`.
    pub(crate) fn of_options(mut options: Options, homes: Vec<usize>, draw: Draw) -> Self {
        options.homes = Some(homes.clone());
        let cluster = Cluster::new(options);
        let handles = Handles::of(&cluster.known(cluster.federates()[0]).model);
        let port = |(&host, node)| Port {
            host,
            node,
            handle: FederateHandle::INVALID,
            call: None,
            next: VecDeque::new(),
        };
        let ports: Vec<_> = cluster.federates().iter().zip(homes).map(port).collect();
        let feds = ports.iter().map(|_| Fed::default()).collect();
        Self {
            draw,
            cluster,
            handles,
            ports,
            mirror: Mirror { feds, ..Mirror::default() },
            received: Received::default(),
            settled: Duration::from_secs(2),
            has_faults: false,
            counts: (0, 0),
            history: Vec::new(),
            doomed: BTreeSet::new(),
            deleted: BTreeMap::new(),
            deletes: false,
            read: 0,
            crash: None,
            is_silent: false,
            rules: Vec::new(),
        }
    }

    /// Runs to the end. Returns the number of deliveries, and of those that regions have prevented.
    pub(crate) fn finish(mut self) -> Result<(u64, u64), String> {
        let run = self.run();
        self.explained(run)?;
        Ok(self.counts)
    }

    /// A failure with what happened before.
    pub(crate) fn explained<T>(&self, run: Result<T, String>) -> Result<T, String> {
        let tail = || self.history.iter().rev().take(500).rev().cloned().collect::<Vec<_>>().join("\n");
        run.map_err(|failure| format!("{}\n{failure}", tail()))
    }

    fn run(&mut self) -> Result<(), String> {
        self.prepare()?;
        for at in self.mirror.live() {
            for _ in 0..3 {
                let dimensions = script::dimensions_of_new(&mut self.draw);
                self.ports[at].next.push_back(Act::Create(dimensions));
            }
            if self.has_faults && at == 0 {
                for class in 0..CLASSES {
                    self.ports[at].next.push_back(Act::Subscribe(class, attributes(class).collect()));
                }
            }
        }
        for round in 0..ROUNDS {
            self.fault();
            for at in self.mirror.live() {
                if self.ports[at].next.is_empty() && !self.is_silent && self.draw.chance(50) {
                    let is_witness = self.has_faults && at == 0;
                    self.ports[at].next.extend(script::draw(&mut self.draw, &self.mirror, at, is_witness));
                }
                self.go_on(at)?;
            }
            self.crash(round)?;
            let span = Duration::from_micros(self.draw.below(60_000));
            self.pass(span)?;
            if !self.has_faults && round % 20 == 19 {
                self.judge(None)?;
                self.judge_single_steps()?;
            }
        }
        self.end_rules(None);
        self.judge(None)?;
        self.judge_single_steps()
    }

    /// Makes the next call of a federate, if the last one is answered.
    pub(crate) fn go_on(&mut self, at: usize) -> Result<(), String> {
        match self.ports[at].call {
            None => self.ports[at].next.pop_front().map_or(Ok(()), |act| self.act(at, act)),
            Some(_) => Ok(()),
        }
    }

    /// Lets a federate make a call.
    pub(crate) fn act(&mut self, at: usize, act: Act) -> Result<(), String> {
        self.history.push(format!("{:?} f{at} calls {act:?}", self.cluster.now()));
        self.mirror.feds[at].note_call(&act);
        if let Act::Delete(instance) = act {
            self.doomed.insert(instance);
        }
        let host = self.ports[at].host;
        let tag = self.cluster.stamp(host);
        let call = self.handles.call(&act, tag);
        self.ports[at].call = Some(act);
        self.cluster.act(host, call).map_err(|failure| failure.to_string())?;
        self.read()
    }

    pub(crate) fn pass(&mut self, span: Duration) -> Result<(), String> {
        self.cluster.run_for(span).map_err(|failure| failure.to_string())?;
        self.read()
    }

    /// Everybody joins and publishes everything.
    pub(crate) fn prepare(&mut self) -> Result<(), String> {
        let joined = self.cluster.run_for(Duration::from_secs(5)).and_then(|()| self.cluster.join_all());
        joined.map_err(|failure| failure.to_string())?;
        self.cluster.record();
        for at in 0..self.ports.len() {
            let host = self.ports[at].host;
            if let testkit::Standing::Joined(handle) = self.cluster.known(host).standing {
                self.ports[at].handle = handle;
                self.history.push(format!("f{at} is {handle:?} of node {}", self.ports[at].node));
            }
            for class in 0..CLASSES {
                self.ports[at].next.extend([Act::Publish(class), Act::PublishInteraction(class)]);
            }
        }
        self.settle()
    }

    /// Ends the faults of the network whose time has come, or all.
    fn end_rules(&mut self, now: Option<Moment>) {
        let is_over = |until| now.is_none_or(|now| until <= now);
        for (_, rule) in self.rules.extract_if(.., |&mut (until, _)| is_over(until)) {
            self.cluster.network_mut().remove_rule(rule);
        }
    }

    /// A node dies with its federates.
    pub(crate) fn kill(&mut self, node: usize) {
        self.history.push(format!("{:?} node {node} dies", self.cluster.now()));
        self.cluster.crash(node);
        for at in (0..self.ports.len()).filter(|&at| self.ports[at].node == node) {
            self.mirror.feds[at].is_dead = true;
        }
    }

    /// In its round a node dies, right after all federates have changed regions. Often the nodes have
    /// heard different parts of that, and often nobody does anything later that would hide it.
    fn crash(&mut self, round: u64) -> Result<(), String> {
        let Some((_, node)) = self.crash.take_if(|(at, _)| *at == round) else { return Ok(()) };
        let nodes = self.cluster.nodes().len() as u64;
        if self.draw.chance(60) {
            let other = (node + 1 + self.draw.below(nodes - 1) as usize) % nodes as usize;
            let kind = match self.draw.below(2) {
                0 => FaultKind::OneWay(node, other),
                _ => FaultKind::Slow(node, other, Duration::from_millis(200)),
            };
            self.history.push(format!("{:?} {kind:?}", self.cluster.now()));
            let until = self.cluster.now() + Duration::from_millis(500);
            let rule = self.cluster.add_rule(kind);
            self.rules.push((until, rule));
        }
        for _ in 0..3 {
            for at in self.mirror.live() {
                if self.ports[at].next.is_empty() {
                    let acts = script::draw_distribution(&mut self.draw, &self.mirror.feds[at]);
                    let is_loss = |act: &Act| at == 0 && matches!(act, Act::Unsubscribe(..));
                    self.ports[at].next.extend(acts.into_iter().filter(|act| !is_loss(act)));
                }
                self.go_on(at)?;
            }
            let span = Duration::from_micros(self.draw.below(30_000));
            self.pass(span)?;
        }
        self.kill(node);
        self.is_silent = self.draw.chance(70);
        Ok(())
    }

    /// Begins and ends the faults of a round.
    fn fault(&mut self) {
        let now = self.cluster.now();
        self.end_rules(Some(now));
        if self.has_faults && self.draw.chance(8) {
            let nodes = self.cluster.nodes().len() as u64;
            let (a, b) = (self.draw.below(nodes) as usize, self.draw.below(nodes - 1) as usize);
            let b = b + usize::from(b >= a);
            let kind = match self.draw.below(4) {
                0 => FaultKind::Partition(BTreeSet::from([a]), self.draw.chance(50)),
                1 => FaultKind::Cut(a, b),
                2 => FaultKind::OneWay(a, b),
                _ => FaultKind::Slow(a, b, Duration::from_millis(1 + self.draw.below(300))),
            };
            self.history.push(format!("{now:?} {kind:?}"));
            let until = now + Duration::from_millis(50 + self.draw.below(1_500));
            let rule = self.cluster.add_rule(kind);
            self.rules.push((until, rule));
        }
    }

    /// Reads the observations since the last time.
    fn read(&mut self) -> Result<(), String> {
        let recorded = self.cluster.recorded()[self.read.min(self.cluster.recorded().len())..].to_vec();
        self.read += recorded.len();
        for (host, seen) in recorded {
            let is_it = |at: &usize| self.ports[*at].host == host;
            let Some(at) = self.mirror.live().into_iter().find(is_it) else { continue };
            match seen.observation {
                Observation::Received { callback, .. } => self.hear(at, callback)?,
                Observation::Got { answer, .. } => self.answered(at, answer)?,
                Observation::Over { reason, .. } => return Err(format!("f{at}: {reason}")),
                _ => {}
            }
        }
        Ok(())
    }

    fn answered(&mut self, at: usize, answer: Answer) -> Result<(), String> {
        let Some(act) = self.ports[at].call.take() else { return Ok(()) };
        let fed = &mut self.mirror.feds[at];
        match (answer, &act) {
            (Answer::ExceptionData(refused), act) => {
                self.history.push(format!("{:?} f{at} gets {}", self.cluster.now(), refused.exception_name));
                return check_refusal(fed, at, act, &refused.exception_name);
            }
            (Answer::CreateRegionResponse(r), Act::Create(of)) => {
                let region = r.result.ok_or("no region")?;
                fed.created(region, of);
                let bounds =
                    of.iter().map(|&at| Act::SetBounds(region, at, script::bounds(&mut self.draw, at)));
                let new: Vec<_> = bounds.chain([Act::Commit(BTreeSet::from([region]))]).collect();
                new.into_iter().rev().for_each(|act| self.ports[at].next.push_front(act));
            }
            (Answer::RegisterObjectInstanceWithRegionsResponse(r), Act::Register(class, pairs)) => {
                let instance = r.result.ok_or("no instance")?;
                self.history.push(format!("f{at} gets {instance:?}"));
                fed.registered(instance, *class, pairs);
                self.mirror.instances.insert(instance, *class);
            }
            (Answer::AttributeOwnershipDivestitureIfWantedResponse(r), Act::DivestIfWanted(instance, _)) => {
                let given = self.handles.numbers(r.result).into_iter().collect();
                fed.give(*instance, &given);
            }
            (_, Act::DeleteRegion(region)) if fed.uses(*region) => {
                return Err(format!("f{at} has deleted {region:?}, which it uses"));
            }
            (_, Act::Delete(instance)) => {
                fed.served(&act);
                match self.has_faults {
                    true => drop(self.deleted.insert(*instance, at)),
                    false => drop(self.mirror.instances.remove(instance)),
                }
            }
            _ => fed.served(&act),
        }
        if matches!(act, Act::Unsubscribe(..) | Act::UnsubscribeWith(..)) {
            self.note_own_scope(at);
        }
        Ok(())
    }

    /// A federate has ended subscriptions: attributes that leave the scope by that are not reported.
    /// Its node may not know the regions yet that an owner elsewhere has by now: an attribute may then
    /// stay in scope by other subscriptions. Of an attribute that nobody owns, it may not know so yet:
    /// the regions of the last owner may still count there.
    fn note_own_scope(&mut self, at: usize) {
        let (mirror, fed) = (&self.mirror, &self.mirror.feds[at]);
        let stays = |place: &Place| {
            mirror.instances.contains_key(&place.0)
                && fed.known.get(&place.0).is_some_and(|&class| mirror.applies(at, class, *place))
        };
        let in_scope: BTreeSet<Place> = fed.in_scope.iter().copied().filter(stays).collect();
        let unowned = in_scope.iter().copied().filter(|&place| mirror.owner(place).is_none());
        let doubtful: Vec<Place> = unowned.chain(fed.in_scope.difference(&in_scope).copied()).collect();
        self.mirror.feds[at].in_scope = in_scope;
        self.mirror.feds[at].doubtful.extend(doubtful);
    }
}

/// A region that is not used can be deleted.
fn check_refusal(fed: &Fed, at: usize, act: &Act, exception: &str) -> Result<(), String> {
    let is_in_use = exception == format!("{:?}", Exception::RegionInUseForUpdateOrSubscription);
    match act {
        Act::DeleteRegion(region) if is_in_use && !fed.uses(*region) => {
            Err(format!("f{at} may not delete {region:?}, which it does not use"))
        }
        Act::Associate(..) | Act::SubscribeWith(..) | Act::Commit(_) if is_in_use => {
            Err(format!("f{at}: {exception} for {act:?}"))
        }
        _ => Ok(()),
    }
}
