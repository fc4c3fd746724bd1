//! Reassembly of unicasts. Parts come in order or are lost: links keep order, and a path that
//! changes costs a message.

use crate::wire::Piece;
use base::NodeKey;
use bytes::{Bytes, BytesMut};
use std::collections::BTreeMap;

/// The messages that are being reassembled: one at a time for each sender and class.
#[derive(Debug)]
pub(crate) struct Reassembly {
    partial: BTreeMap<(NodeKey, bool), Partial>,
    bytes: usize,
    bytes_max: usize,
    started: u64,
}

#[derive(Debug)]
struct Partial {
    id: u32,
    total: usize,
    body: BytesMut,
    started: u64,
}

/// The result of adding a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// The message that the piece completes.
    pub(crate) whole: Option<Bytes>,
    /// Number of messages that will never be complete, and of parts that belong to no message.
    pub(crate) lost: u64,
}

impl Reassembly {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { partial: BTreeMap::new(), bytes: 0, bytes_max, started: 0 }
    }

    pub(crate) fn put(&mut self, piece: &Piece) -> Put {
        let slot = (piece.origin, piece.urgent);
        let total = piece.total as usize;
        if piece.offset == 0 {
            let lost = self.discard(slot);
            if piece.part.len() == total {
                return Put { whole: Some(piece.part.clone()), lost };
            }
            self.started += 1;
            let partial = Partial { id: piece.id, total, body: BytesMut::new(), started: self.started };
            self.partial.insert(slot, partial);
            let lost = lost + self.append(slot, &piece.part);
            return Put { whole: None, lost };
        }
        let fits =
            |p: &Partial| p.id == piece.id && p.total == total && p.body.len() == piece.offset as usize;
        if !self.partial.get(&slot).is_some_and(fits) {
            // Parts that follow a lost one belong to no message: only the first of them is counted.
            return Put { whole: None, lost: self.discard(slot) };
        }
        let lost = self.append(slot, &piece.part);
        let complete = self.partial.get(&slot).is_some_and(|p| p.body.len() == p.total);
        let whole = if complete { self.partial.remove(&slot) } else { None };
        let whole = whole.map(|partial| {
            self.bytes -= partial.body.len();
            partial.body.freeze()
        });
        Put { whole, lost }
    }

    /// Appends the part and makes room: the message that was begun first is dropped, even if it is
    /// this one. Returns the number of dropped messages.
    fn append(&mut self, slot: (NodeKey, bool), part: &[u8]) -> u64 {
        if let Some(partial) = self.partial.get_mut(&slot) {
            partial.body.extend_from_slice(part);
            self.bytes += part.len();
        }
        let mut lost = 0;
        while self.bytes > self.bytes_max
            && let Some((&oldest, _)) = self.partial.iter().min_by_key(|(_, partial)| partial.started)
        {
            lost += self.discard(oldest);
        }
        lost
    }

    fn discard(&mut self, slot: (NodeKey, bool)) -> u64 {
        match self.partial.remove(&slot) {
            Some(partial) => {
                self.bytes -= partial.body.len();
                1
            }
            None => 0,
        }
    }

    /// Drops the partial messages of a node from which nothing more will come. Returns their
    /// number.
    pub(crate) fn forget(&mut self, origin: NodeKey) -> u64 {
        self.discard((origin, false)) + self.discard((origin, true))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Kind;

    fn piece(origin: u64, id: u32, total: u32, offset: u32, len: usize) -> Piece {
        Piece {
            urgent: false,
            kind: Kind::Body,
            hops_left: 9,
            origin: NodeKey(origin),
            destination: NodeKey(0),
            id,
            total,
            offset,
            part: Bytes::from(vec![7; len]),
        }
    }

    fn whole(put: Put) -> Option<usize> {
        put.whole.map(|body| body.len())
    }

    #[test]
    fn parts_in_order_become_the_whole() {
        let mut r = Reassembly::new(1_000);
        assert_eq!(whole(r.put(&piece(1, 1, 0, 0, 0))), Some(0));
        assert_eq!(whole(r.put(&piece(1, 2, 5, 0, 5))), Some(5));
        assert_eq!(r.put(&piece(1, 3, 25, 0, 10)), Put { whole: None, lost: 0 });
        assert_eq!(r.put(&piece(2, 3, 15, 0, 10)), Put { whole: None, lost: 0 });
        assert_eq!(r.put(&piece(1, 3, 25, 10, 10)), Put { whole: None, lost: 0 });
        assert_eq!(whole(r.put(&piece(1, 3, 25, 20, 5))), Some(25));
        assert_eq!(r.bytes(), 10);
        assert_eq!((r.forget(NodeKey(2)), r.bytes()), (1, 0));
    }

    #[test]
    fn a_gap_costs_one_message_and_nothing_else() {
        let mut r = Reassembly::new(1_000);
        r.put(&piece(1, 1, 30, 0, 10));
        assert_eq!(r.put(&piece(1, 1, 30, 20, 10)), Put { whole: None, lost: 1 });
        assert_eq!(r.put(&piece(1, 1, 30, 10, 10)), Put { whole: None, lost: 0 });
        r.put(&piece(1, 2, 30, 0, 10));
        assert_eq!(r.put(&piece(1, 3, 12, 0, 10)), Put { whole: None, lost: 1 });
        assert_eq!(whole(r.put(&piece(1, 3, 12, 10, 2))), Some(12));
        assert_eq!(r.bytes(), 0);
    }

    #[test]
    fn memory_is_bounded_and_the_first_begun_goes() {
        let mut r = Reassembly::new(25);
        r.put(&piece(1, 1, 100, 0, 10));
        r.put(&piece(2, 1, 15, 0, 10));
        assert_eq!(r.put(&piece(3, 1, 100, 0, 10)), Put { whole: None, lost: 1 });
        assert_eq!(whole(r.put(&piece(2, 1, 15, 10, 5))), Some(15));
        assert_eq!(r.put(&piece(4, 1, 100, 0, 40)), Put { whole: None, lost: 2 });
        assert_eq!(r.bytes(), 0);
    }
}
