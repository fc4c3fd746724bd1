//! The numbering, sealing and queueing of outgoing datagrams.

use super::Endpoint;
use super::event::{Destination, Transmit};
use crate::model::{DataId, MemberId, Profile, Seq, Transaction};
use crate::rate;
use crate::wire::{Ack, AckStatus, Feedback, FeedbackFlags, Flags, Header, Kind, Mode2, Record};
use base::Moment;
use bytes::Bytes;
use std::net::SocketAddr;

impl Endpoint {
    /// Whether all datagram numbers of this epoch are used up.
    pub(super) fn is_exhausted(&self) -> bool {
        self.config.profile == Profile::V3 && self.datagrams > u64::from(u32::MAX)
    }

    pub(super) fn header(&self, now: Moment, kind: Kind, flags: Flags) -> Header {
        let v3 = self.config.profile == Profile::V3;
        let seq = if v3 { Seq(self.datagrams as u32) } else { Seq(self.bundles as u32 & 0xffff) };
        Header {
            flags: if v3 { flags } else { Flags::empty() },
            epoch: if v3 { self.config.epoch } else { crate::model::Epoch(0) },
            seq,
            stamp: self.config.profile.clock().stamp(now),
            round: self.rate.round().get(),
            ..Header::new(kind, self.config.member)
        }
    }

    /// Finishes the datagram that was begun and queues it. Returns its length in bytes; `None` when
    /// it cannot be sent.
    pub(super) fn finish(&mut self, header: &Header, to: Destination) -> Option<usize> {
        if self.is_exhausted() {
            return None;
        }
        let Ok(mut datagram) = self.writer.finish(header, &self.announced) else {
            self.counters.not_written += 1;
            return None;
        };
        self.datagrams += 1;
        self.bundles += u64::from(header.kind == Kind::Bundle);
        if let Some(encryptor) = &mut self.encryptor
            && encryptor.seal(&mut datagram).is_err()
        {
            self.counters.not_written += 1;
            return None;
        }
        let len = datagram.len();
        self.counters.sent.datagrams += 1;
        self.counters.sent.bytes += len as u64;
        self.out.push_back(Transmit { to, datagram: datagram.freeze() });
        Some(len)
    }

    /// Sends a datagram of one record that is not a bundle.
    fn put_alone(&mut self, now: Moment, kind: Kind, record: &Record<'_>, to: Destination) {
        self.announced.clear();
        self.writer.begin(kind, 0);
        if self.writer.push(record).is_err() {
            self.counters.not_written += 1;
            return;
        }
        let header = self.header(now, kind, Flags::empty());
        if let Some(len) = self.finish(&header, to) {
            self.shaper.charge(now, rate::Class::Control, len);
        }
    }

    pub(super) fn put_mode2(
        &mut self,
        now: Moment,
        to: SocketAddr,
        transaction: Transaction,
        data: DataId,
        body: Bytes,
    ) {
        self.counters.sent.mode2 += 1;
        self.counters.sent.mode2_bytes += body.len() as u64;
        let record = Record::Mode2(Mode2 { transaction, data, body });
        self.put_alone(now, Kind::Mode2, &record, Destination::Unicast(to));
    }

    pub(super) fn put_ack(
        &mut self,
        now: Moment,
        to: SocketAddr,
        transaction: Transaction,
        status: AckStatus,
    ) {
        self.counters.sent.acks += 1;
        let record = Record::Ack(Ack { transaction, status });
        self.put_alone(now, Kind::Mode2, &record, Destination::Unicast(to));
    }

    /// Sends the report for a sender, if one is due.
    pub(super) fn put_feedback(&mut self, now: Moment, member: MemberId) {
        let rate =
            self.members.remote_sender_mut(member).and_then(|remote_sender| remote_sender.rate.as_mut());
        let Some(report) = rate.and_then(|rate| rate.poll_feedback(now)) else { return };
        let mut flags = FeedbackFlags::empty();
        flags.set(FeedbackFlags::HAVE_RTT, report.have_rtt);
        flags.set(FeedbackFlags::HAVE_LOSS, report.have_loss);
        flags.set(FeedbackFlags::LEAVING, report.leaving);
        self.counters.sent.feedback += 1;
        let record = Record::Feedback(Feedback {
            sender: report.sender,
            round: report.round.get(),
            flags,
            rate: report.rate.bits_per_second(),
            loss: Some(report.loss_event_rate),
            rtt: Some(report.rtt),
            echo: report.echo,
            stamp: report.stamp,
        });
        self.put_alone(now, Kind::Feedback, &record, Destination::Group);
    }
}
