//! The router's half of a connection: what waits, and how it is bundled when the link can take it.

use crate::PipeConfig;
use crate::config::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::frame::{self, FRAGMENT_HEAD_BYTES, FRAME_HEAD_BYTES, Fragment, LANES, RECORD_HEAD_BYTES};
use crate::message::{Envelope, Interest, Message, Origin, Parcel, Priority};
use crate::outbox::Outbox;
use crate::queue::{Enqueued, Queue};
use crate::stats::{DropReason, PipeStats};
use base::Moment;
use bytes::{Bytes, BytesMut};

/// A fragment smaller than this is not worth its head: it waits for the next frame.
const FRAGMENT_PART_MIN: usize = 32;

/// A record that did not fit into a frame with others, or not into any.
#[derive(Debug)]
struct Partial {
    record: Bytes,
    sent: usize,
    transfer: u32,
    /// What [`Queue::hold`] was told, with the class; `None` for an interest.
    held: Option<(usize, Priority)>,
}

/// Whether a pipe became congested or no longer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pressure {
    Same,
    Congested,
    Relieved,
}

#[derive(Debug)]
pub(crate) struct Pipe<M, I> {
    pub(crate) config: PipeConfig,
    pub(crate) stats: PipeStats,
    pub(crate) congested: bool,
    queue: Queue<M>,
    outbox: Outbox<I>,
    hello: Option<Origin>,
    keep_alive: bool,
    partial: [Option<Partial>; LANES],
    next_transfer: u32,
    /// When what waits for a fuller frame is sent anyway.
    bundle_due: Option<Moment>,
}

