//! `meshrti sim juo`, `sfexpress` and `million`: entities with interest in their neighbourhood,
//! over networks of routers.

mod charts;
mod comparison;
mod file;
mod results;
mod verdict;

use std::time::Instant;

use crate::exercise::{self, Exercise};
use base::Digest;
use serde_json::json;

use console::exit::{Failure, Outcome, Status};
use console::report::Report;
use experiment::parallel::{in_parallel, threads};
use experiment::sheet::publish;
use experiment::usage::refuse_too_large;
use experiment::{Settings, interrupt, seed_of};
use file::{PlacementName, Point, Scenario, TopologyName, Wishes};
use results::Ran;

/// The options that override a scenario file.
#[derive(clap::Args)]
pub(super) struct ExerciseFlags {
    /// Entities, over all simulators [default: as many at each as in the scenario's last size]
    #[arg(long, visible_alias = "entities", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=exercise::ENTITIES_MAX as i64))]
    vehicles: Option<u32>,
    /// Hosts [default: those of the scenario's sizes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(3..=4_000))]
    nodes: Option<u16>,
    /// Simulated seconds that count [default: those of the scenario]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: Option<u32>,
    /// This topology alone
    #[arg(long, value_enum, value_name = "HOW")]
    topology: Option<TopologyName>,
    /// Hosts whose entities are neighbours on the grid
    #[arg(long, value_enum, value_name = "HOW")]
    placement: Option<PlacementName>,
}

/// The number of progress steps of all runs together.
const STEPS: u64 = 2_000;

/// Reads a scenario, simulates it, and reports.
pub(super) fn run(settings: &Settings, flags: &ExerciseFlags, show: bool, name: &str, text: &str) -> Outcome {
    let Some(scenario) = settings.read_or_show(show, text, Scenario::parse)? else { return Ok(Status::Done) };
    let wishes = Wishes {
        nodes: flags.nodes.map(usize::from),
        entities: flags.vehicles.map(|vehicles| vehicles as usize),
        seconds: flags.seconds,
        topology: flags.topology,
        placement: flags.placement,
    };
    let points = scenario.points(&wishes).map_err(|why| settings.wrong(why))?;
    let replications = usize::from(settings.replications);
    let all = points.len() * replications;
    let mut needs: Vec<u64> = points.iter().filter_map(|point| point.exercise.memory_bytes().ok()).collect();
    needs.sort_unstable();
    let at_a_time = threads(settings.jobs, all);
    refuse_too_large(Some(needs.iter().rev().take(at_a_time).sum()), 1)?;
    interrupt::watch();
    let begun = Instant::now();
    let outcomes = simulate(settings, &points, replications).map_err(|(at, error)| {
        let Point { nodes, exercise } = &points[at];
        Failure::bad_news(format_args!(
            "scenario {}: {}, {nodes} nodes, {} entities: {error}",
            settings.scenario,
            exercise.joined.name(),
            exercise.population.entities
        ))
    })?;
    let wall_s = begun.elapsed().as_secs_f64();
    let mut digest = Digest::EMPTY;
    outcomes.iter().for_each(|outcome| digest.word(outcome.digest.value()));
    let (events, runs) = (outcomes.iter().map(|outcome| outcome.events).sum::<u64>(), outcomes.len());
    let ran = Ran::of(points, outcomes, replications);
    let mut report = Report::new("sim exercise", 1);
    report.seed(settings.seed);
    report.summary(json!({
        "scenario": name,
        "replications": replications,
        "jobs": at_a_time,
        "wall_s": wall_s,
        "events": events,
        "events_per_s": events as f64 / wall_s,
        "digest": digest.to_string(),
        "runs": runs,
        "complete": !interrupt::is_stopped(),
    }));
    let mut notes = vec![format!("scenario {name}: {}", scenario.title)];
    notes.extend(verdict::notes(&scenario, &ran));
    if interrupt::is_stopped() {
        notes.push(format!(
            "stopped by the user: {runs} of {all} runs were begun; figures are of what was simulated until then"
        ));
    }
    notes.push(format!("{events} events in {wall_s:.1} s on {at_a_time} threads; digest {digest}"));
    let sheets = results::sheets(&scenario, &ran);
    publish(settings, &mut report, &sheets, &charts::pictures(&scenario, &ran), &notes)?;
    Ok(interrupt::status())
}

/// Runs all points, each `replications` times, in order, or the first of them if the user stops it.
///
/// # Errors
/// The error of the first failing run in order, with the index of its point.
fn simulate(
    settings: &Settings,
    points: &[Point],
    replications: usize,
) -> Result<Vec<exercise::Outcome>, (usize, exercise::ExerciseError)> {
    let all = points.len() * replications;
    // The duration of a run is roughly proportional to its number of entities.
    let entities: u64 =
        points.iter().map(|point| point.exercise.population.entities as u64).sum::<u64>().max(1);
    let each = (STEPS / all as u64).max(1);
    in_parallel(settings.jobs, all, each, |index, ticker| {
        let (at, replication) = (index / replications, index % replications);
        let point = &points[at].exercise;
        let steps = each * points.len() as u64 * point.population.entities as u64 / entities;
        let mut ticked = 0;
        let run =
            exercise::run(&Exercise { seed: seed_of(settings, replication), ..point.clone() }, |share| {
                while (ticked as f64) < share * steps as f64 {
                    ticker.tick();
                    ticked += 1;
                }
                !interrupt::is_stopped()
            });
        run.map_err(|error| (at, error))
    })
}
