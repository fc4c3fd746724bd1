//! `meshrti bench mass`.

use bench::exchange::InFlight;
use bench::exchange::way::Kind;
use bench::mass::{Plan, measure};

use super::{OutputFlags, WayFlags, finish, mass_rows, method};
use crate::bench::{Target, failure, launcher, size};
use console::exit::Outcome;
use console::progress::Progress;

/// Round trips of updates of many objects.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench mass --against paper
  meshrti bench mass --objects 100,100000,1000000 --in-flight 100
  meshrti bench mass --objects 10000 --in-flight sweep        answers per second
  meshrti bench mass --ddm off,one-region,region-per-object

The mass object test of Lorenzo, Muuss, Caruso and Riggs (2001): a federate registers objects with 128 bytes and a time \
stamp, a second one registers a mirror of each. Then the first one updates its objects in turn, as fast as possible, and \
the second one updates the mirrors with the same values. Each reflect of a mirror is a sample. The paper does not say \
how many updates were under way at a time; `sweep` sends one for each object before it waits for answers.")]
pub(in crate::bench) struct Args {
    /// Objects of each federate
    #[arg(long, value_name = "COUNT", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000_000),
        default_values = ["100", "500", "1000", "1200", "1500", "2000", "3000"])]
    objects: Vec<u32>,
    /// Updates that are under way at a time, or `sweep`
    #[arg(long, value_name = "COUNT", value_delimiter = ',', value_parser = in_flight, default_values = ["100", "sweep"])]
    in_flight: Vec<InFlight>,
    /// Bytes of data of an object
    #[arg(long, value_name = "BYTES", value_parser = size::parse, default_value = "128")]
    size: usize,
    /// Reflects in each run
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Updates of each case before its first run
    #[arg(long, default_value_t = 1_000)]
    warm_up: u64,
    /// Runs of each case
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    #[command(flatten)]
    way: WayFlags,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    output: OutputFlags,
}

/// A number of messages, or `sweep`.
pub(super) fn in_flight(text: &str) -> Result<InFlight, String> {
    match (text, text.parse()) {
        ("sweep", _) => Ok(InFlight::Sweep),
        (_, Ok(messages @ 1..=100_000)) => Ok(InFlight::Messages(messages)),
        _ => Err(format!("`{text}` is neither `sweep` nor a number from 1 to 100000")),
    }
}

/// The procedure.
pub(super) const METHOD: &str = "Mass object test (Lorenzo et al. 2001, 3a): closed loop; as many updates are under way as the table \
says, or one for each object (`sweep`); each reflect of a mirror is a sample, and its time is that from its update. Each \
number of objects has a federation execution of its own. The floor has as many messages of that length under way through \
a relay.";

pub(in crate::bench) async fn run(args: &Args) -> Outcome {
    let launcher = launcher()?;
    let server = args.way.server(&args.target, &launcher).await?;
    let plan = Plan {
        ways: args.way.ways(&[Kind::Update], &[args.size])?,
        federates: args.way.federates(),
        objects: args.objects.iter().map(|objects| *objects as usize).collect(),
        in_flight: args.in_flight.clone(),
        size: args.size,
        samples: args.samples,
        warm_up: args.warm_up,
        runs: args.runs,
        patience: args.way.patience,
    };
    let mut progress = Progress::new("mass");
    let measured = measure(&launcher, &server, &plan, |done, all| progress.at(done, all));
    let measured = Box::pin(measured).await.map_err(failure)?;
    drop(progress);
    let rows = mass_rows(&args.target, &plan, &measured);
    finish("bench mass", &args.target, &args.output, &method(METHOD, args.warm_up, args.runs), &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_under_way_are_a_number_or_all() {
        assert_eq!(in_flight("sweep"), Ok(InFlight::Sweep));
        assert_eq!(in_flight("7"), Ok(InFlight::Messages(7)));
        for wrong in ["0", "100001", "", "-1", "all"] {
            assert!(in_flight(wrong).is_err(), "{wrong}");
        }
    }
}
