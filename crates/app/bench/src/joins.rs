//! Very many federates that join at once, and leave at once.
//!
//! They are in one process of their own. A canary in the same federation execution shows how long others
//! wait meanwhile.

use std::time::{Duration, Instant};

use console::rounds::Rounds;
use federate::{Callbacks, Federate};
use hla::api::ResignAction;
use tokio::task::JoinHandle;

use crate::access::server_options;
use crate::canary::Canary;
use crate::error::BenchError;
use crate::process::{Launcher, orders, print_line};
use crate::role::{self, number};
use crate::server::{Server, federation_name};

/// Time for which the canary is undisturbed at first.
const QUIET: Duration = Duration::from_secs(2);
/// The longest time that one phase may take.
const PHASE_MAX: Duration = Duration::from_secs(600);

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of federates.
    pub federates: usize,
    /// The first connects at once, and the last after this time.
    pub within: Duration,
}

/// One phase.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, for a table.
    pub name: &'static str,
    /// Number of federates that join or leave in the phase.
    pub federates: usize,
    /// Duration of the phase: until the last one has joined or left.
    pub took: Duration,
    /// The time of each: from its connection to the response to its join, or from its resignation until
    /// it is disconnected.
    pub each: Rounds,
    /// The round trips of the canary that began in the phase.
    pub canary: Rounds,
}

/// Lets the federates of the plan join and leave, twice: the second time the server has the memory.
/// `progress` gets the name of each phase.
///
/// # Errors
/// The server or the system fails or refuses a request.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    progress: impl FnMut(&str),
) -> Result<Vec<Phase>, BenchError> {
    // The canary is a task beside the phases, on the same thread.
    tokio::task::LocalSet::new().run_until(run_phases(launcher, server, plan, progress)).await
}

async fn run_phases(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Phase>, BenchError> {
    let federation = federation_name("joins");
    let canary = Canary::start(launcher, server, &federation).await?;
    let mut joiners = launcher.start(&role::joiners(server.far_address(), &federation)).await?.0;
    progress("undisturbed");
    tokio::time::sleep(QUIET).await;
    let (each, rounds) = (Rounds::new(0), canary.rounds().await);
    let mut phases = vec![Phase { name: "undisturbed", federates: 0, took: QUIET, each, canary: rounds }];
    let join = format!("join {} {}", plan.federates, plan.within.as_micros());
    let steps = [("join", &*join), ("leave", "leave"), ("join again", &*join), ("leave again", "leave")];
    for (name, order) in steps {
        progress(name);
        canary.begin();
        let begin = Instant::now();
        joiners.send_line(order).await?;
        let words = joiners.hear_within("done", PHASE_MAX).await?;
        let took = begin.elapsed();
        let mut each = Rounds::new(0);
        if let Some(word) = words.iter().find(|word| !each.add_word(word)) {
            return Err(BenchError::Unusable(format!("`{word}` is no time of a federate")));
        }
        let canary = canary.rounds().await;
        phases.push(Phase { name, federates: plan.federates, took, each, canary });
    }
    canary.stop().await?;
    Ok(phases)
}

/// A federate of a time that is measured.
type Timed<T> = JoinHandle<Result<(T, Duration), BenchError>>;

/// Plays the federates: `join COUNT MICROSECONDS` and `leave` are answered with `done` and the times of
/// all, or with `failed` and the reason.
pub(crate) async fn play_joiners(server: &str, federation: &str) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut joined: Vec<(Federate, Callbacks)> = Vec::new();
    print_line("ready");
    while let Some(order) = orders.recv().await {
        let times = match order.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["join", count, within] => {
                let within = Duration::from_micros(number(within)? as u64);
                let begun = join_all(server, federation, number(count)?, within);
                finish(begun).await.map(|(federates, times)| {
                    joined = federates;
                    times
                })
            }
            ["leave"] => finish(leave_all(std::mem::take(&mut joined))).await.map(|(_, times)| times),
            _ => continue,
        };
        match times {
            Ok(times) => {
                let words: Vec<_> = times.words().collect();
                print_line(&format!("done {}", words.join(" ")));
            }
            Err(error) => print_line(&format!("failed {error}")),
        }
    }
    Ok(())
}

fn join_all(
    server: &str,
    federation: &str,
    count: usize,
    within: Duration,
) -> Vec<Timed<(Federate, Callbacks)>> {
    let start = tokio::time::Instant::now();
    let last = count.saturating_sub(1).max(1) as f64;
    let join = |place: usize| {
        let (server, federation) = (server.to_owned(), federation.to_owned());
        let at = start + within.mul_f64(place as f64 / last);
        tokio::task::spawn_local(async move {
            tokio::time::sleep_until(at).await;
            let begin = Instant::now();
            let (federate, callbacks) = Federate::connect(server_options(&server)?).await?;
            federate.join_federation_execution("joiner", &federation).await?;
            Ok(((federate, callbacks), begin.elapsed()))
        })
    };
    (0..count).map(join).collect()
}

fn leave_all(joined: Vec<(Federate, Callbacks)>) -> Vec<Timed<()>> {
    let leave = |(federate, callbacks): (Federate, Callbacks)| {
        tokio::task::spawn_local(async move {
            let begin = Instant::now();
            federate.resign_federation_execution(ResignAction::NoAction).await?;
            federate.disconnect().await?;
            drop(callbacks);
            Ok(((), begin.elapsed()))
        })
    };
    joined.into_iter().map(leave).collect()
}

/// Waits for all of them.
async fn finish<T>(tasks: Vec<Timed<T>>) -> Result<(Vec<T>, Rounds), BenchError> {
    let (mut all, mut times) = (Vec::with_capacity(tasks.len()), Rounds::new(0));
    for task in tasks {
        let ended = task.await.map_err(|error| BenchError::Unusable(error.to_string()))?;
        let (value, time) = ended?;
        all.push(value);
        times.record(time);
    }
    Ok((all, times))
}
