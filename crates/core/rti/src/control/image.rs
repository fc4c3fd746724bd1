//! The common part of the image of a saved federation execution: what the control plane records.

use super::saving::Parts;
use super::{Federation, Member, NameTable, NodeId, PublishedClass, SyncPoints};
use base::Digest;
use hla::RtiError;
use hla::fom::Module;
use hla::handle::FederateHandle;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A module of an object model, by its name and a fingerprint of its text.
type ModuleMark = (String, u64);

/// The part of an image that one node stores.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PartMark {
    /// The name of the node; empty for one without a network.
    pub(crate) name: String,
    /// A fingerprint of its octets.
    pub(crate) digest: u64,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FederationImage {
    /// The name of its logical time implementation.
    time: String,
    /// The creator's MIM.
    mim: Option<ModuleMark>,
    modules: Vec<ModuleMark>,
    /// The number of modules at creation, and of each extension. All handles of the model follow from
    /// them.
    batches: Vec<u32>,
    pub(super) members: BTreeMap<FederateHandle, Member>,
    pub(super) last_federate: u32,
    pub(super) sync: SyncPoints,
    pub(super) names: NameTable,
    pub(super) auto_provide: bool,
    /// The greatest number of an instance that each node has registered.
    pub(super) last_instances: BTreeMap<NodeId, u32>,
    /// The parts that nodes store, by the numbers that these nodes had.
    pub(crate) parts: BTreeMap<NodeId, PartMark>,
    /// The classes that these nodes published.
    pub(super) publishers: BTreeMap<PublishedClass, BTreeSet<NodeId>>,
}

fn mark(module: &Module) -> ModuleMark {
    let mut digest = Digest::EMPTY;
    digest.octets(module.text().as_bytes());
    (module.designator().to_owned(), digest.value())
}

impl Federation {
    /// The common part of the image that is being stored.
    pub(crate) fn image(&self) -> Option<FederationImage> {
        Some(self.image_with(self.stored_parts()?))
    }

    pub(super) fn image_with(&self, Parts { marks, last_instances }: &Parts) -> FederationImage {
        let mut all = self.last_instances.clone();
        for (&node, &last) in last_instances {
            let known = all.entry(node).or_default();
            *known = last.max(*known);
        }
        FederationImage {
            time: self.time.name().to_owned(),
            mim: self.own_mim.then(|| mark(self.model.mim())),
            modules: self.model.modules().iter().map(mark).collect(),
            batches: self.batches.clone(),
            members: self.members.clone(),
            last_federate: self.last_federate,
            sync: self.sync.clone(),
            names: self.names.clone(),
            auto_provide: self.auto_provide,
            last_instances: all,
            parts: marks.clone(),
            publishers: self.publishers.clone(),
        }
    }

    /// The greatest number of an instance that a node had registered before a restore.
    pub(crate) fn last_instance(&self, node: NodeId) -> u32 {
        self.last_instances.get(&node).copied().unwrap_or(0)
    }
}

impl FederationImage {
    /// Checks that a federation execution has the logical time and the object model of the image. It
    /// may have been extended since: an extension changes no handle.
    ///
    /// # Errors
    /// The first difference.
    pub(super) fn check_fits(&self, federation: &Federation) -> Result<(), RtiError> {
        let internal = |text| Err(RtiError::internal(text));
        if self.time != federation.time.name() {
            let text = format!("it was saved with {} and has {} now", self.time, federation.time.name());
            return internal(text);
        }
        if self.mim != federation.own_mim.then(|| mark(federation.model.mim())) {
            return internal("it was saved with another MIM".to_owned());
        }
        let present: Vec<_> = federation.model.modules().iter().map(mark).collect();
        let mut at = self.modules.iter().zip(present.iter().map(Some).chain(std::iter::repeat(None)));
        if let Some(((name, _), now)) = at.find(|(saved, now)| Some(*saved) != *now) {
            return internal(match now {
                None => format!("FOM module `{name}` of the saved federation execution is missing"),
                Some((other, _)) if other == name => format!("FOM module `{name}` has another text now"),
                Some((other, _)) => format!("FOM module `{other}` is in the place of `{name}`"),
            });
        }
        if !federation.batches.starts_with(&self.batches) {
            let text = "its FOM modules were given in other calls, so that handles differ: create the \
                        federation execution with the same modules, and let federates join with theirs in \
                        the same order";
            return internal(text.to_owned());
        }
        Ok(())
    }
}
