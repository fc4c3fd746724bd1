//! What comes in through pipes.

use super::{Event, Router, Submitted};
use crate::client::{ClientFlags, ClientId};
use crate::error::FrameError;
use crate::frame::{Record, Records};
use crate::message::{Envelope, Interest, Message, Parcel};
use crate::reassembly::Joined;
use crate::{ClientError, ClientKind};
use base::Moment;
use bytes::Bytes;

/// What a frame led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Received {
    /// Messages in it.
    pub messages: u32,
    /// Some pipe that one of them waits in is congested, or had no room: take no more from this link until
    /// [`Event::Relieved`], so that the link exerts back-pressure on the peer.
    pub congested: bool,
}

impl Received {
    fn count(&mut self, done: &Submitted) {
        self.messages += 1;
        self.congested |= done.congested || !done.refused.is_empty();
    }
}

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Takes a frame that came over the link of a client. Records before a faulty one have had their effect.
    ///
    /// # Errors
    /// [`FrameError`]: the peer broke the protocol. The world closes the link and reports it down.
    pub fn handle_frame(&mut self, now: Moment, id: ClientId, frame: Bytes) -> Result<Received, FrameError> {
        self.observe(now);
        let now = self.now;
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        if client.kind != ClientKind::Link || !client.up {
            return Err(ClientError::WrongKind(id).into());
        }
        client.last_heard = now;
        client.pipe.stats.received_frames += 1;
        client.pipe.stats.received_bytes += frame.len() as u64;
        let pinned = frame.len();
        let mut records = Records::of_frame(frame)?;
        let mut received = Received::default();
        while let Some((at, record)) = records.next()? {
            self.handle_record(id, at, record, pinned, &mut received)?;
        }
        Ok(received)
    }

    /// Takes a parcel from the other end of a memory pipe.
    ///
    /// # Errors
    /// [`FrameError::Client`] when the client is not there or may not do that.
    pub fn handle_parcel(
        &mut self,
        now: Moment,
        id: ClientId,
        parcel: Parcel<M, I>,
    ) -> Result<Received, FrameError> {
        self.observe(now);
        let client = self.clients.get(id).ok_or(ClientError::Unknown(id))?;
        if client.kind != ClientKind::Memory {
            return Err(ClientError::WrongKind(id).into());
        }
        let mut received = Received::default();
        self.take_parcel(id, parcel, &mut received)?;
        Ok(received)
    }

    fn handle_record(
        &mut self,
        id: ClientId,
        at: usize,
        record: Record,
        pinned: usize,
        received: &mut Received,
    ) -> Result<(), FrameError> {
        let greeted = matches!(record, Record::Hello(_));
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        if client.peer.is_none() && !greeted {
            return Err(FrameError::NoHello);
        }
        let parcel = match record {
            Record::Hello(origin) => Parcel::Hello(origin),
            Record::KeepAlive => Parcel::KeepAlive,
            Record::Interest { any, body } => {
                let interest = I::decode(body, pinned).map_err(|source| FrameError::Body {
                    what: "interest",
                    at,
                    source,
                })?;
                Parcel::Interest { interest, any }
            }
            Record::Message { hops, id, body } => {
                let message = M::decode(body, pinned).map_err(|source| FrameError::Body {
                    what: "message",
                    at,
                    source,
                })?;
                Parcel::Message(Envelope { id, hops: hops.saturating_add(1), message })
            }
            Record::Fragment(fragment) => {
                return match client.reassembly.take(at, &fragment)? {
                    Joined::Partial => Ok(()),
                    Joined::Lost => {
                        client.pipe.stats.lost_fragments += 1;
                        Ok(())
                    }
                    Joined::Whole(record) => self.handle_whole(id, at, record, received),
                };
            }
        };
        self.take_parcel(id, parcel, received)
    }

    /// Takes a record that came in fragments.
    fn handle_whole(
        &mut self,
        id: ClientId,
        at: usize,
        record: Bytes,
        received: &mut Received,
    ) -> Result<(), FrameError> {
        let pinned = record.len();
        let mut records = Records::of_transfer(record);
        match records.next()? {
            Some((_, record @ (Record::Interest { .. } | Record::Message { .. }))) => {
                self.handle_record(id, at, record, pinned, received)?;
            }
            _ => {
                return Err(FrameError::Fragment {
                    at,
                    why: "the whole is neither a message nor an interest",
                });
            }
        }
        match records.next()? {
            None => Ok(()),
            Some(_) => Err(FrameError::Fragment { at, why: "the whole is more than one record" }),
        }
    }

    fn take_parcel(
        &mut self,
        id: ClientId,
        parcel: Parcel<M, I>,
        received: &mut Received,
    ) -> Result<(), FrameError> {
        let own = self.config.origin;
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        match parcel {
            Parcel::KeepAlive => {}
            Parcel::Hello(origin) if origin.router == own.router => {
                return Err(FrameError::OwnOrigin(origin));
            }
            Parcel::Hello(origin) => {
                client.peer = Some(origin);
                self.events.push_back(Event::Met { client: id, peer: origin });
            }
            Parcel::Interest { interest, any } => {
                self.change_interest(id, interest, any)?;
            }
            Parcel::Message(envelope) => {
                if !client.is(ClientFlags::SOURCE) {
                    return Err(ClientError::NotASource(id).into());
                }
                client.pipe.stats.received_messages += 1;
                let level = client.level;
                let done = self.forward(id, level, envelope);
                received.count(&done);
            }
        }
        Ok(())
    }
}
