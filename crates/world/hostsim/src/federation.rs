//! The subject of a simulation: nodes, computers, and the tasks of federates.

use std::sync::Arc;
use std::time::Duration;

use base::{Moment, Seed};
use kernel::TopologyKind;
use netmodel::arrivals::{Gaps, Sources};
use netmodel::units::{Picos, Share};
use netsim::cluster::Ethernet;
use workload::{ConfigError, Emission, Generator, Mode, Workload};

use crate::model::{HostModel, ModelError};
use crate::work::{SIZE_BYTES_MAX, Task, Update, Work};

/// The topology of the nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Joined {
    /// Each node connects to the one before it.
    Chain,
    /// Each node connects to the first.
    Star,
    /// Each node connects to its parent in a [`tree_of_layers`](router::topology::tree_of_layers):
    /// the number of nodes in each layer below the root, whose sum is that of all nodes but one.
    Tree(Arc<[usize]>),
    /// Each node connects to every other one, with triads (Primary, PopUp, PullDown).
    Mesh,
}

impl Joined {
    /// The topology in the nodes' configuration.
    pub(crate) fn topology(&self) -> TopologyKind {
        match self {
            Joined::Chain | Joined::Star | Joined::Tree(_) => TopologyKind::Tree,
            Joined::Mesh => TopologyKind::Mesh,
        }
    }

    /// The node that a node connects to by configuration. In a mesh it learns of the others.
    pub fn target(&self, node: usize) -> Option<usize> {
        match self {
            Joined::Chain => node.checked_sub(1),
            Joined::Tree(layers) => router::topology::parent(layers, node),
            Joined::Star | Joined::Mesh => (node > 0).then_some(0),
        }
    }

    /// The name of the topology.
    pub const fn name(&self) -> &'static str {
        match self {
            Joined::Chain => "chain",
            Joined::Star => "star",
            Joined::Tree(_) => "tree",
            Joined::Mesh => "mesh",
        }
    }
}

/// Multicast groups that all nodes share, beside their links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// Number of groups; classes are spread over them.
    pub groups: u16,
    /// Minimum rate of congestion control, in bit/s.
    pub rate_min: u64,
    /// Share of received datagrams that each node loses.
    pub loss: Share,
}

impl Default for Multicast {
    /// The defaults of a live node, without loss.
    fn default() -> Self {
        Self { groups: 8, rate_min: 100_000_000, loss: Share::NONE }
    }
}

/// Maximum number of multicast groups.
pub const GROUPS_MAX: u16 = 64;

/// Maximum number of nodes.
pub const NODES_MAX: u16 = 1_000;
/// Maximum number of updates or round trips of a task.
pub const COUNT_MAX: u32 = 10_000_000;
/// Maximum number of objects of a workload or a recording.
pub const OBJECTS_MAX: u64 = 100_000;
/// Maximum number of federates of a task that begin.
pub const PUBLISHERS_MAX: u32 = 1_000;
/// Maximum number of subscribers of a task at each node.
pub const SUBSCRIBERS_MAX: u32 = 1_000;
/// Maximum number of federates of a group of a plan.
pub const FEDERATES_MAX: u64 = 10_000;
/// Maximum number of objects that the federates of a plan have at a time.
pub const PLAN_OBJECTS_MAX: u64 = 1_000_000;

/// Placement of processes on computers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// All processes on one computer.
    Together,
    /// Each node on a computer of its own, with its federates.
    ByNode,
    /// Each process on a computer of its own.
    Apart,
}

/// Recorded updates of one federate, in order of time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording(Arc<[Update]>);

impl Recording {
    /// The updates, in any order.
    pub fn new(mut updates: Vec<Update>) -> Self {
        updates.sort_by_key(|update| update.at);
        Self(updates.into())
    }

    /// The updates, in order.
    pub fn updates(&self) -> &[Update] {
        &self.0
    }

