//! Bundles, and the times at which they leave.

use super::event::{Destination, Event, Ticket};
use super::{Endpoint, Queued};
use crate::model::{Epoch, MemberId, Profile, StreamKey};
use crate::rate::Class;
use crate::send::{Audience, Message, Piece, Why};
use crate::wire::{
    Congestion, Flags, Kind, List, Mode0, Mode1, Mode1Flags, Nack, Origin, Record, SIGNATURE_BYTES,
};
use base::Moment;
use std::time::Duration;

impl Endpoint {
    /// The number of announcements for which a bundle has to have room.
    pub(super) fn announcements(&self) -> usize {
        self.sender.active().min(self.config.announcements_max)
    }

    /// Bytes for messages and NACKs in a bundle.
    fn room(&self) -> usize {
        let announcements = self.announcements();
        match self.config.profile {
            Profile::V2 => self.format.bundle_room(announcements),
            Profile::V3 => self.format.mode0_bytes_max(announcements) + self.format.mode0_bytes(0),
        }
    }

    /// Bytes that a piece with a body of `body` bytes takes.
    pub(super) fn piece_bytes(&self, body: usize) -> usize {
        let head = Mode1 {
            origin: None,
            dsn: crate::model::Dsn::default(),
            index: 0,
            flags: Mode1Flags::empty(),
            body: bytes::Bytes::new(),
            signature: None,
        };
        self.format.mode1_bytes(&head) + body + if self.signer.is_some() { SIGNATURE_BYTES } else { 0 }
    }

    /// The time at which a bundle has to leave even if it is empty.
    pub(super) fn heartbeat_at(&self) -> Option<Moment> {
        if self.left {
            None
        } else if self.hello {
            Some(self.last_bundle)
        } else {
            let timing = &self.config.timing;
            let interval = if self.sender.active() > 0 {
                Some(timing.heartbeat)
            } else if self.config.strict {
                None
            } else {
                timing.presence_among(self.members.live)
            };
            interval.map(|interval| self.last_bundle + interval)
        }
    }

    /// The time at which a bundle has to leave for its announcements. It keeps to the rate: when
    /// messages use the whole rate, their bundles carry the announcements.
    pub(super) fn announce_at(&self) -> Option<Moment> {
        if self.sender.must_announce() { self.shaper.solvent_at() } else { None }
    }

    /// Assembles the datagrams that may leave now.
    pub(super) fn pump(&mut self, now: Moment) {
        if self.left {
            return;
        }
        self.ask_loggers(now);
        self.pump_replies(now);
        self.pump_syncs(now);
        self.take_repairs(now);
        self.take_shaped(now);
        while let Some(dropped) = self.shaper.poll_dropped() {
            let (ticket, last) = match dropped.message {
                Queued::Mode0 { ticket, .. } => (ticket, true),
                Queued::Mode1 { dsn, index, ticket, .. } => (ticket, index + 1 == dsn.segments.max(1)),
            };
            if last {
                self.events.push_back(Event::Dropped { ticket, why: dropped.why });
            }
        }
        // Repair requests may need several bundles; each takes some.
        while self.must_leave(now) && self.flush(now, Flags::empty()) {}
    }

    fn must_leave(&self, now: Moment) -> bool {
        self.bundle.flush_at().is_some_and(|at| at <= now)
            || self.announce_at().is_some_and(|at| at <= now)
            || self.heartbeat_at().is_some_and(|at| at <= now)
    }

    fn take_repairs(&mut self, now: Moment) {
        let rate = self.rate.rate().bits_per_second() / 8.0;
        while let Some((piece, why)) = self.sender.next_again(now, rate) {
            let bytes = self.piece_bytes(piece.body.len());
            self.shaper.charge(now, Class::Repair, bytes);
            let wait = self.urgent_wait();
            self.admit(now, Message::Mode1 { piece, why, ticket: 0 }, bytes, wait);
        }
    }

    fn take_shaped(&mut self, now: Moment) {
        while let Some((_, queued)) = self.shaper.poll(now) {
            match queued {
                Queued::Mode0 { stream, body, ticket } => {
                    let bytes = self.format.mode0_bytes(body.len());
                    if let Some(stream) = stream.filter(|_| !self.config.strict) {
                        self.conflate(stream);
                    }
                    let stream = stream.unwrap_or_default();
                    let wait = self.config.timing.bundle_timeout;
                    self.admit(now, Message::Mode0 { stream, body, ticket: ticket.0 }, bytes, wait);
                }
                Queued::Mode1 { dsn, index, urgent, ticket } => {
                    let Some(piece) = self.sender.take(dsn, index) else { continue };
                    let bytes = self.piece_bytes(piece.body.len());
                    let wait = if urgent { self.urgent_wait() } else { self.config.timing.bundle_timeout };
                    self.admit(now, Message::Mode1 { piece, why: Why::New, ticket: ticket.0 }, bytes, wait);
                }
            }
        }
    }

