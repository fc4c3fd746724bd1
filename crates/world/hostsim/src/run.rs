//! A run: nodes find each other, federates join, all begin, and what was seen.

use std::rc::Rc;
use std::time::Duration;

use base::{Digest, Moment};

use crate::crew::Crew;
use crate::federation::{Federation, FederationError, Placement, Process, Task, Update, Work};
use crate::member::Member;
use crate::node::Node;
use crate::part::Part;
use crate::scheduler::ProcessId;
use crate::setup::{Class, Setup};
use crate::wires::Wires;
use crate::world::{Program, World};

/// How long nodes and federates may take to be ready, in simulated time.
const READY_MAX: Duration = Duration::from_secs(600);
/// How long it is waited then, until nothing happens that comes of joining.
const CALM: Duration = Duration::from_secs(2);
/// How long it is waited for the last updates of entities.
const SETTLE: Duration = Duration::from_secs(5);
/// How often it is looked whether something has come about.
const LOOK: Duration = Duration::from_millis(1);

/// A run that came to nothing.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The federation makes no sense.
    #[error(transparent)]
    Federation(#[from] FederationError),
    /// The settings of nodes do not fit.
    #[error("node {node}: {why}")]
    Node {
        /// Which.
        node: usize,
        /// Why.
        why: String,
    },
    /// A federate was refused or lost.
    #[error("a federate of task {task}: {why}")]
    Federate {
        /// Of which task, from 1.
        task: usize,
        /// Why.
        why: String,
    },
    /// Something did not come about.
    #[error("{what}: not within {seconds} s of simulated time")]
    Stalled {
        /// What.
        what: &'static str,
        /// How long it was waited.
        seconds: u64,
    },
}

/// What a task gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// The task.
    pub work: Work,
    /// Times in nanoseconds, rising: there and back of round trips, from the update to the reflect of the others, which in a flood says
    /// how long queues were.
    pub times_ns: Vec<u64>,
    /// From its beginning to its last reflect.
    pub took: Duration,
    /// Reflects.
    pub reflects: u64,
    /// As many would be if nothing were lost, and the run not stopped.
    pub expected: u64,
    /// Processor time of the processes of the one who began, and of the others, in nanoseconds.
    pub federates_ns: [f64; 2],
}

impl Done {
    /// Reflects per second, of each subscriber.
    pub fn per_s(&self) -> f64 {
        let subscribers = self.work.task.subscribers();
        self.reflects as f64 / f64::from(subscribers) / self.took.as_secs_f64().max(1e-12)
    }

    /// The time below which a share of all times lies, in microseconds; nothing without times.
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        quantile_us(&self.times_ns, share)
    }
}

/// The time below which a share of rising times in nanoseconds lies, in microseconds; nothing without times.
pub fn quantile_us(rising_ns: &[u64], share: f64) -> Option<f64> {
    let last = rising_ns.len().checked_sub(1)?;
    let at = (share * last as f64).round() as usize;
    Some(rising_ns[at.min(last)] as f64 / 1e3)
}

/// What a run gave.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// By task.
    pub done: Vec<Done>,
    /// Processor time of each node while the tasks were done, in nanoseconds.
    pub nodes_ns: Vec<f64>,
    /// How long that was.
    pub took: Duration,
    /// Events of the simulation.
    pub events: u64,
    /// A fingerprint of all that came, and when.
    pub digest: Digest,
}

/// The processes of a task: of the one who begins, and of the others.
type Crews = [ProcessId; 2];

struct Run<'a> {
    federation: &'a Federation,
    world: World,
    nodes: Rc<Vec<ProcessId>>,
    crews: Vec<Crews>,
    /// What entities do, by task.
    scripts: Vec<Rc<[Update]>>,
}

/// Runs it. `progress` is told the share of all expected reflects that came; it says whether to go on.
///
/// # Errors
/// [`RunError`].
pub fn run(federation: &Federation, mut progress: impl FnMut(f64) -> bool) -> Result<Report, RunError> {
    federation.check()?;
    let mut run = Run::new(federation)?;
    run.found()?;
    run.join()?;
    run.world.run_until(run.world.now() + CALM);
    let before = run.busy_of_nodes();
    let federates_before: Vec<_> = run.crews.iter().map(|crews| run.busy_of(crews)).collect();
    let began = run.world.now();
    for crews in run.crews.clone() {
        crews.into_iter().rev().for_each(|crew| run.world.begin(crew));
    }
    run.work(&mut progress)?;
    Ok(run.report(began, &before, &federates_before))
}

