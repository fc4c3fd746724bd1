//! The federate that asks, and measures how long answers take.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use console::rounds::Rounds;
use federate::Callback;
use hla::handle::ObjectInstanceHandle;

use super::data::Data;
use super::side::{Heard, Party, Side, Values};
use super::stamp::Stamp;
use super::way::{Kind, Transport, Way};
use crate::alarm;
use crate::error::BenchError;
use crate::member::received;
use crate::process::{Launcher, Process};
use crate::role;
use crate::server::Server;

/// Wait after which a message that nobody has to deliver (HLAbestEffort) counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(1);
/// Messages that are sent before the answers that have come meanwhile are taken.
const SENT_TOGETHER: u64 = 64;

/// The number of messages that are under way at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InFlight {
    /// So many: an answer makes room for the next message.
    Messages(usize),
    /// One for each object: a sweep ends before the next one begins.
    Sweep,
}

/// Messages, and the times of which are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Bytes of the data.
    pub(crate) size: usize,
    pub(crate) in_flight: InFlight,
    /// Messages before those that are measured.
    pub(crate) warm_up: u64,
    /// Messages that are measured.
    pub(crate) count: u64,
    /// Messages that are sent per second, whether or not earlier ones were answered; then
    /// `in_flight` does not matter. A time begins when its message is due, not when it leaves: a
    /// server that halts delays all that are due meanwhile (no coordinated omission).
    pub(crate) rate_per_s: Option<f64>,
}

/// The result of a load.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) rounds: Rounds,
    /// Time from the first message that is measured to the last answer, in seconds.
    pub(crate) took_s: f64,
    /// Messages without an answer, all of them HLAbestEffort.
    pub(crate) lost: u64,
}

/// The messages that are not answered yet by everybody, by number, and how many answers are missing.
#[derive(Debug, Default)]
pub(super) struct UnderWay(HashMap<u64, usize>);

impl UnderWay {
    pub(super) fn sent(&mut self, number: u64, answers: usize) {
        self.0.insert(number, answers);
    }

    /// How many answers to a message are missing after this one; `None` if no such message is under
    /// way.
    pub(super) fn answered(&mut self, number: u64) -> Option<usize> {
        let missing = self.0.get_mut(&number)?;
        *missing -= 1;
        let missing = *missing;
        if missing == 0 {
            self.0.remove(&number);
        }
        Some(missing)
    }
}

/// The federate that asks, and the process of the one that answers.
pub(crate) struct Asker {
    asking: Asking,
    answerers: Vec<Process>,
    federation: String,
    patience: Duration,
}

impl Asker {
    /// Creates the federation execution and starts `consumers` other federates, each in a process of
    /// its own. Everything has to answer within `patience`.
    pub(crate) async fn start(
        launcher: &Launcher,
        server: &Server,
        federation: &str,
        (way, consumers): (Way, usize),
        patience: Duration,
    ) -> Result<Self, BenchError> {
        let joining = async {
            let session = Side::create(server, federation).await?;
            let side = Side::join(session, federation, way, Party::Asker).await?;
            let words = role::answerer(server.far_address(), federation, &way.to_string());
            let mut answerers = Vec::new();
            for _ in 0..consumers.max(1) {
                answerers.push(launcher.start(&words).await?.0);
            }
            Ok::<_, BenchError>((side, answerers))
        };
        let (side, answerers) = within(patience, "the federates to join", joining).await?;
        let federation = federation.to_owned();
        Ok(Self { asking: Asking::new(side, way, answerers.len()), answerers, federation, patience })
    }

    /// Registers objects until there are `count`, and waits until the other federate has registered
    /// a mirror of each. Returns how long that took.
    pub(crate) async fn populate(mut self, count: usize) -> Result<(Self, Duration), BenchError> {
        role::spawned(async move {
            let progress = Arc::clone(&self.asking.progress);
            let silence = watch(&mut self.answerers, progress, self.patience, "mirrors of the objects");
            let done = tokio::select! {
                biased;
                done = self.asking.populate(count) => done,
                error = silence => Err(error),
            };
            let took = done.map_err(|error| self.asking.reason(error))?;
            Ok((self, took))
        })
        .await
    }

    /// Applies a load.
    pub(crate) async fn measure(mut self, load: Load) -> Result<(Self, Measured), BenchError> {
        role::spawned(async move {
            let progress = Arc::clone(&self.asking.progress);
            let silence = watch(&mut self.answerers, progress, self.patience, "an answer");
            let done = tokio::select! {
                biased;
                done = self.asking.run(load) => done,
                error = silence => Err(error),
            };
            let measured = done.map_err(|error| self.asking.reason(error))?;
            Ok((self, measured))
        })
        .await
    }

