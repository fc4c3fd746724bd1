//! Modules that were read, and models that were made, for those who need them next.

use super::build::{Build, is_small_model};
use hla::RtiError;
use hla::fom::{Fdd, Limits, Module};
use std::collections::VecDeque;

/// Octets of modules that are read at once, by default: it takes less than a millisecond.
pub(crate) const AT_ONCE_BYTES: usize = 16 << 10;

/// How many modules that were read are kept for the next federation or federate that brings them.
const READ_MODULES_MAX: usize = 64;

/// Octets of text of the modules that are kept; the one read last is kept in any case.
const READ_BYTES_MAX: usize = 64 << 20;

/// How many models are kept until the commands that need them have their turn. One that was dropped is made again.
const BUILT_MODELS_MAX: usize = 16;

/// Octets of text of the models that are kept; the one made last is kept in any case.
const BUILT_BYTES_MAX: usize = 64 << 20;

/// Modules that were read: every federate of a federation brings the same ones.
#[derive(Clone, Default)]
pub(crate) struct ReadModules {
    /// The ones used last are at the end.
    modules: VecDeque<Module>,
    /// How many were read, those included that are no longer kept.
    count: u64,
    /// Those read since they were taken last.
    fresh: Vec<Module>,
}

impl ReadModules {
    /// A module by its name and text: what is in a model must not depend on what was read before.
    pub(super) fn get(&mut self, designator: &str, digest: u64, text: &[u8]) -> Option<Module> {
        let is_it = |module: &Module| module.designator() == designator && module.has_text(digest, text);
        let place = self.modules.iter().position(is_it)?;
        let module = self.modules.remove(place)?;
        self.modules.push_back(module.clone());
        Some(module)
    }

    /// How many modules were read, ever.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// A module was read just now.
    pub(super) fn add(&mut self, module: Module) {
        self.fresh.push(module.clone());
        self.insert(module, |_| ());
    }

    /// The modules that were read since the last time.
    pub(super) fn take_fresh(&mut self) -> Vec<Module> {
        std::mem::take(&mut self.fresh)
    }

    /// Keeps a module, in the place of others.
    fn insert(&mut self, module: Module, mut drop: impl FnMut(Module)) {
        self.count += 1;
        self.modules.push_back(module);
        let mut bytes: usize = self.modules.iter().map(|module| module.text().len()).sum();
        while self.modules.len() > READ_MODULES_MAX || (bytes > READ_BYTES_MAX && self.modules.len() > 1) {
            let Some(oldest) = self.modules.pop_front() else { break };
            bytes -= oldest.text().len();
            drop(oldest);
        }
    }
}

/// Large models and modules that nobody needs any longer: to free the largest takes a tenth of a second.
#[derive(Default)]
pub(crate) struct Discarded {
    models: Vec<Fdd>,
    modules: Vec<Module>,
}

impl Discarded {
    fn is_empty(&self) -> bool {
        self.models.is_empty() && self.modules.is_empty()
    }
}

/// Modules that were read, models that were made, and the limits on both.
pub(crate) struct ModuleCache {
    limits: Limits,
    /// See [`Config::fom_at_once_bytes`](crate::Config::fom_at_once_bytes).
    at_once: usize,
    read: ReadModules,
    /// The ones made last are at the end.
    built: VecDeque<(Build, Result<Fdd, RtiError>)>,
    discarded: Discarded,
}

impl Default for ModuleCache {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl ModuleCache {
    pub(crate) fn new(limits: Limits) -> Self {
        let (read, built, discarded) = Default::default();
        Self { limits, at_once: AT_ONCE_BYTES, read, built, discarded }
    }

    pub(crate) fn set_at_once(&mut self, bytes: usize) {
        self.at_once = bytes;
    }

    /// A cache with other limits, and what was read so far.
    pub(crate) fn with_limits(&self, limits: Limits) -> Self {
        Self { at_once: self.at_once, read: self.read.clone(), ..Self::new(limits) }
    }

    /// The limits on every module.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The modules that were read so far.
    pub(crate) fn read(&self) -> &ReadModules {
        &self.read
    }

    /// The modules that were read so far, for another cache.
    pub(crate) fn into_read(self) -> ReadModules {
        self.read
    }

    /// Takes over what another cache has read.
    pub(crate) fn set_read(&mut self, read: ReadModules) {
        self.read = read;
    }

    /// Keeps what a job has read.
    pub(crate) fn insert_read(&mut self, modules: Vec<Module>) {
        let discarded = &mut self.discarded.modules;
        modules.into_iter().for_each(|module| self.read.insert(module, |oldest| discarded.push(oldest)));
    }

    /// A model is no longer needed here. A large one is freed by a job, if this is the last clone of it.
    pub(crate) fn discard(&mut self, model: Fdd) {
        if !is_small_model(&model) {
            self.discarded.models.push(model);
        }
    }

    /// A cache is no longer needed.
    pub(crate) fn discard_all(&mut self, other: Self) {
        let models = other.built.into_iter().filter_map(|(_, model)| model.ok());
        models.chain(other.discarded.models).for_each(|model| self.discard(model));
        self.discarded.modules.extend(other.discarded.modules);
    }

    /// Models and modules to be freed elsewhere.
    pub(crate) fn take_discarded(&mut self) -> Option<Discarded> {
        (!self.discarded.is_empty()).then(|| std::mem::take(&mut self.discarded))
    }

    /// Keeps a model until it is [taken](Self::take).
    pub(crate) fn keep(&mut self, build: Build, model: Result<Fdd, RtiError>) {
        self.built.retain(|(kept, _)| !kept.is(&build));
        self.built.push_back((build, model));
        let mut bytes: usize = self.built.iter().map(|(build, _)| build.bytes()).sum();
        while self.built.len() > BUILT_MODELS_MAX || (bytes > BUILT_BYTES_MAX && self.built.len() > 1) {
            let Some((build, model)) = self.built.pop_front() else { break };
            bytes -= build.bytes();
            model.into_iter().for_each(|model| self.discard(model));
        }
    }

    /// Whether [`take`](Self::take) takes little time.
    pub(crate) fn is_ready(&self, build: &Build) -> bool {
        build.is_small(self.at_once) || self.kept(build).is_some()
    }

    /// A model that is kept, and stays so.
    pub(crate) fn kept(&self, build: &Build) -> Option<&Result<Fdd, RtiError>> {
        self.built.iter().find(|(kept, _)| kept.is(build)).map(|(_, model)| model)
    }

    /// The model: the one that is kept, else made now.
    ///
    /// # Errors
    /// The exception for the federate that brought the modules.
    pub(crate) fn take(&mut self, build: &Build) -> Result<Fdd, RtiError> {
        let place = self.built.iter().position(|(kept, _)| kept.is(build));
        if let Some((_, model)) = place.and_then(|place| self.built.remove(place)) {
            return model;
        }
        let model = build.run(&mut self.read, &self.limits, None);
        self.read.take_fresh();
        model
    }
}
