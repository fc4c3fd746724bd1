//! The scenario file in TOML. Times, rates and sizes are texts with a unit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Seed;
use hostsim::{Federation, HostModel, Joined, Multicast, Placement, Recording, SIZE_BYTES_MIN, Task, Work};
use netmodel::units::{Picos, Share};
use netsim::cluster::{Ethernet, Framing};
use serde::Deserialize;
use workload::Workload;

use super::{hosts, recording};
use crate::sim::network::{Loss, Rate, Size, Time, workload as read_workload};

/// A federation: nodes, computers, and the tasks of federates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[allow(dead_code)] // looked at before
    kind: String,
    /// A one-line title.
    pub(super) title: String,
    /// How many of the largest means of tasks the statistics of all round trips of a size leave out.
    #[serde(default)]
    pub(super) discard_largest: usize,
    nodes: Nodes,
    multicast: Option<Groups>,
    #[serde(default)]
    hosts: Hosts,
    network: Option<Network>,
    tasks: Vec<TaskTable>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    /// Not of a tree, whose layers say it.
    count: Option<u16>,
    #[serde(default)]
    joined: JoinedName,
    /// Number of nodes in each layer of a tree below its root.
    layers: Option<Vec<usize>>,
}

impl Nodes {
    /// Number of nodes, and their topology.
    ///
    /// # Errors
    /// A key that does not belong to the topology, or that is missing.
    fn joined(&self) -> Result<(u16, Joined), String> {
        let joined = match (self.joined, &self.layers) {
            (JoinedName::Tree, Some(layers)) => {
                let nodes = layers.iter().fold(1, |sum: usize, width| sum.saturating_add(*width));
                if self.count.is_some() {
                    return Err(
                        "[nodes]: leave `count` out: the `layers` of a tree say how many nodes there are"
                            .to_owned(),
                    );
                }
                return Ok((u16::try_from(nodes).unwrap_or(u16::MAX), Joined::Tree(layers[..].into())));
            }
            (JoinedName::Tree, None) => {
                return Err("[nodes]: `layers` is missing: the number of nodes in each layer of the tree below its root, \
                            such as [2, 4]"
                    .to_owned());
            }
            (_, Some(_)) => {
                return Err("[nodes]: `layers` belongs to `joined = \"tree\"`".to_owned());
            }
            (JoinedName::Chain, None) => Joined::Chain,
            (JoinedName::Star, None) => Joined::Star,
            (JoinedName::Mesh, None) => Joined::Mesh,
        };
        let count = self.count.ok_or("[nodes]: `count` is missing: the number of nodes")?;
        Ok((count, joined))
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum JoinedName {
    #[default]
    Chain,
    Star,
    Tree,
    Mesh,
}

/// Multicast groups that nodes share. Missing keys have the defaults of a live node.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Groups {
    groups: Option<u16>,
    rate_min: Option<Rate>,
    loss: Option<Loss>,
}

impl Groups {
    fn multicast(self) -> Multicast {
        let default = Multicast::default();
        Multicast {
            groups: self.groups.unwrap_or(default.groups),
            rate_min: self.rate_min.map_or(default.rate_min, |rate| rate.0.bits_per_s()),
            loss: self.loss.map_or(Share::NONE, |loss| loss.0),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hosts {
    /// The file of a host model, relative to the folder of the scenario.
    model: Option<PathBuf>,
    #[serde(default)]
    placement: PlacementName,
    /// Each process stays on one core.
    #[serde(default)]
    pinned: bool,
    /// Cores of each computer, in place of those of the host model.
    cores: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlacementName {
    #[default]
    Together,
    ByNode,
    Apart,
}

/// The network between computers.
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

/// The nodes of the receiving federates: one, or a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
struct Places(Vec<u16>);

impl TryFrom<toml::Value> for Places {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let node = |value: &toml::Value| {
            let number = value.as_integer().and_then(|number| u16::try_from(number).ok());
            number.ok_or_else(|| {
                format!("`to` has `{value}`, expected the number of a node, or a list such as [1, 2]")
            })
        };
        let nodes = match &value {
            toml::Value::Array(all) => all.iter().map(node).collect(),
            one => node(one).map(|node| vec![node]),
        };
        nodes.map(Self)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case", deny_unknown_fields)]
enum TaskTable {
    RoundTrips {
        from: u16,
        to: Places,
        size: Size,
        count: u32,
        #[serde(default = "warm_up")]
        warm_up: u32,
    },
    Flood {
        from: u16,
        to: Places,
        size: Size,
        count: u32,
        #[serde(default = "one")]
        subscribers: u32,
    },
    FanIn {
        from: u16,
        to: Places,
        size: Size,
        count: u32,
        publishers: u32,
    },
    Replay {
        from: u16,
        to: Places,
        /// The file of the recording, relative to the folder of the scenario.
        recording: PathBuf,
        #[serde(default = "one")]
        subscribers: u32,
    },
    Paced {
        from: u16,
        to: Places,
        size: Size,
        count: u32,
        mean_gap: Time,
        #[serde(default = "one")]
        subscribers: u32,
    },
    Entities {
        from: u16,
        to: Places,
        /// The name of a preset, or a file.
        workload: String,
        /// The number of objects of a preset.
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
    /// The mistake in the file, with line and column where the TOML parser gives them.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = crate::sim::file::parse(text)?;
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

    /// The federation for the simulator. `folder` is the folder of the file. `model` replaces the
    /// host model that the file names.
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
        let hosts = HostModel { cores: self.hosts.cores.unwrap_or(hosts.cores), ..hosts };
        let mut traffic = Traffic::default();
        let work = self.tasks.iter().map(|task| task.work(folder, &mut traffic)).collect::<Result<_, _>>()?;
        let Traffic { workloads, recordings } = traffic;
        let (nodes, joined) = self.nodes.joined()?;
        let federation = Federation {
            nodes,
            joined,
            multicast: self.multicast.map(Groups::multicast),
            work,
            workloads,
            recordings,
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

/// The files that tasks name, read.
#[derive(Default)]
struct Traffic {
    workloads: Vec<Workload>,
    recordings: Vec<Recording>,
}

impl TaskTable {
    /// The task for the simulator. If it has a workload or a recording, this is read and added to
    /// `traffic`.
    fn work(&self, folder: &Path, traffic: &mut Traffic) -> Result<Work, String> {
        let (task, from, to, size) = match self {
            TaskTable::Entities { from, to, workload, objects, run, subscribers } => {
                traffic.workloads.push(read_workload(workload, ("[[tasks]]", "objects", *objects), folder)?);
                let (workload, subscribers) = (traffic.workloads.len() - 1, *subscribers);
                let task = Task::Entities { workload, run: duration(run.0), subscribers };
                (task, from, to, Size(SIZE_BYTES_MIN.into()))
            }
            TaskTable::Replay { from, to, recording, subscribers } => {
                traffic.recordings.push(recording::read(&folder.join(recording))?);
                let (recording, subscribers) = (traffic.recordings.len() - 1, *subscribers);
                (Task::Replay { recording, subscribers }, from, to, Size(SIZE_BYTES_MIN.into()))
            }
            TaskTable::FanIn { from, to, size, count, publishers } => {
                (Task::FanIn { count: *count, publishers: *publishers }, from, to, *size)
            }
            TaskTable::RoundTrips { from, to, size, count, warm_up } => {
                (Task::RoundTrips { count: *count, warm_up: *warm_up }, from, to, *size)
            }
            TaskTable::Flood { from, to, size, count, subscribers } => {
                (Task::Flood { count: *count, subscribers: *subscribers }, from, to, *size)
            }
            TaskTable::Paced { from, to, size, count, mean_gap, subscribers } => {
                if mean_gap.0 == Picos::ZERO {
                    return Err("[[tasks]]: `mean_gap` is zero: that is a `flood`".to_owned());
                }
                let (count, subscribers) = (*count, *subscribers);
                (Task::Paced { count, mean_gap: duration(mean_gap.0), subscribers }, from, to, *size)
            }
        };
        let size_bytes = u32::try_from(size.0).unwrap_or(u32::MAX);
        Ok(Work { task, size_bytes, from: *from, to: to.0.clone() })
    }
}

#[cfg(test)]
mod tests;
