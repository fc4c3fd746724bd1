//! A federate that asks, and measures how long answers take.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use federate::Callback;
use hla::handle::ObjectInstanceHandle;

use super::asker::Federates;
use super::data::Data;
use super::load::{InFlight, Load, Measured, Tally, UnderWay};
use super::lockstep::Lockstep;
use super::side::{Heard, Side, Values};
use super::stamp::Stamp;
use super::way::{Kind, Transport, Way};
use crate::alarm;
use crate::error::BenchError;
use crate::member::received;

/// Wait after which a message that nobody has to deliver (HLAbestEffort) counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// Messages that are sent before the answers that have come meanwhile are taken.
const SENT_TOGETHER: u64 = 64;
/// Objects that are registered before the mirrors that have come meanwhile are taken.
const REGISTERED_TOGETHER: usize = 10_000;
/// The bits of the number of a message, below those of its federate.
const NUMBER_BITS: u32 = 48;

/// Work of all asking federates at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// To register objects until each has so many, and to discover the mirrors of all.
    Populate(usize),
    /// To apply a load, which they share.
    Measure(Load),
}

impl Work {
    /// Bytes of the data of its messages.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Populate(_) => 0,
            Self::Measure(load) => load.size,
        }
    }
}

/// A federate that asks.
pub(super) struct Asking {
    pub(super) side: Side,
    way: Way,
    /// Its number among those that ask, which is part of the numbers of its messages: all of them get
    /// all answers.
    index: usize,
    federates: Federates,
    /// Its objects, and those of the other party.
    own: Vec<ObjectInstanceHandle>,
    other: Vec<ObjectInstanceHandle>,
    /// The object whose turn is next.
    next: usize,
    /// The number of the next message.
    number: u64,
    /// The steps of logical time that it has taken.
    steps: u64,
    /// From here time stamps count.
    begun: Instant,
    under_way: UnderWay,
    /// Rises with everything that arrives.
    progress: Arc<AtomicU64>,
}

impl Asking {
    pub(super) fn new(
        side: Side,
        way: Way,
        index: usize,
        federates: Federates,
        progress: Arc<AtomicU64>,
    ) -> Self {
        Self {
            side,
            way,
            index,
            federates,
            own: Vec::new(),
            other: Vec::new(),
            next: 0,
            number: (index as u64) << NUMBER_BITS,
            steps: 0,
            begun: Instant::now(),
            under_way: UnderWay::default(),
            progress,
        }
    }

    /// Its number among those that ask.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Works, and goes on listening until all federates of `lockstep` are done.
    pub(super) async fn work(&mut self, work: Work, lockstep: &Lockstep) -> Result<Measured, BenchError> {
        let measured = match work {
            Work::Populate(count) => self.populate(count, lockstep).await?,
            Work::Measure(load) => {
                let load = load.of(self.index, self.federates.producers);
                self.run(load, lockstep).await?
            }
        };
        self.listen(lockstep).await?;
        Ok(measured)
    }

    async fn listen(&mut self, lockstep: &Lockstep) -> Result<(), BenchError> {
        let mut nothing = Tally::new(0, 0);
        if self.side.clock.is_some() {
            lockstep.finish();
            while self.step(&mut nothing, lockstep).await? {}
            return Ok(());
        }
        let mut all_done = pin!(lockstep.all_done());
        loop {
            tokio::select! {
                biased;
                () = &mut all_done => return Ok(()),
                callback = self.side.callbacks.recv() => {
                    self.hear(received(callback)?, Instant::now(), &mut nothing)?;
                }
            }
        }
    }

    async fn populate(&mut self, count: usize, lockstep: &Lockstep) -> Result<Measured, BenchError> {
        let mut nothing = Tally::new(0, 0);
        while self.own.len() < count {
            let (first, some) = (self.own.len(), (count - self.own.len()).min(REGISTERED_TOGETHER));
            let registered = self.side.register(first, some).await?;
            self.own.extend(registered);
            self.progress.fetch_add(1, Ordering::Relaxed);
        }
        while self.other.len() < count * self.federates.producers * self.federates.consumers {
            if self.side.clock.is_some() {
                self.step(&mut nothing, lockstep).await?;
                continue;
            }
            let callback = received(self.side.callbacks.recv().await)?;
            self.hear(callback, Instant::now(), &mut nothing)?;
        }
        Ok(nothing.measured())
    }

    async fn run(&mut self, load: Load, lockstep: &Lockstep) -> Result<Measured, BenchError> {
        let data = Data::new(load.size, self.way.encoding);
        let mut tally = Tally::new(load.size, self.number + load.warm_up);
        tally.data = Some(data.clone());
        self.under_way.clear();
        match load.rate_per_s {
            Some(rate) => self.run_at(rate, load, &data, &mut tally).await?,
            None => self.run_closed(load, &data, &mut tally, lockstep).await?,
        }
        self.side.updates.drained().await?;
        Ok(tally.measured())
    }

    /// A closed loop: at most this many messages are under way.
    async fn run_closed(
        &mut self,
        load: Load,
        data: &Data,
        tally: &mut Tally,
        lockstep: &Lockstep,
    ) -> Result<(), BenchError> {
        let (all, objects) = (load.warm_up + load.count, self.own.len().max(1) as u64);
        let mut sent = 0;
        while tally.done < all {
            let room = match load.in_flight {
                InFlight::Messages(most) => most as u64 - (sent - tally.done).min(most as u64),
                InFlight::Sweep if sent == tally.done => objects,
                InFlight::Sweep => 0,
            };
            for at in 1..=room.min(all - sent) {
                self.ask(data, Instant::now()).await?;
                sent += 1;
                if at % SENT_TOGETHER == 0 && self.side.clock.is_none() {
                    while let Some(callback) = self.side.callbacks.try_recv() {
                        self.hear(callback, Instant::now(), tally)?;
                    }
                }
            }
            if sent == tally.done {
                continue;
            }
            if self.side.clock.is_some() {
                self.step(tally, lockstep).await?;
            } else {
                self.await_answer(tally).await?;
            }
        }
        Ok(())
    }

