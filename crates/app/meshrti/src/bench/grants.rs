//! `meshrti bench grants`.

use bench::phases::{Outcome, floor};
use hla::api::OrderType;
use serde_json::{Value, json};
use workload::phases::{Advance, AdvanceService, Grants, Plan, order_word};

use super::phases::{Run, SimFlags, by, note_simulation, run_live, simulate, text};
use super::{Target, failure, launcher, ratio};
use console::exit::{Failure, Outcome as Exit, Status, say};
use console::report::{JsonFlag, Report};
use console::rounds::Rounds;
use console::table::{Table, figure, or_dash};

/// Round trips of the floor: enough for a median, and a fraction of a second.
const FLOOR_SAMPLES: u64 = 2_000;
/// The size of an update's value, in octets.
const SIZE: usize = 100;

/// Grants of logical time to federates that advance in steps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench grants
  meshrti bench grants --federates 1000 --steps 50
  meshrti bench grants --federates 2 --messages 64 --service next-message
  meshrti bench grants --live --sim --hosts hosts.toml         and what the simulator says of the same federates

All federates regulate and are constrained, so that all of them wait for each other in every step. A grant takes as \
long as the requests of all others and their answers; the processes of the federates need processor time too. The floor \
is the round trip of an update's octets through a relay; it is not simulated. With --messages, the same updates follow in receive order.")]
pub(super) struct Args {
    /// Federates, spread evenly over the nodes; at least two, because one waits for another that regulates
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(2..))]
    federates: u16,
    /// Steps of each federate
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    steps: u32,
    /// Lookahead of each federate, in steps
    #[arg(long, value_name = "STEPS", default_value_t = 1)]
    lookahead: u32,
    /// Updates of 100 bytes that each federate sends to all others in each step
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=10_000))]
    messages: u32,
    /// Service by which they advance
    #[arg(long, value_enum, default_value = "advance")]
    service: Word,
    #[command(flatten)]
    runs: SimFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Word {
    /// Time Advance Request
    Advance,
    /// Next Message Request
    NextMessage,
}

/// The grants of a run.
struct Measured {
    live: bool,
    plan: Grants,
    outcome: Outcome,
    /// Round trips through the relay; not in a simulated run.
    floor: Option<Rounds>,
}

