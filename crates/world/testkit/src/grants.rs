//! Counts the messages between many nodes that logical time costs, per grant.
//!
//! There are no faults here. Whole nodes in a full mesh have federates that regulate time and are
//! constrained. The question is how many messages of time management the nodes send for each grant,
//! and whether that depends on the number of nodes.

use crate::cluster::{Cluster, Failure};
use crate::draw::Draw;
use crate::observation::Observation;
use crate::options::{Options, Shape};
use base::{Moment, Seed};
use bytes::Bytes;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::InteractionClassHandle;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use netsim::HostId;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Federates react after at most this time.
const LOOK: Duration = Duration::from_micros(50);
/// Longest time that nodes may take to find each other.
const FORM_MAX: Duration = Duration::from_secs(300);
/// Longest time without a grant.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than all consequences of a change take.
const CALM: Duration = Duration::from_secs(3);
/// A time that no other federate reaches.
const FAR: f64 = 1e6;
/// Times are multiples of this, so that sums are exact.
const TICK: f64 = 1.0 / 1_024.0;
/// Of a hundred messages of federates that react to events, the number that leave the sender's
/// node.
const COUPLED_PERCENT: u64 = 1;

/// How federates advance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// By Time Advance Request, in steps of one with a lookahead of one. A federate at each node
    /// sends a message in each step, which a federate at every other node receives.
    LockStep,
    /// By Next Message Request, from one event of their own to the next, at which they send a
    /// message: one of a hundred to all nodes, the others to the federates of their own node.
    Events,
}

/// The settings of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How federates advance.
    pub workload: Workload,
    /// Number of nodes; at least 2.
    pub nodes: usize,
    /// Number of federates at each of them.
    pub federates: usize,
    /// The logical time up to which they advance, which is the number of their steps.
    pub steps: u32,
    /// More nodes, with a federate each that is far ahead or idle.
    pub far: usize,
    /// The seed of the events.
    pub seed: Seed,
}

/// Messages of time management between nodes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Control {
    /// Number of messages.
    pub messages: u64,
    /// Octets of their bodies.
    pub bytes: u64,
}

/// The results of a run, from the moment when all federates have their roles.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Grants to the federates that advance.
    pub grants: u64,
    /// Messages in time-stamp order that they have received.
    pub received: u64,
    /// Sent by their nodes.
    pub control: Control,
    /// Sent by the nodes of federates that are far ahead or idle.
    pub of_far: Control,
    /// Duration in virtual time.
    pub took: Duration,
}

/// Runs the settings.
///
/// # Errors
/// An expected event did not occur in time.
pub fn run(settings: &Settings) -> Result<Report, String> {
    if settings.nodes < 2 || settings.federates == 0 {
        return Err("there are at least two nodes, with a federate each".to_owned());
    }
    let mut run = Run::new(settings);
    run.run().map_err(|failure| failure.violation.to_string())?;
    Ok(run.report)
}

struct Fed {
    host: HostId,
    node: usize,
    /// The number of the federate at its node.
    place: usize,
    draw: Draw,
    now: f64,
    /// The next event of its own.
    next: f64,
    waiting: bool,
    roles: u8,
}

