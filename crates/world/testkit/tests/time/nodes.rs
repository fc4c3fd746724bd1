//! Time management over many nodes: whole kernels on a simulated network, against the sequential
//! reference model.
//!
//! The calls of each federate depend only on its own grants and on the messages that it has
//! received, so that the grants and the order of delivery do not depend on the delays of the
//! network. Federates that use the available services may see messages of one and the same time in
//! two steps. Their runs are judged by invariants: nothing comes late, nothing is lost, everything
//! comes once and in order, and everybody reaches the end.

use crate::faults::{TIMING, Troubles};
use crate::plan::{
    Act, CLASSES, Course, Heard, KIND, LAST, Plan, Present, Role, canonical, reference, tag, time,
};
use base::Seed;
use bytes::Bytes;
use hla::api;
use hla::api::callback_request::CallbackRequest as Wire;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectInstanceHandle};
use hla::time::LogicalTimeInterval;
use netsim::HostId;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;
use testkit::model::time::Advance;
use testkit::observation::Observation;
use testkit::{Cluster, Draw, Failure, Options, Shape};

/// Longest virtual time without a callback before a run is taken to hang.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(1);
/// Virtual time for the last messages: links that broke connect again, and lost messages go again.
const LAST_MESSAGES: Duration = Duration::from_secs(10);

fn module() -> String {
    let mut interactions = String::new();
    for class in 0..CLASSES {
        let _ = write!(
            interactions,
            "<interactionClass><name>I{class}</name><transportation>HLAreliable</transportation>\
             <order>TimeStamp</order></interactionClass>"
        );
    }
    format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\"><objects><objectClass><name>HLAobjectRoot</name>\
         <objectClass><name>O</name><attribute><name>a</name><dataType>HLAcount</dataType>\
         <transportation>HLAbestEffort</transportation><order>TimeStamp</order></attribute></objectClass>\
         </objectClass></objects><interactions><interactionClass><name>HLAinteractionRoot</name>{interactions}\
         </interactionClass></interactions><switches><nonRegulatedGrant isEnabled=\"true\"/></switches></objectModel>"
    )
}

/// A federate of the cluster.
pub(crate) struct Fed {
    pub(crate) host: HostId,
    now: Present,
    waiting: bool,
    closes: bool,
    roles: usize,
    instance: Option<ObjectInstanceHandle>,
    discovered: usize,
    published: [bool; CLASSES],
    node: usize,
    /// It was killed, or its node has died.
    pub(crate) dead: bool,
}

/// A cluster whose federates follow the plan.
pub(crate) struct Trial {
    plan: Plan,
    pub(crate) cluster: Cluster,
    pub(crate) feds: Vec<Fed>,
    course: Course,
    read: usize,
    classes: Vec<InteractionClassHandle>,
    attribute: AttributeHandle,
    /// A node, and the number of grants after which it dies.
    crash: Option<(usize, usize)>,
    pub(crate) troubles: Troubles,
}

/// Links between all nodes.
fn every_edge(nodes: usize) -> Vec<(usize, usize)> {
    (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b))).collect()
}

fn shape(draw: &mut Draw) -> Shape {
    let nodes = draw.between(2, 5) as usize;
    match draw.below(3) {
        0 => Shape::tree(nodes, draw),
        1 => Shape::mesh(nodes, 0),
        _ => Shape::graph(nodes, draw),
    }
}

impl Trial {
    pub(crate) fn new(seed: Seed) -> Self {
        let mut draw = Draw::new(seed, "cluster");
        let shape = shape(&mut draw);
        Self::of_shape(seed, shape, &mut draw, false)
    }

    /// A trial in which links fail and come back, a node comes and goes, and federates are killed.
    pub(crate) fn with_faults(seed: Seed) -> Self {
        let mut draw = Draw::new(seed, "faults");
        let nodes = draw.between(2, 5) as usize;
        let trial = Self::of_shape(seed, Shape::of_edges(nodes, &every_edge(nodes)), &mut draw, true);
        let federates = trial.feds.len();
        Self { troubles: Troubles::new(&mut draw, nodes, federates), ..trial }
    }

    /// A trial in which a node dies.
    pub(crate) fn with_crash(seed: Seed) -> Self {
        let mut draw = Draw::new(seed, "crash");
        let nodes = draw.between(3, 5) as usize;
        let crash = (draw.below(nodes as u64) as usize, draw.below(20) as usize);
        let shape = Shape::of_edges(nodes, &every_edge(nodes));
        Self { crash: Some(crash), ..Self::of_shape(seed, shape, &mut draw, false) }
    }

