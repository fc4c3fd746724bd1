//! The handling of received datagrams.

use super::Endpoint;
use super::event::{Channel, Event, Ticket};
use super::members::RemoteSender;
use crate::fault::Fault;
use crate::model::{Epoch, MemberId, Profile, Seq};
use crate::rate::{self, BundleInfo, Rate, Round, SenderInfo};
use crate::receive::{Received, Verdict, Window};
use crate::send::Answer;
use crate::wire::{
    Ack, AckStatus, Congestion, Digest, Echo, Feedback, FeedbackFlags, Flags, Header, Kind, Mode0, Mode1,
    Mode2, Nack, Origin, Packet, Record,
};
use base::Moment;
use bytes::Bytes;
use std::net::SocketAddr;

/// The information about its sender that a bundle carries.
#[derive(Default)]
struct Head {
    echo: Option<Echo>,
    congestion: Option<Congestion>,
    digest: Option<Digest>,
    measured: bool,
    /// Whether it announces anything; computed on first use.
    announces: Option<bool>,
    announced: u32,
    left: bool,
}

impl Endpoint {
    /// Handles a datagram that came from an address on a channel. Faults are counted.
    pub fn handle_datagram(&mut self, now: Moment, from: SocketAddr, via: Channel, datagram: &Bytes) {
        let envelope = match self.format.decode(datagram) {
            Ok(envelope) => envelope,
            Err(error) => return self.counters.faults.add(error.fault()),
        };
        if envelope.header().sender == self.config.member {
            self.counters.looped += 1;
            return;
        }
        let opened = match &mut self.decryptor {
            Some(decryptor) => decryptor.open(now, envelope).map_err(|error| error.fault()),
            None => envelope.without_protection().map_err(|error| error.fault()),
        };
        let packet = match opened {
            Ok(packet) => packet,
            Err(fault) => return self.counters.faults.add(fault),
        };
        self.counters.received.datagrams += 1;
        self.counters.received.bytes += datagram.len() as u64;
        match packet.header().kind {
            Kind::Bundle => self.handle_bundle(now, from, &packet, datagram.len()),
            Kind::Feedback => self.handle_reports(now, from, &packet),
            Kind::Mode2 => self.handle_directed(now, from, &packet),
            Kind::Logger | Kind::Sync => self.handle_logging(now, from, via, &packet),
        }
    }

    fn handle_bundle(&mut self, now: Moment, from: SocketAddr, packet: &Packet, len: usize) {
        let header = *packet.header();
        let member = header.sender;
        let sends =
            self.config.strict || self.members.remote_sender(member).is_some() || carries_data(packet);
        let heard = if sends || asks(packet, self.config.member) {
            self.heard_by_name(now, member, header.epoch, from)
        } else {
            self.heard_listening(now, member, header.epoch, from)
        };
        if !heard {
            return;
        }
        if !sends {
            return self.handle_quiet(now, member, packet);
        }
        if !self.is_fresh(now, &header) {
            return;
        }
        self.counters.received.bundles += 1;
        self.route(now, member);
        let mut head = Head::default();
        for record in packet.records() {
            match record {
                Err(error) => self.counters.faults.add(error.fault()),
                Ok(Record::Echo(echo)) => head.echo = Some(echo),
                Ok(Record::Congestion(congestion)) => head.congestion = Some(congestion),
                Ok(Record::Digest(digest)) => head.digest = Some(digest),
                Ok(Record::Leave) => head.left = true,
                Ok(record) => {
                    self.measure(now, &header, &mut head, len);
                    self.handle_record(now, &header, packet, record, &mut head);
                }
            }
        }
        self.measure(now, &header, &mut head, len);
        self.end_bundle(now, member, &head);
    }

