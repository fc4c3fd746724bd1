//! Unanswered requests of this node's federates about ownership, wherever the instances are at
//! home.
//!
//! They are what a federate knows of its negotiations. The preconditions of its next calls follow
//! from them. When the home of an instance dies, they are repeated to the new one.

use super::calls::OwnershipCall;
use crate::wire::OwnershipRequest;
use base::Moment;
use bytes::Bytes;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Approximate memory of an acquisition or a divestiture, in bytes, without its tag.
const REQUEST_BYTES: usize = 150;

/// An attribute of an instance, and a federate.
pub(super) type Key = (ObjectInstanceHandle, FederateHandle, AttributeHandle);

/// An attribute that a federate wants to acquire, or no longer wants to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Acquisition {
    /// By Attribute Ownership Acquisition (7.8), and not only if available (7.9).
    pub(super) is_pending: bool,
    /// False: the federate has cancelled it, and waits for the confirmation.
    pub(super) is_wanted: bool,
    /// The number of the last request.
    pub(super) number: u64,
    /// Number of cancellations (7.15) that are not confirmed.
    pub(super) cancellations: u32,
    pub(super) tag: Bytes,
    /// When it was first requested.
    #[serde(skip)]
    pub(super) since: Moment,
}

/// An attribute in a negotiated divestiture (7.3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Divestiture {
    pub(super) tag: Bytes,
    #[serde(skip)]
    pub(super) since: Moment,
}

/// A request whose call, or divestiture, waits for the answer of the home.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    pub(super) request: OwnershipRequest,
    /// `None`: the end of a publication waits for it, or nothing does.
    pub(super) call: Option<OwnershipCall>,
}

impl WaitingRequest {
    /// Whether the end of a publication waits for it.
    fn ends_publication(&self) -> bool {
        self.call.is_none() && !self.request.action.changes_delivery()
    }
}

/// The open requests about one instance.
pub(super) struct About {
    pub(super) acquisitions: Vec<(Key, Acquisition)>,
    pub(super) divestitures: Vec<(Key, Divestiture)>,
    pub(super) waiting: Vec<OwnershipRequest>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    acquisitions: BTreeMap<Key, Acquisition>,
    divestitures: BTreeMap<Key, Divestiture>,
    /// By instance and number.
    waiting: BTreeMap<(ObjectInstanceHandle, u64), WaitingRequest>,
    /// Number of those for which the end of a publication waits.
    unpublishing: BTreeMap<FederateHandle, usize>,
    last_number: u64,
    bytes: usize,
}

/// The image of open requests in a saved federation execution. None of them waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequestsImage {
    acquisitions: BTreeMap<Key, Acquisition>,
    divestitures: BTreeMap<Key, Divestiture>,
    last_number: u64,
}

impl OpenRequests {
    pub(crate) fn image(&self) -> RequestsImage {
        let Self { acquisitions, divestitures, last_number, .. } = self;
        RequestsImage {
            acquisitions: acquisitions.clone(),
            divestitures: divestitures.clone(),
            last_number: *last_number,
        }
    }

    /// Takes over an image. For people, its requests begin now.
    pub(crate) fn take_image(&mut self, image: RequestsImage, now: Moment) {
        for (key, acquisition) in image.acquisitions {
            self.set(key, Some(Acquisition { since: now, ..acquisition }));
        }
        image.divestitures.into_iter().for_each(|(key, saved)| self.divest(key, &saved.tag, now));
        self.last_number = image.last_number;
    }

    /// Whether any request waits for the answer of a home.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// An estimate of their memory, in bytes. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of the next request.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Whether a federate wants to acquire an attribute.
    pub(super) fn is_acquiring(&self, key: Key) -> bool {
        self.acquisitions.get(&key).is_some_and(|acquisition| acquisition.is_wanted)
    }

    /// Whether a federate has an acquisition pending.
    pub(super) fn is_pending(&self, key: Key) -> bool {
        self.acquisitions.get(&key).is_some_and(|acquisition| acquisition.is_wanted && acquisition.is_pending)
    }

