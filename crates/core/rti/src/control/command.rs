//! Commands: changes of the control plane.

use super::{Channels, ExecutionId, FederationImage, NodeId, TimeOctets};
use crate::modules::ModuleText;
use base::NodeKey;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A publication of a node. Nodes find each other at this granularity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum PublishedClass {
    /// Instances registered at exactly this class. The node publishes it while one of its federates
    /// publishes the class or an instance of the class has its home there.
    Objects(ObjectClassHandle),
    /// Interactions sent at exactly this class.
    Interactions(InteractionClassHandle),
    /// Directed interactions of any class.
    Directed,
}

/// A change of the control plane, in the order that all nodes agree on.
///
/// The wire form follows the declaration: new variants go to the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Create Federation Execution (4.5).
    Create {
        /// Name of the federation execution.
        federation: String,
        /// The MIM, when the federate brings its own.
        mim: Option<ModuleText>,
        /// FOM modules, in any order.
        modules: Vec<ModuleText>,
        /// Name of the logical time implementation; empty for the default.
        time: String,
        /// The automatic resign directive of federates, for modules that set none: that of the
        /// creating node.
        #[serde(with = "super::wire::resign_action")]
        directive: ResignAction,
    },
    /// Destroy Federation Execution (4.6).
    Destroy {
        /// Name of the federation execution.
        federation: String,
    },
    /// Join Federation Execution (4.11).
    Join {
        /// Name of the federation execution.
        federation: String,
        /// Name of the federate; `None` lets the RTI make one.
        name: Option<String>,
        /// Type of the federate.
        federate_type: String,
        /// Additional FOM modules.
        modules: Vec<ModuleText>,
        /// Set if modules that this federation execution already had were left out. Every federate
        /// brings the same modules, and they are large.
        known: Option<ExecutionId>,
        /// The node that the federate is connected to.
        node: NodeId,
        /// The host that the federate runs on, as its node knows it.
        host: String,
        /// The designators of all modules that it passed, those that were left out included.
        designators: Vec<String>,
    },
    /// Resign Federation Execution (4.12), after the federate's objects were disposed of.
    Resign {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that resigns.
        federate: FederateHandle,
        /// The way in which its node has disposed of its objects. If that node dies before the
        /// other nodes have heard of this, they do the same to the instances that they still know
        /// as the federate's.
        #[serde(with = "super::wire::resign_action")]
        action: ResignAction,
    },
    /// Register Federation Synchronization Point (4.14).
    RegisterSync {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that registers the point.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// The tag for the announcement.
        tag: Vec<u8>,
        /// The synchronization set; empty for all federates, later joiners included.
        set: BTreeSet<FederateHandle>,
    },
    /// Synchronization Point Achieved (4.17).
    AchieveSync {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that achieved the point.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// False: the federate reached the point, but without success.
        success: bool,
    },
    /// Reserve Object Instance Name (6.2) or Reserve Multiple Object Instance Names (6.5).
    ReserveNames {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that reserves the names.
        federate: FederateHandle,
        /// The names.
        names: BTreeSet<String>,
        /// Whether the second service was called; the callbacks differ.
        multiple: bool,
    },
    /// Release Object Instance Name (6.4) or Release Multiple Object Instance Names (6.7).
    ReleaseNames {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that releases the names.
        federate: FederateHandle,
        /// The names. Either all of them are released or none.
        names: BTreeSet<String>,
    },
    /// An instance was registered under a reserved name. Also used by the new home of an instance
    /// whose node is gone, to make sure that the name stays taken.
    UseName {
        /// The federation execution.
        execution: ExecutionId,
        /// The name.
        name: String,
        /// The instance.
        instance: ObjectInstanceHandle,
    },
    /// The instance of that name is gone. No effect if the name belongs to another instance by
    /// then.
    FreeName {
        /// The federation execution.
        execution: ExecutionId,
        /// The name.
        name: String,
        /// The instance.
        instance: ObjectInstanceHandle,
    },
    /// A node becomes part of the network and gets a number. No effect if it is part of it already.
    AddNode {
        /// Its incarnation.
        key: NodeKey,
        /// Its name, unique among the nodes that are part of the network.
        name: String,
    },
    /// A node is gone for good: its federates are resigned. No effect if it is not part of the
    /// network.
    RemoveNode {
        /// Its incarnation.
        key: NodeKey,
    },
    /// A node has its first publisher of a class, or no longer has any.
    Publishes {
        /// The federation execution.
        execution: ExecutionId,
        /// The node.
        node: NodeId,
        /// The publication.
        class: PublishedClass,
        /// Whether the node publishes it from now on.
        on: bool,
    },
    /// Set Automatic Resign Directive (10.45): how the federate's objects are disposed of if it is
    /// lost.
    SetResignDirective {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that set it.
        federate: FederateHandle,
        /// The directive.
        #[serde(with = "super::wire::resign_action")]
        directive: ResignAction,
    },
    /// Changes nothing. A node that has reached its own barrier in the log reads a state no older
    /// than the barrier.
    Barrier,
    /// A federate of the node is the first of a federation execution to use logical time. The node
    /// becomes its time home, unless there is one.
    SetTimeHome {
        /// The federation execution.
        execution: ExecutionId,
        /// The node.
        node: NodeId,
    },
    /// Federates of the node subscribe a class of the management object model (clause 11), or no
    /// longer do. Other nodes tell it what they alone know.
    Watch {
        /// The federation execution.
        execution: ExecutionId,
        /// The node.
        node: NodeId,
        /// The class: HLAfederate, or an interaction that the RTI sends.
        class: PublishedClass,
        /// Whether it watches from now on.
        on: bool,
    },
    /// HLAsetSwitches of the federation (11.4): the switch autoProvide.
    SetAutoProvide {
        /// The federation execution.
        execution: ExecutionId,
        /// Its value from now on.
        on: bool,
    },
    /// Request Federation Save (4.19).
    RequestSave {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that requests it.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// The logical time of the save; `None`: as soon as possible.
        time: Option<TimeOctets>,
    },
    /// Constrained federates of a node have come to the time of a save.
    ReachSave {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the save.
        number: u64,
        /// The node.
        node: NodeId,
        /// The federates.
        federates: BTreeSet<FederateHandle>,
        /// All constrained federates of the node have come to it. Once that is so at all nodes, the other
        /// federates are told as well.
        all: bool,
    },
    /// Federate Save Begun (4.21).
    BeginSave {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate.
        federate: FederateHandle,
    },
    /// Federate Save Complete, or Not Complete (4.22).
    CompleteSave {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate.
        federate: FederateHandle,
        /// Whether the federate has saved its state.
        success: bool,
    },
    /// Abort Federation Save (4.24).
    AbortSave {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that requests it.
        federate: FederateHandle,
    },
    /// A node has nothing left to do before it copies its part of an image, and its channels to the
    /// others are as given.
    AtRest {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the save.
        number: u64,
        /// The node.
        node: NodeId,
        /// How much it has sent and received.
        channels: Box<Channels>,
    },
    /// A node has copied its part of an image.
    PartCopied {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the save.
        number: u64,
        /// The node.
        node: NodeId,
        /// A fingerprint of the octets of the part.
        digest: u64,
        /// The greatest number of an instance in it, by the node that registered the instance.
        last_instances: BTreeMap<NodeId, u32>,
    },
    /// The part of a node is on a disk, or could not be copied or stored.
    PartStored {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the save.
        number: u64,
        /// The node.
        node: NodeId,
        /// The reason why it could not be stored.
        failure: Option<String>,
    },
    /// Request Federation Restore (4.27).
    RequestRestore {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that requests it.
        federate: FederateHandle,
        /// The label of the save.
        label: String,
    },
    /// The image of a requested restore was read.
    BeginRestore {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the request.
        number: u64,
        /// The common part of the image.
        image: Box<FederationImage>,
    },
    /// The image of a requested restore does not exist or cannot be read.
    RefuseRestore {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the request.
        number: u64,
        /// The reason.
        why: String,
    },
    /// A node has read its part of an image.
    PartRead {
        /// The federation execution.
        execution: ExecutionId,
        /// The number of the request.
        number: u64,
        /// The node.
        node: NodeId,
        /// The reason why it cannot use that part.
        failure: Option<String>,
    },
    /// Federate Restore Complete, or Not Complete (4.31).
    CompleteRestore {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate.
        federate: FederateHandle,
        /// Whether the federate has restored its state.
        success: bool,
    },
    /// Abort Federation Restore (4.33).
    AbortRestore {
        /// The federation execution.
        execution: ExecutionId,
        /// The federate that requests it.
        federate: FederateHandle,
    },
}
