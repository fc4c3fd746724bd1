//! Rust types that correspond to HLA datatypes.

use super::{Decoder, DecoderError, Encoder, EncoderError};
use bytes::Bytes;

/// A Rust type whose values have an encoding.
///
/// Numbers are big endian ([`Le`] makes them little endian), `bool` is HLAboolean, `String` is
/// HLAunicodeString, `Vec<T>` is HLAvariableArray, `[T; N]` is HLAfixedArray. The macro
/// [`fixed_record!`](crate::fixed_record) makes a struct an HLAfixedRecord.
pub trait Encoding: Sized {
    /// The octet boundary V: a power of two.
    const OCTET_BOUNDARY: usize;

    /// Writes the value, aligned to its octet boundary.
    ///
    /// # Errors
    /// When a part of the value is out of the range of its datatype.
    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError>;

    /// Reads a value from the next octet boundary on.
    ///
    /// # Errors
    /// When the octets end too early or are no value of this type.
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError>;

    /// Encodes the value as an outermost value.
    ///
    /// # Errors
    /// When a part of the value is out of the range of its datatype.
    fn encode(&self) -> Result<Bytes, EncoderError> {
        let mut encoder = Encoder::new();
        self.encode_to(&mut encoder)?;
        Ok(encoder.finish())
    }

    /// Decodes a value from all of `octets`.
    ///
    /// # Errors
    /// When the octets are no value of this type, or octets follow the value.
    fn decode(octets: &[u8]) -> Result<Self, DecoderError> {
        let mut decoder = Decoder::new(octets);
        let value = Self::decode_from(&mut decoder)?;
        decoder.finish()?;
        Ok(value)
    }
}

/// A number in little-endian byte order, e.g. `Le<f64>` for HLAfloat64LE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Le<T>(pub T);

/// An HLAASCIIstring.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct AsciiString(pub String);

/// An HLAopaqueData. (A `Vec<u8>` has the same encoding but is processed octet by octet.)
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct OpaqueData(pub Bytes);

macro_rules! numbers {
    ($($type:ty: $($be:ident)? $(/ $le:ident)?;)+) => {$(
        $(impl Encoding for $type {
            const OCTET_BOUNDARY: usize = size_of::<$type>();

            fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
                encoder.$be(*self);
                Ok(())
            }

            fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
                decoder.$be()
            }
        })?

        $(impl Encoding for Le<$type> {
            const OCTET_BOUNDARY: usize = size_of::<$type>();

            fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
                encoder.$le(self.0);
                Ok(())
            }

            fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
                decoder.$le().map(Le)
            }
        })?
    )+};
}

numbers! {
    u8: octet;
    i16: integer16_be / integer16_le;
    i32: integer32_be / integer32_le;
    i64: integer64_be / integer64_le;
    u16: unsigned16_be / unsigned16_le;
    u32: unsigned32_be / unsigned32_le;
    u64: unsigned64_be / unsigned64_le;
    f32: float32_be / float32_le;
    f64: float64_be / float64_le;
}

impl Encoding for bool {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.boolean(*self);
        Ok(())
    }

    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.boolean()
    }
}

impl Encoding for String {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.unicode_string(self).map(drop)
    }

    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.unicode_string()
    }
}

impl Encoding for AsciiString {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.ascii_string(&self.0).map(drop)
    }

    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.ascii_string().map(|text| AsciiString(text.to_owned()))
    }
}

impl Encoding for OpaqueData {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.opaque_data(&self.0).map(drop)
    }

    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.opaque_data().map(|octets| OpaqueData(Bytes::copy_from_slice(octets)))
    }
}

impl<T: Encoding> Encoding for Vec<T> {
    const OCTET_BOUNDARY: usize = if T::OCTET_BOUNDARY > 4 { T::OCTET_BOUNDARY } else { 4 };

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.align(Self::OCTET_BOUNDARY).count(self.len())?;
        self.iter().enumerate().try_for_each(|(i, element)| encode_element(i, element, encoder))
    }

    /// Memory grows with the elements read, whatever the count claims.
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.align(Self::OCTET_BOUNDARY)?;
        let count = decoder.count()?;
        let mut elements = Vec::new();
        for i in 0..count {
            elements.push(decode_element(i, decoder)?);
        }
        Ok(elements)
    }
}

impl<T: Encoding, const N: usize> Encoding for [T; N] {
    const OCTET_BOUNDARY: usize = T::OCTET_BOUNDARY;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.align(Self::OCTET_BOUNDARY);
        self.iter().enumerate().try_for_each(|(i, element)| encode_element(i, element, encoder))
    }

    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.align(Self::OCTET_BOUNDARY)?;
        let elements: Vec<T> = (0..N).map(|i| decode_element(i, decoder)).collect::<Result<_, _>>()?;
        elements.try_into().map_err(|_| decoder.error("an array of another length"))
    }
}

fn encode_element<T: Encoding>(i: usize, element: &T, encoder: &mut Encoder) -> Result<(), EncoderError> {
    element.encode_to(encoder).map_err(|e| e.within(format_args!("[{i}]")))
}

fn decode_element<T: Encoding>(i: usize, decoder: &mut Decoder<'_>) -> Result<T, DecoderError> {
    decoder.rationed(T::decode_from).map_err(|e| e.within(format_args!("[{i}]")))
}

/// Declares a struct that is an HLAfixedRecord: its fields in order, each an
/// [`Encoding`].
///
/// ```
/// use hla::encoding::Encoding;
/// hla::fixed_record! {
///     /// Metres from the centre of the Earth.
///     #[derive(Clone, Copy, PartialEq, Debug)]
///     pub struct WorldLocation {
///         pub x: f64,
///         pub y: f64,
///         pub z: f64,
///     }
/// }
/// let here = WorldLocation { x: 1.0, y: 2.0, z: 3.0 };
/// let octets = here.encode()?;
/// assert_eq!(octets.len(), 24);
/// assert_eq!(WorldLocation::decode(&octets).unwrap(), here);
/// # Ok::<(), hla::encoding::EncoderError>(())
/// ```
#[macro_export]
macro_rules! fixed_record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type),*
        }

        impl $crate::encoding::Encoding for $name {
            const OCTET_BOUNDARY: usize = {
                let boundaries: &[usize] =
                    &[1, $(<$type as $crate::encoding::Encoding>::OCTET_BOUNDARY),*];
                let (mut largest, mut i) = (1, 0);
                while i < boundaries.len() {
                    if boundaries[i] > largest {
                        largest = boundaries[i];
                    }
                    i += 1;
                }
                largest
            };

            fn encode_to(
                &self,
                encoder: &mut $crate::encoding::Encoder,
            ) -> ::core::result::Result<(), $crate::encoding::EncoderError> {
                encoder.align(<Self as $crate::encoding::Encoding>::OCTET_BOUNDARY);
                $(
                    $crate::encoding::Encoding::encode_to(&self.$field, encoder)
                        .map_err(|e| e.within(::core::concat!(".", ::core::stringify!($field))))?;
                )*
                ::core::result::Result::Ok(())
            }

            fn decode_from(
                decoder: &mut $crate::encoding::Decoder<'_>,
            ) -> ::core::result::Result<Self, $crate::encoding::DecoderError> {
                decoder.align(<Self as $crate::encoding::Encoding>::OCTET_BOUNDARY)?;
                $(
                    let $field = $crate::encoding::Encoding::decode_from(decoder)
                        .map_err(|e| e.within(::core::concat!(".", ::core::stringify!($field))))?;
                )*
                ::core::result::Result::Ok(Self { $($field),* })
            }
        }
    };
}