    /// Number of objects: that of the last one and all before it.
    pub fn objects(&self) -> u64 {
        self.0.iter().map(|update| u64::from(update.object) + 1).max().unwrap_or(0)
    }

    /// The moment of the last update.
    pub fn length(&self) -> Duration {
        self.0.last().map_or(Duration::ZERO, |update| update.at)
    }
}

/// A federation to be simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct Federation {
    /// Number of nodes.
    pub nodes: u16,
    /// The topology of the nodes.
    pub joined: Joined,
    /// Multicast groups of the nodes; not with a single node.
    pub multicast: Option<Multicast>,
    /// The tasks of federates, which all run at the same time.
    pub work: Vec<Work>,
    /// Workloads of entities, which tasks refer to by index.
    pub workloads: Vec<Workload>,
    /// Recorded updates, which tasks refer to by index.
    pub recordings: Vec<Recording>,
    /// The model of the computers.
    pub hosts: HostModel,
    /// Placement of processes on computers.
    pub placement: Placement,
    /// Each process stays on the core that [`Federation::core`] gives; otherwise any idle core of
    /// its computer runs it.
    pub pinned: bool,
    /// The network between computers.
    pub ethernet: Ethernet,
    /// The source of all randomness.
    pub seed: Seed,
}

/// An invalid federation.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FederationError {
    /// An invalid host model.
    #[error("host model: {0}")]
    Hosts(#[from] ModelError),
    /// A number out of range.
    #[error("{setting} must be from {min} to {max}, not {got}")]
    Range {
        /// Name of the number.
        setting: &'static str,
        /// Least valid value.
        min: u64,
        /// Greatest valid value.
        max: u64,
        /// The given value.
        got: u64,
    },
    /// An invalid workload.
    #[error("task {task}: {why}")]
    Workload {
        /// Number of the task, from 1.
        task: usize,
        /// The reason.
        why: ConfigError,
    },
    /// A task refers to a workload that does not exist.
    #[error("task {task} has workload {workload}, but there are {count}")]
    NoWorkload {
        /// Number of the task, from 1.
        task: usize,
        /// Index of the workload, from 0.
        workload: usize,
        /// Number of workloads.
        count: usize,
    },
    /// A task refers to a recording that does not exist.
    #[error("task {task} has recording {recording}, but there are {count}")]
    NoRecording {
        /// Number of the task, from 1.
        task: usize,
        /// Index of the recording, from 0.
        recording: usize,
        /// Number of recordings.
        count: usize,
    },
    /// A task refers to a node that does not exist.
    #[error("task {task} is at node {node}, but nodes are numbered from 0 to {last}")]
    Node {
        /// Number of the task, from 1.
        task: usize,
        /// Number of the node.
        node: u16,
        /// Number of the last node.
        last: u16,
    },
    /// A task without receiving nodes, or with one that is named twice.
    #[error("task {task}: `to` names {}", twice.map_or("no node".to_owned(), |node| format!("node {node} twice")))]
    To {
        /// Number of the task, from 1.
        task: usize,
        /// The node that is named twice; `None` if no node is named.
        twice: Option<u16>,
    },
    /// Round trips with several receiving nodes.
    #[error("task {task}: round trips are with one node, but `to` names {count}")]
    RoundTrips {
        /// Number of the task, from 1.
        task: usize,
        /// Number of nodes that it names.
        count: usize,
    },
    /// Multicast groups with a single node.
    #[error("multicast groups are for two nodes or more, but there is one")]
    MulticastAlone,
    /// A tree whose layers have another number of nodes than the federation.
    #[error("the layers of the tree have {layers} nodes with the root, but there are {nodes} nodes")]
    Layers {
        /// Number of nodes in all layers.
        layers: usize,
        /// Number of nodes of the federation.
        nodes: u16,
    },
    /// Multicast groups that lose every datagram.
    #[error("the loss of multicast groups is 100%: nobody would hear anybody")]
    MulticastLoss,
}

