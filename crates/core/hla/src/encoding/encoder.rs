//! Writes values one after another, each on its octet boundary.

use super::{EncoderError, VariantRecord};
use bytes::Bytes;

/// Writes values one after another, with the padding that their octet boundaries require.
///
/// Write the parts of a record in order. Only a record or array whose boundary is above that of its
/// first part needs an [`align`](Encoder::align) before it.
///
/// ```
/// use hla::encoding::Encoder;
/// let mut encoder = Encoder::new();
/// encoder.integer16_be(1).float64_be(1.5); // HLAfixedRecord {HLAinteger16BE, HLAfloat64BE}
/// assert_eq!(&encoder.finish()[..], [0, 1, 0, 0, 0, 0, 0, 0, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
/// ```
#[derive(Clone, Default, Debug)]
pub struct Encoder {
    octets: Vec<u8>,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($number:ty) $to_octets:ident;)+) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, value: $number) -> &mut Self {
            self.align(size_of::<$number>()).raw(&value.$to_octets())
        }
    )+};
}

impl Encoder {
    /// An empty encoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty encoder with room for `octets` octets.
    pub fn with_capacity(octets: usize) -> Self {
        Self { octets: Vec::with_capacity(octets) }
    }

    /// Number of octets written.
    pub fn position(&self) -> usize {
        self.octets.len()
    }

    /// Writes zero octets up to the next multiple of `boundary` (a power of two; 1 writes none).
    pub fn align(&mut self, boundary: usize) -> &mut Self {
        self.octets.resize(self.octets.len().next_multiple_of(boundary.max(1)), 0);
        self
    }

    /// Writes octets as they are, without a count or alignment.
    pub fn raw(&mut self, octets: &[u8]) -> &mut Self {
        self.octets.extend_from_slice(octets);
        self
    }

    numbers! {
        /// Writes an HLAoctet, HLAbyte or HLAunsignedInteger8.
        octet(u8) to_be_bytes;
        /// Writes an HLAinteger16BE.
        integer16_be(i16) to_be_bytes;
        /// Writes an HLAinteger16LE.
        integer16_le(i16) to_le_bytes;
        /// Writes an HLAinteger32BE.
        integer32_be(i32) to_be_bytes;
        /// Writes an HLAinteger32LE.
        integer32_le(i32) to_le_bytes;
        /// Writes an HLAinteger64BE.
        integer64_be(i64) to_be_bytes;
        /// Writes an HLAinteger64LE.
        integer64_le(i64) to_le_bytes;
        /// Writes an HLAunsignedInteger16BE or HLAoctetPairBE.
        unsigned16_be(u16) to_be_bytes;
        /// Writes an HLAunsignedInteger16LE or HLAoctetPairLE.
        unsigned16_le(u16) to_le_bytes;
        /// Writes an HLAunsignedInteger32BE.
        unsigned32_be(u32) to_be_bytes;
        /// Writes an HLAunsignedInteger32LE.
        unsigned32_le(u32) to_le_bytes;
        /// Writes an HLAunsignedInteger64BE.
        unsigned64_be(u64) to_be_bytes;
        /// Writes an HLAunsignedInteger64LE.
        unsigned64_le(u64) to_le_bytes;
        /// Writes an HLAfloat32BE.
        float32_be(f32) to_be_bytes;
        /// Writes an HLAfloat32LE.
        float32_le(f32) to_le_bytes;
        /// Writes an HLAfloat64BE.
        float64_be(f64) to_be_bytes;
        /// Writes an HLAfloat64LE.
        float64_le(f64) to_le_bytes;
    }

    /// Writes an HLAboolean: HLAinteger32BE 0 or 1.
    pub fn boolean(&mut self, value: bool) -> &mut Self {
        self.integer32_be(value.into())
    }

    /// Writes the element count of an HLAvariableArray. Align to the array's boundary before it and
    /// to the element's boundary after it, if there are elements.
    ///
    /// # Errors
    /// When `count` is above 2³¹−1.
    pub fn count(&mut self, count: usize) -> Result<&mut Self, EncoderError> {
        match i32::try_from(count) {
            Ok(count) => Ok(self.integer32_be(count)),
            Err(_) => Err(EncoderError::new(format!("{count} elements are more than a count can say"))),
        }
    }

    /// Writes an HLAASCIIstring.
    ///
    /// # Errors
    /// When `text` has a character above U+007F, or more than 2³¹−1 characters.
    pub fn ascii_string(&mut self, text: &str) -> Result<&mut Self, EncoderError> {
        check_ascii(text)?;
        Ok(self.count(text.len())?.raw(text.as_bytes()))
    }

    /// Writes an HLAunicodeString: the count is in UTF-16 code units.
    ///
    /// # Errors
    /// When `text` has more than 2³¹−1 UTF-16 code units.
    pub fn unicode_string(&mut self, text: &str) -> Result<&mut Self, EncoderError> {
        Ok(self.count(text.encode_utf16().count())?.utf16(text))
    }

    /// Writes an HLAopaqueData.
    ///
    /// # Errors
    /// When there are more than 2³¹−1 octets.
    pub fn opaque_data(&mut self, octets: &[u8]) -> Result<&mut Self, EncoderError> {
        Ok(self.count(octets.len())?.raw(octets))
    }

    /// Writes the length and the octets of the alternative in an HLAextendableVariantRecord. Without
    /// an alternative there is no padding: padding only ever stands between parts.
    ///
    /// # Errors
    /// When there are more than 2³¹−1 octets.
    pub fn extension(&mut self, octets: &[u8]) -> Result<(), EncoderError> {
        self.count(octets.len())?;
        if !octets.is_empty() {
            self.align(VariantRecord::EXTENDABLE_BOUNDARY).raw(octets);
        }
        Ok(())
    }

    /// Writes the UTF-16 code units of `text`, big endian, without count or alignment.
    pub(super) fn utf16(&mut self, text: &str) -> &mut Self {
        self.octets.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        self
    }

    /// The octets written.
    pub fn finish(self) -> Bytes {
        self.octets.into()
    }
}

/// HLAASCIIchar is 7 bits wide.
pub(super) fn check_ascii(text: &str) -> Result<(), EncoderError> {
    match text.chars().find(|c| !c.is_ascii()) {
        None => Ok(()),
        Some(c) => Err(EncoderError::new(format!("{c:?} is not in ASCII"))),
    }
}