    fn of_shape(seed: Seed, shape: Shape, draw: &mut Draw, with_faults: bool) -> Self {
        let plan = Plan::new(seed);
        let mut options = Options::quiet(seed, shape, plan.roles.len());
        options.module = Some(module());
        options.spares = usize::from(with_faults);
        if with_faults {
            options.timing = TIMING;
        }
        let nodes = options.shape.nodes;
        options.sites =
            (0..options.nodes()).map(|_| Duration::from_micros(50 + draw.below(20_000))).collect();
        let homes: Vec<_> = plan.roles.iter().map(|_| draw.below(nodes as u64) as usize).collect();
        options.homes = Some(homes.clone());
        let cluster = Cluster::new(options);
        let model = &cluster.known(cluster.federates()[0]).model;
        let class = model.object_class_by_name("O").expect("it is there");
        let attribute = model.attribute_by_name(class, "a").expect("it is there");
        let classes =
            (0..CLASSES).map(|at| model.interaction_class_by_name(&format!("I{at}")).expect("it is there"));
        let classes = classes.collect();
        let feds = cluster.federates().iter().zip(homes).map(|(&host, node)| Fed {
            host,
            node,
            dead: false,
            now: Present { time: 0.0, closed: false, step: 0, received: 0 },
            waiting: false,
            closes: false,
            roles: 0,
            instance: None,
            discovered: 0,
            published: [false; CLASSES],
        });
        let course = Course { heard: vec![Vec::new(); plan.roles.len()], sent: Vec::new() };
        let (feds, troubles) = (feds.collect(), Troubles::default());
        Self { feds, plan, cluster, course, read: 0, classes, attribute, crash: None, troubles }
    }

    /// Runs to the end, and compares.
    pub(crate) fn finish(mut self) -> Result<u64, String> {
        let run = self.prepare().and_then(|()| self.run());
        run.map_err(|failure| format!("{failure}\n{}", self.describe()))?;
        self.judge().map_err(|text| format!("{text}\n{}", self.describe()))?;
        Ok(self.grants() as u64)
    }

    /// Grants so far.
    pub(crate) fn grants(&self) -> usize {
        let heard = self.course.heard.iter().flatten();
        heard.filter(|heard| matches!(heard, Heard::Granted(_))).count()
    }

    fn describe(&self) -> String {
        let homes: Vec<_> = self.feds.iter().map(|fed| fed.now).collect();
        format!("{:?} {:?} strict: {}\n{homes:?}", self.plan.roles, self.plan.services, self.plan.strict)
    }

    fn act<R: api::Request>(&mut self, federate: usize, request: R) -> Result<(), Failure> {
        self.cluster.act(self.feds[federate].host, request.into_call())
    }

    fn prepare(&mut self) -> Result<(), Failure> {
        self.cluster.run_for(Duration::from_secs(5))?;
        self.cluster.join_all()?;
        self.cluster.record();
        let model = &self.cluster.known(self.feds[0].host).model;
        let object_class = model.object_class_by_name("O");
        let attributes = Some(api::AttributeHandleSet { attribute_handle: vec![self.attribute] });
        for federate in 0..self.feds.len() {
            let attributes = attributes.clone();
            self.act(federate, api::SubscribeObjectClassAttributesRequest { object_class, attributes })?;
            for class in self.classes.clone() {
                let interaction_class = Some(class);
                self.act(federate, api::SubscribeInteractionClassRequest { interaction_class })?;
            }
        }
        for federate in 0..self.feds.len() {
            let attributes = attributes.clone();
            self.act(federate, api::PublishObjectClassAttributesRequest { object_class, attributes })?;
            self.act(federate, api::RegisterObjectInstanceRequest { object_class })?;
        }
        for federate in 0..self.feds.len() {
            let Role { lookahead, constrained } = self.plan.roles[federate];
            if let Some(lookahead) = lookahead {
                let lookahead = LogicalTimeInterval::float64(lookahead).expect("not negative");
                self.act(federate, api::EnableTimeRegulationRequest { lookahead: Some(lookahead.into()) })?;
            }
            if constrained {
                self.act(federate, api::EnableTimeConstrainedRequest {})?;
            }
        }
        let quiet = self.cluster.now() + PATIENCE;
        while !self.is_prepared() {
            self.advance_clock(quiet)?;
        }
        Ok(())
    }

    fn is_prepared(&self) -> bool {
        let others = self.feds.len() - 1;
        self.feds.iter().zip(&self.plan.roles).all(|(fed, role)| {
            let roles = usize::from(role.lookahead.is_some()) + usize::from(role.constrained);
            fed.roles == roles && fed.discovered == others && fed.instance.is_some()
        })
    }

