//! Nodes are killed while federates exchange messages. Was any promised message lost, and how long
//! did the recovery take?
//!
//! Nodes and federates are processes of their own on loopback. Each federate has one object,
//! updates it, sends interactions, all numbered, and logs its calls and callbacks. Nodes are killed
//! (SIGKILL) at moments drawn from a seed, never more than a minority at a time, and started again.
//! A federate whose node is gone joins again at another one. Then [`judge`] looks at the logs, and
//! at nothing else.

mod check;
pub(crate) mod federates;
mod log;
pub(crate) mod nodes;
mod recovery;
mod schedule;
mod timeline;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::{Rng, Seed};
use federate::{Federate, Options, fom};
use rand_core::RngCore as _;

pub use check::{Verdict, judge};
pub use federates::deletes;
pub use log::{Micros, Note, Stamp, parse};
pub use nodes::Shape;
pub use recovery::{Recovery, recoveries};
pub use timeline::{Failure, Known, Life, Sent, Timeline, Violation};

use federates::{FederateProcess, log_file};
use log::{Clock, Log, micros};
use nodes::Nodes;
use schedule::{Round, Victim};

use crate::error::BenchError;
use crate::process::Launcher;
use crate::process::Process;
use crate::server::federation_name;

const FOM: &str = include_str!("../../foms/MeshRTI-Kills.xml");
/// Number of federates in one process.
const FEDERATES_PER_PROCESS: u32 = 5;
/// Wait after all federates were started.
const BEGINNING: Duration = Duration::from_secs(2);
/// Longest wait for all nodes to be members.
const WHOLE_MAX: Duration = Duration::from_secs(60);
/// Wait from the last message to the end of the logs.
const ENDING: Duration = Duration::from_secs(2);
/// Largest drift of the system's clock, in microseconds. If the clock was set by more during the
/// run, times of different processes cannot be compared.
const DRIFT_MAX: Micros = 20_000;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of federates, spread over the nodes at the beginning.
    pub federates: u32,
    /// Number of kills.
    pub kills: usize,
    /// The seed of kills, pauses and the choices of federates.
    pub seed: u64,
    /// The links between the nodes.
    pub shape: Shape,
    /// Wait between two messages of a federate, which alternate between updates and interactions.
    pub every: Duration,
    /// The longest time that anything promised may take.
    pub grace: Duration,
    /// An empty folder for the logs.
    pub folder: PathBuf,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The verdict of the judge.
    pub verdict: Verdict,
    /// The recovery from each kill.
    pub recoveries: Vec<Recovery>,
    /// For each round, the time from the restart of the last dead node until all nodes were members
    /// again.
    pub whole: Vec<Duration>,
    /// Number of messages sent.
    pub sent: u64,
    /// Duration of the run, without the beginning.
    pub took: Duration,
}

/// A number below `limit`, which is not 0.
fn below(rng: &mut Rng, limit: u64) -> u64 {
    rng.next_u64() % limit.max(1)
}

/// Runs the plan. `progress` gets the number of finished kills and their total.
///
/// # Errors
/// The system or a node fails at the start, or clocks were set. A lost message is no error: the
/// verdict reports it.
/// verdict says so.
pub async fn measure(
    nodes_launcher: &Launcher,
    launcher: &Launcher,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Outcome, BenchError> {
    let clock = Clock::start();
    let mut run = Run::begin(nodes_launcher, launcher, plan, clock).await?;
    let began = Instant::now();
    let rounds = schedule::rounds(Seed(plan.seed), plan.nodes, plan.kills);
    let (mut whole, mut broken) = (Vec::new(), None);
    for round in &rounds {
        run.round(round).await?;
        let restarted = Instant::now();
        if let Err(why) = run.nodes.whole(WHOLE_MAX).await {
            let what = format!("the network is not whole again: {why}");
            broken = Some(Violation { at: clock.now(), what });
            break;
        }
        whole.push(restarted.elapsed());
        run.log.note(&Note::Whole);
        progress(run.killed, plan.kills as u64);
    }
    let took = began.elapsed();
    run.end(plan).await?;
    let timeline = read(&plan.folder, plan.federates)?;
    let mut verdict = judge(&timeline, micros(plan.grace));
    verdict.violations.extend(broken);
    let sent = timeline.lives.iter().map(|life| (life.updates.len() + life.interactions.len()) as u64).sum();
    Ok(Outcome { verdict, recoveries: recoveries(&timeline), whole, sent, took })
}

/// Reads the logs of a run.
///
/// # Errors
/// A log is missing or malformed.
pub fn read(folder: &Path, federates: u32) -> Result<Timeline, BenchError> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).map_err(BenchError::system(path.display().to_string()))?;
        parse(&text).map_err(|why| BenchError::Unusable(format!("{}: {why}", path.display())))
    };
    let nodes = read(kills_file(folder))?;
    let federates: Result<Vec<_>, _> = (0..federates).map(|slot| read(log_file(folder, slot))).collect();
    Ok(Timeline::of(&nodes, &federates?))
}

