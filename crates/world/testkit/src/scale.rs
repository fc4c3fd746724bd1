//! What many nodes say to each other, counted: nodes come, federates come, interests change, silence.
//!
//! Nothing goes wrong here and nothing is drawn but the shape: the question is how much is said when nodes and federates
//! come, when somebody's interest changes, and when nothing happens.

use crate::cluster::{Cluster, Failure};
use crate::options::{self, Options};
use base::Seed;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::handle::{AttributeHandle, ObjectClassHandle};
use std::fmt::Write as _;
use std::time::Duration;

pub use crate::node::FrameCounts as Counts;
use crate::observation::Observation;

/// How long nodes may take to find each other.
const FORM_MAX: Duration = Duration::from_secs(300);
/// How long answers may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Longer than everything that a change entails.
const CALM: Duration = Duration::from_secs(3);
/// How long it is listened to the silence.
const SILENCE: Duration = Duration::from_secs(10);
/// Longer than any run: silence is to be that of the nodes.
const NEVER: Duration = Duration::from_secs(1 << 24);
/// Time that a frame takes over a link, in halves.
const HALF_WAY: Duration = Duration::from_micros(150);
/// The attribute of every class.
const ATTRIBUTE: &str = "state";

/// A shape of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Everybody with everybody. A node is told of the first, and learns of the others.
    Mesh,
    /// Two rings through all nodes in different orders: four links a node, with redundancy.
    Graph,
}

/// What is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How the nodes are joined.
    pub shape: Shape,
    /// How many; at least 3.
    pub nodes: usize,
    /// Federates at each.
    pub federates: usize,
    /// For each of these numbers there is a class that is published at so many nodes; each less than `nodes`.
    pub publishers: Vec<usize>,
    /// Where the shape comes from.
    pub seed: Seed,
}

impl Settings {
    /// Classes with 0, 1, 2, 4, ... publishing nodes, and with all but one; two federates at each node.
    pub fn new(shape: Shape, nodes: usize) -> Self {
        let doubling = std::iter::successors(Some(1), |count| Some(2 * count));
        let mut publishers: Vec<usize> = doubling.take_while(|count| *count < nodes - 1).collect();
        publishers.insert(0, 0);
        publishers.push(nodes - 1);
        Self { shape, nodes, federates: 2, publishers, seed: Seed(1) }
    }

    /// Nodes, and federates in turn over them: those at one node have numbers that far apart.
    fn options(&self) -> Options {
        let shape = match self.shape {
            Shape::Mesh => options::Shape::mesh(self.nodes, 0),
            Shape::Graph => options::Shape::rings(self.nodes, self.seed),
        };
        let mut options = Options::quiet(self.seed, shape, self.nodes * self.federates);
        options.spares = 0;
        options.sites = vec![HALF_WAY; self.nodes];
        options.delays = vec![Duration::from_micros(1)];
        options.timeouts.heartbeat = NEVER;
        options.timeouts.heart = NEVER;
        options.module = Some(module(self.publishers.len()));
        options
    }
}

/// What a step of the run cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What happened.
    pub what: &'static str,
    /// In how much virtual time.
    pub took: Duration,
    /// What was said meanwhile.
    pub counts: Counts,
}

/// What a change of one federate's interest cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interest {
    /// Nodes at which somebody publishes the class.
    pub publishers: usize,
    /// What was said when a federate subscribed.
    pub subscribe: Counts,
    /// What was said when it unsubscribed.
    pub unsubscribe: Counts,
}

/// What was counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The steps, in order; the last is silence.
    pub steps: Vec<Step>,
    /// The changes of interest.
    pub interests: Vec<Interest>,
}

/// Runs it. `told` hears what comes next.
///
/// # Errors
/// Something did not come about in time, or a federate was refused or lost.
pub fn run(settings: &Settings, mut told: impl FnMut(&str)) -> Result<Report, String> {
    let most = settings.nodes - 1;
    if settings.nodes < 3 || settings.publishers.iter().any(|count| *count > most) {
        return Err(format!("there are at least 3 nodes, and at most {most} of these publish a class"));
    }
    told("nodes");
    let mut run = Run { cluster: Cluster::new(settings.options()), settings, steps: Vec::new() };
    run.cluster.record();
    run.step("nodes join", Run::form)?;
    told("federates");
    run.step("federates join", |run| done(run.cluster.join_all()))?;
    told("publications");
    let classes = run.classes();
    run.step("they publish", |run| run.publish(&classes))?;
    let mut interests = Vec::new();
    for (&publishers, class) in settings.publishers.iter().zip(&classes) {
        told(&format!("interest in what {publishers} nodes publish"));
        interests.push(run.interest(publishers, *class)?);
    }
    told("silence");
    run.step("silence", |run| done(run.cluster.run_for(SILENCE)))?;
    Ok(Report { steps: run.steps, interests })
}

type Class = (ObjectClassHandle, AttributeHandle);

struct Run<'a> {
    cluster: Cluster,
    settings: &'a Settings,
    steps: Vec<Step>,
}

