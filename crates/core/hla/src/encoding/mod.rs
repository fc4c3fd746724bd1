//! The data encodings of the object model template (1516.2-2010, clause 4.13; 1516.2-2025, clause
//! 4.14): the representation of attribute and parameter values as octets.
//!
//! There are two interfaces with one set of rules:
//!
//! - [`DataType`] and [`Value`]: any datatype, described at run time, e.g. from a FOM;
//! - [`Encoder`], [`Decoder`] and the trait [`Encoding`](trait@Encoding), which can be derived: for
//!   code that knows its types.
//!
//! Every type has an *octet boundary* V: a value starts at a multiple of its V, counted from the
//! start of the outermost value. Padding is zero octets, only ever *between* parts, never after the
//! last one. Reading skips padding without checking it.
//!
//! Octets come from other federates and are not trusted. A count never reserves memory that the
//! octets present do not justify, the number of values without octets is bounded
//! ([`ZERO_SIZE_VALUES_MAX`]), and so is the depth of a datatype ([`DEPTH_MAX`]).

mod basic;
mod credentials;
mod datatype;
mod decoder;
mod dynamic;
mod encoder;
mod error;
mod from_fom;
#[cfg(test)]
mod tests;
mod typed;
mod value;

pub use basic::{BasicType, Endian, Interpretation};
pub use credentials::{
    BEARER_TOKEN, KERBEROS_TOKEN, NO_CREDENTIALS, PLAIN_TEXT_PASSWORD, decode_plain_text_password,
    encode_plain_text_password,
};
pub use datatype::{
    Alternative, Array, DEPTH_MAX, DataType, DataTypeError, EnumeratedType, Field, FixedRecord, Run, Unit,
    VariantRecord,
};
pub use decoder::{Decoder, ZERO_SIZE_VALUES_MAX};
pub use encoder::Encoder;
pub use error::{DecoderError, EncoderError};
pub use from_fom::UnusableDataType;
/// Derives [`Encoding`](trait@Encoding).
pub use hla_derive::Encoding;
#[doc(hidden)]
pub use typed::largest;
pub use typed::{AsciiString, Encode, Encoding, Le, OpaqueData};
pub use value::Value;
