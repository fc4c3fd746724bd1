//! Rust types that correspond to HLA datatypes.

use super::{Decoder, DecoderError, Encoder, EncoderError};
use bytes::Bytes;

/// A Rust type whose values can be encoded.
pub trait Encode {
    /// The octet boundary V: a power of two.
    const OCTET_BOUNDARY: usize;

    /// Writes the value, aligned to its octet boundary.
    ///
    /// # Errors
    /// When a part of the value is out of the range of its datatype.
    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError>;

    /// Encodes the value as an outermost value.
    ///
    /// # Errors
    /// When a part of the value is out of the range of its datatype.
    fn encode(&self) -> Result<Bytes, EncoderError> {
        let mut encoder = Encoder::new();
        self.encode_to(&mut encoder)?;
        Ok(encoder.finish())
    }
}

/// A Rust type whose values have an encoding, to write and to read.
///
/// Numbers are big endian ([`Le`] makes them little endian), `bool` is HLAboolean, `String` is
/// HLAunicodeString, `Vec<T>` is HLAvariableArray, `[T; N]` is HLAfixedArray. A `str` and a slice
/// are encoded alike.
///
/// `#[derive(Encoding)]` makes a struct an HLAfixedRecord, an enum with a representation an
/// enumerated datatype, and an enum with a discriminant an HLAvariantRecord:
///
/// ```
/// use hla::encoding::{Encode, Encoding};
///
/// #[derive(Encoding, Clone, Copy, PartialEq, Debug)]
/// #[encoding(crate = hla)] // for a crate that does not depend on `federate`
/// #[repr(u8)]
/// enum Shape {
///     Sphere = 1,
///     Cuboid = 2,
///     Point = 3,
///     #[encoding(other)] // numbers without a name; otherwise they are an error
///     Other(u8),
/// }
///
/// #[derive(Encoding, Clone, Copy, PartialEq, Debug)]
/// #[encoding(crate = hla)]
/// struct Size { x: f64, y: f64, z: f64 }
///
/// #[derive(Encoding, Clone, Copy, PartialEq, Debug)]
/// #[encoding(crate = hla, discriminant = Shape)]
/// enum Extent {
///     Sphere(f32), // `Shape::Sphere` selects it
///     #[encoding(on = Shape::Cuboid)]
///     Box(Size),
///     Point, // without a value
///     #[encoding(other)] // HLAother, without a value
///     Unknown(Shape),
/// }
///
/// let value = Extent::Sphere(1.5);
/// let octets = value.encode()?;
/// assert_eq!(octets[..], [1, 0, 0, 0, 0, 0, 0, 0, 0x3f, 0xc0, 0, 0]);
/// assert_eq!(Extent::decode(&octets).unwrap(), value);
/// # Ok::<(), hla::encoding::EncoderError>(())
/// ```
///
/// With `extendable` beside the discriminant it is an HLAextendableVariantRecord; its reader skips
/// an alternative that it does not know. A discriminant can also be an integer or a `bool`, with
/// `on = 3` or `on = true` at each alternative.
pub trait Encoding: Encode + Sized {
    /// Reads a value from its next octet boundary.
    ///
    /// # Errors
    /// When the octets end too early or are not a value of this type.
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError>;

    /// Decodes a value from all of `octets`.
    ///
    /// # Errors
    /// When the octets are not a value of this type, or octets follow the value.
    fn decode(octets: &[u8]) -> Result<Self, DecoderError> {
        let mut decoder = Decoder::new(octets);
        let value = Self::decode_from(&mut decoder)?;
        decoder.finish()?;
        Ok(value)
    }
}

/// The largest of some octet boundaries; 1 if there are none.
#[doc(hidden)]
pub const fn largest(boundaries: &[usize]) -> usize {
    let (mut largest, mut rest) = (1, boundaries);
    while let [boundary, after @ ..] = rest {
        if *boundary > largest {
            largest = *boundary;
        }
        rest = after;
    }
    largest
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
        $(impl Encode for $type {
            const OCTET_BOUNDARY: usize = size_of::<$type>();

            fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
                encoder.$be(*self);
                Ok(())
            }
        }

        impl Encoding for $type {
            fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
                decoder.$be()
            }
        })?

        $(impl Encode for Le<$type> {
            const OCTET_BOUNDARY: usize = size_of::<$type>();

            fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
                encoder.$le(self.0);
                Ok(())
            }
        }

        impl Encoding for Le<$type> {
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

impl Encode for bool {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.boolean(*self);
        Ok(())
    }
}

impl Encoding for bool {
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.boolean()
    }
}

impl Encode for str {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.unicode_string(self).map(drop)
    }
}

impl Encode for String {
    const OCTET_BOUNDARY: usize = str::OCTET_BOUNDARY;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        self.as_str().encode_to(encoder)
    }
}

impl Encoding for String {
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.unicode_string()
    }
}

impl Encode for AsciiString {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.ascii_string(&self.0).map(drop)
    }
}

impl Encoding for AsciiString {
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.ascii_string().map(|text| AsciiString(text.to_owned()))
    }
}

impl Encode for OpaqueData {
    const OCTET_BOUNDARY: usize = 4;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.opaque_data(&self.0).map(drop)
    }
}

impl Encoding for OpaqueData {
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.opaque_data().map(|octets| OpaqueData(Bytes::copy_from_slice(octets)))
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    const OCTET_BOUNDARY: usize = T::OCTET_BOUNDARY;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        (**self).encode_to(encoder)
    }
}

impl<T: Encode> Encode for [T] {
    const OCTET_BOUNDARY: usize = largest(&[4, T::OCTET_BOUNDARY]);

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.align(Self::OCTET_BOUNDARY).count(self.len())?;
        self.iter().enumerate().try_for_each(|(i, element)| encode_element(i, element, encoder))
    }
}

impl<T: Encode> Encode for Vec<T> {
    const OCTET_BOUNDARY: usize = <[T]>::OCTET_BOUNDARY;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        self.as_slice().encode_to(encoder)
    }
}

impl<T: Encoding> Encoding for Vec<T> {
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

impl<T: Encode, const N: usize> Encode for [T; N] {
    const OCTET_BOUNDARY: usize = T::OCTET_BOUNDARY;

    fn encode_to(&self, encoder: &mut Encoder) -> Result<(), EncoderError> {
        encoder.align(Self::OCTET_BOUNDARY);
        self.iter().enumerate().try_for_each(|(i, element)| encode_element(i, element, encoder))
    }
}

impl<T: Encoding, const N: usize> Encoding for [T; N] {
    fn decode_from(decoder: &mut Decoder<'_>) -> Result<Self, DecoderError> {
        decoder.align(Self::OCTET_BOUNDARY)?;
        let elements: Vec<T> = (0..N).map(|i| decode_element(i, decoder)).collect::<Result<_, _>>()?;
        elements.try_into().map_err(|_| decoder.error("an array of another length"))
    }
}

fn encode_element<T: Encode>(i: usize, element: &T, encoder: &mut Encoder) -> Result<(), EncoderError> {
    element.encode_to(encoder).map_err(|e| e.within(format_args!("[{i}]")))
}

fn decode_element<T: Encoding>(i: usize, decoder: &mut Decoder<'_>) -> Result<T, DecoderError> {
    decoder.rationed(T::decode_from).map_err(|e| e.within(format_args!("[{i}]")))
}
