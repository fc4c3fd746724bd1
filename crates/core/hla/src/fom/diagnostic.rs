//! What is wrong with a FOM module, and where.

use std::fmt;

use crate::exception::{Exception, RtiError};

/// How grave a [`Diagnostic`] is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Accepted, but not as the standard has it, or something in it has no effect.
    Warning,
    /// The module (or the set of modules) is refused.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// One finding about a FOM module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The designator of the module.
    pub file: String,
    /// Line in the module, from 1; 0 when the finding is about the whole module.
    pub line: u32,
    /// Column in characters, from 1; 0 when the finding is about the whole module.
    pub column: u32,
    /// Whether the module is refused for it.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What would have been right, where that can be said.
    pub expected: Option<String>,
}

impl fmt::Display for Diagnostic {
    /// In the style of a compiler: `file:line:column: error: message (expected ...)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line != 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}: {}", self.severity, self.message)?;
        match &self.expected {
            Some(expected) => write!(f, " (expected {expected})"),
            None => Ok(()),
        }
    }
}

/// Why FOM modules were refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FomErrorKind {
    /// The module could not be had at all.
    CouldNotOpen,
    /// It is no XML document, or no object model.
    ErrorReading,
    /// It is an object model that breaks the rules of one.
    Invalid,
    /// It is valid alone and clashes with the other modules.
    Inconsistent,
}

/// FOM modules were refused, with every finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FomError {
    /// The kind of failure, which decides the exception.
    pub kind: FomErrorKind,
    /// True when the refused module was given as the MIM.
    pub of_mim: bool,
    /// The findings: errors, and the warnings met on the way.
    pub diagnostics: Vec<Diagnostic>,
}

impl FomError {
    /// A failure with one finding about the whole of `file`.
    pub fn of_file(kind: FomErrorKind, file: &str, message: impl Into<String>) -> Self {
        let diagnostic = Diagnostic {
            file: file.to_owned(),
            line: 0,
            column: 0,
            severity: Severity::Error,
            message: message.into(),
            expected: None,
        };
        Self { kind, of_mim: false, diagnostics: vec![diagnostic] }
    }

    /// The same failure, of the module that was given as the MIM.
    #[must_use]
    pub fn as_mim(mut self) -> Self {
        self.of_mim = true;
        self
    }

    /// The exception that the federate sees (IEEE 1516.1-2025, create and join).
    pub fn exception(&self) -> Exception {
        match (self.kind, self.of_mim) {
            (FomErrorKind::CouldNotOpen, false) => Exception::CouldNotOpenFOM,
            (FomErrorKind::ErrorReading, false) => Exception::ErrorReadingFOM,
            (FomErrorKind::Invalid, false) => Exception::InvalidFOM,
            (FomErrorKind::Inconsistent, _) => Exception::InconsistentFOM,
            (FomErrorKind::CouldNotOpen, true) => Exception::CouldNotOpenMIM,
            (FomErrorKind::ErrorReading, true) => Exception::ErrorReadingMIM,
            (FomErrorKind::Invalid, true) => Exception::InvalidMIM,
        }
    }

    /// The exception with the first error, and how many more there are.
    pub fn to_rti_error(&self) -> RtiError {
        let mut errors = self.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        let first =
            errors.next().map_or_else(|| "the object model was refused".to_owned(), ToString::to_string);
        let details = match errors.count() {
            0 => first,
            1 => format!("{first}; and 1 more error"),
            more => format!("{first}; and {more} more errors"),
        };
        RtiError::new(self.exception(), details)
    }
}

impl fmt::Display for FomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_rti_error(), f)
    }
}

impl std::error::Error for FomError {}

/// The findings one below the other, as a compiler prints them.
pub fn render(diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&diagnostic.to_string());
        out.push('\n');
    }
    out
}
