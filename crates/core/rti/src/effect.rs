//! Effects: the requests of a machine after it has processed a call, an event or a message.
//!
//! The machines of a federation execution ([`Objects`](crate::object::objects::Objects) and those
//! beside it) change nothing but themselves. They return everything else as a list of effects, in
//! the order in which the effects must happen. [`Rti`](crate::Rti) applies them. A service can
//! therefore be tested as lists in, lists out.

use crate::control::{Command, ExecutionId, NodeId, PublishedClass};
use crate::delivery::Arrival;
pub(crate) use crate::delivery::encode;
use crate::invocation::Invocation;
use crate::proposal::{CallerId, Completion, Proposal};
use crate::time::TimeInput;
pub(crate) use crate::wire::Asked;
use crate::wire::{Declaration, ObjectMessage, OwnershipRequest, StreamEvent, Values};
use base::Moment;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use hla::time::LogicalTime;
use router::ClientId;
use std::collections::BTreeSet;

/// A request of a machine. The enum is closed: the code that applies effects handles each of them.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Deliver a callback to a federate of this node.
    Deliver { to: ClientId, arrival: Arrival },
    /// Deliver a callback about a save or a restore, which nothing holds up.
    Notify { to: ClientId, callback: Box<Callback> },
    /// Withhold messages in receive order from a federate of this node, or deliver them again.
    HoldReceiveOrder { to: ClientId, on: bool },
    /// Propose a command for the control plane.
    Propose(Box<Proposal>),
    /// Inform the other nodes of a change.
    Replicate(Change),
    /// Inform time management of a change.
    Time(TimeInput),
    /// Free the names of instances that nobody has, after other nodes have had time to send theirs.
    FreeNames { execution: ExecutionId },
    /// End a call that has waited.
    Complete(Box<Completion>),
    /// Report the services of a federate from now on, or no longer (11.5).
    ReportServices { execution: ExecutionId, federate: FederateHandle, caller: CallerId, on: bool },
    /// Pass a request on to the management object model of a federation execution.
    Manage(ExecutionId, Box<MomRequest>),
}

/// A request to the management object model (clause 11). It needs more than the objects know.
#[derive(Debug)]
pub(crate) enum MomRequest {
    /// Federates here have begun or ceased to be interested in one of its classes.
    Covered(PublishedClass),
    /// A federate has attributes of an instance in scope from now on, or requests their values.
    Provide {
        requester: FederateHandle,
        /// The requester's node; `None`: this one.
        node: Option<NodeId>,
        instance: ObjectInstanceHandle,
        attributes: BTreeSet<AttributeHandle>,
        /// It has requested them (6.21). Otherwise it gets no values that are updated periodically.
        requested: bool,
    },
    /// The state of a federate here may have changed.
    Changed(FederateHandle),
    /// A node has told what it knows of a federate there.
    Told { federate: FederateHandle, values: Values },
    /// A federate has sent an interaction to the RTI: one here, or one of the node `from`.
    Asked { asked: Asked, from: Option<NodeId> },
    /// A federate here has called a service, or has been called back, and that is reported.
    Invoked(Box<Invocation>),
    /// A service of a federate here has raised an exception.
    Raised { federate: FederateHandle, service: &'static str, text: String },
    /// A federate here was lost.
    Lost { federate: FederateHandle, time: LogicalTime },
}

/// Effects are moved more than once for each message, and a move of more than 128 octets is a call
/// of `memcpy`.
const _: () = assert!(size_of::<Effect>() <= 128);

/// A change that other nodes may have to learn of.
#[derive(Debug)]
pub(crate) enum Change {
    /// Append an event to the stream of this class, for the nodes that follow it.
    Append {
        class: PublishedClass,
        event: StreamEvent,
        /// It may be lost. Then it gets no number and is not kept.
        best_effort: bool,
        /// Receivers must first apply the events of this class and node that this node has appended
        /// or applied.
        after: Option<(PublishedClass, NodeId)>,
    },
    /// This node has a first publication of the class, or no longer has any.
    Publish { class: PublishedClass, on: bool },
    /// The first federate of this node is interested in the class, or the last one no longer is.
    Cover { class: PublishedClass },
    /// A federate of this node has changed its subscriptions.
    Declare(Declaration),
    /// Send a message to another node.
    Send { to: NodeId, message: ObjectMessage },
    /// Send a request to the node that is the home of an instance of this class.
    SendToHome { class: ObjectClassHandle, home: NodeId, request: Box<OwnershipRequest> },
    /// Send a message to the node of a federate.
    SendToFederate { federate: FederateHandle, message: ObjectMessage },
    /// Send a message to all nodes that publish this class or one below it.
    SendToPublishers { class: ObjectClassHandle, message: ObjectMessage },
    /// All replicas of this class whose home is `node` have been forgotten. Its stream may be
    /// followed again.
    Forgotten { class: PublishedClass, node: NodeId },
    /// Instances of this class have another home. Its stream is needed from now on.
    Rehomed { class: ObjectClassHandle },
}

/// The effects of one call, event or message, in order.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The time of the call.
    pub(crate) now: Moment,
    list: Vec<Effect>,
    review_following: bool,
}

