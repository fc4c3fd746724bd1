//! The built-in standard MIMs of both editions, and MIMs that a federate provides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::fom::diagnostic::{Diagnostic, FomError, FomErrorKind, Severity};
use crate::fom::limits::Limits;
use crate::fom::merge::Merge;
use crate::fom::model::{Edition, Fdd, STANDARD_MIM, Switches, Tables};
use crate::fom::module::{Documentation, Module};

const STANDARD_2010: &str = include_str!("mim/standard-2010.xml");
const STANDARD_2025: &str = include_str!("mim/standard-2025.xml");

impl Fdd {
    /// The model of the built-in standard MIM alone. Built once per process and then shared.
    pub fn standard(edition: Edition) -> Fdd {
        static MODELS: [OnceLock<Fdd>; 2] = [OnceLock::new(), OnceLock::new()];
        let (memo, text) = match edition {
            Edition::Hla2010 => (&MODELS[0], STANDARD_2010),
            Edition::Hla2025 => (&MODELS[1], STANDARD_2025),
        };
        memo.get_or_init(|| {
            let read = Module::read(STANDARD_MIM, text.as_bytes(), &Limits::default());
            let (module, _) = read.expect("the built-in MIM is a valid module, which a test shows");
            let merge = Merge::new(empty(module.clone())).mim(module);
            merge.expect("the built-in MIM is consistent, which a test shows").0
        })
        .clone()
    }

    /// The model of a MIM that a federate provides. The MIM must contain everything that the
    /// standard MIM of its edition contains, and may contain more. Standard names keep the handles
    /// of [`Fdd::standard`].
    ///
    /// # Errors
    ///
    /// [`FomErrorKind::Invalid`] of the MIM, with every missing or clashing entry.
    pub fn with_mim(mim: &Module) -> Result<Fdd, FomError> {
        let standard = Fdd::standard(mim.edition());
        let missing = missing_from(mim, &standard);
        if !missing.is_empty() {
            return Err(FomError { kind: FomErrorKind::Invalid, of_mim: true, diagnostics: missing });
        }
        let mut tables = (*standard.tables).clone();
        tables.mim = mim.clone();
        Merge::new(tables).mim(mim.clone()).map(|(fdd, _)| fdd).map_err(|mut error| {
            error.kind = FomErrorKind::Invalid;
            error.as_mim()
        })
    }
}

fn empty(mim: Module) -> Tables {
    Tables {
        edition: mim.edition(),
        mim,
        modules: Vec::new(),
        object_classes: Vec::new(),
        object_class_names: BTreeMap::new(),
        attributes: Vec::new(),
        interaction_classes: Vec::new(),
        interaction_class_names: BTreeMap::new(),
        parameters: Vec::new(),
        dimensions: Vec::new(),
        dimension_names: BTreeMap::new(),
        transportations: Vec::new(),
        transportation_names: BTreeMap::new(),
        update_rates: Vec::new(),
        update_rate_names: BTreeMap::new(),
        switches: Switches::default(),
        switch_origins: BTreeMap::new(),
        datatypes: Vec::new(),
        datatype_names: BTreeMap::new(),
        documentation: Documentation::default(),
    }
}

/// The entries of the standard MIM that `mim` lacks, one finding each.
fn missing_from(mim: &Module, standard: &Fdd) -> Vec<Diagnostic> {
    let given: BTreeSet<(&str, &str)> = entries_of(mim).collect();
    let expected = format!("everything of the standard MIM of 1516-{}", standard.edition().year());
    let missing = entries_of(standard.mim()).filter(|entry| !given.contains(entry));
    missing
        .map(|(class, name)| Diagnostic {
            file: mim.designator().to_owned(),
            line: 0,
            column: 0,
            severity: Severity::Error,
            message: if class.contains('.') || class.starts_with("HLA") {
                format!("the MIM lacks `{name}` of class `{class}`")
            } else {
                format!("the MIM lacks {class} `{name}`")
            },
            expected: Some(expected.clone()),
        })
        .collect()
}

/// The entries of a module that a MIM must have: `(kind or class, name)`.
fn entries_of(module: &Module) -> impl Iterator<Item = (&str, &str)> {
    let parsed: &Arc<_> = &module.inner;
    let objects = parsed.object_classes.iter().flat_map(|class| {
        let members = class.attributes.iter().map(|attribute| (class.path.as_str(), attribute.name.as_str()));
        std::iter::once(("object class", class.path.as_str())).chain(members)
    });
    let interactions = parsed.interaction_classes.iter().flat_map(|class| {
        let members = class.parameters.iter().map(|parameter| (class.path.as_str(), parameter.name.as_str()));
        std::iter::once(("interaction class", class.path.as_str())).chain(members)
    });
    let dimensions = parsed.dimensions.iter().map(|dimension| ("dimension", dimension.name.as_str()));
    let transportations = parsed.transportations.iter().map(|t| ("transportation type", t.name.as_str()));
    let datatypes = parsed.datatypes.iter().map(|d| ("data type", d.datatype.name.as_str()));
    objects.chain(interactions).chain(dimensions).chain(transportations).chain(datatypes)
}
