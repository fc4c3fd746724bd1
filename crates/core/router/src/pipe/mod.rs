//! The router's half of a connection: the waiting messages and announcements, and when to send
//! them.

mod bundle;

use crate::PipeConfig;
use crate::config::{CREDIT_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::credit::Allowance;
use crate::frame::{FIFOS, FIRST_CREDIT_FIFO};
use crate::message::{Envelope, Fifos, Interest, Message, Origin, Parcel, Priority};
use crate::outbox::Outbox;
use crate::queue::{Enqueued, Queue};
use crate::stats::{DropReason, PipeStats};
use base::Moment;
use bundle::Partial;

#[derive(Debug)]
pub(crate) struct Pipe<M, I> {
    pub(crate) config: PipeConfig,
    pub(crate) stats: PipeStats,
    pub(crate) congested: bool,
    /// The router at the other end of a memory pipe reports that one of its pipes is congested.
    pub(crate) paused: bool,
    pub(crate) allowance: Allowance,
    queue: Queue<M>,
    interests: Outbox<I>,
    advertisements: Outbox<I>,
    /// The identity of this router, and the first credit.
    hello: Option<(Origin, u32)>,
    /// Credit to be granted.
    credit: u32,
    keep_alive: bool,
    /// By FIFO. Frames of best effort alone have partial records of their own.
    partial: [Option<Partial>; FIFOS],
    best_effort_partial: [Option<Partial>; FIFOS],
    /// Number of partial records in both.
    partials: usize,
    /// All of its frames are best effort.
    pub(crate) is_group: bool,
    next_transfer: u32,
    /// The time at which messages that wait for a fuller frame are sent anyway.
    bundle_due: Option<Moment>,
}

impl<M: Message, I: Interest> Pipe<M, I> {
    pub(crate) fn new(mut config: PipeConfig) -> Self {
        config.frame_bytes_max = config.frame_bytes_max.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX);
        // Lengths on the wire are 32 bits wide.
        config.message_bytes_max = config.message_bytes_max.min(1 << 30);
        config.credit_bytes = config.credit_bytes.map(|bytes| bytes.max(CREDIT_BYTES_MIN));
        Self {
            allowance: Allowance::new(&config),
            config,
            stats: PipeStats::default(),
            congested: false,
            paused: false,
            queue: Queue::new(),
            interests: Outbox::new(),
            advertisements: Outbox::new(),
            hello: None,
            credit: 0,
            keep_alive: false,
            partial: Default::default(),
            best_effort_partial: Default::default(),
            partials: 0,
            is_group: false,
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

    /// Drops the droppable messages that wait; returns their number.
    pub(crate) fn drop_droppable(&mut self) -> u64 {
        self.queue.drop_droppable(&mut self.stats)
    }

    /// True when a message that must not be dropped finds no room now, but will later.
    pub(crate) fn is_full_for(&self, class: Priority, bytes: usize) -> bool {
        self.queue.is_full_for(class, bytes, &self.config)
    }

    pub(crate) fn queue_interest(&mut self, interest: I, any: bool) {
        self.interests.put(interest, any);
    }

    pub(crate) fn advertise(&mut self, advertisement: I, any: bool) {
        self.advertisements.put(advertisement, any);
    }

    pub(crate) fn queue_hello(&mut self, origin: Origin, credit: u32) {
        self.hello = Some((origin, credit));
    }

    pub(crate) fn queue_credit(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(bytes);
    }

    pub(crate) fn queue_keep_alive(&mut self) {
        self.keep_alive = true;
    }

    /// Called after a message was added; true when that made the pipe congested.
    pub(crate) fn rises(&mut self) -> bool {
        let PipeConfig { high_water, messages_max, .. } = self.config;
        let over = self.queue.bytes() > high_water || self.queue.messages() > messages_max / 2;
        over && !std::mem::replace(&mut self.congested, true)
    }

    /// Called after something was taken; true when that relieved the pipe.
    pub(crate) fn falls(&mut self) -> bool {
        let PipeConfig { low_water, messages_max, .. } = self.config;
        let under = self.queue.bytes() <= low_water && self.queue.messages() <= messages_max / 4;
        under && std::mem::replace(&mut self.congested, false)
    }

    fn has_announcements(&self) -> bool {
        !self.advertisements.is_empty() || !self.interests.is_empty()
    }

    /// True when something should be sent now, in one frame or another.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        !self.is_idle() && (self.is_due_for(now, Fifos::ALL) || self.is_due_for(now, Fifos::BEST_EFFORT))
    }

    /// True when there is nothing at all to send.
    fn is_idle(&self) -> bool {
        let signs = self.hello.is_some() || self.keep_alive || self.credit > 0;
        !signs && self.queue.is_empty() && self.partials == 0 && !self.has_announcements()
    }

    /// True when something should be sent now in a frame with messages of the kinds in `fifos`.
    fn is_due_for(&self, now: Moment, fifos: Fifos) -> bool {
        let partials = self.partials > 0;
        let waits = if fifos.contains(Fifos::RELIABLE) && !self.is_group {
            let signs = self.hello.is_some() || self.keep_alive || self.credit > 0;
            let open = self.allowance.is_open();
            let partial = &self.partial[..if open { FIFOS } else { FIRST_CREDIT_FIFO }];
            if signs || self.has_announcements() || partials && partial.iter().any(Option::is_some) {
                return true;
            }
            if open {
                self.queue.has(fifos)
            } else {
                !self.config.ordered && self.queue.class_filled(Priority::Control)
            }
        } else {
            let partial =
                if fifos.contains(Fifos::RELIABLE) { &self.partial } else { &self.best_effort_partial };
            if partials && partial.iter().any(Option::is_some) {
                return true;
            }
            self.queue.has(fifos)
        };
        waits
            && (self.config.bundle_wait.is_zero()
                || self.queue.has_urgent()
                || self.queue.bytes() >= self.config.frame_bytes_max
                || self.bundle_due.is_none_or(|due| due <= now))
    }

    /// The time at which [`Pipe::is_due`] turns true by itself.
    pub(crate) fn bundle_due(&self, now: Moment) -> Option<Moment> {
        if self.queue.is_empty() { None } else { self.bundle_due.filter(|due| *due > now) }
    }

    /// The next message, whole.
    pub(crate) fn poll_message(&mut self) -> Option<Envelope<M>> {
        let envelope = self.queue.pop(self.config.ordered)?;
        self.stats.sent_messages += 1;
        Some(envelope)
    }

    /// The next parcel, whole. If `stalled`, no messages but those of the class `Control`.
    pub(crate) fn poll_parcel(&mut self, stalled: bool) -> Option<Parcel<M, I>> {
        if let Some((origin, _)) = self.hello.take() {
            return Some(Parcel::Hello(origin));
        }
        if std::mem::take(&mut self.keep_alive) {
            return Some(Parcel::KeepAlive);
        }
        if let Some((advertisement, any)) = self.advertisements.pop() {
            self.stats.sent_advertisements += 1;
            return Some(Parcel::Advertisement { advertisement, any });
        }
        if let Some((interest, any)) = self.interests.pop() {
            self.stats.sent_interests += 1;
            return Some(Parcel::Interest { interest, any });
        }
        if !stalled {
            return self.poll_message().map(Parcel::Message);
        }
        if self.config.ordered {
            return None;
        }
        let envelope = self.queue.pop_class(Priority::Control, Fifos::ALL)?;
        self.stats.sent_messages += 1;
        Some(Parcel::Message(envelope))
    }

    /// Forgets everything that waits, and the peer's credit, after the link went down.
    pub(crate) fn clear(&mut self) {
        let partials = self.partial.iter_mut().chain(&mut self.best_effort_partial);
        for partial in partials.filter_map(Option::take) {
            if let Some((_, class)) = partial.held {
                self.stats.drop(class, DropReason::Gone);
            }
        }
        self.queue.clear(&mut self.stats);
        self.interests.clear();
        self.advertisements.clear();
        self.allowance = Allowance::new(&self.config);
        self.partials = 0;
        (self.hello, self.keep_alive, self.credit, self.bundle_due) = (None, false, 0, None);
    }
}