    /// Ends both federates.
    pub(crate) async fn end(mut self) -> Result<(), BenchError> {
        let (patience, federation) = (self.patience, self.federation);
        let ending = async {
            for answerer in &mut self.answerers {
                answerer.send_line("leave").await?;
                if self.asking.side.clock.is_none() {
                    answerer.hear_within("left", patience).await?;
                }
            }
            drop(self.answerers); // in logical time it waits for an advance that never comes
            self.asking.side.leave(&federation).await
        };
        within(patience, "the federates to leave", ending).await
    }
}

/// Waits for `work`, and no longer than `patience`.
async fn within<T>(
    patience: Duration,
    reason: &str,
    work: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    let done = tokio::time::timeout(patience, work).await;
    done.map_err(|_| BenchError::Stalled { reason: reason.to_owned(), seconds: patience.as_secs() })?
}

/// Returns an error as soon as `progress` has not changed for `patience`, or one of the other federates
/// has ended.
async fn watch(
    answerers: &mut [Process],
    progress: Arc<AtomicU64>,
    patience: Duration,
    reason: &str,
) -> BenchError {
    let silence = async {
        let mut seen = progress.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(patience).await;
            let now = progress.load(Ordering::Relaxed);
            if std::mem::replace(&mut seen, now) == now {
                return BenchError::Stalled { reason: reason.to_owned(), seconds: patience.as_secs() };
            }
        }
    };
    let mut ends: Vec<_> = answerers.iter_mut().map(|answerer| Box::pin(answerer.ended())).collect();
    let end = poll_fn(|cx| {
        let ended = ends.iter_mut().map(|end| end.as_mut().poll(cx)).find(Poll::is_ready);
        ended.unwrap_or(Poll::Pending)
    });
    tokio::select! {
        error = silence => error,
        error = end => error,
    }
}

/// The messages of a load: counted, and the times of those that are measured.
struct Tally {
    warm_up: u64,
    done: u64,
    begun: Option<Instant>,
    ended: Instant,
    rounds: Rounds,
    size: usize,
    /// The data that answers have to contain.
    data: Option<Data>,
    lost: u64,
}

impl Tally {
    fn new(size: usize, warm_up: u64) -> Self {
        let ended = Instant::now();
        Self { warm_up, done: 0, begun: None, ended, rounds: Rounds::new(size), size, data: None, lost: 0 }
    }

    /// An answer that came at `now` to a message as old as `age`, and whether it is the last one to
    /// that message.
    fn answer(&mut self, now: Instant, age: Duration, is_last: bool) {
        if self.done >= self.warm_up {
            self.begun.get_or_insert(now.checked_sub(age).unwrap_or(now));
            self.rounds.record(age);
            self.ended = now;
        }
        self.done += u64::from(is_last);
    }
}

/// The federate that asks.
struct Asking {
    side: Side,
    way: Way,
    /// Number of the other federates.
    consumers: usize,
    /// Its objects, and those of the other party.
    own: Vec<ObjectInstanceHandle>,
    other: Vec<ObjectInstanceHandle>,
    /// The object whose turn is next.
    next: usize,
    /// The number of the next message.
    number: u64,
    /// From here time stamps count.
    begun: Instant,
    under_way: UnderWay,
    /// Rises with everything that arrives.
    progress: Arc<AtomicU64>,
}

impl Asking {
    fn new(side: Side, way: Way, consumers: usize) -> Self {
        Self {
            side,
            way,
            consumers,
            own: Vec::new(),
            other: Vec::new(),
            next: 0,
            number: 0,
            begun: Instant::now(),
            under_way: UnderWay::default(),
            progress: Arc::default(),
        }
    }

    /// The exception that explains why nothing came, if there is one.
    fn reason(&self, error: BenchError) -> BenchError {
        match (error, self.side.updates.counts().last_error) {
            (BenchError::Stalled { .. }, Some(exception)) => exception.into(),
            (error, _) => error,
        }
    }

    async fn populate(&mut self, count: usize) -> Result<Duration, BenchError> {
        const SOME: usize = 10_000;
        let begun = Instant::now();
        let mut nothing = Tally::new(0, 0);
        while self.own.len() < count {
            let (first, some) = (self.own.len(), (count - self.own.len()).min(SOME));
            let registered = self.side.register(first, some).await?;
            self.own.extend(registered);
            self.progress.fetch_add(1, Ordering::Relaxed);
        }
        while self.other.len() < count * self.consumers {
            if self.side.clock.is_some() {
                self.step(&mut nothing).await?;
                continue;
            }
            let callback = received(self.side.callbacks.recv().await)?;
            self.hear(callback, Instant::now(), &mut nothing)?;
        }
        Ok(begun.elapsed())
    }

