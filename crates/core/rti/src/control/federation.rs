//! One federation execution, as the control plane records it.

use super::management::RTI;
use super::restoring::Restore;
use super::saving::Saves;
use super::{Event, ExecutionId, NameTable, NodeId, PublishedClass, SyncPoints};
use hla::api::ResignAction;
use hla::fom::Fdd;
use hla::handle::FederateHandle;
use hla::time::TimeKind;
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A joined federate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// Its name, unique among the joined federates.
    pub name: String,
    /// Its type, as given by the federate.
    pub federate_type: String,
    /// The node that it is connected to.
    pub node: NodeId,
    /// Its automatic resign directive: how its objects are disposed of if its node dies.
    #[serde(with = "super::wire::resign_action")]
    pub directive: ResignAction,
    /// The host that it runs on, as its node knows it; empty if unknown.
    pub host: String,
    /// The designators of the modules that it passed when it joined, without those of modules that
    /// another one repeats.
    pub modules: Vec<String>,
}

/// A federate that joins, without its name.
pub(super) struct Newcomer {
    pub(super) federate_type: String,
    pub(super) node: NodeId,
    pub(super) host: String,
    pub(super) modules: Vec<String>,
}

/// Memory of an empty federation execution, in bytes.
pub(crate) const FEDERATION_BYTES: usize = 2 << 10;

/// Memory that a joined federate costs, in all machines: `meshrti bench memory` measures 5.3 KiB
/// with its session.
pub(crate) const MEMBER_BYTES: usize = 4 << 10;

/// A federation execution: object model, members, synchronization points, names.
#[derive(Clone)]
pub struct Federation {
    /// Its id.
    pub id: ExecutionId,
    /// Its name.
    pub name: String,
    /// Its logical time implementation.
    pub time: TimeKind,
    /// The automatic resign directive of federates that join while the object model sets none.
    pub(super) directive: ResignAction,
    /// Its object model: MIM and all modules merged.
    pub model: Fdd,
    /// Its synchronization points.
    pub sync: SyncPoints,
    /// Object instance names that are not free.
    pub names: NameTable,
    pub(super) members: BTreeMap<FederateHandle, Member>,
    pub(super) last_federate: u32,
    /// The creator supplied a MIM of its own.
    pub(super) own_mim: bool,
    /// The number of modules at creation, and of each later extension. The model's handles follow
    /// from it.
    pub(super) batches: Vec<u32>,
    pub(super) publishers: BTreeMap<PublishedClass, BTreeSet<NodeId>>,
    /// The number of changes of `publishers`.
    pub(super) publication_changes: u64,
    /// For each node, the number of its commands about publications that were applied.
    pub(super) publication_commands: BTreeMap<NodeId, u64>,
    pub(super) time_home: Option<NodeId>,
    /// The nodes that watch classes of the management object model.
    pub(super) watchers: BTreeSet<(PublishedClass, NodeId)>,
    /// The switch autoProvide. That of the object model is its initial value.
    pub(super) auto_provide: bool,
    pub(super) saves: Saves,
    pub(super) restore: Option<Restore>,
    /// The greatest number of an instance that each node had registered before a restore.
    pub(super) last_instances: BTreeMap<NodeId, u32>,
}

impl Federation {
    pub(super) fn new(
        id: ExecutionId,
        name: String,
        time: TimeKind,
        directive: ResignAction,
        model: Fdd,
        own_mim: bool,
    ) -> Self {
        Self {
            batches: vec![u32::try_from(model.modules().len()).unwrap_or(u32::MAX)],
            publishers: BTreeMap::new(),
            publication_changes: 0,
            publication_commands: BTreeMap::new(),
            time_home: None,
            watchers: BTreeSet::new(),
            auto_provide: model.switches().auto_provide,
            saves: Saves::default(),
            restore: None,
            last_instances: BTreeMap::new(),
            own_mim,
            id,
            name,
            time,
            directive,
            model,
            sync: SyncPoints::default(),
            names: NameTable::default(),
            members: BTreeMap::new(),
            last_federate: 0,
        }
    }

