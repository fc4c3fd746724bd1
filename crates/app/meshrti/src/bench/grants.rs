//! `meshrti bench grants`.

use bench::grants::{Grants, Plan, Service, measure};
use hla::api::OrderType;
use serde_json::{Value, json};

use super::{Target, failure, launcher, ratio};
use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure, or_dash};

/// Grants of logical time to federates that advance in steps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench grants
  meshrti bench grants --federates 1000 --steps 50
  meshrti bench grants --federates 2 --messages 64 --service next-message

All federates regulate and are constrained, so that all of them wait for each other in every step. A grant takes as \
long as the requests of all others and their answers; the processes of the federates need processor time too. The floor \
is the round trip of an update's octets through a relay. With --messages, the same updates follow in receive order.")]
pub(super) struct Args {
    /// Federates, spread evenly over the nodes
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    federates: u16,
    /// Steps of each federate
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Lookahead of each federate, in steps
    #[arg(long, value_name = "STEPS", default_value_t = 1)]
    lookahead: u32,
    /// Updates of 100 bytes that each federate sends to all others in each step
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    messages: usize,
    /// Service by which they advance
    #[arg(long, value_enum, default_value = "advance")]
    service: Word,
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

pub(super) async fn run(args: &Args) -> Outcome {
    let mut report = Report::new("bench grants", 1);
    let launcher = launcher()?;
    let server = args.target.server(&launcher).await?;
    let plan = Plan {
        federates: args.federates.into(),
        steps: args.steps,
        lookahead: args.lookahead,
        messages: args.messages,
        order: OrderType::Timestamp,
        service: match args.service {
            Word::Advance => Service::TimeAdvance,
            Word::NextMessage => Service::NextMessage,
        },
    };
    let mut runs = Vec::new();
    let orders = [OrderType::Timestamp, OrderType::Receive];
    for order in orders.into_iter().take(if plan.messages > 0 { 2 } else { 1 }) {
        let plan = Plan { order, ..plan.clone() };
        let grants = Box::pin(measure(&launcher, &server, &plan)).await.map_err(failure)?;
        report.row(row(&plan, &grants));
        runs.push((plan, grants));
    }
    if !args.json.takes_stdout() {
        say(table(&runs));
    }
    if let [(_, timed), (_, plain)] = &runs[..]
        && let Some(ratio) = ratio(cpu_us_of_update(timed), cpu_us_of_update(plain))
    {
        let text =
            format!("an update in time-stamp order costs the server {ratio:.2} times one in receive order");
        if !args.json.takes_stdout() {
            say(&text);
        }
        report.summary(json!({ "timestamp_cpu_ratio": ratio }));
    }
    report.note(args.target.note());
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn row(plan: &Plan, grants: &Grants) -> Value {
    json!({
        "federates": plan.federates,
        "steps": plan.steps,
        "lookahead_steps": plan.lookahead,
        "messages_per_step": plan.messages,
        "order": plan.order_word(),
        "grants": grants.grants,
        "grants_per_s": grants.per_s(),
        "grant_p50_us": grants.waits.quantile_us(0.5),
        "grant_p99_us": grants.waits.quantile_us(0.99),
        "grant_max_us": grants.waits.max_us(),
        "floor_p50_us": grants.floor.quantile_us(0.5),
        "grant_p50_ratio": grants.ratio(),
        "delivered": grants.delivered,
        "server_cpu_us_per_update": cpu_us_of_update(grants),
        "server_cpu_us_per_grant": cpu_us(grants),
    })
}

fn table(runs: &[(Plan, Grants)]) -> String {
    let mut table = Table::new([
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
    for (plan, grants) in runs {
        let order = if plan.messages == 0 { "-" } else { plan.order_word() };
        table.line([
            plan.federates.to_string(),
            plan.messages.to_string(),
            order.to_owned(),
            grants.grants.to_string(),
            figure(grants.per_s()),
            figure(grants.waits.quantile_us(0.5)),
            figure(grants.waits.quantile_us(0.99)),
            figure(grants.waits.max_us()),
            figure(grants.floor.quantile_us(0.5)),
            figure(grants.ratio()),
            grants.delivered.to_string(),
            or_dash(cpu_us(grants)),
        ]);
    }
    table.text()
}

/// Processor time of the server for an update, its deliveries and its part of the grants included,
/// in microseconds.
fn cpu_us_of_update(grants: &Grants) -> Option<f64> {
    let delivered = (grants.delivered > 0).then_some(grants.delivered as f64)?;
    grants.server_cpu_s.map(|seconds| seconds / delivered * 1e6)
}

/// Processor time of the server for a grant, in microseconds.
fn cpu_us(grants: &Grants) -> Option<f64> {
    grants.server_cpu_s.map(|seconds| seconds / grants.grants as f64 * 1e6)
}
