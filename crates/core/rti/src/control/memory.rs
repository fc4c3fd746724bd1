//! The memory of the control plane.

use super::{Command, ControlPlane, ExecutionId, Federation};

/// Memory of a model without modules, in bytes: the tables of the standard MIM.
const MODEL_BYTES: usize = 160 << 10;

/// Memory of an object model for each octet of its modules' text: the text, the result of parsing
/// it, and the tables of the model. Measured for the densest text, which consists of classes
/// without content; other texts need less.
const BYTES_PER_OCTET: usize = 12;

/// The memory of all federation executions, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Memory {
    federations: usize,
    models: usize,
}

impl ControlPlane {
    /// An estimate for the names, synchronization points and members of all federation executions,
    /// in bytes. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        self.memory.federations
    }

    /// An estimate for the object models of all federation executions, in bytes. A module that
    /// several of them share counts for each. Cost: O(1).
    pub(crate) fn model_bytes(&self) -> usize {
        self.memory.models
    }

    /// The memory of the execution that a command concerns; see
    /// [`count_memory`](Self::count_memory).
    pub(super) fn federation_bytes(&self, concerned: Option<ExecutionId>) -> usize {
        concerned.and_then(|id| self.execution(id)).map_or(0, Federation::bytes)
    }

    /// Updates the sums after a command. `before` is the former memory of the execution that the
    /// command concerned. A command that concerns several executions, or none yet, is rare; all are
    /// recounted then.
    pub(super) fn count_memory(&mut self, concerned: Option<ExecutionId>, before: usize) {
        match concerned {
            Some(_) => {
                let after = self.federation_bytes(concerned);
                self.memory.federations = self.memory.federations + after - before;
            }
            None => self.recount_memory(),
        }
    }

    pub(super) fn recount_memory(&mut self) {
        let federations = self.federations.values().map(Federation::bytes).sum();
        let models = self.federations.values().map(Federation::model_bytes).sum();
        self.memory = Memory { federations, models };
    }
}

impl Federation {
    /// An estimate for its object model, in bytes.
    fn model_bytes(&self) -> usize {
        let own_mim = Some(self.model.mim()).filter(|_| self.own_mim);
        let octets = self.model.modules().iter().chain(own_mim).map(|module| module.text().len());
        model_bytes_of(octets.sum())
    }
}

/// An estimate for a model whose modules have `octets` of text, in bytes.
pub(crate) const fn model_bytes_of(octets: usize) -> usize {
    MODEL_BYTES + octet_bytes(octets)
}

/// An estimate for modules with `octets` of text within a model, in bytes.
pub(crate) const fn octet_bytes(octets: usize) -> usize {
    octets.saturating_mul(BYTES_PER_OCTET)
}

impl Command {
    /// The one federation execution that the command changes, if it exists already and keeps its id.
    pub(crate) fn concerned(&self) -> Option<ExecutionId> {
        match *self {
            Self::Resign { execution, .. }
            | Self::RegisterSync { execution, .. }
            | Self::AchieveSync { execution, .. }
            | Self::ReserveNames { execution, .. }
            | Self::ReleaseNames { execution, .. }
            | Self::UseName { execution, .. }
            | Self::FreeName { execution, .. }
            | Self::Publishes { execution, .. }
            | Self::SetTimeHome { execution, .. }
            | Self::Watch { execution, .. }
            | Self::SetAutoProvide { execution, .. }
            | Self::RequestSave { execution, .. }
            | Self::ReachSave { execution, .. }
            | Self::BeginSave { execution, .. }
            | Self::CompleteSave { execution, .. }
            | Self::AbortSave { execution, .. }
            | Self::AtRest { execution, .. }
            | Self::PartCopied { execution, .. }
            | Self::PartStored { execution, .. }
            | Self::RequestRestore { execution, .. }
            | Self::BeginRestore { execution, .. }
            | Self::RefuseRestore { execution, .. }
            | Self::AbortRestore { execution, .. }
            | Self::SetResignDirective { execution, .. } => Some(execution),
            // The restored federation execution has another id.
            Self::CompleteRestore { .. }
            | Self::PartRead { .. }
            | Self::Create { .. }
            | Self::Destroy { .. }
            | Self::Join { .. }
            | Self::AddNode { .. }
            | Self::RemoveNode { .. }
            | Self::Barrier => None,
        }
    }
}