    /// Memory without the object model, in bytes: an estimate for names, synchronization points and
    /// members. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        FEDERATION_BYTES
            + self.members.len() * MEMBER_BYTES
            + self.sync.bytes(self.members.len())
            + self.names.bytes()
            + self.restore_bytes()
    }

    /// The joined federates by handle.
    pub fn members(&self) -> impl Iterator<Item = (FederateHandle, &Member)> {
        self.members.iter().map(|(&handle, member)| (handle, member))
    }

    /// The number of joined federates.
    pub fn member_count(&self) -> usize {
        self.members.len()
    }

    /// The joined federate with this handle.
    pub fn member(&self, federate: FederateHandle) -> Option<&Member> {
        self.members.get(&federate)
    }

    /// The joined federate called `name`.
    pub fn member_by_name(&self, name: &str) -> Option<FederateHandle> {
        self.members.iter().find(|(_, member)| member.name == name).map(|(&handle, _)| handle)
    }

    /// Whether the handle was assigned to a federate that is joined or has left.
    pub fn was_member(&self, federate: FederateHandle) -> bool {
        federate.is_valid() && federate.0 <= self.last_federate
    }

    /// The federate that joined last; invalid if none ever did.
    pub fn latest_federate(&self) -> FederateHandle {
        FederateHandle(self.last_federate)
    }

    /// The number of extensions of the object model.
    pub fn model_version(&self) -> u32 {
        self.batches.len() as u32 - 1
    }

    /// The nodes that publish `class`, by number.
    pub fn publishers(&self, class: PublishedClass) -> impl Iterator<Item = NodeId> + '_ {
        self.publishers.get(&class).into_iter().flatten().copied()
    }

    /// All publications, each with every node that has it.
    pub fn publications(&self) -> impl Iterator<Item = (PublishedClass, NodeId)> + '_ {
        self.publishers.iter().flat_map(|(&class, nodes)| nodes.iter().map(move |&node| (class, node)))
    }

    /// The number of publications that have begun or ended.
    pub fn publication_changes(&self) -> u64 {
        self.publication_changes
    }

    /// The number of `Publishes` commands of a node that were applied. The node compares it with the
    /// number that it has proposed: a publication may be ended and begun again by two commands that
    /// are both on their way.
    pub fn publication_commands(&self, node: NodeId) -> u64 {
        self.publication_commands.get(&node).copied().unwrap_or(0)
    }

    /// The node that merges the bounds of all federates in logical time; `None` if there never was
    /// one.
    pub fn time_home(&self) -> Option<NodeId> {
        self.time_home
    }

    /// The nodes that watch a class of the management object model.
    pub fn watchers(&self, class: PublishedClass) -> impl Iterator<Item = NodeId> + '_ {
        let of_class = self.watchers.range((class, NodeId(0))..=(class, NodeId(u16::MAX)));
        of_class.map(|(_, node)| *node)
    }

    pub(super) fn set_watcher(
        &mut self,
        node: NodeId,
        class: PublishedClass,
        on: bool,
    ) -> Result<Vec<Event>, RtiError> {
        self.check_class(class)?;
        let watcher = (class, node);
        let changed = if on { self.watchers.insert(watcher) } else { self.watchers.remove(&watcher) };
        let event = Event::Watched { execution: self.id, node, class, on };
        Ok(changed.then_some(event).into_iter().collect())
    }

    /// Checks that the object model has a class.
    fn check_class(&self, class: PublishedClass) -> Result<(), RtiError> {
        match class {
            PublishedClass::Objects(class) if self.model.object_class(class).is_none() => {
                Err(RtiError::new(Exception::InvalidObjectClassHandle, format!("{class:?}")))
            }
            PublishedClass::Interactions(class) if self.model.interaction_class(class).is_none() => {
                Err(RtiError::new(Exception::InvalidInteractionClassHandle, format!("{class:?}")))
            }
            _ => Ok(()),
        }
    }

    /// The nodes that have federates.
    pub fn nodes(&self) -> BTreeSet<NodeId> {
        self.members.values().map(|member| member.node).collect()
    }

    /// The switch autoProvide (6.20).
    pub fn auto_provide(&self) -> bool {
        self.auto_provide
    }

    pub(super) fn set_auto_provide(&mut self, on: bool) -> Vec<Event> {
        let changes = std::mem::replace(&mut self.auto_provide, on) != on;
        changes.then_some(Event::AutoProvideSet { execution: self.id, on }).into_iter().collect()
    }

    pub(super) fn set_time_home(&mut self, node: NodeId) -> Vec<Event> {
        if self.time_home.is_some() {
            return Vec::new();
        }
        self.time_home = Some(node);
        vec![Event::TimeHomeSet { execution: self.id }]
    }

    pub(super) fn set_publisher(
        &mut self,
        node: NodeId,
        class: PublishedClass,
        on: bool,
    ) -> Result<Vec<Event>, RtiError> {
        *self.publication_commands.entry(node).or_default() += 1;
        self.check_class(class)?;
        let nodes = self.publishers.entry(class).or_default();
        let changed = if on { nodes.insert(node) } else { nodes.remove(&node) };
        if nodes.is_empty() {
            self.publishers.remove(&class);
        }
        self.publication_changes += u64::from(changed);
        let event = Event::PublishersChanged { execution: self.id, node, class, on };
        Ok(changed.then_some(event).into_iter().collect())
    }

    pub(super) fn set_directive(&mut self, federate: FederateHandle, directive: ResignAction) {
        if let Some(member) = self.members.get_mut(&federate) {
            member.directive = directive;
        }
    }

    pub(super) fn join(
        &mut self,
        name: Option<String>,
        extended: Option<Fdd>,
        newcomer: Newcomer,
    ) -> Result<Vec<Event>, RtiError> {
        let next = self.last_federate.checked_add(1).map(FederateHandle);
        let federate = next.filter(|&next| next != RTI).ok_or_else(|| {
            RtiError::internal(format!("all federate handles of `{}` were given out", self.name))
        })?;
        let name = match name {
            Some(name) => name,
            None => self.unused_name(federate),
        };
        if self.member_by_name(&name).is_some() {
            let text = format!("a federate called `{name}` is joined to `{}`", self.name);
            return Err(RtiError::new(Exception::FederateNameAlreadyInUse, text));
        }
        let Newcomer { federate_type, node, host, modules } = newcomer;
        self.last_federate = federate.0;
        tracing::info!(federation = self.name, federate = name, kind = federate_type, %node, "federate joined");
        let mut events = Vec::new();
        if let Some(model) = extended {
            self.batches.push((model.modules().len() - self.model.modules().len()) as u32);
            self.model = model;
            events.push(Event::ModelExtended(self.id));
        }
        let directive = self.model.automatic_resign_directive().unwrap_or(self.directive);
        self.members.insert(federate, Member { name, federate_type, node, directive, host, modules });
        events.push(Event::Joined { execution: self.id, federate });
        for (label, tag) in self.sync.join(federate) {
            let to = BTreeSet::from([federate]);
            events.push(Event::SyncAnnounced { execution: self.id, to, label, tag });
        }
        Ok(events)
    }

    fn unused_name(&self, federate: FederateHandle) -> String {
        let mut number = federate.0;
        loop {
            let name = format!("HLAfederate_{number}");
            if self.member_by_name(&name).is_none() {
                return name;
            }
            number += 1;
        }
    }

    /// A federate leaves after its objects were disposed of.
    pub(super) fn resign(&mut self, federate: FederateHandle, action: ResignAction) -> Vec<Event> {
        self.leave(federate, Some(action))
    }

    /// Resigns all federates of a node that is gone, and forgets its publications.
    pub(super) fn remove_node(&mut self, node: NodeId) -> Vec<Event> {
        let takes_part = self.nodes_of_image().contains(&node);
        self.publishers.retain(|_, nodes| {
            nodes.remove(&node);
            !nodes.is_empty()
        });
        self.publication_changes += 1;
        self.publication_commands.remove(&node);
        self.watchers.retain(|(_, watcher)| *watcher != node);
        let here = self.members.iter().filter(|(_, member)| member.node == node);
        let gone: Vec<_> = here.map(|(&federate, _)| federate).collect();
        let had_federates = !gone.is_empty();
        let mut events: Vec<_> = gone.into_iter().flat_map(|federate| self.leave(federate, None)).collect();
        if let Some((number, _)) = self.scheduled_save() {
            events.extend(self.reach_save(number, (node, false), BTreeSet::new()));
        }
        // The loss of federates fails a save or a restore as soon as the others have answered.
        if !had_federates {
            if takes_part {
                events.extend(self.lose_node_of_save());
            }
            events.extend(self.lose_node_of_restore(node));
        }
        if self.time_home == Some(node) {
            self.time_home = self.nodes().first().copied();
        }
        events
    }

    /// A federate leaves. `action`: its node has disposed of its objects in this way. `None`: it is
    /// lost with its node.
    fn leave(&mut self, federate: FederateHandle, action: Option<ResignAction>) -> Vec<Event> {
        let Some(Member { name, node, directive, .. }) = self.members.remove(&federate) else {
            return Vec::new();
        };
        self.names.resign(federate);
        let (execution, lost) = (self.id, action.is_none());
        if lost {
            tracing::warn!(federation = self.name, federate = name, %node, "federate lost with its node");
        } else {
            tracing::info!(federation = self.name, federate = name, %node, "federate resigned");
        }
        let action = action.unwrap_or(directive);
        let mut events = vec![Event::Resigned { execution, federate, name, node, action, lost }];
        for point in self.sync.resign(federate) {
            events.push(Event::Synchronized { execution: self.id, point });
        }
        events.extend(self.leave_save(federate));
        events.extend(self.leave_restore(federate));
        events
    }

    pub(super) fn register_sync(
        &mut self,
        federate: FederateHandle,
        label: String,
        tag: Vec<u8>,
        set: &BTreeSet<FederateHandle>,
    ) -> Vec<Event> {
        let joined: BTreeSet<_> = self.members.keys().copied().collect();
        let execution = self.id;
        let registration = |refusal, label| Event::SyncRegistration { execution, federate, label, refusal };
        match self.sync.register(&label, &tag, set, &joined) {
            Ok(to) => {
                vec![registration(None, label.clone()), Event::SyncAnnounced { execution, to, label, tag }]
            }
            Err(refusal) => vec![registration(Some(refusal), label)],
        }
    }

    pub(super) fn achieve_sync(
        &mut self,
        federate: FederateHandle,
        label: &str,
        success: bool,
    ) -> Result<Vec<Event>, RtiError> {
        if !self.sync.is_announced_to(label, federate) {
            let text = format!("synchronization point `{label}` is not announced to this federate");
            return Err(RtiError::new(Exception::SynchronizationPointLabelNotAnnounced, text));
        }
        let done = self.sync.achieve(label, federate, success);
        Ok(done.map(|point| Event::Synchronized { execution: self.id, point }).into_iter().collect())
    }

    pub(super) fn reserve_names(
        &mut self,
        federate: FederateHandle,
        names: BTreeSet<String>,
        multiple: bool,
    ) -> Vec<Event> {
        let granted = names.iter().all(|name| self.names.is_free(name));
        if granted {
            for name in &names {
                self.names.reserve(name, federate);
            }
        }
        vec![Event::NamesReserved { execution: self.id, federate, names, granted, multiple }]
    }

    pub(super) fn release_names(
        &mut self,
        federate: FederateHandle,
        names: &BTreeSet<String>,
    ) -> Result<(), RtiError> {
        if let Some(name) = names.iter().find(|name| !self.names.is_reserved_by(name, federate)) {
            let text = format!("`{name}` is not reserved by this federate");
            return Err(RtiError::new(Exception::ObjectInstanceNameNotReserved, text));
        }
        for name in names {
            self.names.release(name, federate);
        }
        Ok(())
    }
}
