//! The messages that a node has appended recently, kept to repair losses.

use crate::wire::messages;
use base::Moment;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Memory of a kept message in addition to its body.
const OVERHEAD: usize = 64;

/// The requested messages are no longer kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone;

/// The numbered messages of all streams of a node, oldest first. One limit in bytes applies to all
/// of them together.
#[derive(Debug)]
pub(crate) struct History<K> {
    streams: BTreeMap<K, VecDeque<Piece>>,
    /// All kept pieces by age, each with the number of its first message. An entry whose piece was
    /// dropped is ignored.
    order: VecDeque<(Moment, K, u64)>,
    bytes: usize,
    bytes_max: usize,
}

/// A message, or several as a [batch](messages).
#[derive(Debug)]
struct Piece {
    first: u64,
    count: u64,
    body: Bytes,
}

impl Piece {
    fn bytes(&self) -> usize {
        self.body.len() + OVERHEAD
    }

    fn next(&self) -> u64 {
        self.first + self.count
    }

    fn messages(&self) -> impl Iterator<Item = Bytes> {
        let (one, run) = match self.count {
            1 => (Some(self.body.clone()), Bytes::new()),
            _ => (None, self.body.clone()),
        };
        one.into_iter().chain(messages(run).map_while(Result::ok))
    }
}

