//! A network of nodes and federates, each in a process of its own: measures what the simulator of
//! whole federations predicts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use console::rounds::Rounds;
use federate::Federate;
use hla::handle::ObjectInstanceHandle;
use tokio::task::JoinSet;

use crate::access::server_options;
use crate::edition::module;
use crate::entities::{self, Update};
use crate::error::BenchError;
use crate::groups::{Counts, Groups, await_reach};
use crate::joined::Joined;
use crate::member::{FOM, Member, received, reflected};
use crate::namespaces::Namespace;
use crate::process::Launcher;
use crate::process::{PATIENCE, Process, orders, print_line};
use crate::role;
use crate::server::{Server, federation_name};
use crate::usage;
use workload::share;

/// The smallest payload, in bytes: a round is identified by its number.
pub const SIZE_BYTES_MIN: usize = 8;

/// The work of federates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// One federate updates; another one answers each reflect by an update with the same payload.
    RoundTrips {
        /// Number of measured round trips.
        count: u64,
        /// Number of round trips before these that are not measured.
        warm_up: u64,
    },
    /// One federate updates as fast as it can.
    Flood {
        /// Number of updates.
        count: u64,
        /// Number of subscribing federates, in one process at each node of the others.
        subscribers: usize,
    },
    /// Several federates, each in a process of its own, update as fast as they can. At each node of the
    /// others one subscribes.
    FanIn {
        /// Number of updates of all of them together.
        count: u64,
        /// Updating federates.
        publishers: usize,
    },
    /// One federate updates entities at given moments.
    Entities {
        /// Number of entities.
        objects: usize,
        /// The updates, in order.
        script: Arc<[Update]>,
        /// Number of subscribing federates, in one process at each node of the others.
        subscribers: usize,
    },
}

/// A task and its nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// The task.
    pub task: Task,
    /// Payload, in bytes; at least [`SIZE_BYTES_MIN`].
    pub size: usize,
    /// The node of the federate that begins, from 0.
    pub from: usize,
    /// The nodes of the other federates; for round trips exactly one.
    pub to: Vec<usize>,
}

/// Bytes of a pair for which there is a further [`PATIENCE`]: with very many pairs on few cores,
/// exchanges of a megabyte take a second each.
const PATIENT_BYTES: u64 = 16 << 20;
/// At most so many times [`PATIENCE`]: an hour.
const PATIENCE_TIMES_MAX: u32 = 60;

impl Task {
    /// Number of federates that begin, each in a process of its own.
    fn publishers(&self) -> usize {
        match self {
            Task::FanIn { publishers, .. } => *publishers,
            _ => 1,
        }
    }
}

impl Work {
    /// The longest time that the task may take.
    fn patience(&self) -> Duration {
        let updates = match &self.task {
            Task::RoundTrips { count, warm_up } => count + warm_up,
            Task::Flood { count, .. } | Task::FanIn { count, .. } => *count,
            Task::Entities { script, .. } => script.len() as u64,
        };
        let times = 1 + updates.saturating_mul(self.size as u64) / PATIENT_BYTES;
        PATIENCE * u32::try_from(times).unwrap_or(u32::MAX).min(PATIENCE_TIMES_MAX)
    }
}

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of nodes; each is a process.
    pub nodes: usize,
    /// The links between the nodes.
    pub joined: Joined,
    /// The multicast groups that nodes share in addition to links.
    pub groups: Option<Groups>,
    /// The tasks, all done at the same time. Each has a federation execution and processes of its
    /// own: one for each federate that begins, and one at each node of the others.
    pub work: Vec<Work>,
    /// The cores of the processes; `None`: any core.
    pub cores: Option<Cores>,
    /// The network namespace of each node and of the federates there; empty: all processes are on
    /// loopback.
    pub namespaces: Vec<Namespace>,
}

impl Plan {
    /// `launcher` for a process of a task: the first places are those of the federates that begin, and
    /// those of the others follow.
    fn launcher(&self, launcher: &Launcher, task: usize, place: usize) -> Launcher {
        let work = &self.work[task];
        let node = place.checked_sub(work.task.publishers());
        let node = node.map_or(Some(work.from), |at| work.to.get(at).copied());
        let cores = self.cores.as_ref().and_then(|cores| cores.federates.get(task));
        let launcher = launcher.on_core(cores.and_then(|cores| cores.get(place)).copied());
        match node.and_then(|node| self.namespaces.get(node)) {
            Some(namespace) => launcher.inside(&namespace.name),
            None => launcher,
        }
    }
}

/// The core of each process, as a number among the cores that this process may use, counted modulo
/// their number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cores {
    /// The core of each node.
    pub nodes: Vec<usize>,
    /// For each task: the cores of the processes of the federates that begin, then those of the
    /// others.
    pub federates: Vec<Vec<usize>>,
}

