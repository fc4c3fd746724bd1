//! `meshrti bench ownership`.

use bench::ownership::{Ownership, Plan, measure};
use serde_json::json;

use super::{Target, failure, launcher};
use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// Attributes that pass from federate to federate.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench ownership
  meshrti bench ownership --nodes 2 --objects 10000

One federate acquires attributes of another one after the other; the other divests each when it is requested. Then the \
other resigns, and the attributes of all its other objects, which the first federate has requested, pass at once. The \
floor is a round trip through a relay, because a transfer goes to the owner and back.")]
pub(super) struct Args {
    /// Attributes acquired one after the other
    #[arg(long, default_value_t = 2_000)]
    transfers: usize,
    /// Objects whose attributes pass when their owner resigns
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench ownership", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let plan = Plan { transfers: args.transfers, objects: args.objects };
    let ownership = Box::pin(measure(&launcher, &server, &plan)).await.map_err(failure)?;
    if !args.json.takes_stdout() {
        say(table(&plan, &ownership));
    }
    report.row(json!({
        "transfers": plan.transfers,
        "transfer_p50_us": ownership.transfers.quantile_us(0.5),
        "transfer_p99_us": ownership.transfers.quantile_us(0.99),
        "transfer_max_us": ownership.transfers.max_us(),
        "floor_p50_us": ownership.floor.quantile_us(0.5),
        "transfer_p50_ratio": ownership.ratio(),
        "reassigned": plan.objects,
        "reassigned_s": ownership.reassigned.as_secs_f64(),
    }));
    report.note(args.target.note());
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn table(plan: &Plan, ownership: &Ownership) -> String {
    let mut table =
        Table::new(["transfers", "p50 us", "p99 us", "max us", "floor p50 us", "ratio", "reassigned", "s"]);
    table.line([
        plan.transfers.to_string(),
        figure(ownership.transfers.quantile_us(0.5)),
        figure(ownership.transfers.quantile_us(0.99)),
        figure(ownership.transfers.max_us()),
        figure(ownership.floor.quantile_us(0.5)),
        figure(ownership.ratio()),
        plan.objects.to_string(),
        figure(ownership.reassigned.as_secs_f64()),
    ]);
    table.text()
}
