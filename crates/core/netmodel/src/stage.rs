//! The way of a message from one program to another: a chain of stages, each first come, first
//! served.
//!
//! A stage takes a fixed time per message. A stage that moves bytes also takes a time per byte.
//! Such stages are cut-through: a byte goes on before the last one has come, so that a chain of
//! them costs one serialisation, that of the slowest. Stages that handle descriptors take a message
//! as a whole.

mod profile;

pub use profile::{Paper, TABLE_1, via_cluster, via_measured, via_simulated};

use crate::units::{Picos, Rate};

/// A rate that is higher while tokens last: the model of a bus with posted writes, or of a policed
/// line.
///
/// Bytes leave at `peak` while there are tokens, else at `sustained`. Tokens grow at `sustained` up
/// to `depth` bytes, and each byte takes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenRate {
    /// The rate with tokens.
    pub peak: Rate,
    /// The rate without tokens.
    pub sustained: Rate,
    /// Most tokens, in bytes.
    pub depth: u64,
}

impl TokenRate {
    /// A constant rate.
    pub fn constant(rate: Rate) -> Self {
        Self { peak: rate, sustained: rate, depth: 0 }
    }

    /// The time that `bytes` take with this many tokens (in bytes) at the start, and the tokens
    /// left.
    ///
    /// While sending at the peak P tokens fall by P - R per second, so that b tokens last for b /
    /// (P - R).
    pub fn time_of(&self, bytes: u64, tokens: f64) -> (Picos, f64) {
        let (peak, sustained) = (self.peak.bytes_per_ps(), self.sustained.bytes_per_ps());
        let spend = peak - sustained;
        let at_peak = self.peak.time_of(bytes);
        if spend <= 0.0 {
            return (at_peak, tokens);
        }
        let left = tokens - at_peak.0 as f64 * spend;
        if left >= 0.0 {
            return (at_peak, left);
        }
        // The tokens run out on the way. The tokens that came in meanwhile paid for every byte
        // beyond them.
        let time = (bytes as f64 - tokens) / sustained;
        (Picos(time.ceil() as u64), 0.0)
    }
}

/// A [`TokenRate`] and the level of its bucket.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bucket {
    rate: TokenRate,
    tokens: f64,
    /// The time of this number of tokens. A server that holds bytes back at the end moves it on.
    pub(crate) since: Picos,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(rate: TokenRate) -> Self {
        Self { rate, tokens: rate.depth as f64, since: Picos::ZERO }
    }

    /// The time that `bytes` take if they begin at `begin`, but not before the last bytes have
    /// gone; spends no tokens.
    pub(crate) fn time_of(&self, begin: Picos, bytes: u64) -> (Picos, f64) {
        let grown = begin.since(self.since).0 as f64 * self.rate.sustained.bytes_per_ps();
        self.rate.time_of(bytes, (self.tokens + grown).min(self.rate.depth as f64))
    }

    /// Like [`Bucket::time_of`], but spends the tokens.
    pub(crate) fn take(&mut self, begin: Picos, bytes: u64) -> Picos {
        let (time, left) = self.time_of(begin, bytes);
        (self.tokens, self.since) = (left, begin + time);
        time
    }
}

/// One stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// A name for display.
    pub name: &'static str,
    /// Time per message.
    pub fixed: Picos,
    /// The rate at which bytes pass; `None` when they do not pass here.
    pub bytes: Option<TokenRate>,
    /// Messages of at most this many bytes do not pass here: they travel inside the descriptor.
    pub skipped_up_to: u64,
}

/// The positions in time of a message: its first byte and its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Front {
    head: Picos,
    tail: Picos,
}

/// A stage in operation.
#[derive(Clone, Debug)]
struct Server {
    stage: Stage,
    /// The time at which it is free.
    free: Picos,
    bucket: Option<Bucket>,
}

impl Server {
    fn new(stage: Stage) -> Self {
        let bucket = stage.bytes.map(Bucket::new);
        Self { stage, free: Picos::ZERO, bucket }
    }

