//! Input from pipes: frames and parcels.

use super::{Event, Router, Submitted};
use crate::client::{Client, ClientFlags, ClientId};
use crate::error::FrameError;
use crate::frame::{self, Fragment, Record, Records};
use crate::message::{Envelope, Interest, Message, MessageId, Parcel, Priority, Wire, WireError};
use crate::reassembly::Joined;
use crate::{ClientError, ClientKind};
use base::Moment;
use bytes::Bytes;
use smallvec::SmallVec;

/// The result of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Received {
    /// Messages in it.
    pub messages: u32,
    /// True if one of its messages waits in a congested pipe, or found no room. With
    /// [credit](crate::PipeConfig::credit_bytes) that holds the peer back. Without it, take nothing
    /// from this link until [`Event::Relieved`], so that the link exerts back-pressure on the peer.
    pub congested: bool,
}

impl Received {
    fn count(&mut self, done: &Submitted) {
        self.messages += 1;
        self.congested |= done.congested || !done.refused.is_empty();
    }
}

/// The context of a record.
#[derive(Clone, Copy)]
struct Context {
    at: usize,
    /// Bytes of memory that it shares.
    pinned: usize,
    /// It arrived without order and credit.
    best_effort: bool,
    /// It arrived by a group.
    group: bool,
    /// It was reassembled from fragments, which were counted as they arrived.
    joined: bool,
}

