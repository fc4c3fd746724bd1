//! Object models: FOM modules read, checked, merged and written (IEEE 1516.2-2010 and -2025).
//!
//! A [`Module`] is one XML file. An [`Fdd`] is the model of a federation execution: the MIM and all
//! modules merged, with handles. Both editions are read; a 2025 model takes modules of either.
//!
//! Every finding is a [`Diagnostic`] with file, line, column, message and expected content.

mod datatype;
mod diagnostic;
mod finish;
mod limits;
mod merge;
mod merge_classes;
mod merge_datatypes;
mod merge_tables;
mod mim;
mod model;
mod module;
mod read;
mod read_classes;
mod read_datatypes;
mod read_tables;
mod scan;
mod summary;
mod unpack;
mod write;
mod xml;

pub use datatype::{Alternative, DataType, DataTypeKind, Enumerator, Field};
pub use diagnostic::{Diagnostic, FomError, FomErrorKind, Severity, render};
pub use limits::{Budget, Cost, Limits};
pub use merge::edition_for;
pub use model::{
    Attribute, DefaultRange, Dimension, Edition, Fdd, INTERACTION_ROOT, InteractionClass, OBJECT_ROOT,
    ObjectClass, PRIVILEGE_TO_DELETE, Parameter, STANDARD_MIM, Switches, Transportation,
};
pub use module::{Module, text_digest};
pub use summary::{Summary, summary};
pub use unpack::{unpack, unpack_within};
pub use xml::decode;
