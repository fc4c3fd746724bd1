//! `meshrti sim juo`, `sfexpress` and `million`: entities with interest in their neighbourhood,
//! over networks of routers.

mod charts;
mod file;
mod results;
mod verdict;

use std::time::Instant;

use base::Digest;
use netsim::exercise::{self, Exercise};
use serde_json::json;

use super::parallel::{in_parallel, threads};
use super::sheet::publish;
use super::usage::refuse_too_large;
use super::{Args, interrupt, read_or_show, seed_of, wrong};
use crate::exit::{Failure, Outcome, Status};
use crate::report::Report;
use file::{PlacementName, Point, Scenario, TopologyName, Wishes};
use results::Ran;

/// Options of exercises.
#[derive(clap::Args, Clone, PartialEq, Default)]
#[command(
    next_help_heading = "Options of juo, sfexpress, million and other exercises (also --nodes and --seconds)"
)]
pub(super) struct ExerciseFlags {
    /// Entities, over all simulators [default: as many at each as in the scenario's last size]
    #[arg(long, visible_alias = "entities", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=exercise::ENTITIES_MAX as i64))]
    vehicles: Option<u32>,
    /// This topology alone
    #[arg(long, value_enum, value_name = "HOW")]
    topology: Option<TopologyName>,
    /// Hosts whose entities are neighbours on the ground
    #[arg(long, value_enum, value_name = "HOW")]
    placement: Option<PlacementName>,
}

/// The message that says which scenarios have these options.
pub(super) const OPTIONS_FOR: &str = "--vehicles, --topology and --placement are for juo, sfexpress, million and other scenarios with `kind = \"exercise\"`";

/// The number of progress steps of all runs together.
const STEPS: u64 = 2_000;

/// Reads a scenario, simulates it, and reports.
pub(super) fn run(args: &Args, name: &str, text: &str) -> Outcome {
    let Some(scenario) = read_or_show(args, text, Scenario::parse)? else { return Ok(Status::Done) };
    let wishes = Wishes {
        nodes: args.interest.nodes.map(usize::from),
        entities: args.exercise.vehicles.map(|vehicles| vehicles as usize),
        seconds: args.seconds,
        topology: args.exercise.topology,
        placement: args.exercise.placement,
    };
    let points = scenario.points(&wishes).map_err(|why| wrong(args, why))?;
    let replications = usize::from(args.replications);
    let all = points.len() * replications;
    let mut needs: Vec<u64> = points.iter().filter_map(|point| point.exercise.memory_bytes().ok()).collect();
    needs.sort_unstable();
    let at_a_time = threads(args.jobs, all);
    refuse_too_large(Some(needs.iter().rev().take(at_a_time).sum()), 1)?;
    interrupt::watch();
    let begun = Instant::now();
    let outcomes = simulate(args, &points, replications).map_err(|(at, error)| {
        let Point { nodes, exercise } = &points[at];
        Failure::bad_news(format_args!(
            "scenario {}: {}, {nodes} nodes, {} entities: {error}",
            args.scenario,
            exercise.joined.name(),
            exercise.crowd.entities
        ))
    })?;
    let wall_s = begun.elapsed().as_secs_f64();
    let mut digest = Digest::EMPTY;
    outcomes.iter().for_each(|outcome| digest.word(outcome.digest.value()));
    let (events, runs) = (outcomes.iter().map(|outcome| outcome.events).sum::<u64>(), outcomes.len());
    let ran = Ran::of(points, outcomes, replications);
    let mut report = Report::new("sim exercise", 1);
    report.seed(args.seed);
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
    notes.extend(verdict::notes(&ran));
    if interrupt::is_stopped() {
        notes.push(format!(
            "stopped by the user: {runs} of {all} runs were begun; figures are of what was simulated until then"
        ));
    }
    notes.push(format!("{events} events in {wall_s:.1} s on {at_a_time} threads; digest {digest}"));
    let sheets = results::sheets(&scenario, &ran);
    publish(args, &mut report, &sheets, &charts::pictures(&scenario, &ran), &notes)?;
    Ok(interrupt::status())
}

/// Runs all points, each `replications` times, in order, or the first of them if the user stops it.
///
/// # Errors
/// The error of the first failing run in order, with the index of its point.
fn simulate(
    args: &Args,
    points: &[Point],
    replications: usize,
) -> Result<Vec<exercise::Outcome>, (usize, exercise::ExerciseError)> {
    let all = points.len() * replications;
    // The duration of a run is roughly proportional to its number of entities.
    let entities: u64 = points.iter().map(|point| point.exercise.crowd.entities as u64).sum::<u64>().max(1);
    let each = (STEPS / all as u64).max(1);
    in_parallel(args.jobs, all, each, |index, ticker| {
        let (at, replication) = (index / replications, index % replications);
        let point = &points[at].exercise;
        let steps = each * points.len() as u64 * point.crowd.entities as u64 / entities;
        let mut ticked = 0;
        let run = exercise::run(&Exercise { seed: seed_of(args, replication), ..point.clone() }, |share| {
            while (ticked as f64) < share * steps as f64 {
                ticker.tick();
                ticked += 1;
            }
            !interrupt::is_stopped()
        });
        run.map_err(|error| (at, error))
    })
}
