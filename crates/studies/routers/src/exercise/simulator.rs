//! A simulator: it publishes its own entities and subscribes the cells near them.

use super::grid::{Grid, Place, View};
use super::message::{Area, HEAD_BYTES, Update};
use super::population::{Entity, Population, Rounds};
use crate::routers::RunError;
use crate::routers::station::{Application, RouterOf};
use base::stats::Histogram;
use base::{Moment, Seed};
use router::{ClientConfig, ClientId};
use std::time::Duration;

/// The settings that all simulators of an exercise share.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) grid: Grid,
    pub(super) sight: u32,
    /// Padding of updates, in bytes.
    pub(super) rest: u16,
    pub(super) phases: Phases,
}

/// Moments at which simulators change what they do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phases {
    /// Updates begin; entities stand still until the exercise begins.
    pub(super) warm_from: Moment,
    /// The exercise begins.
    pub(super) start: Moment,
    /// Latencies of updates that are sent from now on are recorded.
    pub(super) counted_from: Moment,
    /// Updates end; [`Moment::MAX`]: never.
    pub(super) silent_from: Moment,
}

impl Common {
    pub(super) fn of(population: &Population, phases: Phases) -> Self {
        let rest = population.update_bytes.saturating_sub(HEAD_BYTES);
        Self {
            grid: population.grid(),
            sight: population.sight_cells,
            rest: u16::try_from(rest).expect("updates are checked to be short"),
            phases,
        }
    }
}

/// Counters of a simulator; they never decrease.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Received updates of cells that it does not see, or no longer sees.
    pub(super) stray: u64,
    /// Links crossed by received updates, in total.
    pub(super) links: u64,
    /// Changes of its interest, counted by block.
    pub(super) interests: u64,
}

#[derive(Debug)]
pub(super) struct Simulator {
    site: u16,
    /// Its local client at its router.
    client: ClientId,
    common: Common,
    entities: Vec<Entity>,
    /// Schedules of the moving and of the stationary entities.
    rounds: [Rounds; 2],
    /// The exercise has begun.
    is_begun: bool,
    view: View,
    pub(super) counts: Counts,
    /// Latencies of measured updates in microseconds, by sending site.
    pub(super) latency: Vec<Histogram>,
}

/// The identity of a simulator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) number: usize,
    /// Number of simulators.
    pub(super) of: usize,
    pub(super) site: u16,
    pub(super) sites: usize,
    pub(super) unit: Place,
}

impl Simulator {
    /// Creates a simulator behind `router`, places its entities, and declares its interest.
    pub(super) fn new(
        population: &Population,
        common: Common,
        seat: Seat,
        seed: Seed,
        router: &mut RouterOf<Self>,
    ) -> Result<Self, RunError> {
        let client = router.add_client(Moment::ZERO, ClientConfig::local()).map_err(RunError::Client)?;
        let (entities, moving) = population.entities_of(seat.number, seat.of, seat.unit, seed);
        let rounds = population.rounds_of(seat.number, (moving, entities.len()), seed);
        let mut simulator = Self {
            site: seat.site,
            client,
            common,
            entities,
            rounds,
            is_begun: false,
            view: View::default(),
            counts: Counts::default(),
            latency: vec![Histogram::default(); seat.sites],
        };
        let Common { grid, sight, .. } = simulator.common;
        let cells: Vec<u32> = simulator.entities.iter().map(|entity| entity.cell).collect();
        let seen = cells.into_iter().flat_map(|cell| grid.around(cell, sight));
        simulator.look(Moment::ZERO, router, std::iter::empty(), seen)?;
        Ok(simulator)
    }

    /// Declares the changes of interest after the cells `old` are seen once less and the cells
    /// `new` once more.
    fn look(
        &mut self,
        now: Moment,
        router: &mut RouterOf<Self>,
        old: impl Iterator<Item = u32>,
        new: impl Iterator<Item = u32>,
    ) -> Result<(), RunError> {
        let mut news: Vec<(Area, Area)> = Vec::new();
        self.view.change(old, new, |before, after| news.push((before, after)));
        for (before, after) in news {
            self.counts.interests += 1;
            // Declare the new interest first, so that nothing is missed in between.
            for (area, any) in [(after, true), (before, false)] {
                if area.cells != 0 {
                    router.set_interest(now, self.client, area, any).map_err(RunError::Client)?;
                }
            }
        }
        Ok(())
    }

    /// Moves an entity for `time` and publishes its update.
    fn tell(
        &mut self,
        now: Moment,
        router: &mut RouterOf<Self>,
        entity: usize,
        time: Duration,
    ) -> Result<(), RunError> {
        let Common { grid, sight, rest, .. } = self.common;
        let told = &mut self.entities[entity];
        told.go(grid, time);
        let (old, new) = (told.cell, grid.cell(told.place));
        told.cell = new;
        if old != new {
            self.look(now, router, grid.around(old, sight), grid.around(new, sight))?;
        }
        let update = Update { cell: new, site: self.site, born: now.as_nanos(), rest };
        let _submitted = router.submit(now, self.client, update).map_err(RunError::Client)?;
        self.counts.sent += 1;
        Ok(())
    }
}

impl Application for Simulator {
    type Message = Update;
    type Interest = Area;

    fn act(&mut self, now: Moment, router: &mut RouterOf<Self>) -> Result<(), RunError> {
        while let Some(envelope) = router.poll_envelope(self.client) {
            let Update { cell, site, born, .. } = envelope.message;
            self.counts.received += 1;
            self.counts.links += u64::from(envelope.hops);
            self.counts.stray += u64::from(!self.view.sees(cell));
            let born = Moment::from_nanos(born);
            if born >= self.common.phases.counted_from
                && let Some(latency) = self.latency.get_mut(usize::from(site))
            {
                latency.add(u64::try_from(now.since(born).as_micros()).unwrap_or(u64::MAX));
            }
        }
        let Phases { warm_from, start, silent_from, .. } = self.common.phases;
        if now >= start && !std::mem::replace(&mut self.is_begun, true) {
            self.rounds.iter_mut().for_each(Rounds::restart);
        }
        let from = if self.is_begun { start } else { warm_from };
        let started = now.since(from);
        for kind in 0..self.rounds.len() {
            let moves_for = if self.is_begun { self.rounds[kind].period } else { Duration::ZERO };
            while (from..silent_from).contains(&now)
                && let Some(entity) = self.rounds[kind].pop(started)
            {
                self.tell(now, router, entity, moves_for)?;
            }
        }
        Ok(())
    }

    fn poll_timeout(&self) -> Option<Moment> {
        let Phases { warm_from, start, silent_from, .. } = self.common.phases;
        let due = self.rounds.iter().filter_map(Rounds::due).min()?;
        let at = if self.is_begun || warm_from == start { start + due } else { start.min(warm_from + due) };
        (at < silent_from).then_some(at)
    }
}
