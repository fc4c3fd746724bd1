//! A network of nodes and what federates do there, each process by itself: what the simulator of whole federations predicts, measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use federate::{Federate, Options, fom};
use tokio::task::JoinSet;

use crate::entities::{self, Update};
use crate::groups::{Counts, Groups, await_reach};
use crate::latency::round_trips;
use crate::member::{FOM, Member};
use crate::process::{Process, orders, say};
use crate::server::{Joined, Server, federation_name};
use crate::{BenchError, Launcher, role, usage};

/// What federates do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// One updates, another one answers each reflect by an update with the same payload.
    RoundTrips {
        /// How many are measured.
        count: u64,
        /// Before these, so many that are not.
        warm_up: u64,
    },
    /// One updates as fast as it is let.
    Flood {
        /// Updates.
        count: u64,
        /// Subscribing federates, in one process at each node of the others.
        subscribers: usize,
    },
    /// One updates entities at given moments.
    Entities {
        /// How many.
        objects: usize,
        /// What it does, in order.
        script: Arc<[Update]>,
        /// Subscribing federates, in one process at each node of the others.
        subscribers: usize,
    },
}

/// A task, and where it happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// What is done.
    pub task: Task,
    /// Payload, in bytes; at least [`SIZE_BYTES_MIN`](crate::latency::SIZE_BYTES_MIN).
    pub size: usize,
    /// The node of the federate that begins, from 0.
    pub from: usize,
    /// The nodes of the others; of round trips one.
    pub to: Vec<usize>,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes; each is a process.
    pub nodes: usize,
    /// How they are joined.
    pub joined: Joined,
    /// What nodes share beside links.
    pub groups: Option<Groups>,
    /// What federates do, all at the same time, each task in a federation execution and with processes of its own: one of who begins, and
    /// one at each node of the others.
    pub work: Vec<Work>,
    /// Where processes stay; anywhere without.
    pub cores: Option<Cores>,
}

/// The core on which each process stays, by its number among those that this process may use, counted around.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cores {
    /// By node.
    pub nodes: Vec<usize>,
    /// By task: of the process of the one who begins, and of those of the others.
    pub federates: Vec<Vec<usize>>,
}

/// What came of a task.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// Quantiles of round trips, or of the time from an update of an entity to its reflects: 50, 90 and 99 %, in microseconds.
    pub quantiles_us: Option<[f64; 3]>,
    /// Reflects per second of each subscriber, of a flood.
    pub per_s: Option<f64>,
    /// Reflects, of entities.
    pub reflects: Option<u64>,
    /// Processor time of the process of the one who began, and of those of the others, in seconds, where the system says it.
    pub cpu_s: Vec<Option<f64>>,
}

/// What came of all.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// By task.
    pub done: Vec<Done>,
    /// Processor time of each node while the tasks were done, in seconds, where the system says it.
    pub nodes_cpu_s: Vec<Option<f64>>,
    /// How long that was.
    pub took: Duration,
    /// What nodes counted meanwhile, and some seconds around it, where they share groups.
    pub counts: Option<Counts>,
}

/// Starts nodes and federates, lets all begin, and ends them.
///
/// # Errors
/// The system or a node does not what is asked of it; an update was lost or refused.
pub async fn measure(launcher: &Launcher, plan: &Plan) -> Result<Measured, BenchError> {
    let nodes = plan.cores.as_ref().map_or(&[][..], |cores| &cores.nodes);
    let server = Server::network(launcher, plan.nodes, plan.joined, plan.groups.as_ref(), nodes).await?;
    let mut crews = Vec::new();
    for (index, work) in plan.work.iter().enumerate() {
        let cores = plan.cores.as_ref().and_then(|cores| cores.federates.get(index));
        let launcher = |place: usize| launcher.on_core(cores.and_then(|cores| cores.get(place)).copied());
        crews.push(Crew::start(launcher, &server, index, work.clone()).await?);
    }
    // What comes of joining is over.
    tokio::time::sleep(CALM).await;
    if plan.groups.is_some() {
        await_reach(server.addresses(), plan.joined).await?;
    }
    for crew in &mut crews {
        crew.warm_up().await?;
    }
    let counted = counts(plan, &server).await?;
    let nodes_before: Vec<_> = server.cpu_s_of_nodes().collect();
    let begun = Instant::now();
    let ended = all_at_once(crews).await?;
    let took = begun.elapsed();
    let nodes_cpu_s =
        server.cpu_s_of_nodes().zip(nodes_before).map(|(after, before)| difference(after, before)).collect();
    let counts = counts(plan, &server).await?.zip(counted).map(|(after, before)| after.since(before));
    Ok(Measured { done: ended.into_iter().map(|(_, done)| done).collect(), nodes_cpu_s, took, counts })
}

