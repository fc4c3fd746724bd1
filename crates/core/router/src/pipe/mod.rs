//! The router's half of a connection: what waits, and when it should go.

mod bundle;

use crate::PipeConfig;
use crate::config::{CREDIT_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::credit::Allowance;
use crate::frame::{FIRST_CREDIT_LANE, LANES};
use crate::message::{Envelope, Interest, Lanes, Message, Origin, Parcel, Priority};
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
    /// The router at the other end of a memory pipe says that a pipe of its is congested.
    pub(crate) held: bool,
    pub(crate) allowance: Allowance,
    queue: Queue<M>,
    interests: Outbox<I>,
    offers: Outbox<I>,
    /// Who this router is, and the first credit.
    hello: Option<(Origin, u32)>,
    /// Credit to be granted.
    credit: u32,
    keep_alive: bool,
    /// By lane; of frames of best effort alone apart.
    partial: [Option<Partial>; LANES],
    loose_partial: [Option<Partial>; LANES],
    /// How many of both there are.
    partials: usize,
    /// All of its frames are loose.
    pub(crate) is_cast: bool,
    next_transfer: u32,
    /// When what waits for a fuller frame is sent anyway.
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
            held: false,
            queue: Queue::new(),
            interests: Outbox::new(),
            offers: Outbox::new(),
            hello: None,
            credit: 0,
            keep_alive: false,
            partial: Default::default(),
            loose_partial: Default::default(),
            partials: 0,
            is_cast: false,
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

    /// Drops the droppable messages that wait; says how many.
    pub(crate) fn drop_droppable(&mut self) -> u64 {
        self.queue.drop_droppable(&mut self.stats)
    }

    /// True when a message that must not be dropped finds no room now, but will.
    pub(crate) fn is_full_for(&self, class: Priority, bytes: usize) -> bool {
        self.queue.is_full_for(class, bytes, &self.config)
    }

    pub(crate) fn tell_interest(&mut self, interest: I, any: bool) {
        self.interests.put(interest, any);
    }

    pub(crate) fn tell_offer(&mut self, offer: I, any: bool) {
        self.offers.put(offer, any);
    }

    pub(crate) fn tell_hello(&mut self, origin: Origin, credit: u32) {
        self.hello = Some((origin, credit));
    }

    pub(crate) fn tell_credit(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(bytes);
    }

    pub(crate) fn tell_keep_alive(&mut self) {
        self.keep_alive = true;
    }

    /// After a message came: true when with it the pipe became congested.
    pub(crate) fn rises(&mut self) -> bool {
        let PipeConfig { high_water, messages_max, .. } = self.config;
        let over = self.queue.bytes() > high_water || self.queue.messages() > messages_max / 2;
        over && !std::mem::replace(&mut self.congested, true)
    }

    /// After something was taken: true when with it the pipe is no longer congested.
    pub(crate) fn falls(&mut self) -> bool {
        let PipeConfig { low_water, messages_max, .. } = self.config;
        let under = self.queue.bytes() <= low_water && self.queue.messages() <= messages_max / 4;
        under && std::mem::replace(&mut self.congested, false)
    }

    fn has_announcements(&self) -> bool {
        !self.offers.is_empty() || !self.interests.is_empty()
    }

    /// True when there is something that should go now, in one frame or another.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        !self.is_idle() && (self.is_due_for(now, Lanes::ALL) || self.is_due_for(now, Lanes::BEST_EFFORT))
    }

    /// True when there is nothing at all to be sent.
    fn is_idle(&self) -> bool {
        let signs = self.hello.is_some() || self.keep_alive || self.credit > 0;
        !signs && self.queue.is_empty() && self.partials == 0 && !self.has_announcements()
    }

    /// True when there is something that should go now in a frame with what `lanes` says.
    fn is_due_for(&self, now: Moment, lanes: Lanes) -> bool {
        let partials = self.partials > 0;
        let waits = if lanes.contains(Lanes::RELIABLE) && !self.is_cast {
            let signs = self.hello.is_some() || self.keep_alive || self.credit > 0;
            let open = self.allowance.is_open();
            let partial = &self.partial[..if open { LANES } else { FIRST_CREDIT_LANE }];
            if signs || self.has_announcements() || partials && partial.iter().any(Option::is_some) {
                return true;
            }
            if open {
                self.queue.has(lanes)
            } else {
                !self.config.ordered && self.queue.class_filled(Priority::Control)
            }
        } else {
            let partial = if lanes.contains(Lanes::RELIABLE) { &self.partial } else { &self.loose_partial };
            if partials && partial.iter().any(Option::is_some) {
                return true;
            }
            self.queue.has(lanes)
        };
        waits
            && (self.config.bundle_wait.is_zero()
                || self.queue.has_urgent()
                || self.queue.bytes() >= self.config.frame_bytes_max
                || self.bundle_due.is_none_or(|due| due <= now))
    }

    /// When [`Pipe::is_due`] turns true by itself.
    pub(crate) fn bundle_due(&self, now: Moment) -> Option<Moment> {
        if self.queue.is_empty() { None } else { self.bundle_due.filter(|due| *due > now) }
    }

    /// The next message, whole.
    pub(crate) fn poll_message(&mut self) -> Option<Envelope<M>> {
        let envelope = self.queue.pop(self.config.ordered)?;
        self.stats.sent_messages += 1;
        Some(envelope)
    }

    /// The next parcel, whole. `stalled`: only what must not wait.
    pub(crate) fn poll_parcel(&mut self, stalled: bool) -> Option<Parcel<M, I>> {
        if let Some((origin, _)) = self.hello.take() {
            return Some(Parcel::Hello(origin));
        }
        if std::mem::take(&mut self.keep_alive) {
            return Some(Parcel::KeepAlive);
        }
        if let Some((offer, any)) = self.offers.pop() {
            self.stats.sent_offers += 1;
            return Some(Parcel::Offer { offer, any });
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
        let envelope = self.queue.pop_class(Priority::Control, Lanes::ALL)?;
        self.stats.sent_messages += 1;
        Some(Parcel::Message(envelope))
    }

    /// Forgets everything that waits, and the peer's credit: the link went down.
    pub(crate) fn clear(&mut self) {
        let partials = self.partial.iter_mut().chain(&mut self.loose_partial);
        for partial in partials.filter_map(Option::take) {
            if let Some((_, class)) = partial.held {
                self.stats.drop(class, DropReason::Gone);
            }
        }
        self.queue.clear(&mut self.stats);
        self.interests.clear();
        self.offers.clear();
        self.allowance = Allowance::new(&self.config);
        self.partials = 0;
        (self.hello, self.keep_alive, self.credit, self.bundle_due) = (None, false, 0, None);
    }
}