impl<'a> Run<'a> {
    fn new(federation: &'a Federation) -> Result<Self, RunError> {
        let nodes = usize::from(federation.nodes);
        let computers = match federation.placement {
            Placement::Together => 1,
            Placement::ByNode => nodes,
            Placement::Apart => nodes + 2 * federation.work.len(),
        };
        let wires = Wires::new(federation.hosts, federation.ethernet, computers, federation.pinned);
        let mut world = World::new(wires);
        // Processes are numbered in the order in which they are added.
        let directory = Rc::new((0..u32::from(federation.nodes)).map(ProcessId).collect::<Vec<_>>());
        for (number, which) in (0..federation.nodes).enumerate() {
            let seed = federation.seed.split("node").split_index(number as u64);
            let node = Node::new(number, nodes, federation.joined, seed, Rc::clone(&directory))
                .map_err(|why| RunError::Node { node: number, why: why.to_string() })?;
            let computer = if federation.placement == Placement::Together { 0 } else { number };
            let core = federation.core(Process::Node(which)).unwrap_or(0);
            world.add(computer, core, Program::Node(Box::new(node)));
        }
        let scripts = (0..federation.work.len()).map(|task| Ok(Rc::from(federation.script(task)?)));
        let scripts = scripts.collect::<Result<_, FederationError>>()?;
        Ok(Self { federation, world, nodes: directory, crews: Vec::new(), scripts })
    }

    /// All nodes are members, and know each other.
    fn found(&mut self) -> Result<(), RunError> {
        let count = usize::from(self.federation.nodes);
        if count == 1 {
            return Ok(());
        }
        self.wait("all nodes are members", |world| world.nodes().all(|node| node.members() == Some(count)))
    }

    fn join(&mut self) -> Result<(), RunError> {
        let federation = self.federation;
        for (task, work) in federation.work.iter().enumerate() {
            let near = self.add_crew(task, work, true);
            if task == 0 {
                // The others cannot join before there is a federation.
                self.wait("the first federate is joined", |world| all(world, Member::is_joined))?;
            }
            let far = self.add_crew(task, work, false);
            self.crews.push([near, far]);
        }
        self.wait("federates are joined", |world| all(world, Member::is_ready))
    }

    /// Adds the process of the federate that begins, or that of the others.
    fn add_crew(&mut self, task: usize, work: &Work, near: bool) -> ProcessId {
        let of = (task, self.federation.work.len());
        let back = matches!(work.task, Task::RoundTrips { .. }).then_some(Class::Pong);
        let number = if near { work.from } else { work.to };
        let (now, node) = (self.world.now(), self.nodes[usize::from(number)]);
        let objects = match work.task {
            Task::Entities { workload, .. } => self.federation.workloads[workload].objects() as u32,
            _ => 1,
        };
        let members = if near {
            let setup = Setup::new(of, objects, task == 0, Some(Class::Ping), back);
            vec![Member::new(now, node, setup, self.first_part(task, work))]
        } else {
            let setup = || Setup::new(of, objects, false, back, Some(Class::Ping));
            let part = self.other_part(task, work);
            (0..work.task.subscribers()).map(|_| Member::new(now, node, setup(), part.clone())).collect()
        };
        let nodes = usize::from(self.federation.nodes);
        let computer = match self.federation.placement {
            Placement::Together => 0,
            Placement::ByNode => number.into(),
            Placement::Apart => nodes + 2 * task + usize::from(!near),
        };
        let process = if near { Process::First(task) } else { Process::Others(task) };
        let core = self.federation.core(process).unwrap_or(0);
        self.world.add(computer, core, Program::Crew(Crew::new(members)))
    }

    fn first_part(&self, task: usize, work: &Work) -> Part {
        let size = work.size_bytes;
        match work.task {
            Task::RoundTrips { count, warm_up } => Part::asker(size, count, warm_up),
            Task::Flood { count, .. } => Part::flooder(size, count),
            Task::Paced { count, mean_gap, .. } => {
                let seed = self.federation.seed.split("task").split_index(task as u64);
                Part::pacer(size, count, mean_gap, seed)
            }
            Task::Entities { .. } => Part::player(Rc::clone(&self.scripts[task])),
        }
    }

    fn other_part(&self, task: usize, work: &Work) -> Part {
        match work.task {
            Task::RoundTrips { .. } => Part::answerer(work.size_bytes),
            Task::Flood { .. } | Task::Paced { .. } => {
                Part::listener(work.size_bytes, self.updates(task), false)
            }
            Task::Entities { .. } => Part::listener(work.size_bytes, self.updates(task), true),
        }
    }

