//! `meshrti bench ping`.

use bench::exchange::way::Kind;
use bench::latency::{Plan, measure};

use super::{OutputFlags, WayFlags, finish, latency_rows, method};
use crate::bench::{Target, failure, launcher, size};
use console::exit::Outcome;
use console::progress::Progress;

/// Round trips of interactions and directed interactions, beside updates.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench ping
  meshrti bench ping --against paper --ddm one-region
  meshrti bench ping --kind interaction --size 1,128,1k --transport reliable,best-effort
  meshrti bench ping --rate 5000                 under load: 5,000 interactions a second, answered or not

HLA Ping (Army Research Laboratory, 2000): a federate sends an interaction, another one answers with the same values. \
Updates, interactions and directed interactions take turns in slices, and so does the floor. Directed interactions have \
no regions: the standard has no such service.")]
pub(in crate::bench) struct Args {
    /// Kinds of messages: update, interaction, directed
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_values = ["update", "interaction", "directed"])]
    kind: Vec<Kind>,
    /// Bytes of data in a message
    #[arg(long = "size", value_name = "BYTES", value_delimiter = ',', value_parser = size::parse_data, default_value = "128")]
    sizes: Vec<usize>,
    /// Round trips of each kind
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Round trips before each slice that are not counted
    #[arg(long, default_value_t = 200)]
    warm_up: u64,
    /// Slices, which are the runs of a case
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    slices: u64,
    /// Send so many messages per second, answered or not
    #[arg(long, value_name = "PER_SECOND", value_parser = size::parse_rate)]
    rate: Option<f64>,
    #[command(flatten)]
    way: WayFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    output: OutputFlags,
}

pub(in crate::bench) async fn run(args: &Args) -> Outcome {
    let launcher = launcher()?;
    let server = args.way.server(&args.target, &launcher).await?;
    let plan = Plan {
        ways: args.way.ways(&args.kind, &args.sizes)?,
        federates: args.way.federates(),
        samples: args.samples,
        warm_up: args.warm_up,
        slices: args.slices,
        rate_per_s: args.rate,
        patience: args.way.patience,
        ..Plan::new(args.sizes.clone(), vec![0])
    };
    let mut progress = Progress::new("ping");
    let measured = Box::pin(measure(&launcher, &server, &[], &plan, |done, all| progress.at(done, all)));
    let measured = measured.await.map_err(failure)?;
    drop(progress);
    let rows = latency_rows("ping", &args.target, &plan, &measured);
    let method = method(loop_of(args.rate), args.warm_up, args.slices);
    finish("bench ping", &args.target, &args.output, &method, &rows)
}

/// The procedure.
pub(in crate::bench) fn loop_of(rate: Option<f64>) -> &'static str {
    match rate {
        None => {
            "Closed loop: a message leaves when the one before it was answered (Lorenzo et al. 2001, 3b and 3c). All kinds, \
             uses of regions and servers take turns in slices with the floor, which carries as many octets through a relay."
        }
        Some(_) => {
            "Open loop: messages leave when they are due, whether or not earlier ones were answered, and a time begins when \
             its message is due (no coordinated omission). The floor is a closed loop through a relay."
        }
    }
}
