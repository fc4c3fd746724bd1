//! Requests of the application.

use super::event::{Event, Peer, SendError, Ticket};
use super::{Endpoint, Queued};
use crate::auth::{GroupKey, KeyError};
use crate::model::{DataId, Dsn, MESSAGE_BYTES_MAX, Profile, Seq, StreamKey, Transaction};
use crate::rate::Discard;
use crate::send::{Message, Refused};
use crate::wire::MODE2_BYTES_MAX;
use base::Moment;
use bytes::Bytes;

impl Endpoint {
    /// Sends a best-effort message to the group. Only the newest waiting message of a stream is
    /// sent. When the rate is too low for all messages, higher priorities go first.
    ///
    /// # Errors
    /// [`SendError::TooLong`] when a bundle cannot carry the message beside its announcements,
    /// [`SendError::Left`] and [`SendError::Exhausted`].
    pub fn send_mode0(
        &mut self,
        now: Moment,
        stream: Option<StreamKey>,
        priority: u8,
        body: Bytes,
    ) -> Result<Ticket, SendError> {
        self.check_open()?;
        let max = self.format.mode0_bytes_max(self.announcements());
        if body.len() > max {
            return Err(SendError::TooLong { len: body.len(), max });
        }
        let ticket = self.ticket();
        let bytes = self.format.mode0_bytes(body.len());
        let message = Queued::Mode0 { stream, body, ticket };
        self.shaper.offer_best_effort(now, stream, priority, bytes, message);
        Ok(ticket)
    }

    /// Sends a new version of a data element to the group: every interested member gets it or a
    /// newer one. An urgent message waits for others only for
    /// [`urgent_flush`](crate::Timing::urgent_flush).
    ///
    /// # Errors
    /// [`SendError::TooLong`] and [`SendError::Empty`]; [`SendError::BadData`] when the profile
    /// cannot represent the data element, [`SendError::OtherMode`] when it is sent in mode 2;
    /// [`SendError::Full`] when the buffer of newest messages has no room; [`SendError::Left`] and
    /// [`SendError::Exhausted`].
    pub fn send_mode1(
        &mut self,
        now: Moment,
        data: DataId,
        body: Bytes,
        urgent: bool,
    ) -> Result<Ticket, SendError> {
        self.check_open()?;
        if !self.config.profile.carries_data(data) {
            return Err(SendError::BadData(data));
        }
        let segment = self.format.segment_bytes(self.config.announcements_max, self.signer.is_some());
        let segments = self.config.profile.segments_max().min(self.config.limits.segments_max);
        check_len(&body, MESSAGE_BYTES_MAX.min(segment * usize::from(segments)))?;
        let dsn = self.sender.update(now, data, body).map_err(|why| refused(data, why))?;
        let ticket = self.ticket();
        self.drop_older(dsn);
        for index in 0..dsn.segments.max(1) {
            let body = self.sender.piece_len(dsn, index).unwrap_or(0);
            let bytes = self.piece_bytes(body);
            self.shaper.offer_reliable(data, dsn.sn, bytes, Queued::Mode1 { dsn, index, urgent, ticket });
        }
        Ok(ticket)
    }

    /// Sends a message to one member, again and again until it is acknowledged or given up.
    ///
    /// # Errors
    /// [`SendError::TooLong`] and [`SendError::Empty`]; [`SendError::BadData`] when the profile
    /// cannot represent the data element, [`SendError::OtherMode`] when it is sent in mode 1;
    /// [`SendError::Full`] when too many messages are without acknowledgement, or too many data
    /// elements are in use; [`SendError::Unknown`] when the member has never been heard;
    /// [`SendError::Left`] and [`SendError::Exhausted`].
    pub fn send_mode2(
        &mut self,
        now: Moment,
        to: Peer,
        data: DataId,
        body: Bytes,
    ) -> Result<Ticket, SendError> {
        self.check_open()?;
        if !self.config.profile.carries_data(data) {
            return Err(SendError::BadData(data));
        }
        check_len(&body, MODE2_BYTES_MAX)?;
        let to = match to {
            Peer::Address(address) => address,
            Peer::Member(member) => {
                self.members.remotes.get(&member).ok_or(SendError::Unknown(member))?.address
            }
        };
        if self.mode2.is_full() {
            return Err(SendError::Full);
        }
        self.sender.claim_directed(data).map_err(|why| refused(data, why))?;
        let transaction = self.next_transaction(data);
        let ticket = self.ticket();
        let message = (transaction, data, body.clone());
        self.mode2.send(now, to, message, ticket.0, self.rate.rtt_max());
        self.put_mode2(now, to, transaction, data, body);
        Ok(ticket)
    }

