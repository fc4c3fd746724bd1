//! FOM modules on their way into an object model.
//!
//! Reading modules and merging models may take seconds. The calls that serve federates therefore
//! read nothing large. A [`Job`] holds all inputs of the reading and runs elsewhere, see
//! [`Rti::poll_job`](crate::Rti::poll_job).

mod build;
mod cache;
mod data_url;
mod job;

pub(crate) use build::Build;
pub(crate) use cache::{AT_ONCE_BYTES, Discarded, ModuleCache, ReadModules};
pub use job::{Job, JobDone, JobId};
pub(crate) use job::{JobOutcome, Opened, Task};

use bytes::Bytes;
use hla::api::{FomModule, FomModuleSet, fom_module};
use hla::fom::{self, Budget, Fdd, Limits, text_digest};
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A source of FOM modules that a federate names but does not send.
///
/// Reading a file is the world's task: a node looks into its FOM folders, a simulation into a
/// table.
pub trait FomSource {
    /// The text of the module that `designator` (a bare name, a path or a URL) stands for.
    ///
    /// # Errors
    /// The reason why it cannot be obtained, as a text for people that names the designator.
    fn open(&self, designator: &str) -> Result<Bytes, String>;
}

/// A source without any module.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoFoms;

impl FomSource for NoFoms {
    fn open(&self, designator: &str) -> Result<Bytes, String> {
        Err(format!("`{designator}`: this RTI has no folder of FOM modules"))
    }
}

/// The text and the name of a FOM module.
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

/// A module as sent by a federate, or as found in the source.
#[derive(Clone, Debug)]
pub(crate) enum SentModule {
    /// Its text, in octets of any encoding.
    Text(ModuleText),
    /// A ZIP archive with one file.
    Archive(Bytes),
    /// A `data:` URL.
    DataUrl(String),
}

impl SentModule {
    /// Converts a module sent by a federate: a file, an archive with one file, or a designator.
    ///
    /// # Errors
    /// `CouldNotOpenFOM`, or with `of_mim` `CouldNotOpenMIM`.
    pub(crate) fn from_federate(
        module: FomModule,
        of_mim: bool,
        source: &dyn FomSource,
    ) -> Result<Self, RtiError> {
        let could_not_open = |text: String| {
            let exception = if of_mim { Exception::CouldNotOpenMIM } else { Exception::CouldNotOpenFOM };
            RtiError::new(exception, text)
        };
        match module.fom_module {
            Some(fom_module::FomModule::File(file)) => {
                Ok(Self::Text(ModuleText { designator: file.name, text: file.content }))
            }
            Some(fom_module::FomModule::CompressedModule(archive)) => Ok(Self::Archive(archive)),
            Some(fom_module::FomModule::Url(url)) if data_url::is_one(&url) => Ok(Self::DataUrl(url)),
            Some(fom_module::FomModule::Url(url)) => {
                let text = source.open(&url).map_err(could_not_open)?;
                Ok(Self::Text(ModuleText { designator: url, text }))
            }
            None => Err(could_not_open("a FOM module without file, archive or URL".to_owned())),
        }
    }

    /// Converts a whole set, see [`SentModule::from_federate`].
    ///
    /// # Errors
    /// Those of the first module that cannot be opened.
    pub(crate) fn set_from_federate(
        set: FomModuleSet,
        source: &dyn FomSource,
    ) -> Result<Vec<Self>, RtiError> {
        set.fom_module.into_iter().map(|module| Self::from_federate(module, false, source)).collect()
    }

    /// Its number of octets in the form it was sent.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(module) => module.text.len(),
            Self::Archive(archive) => archive.len(),
            Self::DataUrl(url) => url.len(),
        }
    }

    /// Its text, if it was sent as text.
    pub(crate) fn as_text(&self) -> Option<&ModuleText> {
        match self {
            Self::Text(module) => Some(module),
            Self::Archive(_) | Self::DataUrl(_) => None,
        }
    }

    /// Charges the budget of its call. For an archive, the unpacked text is not included.
    pub(crate) fn charge(&self, limits: &Limits, budget: &mut Budget) -> Result<(), fom::FomError> {
        let (name, octets) = match self {
            Self::Text(module) => (module.designator.as_str(), module.text.len()),
            Self::Archive(_) => ("ZIP archive", 0),
            Self::DataUrl(url) => ("data: URL", url.len()),
        };
        budget.charge_module(name, limits)?;
        budget.charge_text(name, octets, limits)
    }

    /// Its text. Charges the budget of its call.
    fn open(self, limits: &Limits, budget: &mut Budget) -> Result<ModuleText, fom::FomError> {
        self.charge(limits, budget)?;
        match self {
            Self::Text(module) => Ok(module),
            Self::Archive(archive) => {
                let (designator, text) = fom::unpack_within(&archive, limits, budget)?;
                Ok(ModuleText { designator, text: text.into() })
            }
            Self::DataUrl(url) => data_url::read(&url)
                .map_err(|why| fom::FomError::of_file(fom::FomErrorKind::CouldNotOpen, "data: URL", why)),
        }
    }
}

/// Whether a module with this text, in octets of UTF-8, is part of the model.
pub(crate) fn has_text(model: &Fdd, text: &[u8]) -> bool {
    let digest = text_digest(text);
    model.modules().iter().any(|module| module.has_text(digest, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_names_a_designator_once() {
        let url = fom_module::FomModule::Url("range.xml".to_owned());
        let module = FomModule { fom_module: Some(url) };
        let error = SentModule::from_federate(module, false, &NoFoms).unwrap_err();
        assert_eq!(error.exception, Exception::CouldNotOpenFOM);
        assert_eq!(error.to_string().matches("range.xml").count(), 1, "{error}");
    }
}