    fn run(&mut self) -> Result<(), Failure> {
        let mut quiet = self.cluster.now() + PATIENCE;
        while self.feds.iter().any(|fed| !fed.dead && fed.now.time < LAST) {
            self.crash_in_time();
            self.trouble_in_time()?;
            for federate in 0..self.feds.len() {
                let Fed { waiting, dead, now, .. } = self.feds[federate];
                if !waiting && !dead && now.time < LAST {
                    self.step(federate)?;
                    quiet = self.cluster.now() + PATIENCE;
                }
            }
            self.advance_clock(quiet)?;
        }
        // Federates that are not constrained reach the end early, perhaps during a fault.
        self.end_troubles();
        self.cluster.run_for(LAST_MESSAGES)?;
        self.read();
        Ok(())
    }

    fn crash_in_time(&mut self) {
        let grants = self.grants();
        if let Some((node, _)) = self.crash.filter(|&(_, after)| grants >= after) {
            self.crash = None;
            self.cluster.crash(node);
            self.feds.iter_mut().filter(|fed| fed.node == node).for_each(|fed| fed.dead = true);
        }
    }

    fn advance_clock(&mut self, until: base::Moment) -> Result<(), Failure> {
        let stuck = self.cluster.now() >= until;
        self.cluster.wait(Duration::ZERO, "progress", |_| match stuck {
            true => Err("nobody is granted".to_owned()),
            false => Ok(()),
        })?;
        self.cluster.run_for(LOOK)?;
        self.read();
        Ok(())
    }

    fn step(&mut self, federate: usize) -> Result<(), Failure> {
        let now = self.feds[federate].now;
        let (acts, service, to) = self.plan.step(federate, now);
        let fed = &mut self.feds[federate];
        fed.now.step += 1;
        fed.now.received = 0;
        fed.waiting = true;
        fed.closes = matches!(service, Advance::Tar | Advance::Nmr);
        for (number, act) in acts.into_iter().enumerate() {
            self.send(federate, tag(federate, now.step, number), act)?;
        }
        // The calls of a federate are answered in order, so one that is not answered ends the run.
        match now.step % 4 {
            1 => self.act(federate, api::QueryGaltRequest {})?,
            3 => self.act(federate, api::QueryLitsRequest {})?,
            _ => {}
        }
        let time = Some(time(to).into());
        match service {
            Advance::Tar => self.act(federate, api::TimeAdvanceRequestRequest { time }),
            Advance::Tara => self.act(federate, api::TimeAdvanceRequestAvailableRequest { time }),
            Advance::Nmr => self.act(federate, api::NextMessageRequestRequest { time }),
            Advance::Nmra => self.act(federate, api::NextMessageRequestAvailableRequest { time }),
            Advance::Fqr => self.act(federate, api::FlushQueueRequestRequest { time }),
        }
    }

    fn send(&mut self, federate: usize, tag: String, act: Act) -> Result<(), Failure> {
        let user_supplied_tag = Bytes::from(tag.clone());
        match act {
            Act::Interaction { class, time: at } => {
                self.course.sent.push((federate, at, tag));
                let interaction_class = Some(self.classes[class]);
                if !std::mem::replace(&mut self.feds[federate].published[class], true) {
                    self.act(federate, api::PublishInteractionClassRequest { interaction_class })?;
                }
                let (time, parameter_values) = (Some(time(at).into()), None);
                self.act(
                    federate,
                    api::SendInteractionWithTimeRequest {
                        interaction_class,
                        parameter_values,
                        user_supplied_tag,
                        time,
                    },
                )
            }
            Act::Update { time: at } => {
                self.course.sent.push((federate, at, tag));
                let object_instance = self.feds[federate].instance;
                let pair =
                    api::AttributeHandleValue { attribute_handle: Some(self.attribute), value: Bytes::new() };
                let attribute_values =
                    Some(api::AttributeHandleValueMap { attribute_handle_value: vec![pair] });
                let time = Some(time(at).into());
                self.act(
                    federate,
                    api::UpdateAttributeValuesWithTimeRequest {
                        object_instance,
                        attribute_values,
                        user_supplied_tag,
                        time,
                    },
                )
            }
        }
    }

    /// Reads the observations since the last time.
    fn read(&mut self) {
        let recorded = self.cluster.recorded()[self.read..].to_vec();
        self.read += recorded.len();
        for (host, seen) in recorded {
            let of_host = |fed: &Fed| fed.host == host && !fed.dead;
            let Some(at) = self.feds.iter().position(of_host) else { continue };
            match seen.observation {
                Observation::Received { callback, .. } => self.hear(at, callback),
                Observation::Got { answer, request, .. } => {
                    use api::call_response::CallResponse as Answer;
                    match answer {
                        Answer::RegisterObjectInstanceResponse(r) => {
                            self.feds[at].instance = r.result;
                        }
                        Answer::ExceptionData(exception) => panic!("{request:?}: {exception:?}"),
                        _ => {}
                    }
                }
                Observation::Over { reason, .. } => panic!("federate {at}: {reason}"),
                _ => {}
            }
        }
    }