    async fn run(&mut self, load: Load) -> Result<Measured, BenchError> {
        let data = Data::new(load.size, self.way.encoding);
        let mut tally = Tally::new(load.size, load.warm_up);
        tally.data = Some(data.clone());
        self.under_way.0.clear();
        match load.rate_per_s {
            Some(rate) => self.run_at(rate, load, &data, &mut tally).await?,
            None => self.run_closed(load, &data, &mut tally).await?,
        }
        self.side.updates.drained().await?;
        let took = tally.begun.map_or(Duration::ZERO, |begun| tally.ended.saturating_duration_since(begun));
        Ok(Measured { rounds: tally.rounds, took_s: took.as_secs_f64(), lost: tally.lost })
    }

    /// A closed loop: at most this many messages are under way.
    async fn run_closed(&mut self, load: Load, data: &Data, tally: &mut Tally) -> Result<(), BenchError> {
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
            match self.side.clock.is_some() {
                true => self.step(tally).await?,
                false => self.await_answer(tally).await?,
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
        let moments: Vec<Instant> =
            (0..all).map(|at| begun + Duration::from_secs_f64(at as f64 / rate_per_s)).collect();
        let mut due = alarm::at(moments.clone()).map_err(BenchError::system("thread"))?;
        let mut moments = moments.into_iter();
        while tally.done < all {
            let under_way = all - moments.len() as u64 - tally.done;
            tokio::select! {
                biased;
                callback = self.side.callbacks.recv() => {
                    self.hear(received(callback)?, Instant::now(), tally)?;
                }
                Some(()) = due.recv(), if moments.len() > 0 => {
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
        let lost = self.under_way.0.len() as u64;
        self.under_way.0.clear();
        tally.lost += lost;
        tally.done += lost;
    }

    /// Sends a message that is due at `due`.
    async fn ask(&mut self, data: &Data, due: Instant) -> Result<(), BenchError> {
        let stamp = Stamp::new(self.begun, due, self.number);
        self.number += 1;
        // A directed interaction goes to one federate.
        let answers = if self.way.kind == Kind::Directed { 1 } else { self.consumers };
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

    /// Advances logical time by a step, and hears what comes meanwhile.
    async fn step(&mut self, tally: &mut Tally) -> Result<(), BenchError> {
        let next = self.side.next_step()?;
        let (Some(clock), Some(next)) = (&mut self.side.clock, next) else { return Ok(()) };
        let mut heard = Vec::new();
        let hear = |callback| heard.push((Instant::now(), callback));
        clock.advance(next, &mut self.side.callbacks, hear).await?;
        heard.into_iter().try_for_each(|(at, callback)| self.hear(callback, at, tally))
    }

    fn hear(&mut self, callback: Callback, now: Instant, tally: &mut Tally) -> Result<(), BenchError> {
        let values = match self.side.hear(callback)? {
            Heard::Nothing => return Ok(()),
            Heard::Object(object) => {
                self.progress.fetch_add(1, Ordering::Relaxed);
                self.other.push(object);
                return Ok(());
            }
            Heard::Message(_, values) => values,
        };
        self.progress.fetch_add(1, Ordering::Relaxed);
        let stamp = Stamp::decoded(values.time).ok_or_else(|| {
            BenchError::Nonsense("an answer without the time stamp that was sent".to_owned())
        })?;
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
        tally.answer(now, stamp.age(self.begun, now), missing == 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_its_answers() {
        let mut under_way = UnderWay::default();
        under_way.sent(3, 1);
        under_way.sent(4, 2);
        assert_eq!(
            [2, 3, 3, 4, 4, 4].map(|number| under_way.answered(number)),
            [None, Some(0), None, Some(1), Some(0), None]
        );
    }

    #[test]
    fn the_warm_up_is_not_measured() {
        let (mut tally, now) = (Tally::new(8, 2), Instant::now() + Duration::from_secs(9));
        for at in 0..5 {
            tally.answer(now + Duration::from_millis(at), Duration::from_millis(1), true);
        }
        assert_eq!((tally.done, tally.rounds.samples()), (5, 3));
        let took = tally.ended - tally.begun.expect("some were measured");
        assert_eq!(took, Duration::from_millis(3), "from the sending of the third to the last answer");
    }
}
