//! A run: nodes form a network, federates join, all tasks run, and the results are collected.

use std::collections::BTreeSet;
use std::ops::Add;
use std::rc::Rc;
use std::time::Duration;

use base::Moment;

use crate::federate_process::FederateProcess;
use crate::federation::{Federation, FederationError, Placement, Process};
use crate::groups::Carried;
use crate::member::Member;
use crate::node::Node;
use crate::part::Part;
use crate::report::{Done, Report};
use crate::scheduler::ProcessId;
use crate::setup::{Class, Setup};
use crate::wires::Wires;
use crate::work::{Task, Update, Work};
use crate::world::{Program, World};

/// Longest time for nodes and federates to become ready, in simulated time.
pub(crate) const READY_MAX: Duration = Duration::from_secs(600);
/// Settling time after the last join, so that its consequences do not disturb the tasks.
pub(crate) const CALM: Duration = Duration::from_secs(2);
/// Waiting time for the last updates of entities. Best-effort updates may never arrive, so that the
/// run cannot wait for all.
const SETTLE: Duration = Duration::from_secs(5);
/// Interval at which a condition is checked, in simulated time.
pub(crate) const LOOK: Duration = Duration::from_millis(1);
/// The same for multicast groups, whose memberships spread more slowly.
const LOOK_AT_GROUPS: Duration = Duration::from_millis(50);

/// A run that failed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The federation is invalid.
    #[error(transparent)]
    Federation(#[from] FederationError),
    /// The settings of a node are inconsistent.
    #[error("node {node}: {why}")]
    Node {
        /// Number of the node, from 0.
        node: usize,
        /// The reason.
        why: String,
    },
    /// A federate was refused or lost.
    #[error("a federate of task {task}: {why}")]
    Federate {
        /// Number of the task, from 1.
        task: usize,
        /// The reason.
        why: String,
    },
    /// A federate of a plan was refused or lost.
    #[error("a federate of group {group}: {why}")]
    Group {
        /// Number of the group, from 1.
        group: usize,
        /// The reason.
        why: String,
    },
    /// A condition was not met in time.
    #[error("{phase}: not within {seconds} s of simulated time")]
    Stalled {
        /// The condition.
        phase: &'static str,
        /// Time waited, in simulated seconds.
        seconds: u64,
    },
}

/// The processes of a task: those of the federates that begin, then those of the others by node.
type FederateProcesses = Vec<ProcessId>;

struct Run<'a> {
    federation: &'a Federation,
    world: World,
    nodes: Rc<Vec<ProcessId>>,
    federate_processes: Vec<FederateProcesses>,
    /// Updates whose moments are known in advance, by task.
    scripts: Vec<Rc<[Update]>>,
}

/// Executes a run. `progress` receives the fraction of the expected reflects that have arrived and
/// returns whether to go on.
///
/// # Errors
/// [`RunError`].
pub fn run(federation: &Federation, mut progress: impl FnMut(f64) -> bool) -> Result<Report, RunError> {
    federation.check()?;
    let mut run = Run::new(federation)?;
    run.found()?;
    run.join()?;
    run.world.run_until(run.world.now() + CALM);
    let before = run.counts();
    for federate_processes in run.federate_processes.clone() {
        federate_processes.into_iter().rev().for_each(|federate_process| run.world.begin(federate_process));
    }
    run.work(&mut progress)?;
    Ok(run.report(&before))
}

/// A world with the nodes of a federation, and their processes.
///
/// # Errors
/// [`RunError::Node`].
pub(crate) fn world_of_nodes(
    federation: &Federation,
    computers: usize,
) -> Result<(World, Rc<Vec<ProcessId>>), RunError> {
    let wires = Wires::new(federation.hosts, federation.ethernet, computers, federation.pinned);
    let mut world = World::new(wires);
    // Processes have the numbers of the order in which they are added.
    let directory = Rc::new((0..u32::from(federation.nodes)).map(ProcessId).collect::<Vec<_>>());
    for (number, which) in (0..federation.nodes).enumerate() {
        let datagrams = federation.multicast.map(|_| world.wires.add_member(directory[number]));
        let node = Node::new(number, federation, Rc::clone(&directory), datagrams)
            .map_err(|why| RunError::Node { node: number, why: why.to_string() })?;
        let computer = if federation.placement == Placement::Together { 0 } else { number };
        let core = federation.core(Process::Node(which)).unwrap_or(0);
        world.add(computer, core, Program::Node(Box::new(node)));
    }
    Ok((world, directory))
}

