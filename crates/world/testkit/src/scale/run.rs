//! One run: nodes come, federates come, interests change, silence.

use super::Shape;
use super::model;
use super::world::{Counts, SEED, World};
use base::Seed;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::handle::{AttributeHandle, ObjectClassHandle};
use kernel::Kernel;
use std::time::Duration;

/// How long nodes may take to find each other.
const FORM_MAX: Duration = Duration::from_secs(300);
/// How long answers may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Longer than everything that a change entails.
const CALM: Duration = Duration::from_secs(3);
/// How long it is listened to the silence.
const SILENCE: Duration = Duration::from_secs(10);

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
        Self { shape, nodes, federates: 2, publishers, seed: SEED }
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
    let mut run = Run { world: World::new(settings)?, settings, steps: Vec::new() };
    run.step("nodes join", Run::form)?;
    told("federates");
    run.step("federates join", Run::join)?;
    told("publications");
    let classes = run.classes()?;
    run.step("they publish", |run| run.publish(&classes))?;
    let mut interests = Vec::new();
    for (&publishers, class) in settings.publishers.iter().zip(&classes) {
        told(&format!("interest in what {publishers} nodes publish"));
        interests.push(run.interest(publishers, *class)?);
    }
    told("silence");
    run.step("silence", |run| {
        run.world.run(SILENCE);
        Ok(())
    })?;
    Ok(Report { steps: run.steps, interests })
}

type Class = (ObjectClassHandle, AttributeHandle);

struct Run<'a> {
    world: World,
    settings: &'a Settings,
    steps: Vec<Step>,
}

impl Run<'_> {
    fn step(
        &mut self,
        what: &'static str,
        act: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let (began, before) = (self.world.now, self.world.counts);
        act(self)?;
        let took = self.world.now.since(began);
        self.steps.push(Step { what, took, counts: self.world.counts.since(&before) });
        self.world.run(CALM);
        Ok(())
    }

    /// All are members, and know each other.
    fn form(&mut self) -> Result<(), String> {
        let nodes = self.settings.nodes;
        self.world.wait(FORM_MAX, "all nodes are members", |world| {
            world.kernels.iter().all(|kernel| kernel.member_of().is_some())
        })?;
        // The last of them hear of each other.
        self.world.run(CALM);
        let knows_all =
            |kernel: &Kernel| kernel.network().is_some_and(|network| network.members.len() == nodes);
        match self.world.kernels.iter().position(|kernel| !knows_all(kernel)) {
            Some(node) => Err(format!("node {node} does not know all {nodes}")),
            None => Ok(()),
        }
    }

    /// Federates in turn over the nodes: those at one node have numbers that far apart.
    fn join(&mut self) -> Result<(), String> {
        let (nodes, count) = (self.settings.nodes, self.settings.nodes * self.settings.federates);
        for number in 0..count {
            self.world.add_federate(number % nodes);
        }
        self.idle()?;
        for number in 0..count {
            self.world.call(number, Call::ConnectRequest(api::ConnectRequest {}));
        }
        self.idle()?;
        self.world.call(0, model::create(self.settings.publishers.len()));
        self.idle()?;
        for number in 0..count {
            self.world.call(number, model::join(number));
        }
        self.idle()
    }

    /// The handles of all classes; every federate has the same.
    fn classes(&mut self) -> Result<Vec<Class>, String> {
        let mut classes = Vec::new();
        for number in 0..self.settings.publishers.len() {
            let object_class_name = model::class(number);
            let answer = self.ask(
                0,
                Call::GetObjectClassHandleRequest(api::GetObjectClassHandleRequest { object_class_name }),
            )?;
            let Answer::GetObjectClassHandleResponse(class) = answer else {
                return Err(format!("no handle of class {number}: {answer:?}"));
            };
            let request = api::GetAttributeHandleRequest {
                object_class: class.result,
                attribute_name: model::ATTRIBUTE.to_owned(),
            };
            let answer = self.ask(0, Call::GetAttributeHandleRequest(request))?;
            let Answer::GetAttributeHandleResponse(attribute) = answer else {
                return Err(format!("no handle of the attribute of class {number}: {answer:?}"));
            };
            classes.push((class.result.unwrap_or_default(), attribute.result.unwrap_or_default()));
        }
        Ok(classes)
    }

    /// The first federate of each publishing node publishes, and registers an instance.
    fn publish(&mut self, classes: &[Class]) -> Result<(), String> {
        for (&count, &(class, attribute)) in self.settings.publishers.iter().zip(classes) {
            for number in 0..count {
                self.world.call(
                    number,
                    Call::PublishObjectClassAttributesRequest(api::PublishObjectClassAttributesRequest {
                        object_class: Some(class),
                        attributes: Some(set(attribute)),
                    }),
                );
                self.world.call(
                    number,
                    Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest {
                        object_class: Some(class),
                    }),
                );
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
        let known = self.world.federates[subscriber].known;
        let told = self.change(subscriber, Call::SubscribeObjectClassAttributesRequest(subscribe))?;
        let discovered = self.world.federates[subscriber].known - known;
        if discovered != publishers {
            return Err(format!("{discovered} instances of {publishers} were discovered"));
        }
        let unsubscribe = api::UnsubscribeObjectClassRequest { object_class: Some(class) };
        let untold = self.change(subscriber, Call::UnsubscribeObjectClassRequest(unsubscribe))?;
        Ok(Interest { publishers, subscribe: told, unsubscribe: untold })
    }

    fn change(&mut self, federate: usize, call: Call) -> Result<Counts, String> {
        let before = self.world.counts;
        self.ask(federate, call)?;
        self.world.run(CALM);
        Ok(self.world.counts.since(&before))
    }

    fn ask(&mut self, federate: usize, call: Call) -> Result<Answer, String> {
        self.world.call(federate, call);
        self.idle()?;
        match self.world.federates[federate].answer.clone() {
            Some(Answer::ExceptionData(data)) => Err(format!("{}: {}", data.exception_name, data.details)),
            Some(answer) => Ok(answer),
            None => Err("no answer".to_owned()),
        }
    }

    /// Everything asked is answered, and nothing was refused.
    fn idle(&mut self) -> Result<(), String> {
        self.world.wait(ANSWER_MAX, "answers", |world| {
            world.federates.iter().all(super::federate::Federate::is_idle)
        })?;
        let answers = self.world.federates.iter().filter_map(|federate| federate.answer.as_ref());
        let mut refused = answers.filter_map(|answer| match answer {
            Answer::ExceptionData(data) => Some(format!("{}: {}", data.exception_name, data.details)),
            _ => None,
        });
        refused.next().map_or(Ok(()), Err)
    }
}

fn set(attribute: AttributeHandle) -> api::AttributeHandleSet {
    api::AttributeHandleSet { attribute_handle: vec![attribute] }
}
