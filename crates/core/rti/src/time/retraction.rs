//! Messages that their senders can still retract (8.22, 8.23).
//!
//! A message can be retracted while its time stamp is strictly after the least one that its sender
//! may still send. Until then its record keeps the federates that have received it early.

use super::bound::Bound;
use super::role::does_not_regulate;
use super::{TimeEvent, TimeManager};
use crate::control::{PublishedClass, TimeOctets};
use crate::stamp::Stamp;
use hla::api::{self, callback_request::CallbackRequest as Callback};
use hla::handle::{FederateHandle, MessageRetractionHandle, ObjectInstanceHandle};
use hla::time::{LogicalTime, TimeKind};
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A message that its sender may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) stamp: Stamp,
    pub(crate) time: LogicalTime,
    /// It can be retracted if it is sent in time-stamp order.
    pub(crate) is_retractable: bool,
}

/// Messages with consecutive numbers and the same time that can still be retracted.
#[derive(Clone, Copy, Debug)]
struct Run {
    last: u32,
    time: LogicalTime,
}

/// The details of a message that can still be retracted.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
struct Details {
    /// Federates that have received it already.
    early: BTreeSet<FederateHandle>,
    /// The instance that it deletes.
    deletes: Option<ObjectInstanceHandle>,
    /// The streams that carried it, with the instance that it concerns.
    streams: Vec<(PublishedClass, Option<ObjectInstanceHandle>)>,
}

/// The messages of one federate that it can still retract.
///
/// A federate usually sends many messages with the same time in a row, and few of them have details
/// on a single node. Runs keep what waits for an advance small enough for the nearest caches.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Number of messages sent in time-stamp order.
    count: u32,
    /// By the number of the first message.
    runs: BTreeMap<u32, Run>,
    /// The same runs: their times, and the numbers of their first messages.
    by_time: BTreeSet<(LogicalTime, u32)>,
    /// Of those messages that have any.
    details: BTreeMap<u32, Details>,
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

/// The image of [`Sent`] in a saved federation execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct SentImage {
    count: u32,
    /// The first and the last number of each run, and its time.
    runs: Vec<(u32, u32, TimeOctets)>,
    details: BTreeMap<u32, Details>,
}

impl SentImage {
    /// # Errors
    /// A time is none of this kind.
    pub(super) fn restore(self, kind: TimeKind) -> Result<Sent, RtiError> {
        let mut sent = Sent { count: self.count, ..Sent::default() };
        for (first, last, time) in self.runs {
            sent.add_run(first, Run { last, time: kind.decode_time(&time)? });
        }
        sent.details = self.details;
        Ok(sent)
    }
}

impl Sent {
    /// Its image.
    pub(super) fn image(&self) -> SentImage {
        SentImage {
            count: self.count,
            runs: self.runs.iter().map(|(&first, run)| (first, run.last, run.time.encode())).collect(),
            details: self.details.clone(),
        }
    }

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

    /// Adds the message with the next number.
    fn add(&mut self, number: u32, time: LogicalTime) {
        if let Some(mut last) = self.runs.last_entry()
            && last.get().time == time
            && last.get().last.checked_add(1) == Some(number)
        {
            last.get_mut().last = number;
            return;
        }
        self.add_run(number, Run { last: number, time });
    }

    fn add_run(&mut self, first: u32, run: Run) {
        self.runs.insert(first, run);
        self.by_time.insert((run.time, first));
    }

    /// The run of a message, with the number of its first one.
    fn run_of(&self, number: u32) -> Option<(u32, Run)> {
        let (&first, &run) = self.runs.range(..=number).next_back()?;
        (number <= run.last).then_some((first, run))
    }

    /// The time of a message that can still be retracted.
    fn time_of(&self, number: u32) -> Option<LogicalTime> {
        self.run_of(number).map(|(_, run)| run.time)
    }

    /// The details of a message that can still be retracted.
    fn details_of(&mut self, number: u32) -> Option<&mut Details> {
        self.run_of(number)?;
        Some(self.details.entry(number).or_default())
    }