/// Whether all of so many nodes are members and know each other.
pub(crate) fn are_members(world: &World, count: usize) -> bool {
    count == 1 || world.nodes().all(|node| node.members() == Some(count))
}

/// Counters at a moment.
struct Counts {
    at: Moment,
    nodes_ns: Vec<f64>,
    /// By task.
    federates_ns: Vec<Vec<f64>>,
    link_bytes: u64,
    carried: Carried,
}

impl<'a> Run<'a> {
    fn new(federation: &'a Federation) -> Result<Self, RunError> {
        let nodes = usize::from(federation.nodes);
        let computers = match federation.placement {
            Placement::Together => 1,
            Placement::ByNode => nodes,
            Placement::Apart => nodes + federation.work.iter().map(Work::processes).sum::<usize>(),
        };
        let (world, directory) = world_of_nodes(federation, computers)?;
        let scripts = (0..federation.work.len()).map(|task| Ok(Rc::from(federation.script(task)?)));
        let scripts = scripts.collect::<Result<_, FederationError>>()?;
        Ok(Self { federation, world, nodes: directory, federate_processes: Vec::new(), scripts })
    }

    /// Waits until all nodes are members and know each other.
    fn found(&mut self) -> Result<(), RunError> {
        let count = usize::from(self.federation.nodes);
        self.wait("all nodes are members", |world| are_members(world, count))
    }

    fn join(&mut self) -> Result<(), RunError> {
        let federation = self.federation;
        for (task, work) in federation.work.iter().enumerate() {
            let publishers = work.task.publishers() as usize;
            let nodes = std::iter::repeat_n(work.from, publishers).chain(work.to.iter().copied());
            self.federate_processes.push(Vec::new());
            for (place, node) in nodes.enumerate() {
                let process = self.add_federate_process(task, place, node);
                self.federate_processes[task].push(process);
                if (task, place) == (0, 0) {
                    // The others cannot join before there is a federation.
                    self.wait("the first federate is joined", |world| all(world, Member::is_joined))?;
                }
            }
        }
        self.wait("federates are joined", |world| all(world, Member::is_ready))?;
        if federation.multicast.is_none() {
            return Ok(());
        }
        self.wait_every(LOOK_AT_GROUPS, "multicast groups reach their members", groups_reach_all)
    }

    /// Adds a process with federates of a task at a node. The first places are the processes of the
    /// federates that begin; the others follow.
    fn add_federate_process(&mut self, task: usize, place: usize, number: u16) -> ProcessId {
        let work = &self.federation.work[task];
        let publishers = work.task.publishers();
        let process = match place.checked_sub(publishers as usize) {
            None => Process::Publisher { task, at: place },
            Some(at) => Process::Others { task, at },
        };
        let of = (task, self.federation.work.len());
        let back = matches!(work.task, Task::RoundTrips { .. }).then_some(Class::Pong);
        let (now, node) = (self.world.now(), self.nodes[usize::from(number)]);
        let objects = self.federation.objects(task) as u32;
        let members = if let Process::Publisher { at, .. } = process {
            let setup = Setup::new(of, objects, (task, at) == (0, 0), Some(Class::Ping), back);
            vec![Member::new(now, node, setup, self.first_part(task, work, at))]
        } else {
            let setup = || Setup::new(of, objects * publishers, false, back, Some(Class::Ping));
            let part = self.other_part(task, work);
            (0..work.task.subscribers()).map(|_| Member::new(now, node, setup(), part.clone())).collect()
        };
        let nodes = usize::from(self.federation.nodes);
        let computer = match self.federation.placement {
            Placement::Together => 0,
            Placement::ByNode => number.into(),
            Placement::Apart => {
                let earlier = self.federation.work[..task].iter().map(Work::processes);
                nodes + earlier.sum::<usize>() + place
            }
        };
        let core = self.federation.core(process).unwrap_or(0);
        self.world.add(computer, core, Program::FederateProcess(FederateProcess::new(members)))
    }

