//! The file: TOML. Times, rates and sizes are texts with a unit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Seed;
use bench::federation as live;
use fabric::units::Picos;
use hostsim::{Federation, HostModel, Joined, Placement, Process, SIZE_BYTES_MIN, Task, Update, Work};
use netsim::cluster::{Ethernet, Framing};
use serde::Deserialize;
use workload::Workload;

use super::hosts;
use crate::sim::network::{Rate, Size, Time, workload as read_workload};

/// A federation: nodes, computers, what federates do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[allow(dead_code)] // looked at before
    kind: String,
    /// A line for people.
    pub(super) title: String,
    nodes: Nodes,
    #[serde(default)]
    hosts: Hosts,
    network: Option<Network>,
    tasks: Vec<TaskTable>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    count: u16,
    #[serde(default)]
    joined: JoinedName,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum JoinedName {
    #[default]
    Chain,
    Star,
    Mesh,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hosts {
    /// A host model, by its path from that of the scenario.
    model: Option<PathBuf>,
    #[serde(default)]
    placement: PlacementName,
    /// Each process stays on one core.
    #[serde(default)]
    pinned: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlacementName {
    #[default]
    Together,
    ByNode,
    Apart,
}

/// Between computers.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    rate: Rate,
    #[serde(default)]
    delay: Time,
    #[serde(default)]
    forwarding: Time,
    #[serde(default)]
    interrupt: Time,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case", deny_unknown_fields)]
enum TaskTable {
    RoundTrips {
        from: u16,
        to: u16,
        size: Size,
        count: u32,
        #[serde(default = "warm_up")]
        warm_up: u32,
    },
    Flood {
        from: u16,
        to: u16,
        size: Size,
        count: u32,
        #[serde(default = "one")]
        subscribers: u32,
    },
    Paced {
        from: u16,
        to: u16,
        size: Size,
        count: u32,
        mean_gap: Time,
        #[serde(default = "one")]
        subscribers: u32,
    },
    Entities {
        from: u16,
        to: u16,
        /// A preset, or a file.
        workload: String,
        /// Of a preset.
        objects: Option<u32>,
        run: Time,
        #[serde(default = "one")]
        subscribers: u32,
    },
}

fn one() -> u32 {
    1
}

fn warm_up() -> u32 {
    50
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// What is wrong, with line and column where TOML says them.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        match (scenario.placement(), scenario.network) {
            (Placement::Together, Some(_)) => {
                Err("[network]: leave it out: with `placement = \"together\"` all is on one computer"
                    .to_owned())
            }
            (Placement::ByNode | Placement::Apart, None) => {
                Err("[network] is missing: what is between the computers (`rate`, `delay`)".to_owned())
            }
            _ => Ok(scenario),
        }
    }

    fn placement(&self) -> Placement {
        match self.hosts.placement {
            PlacementName::Together => Placement::Together,
            PlacementName::ByNode => Placement::ByNode,
            PlacementName::Apart => Placement::Apart,
        }
    }

    fn joined(&self) -> Joined {
        match self.nodes.joined {
            JoinedName::Chain => Joined::Chain,
            JoinedName::Star => Joined::Star,
            JoinedName::Mesh => Joined::Mesh,
        }
    }

    /// What the simulator runs. `folder` is that of the file; `model` replaces the host model that it names.
    ///
    /// # Errors
    /// A number out of range, or no host model.
    pub(super) fn federation(
        &self,
        folder: &Path,
        model: Option<&Path>,
        seed: Seed,
    ) -> Result<Federation, String> {
        let named = self.hosts.model.as_ref().map(|path| folder.join(path));
        let hosts = match model.map(Path::to_owned).or(named) {
            Some(path) => hosts::read(&path)?,
            None => HostModel::EXAMPLE,
        };
        let mut workloads = Vec::new();
        let work =
            self.tasks.iter().map(|task| task.work(folder, &mut workloads)).collect::<Result<_, _>>()?;
        let federation = Federation {
            nodes: self.nodes.count,
            joined: self.joined(),
            work,
            workloads,
            hosts,
            placement: self.placement(),
            pinned: self.hosts.pinned,
            ethernet: self.network.map_or(Ethernet::GIGABIT, |network| network.ethernet()),
            seed,
        };
        federation.check().map_err(|why| why.to_string())?;
        Ok(federation)
    }
}

