//! Workloads whose federates go through phases: joins at once, very many objects, ownership that passes, a
//! federation that is saved, steps of logical time, regions that move, and floods. Each group of federates is in
//! a process of its own.
//!
//! [`workload::phases`] says what the federates do. A canary exchanges round trips with an echo through the
//! same server all the time: they show what a phase holds up.

mod follow;

use std::fs::File;
use std::future::poll_fn;
use std::io::Write as _;
use std::path::PathBuf;
use std::task::Poll;
use std::time::{Duration, Instant};

use console::rounds::Rounds;
use federate::Federate;
use federate::hla::Exception;
use federate::hla::api::FomModule;
use hla::fom::Edition;
use workload::phases::{Counts, Node, Phase, Plan};

use crate::access::server_options;
use crate::edition::module;
use crate::error::BenchError;
use crate::floor::Floor;
use crate::member::FOM;
use crate::process::{Launcher, Process};
use crate::role::{self, number};
use crate::server::{Server, federation_name};
use crate::wire::message_bytes;

pub(crate) use follow::play_group;

/// The longest time that one phase may take.
const PHASE_MAX: Duration = Duration::from_secs(600);
/// Round trips of the floor before those that are measured.
const FLOOR_WARM_UP: u64 = 100;

/// The results of a phase.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name, for a table.
    pub name: &'static str,
    /// Number of federates or objects in the phase.
    pub count: u32,
    /// Duration of the phase.
    pub took: Duration,
    /// The times that its federates recorded.
    pub each: Rounds,
    /// The sums of these times in each of the groups that ended the phase.
    pub of_groups: Vec<Duration>,
    /// The reflects that they counted.
    pub counts: Counts,
    /// Processor time of all nodes, if one knows it: those that this benchmark started, and simulated ones.
    pub nodes_cpu: Option<Duration>,
    /// The round trips of the canary that ended in the phase, or that began in it.
    pub canary: Rounds,
}

/// Adds up the phases with the same name, in the order of their first appearance.
pub fn by_name(outcomes: impl IntoIterator<Item = Outcome>) -> Vec<Outcome> {
    let mut of_names: Vec<Outcome> = Vec::new();
    for outcome in outcomes {
        match of_names.iter_mut().find(|other| other.name == outcome.name) {
            Some(other) => other.add(&outcome),
            None => of_names.push(outcome),
        }
    }
    of_names
}

impl Outcome {
    /// Adds another phase with the same name.
    fn add(&mut self, other: &Self) {
        self.took += other.took;
        self.each.add(&other.each);
        self.of_groups.iter_mut().zip(&other.of_groups).for_each(|(sum, of_other)| *sum += *of_other);
        self.counts.add(other.counts);
        self.nodes_cpu = self.nodes_cpu.zip(other.nodes_cpu).map(|(sum, cpu)| sum + cpu);
        self.canary.add(&other.canary);
    }
}

/// A folder for saved federation executions that is removed when this is dropped.
pub struct SavesFolder(PathBuf);

impl SavesFolder {
    /// Makes it.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn new() -> Result<Self, BenchError> {
        let path = std::env::temp_dir().join(format!("meshrti-bench-saves-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(BenchError::system("folder for saves"))?;
        Ok(Self(path))
    }

    /// Octets of all saved federation executions.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn image_bytes(&self) -> Result<u64, BenchError> {
        let failed = |error| BenchError::system("saved federation execution")(error);
        let mut bytes = 0;
        for federation in std::fs::read_dir(&self.0).map_err(failed)? {
            for file in std::fs::read_dir(federation.map_err(failed)?.path()).map_err(failed)? {
                bytes += file.and_then(|file| file.metadata()).map_err(failed)?.len();
            }
        }
        Ok(bytes)
    }

    /// The time to write so many octets to a file there and to sync it.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn floor(&self, bytes: u64) -> Result<Duration, BenchError> {
        let failed = BenchError::system("file for the floor");
        let content = vec![0x5a; usize::try_from(bytes).unwrap_or(usize::MAX)];
        let begin = Instant::now();
        let written = File::create(self.0.join("floor")).and_then(|mut file| {
            file.write_all(&content)?;
            file.sync_all()
        });
        written.map_err(failed)?;
        Ok(begin.elapsed())
    }
}

impl Drop for SavesFolder {
    fn drop(&mut self) {
        // A folder that is left over in the system's place for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Server {
    /// Starts a server on loopback that keeps saved federation executions in a folder.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub async fn with_saves(launcher: &Launcher, folder: &SavesFolder) -> Result<Self, BenchError> {
        Self::saving(launcher, &folder.0).await
    }
}

/// The FOM module of the workloads.
pub fn fom(edition: Edition) -> FomModule {
    module("MeshRTI-Bench.xml", FOM, edition)
}

/// Round trips through the relay of as many octets as an update with so many in its value.
///
/// # Errors
/// The system refuses a process or a socket.
pub async fn floor(
    launcher: &Launcher,
    server: &Server,
    size: usize,
    samples: u64,
) -> Result<Rounds, BenchError> {
    let mut floor = Floor::start(launcher, server.links(), &[]).await?;
    floor.rounds(size, message_bytes(size), FLOOR_WARM_UP, samples.max(1)).await
}

