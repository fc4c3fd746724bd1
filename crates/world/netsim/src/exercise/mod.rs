//! Exercises: simulators with entities on a ground of cells, over networks of the routers of the product.
//!
//! After "Advanced Message Routing for Scalable Distributed Simulations" (Gottschalk, Amburn and Davis 2005), sections 1 to 3: the JUO
//! federation over its sites, SF Express with up to 100,000 vehicles, and a million entities. Each simulator tells of its entities by
//! dead reckoning, to whom it may concern: the topic of an update is the cell that the entity is in, and a simulator wants the cells
//! around its own entities. When these move, so does its interest, through the same routers.
//!
//! What comes out is the load of everything ([`Outcome`]): whether what a client sends and receives, and what a router carries, is
//! bounded when the exercise grows, and where a tree of routers is not enough. A part that gets more than it can do has a queue that
//! grows with the time for which one looks, and so do latencies: then the growth of the queue is the result.

mod blueprint;
mod crowd;
mod ground;
mod message;
mod outcome;
mod simulator;
#[cfg(test)]
mod tests;

pub use blueprint::{Duty, Joined};
pub use crowd::{Crowd, Placement};
pub use outcome::{Client, Level, LineLoad, Outcome, Part, Spread, Way};

use crate::cluster::{Cluster, Line, SiteId};
use crate::routers::network::{Settings, assemble};
use crate::routers::station::Station;
use crate::routers::{Hardware, RunError};
use base::{Moment, Seed};
use blueprint::Blueprint;
use outcome::Seen;
use simulator::{Common, Seat, Simulator};
use std::time::Duration;

/// A place with simulators, and with routers for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// For people.
    pub name: String,
    /// Simulators there.
    pub simulators: usize,
}

/// Lines between two sites, one each way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lines {
    /// Places in the list of sites.
    pub between: (usize, usize),
    /// What each is like.
    pub line: Line,
}

/// An exercise.
#[derive(Clone, PartialEq, Debug)]
pub struct Exercise {
    /// How routers are joined.
    pub joined: Joined,
    /// Where simulators are. The root of a tree is at the first.
    pub sites: Vec<Site>,
    /// What is between sites whose routers are linked.
    pub lines: Vec<Lines>,
    /// Simulators at a leaf router, or one less.
    pub simulators_per_router: usize,
    /// Routers below one of a tree, or a few less.
    pub routers_per_router: usize,
    /// The entities.
    pub crowd: Crowd,
    /// Hosts and the networks of sites.
    pub hardware: Hardware,
    /// From the first updates until they are counted.
    pub settle: Duration,
    /// So long they are counted.
    pub window: Duration,
    /// Where chance comes from.
    pub seed: Seed,
}

/// Updates begin. By then everybody knows what is wanted.
pub const START: Moment = Moment::from_millis(1_500);
/// Most simulators of an exercise.
pub const SIMULATORS_MAX: usize = 20_000;
/// Most triads of a mesh: each is linked with every other.
pub const TRIADS_MAX: usize = 1_024;
/// Most entities.
pub const ENTITIES_MAX: usize = 20_000_000;
/// Most bytes of an update.
pub const UPDATE_BYTES_MAX: usize = 8_192;
/// Most sites.
pub const SITES_MAX: usize = 64;
/// Most cells that a simulator looks beyond its entities'.
pub const SIGHT_MAX: u32 = 16;

/// A processor that is behind by more than this at the start has not taken in what is wanted.
const UNSETTLED: Duration = Duration::from_millis(20);
/// Events after which a run can be stopped.
const EVENTS_OF_A_STEP: usize = 4_096;

