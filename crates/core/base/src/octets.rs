//! The fields of messages between nodes: one reader, and one writer of what `bytes` cannot write.
//!
//! The formats differ in their numbers only, which are the parameter of the [`Reader`]. A count or
//! a length is a number in front. Each is checked before it is used: no input of any length makes a
//! reader reserve more memory than the input has.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// Items for which a list reserves memory at once. The count comes from another node, and is
/// trusted only up to a capacity that is cheap to reserve.
const RESERVED_MAX: usize = 1_024;

/// A field that cannot be read. Positions are offsets from the start of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The message ends too early.
    #[error("{item} at byte {at} needs {need} bytes, {left} are left")]
    Truncated {
        /// The field.
        item: &'static str,
        /// Offset of the field.
        at: usize,
        /// Bytes needed.
        need: usize,
        /// Bytes left.
        left: usize,
    },
    /// Bytes follow the last field.
    #[error("{extra} bytes too many from byte {at} on")]
    Trailing {
        /// Offset of the first of them.
        at: usize,
        /// Number of them.
        extra: usize,
    },
    /// A length or a number of elements is over its limit.
    #[error("{item} of {len}, the limit is {limit}")]
    TooLong {
        /// The field.
        item: &'static str,
        /// The length in bytes, or the number of elements.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// A number is out of its range.
    #[error("{item} at byte {at} is {value}, not between {least} and {most}")]
    Range {
        /// The field.
        item: &'static str,
        /// Offset of the field.
        at: usize,
        /// The value found.
        value: u64,
        /// The smallest valid value.
        least: u64,
        /// The largest valid value.
        most: u64,
    },
    /// A code without a meaning.
    #[error("{item} at byte {at} has no value {value}")]
    Unknown {
        /// The field.
        item: &'static str,
        /// Offset of the field.
        at: usize,
        /// The value found.
        value: u8,
    },
    /// A value that is invalid or contradicts another one.
    #[error("{item} at byte {at}: {why}")]
    Value {
        /// The field.
        item: &'static str,
        /// Offset after the field, or of it.
        at: usize,
        /// The rule that the value breaks.
        why: &'static str,
    },
}

/// A wire form of numbers.
pub trait Numbers {
    /// The fewest octets of a count.
    const COUNT_BYTES: usize;

    /// Takes a number of `N` octets of value; `None` if the octets are not a whole number.
    fn take<const N: usize>(rest: &mut Bytes) -> Option<u64>;
}

/// Numbers of a fixed width, the most significant octet first: network order.
#[derive(Debug)]
pub struct BigEndian;

/// Numbers of a fixed width, the least significant octet first.
#[derive(Debug)]
pub struct LittleEndian;

/// Numbers of seven bits per octet, the lowest first, as Protocol Buffers write them.
#[derive(Debug)]
pub struct Varint;

impl Numbers for BigEndian {
    const COUNT_BYTES: usize = 4;

    fn take<const N: usize>(rest: &mut Bytes) -> Option<u64> {
        let value = rest.first_chunk::<N>()?.iter().fold(0, |value, &octet| value << 8 | u64::from(octet));
        rest.advance(N);
        Some(value)
    }
}

impl Numbers for LittleEndian {
    const COUNT_BYTES: usize = 4;

    fn take<const N: usize>(rest: &mut Bytes) -> Option<u64> {
        let octets = rest.first_chunk::<N>()?.iter().rev();
        let value = octets.fold(0, |value, &octet| value << 8 | u64::from(octet));
        rest.advance(N);
        Some(value)
    }
}

impl Numbers for Varint {
    const COUNT_BYTES: usize = 1;

    #[inline]
    fn take<const N: usize>(rest: &mut Bytes) -> Option<u64> {
        // Most numbers are handles and lengths below 128.
        if let Some(&small @ 0..0x80) = rest.first() {
            rest.advance(1);
            return Some(u64::from(small));
        }
        let mut value = 0;
        for (at, &octet) in rest.iter().take(10).enumerate() {
            let bits = u64::from(octet & 0x7f);
            if at == 9 && octet > 1 {
                return None;
            }
            value |= bits << (7 * at);
            if octet < 0x80 {
                rest.advance(at + 1);
                return Some(value);
            }
        }
        None
    }
}

