//! Counts the messages between many nodes: nodes and federates come, interests change, nothing
//! happens.
//!
//! There are no faults here, and only the shape is drawn. The question is how many messages are
//! sent when nodes and federates come, when the interest of a federate changes, and when nothing
//! happens.

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

/// Longest time that nodes may take to find each other.
const FORM_MAX: Duration = Duration::from_secs(300);
/// Longest time that answers may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Longer than all consequences of a change take.
const CALM: Duration = Duration::from_secs(3);
/// Duration of the silence that is counted.
const SILENCE: Duration = Duration::from_secs(10);
/// The attribute of every class.
const ATTRIBUTE: &str = "state";

/// A shape of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Every node linked to every other one. A node is configured with the first, and learns of the
    /// others.
    Mesh,
    /// Two rings through all nodes in different orders: four links a node, with redundancy.
    Graph,
}

/// The settings of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The links between the nodes.
    pub shape: Shape,
    /// Number of nodes; at least 3.
    pub nodes: usize,
    /// Number of federates at each node.
    pub federates: usize,
    /// For each of these numbers there is a class that is published at that many nodes; each is
    /// less than `nodes`.
    pub publishers: Vec<usize>,
    /// The seed of the shape.
    pub seed: Seed,
}

impl Settings {
    /// Classes with 0, 1, 2, 4, ... publishing nodes, and with all but one; two federates at each
    /// node.
    pub fn new(shape: Shape, nodes: usize) -> Self {
        let doubling = std::iter::successors(Some(1), |count| Some(2 * count));
        let mut publishers: Vec<usize> = doubling.take_while(|count| *count < nodes - 1).collect();
        publishers.insert(0, 0);
        publishers.push(nodes - 1);
        Self { shape, nodes, federates: 2, publishers, seed: Seed(1) }
    }

    /// Federates are distributed over the nodes in turn: the numbers of those at one node differ by
    /// a multiple of the number of nodes.
    fn options(&self) -> Options {
        let shape = match self.shape {
            Shape::Mesh => options::Shape::mesh(self.nodes, 0),
            Shape::Graph => options::Shape::rings(self.nodes, self.seed),
        };
        let (federates, module) = (self.nodes * self.federates, module(self.publishers.len()));
        let mut options = Options::for_counting(self.seed, shape, federates, module);
        options.delays = vec![Duration::from_micros(1)];
        options
    }
}

/// The cost of a step of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The step.
    pub step: &'static str,
    /// Its duration in virtual time.
    pub took: Duration,
    /// The messages sent meanwhile.
    pub counts: Counts,
}

/// The cost of a change of one federate's interest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interest {
    /// Number of nodes at which a federate publishes the class.
    pub publishers: usize,
    /// The messages when a federate subscribed.
    pub subscribe: Counts,
    /// The messages when it unsubscribed.
    pub unsubscribe: Counts,
}

/// The results of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The steps, in order; the last one is silence.
    pub steps: Vec<Step>,
    /// The changes of interest.
    pub interests: Vec<Interest>,
}

/// Runs the settings. `progress` gets the name of each next step.
///
/// # Errors
/// An expected event did not occur in time, or a federate was refused or lost.
pub fn run(settings: &Settings, mut progress: impl FnMut(&str)) -> Result<Report, String> {
    let most = settings.nodes - 1;
    if settings.nodes < 3 || settings.publishers.iter().any(|count| *count > most) {
        return Err(format!("there are at least 3 nodes, and at most {most} of these publish a class"));
    }
    progress("nodes");
    let mut run = Run { cluster: Cluster::new(settings.options()), settings, steps: Vec::new() };
    run.cluster.record();
    run.step("nodes join", Run::form)?;
    progress("federates");
    run.step("federates join", |run| done(run.cluster.join_all()))?;
    progress("publications");
    let classes = run.classes();
    run.step("they publish", |run| run.publish(&classes))?;
    let mut interests = Vec::new();
    for (&publishers, class) in settings.publishers.iter().zip(&classes) {
        progress(&format!("interest in what {publishers} nodes publish"));
        interests.push(run.interest(publishers, *class)?);
    }
    progress("silence");
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
        step: &'static str,
        act: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let (began, before) = (self.cluster.now(), self.cluster.sent_frames());
        act(self)?;
        let took = self.cluster.now().since(began);
        self.steps.push(Step { step, took, counts: self.cluster.sent_frames().since(&before) });
        done(self.cluster.run_for(CALM))
    }

    /// Waits until all nodes are members and know each other.
    fn form(&mut self) -> Result<(), String> {
        let nodes = self.settings.nodes;
        done(self.cluster.wait_for_members(FORM_MAX))?;
        // Time for the last nodes to hear of each other.
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

    /// At each publishing node, the first federate publishes and registers an instance.
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

    /// A federate at the last node, which publishes nothing, subscribes and unsubscribes.
    fn interest(&mut self, publishers: usize, (class, attribute): Class) -> Result<Interest, String> {
        let subscriber = self.settings.nodes - 1;
        let subscribe = api::SubscribeObjectClassAttributesRequest {
            object_class: Some(class),
            attributes: Some(set(attribute)),
        };
        let host = self.cluster.federates()[subscriber];
        let known = self.cluster.known(host).others.len();
        let progress = self.change(subscriber, Call::SubscribeObjectClassAttributesRequest(subscribe))?;
        let discovered = self.cluster.known(host).others.len() - known;
        if discovered != publishers {
            return Err(format!("{discovered} instances of {publishers} were discovered"));
        }
        let unsubscribe = api::UnsubscribeObjectClassRequest { object_class: Some(class) };
        let withdrawn = self.change(subscriber, Call::UnsubscribeObjectClassRequest(unsubscribe))?;
        Ok(Interest { publishers, subscribe: progress, unsubscribe: withdrawn })
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

    /// Waits until every call is answered, and checks that none was refused.
    fn idle(&mut self) -> Result<(), String> {
        done(self.cluster.settle_calls(ANSWER_MAX))?;
        let refused = self.cluster.recorded().iter().find_map(|(_, seen)| match &seen.observation {
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

/// A FOM module with this many unrelated classes, with one reliable attribute each.
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
