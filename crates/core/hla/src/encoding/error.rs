//! Errors of encoding values and of decoding octets.

use crate::{Exception, RtiError};
use std::borrow::Cow;
use std::fmt;

/// A value that cannot be encoded: it is out of range or does not fit its datatype.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncoderError {
    path: String,
    details: Cow<'static, str>,
}

/// Octets that cannot be decoded: there are too few, or they are not a value of the datatype.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecoderError {
    path: String,
    offset: usize,
    details: Cow<'static, str>,
}

impl EncoderError {
    /// An error in the current value.
    pub fn new(details: impl Into<Cow<'static, str>>) -> Self {
        Self { path: String::new(), details: details.into() }
    }

    /// The same error as seen from the value that contains `part`, e.g. `.Position` or `[3]`.
    #[must_use]
    pub fn within(mut self, part: impl fmt::Display) -> Self {
        self.path = format!("{part}{}", self.path);
        self
    }

    /// The part of the value at fault, e.g. `.Wheels[3].Radius`; empty for the value itself.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl DecoderError {
    /// An error in the octets from `offset` on.
    pub fn new(offset: usize, details: impl Into<Cow<'static, str>>) -> Self {
        Self { path: String::new(), offset, details: details.into() }
    }

    /// The same error as seen from the value that contains `part`, e.g. `.Position` or `[3]`.
    #[must_use]
    pub fn within(mut self, part: impl fmt::Display) -> Self {
        self.path = format!("{part}{}", self.path);
        self
    }

    /// The same error at another offset.
    pub(super) fn at(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// The part of the value at fault, e.g. `.Wheels[3].Radius`; empty for the value itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Offset of the octets at fault, from the start of the outermost value.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for EncoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path.trim_start_matches('.'))?;
        }
        f.write_str(&self.details)
    }
}

impl fmt::Display for DecoderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path.trim_start_matches('.'))?;
        }
        write!(f, "{} (at octet {})", self.details, self.offset)
    }
}

impl std::error::Error for EncoderError {}
impl std::error::Error for DecoderError {}

impl From<EncoderError> for RtiError {
    fn from(error: EncoderError) -> Self {
        RtiError::new(Exception::EncoderException, error.to_string())
    }
}

impl From<DecoderError> for RtiError {
    fn from(error: DecoderError) -> Self {
        RtiError::new(Exception::DecoderException, error.to_string())
    }
}
