//! Exercises: simulators with entities on a grid of cells, over networks of the product's routers.
//!
//! Follows "Advanced Message Routing for Scalable Distributed Simulations" (Gottschalk, Amburn and
//! Davis 2005), sections 1 to 3: the JUO federation over its sites, SF Express with up to 100,000
//! vehicles, and a million entities. Each simulator publishes its entities by dead reckoning. The
//! topic of an update is the cell of the entity, and a simulator subscribes the cells around its
//! own entities. As the entities move, the simulator changes its interest through the same routers.
//! Sites may also link [by themselves](Joined::OnDemand), as the paper's section 5 wishes.
//!
//! The result is the load of all parts ([`Outcome`]). It shows whether the load of a client and of
//! a router stays bounded as the exercise grows, and where a tree of routers is not enough. The
//! queue and the latency of an overloaded part grow with the length of the observation; the growth
//! of the queue is then the result.

mod grid;
mod layout;
mod message;
mod on_demand;
mod outcome;
mod population;
mod simulator;
#[cfg(test)]
mod tests;

pub use layout::{Duty, Joined};
pub use on_demand::CrossLinkFigures;
pub use outcome::{Client, Level, LineLoad, Outcome, Part, Spread, Way};
pub use population::{Placement, Population};

use crate::routers::network::{Settings, assemble};
use crate::routers::station::Station;
use crate::routers::{Hardware, RunError};
use base::{Moment, Seed};
use layout::Layout;
use netsim::cluster::{Cluster, Line, SiteId};
use outcome::Seen;
use overlay::OnDemand;
use simulator::{Common, Phases, Seat, Simulator};
use std::time::Duration;

/// A site with simulators and their routers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// A name for display.
    pub name: String,
    /// Number of simulators.
    pub simulators: usize,
}

/// Lines between two sites, one in each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lines {
    /// Indices into the list of sites.
    pub between: (usize, usize),
    /// Rate and delay of each line.
    pub line: Line,
}

/// The settings of an exercise.
#[derive(Clone, PartialEq, Debug)]
pub struct Exercise {
    /// The topology of the routers.
    pub joined: Joined,
    /// The sites of the simulators. The root of a tree is at the first.
    pub sites: Vec<Site>,
    /// Lines between sites whose routers are linked.
    pub lines: Vec<Lines>,
    /// Simulators at a leaf router, or fewer where they do not divide evenly.
    pub simulators_per_router: usize,
    /// Routers below a router of a tree, or fewer where they do not divide evenly.
    pub routers_per_router: usize,
    /// The population of entities.
    pub population: Population,
    /// Hosts and the networks of sites.
    pub hardware: Hardware,
    /// When triads link to each other; for [`Joined::OnDemand`] only.
    pub on_demand: OnDemand,
    /// Time from the first updates to the beginning of the measurement.
    pub settle: Duration,
    /// Length of the measurement.
    pub window: Duration,
    /// The source of all randomness.
    pub seed: Seed,
}

/// Start of the updates over links that are there from the beginning. Interest must have spread
/// through the network by then. Links on demand need some seconds more.
pub const START: Moment = Moment::from_millis(1_500);
/// Maximum number of simulators of an exercise.
pub const SIMULATORS_MAX: usize = 20_000;
/// Maximum number of triads of a mesh. The number of links grows with its square.
pub const TRIADS_MAX: usize = 1_024;
/// Maximum number of entities.
pub const ENTITIES_MAX: usize = 20_000_000;
/// Maximum size of an update, in bytes.
pub const UPDATE_BYTES_MAX: usize = 8_192;
/// Maximum number of sites.
pub const SITES_MAX: usize = 64;
/// Maximum distance at which an entity sees cells.
pub const SIGHT_MAX: u32 = 16;

/// Backlog of a processor at the start above which interest has not spread yet.
const UNSETTLED: Duration = Duration::from_millis(20);
/// Number of events between two calls of `observe`, which may stop the run.
const EVENTS_OF_A_STEP: usize = 4_096;

