//! Scenario files of exercises: TOML, with the unit in each key.

use std::time::Duration;

use crate::exercise::{Exercise, Joined, Lines, Placement, Population, Site};
use crate::routers::Hardware;
use base::Seed;
use netsim::cluster::Line;
use overlay::OnDemand;
use serde::Deserialize;

use crate::commands::hardware::{EthernetTable, FederateTable, RouterTable, hardware};

/// An exercise, over several networks and in several sizes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    #[allow(dead_code)] // looked at before
    kind: String,
    /// A one-line title.
    pub(super) title: String,
    network: Network,
    entities: Entities,
    ethernet: EthernetTable,
    router: RouterTable,
    simulator: FederateTable,
    counted: Counted,
    #[serde(rename = "size")]
    sizes: Vec<Size>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    topologies: Vec<TopologyName>,
    simulators_per_router: usize,
    routers_per_router: usize,
    /// The maximum number of areas in one block of the grid that are advertised to a neighbour one
    /// by one.
    areas_per_block_max: usize,
    #[serde(default)]
    sites: Vec<SiteTable>,
    #[serde(default)]
    lines: Vec<LineTable>,
    #[serde(default)]
    on_demand: OnDemandTable,
}

/// When the triads of sites link to each other, in a network on demand. The defaults are those of the
/// product.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OnDemandTable {
    above_kbit_per_s: u32,
    below_kbit_per_s: u32,
    window_s: Seconds<1>,
    idle_after_s: Seconds<1>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteTable {
    name: String,
    share: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineTable {
    between: (String, String),
    rate_mbit_per_s: u32,
    delay_ms: Seconds<1_000>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entities {
    update_bytes: usize,
    moving_share: f64,
    moving_interval_s: Seconds<1>,
    heartbeat_s: Seconds<1>,
    speed_m_per_s: f64,
    cell_m: f64,
    entities_per_cell: f64,
    unit_m: f64,
    sight_cells: u32,
    placement: PlacementName,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    after_s: Seconds<1>,
    seconds: Seconds<1>,
}

/// One size of the exercise.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Size {
    nodes: usize,
    entities: usize,
}

/// How routers are joined.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands) enum TopologyName {
    /// A tree
    Tree,
    /// A triad for each leaf router, all joined with all
    Mesh,
    /// A triad for each site, all joined with all
    MeshOfSites,
    /// A triad for each site, joined with others while there is traffic for it
    OnDemand,
}

/// Which simulator has the entities of which part of the grid.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::commands) enum PlacementName {
    /// Neighbours on the grid may be anywhere in the network
    Scattered,
    /// Neighbours on the grid are neighbours in the network, where that is possible
    Compact,
}

/// A duration in units of 1/`PARTS` s.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Seconds<const PARTS: u32>(Duration);

impl<const PARTS: u32> TryFrom<f64> for Seconds<PARTS> {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let hour = 3_600.0 * f64::from(PARTS);
        if !(0.0..=hour).contains(&value) {
            return Err(format!("{value} is no time here: expected 0 to {hour} (an hour)"));
        }
        Ok(Self(Duration::from_nanos((value * 1e9 / f64::from(PARTS)).round() as u64)))
    }
}

/// Bytes of a kilobit.
const KBIT_BYTES: u64 = 1_000 / 8;

impl Default for OnDemandTable {
    fn default() -> Self {
        let OnDemand { above, below, window, idle_after, .. } = OnDemand::default();
        let kbit = |bytes: u64| u32::try_from(bytes / KBIT_BYTES).unwrap_or(u32::MAX);
        Self {
            above_kbit_per_s: kbit(above),
            below_kbit_per_s: kbit(below),
            window_s: Seconds(window),
            idle_after_s: Seconds(idle_after),
        }
    }
}

impl OnDemandTable {
    fn settings(&self) -> OnDemand {
        OnDemand {
            above: u64::from(self.above_kbit_per_s) * KBIT_BYTES,
            below: u64::from(self.below_kbit_per_s) * KBIT_BYTES,
            window: self.window_s.0,
            // The product waits for three, because of bursts that an exercise does not have.
            windows: 1,
            idle_after: self.idle_after_s.0,
        }
    }
}

/// The user's options that override the file.
#[derive(Clone, Copy, Default)]
pub(super) struct Wishes {
    pub(super) nodes: Option<usize>,
    pub(super) entities: Option<usize>,
    pub(super) seconds: Option<u32>,
    pub(super) topology: Option<TopologyName>,
    pub(super) placement: Option<PlacementName>,
}