/// A process of a federation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// A node, by its number.
    Node(u16),
    /// The process of a federate that begins a task.
    Publisher {
        /// Index of the task.
        task: usize,
        /// Its number among those of the task, from 0.
        at: usize,
    },
    /// The process of the other federates of a task at one node.
    Others {
        /// Index of the task.
        task: usize,
        /// Index of the node in [`Work::to`].
        at: usize,
    },
}

pub(crate) fn range(setting: &'static str, min: u64, max: u64, got: u64) -> Result<(), FederationError> {
    let fits = (min..=max).contains(&got);
    if fits { Ok(()) } else { Err(FederationError::Range { setting, min, max, got }) }
}

impl Federation {
    /// A chain of nodes, all of whose processes are on one computer of this kind and run on any core.
    pub fn chain(nodes: u16, hosts: HostModel, work: Vec<Work>, seed: Seed) -> Self {
        Self {
            nodes,
            joined: Joined::Chain,
            multicast: None,
            work,
            workloads: Vec::new(),
            recordings: Vec::new(),
            hosts,
            placement: Placement::Together,
            pinned: false,
            ethernet: Ethernet::GIGABIT,
            seed,
        }
    }

    /// The number of the core that a process stays on, to be taken modulo the number of cores;
    /// `None` if processes are not pinned.
    ///
    /// Neighbours along a chain get different cores.
    ///
    /// # Panics
    /// If the task or the node does not exist.
    pub fn core(&self, process: Process) -> Option<u32> {
        let number = match process {
            Process::Node(node) => u32::from(node) + 1,
            Process::Publisher { task, at } => u32::from(self.work[task].from) + at as u32,
            Process::Others { task, at } => u32::from(self.work[task].to[at]) + 2,
        };
        self.pinned.then_some(number)
    }

    /// Checks the ranges of all settings.
    ///
    /// # Errors
    /// [`FederationError`]: the first setting that is invalid.
    pub fn check(&self) -> Result<(), FederationError> {
        self.check_network()?;
        range("the number of tasks", 1, 1_000, self.work.len() as u64)?;
        for (index, work) in self.work.iter().enumerate() {
            self.check_task(index, work)?;
        }
        Ok(())
    }

    /// Checks computers and nodes, but no tasks.
    pub(crate) fn check_network(&self) -> Result<(), FederationError> {
        self.hosts.check()?;
        range("the number of nodes", 1, NODES_MAX.into(), self.nodes.into())?;
        if let Joined::Tree(layers) = &self.joined {
            for &width in layers.iter() {
                range("the number of nodes in a layer", 1, NODES_MAX.into(), width as u64)?;
            }
            let layers = layers.iter().fold(1, |sum: usize, width| sum.saturating_add(*width));
            if layers != usize::from(self.nodes) {
                return Err(FederationError::Layers { layers, nodes: self.nodes });
            }
        }
        if let Some(multicast) = &self.multicast {
            range("the number of multicast groups", 1, GROUPS_MAX.into(), multicast.groups.into())?;
            if self.nodes == 1 {
                return Err(FederationError::MulticastAlone);
            }
            if multicast.loss >= Share::ALL {
                return Err(FederationError::MulticastLoss);
            }
        }
        Ok(())
    }

