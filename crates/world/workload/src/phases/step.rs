//! The steps of an order.

use std::time::Duration;

use hla::api::ResignAction;

use super::order::{Awaited, Class, Order};

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

/// A step. The next one begins once all calls of this one are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Waits until so long after the order began.
    Pause(Duration),
    Connect,
    /// Calls a service so many times without waiting in between.
    Calls(Service, u32),
    Await(Awaited, u32),
    Habit(Habit),
    /// Begins a time that is recorded.
    Begin,
    /// Ends it.
    End,
    /// Waits until no round trip is under way that is older than the order.
    EndRound,
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
        Order::AcquireEach(count) => {
            let each = [Step::Begin, once(Service::Acquire), Step::Await(Awaited::Acquisition, 1), Step::End];
            each.repeat(count as usize)
        }
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
    }
}
