//! Values of datatypes that are known only at run time.

use bytes::Bytes;

/// A value of some [`DataType`](super::DataType). Which variant goes with which datatype is said at
/// each; encoding any other combination fails.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An integer or octet pair of any width and sign, or the number of an enumerator.
    Integer(i128),
    /// HLAfloat32 or HLAfloat64 of either byte order. Encoding as 32 bits rounds.
    Float(f64),
    /// HLAboolean.
    Boolean(bool),
    /// One or an array of HLAASCIIchar or HLAunicodeChar, thus the strings.
    Text(String),
    /// An array of HLAoctet or HLAbyte, thus HLAopaqueData.
    Octets(Bytes),
    /// HLAfixedRecord: its fields in order.
    Record(Vec<Value>),
    /// HLAfixedArray or HLAvariableArray of anything but characters and octets: its elements in order.
    Array(Vec<Value>),
    /// HLAvariantRecord or HLAextendableVariantRecord: the number of the discriminant, and the chosen
    /// alternative unless that has no datatype.
    Variant {
        /// The number of the discriminant (HLAboolean: 0 or 1).
        discriminant: i128,
        /// The value of the chosen alternative; `None` when it has no datatype or none is chosen.
        value: Option<Box<Value>>,
    },
    /// HLAextendableVariantRecord whose discriminant this side does not know: the alternative stays
    /// encoded, and encodes again to the same octets.
    UnknownAlternative {
        /// The number of the discriminant.
        discriminant: i128,
        /// The encoded alternative.
        octets: Bytes,
    },
}

impl Value {
    /// A variant record's value.
    pub fn variant(discriminant: impl Into<i128>, value: Option<Value>) -> Self {
        Value::Variant { discriminant: discriminant.into(), value: value.map(Box::new) }
    }

    /// What kind of value it is, for error texts.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Boolean(_) => "a boolean",
            Value::Text(_) => "a text",
            Value::Octets(_) => "octets",
            Value::Record(_) => "a record",
            Value::Array(_) => "an array",
            Value::Variant { .. } => "a variant",
            Value::UnknownAlternative { .. } => "a variant with an unknown alternative",
        }
    }
}

macro_rules! from {
    ($($source:ty => |$value:ident| $made:expr;)+) => {$(
        impl From<$source> for Value {
            fn from($value: $source) -> Self {
                $made
            }
        }
    )+};
}

from! {
    i8 => |n| Value::Integer(n.into());
    i16 => |n| Value::Integer(n.into());
    i32 => |n| Value::Integer(n.into());
    i64 => |n| Value::Integer(n.into());
    u8 => |n| Value::Integer(n.into());
    u16 => |n| Value::Integer(n.into());
    u32 => |n| Value::Integer(n.into());
    u64 => |n| Value::Integer(n.into());
    f32 => |x| Value::Float(x.into());
    f64 => |x| Value::Float(x);
    bool => |b| Value::Boolean(b);
    &str => |text| Value::Text(text.to_owned());
    String => |text| Value::Text(text);
    Bytes => |octets| Value::Octets(octets);
}
