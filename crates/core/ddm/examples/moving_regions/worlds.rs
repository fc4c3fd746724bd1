//! Worlds of moving regions, drawn from a seed.

use base::{Rng, Seed};
use ddm::Population;
use rand_core::RngCore;

/// A region: lower and upper bound of each dimension.
pub(crate) type Region<const D: usize> = [[u32; 2]; D];
/// A region that moved, and its new ranges.
pub(crate) type Move<const D: usize> = (Population, u32, Region<D>);

/// The size of the world in each dimension, and the margin that keeps regions within u32.
const SIZE: f64 = 4.0e9;
const MARGIN: f64 = 1.0e8;
/// The part of all regions that a step moves.
const MOVED: f64 = 0.05;
const CLUSTERS: usize = 50;
const JUNCTIONS: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Uniform,
    Clustered,
    Roads,
    Leaps,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Clustered => "clustered",
            Self::Roads => "roads",
            Self::Leaps => "leaps",
        }
    }
}

/// An entity in the middle of its region.
#[derive(Clone, Copy)]
struct Entity<const D: usize> {
    at: [f64; D],
    extent: f64,
    /// The road, and how much of it the entity has passed.
    road: usize,
    passed: f64,
}

pub(crate) struct World<const D: usize> {
    kind: Kind,
    rng: Rng,
    clusters: Vec<[f64; D]>,
    roads: Vec<[[f64; D]; 2]>,
    entities: [Vec<Entity<D>>; 2],
    regions: [Vec<Region<D>>; 2],
}

impl<const D: usize> World<D> {
    pub(crate) fn new(kind: Kind, sizes: [usize; 2]) -> Self {
        let mut rng = Seed(1).split(kind.name()).split_index(D as u64).rng();
        let clusters = (0..CLUSTERS).map(|_| point(&mut rng)).collect();
        let roads = roads(&mut rng);
        let mut world =
            Self { kind, rng, clusters, roads, entities: [vec![], vec![]], regions: [vec![], vec![]] };
        for (side, size) in sizes.into_iter().enumerate() {
            world.entities[side] = (0..size).map(|_| world.entity()).collect();
        }
        world.choose_extents();
        world.regions = [0, 1].map(|side| world.entities[side].iter().map(Entity::region).collect());
        world
    }

    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.regions[0].len(), self.regions[1].len()]
    }

    pub(crate) fn regions(&self, population: Population) -> &[Region<D>] {
        &self.regions[population as usize]
    }

    /// Moves some regions of both populations.
    pub(crate) fn step(&mut self) -> Vec<Move<D>> {
        let mut moves = Vec::new();
        for population in [Population::Update, Population::Subscription] {
            let side = population as usize;
            for id in 0..self.regions[side].len() {
                if uniform(&mut self.rng) >= MOVED {
                    continue;
                }
                let mut entity = self.entities[side][id];
                self.move_on(&mut entity);
                self.entities[side][id] = entity;
                self.regions[side][id] = entity.region();
                moves.push((population, id as u32, self.regions[side][id]));
            }
        }
        moves
    }

    fn entity(&mut self) -> Entity<D> {
        let extent = 4_f64.powf(uniform(&mut self.rng));
        let mut entity = Entity { at: point(&mut self.rng), extent, road: 0, passed: 0.0 };
        if self.kind == Kind::Clustered && uniform(&mut self.rng) < 0.5 {
            let center = self.clusters[below(&mut self.rng, CLUSTERS)];
            // The sum of uniform numbers is nearly normal.
            let mut bell = || (0..6).map(|_| 0.004 * uniform(&mut self.rng) - 0.002).sum::<f64>();
            entity.at = center.map(|at| at + bell());
        }
        if self.kind == Kind::Roads {
            entity.road = below(&mut self.rng, self.roads.len());
            entity.passed = uniform(&mut self.rng);
            entity.at = along(self.roads[entity.road], entity.passed);
        }
        entity
    }

    fn move_on(&mut self, entity: &mut Entity<D>) {
        match self.kind {
            Kind::Leaps => entity.at = point(&mut self.rng),
            Kind::Uniform | Kind::Clustered => {
                let mut shift = || (uniform(&mut self.rng) - 0.5) * entity.extent;
                entity.at = entity.at.map(|at| (at + shift()).clamp(0.0, 1.0));
            }
            Kind::Roads => {
                let road = self.roads[entity.road];
                let length = (0..D).map(|k| (road[1][k] - road[0][k]).powi(2)).sum::<f64>().sqrt();
                entity.passed += 0.5 * uniform(&mut self.rng) * entity.extent / length.max(1e-9);
                if entity.passed > 1.0 {
                    entity.road = below(&mut self.rng, self.roads.len());
                    entity.passed = 0.0;
                }
                entity.at = along(self.roads[entity.road], entity.passed);
            }
        }
    }

    /// Scales the extents until a sample of update regions overlaps as many regions as it should.
    fn choose_extents(&mut self) {
        let wanted = if self.entities[1].len() < self.entities[0].len() { 1.0 } else { 4.0 };
        let [updates, subscriptions] = &self.entities;
        let sample: Vec<_> = updates.iter().step_by(updates.len().div_ceil(1_000)).collect();
        let others: Vec<_> = subscriptions.iter().step_by(subscriptions.len().div_ceil(20_000)).collect();
        // Two boxes overlap as soon as the scale passes the greatest of their distances in extents.
        let mut scales: Vec<f64> = Vec::new();
        for one in &sample {
            scales.extend(others.iter().map(|other| {
                let distance = |k: usize| (one.at[k] - other.at[k]).abs();
                (0..D).map(distance).fold(0.0, f64::max) * 2.0 / (one.extent + other.extent)
            }));
        }
        let part = others.len() as f64 / subscriptions.len() as f64;
        let at = ((wanted * part * sample.len() as f64) as usize).min(scales.len() - 1);
        let (_, scale, _) = scales.select_nth_unstable_by(at, f64::total_cmp);
        let scale = *scale;
        for entity in self.entities.iter_mut().flatten() {
            entity.extent *= scale;
        }
    }
}

