//! The control plane: what a federation execution *is*, on every node alike.
//!
//! [`ControlPlane`] is one deterministic machine, `apply(command) -> events`. It holds federations,
//! their object models, who is joined, synchronization points and object instance names, and nothing
//! that changes with every update. Whoever puts commands in one order for all nodes (a single node,
//! a replicated log) keeps every copy equal.

mod federation;
mod names;
mod sync;

pub use federation::{Federation, Member};
pub use names::NameTable;
pub use sync::{SyncPoints, SyncRefusal, Synchronized};

use crate::modules::{ModuleCache, ModuleText};
use base::id;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use hla::time::TimeKind;
use hla::{Exception, RtiError};
use std::collections::{BTreeMap, BTreeSet};

id! {
    /// A federation execution; never used again, so that a stale id finds nothing.
    pub struct ExecutionId(u32) as "x";
    /// A node of the router network. A single node is number 1.
    pub struct NodeId(u16) as "n";
}

/// A change of the control plane, in the order that all nodes agree on.
#[derive(Clone, Debug)]
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
        /// The node that the federate is connected to.
        node: NodeId,
    },
    /// Resign Federation Execution (4.12), after the federate's objects were dealt with.
    Resign {
        /// Which federation execution.
        execution: ExecutionId,
        /// Who leaves.
        federate: FederateHandle,
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
    /// An instance was registered under a reserved name.
    UseName {
        /// Which federation execution.
        execution: ExecutionId,
        /// The name.
        name: String,
        /// The instance.
        instance: ObjectInstanceHandle,
    },
    /// The instance of that name is gone.
    FreeName {
        /// Which federation execution.
        execution: ExecutionId,
        /// The name.
        name: String,
    },
}

/// What applying a [`Command`] changed, for the object plane and the federates of each node.
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
}

/// All federation executions, as every node knows them.
#[derive(Default)]
pub struct ControlPlane {
    federations: BTreeMap<String, Federation>,
    names: BTreeMap<ExecutionId, String>,
    last_execution: u32,
    modules: ModuleCache,
}

impl ControlPlane {
    /// A control plane without federations.
    ///
    /// `limits` bound every FOM module that is read.
    pub fn new(limits: hla::fom::Limits) -> Self {
        Self { modules: ModuleCache::new(limits), ..Self::default() }
    }

    /// The federation execution called `name`.
    pub fn federation(&self, name: &str) -> Option<&Federation> {
        self.federations.get(name)
    }

    /// The federation execution with this id.
    pub fn execution(&self, id: ExecutionId) -> Option<&Federation> {
        self.federations.get(self.names.get(&id)?)
    }

    /// All federation executions, by name.
    pub fn federations(&self) -> impl Iterator<Item = &Federation> {
        self.federations.values()
    }

    /// Applies one command.
    ///
    /// # Errors
    /// The exception for the federate that asked. A command that fails changes nothing.
    pub fn apply(&mut self, command: Command) -> Result<Vec<Event>, RtiError> {
        match command {
            Command::Create { federation, mim, modules, time } => {
                self.create(federation, mim.as_ref(), &modules, &time)
            }
            Command::Destroy { federation } => self.destroy(&federation),
            Command::Join { federation, name, federate_type, modules, node } => {
                self.join(&federation, name, federate_type, &modules, node)
            }
            Command::Resign { execution, federate } => Ok(self.execution_mut(execution)?.resign(federate)),
            Command::RegisterSync { execution, federate, label, tag, set } => {
                Ok(self.execution_mut(execution)?.register_sync(federate, label, tag, &set))
            }
            Command::AchieveSync { execution, federate, label, success } => {
                self.execution_mut(execution)?.achieve_sync(federate, &label, success)
            }
            Command::ReserveNames { execution, federate, names, multiple } => {
                Ok(self.execution_mut(execution)?.reserve_names(federate, names, multiple))
            }
            Command::ReleaseNames { execution, federate, names } => {
                self.execution_mut(execution)?.release_names(federate, &names)?;
                Ok(Vec::new())
            }
            Command::UseName { execution, name, instance } => {
                self.execution_mut(execution)?.names.use_for(&name, instance);
                Ok(Vec::new())
            }
            Command::FreeName { execution, name } => {
                self.execution_mut(execution)?.names.free(&name);
                Ok(Vec::new())
            }
        }
    }

    fn create(
        &mut self,
        name: String,
        mim: Option<&ModuleText>,
        modules: &[ModuleText],
        time: &str,
    ) -> Result<Vec<Event>, RtiError> {
        if name.is_empty() {
            return Err(RtiError::internal("a federation execution needs a name that is not empty"));
        }
        if self.federations.contains_key(&name) {
            let text = format!("federation execution `{name}` exists");
            return Err(RtiError::new(Exception::FederationExecutionAlreadyExists, text));
        }
        let time = TimeKind::from_name(time)?;
        let model = self.modules.create_model(mim, modules)?;
        self.last_execution += 1;
        let id = ExecutionId(self.last_execution);
        self.names.insert(id, name.clone());
        self.federations.insert(name.clone(), Federation::new(id, name, time, model));
        Ok(vec![Event::Created(id)])
    }

    fn destroy(&mut self, name: &str) -> Result<Vec<Event>, RtiError> {
        let federation = self.federations.get(name).ok_or_else(|| no_federation(name))?;
        if federation.member_count() > 0 {
            let text = format!("{} federates are joined to `{name}`", federation.member_count());
            return Err(RtiError::new(Exception::FederatesCurrentlyJoined, text));
        }
        let id = federation.id;
        self.federations.remove(name);
        self.names.remove(&id);
        Ok(vec![Event::Destroyed(id)])
    }

    fn join(
        &mut self,
        federation: &str,
        name: Option<String>,
        federate_type: String,
        modules: &[ModuleText],
        node: NodeId,
    ) -> Result<Vec<Event>, RtiError> {
        let execution = self.federations.get_mut(federation).ok_or_else(|| no_federation(federation))?;
        let extended = self.modules.extend_model(&execution.model, modules)?;
        execution.join(name, federate_type, extended, node)
    }

    fn execution_mut(&mut self, id: ExecutionId) -> Result<&mut Federation, RtiError> {
        let name = self.names.get(&id);
        let federation = name.and_then(|name| self.federations.get_mut(name));
        federation.ok_or_else(|| RtiError::new(Exception::FederateNotExecutionMember, "not joined any more"))
    }
}

fn no_federation(name: &str) -> RtiError {
    RtiError::new(
        Exception::FederationExecutionDoesNotExist,
        format!("there is no federation execution `{name}`"),
    )
}