    /// Updates, or round trips, of a task.
    fn updates(&self, task: usize) -> u64 {
        match self.federation.work[task].task {
            Task::Entities { .. } => self.scripts[task].len() as u64,
            other => other.count().into(),
        }
    }

    /// Until everything is done, or `progress` wants no more.
    fn work(&mut self, progress: &mut impl FnMut(f64) -> bool) -> Result<(), RunError> {
        let mut last = (0, self.world.now());
        let expected: u64 = (0..self.federation.work.len()).map(|task| self.expected(task)).sum();
        // What goes by best effort may be dropped on the way.
        let over = last.1 + self.entities_end() + SETTLE;
        loop {
            self.world.run_until(self.world.now() + LOOK);
            self.trouble()?;
            let parts = || self.world.crews().flat_map(Crew::members).map(Member::part);
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
            // One who paces may pause for long.
            let paused = parts().filter_map(Part::poll_timeout).max();
            if self.world.now().since(last.1.max(paused.unwrap_or(Moment::ZERO))) > READY_MAX {
                return Err(stalled("a reflect"));
            }
        }
    }

    /// Times that are taken of a task: one a round trip, or one a reflect.
    fn expected(&self, task: usize) -> u64 {
        self.updates(task) * u64::from(self.federation.work[task].task.subscribers())
    }

    /// How long entities are at work; nothing without entities, where nothing may be lost.
    fn entities_end(&self) -> Duration {
        let runs = self.federation.work.iter().filter_map(|work| match work.task {
            Task::Entities { run, .. } => Some(run),
            _ => None,
        });
        runs.max().unwrap_or(Duration::MAX / 4)
    }

    fn wait(&mut self, what: &'static str, done: impl Fn(&World) -> bool) -> Result<(), RunError> {
        let until = self.world.now() + READY_MAX;
        while !done(&self.world) {
            self.trouble()?;
            if self.world.now() >= until {
                return Err(stalled(what));
            }
            self.world.run_until(self.world.now() + LOOK);
        }
        Ok(())
    }

    fn trouble(&self) -> Result<(), RunError> {
        for (index, crew) in self.world.crews().enumerate() {
            if let Some(why) = crew.members().iter().find_map(Member::trouble) {
                return Err(RunError::Federate { task: index / 2 + 1, why: why.to_owned() });
            }
        }
        Ok(())
    }

    fn busy_of_nodes(&self) -> Vec<f64> {
        self.nodes.iter().map(|node| self.world.wires.busy_ns(*node)).collect()
    }

    fn busy_of(&self, crews: &Crews) -> [f64; 2] {
        crews.map(|crew| self.world.wires.busy_ns(crew))
    }

    fn report(&self, began: Moment, nodes_before: &[f64], federates_before: &[[f64; 2]]) -> Report {
        let crews: Vec<&Crew> = self.world.crews().collect();
        let done = self.federation.work.iter().enumerate().map(|(task, work)| {
            let parts = || {
                let members = crews[2 * task].members().iter().chain(crews[2 * task + 1].members());
                members.map(Member::part)
            };
            let mut times_ns: Vec<u64> = parts().flat_map(|part| part.times_ns.iter().copied()).collect();
            times_ns.sort_unstable();
            let from = parts().filter_map(|part| part.began).min().unwrap_or(began);
            let to = parts().filter_map(|part| part.finished).max().unwrap_or(self.world.now());
            let (after, before) = (self.busy_of(&self.crews[task]), federates_before[task]);
            Done {
                work: *work,
                reflects: times_ns.len() as u64,
                expected: self.expected(task),
                times_ns,
                took: to.since(from),
                federates_ns: [after[0] - before[0], after[1] - before[1]],
            }
        });
        let nodes_ns =
            self.busy_of_nodes().into_iter().zip(nodes_before).map(|(after, before)| after - before);
        Report {
            done: done.collect(),
            nodes_ns: nodes_ns.collect(),
            took: self.world.now().since(began),
            events: self.world.wires.events,
            digest: self.world.wires.digest,
        }
    }
}

fn stalled(what: &'static str) -> RunError {
    RunError::Stalled { what, seconds: READY_MAX.as_secs() }
}

fn all(world: &World, is: fn(&Member) -> bool) -> bool {
    world.crews().flat_map(Crew::members).all(is)
}