/// The results of a task.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// Quantiles of round trips, or of the time from an update of an entity to its reflects: 50, 90
    /// and 99 %, in microseconds.
    pub quantiles_us: Option<[f64; 3]>,
    /// The mean of round trips, in microseconds.
    pub mean_us: Option<f64>,
    /// For floods and fan-in: reflects per second of each subscriber.
    pub per_s: Option<f64>,
    /// For entities: number of reflects.
    pub reflects: Option<u64>,
    /// Processor time of the processes of the federates that began, and of those of the others, in
    /// seconds, where the system reports it.
    pub cpu_s: Vec<Option<f64>>,
}

/// The results of a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// The results of each task.
    pub done: Vec<Done>,
    /// Processor time of each node during the tasks, in seconds, where the system reports it.
    pub nodes_cpu_s: Vec<Option<f64>>,
    /// Duration of the tasks.
    pub took: Duration,
    /// Counters of the nodes for this time and some seconds around it, if they share groups.
    pub counts: Option<Counts>,
}

/// Starts nodes and federates, runs all tasks, and ends the processes.
///
/// # Errors
/// The system or a node fails or refuses a request; an update was lost or refused.
pub async fn measure(launcher: &Launcher, plan: &Plan) -> Result<Measured, BenchError> {
    // This process connects to nodes, too, as the creator of federation executions.
    let _inside = plan.namespaces.first().map(Namespace::enter).transpose()?;
    Running::start(launcher, plan).await?.run().await
}

/// Nodes and federates of a plan, which have warmed up. All processes end when this is dropped.
pub struct Running {
    server: Server,
    federate_processes: Vec<FederateProcess>,
    has_groups: bool,
}

impl Running {
    /// Starts nodes and federates.
    ///
    /// # Errors
    /// The system or a node fails or refuses a request.
    pub async fn start(launcher: &Launcher, plan: &Plan) -> Result<Self, BenchError> {
        let nodes = plan.cores.as_ref().map_or(&[][..], |cores| &cores.nodes);
        let places = (nodes, &plan.namespaces[..]);
        let server =
            Server::network(launcher, plan.nodes, &plan.joined, plan.groups.as_ref(), places).await?;
        Self::on(launcher, server, plan).await
    }

    /// Starts federates at a server that runs, whose nodes stand for those of the plan.
    ///
    /// # Errors
    /// The system or the server fails or refuses a request; a task is at a node that the server does not
    /// have.
    pub async fn on(launcher: &Launcher, server: Server, plan: &Plan) -> Result<Self, BenchError> {
        let mut federate_processes = Vec::new();
        for (index, work) in plan.work.iter().enumerate() {
            let launcher = |place: usize| plan.launcher(launcher, index, place);
            federate_processes.push(FederateProcess::start(launcher, &server, index, work.clone()).await?);
        }
        // Time for the traffic of joining to end.
        tokio::time::sleep(CALM).await;
        if plan.groups.is_some() {
            await_reach(server.addresses(), &plan.joined).await?;
        }
        for federate_process in &mut federate_processes {
            federate_process.warm_up().await?;
        }
        Ok(Self { server, federate_processes, has_groups: plan.groups.is_some() })
    }

    /// Changes the work of each task for the runs to come: its payload and its count. Its kind and its
    /// nodes must stay as they are.
    pub fn change(&mut self, change: impl Fn(&mut Work)) {
        self.federate_processes.iter_mut().for_each(|process| change(&mut process.work));
    }

