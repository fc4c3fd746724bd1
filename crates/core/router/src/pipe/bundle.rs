//! Frames: waiting records in bundles and fragments, chosen when the link can take them.

use super::Pipe;
use crate::config::FRAME_BYTES_MIN;
use crate::frame::{
    self, FIFOS, FIRST_CREDIT_FIFO, FRAGMENT_HEAD_BYTES, FRAME_HEAD_BYTES, Fragment, ORDERED_FIFO,
    RECORD_HEAD_BYTES, fragment_record_bytes,
};
use crate::message::{Fifos, Interest, Message, Priority};
use base::Moment;
use bytes::{Bytes, BytesMut};

/// Smallest part of a fragment. A smaller one is not worth its header, so it waits for the next
/// frame.
const FRAGMENT_PART_MIN: usize = 32;

/// A record that did not fit into the rest of a frame, or into any frame.
#[derive(Debug)]
pub(super) struct Partial {
    record: Bytes,
    sent: usize,
    transfer: u32,
    /// The size passed to [`Queue::hold`](crate::queue::Queue::hold), with the class; `None` for an
    /// interest or advertisement.
    pub(super) held: Option<(usize, Priority)>,
}

/// The limits on the contents of a frame.
#[derive(Clone, Copy, Debug)]
struct Terms {
    fifos: Fifos,
    /// Its longest length.
    limit: usize,
    /// The frame is sent without order and credit.
    best_effort: bool,
}

/// A record that was appended.
enum Put {
    Advertisement,
    Interest,
    /// Its size in the queue, and its class.
    Message(usize, Priority),
}

impl Put {
    fn held(&self) -> Option<(usize, Priority)> {
        match *self {
            Put::Message(bytes, class) => Some((bytes, class)),
            Put::Advertisement | Put::Interest => None,
        }
    }
}

impl<M: Message, I: Interest> Pipe<M, I> {
    /// The next frame of at most `bytes_max` bytes with messages of the kinds in `fifos`, if any of
    /// them is due.
    pub(crate) fn poll_frame(&mut self, now: Moment, fifos: Fifos, bytes_max: usize) -> Option<Bytes> {
        let limit = self.config.frame_bytes_max.min(bytes_max);
        if self.is_idle() || limit < FRAME_BYTES_MIN || !self.is_due_for(now, fifos) {
            return None;
        }
        let best_effort = self.is_group || !fifos.contains(Fifos::RELIABLE);
        let terms = Terms { fifos, limit, best_effort };
        let mut out = frame::start(limit.min(self.queue.bytes() + 256), best_effort);
        let only_sign = self.fill(terms, &mut out);
        if self.queue.is_empty() {
            self.bundle_due = None;
        }
        let frame = frame::finish(out)?;
        self.stats.sent_frames += 1;
        self.stats.sent_datagrams += u64::from(best_effort);
        self.stats.sent_keep_alives += u64::from(only_sign);
        self.stats.sent_bytes += frame.len() as u64;
        Some(frame)
    }

    /// Appends the contents of a frame; true when that is a keep-alive and nothing else.
    fn fill(&mut self, terms: Terms, out: &mut BytesMut) -> bool {
        if terms.best_effort {
            (1..FIFOS).all(|fifo| self.fill_from(fifo, terms, out));
            return false;
        }
        if let Some((origin, credit)) = self.hello.take() {
            frame::put_hello(out, origin, credit);
        }
        if self.credit > 0 {
            frame::put_credit(out, std::mem::take(&mut self.credit));
            self.stats.sent_credits += 1;
        }
        let keep_alive = std::mem::take(&mut self.keep_alive);
        (0..FIFOS).all(|fifo| self.fill_from(fifo, terms, out));
        let only_sign = keep_alive && out.len() <= FRAME_HEAD_BYTES;
        if only_sign {
            frame::put_keep_alive(out);
        }
        only_sign
    }

    fn partials(&mut self, terms: Terms) -> &mut [Option<Partial>; FIFOS] {
        if terms.fifos.contains(Fifos::RELIABLE) { &mut self.partial } else { &mut self.best_effort_partial }
    }