    /// The part of the federate `at` of those that begin.
    fn first_part(&self, task: usize, work: &Work, at: usize) -> Part {
        let size = work.size_bytes;
        match work.task {
            Task::RoundTrips { count, warm_up } => Part::asker(size, count, warm_up),
            Task::Flood { count, .. } => Part::flooder(size, count.into(), at),
            Task::FanIn { count, publishers } => {
                let upto = |at: usize| u64::from(count) * at as u64 / u64::from(publishers);
                Part::flooder(size, upto(at + 1) - upto(at), at)
            }
            Task::Paced { .. } | Task::Entities { .. } | Task::Replay { .. } => {
                Part::player(Rc::clone(&self.scripts[task]))
            }
        }
    }

    fn other_part(&self, task: usize, work: &Work) -> Part {
        match work.task {
            Task::RoundTrips { .. } => Part::answerer(work.size_bytes),
            Task::Flood { .. } | Task::FanIn { .. } | Task::Paced { .. } => {
                Part::listener(work.size_bytes, self.updates(task), false)
            }
            Task::Entities { .. } | Task::Replay { .. } => {
                Part::listener(work.size_bytes, self.updates(task), true)
            }
        }
    }

    /// Number of updates, or round trips, of a task.
    fn updates(&self, task: usize) -> u64 {
        match self.federation.work[task].task {
            Task::Entities { .. } | Task::Replay { .. } => self.scripts[task].len() as u64,
            other => other.count().into(),
        }
    }

    /// Runs until all tasks are done, or `progress` stops the run.
    fn work(&mut self, progress: &mut impl FnMut(f64) -> bool) -> Result<(), RunError> {
        let mut last = (0, self.world.now());
        let expected: u64 = (0..self.federation.work.len()).map(|task| self.expected(task)).sum();
        // Best-effort messages may be dropped on the way.
        let over = last.1 + self.entities_end() + SETTLE;
        loop {
            self.world.run_until(self.world.now() + LOOK);
            self.failure()?;
            let parts = || {
                self.world.federate_processes().flat_map(FederateProcess::members).filter_map(Member::part)
            };
            let now = self.world.now();
            if parts().all(|part| part.is_done() || now >= over && part.may_lose()) {
                return Ok(());
            }
            let times: u64 = parts().map(|part| part.times_ns.len() as u64).sum();
            if !progress(times as f64 / expected as f64) {
                return Ok(());
            }
            if times > last.0 {
                last = (times, self.world.now());
            }
            // A federate with a pace may pause for a long time.
            let paused = parts().filter_map(Part::poll_timeout).max();
            if self.world.now().since(last.1.max(paused.unwrap_or(Moment::ZERO))) > READY_MAX {
                return Err(stalled("a reflect"));
            }
        }
    }

    /// Number of times that a task records: one for each round trip or reflect.
    fn expected(&self, task: usize) -> u64 {
        self.updates(task) * self.federation.work[task].subscribers()
    }

    /// The longest run of entities or recordings. Without them nothing may be lost, and the end is out of
    /// reach.
    fn entities_end(&self) -> Duration {
        let runs = self.federation.work.iter().filter_map(|work| match work.task {
            Task::Entities { run, .. } => Some(run),
            Task::Replay { recording, .. } => Some(self.federation.recordings[recording].length()),
            _ => None,
        });
        runs.max().unwrap_or(Duration::MAX / 4)
    }

    fn wait(&mut self, phase: &'static str, done: impl Fn(&World) -> bool) -> Result<(), RunError> {
        self.wait_every(LOOK, phase, done)
    }

    fn wait_every(
        &mut self,
        look: Duration,
        phase: &'static str,
        done: impl Fn(&World) -> bool,
    ) -> Result<(), RunError> {
        let until = self.world.now() + READY_MAX;
        while !done(&self.world) {
            self.failure()?;
            if self.world.now() >= until {
                return Err(stalled(phase));
            }
            self.world.run_until(self.world.now() + look);
        }
        Ok(())
    }

