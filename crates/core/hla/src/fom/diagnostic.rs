//! Findings about FOM modules, with their positions.

use std::fmt;

use crate::exception::{Exception, RtiError};

/// The severity of a [`Diagnostic`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Accepted, but it deviates from the standard, or a part of it has no effect.
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
    /// Line in the module, from 1; 0 if the finding concerns the whole module.
    pub line: u32,
    /// Column in characters, from 1; 0 if the finding concerns the whole module.
    pub column: u32,
    /// Whether the finding makes the RTI refuse the module.
    pub severity: Severity,
    /// The finding.
    pub message: String,
    /// The content that would have been right, where that is known.
    pub expected: Option<String>,
}

impl fmt::Display for Diagnostic {
    /// Writes it in the style of a compiler: `file:line:column: error: message (expected ...)`.
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

/// The reason why FOM modules were refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FomErrorKind {
    /// The module could not be obtained at all.
    CouldNotOpen,
    /// The file is not an XML document, or not an object model.
    ErrorReading,
    /// The object model breaks a rule.
    Invalid,
    /// The module is valid alone but clashes with the other modules.
    Inconsistent,
}

/// A refusal of FOM modules, with every finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FomError {
    /// The kind of failure, which decides the exception.
    pub kind: FomErrorKind,
    /// Whether the refused module was given as the MIM.
    pub of_mim: bool,
    /// The findings: errors, and the warnings up to them.
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

    /// The same failure, for a module that was given as the MIM.
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

    /// The exception with the first error, and the number of further ones.
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

/// The findings one below the other, in the style of a compiler.
pub fn render(diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&diagnostic.to_string());
        out.push('\n');
    }
    out
}