impl<M: Message, I: Interest> Pipe<M, I> {
    pub(crate) fn new(mut config: PipeConfig) -> Self {
        config.frame_bytes_max = config.frame_bytes_max.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX);
        // Lengths on the wire are 32 bits wide.
        config.message_bytes_max = config.message_bytes_max.min(1 << 30);
        Self {
            config,
            stats: PipeStats::default(),
            congested: false,
            queue: Queue::new(),
            outbox: Outbox::new(),
            hello: None,
            keep_alive: false,
            partial: Default::default(),
            next_transfer: 0,
            bundle_due: None,
        }
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.queue.bytes()
    }

    pub(crate) fn queued_messages(&self) -> usize {
        self.queue.messages()
    }

    pub(crate) fn push(&mut self, now: Moment, envelope: Envelope<M>) -> Enqueued {
        let was_empty = self.queue.is_empty();
        let enqueued = self.queue.push(envelope, &self.config, &mut self.stats);
        if was_empty && !self.config.bundle_wait.is_zero() {
            self.bundle_due = Some(now + self.config.bundle_wait);
        }
        enqueued
    }

    pub(crate) fn tell_interest(&mut self, interest: I, any: bool) {
        self.outbox.put(interest, any);
    }

    pub(crate) fn tell_hello(&mut self, origin: Origin) {
        self.hello = Some(origin);
    }

    pub(crate) fn tell_keep_alive(&mut self) {
        self.keep_alive = true;
    }

    /// Compares what waits with the water marks.
    pub(crate) fn pressure(&mut self) -> Pressure {
        let bytes = self.queue.bytes();
        if !self.congested && bytes > self.config.high_water {
            self.congested = true;
            return Pressure::Congested;
        }
        if self.congested && bytes <= self.config.low_water {
            self.congested = false;
            return Pressure::Relieved;
        }
        Pressure::Same
    }

    /// True when there is something that should go now.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        let signs = self.hello.is_some() || self.keep_alive || !self.outbox.is_empty();
        if signs || self.partial.iter().any(Option::is_some) {
            return true;
        }
        !self.queue.is_empty()
            && (self.config.bundle_wait.is_zero()
                || self.queue.has_urgent()
                || self.queue.bytes() >= self.config.frame_bytes_max
                || self.bundle_due.is_none_or(|due| due <= now))
    }

    /// When [`Pipe::is_due`] turns true by itself.
    pub(crate) fn bundle_due(&self) -> Option<Moment> {
        if self.queue.is_empty() { None } else { self.bundle_due }
    }

    /// The next message, whole.
    pub(crate) fn poll_message(&mut self) -> Option<Envelope<M>> {
        let envelope = self.queue.pop(self.config.ordered)?;
        self.stats.sent_messages += 1;
        Some(envelope)
    }

    /// The next parcel, whole.
    pub(crate) fn poll_parcel(&mut self) -> Option<Parcel<M, I>> {
        if let Some(origin) = self.hello.take() {
            return Some(Parcel::Hello(origin));
        }
        if std::mem::take(&mut self.keep_alive) {
            return Some(Parcel::KeepAlive);
        }
        if let Some((interest, any)) = self.outbox.pop() {
            self.stats.sent_interests += 1;
            return Some(Parcel::Interest { interest, any });
        }
        self.poll_message().map(Parcel::Message)
    }

    /// The next frame, if something is due.
    pub(crate) fn poll_frame(&mut self, now: Moment) -> Option<Bytes> {
        if !self.is_due(now) {
            return None;
        }
        let mut out = frame::start(self.config.frame_bytes_max.min(self.queue.bytes() + 256));
        if let Some(origin) = self.hello.take() {
            frame::put_hello(&mut out, origin);
        }
        let keep_alive = std::mem::take(&mut self.keep_alive);
        for lane in 0..LANES {
            if !self.fill_from(lane, &mut out) {
                break;
            }
        }
        let only_keep_alive = keep_alive && out.len() <= FRAME_HEAD_BYTES;
        if only_keep_alive {
            frame::put_keep_alive(&mut out);
        }
        if self.queue.is_empty() {
            self.bundle_due = None;
        }
        let frame = frame::finish(out)?;
        self.stats.sent_frames += 1;
        self.stats.sent_keep_alives += u64::from(only_keep_alive);
        self.stats.sent_bytes += frame.len() as u64;
        Some(frame)
    }

    /// Appends what the lane has and what fits; false when the frame is full.
    fn fill_from(&mut self, lane: usize, out: &mut BytesMut) -> bool {
        let limit = self.config.frame_bytes_max;
        loop {
            if self.partial[lane].is_some() {
                if !self.continue_partial(lane, out) {
                    return false;
                }
                continue;
            }
            let start = out.len();
            let Some(held) = self.put_next(lane, out) else { return true };
            if out.len() <= limit {
                self.count_sent(held);
                continue;
            }
            if let Some((bytes, _)) = held {
                self.queue.hold(bytes);
            }
            let record = out.split_off(start).freeze();
            let transfer = self.next_transfer;
            self.next_transfer = self.next_transfer.wrapping_add(1);
            self.partial[lane] = Some(Partial { record, sent: 0, transfer, held });
        }
    }

    fn count_sent(&mut self, held: Option<(usize, Priority)>) {
        match held {
            Some(_) => self.stats.sent_messages += 1,
            None => self.stats.sent_interests += 1,
        }
    }

    /// Appends the next record of a lane, whatever its length. Outer `None`: there is none.
    fn put_next(&mut self, lane: usize, out: &mut BytesMut) -> Option<Option<(usize, Priority)>> {
        let Some(class) = lane.checked_sub(1) else {
            let (interest, any) = self.outbox.pop()?;
            frame::put_interest(out, any, |out| interest.encode(out));
            return Some(None);
        };
        let envelope = match (self.config.ordered, class) {
            (true, 0) => self.queue.pop(true)?,
            (true, _) => return None,
            (false, class) => self.queue.pop_class(Priority::ALL[class])?,
        };
        let message = &envelope.message;
        frame::put_message(out, envelope.hops, envelope.id, |out| message.encode(out));
        Some(Some((message.bytes(), message.priority())))
    }

    /// Appends the held record of a lane, or a part of it; false when the frame is full.
    fn continue_partial(&mut self, lane: usize, out: &mut BytesMut) -> bool {
        let limit = self.config.frame_bytes_max;
        let Some(partial) = self.partial[lane].as_mut() else { return true };
        let room = limit.saturating_sub(out.len());
        let total = partial.record.len();
        if partial.sent == 0 && total <= room {
            out.extend_from_slice(&partial.record);
        } else if partial.sent == 0 && total <= limit - FRAME_HEAD_BYTES {
            return false;
        } else {
            let head = RECORD_HEAD_BYTES + FRAGMENT_HEAD_BYTES;
            let left = total - partial.sent;
            if room < head + FRAGMENT_PART_MIN.min(left) {
                return false;
            }
            let end = partial.sent + left.min(room - head);
            let part = partial.record.slice(partial.sent..end);
            let fragment = Fragment { lane, transfer: partial.transfer, total, offset: partial.sent, part };
            frame::put_fragment(out, &fragment);
            partial.sent = end;
            if end < total {
                return false;
            }
        }
        let held = partial.held;
        self.partial[lane] = None;
        if let Some((bytes, _)) = held {
            self.queue.release(bytes);
        }
        self.count_sent(held);
        true
    }

    /// Forgets everything that waits: the link went down.
    pub(crate) fn clear(&mut self) {
        for partial in self.partial.iter_mut().filter_map(Option::take) {
            if let Some((_, class)) = partial.held {
                self.stats.drop(class, DropReason::Gone);
            }
        }
        self.queue.clear(&mut self.stats);
        self.outbox.clear();
        (self.hello, self.keep_alive, self.bundle_due) = (None, false, None);
    }
}
