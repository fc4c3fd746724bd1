//! Ownership over many nodes: whole kernels on a simulated network.
//!
//! The federates call services at random. A federate believes that it owns an attribute from the
//! notification to the call by which it gives the attribute up. No two federates may believe so at
//! the same time. In the end every owner gives everything to those who want it: then nobody may
//! still wait, and all federates must name the same owners.

use crate::calls::{ATTRIBUTES, Handles, module};
use crate::script::draw_request;
use base::{Moment, Seed};
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Wire;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use netsim::{HostId, RuleId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use testkit::model::ownership::{Attributes, Callback, NO_TAG, Request};
use testkit::observation::Observation;
use testkit::{Cluster, Draw, Failure, FaultKind, Options, Shape, Timing};

/// Links break and come back several times before a node is given up.
const TIMING: Timing = Timing {
    keep_alive: Duration::from_millis(200),
    silence: Duration::from_secs(1),
    node: Duration::from_secs(6),
    minority: Duration::from_secs(30),
    backoff: Duration::from_millis(400),
};
/// Longest virtual time until everything that a call causes has happened. A dead node is noticed,
/// and its work taken over, within half of it.
const SETTLED: Duration = Duration::from_secs(20);
const ROUNDS: u64 = 60;

/// An instance, by the number of its registrar, and an attribute.
type Place = (usize, usize);

/// A federate of the cluster, and what it believes.
struct Fed {
    host: HostId,
    node: usize,
    handle: FederateHandle,
    is_dead: bool,
    /// The call that is not answered.
    call: Option<Request>,
    owns: BTreeSet<Place>,
    /// Attributes that it gives up by the call that is not answered.
    gives: BTreeSet<Place>,
    wants: BTreeSet<Place>,
    /// Cancellations that are not confirmed.
    cancels: BTreeMap<Place, u32>,
    /// The owners that it has been told of in the end.
    told: BTreeMap<Place, Option<FederateHandle>>,
    reflected: BTreeMap<Place, u32>,
}

impl Fed {
    /// Whether the call that is not answered gives an attribute up.
    fn is_giving(&self, (instance, attribute): Place) -> bool {
        match &self.call {
            Some(Request::Unpublish(attributes)) => attributes.contains(&attribute),
            Some(
                Request::Divest(of, attributes, _)
                | Request::Confirm(of, attributes, _)
                | Request::DivestIfWanted(of, attributes, _),
            ) => *of == instance && attributes.contains(&attribute),
            _ => false,
        }
    }

    /// Returns false if it has not cancelled the acquisition.
    fn confirm_cancellation(&mut self, place: Place) -> bool {
        let Some(count) = self.cancels.get_mut(&place) else { return false };
        *count -= 1;
        if *count == 0 {
            self.cancels.remove(&place);
        }
        true
    }
}

/// See the module.
pub(crate) struct Trial {
    draw: Draw,
    cluster: Cluster,
    handles: Handles,
    feds: Vec<Fed>,
    instances: BTreeMap<ObjectInstanceHandle, usize>,
    read: usize,
    acquired: u64,
    /// The round in which a node dies.
    crash: Option<(u64, usize)>,
    has_faults: bool,
    rules: Vec<(Moment, RuleId)>,
    history: Vec<String>,
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
        let crash = draw.chance(80).then(|| (draw.below(ROUNDS), draw.below(nodes as u64) as usize));
        Self { crash, ..Self::of_shape(seed, shape, draw, true) }
    }

    fn of_shape(seed: Seed, shape: Shape, mut draw: Draw, has_faults: bool) -> Self {
        let (nodes, federates) = (shape.nodes, draw.between(2, 5) as usize);
        let mut options = Options::quiet(seed, shape, federates);
        options.module = Some(module());
        options.spares = 0;
        options.sites = (0..nodes).map(|_| Duration::from_micros(50 + draw.below(20_000))).collect();
        if has_faults {
            options.timing = TIMING;
        }
        let homes: Vec<_> = (0..federates).map(|_| draw.below(nodes as u64) as usize).collect();
        options.homes = Some(homes.clone());
        let cluster = Cluster::new(options);
        let handles = Handles::of(&cluster.known(cluster.federates()[0]).model);
        let fed = |(&host, node)| Fed {
            host,
            node,
            handle: FederateHandle::INVALID,
            is_dead: false,
            call: None,
            owns: BTreeSet::new(),
            gives: BTreeSet::new(),
            wants: BTreeSet::new(),
            cancels: BTreeMap::new(),
            told: BTreeMap::new(),
            reflected: BTreeMap::new(),
        };
        let feds = cluster.federates().iter().zip(homes).map(fed).collect();
        Self {
            draw,
            cluster,
            handles,
            feds,
            instances: BTreeMap::new(),
            read: 0,
            acquired: 0,
            crash: None,
            has_faults,
            rules: Vec::new(),
            history: Vec::new(),
        }
    }

    /// Runs to the end. Returns the number of attributes that were acquired.
    pub(crate) fn finish(mut self) -> Result<u64, String> {
        let run = self.run();
        let tail = || self.history.iter().rev().take(400).rev().cloned().collect::<Vec<_>>().join("\n");
        run.map_err(|failure| format!("{failure}\n{}", tail()))?;
        Ok(self.acquired)
    }

    fn run(&mut self) -> Result<(), String> {
        self.prepare().map_err(|failure| failure.to_string())?;
        self.read()?;
        for round in 0..ROUNDS {
            self.fault(round);
            for federate in 0..self.feds.len() {
                if !self.feds[federate].is_dead && self.feds[federate].call.is_none() && self.draw.chance(60)
                {
                    let request = draw_request(&mut self.draw, self.feds.len(), round as u32 + 1);
                    self.request(federate, request)?;
                }
            }
            let span = Duration::from_micros(self.draw.below(60_000));
            self.pass(span)?;
        }
        self.end_rules(None);
        self.pass(SETTLED)?;
        self.give_everything()?;
        self.judge()
    }

    fn pass(&mut self, span: Duration) -> Result<(), String> {
        self.cluster.run_for(span).map_err(|failure| failure.to_string())?;
        self.read()
    }

    fn prepare(&mut self) -> Result<(), Failure> {
        self.cluster.run_for(Duration::from_secs(5))?;
        self.cluster.join_all()?;
        self.cluster.record();
        let all: Attributes = (0..ATTRIBUTES).collect();
        let (object_class, attributes) = (Some(self.handles.class), self.handles.set(&all));
        for at in 0..self.feds.len() {
            let host = self.feds[at].host;
            if let testkit::Standing::Joined(handle) = self.cluster.known(host).standing {
                self.feds[at].handle = handle;
                self.history.push(format!("f{at} is {handle:?} of node {}", self.feds[at].node));
            }
            let attributes = attributes.clone();
            let subscribe = api::SubscribeObjectClassAttributesRequest { object_class, attributes };
            self.cluster.act(host, Call::SubscribeObjectClassAttributesRequest(subscribe))?;
            self.cluster.act(host, self.handles.call(&Request::Publish(all.clone()), |_| None))?;
            self.cluster.act(host, self.handles.call(&Request::Register, |_| None))?;
        }
        self.cluster.settle_calls(SETTLED)?;
        self.cluster.run_for(SETTLED)
    }

    /// Ends the faults of the network whose time has come, or all.
    fn end_rules(&mut self, now: Option<Moment>) {
        let is_over = |until| now.is_none_or(|now| until <= now);
        for (_, rule) in self.rules.extract_if(.., |&mut (until, _)| is_over(until)) {
            self.cluster.network_mut().remove_rule(rule);
        }
    }

    /// Begins and ends the faults of a round.
    fn fault(&mut self, round: u64) {
        let now = self.cluster.now();
        self.end_rules(Some(now));
        if let Some((_, node)) = self.crash.take_if(|(at, _)| *at == round) {
            self.history.push(format!("node {node} dies"));
            self.cluster.crash(node);
            for fed in self.feds.iter_mut().filter(|fed| fed.node == node) {
                fed.is_dead = true;
                fed.owns.clear();
            }
        }
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
            self.history.push(format!("{kind:?}"));
            let until = now + Duration::from_millis(50 + self.draw.below(1_500));
            let rule = self.cluster.add_rule(kind);
            self.rules.push((until, rule));
        }
    }

    /// Lets a federate make a call.
    fn request(&mut self, federate: usize, request: Request) -> Result<(), String> {
        self.history.push(format!("{:?} f{federate} calls {request:?}", self.cluster.now()));
        let of = |instance: usize| self.instances.iter().find(|&(_, &at)| at == instance).map(|(&h, _)| h);
        let call = self.handles.call(&request, of);
        let fed = &mut self.feds[federate];
        let places = |instance: usize, attributes: &Attributes| -> BTreeSet<Place> {
            attributes.iter().map(|&at| (instance, at)).collect()
        };
        match &request {
            Request::Divest(i, a, _) | Request::Confirm(i, a, _) | Request::DivestIfWanted(i, a, _) => {
                fed.gives = places(*i, a).intersection(&fed.owns).copied().collect();
            }
            Request::Unpublish(a) => {
                fed.gives = fed.owns.iter().filter(|(_, at)| a.contains(at)).copied().collect();
            }
            Request::CancelAcquisition(i, a) => {
                fed.gives = places(*i, a).intersection(&fed.wants).copied().collect();
                for place in &fed.gives {
                    fed.wants.remove(place);
                    *fed.cancels.entry(*place).or_default() += 1;
                }
            }
            _ => {}
        }
        fed.owns = fed.owns.difference(&fed.gives).copied().collect();
        fed.call = Some(request);
        self.cluster.act(fed.host, call).map_err(|failure| failure.to_string())?;
        self.read()
    }

    /// Reads the observations since the last time.
    fn read(&mut self) -> Result<(), String> {
        let recorded = self.cluster.recorded()[self.read..].to_vec();
        self.read += recorded.len();
        for (host, seen) in recorded {
            let Some(at) = self.feds.iter().position(|fed| fed.host == host && !fed.is_dead) else {
                continue;
            };
            match seen.observation {
                Observation::Received { callback, .. } => self.hear(at, callback)?,
                Observation::Got { answer, .. } => self.answered(at, answer)?,
                Observation::Over { reason, .. } => return Err(format!("federate {at}: {reason}")),
                _ => {}
            }
        }
        Ok(())
    }

    fn answered(&mut self, at: usize, answer: Answer) -> Result<(), String> {
        if let Answer::RegisterObjectInstanceResponse(r) = &answer {
            let instance = r.result.ok_or("no instance")?;
            self.instances.insert(instance, at);
            self.feds[at].owns.extend((0..ATTRIBUTES).map(|attribute| (at, attribute)));
            return Ok(());
        }
        let Some(request) = self.feds[at].call.take() else { return Ok(()) };
        self.history.push(format!("{:?} f{at} gets {answer:?}", self.cluster.now()));
        let fed = &mut self.feds[at];
        let gives = std::mem::take(&mut fed.gives);
        let kept: BTreeSet<Place> = match (answer, &request) {
            (Answer::ExceptionData(_), Request::CancelAcquisition(..)) => {
                for place in gives {
                    if fed.confirm_cancellation(place) && !fed.owns.contains(&place) {
                        fed.wants.insert(place);
                    }
                }
                BTreeSet::new()
            }
            (Answer::ExceptionData(_), _) => gives,
            // The response comes before the callbacks that the call causes.
            (_, Request::Acquire(i, a, _) | Request::AcquireIfAvailable(i, a, _)) => {
                fed.wants.extend(a.iter().map(|&at| (*i, at)));
                BTreeSet::new()
            }
            (Answer::AttributeOwnershipDivestitureIfWantedResponse(r), Request::DivestIfWanted(i, ..)) => {
                let given = self.handles.numbers(r.result);
                gives.into_iter().filter(|&(instance, at)| instance != *i || !given.contains(&at)).collect()
            }
            (_, Request::Unpublish(attributes)) => {
                fed.wants.retain(|(_, at)| !attributes.contains(at));
                BTreeSet::new()
            }
            _ => BTreeSet::new(),
        };
        kept.into_iter().try_for_each(|place| self.own(at, place))
    }

    /// A federate believes that it owns an attribute from now on.
    fn own(&mut self, at: usize, place: Place) -> Result<(), String> {
        let other = self.feds.iter().position(|fed| !fed.is_dead && fed.owns.contains(&place));
        if let Some(other) = other {
            return Err(format!("f{at} owns {place:?}, and so does f{other}"));
        }
        self.feds[at].owns.insert(place);
        Ok(())
    }

    fn hear(&mut self, at: usize, wire: Wire) -> Result<(), String> {
        match wire {
            Wire::InformAttributeOwnership(r) => {
                let instance = self.instances[&r.object_instance.unwrap_or_default()];
                let owned = self.handles.numbers(r.attributes).into_iter();
                self.feds[at].told.extend(owned.map(|attribute| ((instance, attribute), r.federate)));
                return Ok(());
            }
            Wire::AttributeIsNotOwned(r) => {
                let instance = self.instances[&r.object_instance.unwrap_or_default()];
                let owned = self.handles.numbers(r.attributes).into_iter();
                self.feds[at].told.extend(owned.map(|attribute| ((instance, attribute), None)));
                return Ok(());
            }
            Wire::ReflectAttributeValues(r) => {
                let instance = self.instances[&r.object_instance.unwrap_or_default()];
                let values = r.attribute_values.unwrap_or_default().attribute_handle_value;
                let handles = values.iter().filter_map(|value| value.attribute_handle).collect();
                for attribute in
                    self.handles.numbers(Some(api::AttributeHandleSet { attribute_handle: handles }))
                {
                    *self.feds[at].reflected.entry((instance, attribute)).or_default() += 1;
                }
                return Ok(());
            }
            Wire::RemoveObjectInstance(_) => return Err(format!("f{at}: an instance is removed")),
            _ => {}
        }
        let instances = &self.instances;
        for callback in self.handles.callbacks(wire, |handle| instances[&handle]) {
            self.history.push(format!("{:?} f{at} hears {callback:?}", self.cluster.now()));
            match callback {
                Callback::Acquired(instance, attribute, _) => {
                    let place = (instance, attribute);
                    self.acquired += 1;
                    let cancelled = self.feds[at].cancels.remove(&place).is_some();
                    if !self.feds[at].wants.remove(&place) && !cancelled {
                        return Err(format!("f{at} acquires {place:?}, which it does not want"));
                    }
                    // The call on its way may give it up at once.
                    match self.feds[at].is_giving(place) {
                        true => self.feds[at].gives.extend([place]),
                        false => self.own(at, place)?,
                    }
                }
                Callback::Unavailable(instance, attribute, _) => {
                    let (fed, place) = (&mut self.feds[at], (instance, attribute));
                    let is_cancelling = matches!(fed.call, Some(Request::CancelAcquisition(..)));
                    if is_cancelling && fed.gives.remove(&place) {
                        // The call on its way will be refused.
                        fed.confirm_cancellation(place);
                    } else if !fed.wants.remove(&place) {
                        return Err(format!("f{at} does not want {place:?}"));
                    }
                }
                Callback::CancellationConfirmed(instance, attribute) => {
                    if !self.feds[at].confirm_cancellation((instance, attribute)) {
                        return Err(format!("f{at} has not cancelled {instance} {attribute}"));
                    }
                }
                Callback::Assumption(..) | Callback::Confirmation(..) | Callback::Release(..) => {}
            }
        }
        Ok(())
    }

    fn live(&self) -> Vec<usize> {
        (0..self.feds.len()).filter(|&at| !self.feds[at].is_dead).collect()
    }

    /// Every owner gives everything to those who want it, until nobody gives anything.
    fn give_everything(&mut self) -> Result<(), String> {
        for _ in 0..3 * self.feds.len() {
            let before = self.acquired;
            for at in self.live() {
                if let Some(call) = &self.feds[at].call {
                    return Err(format!("f{at}: {call:?} is not answered"));
                }
                for instance in 0..self.feds.len() {
                    let owned = self.feds[at].owns.iter().filter(|(of, _)| *of == instance);
                    let owned: Attributes = owned.map(|&(_, attribute)| attribute).collect();
                    if !owned.is_empty() {
                        self.request(at, Request::DivestIfWanted(instance, owned, NO_TAG))?;
                        self.pass(Duration::from_millis(500))?;
                    }
                }
            }
            if self.acquired == before {
                return Ok(());
            }
        }
        Err("attributes are handed over for ever".to_owned())
    }

    fn judge(&mut self) -> Result<(), String> {
        let live = self.live();
        let all: Attributes = (0..ATTRIBUTES).collect();
        for &at in &live {
            let Fed { wants, cancels, .. } = &self.feds[at];
            if !wants.is_empty() || !cancels.is_empty() {
                return Err(format!("f{at} waits for ever for {wants:?} {cancels:?}"));
            }
            for &instance in self.instances.clone().keys() {
                let attributes = self.handles.set(&all);
                let query =
                    api::QueryAttributeOwnershipRequest { object_instance: Some(instance), attributes };
                self.feds[at].call = Some(Request::Register);
                let query = Call::QueryAttributeOwnershipRequest(query);
                self.cluster.act(self.feds[at].host, query).map_err(|failure| failure.to_string())?;
            }
            self.feds[at].reflected.clear();
        }
        for &at in &live {
            for (instance, attribute) in self.feds[at].owns.clone() {
                let of = self.instances.iter().find(|&(_, &known)| known == instance).map(|(&h, _)| h);
                // The invariants of the cluster follow each value by its tag.
                let user_supplied_tag = self.cluster.stamp(self.feds[at].host);
                let pair = api::AttributeHandleValue {
                    attribute_handle: Some(self.handles.attributes[attribute]),
                    value: user_supplied_tag.clone(),
                };
                let update = api::UpdateAttributeValuesRequest {
                    object_instance: of,
                    attribute_values: Some(api::AttributeHandleValueMap {
                        attribute_handle_value: vec![pair],
                    }),
                    user_supplied_tag,
                };
                let update = Call::UpdateAttributeValuesRequest(update);
                self.cluster.act(self.feds[at].host, update).map_err(|failure| failure.to_string())?;
            }
        }
        self.pass(SETTLED)?;
        for &at in &live {
            for instance in 0..self.feds.len() {
                for attribute in 0..ATTRIBUTES {
                    self.judge_place(at, (instance, attribute), &live)?;
                }
            }
        }
        Ok(())
    }

    /// The owner that a federate names is the one that believes so, and its last update has come.
    fn judge_place(&self, at: usize, place: Place, live: &[usize]) -> Result<(), String> {
        let owner = live.iter().copied().find(|&fed| self.feds[fed].owns.contains(&place));
        let told = self.feds[at].told.get(&place).copied();
        if told != Some(owner.map(|owner| self.feds[owner].handle)) {
            return Err(format!("f{at} names {told:?} as the owner of {place:?}, which is f{owner:?}"));
        }
        let expected = u32::from(owner.is_some_and(|owner| owner != at));
        let came = self.feds[at].reflected.get(&place).copied().unwrap_or_default();
        match came == expected {
            true => Ok(()),
            false => Err(format!("f{at}: {came} updates of {place:?} by f{owner:?} have come")),
        }
    }
}
