//! What a federate asks for before it begins: the federation, handles, publications, subscriptions, an object.

use std::collections::VecDeque;
use std::fmt::Write as _;

use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, CallRequest, DiscoverObjectInstance};
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};

const FEDERATION: &str = "hostsim";
const ATTRIBUTE: &str = "Payload";

/// A class of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Updated by the one who begins.
    Ping,
    /// Updated by the one who answers.
    Pong,
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
    Attribute(Class),
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
    /// Handles of ping and pong.
    classes: [Option<ObjectClassHandle>; 2],
    attributes: [Option<AttributeHandle>; 2],
    object: Option<ObjectInstanceHandle>,
    updates: Option<Class>,
    /// It waits for an object of this class.
    awaits: Option<Class>,
    trouble: Option<String>,
}

impl Setup {
    /// Of a federate of task `task` of `tasks`, which updates one class and wants another. The first federate creates the federation.
    pub(crate) fn new(
        (task, tasks): (usize, usize),
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
            steps.extend([Step::Class(class), Step::Attribute(class)]);
        }
        steps.extend(wants.map(Step::Subscribe));
        if let Some(class) = updates {
            steps.extend([Step::Publish(class), Step::Register(class)]);
        }
        Self {
            task,
            tasks,
            steps,
            begun: false,
            asked: None,
            classes: [None; 2],
            attributes: [None; 2],
            object: None,
            updates,
            awaits: wants,
            trouble: None,
        }
    }

    /// The session is open.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    /// All calls are answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.steps.is_empty() && self.asked.is_none()
    }

    /// All is there.
    pub(crate) fn is_done(&self) -> bool {
        self.is_answered() && self.awaits.is_none()
    }

    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The next call, when the last one is answered.
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
            attribute_handle: self.attributes[class as usize].into_iter().collect(),
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
            Step::Attribute(class) => Call::GetAttributeHandleRequest(api::GetAttributeHandleRequest {
                object_class: self.classes[class as usize],
                attribute_name: ATTRIBUTE.to_owned(),
            }),
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

    /// A call succeeded.
    pub(crate) fn answered(&mut self, answer: Answer) {
        let Some(step) = self.asked.take() else { return };
        match (step, answer) {
            (Step::Class(class), Answer::GetObjectClassHandleResponse(answer)) => {
                self.classes[class as usize] = answer.result;
            }
            (Step::Attribute(class), Answer::GetAttributeHandleResponse(answer)) => {
                self.attributes[class as usize] = answer.result;
            }
            (Step::Register(_), Answer::RegisterObjectInstanceResponse(answer)) => {
                self.object = answer.result;
            }
            (Step::Class(_) | Step::Attribute(_) | Step::Register(_), answer) => {
                self.trouble = Some(format!("{step:?} was answered by {answer:?}"));
            }
            _ => {}
        }
    }

    /// An object was discovered.
    pub(crate) fn discovered(&mut self, found: &DiscoverObjectInstance) {
        if let Some(class) = self.awaits
            && found.object_class == self.classes[class as usize]
        {
            self.awaits = None;
        }
    }

    /// The call that updates its object.
    pub(crate) fn update(&self, value: Bytes) -> CallRequest {
        let attribute_handle = self.updates.and_then(|class| self.attributes[class as usize]);
        let value = api::AttributeHandleValue { attribute_handle, value };
        let update = api::UpdateAttributeValuesRequest {
            object_instance: self.object,
            attribute_values: Some(api::AttributeHandleValueMap { attribute_handle_value: vec![value] }),
            user_supplied_tag: Bytes::new(),
        };
        CallRequest { call_request: Some(Call::UpdateAttributeValuesRequest(update)) }
    }
}

/// Creates the federation, with two classes for each task.
fn create(tasks: usize) -> Call {
    let mut xml = String::from(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\
         <objects><objectClass><name>HLAobjectRoot</name>",
    );
    for task in 0..tasks {
        for class in [Class::Ping, Class::Pong] {
            let _ = write!(
                xml,
                "<objectClass><name>{class:?}{task}</name><sharing>PublishSubscribe</sharing>\
                 <attribute><name>{ATTRIBUTE}</name><dataType>HLAopaqueData</dataType>\
                 <transportation>HLAreliable</transportation><order>Receive</order></attribute></objectClass>"
            );
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