/// What nodes have counted, where they share groups.
async fn counts(plan: &Plan, server: &Server) -> Result<Option<Counts>, BenchError> {
    match plan.groups {
        Some(_) => Counts::read(server.addresses()).await.map(Some),
        None => Ok(None),
    }
}

/// Lets all tasks be done at the same time, each on a clock of its own. They are given back, since federations end with them.
async fn all_at_once(crews: Vec<Crew>) -> Result<Vec<(Crew, Done)>, BenchError> {
    let mut running = JoinSet::new();
    for (index, mut crew) in crews.into_iter().enumerate() {
        running.spawn(async move {
            let before = crew.cpu_s();
            let begun = Instant::now();
            crew.begin().await?;
            let ended = crew.end(begun).await?;
            let cpu_s = crew.cpu_s().into_iter().zip(before);
            let cpu_s = cpu_s.map(|(after, before)| difference(after, before)).collect();
            Ok::<_, BenchError>((index, crew, Done { cpu_s, ..ended }))
        });
    }
    let mut ended = Vec::new();
    while let Some(one) = running.join_next().await {
        ended.push(one.map_err(|error| BenchError::system("task")(std::io::Error::other(error)))??);
    }
    ended.sort_by_key(|(index, ..)| *index);
    Ok(ended.into_iter().map(|(_, crew, done)| (crew, done)).collect())
}

/// Between joining and the beginning.
const CALM: Duration = Duration::from_millis(300);

fn difference(after: Option<f64>, before: Option<f64>) -> Option<f64> {
    after.zip(before).map(|(after, before)| after - before)
}

/// Where federates of a task find a node.
fn address_of(server: &Server, task: usize, node: usize) -> Result<&str, BenchError> {
    let none = || BenchError::Unusable(format!("task {} is at node {node}, which is not", task + 1));
    server.address_of(node).ok_or_else(none)
}

/// Starts the processes of a task but that of who begins, node by node.
async fn start_others(
    launcher: &impl Fn(usize) -> Launcher,
    server: &Server,
    federation: &str,
    task: usize,
    work: &Work,
) -> Result<Vec<Process>, BenchError> {
    let mut far = Vec::new();
    for (at, node) in work.to.iter().enumerate() {
        let node = address_of(server, task, *node)?;
        let words = match work.task {
            Task::RoundTrips { .. } => role::echo(node, federation),
            Task::Flood { subscribers, .. } => role::sinks(node, federation, subscribers),
            Task::Entities { subscribers, .. } => role::watchers(node, federation, subscribers),
        };
        far.push(launcher(1 + at).start(&words).await?.0);
    }
    Ok(far)
}

/// The processes of a task.
struct Crew {
    work: Work,
    near: Process,
    /// By node of the others.
    far: Vec<Process>,
    /// Keeps the federation execution.
    _founder: Federate,
}

impl Crew {
    /// `launcher` is that of the process of who begins (0) and those of the others.
    async fn start(
        launcher: impl Fn(usize) -> Launcher,
        server: &Server,
        index: usize,
        work: Work,
    ) -> Result<Self, BenchError> {
        let near = address_of(server, index, work.from)?;
        let federation = federation_name(&format!("federation {}", index + 1));
        let (founder, _) = Federate::connect(Options::new(near)).await?;
        founder.create_federation_execution(&federation, fom::content("MeshRTI-Bench.xml", FOM)).await?;
        let begins = match work.task {
            Task::RoundTrips { .. } => role::asker(near, &federation),
            Task::Flood { .. } => role::publisher(near, &federation),
            Task::Entities { objects, .. } => role::player(near, &federation, objects),
        };
        let others = start_others(&launcher, server, &federation, index, &work);
        // Who asks is there before the one who answers; in other tasks those who listen are there first.
        let (near, far) = if let Task::RoundTrips { .. } = work.task {
            let near = launcher(0).start(&begins).await?.0;
            (near, others.await?)
        } else {
            let far = others.await?;
            (launcher(0).start(&begins).await?.0, far)
        };
        Ok(Self { work, near, far, _founder: founder })
    }