    /// Runs all tasks at the same time.
    ///
    /// # Errors
    /// The system or a node fails or refuses a request; an update was lost or refused. Then no
    /// further run is possible.
    pub async fn run(&mut self) -> Result<Measured, BenchError> {
        let counted = self.counts().await?;
        let nodes_before: Vec<_> = self.server.cpu_s_of_nodes().collect();
        let begun = Instant::now();
        let (processes, done) = all_at_once(std::mem::take(&mut self.federate_processes)).await?;
        let took = begun.elapsed();
        self.federate_processes = processes;
        let nodes_after = self.server.cpu_s_of_nodes();
        let nodes_cpu_s =
            nodes_after.zip(nodes_before).map(|(after, before)| difference(after, before)).collect();
        let counts = self.counts().await?.zip(counted).map(|(after, before)| after.since(before));
        Ok(Measured { done, nodes_cpu_s, took, counts })
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The nodes' counters, if they share groups.
    async fn counts(&self) -> Result<Option<Counts>, BenchError> {
        if !self.has_groups {
            return Ok(None);
        }
        Counts::read(self.server.addresses()).await.map(Some)
    }
}

/// Runs all tasks at the same time, each with a clock of its own. Returns the processes too, since
/// federations end with them.
async fn all_at_once(
    federate_processes: Vec<FederateProcess>,
) -> Result<(Vec<FederateProcess>, Vec<Done>), BenchError> {
    let mut running = JoinSet::new();
    for (index, mut federate_process) in federate_processes.into_iter().enumerate() {
        running.spawn(async move {
            let before = federate_process.cpu_s();
            let begun = Instant::now();
            federate_process.begin().await?;
            let ended = federate_process.end(begun).await?;
            let cpu_s = federate_process.cpu_s().into_iter().zip(before);
            let cpu_s = cpu_s.map(|(after, before)| difference(after, before)).collect();
            Ok::<_, BenchError>((index, federate_process, Done { cpu_s, ..ended }))
        });
    }
    let mut ended = Vec::new();
    while let Some(one) = running.join_next().await {
        ended.push(one.map_err(|error| BenchError::system("task")(std::io::Error::other(error)))??);
    }
    ended.sort_by_key(|(index, ..)| *index);
    Ok(ended.into_iter().map(|(_, federate_process, done)| (federate_process, done)).unzip())
}

/// Wait between joining and the beginning of the tasks.
const CALM: Duration = Duration::from_millis(300);

fn difference(after: Option<f64>, before: Option<f64>) -> Option<f64> {
    after.zip(before).map(|(after, before)| after - before)
}

/// The address of a node for federates of a task.
fn address_of(server: &Server, task: usize, node: usize) -> Result<&str, BenchError> {
    let none = || BenchError::Unusable(format!("task {} is at node {node}, which is not", task + 1));
    server.address_of(node).ok_or_else(none)
}

/// Starts the processes of a task, except those of the federates that begin, node by node.
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
            Task::FanIn { .. } => role::sinks(node, federation, 1),
            Task::Entities { subscribers, .. } => role::watchers(node, federation, subscribers),
        };
        far.push(launcher(work.task.publishers() + at).start(&words).await?.0);
    }
    Ok(far)
}

/// The processes of a task.
struct FederateProcess {
    work: Work,
    /// Those of the federates that begin.
    near: Vec<Process>,
    /// The process at each node of the others.
    far: Vec<Process>,
    /// Keeps the federation execution in existence.
    _creator: Federate,
}

impl FederateProcess {
    /// `launcher` gets the numbers of the processes of the federates that begin from 0, and then those of
    /// the others.
    async fn start(
        launcher: impl Fn(usize) -> Launcher,
        server: &Server,
        index: usize,
        work: Work,
    ) -> Result<Self, BenchError> {
        let near = address_of(server, index, work.from)?;
        let federation = federation_name(&format!("federation {}", index + 1));
        let (creator, _) = Federate::connect(server_options(near)?).await?;
        creator
            .create_federation_execution(&federation, module("MeshRTI-Bench.xml", FOM, server.edition()))
            .await?;
        let begins = match work.task {
            Task::RoundTrips { .. } => role::asker(near, &federation),
            Task::Flood { .. } | Task::FanIn { .. } => role::publisher(near, &federation),
            Task::Entities { objects, .. } => role::player(near, &federation, objects),
        };
        let others = start_others(&launcher, server, &federation, index, &work);
        // The asking federate starts before the answering one; in other tasks the subscribers start
        // first.
        let (near, far) = if let Task::RoundTrips { .. } = work.task {
            let near = vec![launcher(0).start(&begins).await?.0];
            (near, others.await?)
        } else {
            let (far, mut near) = (others.await?, Vec::new());
            for at in 0..work.task.publishers() {
                near.push(launcher(at).start(&begins).await?.0);
            }
            (near, far)
        };
        Ok(Self { work, near, far, _creator: creator })
    }

    /// A short run that is not measured, after which all federates have discovered each other's
    /// objects.
    async fn warm_up(&mut self) -> Result<(), BenchError> {
        let task = match self.work.task {
            Task::RoundTrips { .. } => Task::RoundTrips { count: 1, warm_up: 100 },
            Task::Flood { count, subscribers } => Task::Flood { count: count / 20 + 1, subscribers },
            Task::FanIn { count, publishers } => Task::FanIn { count: count / 20 + 1, publishers },
            // A script cannot be shortened.
            Task::Entities { .. } => return Ok(()),
        };
        let whole = std::mem::replace(&mut self.work.task, task);
        self.begin().await?;
        let ended = self.end(Instant::now()).await;
        self.work.task = whole;
        ended.map(|_| ())
    }

    fn cpu_s(&self) -> Vec<Option<f64>> {
        self.near.iter().chain(&self.far).map(|process| usage::cpu_s(process.id())).collect()
    }