    /// Handles a bundle of a member that has never sent anything but repair requests: it has no
    /// flow to control, and nothing of it is kept.
    fn handle_quiet(&mut self, now: Moment, member: MemberId, packet: &Packet) {
        self.counters.received.bundles += 1;
        for record in packet.records() {
            match record {
                Err(error) => self.counters.faults.add(error.fault()),
                Ok(Record::Nack(nack)) => self.handle_nack(now, member, &nack),
                Ok(Record::Pending(pending)) => self.handle_pending(now, pending),
                Ok(Record::Leave) => self.lose(now, member, true),
                Ok(_) => {}
            }
        }
        self.members.watch(member);
    }

    /// Whether a bundle is not a duplicate.
    fn is_fresh(&mut self, now: Moment, header: &Header) -> bool {
        let space = self.config.profile.seq_space();
        let v2 = self.config.profile == Profile::V2;
        let Some(remote_sender) = self.remote_sender(header.sender) else { return false };
        let verdict = match &mut remote_sender.window {
            Some(window) => window.accept(space, header.seq),
            None => {
                remote_sender.window = Some(Window::new(header.seq));
                Verdict::Fresh
            }
        };
        if verdict == Verdict::Jump && v2 {
            remote_sender.origin.note_jump(now);
        }
        self.counters.duplicate_bundles += u64::from(verdict == Verdict::Repeat);
        verdict != Verdict::Repeat
    }

    /// Passes the bundle to congestion control, once, before its messages.
    fn measure(&mut self, now: Moment, header: &Header, head: &mut Head, len: usize) {
        if std::mem::replace(&mut head.measured, true) {
            return;
        }
        let Some(congestion) = head.congestion else { return };
        let Some(suppression) = Rate::new(congestion.suppress) else {
            return self.counters.faults.add(Fault::BadValue);
        };
        let v2 = self.config.profile == Profile::V2;
        let bundle = BundleInfo {
            seq: if v2 { header.seq } else { Seq(congestion.bundle.into()) },
            bytes: len,
            stamp: header.stamp,
            info: SenderInfo {
                round: Round::new(header.round),
                suppression,
                rtt_max: congestion.rtt_max,
                echo: head.echo,
                application_limited: header.flags.contains(Flags::APP_LIMITED),
            },
        };
        let (config, me) = (self.config.rate.clone(), self.config.member);
        let seed = self.seed.split("feedback").split_index(header.sender.0);
        let Some(remote_sender) = self.remote_sender(header.sender) else { return };
        let rate =
            remote_sender.rate.get_or_insert_with(|| rate::Receiver::new(config, me, header.sender, seed));
        rate.handle_bundle(now, &bundle);
        remote_sender.origin.set_r_max(congestion.rtt_max);
        self.put_feedback(now, header.sender);
    }

    fn handle_record(
        &mut self,
        now: Moment,
        header: &Header,
        packet: &Packet,
        record: Record<'_>,
        head: &mut Head,
    ) {
        match record {
            Record::Mode0(message) => self.handle_mode0(header, packet, message, head),
            Record::Mode1(message) => self.handle_mode1(now, header, &message, Channel::Group),
            Record::Nack(nack) => self.handle_nack(now, header.sender, &nack),
            Record::Announcements(list) => {
                head.announced = list.len() as u32;
                let Self { members, receive, events, .. } = self;
                let Some(remote) = members.get_mut(header.sender) else { return };
                remote.announces = !list.is_empty();
                let Some(remote_sender) = &mut remote.sender else { return };
                for dsn in list.iter() {
                    if remote_sender.origin.announce(now, receive, dsn) {
                        let (member, epoch) = (header.sender, header.epoch);
                        events.push_back(Event::Restarted { member, epoch });
                    }
                }
            }
            Record::Pending(pending) => self.handle_pending(now, pending),
            _ => {}
        }
    }

