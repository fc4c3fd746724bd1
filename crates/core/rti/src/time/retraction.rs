//! Messages that their senders can still retract (8.22, 8.23).
//!
//! A message can be retracted while its time stamp is strictly after the least one that its sender
//! may still send. Until then its record keeps the federates that have received it early.

use super::bound::Bound;
use super::role::does_not_regulate;
use super::{TimeEvent, TimeManager};
use crate::control::PublishedClass;
use crate::stamp::Stamp;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{FederateHandle, MessageRetractionHandle, ObjectInstanceHandle};
use hla::time::LogicalTime;
use hla::{Exception, RtiError};
use std::collections::{BTreeMap, BTreeSet};

/// A message that its sender may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) stamp: Stamp,
    pub(crate) time: LogicalTime,
    /// It can be retracted if it is sent in time-stamp order.
    pub(crate) is_retractable: bool,
}

/// A message that can still be retracted.
#[derive(Debug)]
struct Retractable {
    time: LogicalTime,
    /// Federates that have received it already.
    early: BTreeSet<FederateHandle>,
    /// The instance that it deletes.
    deletes: Option<ObjectInstanceHandle>,
    /// The streams that carried it, with the instance that it concerns.
    streams: Vec<(PublishedClass, Option<ObjectInstanceHandle>)>,
}

/// The messages of one federate that it can still retract.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Number of messages sent in time-stamp order.
    count: u32,
    retractable: BTreeMap<u32, Retractable>,
    by_time: BTreeSet<(LogicalTime, u32)>,
}

/// The handle of the message of `sender` with this number. Clients in Java compare the last four of
/// its octets only, so these have a part of both: 12 bits of the federate and 20 of the number. The
/// rest is in the first four.
fn handle(sender: FederateHandle, number: u32) -> MessageRetractionHandle {
    let high = (sender.0 >> 12) << 12 | number >> 20;
    let low = sender.0 << 20 | number & 0xf_ffff;
    MessageRetractionHandle(u64::from(high) << 32 | u64::from(low))
}

/// The sender and the number of a message.
pub(super) fn origin(handle: MessageRetractionHandle) -> (FederateHandle, u32) {
    let (high, low) = ((handle.0 >> 32) as u32, handle.0 as u32);
    (FederateHandle((high >> 12) << 12 | low >> 20), (high & 0xfff) << 20 | low & 0xf_ffff)
}

impl Sent {
    /// The handle of the next message.
    ///
    /// # Errors
    /// `RTIinternalError` after four thousand million messages.
    pub(super) fn next(&self, sender: FederateHandle) -> Result<MessageRetractionHandle, RtiError> {
        let number = self
            .count
            .checked_add(1)
            .ok_or_else(|| RtiError::internal("this federate has no message retraction handles left"))?;
        Ok(handle(sender, number))
    }

    /// Forgets messages that can no longer be retracted, because nothing at or below `bound` can.
    /// Returns the instances that they delete.
    pub(super) fn finish(&mut self, bound: Bound) -> impl Iterator<Item = ObjectInstanceHandle> + use<> {
        let mut deleted = Vec::new();
        while let Some(&(time, number)) = self.by_time.first()
            && bound.is_at_or_after(time)
        {
            self.by_time.pop_first();
            deleted.extend(self.retractable.remove(&number).and_then(|message| message.deletes));
        }
        deleted.into_iter()
    }

    fn take(&mut self, number: u32) -> Option<Retractable> {
        let message = self.retractable.remove(&number)?;
        self.by_time.remove(&(message.time, number));
        Some(message)
    }
}

impl TimeManager {
    /// Notes that a message was sent in time-stamp order, as [`TimeManager::stamp`] has allowed since
    /// the last change of its sender's clock. Returns whether it can be retracted.
    pub(crate) fn sent(
        &mut self,
        sender: FederateHandle,
        Sending { stamp, time, is_retractable }: Sending,
        deletes: Option<ObjectInstanceHandle>,
    ) -> bool {
        let Some(clock) = self.clocks.get_mut(&sender) else { return false };
        let (_, number) = origin(stamp.retraction);
        clock.sent.count = number;
        if is_retractable {
            let message = Retractable { time, early: BTreeSet::new(), deletes, streams: Vec::new() };
            clock.sent.retractable.insert(number, message);
            clock.sent.by_time.insert((time, number));
        }
        is_retractable
    }