impl Run<'_> {
    fn step(
        &mut self,
        what: &'static str,
        act: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let (began, before) = (self.cluster.now(), self.cluster.sent_frames());
        act(self)?;
        let took = self.cluster.now().since(began);
        self.steps.push(Step { what, took, counts: self.cluster.sent_frames().since(&before) });
        done(self.cluster.run_for(CALM))
    }

    /// All are members, and know each other.
    fn form(&mut self) -> Result<(), String> {
        let nodes = self.settings.nodes;
        done(self.cluster.wait(FORM_MAX, "all nodes are members", |cluster| {
            let mut kernels = (0..nodes).map(|node| cluster.kernel(node));
            kernels.all(|kernel| kernel.member_of().is_some()).then_some(()).ok_or_else(String::new)
        }))?;
        // The last of them hear of each other.
        done(self.cluster.run_for(CALM))?;
        match (0..nodes).find(|&node| self.cluster.view(node).members.len() != nodes) {
            Some(node) => Err(format!("node {node} does not know all {nodes}")),
            None => Ok(()),
        }
    }

    /// The handles of all classes.
    fn classes(&self) -> Vec<Class> {
        let model = &self.cluster.known(self.cluster.federates()[0]).model;
        let handles = |number| {
            let class = model.object_class_by_name(&format!("Class{number}"))?;
            Some((class, model.attribute_by_name(class, ATTRIBUTE)?))
        };
        (0..self.settings.publishers.len()).filter_map(handles).collect()
    }

    /// The first federate of each publishing node publishes, and registers an instance.
    fn publish(&mut self, classes: &[Class]) -> Result<(), String> {
        for (&count, &(class, attribute)) in self.settings.publishers.iter().zip(classes) {
            for number in 0..count {
                let publish = api::PublishObjectClassAttributesRequest {
                    object_class: Some(class),
                    attributes: Some(set(attribute)),
                };
                let register = api::RegisterObjectInstanceRequest { object_class: Some(class) };
                self.call(number, Call::PublishObjectClassAttributesRequest(publish))?;
                self.call(number, Call::RegisterObjectInstanceRequest(register))?;
            }
        }
        self.idle()
    }

    /// A federate at the last node, which publishes nothing, subscribes, and unsubscribes again.
    fn interest(&mut self, publishers: usize, (class, attribute): Class) -> Result<Interest, String> {
        let subscriber = self.settings.nodes - 1;
        let subscribe = api::SubscribeObjectClassAttributesRequest {
            object_class: Some(class),
            attributes: Some(set(attribute)),
        };
        let host = self.cluster.federates()[subscriber];
        let known = self.cluster.known(host).others.len();
        let told = self.change(subscriber, Call::SubscribeObjectClassAttributesRequest(subscribe))?;
        let discovered = self.cluster.known(host).others.len() - known;
        if discovered != publishers {
            return Err(format!("{discovered} instances of {publishers} were discovered"));
        }
        let unsubscribe = api::UnsubscribeObjectClassRequest { object_class: Some(class) };
        let untold = self.change(subscriber, Call::UnsubscribeObjectClassRequest(unsubscribe))?;
        Ok(Interest { publishers, subscribe: told, unsubscribe: untold })
    }

    fn change(&mut self, federate: usize, call: Call) -> Result<Counts, String> {
        let before = self.cluster.sent_frames();
        self.call(federate, call)?;
        self.idle()?;
        done(self.cluster.run_for(CALM))?;
        Ok(self.cluster.sent_frames().since(&before))
    }

    fn call(&mut self, federate: usize, call: Call) -> Result<(), String> {
        done(self.cluster.act(self.cluster.federates()[federate], call))
    }

    /// Everything asked is answered, and nothing was refused.
    fn idle(&mut self) -> Result<(), String> {
        done(self.cluster.settle_calls(ANSWER_MAX))?;
        let refused = self.cluster.recorded().iter().find_map(|(_, seen)| match &seen.what {
            Observation::Got { answer: Answer::ExceptionData(data), .. } => Some(data),
            _ => None,
        });
        refused.map_or(Ok(()), |data| Err(format!("{}: {}", data.exception_name, data.details)))
    }
}

fn done(outcome: Result<(), Failure>) -> Result<(), String> {
    outcome.map_err(|failure| failure.violation.to_string())
}

fn set(attribute: AttributeHandle) -> api::AttributeHandleSet {
    api::AttributeHandleSet { attribute_handle: vec![attribute] }
}

/// A FOM module with so many classes that have nothing in common, one reliable attribute each.
fn module(classes: usize) -> String {
    let mut xml = String::from(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\
         <objects><objectClass><name>HLAobjectRoot</name>",
    );
    for number in 0..classes {
        let _ = write!(
            xml,
            "<objectClass><name>Class{number}</name><sharing>PublishSubscribe</sharing>\
             <attribute><name>{ATTRIBUTE}</name><dataType>HLAopaqueData</dataType>\
             <transportation>HLAreliable</transportation><order>Receive</order></attribute></objectClass>"
        );
    }
    xml + "</objectClass></objects></objectModel>"
}
