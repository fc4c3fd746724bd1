//! A federate that follows orders.

use std::collections::VecDeque;
use std::time::Duration;

use base::Moment;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, FomModule, ResignAction};
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};

use super::order::{Awaited, Class, Order};
use super::step::{Habit, Service, Step, steps};

/// Pause between two round trips of a canary.
const BEAT: Duration = Duration::from_millis(5);
/// The value of an attribute.
const VALUE: &[u8] = b"canary";
/// The label of a save.
const LABEL: &str = "bench";

/// A request of a federate to its world.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// A session, and the service Connect (4.2) with what it takes to be let in. Then
    /// [`Input::Connected`] follows.
    Connect,
    /// A call of a service. Then [`Input::Answered`] follows.
    Call(Call),
    /// The end of its session. Then [`Input::Ended`] follows.
    Terminate,
}

/// An answer or an event for a federate.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// It is connected.
    Connected,
    /// The result of a call. An exception ends the run and is not passed on.
    Answered(Answer),
    /// A callback.
    CalledBack(Callback),
    /// Its session is over, as it wished.
    Ended,
}

/// The round trips of a canary.
#[derive(Clone, Copy, Debug)]
struct Beat {
    next_at: Moment,
    /// The beginning of the round trip under way.
    since: Option<Moment>,
}

/// The calls that it makes by itself.
#[derive(Debug, Default)]
struct Habits {
    provides: bool,
    divests: bool,
    echoes: bool,
    beat: Option<Beat>,
    /// The calls that follow from callbacks.
    calls: VecDeque<Call>,
}

/// A federate that follows orders: it does one after the other, and records times.
#[derive(Debug)]
pub struct Federate {
    federation: String,
    /// The FOM module of the federation execution that it creates.
    module: Option<FomModule>,
    /// Its place in its group, and the number of federates there.
    place: u32,
    of: u32,
    orders: VecDeque<Order>,
    /// The steps left of the order that it does.
    steps: VecDeque<Step>,
    /// When it began that order.
    began: Moment,
    /// It does an order.
    is_busy: bool,
    /// It waits for its world to connect it or to end its session.
    is_changing: bool,
    /// Calls of the step that are not answered.
    unanswered: u32,
    /// The last service that it called in a step, while more such calls follow.
    repeats: bool,
    called: Option<Service>,
    timed_from: Moment,
    times: Vec<Duration>,
    finished: Moment,
    classes: [Option<ObjectClassHandle>; Class::COUNT],
    attributes: [Option<AttributeHandle>; Class::COUNT],
    /// The objects that it has registered and discovered.
    registered: Vec<ObjectInstanceHandle>,
    discovered: VecDeque<ObjectInstanceHandle>,
    /// Callbacks that no order has waited for, by [`Awaited`].
    counts: [u32; Awaited::COUNT],
    habits: Habits,
    failure: Option<String>,
}

impl Federate {
    /// The federate `place` of `of` in a group. It joins `federation`, and does nothing without orders.
    pub fn new(federation: &str, (place, of): (u32, u32)) -> Self {
        Self {
            federation: federation.to_owned(),
            module: None,
            place,
            of,
            orders: VecDeque::new(),
            steps: VecDeque::new(),
            began: Moment::ZERO,
            is_busy: false,
            is_changing: false,
            unanswered: 0,
            repeats: false,
            called: None,
            timed_from: Moment::ZERO,
            times: Vec::new(),
            finished: Moment::ZERO,
            classes: [None; Class::COUNT],
            attributes: [None; Class::COUNT],
            registered: Vec::new(),
            discovered: VecDeque::new(),
            counts: [0; Awaited::COUNT],
            habits: Habits::default(),
            failure: None,
        }
    }

    /// A federate that has the order to create `federation`.
    pub fn creator(federation: &str, module: FomModule) -> Self {
        let mut creator = Self { module: Some(module), ..Self::new(federation, (0, 1)) };
        creator.order(Order::Create);
        creator
    }

    /// Adds an order to those that it has.
    pub fn order(&mut self, order: Order) {
        self.orders.push_back(order);
    }

