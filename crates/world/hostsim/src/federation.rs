//! What is simulated: nodes, computers, and what federates do.

use std::time::Duration;

use base::{Moment, Seed};
use fabric::arrivals::{Gaps, Sources};
use fabric::units::{Picos, Share};
use kernel::TopologyKind;
use netsim::cluster::Ethernet;
use workload::{ConfigError, Emission, Generator, Mode, Workload};

use crate::model::{HostModel, ModelError};
use crate::work::{SIZE_BYTES_MAX, SIZE_BYTES_MIN, Task, Update, Work};

/// How nodes are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    /// Each to the one before it.
    Chain,
    /// Each to the first.
    Star,
    /// Each to every other one, by way of triads (Primary, PopUp, PullDown).
    Mesh,
}

impl Joined {
    /// What nodes are configured with.
    pub(crate) fn topology(self) -> TopologyKind {
        match self {
            Joined::Chain | Joined::Star => TopologyKind::Tree,
            Joined::Mesh => TopologyKind::Mesh,
        }
    }

    /// Which node a node connects to by its configuration; in a mesh it learns of the others.
    pub(crate) fn target(self, node: usize) -> Option<usize> {
        match self {
            Joined::Chain => node.checked_sub(1),
            Joined::Star | Joined::Mesh => (node > 0).then_some(0),
        }
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Joined::Chain => "chain",
            Joined::Star => "star",
            Joined::Mesh => "mesh",
        }
    }
}

/// Multicast groups that all nodes share, beside their links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// How many; classes are spread over them.
    pub groups: u16,
    /// Congestion control does not send slower than this, in bit/s.
    pub rate_min: u64,
    /// Datagrams that each node loses of what comes to it.
    pub loss: Share,
}

impl Default for Multicast {
    /// What a live node does unless it is told otherwise.
    fn default() -> Self {
        Self { groups: 8, rate_min: 100_000_000, loss: Share::NONE }
    }
}

/// Most multicast groups.
pub const GROUPS_MAX: u16 = 64;

/// Most nodes.
pub const NODES_MAX: u16 = 1_000;
/// Most updates or round trips of a task, and most subscribers of one.
pub const COUNT_MAX: u32 = 10_000_000;
/// Most objects of a workload.
pub const OBJECTS_MAX: u64 = 100_000;
/// Most subscribers of a task.
pub const SUBSCRIBERS_MAX: u32 = 1_000;

/// Where processes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// All on one computer.
    Together,
    /// Each node on a computer of its own, with its federates.
    ByNode,
    /// Each process on a computer of its own.
    Apart,
}

/// A federation to be simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct Federation {
    /// Nodes.
    pub nodes: u16,
    /// How they are joined.
    pub joined: Joined,
    /// What nodes share beside links; not with a single node.
    pub multicast: Option<Multicast>,
    /// What federates do, all at the same time.
    pub work: Vec<Work>,
    /// What entities do.
    pub workloads: Vec<Workload>,
    /// Computers.
    pub hosts: HostModel,
    /// Where processes run.
    pub placement: Placement,
    /// Each process stays on one core of its computer, as [`Federation::core`] has it; else whichever is idle runs it.
    pub pinned: bool,
    /// The network between computers.
    pub ethernet: Ethernet,
    /// Where chance comes from.
    pub seed: Seed,
}