    /// The time for which a bundle with urgent content waits.
    pub(super) fn urgent_wait(&self) -> Duration {
        let timing = &self.config.timing;
        if self.config.strict {
            timing.bundle_timeout
        } else {
            timing.urgent_flush.min(timing.bundle_timeout)
        }
    }

    /// Drops the older message of a stream that waits in the bundle.
    fn conflate(&mut self, stream: StreamKey) {
        let (events, counters) = (&mut self.events, &mut self.counters);
        self.bundle.conflate(stream, |message| {
            if let Message::Mode0 { ticket, .. } = message {
                counters.mode0_conflated += 1;
                let why = crate::rate::Discard::Superseded;
                events.push_back(Event::Dropped { ticket: Ticket(ticket), why });
            }
        });
    }

    fn admit(&mut self, now: Moment, message: Message, bytes: usize, wait: Duration) {
        if self.bundle.bytes() + bytes > self.room() && !self.bundle.is_empty() {
            self.flush(now, Flags::empty());
        }
        self.bundle.push(now, message, bytes, wait);
    }

    /// Sends the bundle. Returns false when there is nothing to send.
    pub(super) fn flush(&mut self, now: Moment, flags: Flags) -> bool {
        self.collect_nacks(now);
        let forced = self.announce_at().is_some_and(|at| at <= now)
            || self.heartbeat_at().is_some_and(|at| at <= now)
            || flags.contains(Flags::LEAVING);
        if self.bundle.is_empty() && self.nacks.is_empty() && !forced {
            self.bundle.rest();
            return false;
        }
        self.counters.sent.heartbeats += u64::from(self.bundle.is_empty() && self.nacks.is_empty());
        let announcements = self.announcements();
        self.writer.begin(Kind::Bundle, announcements);
        let flags = flags | self.put_steering(now);
        let messages = self.bundle.bytes();
        self.choose_announcements(now, announcements);
        self.put_messages(now);
        self.put_nacks();
        if flags.contains(Flags::LEAVING) && self.config.profile == Profile::V3 {
            self.count_unwritten(|writer| writer.push(&Record::Leave).is_ok());
        }
        let header = self.header(now, Kind::Bundle, flags);
        self.hello = false;
        self.last_bundle = now;
        if let Some(len) = self.finish(&header, Destination::Group) {
            self.rate.handle_sent(now, len);
            self.sender.earn_copies(len);
            self.shaper.charge(now, Class::Control, len.saturating_sub(messages));
            self.counters.sent.bundles += 1;
        }
        self.ask_again(now);
        true
    }

    /// Writes the records of congestion control and the digest of the state.
    fn put_steering(&mut self, now: Moment) -> Flags {
        let info = self.rate.info(now);
        if let Some(echo) = info.echo {
            self.count_unwritten(|writer| writer.push(&Record::Echo(echo)).is_ok());
        }
        let congestion = Congestion {
            suppress: info.suppression.bits_per_second(),
            rtt_max: info.rtt_max,
            rate: Some(self.rate.rate().bits_per_second()),
            mean_bytes: Some(self.rate.bundle_bytes().clamp(1.0, 65_535.0) as u16),
            bundle: self.bundles as u16,
        };
        self.count_unwritten(|writer| writer.push(&Record::Congestion(congestion)).is_ok());
        if self.config.profile == Profile::V3 && self.sender.active() > 0 {
            let digest = self.sender.digest();
            self.count_unwritten(|writer| writer.push(&Record::Digest(digest)).is_ok());
        }
        if info.application_limited { Flags::APP_LIMITED } else { Flags::empty() }
    }

    fn count_unwritten(&mut self, push: impl FnOnce(&mut crate::wire::Writer) -> bool) {
        self.counters.not_written += u64::from(!push(&mut self.writer));
    }

    fn choose_announcements(&mut self, now: Moment, max: usize) {
        self.announced.clear();
        let carried = self.bundle.messages().filter_map(|message| match message {
            Message::Mode1 { piece, .. } => Some(piece.dsn.data),
            Message::Mode0 { .. } => None,
        });
        self.sender.announce(now, max, carried, &mut self.announced);
        let count = self.announced.len();
        self.counters.sent.announcements += count as u64;
        self.counters.sent.announcement_bytes += self.format.announcements_bytes(count) as u64;
    }

    /// The members that would ask this one for missing data.
    fn audience(&self) -> Audience {
        Audience { members: self.members.live, loss: self.rate.loss() }
    }