    /// Forgets messages that can no longer be retracted, because nothing at or below `bound` can.
    /// Returns the instances that they delete.
    pub(super) fn finish(&mut self, bound: Bound) -> impl Iterator<Item = ObjectInstanceHandle> + use<> {
        let mut deleted = Vec::new();
        while let Some(&(time, first)) = self.by_time.first()
            && bound.is_at_or_after(time)
        {
            self.by_time.pop_first();
            let Some(run) = self.runs.remove(&first) else { continue };
            let details = self.details.extract_if(first..=run.last, |_, _| true);
            deleted.extend(details.filter_map(|(_, details)| details.deletes));
        }
        deleted.into_iter()
    }

    /// Forgets a message that is being retracted. Returns its details.
    fn take(&mut self, number: u32) -> Details {
        if let Some((first, run)) = self.run_of(number) {
            self.runs.remove(&first);
            self.by_time.remove(&(run.time, first));
            if first < number {
                self.add_run(first, Run { last: number - 1, ..run });
            }
            if number < run.last {
                self.add_run(number + 1, run);
            }
        }
        self.details.remove(&number).unwrap_or_default()
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
            clock.sent.add(number, time);
            if deletes.is_some() {
                clock.sent.details.insert(number, Details { deletes, ..Details::default() });
            }
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
            if let Some(details) = clock.sent.details_of(number) {
                details.early.insert(to);
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
        if let Some(details) = sent.and_then(|sent| sent.details_of(number))
            && !details.streams.contains(&(class, instance))
        {
            details.streams.push((class, instance));
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
        let Some(time) = clock.sent.time_of(number).filter(|&time| !bound.is_at_or_after(time)) else {
            let text = format!("{retraction:?} was retracted, or others may have acted on it");
            return Err(RtiError::new(Exception::MessageCanNoLongerBeRetracted, text));
        };
        let Details { early, deletes, streams } = clock.sent.take(number);
        self.unqueue(federate, retraction, time);
        self.request_retraction(&early, retraction);
        if !streams.is_empty() {
            self.events.push_back(TimeEvent::RetractInStreams { retraction, time, streams });
        }
        self.events.extend(deletes.map(TimeEvent::Reinstate));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Send { time: i64, deletes: bool },
        Retract { number: u32 },
        Finish { until: i64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..4_i64, any::<bool>()).prop_map(|(time, deletes)| Step::Send { time, deletes }),
            2 => (1..20_u32).prop_map(|number| Step::Retract { number }),
            1 => (0..4_i64).prop_map(|until| Step::Finish { until }),
        ]
    }

    fn at(time: i64) -> LogicalTime {
        LogicalTime::integer64(time).unwrap()
    }

    proptest! {
        #[test]
        fn runs_keep_what_single_records_keep(steps in proptest::collection::vec(step(), 0..60)) {
            let mut sent = Sent::default();
            // Time, and the instance that the message deletes, by number.
            let mut expected: BTreeMap<u32, (i64, Option<ObjectInstanceHandle>)> = BTreeMap::new();
            let mut next = 1;
            for step in steps {
                match step {
                    Step::Send { time, deletes } => {
                        let deletes = deletes.then_some(ObjectInstanceHandle(next.into()));
                        sent.add(next, at(time));
                        if deletes.is_some() {
                            sent.details_of(next).unwrap().deletes = deletes;
                        }
                        expected.insert(next, (time, deletes));
                        next += 1;
                    }
                    Step::Retract { number } => {
                        let wanted = expected.remove(&number);
                        prop_assert_eq!(sent.time_of(number), wanted.map(|(time, _)| at(time)));
                        prop_assert_eq!(sent.take(number).deletes, wanted.and_then(|(_, deletes)| deletes));
                    }
                    Step::Finish { until } => {
                        let mut deleted: Vec<_> = sent.finish(Bound::at(at(until))).collect();
                        deleted.sort();
                        let is_final = |time| Bound::at(at(until)).is_at_or_after(at(time));
                        let finals = expected.values().filter(|(time, _)| is_final(*time));
                        let wanted: Vec<_> = finals.filter_map(|(_, deletes)| *deletes).collect();
                        prop_assert_eq!(deleted, wanted);
                        expected.retain(|_, (time, _)| !is_final(*time));
                    }
                }
                for number in 0..=next {
                    let wanted = expected.get(&number).map(|&(time, _)| at(time));
                    prop_assert_eq!(sent.time_of(number), wanted);
                }
                prop_assert!(sent.details.keys().all(|number| expected.contains_key(number)));
            }
        }

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