    /// Number of orders that it has not done.
    pub fn orders_left(&self) -> usize {
        self.orders.len() + usize::from(self.is_busy)
    }

    /// When it had done its last order.
    pub fn finished(&self) -> Moment {
        self.finished
    }

    /// The times that it has recorded since this was last called.
    pub fn take_times(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.times)
    }

    /// The reason why it cannot go on, if any.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// When to ask it for its next action even without input.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let pause = match self.steps.front() {
            Some(Step::Pause(pause)) => Some(self.began + *pause),
            _ => None,
        };
        let beat = self.habits.beat.filter(|beat| beat.since.is_none()).map(|beat| beat.next_at);
        Moment::sooner(pause, beat)
    }

    /// Its next request, if there is one.
    pub fn poll_action(&mut self, now: Moment) -> Option<Action> {
        if self.is_changing || self.failure.is_some() {
            return None;
        }
        loop {
            if let Some(call) = self.poll_habit(now) {
                return Some(Action::Call(call));
            }
            if self.unanswered > 0 && !self.repeats {
                return None;
            }
            let Some(step) = self.steps.front().copied() else {
                if std::mem::take(&mut self.is_busy) {
                    self.finished = now;
                }
                let order = self.orders.pop_front()?;
                self.steps = steps(order, self.place, self.of).into();
                (self.began, self.is_busy) = (now, true);
                continue;
            };
            let is_over = match step {
                Step::Pause(pause) => now >= self.began + pause,
                Step::Await(awaited, count) => self.takes(awaited, count),
                Step::EndRound => {
                    let since = self.habits.beat.and_then(|beat| beat.since);
                    since.is_none_or(|since| since >= self.began)
                }
                Step::Connect | Step::Terminate => {
                    self.is_changing = true;
                    let ends = step == Step::Terminate;
                    return Some(if ends { Action::Terminate } else { Action::Connect });
                }
                Step::Calls(_, 0) => true,
                Step::Calls(service, left) => return self.call(service, left).map(Action::Call),
                Step::Habit(habit) => self.adopt(habit, now),
                Step::Begin => {
                    self.timed_from = now;
                    true
                }
                Step::End => {
                    self.times.push(now.since(self.timed_from));
                    true
                }
            };
            if !is_over {
                return None;
            }
            self.steps.pop_front();
        }
    }

    /// Whether so many callbacks have come, which no other order may wait for then.
    fn takes(&mut self, awaited: Awaited, count: u32) -> bool {
        let found = &mut self.counts[awaited as usize];
        let is_over = *found >= count;
        if is_over {
            *found -= count;
        }
        is_over
    }

    fn adopt(&mut self, habit: Habit, now: Moment) -> bool {
        match habit {
            Habit::ProvideValues => self.habits.provides = true,
            Habit::Divest(divests) => self.habits.divests = divests,
            Habit::Echo => self.habits.echoes = true,
            Habit::Nothing => self.habits = Habits::default(),
            Habit::Canary => self.habits.beat = Some(Beat { next_at: now, since: None }),
        }
        true
    }

    /// A call that it makes by itself.
    fn poll_habit(&mut self, now: Moment) -> Option<Call> {
        if let Some(call) = self.habits.calls.pop_front() {
            return Some(call);
        }
        let beat = self.habits.beat.as_mut().filter(|beat| beat.since.is_none() && beat.next_at <= now)?;
        beat.since = Some(now);
        let object = self.registered.first().copied();
        Some(update(object, self.attributes[Class::Ping as usize], Bytes::from_static(VALUE)))
    }

    /// The first of the `left` calls of a step.
    fn call(&mut self, service: Service, left: u32) -> Option<Call> {
        self.repeats = left > 1;
        match self.steps.front_mut() {
            Some(step) if self.repeats => *step = Step::Calls(service, left - 1),
            _ => drop(self.steps.pop_front()),
        }
        self.unanswered += 1;
        self.called = Some(service);
        Some(self.request(service))
    }

    fn request(&mut self, service: Service) -> Call {
        let class_of = |class: Class| self.classes[class as usize];
        let set = |class: Class| Some(self.attributes[class as usize].into_iter().collect());
        match service {
            Service::Create => {
                Call::CreateFederationExecutionRequest(api::CreateFederationExecutionRequest {
                    federation_name: self.federation.clone(),
                    fom_module: self.module.clone(),
                })
            }
            Service::Join => Call::JoinFederationExecutionRequest(api::JoinFederationExecutionRequest {
                federate_type: "bench".to_owned(),
                federation_name: self.federation.clone(),
            }),
            Service::ClassHandle(class) => {
                let object_class_name = class.names()[0].to_owned();
                Call::GetObjectClassHandleRequest(api::GetObjectClassHandleRequest { object_class_name })
            }
            Service::AttributeHandle(class) => {
                Call::GetAttributeHandleRequest(api::GetAttributeHandleRequest {
                    object_class: class_of(class),
                    attribute_name: class.names()[1].to_owned(),
                })
            }
            Service::Publish(class) => {
                let (object_class, attributes) = (class_of(class), set(class));
                let request = api::PublishObjectClassAttributesRequest { object_class, attributes };
                Call::PublishObjectClassAttributesRequest(request)
            }
            Service::Unpublish(class) => {
                let object_class = class_of(class);
                Call::UnpublishObjectClassRequest(api::UnpublishObjectClassRequest { object_class })
            }
            Service::Subscribe(class) => {
                let (object_class, attributes) = (class_of(class), set(class));
                let request = api::SubscribeObjectClassAttributesRequest { object_class, attributes };
                Call::SubscribeObjectClassAttributesRequest(request)
            }
            Service::Register(class) => {
                let object_class = class_of(class);
                Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest { object_class })
            }
            Service::RequestValues(class) => {
                let request = api::RequestClassAttributeValueUpdateRequest {
                    object_class: class_of(class),
                    attributes: set(class),
                    user_supplied_tag: Bytes::new(),
                };
                Call::RequestClassAttributeValueUpdateRequest(request)
            }
            Service::Acquire => {
                let desired_attributes = set(Class::Ping);
                let request = api::AttributeOwnershipAcquisitionRequest {
                    object_instance: self.discovered.pop_front(),
                    desired_attributes,
                    user_supplied_tag: Bytes::new(),
                };
                Call::AttributeOwnershipAcquisitionRequest(request)
            }
            other => membership(other),
        }
    }

    /// Handles an input. Then it may want something.
    pub fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::Connected => {
                self.is_changing = false;
                self.steps.pop_front();
            }
            Input::Ended => {
                self.is_changing = false;
                self.steps.pop_front();
                self.registered.clear();
                self.discovered.clear();
                self.habits = Habits::default();
            }
            Input::Answered(answer) => self.answered(answer),
            Input::CalledBack(callback) => self.called_back(now, callback),
        }
    }

    fn answered(&mut self, answer: Answer) {
        match (answer, self.called) {
            // The answers to what it calls by itself.
            (
                Answer::UpdateAttributeValuesResponse(_)
                | Answer::AttributeOwnershipDivestitureIfWantedResponse(_)
                | Answer::FederateSaveBegunResponse(_)
                | Answer::FederateSaveCompleteResponse(_)
                | Answer::FederateRestoreCompleteResponse(_),
                _,
            ) => return,
            (Answer::GetObjectClassHandleResponse(answer), Some(Service::ClassHandle(class))) => {
                self.classes[class as usize] = answer.result;
            }
            (Answer::GetAttributeHandleResponse(answer), Some(Service::AttributeHandle(class))) => {
                self.attributes[class as usize] = answer.result;
            }
            (Answer::RegisterObjectInstanceResponse(answer), _) => self.registered.extend(answer.result),
            _ => {}
        }
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    fn called_back(&mut self, now: Moment, callback: Callback) {
        match callback {
            Callback::DiscoverObjectInstance(found) => {
                self.discovered.extend(found.object_instance);
                self.count(Awaited::Discovery);
            }
            Callback::RemoveObjectInstance(_) => self.count(Awaited::Removal),
            Callback::AttributeOwnershipAcquisitionNotification(_) => self.count(Awaited::Acquisition),
            Callback::ReflectAttributeValues(reflect) => self.reflected(now, reflect),
            Callback::ProvideAttributeValueUpdate(request) if self.habits.provides => {
                let attribute = self.attributes[Class::Wide as usize];
                self.habits.calls.push_back(update(
                    request.object_instance,
                    attribute,
                    Bytes::from_static(VALUE),
                ));
            }
            Callback::RequestAttributeOwnershipRelease(request) if self.habits.divests => {
                let divest = api::AttributeOwnershipDivestitureIfWantedRequest {
                    object_instance: request.object_instance,
                    attributes: request.candidate_attributes,
                    user_supplied_tag: Bytes::new(),
                };
                self.habits.calls.push_back(Call::AttributeOwnershipDivestitureIfWantedRequest(divest));
            }
            // It has no state of its own to save.
            Callback::InitiateFederateSave(_) => self.habits.calls.extend([
                Call::FederateSaveBegunRequest(api::FederateSaveBegunRequest {}),
                Call::FederateSaveCompleteRequest(api::FederateSaveCompleteRequest {}),
            ]),
            Callback::InitiateFederateRestore(_) => {
                let complete = api::FederateRestoreCompleteRequest {};
                self.habits.calls.push_back(Call::FederateRestoreCompleteRequest(complete));
            }
            Callback::FederationSaved(_) => self.count(Awaited::Save),
            Callback::FederationRestored(_) => self.count(Awaited::Restore),
            Callback::FederationNotSaved(failed) => self.refused("saved", failed.reason().as_str_name()),
            Callback::FederationNotRestored(failed) => {
                self.refused("restored", failed.reason().as_str_name());
            }
            Callback::RequestFederationRestoreFailed(_) => {
                self.refused("restored", "the request failed, see the log of the server");
            }
            _ => {}
        }
    }

    fn refused(&mut self, what: &str, reason: &str) {
        self.failure = Some(format!("the federation was not {what}: {reason}"));
    }

    fn count(&mut self, awaited: Awaited) {
        self.counts[awaited as usize] += 1;
    }

    fn reflected(&mut self, now: Moment, reflect: api::ReflectAttributeValues) {
        if let Some(beat) = &mut self.habits.beat {
            if let Some(since) = beat.since.take() {
                self.times.push(now.since(since));
            }
            beat.next_at = now + BEAT;
        } else if self.habits.echoes {
            let value = reflect.attribute_values.and_then(|mut map| map.attribute_handle_value.pop());
            let payload = value.map(|value| value.value).unwrap_or_default();
            let (object, attribute) =
                (self.registered.first().copied(), self.attributes[Class::Pong as usize]);
            self.habits.calls.push_back(update(object, attribute, payload));
        } else {
            self.count(Awaited::Reflect);
        }
    }
}