    fn failure(&self) -> Result<(), RunError> {
        let tasks = self.federation.work.iter().enumerate();
        let tasks = tasks.flat_map(|(task, work)| std::iter::repeat_n(task, work.processes()));
        for (task, federate_process) in tasks.zip(self.world.federate_processes()) {
            if let Some(why) = federate_process.members().iter().find_map(Member::failure) {
                return Err(RunError::Federate { task: task + 1, why: why.to_owned() });
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        let busy = |processes: &[ProcessId]| -> Vec<f64> {
            processes.iter().map(|process| self.world.wires.busy_ns(*process)).collect()
        };
        Counts {
            at: self.world.now(),
            nodes_ns: busy(&self.nodes),
            federates_ns: self
                .federate_processes
                .iter()
                .map(|federate_processes| busy(federate_processes))
                .collect(),
            link_bytes: self.world.nodes().map(Node::link_bytes).sum(),
            carried: self.carried(),
        }
    }

    fn carried(&self) -> Carried {
        if self.federation.multicast.is_none() {
            return Carried::default();
        }
        let of_node = |(process, node): (&ProcessId, &Node)| {
            let carried = node.carried();
            let dropped = self.world.wires.dropped(*process);
            Carried { lost_datagrams: carried.lost_datagrams + dropped, ..carried }
        };
        self.nodes.iter().zip(self.world.nodes()).map(of_node).fold(Carried::default(), Add::add)
    }

    fn report(&self, before: &Counts) -> Report {
        let after = self.counts();
        let mut federate_processes = self.world.federate_processes();
        let done = self.federation.work.iter().enumerate().map(|(task, work)| {
            let federate_processes: Vec<&FederateProcess> =
                federate_processes.by_ref().take(work.processes()).collect();
            let parts = || {
                federate_processes
                    .iter()
                    .flat_map(|federate_process| federate_process.members())
                    .filter_map(Member::part)
            };
            let mut times_ns: Vec<u64> = parts().flat_map(|part| part.times_ns.iter().copied()).collect();
            times_ns.sort_unstable();
            let from = parts().filter_map(|part| part.began).min().unwrap_or(before.at);
            let to = parts().filter_map(|part| part.finished).max().unwrap_or(after.at);
            Done {
                work: work.clone(),
                reflects: times_ns.len() as u64,
                expected: self.expected(task),
                out_of_turn: parts().map(|part| part.out_of_turn).sum(),
                times_ns,
                took: to.since(from),
                federates_ns: since(&after.federates_ns[task], &before.federates_ns[task]),
            }
        });
        Report {
            done: done.collect(),
            nodes_ns: since(&after.nodes_ns, &before.nodes_ns),
            link_bytes: after.link_bytes - before.link_bytes,
            carried: self.federation.multicast.map(|_| after.carried - before.carried),
            took: after.at.since(before.at),
            events: self.world.wires.events,
            digest: self.world.wires.digest,
        }
    }
}

fn since(after: &[f64], before: &[f64]) -> Vec<f64> {
    after.iter().zip(before).map(|(after, before)| after - before).collect()
}

/// Whether each node reports for each of its groups that it reaches all neighbours that are
/// members.
fn groups_reach_all(world: &World) -> bool {
    let networks: Vec<_> = world.nodes().filter_map(Node::network).collect();
    let members: BTreeSet<_> = networks
        .iter()
        .flat_map(|network| network.groups.iter().map(|group| (group.group, network.key)))
        .collect();
    networks.iter().all(|network| {
        network.groups.iter().all(|group| {
            let neighbours = network.channels.iter().map(|(key, _)| (group.group, *key));
            group.reaches == neighbours.filter(|neighbour| members.contains(neighbour)).count()
        })
    })
}

pub(crate) fn stalled(phase: &'static str) -> RunError {
    RunError::Stalled { phase, seconds: READY_MAX.as_secs() }
}

fn all(world: &World, is: fn(&Member) -> bool) -> bool {
    world.federate_processes().flat_map(FederateProcess::members).all(is)
}