    fn handle_mode0(&mut self, header: &Header, packet: &Packet, message: Mode0, head: &mut Head) {
        let Some(remote_sender) = self.members.remote_sender_mut(header.sender) else { return };
        // Computed only while nothing of the sender is held, and once for a bundle.
        let look = || {
            packet
                .records()
                .any(|record| matches!(record, Ok(Record::Announcements(list)) if !list.is_empty()))
        };
        let announces = || *head.announces.get_or_insert_with(look);
        if !remote_sender.origin.admits_mode0(&self.receive, announces) {
            self.counters.mode0_gated += 1;
            return;
        }
        self.counters.received.mode0 += 1;
        self.counters.received.mode0_bytes += message.body.len() as u64;
        let (from, stamp) = (header.sender, header.stamp);
        self.events.push_back(Event::Mode0 { from, stream: message.stream, stamp, body: message.body });
    }

    pub(super) fn handle_mode1(&mut self, now: Moment, header: &Header, message: &Mode1, via: Channel) {
        let own = Origin { member: header.sender, epoch: header.epoch };
        let source = message.origin.unwrap_or(own);
        if source.member == self.config.member || !self.knows_source(source, own) {
            return;
        }
        let Self { members, receive, .. } = self;
        let Some(remote_sender) = members.remote_sender_mut(source.member) else { return };
        if let Some(verifier) = &mut self.verifier
            && remote_sender.origin.is_news(receive, message.dsn)
            && let Err(error) = verifier.verify(source, message)
        {
            return self.counters.faults.add(error.fault());
        }
        self.counters.received.mode1 += 1;
        self.counters.received.mode1_bytes += message.body.len() as u64;
        let received = remote_sender.origin.receive(
            now,
            receive,
            message.dsn,
            message.index,
            &message.body,
            message.signature,
        );
        if let Received::Message(body, shape) = received {
            self.keep(now, (source, message.dsn), &body, &shape, via);
            let (from, data, sn) = (source.member, message.dsn.data, message.dsn.sn);
            self.events.push_back(Event::Mode1 { from, data, sn, body });
        }
        while self.receive.is_over() && self.members.evict_part(&mut self.receive) {}
        if source != own {
            self.look_after(now, source.member);
        }
    }

    /// Whether the source of relayed data is known in that epoch.
    fn knows_source(&mut self, source: Origin, own: Origin) -> bool {
        if source == own {
            return true;
        }
        let known = self.members.remotes.get(&source.member).map(|remote| remote.epoch);
        known == Some(source.epoch) && self.remote_sender(source.member).is_some()
    }

    fn handle_nack(&mut self, now: Moment, from: MemberId, nack: &Nack<'_>) {
        self.counters.received.nacks += nack.items.len() as u64;
        if nack.origin != self.config.member {
            let Some(remote) = self.members.get_mut(nack.origin) else { return };
            let Some(remote_sender) = remote.sender.as_mut().filter(|_| remote.epoch == nack.epoch) else {
                return;
            };
            for item in nack.items.iter() {
                remote_sender.origin.hear_nack(now, &mut self.receive, item);
            }
            return self.members.watch(nack.origin);
        }
        let epoch = if self.config.profile == Profile::V3 { self.config.epoch } else { Epoch(0) };
        if nack.epoch != epoch {
            return;
        }
        let r_max = self.rate.rtt_max();
        let limits = &self.config.limits;
        for item in nack.items.iter() {
            let Some(remote) = self.members.get_mut(from) else { return };
            if !remote.may_ask(now, limits.nacks_per_second, limits.nacks_burst) {
                self.counters.nacks_limited += 1;
            } else if self.sender.handle_nack(now, item, r_max) == Answer::Repair {
                self.bundle.leave_by(now + self.urgent_wait());
            }
        }
    }

    fn end_bundle(&mut self, now: Moment, member: MemberId, head: &Head) {
        let Self { members, receive, .. } = self;
        let Some(RemoteSender { origin, .. }) = members.remote_sender_mut(member) else { return };
        origin.end_of_bundle(now, receive);
        if let Some(digest) = head.digest.filter(|_| self.config.keeps_state) {
            if origin.compare_digest(receive, digest, head.announced) {
                self.events.push_back(Event::StateDiffers { member });
                self.want_state(now, member);
            }
            self.consider_state(now, member, digest);
        }
        if head.left {
            self.lose(now, member, true);
        }
        self.look_after(now, member);
    }

