//! Unicasts that wait for a link. The queue is fair among destinations and bounded; when it is
//! full, the oldest pieces of the longest queue are dropped.

use crate::wire::Piece;
use base::NodeKey;
use std::collections::{BTreeMap, VecDeque};

/// Bytes counted for a waiting piece in addition to its part.
const PIECE_BYTES: usize = 64;

/// Waiting unicasts of one class.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    waiting: BTreeMap<NodeKey, Waiting>,
    /// Destinations with waiting pieces, in the order of their turns.
    turns: VecDeque<NodeKey>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    pieces: VecDeque<Piece>,
    bytes: usize,
}

fn bytes_of(piece: &Piece) -> usize {
    PIECE_BYTES + piece.part.len()
}

impl FairQueue {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(crate) fn push(&mut self, piece: Piece) {
        let waiting = self.waiting.entry(piece.destination).or_default();
        if waiting.pieces.is_empty() {
            self.turns.push_back(piece.destination);
        }
        waiting.bytes += bytes_of(&piece);
        self.bytes += bytes_of(&piece);
        waiting.pieces.push_back(piece);
    }

    /// The next piece, with a part of at most `part_max` bytes; the rest of a longer one stays
    /// here. Destinations take turns.
    pub(crate) fn pop(&mut self, part_max: usize) -> Option<Piece> {
        let destination = self.turns.pop_front()?;
        let waiting = self.waiting.get_mut(&destination)?;
        let front = waiting.pieces.front_mut()?;
        let piece = if front.part.len() > part_max {
            let part = front.part.split_to(part_max);
            let piece = Piece { part, ..front.clone() };
            front.offset += u32::try_from(part_max).expect("a part is shorter than its whole");
            waiting.bytes -= part_max;
            self.bytes -= part_max;
            piece
        } else {
            let piece = waiting.pieces.pop_front()?;
            waiting.bytes -= bytes_of(&piece);
            self.bytes -= bytes_of(&piece);
            piece
        };
        if waiting.pieces.is_empty() {
            self.waiting.remove(&destination);
        } else {
            self.turns.push_back(destination);
        }
        Some(piece)
    }

    /// Makes room: removes the oldest piece of the destination with the most waiting bytes.
    pub(crate) fn drop_oldest(&mut self) -> Option<Piece> {
        let (&destination, _) = self.waiting.iter().max_by_key(|(_, waiting)| waiting.bytes)?;
        let waiting = self.waiting.get_mut(&destination)?;
        let piece = waiting.pieces.pop_front()?;
        waiting.bytes -= bytes_of(&piece);
        self.bytes -= bytes_of(&piece);
        if waiting.pieces.is_empty() {
            self.waiting.remove(&destination);
            self.turns.retain(|turn| *turn != destination);
        }
        Some(piece)
    }

    /// Removes and returns all pieces, in the order of their destinations.
    pub(crate) fn take_all(&mut self) -> Vec<Piece> {
        self.bytes = 0;
        self.turns.clear();
        std::mem::take(&mut self.waiting).into_values().flat_map(|waiting| waiting.pieces).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Kind;
    use bytes::Bytes;

    fn piece(destination: u64, id: u32, len: usize) -> Piece {
        Piece {
            urgent: false,
            kind: Kind::Body,
            hops_left: 9,
            origin: NodeKey(1),
            destination: NodeKey(destination),
            id,
            total: len as u32,
            offset: 0,
            part: Bytes::from(vec![id as u8; len]),
        }
    }

    #[test]
    fn destinations_take_turns_and_each_keeps_its_order() {
        let mut queue = FairQueue::default();
        queue.push(piece(1, 1, 250));
        queue.push(piece(1, 2, 10));
        queue.push(piece(2, 3, 10));
        queue.push(piece(2, 4, 150));
        let order: Vec<_> =
            std::iter::from_fn(|| queue.pop(100)).map(|p| (p.id, p.offset, p.part.len())).collect();
        let expected =
            [(1, 0, 100), (3, 0, 10), (1, 100, 100), (4, 0, 100), (1, 200, 50), (4, 100, 50), (2, 0, 10)];
        assert_eq!(order, expected);
        assert_eq!((queue.bytes(), queue.is_empty()), (0, true));
    }

    #[test]
    fn the_oldest_of_the_longest_goes_first() {
        let mut queue = FairQueue::default();
        queue.push(piece(1, 1, 10));
        queue.push(piece(2, 2, 100));
        queue.push(piece(2, 3, 100));
        let dropped: Vec<_> = std::iter::from_fn(|| queue.drop_oldest()).map(|p| p.id).collect();
        assert_eq!(dropped, [2, 3, 1]);
        assert_eq!((queue.bytes(), queue.pop(10)), (0, None));
        queue.push(piece(2, 4, 1));
        assert_eq!(queue.take_all().len(), 1);
        assert!(queue.is_empty() && queue.pop(10).is_none());
    }
}