/// Lets the federates of a plan go through its phases. `progress` gets the number of phases that are over, and of
/// all, and the name of the next one if it has one.
///
/// # Errors
/// The server or the system fails or refuses a request.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: Plan,
    mut progress: impl FnMut(usize, usize, Option<&str>),
) -> Result<Vec<Outcome>, BenchError> {
    let nodes = server.addresses().len();
    let groups = plan.groups(nodes);
    let executions = groups.iter().map(|group| group.federation + 1).max().unwrap_or(0);
    let names: Vec<_> = (0..executions)
        .map(|execution| federation_name(&format!("{} {}", plan.name(), execution + 1)))
        .collect();
    // It keeps the federation executions in existence.
    let (creator, _callbacks) = Federate::connect(server_options(server.address())?).await?;
    for name in &names {
        creator.create_federation_execution(name, fom(server.edition())).await?;
    }
    let mut processes = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let address = match group.node {
            Node::First => server.address(),
            Node::Last => server.far_address(),
            Node::Number(node) => server.address_of(node).unwrap_or_else(|| server.address()),
        };
        let words = role::group(address, &names[group.federation], (number, nodes), &plan.words());
        processes.push(launcher.start(&words).await?.0);
    }
    let mut outcomes = Vec::new();
    let phases = plan.phases(nodes);
    for (number, phase) in phases.iter().enumerate() {
        progress(number, phases.len(), phase.name);
        outcomes.extend(go_through(server, &mut processes, (number, phase), plan.canary()).await?);
    }
    drop(processes);
    for name in &names {
        match creator.destroy_federation_execution(name).await {
            // The server keeps the federates of a process that has ended for a while.
            Err(error) if !error.is(Exception::FederatesCurrentlyJoined) => return Err(error.into()),
            _ => {}
        }
    }
    creator.disconnect().await?;
    Ok(by_name(outcomes))
}

/// Goes through a phase. Returns its results if it has a name.
async fn go_through(
    server: &Server,
    processes: &mut [Process],
    (number, phase): (usize, &Phase),
    canary: Option<usize>,
) -> Result<Option<Outcome>, BenchError> {
    let canary = canary.filter(|_| phase.name.is_some());
    if let Some(canary) = canary {
        results_of(processes, &[canary], "wait").await?;
    }
    let cpu_before = server.cpu_s();
    let begin = Instant::now();
    let mut told: Vec<usize> = phase.orders.iter().map(|(group, _)| *group).collect();
    told.dedup();
    for group in told {
        processes[group].send_line(&format!("phase {number}")).await?;
    }
    tokio::time::sleep(phase.lasts).await;
    let results = results_of(processes, &phase.until, "wait").await?;
    let took = begin.elapsed();
    let (mut each, mut counts) = (Rounds::new(0), Counts::default());
    for (times, counted) in &results {
        each.add(times);
        counts.add(*counted);
    }
    let of_groups = results.iter().map(|(times, _)| sum(times)).collect();
    let spent = server.cpu_s().zip(cpu_before).map(|(after, before)| after - before);
    let nodes_cpu = spent.map(|seconds| Duration::from_secs_f64(seconds.max(0.0)));
    let mut rounds = Rounds::new(0);
    if let Some(canary) = canary {
        rounds = results_of(processes, &[canary], "end-round").await?.swap_remove(0).0;
    }
    let count = phase.count;
    let outcome = |name| Outcome { name, count, took, each, of_groups, counts, nodes_cpu, canary: rounds };
    Ok(phase.name.map(outcome))
}

/// The sum of times.
fn sum(times: &Rounds) -> Duration {
    Duration::from_secs_f64(times.mean_us() * times.samples() as f64 / 1e6)
}

/// The times and the reflects of a group of federates.
type Results = (Rounds, Counts);

/// Waits until the federates of these groups have done their orders. Returns what they have recorded, in the order of
/// the groups.
///
/// # Errors
/// A process of any group has failed.
async fn results_of(
    processes: &mut [Process],
    groups: &[usize],
    order: &str,
) -> Result<Vec<Results>, BenchError> {
    for group in groups {
        processes[*group].send_line(order).await?;
    }
    // The processes of all groups are heard at the same time: one may wait for another that has failed.
    let heard = processes.iter_mut().enumerate().map(|(group, process)| {
        let is_waited_for = groups.contains(&group);
        Box::pin(async move {
            match is_waited_for {
                true => results_in(&process.hear_within("done", PHASE_MAX).await?),
                false => Err(process.ended().await),
            }
        })
    });
    let mut heard: Vec<_> = heard.map(Some).collect();
    let mut results: Vec<Option<Results>> = heard.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (of_group, result) in heard.iter_mut().zip(&mut results) {
            let Some(future) = of_group else { continue };
            if let Poll::Ready(heard) = future.as_mut().poll(cx) {
                *result = Some(heard?);
                *of_group = None;
            }
        }
        match groups.iter().all(|group| results[*group].is_some()) {
            true => Poll::Ready(Ok::<_, BenchError>(())),
            false => Poll::Pending,
        }
    })
    .await?;
    Ok(groups.iter().filter_map(|group| results[*group].take()).collect())
}

/// The results in the words of a process.
fn results_in(words: &[String]) -> Result<Results, BenchError> {
    let [reflects, expected, reached, surplus, times @ ..] = words else {
        return Err(BenchError::Unusable(format!("`{}` are no results of federates", words.join(" "))));
    };
    let count = |word| number(word).map(|count| count as u64);
    let [reflects, expected, reached, surplus] =
        [count(reflects)?, count(expected)?, count(reached)?, count(surplus)?];
    let mut rounds = Rounds::new(0);
    if let Some(word) = times.iter().find(|word| !rounds.add_word(word)) {
        return Err(BenchError::Unusable(format!("`{word}` is no time of a federate")));
    }
    Ok((rounds, Counts { reflects, expected, reached, surplus }))
}
