//! The inbox of one federate: decides when the federate may receive a message (1516.1-2025, 8.1.3).

use bytes::Bytes;
use hla::api::OrderType;
use std::collections::VecDeque;

/// A callback for one federate, before time management decides when it is delivered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// The encoded `CallbackRequest`.
    pub(crate) body: Bytes,
    /// It may be dropped if the federate does not keep up.
    pub(crate) best_effort: bool,
    /// The order in which this federate receives the message; `None` for callbacks that are not
    /// messages and never wait, such as discoveries and advisories.
    pub(crate) received: Option<OrderType>,
}

impl Arrival {
    /// A callback that is not a message.
    pub(crate) fn notice(body: Bytes) -> Self {
        Self { body, best_effort: false, received: None }
    }

    /// A message in time-stamp order, whose time has come.
    pub(crate) fn in_time(body: Bytes) -> Self {
        Self { body, best_effort: false, received: Some(OrderType::Timestamp) }
    }

    /// A message in receive order.
    pub(crate) fn receive_order(body: Bytes, best_effort: bool) -> Self {
        Self { body, best_effort, received: Some(OrderType::Receive) }
    }
}

/// Memory of a waiting arrival in addition to its body.
const ARRIVAL_OVERHEAD: usize = 64;

/// Messages that wait until time management lets their federate receive them.
///
/// A constrained federate that is not advancing and has not enabled asynchronous delivery receives
/// no messages in receive order (8.1.3, 8.14). Messages in time-stamp order wait in the queue of
/// its clock.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    receive_order: VecDeque<Arrival>,
    bytes: usize,
}

impl Inbox {
    /// Whether `arrival` must wait.
    pub(crate) fn holds(&self, arrival: &Arrival) -> bool {
        arrival.received == Some(OrderType::Receive)
    }

    /// Keeps an arrival that must wait.
    pub(crate) fn hold(&mut self, arrival: Arrival) {
        self.bytes += arrival.body.len() + ARRIVAL_OVERHEAD;
        self.receive_order.push_back(arrival);
    }

    /// Drops best-effort messages. Returns how many were dropped.
    pub(crate) fn drop_best_effort(&mut self) -> u64 {
        let before = self.receive_order.len();
        self.receive_order.retain(|arrival| !arrival.best_effort);
        self.bytes = self.receive_order.iter().map(|arrival| arrival.body.len() + ARRIVAL_OVERHEAD).sum();
        (before - self.receive_order.len()) as u64
    }

    /// All waiting arrivals, in the order of arrival.
    pub(crate) fn release(self) -> impl Iterator<Item = Arrival> {
        self.receive_order.into_iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.receive_order.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