/// One run, without its seed.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// The number of hosts of simulators and of leaf routers.
    pub(super) nodes: usize,
    pub(super) exercise: Exercise,
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// The mistake in the file, with line and column.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        for (what, empty) in [
            ("`topologies` is empty", scenario.network.topologies.is_empty()),
            ("there is no [[size]]", scenario.sizes.is_empty()),
        ] {
            if empty {
                return Err(what.to_owned());
            }
        }
        for (key, value) in
            [("cell_m", scenario.entities.cell_m), ("entities_per_cell", scenario.entities.entities_per_cell)]
        {
            if value.is_nan() || value <= 0.0 {
                return Err(format!("`{key}` must be more than 0, not {value}"));
            }
        }
        Ok(scenario)
    }

    /// Whether simulators are at several sites.
    pub(super) fn has_sites(&self) -> bool {
        self.network.sites.len() > 1
    }

    /// The names of sites, in order.
    pub(super) fn sites(&self) -> Vec<&str> {
        self.network.sites.iter().map(|site| site.name.as_str()).collect()
    }

    /// The runs, size by size, and for each size the topologies.
    ///
    /// # Errors
    /// The impossible setting, and the run that has it.
    pub(super) fn points(&self, wishes: &Wishes) -> Result<Vec<Point>, String> {
        let hardware = self.hardware()?;
        let topologies = wishes.topology.map_or(self.network.topologies.clone(), |topology| vec![topology]);
        let mut points = Vec::new();
        for Size { nodes, entities } in self.sizes(wishes) {
            for topology in &topologies {
                let joined = match topology {
                    TopologyName::Tree => Joined::Tree,
                    TopologyName::Mesh => Joined::Mesh,
                    TopologyName::MeshOfSites => Joined::MeshOfSites,
                    TopologyName::OnDemand => Joined::OnDemand,
                };
                let exercise = self.exercise(joined, nodes, entities, &hardware, wishes)?;
                let at =
                    |why: String| format!("{}, {nodes} nodes, {entities} entities: {why}", joined.name());
                exercise.check().map_err(|error| at(error.to_string()))?;
                points.push(Point { nodes, exercise });
            }
        }
        Ok(points)
    }

    /// The sizes of the file, or the one size that the options set. If only one of its numbers is
    /// set, the other follows from the last size of the file, in proportion.
    fn sizes(&self, wishes: &Wishes) -> Vec<Size> {
        let (Some(last), true) = (self.sizes.last(), wishes.nodes.is_some() || wishes.entities.is_some())
        else {
            return self.sizes.clone();
        };
        let nodes = wishes.nodes.unwrap_or(last.nodes);
        let in_proportion = last.entities as u128 * nodes as u128 / last.nodes.max(1) as u128;
        let entities = wishes.entities.unwrap_or(usize::try_from(in_proportion).unwrap_or(usize::MAX));
        vec![Size { nodes, entities }]
    }

    fn hardware(&self) -> Result<Hardware, String> {
        let mut hardware = hardware(&self.ethernet, &self.router, &self.simulator)?;
        hardware.pipe.interests_per_key_max = self.network.areas_per_block_max;
        Ok(hardware)
    }

    fn exercise(
        &self,
        joined: Joined,
        nodes: usize,
        entities: usize,
        hardware: &Hardware,
        wishes: &Wishes,
    ) -> Result<Exercise, String> {
        let Network { simulators_per_router, routers_per_router, .. } = self.network;
        let simulators = nodes - nodes.div_ceil(simulators_per_router.saturating_add(1));
        let placement = match wishes.placement.unwrap_or(self.entities.placement) {
            PlacementName::Scattered => Placement::Scattered,
            PlacementName::Compact => Placement::Compact,
        };
        let of = &self.entities;
        Ok(Exercise {
            joined,
            sites: self.simulators_at(simulators),
            lines: self.lines()?,
            simulators_per_router,
            routers_per_router,
            population: Population {
                entities,
                update_bytes: of.update_bytes,
                moving_share: of.moving_share,
                moving_interval: of.moving_interval_s.0,
                heartbeat: of.heartbeat_s.0,
                cells_per_s: of.speed_m_per_s / of.cell_m,
                entities_per_cell: of.entities_per_cell,
                unit_cells: of.unit_m / of.cell_m,
                sight_cells: of.sight_cells,
                placement,
            },
            hardware: hardware.clone(),
            on_demand: self.network.on_demand.settings(),
            settle: self.counted.after_s.0,
            window: wishes.seconds.map_or(self.counted.seconds.0, |s| Duration::from_secs(s.into())),
            seed: Seed(0),
        })
    }

    /// Distributes `simulators` over the sites.
    fn simulators_at(&self, simulators: usize) -> Vec<Site> {
        let sites = &self.network.sites;
        if sites.is_empty() {
            return vec![Site { name: String::new(), simulators }];
        }
        let all: usize = sites.iter().map(|site| site.share).sum::<usize>().max(1);
        let mut before = 0;
        let site = |SiteTable { name, share }: &SiteTable| {
            let from = simulators * before / all;
            before += share;
            Site { name: name.clone(), simulators: simulators * before / all - from }
        };
        sites.iter().map(site).collect()
    }

    fn lines(&self) -> Result<Vec<Lines>, String> {
        let place = |name: &String| {
            let place = self.network.sites.iter().position(|site| site.name == *name);
            place.ok_or_else(|| format!("a line names the site `{name}`, which is not among `sites`"))
        };
        let line = |LineTable { between: (a, b), rate_mbit_per_s, delay_ms }: &LineTable| {
            if *rate_mbit_per_s == 0 {
                return Err(format!(
                    "the line between `{a}` and `{b}`: `rate_mbit_per_s` must be at least 1"
                ));
            }
            let line = Line { rate: u64::from(*rate_mbit_per_s) * 1_000_000, delay: delay_ms.0 };
            Ok(Lines { between: (place(a)?, place(b)?), line })
        };
        self.network.lines.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::built_in::{JUO, MILLION, SFEXPRESS};

    #[test]
    fn the_papers_sizes_are_those_of_the_built_in_scenarios() {
        let points = Scenario::parse(SFEXPRESS).unwrap().points(&Wishes::default()).unwrap();
        let last = points.last().unwrap();
        assert_eq!((last.nodes, last.exercise.population.entities), (1_904, 100_000));
        assert_eq!(last.exercise.simulators(), 1_813);
        assert!(
            points.iter().any(|point| (point.nodes, point.exercise.population.entities) == (1_904, 50_000))
        );
        let points = Scenario::parse(MILLION).unwrap().points(&Wishes::default()).unwrap();
        assert_eq!(points.last().unwrap().exercise.population.entities, 1_000_000);
        let points = Scenario::parse(JUO).unwrap().points(&Wishes::default()).unwrap();
        assert!(points.iter().all(|point| point.exercise.simulators() > 300));
    }

    #[test]
    fn a_wish_for_nodes_keeps_the_entities_of_each() {
        let scenario = Scenario::parse(SFEXPRESS).unwrap();
        let wishes = Wishes {
            nodes: Some(952),
            topology: Some(TopologyName::Mesh),
            seconds: Some(3),
            ..Wishes::default()
        };
        let points = scenario.points(&wishes).unwrap();
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].nodes, points[0].exercise.population.entities), (952, 50_000));
        assert_eq!(points[0].exercise.window, Duration::from_secs(3));
        let wishes =
            Wishes { entities: Some(1_000), placement: Some(PlacementName::Compact), ..Wishes::default() };
        let points = scenario.points(&wishes).unwrap();
        assert_eq!(
            (points.len(), points[0].nodes, points[0].exercise.population.entities),
            (2, 1_904, 1_000)
        );
        assert_eq!(points[0].exercise.population.placement, Placement::Compact);
    }

    #[test]
    fn sites_share_simulators() {
        let scenario = Scenario::parse(JUO).unwrap();
        let at = |simulators| {
            scenario.simulators_at(simulators).iter().map(|site| site.simulators).collect::<Vec<_>>()
        };
        assert_eq!(at(320).iter().sum::<usize>(), 320);
        assert_eq!(at(7).iter().sum::<usize>(), 7);
    }

    #[test]
    fn faults_are_told_with_their_place() {
        let text = JUO;
        let say = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let scenario = Scenario::parse(&text.replacen(from, to, 1));
            scenario.and_then(|scenario| scenario.points(&Wishes::default())).unwrap_err()
        };
        let unknown = say("heartbeat_s", "heartbeat_ms");
        assert!(unknown.contains("heartbeat_ms") && unknown.contains("line "), "{unknown}");
        assert!(say("delay_ms = 33", "delay_ms = -1").contains("-1 is no time here: expected 0 to 3600000"));
        assert_eq!(say("cell_m = ", "cell_m = 0.0 # "), "`cell_m` must be more than 0, not 0");
        assert_eq!(
            say("between = [\"SAN-DIEGO\", \"MAUI\"]", "between = [\"SAN-DIEGO\", \"MAUII\"]"),
            "a line names the site `MAUII`, which is not among `sites`"
        );
        assert!(
            say("moving_share = ", "moving_share = 2.0 # ")
                .contains("the share of entities that move must be from 0 to 1, not 2")
        );
        assert!(say("below_kbit_per_s = 64", "below_kbit_per_s = 300").ends_with(
            "the rate in kbit/s below which a cross link is closed must be from 0 to 256, not 300"
        ));
        assert!(say("idle_after_s = 30.0", "idle_after = 30.0").contains("idle_after_s"));
        let none = say("topologies = [", "topologies = [] # [");
        assert_eq!(none, "`topologies` is empty");
    }
}