pub(super) async fn run(args: &Args) -> Exit {
    let mut report = Report::new("bench grants", 1);
    let service = match args.service {
        Word::Advance => AdvanceService::TimeAdvance,
        Word::NextMessage => AdvanceService::NextMessage,
    };
    let plan = |order| {
        let advance = Advance { steps: args.steps, updates: args.messages, order, service };
        Grants { federates: args.federates.into(), lookahead: args.lookahead, advance }
    };
    let orders = [OrderType::Timestamp, OrderType::Receive];
    let plans: Vec<_> = orders.into_iter().take(if args.messages > 0 { 2 } else { 1 }).map(plan).collect();
    let mut runs = Vec::new();
    if args.runs.is_live() {
        let launcher = launcher()?;
        let server = args.target.server(&launcher).await?;
        for plan in &plans {
            let run = run_live(&launcher, &server, Plan::Grants(*plan)).await?;
            let floor = Box::pin(floor(&launcher, &server, SIZE, FLOOR_SAMPLES)).await.map_err(failure)?;
            runs.push(measured(*plan, run, Some(floor))?);
        }
        report.note(args.target.note());
    }
    for plan in &plans {
        let run = simulate(&args.runs, Plan::Grants(*plan), args.target.nodes())?;
        runs.extend(run.map(|run| measured(*plan, run, None)).transpose()?);
    }
    note_simulation(&mut report, &args.runs);
    runs.iter().for_each(|run| report.row(row(run)));
    if !args.json.takes_stdout() {
        say(table(&runs));
    }
    compare_orders(args, &mut report, &runs);
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// Says what time stamps cost the server, live and simulated.
fn compare_orders(args: &Args, report: &mut Report, runs: &[Measured]) {
    let mut ratios = serde_json::Map::new();
    let whose = [
        (true, "the server", "timestamp_cpu_ratio"),
        (false, "the simulated server", "timestamp_cpu_ratio_simulated"),
    ];
    for (live, whose, key) in whose {
        let of_orders: Vec<_> = runs.iter().filter(|run| run.live == live).collect();
        let [timed, plain] = &of_orders[..] else { continue };
        let Some(ratio) = ratio(cpu_us_of_update(timed), cpu_us_of_update(plain)) else { continue };
        if !args.json.takes_stdout() {
            say(format_args!(
                "an update in time-stamp order costs {whose} {ratio:.2} times one in receive order"
            ));
        }
        ratios.insert(key.to_owned(), json!(ratio));
    }
    if !ratios.is_empty() {
        report.summary(ratios.into());
    }
}

/// The one phase of a run with a name; an error if it has lost updates.
fn measured(plan: Grants, mut run: Run, floor: Option<Rounds>) -> Result<Measured, Failure> {
    let (Some(outcome), true) = (run.outcomes.pop(), run.outcomes.is_empty()) else {
        unreachable!("the plan has one phase with a name")
    };
    let (received, least) = (outcome.counts.reflects, plan.reflects_min());
    if received < least {
        let text = format!("{received} updates reached federates, and at least {least} should have");
        return Err(Failure::bad_news(text));
    }
    Ok(Measured { live: run.live, plan, outcome, floor })
}

/// Grants per second, all federates together.
fn per_s(run: &Measured) -> f64 {
    run.outcome.each.samples() as f64 / run.outcome.took.as_secs_f64()
}

/// The median round trip of the relay in microseconds, and the median time of a grant as a multiple of it.
fn floor_us(run: &Measured) -> [Option<f64>; 2] {
    let floor_us = run.floor.as_ref().map(|floor| floor.quantile_us(0.5));
    [floor_us, floor_us.map(|floor_us| run.outcome.each.quantile_us(0.5) / floor_us)]
}

fn row(run: &Measured) -> Value {
    let Measured { live, plan, outcome, .. } = run;
    let [floor_us, ratio] = floor_us(run);
    json!({
        "live": live,
        "federates": plan.federates,
        "steps": plan.advance.steps,
        "lookahead_steps": plan.lookahead,
        "messages_per_step": plan.advance.updates,
        "order": order_word(plan.advance.order),
        "grants": outcome.each.samples(),
        "grants_per_s": per_s(run),
        "grant_p50_us": outcome.each.quantile_us(0.5),
        "grant_p99_us": outcome.each.quantile_us(0.99),
        "grant_max_us": outcome.each.max_us(),
        "floor_p50_us": floor_us,
        "grant_p50_ratio": ratio,
        "delivered": outcome.counts.reflects,
        "server_cpu_us_per_update": cpu_us_of_update(run),
        "server_cpu_us_per_grant": cpu_us(run),
    })
}

fn table(runs: &[Measured]) -> String {
    let mut table = Table::new([
        "",
        "federates",
        "messages per step",
        "order",
        "grants",
        "grants/s",
        "p50 us",
        "p99 us",
        "max us",
        "floor p50 us",
        "ratio",
        "delivered",
        "server CPU us per grant",
    ]);
    for run in runs {
        let Measured { live, plan, outcome, .. } = run;
        let order = if plan.advance.updates == 0 { "-" } else { order_word(plan.advance.order) };
        let [floor_us, ratio] = floor_us(run);
        table.line([
            by(*live),
            plan.federates.to_string(),
            plan.advance.updates.to_string(),
            order.to_owned(),
            outcome.each.samples().to_string(),
            figure(per_s(run)),
            figure(outcome.each.quantile_us(0.5)),
            figure(outcome.each.quantile_us(0.99)),
            figure(outcome.each.max_us()),
            or_dash(floor_us),
            or_dash(ratio),
            outcome.counts.reflects.to_string(),
            or_dash(cpu_us(run)),
        ]);
    }
    text(table, runs.iter().all(|run| run.live))
}

/// Processor time of the server for an update, its deliveries and its part of the grants included,
/// in microseconds.
fn cpu_us_of_update(run: &Measured) -> Option<f64> {
    let reflects = run.outcome.counts.reflects;
    let delivered = (reflects > 0).then_some(reflects as f64)?;
    run.outcome.nodes_cpu.map(|cpu| cpu.as_secs_f64() / delivered * 1e6)
}

/// Processor time of the server for a grant, in microseconds.
fn cpu_us(run: &Measured) -> Option<f64> {
    let grants = run.outcome.each.samples() as f64;
    run.outcome.nodes_cpu.map(|cpu| cpu.as_secs_f64() / grants * 1e6)
}
