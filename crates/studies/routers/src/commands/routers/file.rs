//! Scenario files: TOML, with the unit in each key.

use crate::routers::{Hardware, Layout, Run, Shape, Start};
use base::Seed;
use serde::Deserialize;

use crate::commands::hardware::{EthernetTable, FederateTable, Micros, RouterTable, hardware};

/// A scenario of router networks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[allow(dead_code)] // read by serde alone: there is one kind so far
    kind: Kind,
    /// A one-line title.
    pub(super) title: String,
    network: Network,
    ethernet: EthernetTable,
    router: RouterTable,
    federate: FederateTable,
    #[serde(rename = "study")]
    pub(super) studies: Vec<Study>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    RouterNetworks,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    fan_outs: Vec<usize>,
    federates_per_leaf: usize,
}

/// One experiment with the network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Study {
    /// The name of its rows.
    pub(super) name: String,
    topologies: Vec<TopologyName>,
    hops: Vec<usize>,
    pairs: Vec<usize>,
    /// The sizes of messages in bytes.
    sizes_bytes: Vec<usize>,
    /// Each pair goes through all sizes by itself. Otherwise all pairs use the same size at the
    /// same time.
    one_after_another: bool,
    exchanges: u32,
    /// The maximum time that a message waits until its federate looks for messages.
    #[serde(default)]
    look_us: Micros,
    /// Longer messages go as pieces of so many bytes. Without it they go whole.
    piece_bytes_max: Option<usize>,
    /// The number of largest means of pairs that mean and standard deviation leave out.
    pub(super) discard_largest: usize,
    start_interval_us: Micros,
    start_spread_us: Micros,
    #[serde(default)]
    late_leaf_in: usize,
    #[serde(default)]
    late_by_us: Micros,
    /// The sizes whose distribution over the pairs is shown.
    pub(super) histogram_of_bytes: Vec<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TopologyName {
    Tree,
    Mesh,
}

/// The runs that a study needs for one point of its tables.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// The index of the study.
    pub(super) study: usize,
    /// The run, without its seed.
    pub(super) run: Run,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// The mistake in the file, with line and column.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        for study in &scenario.studies {
            let name = &study.name;
            for (key, empty) in [
                ("topologies", study.topologies.is_empty()),
                ("hops", study.hops.is_empty()),
                ("pairs", study.pairs.is_empty()),
                ("sizes_bytes", study.sizes_bytes.is_empty()),
            ] {
                if empty {
                    return Err(format!("study `{name}`: `{key}` is empty"));
                }
            }
            if let Some(size) = study.histogram_of_bytes.iter().find(|size| !study.sizes_bytes.contains(size))
            {
                return Err(format!(
                    "study `{name}`: `histogram_of_bytes` has {size}, `sizes_bytes` has not"
                ));
            }
        }
        scenario.hardware()?;
        if scenario.studies.is_empty() { Err("there is no [[study]]".to_owned()) } else { Ok(scenario) }
    }

    pub(super) fn hardware(&self) -> Result<Hardware, String> {
        hardware(&self.ethernet, &self.router, &self.federate)
    }

    /// All points of all studies, in the order of the tables.
    ///
    /// # Errors
    /// The wrong value of the hosts or links.
    pub(super) fn points(&self) -> Result<Vec<Point>, String> {
        let hardware = self.hardware()?;
        let mut points = Vec::new();
        for (index, study) in self.studies.iter().enumerate() {
            for topology in &study.topologies {
                for &hops in &study.hops {
                    for &pairs in &study.pairs {
                        for sizes in study.runs_of_sizes() {
                            let run = self.run(study, &hardware, *topology, (hops, pairs), sizes);
                            points.push(Point { study: index, run });
                        }
                    }
                }
            }
        }
        Ok(points)
    }

    fn run(
        &self,
        study: &Study,
        hardware: &Hardware,
        topology: TopologyName,
        (hops, pairs): (usize, usize),
        sizes: Vec<usize>,
    ) -> Run {
        Run {
            shape: match topology {
                TopologyName::Tree => Shape::Tree,
                TopologyName::Mesh => Shape::Mesh,
            },
            layout: Layout {
                fan_outs: self.network.fan_outs.clone(),
                federates_per_leaf: self.network.federates_per_leaf,
            },
            hardware: hardware.clone(),
            hops,
            pairs,
            sizes,
            exchanges: study.exchanges,
            look: study.look_us.0,
            piece_bytes_max: study.piece_bytes_max.unwrap_or(usize::MAX),
            start: Start {
                interval: study.start_interval_us.0,
                spread: study.start_spread_us.0,
                late_leaf_in: study.late_leaf_in,
                late_by: study.late_by_us.0,
            },
            seed: Seed(0),
        }
    }
}

impl Study {
    /// Whether all pairs use the same size at the same time.
    pub(super) fn in_step(&self) -> bool {
        !self.one_after_another
    }

    fn runs_of_sizes(&self) -> Vec<Vec<usize>> {
        if self.one_after_another {
            vec![self.sizes_bytes.clone()]
        } else {
            self.sizes_bytes.iter().map(|size| vec![*size]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::built_in::TREE_VS_MESH;
    use netsim::cluster::Ethernet;
    use std::time::Duration;

    #[test]
    fn built_in_scenarios_are_read_whole() {
        let scenario = Scenario::parse(TREE_VS_MESH).unwrap();
        let points = scenario.points().unwrap();
        assert_eq!(points.len(), 2 * 4 * 5 + 2 * 3 + 2 * 3 * (5 + 2));
        let run = &points[0].run;
        assert_eq!(run.hardware.ethernet, Ethernet::GIGABIT);
        assert_eq!(run.hardware.router.send.of(1_000), Duration::from_micros(16));
        assert_eq!((run.layout.federates(), run.pairs), (96, 48));
    }

    #[test]
    fn faults_are_told_with_their_place() {
        let text = TREE_VS_MESH;
        let say = |from: &str, to: &str| Scenario::parse(&text.replacen(from, to, 1)).unwrap_err();
        let unknown = say("forwarding_us", "forwarding_ns");
        assert!(unknown.contains("line 19, column 1") && unknown.contains("forwarding_ns"), "{unknown}");
        assert!(say("forwarding_us = 4.0", "forwarding_us = -4.0").contains("-4 is no time in microseconds"));
        assert!(say("\"tree\", \"mesh\"", "\"ring\"").contains("unknown variant `ring`"));
        assert_eq!(say("hops = [0, 1, 2, 3]", "hops = []"), "study `exchanges`: `hops` is empty");
        assert_eq!(
            say("rate_mbit_per_s = 1000", "rate_mbit_per_s = 0"),
            "`rate_mbit_per_s` must be at least 1"
        );
        assert_eq!(
            say("histogram_of_bytes = []", "histogram_of_bytes = [7]"),
            "study `exchanges`: `histogram_of_bytes` has 7, `sizes_bytes` has not"
        );
    }
}
