//! The control plane: the part of a federation execution's state that all nodes share.
//!
//! [`ControlPlane`] is one deterministic state machine, `apply(command) -> events`. It holds the
//! federation executions with their object models, members, synchronization points and object
//! instance names, and the nodes of the network with their publications. It holds nothing that
//! changes with every update. A total order of the commands, made by a single node or by a
//! replicated log, keeps all copies equal.

mod channels;
mod command;
mod difference;
mod event;
mod federation;
mod image;
pub(crate) mod management;
mod memory;
mod models;
mod names;
mod nodes;
mod restoring;
mod saving;
mod snapshot;
mod sync;
mod wire;

pub use channels::Channels;
pub(crate) use channels::InLanes;
pub use command::{Command, PublishedClass};
pub use event::Event;
pub(crate) use federation::{FEDERATION_BYTES, MEMBER_BYTES};
pub use federation::{Federation, Member};
pub use image::FederationImage;
pub(crate) use memory::{model_bytes_of, octet_bytes};
pub use names::NameTable;
pub use nodes::NodeRecord;
pub(crate) use restoring::{Assignment, Placement, placed};
pub(crate) use saving::Activity;
pub use saving::TimeOctets;
pub use snapshot::DecodedSnapshot;
pub(crate) use snapshot::State;
pub use sync::{SyncPoints, SyncRefusal, Synchronized};
pub(crate) use wire::resign_action;
pub use wire::{Encoding, WireError};

use crate::modules::{Build, ModuleCache, ModuleText};
use base::{NodeKey, id};
use federation::Newcomer;
use hla::api::ResignAction;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use hla::time::TimeKind;
use hla::{Exception, RtiError};
use nodes::Nodes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

id! {
    /// A federation execution. Ids are never reused, so that a stale id finds nothing.
    #[derive(Serialize, Deserialize)]
    pub struct ExecutionId(u32) as "x";
    /// A node of the router network. A single node is number 1.
    #[derive(Serialize, Deserialize)]
    pub struct NodeId(u16) as "n";
}

impl NodeId {
    /// A node without a network; also its number in the network that it creates.
    pub const SINGLE: Self = Self(1);

    /// No node: the home of the instances of the management object model, which every node makes by
    /// itself.
    pub(crate) const RTI: Self = Self(0);

    /// No node: the home of instances that are deleted, in a restored federation execution that has no
    /// part of their home. No network comes to have this number of nodes.
    pub(crate) const GONE: Self = Self(u16::MAX);

    /// The node that registered an object instance. The high half of the handle holds it.
    pub const fn of_instance(instance: ObjectInstanceHandle) -> Self {
        Self((instance.0 >> 32) as u16)
    }

    /// The number that its node gave an object instance. The low half of the handle holds it.
    pub(crate) const fn number_of(instance: ObjectInstanceHandle) -> u32 {
        (instance.0 & u32::MAX as u64) as u32
    }

    /// The least and the greatest handle of the object instances that this node registers.
    pub(crate) const fn instances(self) -> (ObjectInstanceHandle, ObjectInstanceHandle) {
        let first = (self.0 as u64) << 32;
        (ObjectInstanceHandle(first | 1), ObjectInstanceHandle(first | u32::MAX as u64))
    }
}

/// All federation executions and nodes. Equal on all nodes that have applied the same commands.
#[derive(Default)]
pub struct ControlPlane {
    federations: BTreeMap<String, Federation>,
    names: BTreeMap<ExecutionId, String>,
    last_execution: u32,
    nodes: Nodes,
    modules: ModuleCache,
    memory: memory::Memory,
    /// Federation executions with names that are to be swept.
    unswept: BTreeSet<ExecutionId>,
}

impl ControlPlane {
    /// A control plane without federation executions.
    ///
    /// `limits` apply to every FOM module that is read.
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

    /// The id of the federation execution that was created last; 0 if there never was one.
    pub fn last_execution(&self) -> ExecutionId {
        ExecutionId(self.last_execution)
    }

    /// Whether nodes were ever added. Then only those of [`ControlPlane::nodes`] may have
    /// federates.
    pub fn is_network(&self) -> bool {
        self.nodes.is_network()
    }

    /// The number of nodes that were removed from the network.
    pub fn removals(&self) -> u32 {
        self.nodes.removed.len() as u32
    }

    /// The node with this number, if it is part of the network.
    pub fn node(&self, node: NodeId) -> Option<&NodeRecord> {
        self.nodes.live.get(&node)
    }

    /// The node with this key, if it is part of the network.
    pub fn node_by_key(&self, key: NodeKey) -> Option<&NodeRecord> {
        self.nodes.by_key(key)
    }

