//! The scenario file in TOML. Times, rates and sizes are texts with a unit.

mod application;
mod hosts;
mod links;
mod packets;
mod routing;
mod traffic;
mod wan;

use std::path::Path;

use base::Seed;
use netmodel::fluid;
use netmodel::fluid::lanes;
use netmodel::simulation::Model;
use netmodel::study::network::Network;
use netmodel::topology::{LinkClass, Shape, Torus};
use netmodel::units::{self, Picos};
use serde::Deserialize;

use super::{objects, recording};
use application::Application;
use hosts::Hosts;
use links::Link;
use packets::Packets;
use routing::{Fault, Routing};
use traffic::Traffic;
use wan::Wan;

/// The kind in a file. Other keys are ignored.
/// A scenario of a network by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[allow(dead_code)] // looked at before
    kind: String,
    /// A one-line title.
    pub(super) title: String,
    topology: Topology,
    links: Links,
    /// Either this or an application.
    traffic: Option<Traffic>,
    application: Option<Application>,
    model: ModelTable,
    #[serde(default)]
    routing: Routing,
    #[serde(default)]
    faults: Vec<Fault>,
    #[serde(default)]
    hosts: Hosts,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "shape", rename_all = "kebab-case", deny_unknown_fields)]
enum Topology {
    Torus { sides: Vec<u32>, hosts_per_switch: u32 },
    Mesh { sides: Vec<u32>, hosts_per_switch: u32 },
    Star { hosts: u32 },
    Ring { switches: u32, hosts_per_switch: u32 },
    FullMesh { switches: u32, hosts_per_switch: u32 },
    Tree { fan_outs: Vec<u32>, hosts_per_leaf: u32 },
    FatTree { ports: u32 },
    LeafSpine { leaves: u32, spines: u32, hosts_per_leaf: u32 },
    Dragonfly { hosts_per_switch: u32, group: u32, global: u32 },
    RandomRegular { switches: u32, degree: u32, hosts_per_switch: u32 },
    Wan(Wan),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Links {
    hosts: Link,
    /// `None` in a WAN, whose lines have their own rates.
    switches: Option<Link>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum ModelTable {
    MinShare {
        #[serde(default)]
        subqueue: Subqueue,
    },
    MaxMin {
        #[serde(default)]
        subqueue: Subqueue,
    },
    HopByHop {
        #[serde(default)]
        subqueue: Subqueue,
        buffer: Option<Size>,
    },
    StoreAndForward {
        #[serde(default)]
        subqueue: Subqueue,
    },
    Packets(Packets),
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Subqueue {
    #[default]
    Flow,
    Message,
}

/// The network of a scenario.
struct Wires {
    shape: Shape,
    host_link: LinkClass,
    cable: LinkClass,
    model: Model,
}

/// A value that is written as a text with a unit.
macro_rules! unit {
    ($name:ident, $of:ty, $parse:expr) => {
        #[derive(Clone, Copy, Debug, Deserialize)]
        #[serde(try_from = "toml::Value")]
        pub(in crate::sim) struct $name(pub(in crate::sim) $of);

        impl TryFrom<toml::Value> for $name {
            type Error = String;

            fn try_from(value: toml::Value) -> Result<Self, String> {
                match value {
                    toml::Value::String(text) => $parse(&text).map(Self),
                    // A number has no unit: the parser of texts reports the missing unit.
                    other => $parse(&other.to_string()).map(Self),
                }
            }
        }
    };
}

unit!(Time, Picos, units::parse_time);
unit!(Rate, units::Rate, units::parse_rate);
unit!(Size, u64, units::parse_size);
unit!(Loss, units::Share, units::parse_share);

impl Default for Time {
    fn default() -> Self {
        Self(Picos::ZERO)
    }
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// The mistake in the file, with line and column where the TOML parser gives them.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = crate::sim::file::parse(text)?;
        match (&scenario.traffic, &scenario.application) {
            (Some(traffic), None) => traffic.check()?,
            (None, Some(application)) => application.check()?,
            (Some(_), Some(_)) => {
                let why = "[application]: its programs are the traffic: leave `[traffic]` out";
                return Err(why.to_owned());
            }
            (None, None) => return Err("`[traffic]` is missing (or an `[application]`)".to_owned()),
        }
        match (&scenario.topology, &scenario.links.switches) {
            (Topology::Wan(wan), Some(_)) if !wan.has_clusters() => {
                let why =
                    "[links]: leave `switches` out: the lines of a `wan` have rates and delays of their own";
                return Err(why.to_owned());
            }
            (Topology::Wan(wan), None) if wan.has_clusters() => {
                let why =
                    "[links]: `switches` is missing: links between the switches of a site with a `shape`";
                return Err(why.to_owned());
            }
            (Topology::Wan(wan), _) => wan.check()?,
            (_, None) => return Err("[links]: `switches` is missing: links between switches".to_owned()),
            (_, Some(_)) => {}
        }
        if let ModelTable::HopByHop { buffer: Some(Size(0)), .. } = scenario.model {
            return Err(
                "[model]: `buffer` is zero: write \"1B\" for hardly any, or leave it out for no limit"
                    .to_owned(),
            );
        }
        scenario.hosts.check()?;
        scenario.wires(Seed(0))?;
        Ok(scenario)
    }

    /// The network to simulate. `seed` is for random topologies. `folder` is the folder of the
    /// scenario file.
    ///
    /// # Errors
    /// The trace file is not valid.
    pub(super) fn network(&self, seed: u64, folder: &Path) -> Result<Network, String> {
        let subqueue = match self.model {
            ModelTable::MinShare { subqueue: Subqueue::Message }
            | ModelTable::MaxMin { subqueue: Subqueue::Message }
            | ModelTable::HopByHop { subqueue: Subqueue::Message, .. }
            | ModelTable::StoreAndForward { subqueue: Subqueue::Message } => lanes::Subqueue::Message,
            _ => lanes::Subqueue::Flow,
        };
        let Wires { shape, host_link, cable, model } = self.wires(Seed(seed))?;
        let (load, window) = match (&self.traffic, &self.application) {
            (Some(traffic), _) => traffic.load(folder)?,
            (None, Some(application)) => application.load(shape.parts().0)?,
            (None, None) => return Err("`[traffic]` is missing".to_owned()),
        };
        let routing = self.routing.routing(&self.faults, &shape.switch_names())?;
        let (host_time, host) = (self.hosts.constant(), self.hosts.host());
        Ok(Network { shape, host_link, cable, load, window, host_time, host, routing, model, subqueue })
    }

    /// The longest possible message, as far as it is known before files are read.
    fn longest(&self) -> u64 {
        let of_traffic = self.traffic.as_ref().map_or(0, Traffic::longest);
        of_traffic.max(self.application.as_ref().map_or(0, Application::longest))
    }

    /// The topology, and the model of messages in it.
    fn wires(&self, seed: Seed) -> Result<Wires, String> {
        let host_link = self.links.hosts.class("host", "[links]: `hosts`")?;
        let cable = match &self.links.switches {
            Some(link) => link.class("cable", "[links]: `switches`")?,
            None => host_link.clone(),
        };
        let shape = self.topology.shape(seed)?;
        let model = match &self.model {
            ModelTable::MinShare { .. } => Model::Fluid(fluid::Sharing::MinShare),
            ModelTable::MaxMin { .. } => Model::Fluid(fluid::Sharing::MaxMin),
            ModelTable::HopByHop { buffer, .. } => {
                Model::HopByHop { buffer: buffer.map(|Size(buffer)| buffer) }
            }
            ModelTable::StoreAndForward { .. } => Model::StoreAndForward,
            ModelTable::Packets(packets) => {
                let mut lines: Vec<_> =
                    shape.wan().map_or(&[][..], |wan| &wan.lines).iter().map(|line| line.wire).collect();
                lines.extend(self.links.switches.as_ref().map(|_| cable.wire));
                let wires = || lines.iter().chain([&host_link.wire]);
                let payload = wires().filter_map(|wire| wire.payload).min();
                let overhead = wires().map(|wire| wire.overhead).max().unwrap_or(0);
                Model::Packets(packets.model(payload, overhead, self.longest())?)
            }
        };
        Ok(Wires { shape, host_link, cable, model })
    }
}

impl Topology {
    fn shape(&self, seed: Seed) -> Result<Shape, String> {
        let grid = |sides: &[u32], hosts_per_switch, wraps| {
            Shape::Torus(Torus { sides: sides.to_vec(), hosts_per_switch, wraps })
        };
        Ok(match *self {
            Topology::Torus { ref sides, hosts_per_switch } => grid(sides, hosts_per_switch, true),
            Topology::Mesh { ref sides, hosts_per_switch } => grid(sides, hosts_per_switch, false),
            Topology::Ring { switches, hosts_per_switch } => grid(&[switches], hosts_per_switch, true),
            Topology::Star { hosts } => Shape::Star { hosts },
            Topology::FullMesh { switches, hosts_per_switch } => {
                Shape::FullMesh { switches, hosts_per_switch }
            }
            Topology::Tree { ref fan_outs, hosts_per_leaf } => {
                Shape::Tree { fan_outs: fan_outs.clone(), hosts_per_leaf }
            }
            Topology::FatTree { ports } => Shape::FatTree { ports },
            Topology::LeafSpine { leaves, spines, hosts_per_leaf } => {
                Shape::LeafSpine { leaves, spines, hosts_per_leaf }
            }
            Topology::Dragonfly { hosts_per_switch, group, global } => {
                Shape::Dragonfly { hosts_per_switch, group, global }
            }
            Topology::RandomRegular { switches, degree, hosts_per_switch } => {
                Shape::RandomRegular { switches, degree, hosts_per_switch, seed }
            }
            Topology::Wan(ref wan) => wan.shape(seed)?,
        })
    }
}

#[cfg(test)]
mod tests;