/// An exercise that cannot be run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ExerciseError {
    /// A number out of range.
    #[error("{what} must be from {min} to {max}, not {got}")]
    Range {
        /// Name of the number.
        what: &'static str,
        /// Least valid value.
        min: f64,
        /// Greatest valid value.
        max: f64,
        /// The given value.
        got: f64,
    },
    /// Two sites with linked routers have no line between them.
    #[error("there is no line between {a} and {b}, whose routers are linked in a {joined}")]
    NoLine {
        /// A site.
        a: String,
        /// Another site.
        b: String,
        /// The topology of the routers.
        joined: &'static str,
    },
    /// Interest did not spread before the start.
    #[error(
        "interest is not known everywhere {start} s after the beginning: the network is too slow for so much of it"
    )]
    Unsettled {
        /// When updates should have begun.
        start: Moment,
    },
    /// The network failed before the start, or a router rejected a call.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Exercise {
    /// Number of simulators at all sites.
    pub fn simulators(&self) -> usize {
        self.sites.iter().map(|site| site.simulators).sum()
    }

    /// Checks all settings without building the network.
    ///
    /// # Errors
    /// [`ExerciseError::Range`], [`ExerciseError::NoLine`].
    pub fn check(&self) -> Result<(), ExerciseError> {
        self.layout().map(|_| ())
    }

    fn ranges(&self) -> Result<(), ExerciseError> {
        let range = |what, min: f64, max: f64, got: f64| match got {
            _ if (min..=max).contains(&got) => Ok(()),
            _ => Err(ExerciseError::Range { what, min, max, got }),
        };
        let count =
            |what, min: usize, max: usize, got: usize| range(what, min as f64, max as f64, got as f64);
        let population = &self.population;
        count("the number of sites", 1, SITES_MAX, self.sites.len())?;
        for site in &self.sites {
            count("the number of simulators of a site", 1, SIMULATORS_MAX, site.simulators)?;
        }
        count("the number of simulators", 2, SIMULATORS_MAX, self.simulators())?;
        count("the number of simulators per router", 1, SIMULATORS_MAX, self.simulators_per_router)?;
        count("the number of routers per router", 2, SIMULATORS_MAX, self.routers_per_router)?;
        count("the number of entities", 1, ENTITIES_MAX, population.entities)?;
        count("the bytes of an update", message::HEAD_BYTES, UPDATE_BYTES_MAX, population.update_bytes)?;
        count(
            "the cells that are seen around an entity",
            0,
            SIGHT_MAX as usize,
            population.sight_cells as usize,
        )?;
        range("the share of entities that move", 0.0, 1.0, population.moving_share)?;
        range("the speed in cells per second", 0.0, 1e3, population.cells_per_s)?;
        range("the number of entities per cell", 1e-3, 1e6, population.entities_per_cell)?;
        range("the side of a unit in cells", 0.0, 1e3, population.unit_cells)?;
        let hour = 3_600.0;
        range(
            "the interval of moving entities in seconds",
            1e-3,
            hour,
            population.moving_interval.as_secs_f64(),
        )?;
        range("the heartbeat in seconds", 1e-3, hour, population.heartbeat.as_secs_f64())?;
        range("the time to settle in seconds", 0.0, hour, self.settle.as_secs_f64())?;
        range("the time that is counted in seconds", 1e-3, hour, self.window.as_secs_f64())?;
        let OnDemand { above, below, window, idle_after, .. } = self.on_demand;
        if below > above {
            let what = "the rate in kbit/s below which a cross link is closed";
            let kbit = |bytes: u64| bytes as f64 * 8e-3;
            return Err(ExerciseError::Range { what, min: 0.0, max: kbit(above), got: kbit(below) });
        }
        range("the window of rates on demand in seconds", 0.01, hour, window.as_secs_f64())?;
        range("the time until an idle cross link is closed in seconds", 0.0, hour, idle_after.as_secs_f64())
    }

    fn layout(&self) -> Result<Layout, ExerciseError> {
        self.ranges()?;
        if self.joined == Joined::Mesh {
            let leaves = |site: &Site| site.simulators.div_ceil(self.simulators_per_router);
            let (triads, max) = (self.sites.iter().map(leaves).sum::<usize>() as f64, TRIADS_MAX as f64);
            if triads > max {
                let what = "the number of triads, one for so many simulators";
                return Err(ExerciseError::Range { what, min: 1.0, max, got: triads });
            }
        }
        let layout =
            Layout::draw(&self.sites, self.joined, self.simulators_per_router, self.routers_per_router);
        let has_line = |(a, b): (usize, usize)| {
            self.lines.iter().any(|lines| lines.between == (a, b) || lines.between == (b, a))
        };
        match layout.joined_sites().into_iter().find(|pair| !has_line(*pair)) {
            None => Ok(layout),
            Some((a, b)) => Err(ExerciseError::NoLine {
                a: self.sites[a].name.clone(),
                b: self.sites[b].name.clone(),
                joined: self.joined.name(),
            }),
        }
    }

    /// Estimated memory of a run, in bytes.
    ///
    /// # Errors
    /// As for [`Exercise::check`].
    pub fn memory_bytes(&self) -> Result<u64, ExerciseError> {
        let layout = self.layout()?;
        let links = (layout.links() + layout.on_demand_links()) as u64;
        let hosts = layout.parts.len() as u64;
        // A mesh is assumed to carry the load. Updates that a tree cannot carry wait until the end
        // of the run; an overload is assumed to be observed for a short time only.
        let counted = (self.settle + self.window).min(OVERLOADED_FOR).as_secs_f64();
        let waits = if self.joined == Joined::Mesh { 0.0 } else { counted };
        let waiting = (self.population.updates_per_s() * waits) as u64;
        let entities = self.population.entities as u64;
        Ok(links * LINK_BYTES + hosts * HOST_BYTES + entities * ENTITY_BYTES + waiting * WAITING_BYTES)
    }
}