    /// Whether a federate divests an attribute by negotiation.
    pub(super) fn is_divesting(&self, key: Key) -> bool {
        self.divestitures.contains_key(&key)
    }

    /// The attributes that a federate wants to acquire, or may still acquire although it has
    /// cancelled that, and whether each acquisition is pending. It remains so until a cancellation
    /// is confirmed.
    pub(super) fn acquired_by(
        &self,
        federate: FederateHandle,
    ) -> impl Iterator<Item = (ObjectInstanceHandle, AttributeHandle, bool)> {
        let own = self.acquisitions.iter().filter(move |((_, of, _), _)| *of == federate);
        own.map(|(&(instance, _, attribute), open)| {
            (instance, attribute, open.is_pending || open.cancellations > 0)
        })
    }

    /// Notes that a federate wants to acquire an attribute.
    pub(super) fn acquire(&mut self, key: Key, number: u64, is_pending: bool, tag: &Bytes, now: Moment) {
        let before = self.acquisitions.get(&key);
        let cancellations = before.map_or(0, |before| before.cancellations);
        let since = before.filter(|before| before.is_wanted).map_or(now, |before| before.since);
        let tag = tag.clone();
        self.set(key, Some(Acquisition { is_pending, is_wanted: true, number, cancellations, tag, since }));
    }

    /// Notes that a federate has cancelled an acquisition.
    pub(super) fn cancel(&mut self, key: Key) {
        if let Some(acquisition) = self.acquisitions.get_mut(&key) {
            acquisition.is_wanted = false;
            acquisition.cancellations += 1;
        }
    }

    /// A cancellation is confirmed. Returns false if none was requested.
    pub(super) fn confirm_cancellation(&mut self, key: Key) -> bool {
        let Some(acquisition) = self.acquisitions.get_mut(&key).filter(|open| open.cancellations > 0) else {
            return false;
        };
        acquisition.cancellations -= 1;
        if acquisition.cancellations == 0 && !acquisition.is_wanted {
            self.set(key, None);
        }
        true
    }

    /// The request with this number found an attribute unavailable. Returns false if the federate
    /// must not be told: it has cancelled that acquisition, and gets the confirmation, or has since
    /// requested the release, and gets that answer.
    pub(super) fn deny(&mut self, key: Key, number: u64) -> bool {
        let open = self.acquisitions.get(&key);
        let is_told = open.is_some_and(|open| open.cancellations == 0 && open.number == number);
        if is_told {
            self.set(key, None);
        }
        is_told
    }

    /// The acquisition of an attribute has ended.
    pub(super) fn end_acquisition(&mut self, key: Key) {
        self.set(key, None);
    }

    fn set(&mut self, key: Key, acquisition: Option<Acquisition>) {
        self.bytes += acquisition.as_ref().map_or(0, |new| REQUEST_BYTES + new.tag.len());
        let before = match acquisition {
            Some(new) => self.acquisitions.insert(key, new),
            None => self.acquisitions.remove(&key),
        };
        self.bytes -= before.map_or(0, |before| REQUEST_BYTES + before.tag.len());
    }

    /// Notes that a federate divests an attribute by negotiation.
    pub(super) fn divest(&mut self, key: Key, tag: &Bytes, now: Moment) {
        self.bytes += REQUEST_BYTES + tag.len();
        let before = self.divestitures.insert(key, Divestiture { tag: tag.clone(), since: now });
        self.bytes -= before.map_or(0, |before| REQUEST_BYTES + before.tag.len());
    }

    /// The divestiture of an attribute has ended.
    pub(super) fn end_divestiture(&mut self, key: Key) {
        let before = self.divestitures.remove(&key);
        self.bytes -= before.map_or(0, |before| REQUEST_BYTES + before.tag.len());
    }

    /// Notes a request that waits for its answer.
    pub(super) fn wait(&mut self, request: OwnershipRequest, call: Option<OwnershipCall>) {
        self.bytes += REQUEST_BYTES + request.tag.len();
        let waiting = WaitingRequest { request, call };
        let WaitingRequest { request, .. } = &waiting;
        if waiting.ends_publication() {
            *self.unpublishing.entry(request.federate).or_default() += 1;
        }
        self.waiting.insert((request.instance, request.number), waiting);
    }

