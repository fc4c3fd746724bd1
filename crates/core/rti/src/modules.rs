//! FOM modules on their way into an object model.

use bytes::Bytes;
use hla::api::{FomModule, FomModuleSet, fom_module};
use hla::fom::{self, Edition, Fdd, Limits, Module};
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Where FOM modules come from that a federate names but does not send.
///
/// Reading a file is the world's business: a node looks into its FOM folders, a simulation into a
/// table.
pub trait FomSource {
    /// The text of the module that `designator` (a bare name, a path or a URL) stands for.
    ///
    /// # Errors
    /// Says, for a person, why it cannot be had.
    fn open(&self, designator: &str) -> Result<Bytes, String>;
}

/// A source that has nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoFoms;

impl FomSource for NoFoms {
    fn open(&self, _designator: &str) -> Result<Bytes, String> {
        Err("this RTI has no folder of FOM modules".to_owned())
    }
}

/// The text of a FOM module and the name it goes by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleText {
    /// File name or URL, as reported to federates.
    pub designator: String,
    /// XML.
    pub text: Bytes,
}

impl fmt::Debug for ModuleText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.designator, self.text.len())
    }
}

impl ModuleText {
    /// Opens what a federate sent: a file, an archive with one file, or a designator.
    ///
    /// # Errors
    /// `CouldNotOpenFOM` (with `of_mim`: `CouldNotOpenMIM`) or what unpacking the archive says.
    pub fn from_federate(
        module: &FomModule,
        of_mim: bool,
        source: &dyn FomSource,
        limits: &Limits,
    ) -> Result<Self, RtiError> {
        let could_not_open = |text: String| {
            let exception = if of_mim { Exception::CouldNotOpenMIM } else { Exception::CouldNotOpenFOM };
            RtiError::new(exception, text)
        };
        match &module.fom_module {
            Some(fom_module::FomModule::File(file)) => {
                Ok(Self { designator: file.name.clone(), text: file.content.clone() })
            }
            Some(fom_module::FomModule::CompressedModule(archive)) => {
                let (designator, text) = fom::unpack(archive, limits).map_err(|mut error| {
                    error.of_mim = of_mim;
                    error.to_rti_error()
                })?;
                Ok(Self { designator, text: text.into() })
            }
            Some(fom_module::FomModule::Url(url)) => {
                let text = source.open(url).map_err(|why| could_not_open(format!("`{url}`: {why}")))?;
                Ok(Self { designator: url.clone(), text })
            }
            None => Err(could_not_open("a FOM module without file, archive or URL".to_owned())),
        }
    }

    /// Opens a whole set, see [`ModuleText::from_federate`].
    ///
    /// # Errors
    /// Those of the first module that cannot be opened.
    pub fn set_from_federate(
        set: Option<&FomModuleSet>,
        source: &dyn FomSource,
        limits: &Limits,
    ) -> Result<Vec<Self>, RtiError> {
        let modules = set.map(|set| set.fom_module.as_slice()).unwrap_or_default();
        modules.iter().map(|module| Self::from_federate(module, false, source, limits)).collect()
    }
}

/// How many parsed modules are kept for the next federation or federate that brings them.
const CACHED_MODULES_MAX: usize = 64;

/// Reads modules, and remembers those it read: every federate of a federation brings the same ones.
#[derive(Default)]
pub(crate) struct ModuleCache {
    limits: Limits,
    /// By name as well as by text: what is in a model must not depend on what was read before.
    parsed: BTreeMap<ModuleText, Module>,
}

impl ModuleCache {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, parsed: BTreeMap::new() }
    }

    /// The limits on every module.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The object model of a MIM (the standard one when `None`) and some modules.
    pub(crate) fn create_model(
        &mut self,
        mim: Option<&ModuleText>,
        modules: &[ModuleText],
    ) -> Result<Fdd, RtiError> {
        let modules = self.read_all(modules)?;
        let base = match mim {
            Some(mim) => {
                let read = Module::read(&mim.designator, &mim.text, &self.limits);
                let module = read.and_then(|(module, _)| Fdd::with_mim(&module));
                module.map_err(|mut error| {
                    error.of_mim = true;
                    error.to_rti_error()
                })?
            }
            None => Fdd::standard(Edition::Hla2025),
        };
        let (model, _) = base.extend(&modules).map_err(|error| error.to_rti_error())?;
        Ok(model)
    }

    /// `model` with more modules, or `None` when it holds them all already.
    pub(crate) fn extend_model(
        &mut self,
        model: &Fdd,
        modules: &[ModuleText],
    ) -> Result<Option<Fdd>, RtiError> {
        let is_new = |module: &&ModuleText| !has_text(model, &module.text);
        let new: Vec<ModuleText> = modules.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            return Ok(None);
        }
        let modules = self.read_all(&new)?;
        let (extended, _) = model.extend(&modules).map_err(|error| error.to_rti_error())?;
        // A text may be the same although its octets are not: in another encoding.
        Ok((extended.modules().len() > model.modules().len()).then_some(extended))
    }

    fn read_all(&mut self, modules: &[ModuleText]) -> Result<Vec<Module>, RtiError> {
        modules.iter().map(|module| self.read(module)).collect()
    }

    fn read(&mut self, module: &ModuleText) -> Result<Module, RtiError> {
        if let Some(known) = self.parsed.get(module) {
            return Ok(known.clone());
        }
        let (parsed, _) = Module::read(&module.designator, &module.text, &self.limits)
            .map_err(|error| error.to_rti_error())?;
        if self.parsed.len() >= CACHED_MODULES_MAX {
            self.parsed.pop_first();
        }
        self.parsed.insert(module.clone(), parsed.clone());
        Ok(parsed)
    }
}

/// Whether a module with this text, in octets of UTF-8, is part of the model.
pub(crate) fn has_text(model: &Fdd, text: &[u8]) -> bool {
    model.modules().iter().any(|module| module.text().as_bytes() == text)
}
