//! The steps of an order.

use std::time::Duration;

use hla::api::{OrderType, ResignAction};

use super::order::{Advance, AdvanceService, Awaited, Class, Order};
use super::regions::{DIMENSIONS, Regions};

/// Time between the moves of two subscribers of a group, so that none waits for another.
const APART: Duration = Duration::from_millis(1);

/// A service that a federate calls in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Service {
    Create,
    Join,
    ClassHandle(Class),
    AttributeHandle(Class),
    Publish(Class),
    Unpublish(Class),
    Subscribe(Class),
    Register(Class),
    RequestValues(Class),
    /// Attribute Ownership Acquisition of the next object.
    Acquire,
    Regulate(u32),
    Constrain,
    /// Of a dimension of the square, by its place.
    DimensionHandle(usize),
    CreateRegion,
    SetRangeBounds,
    CommitRegions,
    RegisterWithRegion,
    SubscribeWithRegion,
    /// Update Attribute Values of the first object of a class, with so many octets.
    UpdateFirst(Class, u32),
    /// Update Attribute Values of the next object, with so many octets.
    UpdateMoving(u32),
    Save,
    Restore,
    AutomaticResign,
    Resign(ResignAction),
    Disconnect,
}

/// A change of the calls that a federate makes by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Habit {
    ProvideValues,
    Divest(bool),
    Canary,
    Echo,
    /// Nothing.
    Nothing,
}

/// Steps that are repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Repeated {
    /// Acquires an attribute.
    Acquire,
    /// Advances by a step of logical time.
    Advance(Advance),
    /// Moves a region.
    Move,
}

impl Repeated {
    /// The steps.
    pub(super) fn steps(self) -> Vec<Step> {
        match self {
            Self::Acquire => {
                vec![Step::Begin, once(Service::Acquire), Step::Await(Awaited::Acquisition, 1), Step::End]
            }
            Self::Advance(advance) => vec![
                Step::BeginAdvance,
                Step::Send(advance.updates, advance.order),
                Step::Begin,
                Step::Reach(advance.service),
                Step::End,
            ],
            Self::Move => vec![
                Step::Begin,
                Step::CallsAhead(Service::SetRangeBounds, 2),
                once(Service::CommitRegions),
                Step::End,
            ],
        }
    }
}

/// A step. The next one begins once all calls of this one are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Waits until so long after the order began.
    Pause(Duration),
    Connect,
    /// Calls a service so many times without waiting in between.
    Calls(Service, u32),
    /// The same, but the next step begins at once.
    CallsAhead(Service, u32),
    /// Does these steps so many times.
    Repeat(Repeated, u32),
    Await(Awaited, u32),
    Habit(Habit),
    /// Begins a time that is recorded.
    Begin,
    /// Ends it.
    End,
    /// Waits until no round trip is under way that is older than the order.
    EndRound,
    /// Waits until all updates are answered.
    EndUpdates,
    /// Begins a step of logical time.
    BeginAdvance,
    /// Sends so many updates of its object in this order.
    Send(u32, OrderType),
    /// Requests advances until the end of the step of logical time.
    Reach(AdvanceService),
    /// Begins a step on the square.
    BeginMoves,
    AwaitNear,
    See,
    Terminate,
}

fn once(service: Service) -> Step {
    Step::Calls(service, 1)
}