    fn check_task(&self, index: usize, work: &Work) -> Result<(), FederationError> {
        self.check_places(index + 1, work)?;
        let (min, max) = (work.task.size_bytes_min().into(), SIZE_BYTES_MAX.into());
        range("the size of an update in bytes", min, max, work.size_bytes.into())?;
        let subscribers = work.task.subscribers();
        range("the number of subscribers", 1, SUBSCRIBERS_MAX.into(), subscribers.into())?;
        let publishers = work.task.publishers();
        range("the number of publishers", 1, PUBLISHERS_MAX.into(), publishers.into())?;
        let count = match work.task {
            Task::Entities { workload, run, .. } => {
                let objects = self.workload(index, workload)?.objects();
                range("the number of objects of a workload", 1, OBJECTS_MAX, objects)?;
                self.updates(index, workload, run)?.count() as u64
            }
            Task::Replay { recording, .. } => {
                let recording = self.recording(index, recording)?;
                range("the number of objects of a recording", 1, OBJECTS_MAX, recording.objects())?;
                let sizes = recording.updates().iter().map(|update| update.size_bytes);
                range("the size of a recorded update in bytes", 0, max, sizes.max().unwrap_or(0).into())?;
                recording.updates().len() as u64
            }
            _ => work.task.count().into(),
        };
        range("the count of a task", 1, COUNT_MAX.into(), count)
    }

    /// Checks that a task refers to existing nodes, each once.
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

    /// Number of objects of each federate that begins a task.
    ///
    /// # Panics
    /// If the task, its workload or its recording does not exist.
    pub fn objects(&self, task: usize) -> u64 {
        match self.work[task].task {
            Task::Entities { workload, .. } => self.workloads[workload].objects(),
            Task::Replay { recording, .. } => self.recordings[recording].objects(),
            _ => 1,
        }
    }

    /// All updates of a task whose moments are known in advance, in order: those of entities, of a
    /// recording and of a federate with a pace. Empty for other tasks. Returns at most [`COUNT_MAX`] updates and one
    /// more, by which [`Federation::check`] recognizes a task that is too large.
    ///
    /// # Errors
    /// [`FederationError`]: the workload is invalid, or there is no such recording.
    ///
    /// # Panics
    /// If the task does not exist.
    pub fn script(&self, task: usize) -> Result<Vec<Update>, FederationError> {
        match self.work[task].task {
            Task::Entities { workload, run, .. } => Ok(self.updates(task, workload, run)?.collect()),
            Task::Paced { count, mean_gap, .. } => Ok(self.paced_updates(task, count, mean_gap)),
            Task::Replay { recording, .. } => {
                let least = self.work[task].size_bytes;
                let sized = |update: &Update| Update { size_bytes: update.size_bytes.max(least), ..*update };
                Ok(self.recording(task, recording)?.updates().iter().map(sized).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The updates of a federate that makes `count` of them at random moments.
    fn paced_updates(&self, task: usize, count: u32, mean_gap: Duration) -> Vec<Update> {
        let mean = Picos::from_nanos(u64::try_from(mean_gap.as_nanos()).unwrap_or(u64::MAX));
        let mut gaps = Sources::new(Gaps::Poisson(mean), 1, self.seed_of(task));
        let size_bytes = self.work[task].size_bytes;
        let mut nanos = 0;
        let update = |_| {
            // Whole nanoseconds; each gap is counted from the rounded moment before it.
            nanos = gaps.next(0, Picos::from_nanos(nanos)).0.div_ceil(1_000);
            Update { at: Duration::from_nanos(nanos), object: 0, size_bytes, reliable: true }
        };
        (0..count).map(update).collect()
    }

    /// The seed of everything random in a task.
    pub(crate) fn seed_of(&self, task: usize) -> Seed {
        self.seed.split("task").split_index(task as u64)
    }

    /// The workload of a task.
    fn workload(&self, task: usize, workload: usize) -> Result<&Workload, FederationError> {
        let count = self.workloads.len();
        self.workloads.get(workload).ok_or(FederationError::NoWorkload { task: task + 1, workload, count })
    }

    /// The recording of a task.
    fn recording(&self, task: usize, recording: usize) -> Result<&Recording, FederationError> {
        let count = self.recordings.len();
        let none = FederationError::NoRecording { task: task + 1, recording, count };
        self.recordings.get(recording).ok_or(none)
    }

    /// The updates of the entities of a task, in order of time.
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
        // Objects are numbered consecutively through all classes.
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
