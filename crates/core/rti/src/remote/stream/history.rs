//! What a node has said lately, so that it can say it again.

use base::Moment;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Memory that a kept message costs beside its body.
const OVERHEAD: usize = 64;

/// What was asked for is kept no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone;

/// The numbered messages of all streams of a node, oldest first; bounded in bytes for all of them together.
#[derive(Debug)]
pub(crate) struct History<K> {
    streams: BTreeMap<K, Kept>,
    /// All kept messages by age. An entry whose message was forgotten means nothing.
    order: VecDeque<(Moment, K, u64)>,
    bytes: usize,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Kept {
    /// Number of the first one.
    first: u64,
    messages: VecDeque<Bytes>,
}

impl<K: Ord + Copy> History<K> {
    /// A history of at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { streams: BTreeMap::new(), order: VecDeque::new(), bytes: 0, bytes_max }
    }

    /// Keeps message `number` of a stream; numbers of one stream come without gaps.
    pub(crate) fn push(&mut self, now: Moment, stream: K, number: u64, message: Bytes) {
        self.bytes += message.len() + OVERHEAD;
        let kept = self.streams.entry(stream).or_default();
        if kept.messages.is_empty() {
            kept.first = number;
        }
        debug_assert_eq!(kept.first + kept.messages.len() as u64, number, "no gaps");
        kept.messages.push_back(message);
        self.order.push_back((now, stream, number));
        while self.bytes > self.bytes_max {
            self.drop_oldest();
        }
    }

    /// Number of the first message kept of a stream; `None` when none is.
    pub(crate) fn first(&self, stream: K) -> Option<u64> {
        self.streams.get(&stream).map(|kept| kept.first)
    }

    /// Messages from the start of `numbers` on, up to its end or to `bytes_max` bytes, at least one.
    ///
    /// # Errors
    /// The first one is not kept.
    pub(crate) fn range(
        &self,
        stream: K,
        numbers: RangeInclusive<u64>,
        bytes_max: usize,
    ) -> Result<Vec<Bytes>, Gone> {
        let kept = self.streams.get(&stream).ok_or(Gone)?;
        let skip = numbers.start().checked_sub(kept.first).ok_or(Gone)?;
        let count = numbers.end().saturating_sub(*numbers.start()).saturating_add(1);
        let mut bytes = 0;
        let mut messages = Vec::new();
        let range = kept.messages.iter().skip(usize::try_from(skip).map_err(|_| Gone)?);
        for message in range.take(usize::try_from(count).unwrap_or(usize::MAX)) {
            bytes += message.len();
            if bytes > bytes_max && !messages.is_empty() {
                break;
            }
            messages.push(message.clone());
        }
        if messages.is_empty() { Err(Gone) } else { Ok(messages) }
    }

    /// Forgets a stream.
    pub(crate) fn forget(&mut self, stream: K) {
        if let Some(kept) = self.streams.remove(&stream) {
            self.bytes -= kept.messages.iter().map(|message| message.len() + OVERHEAD).sum::<usize>();
        }
        if self.streams.is_empty() {
            self.order.clear();
        }
    }

    /// Forgets what is older than `age`.
    pub(crate) fn age(&mut self, now: Moment, age: Duration) {
        while self.order.front().is_some_and(|&(at, ..)| at + age <= now) {
            self.drop_oldest();
        }
    }

    /// When the oldest message came.
    pub(crate) fn oldest(&self) -> Option<Moment> {
        self.order.front().map(|&(at, ..)| at)
    }

    /// Bytes kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_oldest(&mut self) {
        let Some((_, stream, number)) = self.order.pop_front() else { return };
        let Some(kept) = self.streams.get_mut(&stream).filter(|kept| kept.first == number) else { return };
        if let Some(message) = kept.messages.pop_front() {
            self.bytes -= message.len() + OVERHEAD;
            kept.first += 1;
        }
        if kept.messages.is_empty() {
            self.streams.remove(&stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Moment {
        Moment::from_secs(second)
    }

    #[test]
    fn bounded_in_bytes_over_all_streams_oldest_first() {
        let mut history = History::new(3 * (10 + OVERHEAD));
        let body = || Bytes::from_static(b"0123456789");
        history.push(at(1), 'a', 1, body());
        history.push(at(2), 'b', 1, body());
        history.push(at(3), 'a', 2, body());
        history.push(at(4), 'a', 3, body());
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
    fn a_stream_that_was_forgotten_starts_anew() {
        let mut history = History::new(1000);
        history.push(at(1), 'b', 1, Bytes::new());
        history.push(at(1), 'a', 1, Bytes::new());
        history.forget('a');
        history.push(at(2), 'a', 9, Bytes::new());
        history.age(at(11), Duration::from_secs(10));
        assert_eq!((history.first('a'), history.first('b')), (Some(9), None));
    }
}