    async fn begin(&mut self) -> Result<(), BenchError> {
        let size = self.work.size;
        match &self.work.task {
            Task::RoundTrips { count, warm_up } => {
                self.near[0].send_line(&format!("rounds {size} {warm_up} {count}")).await
            }
            Task::Flood { count, subscribers } => {
                for far in &mut self.far {
                    far.send_line(&format!("expect {}", count * *subscribers as u64)).await?;
                }
                self.near[0].send_line(&format!("flood {size} {count}")).await
            }
            Task::FanIn { count, publishers } => {
                for far in &mut self.far {
                    far.send_line(&format!("expect {count}")).await?;
                }
                for (at, near) in (0..).zip(&mut self.near) {
                    near.send_line(&format!("flood {size} {}", share(*count, *publishers as u64, at)))
                        .await?;
                }
                Ok(())
            }
            Task::Entities { script, .. } => entities::begin(&mut self.near[0], script).await,
        }
    }

    /// Waits until the task is done, and collects its results without processor times.
    async fn end(&mut self, begun: Instant) -> Result<Done, BenchError> {
        let nothing =
            Done { quantiles_us: None, mean_us: None, per_s: None, reflects: None, cpu_s: Vec::new() };
        match &self.work.task {
            Task::RoundTrips { .. } => {
                let words = self.near[0].hear_within("took", self.work.patience()).await?;
                let micros = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
                let quantiles = micros(0).zip(micros(1)).zip(micros(2));
                let quantiles = quantiles.map(|((p50, p90), p99)| [p50, p90, p99]);
                if quantiles.is_none() {
                    return Err(BenchError::Unusable("a federate says no times".to_owned()));
                }
                Ok(Done { quantiles_us: quantiles, mean_us: micros(3), ..nothing })
            }
            Task::Flood { count, .. } | Task::FanIn { count, .. } => {
                let subscribers = match self.work.task {
                    Task::Flood { subscribers, .. } => subscribers,
                    _ => 1,
                };
                let expected = count * (subscribers * self.far.len()) as u64;
                let mut received = 0;
                for far in &mut self.far {
                    let words = far.hear_within("got", self.work.patience()).await?;
                    let count = words.first().and_then(|word| word.parse::<u64>().ok());
                    received +=
                        count.ok_or_else(|| BenchError::Unusable("a federate says no count".to_owned()))?;
                }
                let seconds = begun.elapsed().as_secs_f64();
                let mut failed = 0;
                for near in &mut self.near {
                    let sent = near.hear("sent").await?;
                    failed += sent.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
                }
                if received != expected || failed > 0 {
                    return Err(BenchError::Lossy { sent: expected, received, failed });
                }
                Ok(Done { per_s: Some(*count as f64 / seconds), ..nothing })
            }
            Task::Entities { script, subscribers, .. } => {
                let seen = entities::end(&mut self.near[0], &mut self.far, script).await?;
                let expected = (script.len() * subscribers * self.far.len()) as u64;
                if script.iter().all(|update| update.reliable) && seen.reflects != expected {
                    return Err(BenchError::Lossy { sent: expected, received: seen.reflects, failed: 0 });
                }
                Ok(Done { quantiles_us: seen.quantiles_us, reflects: Some(seen.reflects), ..nothing })
            }
        }
    }
}

/// The asking federate: `rounds SIZE WARM_UP COUNT` is answered by `took P50 P90 P99 MEAN`,
/// in microseconds.
pub(crate) async fn play_asker(server: String, federation: String) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut member = Member::join(&server, &federation).await?;
    member.want(member.pong).await?;
    let ping = member.offer(member.ping).await?;
    print_line("ready");
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
        print_line(&format!("took {p50} {p90} {p99} {}", rounds.mean_us()));
    }
    Ok(())
}

/// Makes round trips with a federate that answers: first some that are not counted, then some that
/// are. `number` is that of the last round trip ever.
async fn round_trips(
    member: &mut Member,
    ping: ObjectInstanceHandle,
    number: &mut u64,
    size: usize,
    (warm_up, count): (u64, u64),
) -> Result<Rounds, BenchError> {
    let updates = member.federate.updates();
    let mut rounds = Rounds::new(size);
    let mut payload = vec![0; size];
    for round in 0..warm_up + count {
        *number += 1;
        payload[..SIZE_BYTES_MIN].copy_from_slice(&number.to_be_bytes());
        let value = Bytes::copy_from_slice(&payload);
        let begun = Instant::now();
        updates.update_attribute_values(ping, [(member.ping.attribute, value)], "").await?;
        loop {
            let callback = received(member.callbacks.recv().await)?;
            if reflected(callback).is_some_and(|value| value[..] == payload[..]) {
                break;
            }
        }
        if round >= warm_up {
            rounds.record(begun.elapsed());
        }
    }
    updates.drained().await?;
    Ok(rounds)
}
