//! The calls of a federate before its task begins: federation, handles, publications,
//! subscriptions, objects.

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::part::Next;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, CallRequest, DiscoverObjectInstance};
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};

const FEDERATION: &str = "hostsim";
/// Attributes of each class, indexed by [`Carried`].
const ATTRIBUTES: [&str; 2] = ["Payload", "State"];
const TRANSPORTATIONS: [&str; 2] = ["HLAreliable", "HLAbestEffort"];

/// An object class of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Updated by the first federate.
    Ping,
    /// Updated by the federate that answers.
    Pong,
}

/// The transportation type of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carried {
    Reliably,
    ByBestEffort,
}

/// The name of a class.
fn class_name(task: usize, class: Class) -> String {
    format!("HLAobjectRoot.{class:?}{task}")
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Connect,
    Create,
    Join,
    Class(Class),
    Attribute(Class, Carried),
    Publish(Class),
    Subscribe(Class),
    Register(Class),
}

/// The first calls of a federate.
#[derive(Debug)]
pub(crate) struct Setup {
    task: usize,
    tasks: usize,
    steps: VecDeque<Step>,
    begun: bool,
    asked: Option<Step>,
    /// Handles of the classes, indexed by [`Class`].
    classes: [Option<ObjectClassHandle>; 2],
    /// Handles of attributes, indexed by class and transportation type.
    attributes: [[Option<AttributeHandle>; 2]; 2],
    objects: Vec<ObjectInstanceHandle>,
    updates: Option<Class>,
    /// The class and the number of objects that are still to be discovered.
    awaits: Option<(Class, u32)>,
    failure: Option<String>,
}

impl Setup {
    /// The setup of a federate of task `task` of `tasks`. It registers `objects` objects of the
    /// class `updates`, or waits until it has discovered as many of the class `wants`. The first
    /// federate creates the federation.
    pub(crate) fn new(
        (task, tasks): (usize, usize),
        objects: u32,
        creates: bool,
        updates: Option<Class>,
        wants: Option<Class>,
    ) -> Self {
        let mut steps = VecDeque::from([Step::Connect]);
        if creates {
            steps.push_back(Step::Create);
        }
        steps.push_back(Step::Join);
        for class in [Class::Ping, Class::Pong] {
            let attribute = |carried| Step::Attribute(class, carried);
            steps.extend([
                Step::Class(class),
                attribute(Carried::Reliably),
                attribute(Carried::ByBestEffort),
            ]);
        }
        steps.extend(wants.map(Step::Subscribe));
        if let Some(class) = updates {
            steps.push_back(Step::Publish(class));
            steps.extend((0..objects).map(|_| Step::Register(class)));
        }
        Self {
            task,
            tasks,
            steps,
            begun: false,
            asked: None,
            classes: [None; 2],
            attributes: [[None; 2]; 2],
            objects: Vec::new(),
            updates,
            awaits: wants.map(|class| (class, objects)),
            failure: None,
        }
    }

