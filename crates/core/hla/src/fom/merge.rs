//! Merging modules into one model by the standard's rules (1516.2, annex C).
//!
//! A merge works on a copy, so that a failed one changes nothing. It goes table by table over all
//! new modules, and takes the tables that others refer to first, so that the order of the modules
//! does not matter.

use std::sync::Arc;

use crate::fom::diagnostic::{Diagnostic, FomError, FomErrorKind, Severity};
use crate::fom::model::{Edition, Fdd, Tables};
use crate::fom::module::{Module, Offset, Origin, Reference, Source};
use crate::handle::ObjectClassHandle;

/// Number of findings that are kept of one merge.
const MOST_FINDINGS: usize = 200;

/// The edition of the MIM for `modules` if the caller names none: 2010 if there are modules and all
/// are of 2010, otherwise 2025, which takes modules of both.
pub fn edition_for(modules: &[Module]) -> Edition {
    let all_2010 = modules.iter().all(|module| module.edition() == Edition::Hla2010);
    if all_2010 && !modules.is_empty() { Edition::Hla2010 } else { Edition::Hla2025 }
}

impl Fdd {
    /// This model with `modules` merged into it, and the warnings.
    ///
    /// A module whose text is already loaded has no effect. Handles never change. Neither does the
    /// place of an attribute in [`crate::fom::ObjectClass::attributes`] or of a parameter in its
    /// class's list: new ones are appended. Cells that every module so far left open (a data type,
    /// a transportation) are filled in.
    ///
    /// # Errors
    ///
    /// [`FomErrorKind::Inconsistent`] with every clash; this model is unchanged.
    pub fn extend(&self, modules: &[Module]) -> Result<(Fdd, Vec<Diagnostic>), FomError> {
        let mut fresh: Vec<Module> = Vec::new();
        for module in modules {
            let known = self.tables.modules.iter().chain(&fresh).chain(std::iter::once(&self.tables.mim));
            if !known.into_iter().any(|other| same_text(other, module)) {
                fresh.push(module.clone());
            }
        }
        if fresh.is_empty() {
            return Ok((self.clone(), Vec::new()));
        }
        Merge::new((*self.tables).clone()).modules(fresh)
    }
}

fn same_text(a: &Module, b: &Module) -> bool {
    Arc::ptr_eq(&a.inner, &b.inner) || a.has_text(b.inner.source.digest, b.text().as_bytes())
}

/// A merge in progress.
pub(super) struct Merge {
    pub(super) tables: Tables,
    /// The module being merged: 0 is the MIM, n the n-th FOM module.
    pub(super) index: u32,
    /// Directed interactions, looked up when all interaction classes are known.
    pub(super) directed: Vec<(ObjectClassHandle, Reference, u32)>,
    /// The module's repetition of the MOM of another edition has already been reported.
    pub(super) foreign_mom_reported: bool,
    findings: Vec<Diagnostic>,
    errors: usize,
}

impl Merge {
    pub(super) fn new(tables: Tables) -> Self {
        Self {
            tables,
            index: 0,
            directed: Vec::new(),
            foreign_mom_reported: false,
            findings: Vec::new(),
            errors: 0,
        }
    }

    /// Merges the MIM, which is already in `tables.mim`.
    pub(super) fn mim(self, mim: Module) -> Result<(Fdd, Vec<Diagnostic>), FomError> {
        self.run(&[(0, mim)])
    }

    /// Merges FOM modules.
    pub(super) fn modules(mut self, fresh: Vec<Module>) -> Result<(Fdd, Vec<Diagnostic>), FomError> {
        let first = self.tables.modules.len() as u32 + 1;
        let numbered: Vec<(u32, Module)> = (first..).zip(fresh.iter().cloned()).collect();
        self.tables.modules.extend(fresh);
        self.warn_of_newer_modules(&numbered);
        self.run(&numbered)
    }

    fn run(mut self, modules: &[(u32, Module)]) -> Result<(Fdd, Vec<Diagnostic>), FomError> {
        let before = self.extent();
        let phases: [fn(&mut Self, &Module); 4] =
            [Self::merge_tables, Self::merge_datatypes, Self::merge_object_classes, Self::merge_interactions];
        for phase in phases {
            for (index, module) in modules {
                self.index = *index;
                phase(&mut self, module);
            }
        }
        self.resolve_directed();
        if self.errors == 0 {
            self.finish();
        }
        self.check_datatype_references(&before);
        if self.errors > 0 {
            let kind = FomErrorKind::Inconsistent;
            return Err(FomError { kind, of_mim: false, diagnostics: self.findings });
        }
        Ok((Fdd { tables: Arc::new(self.tables) }, self.findings))
    }

    fn warn_of_newer_modules(&mut self, modules: &[(u32, Module)]) {
        if self.tables.edition == Edition::Hla2025 {
            return;
        }
        for (index, module) in modules {
            if module.edition() == Edition::Hla2025 {
                self.index = *index;
                let message = "a module of 1516-2025 in a federation with the MIM of 1516-2010".to_owned();
                self.report(
                    Severity::Warning,
                    0,
                    message,
                    Some("the MIM of 1516-2025, which takes both".to_owned()),
                );
            }
        }
    }

    /// The module with number `index`.
    pub(super) fn module(&self, index: u32) -> &Module {
        match index.checked_sub(1) {
            None => &self.tables.mim,
            Some(index) => &self.tables.modules[index as usize],
        }
    }

    fn source(&self, index: u32) -> &Source {
        &self.module(index).inner.source
    }

    pub(super) fn here(&self, offset: Offset) -> Origin {
        Origin { module: self.index, offset }
    }

    /// `file:line:column` of an earlier entry; only the file once no more findings are kept.
    pub(super) fn location(&self, origin: Origin) -> String {
        let source = self.source(origin.module);
        if self.findings.len() < MOST_FINDINGS {
            source.location(origin.offset)
        } else {
            source.designator.clone()
        }
    }

    fn report(&mut self, severity: Severity, offset: Offset, message: String, expected: Option<String>) {
        let is_error = severity == Severity::Error;
        self.errors += usize::from(is_error);
        if self.findings.len() < MOST_FINDINGS || (is_error && self.errors == 1) {
            let mut diagnostic = self.source(self.index).diagnostic(severity, offset, message);
            diagnostic.expected = expected;
            self.findings.push(diagnostic);
        }
    }

    pub(super) fn error(&mut self, offset: Offset, message: String, expected: String) {
        self.report(Severity::Error, offset, message, Some(expected));
    }

    pub(super) fn warning(&mut self, offset: Offset, message: String) {
        self.report(Severity::Warning, offset, message, None);
    }

    /// Reports an entry that differs from an earlier one. The MIM's entry stands, with a warning;
    /// between FOM modules a difference is an error.
    pub(super) fn clash(&mut self, first: Origin, offset: Offset, message: String, expected: &str) {
        let location = self.location(first);
        if first.module == 0 {
            let expected = Some(format!("{expected}, as the MIM has it, which stands"));
            self.report(Severity::Warning, offset, message, expected);
        } else {
            self.error(offset, message, format!("{expected}, as at {location}"));
        }
    }
}