/// The steps of an order for the federate `place` of `of` in its group.
pub(super) fn steps(order: Order, place: u32, of: u32) -> Vec<Step> {
    let handles = |class| [once(Service::ClassHandle(class)), once(Service::AttributeHandle(class))];
    let with_handles = |class, service| [&handles(class)[..], &[once(service)]].concat();
    match order {
        Order::Create => vec![Step::Connect, once(Service::Create)],
        Order::Join(within) => {
            let pause = within.mul_f64(f64::from(place) / f64::from(of.saturating_sub(1).max(1)));
            vec![Step::Pause(pause), Step::Begin, Step::Connect, once(Service::Join), Step::End]
        }
        Order::Publish(class) => with_handles(class, Service::Publish(class)),
        Order::Unpublish(class) => vec![once(Service::Unpublish(class))],
        Order::Subscribe(class) => with_handles(class, Service::Subscribe(class)),
        Order::Register(class, count) => vec![Step::Calls(Service::Register(class), count)],
        Order::Await(awaited, count) => vec![Step::Await(awaited, count)],
        Order::RequestValues(class) => vec![once(Service::RequestValues(class))],
        Order::ProvideValues => vec![Step::Habit(Habit::ProvideValues)],
        Order::AcquireEach(count) => vec![Step::Repeat(Repeated::Acquire, count)],
        Order::RequestOwnership(count) => vec![Step::Calls(Service::Acquire, count)],
        Order::Divest(divests) => vec![Step::Habit(Habit::Divest(divests))],
        Order::Save => vec![once(Service::Save)],
        Order::Restore => vec![once(Service::Restore)],
        Order::Leave(directive) => {
            let calls = [once(Service::Resign(directive)), once(Service::Disconnect)];
            [&[Step::Habit(Habit::Nothing), Step::Begin][..], &calls, &[Step::Terminate, Step::End]].concat()
        }
        Order::Terminate => vec![once(Service::AutomaticResign), Step::Terminate],
        Order::Canary => [
            &with_handles(Class::Ping, Service::Publish(Class::Ping))[..],
            &[once(Service::Register(Class::Ping))],
            &with_handles(Class::Pong, Service::Subscribe(Class::Pong)),
            // The echo subscribes before it registers its object.
            &[Step::Await(Awaited::Discovery, 1), Step::Habit(Habit::Canary)],
        ]
        .concat(),
        Order::EndRound => vec![Step::EndRound],
        Order::Echo => [
            &[Step::Habit(Habit::Echo)],
            &with_handles(Class::Ping, Service::Subscribe(Class::Ping))[..],
            &with_handles(Class::Pong, Service::Publish(Class::Pong)),
            &[once(Service::Register(Class::Pong))],
        ]
        .concat(),
        Order::Flood(class, count, size) => {
            let updates = Step::Calls(Service::UpdateFirst(class, size), count);
            vec![Step::Begin, updates, Step::EndUpdates, Step::End]
        }
        Order::Regulate(lookahead) => {
            vec![once(Service::Regulate(lookahead)), Step::Await(Awaited::Regulation, 1)]
        }
        Order::Constrain => vec![once(Service::Constrain), Step::Await(Awaited::Constraint, 1)],
        Order::Advance(advance) => vec![Step::Repeat(Repeated::Advance(advance), advance.steps)],
        Order::RegisterAtPlaces(count) => {
            [new_regions(count), vec![Step::Calls(Service::RegisterWithRegion, count)]].concat()
        }
        Order::SubscribeAround => {
            [&handles(Class::Moving)[..], &new_regions(1), &[once(Service::SubscribeWithRegion)]].concat()
        }
        Order::AwaitNear => vec![Step::AwaitNear],
        Order::MoveObjects(count) => vec![Step::BeginMoves, Step::Repeat(Repeated::Move, count)],
        Order::MoveAround => {
            vec![Step::Pause(APART * place), Step::BeginMoves, Step::Repeat(Repeated::Move, 1)]
        }
        Order::UpdateMoving(count, size) => {
            vec![Step::Calls(Service::UpdateMoving(size), count), Step::EndUpdates]
        }
        Order::See => vec![Step::See],
    }
}

/// Creates so many regions, each at its place.
fn new_regions(count: u32) -> Vec<Step> {
    let dimensions = (0..DIMENSIONS.len()).map(|index| once(Service::DimensionHandle(index)));
    let regions = [
        Step::Calls(Service::CreateRegion, count),
        Step::CallsAhead(Service::SetRangeBounds, count.saturating_mul(2)),
        Step::Calls(Service::CommitRegions, Regions::commitments(count)),
    ];
    dimensions.chain(regions).collect()
}
