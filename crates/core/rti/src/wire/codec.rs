//! Encoding of numbers and octets.

use crate::control::NodeId;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::encoding::decode_varint;
use router::WireError;
use smallvec::SmallVec;

/// Writes the values that [`Reader`] reads.
pub(crate) trait Writer {
    fn octet(&mut self, octet: u8);
    fn slice(&mut self, octets: &[u8]);

    /// Writes seven bits per octet, the lowest first, as Protocol Buffers do.
    fn number(&mut self, value: impl Into<u64>) {
        let mut value: u64 = value.into();
        while value >= 0x80 {
            self.octet(value as u8 | 0x80);
            value >>= 7;
        }
        self.octet(value as u8);
    }

    fn octets(&mut self, octets: &[u8]) {
        self.number(octets.len() as u64);
        self.slice(octets);
    }
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

/// Reads one value after the other from a body.
#[derive(Debug)]
pub(crate) struct Reader {
    rest: Bytes,
}

impl Reader {
    pub(crate) fn new(body: Bytes) -> Self {
        Self { rest: body }
    }

    pub(crate) fn u8(&mut self, field: &str) -> Result<u8, WireError> {
        if self.rest.is_empty() {
            return Err(short(field));
        }
        Ok(self.rest.get_u8())
    }

    pub(crate) fn flag(&mut self, field: &str) -> Result<bool, WireError> {
        match self.u8(field)? {
            flag @ 0..=1 => Ok(flag == 1),
            other => Err(WireError(format!("{field} is 0 or 1, not {other}"))),
        }
    }

    pub(crate) fn u64(&mut self, field: &str) -> Result<u64, WireError> {
        match self.rest.first() {
            Some(&small @ 0..0x80) => {
                self.rest.advance(1);
                Ok(u64::from(small))
            }
            _ => decode_varint(&mut self.rest).map_err(|_| short(field)),
        }
    }

    pub(crate) fn u32(&mut self, field: &str) -> Result<u32, WireError> {
        let value = self.u64(field)?;
        u32::try_from(value).map_err(|_| WireError(format!("{field} has 32 bits: {value} does not fit")))
    }

    pub(crate) fn node(&mut self, field: &str) -> Result<NodeId, WireError> {
        let number = self.u64(field)?;
        u16::try_from(number).map(NodeId).map_err(|_| WireError(format!("{field}: {number} is no node")))
    }

    pub(crate) fn octets(&mut self, field: &str) -> Result<Bytes, WireError> {
        let length = self.u64(field)?;
        let length = usize::try_from(length).ok().filter(|&length| length <= self.rest.len());
        Ok(self.rest.split_to(length.ok_or_else(|| short(field))?))
    }

    pub(crate) fn text(&mut self, field: &str) -> Result<String, WireError> {
        String::from_utf8(self.octets(field)?.into()).map_err(|_| WireError(format!("{field} is not UTF-8")))
    }

    /// The number of items that follow. Each takes at least one octet, so a number greater than the
    /// remaining octets is rejected.
    pub(crate) fn count(&mut self, field: &str) -> Result<usize, WireError> {
        let count = self.u64(field)?;
        usize::try_from(count).ok().filter(|&count| count <= self.rest.len()).ok_or_else(|| short(field))
    }

    /// Items preceded by their number, each read by `read`.
    pub(crate) fn list<T>(
        &mut self,
        field: &str,
        mut read: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let count = self.count(field)?;
        // The count comes from another node. It is trusted only up to a capacity that is cheap to
        // reserve.
        let mut list = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The remaining octets.
    pub(crate) fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.rest)
    }

    /// Returns the value, provided that nothing is left.
    pub(crate) fn end<T>(self, value: T) -> Result<T, WireError> {
        match self.rest.len() {
            0 => Ok(value),
            left => Err(WireError(format!("{left} octets are left over"))),
        }
    }
}

fn short(field: &str) -> WireError {
    WireError(format!("ends within {field}"))
}