impl<K: Ord + Copy> History<K> {
    /// A history of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { streams: BTreeMap::new(), order: VecDeque::new(), bytes: 0, bytes_max }
    }

    /// Keeps the messages of a stream from number `first` on: one, or a [batch](messages) of
    /// `count`. The numbers of one stream have no gaps.
    pub(crate) fn push(&mut self, now: Moment, stream: K, (first, count): (u64, u64), body: Bytes) {
        let piece = Piece { first, count, body };
        self.bytes += piece.bytes();
        let pieces = self.streams.entry(stream).or_default();
        debug_assert!(pieces.back().is_none_or(|last| last.next() == first), "no gaps");
        pieces.push_back(piece);
        self.order.push_back((now, stream, first));
        // Not only by age: a flood must not be kept for half a minute.
        while self.bytes > self.bytes_max {
            self.drop_oldest();
        }
    }

    /// Number of the first message kept of a stream; `None` if there is none.
    pub(crate) fn first(&self, stream: K) -> Option<u64> {
        Some(self.streams.get(&stream)?.front()?.first)
    }

    /// Messages from the start of `numbers` to its end, limited to `bytes_max` bytes, but at least
    /// one.
    ///
    /// # Errors
    /// The first one is not kept.
    pub(crate) fn range(
        &self,
        stream: K,
        numbers: RangeInclusive<u64>,
        bytes_max: usize,
    ) -> Result<Vec<Bytes>, Gone> {
        let pieces = self.streams.get(&stream).ok_or(Gone)?;
        let start = *numbers.start();
        let place = pieces.partition_point(|piece| piece.next() <= start);
        let first = pieces.get(place).map(|piece| piece.first).filter(|&first| first <= start).ok_or(Gone)?;
        let all = (first..).zip(pieces.range(place..).flat_map(Piece::messages));
        let mut bytes = 0;
        let mut messages = Vec::new();
        for (_, message) in
            all.skip_while(|(number, _)| *number < start).take_while(|(number, _)| numbers.contains(number))
        {
            bytes += message.len();
            if bytes > bytes_max && !messages.is_empty() {
                break;
            }
            messages.push(message);
        }
        if messages.is_empty() { Err(Gone) } else { Ok(messages) }
    }

    /// Drops the messages of a stream.
    pub(crate) fn forget(&mut self, stream: K) {
        if let Some(pieces) = self.streams.remove(&stream) {
            self.bytes -= pieces.iter().map(Piece::bytes).sum::<usize>();
        }
        // Entries of dropped pieces would otherwise stay until their age, and keep a timer alive.
        if self.streams.is_empty() {
            self.order.clear();
        }
    }

    /// Drops messages older than `age`.
    pub(crate) fn age(&mut self, now: Moment, age: Duration) {
        while self.order.front().is_some_and(|&(at, ..)| at + age <= now) {
            self.drop_oldest();
        }
    }

    /// Drops the oldest messages until they take at most `bytes`. Returns how many were dropped; a
    /// batch counts as one.
    pub(crate) fn trim(&mut self, bytes: usize) -> u64 {
        let mut trimmed = 0;
        while self.bytes > bytes && !self.order.is_empty() {
            self.drop_oldest();
            trimmed += 1;
        }
        trimmed
    }

    /// Whether nothing is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// When the oldest message was appended.
    pub(crate) fn oldest(&self) -> Option<Moment> {
        self.order.front().map(|&(at, ..)| at)
    }

    /// Bytes of the kept messages.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_oldest(&mut self) {
        let Some((_, stream, first)) = self.order.pop_front() else { return };
        let Some(pieces) = self.streams.get_mut(&stream) else { return };
        // A forgotten stream may have been opened again: its first piece is then a younger one.
        if let Some(piece) = pieces.pop_front_if(|piece| piece.first == first) {
            self.bytes -= piece.bytes();
        }
        if pieces.is_empty() {
            self.streams.remove(&stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::put_message;

    fn at(second: u64) -> Moment {
        Moment::from_secs(second)
    }

    #[test]
    fn bounded_in_bytes_over_all_streams_oldest_first() {
        let mut history = History::new(3 * (10 + OVERHEAD));
        let body = || Bytes::from_static(b"0123456789");
        history.push(at(1), 'a', (1, 1), body());
        history.push(at(2), 'b', (1, 1), body());
        history.push(at(3), 'a', (2, 1), body());
        history.push(at(4), 'a', (3, 1), body());
        assert_eq!((history.first('a'), history.first('b')), (Some(2), Some(1)));
        assert_eq!(history.range('a', 1..=3, 100), Err(Gone));
        assert_eq!(history.range('a', 2..=3, 100).unwrap().len(), 2);
        assert_eq!(history.range('a', 2..=3, 5).unwrap().len(), 1, "at least one");
        assert_eq!(history.range('a', 4..=9, 5), Err(Gone));
        history.age(at(12), Duration::from_secs(10));
        assert_eq!(history.first('b'), None);
        history.forget('a');
        assert_eq!((history.bytes(), history.oldest()), (0, None));
    }

    #[test]
    fn messages_of_runs_are_found_one_by_one() {
        let mut history = History::new(10_000);
        let run = |texts: [&str; 3]| {
            let mut run = Vec::new();
            texts.iter().for_each(|text| put_message(&mut run, text.as_bytes()));
            Bytes::from(run)
        };
        history.push(at(1), 'a', (4, 3), run(["4", "5", "6"]));
        history.push(at(2), 'a', (7, 1), Bytes::from("7"));
        history.push(at(3), 'a', (8, 3), run(["8", "9", "10"]));
        for (numbers, bytes_max, expected) in [
            (4..=10, 100, "4 5 6 7 8 9 10"),
            (5..=5, 100, "5"),
            (6..=8, 100, "6 7 8"),
            (10..=20, 100, "10"),
            (5..=10, 3, "5 6 7"),
            (9..=10, 0, "9"),
        ] {
            let found = history.range('a', numbers.clone(), bytes_max).unwrap();
            let found: Vec<_> = found.iter().map(|text| std::str::from_utf8(text).unwrap()).collect();
            assert_eq!(found.join(" "), expected, "{numbers:?}");
        }
        assert_eq!(
            (history.range('a', 3..=5, 100), history.range('a', 11..=12, 100)),
            (Err(Gone), Err(Gone))
        );
        history.age(at(11), Duration::from_secs(10));
        assert_eq!(history.first('a'), Some(7), "a run goes as a whole");
    }

    #[test]
    fn a_stream_that_was_forgotten_starts_anew() {
        let mut history = History::new(1000);
        history.push(at(1), 'b', (1, 1), Bytes::new());
        history.push(at(1), 'a', (1, 1), Bytes::new());
        history.forget('a');
        history.push(at(2), 'a', (9, 1), Bytes::new());
        history.age(at(11), Duration::from_secs(10));
        assert_eq!((history.first('a'), history.first('b')), (Some(9), None));
    }
}
