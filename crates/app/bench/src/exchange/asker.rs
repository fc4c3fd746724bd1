//! The federates that ask, and the processes of those that answer.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use federate::Updates;
use tokio::task::JoinSet;

use super::asking::{Asking, Work};
use super::load::{Load, Measured};
use super::lockstep::Lockstep;
use super::side::{Party, Side};
use super::way::Way;
use crate::error::BenchError;
use crate::process::{Launcher, Process};
use crate::role;
use crate::server::Server;

/// Numbers of federates of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Federates {
    /// Federates that ask. Each has a connection of its own; all are in the measuring process, since a
    /// time is taken from one clock.
    pub producers: usize,
    /// Federates that answer each message, each in a process of its own.
    pub consumers: usize,
}

impl Default for Federates {
    /// One each way.
    fn default() -> Self {
        Self { producers: 1, consumers: 1 }
    }
}

/// The federates that ask, and the processes of those that answer.
pub(crate) struct Asker {
    asking: Vec<Asking>,
    answerers: Vec<Process>,
    federation: String,
    patience: Duration,
    /// Rises with everything that arrives.
    progress: Arc<AtomicU64>,
}

impl Asker {
    /// Creates the federation execution, joins it, and starts the federates that answer. Everything has
    /// to answer within `patience`.
    pub(crate) async fn start(
        launcher: &Launcher,
        server: &Server,
        federation: &str,
        (way, federates): (Way, Federates),
        patience: Duration,
    ) -> Result<Self, BenchError> {
        let progress = Arc::<AtomicU64>::default();
        let joining = async {
            let mut asking = Vec::new();
            for index in 0..federates.producers.max(1) {
                let session = match index {
                    0 => Side::create(server, federation).await?,
                    _ => Side::connect(server.address()).await?,
                };
                let side = Side::join(session, federation, way, Party::Asker).await?;
                asking.push(Asking::new(side, way, index, federates, Arc::clone(&progress)));
            }
            let words = role::answerer(server.far_address(), federation, &way.to_string());
            let mut answerers = Vec::new();
            for _ in 0..federates.consumers.max(1) {
                answerers.push(launcher.start(&words).await?.0);
            }
            Ok::<_, BenchError>((asking, answerers))
        };
        let (asking, answerers) = within(patience, "the federates to join", joining).await?;
        Ok(Self { asking, answerers, federation: federation.to_owned(), patience, progress })
    }

    /// Registers objects until each asking federate has `count`, and waits until the others have
    /// registered a mirror of each. Returns how long that took.
    pub(crate) async fn populate(self, count: usize) -> Result<(Self, Duration), BenchError> {
        let begun = Instant::now();
        let (asker, _) = self.work(Work::Populate(count), "mirrors of the objects").await?;
        Ok((asker, begun.elapsed()))
    }

    /// Applies a load, which the asking federates share.
    pub(crate) async fn measure(self, load: Load) -> Result<(Self, Measured), BenchError> {
        self.work(Work::Measure(load), "an answer").await
    }

    /// Lets all asking federates work at the same time. `awaited` is what an error calls for when the
    /// server is silent.
    async fn work(mut self, work: Work, awaited: &str) -> Result<(Self, Measured), BenchError> {
        let awaited = awaited.to_owned();
        role::spawned(async move {
            let lockstep = Arc::new(Lockstep::new(self.asking.len()));
            let updates: Vec<Updates> =
                self.asking.iter().map(|asking| asking.side.updates.clone()).collect();
            let (mut working, mut back) = (JoinSet::new(), Vec::new());
            for mut asking in self.asking.drain(..) {
                let lockstep = Arc::clone(&lockstep);
                working.spawn(async move {
                    let done = asking.work(work, &lockstep).await;
                    done.map(|measured| (asking, measured))
                });
            }
            let mut sum = Measured::nothing(work.size());
            let all = async {
                while let Some(one) = working.join_next().await {
                    let ended = |error| BenchError::system("task")(std::io::Error::other(error));
                    let (asking, measured) = one.map_err(ended)??;
                    sum.add(&measured);
                    back.push(asking);
                }
                Ok(())
            };
            let silence = watch(&mut self.answerers, Arc::clone(&self.progress), self.patience, &awaited);
            let done = tokio::select! {
                biased;
                done = all => done,
                error = silence => Err(error),
            };
            done.map_err(|error| reason(error, &updates))?;
            back.sort_by_key(Asking::index);
            self.asking = back;
            Ok((self, sum))
        })
        .await
    }

    /// Ends all federates.
    pub(crate) async fn end(mut self) -> Result<(), BenchError> {
        let (patience, federation) = (self.patience, self.federation);
        let has_time = self.asking.iter().any(|asking| asking.side.clock.is_some());
        let ending = async {
            for answerer in &mut self.answerers {
                answerer.send_line("leave").await?;
                if !has_time {
                    answerer.hear_within("left", patience).await?;
                }
            }
            drop(self.answerers); // in logical time it waits for an advance that never comes
            for asking in self.asking {
                asking.side.leave(&federation).await?;
            }
            Ok(())
        };
        within(patience, "the federates to leave", ending).await
    }
}

/// The exception that explains why nothing came, if one of these federates got one.
fn reason(error: BenchError, updates: &[Updates]) -> BenchError {
    let mut exceptions = updates.iter().filter_map(|updates| updates.counts().last_error);
    match (error, exceptions.next()) {
        (BenchError::Stalled { .. }, Some(exception)) => exception.into(),
        (error, _) => error,
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