    /// Takes the request about an instance with this number.
    pub(super) fn answered(&mut self, instance: ObjectInstanceHandle, number: u64) -> Option<WaitingRequest> {
        let waiting = self.waiting.remove(&(instance, number))?;
        self.bytes -= REQUEST_BYTES + waiting.request.tag.len();
        if waiting.ends_publication()
            && let Some(count) = self.unpublishing.get_mut(&waiting.request.federate)
        {
            *count -= 1;
        }
        Some(waiting)
    }

    /// Whether the end of a publication of this federate waits for answers.
    pub(crate) fn is_unpublishing(&self, federate: FederateHandle) -> bool {
        self.unpublishing.get(&federate).is_some_and(|&count| count > 0)
    }

    /// Forgets what all federates have requested about an instance that is removed.
    pub(super) fn forget_instance(&mut self, instance: ObjectInstanceHandle) {
        if self.acquisitions.is_empty() && self.divestitures.is_empty() {
            return;
        }
        let About { acquisitions, divestitures, .. } = self.of(instance);
        acquisitions.into_iter().for_each(|(key, _)| self.set(key, None));
        divestitures.into_iter().for_each(|(key, _)| self.end_divestiture(key));
    }

    /// Takes the requests about an instance that wait for an answer.
    pub(super) fn take_waiting(&mut self, instance: ObjectInstanceHandle) -> Vec<WaitingRequest> {
        let numbers: Vec<_> = self.waiting_about(instance).map(|waiting| waiting.request.number).collect();
        numbers.into_iter().filter_map(|number| self.answered(instance, number)).collect()
    }

    fn waiting_about(&self, instance: ObjectInstanceHandle) -> impl Iterator<Item = &WaitingRequest> {
        self.waiting.range((instance, 0)..=(instance, u64::MAX)).map(|(_, waiting)| waiting)
    }

    /// Forgets the requests of a federate that has left.
    pub(crate) fn remove_federate(&mut self, federate: FederateHandle) {
        let acquisitions: Vec<_> =
            self.acquisitions.keys().filter(|key| key.1 == federate).copied().collect();
        acquisitions.into_iter().for_each(|key| self.set(key, None));
        let divestitures: Vec<_> =
            self.divestitures.keys().filter(|key| key.1 == federate).copied().collect();
        divestitures.into_iter().for_each(|key| self.end_divestiture(key));
        let of = self.waiting.iter().filter(|(_, waiting)| waiting.request.federate == federate);
        let numbers: Vec<_> = of.map(|(&number, _)| number).collect();
        numbers.into_iter().for_each(|(instance, number)| drop(self.answered(instance, number)));
        self.unpublishing.remove(&federate);
    }

    /// Whether nothing is open. Cost: O(1).
    pub(super) fn is_empty(&self) -> bool {
        self.acquisitions.is_empty() && self.divestitures.is_empty() && self.waiting.is_empty()
    }

    /// The instances about which something is open, ascending.
    pub(super) fn instances(&self) -> Vec<ObjectInstanceHandle> {
        let keys = self.acquisitions.keys().chain(self.divestitures.keys()).map(|&(instance, ..)| instance);
        let waiting = self.waiting.keys().map(|&(instance, _)| instance);
        let mut all: Vec<_> = keys.chain(waiting).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The open requests about an instance.
    pub(super) fn of(&self, instance: ObjectInstanceHandle) -> About {
        let first = (instance, FederateHandle(0), AttributeHandle(0));
        let last = (instance, FederateHandle(u32::MAX), AttributeHandle(u32::MAX));
        let acquisitions = self.acquisitions.range(first..=last).map(|(&key, open)| (key, open.clone()));
        let divestitures = self.divestitures.range(first..=last).map(|(&key, open)| (key, open.clone()));
        let waiting = self.waiting_about(instance).map(|waiting| waiting.request.clone());
        About {
            acquisitions: acquisitions.collect(),
            divestitures: divestitures.collect(),
            waiting: waiting.collect(),
        }
    }
}
