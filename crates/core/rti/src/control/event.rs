//! Events: the consequences of commands.

use super::{ExecutionId, NodeId, PublishedClass, SyncRefusal, Synchronized, TimeOctets};
use base::NodeKey;
use hla::api::{ResignAction, RestoreFailureReason, SaveFailureReason};
use hla::handle::FederateHandle;
use std::collections::{BTreeMap, BTreeSet};

/// A change made by applying a [`Command`](super::Command), for the object plane and the federates
/// of each node.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A federation execution was created.
    Created(ExecutionId),
    /// A federation execution was destroyed.
    Destroyed(ExecutionId),
    /// The object model of a federation execution was extended. Existing handles are unchanged.
    ModelExtended(ExecutionId),
    /// A federate joined.
    Joined {
        /// The federation execution.
        execution: ExecutionId,
        /// Its handle.
        federate: FederateHandle,
    },
    /// A federate resigned or was lost.
    Resigned {
        /// The federation execution.
        execution: ExecutionId,
        /// The handle it had.
        federate: FederateHandle,
        /// The name it had.
        name: String,
        /// The node it was connected to.
        node: NodeId,
        /// How its objects are disposed of: the action of a federate that resigned, or the
        /// automatic resign directive of one that was lost.
        action: ResignAction,
        /// True: its node is gone, and its objects must still be disposed of. False: its node has
        /// disposed of them.
        lost: bool,
    },
    /// The outcome of a registration, for the registrant.
    SyncRegistration {
        /// The federation execution.
        execution: ExecutionId,
        /// The registrant.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// The reason for a refusal.
        refusal: Option<SyncRefusal>,
    },
    /// A point is announced to some federates.
    SyncAnnounced {
        /// The federation execution.
        execution: ExecutionId,
        /// The federates to tell.
        to: BTreeSet<FederateHandle>,
        /// The label.
        label: String,
        /// The registrant's tag.
        tag: Vec<u8>,
    },
    /// The automatic resign directive of a federate has changed.
    DirectiveSet {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate.
        federate: FederateHandle,
        /// Its directive from now on.
        directive: ResignAction,
    },
    /// A federation is synchronized.
    Synchronized {
        /// The federation execution.
        execution: ExecutionId,
        /// The point.
        point: Synchronized,
    },
    /// The outcome of a name reservation, for the federate that asked.
    NamesReserved {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that asked.
        federate: FederateHandle,
        /// The names, as asked for.
        names: BTreeSet<String>,
        /// True: the federate has reserved all of them. False: it has reserved none, because at
        /// least one was taken.
        granted: bool,
        /// Whether the service for several names was called.
        multiple: bool,
    },
    /// A node has become part of the network.
    NodeAdded {
        /// Its number.
        node: NodeId,
        /// Its incarnation.
        key: NodeKey,
        /// Its name.
        name: String,
    },
    /// A node is gone for good. [`Event::Resigned`] of its federates came before. It publishes
    /// nothing any longer; no [`Event::PublishersChanged`] reports this.
    NodeRemoved {
        /// The number it had, which is not assigned again.
        node: NodeId,
        /// Its incarnation.
        key: NodeKey,
    },
    /// A node publishes a class from now on, or no longer does.
    PublishersChanged {
        /// The federation execution.
        execution: ExecutionId,
        /// The node.
        node: NodeId,
        /// The publication.
        class: PublishedClass,
        /// Whether the node publishes it.
        on: bool,
    },
    /// A federation execution has a time home from now on. The removal of a node may change it
    /// without this event.
    TimeHomeSet {
        /// The federation execution.
        execution: ExecutionId,
    },
    /// The switch autoProvide has another value.
    AutoProvideSet {
        /// The federation execution.
        execution: ExecutionId,
        /// Its value from now on.
        on: bool,
    },
    /// A node watches a class of the management object model, or no longer does. The removal of a
    /// node ends this without an event.
    Watched {
        /// The federation execution.
        execution: ExecutionId,
        /// The node.
        node: NodeId,
        /// The class.
        class: PublishedClass,
        /// Whether it watches from now on.
        on: bool,
    },
    /// Members of a synchronized point cannot be told its outcome: this node was so far behind that
    /// the outcome is no longer recorded. Only restoring a snapshot leads to this event.
    SyncMissed {
        /// The federation execution.
        execution: ExecutionId,
        /// The label.
        label: String,
        /// The federates that were not told.
        federates: BTreeSet<FederateHandle>,
    },
    /// A save with a time was requested, or replaced, or is no longer wanted.
    SaveScheduled {
        /// The federation execution.
        execution: ExecutionId,
    },
    /// Federates are instructed to save (4.20).
    SaveInitiated {
        /// The federation execution.
        execution: ExecutionId,
        /// The label.
        label: String,
        /// The logical time of the save, if it has one.
        time: Option<TimeOctets>,
        /// The federates.
        to: BTreeSet<FederateHandle>,
    },
    /// All federates have saved: nodes report when they have nothing left to do.
    SaveAnswered {
        /// The federation execution.
        execution: ExecutionId,
    },
    /// Nothing is on its way between the nodes any longer: each copies its part of the image.
    SaveDrained {
        /// The federation execution.
        execution: ExecutionId,
    },
    /// The parts of all nodes are known: each stores its own one.
    PartsCopied {
        /// The federation execution.
        execution: ExecutionId,
    },
    /// A save has ended (4.23).
    SaveEnded {
        /// The federation execution.
        execution: ExecutionId,
        /// The federates that were told of it.
        to: BTreeSet<FederateHandle>,
        /// The reason why it has failed.
        failure: Option<SaveFailureReason>,
    },
    /// A restore was requested: the node of the federate reads the image.
    RestoreRequested {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the request.
        number: u64,
        /// The federate that requested it.
        federate: FederateHandle,
        /// The label.
        label: String,
    },
    /// The answer to the request of a restore (4.28).
    RestoreAnswered {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that requested it.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// Whether the restore begins.
        granted: bool,
    },
    /// A restore begins (4.29, 4.30).
    RestoreBegun {
        /// The federation execution.
        execution: ExecutionId,
        /// The label.
        label: String,
        /// The federates, with the handle and the name of the saved federate that each becomes.
        to: BTreeMap<FederateHandle, (FederateHandle, String)>,
    },
    /// A federation execution was restored (4.32): another one has taken its place.
    Restored {
        /// The federation execution that is gone.
        from: ExecutionId,
        /// The restored one.
        to: ExecutionId,
        /// The saved federate that each federate has become.
        assignment: BTreeMap<FederateHandle, FederateHandle>,
    },
    /// A restore has failed (4.32). The federation execution is as it was before.
    NotRestored {
        /// The federation execution.
        execution: ExecutionId,
        /// The federates that were told of it.
        to: BTreeSet<FederateHandle>,
        /// The reason.
        reason: RestoreFailureReason,
    },
}
