//! The population of entities: their number, placement, speed, and update rates.

use super::grid::{Grid, Place, morton};
use base::Seed;
use rand_core::RngCore;
use std::f64::consts::TAU;
use std::time::Duration;

/// Assignment of parts of the grid to simulators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Random: simulators of neighbouring units may be far apart in the network.
    Scattered,
    /// Along a space-filling curve, so that most neighbouring units are at neighbouring simulators.
    Compact,
}

/// A population of simulated entities. They send updates by dead reckoning (IEEE 1278.1). A moving
/// entity updates when its true position differs too much from the extrapolated one, here at even
/// intervals. A stationary entity updates once per heartbeat.
#[derive(Clone, PartialEq, Debug)]
pub struct Population {
    /// Number of entities of all simulators.
    pub entities: usize,
    /// Bytes of an update, without the headers of router and network.
    pub update_bytes: usize,
    /// Share of moving entities, from 0 to 1.
    pub moving_share: f64,
    /// Interval between two updates of a moving entity.
    pub moving_interval: Duration,
    /// Interval between two updates of a stationary entity.
    pub heartbeat: Duration,
    /// Speed of moving entities, in cells per second.
    pub cells_per_s: f64,
    /// Mean number of entities in a cell of the grid; determines the size of the grid.
    pub entities_per_cell: f64,
    /// Side of the square in which the entities of one simulator start, in cells.
    pub unit_cells: f64,
    /// A simulator subscribes the cells of its entities and all cells up to this distance from them
    /// in each direction.
    pub sight_cells: u32,
    /// Assignment of units to simulators.
    pub placement: Placement,
}

/// An entity.
#[derive(Clone, Debug)]
pub(super) struct Entity {
    pub(super) place: Place,
    /// Cells per second; zero for a stationary entity.
    velocity: Place,
    pub(super) cell: u32,
}

impl Entity {
    /// Moves for `time`.
    pub(super) fn go(&mut self, grid: Grid, time: Duration) {
        let s = time.as_secs_f64();
        let (x, y) = (self.place.x + self.velocity.x * s, self.place.y + self.velocity.y * s);
        self.place = grid.wrap(Place { x, y });
    }
}

/// A uniform number from 0 to below 1.
fn uniform(rng: &mut base::Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform nanoseconds from zero to below `span`.
fn phase(rng: &mut base::Rng, span: Duration) -> u64 {
    ((u128::from(rng.next_u64()) * span.as_nanos()) >> 64) as u64
}

impl Population {
    /// The grid of the population.
    pub(super) fn grid(&self) -> Grid {
        Grid::for_entities(self.entities, self.entities_per_cell)
    }

    /// The centres of the units of all simulators.
    pub(super) fn units(&self, simulators: usize, seed: Seed) -> Vec<Place> {
        let side = f64::from(self.grid().side());
        let unit = |number: usize| {
            let mut rng = seed.split("units").split_index(number as u64).rng();
            Place { x: uniform(&mut rng) * side, y: uniform(&mut rng) * side }
        };
        let mut units: Vec<Place> = (0..simulators).map(unit).collect();
        if self.placement == Placement::Compact {
            units.sort_by_key(|unit| morton(*unit));
        }
        units
    }

    /// The entities of a simulator, the moving ones first, and the number of moving ones. The
    /// numbers of entities of two simulators differ by at most one.
    pub(super) fn entities_of(
        &self,
        number: usize,
        simulators: usize,
        unit: Place,
        seed: Seed,
    ) -> (Vec<Entity>, usize) {
        let grid = self.grid();
        let below = |number: usize| (number as u128 * self.entities as u128 / simulators as u128) as usize;
        let count = below(number + 1) - below(number);
        let moving = (count as f64 * self.moving_share).round() as usize;
        let mut rng = seed.split("entities").split_index(number as u64).rng();
        let entity = |index: usize| {
            let mut off = || (uniform(&mut rng) - 0.5) * self.unit_cells;
            let place = grid.wrap(Place { x: unit.x + off(), y: unit.y + off() });
            let heading = uniform(&mut rng) * TAU;
            let speed = if index < moving { self.cells_per_s } else { 0.0 };
            let velocity = Place { x: speed * libm::cos(heading), y: speed * libm::sin(heading) };
            Entity { place, velocity, cell: grid.cell(place) }
        };
        ((0..count).map(entity).collect(), moving)
    }

    /// The schedules of a simulator's moving and stationary entities, by the number of moving ones
    /// and of all.
    pub(super) fn rounds_of(&self, number: usize, (moving, all): (usize, usize), seed: Seed) -> [Rounds; 2] {
        let seeds = seed.split("turns").split_index(number as u64);
        [
            Rounds::new(self.moving_interval, 0..moving, seeds.split("moving")),
            Rounds::new(self.heartbeat, moving..all, seeds.split("still")),
        ]
    }

    /// Updates per second of all entities.
    pub fn updates_per_s(&self) -> f64 {
        let (moving, still) = (self.moving_share, 1.0 - self.moving_share);
        self.entities as f64
            * (moving / self.moving_interval.as_secs_f64() + still / self.heartbeat.as_secs_f64())
    }
}

/// The update schedule of entities: each has one turn per period, at a phase of its own.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    pub(super) period: Duration,
    /// Phase in nanoseconds and entity, in ascending order.
    turns: Vec<(u64, u32)>,
    next: usize,
    /// Start of the current period, in nanoseconds from the beginning.
    begun: u64,
}

