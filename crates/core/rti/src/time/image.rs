//! The image of logical time in a saved federation execution.

use super::advance::AdvanceService;
use super::bound::Bound;
use super::clock::{Clock, Entering, Regulation};
use super::network::EarlyReceived;
use super::queue::Queue;
use super::retraction::SentImage;
use super::{Subject, TimeManager, TimedMessage};
use crate::control::TimeOctets;
use bytes::Bytes;
use hla::RtiError;
use hla::handle::{FederateHandle, MessageRetractionHandle, TransportationTypeHandle};
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// The state of one federate in logical time. Bounds are the numbers of [`Bound::to_bits`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct ClockImage {
    federate: FederateHandle,
    time: TimeOctets,
    /// Lookahead, floor, and the end of a former lookahead.
    regulation: Option<(TimeOctets, u64, Option<TimeOctets>)>,
    /// Lookahead, and the time and the floor from which it will regulate.
    entering: Option<(TimeOctets, Option<(TimeOctets, u64)>)>,
    constrained: bool,
    constraint_pending: bool,
    advancing: Option<(AdvanceService, TimeOctets)>,
    strict: bool,
    promised: u64,
    asynchronous: bool,
    evolved: bool,
    queue: Vec<MessageImage>,
    sent: SentImage,
}

/// A message that waits for a federate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct MessageImage {
    time: TimeOctets,
    sender: FederateHandle,
    retraction: MessageRetractionHandle,
    subject: Subject,
    transportation: TransportationTypeHandle,
    body: Bytes,
}

impl MessageImage {
    fn of(message: &TimedMessage) -> Self {
        let TimedMessage { time, sender, retraction, subject, transportation, ref body } = *message;
        let body = body.clone();
        Self { time: time.encode(), sender, retraction, subject, transportation, body }
    }

    fn restore(self, kind: TimeKind) -> Result<TimedMessage, RtiError> {
        let Self { time, sender, retraction, subject, transportation, body } = self;
        let time = kind.decode_time(&time)?;
        Ok(TimedMessage { time, sender, retraction, subject, transportation, body })
    }
}

impl ClockImage {
    fn of(federate: FederateHandle, clock: &Clock) -> Self {
        let regulation = clock.regulation.map(|Regulation { lookahead, floor, lowered }| {
            (lookahead.encode(), floor.to_bits(), lowered.map(LogicalTime::encode))
        });
        let entering = clock.entering.map(|Entering { lookahead, from, .. }| {
            (lookahead.encode(), from.map(|(time, floor)| (time.encode(), floor.to_bits())))
        });
        Self {
            federate,
            time: clock.time.encode(),
            regulation,
            entering,
            constrained: clock.constrained,
            constraint_pending: clock.constraint_pending,
            advancing: clock.advancing.map(|(service, to)| (service, to.encode())),
            strict: clock.strict,
            promised: clock.promised.to_bits(),
            asynchronous: clock.asynchronous,
            evolved: clock.evolved,
            queue: clock.queue.iter().map(MessageImage::of).collect(),
            sent: clock.sent.image(),
        }
    }

    /// The clock, without what follows from others.
    ///
    /// # Errors
    /// A time or an interval is none of this kind.
    fn restore(self, kind: TimeKind) -> Result<Clock, RtiError> {
        let time = |octets: TimeOctets| kind.decode_time(&octets);
        let interval =
            |octets: TimeOctets| -> Result<LogicalTimeInterval, RtiError> { kind.decode_interval(&octets) };
        let mut clock = Clock::new(kind);
        clock.time = time(self.time)?;
        if let Some((lookahead, floor, lowered)) = self.regulation {
            let (lookahead, floor) = (interval(lookahead)?, Bound::from_bits(floor));
            clock.regulation = Some(Regulation { lookahead, floor, lowered: lowered.map(time).transpose()? });
        }
        if let Some((lookahead, from)) = self.entering {
            let from = from.map(|(at, floor)| Ok::<_, RtiError>((time(at)?, Bound::from_bits(floor))));
            let (lookahead, from) = (interval(lookahead)?, from.transpose()?);
            clock.entering = Some(Entering { lookahead, recall: 0, from, begun: false });
        }
        clock.constrained = self.constrained;
        clock.constraint_pending = self.constraint_pending;
        clock.advancing = match self.advancing {
            Some((service, to)) => Some((service, time(to)?)),
            None => None,
        };
        clock.strict = self.strict;
        clock.promised = Bound::from_bits(self.promised);
        clock.asynchronous = self.asynchronous;
        clock.evolved = self.evolved;
        clock.queue = Queue::default();
        for message in self.queue {
            clock.queue.insert(Box::new(message.restore(kind)?));
        }
        clock.sent = self.sent.restore(kind)?;
        Ok(clock)
    }
}