/// The congested pipes in which a parcel waits.
pub(crate) type WaitsIn = SmallVec<[ClientId; 4]>;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// Takes a frame from the link of a client. Records before a faulty one have had their effect.
    ///
    /// # Errors
    /// [`FrameError`]: the peer broke the protocol. The world closes the link and reports it down.
    pub fn handle_frame(&mut self, now: Moment, id: ClientId, frame: Bytes) -> Result<Received, FrameError> {
        self.observe(now);
        let now = self.now;
        let client = self.linked(id)?;
        client.last_heard = now;
        client.pipe.stats.received_frames += 1;
        client.pipe.stats.received_bytes += frame.len() as u64;
        let pinned = frame.len();
        let records = Records::of_frame(frame)?;
        let greeted = client.peer.is_some();
        if records.best_effort && !greeted {
            return Err(FrameError::NoHello);
        }
        self.handle_records(id, records, pinned, false)
    }

    /// Takes a frame from the unordered and lossy side of the link of a client, as
    /// [`Router::poll_frame_of`] returned it for `BEST_EFFORT` alone. Such frames may arrive late,
    /// twice or never, and before the greeting; fragments that lack another are counted. They are
    /// no sign of life.
    ///
    /// # Errors
    /// [`FrameError`]: the rest of this datagram was ignored and counted. The link is unharmed: do
    /// not close it.
    pub fn handle_datagram(
        &mut self,
        now: Moment,
        id: ClientId,
        frame: Bytes,
    ) -> Result<Received, FrameError> {
        self.handle_unordered(now, id, frame, false)
    }

    /// Takes a frame of a [multicast group](Router::add_group) of the router behind a link client,
    /// as if it were a datagram of that link. Unlike a datagram, it may hold messages that must not
    /// be dropped.
    ///
    /// # Errors
    /// As [`Router::handle_datagram`].
    pub fn handle_group_frame(
        &mut self,
        now: Moment,
        id: ClientId,
        frame: Bytes,
    ) -> Result<Received, FrameError> {
        self.handle_unordered(now, id, frame, true)
    }

    fn handle_unordered(
        &mut self,
        now: Moment,
        id: ClientId,
        frame: Bytes,
        group: bool,
    ) -> Result<Received, FrameError> {
        self.observe(now);
        let client = self.linked(id)?;
        client.pipe.stats.received_frames += 1;
        client.pipe.stats.received_datagrams += 1;
        client.pipe.stats.received_bytes += frame.len() as u64;
        let pinned = frame.len();
        let result = match Records::of_frame(frame) {
            Ok(records) if records.best_effort => self.handle_records(id, records, pinned, group),
            Ok(_) => Err(FrameError::Ordered),
            Err(error) => Err(error),
        };
        if result.is_err()
            && let Some(client) = self.clients.get_mut(id)
        {
            client.pipe.stats.faulty_datagrams += 1;
        }
        result
    }

    fn linked(&mut self, id: ClientId) -> Result<&mut Client<M, I>, ClientError> {
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        if client.kind == ClientKind::Link && client.up {
            Ok(client)
        } else {
            Err(ClientError::WrongKind(id))
        }
    }

    fn handle_records(
        &mut self,
        id: ClientId,
        mut records: Records,
        pinned: usize,
        group: bool,
    ) -> Result<Received, FrameError> {
        let mut received = Received::default();
        let best_effort = records.best_effort;
        while let Some((at, record)) = records.next()? {
            let context = Context { at, pinned, best_effort, group, joined: false };
            self.handle_record(id, context, record, &mut received)?;
        }
        if !best_effort {
            self.settle_credit(id);
        }
        Ok(received)
    }

    /// Takes a parcel from the other end of a memory pipe.
    /// [`MemoryPipe::carry`](crate::MemoryPipe::carry) does this and passes on congestion.
    ///
    /// # Errors
    /// [`FrameError::Client`] when the client does not exist or is not allowed to do that.
    pub fn handle_parcel(
        &mut self,
        now: Moment,
        id: ClientId,
        parcel: Parcel<M, I>,
    ) -> Result<Received, FrameError> {
        self.take_in(now, id, parcel).map(|(received, _)| received)
    }

    /// Like [`Router::handle_parcel`], but also returns the congested pipes in which the parcel
    /// waits.
    pub(crate) fn take_in(
        &mut self,
        now: Moment,
        id: ClientId,
        parcel: Parcel<M, I>,
    ) -> Result<(Received, WaitsIn), FrameError> {
        self.observe(now);
        let client = self.clients.get(id).ok_or(ClientError::Unknown(id))?;
        if client.kind != ClientKind::Memory {
            return Err(ClientError::WrongKind(id).into());
        }
        let mut received = Received::default();
        let waits_in = match parcel {
            Parcel::Message(envelope) => self.take_message(id, envelope, false, &mut received)?,
            other => {
                self.take_parcel(id, other)?;
                WaitsIn::new()
            }
        };
        Ok((received, waits_in))
    }

    fn handle_record(
        &mut self,
        id: ClientId,
        context: Context,
        record: Record,
        received: &mut Received,
    ) -> Result<(), FrameError> {
        let Context { at, pinned, best_effort, .. } = context;
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        if best_effort && !matches!(record, Record::Message { .. } | Record::Fragment(_)) {
            return Err(FrameError::BestEffort { at, item: record.name() });
        }
        if client.peer.is_none() && !best_effort && !matches!(record, Record::Hello { .. }) {
            return Err(FrameError::NoHello);
        }
        let parcel = match record {
            Record::Hello { origin, credit } => {
                client.pipe.allowance.begin(credit);
                // This credit may let waiting messages go.
                self.wake(id);
                Parcel::Hello(origin)
            }
            Record::Credit(bytes) => {
                client.pipe.allowance.grant(bytes);
                self.wake(id);
                return Ok(());
            }
            Record::KeepAlive => Parcel::KeepAlive,
            Record::Interest { any, body } => {
                Parcel::Interest { interest: decoded("interest", at, I::decode(body, pinned))?, any }
            }
            Record::Advertisement { any, body } => Parcel::Advertisement {
                advertisement: decoded("advertisement", at, I::decode(body, pinned))?,
                any,
            },
            Record::Message { hops, id: number, body } => {
                return self.handle_message(id, context, (hops, number, body), received);
            }
            Record::Fragment(fragment) => return self.handle_fragment(id, context, &fragment, received),
        };
        self.take_parcel(id, parcel)
    }

    fn handle_message(
        &mut self,
        id: ClientId,
        context: Context,
        (hops, number, body): (u8, MessageId, Bytes),
        received: &mut Received,
    ) -> Result<(), FrameError> {
        let Context { at, pinned, best_effort, group, joined } = context;
        let cost = frame::message_record_bytes(body.len());
        let message = decoded("message", at, M::decode(body, pinned))?;
        if best_effort && !group && !message.droppable() {
            return Err(FrameError::BestEffort { at, item: "message that must not be dropped" });
        }
        if !best_effort && !joined && message.priority() != Priority::Control {
            self.spend(id, at, cost)?;
        }
        let envelope = Envelope { id: number, hops: hops.saturating_add(1), message };
        self.take_message(id, envelope, best_effort, received)?;
        Ok(())
    }

    /// Counts received bytes against the credit that was granted.
    fn spend(&mut self, id: ClientId, at: usize, bytes: usize) -> Result<(), FrameError> {
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        client.window.take(bytes).map_err(|over| FrameError::Credit { at, over })
    }

    fn handle_fragment(
        &mut self,
        id: ClientId,
        context: Context,
        fragment: &Fragment,
        received: &mut Received,
    ) -> Result<(), FrameError> {
        let Context { at, pinned, best_effort, .. } = context;
        if best_effort && fragment.fifo == 0 {
            return Err(FrameError::BestEffort { at, item: "interest or advertisement" });
        }
        if !best_effort && fragment.fifo >= frame::FIRST_CREDIT_FIFO {
            self.spend(id, at, frame::fragment_record_bytes(fragment.part.len()))?;
        }
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        let whole = if best_effort {
            let joined = client.best_effort_reassembly.take(at, fragment, pinned)?;
            client.pipe.stats.lost_fragments += joined.lost;
            joined.whole
        } else {
            match client.reassembly.take(at, fragment)? {
                Joined::Partial => None,
                Joined::Lost => {
                    client.pipe.stats.lost_fragments += 1;
                    None
                }
                Joined::Whole(record) => Some(record),
            }
        };
        whole.map_or(Ok(()), |record| self.handle_whole(id, context, record, received))
    }

    /// Takes a record that was reassembled from fragments.
    fn handle_whole(
        &mut self,
        id: ClientId,
        context: Context,
        record: Bytes,
        received: &mut Received,
    ) -> Result<(), FrameError> {
        let at = context.at;
        let context = Context { pinned: record.len(), joined: true, ..context };
        let mut records = Records::of_transfer(record, context.best_effort);
        match records.next()? {
            Some((
                _,
                record @ (Record::Interest { .. } | Record::Advertisement { .. } | Record::Message { .. }),
            )) => {
                self.handle_record(id, context, record, received)?;
            }
            _ => {
                return Err(FrameError::Fragment {
                    at,
                    why: "the whole is neither a message nor an interest nor an advertisement",
                });
            }
        }
        match records.next()? {
            None => Ok(()),
            Some(_) => Err(FrameError::Fragment { at, why: "the whole is more than one record" }),
        }
    }

    fn take_message(
        &mut self,
        id: ClientId,
        envelope: Envelope<M>,
        best_effort: bool,
        received: &mut Received,
    ) -> Result<WaitsIn, FrameError> {
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        if !client.is(ClientFlags::SOURCE) {
            return Err(ClientError::NotASource(id).into());
        }
        client.pipe.stats.received_messages += 1;
        let level = client.level;
        let done = self.forward(id, level, envelope, best_effort);
        received.count(&done);
        Ok(done.waits_in)
    }

    fn take_parcel(&mut self, id: ClientId, parcel: Parcel<M, I>) -> Result<(), FrameError> {
        let own = self.config.origin;
        let client = self.clients.get_mut(id).ok_or(ClientError::Unknown(id))?;
        match parcel {
            Parcel::KeepAlive | Parcel::Message(_) => {}
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
            Parcel::Advertisement { advertisement, any } => {
                self.change_advertisement(id, advertisement, any)?;
            }
        }
        Ok(())
    }
}

fn decoded<T: Wire>(item: &'static str, at: usize, value: Result<T, WireError>) -> Result<T, FrameError> {
    value.map_err(|source| FrameError::Body { item, at, source })
}