impl Network {
    fn ethernet(self) -> Ethernet {
        Ethernet {
            rate: self.rate.0.bits_per_s(),
            propagation: duration(self.delay.0),
            forwarding: duration(self.forwarding.0),
            interrupt: duration(self.interrupt.0),
            framing: Framing::TCP,
        }
    }
}

fn duration(time: Picos) -> Duration {
    Duration::from_nanos(time.0 / 1_000)
}

impl TaskTable {
    /// The task. A workload is read, and added to those that there are.
    fn work(&self, folder: &Path, workloads: &mut Vec<Workload>) -> Result<Work, String> {
        let (task, from, to, size) = match *self {
            TaskTable::Entities { from, to, ref workload, objects, run, subscribers } => {
                workloads.push(read_workload(workload, ("[[tasks]]", "objects", objects), folder)?);
                let task =
                    Task::Entities { workload: workloads.len() - 1, run: duration(run.0), subscribers };
                (task, from, to, Size(SIZE_BYTES_MIN.into()))
            }
            TaskTable::RoundTrips { from, to, size, count, warm_up } => {
                (Task::RoundTrips { count, warm_up }, from, to, size)
            }
            TaskTable::Flood { from, to, size, count, subscribers } => {
                (Task::Flood { count, subscribers }, from, to, size)
            }
            TaskTable::Paced { from, to, size, count, mean_gap, subscribers } => {
                if mean_gap.0 == Picos::ZERO {
                    return Err("[[tasks]]: `mean_gap` is zero: that is a `flood`".to_owned());
                }
                (Task::Paced { count, mean_gap: duration(mean_gap.0), subscribers }, from, to, size)
            }
        };
        let size_bytes = u32::try_from(size.0).unwrap_or(u32::MAX);
        Ok(Work { task, size_bytes, from, to })
    }
}

/// The same for real processes on this machine.
///
/// # Errors
/// Something that this machine cannot be.
pub(super) fn live_plan(federation: &Federation) -> Result<live::Plan, String> {
    if federation.placement != Placement::Together {
        return Err(
            "[hosts]: this machine is one computer: `placement` other than `together` can only be simulated"
                .to_owned(),
        );
    }
    let work =
        (0..federation.work.len()).map(|task| live_work(federation, task)).collect::<Result<_, _>>()?;
    let joined = match federation.joined {
        Joined::Chain => bench::Joined::Chain,
        Joined::Star => bench::Joined::Star,
        Joined::Mesh => bench::Joined::Mesh,
    };
    let cores = federation.pinned.then(|| cores(federation));
    Ok(live::Plan { nodes: federation.nodes.into(), joined, work, cores })
}

/// Where the processes of a federation stay.
fn cores(federation: &Federation) -> live::Cores {
    let core = |process| federation.core(process).map_or(0, |core| core as usize);
    let tasks = 0..federation.work.len();
    live::Cores {
        nodes: (0..federation.nodes).map(|node| core(Process::Node(node))).collect(),
        federates: tasks.map(|task| [core(Process::First(task)), core(Process::Others(task))]).collect(),
    }
}