/// The calls that need no handle.
fn membership(service: Service) -> Call {
    match service {
        Service::Save => {
            Call::RequestFederationSaveRequest(api::RequestFederationSaveRequest { label: LABEL.to_owned() })
        }
        Service::Restore => Call::RequestFederationRestoreRequest(api::RequestFederationRestoreRequest {
            label: LABEL.to_owned(),
        }),
        Service::AutomaticResign => {
            let value = ResignAction::DeleteObjects.into();
            Call::SetAutomaticResignDirectiveRequest(api::SetAutomaticResignDirectiveRequest { value })
        }
        Service::Resign(directive) => {
            let resign_action = directive.into();
            let request = api::ResignFederationExecutionRequest { resign_action };
            Call::ResignFederationExecutionRequest(request)
        }
        _ => Call::DisconnectRequest(api::DisconnectRequest {}),
    }
}

fn update(
    object_instance: Option<ObjectInstanceHandle>,
    attribute: Option<AttributeHandle>,
    value: Bytes,
) -> Call {
    let value = api::AttributeHandleValue { attribute_handle: attribute, value };
    Call::UpdateAttributeValuesRequest(api::UpdateAttributeValuesRequest {
        object_instance,
        attribute_values: Some(api::AttributeHandleValueMap { attribute_handle_value: vec![value] }),
        user_supplied_tag: Bytes::new(),
    })
}
