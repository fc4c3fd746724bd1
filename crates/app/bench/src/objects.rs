//! Very many objects of one federate, and their effect on other federates.
//!
//! A canary exchanges round trips with an echo through the same server all the time. Meanwhile one
//! federate registers its objects, another one subscribes late and discovers all of them, the owner
//! resigns and deletes them, a second owner does the same and is then lost, and a third owner ceases
//! to publish them. The round trips of the canary show which of these steps held up others.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use federate::Callback;
use hla::api::ResignAction;
use tokio::task::JoinHandle;

use crate::error::BenchError;
use crate::member::{Member, received, reflected, register, stalled};
use crate::process::Launcher;
use crate::process::{PATIENCE, Process, orders, print_line};
use crate::role;
use crate::role::number;
use crate::server::{Server, federation_name};
use console::rounds::Rounds;

/// The payload of the canary.
const VALUE: &[u8] = b"canary";
/// Pause between two round trips of the canary.
const BEAT: Duration = Duration::from_millis(5);
/// Time for which the canary is undisturbed at first.
const QUIET: Duration = Duration::from_secs(2);
/// The longest time that one phase may take.
const PHASE_MAX: Duration = Duration::from_secs(600);

/// One phase, and the round trips of the canary during it.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, for a table.
    pub name: &'static str,
    /// Number of objects in the phase.
    pub objects: usize,
    /// Duration of the phase.
    pub took: Duration,
    /// The round trips that began in it.
    pub canary: Rounds,
}

/// Measures with `objects` objects of each owner, on a server of its own. `progress` gets the name
/// of each phase.
///
/// # Errors
/// The server or the system fails or refuses a request.
/// The server or the system does not what is asked of it.
pub async fn measure(
    launcher: &Launcher,
    objects: usize,
    progress: impl FnMut(&str),
) -> Result<Vec<Phase>, BenchError> {
    // The canary is a task beside the phases, on the same thread.
    tokio::task::LocalSet::new().run_until(run_phases(launcher, objects, progress)).await
}

async fn run_phases(
    launcher: &Launcher,
    objects: usize,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Phase>, BenchError> {
    let server = Server::start(launcher).await?;
    let federation = federation_name("objects");
    let canary = Canary::start(launcher, &server, &federation).await?;
    let mut phases = Vec::new();
    progress("undisturbed");
    tokio::time::sleep(QUIET).await;
    phases.push(canary.phase("undisturbed", 0, QUIET).await);

    let owner = role::owner(server.address(), &federation);
    let mut first = launcher.start(&owner).await?.0;
    let mut phase = async |name, process: &mut Process, order: &str, word: &str| {
        progress(name);
        canary.begin();
        let begin = Instant::now();
        if !order.is_empty() {
            process.send_line(order).await?;
        }
        process.hear_within(word, PHASE_MAX).await?;
        phases.push(canary.phase(name, objects, begin.elapsed()).await);
        Ok::<(), BenchError>(())
    };
    let register = format!("register {objects}");
    phase("register", &mut first, &register, "registered").await?;
    let mut late = launcher.start(&role::late(server.address(), &federation)).await?.0;
    phase("discover late", &mut late, &format!("discover {objects}"), "discovered").await?;
    first.send_line(&format!("provide {objects}")).await?;
    first.hear_within("counting", PHASE_MAX).await?;
    late.send_line("request").await?;
    phase("request values", &mut first, "", "provided").await?;
    late.send_line(&format!("remove {objects}")).await?;
    first.send_line("resign").await?;
    phase("resign and delete", &mut late, "", "removed").await?;
    first.hear_within("resigned", PHASE_MAX).await?;

    let mut second = launcher.start(&owner).await?.0;
    late.send_line(&format!("discover {objects}")).await?;
    second.send_line(&register).await?;
    phase("register and discover", &mut late, "", "discovered").await?;
    late.send_line(&format!("remove {objects}")).await?;
    second.send_line("terminate").await?;
    phase("owner lost", &mut late, "", "removed").await?;

    let mut third = launcher.start(&owner).await?.0;
    late.send_line(&format!("discover {objects}")).await?;
    third.send_line(&register).await?;
    third.hear_within("registered", PHASE_MAX).await?;
    late.hear_within("discovered", PHASE_MAX).await?;
    phase("unpublish", &mut third, "unpublish", "unpublished").await?;
    canary.stop().await?;
    Ok(phases)
}

/// The federate whose round trips are measured.
struct Canary {
    rounds: Rc<RefCell<Vec<Duration>>>,
    /// The beginning of the round trip in progress.
    under_way: Rc<Cell<Option<Instant>>>,
    task: JoinHandle<Result<(), BenchError>>,
    _echo: Process,
}

impl Canary {
    async fn start(launcher: &Launcher, server: &Server, federation: &str) -> Result<Self, BenchError> {
        let mut member = Member::create(server.address(), federation).await?;
        let (echo, _) = launcher.start(&role::echo(server.address(), federation)).await?;
        let (ping, pong) = (member.ping, member.pong);
        let object = member.offer(ping).await?;
        member.want(pong).await?;
        member.await_object(pong).await?;
        let rounds = Rc::new(RefCell::new(Vec::new()));
        let under_way = Rc::new(Cell::new(None));
        let (taken, begun) = (Rc::clone(&rounds), Rc::clone(&under_way));
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
                taken.borrow_mut().push(begin.elapsed());
                begun.set(None);
                tokio::time::sleep(BEAT).await;
            }
        });
        Ok(Self { rounds, under_way, task, _echo: echo })
    }

    /// Counts round trips from now on.
    fn begin(&self) {
        self.rounds.borrow_mut().clear();
    }

    /// The round trips of a phase that has just ended. One that is still in progress belongs to the
    /// phase, however long it takes.
    async fn phase(&self, name: &'static str, objects: usize, took: Duration) -> Phase {
        let end = Instant::now();
        while self.under_way.get().is_some_and(|begin| begin < end) && !self.task.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut canary = Rounds::new(VALUE.len());
        self.rounds.borrow_mut().drain(..).for_each(|round| canary.record(round));
        Phase { name, objects, took, canary }
    }

    /// Ends the canary, unless it has failed.
    async fn stop(self) -> Result<(), BenchError> {
        if self.task.is_finished() {
            return self.task.await.map_err(|error| BenchError::Unusable(error.to_string()))?;
        }
        self.task.abort();
        Ok(())
    }
}