    /// The nodes that are part of the network, by number. Empty without a network: a single node is
    /// not recorded.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &NodeRecord> {
        self.nodes.live.values()
    }

    /// The live node with the lowest number, which becomes the new home of instances whose node is
    /// gone.
    pub fn lowest_live_node(&self) -> Option<NodeId> {
        self.nodes.live.keys().next().copied()
    }

    /// Applies one command that `sender` proposed.
    ///
    /// # Errors
    /// As [`ControlPlane::apply`]. Commands of nodes that are not members are rejected, as are
    /// commands on behalf of another node.
    pub fn apply_from(&mut self, sender: NodeKey, command: Command) -> Result<Vec<Event>, RtiError> {
        self.check_sender(sender, &command)?;
        self.apply(command)
    }

    fn check_sender(&self, sender: NodeKey, command: &Command) -> Result<(), RtiError> {
        let claimed = match *command {
            Command::AddNode { .. } | Command::RemoveNode { .. } | Command::Barrier => return Ok(()),
            Command::Join { node, .. }
            | Command::Publishes { node, .. }
            | Command::SetTimeHome { node, .. }
            | Command::Watch { node, .. }
            | Command::ReachSave { node, .. }
            | Command::AtRest { node, .. }
            | Command::PartCopied { node, .. }
            | Command::PartStored { node, .. }
            | Command::PartRead { node, .. } => Some(node),
            _ => None,
        };
        if !self.nodes.is_network() {
            return Ok(());
        }
        let record = self.node_by_key(sender).ok_or_else(|| {
            RtiError::internal(format!("this RTI node ({sender}) is not part of the network"))
        })?;
        match claimed {
            Some(node) if node != record.node => {
                let text = format!("node `{}` ({}, {sender}) speaks as {node}", record.name, record.node);
                Err(RtiError::internal(text))
            }
            _ => Ok(()),
        }
    }

    /// Applies one command.
    ///
    /// # Errors
    /// The exception for the federate that asked. A failed command changes nothing.
    pub fn apply(&mut self, command: Command) -> Result<Vec<Event>, RtiError> {
        let concerned = command.concerned();
        let before = self.federation_bytes(concerned);
        let applied = self.apply_uncounted(command);
        self.count_memory(concerned, before);
        for event in applied.iter().flatten() {
            if let Event::Resigned { execution, .. } = *event
                && self.execution(execution).is_some_and(|federation| federation.names.is_unswept())
            {
                self.unswept.insert(execution);
            }
        }
        // The first slice is done at once. Nearly always there is no other one.
        self.sweep_names();
        applied
    }

    /// Whether names of federates that have left are still to be removed.
    pub(crate) fn has_unswept_names(&self) -> bool {
        !self.unswept.is_empty()
    }

    /// Removes names of federates that have left, in one slice. No command can tell the difference,
    /// so each node does it at its own pace.
    pub(crate) fn sweep_names(&mut self) {
        /// Number of entries that one slice visits. Removing one takes half a microsecond.
        const VISITED_PER_SLICE: usize = 2_000;
        let Some(&id) = self.unswept.first() else { return };
        let before = self.federation_bytes(Some(id));
        let name = self.names.get(&id);
        let swept = name.and_then(|name| self.federations.get_mut(name)).is_none_or(|federation| {
            federation.names.sweep(VISITED_PER_SLICE);
            !federation.names.is_unswept()
        });
        self.count_memory(Some(id), before);
        if swept {
            self.unswept.remove(&id);
        }
    }

    fn apply_uncounted(&mut self, command: Command) -> Result<Vec<Event>, RtiError> {
        match command {
            Command::Create { federation, mim, modules, time, directive } => {
                self.create(federation, mim.as_ref(), &modules, &time, directive)
            }
            Command::Destroy { federation } => self.destroy(&federation),
            Command::Join { federation, name, federate_type, modules, known, node, host, designators } => {
                self.check_known(&federation, known)?;
                let newcomer = Newcomer { federate_type, node, host, modules: designators };
                self.join(&federation, name, &modules, newcomer)
            }
            Command::AddNode { key, name } => self.nodes.add(key, name),
            Command::RemoveNode { key } => Ok(self.remove_node(key)),
            Command::Publishes { execution, node, class, on } => {
                self.check_node(node)?;
                self.execution_mut(execution)?.set_publisher(node, class, on)
            }
            Command::SetTimeHome { execution, node } => {
                self.check_node(node)?;
                Ok(self.execution_mut(execution)?.set_time_home(node))
            }
            Command::Watch { execution, node, class, on } => {
                self.check_node(node)?;
                self.execution_mut(execution)?.set_watcher(node, class, on)
            }
            Command::SetAutoProvide { execution, on } => {
                Ok(self.execution_mut(execution)?.set_auto_provide(on))
            }
            Command::Barrier => Ok(Vec::new()),
            of_members => self.apply_of_members(of_members),
        }
    }

    /// Applies a command of a joined federate, or of its node on its behalf.
    fn apply_of_members(&mut self, command: Command) -> Result<Vec<Event>, RtiError> {
        match command {
            Command::Resign { execution, federate, action } => {
                Ok(self.execution_mut(execution)?.resign(federate, action))
            }
            Command::RegisterSync { execution, federate, label, tag, set } => {
                Ok(self.execution_of(execution, federate)?.register_sync(federate, label, tag, &set))
            }
            Command::AchieveSync { execution, federate, label, success } => {
                self.execution_of(execution, federate)?.achieve_sync(federate, &label, success)
            }
            Command::ReserveNames { execution, federate, names, multiple } => {
                Ok(self.execution_of(execution, federate)?.reserve_names(federate, names, multiple))
            }
            Command::ReleaseNames { execution, federate, names } => {
                self.execution_of(execution, federate)?.release_names(federate, &names)?;
                Ok(Vec::new())
            }
            Command::SetResignDirective { execution, federate, directive } => {
                self.execution_of(execution, federate)?.set_directive(federate, directive);
                Ok(vec![Event::DirectiveSet { execution, federate, directive }])
            }
            Command::UseName { execution, name, instance } => {
                let adopted = !self.nodes.may_act(NodeId::of_instance(instance));
                self.execution_mut(execution)?.names.use_for(&name, instance, adopted)?;
                Ok(Vec::new())
            }
            Command::FreeName { execution, name, instance } => {
                self.execution_mut(execution)?.names.free(&name, instance);
                Ok(Vec::new())
            }
            of_saves => self.apply_of_saves(of_saves),
        }
    }

    /// Applies a command about a save or a restore.
    fn apply_of_saves(&mut self, command: Command) -> Result<Vec<Event>, RtiError> {
        match command {
            Command::RequestSave { execution, federate, label, time } => {
                self.execution_of(execution, federate)?.request_save(label, time)
            }
            Command::ReachSave { execution, number, node, federates, all } => {
                Ok(self.execution_mut(execution)?.reach_save(number, (node, all), federates))
            }
            Command::BeginSave { execution, federate } => {
                self.execution_of(execution, federate)?.begin_save(federate)
            }
            Command::CompleteSave { execution, federate, success } => {
                self.execution_of(execution, federate)?.complete_save(federate, success)
            }
            Command::AbortSave { execution, federate } => {
                self.execution_of(execution, federate)?.abort_save()
            }
            Command::AtRest { execution, number, node, channels } => {
                let (federation, nodes) = self.execution_and_nodes(execution)?;
                Ok(federation.at_rest(number, node, *channels, nodes))
            }
            Command::PartCopied { execution, number, node, digest, last_instances } => {
                let name = self.nodes.name(node).to_owned();
                let federation = self.execution_mut(execution)?;
                Ok(federation.part_copied(number, (node, name), digest, last_instances))
            }
            Command::PartStored { execution, number, node, failure } => {
                Ok(self.execution_mut(execution)?.part_stored(number, node, failure.as_deref()))
            }
            Command::RequestRestore { execution, federate, label } => {
                self.execution_of(execution, federate)?.request_restore(federate, label)
            }
            Command::BeginRestore { execution, number, image } => {
                let (federation, nodes) = self.execution_and_nodes(execution)?;
                Ok(federation.begin_restore(number, *image, nodes))
            }
            Command::RefuseRestore { execution, number, why } => {
                Ok(self.execution_mut(execution)?.refuse_restore(number, &why))
            }
            Command::PartRead { execution, number, node, failure } => {
                self.part_read(execution, number, node, failure.as_deref())
            }
            Command::CompleteRestore { execution, federate, success } => {
                self.complete_restore(execution, federate, success)
            }
            Command::AbortRestore { execution, federate } => {
                self.execution_of(execution, federate)?.abort_restore()
            }
            _ => Ok(Vec::new()),
        }
    }

    fn create(
        &mut self,
        name: String,
        mim: Option<&ModuleText>,
        modules: &[ModuleText],
        time: &str,
        directive: ResignAction,
    ) -> Result<Vec<Event>, RtiError> {
        if name.is_empty() {
            return Err(RtiError::internal("a federation execution needs a name that is not empty"));
        }
        if self.federations.contains_key(&name) {
            let text = format!("federation execution `{name}` exists");
            return Err(RtiError::new(Exception::FederationExecutionAlreadyExists, text));
        }
        let time = TimeKind::from_name(time)?;
        let model = self.modules.take(&Build::create(mim, modules))?;
        let id = self.next_execution()?;
        tracing::info!(federation = name, modules = modules.len(), "federation execution created");
        self.names.insert(id, name.clone());
        let federation = Federation::new(id, name.clone(), time, directive, model, mim.is_some());
        self.federations.insert(name, federation);
        Ok(vec![Event::Created(id)])
    }

    fn next_execution(&mut self) -> Result<ExecutionId, RtiError> {
        self.last_execution = self
            .last_execution
            .checked_add(1)
            .ok_or_else(|| RtiError::internal("all numbers of federation executions were given out"))?;
        Ok(ExecutionId(self.last_execution))
    }

    fn destroy(&mut self, name: &str) -> Result<Vec<Event>, RtiError> {
        let federation = self.federations.get(name).ok_or_else(|| no_federation(name))?;
        if federation.member_count() > 0 {
            let text = format!("{} federates are joined to `{name}`", federation.member_count());
            return Err(RtiError::new(Exception::FederatesCurrentlyJoined, text));
        }
        let id = federation.id;
        tracing::info!(federation = name, "federation execution destroyed");
        if let Some(gone) = self.federations.remove(name) {
            self.modules.discard(gone.model);
        }
        self.names.remove(&id);
        Ok(vec![Event::Destroyed(id)])
    }

    fn join(
        &mut self,
        federation: &str,
        name: Option<String>,
        modules: &[ModuleText],
        newcomer: Newcomer,
    ) -> Result<Vec<Event>, RtiError> {
        self.check_node(newcomer.node)?;
        let execution = self.federations.get_mut(federation).ok_or_else(|| no_federation(federation))?;
        execution.check_idle()?;
        let extended = match modules {
            [] => None,
            modules => Some(self.modules.take(&Build::extend(&execution.model, modules))?),
        };
        // A module may be present even though its octets are not, if they were in another encoding.
        let known = execution.model.modules().len();
        let extended = extended.filter(|model| model.modules().len() > known);
        if extended.is_some() {
            self.modules.discard(execution.model.clone());
        }
        execution.join(name, extended, newcomer)
    }

    /// A join that leaves modules out must refer to the very execution that had them.
    fn check_known(&self, name: &str, known: Option<ExecutionId>) -> Result<(), RtiError> {
        match (known, self.federations.get(name)) {
            (Some(known), Some(federation)) if federation.id != known => Err(RtiError::internal(format!(
                "federation execution `{name}` was destroyed and created again meanwhile; join again"
            ))),
            _ => Ok(()),
        }
    }

    /// Resigns all federates of a node, by execution and handle, and removes the node.
    fn remove_node(&mut self, key: NodeKey) -> Vec<Event> {
        let Some(gone) = self.nodes.remove(key) else { return Vec::new() };
        let mut events = Vec::new();
        for name in self.names.values() {
            if let Some(federation) = self.federations.get_mut(name) {
                events.extend(federation.remove_node(gone.node));
                events.extend(federation.review_draining(&self.nodes));
            }
        }
        events.push(Event::NodeRemoved { node: gone.node, key });
        events
    }

    fn check_node(&self, node: NodeId) -> Result<(), RtiError> {
        if self.nodes.may_act(node) {
            return Ok(());
        }
        Err(RtiError::internal(format!("node {node} is not part of the network")))
    }

    /// The federation execution, provided that `federate` is joined to it.
    fn execution_of(
        &mut self,
        id: ExecutionId,
        federate: FederateHandle,
    ) -> Result<&mut Federation, RtiError> {
        let federation = self.execution_mut(id)?;
        match federation.member(federate) {
            Some(_) => Ok(federation),
            None => Err(not_joined()),
        }
    }

    /// A federation execution, and the nodes of the network.
    fn execution_and_nodes(&mut self, id: ExecutionId) -> Result<(&mut Federation, &Nodes), RtiError> {
        let name = self.names.get(&id);
        let federation = name.and_then(|name| self.federations.get_mut(name));
        Ok((federation.ok_or_else(not_joined)?, &self.nodes))
    }

    fn execution_mut(&mut self, id: ExecutionId) -> Result<&mut Federation, RtiError> {
        let name = self.names.get(&id);
        let federation = name.and_then(|name| self.federations.get_mut(name));
        federation.ok_or_else(not_joined)
    }
}

fn not_joined() -> RtiError {
    RtiError::new(Exception::FederateNotExecutionMember, "not joined any more")
}

fn no_federation(name: &str) -> RtiError {
    RtiError::new(
        Exception::FederationExecutionDoesNotExist,
        format!("there is no federation execution `{name}`"),
    )
}

#[cfg(test)]
mod tests;
