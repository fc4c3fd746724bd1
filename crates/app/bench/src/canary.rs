//! A canary: a federate that exchanges round trips with an echo through the server under test all the
//! time. They show what holds up others.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use console::rounds::Rounds;
use tokio::task::JoinHandle;

use crate::error::BenchError;
use crate::member::{Member, received, reflected, stalled};
use crate::process::{Launcher, PATIENCE, Process};
use crate::role;
use crate::server::Server;

/// The payload of the canary.
const VALUE: &[u8] = b"canary";
/// Pause between two round trips of the canary.
const BEAT: Duration = Duration::from_millis(5);

/// The federate whose round trips are measured.
pub(crate) struct Canary {
    taken: Rc<RefCell<Vec<Duration>>>,
    /// The beginning of the round trip in progress.
    under_way: Rc<Cell<Option<Instant>>>,
    task: JoinHandle<Result<(), BenchError>>,
    _echo: Process,
}

impl Canary {
    pub(crate) async fn start(
        launcher: &Launcher,
        server: &Server,
        federation: &str,
    ) -> Result<Self, BenchError> {
        let mut member = Member::create(server.address(), server.edition(), federation).await?;
        let (echo, _) = launcher.start(&role::echo(server.address(), federation)).await?;
        let (ping, pong) = (member.ping, member.pong);
        let object = member.offer(ping).await?;
        member.want(pong).await?;
        member.await_object(pong).await?;
        let taken = Rc::new(RefCell::new(Vec::new()));
        let under_way = Rc::new(Cell::new(None));
        let (rounds, begun) = (Rc::clone(&taken), Rc::clone(&under_way));
        let task = tokio::task::spawn_local(async move {
            let updates = member.federate.updates();
            loop {
                let begin = Instant::now();
                begun.set(Some(begin));
                let value = Bytes::from_static(VALUE);
                updates.update_attribute_values(object, [(ping.attribute, value)], "").await?;
                let answer = async {
                    while reflected(received(member.callbacks.recv().await)?).is_none() {}
                    Ok::<(), BenchError>(())
                };
                let answered = tokio::time::timeout(PATIENCE, answer).await;
                answered.map_err(|_| stalled("an answer to the canary"))??;
                rounds.borrow_mut().push(begin.elapsed());
                begun.set(None);
                tokio::time::sleep(BEAT).await;
            }
        });
        Ok(Self { taken, under_way, task, _echo: echo })
    }

    /// Counts round trips from now on.
    pub(crate) fn begin(&self) {
        self.taken.borrow_mut().clear();
    }

    /// The round trips of a phase that has just ended. One that is still in progress belongs to the
    /// phase, however long it takes.
    pub(crate) async fn rounds(&self) -> Rounds {
        let end = Instant::now();
        while self.under_way.get().is_some_and(|begin| begin < end) && !self.task.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut rounds = Rounds::new(VALUE.len());
        self.taken.borrow_mut().drain(..).for_each(|round| rounds.record(round));
        rounds
    }

    /// Ends the canary, unless it has failed.
    pub(crate) async fn stop(self) -> Result<(), BenchError> {
        if self.task.is_finished() {
            return self.task.await.map_err(|error| BenchError::Unusable(error.to_string()))?;
        }
        self.task.abort();
        Ok(())
    }
}