/// Why an exercise cannot be run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ExerciseError {
    /// Too few or too many of something.
    #[error("{what} must be from {min} to {max}, not {got}")]
    Range {
        /// What is counted or measured.
        what: &'static str,
        /// Least.
        min: f64,
        /// Most.
        max: f64,
        /// What was asked for.
        got: f64,
    },
    /// Routers of two sites are linked over no line.
    #[error("there is no line between {a} and {b}, whose routers are linked in a {joined}")]
    NoLine {
        /// A site.
        a: String,
        /// Another.
        b: String,
        /// How routers are joined.
        joined: &'static str,
    },
    /// Interest did not get through before the start.
    #[error(
        "interest is not known everywhere {START} s after the beginning: the network is too slow for so much of it"
    )]
    Unsettled,
    /// A router refused what the network did.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Exercise {
    /// Simulators at all sites.
    pub fn simulators(&self) -> usize {
        self.sites.iter().map(|site| site.simulators).sum()
    }

    /// Checks everything that can be checked before it is built.
    ///
    /// # Errors
    /// [`ExerciseError::Range`], [`ExerciseError::NoLine`].
    pub fn check(&self) -> Result<(), ExerciseError> {
        self.blueprint().map(|_| ())
    }

    fn ranges(&self) -> Result<(), ExerciseError> {
        let range = |what, min: f64, max: f64, got: f64| match got {
            _ if (min..=max).contains(&got) => Ok(()),
            _ => Err(ExerciseError::Range { what, min, max, got }),
        };
        let count =
            |what, min: usize, max: usize, got: usize| range(what, min as f64, max as f64, got as f64);
        let crowd = &self.crowd;
        count("the number of sites", 1, SITES_MAX, self.sites.len())?;
        for site in &self.sites {
            count("the number of simulators of a site", 1, SIMULATORS_MAX, site.simulators)?;
        }
        count("the number of simulators", 2, SIMULATORS_MAX, self.simulators())?;
        count("the number of simulators per router", 1, SIMULATORS_MAX, self.simulators_per_router)?;
        count("the number of routers per router", 2, SIMULATORS_MAX, self.routers_per_router)?;
        count("the number of entities", 1, ENTITIES_MAX, crowd.entities)?;
        count("the bytes of an update", message::HEAD_BYTES, UPDATE_BYTES_MAX, crowd.update_bytes)?;
        count("the cells that are seen around an entity", 0, SIGHT_MAX as usize, crowd.sight_cells as usize)?;
        range("the share of entities that move", 0.0, 1.0, crowd.moving_share)?;
        range("the speed in cells per second", 0.0, 1e3, crowd.cells_per_s)?;
        range("the number of entities per cell", 1e-3, 1e6, crowd.entities_per_cell)?;
        range("the side of a unit in cells", 0.0, 1e3, crowd.unit_cells)?;
        let hour = 3_600.0;
        range("the interval of moving entities in seconds", 1e-3, hour, crowd.moving_interval.as_secs_f64())?;
        range("the heartbeat in seconds", 1e-3, hour, crowd.heartbeat.as_secs_f64())?;
        range("the time to settle in seconds", 0.0, hour, self.settle.as_secs_f64())?;
        range("the time that is counted in seconds", 1e-3, hour, self.window.as_secs_f64())
    }

    fn blueprint(&self) -> Result<Blueprint, ExerciseError> {
        self.ranges()?;
        if self.joined == Joined::Mesh {
            let leaves = |site: &Site| site.simulators.div_ceil(self.simulators_per_router);
            let (triads, max) = (self.sites.iter().map(leaves).sum::<usize>() as f64, TRIADS_MAX as f64);
            if triads > max {
                let what = "the number of triads, one for so many simulators";
                return Err(ExerciseError::Range { what, min: 1.0, max, got: triads });
            }
        }
        let blueprint =
            Blueprint::draw(&self.sites, self.joined, self.simulators_per_router, self.routers_per_router);
        let has_line = |(a, b): (usize, usize)| {
            self.lines.iter().any(|lines| lines.between == (a, b) || lines.between == (b, a))
        };
        match blueprint.joined_sites().into_iter().find(|pair| !has_line(*pair)) {
            None => Ok(blueprint),
            Some((a, b)) => Err(ExerciseError::NoLine {
                a: self.sites[a].name.clone(),
                b: self.sites[b].name.clone(),
                joined: self.joined.name(),
            }),
        }
    }

    /// Bytes of memory that a run takes, about.
    ///
    /// # Errors
    /// As [`Exercise::check`].
    pub fn memory_bytes(&self) -> Result<u64, ExerciseError> {
        let blueprint = self.blueprint()?;
        let (links, hosts) = (blueprint.links() as u64, blueprint.parts.len() as u64);
        // A mesh is taken to hold; what a tree cannot carry waits until the end. Nobody looks long at what is overloaded.
        let counted = (self.settle + self.window).min(OVERLOADED_FOR).as_secs_f64();
        let waits = if self.joined == Joined::Mesh { 0.0 } else { counted };
        let waiting = (self.crowd.updates_per_s() * waits) as u64;
        let entities = self.crowd.entities as u64;
        Ok(links * LINK_BYTES + hosts * HOST_BYTES + entities * ENTITY_BYTES + waiting * WAITING_BYTES)
    }
}