    fn hear(&mut self, at: usize, callback: Wire) {
        let read = |time: Option<api::LogicalTime>| {
            let time = KIND.decode_time(&time.expect("there is a time").data).expect("a float time");
            time.as_float64().expect("a float time")
        };
        let message = |tag: &Bytes, time| {
            let tag = String::from_utf8(tag.to_vec()).expect("tags are texts");
            let sender = tag.split('.').next().and_then(|sender| sender.parse().ok()).expect("a sender");
            Heard::Message { time, sender, tag }
        };
        let fed = &mut self.feds[at];
        let heard = match callback {
            Wire::TimeRegulationEnabled(_) | Wire::TimeConstrainedEnabled(_) => {
                fed.roles += 1;
                return;
            }
            Wire::DiscoverObjectInstance(_) => {
                fed.discovered += 1;
                return;
            }
            Wire::TimeAdvanceGrant(r) => {
                fed.now.time = read(r.time);
                fed.now.closed = fed.closes;
                fed.waiting = false;
                Heard::Granted(fed.now.time)
            }
            Wire::ReceiveInteractionWithTime(r) if r.received_order_type == 1 => {
                message(&r.user_supplied_tag, read(r.time))
            }
            Wire::ReflectAttributeValuesWithTime(r) if r.received_order_type == 1 => {
                message(&r.user_supplied_tag, read(r.time))
            }
            _ => return,
        };
        if matches!(heard, Heard::Message { .. }) {
            self.feds[at].now.received += 1;
        }
        self.course.heard[at].push(heard);
    }

    fn judge(&self) -> Result<(), String> {
        for (federate, heard) in self.course.heard.iter().enumerate() {
            if !self.feds[federate].dead {
                self.check_order(federate, heard)?;
            }
        }
        if self.plan.strict && self.feds.iter().all(|fed| !fed.dead) {
            let expected = reference(&self.plan);
            for (federate, (heard, expected)) in self.course.heard.iter().zip(&expected.heard).enumerate() {
                let (heard, expected) = (canonical(heard), canonical(expected));
                if heard != expected {
                    return Err(format!(
                        "federate {federate} hears\n{heard:?}\nand by the model\n{expected:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Messages come once, in order, never in the past, and all of them.
    fn check_order(&self, federate: usize, heard: &[Heard]) -> Result<(), String> {
        if !self.plan.roles[federate].constrained {
            return Ok(());
        }
        let (mut last, mut granted) = (0.0_f64, 0.0_f64);
        let mut of_sender: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for event in heard {
            match event {
                Heard::Granted(time) if *time < granted || *time < last => {
                    return Err(format!("federate {federate} is granted {time} after {granted}, {last}"));
                }
                Heard::Granted(time) => granted = *time,
                Heard::Message { time, .. } if *time < granted || *time < last => {
                    return Err(format!("federate {federate} at {granted}: {event:?} after {last}"));
                }
                Heard::Message { time, sender, tag } => {
                    last = *time;
                    of_sender.entry(*sender).or_default().push(tag);
                }
            }
        }
        let others = (0..self.feds.len()).filter(|&sender| sender != federate);
        // The last messages of a dead node may not have reached all.
        for sender in others.filter(|&sender| !self.feds[sender].dead) {
            let sent = self.course.sent.iter().filter(|(from, ..)| *from == sender);
            let mut sent: Vec<_> = sent.map(|(_, time, tag)| (*time, tag.as_str())).collect();
            let mut received = of_sender.remove(&sender).unwrap_or_default();
            if !self.plan.strict {
                // After a grant by an available service, a message of the same time may still come,
                // in the stream of another class.
                sent.sort_by_key(|&(_, tag)| tag);
                let times: BTreeMap<_, _> = sent.iter().map(|&(time, tag)| (tag, time)).collect();
                received.sort_by(|a, b| {
                    let time = |tag: &str| times.get(tag).copied().unwrap_or(f64::INFINITY);
                    time(a).total_cmp(&time(b)).then(a.cmp(b))
                });
            }
            sent.sort_by(|a, b| a.0.total_cmp(&b.0));
            let sent: Vec<_> = sent.into_iter().map(|(_, tag)| tag).collect();
            if sent != received {
                return Err(format!("federate {federate}: of {sender} came\n{received:?}\nof\n{sent:?}"));
            }
        }
        Ok(())
    }
}