    fn pass(&mut self, bytes: u64, front: Front) -> Front {
        if bytes <= self.stage.skipped_up_to {
            return front;
        }
        let Some(bucket) = &mut self.bucket else {
            let tail = front.tail.max(self.free) + self.stage.fixed;
            self.free = tail;
            return Front { head: tail, tail };
        };
        let begin = front.head.max(self.free) + self.stage.fixed;
        let time = bucket.take(begin, bytes);
        // The last byte cannot leave before it has arrived.
        let tail = (begin + time).max(front.tail + self.stage.fixed);
        (self.free, bucket.since) = (tail, tail);
        Front { head: begin, tail }
    }
}

/// A chain of stages in operation.
#[derive(Clone, Debug)]
pub struct Chain {
    servers: Vec<Server>,
}

impl Chain {
    /// An idle chain.
    pub fn new(stages: impl IntoIterator<Item = Stage>) -> Self {
        Self { servers: stages.into_iter().map(Server::new).collect() }
    }

    /// Sends a message through at `born`, after all those sent before it; returns the time at which
    /// its last byte arrives.
    pub fn send(&mut self, born: Picos, bytes: u64) -> Picos {
        let start = Front { head: born, tail: born };
        self.servers.iter_mut().fold(start, |front, server| server.pass(bytes, front)).tail
    }
}

/// The time of one message of `bytes` through idle stages.
pub fn unloaded(stages: &[Stage], bytes: u64) -> Picos {
    Chain::new(stages.iter().cloned()).send(Picos::ZERO, bytes)
}

/// The sum of the fixed times of stages.
pub fn fixed(stages: &[Stage]) -> Picos {
    stages.iter().map(|stage| stage.fixed).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(fixed_us: u64, mbit: Option<u64>) -> Stage {
        let bytes = mbit.map(|mbit| TokenRate::constant(Rate::mbit(mbit)));
        Stage { name: "test", fixed: Picos::from_micros(fixed_us), bytes, skipped_up_to: 0 }
    }

    #[test]
    fn cut_through_pays_the_slowest_serialisation_once() {
        let stages = [
            stage(3, None),
            stage(1, Some(1_000)),
            stage(1, Some(800)),
            stage(1, Some(1_000)),
            stage(2, None),
        ];
        assert_eq!(unloaded(&stages, 1_000), Picos::from_micros(8 + 10));
        assert_eq!(fixed(&stages), Picos::from_micros(8));
    }

    #[test]
    fn messages_queue_at_each_stage() {
        let mut chain = Chain::new([stage(5, None), stage(0, Some(8_000))]);
        assert_eq!(chain.send(Picos::ZERO, 10_000), Picos::from_micros(15));
        assert_eq!(chain.send(Picos::ZERO, 10_000), Picos::from_micros(25));
        assert_eq!(chain.send(Picos::from_micros(100), 10_000), Picos::from_micros(115));
    }

    #[test]
    fn tokens_are_spent_and_grow_again() {
        let bus = TokenRate { peak: Rate::mbit(1_000), sustained: Rate::mbit(856), depth: 415 };
        let (time, left) = bus.time_of(2_000, 415.0);
        assert_eq!(time, Picos::from_micros(16));
        assert!((left - (415.0 - 16.0 * 18.0)).abs() < 1e-6);
        // The break is where n / P = (n - b) / R: at 2,882 bytes.
        let (time, left) = bus.time_of(32_768, 415.0);
        assert_eq!((time, left), (Picos(((32_768.0 - 415.0) / 107.0e-6f64).ceil() as u64), 0.0));
        let stage = Stage { name: "bus", fixed: Picos::ZERO, bytes: Some(bus), skipped_up_to: 4 };
        let mut chain = Chain::new([stage]);
        let first = chain.send(Picos::ZERO, 32_768);
        assert_eq!(chain.send(first, 1_070) - first, Picos::from_micros(10));
        // 415 tokens take 3.9 us to grow.
        let rested = chain.send(first, 1_070) + Picos::from_micros(4);
        assert_eq!(chain.send(rested, 1_000) - rested, Picos::from_micros(8));
        assert_eq!(chain.send(Picos::ZERO, 4), Picos::ZERO);
    }
}
