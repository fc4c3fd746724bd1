//! The memory that the control plane takes.

use super::{Command, ControlPlane, ExecutionId, Federation};

/// Memory that a model without modules takes: the tables of the standard MIM.
const MODEL_BYTES: usize = 160 << 10;

/// Memory that an object model takes for each octet of the text of its modules: the text, what was
/// read of it, and the tables of the model. Measured for the densest text, that of classes without
/// anything; it is less for others.
const BYTES_PER_OCTET: usize = 12;

/// What all federation executions take, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Memory {
    federations: usize,
    models: usize,
}

impl ControlPlane {
    /// Names, synchronization points and members of all federation executions, about. Cost: none.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.federations
    }

    /// Object models of all federation executions, about. A module that several of them have counts
    /// for each. Cost: none.
    pub(crate) fn model_bytes(&self) -> usize {
        self.memory.models
    }

    /// What the execution takes that a command concerns; see [`count_memory`](Self::count_memory).
    pub(super) fn federation_bytes(&self, concerned: Option<ExecutionId>) -> usize {
        concerned.and_then(|id| self.execution(id)).map_or(0, Federation::bytes)
    }

    /// A command was applied, before which the execution that it concerns took `before` bytes. One
    /// that concerns several, or none yet, is rare: then all are counted.
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
    /// Memory that its object model takes, about.
    fn model_bytes(&self) -> usize {
        let own_mim = Some(self.model.mim()).filter(|_| self.own_mim);
        let octets = self.model.modules().iter().chain(own_mim).map(|module| module.text().len());
        model_bytes_of(octets.sum())
    }
}

/// Memory that a model of modules takes whose texts have so many octets, about.
pub(crate) const fn model_bytes_of(octets: usize) -> usize {
    MODEL_BYTES + octet_bytes(octets)
}

/// Memory that modules with so many octets of text take in a model, about.
pub(crate) const fn octet_bytes(octets: usize) -> usize {
    octets.saturating_mul(BYTES_PER_OCTET)
}

impl Command {
    /// The one federation execution whose memory the command may change.
    pub(super) fn concerned(&self) -> Option<ExecutionId> {
        match *self {
            Self::Resign { execution, .. }
            | Self::RegisterSync { execution, .. }
            | Self::AchieveSync { execution, .. }
            | Self::ReserveNames { execution, .. }
            | Self::ReleaseNames { execution, .. }
            | Self::UseName { execution, .. }
            | Self::FreeName { execution, .. }
            | Self::Publishes { execution, .. }
            | Self::SetResignDirective { execution, .. } => Some(execution),
            Self::Create { .. }
            | Self::Destroy { .. }
            | Self::Join { .. }
            | Self::AddNode { .. }
            | Self::RemoveNode { .. }
            | Self::Barrier => None,
        }
    }
}
