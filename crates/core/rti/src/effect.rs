//! Effects: what a machine wants done after it has taken a call, an event or a message.
//!
//! The machines of a federation execution ([`Objects`](crate::object::objects::Objects) and those beside it) change
//! nothing but themselves. Everything else they want is in the list of effects that they return, in the order in which
//! it is to happen. [`Rti`](crate::Rti) applies them. So a service can be tested as lists in, lists out.

use crate::control::{Command, ExecutionId, NodeId, PublishedClass};
use crate::delivery::Arrival;
use crate::proposal::Proposal;
use crate::wire::{Declaration, ObjectMessage, StreamEvent};
use base::Moment;
use hla::RtiError;
use hla::api::{CallbackRequest, Message as _, callback_request::CallbackRequest as Callback};
use hla::handle::ObjectClassHandle;
use router::ClientId;

/// Something that a machine wants done. Closed: whoever applies effects handles each of them.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Give a callback to a federate of this node.
    Deliver { to: ClientId, arrival: Arrival },
    /// Hold messages in receive order back from a federate of this node, or let it have them again.
    HoldReceiveOrder { to: ClientId, on: bool },
    /// Propose a command for the control plane.
    Propose(Box<Proposal>),
    /// Let the other nodes learn of a change.
    Replicate(Change),
    /// Free the names of instances that nobody has, once other nodes have had time to bring theirs.
    FreeNames { execution: ExecutionId },
    /// Refuse the call that waits for the outcome of a proposal, which is not made.
    Refuse { proposal: Box<Proposal>, error: RtiError },
}

/// Effects are moved more than once for each message, and a move of over 128 octets is a call of `memcpy`.
const _: () = assert!(size_of::<Effect>() <= 128);

/// A change that other nodes may have to learn of.
#[derive(Debug)]
pub(crate) enum Change {
    /// Append an event to the stream of this class, for the nodes that follow it.
    Append {
        class: PublishedClass,
        event: StreamEvent,
        /// It may be lost: then it gets no number and is not kept.
        best_effort: bool,
        /// Receivers must first take what this node has appended to the stream of this class.
        after: Option<PublishedClass>,
    },
    /// This node publishes something about the class from now on, or no longer.
    Publish { class: PublishedClass, on: bool },
    /// The first federate of this node is interested in the class, or the last one no longer is.
    Cover { class: PublishedClass },
    /// A federate of this node has changed what it subscribes.
    Declare(Declaration),
    /// Send a message to another node.
    Send { to: NodeId, message: ObjectMessage },
    /// Send a message to all nodes that publish this class or one below it.
    SendToPublishers { class: ObjectClassHandle, message: ObjectMessage },
    /// All replicas of this class whose home is `node` are forgotten: its stream may be followed again.
    Forgotten { class: PublishedClass, node: NodeId },
    /// Instances of this class have another home, whose stream is needed from now on.
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

    /// Gives a callback to a federate that is no message.
    pub(crate) fn tell(&mut self, to: ClientId, callback: Callback) {
        self.push(Effect::Deliver { to, arrival: Arrival::notice(encode(callback)) });
    }

    /// Gives a callback to a federate that is a message in receive order, such as a removal.
    pub(crate) fn deliver(&mut self, to: ClientId, callback: Callback) {
        self.push(Effect::Deliver { to, arrival: Arrival::receive_order(encode(callback), false) });
    }

    /// Proposes a command whose outcome no call waits for.
    pub(crate) fn propose(&mut self, command: Command) {
        self.push(Effect::Propose(Box::new(Proposal::new(command))));
    }

    /// Lets the other nodes learn of a change.
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

    /// A federate no longer knows an instance: its stream may no longer be needed here. A flag and no effect, since the
    /// order is of no importance and there may be a million of them in one call.
    pub(crate) fn review_following(&mut self) {
        self.review_following = true;
    }

    /// Whether streams are to be reviewed; asked once.
    pub(crate) fn take_review_following(&mut self) -> bool {
        std::mem::take(&mut self.review_following)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes the effects out. The buffer comes back by [`Effects::reuse`], so that a call need not allocate one.
    pub(crate) fn take(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.list)
    }

    /// Gives an emptied buffer back.
    pub(crate) fn reuse(&mut self, buffer: Vec<Effect>) {
        /// Effects for which room is kept. A call with more, such as the resignation of an owner of a million
        /// instances, must not cost memory for ever.
        const KEPT_MAX: usize = 4096;
        debug_assert!(buffer.is_empty(), "effects that are not applied would be lost");
        if self.list.is_empty() && buffer.capacity() <= KEPT_MAX {
            self.list = buffer;
        }
    }
}

fn encode(callback: Callback) -> bytes::Bytes {
    CallbackRequest { callback_request: Some(callback) }.encode_to_vec().into()
}
