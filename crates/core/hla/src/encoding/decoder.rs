//! Reads values one after another, each on its octet boundary.

use super::{DecoderError, VariantRecord};

/// Largest number of values of no octets (empty records, HLAtoken) in one decoding; octets with
/// more of them are refused. Such values cost memory, but no octet of the input pays for them.
pub const ZERO_SIZE_VALUES_MAX: u32 = 4096;

/// Reads values one after another, and skips the padding that their octet boundaries require. The
/// counterpart of [`Encoder`](super::Encoder).
///
/// ```
/// use hla::encoding::Decoder;
/// let mut decoder = Decoder::new(&[0, 1, 0, 0, 0, 0, 0, 0, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(decoder.integer16_be(), Ok(1));
/// assert_eq!(decoder.float64_be(), Ok(1.5));
/// decoder.finish()?;
/// # Ok::<(), hla::encoding::DecoderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    octets: &'a [u8],
    at: usize,
    zero_size_left: u32,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($number:ty) $from_octets:ident;)+) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// When the octets end too early.
        pub fn $name(&mut self) -> Result<$number, DecoderError> {
            self.number().map(<$number>::$from_octets)
        }
    )+};
}

impl<'a> Decoder<'a> {
    /// A decoder at the start of an outermost value.
    pub fn new(octets: &'a [u8]) -> Self {
        Self { octets, at: 0, zero_size_left: ZERO_SIZE_VALUES_MAX }
    }

    /// Number of octets read or skipped so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Number of octets left.
    pub fn remaining(&self) -> usize {
        self.octets.len() - self.at
    }

    /// Skips to the next multiple of `boundary` (a power of two; 1 skips nothing).
    ///
    /// # Errors
    /// When the octets end before it.
    pub fn align(&mut self, boundary: usize) -> Result<(), DecoderError> {
        let padding = self.at.next_multiple_of(boundary.max(1)) - self.at;
        self.raw(padding).map(drop)
    }

