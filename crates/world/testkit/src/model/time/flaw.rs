//! Deliberate mistakes of the model.

/// A mistake that an implementation could make. A comparison that does not notice one of them when
/// the model makes it would not notice it in an implementation either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// A grant or a lower lookahead reopens times at which nothing was to be sent any more.
    NoFloor,
    /// A federate with a next message request is taken not to send before the requested time.
    UnconditionalNextMessage,
    /// A federate is granted a time at which messages may still come.
    InclusiveGrant,
    /// A federate begins to regulate in the past of constrained federates.
    RegulationInThePast,
    /// Federates that have a message already do not hear of its retraction.
    RetractionForgetsEarly,
    /// Queued messages are delivered in the order of their arrival.
    QueueByArrival,
    /// Messages in receive order do not wait for an advance.
    ReceiveOrderAtOnce,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NoFloor,
        Self::UnconditionalNextMessage,
        Self::InclusiveGrant,
        Self::RegulationInThePast,
        Self::RetractionForgetsEarly,
        Self::QueueByArrival,
        Self::ReceiveOrderAtOnce,
    ];
}