// Measured on 64-bit Linux, rounded up.

/// Memory of a link between hosts: both ends and the interest sent over it.
const LINK_BYTES: u64 = 40_000;
/// Memory of a host and its routers.
const HOST_BYTES: u64 = 60_000;
/// Memory of an entity.
const ENTITY_BYTES: u64 = 100;
/// Memory of an update that waits for routers, with all its copies.
const WAITING_BYTES: u64 = 2_000;
/// Longest overload of a tree that the memory estimate covers.
const OVERLOADED_FOR: Duration = Duration::from_secs(10);

fn build(exercise: &Exercise, layout: &Layout) -> Result<Cluster<Station<Simulator>>, RunError> {
    let Exercise { population, hardware, seed, .. } = exercise;
    let (simulators, sites) = (exercise.simulators(), exercise.sites.len());
    let units = population.units(simulators, *seed);
    let common = Common::of(population, exercise.phases());
    let parts = &layout.parts;
    let first = parts.len() - simulators;
    let cross_links = exercise.joined == Joined::OnDemand;
    let settings =
        Settings { pipe: &hardware.pipe, pipe_work: hardware.memory_pipe, seed: *seed, cross_links };
    let site = |number: usize| u16::try_from(number).expect("fewer than 64 sites");
    let mut stations = assemble(&layout.topology, layout.first_seat, &settings, |number, router| {
        let at = site(parts[first + number].site);
        let seat = Seat { number, of: simulators, site: at, sites, unit: units[number] };
        Simulator::new(population, common.clone(), seat, *seed, router)
    })?;
    if cross_links {
        on_demand::join(exercise, layout, &mut stations)?;
    }
    let mut cluster = Cluster::new(hardware.ethernet);
    for Lines { between: (a, b), line } in &exercise.lines {
        for (from, to) in [(*a, *b), (*b, *a)] {
            cluster.set_line(SiteId(site(from)), SiteId(site(to)), *line);
        }
    }
    for (station, part) in stations.into_iter().zip(parts) {
        let spec = if part.duty == Duty::Simulator { hardware.federate } else { hardware.router };
        cluster.add_host_at(SiteId(site(part.site)), spec, station);
    }
    Ok(cluster)
}

