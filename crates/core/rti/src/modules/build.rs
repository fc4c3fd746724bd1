//! Building an object model from its parts.

use super::ModuleText;
use super::cache::ReadModules;
use hla::RtiError;
use hla::fom::{Budget, Fdd, FomError, FomErrorKind, Limits, Module, decode, edition_for, text_digest};

/// A model whose modules have at most this many octets is extended at once. An extension begins
/// with a copy of the model, which takes some 2 ms at this size.
const AT_ONCE_MODEL_BYTES: usize = 4 << 20;

/// Octets of the modules of a model.
fn model_bytes(model: &Fdd) -> usize {
    model.modules().iter().map(|module| module.text().len()).sum()
}

/// Whether copying the model, or freeing its memory, takes little time.
pub(super) fn is_small_model(model: &Fdd) -> bool {
    model_bytes(model) <= AT_ONCE_MODEL_BYTES
}

/// The parts of an object model.
#[derive(Clone)]
pub(crate) struct Build {
    /// The model to extend. `None`: the model of the MIM.
    pub(crate) base: Option<Fdd>,
    /// The MIM of a new model. `None`: the standard one.
    pub(crate) mim: Option<ModuleText>,
    /// Modules, in the batches in which they are merged. The handles depend on the batches.
    pub(crate) batches: Vec<Vec<ModuleText>>,
}

impl Build {
    /// The parts of a new model.
    pub(crate) fn create(mim: Option<&ModuleText>, modules: &[ModuleText]) -> Self {
        Self { base: None, mim: mim.cloned(), batches: vec![modules.to_vec()] }
    }

    /// The parts of an extended model.
    pub(crate) fn extend(model: &Fdd, modules: &[ModuleText]) -> Self {
        Self { base: Some(model.clone()), mim: None, batches: vec![modules.to_vec()] }
    }

    /// Whether both build the same model.
    pub(super) fn is(&self, other: &Self) -> bool {
        let same_base = match (&self.base, &other.base) {
            (Some(a), Some(b)) => a.is_clone_of(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let same_mim = match (&self.mim, &other.mim) {
            (Some(a), Some(b)) => is_same(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let same_batch = |(a, b): (&Vec<ModuleText>, &Vec<ModuleText>)| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        };
        same_base
            && same_mim
            && self.batches.len() == other.batches.len()
            && self.batches.iter().zip(&other.batches).all(same_batch)
    }

    /// Octets of all texts.
    pub(super) fn bytes(&self) -> usize {
        self.batches.iter().flatten().chain(&self.mim).map(|module| module.text.len()).sum()
    }

    /// Whether building is fast enough without a [`Job`](super::Job), if `at_once` octets are read
    /// at once.
    pub(super) fn is_small(&self, at_once: usize) -> bool {
        self.bytes() <= at_once && self.base.as_ref().is_none_or(is_small_model)
    }

    /// Builds the model. Modules that were not read before are added to `read`. The modules of a
    /// call share its `budget`; without one, each module has its own.
    ///
    /// # Errors
    /// The exception for the federate that supplied the modules.
    pub(super) fn run(
        &self,
        read: &mut ReadModules,
        limits: &Limits,
        mut budget: Option<&mut Budget>,
    ) -> Result<Fdd, RtiError> {
        let refuse = |error: FomError| error.to_rti_error();
        let mut model = self.base.clone();
        for batch in &self.batches {
            let modules = read_batch(model.as_ref(), batch, read, limits, &mut budget).map_err(refuse)?;
            let base = match model.take() {
                Some(model) => model,
                None => self.mim_model(&modules, limits, &mut budget).map_err(refuse)?,
            };
            model = Some(base.extend(&modules).map_err(refuse)?.0);
        }
        let model = model.ok_or_else(|| RtiError::internal("an object model without modules"))?;
        check_size(&model, limits).map_err(refuse)?;
        Ok(model)
    }

    /// The model of the MIM alone. If the creator supplies no MIM, the first modules decide which
    /// rules apply: those of 1516-2010 if all modules are of that edition.
    fn mim_model(
        &self,
        modules: &[Module],
        limits: &Limits,
        budget: &mut Option<&mut Budget>,
    ) -> Result<Fdd, FomError> {
        let Some(mim) = &self.mim else { return Ok(Fdd::standard(edition_for(modules))) };
        let text = decode(&mim.designator, &mim.text, limits).map_err(FomError::as_mim)?;
        let module = read_text(&mim.designator, text.into_owned(), limits, budget);
        module.and_then(|module| Fdd::with_mim(&module)).map_err(FomError::as_mim)
    }
}

/// Reads the modules of a batch that `model` lacks.
fn read_batch(
    model: Option<&Fdd>,
    batch: &[ModuleText],
    read: &mut ReadModules,
    limits: &Limits,
    budget: &mut Option<&mut Budget>,
) -> Result<Vec<Module>, FomError> {
    let mut modules = Vec::new();
    for ModuleText { designator, text } in batch {
        let text = decode(designator, text, limits)?;
        let digest = text_digest(text.as_bytes());
        let in_model = model.into_iter().flat_map(Fdd::modules);
        if let Some(known) = in_model.into_iter().find(|module| module.has_text(digest, text.as_bytes())) {
            charge(known, limits, budget)?;
            continue;
        }
        if let Some(known) = read.get(designator, digest, text.as_bytes()) {
            charge(&known, limits, budget)?;
            modules.push(known);
            continue;
        }
        let module = read_text(designator, text.into_owned(), limits, budget)?;
        read.add(module.clone());
        modules.push(module);
    }
    Ok(modules)
}

fn charge(known: &Module, limits: &Limits, budget: &mut Option<&mut Budget>) -> Result<(), FomError> {
    budget.as_mut().map_or(Ok(()), |budget| budget.charge_known(known, limits))
}

fn read_text(
    designator: &str,
    text: String,
    limits: &Limits,
    budget: &mut Option<&mut Budget>,
) -> Result<Module, FomError> {
    let read = match budget {
        Some(budget) => Module::read_text(designator, text, limits, budget),
        None => Module::read_text(designator, text, limits, &mut Budget::new(limits)),
    };
    read.map(|(module, _)| module)
}

/// Checks the total size of a model's modules, which could otherwise grow without limit over many
/// calls.
fn check_size(model: &Fdd, limits: &Limits) -> Result<(), FomError> {
    let bytes = model_bytes(model);
    let most = limits.model_bytes;
    if bytes <= most {
        return Ok(());
    }
    let file = model.modules().last().map_or("", Module::designator);
    let message = format!(
        "with it the modules of the federation execution have {bytes} octets, more than the {most} allowed (model_bytes)"
    );
    Err(FomError::of_file(FomErrorKind::Inconsistent, file, message))
}

/// Whether two modules are the same. Clones of one text are not compared octet by octet.
fn is_same(a: &ModuleText, b: &ModuleText) -> bool {
    let is_clone = (a.text.as_ptr(), a.text.len()) == (b.text.as_ptr(), b.text.len());
    a.designator == b.designator && (is_clone || a.text == b.text)
}