/// A federation that makes no sense.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FederationError {
    /// Computers.
    #[error("host model: {0}")]
    Hosts(#[from] ModelError),
    /// Too few or too many of something.
    #[error("{what} must be from {min} to {max}, not {got}")]
    Range {
        /// What is counted.
        what: &'static str,
        /// Least.
        min: u64,
        /// Most.
        max: u64,
        /// What was asked for.
        got: u64,
    },
    /// Entities that cannot be.
    #[error("task {task}: {why}")]
    Workload {
        /// Which task, from 1.
        task: usize,
        /// Why.
        why: ConfigError,
    },
    /// Entities of a workload that there is not.
    #[error("task {task} has workload {workload}, but there are {count}")]
    NoWorkload {
        /// Which task, from 1.
        task: usize,
        /// Which workload, from 0.
        workload: usize,
        /// How many there are.
        count: usize,
    },
    /// A task at a node that there is not.
    #[error("task {task} is at node {node}, but nodes are numbered from 0 to {last}")]
    Node {
        /// Which task, from 1.
        task: usize,
        /// Which node.
        node: u16,
        /// The last one.
        last: u16,
    },
    /// A task without others, or with others twice at one node.
    #[error("task {task}: `to` names {}", twice.map_or("no node".to_owned(), |node| format!("node {node} twice")))]
    To {
        /// Which task, from 1.
        task: usize,
        /// The node that is named twice; none is named without.
        twice: Option<u16>,
    },
    /// Round trips with several others.
    #[error("task {task}: round trips are with one node, but `to` names {count}")]
    RoundTrips {
        /// Which task, from 1.
        task: usize,
        /// How many nodes.
        count: usize,
    },
    /// Groups of one node.
    #[error("multicast groups are for two nodes or more, but there is one")]
    MulticastAlone,
    /// Groups by which nothing comes.
    #[error("the loss of multicast groups is 100%: nobody would hear anybody")]
    MulticastLoss,
}

/// A process of a federation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// A node, by its number.
    Node(u16),
    /// The process of the federate that begins a task, by the number of the task.
    First(usize),
    /// That of the others at one node.
    Others {
        /// By the number of the task.
        task: usize,
        /// Which of the nodes of the others.
        at: usize,
    },
}