    /// An open loop: messages leave when they are due.
    async fn run_at(
        &mut self,
        rate_per_s: f64,
        load: Load,
        data: &Data,
        tally: &mut Tally,
    ) -> Result<(), BenchError> {
        let (all, begun) = (load.warm_up + load.count, Instant::now());
        // Those of several federates are due in turn.
        let first = self.index as f64 / self.federates.producers as f64;
        let due = |at: u64| begun + Duration::from_secs_f64((at as f64 + first) / rate_per_s);
        let moments: Vec<Instant> = (0..all).map(due).collect();
        let mut due = alarm::at(moments.clone()).map_err(BenchError::system("thread"))?;
        let mut moments = moments.into_iter();
        while tally.done < all {
            let under_way = all - moments.len() as u64 - tally.done;
            tokio::select! {
                biased;
                callback = self.side.callbacks.recv() => {
                    self.hear(received(callback)?, Instant::now(), tally)?;
                }
                Some(_) = due.recv(), if moments.len() > 0 => {
                    if let Some(moment) = moments.next() {
                        self.ask(data, moment).await?;
                        self.side.updates.flush();
                    }
                }
                () = tokio::time::sleep(LOST_AFTER), if self.may_lose() && under_way > 0 => self.lose(tally),
            }
        }
        Ok(())
    }

    fn may_lose(&self) -> bool {
        self.way.transport == Transport::BestEffort
    }

    /// Counts what is under way as lost.
    fn lose(&mut self, tally: &mut Tally) {
        let lost = self.under_way.clear();
        tally.lost += lost;
        tally.done += lost;
    }

    /// Sends a message that is due at `due`.
    async fn ask(&mut self, data: &Data, due: Instant) -> Result<(), BenchError> {
        let stamp = Stamp::new(self.begun, due, self.number);
        self.number += 1;
        // A directed interaction goes to one federate.
        let answers = if self.way.kind == Kind::Directed { 1 } else { self.federates.consumers };
        self.under_way.sent(stamp.number, answers);
        let (own, other) = (self.own.get(self.next).copied(), self.other.get(self.next).copied());
        self.next = (self.next + 1) % self.own.len().max(1);
        let at = self.side.next_step()?;
        self.side.send(own, other, Values { data: data.encoded()?, time: stamp.encoded() }, at).await
    }

    /// Waits for an answer, or until one counts as lost.
    async fn await_answer(&mut self, tally: &mut Tally) -> Result<(), BenchError> {
        let callback = match self.may_lose() {
            false => self.side.callbacks.recv().await,
            true => match tokio::time::timeout(LOST_AFTER, self.side.callbacks.recv()).await {
                Ok(callback) => callback,
                Err(_) => {
                    self.lose(tally);
                    return Ok(());
                }
            },
        };
        self.hear(received(callback)?, Instant::now(), tally)
    }

    /// Advances logical time by a step, and hears what comes meanwhile. Returns whether there was a step
    /// to take.
    async fn step(&mut self, tally: &mut Tally, lockstep: &Lockstep) -> Result<bool, BenchError> {
        let next = self.side.next_step()?;
        let (Some(clock), Some(next)) = (&mut self.side.clock, next) else { return Ok(false) };
        if !lockstep.begins(self.steps + 1) {
            return Ok(false);
        }
        self.steps += 1;
        let mut heard = Vec::new();
        let hear = |callback| heard.push((Instant::now(), callback));
        clock.advance(next, &mut self.side.callbacks, hear).await?;
        heard.into_iter().try_for_each(|(at, callback)| self.hear(callback, at, tally))?;
        Ok(true)
    }

    fn hear(&mut self, callback: Callback, now: Instant, tally: &mut Tally) -> Result<(), BenchError> {
        let values = match self.side.hear(callback)? {
            Heard::Nothing => return Ok(()),
            Heard::Object(object, _) => {
                self.progress.fetch_add(1, Ordering::Relaxed);
                self.other.push(object);
                return Ok(());
            }
            Heard::Message(message) => message.values,
        };
        self.progress.fetch_add(1, Ordering::Relaxed);
        let stamp = Stamp::decoded(values.time).ok_or_else(|| {
            BenchError::Nonsense("an answer without the time stamp that was sent".to_owned())
        })?;
        if stamp.number >> NUMBER_BITS != self.index as u64 {
            return Ok(()); // an answer to another federate
        }
        let Some(missing) = self.under_way.answered(stamp.number) else {
            // A message that counted as lost may still be answered, or for a second time.
            return match self.may_lose() {
                true => Ok(()),
                false => Err(BenchError::Nonsense(format!(
                    "an answer to message {}, which was never sent or has been answered",
                    stamp.number
                ))),
            };
        };
        if !tally.data.as_ref().is_some_and(|data| data.is_same(&values.data)) {
            let (came, sent) = (values.data.len(), tally.size);
            return Err(BenchError::Nonsense(format!(
                "an answer of {came} bytes with other data than those of a message of {sent}"
            )));
        }
        tally.answer(stamp.number, (now, stamp.age(self.begun, now)), missing == 0);
        Ok(())
    }
}
