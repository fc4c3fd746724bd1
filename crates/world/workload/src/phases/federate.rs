//! A federate that follows orders.

mod call;

use std::collections::VecDeque;
use std::time::Duration;

use base::Moment;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, FomModule};
use hla::handle::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};

use super::clock::Clock;
use super::order::{Awaited, Class, Order};
use super::regions::Regions;
use super::step::{Habit, Repeated, Service, Step, steps};
use call::{advance, update};

/// Pause between two round trips of a canary.
const BEAT: Duration = Duration::from_millis(5);
/// The value of an attribute.
const VALUE: &[u8] = b"canary";
/// The longest wait for updates of a step on the square that should come.
const LATE: Duration = Duration::from_secs(10);

/// A request of a federate to its world.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// A session, and the service Connect (4.2) with what it takes to be let in. Then
    /// [`Input::Connected`] follows.
    Connect,
    /// A call of a service. Then [`Input::Answered`] follows.
    Call(Call),
    /// An update. Nothing follows: it goes on without the answer, and an exception ends the run.
    Update(Call),
    /// The answers to all its updates. Then [`Input::UpdatesAnswered`] follows.
    AwaitUpdates,
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
    /// The results of all its updates are there.
    UpdatesAnswered,
    /// A callback.
    CalledBack(Callback),
    /// Its session is over, as it wished.
    Ended,
}

/// Reflects that federates have got.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Those of updates, without the round trips of a canary.
    pub reflects: u64,
    /// On the square: those that a perfect filter lets through.
    pub expected: u64,
    /// Those of them that came.
    pub reached: u64,
    /// Those that a perfect filter holds back, or that came twice.
    pub surplus: u64,
}

impl Counts {
    /// Adds those of others.
    pub fn add(&mut self, others: Self) {
        self.reflects += others.reflects;
        self.expected += others.expected;
        self.reached += others.reached;
        self.surplus += others.surplus;
    }
}

/// The round trips of a canary.
#[derive(Clone, Copy, Debug)]
struct Beat {
    next_at: Moment,
    /// The beginning of the round trip under way.
    since: Option<Moment>,
}

