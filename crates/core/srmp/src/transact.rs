//! Requests and replies, each a mode 2 message about the same data element.
//!
//! RFC 4410 leaves requests and replies to the application. Here the body of either begins with a
//! head of five octets: its kind (1 for a request, 2 for a reply), and a number that the requester
//! chose, as 32 bits in network order. The reply repeats that number. Members that exchange
//! transactions about a data element send nothing else about it in mode 2.
//!
//! A request is delivered at most once, like every mode 2 message. Only the reply shows that it was
//! processed: a transaction that [fails](Failure::NoReply) may have been processed as well.

use crate::endpoint::{Event, SendError, Ticket};
use crate::model::DataId;
use crate::wire::AckStatus;
use base::{Deadlines, Moment};
use bytes::{BufMut, Bytes, BytesMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

/// Octets of the head, before the body.
const HEAD_BYTES: usize = 5;

const REQUEST: u8 = 1;
const REPLY: u8 = 2;

/// Identifies a transaction at the member that began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u32);

/// A request of another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The address that the request came from and the reply goes to.
    pub address: SocketAddr,
    /// The data element.
    pub data: DataId,
    /// The requester's number of the transaction.
    pub id: TransactionId,
    /// The body of the request.
    pub body: Bytes,
}

/// The reason why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody acknowledged the request.
    #[error("nobody acknowledged the request")]
    NotAcknowledged,
    /// The member has no application for the request, or is busy.
    #[error("the member does not take the request: {0:?}")]
    Refused(AckStatus),
    /// The request arrived, but no reply came in time.
    #[error("no reply in time")]
    NoReply,
}

/// A change in the state of a transaction, or a new request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transacted {
    /// Another member sent a request. Answer it with [`Transactions::reply`].
    Request(Request),
    /// A reply arrived.
    Reply {
        /// The transaction.
        id: TransactionId,
        /// The body of the reply.
        body: Bytes,
    },
    /// The transaction failed, and no longer waits for a reply.
    Failed {
        /// The transaction.
        id: TransactionId,
        /// The reason.
        why: Failure,
    },
}

/// The transactions of one member: a layer over its [`Endpoint`](crate::Endpoint), or over a driver
/// of one.
///
/// Contract: give every event of the endpoint to [`Transactions::handle`], which returns those that
/// are not its own; call [`Transactions::handle_timeout`] at [`Transactions::poll_timeout`]; drain
/// [`Transactions::poll`] after both.
#[derive(Debug)]
pub struct Transactions {
    /// The data elements whose mode 2 messages are transactions.
    elements: BTreeSet<DataId>,
    patience: Duration,
    next: u32,
    /// Transactions that wait for a reply, and their data elements.
    pending: BTreeMap<TransactionId, DataId>,
    /// Requests and replies without acknowledgement. A reply has no transaction of this member, and
    /// the transaction of a request may be over.
    tickets: BTreeMap<Ticket, Option<TransactionId>>,
    timers: Deadlines<TransactionId>,
    events: VecDeque<Transacted>,
}

impl Transactions {
    /// Creates a layer for transactions about `elements`, each of which waits for its reply for
    /// `patience`.
    pub fn new(elements: impl IntoIterator<Item = DataId>, patience: Duration) -> Self {
        Self {
            elements: elements.into_iter().collect(),
            patience,
            next: 0,
            pending: BTreeMap::new(),
            tickets: BTreeMap::new(),
            timers: Deadlines::new(),
            events: VecDeque::new(),
        }
    }