fn live_work(federation: &Federation, index: usize) -> Result<live::Work, String> {
    let work = &federation.work[index];
    let task = match work.task {
        Task::RoundTrips { count, warm_up } => {
            live::Task::RoundTrips { count: count.into(), warm_up: warm_up.into() }
        }
        Task::Flood { count, subscribers } => {
            live::Task::Flood { count: count.into(), subscribers: subscribers as usize }
        }
        Task::Paced { .. } => {
            let why =
                "[[tasks]]: `paced` can only be simulated: processes have no timers that are fine enough";
            return Err(why.to_owned());
        }
        Task::Entities { workload, subscribers, .. } => {
            let script = federation.script(index).map_err(|why| why.to_string())?;
            let update = |update: &Update| bench::entities::Update {
                at: update.at,
                object: update.object,
                size: update.size_bytes,
                reliable: update.reliable,
            };
            live::Task::Entities {
                objects: federation.workloads[workload].objects() as usize,
                script: script.iter().map(update).collect(),
                subscribers: subscribers as usize,
            }
        }
    };
    Ok(live::Work { task, size: work.size_bytes as usize, from: work.from.into(), to: work.to.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
kind = "federation"
title = "three nodes"

[nodes]
count = 3
joined = "star"

[[tasks]]
task = "round-trips"
from = 1
to = 2
size = "64B"
count = 100

[[tasks]]
task = "flood"
from = 0
to = 2
size = "1KiB"
count = 1000
subscribers = 5
"#;

    fn federation(text: &str) -> Result<Federation, String> {
        Scenario::parse(text)?.federation(Path::new(""), None, Seed(1))
    }

    #[test]
    fn a_file_is_a_federation_and_a_plan() {
        let federation = federation(TEXT).unwrap();
        assert_eq!((federation.nodes, federation.joined), (3, Joined::Star));
        assert_eq!(federation.hosts, HostModel::EXAMPLE);
        let trips = Task::RoundTrips { count: 100, warm_up: 50 };
        assert_eq!(federation.work[0], Work { task: trips, size_bytes: 64, from: 1, to: 2 });
        let plan = live_plan(&federation).unwrap();
        assert_eq!(plan.nodes, 3);
        let flood = live::Task::Flood { count: 1_000, subscribers: 5 };
        assert_eq!(plan.work[1], live::Work { task: flood, size: 1_024, from: 0, to: 2 });
    }

    #[test]
    fn computers_of_their_own_need_a_network() {
        let by_node =
            TEXT.replace("[[tasks]]\ntask = \"r", "[hosts]\nplacement = \"by-node\"\n[[tasks]]\ntask = \"r");
        assert!(federation(&by_node).unwrap_err().contains("[network] is missing"));
        let network = by_node + "\n[network]\nrate = \"10Gbit/s\"\ndelay = \"2us\"\n";
        let federation = federation(&network).unwrap();
        assert_eq!(
            (federation.ethernet.rate, federation.ethernet.propagation.as_nanos()),
            (10_000_000_000, 2_000)
        );
        assert!(live_plan(&federation).unwrap_err().contains("one computer"));
        let alone = TEXT.to_owned() + "\n[network]\nrate = \"10Gbit/s\"\n";
        assert!(Scenario::parse(&alone).unwrap_err().contains("leave it out"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let say = |from: &str, to: &str| federation(&TEXT.replacen(from, to, 1)).unwrap_err();
        assert!(say("count = 3", "count = 0").contains("the number of nodes must be from 1"));
        assert!(say("to = 2", "to = 3").contains("task 1 is at node 3, but nodes are numbered from 0 to 2"));
        assert!(say("\"64B\"", "64").contains("the unit is missing"));
        assert!(say("\"64B\"", "\"8B\"").contains("must be from 16 to 1048576, not 8"));
        assert!(say("subscribers", "subscriber").contains("unknown field `subscriber`"));
        assert!(say("round-trips", "trips").contains("unknown variant `trips`"));
        assert!(say("joined = \"star\"", "joined = \"ring\"").contains("unknown variant `ring`"));
        let entities = TEXT.split("[[tasks]]").next().unwrap_or_default().to_owned()
            + "[[tasks]]\ntask = \"entities\"\nfrom = 0\nto = 2\nworkload = \"table1\"\nobjects = 9\nrun = \"2s\"\n";
        let two_seconds = Duration::from_secs(2);
        let entity_task = Task::Entities { workload: 0, run: two_seconds, subscribers: 1 };
        let of_entities = federation(&entities).unwrap();
        assert_eq!((of_entities.work[0].task, of_entities.workloads[0].objects()), (entity_task, 9));
        let plan = live_plan(&of_entities).unwrap();
        let live::Task::Entities { objects, script, subscribers } = &plan.work[0].task else {
            panic!("{plan:?}")
        };
        assert_eq!((*objects, *subscribers), (9, 1));
        assert!(!script.is_empty() && script.iter().all(|update| update.object < 9 && update.size == 250));
        let say_of = |from: &str, to: &str| federation(&entities.replacen(from, to, 1)).unwrap_err();
        assert!(say_of("objects = 9\n", "").contains("say in `objects` how many"));
        assert!(say_of("\"table1\"", "\"mine.toml\"").contains("leave `objects` out"));
        assert!(say_of("\"2s\"", "2").contains("the unit is missing"));
        let paced = TEXT.replace("task = \"flood\"", "task = \"paced\"\nmean_gap = \"0us\"");
        assert!(federation(&paced).unwrap_err().contains("`mean_gap` is zero"));
        let paced = federation(&paced.replace("\"0us\"", "\"20us\"")).unwrap();
        assert!(live_plan(&paced).unwrap_err().contains("`paced` can only be simulated"));
    }
}