/// The image of logical time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct TimeImage {
    /// Of each federate that has used time management.
    clocks: Vec<ClockImage>,
    spent: TimesSpent,
    /// Messages of other nodes that federates here have received before they were due.
    early: Vec<(TimeOctets, MessageRetractionHandle, BTreeSet<FederateHandle>)>,
}

/// How long federates have been in the states Time Granted and Time Advancing.
type TimesSpent = Vec<(FederateHandle, (Duration, Duration))>;

/// The clocks of an image, ready to be used.
pub(crate) struct RestoredClocks {
    clocks: Vec<(FederateHandle, Clock)>,
    spent: TimesSpent,
    early: EarlyReceived,
}

impl RestoredClocks {
    /// # Errors
    /// A time or an interval is none of this kind.
    pub(crate) fn read(image: TimeImage, kind: TimeKind) -> Result<Self, RtiError> {
        let clocks = image.clocks.into_iter().map(|image| Ok((image.federate, image.restore(kind)?)));
        let clocks = clocks.collect::<Result<_, RtiError>>()?;
        let mut early = EarlyReceived::default();
        for (time, retraction, to) in image.early {
            let time = kind.decode_time(&time)?;
            to.into_iter().for_each(|to| early.insert(time, retraction, to));
        }
        Ok(Self { clocks, spent: image.spent, early })
    }
}

impl TimeManager {
    /// Whether nothing is in the midst of a change that an image cannot hold.
    pub(crate) fn is_at_rest(&self) -> bool {
        let is_midway = |clock: &Clock| {
            clock.granting.is_some()
                || clock.draining
                || clock.entering.is_some_and(|entering| entering.begun || entering.from.is_none())
        };
        self.events.is_empty()
            && !self.has_work()
            && !self.clocks.values().any(is_midway)
            && self.network.as_ref().is_none_or(|network| network.is_at_rest())
    }

    /// The state of the federates here.
    pub(crate) fn image(&self) -> TimeImage {
        let clocks = self.clocks.iter().map(|(&federate, clock)| ClockImage::of(federate, clock)).collect();
        let spent = self.spent.iter().map(|(&federate, spent)| (federate, spent.image(self.now))).collect();
        let early = self.network.iter().flat_map(|network| network.early.all());
        let early = early.map(|(time, retraction, to)| (time.encode(), retraction, to.clone())).collect();
        TimeImage { clocks, spent, early }
    }

    /// Takes over the state of an image. Its federates have joined, and none has a clock.
    pub(crate) fn take_image(&mut self, RestoredClocks { clocks, spent, early }: RestoredClocks) {
        if let Some(network) = &mut self.network {
            network.early = early;
        }
        for (federate, times) in spent {
            self.spent.get_mut(&federate).into_iter().for_each(|spent| spent.add(times));
        }
        for (federate, clock) in clocks {
            let takes_part = clock.constrained || clock.constraint_pending || clock.regulation.is_some();
            let flushes = clock.advancing.filter(|(service, _)| service.flushes());
            self.clocks.insert(federate, clock);
            if takes_part {
                self.take_part();
            }
            self.refresh(federate);
            if let Some((_, to)) = flushes
                && !self.query_for_flush(federate)
            {
                self.flush(federate, to);
            }
        }
        self.changed = true;
    }
}
