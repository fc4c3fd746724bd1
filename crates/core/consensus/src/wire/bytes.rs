//! Reading and writing fields, little-endian. Errors carry the position.

use bytes::{BufMut, Bytes, BytesMut};

use super::MessageError;

/// Reads fields from the front of a message; byte strings share its memory.
pub(crate) struct Reader {
    bytes: Bytes,
    at: usize,
}

impl Reader {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    /// The position of the next field, in bytes from the start.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn bytes(&mut self, len: usize, item: &'static str) -> Result<Bytes, MessageError> {
        let left = self.bytes.len() - self.at;
        if len > left {
            return Err(MessageError::Truncated { item, at: self.at, need: len, left });
        }
        let field = self.bytes.slice(self.at..self.at + len);
        self.at += len;
        Ok(field)
    }

    /// The rest of the message.
    pub(crate) fn rest(&mut self) -> Bytes {
        let rest = self.bytes.slice(self.at..);
        self.at = self.bytes.len();
        rest
    }

    fn array<const N: usize>(&mut self, item: &'static str) -> Result<[u8; N], MessageError> {
        let left = self.bytes.len() - self.at;
        let Some(field) = self.bytes[self.at..].first_chunk::<N>() else {
            return Err(MessageError::Truncated { item, at: self.at, need: N, left });
        };
        self.at += N;
        Ok(*field)
    }

    pub(crate) fn u8(&mut self, item: &'static str) -> Result<u8, MessageError> {
        Ok(u8::from_le_bytes(self.array(item)?))
    }

    pub(crate) fn u32(&mut self, item: &'static str) -> Result<u32, MessageError> {
        Ok(u32::from_le_bytes(self.array(item)?))
    }

    pub(crate) fn u64(&mut self, item: &'static str) -> Result<u64, MessageError> {
        Ok(u64::from_le_bytes(self.array(item)?))
    }

    /// A number within bounds.
    pub(crate) fn number(&mut self, item: &'static str, least: u64, most: u64) -> Result<u64, MessageError> {
        let at = self.at;
        let value = self.u64(item)?;
        if value < least || value > most {
            return Err(MessageError::Range { item, at, value, least, most });
        }
        Ok(value)
    }

    pub(crate) fn flag(&mut self, item: &'static str) -> Result<bool, MessageError> {
        let at = self.at;
        match self.u8(item)? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(MessageError::Unknown { item, at, value }),
        }
    }

    /// The number of elements that follow, of `each` bytes or more. It is never more than the rest
    /// of the message can hold.
    pub(crate) fn count(&mut self, item: &'static str, each: usize) -> Result<usize, MessageError> {
        let at = self.at;
        let count = self.u32(item)? as usize;
        let most = (self.bytes.len() - self.at) / each;
        if count > most {
            return Err(MessageError::Range { item, at, value: count as u64, least: 0, most: most as u64 });
        }
        Ok(count)
    }

    /// A byte string preceded by its length.
    pub(crate) fn string(&mut self, item: &'static str) -> Result<Bytes, MessageError> {
        let len = self.u32(item)? as usize;
        self.bytes(len, item)
    }

    /// Checks that nothing is left.
    pub(crate) fn end(self) -> Result<(), MessageError> {
        let left = self.bytes.len() - self.at;
        if left > 0 { Err(MessageError::Trailing { at: self.at, left }) } else { Ok(()) }
    }
}

/// Writes a length or a count: below 4 Gi by the limits of the configuration.
pub(crate) fn put_len(out: &mut BytesMut, len: usize) {
    out.put_u32_le(u32::try_from(len).expect("lengths are bounded by the configuration"));
}

/// Writes a byte string preceded by its length.
pub(crate) fn put_string(out: &mut BytesMut, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.put_slice(bytes);
}
