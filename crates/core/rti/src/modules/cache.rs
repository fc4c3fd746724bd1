//! Caches of modules that were read and of models that were built.

use super::build::{Build, is_small_model};
use hla::RtiError;
use hla::fom::{Fdd, Limits, Module};
use std::collections::VecDeque;

/// Default limit, in octets, of modules that are read at once. Reading that many takes less than a
/// millisecond.
pub(crate) const AT_ONCE_BYTES: usize = 16 << 10;

/// Number of read modules that are kept for the next federation or federate that supplies them.
const READ_MODULES_MAX: usize = 64;

/// Octets of text of the kept modules. The one read last is kept in any case.
const READ_BYTES_MAX: usize = 64 << 20;

/// Number of models that are kept until the commands that need them are applied. A model that was
/// dropped is built again.
const BUILT_MODELS_MAX: usize = 16;

/// Octets of text of the kept models. The one built last is kept in any case.
const BUILT_BYTES_MAX: usize = 64 << 20;

/// Modules that were read. They are kept because all federates of a federation supply the same
/// ones.
#[derive(Clone, Default)]
pub(crate) struct ReadModules {
    /// The most recently used ones are at the end.
    modules: VecDeque<Module>,
    /// Number of modules ever read, including those that are no longer kept.
    count: u64,
    /// Modules read since they were last taken.
    fresh: Vec<Module>,
}

impl ReadModules {
    /// Looks a module up by its name and text. The text must match: a model must not depend on what
    /// was read before.
    pub(super) fn get(&mut self, designator: &str, digest: u64, text: &[u8]) -> Option<Module> {
        let is_it = |module: &Module| module.designator() == designator && module.has_text(digest, text);
        let index = self.modules.iter().position(is_it)?;
        let module = self.modules.remove(index)?;
        self.modules.push_back(module.clone());
        Some(module)
    }

    /// Number of modules ever read.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds a module that has just been read.
    pub(super) fn add(&mut self, module: Module) {
        self.fresh.push(module.clone());
        self.insert(module, |_| ());
    }

    /// The modules that were read since the last call.
    pub(super) fn take_fresh(&mut self) -> Vec<Module> {
        std::mem::take(&mut self.fresh)
    }

    /// Keeps a module, and drops others to make room.
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

/// Large models and modules that are no longer needed. Freeing the largest takes a tenth of a
/// second.
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

/// Modules that were read, models that were built, and the limits on both.
pub(crate) struct ModuleCache {
    limits: Limits,
    /// See [`Config::fom_at_once_bytes`](crate::Config::fom_at_once_bytes).
    at_once: usize,
    read: ReadModules,
    /// The ones built last are at the end.
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

    /// A cache with other limits and the modules read so far.
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

    /// Takes over the modules read by another cache.
    pub(crate) fn set_read(&mut self, read: ReadModules) {
        self.read = read;
    }

    /// Keeps the modules that a job has read.
    pub(crate) fn insert_read(&mut self, modules: Vec<Module>) {
        let discarded = &mut self.discarded.modules;
        modules.into_iter().for_each(|module| self.read.insert(module, |oldest| discarded.push(oldest)));
    }

    /// Releases a model that is no longer needed here. A job frees a large one, if this is its last
    /// clone.
    pub(crate) fn discard(&mut self, model: Fdd) {
        if !is_small_model(&model) {
            self.discarded.models.push(model);
        }
    }

    /// Releases a cache that is no longer needed.
    pub(crate) fn discard_all(&mut self, other: Self) {
        let models = other.built.into_iter().filter_map(|(_, model)| model.ok());
        models.chain(other.discarded.models).for_each(|model| self.discard(model));
        self.discarded.modules.extend(other.discarded.modules);
    }

    /// Models and modules that a job is to free.
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

    /// A model that is kept; it stays kept.
    pub(crate) fn kept(&self, build: &Build) -> Option<&Result<Fdd, RtiError>> {
        self.built.iter().find(|(kept, _)| kept.is(build)).map(|(_, model)| model)
    }

    /// The kept model, or else one built now.
    ///
    /// # Errors
    /// The exception for the federate that supplied the modules.
    pub(crate) fn take(&mut self, build: &Build) -> Result<Fdd, RtiError> {
        let index = self.built.iter().position(|(kept, _)| kept.is(build));
        if let Some((_, model)) = index.and_then(|index| self.built.remove(index)) {
            return model;
        }
        let model = build.run(&mut self.read, &self.limits, None);
        self.read.take_fresh();
        model
    }
}