/// Reads one field after the other from the front of a message. Octet strings share its memory.
#[derive(Debug)]
pub struct Reader<N> {
    rest: Bytes,
    /// Offset of the end, so that reading changes one field only.
    end: usize,
    numbers: PhantomData<N>,
}

impl<N: Numbers> Reader<N> {
    /// A reader of a whole message.
    pub fn new(message: Bytes) -> Self {
        Self::of_part(message, 0)
    }

    /// A reader of the part of a message that begins at this offset.
    pub fn of_part(part: Bytes, at: usize) -> Self {
        Self { end: at + part.len(), rest: part, numbers: PhantomData }
    }

    /// Offset of the next field.
    pub fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The rest of the message.
    pub fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.rest)
    }

    /// Returns the value, provided that nothing is left.
    ///
    /// # Errors
    /// [`ReadError::Trailing`].
    pub fn end<T>(self, value: T) -> Result<T, ReadError> {
        match self.rest.len() {
            0 => Ok(value),
            extra => Err(ReadError::Trailing { at: self.at(), extra }),
        }
    }

    /// An octet.
    ///
    /// # Errors
    /// The message ends too early; the same holds for all that follow.
    #[inline]
    pub fn u8(&mut self, item: &'static str) -> Result<u8, ReadError> {
        let Some(&octet) = self.rest.first() else { return Err(self.truncated(item, 1)) };
        self.rest.advance(1);
        Ok(octet)
    }

    /// A given number of octets, in an array.
    ///
    /// # Errors
    /// The message ends too early.
    #[inline]
    pub fn array<const LEN: usize>(&mut self, item: &'static str) -> Result<[u8; LEN], ReadError> {
        let Some(&octets) = self.rest.first_chunk() else { return Err(self.truncated(item, LEN)) };
        self.rest.advance(LEN);
        Ok(octets)
    }

    /// An octet that is 0 or 1.
    ///
    /// # Errors
    /// It is neither.
    pub fn flag(&mut self, item: &'static str) -> Result<bool, ReadError> {
        match self.u8(item)? {
            flag @ 0..=1 => Ok(flag == 1),
            value => Err(ReadError::Unknown { item, at: self.at() - 1, value }),
        }
    }

    /// A number of 16 bits.
    ///
    /// # Errors
    /// It has more, in a form that allows them.
    pub fn u16(&mut self, item: &'static str) -> Result<u16, ReadError> {
        self.number_of::<2>(item, 0, u16::MAX.into()).map(|value| value as u16)
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// It has more, in a form that allows them.
    #[inline]
    pub fn u32(&mut self, item: &'static str) -> Result<u32, ReadError> {
        self.number_of::<4>(item, 0, u32::MAX.into()).map(|value| value as u32)
    }

    /// A number of 64 bits.
    ///
    /// # Errors
    /// The message ends too early.
    #[inline]
    pub fn u64(&mut self, item: &'static str) -> Result<u64, ReadError> {
        self.number_of::<8>(item, 0, u64::MAX)
    }

    /// A number of 64 bits within bounds.
    ///
    /// # Errors
    /// [`ReadError::Range`].
    pub fn number(&mut self, item: &'static str, least: u64, most: u64) -> Result<u64, ReadError> {
        self.number_of::<8>(item, least, most)
    }

    #[inline]
    fn number_of<const W: usize>(
        &mut self,
        item: &'static str,
        least: u64,
        most: u64,
    ) -> Result<u64, ReadError> {
        let at = self.at();
        let Some(value) = N::take::<W>(&mut self.rest) else { return Err(self.truncated(item, W)) };
        if value < least || value > most {
            return Err(ReadError::Range { item, at, value, least, most });
        }
        Ok(value)
    }

    /// A given number of octets.
    ///
    /// # Errors
    /// The message ends too early.
    #[inline]
    pub fn bytes(&mut self, item: &'static str, need: usize) -> Result<Bytes, ReadError> {
        if need > self.rest.len() {
            return Err(self.truncated(item, need));
        }
        Ok(self.rest.split_to(need))
    }

    /// Octets preceded by their number.
    ///
    /// # Errors
    /// The message ends too early.
    #[inline]
    pub fn octets(&mut self, item: &'static str) -> Result<Bytes, ReadError> {
        self.octets_within(item, usize::MAX)
    }

    /// Octets preceded by their number, which has a limit.
    ///
    /// # Errors
    /// [`ReadError::TooLong`].
    #[inline]
    pub fn octets_within(&mut self, item: &'static str, limit: usize) -> Result<Bytes, ReadError> {
        let Some(len) = N::take::<4>(&mut self.rest) else {
            return Err(self.truncated(item, N::COUNT_BYTES));
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > limit {
            return Err(ReadError::TooLong { item, len, limit });
        }
        self.bytes(item, len)
    }

    /// A text in UTF-8, preceded by its length in octets.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn text(&mut self, item: &'static str) -> Result<String, ReadError> {
        self.text_within(item, usize::MAX)
    }

    /// A text in UTF-8, preceded by its length in octets, which has a limit.
    ///
    /// # Errors
    /// It is longer, or not UTF-8.
    pub fn text_within(&mut self, item: &'static str, limit: usize) -> Result<String, ReadError> {
        let octets = self.octets_within(item, limit)?;
        String::from_utf8(octets.into()).map_err(|_| self.wrong(item, "not UTF-8"))
    }

    /// The number of elements that follow, of `each` octets or more. It is never more than the rest
    /// of the message can hold.
    ///
    /// # Errors
    /// [`ReadError::Range`].
    pub fn count(&mut self, item: &'static str, each: usize) -> Result<usize, ReadError> {
        let at = self.at();
        let Some(value) = N::take::<4>(&mut self.rest) else {
            return Err(self.truncated(item, N::COUNT_BYTES));
        };
        let most = (self.rest.len() / each) as u64;
        if value > most {
            return Err(ReadError::Range { item, at, value, least: 0, most });
        }
        Ok(value as usize)
    }

    /// Elements of one octet or more, preceded by their number, each read by `read`.
    ///
    /// # Errors
    /// That of `read`, or the message ends too early.
    pub fn list<T, E: From<ReadError>>(
        &mut self,
        item: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let count = self.count(item, 1)?;
        let mut list = Vec::with_capacity(count.min(RESERVED_MAX));
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// The error of a value that breaks a rule, at the current offset.
    pub fn wrong(&self, item: &'static str, why: &'static str) -> ReadError {
        ReadError::Value { item, at: self.at(), why }
    }

    #[cold]
    fn truncated(&self, item: &'static str, need: usize) -> ReadError {
        ReadError::Truncated { item, at: self.at(), need, left: self.rest.len() }
    }
}

/// Writes octets, varints, and octet strings of all forms. For numbers of a fixed width there is
/// [`BufMut`].
pub trait Writer {
    /// Appends an octet.
    fn octet(&mut self, octet: u8);

    /// Appends octets as they are.
    fn slice(&mut self, octets: &[u8]);

    /// Appends a number for [`Varint`].
    fn number(&mut self, value: impl Into<u64>) {
        let mut value: u64 = value.into();
        while value >= 0x80 {
            self.octet(value as u8 | 0x80);
            value >>= 7;
        }
        self.octet(value as u8);
    }

    /// Appends octets preceded by their number, for [`Varint`].
    fn octets(&mut self, octets: &[u8]) {
        self.number(octets.len() as u64);
        self.slice(octets);
    }

    /// Appends octets preceded by their number, for [`BigEndian`].
    fn octets_be(&mut self, octets: &[u8]) {
        self.slice(&word(octets.len()).to_be_bytes());
        self.slice(octets);
    }

    /// Appends a count or a length, for [`LittleEndian`].
    fn count_le(&mut self, count: usize) {
        self.slice(&word(count).to_le_bytes());
    }

    /// Appends octets preceded by their number, for [`LittleEndian`].
    fn octets_le(&mut self, octets: &[u8]) {
        self.count_le(octets.len());
        self.slice(octets);
    }
}

/// A length or a count as 32 bits. The limits of all that nodes send are far below 4 Gi.
fn word(len: usize) -> u32 {
    u32::try_from(len).expect("lengths are bounded far below 4 Gi")
}

impl Writer for BytesMut {
    fn octet(&mut self, octet: u8) {
        self.put_u8(octet);
    }

    fn slice(&mut self, octets: &[u8]) {
        self.put_slice(octets);
    }
}

/// Appending a single octet to a vector costs a tenth of appending it to a [`BytesMut`].
impl Writer for Vec<u8> {
    fn octet(&mut self, octet: u8) {
        self.push(octet);
    }

    fn slice(&mut self, octets: &[u8]) {
        self.extend_from_slice(octets);
    }
}

impl<const N: usize> Writer for SmallVec<[u8; N]>
where
    [u8; N]: smallvec::Array<Item = u8>,
{
    fn octet(&mut self, octet: u8) {
        self.push(octet);
    }

    fn slice(&mut self, octets: &[u8]) {
        self.extend_from_slice(octets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reader<N: Numbers>(octets: &[u8]) -> Reader<N> {
        Reader::new(Bytes::copy_from_slice(octets))
    }

    #[test]
    fn numbers_have_the_octets_of_their_form() {
        assert_eq!(reader::<BigEndian>(&[1, 2]).u16("n"), Ok(0x0102));
        assert_eq!(reader::<LittleEndian>(&[1, 2]).u16("n"), Ok(0x0201));
        assert_eq!(reader::<Varint>(&[0xac, 2]).u16("n"), Ok(300));
        let out_of_range = ReadError::Range { item: "n", at: 0, value: 70_000, least: 0, most: 65_535 };
        assert_eq!(reader::<Varint>(&[0xf0, 0xa2, 4]).u16("n"), Err(out_of_range));
        let truncated = ReadError::Truncated { item: "n", at: 0, need: 4, left: 3 };
        assert_eq!(reader::<BigEndian>(&[1, 2, 3]).u32("n"), Err(truncated));
        assert!(reader::<Varint>(&[0xff; 10]).u64("more than 64 bits").is_err());
        assert!(reader::<Varint>(&[0xff; 2]).u64("no end").is_err());
    }

    #[test]
    fn a_count_is_no_more_than_the_rest_can_hold() {
        let mut counts = reader::<LittleEndian>(&[2, 0, 0, 0, 9, 9, 9]);
        assert!(matches!(counts.count("n", 2), Err(ReadError::Range { value: 2, most: 1, .. })));
        let long = ReadError::TooLong { item: "s", len: 9, limit: 8 };
        assert_eq!(reader::<BigEndian>(&[0, 0, 0, 9]).octets_within("s", 8), Err(long));
        assert!(reader::<Varint>(&[5, 1, 2]).octets("s").is_err());
        assert!(reader::<Varint>(&[1, 0xff]).text("s").is_err());
        assert_eq!(reader::<Varint>(&[1]).end(()), Err(ReadError::Trailing { at: 0, extra: 1 }));
        assert_eq!(reader::<Varint>(&[2]).flag("f"), Err(ReadError::Unknown { item: "f", at: 0, value: 2 }));
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(numbers: Vec<u64>, string: Vec<u8>, word: u32) {
            let mut out = Vec::new();
            numbers.iter().for_each(|number| out.number(*number));
            out.octets(&string);
            let mut reader = reader::<Varint>(&out);
            for number in &numbers {
                prop_assert_eq!(reader.u64("n"), Ok(*number));
            }
            prop_assert_eq!(reader.octets("s").unwrap(), &string);
            prop_assert_eq!(reader.end(()), Ok(()));

            let mut out = BytesMut::new();
            out.put_u32(word);
            out.octets_be(&string);
            let mut reader = Reader::<BigEndian>::new(out.freeze());
            prop_assert_eq!(reader.u32("n"), Ok(word));
            prop_assert_eq!(reader.octets("s").unwrap(), &string);
            prop_assert_eq!(reader.end(()), Ok(()));

            let mut out = BytesMut::new();
            out.put_u64_le(word.into());
            out.octets_le(&string);
            let mut reader = Reader::<LittleEndian>::new(out.freeze());
            prop_assert_eq!(reader.u64("n"), Ok(word.into()));
            prop_assert_eq!(reader.octets("s").unwrap(), &string);
            prop_assert_eq!(reader.end(()), Ok(()));
        }

        #[test]
        fn any_octets_end_in_a_value_or_an_error(octets: Vec<u8>) {
            let mut reader = reader::<Varint>(&octets);
            let list = reader.list("l", |r| r.text("s"));
            prop_assert!(list.is_err() || reader.at() <= octets.len());
        }
    }
}