    /// Appends the records of a FIFO that fit; false when the frame is full.
    fn fill_from(&mut self, fifo: usize, terms: Terms, out: &mut BytesMut) -> bool {
        if self.partials == 0 && !self.has_whole(fifo) {
            return true;
        }
        let counted = fifo >= FIRST_CREDIT_FIFO && !terms.best_effort;
        loop {
            if counted && !self.allowance.is_open() {
                return true;
            }
            if self.partials(terms)[fifo].is_some() {
                if !self.continue_partial(fifo, terms, out) {
                    return false;
                }
                continue;
            }
            let start = out.len();
            let Some(put) = self.put_next(fifo, terms.fifos, out) else { return true };
            if out.len() <= terms.limit {
                // In a pipe with one order the class `Control` waits for credit, but does not use
                // it.
                if counted && put.held().is_some_and(|(_, class)| class != Priority::Control) {
                    self.spend(out.len() - start);
                }
                self.count_sent(&put);
                continue;
            }
            if let Some((bytes, _)) = put.held() {
                self.queue.hold(bytes);
            } else {
                self.count_sent(&put);
            }
            let record = out.split_off(start).freeze();
            let transfer = self.next_transfer;
            self.next_transfer = self.next_transfer.wrapping_add(1);
            let held = put.held();
            self.partials(terms)[fifo] = Some(Partial { record, sent: 0, transfer, held });
            self.partials += 1;
        }
    }

    /// True when a record that was not begun waits in a FIFO.
    fn has_whole(&self, fifo: usize) -> bool {
        match (fifo, self.config.ordered) {
            (0, _) => self.has_announcements(),
            (_, true) => fifo == ORDERED_FIFO && !self.queue.is_empty(),
            (ORDERED_FIFO, false) => false,
            (_, false) => self.queue.class_filled(Priority::ALL[fifo - 1]),
        }
    }

    fn spend(&mut self, bytes: usize) {
        self.stats.credit_waits += u64::from(self.allowance.spend(bytes));
    }

    fn count_sent(&mut self, put: &Put) {
        match put {
            Put::Message(..) => self.stats.sent_messages += 1,
            Put::Interest => self.stats.sent_interests += 1,
            Put::Advertisement => self.stats.sent_advertisements += 1,
        }
    }

    /// Appends the next record of a FIFO, whatever its length.
    fn put_next(&mut self, fifo: usize, fifos: Fifos, out: &mut BytesMut) -> Option<Put> {
        if fifo == 0 {
            if let Some((advertisement, any)) = self.advertisements.pop() {
                frame::put_advertisement(out, any, |out| advertisement.encode(out));
                return Some(Put::Advertisement);
            }
            let (interest, any) = self.interests.pop()?;
            frame::put_interest(out, any, |out| interest.encode(out));
            return Some(Put::Interest);
        }
        let envelope = match (self.config.ordered, fifo) {
            (true, ORDERED_FIFO) => self.queue.pop_any(fifos)?,
            (true, _) | (false, ORDERED_FIFO) => return None,
            (false, fifo) => self.queue.pop_class(Priority::ALL[fifo - 1], fifos)?,
        };
        let message = &envelope.message;
        frame::put_message(out, envelope.hops, envelope.id, |out| message.encode(out));
        Some(Put::Message(message.bytes(), message.priority()))
    }

    /// Appends the held record of a FIFO, or a part of it; false when the frame is full.
    fn continue_partial(&mut self, fifo: usize, terms: Terms, out: &mut BytesMut) -> bool {
        let Some(partial) = self.partials(terms)[fifo].as_mut() else { return true };
        let (room, total) = (terms.limit.saturating_sub(out.len()), partial.record.len());
        let whole = partial.sent == 0 && total <= room;
        let cost = if whole {
            out.extend_from_slice(&partial.record);
            partial.sent = total;
            total
        } else if partial.sent == 0 && total <= terms.limit - FRAME_HEAD_BYTES {
            return false;
        } else {
            let head = RECORD_HEAD_BYTES + FRAGMENT_HEAD_BYTES;
            let left = total - partial.sent;
            if room < head + FRAGMENT_PART_MIN.min(left) {
                return false;
            }
            let end = partial.sent + left.min(room - head);
            let part = partial.record.slice(partial.sent..end);
            let cost = fragment_record_bytes(part.len());
            let fragment = Fragment { fifo, transfer: partial.transfer, total, offset: partial.sent, part };
            frame::put_fragment(out, &fragment);
            partial.sent = end;
            cost
        };
        let (done, held) = (partial.sent == total, partial.held);
        let free = whole && held.is_some_and(|(_, class)| class == Priority::Control);
        if fifo >= FIRST_CREDIT_FIFO && !terms.best_effort && !free {
            self.spend(cost);
        }
        if !done {
            return false;
        }
        self.partials(terms)[fifo] = None;
        self.partials -= 1;
        if let Some((bytes, _)) = held {
            self.queue.release(bytes);
            self.stats.sent_messages += 1;
        }
        true
    }
}
