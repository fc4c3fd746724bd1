//! Calls with FOM modules.

use crate::control::{Command, ControlPlane, NodeId, model_bytes_of, octet_bytes};
use crate::modules::{Build, ModuleText, Opened, SentModule, has_text};
use crate::proposal::Waiting;
use hla::RtiError;
use hla::api::ResignAction;
use hla::fom::{Budget, Fdd, FomError};

/// Octets of text that are compared with the object model's on the kernel's thread, because every
/// further federate sends modules that the model already has. This many take some 2 ms.
const COMPARED_AT_ONCE_BYTES: usize = 4 << 20;

/// A call with FOM modules, before they are read.
pub(crate) struct ModuleCall {
    pub(crate) waiting: Waiting,
    /// The MIM of a new federation execution. `None`: the standard one.
    pub(crate) mim: Option<SentModule>,
    pub(crate) modules: Vec<SentModule>,
    pub(crate) purpose: Purpose,
}

/// The purpose of a call's modules.
pub(crate) enum Purpose {
    /// Create Federation Execution (4.5).
    Create { federation: String, time: String, directive: ResignAction },
    /// Join Federation Execution (4.11).
    Join { federation: String, name: Option<String>, federate_type: String, host: String },
}

impl Purpose {
    /// The model to which the modules belong: `Some(None)` is a new one. `None`: no model is
    /// needed, because the call will be refused.
    pub(crate) fn base(&self, control: &ControlPlane) -> Option<Option<Fdd>> {
        match self {
            Self::Create { federation, time, .. } => control.may_create(federation, time).then_some(None),
            Self::Join { federation, .. } => control.model_to_extend(federation).cloned().map(Some),
        }
    }

    /// The command of the call. Modules that the federation execution already has are left out.
    pub(crate) fn command(self, control: &ControlPlane, node: NodeId, opened: Opened) -> Command {
        let Opened { mim, modules, new } = opened;
        match self {
            Self::Create { federation, time, directive } => {
                Command::Create { federation, mim, modules, time, directive }
            }
            Self::Join { federation, name, federate_type, host } => {
                let known = control.federation(&federation).filter(|_| new.len() < modules.len());
                let known = known.map(|federation| federation.id);
                let designators = designators(&modules);
                let modules = new.into_iter().map(|index| modules[index].clone()).collect();
                Command::Join { federation, name, federate_type, modules, known, node, host, designators }
            }
        }
    }
}

/// The designators of modules; the first one, of those with the same text.
fn designators(modules: &[ModuleText]) -> Vec<String> {
    let mut first: Vec<&ModuleText> = Vec::new();
    for module in modules {
        if first.iter().all(|earlier| earlier.text != module.text) {
            first.push(module);
        }
    }
    first.into_iter().map(|module| module.designator.clone()).collect()
}

impl ModuleCall {
    /// Octets of its modules, in the form they were sent.
    pub(crate) fn bytes(&self) -> usize {
        self.modules.iter().chain(&self.mim).map(SentModule::len).sum()
    }

    /// Additional memory, in bytes, that the object model would take for `new_octets` of text.
    pub(crate) fn growth(&self, new_octets: usize) -> usize {
        match self.purpose {
            Purpose::Create { .. } => model_bytes_of(new_octets),
            Purpose::Join { .. } => octet_bytes(new_octets),
        }
    }

    /// Its modules, if processing them takes little time: they are short, known, or not needed.
    ///
    /// # Errors
    /// The modules exceed the limits of one call.
    pub(crate) fn open_at_once(&self, control: &ControlPlane) -> Result<Option<Opened>, RtiError> {
        let limits = control.limits();
        let mut budget = Budget::new(limits);
        let of_mim = self.mim.iter().map(|module| (module, true));
        for (module, of_mim) in of_mim.chain(self.modules.iter().map(|module| (module, false))) {
            module.charge(limits, &mut budget).map_err(|mut error: FomError| {
                error.of_mim = of_mim;
                error.to_rti_error()
            })?;
        }
        if self.bytes() > COMPARED_AT_ONCE_BYTES {
            return Ok(None);
        }
        let mim = self.mim.as_ref().map(SentModule::as_text);
        let modules: Option<Vec<_>> = self.modules.iter().map(|module| module.as_text().cloned()).collect();
        let (Some(modules), None | Some(Some(_))) = (modules, mim) else { return Ok(None) };
        let mut opened = Opened { mim: mim.flatten().cloned(), new: (0..modules.len()).collect(), modules };
        let Some(base) = self.purpose.base(control) else { return Ok(Some(opened)) };
        if let Some(base) = &base {
            opened.new.retain(|&index| !has_text(base, &opened.modules[index].text));
            if opened.new.is_empty() {
                return Ok(Some(opened));
            }
        }
        let new = opened.new.iter().map(|&index| opened.modules[index].clone()).collect();
        let build = Build { base, mim: opened.mim.clone(), batches: vec![new] };
        Ok(control.is_model_ready(&build).then_some(opened))
    }
}
