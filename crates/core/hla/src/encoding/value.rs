//! Values of datatypes that are known only at run time.

use bytes::Bytes;

/// A value of some [`DataType`](super::DataType). Each variant names the datatypes that it belongs
/// to; encoding any other combination fails.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An integer or octet pair of any width and sign, or the number of an enumerator.
    Integer(i128),
    /// HLAfloat32 or HLAfloat64 of either byte order. Encoding as 32 bits rounds.
    Float(f64),
    /// HLAboolean.
    Boolean(bool),
    /// One HLAASCIIchar or HLAunicodeChar, or an array of them, such as the strings.
    Text(String),
    /// An array of HLAoctet or HLAbyte, such as HLAopaqueData.
    Octets(Bytes),
    /// HLAfixedRecord: its fields in order.
    Record(Vec<Value>),
    /// HLAfixedArray or HLAvariableArray of elements other than characters and octets, in order.
    Array(Vec<Value>),
    /// HLAvariantRecord or HLAextendableVariantRecord: the number of the discriminant, and the
    /// value of the selected alternative unless that has no datatype.
    Variant {
        /// The number of the discriminant (HLAboolean: 0 or 1).
        discriminant: i128,
        /// The value of the selected alternative; `None` if it has no datatype or none is selected.
        value: Option<Box<Value>>,
    },
    /// HLAextendableVariantRecord with a discriminant that this side does not know. The alternative
    /// stays encoded, and encodes again to the same octets.
    UnknownAlternative {
        /// The number of the discriminant.
        discriminant: i128,
        /// The encoded alternative.
        octets: Bytes,
    },
}

impl Value {
    /// A value of a variant record.
    pub fn variant(discriminant: impl Into<i128>, value: Option<Value>) -> Self {
        Value::Variant { discriminant: discriminant.into(), value: value.map(Box::new) }
    }

    /// The kind of value, for error texts.
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