/// An owner of objects: `register COUNT`, `unpublish` and `resign` are answered when they are done,
/// and `provide COUNT` when the values of that many objects have been requested.
pub(crate) async fn play_owner(server: &str, federation: &str) -> Result<(), BenchError> {
    let mut orders = orders();
    let Member { federate, mut callbacks, .. } = Member::join(server, federation).await?;
    let class = federate.get_object_class_handle("HLAobjectRoot.Wide").await?;
    let attribute = federate.get_attribute_handle(class, "Value01").await?;
    federate.publish_object_class_attributes(class, [attribute]).await?;
    federate.set_automatic_resign_directive(ResignAction::DeleteObjects).await?;
    let left = Rc::new(Cell::new(0_usize));
    let requested = Rc::clone(&left);
    tokio::task::spawn_local(async move {
        while let Some(callback) = callbacks.recv().await {
            if requested.get() > 0 && matches!(callback, Callback::ProvideAttributeValueUpdate(_)) {
                requested.set(requested.get() - 1);
                if requested.get() == 0 {
                    print_line("provided");
                }
            }
        }
    });
    print_line("ready");
    while let Some(order) = orders.recv().await {
        match order.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["register", count] => {
                register(&federate.updates(), class, number(count)?).await?;
                print_line("registered");
            }
            ["provide", count] => {
                left.set(number(count)?);
                print_line("counting");
            }
            ["resign"] => {
                federate.resign_federation_execution(ResignAction::DeleteObjects).await?;
                print_line("resigned");
            }
            ["unpublish"] => {
                federate.unpublish_object_class(class).await?;
                print_line("unpublished");
            }
            ["terminate"] => federate.terminate().await,
            _ => {}
        }
    }
    Ok(())
}

/// A late subscriber: `discover COUNT` and `remove COUNT` are answered when that many have been
/// discovered or removed. `request` requests the values of all of them.
pub(crate) async fn play_late(server: &str, federation: &str) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut member = Member::join(server, federation).await?;
    let class = member.federate.get_object_class_handle("HLAobjectRoot.Wide").await?;
    let attribute = member.federate.get_attribute_handle(class, "Value01").await?;
    print_line("ready");
    let mut subscribed = false;
    while let Some(order) = orders.recv().await {
        let [what, count] = &order[..] else {
            member.federate.request_class_attribute_value_update(class, [attribute], "").await?;
            continue;
        };
        let discover = what == "discover";
        if discover && !std::mem::replace(&mut subscribed, true) {
            member.federate.subscribe_object_class_attributes(class, [attribute]).await?;
        }
        let mut left = number(count)?;
        while left > 0 {
            match received(member.callbacks.recv().await)? {
                Callback::DiscoverObjectInstance(_) if discover => left -= 1,
                Callback::RemoveObjectInstance(_) if !discover => left -= 1,
                _ => {}
            }
        }
        print_line(if discover { "discovered" } else { "removed" });
    }
    Ok(())
}
