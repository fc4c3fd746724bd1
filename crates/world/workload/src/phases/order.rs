//! Orders for a federate.

use std::time::Duration;

use hla::api::ResignAction;

/// An object class of the workloads, with the one attribute of it that they use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Updated by a canary; its attribute may change its owner.
    Ping,
    /// Updated by an echo.
    Pong,
    /// One with many attributes.
    Wide,
}

impl Class {
    /// Number of classes.
    pub(super) const COUNT: usize = 3;

    /// The names of the class and of the attribute in the FOM module of the benchmarks.
    pub const fn names(self) -> [&'static str; 2] {
        match self {
            Class::Ping => ["HLAobjectRoot.Ping", "Payload"],
            Class::Pong => ["HLAobjectRoot.Pong", "Payload"],
            Class::Wide => ["HLAobjectRoot.Wide", "Value01"],
        }
    }
}

/// Callbacks that a federate counts and can wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// Discover Object Instance (6.9).
    Discovery,
    /// Remove Object Instance (6.17).
    Removal,
    /// Reflect Attribute Values (6.11).
    Reflect,
    /// Attribute Ownership Acquisition Notification (7.7).
    Acquisition,
    /// Federation Saved (4.24).
    Save,
    /// Federation Restored (4.33).
    Restore,
}

impl Awaited {
    /// Number of kinds.
    pub(super) const COUNT: usize = 6;
}

/// An order for a federate, which does one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Connects and creates the federation execution.
    Create,
    /// Connects and joins the federation execution. The first of a group connects at once and the last
    /// after this time. From its connection to the response is a time that it records.
    Join(Duration),
    /// Publishes a class.
    Publish(Class),
    /// Publishes it no longer.
    Unpublish(Class),
    /// Subscribes to a class.
    Subscribe(Class),
    /// Registers so many objects of a class.
    Register(Class, u32),
    /// Waits for so many callbacks, counted from the end of the last such wait.
    Await(Awaited, u32),
    /// Requests the values of all objects of a class.
    RequestValues(Class),
    /// From now on sends the value of an object when it is requested.
    ProvideValues,
    /// Acquires the attribute of the next so many objects of [`Class::Ping`], one after the other. From
    /// each request to the notification is a time that it records.
    AcquireEach(u32),
    /// Requests those of the next so many at once, and does not wait for them.
    RequestOwnership(u32),
    /// From now on divests what others request, or no longer.
    Divest(bool),
    /// Requests that the federation be saved.
    Save,
    /// Requests that the federation be restored.
    Restore,
    /// Resigns and disconnects. From the first to the last is a time that it records.
    Leave(ResignAction),
    /// Ends its session without resigning. Then its objects are deleted.
    Terminate,
    /// Exchanges round trips with an echo from now on, with a pause after each.
    /// They are times that it records.
    Canary,
    /// Waits until a round trip that has begun is over.
    EndRound,
    /// Answers the updates of a canary from now on.
    Echo,
}