/// Runs an exercise to the end of its measurement, and of the rest after it, if any. `observe`
/// receives the fraction that is done, from 0 to 1, and may stop the run by returning false; the
/// outcome then covers the time until the stop.
///
/// # Errors
/// [`ExerciseError`]: the settings are invalid, or the network cannot start. A network that breaks
/// down under its load is an outcome, not an error.
pub fn run(exercise: &Exercise, observe: impl FnMut(f64) -> bool) -> Result<Outcome, ExerciseError> {
    execute(exercise, observe).map(|(outcome, _)| outcome)
}

/// Runs an exercise. Returns its outcome, and the network at its end.
fn execute(
    exercise: &Exercise,
    mut observe: impl FnMut(f64) -> bool,
) -> Result<(Outcome, Cluster<Station<Simulator>>), ExerciseError> {
    let layout = exercise.layout()?;
    let mut cluster = build(exercise, &layout)?;
    let Phases { warm_from, counted_from, .. } = exercise.phases();
    let end = counted_from + exercise.window;
    let last = end + exercise.rest();
    let (mut seen, mut broken, mut is_whole) = (None, None, true);
    for stop in [warm_from, counted_from, end] {
        match run_until(&mut cluster, stop, last, &mut observe) {
            Ok(true) => {}
            Ok(false) => {
                is_whole = false;
                break;
            }
            // A link whose ends have no time for signs of life is overloaded.
            Err(error @ RunError::LinkLost { .. }) if cluster.now() > warm_from => {
                (broken, is_whole) = (Some(error), false);
                break;
            }
            Err(error) => return Err(error.into()),
        }
        if stop == warm_from {
            let is_busy = cluster.hosts().any(|host| cluster.backlog(host)[0] > UNSETTLED);
            if is_busy || !on_demand::is_complete(&cluster) {
                return Err(ExerciseError::Unsettled { start: warm_from });
            }
        }
        if stop == counted_from {
            seen = Some(Seen::of(&cluster, exercise));
        }
    }
    let before = seen.unwrap_or_else(|| Seen::of(&cluster, exercise));
    let after = Seen::of(&cluster, exercise);
    let broken = broken.map(|error| error.to_string());
    let mut outcome = outcome::between(exercise, &layout, &cluster, &before, &after, broken);
    if let Some(figures) = &mut outcome.cross_links {
        if is_whole {
            match run_until(&mut cluster, last, last, &mut observe) {
                Ok(true) => {
                    let counts = on_demand::counts(&cluster);
                    figures.left = Some(counts.opened - counts.closed);
                }
                Ok(false) => {}
                Err(error) => outcome.broken = Some(error.to_string()),
            }
        }
        figures.duplicates = on_demand::duplicates(&cluster);
        (outcome.events, outcome.digest) = (cluster.events(), cluster.digest());
    }
    Ok((outcome, cluster))
}

/// Runs until `stop` on the way to `end`. Returns false if `observe` stopped the run before.
fn run_until(
    cluster: &mut Cluster<Station<Simulator>>,
    stop: Moment,
    end: Moment,
    observe: &mut impl FnMut(f64) -> bool,
) -> Result<bool, RunError> {
    let whole = end.since(Moment::ZERO).as_secs_f64();
    loop {
        for _ in 0..EVENTS_OF_A_STEP {
            if !cluster.step(stop)? {
                return Ok(observe(stop.since(Moment::ZERO).as_secs_f64() / whole));
            }
        }
        if !observe(cluster.now().since(Moment::ZERO).as_secs_f64() / whole) {
            return Ok(false);
        }
    }
}