impl Effects {
    pub(crate) fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }

    /// Delivers a callback that is not a message to a federate.
    pub(crate) fn notify(&mut self, to: ClientId, callback: Callback) {
        self.push(Effect::Deliver { to, arrival: Arrival::notice(encode(callback)) });
    }

    /// Delivers a callback about a save or a restore, which nothing holds up.
    pub(crate) fn notify_directly(&mut self, to: ClientId, callback: Callback) {
        self.push(Effect::Notify { to, callback: Box::new(callback) });
    }

    /// Delivers a reliable message in receive order, such as a removal, to a federate.
    pub(crate) fn deliver(&mut self, to: ClientId, body: bytes::Bytes) {
        self.push(Effect::Deliver { to, arrival: Arrival::receive_order(body, false) });
    }

    /// Proposes a command whose outcome no call waits for.
    pub(crate) fn propose(&mut self, command: Command) {
        self.push(Effect::Propose(Box::new(Proposal::new(command))));
    }

    /// Informs the other nodes of a change.
    pub(crate) fn replicate(&mut self, change: Change) {
        self.push(Effect::Replicate(change));
    }

    /// Appends a reliable event to a stream of this node.
    pub(crate) fn append(&mut self, class: PublishedClass, event: StreamEvent) {
        self.replicate(Change::Append { class, event, best_effort: false, after: None });
    }

    /// Sends a message to another node.
    pub(crate) fn send(&mut self, to: NodeId, message: ObjectMessage) {
        self.replicate(Change::Send { to, message });
    }

    /// Notes that a federate no longer knows an instance, so that the instance's stream may no
    /// longer be needed here. This is a flag and not an effect, because its place in the order does
    /// not matter and one call may cause a million of them.
    pub(crate) fn review_following(&mut self) {
        self.review_following = true;
    }

    /// Whether the followed streams must be reviewed. Resets the flag.
    pub(crate) fn take_review_following(&mut self) -> bool {
        std::mem::take(&mut self.review_following)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes the effects out. [`Effects::reuse`] returns the buffer, so that a call need not
    /// allocate one.
    pub(crate) fn take(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.list)
    }

    /// Returns an emptied buffer.
    pub(crate) fn reuse(&mut self, buffer: Vec<Effect>) {
        /// Largest capacity that is kept, in effects. A call with more, such as the resignation of
        /// an owner of a million instances, must not occupy memory for ever.
        const KEPT_MAX: usize = 4096;
        debug_assert!(buffer.is_empty(), "effects that are not applied would be lost");
        if self.list.is_empty() && buffer.capacity() <= KEPT_MAX {
            self.list = buffer;
        }
    }
}