    /// Leaves the group and announces that. Waiting messages are dropped. Nothing can be sent any
    /// longer, but received messages are still delivered.
    pub fn leave(&mut self, now: Moment) {
        if !self.left {
            self.send_goodbye(now);
            self.left = true;
        }
    }

    /// Accepts the next group key in addition to the current one. Has no effect in a group without
    /// keys.
    ///
    /// # Errors
    /// [`KeyError::Taken`] when a key with this number is accepted already.
    pub fn add_key(&mut self, key: &GroupKey) -> Result<(), KeyError> {
        self.decryptor.as_mut().map_or(Ok(()), |decryptor| decryptor.add_key(key))
    }

    /// Uses another group key after `after` more datagrams. All members must accept it before that.
    /// Has no effect in a group without keys.
    ///
    /// # Errors
    /// [`KeyError::Profile`] in profile v2, [`KeyError::Taken`] when the key is in use, and
    /// [`KeyError::Past`] when the datagram has been sealed already.
    pub fn rotate_key(&mut self, key: &GroupKey, after: u32) -> Result<(), KeyError> {
        let at = Seq(u32::try_from(self.datagrams).unwrap_or(u32::MAX).saturating_add(after));
        self.encryptor.as_mut().map_or(Ok(()), |encryptor| encryptor.rotate(key, at))
    }

    /// Sends under `sends` from the next datagram on, and accepts it and `other` and no other key. A
    /// key is known by its number, so two keys in a row must not share one. Has no effect in a group
    /// without keys.
    ///
    /// # Errors
    /// [`KeyError::Profile`] in profile v2, and [`KeyError::Taken`] when both keys have one number.
    pub fn set_keys(&mut self, sends: &GroupKey, other: Option<&GroupKey>) -> Result<(), KeyError> {
        let (Some(decryptor), Some(encryptor)) = (&mut self.decryptor, &self.encryptor) else {
            return Ok(());
        };
        if let Some(other) = other.filter(|other| other.id() == sends.id()) {
            return Err(KeyError::Taken { id: other.id() });
        }
        let wanted = || [Some(sends), other].into_iter().flatten();
        let retired: Vec<u8> = decryptor.keys().filter(|id| !wanted().any(|key| key.id() == *id)).collect();
        for id in retired {
            decryptor.retire_key(id);
        }
        for key in wanted().filter(|key| !decryptor.accepts(key.id())).collect::<Vec<_>>() {
            decryptor.add_key(key)?;
        }
        if encryptor.last_key() == sends.id() { Ok(()) } else { self.rotate_key(sends, 0) }
    }

    fn check_open(&self) -> Result<(), SendError> {
        if self.left {
            return Err(SendError::Left);
        }
        if self.is_exhausted() { Err(SendError::Exhausted) } else { Ok(()) }
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    fn next_transaction(&mut self, data: DataId) -> Transaction {
        let v2 = self.config.profile == Profile::V2;
        let counter = self.transactions.entry(if v2 { data } else { DataId(0) }).or_default();
        let number = *counter;
        *counter += 1;
        if v2 { Transaction::of_v2(data, number as u16) } else { Transaction(number) }
    }

    /// Drops older versions of the data element from the bundle.
    fn drop_older(&mut self, dsn: Dsn) {
        let events = &mut self.events;
        self.bundle.supersede(dsn, |message| {
            if let Message::Mode1 { piece, ticket, .. } = message
                && piece.index + 1 == piece.dsn.segments.max(1)
                && ticket != 0
            {
                events.push_back(Event::Dropped { ticket: Ticket(ticket), why: Discard::Superseded });
            }
        });
    }
}

fn check_len(body: &Bytes, max: usize) -> Result<(), SendError> {
    match body.len() {
        0 => Err(SendError::Empty),
        len if len > max => Err(SendError::TooLong { len, max }),
        _ => Ok(()),
    }
}

fn refused(data: DataId, why: Refused) -> SendError {
    match why {
        Refused::OtherMode => SendError::OtherMode(data),
        Refused::Full(_) => SendError::Full,
    }
}
