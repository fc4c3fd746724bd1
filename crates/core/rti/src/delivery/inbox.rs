//! The inbox of one federate: decides when the federate may receive a message (1516.1-2025, 8.1.3).

use bytes::Bytes;
use hla::api::OrderType;
use serde::{Deserialize, Serialize};
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

/// An arrival in the image of a saved federation execution: its body, whether it is best effort, and
/// whether it is received in time-stamp order if it is a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ArrivalImage(Bytes, bool, Option<bool>);

impl From<&Arrival> for ArrivalImage {
    fn from(arrival: &Arrival) -> Self {
        let in_time = arrival.received.map(|order| order == OrderType::Timestamp);
        Self(arrival.body.clone(), arrival.best_effort, in_time)
    }
}

impl From<ArrivalImage> for Arrival {
    fn from(ArrivalImage(body, best_effort, in_time): ArrivalImage) -> Self {
        let order = |in_time| if in_time { OrderType::Timestamp } else { OrderType::Receive };
        Self { body, best_effort, received: in_time.map(order) }
    }
}

/// Arrivals that wait until their federate may receive them.
///
/// A constrained federate that is not advancing and has not enabled asynchronous delivery receives
/// no messages in receive order (8.1.3, 8.14). Messages in time-stamp order wait in the queue of
/// its clock. A federate that takes part in a save or a restore receives nothing else (4.20, 4.29).
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: VecDeque<Arrival>,
    bytes: usize,
    /// It holds messages in receive order.
    holds_receive_order: bool,
    /// It holds everything.
    holds_all: bool,
}

fn memory(arrival: &Arrival) -> usize {
    arrival.body.len() + ARRIVAL_OVERHEAD
}

impl Inbox {
    pub(crate) fn set_receive_order(&mut self, holds: bool) {
        self.holds_receive_order = holds;
    }

    pub(crate) fn set_all(&mut self, holds: bool) {
        self.holds_all = holds;
    }

    /// Whether it holds anything at present.
    pub(crate) fn is_open(&self) -> bool {
        !self.holds_receive_order && !self.holds_all
    }

    /// Whether `arrival` must wait.
    pub(crate) fn holds(&self, arrival: &Arrival) -> bool {
        self.holds_all || self.holds_receive_order && arrival.received == Some(OrderType::Receive)
    }

    /// Keeps an arrival that must wait.
    pub(crate) fn hold(&mut self, arrival: Arrival) {
        self.bytes += memory(&arrival);
        self.waiting.push_back(arrival);
    }

    /// Drops best-effort messages. Returns how many were dropped.
    pub(crate) fn drop_best_effort(&mut self) -> u64 {
        let before = self.waiting.len();
        self.waiting.retain(|arrival| !arrival.best_effort);
        self.bytes = self.waiting.iter().map(memory).sum();
        (before - self.waiting.len()) as u64
    }

    /// Takes out the arrivals that need not wait any longer, in the order of arrival.
    pub(crate) fn release(&mut self) -> Vec<Arrival> {
        let waiting = std::mem::take(&mut self.waiting);
        let (held, released): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|arrival| self.holds(arrival));
        self.waiting = held.into();
        self.bytes = self.waiting.iter().map(memory).sum();
        released
    }

    /// The waiting arrivals, in the order of arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arrival> {
        self.waiting.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