struct Run<'a> {
    settings: &'a Settings,
    cluster: Cluster,
    feds: Vec<Fed>,
    by_host: BTreeMap<HostId, usize>,
    /// The class that all nodes receive, and one for each node.
    classes: Vec<InteractionClassHandle>,
    report: Report,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings) -> Self {
        let Settings { nodes, federates, far, seed, .. } = *settings;
        let (shape, all) = (Shape::mesh(nodes + far, 0), nodes * federates + far);
        let mut options = Options::for_counting(seed, shape, all, module(nodes));
        let mut draw = Draw::new(seed, "delays");
        let delay = |_| Duration::from_micros(20 + draw.below(200));
        options.delays = (0..all).map(delay).collect();
        // Federates in turn at the nodes that advance, and then one at each of the others.
        let homes = (0..nodes * federates).map(|at| at % nodes).chain(nodes..nodes + far);
        options.homes = Some(homes.clone().collect());
        let cluster = Cluster::new(options);
        let feds = cluster.federates().iter().zip(homes).enumerate().map(|(at, (&host, node))| Fed {
            host,
            node,
            place: if node < nodes { at / nodes } else { 0 },
            draw: Draw::new(seed.split_index(at as u64), "events"),
            now: 0.0,
            next: 0.0,
            waiting: false,
            roles: 0,
        });
        let feds: Vec<_> = feds.collect();
        let by_host = feds.iter().enumerate().map(|(at, fed)| (fed.host, at)).collect();
        let model = &cluster.known(feds[0].host).model;
        let class = |number| model.interaction_class_by_name(&format!("I{number}")).expect("it is there");
        let classes = (0..=nodes).map(class).collect();
        Self { settings, feds, by_host, classes, cluster, report: Report::default() }
    }

    fn run(&mut self) -> Result<(), Failure> {
        self.cluster.wait_for_members(FORM_MAX)?;
        self.cluster.run_for(CALM)?;
        self.cluster.join_all()?;
        self.prepare()?;
        let (began, before) = (self.cluster.now(), self.control());
        let active = self.active();
        let mut until = began + PATIENCE;
        while let Some(stuck) =
            self.feds[..active].iter().find(|fed| fed.now < self.end()).map(|fed| fed.host)
        {
            for at in 0..active {
                if !self.feds[at].waiting && self.feds[at].now < self.end() {
                    self.step(at)?;
                }
            }
            let grants = self.report.grants;
            self.watch()?;
            if self.report.grants > grants {
                until = self.cluster.now() + PATIENCE;
            }
            self.require_before(until, "grants", || format!("{stuck} is not granted"))?;
        }
        self.report.took = self.cluster.now().since(began);
        let [control, of_far] = self.control();
        self.report.control = control.since(before[0]);
        self.report.of_far = of_far.since(before[1]);
        Ok(())
    }

    /// Fails when it is `until`, with what is still missing.
    fn require_before(
        &mut self,
        until: Moment,
        state: &str,
        missing: impl Fn() -> String,
    ) -> Result<(), Failure> {
        self.cluster.wait(Duration::ZERO, state, |cluster| match cluster.now() < until {
            true => Ok(()),
            false => Err(missing()),
        })
    }

    /// Number of federates that advance. They are the first.
    fn active(&self) -> usize {
        self.settings.nodes * self.settings.federates
    }

    fn end(&self) -> f64 {
        f64::from(self.settings.steps)
    }

    /// The counters of the nodes whose federates advance, and of the others.
    fn control(&self) -> [Control; 2] {
        let mut sums = [Control::default(); 2];
        for node in 0..self.settings.nodes + self.settings.far {
            let counters = self.cluster.kernel(node).network().map(|network| network.services);
            let counters = counters.unwrap_or_default();
            let sum = &mut sums[usize::from(node >= self.settings.nodes)];
            sum.messages += counters.time_messages;
            sum.bytes += counters.time_bytes;
        }
        sums
    }

    /// Declarations, roles, and the advances of federates that are far ahead.
    fn prepare(&mut self) -> Result<(), Failure> {
        let active = self.active();
        for at in 0..active {
            let Fed { node, place, .. } = self.feds[at];
            let (all, own) = (self.classes[0], self.classes[1 + node]);
            let lock_step = self.settings.workload == Workload::LockStep;
            // In lock step the first federate of a node sends, and the last one receives.
            if !lock_step || place == 0 {
                self.act(at, api::PublishInteractionClassRequest { interaction_class: Some(all) })?;
            }
            if !lock_step || place + 1 == self.settings.federates {
                self.act(at, api::SubscribeInteractionClassRequest { interaction_class: Some(all) })?;
            }
            if !lock_step {
                self.act(at, api::PublishInteractionClassRequest { interaction_class: Some(own) })?;
                self.act(at, api::SubscribeInteractionClassRequest { interaction_class: Some(own) })?;
            }
        }
        self.cluster.settle_calls(PATIENCE)?;
        self.cluster.run_for(CALM)?;
        self.cluster.record();
        for at in 0..self.feds.len() {
            let lookahead = if at < active { 1.0 } else { FAR };
            let lookahead = LogicalTimeInterval::float64(lookahead).expect("not negative");
            self.act(at, api::EnableTimeRegulationRequest { lookahead: Some(lookahead.into()) })?;
            // Of the federates that are far ahead every second one is constrained, and then waits.
            if at < active || at % 2 == 0 {
                self.act(at, api::EnableTimeConstrainedRequest {})?;
            } else {
                self.feds[at].roles += 1;
            }
        }
        let until = self.cluster.now() + FORM_MAX;
        while self.feds.iter().any(|fed| fed.roles < 2) {
            self.watch()?;
            self.require_before(until, "roles", || "a federate waits for a role".to_owned())?;
        }
        for at in active..self.feds.len() {
            self.act(at, api::TimeAdvanceRequestRequest { time: time(FAR) })?;
        }
        self.cluster.run_for(CALM)?;
        self.watch()?;
        self.report = Report::default();
        Ok(())
    }

    fn act<R: api::Request>(&mut self, at: usize, request: R) -> Result<(), Failure> {
        self.cluster.act(self.feds[at].host, request.into_call())
    }

    /// A federate sends what it has to, and requests its next advance.
    fn step(&mut self, at: usize) -> Result<(), Failure> {
        let Fed { node, place, now, next, .. } = self.feds[at];
        match self.settings.workload {
            Workload::LockStep => {
                if place == 0 {
                    self.send(at, 0, now + 1.0)?;
                }
                self.act(at, api::TimeAdvanceRequestRequest { time: time(now + 1.0) })?;
            }
            Workload::Events => {
                if now >= next {
                    let draw = &mut self.feds[at].draw;
                    let class = if draw.chance(COUPLED_PERCENT) { 0 } else { 1 + node };
                    let later = draw.below(512) as f64 * TICK;
                    let next = now + (512 + draw.below(1_024)) as f64 * TICK;
                    self.feds[at].next = next.min(self.end());
                    self.send(at, class, now + 1.0 + later)?;
                }
                let to = self.feds[at].next;
                self.act(at, api::NextMessageRequestRequest { time: time(to) })?;
            }
        }
        self.feds[at].waiting = true;
        Ok(())
    }

    fn send(&mut self, at: usize, class: usize, when: f64) -> Result<(), Failure> {
        let request = api::SendInteractionWithTimeRequest {
            interaction_class: Some(self.classes[class]),
            parameter_values: None,
            user_supplied_tag: Bytes::new(),
            time: time(when),
        };
        self.act(at, request)
    }

    /// Lets time pass, and reads the callbacks.
    fn watch(&mut self) -> Result<(), Failure> {
        self.cluster.run_for(LOOK)?;
        let (active, by_host) = (self.active(), &self.by_host);
        for (host, seen) in self.cluster.recorded() {
            let Some(&at) = by_host.get(host) else { continue };
            let fed = &mut self.feds[at];
            match &seen.observation {
                Observation::Received { callback, .. } => match callback {
                    Callback::TimeRegulationEnabled(_) | Callback::TimeConstrainedEnabled(_) => {
                        fed.roles += 1;
                    }
                    Callback::TimeAdvanceGrant(grant) => {
                        let octets = &grant.time.as_ref().expect("a grant has a time").data;
                        let granted = TimeKind::Float64.decode_time(octets).expect("a float time");
                        fed.now = granted.as_float64().expect("a float time");
                        fed.waiting = false;
                        self.report.grants += u64::from(at < active);
                    }
                    Callback::ReceiveInteractionWithTime(_) => self.report.received += 1,
                    _ => {}
                },
                Observation::Got {
                    answer: api::call_response::CallResponse::ExceptionData(data), ..
                } => {
                    panic!("{host}: {}: {}", data.exception_name, data.details)
                }
                Observation::Over { reason, .. } => panic!("{host}: {reason}"),
                _ => {}
            }
        }
        self.cluster.record();
        Ok(())
    }
}

impl Control {
    fn since(self, before: Self) -> Self {
        Self { messages: self.messages - before.messages, bytes: self.bytes - before.bytes }
    }
}

fn time(time: f64) -> Option<api::LogicalTime> {
    Some(LogicalTime::float64(time).expect("not negative").into())
}

/// A FOM module with a class for all nodes, and one for each.
fn module(nodes: usize) -> String {
    let mut xml = String::from(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\
         <interactions><interactionClass><name>HLAinteractionRoot</name>",
    );
    for number in 0..=nodes {
        let _ = write!(
            xml,
            "<interactionClass><name>I{number}</name><transportation>HLAreliable</transportation>\
             <order>TimeStamp</order></interactionClass>"
        );
    }
    xml + "</interactionClass></interactions></objectModel>"
}