// Measured on 64-bit Linux, rounded up.

/// Of a link between hosts, both its ends and the interest told over it.
const LINK_BYTES: u64 = 40_000;
/// Of a host and its routers.
const HOST_BYTES: u64 = 60_000;
/// Of an entity.
const ENTITY_BYTES: u64 = 100;
/// Of an update that waits for routers, all its copies.
const WAITING_BYTES: u64 = 2_000;
/// So long a tree may be overloaded within the memory that is foreseen.
const OVERLOADED_FOR: Duration = Duration::from_secs(10);

fn build(exercise: &Exercise, blueprint: &Blueprint) -> Result<Cluster<Station<Simulator>>, RunError> {
    let Exercise { crowd, hardware, seed, .. } = exercise;
    let counted_from = START + exercise.settle;
    let (simulators, sites) = (exercise.simulators(), exercise.sites.len());
    let units = crowd.units(simulators, *seed);
    let common = Common::of(crowd, counted_from);
    let parts = &blueprint.parts;
    let first = parts.len() - simulators;
    let settings = Settings { pipe: &hardware.pipe, pipe_work: hardware.memory_pipe, seed: *seed };
    let site = |number: usize| u16::try_from(number).expect("fewer than 64 sites");
    let stations = assemble(&blueprint.topology, blueprint.first_seat, &settings, |number, router| {
        let at = site(parts[first + number].site);
        let seat = Seat { number, of: simulators, site: at, sites, unit: units[number] };
        Simulator::new(crowd, common.clone(), seat, *seed, router)
    })?;
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

/// Runs an exercise until all is counted, or until `observe`, which is told the part of it that is done from 0 to 1, wants no more: then what
/// was counted so far comes out.
///
/// # Errors
/// [`ExerciseError`]: it is asked for something that cannot be. A network that breaks down under its load is an outcome.
pub fn run(exercise: &Exercise, mut observe: impl FnMut(f64) -> bool) -> Result<Outcome, ExerciseError> {
    let blueprint = exercise.blueprint()?;
    let mut cluster = build(exercise, &blueprint)?;
    let counted_from = START + exercise.settle;
    let end = counted_from + exercise.window;
    let (mut seen, mut broken) = (None, None);
    for stop in [START, counted_from, end] {
        match run_until(&mut cluster, stop, end, &mut observe) {
            Ok(true) => {}
            Ok(false) => break,
            // What cannot even say that it lives has too much to do.
            Err(error @ RunError::LinkLost { .. }) if cluster.now() > START => {
                broken = Some(error);
                break;
            }
            Err(error) => return Err(error.into()),
        }
        if stop == START && cluster.hosts().any(|host| cluster.backlog(host)[0] > UNSETTLED) {
            return Err(ExerciseError::Unsettled);
        }
        if stop == counted_from {
            seen = Some(Seen::of(&cluster, exercise));
        }
    }
    let before = seen.unwrap_or_else(|| Seen::of(&cluster, exercise));
    let after = Seen::of(&cluster, exercise);
    let broken = broken.map(|error| error.to_string());
    Ok(outcome::between(exercise, &blueprint, &cluster, &before, &after, broken))
}

/// Runs on until `stop`, and says whether it got there before `observe` wanted no more.
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