    /// Notes that a federate has received a message that may still be retracted.
    pub(crate) fn note_early(
        &mut self,
        to: FederateHandle,
        retraction: MessageRetractionHandle,
        time: LogicalTime,
    ) {
        let (sender, number) = origin(retraction);
        if let Some(clock) = self.clocks.get_mut(&sender) {
            if let Some(message) = clock.sent.retractable.get_mut(&number) {
                message.early.insert(to);
            }
        } else if let Some(network) = &mut self.network {
            network.early.insert(time, retraction, to);
        }
    }

    /// Notes that a stream carries a message that its sender may retract.
    pub(crate) fn carried(
        &mut self,
        retraction: MessageRetractionHandle,
        class: PublishedClass,
        instance: Option<ObjectInstanceHandle>,
    ) {
        let (sender, number) = origin(retraction);
        let sent = self.clocks.get_mut(&sender).map(|clock| &mut clock.sent);
        if let Some(message) = sent.and_then(|sent| sent.retractable.get_mut(&number))
            && !message.streams.contains(&(class, instance))
        {
            message.streams.push((class, instance));
        }
    }

    /// Handles that a federate of another node has retracted a message.
    pub(super) fn retracted_elsewhere(&mut self, retraction: MessageRetractionHandle, time: LogicalTime) {
        let (sender, _) = origin(retraction);
        self.unqueue(sender, retraction, time);
        let early = self.network.as_mut().map(|network| network.early.take(time, retraction));
        self.request_retraction(&early.unwrap_or_default(), retraction);
    }

    /// Tells federates that a message which they have received was retracted (8.23).
    fn request_retraction(&mut self, early: &BTreeSet<FederateHandle>, retraction: MessageRetractionHandle) {
        #[cfg(test)]
        if super::tests::has_flaw(super::tests::Flaw::RetractionForgetsEarly) {
            return;
        }
        for &to in early {
            let request = api::RequestRetraction { retraction: Some(retraction) };
            self.notify(to, Callback::RequestRetraction(request));
        }
    }

    /// Takes a retracted message out of all queues.
    fn unqueue(&mut self, sender: FederateHandle, retraction: MessageRetractionHandle, time: LogicalTime) {
        let constrained = self.clocks.iter_mut().filter(|(_, clock)| clock.constrained);
        let shortened =
            constrained.filter_map(|(&to, clock)| clock.unqueue(time, sender, retraction).then_some(to));
        for to in shortened.collect::<Vec<_>>() {
            self.events.push_back(TimeEvent::Shortened(to));
            self.refresh(to);
        }
    }

    /// Retract (8.22).
    pub(crate) fn retract(
        &mut self,
        federate: FederateHandle,
        retraction: MessageRetractionHandle,
    ) -> Result<(), RtiError> {
        let clock = self.clocks.get_mut(&federate).ok_or_else(does_not_regulate)?;
        let bound = clock.send_bound().ok_or_else(does_not_regulate)?;
        let (sender, number) = origin(retraction);
        if sender != federate || number == 0 || number > clock.sent.count {
            let text = format!("{retraction:?} is no message of this federate");
            return Err(RtiError::new(Exception::InvalidMessageRetractionHandle, text));
        }
        let open = clock.sent.retractable.get(&number).is_some_and(|sent| !bound.is_at_or_after(sent.time));
        let Some(message) = open.then(|| clock.sent.take(number)).flatten() else {
            let text = format!("{retraction:?} was retracted, or others may have acted on it");
            return Err(RtiError::new(Exception::MessageCanNoLongerBeRetracted, text));
        };
        self.unqueue(federate, retraction, message.time);
        self.request_retraction(&message.early, retraction);
        if !message.streams.is_empty() {
            let (time, streams) = (message.time, message.streams);
            self.events.push_back(TimeEvent::RetractInStreams { retraction, time, streams });
        }
        self.events.extend(message.deletes.map(TimeEvent::Reinstate));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_retraction_handle_tells_its_sender_and_number(sender: u32, number: u32) {
            let sender = FederateHandle(sender);
            prop_assert_eq!(origin(handle(sender, number)), (sender, number));
        }

        #[test]
        fn the_last_four_octets_tell_messages_of_near_federates_apart(
            senders in (0..4096_u32, 0..4096_u32),
            numbers in (1..1_u32 << 20, 1..1_u32 << 20),
        ) {
            let low = |sender, number| handle(FederateHandle(sender), number).0 as u32;
            let same = (senders.0, numbers.0) == (senders.1, numbers.1);
            prop_assert_eq!(low(senders.0, numbers.0) == low(senders.1, numbers.1), same);
        }
    }
}