    /// Starts the setup: the session is open.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    /// All calls are answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.steps.is_empty() && self.asked.is_none()
    }

    /// All calls are answered and all objects discovered.
    pub(crate) fn is_done(&self) -> bool {
        self.is_answered() && self.awaits.is_none()
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The next call, once the last one is answered.
    pub(crate) fn poll_call(&mut self) -> Option<CallRequest> {
        if !self.begun || self.asked.is_some() {
            return None;
        }
        let step = self.steps.pop_front()?;
        self.asked = Some(step);
        Some(CallRequest { call_request: Some(self.call(step)) })
    }

    fn call(&self, step: Step) -> Call {
        let set = |class: Class| api::AttributeHandleSet {
            attribute_handle: self.attributes[class as usize].into_iter().flatten().collect(),
        };
        match step {
            Step::Connect => Call::ConnectRequest(api::ConnectRequest {}),
            Step::Create => create(self.tasks),
            Step::Join => Call::JoinFederationExecutionRequest(api::JoinFederationExecutionRequest {
                federate_type: "hostsim".to_owned(),
                federation_name: FEDERATION.to_owned(),
            }),
            Step::Class(class) => Call::GetObjectClassHandleRequest(api::GetObjectClassHandleRequest {
                object_class_name: class_name(self.task, class),
            }),
            Step::Attribute(class, carried) => {
                Call::GetAttributeHandleRequest(api::GetAttributeHandleRequest {
                    object_class: self.classes[class as usize],
                    attribute_name: ATTRIBUTES[carried as usize].to_owned(),
                })
            }
            Step::Publish(class) => {
                Call::PublishObjectClassAttributesRequest(api::PublishObjectClassAttributesRequest {
                    object_class: self.classes[class as usize],
                    attributes: Some(set(class)),
                })
            }
            Step::Subscribe(class) => {
                Call::SubscribeObjectClassAttributesRequest(api::SubscribeObjectClassAttributesRequest {
                    object_class: self.classes[class as usize],
                    attributes: Some(set(class)),
                })
            }
            Step::Register(class) => {
                Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest {
                    object_class: self.classes[class as usize],
                })
            }
        }
    }

    /// Handles the response to a call.
    pub(crate) fn answered(&mut self, answer: Answer) {
        let Some(step) = self.asked.take() else { return };
        match (step, answer) {
            (Step::Class(class), Answer::GetObjectClassHandleResponse(answer)) => {
                self.classes[class as usize] = answer.result;
            }
            (Step::Attribute(class, carried), Answer::GetAttributeHandleResponse(answer)) => {
                self.attributes[class as usize][carried as usize] = answer.result;
            }
            (Step::Register(_), Answer::RegisterObjectInstanceResponse(answer)) => {
                self.objects.extend(answer.result);
            }
            (Step::Class(_) | Step::Attribute(..) | Step::Register(_), answer) => {
                self.failure = Some(format!("{step:?} was answered by {answer:?}"));
            }
            _ => {}
        }
    }

    /// Handles a discovered object.
    pub(crate) fn discovered(&mut self, found: &DiscoverObjectInstance) {
        if let Some((class, left)) = self.awaits
            && found.object_class == self.classes[class as usize]
        {
            self.awaits = (left > 1).then(|| (class, left - 1));
        }
    }

    /// The call that updates one of its objects.
    pub(crate) fn update(&self, next: Next) -> CallRequest {
        let carried = if next.reliable { Carried::Reliably } else { Carried::ByBestEffort };
        let attribute_handle =
            self.updates.and_then(|class| self.attributes[class as usize][carried as usize]);
        let value = api::AttributeHandleValue { attribute_handle, value: next.payload };
        let update = api::UpdateAttributeValuesRequest {
            object_instance: self.objects.get(next.object as usize).copied(),
            attribute_values: Some(api::AttributeHandleValueMap { attribute_handle_value: vec![value] }),
            user_supplied_tag: Bytes::new(),
        };
        CallRequest { call_request: Some(Call::UpdateAttributeValuesRequest(update)) }
    }
}

/// The call that creates the federation, with two classes for each task.
fn create(tasks: usize) -> Call {
    let mut xml = String::from(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\
         <objects><objectClass><name>HLAobjectRoot</name>",
    );
    for task in 0..tasks {
        for class in [Class::Ping, Class::Pong] {
            let _ =
                write!(xml, "<objectClass><name>{class:?}{task}</name><sharing>PublishSubscribe</sharing>");
            for (name, transportation) in ATTRIBUTES.into_iter().zip(TRANSPORTATIONS) {
                let _ = write!(
                    xml,
                    "<attribute><name>{name}</name><dataType>HLAopaqueData</dataType>\
                     <transportation>{transportation}</transportation><order>Receive</order></attribute>"
                );
            }
            xml += "</objectClass>";
        }
    }
    xml += "</objectClass></objects></objectModel>";
    let file = api::FileFomModule { name: "hostsim.xml".to_owned(), content: Bytes::from(xml) };
    let module = api::fom_module::FomModule::File(file);
    Call::CreateFederationExecutionRequest(api::CreateFederationExecutionRequest {
        federation_name: FEDERATION.to_owned(),
        fom_module: Some(api::FomModule { fom_module: Some(module) }),
    })
}
