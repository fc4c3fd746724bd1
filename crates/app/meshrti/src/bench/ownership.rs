//! `meshrti bench ownership`.

use bench::phases::{Outcome, floor as floor_of};
use serde_json::{Value, json};
use workload::phases::Plan;

use super::phases::{Run, SimFlags, by, note_simulation, run_live, simulate, text};
use super::{Target, failure, launcher};
use console::exit::{Outcome as Exit, Status, say};
use console::report::{JsonFlag, Report};
use console::rounds::Rounds;
use console::table::{Table, figure, or_dash};

/// Attributes that pass from federate to federate.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench ownership
  meshrti bench ownership --nodes 2 --objects 10000
  meshrti bench ownership --live --sim --hosts hosts.toml      and what the simulator says of the same federates

One federate acquires attributes of another one after the other; the other divests each when it is requested. Then the \
other resigns, and the attributes of all its other objects, which the first federate has requested, pass at once. The \
floor is a round trip through a relay, because a transfer goes to the owner and back. It is not simulated.")]
pub(super) struct Args {
    /// Attributes acquired one after the other
    #[arg(long, default_value_t = 2_000)]
    transfers: u32,
    /// Objects whose attributes pass when their owner resigns
    #[arg(long, default_value_t = 100_000)]
    objects: u32,
    #[command(flatten)]
    phases: SimFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Exit {
    let mut report = Report::new("bench ownership", 1);
    let plan = Plan::Ownership { transfers: args.transfers, objects: args.objects };
    let (mut runs, mut floor) = (Vec::new(), None);
    if args.phases.is_live() {
        let launcher = launcher()?;
        let server = args.target.server(&launcher).await?;
        runs.push(run_live(&launcher, &server, plan).await?);
        let samples = args.transfers.into();
        floor = Some(Box::pin(floor_of(&launcher, &server, 0, samples)).await.map_err(failure)?);
        report.note(args.target.note());
    }
    runs.extend(simulate(&args.phases, plan, args.target.nodes())?);
    note_simulation(&mut report, &args.phases);
    if !args.json.takes_stdout() {
        say(table(&runs, floor.as_ref()));
    }
    for run in &runs {
        report.row(row(run, floor.as_ref().filter(|_| run.live)));
    }
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// The two phases of a run: transfers one after the other, and the resignation.
fn phases(run: &Run) -> [&Outcome; 2] {
    let [transfer, reassign] = &run.outcomes[..] else { unreachable!("the plan has two phases with names") };
    [transfer, reassign]
}

fn row(run: &Run, floor: Option<&Rounds>) -> Value {
    let [transfer, reassign] = phases(run);
    let floor_us = floor.map(|floor| floor.quantile_us(0.5));
    json!({
        "live": run.live,
        "transfers": transfer.count,
        "transfer_p50_us": transfer.each.quantile_us(0.5),
        "transfer_p99_us": transfer.each.quantile_us(0.99),
        "transfer_max_us": transfer.each.max_us(),
        "floor_p50_us": floor_us,
        "transfer_p50_ratio": floor_us.map(|floor_us| transfer.each.quantile_us(0.5) / floor_us),
        "reassigned": reassign.count,
        "reassigned_s": reassign.took.as_secs_f64(),
    })
}

fn table(runs: &[Run], floor: Option<&Rounds>) -> String {
    let heads = ["", "transfers", "p50 us", "p99 us", "max us", "floor p50 us", "ratio", "reassigned", "s"];
    let mut table = Table::new(heads);
    for run in runs {
        let [transfer, reassign] = phases(run);
        let p50 = transfer.each.quantile_us(0.5);
        let floor = floor.filter(|_| run.live).map(|floor| floor.quantile_us(0.5));
        table.line([
            by(run.live),
            transfer.count.to_string(),
            figure(p50),
            figure(transfer.each.quantile_us(0.99)),
            figure(transfer.each.max_us()),
            or_dash(floor),
            or_dash(floor.map(|floor| p50 / floor)),
            reassign.count.to_string(),
            figure(reassign.took.as_secs_f64()),
        ]);
    }
    text(table, runs.iter().all(|run| run.live))
}