fn kills_file(folder: &Path) -> PathBuf {
    folder.join("kills.log")
}

/// A run in progress.
struct Run {
    nodes: Nodes,
    processes: Vec<Process>,
    log: Log,
    killed: u64,
}

impl Run {
    async fn begin(
        nodes_launcher: &Launcher,
        launcher: &Launcher,
        plan: &Plan,
        clock: Clock,
    ) -> Result<Self, BenchError> {
        let nodes = Nodes::start(nodes_launcher, &plan.folder, plan.shape, plan.nodes).await?;
        nodes
            .whole(WHOLE_MAX)
            .await
            .map_err(|why| BenchError::Unusable(format!("the nodes do not become one network: {why}")))?;
        let federation = federation_name("kills");
        create(&nodes.addresses()[0], &federation).await?;
        let path = kills_file(&plan.folder);
        let log = Log::create(&path, clock).map_err(BenchError::system(path.display().to_string()))?;
        let mut processes = Vec::new();
        for first in (0..plan.federates).step_by(FEDERATES_PER_PROCESS as usize) {
            let process = FederateProcess {
                folder: plan.folder.clone(),
                origin: clock.origin(),
                federation: federation.clone(),
                seed: plan.seed,
                every: plan.every,
                first,
                count: FEDERATES_PER_PROCESS.min(plan.federates - first),
                nodes: nodes.addresses().to_vec(),
            };
            processes.push(launcher.start(&process.words()).await?.0);
        }
        tokio::time::sleep(BEGINNING).await;
        Ok(Self { nodes, processes, log, killed: 0 })
    }

    /// Makes the kills and restarts of a round.
    async fn round(&mut self, round: &Round) -> Result<(), BenchError> {
        tokio::time::sleep(round.pause).await;
        let mut dead = vec![self.kill(round.victim).await?];
        if let Some((later, victim)) = round.second {
            tokio::time::sleep(later).await;
            dead.push(self.kill(victim).await?);
        }
        tokio::time::sleep(round.down).await;
        for node in dead {
            self.log.note(&Note::Restarts(node));
            self.nodes.restart(node).await?;
        }
        Ok(())
    }

    async fn kill(&mut self, victim: Victim) -> Result<usize, BenchError> {
        let count = self.nodes.addresses().len();
        let wanted = match victim {
            Victim::Node(node) => node,
            Victim::Leader => self.nodes.leader().await.unwrap_or(0),
        };
        let node =
            (0..count).map(|step| (wanted + step) % count).find(|node| self.nodes.may_be_killed(*node));
        let node = node.ok_or_else(|| BenchError::Unusable("no node is left to be killed".to_owned()))?;
        self.log.note(&Note::Kills(node));
        self.nodes.kill(node).await?;
        self.killed += 1;
        Ok(node)
    }

    /// Lets everything settle, and ends the logs.
    async fn end(&mut self, plan: &Plan) -> Result<(), BenchError> {
        tokio::time::sleep(plan.grace).await;
        for process in &mut self.processes {
            process.send_line("quiet").await?;
        }
        tokio::time::sleep(ENDING).await;
        for process in &mut self.processes {
            process.send_line("end").await?;
        }
        for process in &mut self.processes {
            let drift = process.hear_number("ended").await?;
            if drift > DRIFT_MAX {
                return Err(BenchError::Unusable(format!(
                    "the system's clock was set by {drift} µs during the run: times of its processes cannot be compared"
                )));
            }
        }
        self.log.end().map_err(BenchError::system("the log of the kills"))
    }
}

/// Creates the federation execution, by a federate that does not join.
async fn create(address: &str, federation: &str) -> Result<(), BenchError> {
    let (federate, _callbacks) = Federate::connect(Options::new(address)).await?;
    federate.create_federation_execution(federation, fom::content("MeshRTI-Kills.xml", FOM)).await?;
    federate.disconnect().await?;
    Ok(())
}