impl Federation {
    /// The number of the core on which a process stays, if processes do; to be counted around on a computer with fewer cores.
    ///
    /// Neighbours along a chain are on different cores.
    ///
    /// # Panics
    /// There is no such task, or no such node of it.
    pub fn core(&self, process: Process) -> Option<u32> {
        let number = match process {
            Process::Node(node) => u32::from(node) + 1,
            Process::First(task) => self.work[task].from.into(),
            Process::Others { task, at } => u32::from(self.work[task].to[at]) + 2,
        };
        self.pinned.then_some(number)
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// [`FederationError`].
    pub fn check(&self) -> Result<(), FederationError> {
        self.hosts.check()?;
        let range = |what, min, max, got| {
            let fits = (min..=max).contains(&got);
            if fits { Ok(()) } else { Err(FederationError::Range { what, min, max, got }) }
        };
        range("the number of nodes", 1, NODES_MAX.into(), self.nodes.into())?;
        range("the number of tasks", 1, 1_000, self.work.len() as u64)?;
        if let Some(multicast) = &self.multicast {
            range("the number of multicast groups", 1, GROUPS_MAX.into(), multicast.groups.into())?;
            if self.nodes == 1 {
                return Err(FederationError::MulticastAlone);
            }
            if multicast.loss >= Share::ALL {
                return Err(FederationError::MulticastLoss);
            }
        }
        for (index, work) in self.work.iter().enumerate() {
            self.check_places(index + 1, work)?;
            let (min, max) = (SIZE_BYTES_MIN.into(), SIZE_BYTES_MAX.into());
            range("the size of an update in bytes", min, max, work.size_bytes.into())?;
            let subscribers = work.task.subscribers();
            range("the number of subscribers", 1, SUBSCRIBERS_MAX.into(), subscribers.into())?;
            let count = match work.task {
                Task::Entities { workload, run, .. } => {
                    let objects = self.workload(index, workload)?.objects();
                    range("the number of objects of a workload", 1, OBJECTS_MAX, objects)?;
                    self.updates(index, workload, run)?.count() as u64
                }
                _ => work.task.count().into(),
            };
            range("the count of a task", 1, COUNT_MAX.into(), count)?;
        }
        Ok(())
    }

    /// Whether a task is at nodes that there are.
    fn check_places(&self, task: usize, work: &Work) -> Result<(), FederationError> {
        let last = self.nodes - 1;
        let mut places = std::iter::once(work.from).chain(work.to.iter().copied());
        if let Some(node) = places.find(|node| *node > last) {
            return Err(FederationError::Node { task, node, last });
        }
        let repeated = |(at, node): &(usize, &u16)| work.to[..*at].contains(node);
        let twice = work.to.iter().enumerate().find(repeated).map(|(_, node)| *node);
        if work.to.is_empty() || twice.is_some() {
            return Err(FederationError::To { task, twice });
        }
        match (work.task, work.to.len()) {
            (Task::RoundTrips { .. }, count @ 2..) => Err(FederationError::RoundTrips { task, count }),
            _ => Ok(()),
        }
    }

    /// Objects of the federate that begins a task.
    ///
    /// # Panics
    /// There is no such task, or no such workload of it.
    pub fn objects(&self, task: usize) -> u64 {
        match self.work[task].task {
            Task::Entities { workload, .. } => self.workloads[workload].objects(),
            _ => 1,
        }
    }

    /// All updates of a task whose moments are known before: of entities, and of one who has a pace; in order. None of other tasks.
    /// [`COUNT_MAX`] of them, and one, at most.
    ///
    /// # Errors
    /// [`FederationError`]: what is wrong with its workload.
    ///
    /// # Panics
    /// There is no such task.
    pub fn script(&self, task: usize) -> Result<Vec<Update>, FederationError> {
        match self.work[task].task {
            Task::Entities { workload, run, .. } => Ok(self.updates(task, workload, run)?.collect()),
            Task::Paced { count, mean_gap, .. } => Ok(self.at_its_pace(task, count, mean_gap)),
            _ => Ok(Vec::new()),
        }
    }

    /// The updates of one who makes so many, at random moments.
    fn at_its_pace(&self, task: usize, count: u32, mean_gap: Duration) -> Vec<Update> {
        let mean = Picos::from_nanos(u64::try_from(mean_gap.as_nanos()).unwrap_or(u64::MAX));
        let mut gaps = Sources::new(Gaps::Poisson(mean), 1, self.seed_of(task));
        let size_bytes = self.work[task].size_bytes;
        let mut nanos = 0;
        let update = |_| {
            // Whole nanoseconds, each counted from the one before.
            nanos = gaps.next(0, Picos::from_nanos(nanos)).0.div_ceil(1_000);
            Update { at: Duration::from_nanos(nanos), object: 0, size_bytes, reliable: true }
        };
        (0..count).map(update).collect()
    }

    /// What is random in a task comes of this.
    pub(crate) fn seed_of(&self, task: usize) -> Seed {
        self.seed.split("task").split_index(task as u64)
    }

    /// The workload of a task.
    fn workload(&self, task: usize, workload: usize) -> Result<&Workload, FederationError> {
        let count = self.workloads.len();
        self.workloads.get(workload).ok_or(FederationError::NoWorkload { task: task + 1, workload, count })
    }

    /// The updates of the entities of a task.
    fn updates(
        &self,
        task: usize,
        workload: usize,
        run: Duration,
    ) -> Result<impl Iterator<Item = Update>, FederationError> {
        let workload = self.workload(task, workload)?;
        let least = self.work[task].size_bytes;
        let wrong = |why| FederationError::Workload { task: task + 1, why };
        let seed = self.seed_of(task);
        let mut generator = Generator::new(workload.clone(), seed, Moment::ZERO).map_err(wrong)?;
        // Objects are numbered from class to class.
        let mut firsts = vec![0];
        firsts.extend(workload.classes.iter().scan(0, |sum, class| {
            *sum += class.count;
            Some(*sum)
        }));
        let end = Moment::ZERO + run;
        let emissions = std::iter::from_fn(move || generator.poll(end));
        let update = move |emission: Emission| Update {
            at: emission.at.since(Moment::ZERO),
            object: firsts[emission.object.class as usize] + emission.object.number,
            size_bytes: emission.size.max(least),
            reliable: emission.mode == Mode::One,
        };
        Ok(emissions.take(COUNT_MAX as usize + 1).map(update))
    }
}
