//! What followed from a command.

use super::{ExecutionId, NodeId, PublishedClass, SyncRefusal, Synchronized};
use base::NodeKey;
use hla::api::ResignAction;
use hla::handle::FederateHandle;
use std::collections::BTreeSet;

/// What applying a [`Command`](super::Command) changed, for the object plane and the federates of each node.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A federation execution exists.
    Created(ExecutionId),
    /// A federation execution is gone.
    Destroyed(ExecutionId),
    /// The object model of a federation execution grew; old handles are unchanged.
    ModelExtended(ExecutionId),
    /// A federate joined.
    Joined {
        /// Which federation execution.
        execution: ExecutionId,
        /// Its handle.
        federate: FederateHandle,
    },
    /// A federate left.
    Resigned {
        /// Which federation execution.
        execution: ExecutionId,
        /// The handle it had.
        federate: FederateHandle,
        /// The node it was connected to.
        node: NodeId,
        /// How its objects are dealt with: the action of a federate that resigned, the automatic resign directive of
        /// one that was lost.
        action: ResignAction,
        /// Its node is gone and its objects are still to be dealt with. False: its node has dealt with them.
        lost: bool,
    },
    /// Outcome of a registration, for the registrant.
    SyncRegistration {
        /// Which federation execution.
        execution: ExecutionId,
        /// The registrant.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// The reason of a refusal.
        refusal: Option<SyncRefusal>,
    },
    /// A point is announced to some federates.
    SyncAnnounced {
        /// Which federation execution.
        execution: ExecutionId,
        /// Whom to tell.
        to: BTreeSet<FederateHandle>,
        /// The label.
        label: String,
        /// The registrant's tag.
        tag: Vec<u8>,
    },
    /// A federate's automatic resign directive is another one.
    DirectiveSet {
        /// Which federation execution.
        execution: ExecutionId,
        /// The federate.
        federate: FederateHandle,
        /// Its directive from now on.
        directive: ResignAction,
    },
    /// A federation is synchronized.
    Synchronized {
        /// Which federation execution.
        execution: ExecutionId,
        /// The point.
        point: Synchronized,
    },
    /// Outcome of a name reservation, for the federate that asked.
    NamesReserved {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who asked.
        federate: FederateHandle,
        /// The names, as asked for.
        names: BTreeSet<String>,
        /// All of them are its own now; or else none, because at least one was taken.
        granted: bool,
        /// Which service asked.
        multiple: bool,
    },
    /// A node is part of the network.
    NodeAdded {
        /// Its number.
        node: NodeId,
        /// Which start of it.
        key: NodeKey,
        /// Its name.
        name: String,
    },
    /// A node is gone for good; [`Event::Resigned`] of its federates came before. It publishes nothing any more,
    /// which no [`Event::PublishersChanged`] says.
    NodeRemoved {
        /// The number it had; not given again.
        node: NodeId,
        /// Which start of it.
        key: NodeKey,
    },
    /// A node publishes a class from now on, or no more.
    PublishersChanged {
        /// Which federation execution.
        execution: ExecutionId,
        /// The node.
        node: NodeId,
        /// What it publishes.
        what: PublishedClass,
        /// Whether it does.
        on: bool,
    },
    /// Members of a synchronized point could not be told: this node was so far behind that the point's outcome is
    /// known no more. Only a restored snapshot leads to it.
    SyncMissed {
        /// Which federation execution.
        execution: ExecutionId,
        /// The label.
        label: String,
        /// Who was not told.
        federates: BTreeSet<FederateHandle>,
    },
}