impl<const D: usize> Entity<D> {
    fn region(&self) -> Region<D> {
        let half = (self.extent / 2.0).min(0.02);
        self.at.map(|at| {
            let lower = ((at - half).max(-0.02) * SIZE + MARGIN) as u32;
            let upper = ((at + half).min(1.02) * SIZE + MARGIN) as u32;
            [lower, upper.max(lower + 1)]
        })
    }
}

fn point<const D: usize>(rng: &mut Rng) -> [f64; D] {
    std::array::from_fn(|_| uniform(rng))
}

/// A number of [0, 1).
fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A whole number below `end`.
fn below(rng: &mut Rng, end: usize) -> usize {
    (uniform(rng) * end as f64) as usize
}

fn along<const D: usize>(road: [[f64; D]; 2], passed: f64) -> [f64; D] {
    std::array::from_fn(|k| road[0][k] + (road[1][k] - road[0][k]) * passed)
}

/// Roads from each junction to the two nearest of some others.
fn roads<const D: usize>(rng: &mut Rng) -> Vec<[[f64; D]; 2]> {
    let junctions: Vec<[f64; D]> = (0..JUNCTIONS).map(|_| point(rng)).collect();
    let mut roads = Vec::new();
    for from in &junctions {
        let distance = |to: &[f64; D]| (0..D).map(|k| (to[k] - from[k]).powi(2)).sum::<f64>();
        let mut others: Vec<[f64; D]> = junctions.iter().filter(|to| *to != from).copied().collect();
        others.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
        roads.extend(others.iter().take(2).map(|to| [*from, *to]));
    }
    roads
}
