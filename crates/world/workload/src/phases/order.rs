//! Orders for a federate.

use std::time::Duration;

use hla::api::{OrderType, ResignAction};

/// An object class of the workloads, with the one attribute of it that they use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Updated by a canary; its attribute may change its owner.
    Ping,
    /// Updated by an echo.
    Pong,
    /// One with many attributes.
    Wide,
    /// Updated in steps of logical time.
    Step,
    /// With update regions that move.
    Moving,
}

impl Class {
    /// Number of classes.
    pub(super) const COUNT: usize = 5;

    /// The names of the class and of the attribute in the FOM module of the benchmarks.
    pub const fn names(self) -> [&'static str; 2] {
        match self {
            Class::Ping => ["HLAobjectRoot.Ping", "Payload"],
            Class::Pong => ["HLAobjectRoot.Pong", "Payload"],
            Class::Wide => ["HLAobjectRoot.Wide", "Value01"],
            Class::Step => ["HLAobjectRoot.Step", "Payload"],
            Class::Moving => ["HLAobjectRoot.Moving", "Payload"],
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
    /// Time Regulation Enabled (8.3).
    Regulation,
    /// Time Constrained Enabled (8.6).
    Constraint,
    /// Federation Saved (4.24).
    Save,
    /// Federation Restored (4.33).
    Restore,
}

impl Awaited {
    /// Number of kinds.
    pub(super) const COUNT: usize = 8;

    /// The name of the callback.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Awaited::Discovery => "Discover Object Instance",
            Awaited::Removal => "Remove Object Instance",
            Awaited::Reflect => "Reflect Attribute Values",
            Awaited::Acquisition => "Attribute Ownership Acquisition Notification",
            Awaited::Regulation => "Time Regulation Enabled",
            Awaited::Constraint => "Time Constrained Enabled",
            Awaited::Save => "Federation Saved",
            Awaited::Restore => "Federation Restored",
        }
    }
}

/// The service by which a federate advances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdvanceService {
    /// Time Advance Request (8.8).
    TimeAdvance,
    /// Next Message Request (8.10).
    NextMessage,
}

/// The steps of logical time of a federate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advance {
    /// Number of steps.
    pub steps: u32,
    /// Updates of its object before each request, of 100 octets.
    pub updates: u32,
    /// The order of these. Those in receive order have no time stamps, others the earliest possible ones.
    pub order: OrderType,
    /// The service.
    pub service: AdvanceService,
}

/// The order of messages in a word, for reports and for other processes.
pub const fn order_word(order: OrderType) -> &'static str {
    match order {
        OrderType::Receive => "receive",
        OrderType::Timestamp => "timestamp",
    }
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
    /// Enables time regulation with this lookahead, in steps, and waits for it.
    Regulate(u32),
    /// Enables that it is time-constrained, and waits for it.
    Constrain,
    /// Updates its first object of a class so many times, with values of so many octets, as fast as the server takes
    /// them. From the first update to the answer to the last one is a time that it records.
    Flood(Class, u32, u32),
    /// Advances. From each request to the grant of the end of the step is a time that it records.
    Advance(Advance),
    /// Registers so many objects of [`Class::Moving`], each with a region of its own at its place.
    RegisterAtPlaces(u32),
    /// Subscribes to [`Class::Moving`] with a region around its place.
    SubscribeAround,
    /// Waits until it has discovered as many objects as are near.
    AwaitNear,
    /// Moves the regions of the next so many objects. Each is a time that it records.
    MoveObjects(u32),
    /// Moves the region of the subscription. The first of a group does so at once, and the others after one
    /// another. It is a time that it records.
    MoveAround,
    /// Updates so many objects of [`Class::Moving`] with values of so many octets.
    UpdateMoving(u32, u32),
    /// Waits until the updates of all objects near have come, for ten seconds at most.
    See,
}
