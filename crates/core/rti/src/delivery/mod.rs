//! Delivery: one inbox and one bounded pipe for each federate of this node.
//!
//! Services pass on *arrivals*. The inbox decides when a federate may receive one: at once, or when
//! time management permits. The arrival then goes into the federate's pipe, where it waits until
//! the session takes it.

mod inbox;

pub(crate) use inbox::{Arrival, ArrivalImage, Inbox};

use crate::proposal::CallerId;
use base::{HandleMap, Moment, Seed};
use bytes::{BufMut, Bytes, BytesMut};
use hla::api::{CallbackRequest, Message as _, callback_request::CallbackRequest as Callback};
use router::{
    ClientConfig, ClientError, ClientId, Enqueued, Interest, Message, PipeConfig, PipeStats, Priority,
    Router, RouterConfig, RouterId, Wire, WireError,
};
use std::collections::VecDeque;

/// An encoded callback in the pipe of one federate. Many federates may share the body.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Queued {
    /// The encoded `CallbackRequest`.
    body: Bytes,
    /// It may be dropped if the federate does not keep up.
    best_effort: bool,
}

/// Memory of a queued callback in addition to its body: its place in the queue and the bookkeeping
/// of the shared body.
const QUEUED_OVERHEAD: usize = 96;

/// A federate with more bytes of waiting callbacks is congested, or with more than a quarter of its
/// pipe's limits if that is less. This is some thousands of discoveries: enough to keep it busy until
/// the next slice.
const CONGESTED_BYTES: usize = 1 << 20;

/// Every callback is addressed to one federate. These pipes have no topics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Addressed;

impl Message for Queued {
    type Topic = Addressed;

    fn topic(&self) -> &Addressed {
        &Addressed
    }

    fn priority(&self) -> Priority {
        if self.best_effort { Priority::State } else { Priority::Reliable }
    }

    fn droppable(&self) -> bool {
        self.best_effort
    }

    fn bytes(&self) -> usize {
        self.body.len() + QUEUED_OVERHEAD
    }
}

impl Wire for Queued {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(self.best_effort.into());
        out.put_slice(&self.body);
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        match body.first() {
            Some(&flag @ 0..=1) => Ok(Self { body: body.slice(1..), best_effort: flag == 1 }),
            Some(flag) => Err(WireError(format!("a callback starts with 0 or 1, not {flag}"))),
            None => Err(WireError("a callback is not empty".to_owned())),
        }
    }
}

impl Interest for Addressed {
    type Topic = Addressed;
    type Key = Addressed;

    fn key(&self) -> Option<Addressed> {
        Some(*self)
    }

    fn topic_key(_topic: &Addressed) -> Addressed {
        Addressed
    }

    fn matches(&self, _topic: &Addressed) -> bool {
        true
    }

    fn merge(&mut self, _other: &Self) {}
}

impl Wire for Addressed {
    fn encode(&self, _out: &mut BytesMut) {}

    fn decode(_body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        Ok(Addressed)
    }
}

/// The inboxes and pipes of this node's federates.
pub(crate) struct Delivery {
    /// A router with one client, that is one pipe, per caller.
    pipes: Router<Queued, Addressed>,
    callers: HandleMap<ClientId, CallerId>,
    /// Inboxes of federates that do not receive everything at once. Nearly always empty.
    held: HandleMap<ClientId, Inbox>,
    /// Bytes in all inboxes.
    held_bytes: usize,
    /// Messages and bytes that wait in time-stamp order, by federate.
    timed: HandleMap<ClientId, (usize, usize)>,
    /// Bytes of these messages for all federates.
    timed_bytes: usize,
    pipe: PipeConfig,
    overloaded: Vec<CallerId>,
    /// Callers to disconnect, with the reason.
    lost: VecDeque<(CallerId, String)>,
    /// Best-effort callbacks dropped for lack of room, for all federates together.
    dropped: u64,
}