    fn handle_reports(&mut self, now: Moment, from: SocketAddr, packet: &Packet) {
        let header = packet.header();
        if !self.heard_listening(now, header.sender, header.epoch, from) {
            return;
        }
        for record in packet.records() {
            match record {
                Ok(Record::Feedback(report)) => self.handle_report(now, header.sender, &report),
                Ok(_) => self.counters.faults.add(Fault::UnknownKind),
                Err(error) => self.counters.faults.add(error.fault()),
            }
        }
        self.members.watch(header.sender);
    }

    fn handle_report(&mut self, now: Moment, receiver: MemberId, report: &Feedback) {
        self.counters.received.feedback += 1;
        let Some(rate) = Rate::new(report.rate) else { return self.counters.faults.add(Fault::BadValue) };
        let feedback = rate::Feedback {
            sender: report.sender,
            receiver,
            round: Round::new(report.round),
            have_rtt: report.flags.contains(FeedbackFlags::HAVE_RTT),
            have_loss: report.flags.contains(FeedbackFlags::HAVE_LOSS),
            leaving: report.flags.contains(FeedbackFlags::LEAVING),
            rate,
            echo: report.echo,
            stamp: report.stamp,
            loss_event_rate: report.loss.unwrap_or(0.0),
            rtt: report.rtt.unwrap_or_default(),
        };
        if report.sender == self.config.member {
            self.rate.handle_feedback(now, &feedback);
            self.shaper.set_rate(now, self.rate.rate());
        } else if let Some(remote_sender) = self.members.remote_sender_mut(report.sender)
            && let Some(rate) = &mut remote_sender.rate
        {
            rate.handle_feedback(&feedback);
            self.members.watch(report.sender);
        }
    }

    fn handle_directed(&mut self, now: Moment, from: SocketAddr, packet: &Packet) {
        let header = packet.header();
        let known = header.sender != MemberId::NOBODY;
        if known && !self.heard_by_name(now, header.sender, header.epoch, from) {
            return;
        }
        for record in packet.records() {
            match record {
                Ok(Record::Mode2(message)) => {
                    let sender = known.then_some(header.sender);
                    self.handle_mode2(now, from, (sender, header.epoch), message);
                }
                Ok(Record::Ack(ack)) => self.handle_ack(now, from, ack),
                Ok(_) => self.counters.faults.add(Fault::UnknownKind),
                Err(error) => self.counters.faults.add(error.fault()),
            }
        }
    }

    fn handle_mode2(
        &mut self,
        now: Moment,
        address: SocketAddr,
        (from, epoch): (Option<MemberId>, Epoch),
        message: Mode2,
    ) {
        let Mode2 { transaction, data, body } = message;
        self.counters.received.mode2 += 1;
        self.counters.received.mode2_bytes += body.len() as u64;
        let fresh = self.mode2.receive(now, address, epoch.0.into(), transaction);
        self.put_ack(now, address, transaction, AckStatus::Delivered);
        if fresh {
            self.events.push_back(Event::Mode2 { from, address, data, transaction, body });
        }
    }

    fn handle_ack(&mut self, now: Moment, from: SocketAddr, ack: Ack) {
        self.counters.received.acks += 1;
        if let Some(ticket) = self.mode2.acknowledge(now, from, ack.transaction) {
            self.events.push_back(Event::Delivered { ticket: Ticket(ticket), status: ack.status });
        }
    }
}

/// Whether a bundle requests anything of that member.
fn asks(packet: &Packet, member: MemberId) -> bool {
    packet.records().any(|record| matches!(record, Ok(Record::Nack(nack)) if nack.origin == member))
}

/// Whether a bundle has messages or announcements.
fn carries_data(packet: &Packet) -> bool {
    packet.records().any(|record| match record {
        Ok(Record::Mode0(_) | Record::Mode1(_)) => true,
        Ok(Record::Announcements(list)) => !list.is_empty(),
        _ => false,
    })
}