/// The progress of a step.
enum Progress {
    Over,
    /// Other steps are in its place.
    Replaced,
    Waits,
    Acts(Action),
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
    /// It waits for its world: to connect it, to end its session, or for the answers to its updates.
    is_waiting: bool,
    /// Calls of steps that are not answered.
    unanswered: u32,
    /// It goes on without waiting for the answers to its calls.
    goes_ahead: bool,
    called: Option<Service>,
    timed_from: Moment,
    times: Vec<Duration>,
    finished: Moment,
    classes: [Option<ObjectClassHandle>; Class::COUNT],
    attributes: [Option<AttributeHandle>; Class::COUNT],
    /// The first object of each class that it has registered.
    first: [Option<ObjectInstanceHandle>; Class::COUNT],
    /// The objects that it has registered and discovered.
    registered: Vec<ObjectInstanceHandle>,
    discovered: VecDeque<ObjectInstanceHandle>,
    /// The value of its last update in a flood.
    value: Bytes,
    /// Callbacks that no order has waited for, by [`Awaited`].
    awaited: [u32; Awaited::COUNT],
    counts: Counts,
    habits: Habits,
    clock: Clock,
    /// Its regions, if it is on a square.
    regions: Option<Box<Regions>>,
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
            is_waiting: false,
            unanswered: 0,
            goes_ahead: false,
            called: None,
            timed_from: Moment::ZERO,
            times: Vec::new(),
            finished: Moment::ZERO,
            classes: [None; Class::COUNT],
            attributes: [None; Class::COUNT],
            first: [None; Class::COUNT],
            registered: Vec::new(),
            discovered: VecDeque::new(),
            value: Bytes::new(),
            awaited: [0; Awaited::COUNT],
            counts: Counts::default(),
            habits: Habits::default(),
            clock: Clock::new(),
            regions: None,
            failure: None,
        }
    }

    /// A federate that has the order to create `federation`.
    pub fn creator(federation: &str, module: FomModule) -> Self {
        let mut creator = Self { module: Some(module), ..Self::new(federation, (0, 1)) };
        creator.order(Order::Create);
        creator
    }

    /// The same one on a square.
    pub(super) fn with_regions(self, regions: Regions) -> Self {
        Self { regions: Some(Box::new(regions)), ..self }
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

    /// The reflects that it has counted since this was last called.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// The event for which it waits, in words for a report; `None` without orders, and in a pause of an order.
    pub fn waits_for(&self) -> Option<String> {
        if !self.is_busy || self.poll_timeout().is_some() {
            return None;
        }
        let who = format!("federate {} of {}", self.place + 1, self.of);
        Some(match (self.steps.front(), self.called) {
            (Some(Step::Await(awaited, count)), _) => {
                let found = self.awaited[*awaited as usize];
                format!("{} at {who}: {found} of {count} have come", awaited.name())
            }
            (_, Some(service)) if self.unanswered > 0 => format!("the answer to {service:?} at {who}"),
            (Some(step), _) => format!("the end of {step:?} at {who}"),
            (None, _) => format!("the end of an order at {who}"),
        })
    }

    /// The reason why it cannot go on, if any.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// When to ask it for its next action even without input.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let pause = match self.steps.front() {
            Some(Step::Pause(pause)) => Some(self.began + *pause),
            Some(Step::See) => Some(self.began + LATE),
            _ => None,
        };
        let beat = self.habits.beat.filter(|beat| beat.since.is_none()).map(|beat| beat.next_at);
        Moment::sooner(pause, beat)
    }

    /// Its next request, if there is one.
    pub fn poll_action(&mut self, now: Moment) -> Option<Action> {
        if self.is_waiting || self.failure.is_some() {
            return None;
        }
        loop {
            if let Some(call) = self.poll_habit(now) {
                return Some(action(call));
            }
            if self.unanswered > 0 && !self.goes_ahead {
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
            match self.go_on(step, now) {
                Progress::Over => drop(self.steps.pop_front()),
                Progress::Replaced => {}
                Progress::Waits => return None,
                Progress::Acts(action) => return Some(action),
            }
        }
    }

    /// Goes on with the first of its steps.
    fn go_on(&mut self, step: Step, now: Moment) -> Progress {
        let over = |is_over| if is_over { Progress::Over } else { Progress::Waits };
        match step {
            Step::Pause(pause) => over(now >= self.began + pause),
            Step::Connect | Step::Terminate => {
                self.is_waiting = true;
                let ends = step == Step::Terminate;
                Progress::Acts(if ends { Action::Terminate } else { Action::Connect })
            }
            Step::EndUpdates => {
                self.is_waiting = true;
                Progress::Acts(Action::AwaitUpdates)
            }
            Step::Calls(_, 0) | Step::CallsAhead(_, 0) | Step::Repeat(_, 0) => Progress::Over,
            Step::Calls(service, left) => self.call(service, left, false),
            Step::CallsAhead(service, left) => self.call(service, left, true),
            Step::Repeat(repeated, left) => self.repeat(repeated, left),
            Step::Await(awaited, count) => over(self.takes(awaited, count)),
            Step::Habit(habit) => self.adopt(habit, now),
            Step::Begin => {
                self.timed_from = now;
                Progress::Over
            }
            Step::End => {
                self.times.push(now.since(self.timed_from));
                Progress::Over
            }
            Step::EndRound => {
                let since = self.habits.beat.and_then(|beat| beat.since);
                over(since.is_none_or(|since| since >= self.began))
            }
            Step::BeginAdvance => {
                if !self.clock.begin_step() {
                    self.failure = Some("there is no later logical time".to_owned());
                }
                over(self.failure.is_none())
            }
            Step::Send(updates, order) => {
                let update = self.step_update(order);
                self.habits.calls.extend(std::iter::repeat_n(update, updates as usize));
                Progress::Over
            }
            Step::Reach(_) if self.clock.is_there() => Progress::Over,
            Step::Reach(service) => match self.clock.request() {
                Some(time) => self.wait_for(advance(service, Some(time))),
                None => Progress::Waits,
            },
            Step::BeginMoves | Step::AwaitNear | Step::See => over(self.is_over_on_square(step, now)),
        }
    }

    /// Does steps now, and then as often again as is left.
    fn repeat(&mut self, repeated: Repeated, left: u32) -> Progress {
        if let Some(step) = self.steps.front_mut() {
            *step = Step::Repeat(repeated, left - 1);
        }
        repeated.steps().into_iter().rev().for_each(|step| self.steps.push_front(step));
        Progress::Replaced
    }

    /// Whether a step on the square is over.
    fn is_over_on_square(&mut self, step: Step, now: Moment) -> bool {
        let Some(regions) = &mut self.regions else { return true };
        match step {
            Step::BeginMoves => {
                regions.begin_step();
                true
            }
            Step::AwaitNear => self.awaited[Awaited::Discovery as usize] >= regions.expected(),
            _ => {
                let is_over = regions.sees_all() || now >= self.began + LATE;
                if is_over {
                    let seen = regions.seen();
                    self.counts.expected += seen.expected;
                    self.counts.reached += seen.reached;
                    self.counts.surplus += seen.surplus;
                }
                is_over
            }
        }
    }

    /// Whether so many callbacks have come, which no other order may wait for then.
    fn takes(&mut self, awaited: Awaited, count: u32) -> bool {
        let found = &mut self.awaited[awaited as usize];
        let is_over = *found >= count;
        if is_over {
            *found -= count;
        }
        is_over
    }

    fn adopt(&mut self, habit: Habit, now: Moment) -> Progress {
        match habit {
            Habit::ProvideValues => self.habits.provides = true,
            Habit::Divest(divests) => self.habits.divests = divests,
            Habit::Echo => self.habits.echoes = true,
            Habit::Nothing => self.habits = Habits::default(),
            Habit::Canary => self.habits.beat = Some(Beat { next_at: now, since: None }),
        }
        Progress::Over
    }

    /// A call that it makes by itself.
    fn poll_habit(&mut self, now: Moment) -> Option<Call> {
        if let Some(call) = self.habits.calls.pop_front() {
            return Some(call);
        }
        let beat = self.habits.beat.as_mut().filter(|beat| beat.since.is_none() && beat.next_at <= now)?;
        beat.since = Some(now);
        Some(self.update_first(Class::Ping, Bytes::from_static(VALUE)))
    }

    /// The first of the `left` calls of a step. `ahead`: the next step does not wait for their answers.
    fn call(&mut self, service: Service, left: u32, ahead: bool) -> Progress {
        let left = left - 1;
        match self.steps.front_mut() {
            Some(Step::Calls(_, count) | Step::CallsAhead(_, count)) if left > 0 => *count = left,
            _ => drop(self.steps.pop_front()),
        }
        self.called = Some(service);
        let call = self.request(service);
        let progress = self.wait_for(call);
        self.goes_ahead = ahead || left > 0;
        progress
    }

    /// Makes a call. The next step waits for its answer, unless it is an update.
    fn wait_for(&mut self, call: Call) -> Progress {
        self.goes_ahead = false;
        let action = action(call);
        self.unanswered += u32::from(matches!(action, Action::Call(_)));
        Progress::Acts(action)
    }

    /// Handles an input. Then it may want something.
    pub fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::Connected | Input::UpdatesAnswered => {
                self.is_waiting = false;
                self.steps.pop_front();
            }
            Input::Ended => {
                self.is_waiting = false;
                self.steps.pop_front();
                self.first = [None; Class::COUNT];
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
                Answer::AttributeOwnershipDivestitureIfWantedResponse(_)
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
            (Answer::RegisterObjectInstanceResponse(answer), Some(Service::Register(class))) => {
                let first = &mut self.first[class as usize];
                *first = first.or(answer.result);
                self.registered.extend(answer.result);
            }
            (Answer::RegisterObjectInstanceWithRegionsResponse(answer), _) => {
                self.registered.extend(answer.result);
            }
            (Answer::GetDimensionHandleResponse(answer), Some(Service::DimensionHandle(index))) => {
                let own = self.regions.iter_mut();
                own.for_each(|regions| regions.learn_dimension(index, answer.result));
            }
            (Answer::CreateRegionResponse(answer), _) => {
                self.regions.iter_mut().for_each(|regions| regions.created(answer.result));
            }
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
            // A canary updates without time stamps.
            Callback::ReflectAttributeValuesWithTime(_) => self.counts.reflects += 1,
            Callback::TimeRegulationEnabled(enabled) => self.reached(enabled.time, Some(Awaited::Regulation)),
            Callback::TimeConstrainedEnabled(enabled) => {
                self.reached(enabled.time, Some(Awaited::Constraint));
            }
            Callback::TimeAdvanceGrant(grant) => self.reached(grant.time, None),
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

    /// Takes its logical time from a callback that may be waited for.
    fn reached(&mut self, time: Option<api::LogicalTime>, awaited: Option<Awaited>) {
        if !self.clock.granted(time) {
            self.failure =
                Some("the logical time of the federation execution is no HLAfloat64Time".to_owned());
        }
        awaited.into_iter().for_each(|awaited| self.count(awaited));
    }

    fn refused(&mut self, what: &str, reason: &str) {
        self.failure = Some(format!("the federation was not {what}: {reason}"));
    }

    fn count(&mut self, awaited: Awaited) {
        self.awaited[awaited as usize] += 1;
    }

    fn reflected(&mut self, now: Moment, reflect: api::ReflectAttributeValues) {
        if let Some(beat) = &mut self.habits.beat {
            if let Some(since) = beat.since.take() {
                self.times.push(now.since(since));
            }
            beat.next_at = now + BEAT;
        } else if self.habits.echoes {
            let update = self.update_first(Class::Pong, value_of(reflect));
            self.habits.calls.push_back(update);
        } else {
            self.count(Awaited::Reflect);
            self.counts.reflects += 1;
            if let Some(regions) = &mut self.regions {
                regions.take(&value_of(reflect));
            }
        }
    }
}

/// The action of a call.
fn action(call: Call) -> Action {
    match call {
        Call::UpdateAttributeValuesRequest(_) | Call::UpdateAttributeValuesWithTimeRequest(_) => {
            Action::Update(call)
        }
        call => Action::Call(call),
    }
}

/// The value of the one attribute that is updated.
fn value_of(reflect: api::ReflectAttributeValues) -> Bytes {
    let value = reflect.attribute_values.and_then(|mut map| map.attribute_handle_value.pop());
    value.map(|value| value.value).unwrap_or_default()
}