    /// Reads `len` octets as they are, without a count or alignment.
    ///
    /// # Errors
    /// When fewer octets are left.
    pub fn raw(&mut self, len: usize) -> Result<&'a [u8], DecoderError> {
        match self.octets[self.at..].get(..len) {
            Some(octets) => {
                self.at += len;
                Ok(octets)
            }
            None => Err(self.error(format!("needs {len} octets, {} are left", self.remaining()))),
        }
    }

    numbers! {
        /// Reads an HLAoctet, HLAbyte or HLAunsignedInteger8.
        octet(u8) from_be_bytes;
        /// Reads an HLAinteger16BE.
        integer16_be(i16) from_be_bytes;
        /// Reads an HLAinteger16LE.
        integer16_le(i16) from_le_bytes;
        /// Reads an HLAinteger32BE.
        integer32_be(i32) from_be_bytes;
        /// Reads an HLAinteger32LE.
        integer32_le(i32) from_le_bytes;
        /// Reads an HLAinteger64BE.
        integer64_be(i64) from_be_bytes;
        /// Reads an HLAinteger64LE.
        integer64_le(i64) from_le_bytes;
        /// Reads an HLAunsignedInteger16BE or HLAoctetPairBE.
        unsigned16_be(u16) from_be_bytes;
        /// Reads an HLAunsignedInteger16LE or HLAoctetPairLE.
        unsigned16_le(u16) from_le_bytes;
        /// Reads an HLAunsignedInteger32BE.
        unsigned32_be(u32) from_be_bytes;
        /// Reads an HLAunsignedInteger32LE.
        unsigned32_le(u32) from_le_bytes;
        /// Reads an HLAunsignedInteger64BE.
        unsigned64_be(u64) from_be_bytes;
        /// Reads an HLAunsignedInteger64LE.
        unsigned64_le(u64) from_le_bytes;
        /// Reads an HLAfloat32BE.
        float32_be(f32) from_be_bytes;
        /// Reads an HLAfloat32LE.
        float32_le(f32) from_le_bytes;
        /// Reads an HLAfloat64BE.
        float64_be(f64) from_be_bytes;
        /// Reads an HLAfloat64LE.
        float64_le(f64) from_le_bytes;
    }

    /// Reads an HLAboolean.
    ///
    /// # Errors
    /// When the octets end too early, or the value is neither 0 nor 1.
    pub fn boolean(&mut self) -> Result<bool, DecoderError> {
        match self.integer32_be()? {
            0 => Ok(false),
            1 => Ok(true),
            n => Err(DecoderError::new(self.at - 4, format!("an HLAboolean is 0 or 1, not {n}"))),
        }
    }

    /// Reads the element count of an HLAvariableArray. The count is only a claim of the sender: do
    /// not reserve memory for more elements than the [remaining](Self::remaining) octets can hold.
    ///
    /// # Errors
    /// When the octets end too early, or the count is negative.
    pub fn count(&mut self) -> Result<usize, DecoderError> {
        let count = self.integer32_be()?;
        usize::try_from(count)
            .map_err(|_| DecoderError::new(self.at - 4, format!("the element count {count} is negative")))
    }

    /// Reads an HLAASCIIstring.
    ///
    /// # Errors
    /// When the octets end too early, or a character is above 127.
    pub fn ascii_string(&mut self) -> Result<&'a str, DecoderError> {
        let count = self.count()?;
        self.ascii(count)
    }

    /// Reads an HLAunicodeString.
    ///
    /// # Errors
    /// When the octets end too early, or the text has half of a surrogate pair.
    pub fn unicode_string(&mut self) -> Result<String, DecoderError> {
        let count = self.count()?;
        self.utf16(count)
    }

    /// Reads an HLAopaqueData.
    ///
    /// # Errors
    /// When the octets end too early.
    pub fn opaque_data(&mut self) -> Result<&'a [u8], DecoderError> {
        let count = self.count()?;
        self.raw(count)
    }

    /// Checks that no octets are left.
    ///
    /// # Errors
    /// When octets follow the last value read.
    pub fn finish(self) -> Result<(), DecoderError> {
        match self.remaining() {
            0 => Ok(()),
            n => Err(self.error(format!("{n} octets are left behind the value"))),
        }
    }

    /// Reads `len` values of HLAASCIIchar.
    pub(super) fn ascii(&mut self, len: usize) -> Result<&'a str, DecoderError> {
        let start = self.at;
        let octets = self.raw(len)?;
        let text = if octets.is_ascii() { std::str::from_utf8(octets).ok() } else { None };
        text.ok_or_else(|| DecoderError::new(start, "a character of the text is not in ASCII"))
    }

    /// Reads `len` values of HLAunicodeChar; the position must be on their boundary.
    pub(super) fn utf16(&mut self, len: usize) -> Result<String, DecoderError> {
        let start = self.at;
        let octets = self.raw(len.saturating_mul(2))?;
        let (pairs, _) = octets.as_chunks();
        char::decode_utf16(pairs.iter().copied().map(u16::from_be_bytes))
            .collect::<Result<_, _>>()
            .map_err(|e| DecoderError::new(start, format!("the text is not UTF-16: {e}")))
    }

    /// Reads the length of the alternative in an HLAextendableVariantRecord, and runs `read` on its
    /// octets alone. It must use all of them.
    ///
    /// # Errors
    /// When `read` fails or leaves octets, or the octets end too early.
    pub fn extension<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecoderError>,
    ) -> Result<T, DecoderError> {
        let len = self.extension_length()?;
        self.enclosed(len, read)
    }

    /// Skips an alternative in an HLAextendableVariantRecord.
    ///
    /// # Errors
    /// When the octets end too early.
    pub fn skip_extension(&mut self) -> Result<(), DecoderError> {
        let len = self.extension_length()?;
        self.raw(len).map(drop)
    }

    fn extension_length(&mut self) -> Result<usize, DecoderError> {
        let len = self.count()?;
        if len > 0 {
            self.align(VariantRecord::EXTENDABLE_BOUNDARY)?;
        }
        Ok(len)
    }

    /// Runs `read` on the next `len` octets alone. It must use all of them.
    pub(super) fn enclosed<T>(
        &mut self,
        len: usize,
        read: impl FnOnce(&mut Self) -> Result<T, DecoderError>,
    ) -> Result<T, DecoderError> {
        if len == 0 {
            return self.enclosed_nothing(read);
        }
        let end = self.at.saturating_add(len);
        let Some(octets) = self.octets.get(..end) else {
            return Err(self.error(format!("needs {len} octets, {} are left", self.remaining())));
        };
        let whole = std::mem::replace(&mut self.octets, octets);
        let value = read(self);
        self.octets = whole;
        let value = value?;
        if self.at < end {
            let details = format!("the value ends {} octets before its stated length {len}", end - self.at);
            return Err(self.error(details));
        }
        Ok(value)
    }

    /// Runs `read` on no octets. No padding stands before them, so this position may be off the
    /// value's octet boundary, as for an array without elements.
    fn enclosed_nothing<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecoderError>,
    ) -> Result<T, DecoderError> {
        let mut nothing = Decoder { octets: &[], at: 0, zero_size_left: self.zero_size_left };
        let value = read(&mut nothing).map_err(|error| error.at(self.at))?;
        self.zero_size_left = nothing.zero_size_left;
        Ok(value)
    }

    /// Runs `read`. If it uses no octets, charges the budget of such values.
    pub(super) fn rationed<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecoderError>,
    ) -> Result<T, DecoderError> {
        let start = self.at;
        let value = read(self)?;
        if self.at == start {
            match self.zero_size_left.checked_sub(1) {
                Some(left) => self.zero_size_left = left,
                None => {
                    return Err(self.error(format!("more than {ZERO_SIZE_VALUES_MAX} values have no octets")));
                }
            }
        }
        Ok(value)
    }

    /// An error at the current position.
    pub(super) fn error(&self, details: impl Into<std::borrow::Cow<'static, str>>) -> DecoderError {
        DecoderError::new(self.at, details)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], DecoderError> {
        self.align(N)?;
        match self.octets[self.at..].first_chunk() {
            Some(&octets) => {
                self.at += N;
                Ok(octets)
            }
            None => Err(self.error(format!("needs {N} octets, {} are left", self.remaining()))),
        }
    }
}
