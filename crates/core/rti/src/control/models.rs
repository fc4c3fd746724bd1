//! Object models that take long to build. A job builds them before the command that needs them is
//! applied.

use super::{Command, ControlPlane};
use crate::modules::{Build, Discarded, ReadModules};
use hla::RtiError;
use hla::fom::{Fdd, Limits, Module};
use hla::time::TimeKind;

impl ControlPlane {
    /// The model that `command` needs and that would take long to build, if any. A command that is
    /// refused anyway needs none.
    pub(crate) fn model_of(&self, command: &Command) -> Option<Build> {
        let build = match command {
            Command::Create { federation, mim, modules, time, .. } => {
                self.may_create(federation, time).then(|| Build::create(mim.as_ref(), modules))
            }
            Command::Join { federation, modules, known, .. } => {
                let base = self
                    .model_to_extend(federation)
                    .filter(|_| !modules.is_empty() && self.check_known(federation, *known).is_ok());
                base.map(|base| Build::extend(base, modules))
            }
            _ => None,
        };
        build.filter(|build| !self.modules.is_ready(build))
    }

    /// Whether a federation execution of this name and logical time could be refused only because
    /// of its modules.
    pub(crate) fn may_create(&self, federation: &str, time: &str) -> bool {
        !federation.is_empty() && self.federation(federation).is_none() && TimeKind::from_name(time).is_ok()
    }

    /// The model that a joining federate may extend.
    pub(crate) fn model_to_extend(&self, federation: &str) -> Option<&Fdd> {
        self.federation(federation).map(|federation| &federation.model)
    }

    /// Sets the limit, in octets, up to which modules are read at once.
    pub(crate) fn set_read_at_once(&mut self, bytes: usize) {
        self.modules.set_at_once(bytes);
    }

    /// Whether the model needs no job, because it is small or already built.
    pub(crate) fn is_model_ready(&self, build: &Build) -> bool {
        self.modules.is_ready(build)
    }

    /// The limits on FOM modules.
    pub(crate) fn limits(&self) -> &Limits {
        self.modules.limits()
    }

    /// The modules that have been read.
    pub(crate) fn read_modules(&self) -> &ReadModules {
        self.modules.read()
    }

    /// Keeps the modules that a job has read.
    pub(crate) fn keep_read(&mut self, modules: Vec<Module>) {
        self.modules.insert_read(modules);
    }

    /// Keeps a model for the command or the snapshot that needs it.
    pub(crate) fn keep_model(&mut self, build: Build, model: Result<Fdd, RtiError>) {
        self.modules.keep(build, model);
    }

    /// Releases a model that is no longer needed here.
    pub(crate) fn discard_model(&mut self, model: Fdd) {
        self.modules.discard(model);
    }

    /// Takes the place of `older`, whose memory a job frees so that nobody waits for it.
    pub(crate) fn discard(&mut self, older: Self) {
        let models = older.federations.into_values().map(|federation| federation.model);
        models.for_each(|model| self.modules.discard(model));
        self.modules.discard_all(older.modules);
    }

    /// Models and modules that a job is to free.
    pub(crate) fn take_discarded(&mut self) -> Option<Discarded> {
        self.modules.take_discarded()
    }

    /// Takes over the modules that another control plane has read.
    pub(crate) fn take_read(&mut self, other: &mut Self) {
        self.modules.set_read(std::mem::take(&mut other.modules).into_read());
    }
}
