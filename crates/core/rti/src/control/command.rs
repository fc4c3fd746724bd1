//! What changes the control plane.

use super::{ExecutionId, NodeId};
use crate::modules::ModuleText;
use base::NodeKey;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a node may publish: the granularity at which nodes find each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum PublishedClass {
    /// Instances registered at exactly this class: one of the node's federates publishes the class, or an instance
    /// of it has its home there.
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
        /// The automatic resign directive of federates where the modules set none: that of the creating node.
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
        /// Name of the federate; `None` has the RTI make one.
        name: Option<String>,
        /// Type of the federate.
        federate_type: String,
        /// Additional FOM modules.
        modules: Vec<ModuleText>,
        /// Modules that this federation execution had already were left out: every federate brings the same ones, and
        /// they are large.
        known: Option<ExecutionId>,
        /// The node that the federate is connected to.
        node: NodeId,
    },
    /// Resign Federation Execution (4.12), after the federate's objects were dealt with.
    Resign {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who leaves.
        federate: FederateHandle,
        /// How its node has disposed of its objects. The other nodes do the same to those that they still know as its own
        /// should its node die before they hear of it.
        #[serde(with = "super::wire::resign_action")]
        action: ResignAction,
    },
    /// Register Federation Synchronization Point (4.14).
    RegisterSync {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who registers.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// The tag for the announcement.
        tag: Vec<u8>,
        /// Who shall synchronize; empty for everybody, later joiners included.
        set: BTreeSet<FederateHandle>,
    },
    /// Synchronization Point Achieved (4.17).
    AchieveSync {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who achieved it.
        federate: FederateHandle,
        /// The label.
        label: String,
        /// False: the federate reached the point, but without success.
        success: bool,
    },
    /// Reserve Object Instance Name (6.2) or Reserve Multiple Object Instance Names (6.5).
    ReserveNames {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who reserves.
        federate: FederateHandle,
        /// The names.
        names: BTreeSet<String>,
        /// Which of the two services asked, as their callbacks differ.
        multiple: bool,
    },
    /// Release Object Instance Name (6.4) or Release Multiple Object Instance Names (6.7).
    ReleaseNames {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who releases.
        federate: FederateHandle,
        /// The names: all of them or none.
        names: BTreeSet<String>,
    },
    /// An instance was registered under a reserved name; or the new home of an instance, whose node is gone, makes
    /// sure that the name is still taken.
    UseName {
        /// Which federation execution.
        execution: ExecutionId,
        /// The name.
        name: String,
        /// The instance.
        instance: ObjectInstanceHandle,
    },
    /// The instance of that name is gone. Nothing when the name is another instance's by now.
    FreeName {
        /// Which federation execution.
        execution: ExecutionId,
        /// The name.
        name: String,
        /// The instance.
        instance: ObjectInstanceHandle,
    },
    /// A node becomes part of the network and gets its number. Nothing when it is part of it already.
    AddNode {
        /// Which start of it.
        key: NodeKey,
        /// Its name, unique among the nodes that are part of the network.
        name: String,
    },
    /// A node is gone for good: its federates are resigned. Nothing when it is not part of the network.
    RemoveNode {
        /// Which start of it.
        key: NodeKey,
    },
    /// A node has its first publisher of a class, or no publisher any more.
    Publishes {
        /// Which federation execution.
        execution: ExecutionId,
        /// The node.
        node: NodeId,
        /// What it publishes.
        what: PublishedClass,
        /// Whether it does from now on.
        on: bool,
    },
    /// Set Automatic Resign Directive (10.45): what becomes of the federate's objects should it be lost.
    SetResignDirective {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who set it.
        federate: FederateHandle,
        /// The directive.
        #[serde(with = "super::wire::resign_action")]
        directive: ResignAction,
    },
    /// Changes nothing. What a node reads when its barrier's turn has come is no older than the barrier.
    Barrier,
}