impl Rounds {
    /// Creates the schedule of the entities `of`, with phases drawn from the seed.
    pub(super) fn new(period: Duration, of: std::ops::Range<usize>, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let number = |member: usize| u32::try_from(member).expect("fewer than 2^32 entities at a simulator");
        let mut turns: Vec<(u64, u32)> = of.map(|member| (phase(&mut rng, period), number(member))).collect();
        turns.sort_unstable();
        Self { period, turns, next: 0, begun: 0 }
    }

    /// Begins anew.
    pub(super) fn restart(&mut self) {
        (self.next, self.begun) = (0, 0);
    }

    /// Time of the next turn since the beginning; `None` without entities.
    pub(super) fn due(&self) -> Option<Duration> {
        self.turns.get(self.next).map(|(at, _)| Duration::from_nanos(self.begun + at))
    }

    /// Takes the next turn if it is due at or before `now`.
    pub(super) fn pop(&mut self, now: Duration) -> Option<usize> {
        if self.due()? > now {
            return None;
        }
        let (_, member) = self.turns[self.next];
        self.next += 1;
        if self.next == self.turns.len() {
            self.next = 0;
            self.begun = self.begun.saturating_add(u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX));
        }
        Some(member as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population() -> Population {
        Population {
            entities: 1_003,
            update_bytes: 144,
            moving_share: 0.25,
            moving_interval: Duration::from_secs(1),
            heartbeat: Duration::from_secs(5),
            cells_per_s: 0.5,
            entities_per_cell: 10.0,
            unit_cells: 2.0,
            sight_cells: 1,
            placement: Placement::Scattered,
        }
    }

    #[test]
    fn all_entities_are_at_some_simulator_and_within_their_unit() {
        let population = population();
        let units = population.units(10, Seed(3));
        let parts: Vec<_> =
            units.iter().enumerate().map(|(n, unit)| population.entities_of(n, 10, *unit, Seed(3))).collect();
        assert_eq!(parts.iter().map(|(entities, _)| entities.len()).sum::<usize>(), 1_003);
        assert!(
            parts.iter().all(|(entities, moving)| *moving == 25 && (100..=101).contains(&entities.len()))
        );
        let side = f64::from(population.grid().side());
        for (unit, (entities, _)) in units.iter().zip(&parts) {
            for entity in entities {
                let far = |a: f64, b: f64| (a - b).abs().min(side - (a - b).abs());
                assert!(far(unit.x, entity.place.x) <= 1.0 && far(unit.y, entity.place.y) <= 1.0);
            }
        }
        assert!((population.updates_per_s() - (1_003.0 * (0.25 + 0.75 / 5.0))).abs() < 1e-9);
    }

    #[test]
    fn compact_units_are_the_same_ones_in_another_order() {
        let scattered = population();
        let compact = Population { placement: Placement::Compact, ..population() };
        let (mut a, b) = (scattered.units(50, Seed(1)), compact.units(50, Seed(1)));
        assert_ne!(a, b);
        a.sort_by_key(|unit| morton(*unit));
        assert_eq!(a, b);
    }

    #[test]
    fn entities_that_move_go_straight_on_and_others_stay() {
        let population = population();
        let (mut entities, moving) = population.entities_of(0, 1, Place { x: 5.0, y: 5.0 }, Seed(9));
        let grid = population.grid();
        for (index, entity) in entities.iter_mut().enumerate() {
            let before = entity.place;
            entity.go(grid, Duration::from_secs(2));
            let went = (entity.place.x - before.x).hypot(entity.place.y - before.y);
            assert!((went - if index < moving { 1.0 } else { 0.0 }).abs() < 1e-9, "{index}");
        }
    }

    #[test]
    fn everybody_has_one_turn_in_each_period() {
        let mut rounds = Rounds::new(Duration::from_secs(5), 3..40, Seed(2));
        let mut last = vec![None; 40];
        let mut turns = 0;
        while rounds.due().is_some_and(|due| due < Duration::from_secs(20)) {
            let due = rounds.due().expect("just asked");
            assert_eq!(rounds.pop(due - Duration::from_nanos(1)), None);
            let member = rounds.pop(due).expect("it is due");
            assert!(last[member].is_none_or(|before| due - before == Duration::from_secs(5)));
            last[member] = Some(due);
            turns += 1;
        }
        assert_eq!(turns, 37 * 4);
        assert_eq!(Rounds::new(Duration::from_secs(1), 0..0, Seed(2)).due(), None);
    }
}