    /// Sends a request about `data`. `send` sends the message in mode 2, as
    /// [`Endpoint::send_mode2`](crate::Endpoint::send_mode2) does.
    ///
    /// # Errors
    /// Those of `send`, and [`SendError::BadData`] when `data` is not one of the elements.
    pub fn transact(
        &mut self,
        now: Moment,
        data: DataId,
        body: &[u8],
        send: impl FnOnce(Bytes) -> Result<Ticket, SendError>,
    ) -> Result<TransactionId, SendError> {
        if !self.elements.contains(&data) {
            return Err(SendError::BadData(data));
        }
        let id = TransactionId(self.next);
        let ticket = send(framed(REQUEST, id, body))?;
        self.next = self.next.wrapping_add(1);
        self.tickets.insert(ticket, Some(id));
        self.pending.insert(id, data);
        self.timers.set(id, now + self.patience);
        Ok(id)
    }

    /// Replies to a request. `send` sends the reply to the request's address, about its data
    /// element. No event tells whether the reply arrives.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn reply(
        &mut self,
        request: &Request,
        body: &[u8],
        send: impl FnOnce(Bytes) -> Result<Ticket, SendError>,
    ) -> Result<(), SendError> {
        let ticket = send(framed(REPLY, request.id, body))?;
        self.tickets.insert(ticket, None);
        Ok(())
    }

    /// Handles an event of the endpoint. Returns it when it does not belong to transactions, and
    /// also when its message is neither a request nor a reply.
    pub fn handle(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Mode2 { address, data, ref body, .. } if self.elements.contains(&data) => {
                match split(body) {
                    Some((REQUEST, id, body)) => {
                        self.events.push_back(Transacted::Request(Request { address, data, id, body }));
                    }
                    Some((REPLY, id, body)) => self.replied(data, id, body),
                    _ => return Some(event),
                }
                None
            }
            Event::Delivered { ticket, status } => {
                let Some(of) = self.tickets.remove(&ticket) else { return Some(event) };
                if let Some(id) = of.filter(|_| status != AckStatus::Delivered) {
                    self.fail(id, Failure::Refused(status));
                }
                None
            }
            Event::TimedOut { ticket } => {
                let Some(of) = self.tickets.remove(&ticket) else { return Some(event) };
                if let Some(id) = of {
                    self.fail(id, Failure::NotAcknowledged);
                }
                None
            }
            other => Some(other),
        }
    }

    /// A reply proves that the request arrived, even if its acknowledgement was lost.
    fn replied(&mut self, data: DataId, id: TransactionId, body: Bytes) {
        if self.pending.get(&id) == Some(&data) {
            self.forget(id);
            self.events.push_back(Transacted::Reply { id, body });
        }
    }

    fn fail(&mut self, id: TransactionId, why: Failure) {
        if self.forget(id) {
            self.events.push_back(Transacted::Failed { id, why });
        }
    }

    /// Stops waiting for a reply; returns whether there was one to wait for. Later events about the
    /// request's ticket are still consumed here, and change nothing.
    fn forget(&mut self, id: TransactionId) -> bool {
        self.timers.clear(id);
        self.pending.remove(&id).is_some()
    }

    /// Fails the transactions whose time is over.
    pub fn handle_timeout(&mut self, now: Moment) {
        while let Some(id) = self.timers.pop_due(now) {
            self.fail(id, Failure::NoReply);
        }
    }

    /// The time at which [`Transactions::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.timers.next()
    }

    /// The next event.
    pub fn poll(&mut self) -> Option<Transacted> {
        self.events.pop_front()
    }

    /// The number of transactions that wait for a reply.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }
}

fn framed(kind: u8, id: TransactionId, body: &[u8]) -> Bytes {
    let mut whole = BytesMut::with_capacity(HEAD_BYTES + body.len());
    whole.put_u8(kind);
    whole.put_u32(id.0);
    whole.put_slice(body);
    whole.freeze()
}

/// Splits a message into its kind, its transaction and its body.
fn split(whole: &Bytes) -> Option<(u8, TransactionId, Bytes)> {
    let (head, _) = whole.split_first_chunk::<HEAD_BYTES>()?;
    let [kind, id @ ..] = *head;
    Some((kind, TransactionId(u32::from_be_bytes(id)), whole.slice(HEAD_BYTES..)))
}
