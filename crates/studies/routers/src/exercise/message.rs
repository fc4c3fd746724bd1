//! Messages of simulators: updates of entities and interest in cells of the grid. Implements the
//! router's traits.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use router::{Interest, Message, Priority, Wire, WireError};

/// The state of an entity. Its topic is the cell of the entity, so that interest in cells routes
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Update {
    pub(super) cell: u32,
    /// Index of the sending site.
    pub(super) site: u16,
    /// Send time, in nanoseconds.
    pub(super) born: u64,
    /// Padding, in bytes.
    pub(super) rest: u16,
}

/// Bytes of an update without its padding.
pub(super) const HEAD_BYTES: usize = 14;

impl Message for Update {
    type Topic = u32;

    fn topic(&self) -> &u32 {
        &self.cell
    }

    fn priority(&self) -> Priority {
        Priority::State
    }

    fn droppable(&self) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        HEAD_BYTES + usize::from(self.rest)
    }
}

impl Wire for Update {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.cell);
        out.put_u16(self.site);
        out.put_u64(self.born);
        out.put_bytes(0, self.rest.into());
    }

    fn decode(mut body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        let rest = body.len().checked_sub(HEAD_BYTES).and_then(|rest| u16::try_from(rest).ok());
        let Some(rest) = rest else {
            return Err(WireError(format!(
                "an update has from {HEAD_BYTES} to {} bytes, this one {}",
                HEAD_BYTES + usize::from(u16::MAX),
                body.len()
            )));
        };
        Ok(Self { cell: body.get_u32(), site: body.get_u16(), born: body.get_u64(), rest })
    }
}

/// Interest in cells of one block of the grid. A summary of several matches exactly the union of
/// their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Area {
    pub(super) block: u32,
    /// The cells, one bit each by position.
    pub(super) cells: u64,
}

impl Interest for Area {
    type Topic = u32;
    type Key = u32;

    fn key(&self) -> Option<u32> {
        Some(self.block)
    }

    fn topic_key(cell: &u32) -> u32 {
        cell / 64
    }

    fn matches(&self, cell: &u32) -> bool {
        self.block == cell / 64 && self.cells >> (cell % 64) & 1 == 1
    }

    fn merge(&mut self, other: &Self) {
        self.cells |= other.cells;
    }
}

impl Wire for Area {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.block);
        out.put_u64(self.cells);
    }

    fn decode(mut body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        if body.len() != 12 {
            return Err(WireError(format!("an area has 12 bytes, not {}", body.len())));
        }
        Ok(Self { block: body.get_u32(), cells: body.get_u64() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_values_are_read_back(cell: u32, site: u16, born: u64, rest in 0u16..2_000, block in 0u32..1 << 26, cells: u64) {
            let update = Update { cell, site, born, rest };
            let area = Area { block, cells };
            let mut out = BytesMut::new();
            update.encode(&mut out);
            prop_assert_eq!(out.len(), update.bytes());
            prop_assert_eq!(Update::decode(out.freeze(), 0), Ok(update));
            let mut out = BytesMut::new();
            area.encode(&mut out);
            prop_assert_eq!(Area::decode(out.freeze(), 0), Ok(area));
        }

        /// A summary matches exactly what one of its parts matches.
        #[test]
        fn summaries_are_exact(block in 0u32..4, a: u64, b: u64, cell in 0u32..256) {
            let (a, b) = (Area { block, cells: a }, Area { block, cells: b });
            let mut both = a;
            both.merge(&b);
            prop_assert_eq!(both.matches(&cell), a.matches(&cell) || b.matches(&cell));
        }
    }

    #[test]
    fn short_input_is_refused() {
        assert!(Update::decode(Bytes::from_static(&[0; 13]), 0).is_err());
        assert!(Area::decode(Bytes::from_static(&[0; 13]), 0).is_err());
    }
}