impl Delivery {
    /// An empty delivery. `queue_bytes_max` and `queue_messages_max` limit the callbacks that may
    /// wait for one federate.
    pub(crate) fn new(router: u32, queue_bytes_max: usize, queue_messages_max: usize) -> Self {
        // The seed only spreads the reconnections of links between routers. There are no links
        // here.
        let pipes = Router::new(RouterConfig::new(RouterId(router), Seed(u64::from(router))));
        let mut pipe = PipeConfig::ordered().with_bytes_max(queue_bytes_max);
        pipe.messages_max = queue_messages_max;
        Self {
            pipes,
            callers: HandleMap::default(),
            held: HandleMap::default(),
            held_bytes: 0,
            timed: HandleMap::default(),
            timed_bytes: 0,
            pipe,
            overloaded: Vec::new(),
            lost: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Adds a pipe for a new caller.
    ///
    /// # Errors
    /// There is no room for another client.
    pub(crate) fn add(&mut self, now: Moment, caller: CallerId) -> Result<ClientId, ClientError> {
        let config = ClientConfig { pipe: self.pipe.clone(), ..ClientConfig::local() };
        let client = self.pipes.add_client(now, config)?;
        self.callers.insert(client, caller);
        Ok(client)
    }

    /// Removes a pipe and all callbacks in it.
    pub(crate) fn remove(&mut self, now: Moment, client: ClientId) {
        let dropped = self.pipe_stats(client).map_or(0, PipeStats::dropped_messages);
        if let Some(caller) = self.callers.get(&client)
            && dropped > 0
        {
            tracing::warn!(%caller, dropped, "best-effort callbacks of this federate were dropped: it did not keep up");
        }
        self.callers.remove(&client);
        self.held_bytes -= self.held.remove(&client).map_or(0, |inbox| inbox.bytes());
        self.timed_bytes -= self.timed.remove(&client).map_or(0, |(_, bytes)| bytes);
        self.pipes.remove_client(now, client);
    }

    /// Drops all callbacks that wait for a caller, by giving it a new pipe.
    pub(crate) fn drop_waiting(&mut self, now: Moment, caller: CallerId, client: &mut ClientId) {
        self.remove(now, *client);
        // The removal has just made room, so this succeeds.
        if let Ok(fresh) = self.add(now, caller) {
            *client = fresh;
        }
    }

    /// Passes an arrival on to a federate: into its pipe, or into its inbox while the arrival must
    /// wait.
    pub(crate) fn deliver(&mut self, now: Moment, to: ClientId, arrival: Arrival) {
        // This branch is the whole cost for a federate that is not constrained.
        if !self.held.is_empty()
            && let Some(inbox) = self.held.get_mut(&to)
            && inbox.holds(&arrival)
        {
            return self.hold(to, arrival);
        }
        self.pipe(now, to, arrival);
    }

    /// Keeps an arrival in the inbox. It counts against the same limits as the callbacks in the
    /// pipe.
    fn hold(&mut self, to: ClientId, arrival: Arrival) {
        let (messages, bytes) = self.queued(to);
        if bytes + arrival.body.len() <= self.pipe.bytes_max && messages < self.pipe.messages_max {
            if let Some(inbox) = self.held.get_mut(&to) {
                let before = inbox.bytes();
                inbox.hold(arrival);
                self.held_bytes += inbox.bytes() - before;
            }
        } else if arrival.best_effort {
            self.count_dropped(1);
        } else {
            self.overload(to);
        }
    }

    /// Withholds messages in receive order from a federate (`on`), or delivers the withheld ones
    /// and all that follow.
    pub(crate) fn hold_receive_order(&mut self, now: Moment, client: ClientId, on: bool) {
        if on {
            self.held.entry(client).or_default().set_receive_order(true);
        } else if let Some(inbox) = self.held.get_mut(&client) {
            inbox.set_receive_order(false);
            self.release(now, client);
        }
    }

    /// Withholds everything from a federate (`on`), or delivers what was withheld.
    /// [`notify`](Self::notify) passes all the same.
    pub(crate) fn hold_all(&mut self, now: Moment, client: ClientId, on: bool) {
        if on {
            self.held.entry(client).or_default().set_all(true);
        } else if let Some(inbox) = self.held.get_mut(&client) {
            inbox.set_all(false);
            self.release(now, client);
        }
    }

    /// Delivers what an inbox does not hold any longer.
    fn release(&mut self, now: Moment, client: ClientId) {
        let Some(inbox) = self.held.get_mut(&client) else { return };
        let before = inbox.bytes();
        let released = inbox.release();
        self.held_bytes -= before - inbox.bytes();
        if inbox.is_open() {
            self.held.remove(&client);
        }
        for arrival in released {
            self.pipe(now, client, arrival);
        }
    }

    /// Delivers a callback about a save or a restore. Nothing holds it up.
    pub(crate) fn notify(&mut self, now: Moment, client: ClientId, callback: Callback) {
        self.pipe(now, client, Arrival::notice(encode(callback)));
    }

    /// The arrivals that are withheld from a federate.
    pub(crate) fn held(&self, client: ClientId) -> Vec<ArrivalImage> {
        self.held.get(&client).into_iter().flat_map(Inbox::iter).map(ArrivalImage::from).collect()
    }

    /// Puts the arrivals of an image in the place of those that are withheld from a federate, and
    /// withholds everything.
    pub(crate) fn restore_held(&mut self, client: ClientId, arrivals: Vec<ArrivalImage>) {
        let mut inbox = Inbox::default();
        inbox.set_all(true);
        arrivals.into_iter().for_each(|arrival| inbox.hold(arrival.into()));
        self.held_bytes += inbox.bytes();
        self.held_bytes -= self.held.insert(client, inbox).map_or(0, |before| before.bytes());
    }

    /// Sets how many messages, with how many bytes, wait for a client in time-stamp order. They
    /// count against the same limits. None of them may be lost, so a federate with too many cannot
    /// continue.
    pub(crate) fn set_timed(&mut self, client: ClientId, messages: usize, bytes: usize) {
        let before = match messages {
            0 => self.timed.remove(&client),
            _ => self.timed.insert(client, (messages, bytes)),
        };
        let (_, before) = before.unwrap_or_default();
        self.timed_bytes = self.timed_bytes - before + bytes;
        if bytes <= before {
            return;
        }
        let (all, all_bytes) = self.queued(client);
        let full = all_bytes > self.pipe.bytes_max || all > self.pipe.messages_max;
        if full && let Some(&caller) = self.callers.get(&client) {
            let why = format!(
                "{messages} messages in time-stamp order ({bytes} bytes) wait for this federate's logical time, \
                 more than the queue of a federate may hold"
            );
            self.lose(caller, why);
        }
    }

    fn pipe(&mut self, now: Moment, to: ClientId, arrival: Arrival) {
        let queued = Queued { body: arrival.body, best_effort: arrival.best_effort };
        match self.pipes.push(now, to, queued) {
            Ok(Enqueued::Queued { displaced }) => self.count_dropped(displaced),
            Ok(Enqueued::Dropped { .. }) => self.count_dropped(1),
            Ok(Enqueued::Refused) => self.overload(to),
            Ok(Enqueued::Replaced) | Err(_) => {}
        }
    }

    /// Counts dropped callbacks and logs at 1, 2, 4, 8 …: often enough to be seen, and too seldom
    /// to be a load.
    fn count_dropped(&mut self, more: u32) {
        if more == 0 {
            return;
        }
        let before = self.dropped;
        self.dropped += u64::from(more);
        if self.dropped.leading_zeros() != before.leading_zeros() {
            tracing::warn!(
                total = self.dropped,
                "best-effort callbacks are dropped: a federate does not keep up"
            );
        }
    }

    fn overload(&mut self, client: ClientId) {
        if let Some(&caller) = self.callers.get(&client)
            && !self.overloaded.contains(&caller)
        {
            self.overloaded.push(caller);
        }
    }

    /// Marks the federate of `caller` as unable to continue for the reason `why`. It will be
    /// disconnected with Connection Lost (4.4).
    pub(crate) fn lose(&mut self, caller: CallerId, why: impl Into<String>) {
        if !self.lost.iter().any(|(lost, _)| *lost == caller) {
            self.lost.push_back((caller, why.into()));
        }
    }

    pub(crate) fn poll_lost(&mut self) -> Option<(CallerId, String)> {
        self.lost.pop_front()
    }

    pub(crate) fn poll_overloaded(&mut self) -> Option<CallerId> {
        self.overloaded.pop()
    }

    /// A caller for which callbacks wait. It is not named again before all of them were taken.
    pub(crate) fn poll_ready(&mut self) -> Option<CallerId> {
        loop {
            let client = self.pipes.poll_ready()?;
            if let Some(&caller) = self.callers.get(&client) {
                return Some(caller);
            }
        }
    }

    /// The next callback for a client.
    pub(crate) fn poll_callback(&mut self, client: ClientId) -> Option<Bytes> {
        self.pipes.poll_message(client).map(|queued| queued.body)
    }

    pub(crate) fn pipe_stats(&self, client: ClientId) -> Option<&PipeStats> {
        self.pipes.pipe_stats(client)
    }

    /// Whether a federate has enough callbacks to process. Work that can wait without loss, such as
    /// discoveries, should then wait.
    pub(crate) fn is_congested(&self, client: ClientId) -> bool {
        // Only callbacks that the federate can take count. Discoveries must not wait for logical
        // time, which may itself wait for them.
        let (messages, bytes) = self.pipes.queued(client).unwrap_or_default();
        bytes > CONGESTED_BYTES.min(self.pipe.bytes_max / 4) || messages > self.pipe.messages_max / 4
    }

    /// Bytes that wait for all clients. A body that several of them share counts for each.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.pipes.queued_bytes() + self.held_bytes + self.timed_bytes
    }

    /// Drops the best-effort callbacks that wait for a client. Returns how many were dropped.
    pub(crate) fn drop_best_effort(&mut self, client: ClientId) -> u64 {
        let mut dropped = self.pipes.drop_droppable(client);
        if let Some(inbox) = self.held.get_mut(&client) {
            let before = inbox.bytes();
            dropped += inbox.drop_best_effort();
            self.held_bytes -= before - inbox.bytes();
        }
        self.count_dropped(u32::try_from(dropped).unwrap_or(u32::MAX));
        dropped
    }

    /// Callbacks that wait for a client, without messages in time-stamp order.
    pub(crate) fn waiting(&self, client: ClientId) -> usize {
        let (messages, _) = self.pipes.queued(client).unwrap_or_default();
        messages + self.held.get(&client).map_or(0, Inbox::len)
    }

    /// Messages and bytes that wait for a client.
    pub(crate) fn queued(&self, client: ClientId) -> (usize, usize) {
        let (messages, bytes) = self.pipes.queued(client).unwrap_or_default();
        let held = self.held.get(&client).map_or((0, 0), |inbox| (inbox.len(), inbox.bytes()));
        let timed = self.timed.get(&client).copied().unwrap_or_default();
        (messages + held.0 + timed.0, bytes + held.1 + timed.1)
    }
}

/// Encodes a callback.
pub(crate) fn encode(callback: Callback) -> Bytes {
    CallbackRequest { callback_request: Some(callback) }.encode_to_vec().into()
}

#[cfg(test)]
mod tests;