    fn put_messages(&mut self, now: Moment) {
        let audience = self.audience();
        self.sender.set_audience(audience);
        let mut bundle = std::mem::take(&mut self.bundle);
        for message in bundle.drain() {
            match message {
                Message::Mode0 { stream, body, ticket } => {
                    self.counters.sent.mode0 += 1;
                    self.counters.sent.mode0_bytes += body.len() as u64;
                    self.count_unwritten(|writer| {
                        writer.push(&Record::Mode0(Mode0 { stream, body })).is_ok()
                    });
                    self.events.push_back(Event::Sent { ticket: Ticket(ticket) });
                }
                Message::Mode1 { piece, why, ticket } => self.put_piece(now, piece, why, ticket),
            }
        }
        self.bundle = bundle;
    }

    fn put_piece(&mut self, now: Moment, piece: Piece, why: Why, ticket: u64) {
        let Piece { dsn, index, body } = piece;
        self.counters.sent.mode1 += 1;
        self.counters.sent.mode1_bytes += body.len() as u64;
        let flags = match why {
            Why::New => Mode1Flags::empty(),
            Why::Repair => Mode1Flags::REPAIR,
            Why::Copy => Mode1Flags::COPY,
        };
        let mut message = Mode1 { origin: None, dsn, index, flags, body, signature: None };
        if let Some(signer) = &mut self.signer {
            let origin = Origin { member: self.config.member, epoch: self.config.epoch };
            message.signature = Some(signer.sign(origin, &message));
        }
        self.count_unwritten(|writer| writer.push(&Record::Mode1(message)).is_ok());
        self.sender.sent(now, dsn, index, why, self.rate.rtt_max());
        if why == Why::New && index + 1 == dsn.segments.max(1) {
            self.events.push_back(Event::Sent { ticket: Ticket(ticket) });
        }
    }

    /// Takes the repair requests that fit into the bundle beside its messages.
    fn collect_nacks(&mut self, now: Moment) {
        self.nacks.clear();
        self.asked.clear();
        let mut room = self.room().saturating_sub(self.bundle.bytes());
        let item = self.format.nack_bytes(1) - self.format.nack_bytes(0);
        for index in 0..self.asking.len() {
            let member = self.asking[index];
            let Some(remote) = self.members.get_mut(member) else { continue };
            let Some(remote_sender) = &mut remote.sender else { continue };
            let fit = room.saturating_sub(self.format.nack_bytes(0)) / item;
            if fit == 0 {
                break;
            }
            let begin = self.nacks.len();
            remote_sender.origin.take_nacks(now, &mut self.receive, fit, &mut self.nacks);
            let count = self.nacks.len() - begin;
            if count > 0 {
                self.asked.push((member, count));
                room = room.saturating_sub(self.format.nack_bytes(count));
            }
            self.members.watch(member);
        }
        let (members, receive) = (&mut self.members, &self.receive);
        self.asking.retain(|member| {
            let Some(remote) = members.get_mut(*member) else { return false };
            remote.asking =
                remote.sender.as_ref().is_some_and(|remote_sender| remote_sender.origin.would_ask(receive));
            remote.asking
        });
    }

    fn put_nacks(&mut self) {
        let mut rest = self.nacks.as_slice();
        for (member, count) in &self.asked {
            let (items, others) = rest.split_at((*count).min(rest.len()));
            rest = others;
            let epoch = self.members.remotes.get(member).map_or(Epoch(0), |remote| remote.epoch);
            // All segments of a message stay together, so there may be one item too many for the
            // room.
            let mut fit = items.len();
            while fit > 0 && self.format.nack_bytes(fit) > self.writer.room() {
                fit -= 1;
            }
            let nack = Nack { origin: *member, epoch, items: List::of(&items[..fit]) };
            if fit > 0 && self.writer.push(&Record::Nack(nack)).is_ok() {
                self.counters.sent.nacks += fit as u64;
                self.counters.sent.nack_bytes += self.format.nack_bytes(fit) as u64;
            }
        }
    }

    /// Makes another bundle leave at once for the requests that did not fit.
    fn ask_again(&mut self, now: Moment) {
        let members = &self.members;
        let due = |member: &MemberId| {
            let remote = members.remotes.get(member);
            remote
                .and_then(|remote| remote.sender.as_ref())
                .is_some_and(|remote_sender| remote_sender.origin.has_due())
        };
        if self.asking.iter().any(due) {
            self.bundle.leave_by(now);
        }
    }

    pub(super) fn send_goodbye(&mut self, now: Moment) {
        self.resign(now);
        self.pump(now);
        let remote_senders: Vec<_> = self.members.remotes.keys().copied().collect();
        for member in remote_senders {
            if let Some(rate) =
                self.members.remote_sender_mut(member).and_then(|remote_sender| remote_sender.rate.as_mut())
            {
                rate.leave();
                self.put_feedback(now, member);
            }
        }
        if self.config.profile == Profile::V3 || !self.bundle.is_empty() {
            self.flush(now, Flags::LEAVING);
        }
    }
}