    /// A short run that is not measured: everybody knows everybody then.
    async fn warm_up(&mut self) -> Result<(), BenchError> {
        let task = match self.work.task {
            Task::RoundTrips { .. } => Task::RoundTrips { count: 1, warm_up: 100 },
            Task::Flood { count, subscribers } => Task::Flood { count: count / 20 + 1, subscribers },
            // What it does it does as often as it says.
            Task::Entities { .. } => return Ok(()),
        };
        let whole = std::mem::replace(&mut self.work.task, task);
        self.begin().await?;
        let ended = self.end(Instant::now()).await;
        self.work.task = whole;
        ended.map(|_| ())
    }

    fn cpu_s(&self) -> Vec<Option<f64>> {
        std::iter::once(&self.near).chain(&self.far).map(|process| usage::cpu_s(process.id())).collect()
    }

    async fn begin(&mut self) -> Result<(), BenchError> {
        let size = self.work.size;
        match &self.work.task {
            Task::RoundTrips { count, warm_up } => {
                self.near.tell(&format!("rounds {size} {warm_up} {count}")).await
            }
            Task::Flood { count, subscribers } => {
                for far in &mut self.far {
                    far.tell(&format!("expect {}", count * *subscribers as u64)).await?;
                }
                self.near.tell(&format!("flood {size} {count}")).await
            }
            Task::Entities { script, .. } => entities::begin(&mut self.near, script).await,
        }
    }

    /// Waits until it is done, and for what came of it; processor times are not read.
    async fn end(&mut self, begun: Instant) -> Result<Done, BenchError> {
        let nothing = Done { quantiles_us: None, per_s: None, reflects: None, cpu_s: Vec::new() };
        match &self.work.task {
            Task::RoundTrips { .. } => {
                let words = self.near.hear("took").await?;
                let micros = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
                let quantiles = micros(0).zip(micros(1)).zip(micros(2));
                let quantiles = quantiles.map(|((p50, p90), p99)| [p50, p90, p99]);
                if quantiles.is_none() {
                    return Err(BenchError::Unusable("a federate says no times".to_owned()));
                }
                Ok(Done { quantiles_us: quantiles, ..nothing })
            }
            Task::Flood { count, subscribers } => {
                let expected = count * (*subscribers * self.far.len()) as u64;
                let mut received = 0;
                for far in &mut self.far {
                    received += far.hear_number("got").await?;
                }
                let seconds = begun.elapsed().as_secs_f64();
                let sent = self.near.hear("sent").await?;
                let failed = sent.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
                if received != expected || failed > 0 {
                    return Err(BenchError::Lossy { sent: expected, received, failed });
                }
                Ok(Done { per_s: Some(*count as f64 / seconds), ..nothing })
            }
            Task::Entities { script, subscribers, .. } => {
                let seen = entities::end(&mut self.near, &mut self.far, script).await?;
                let expected = (script.len() * subscribers * self.far.len()) as u64;
                if script.iter().all(|update| update.reliable) && seen.reflects != expected {
                    return Err(BenchError::Lossy { sent: expected, received: seen.reflects, failed: 0 });
                }
                Ok(Done { quantiles_us: seen.quantiles_us, reflects: Some(seen.reflects), ..nothing })
            }
        }
    }
}

/// Asks: `rounds SIZE WARM_UP COUNT` is answered by `took P50 P90 P99`, in microseconds.
pub(crate) async fn play_asker(server: String, federation: String) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut member = Member::join(&server, &federation).await?;
    member.want(member.pong).await?;
    let ping = member.offer(member.ping).await?;
    say("ready");
    let (mut number, mut found) = (0, false);
    while let Some(order) = orders.recv().await {
        let [_, size, warm_up, count] = &order[..] else { continue };
        if !std::mem::replace(&mut found, true) {
            member.await_object(member.pong).await?;
        }
        let (warm_up, count) = (role::number(warm_up)? as u64, role::number(count)? as u64);
        let size = role::number(size)?;
        let rounds = round_trips(&mut member, ping, &mut number, size, (warm_up, count)).await?;
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|quantile| rounds.quantile_us(quantile));
        say(&format!("took {p50} {p90} {p99}"));
    }
    Ok(())
}
