//! `meshrti bench traffic`.

use std::path::PathBuf;
use std::time::Duration;

use console::exit::{Failure, Outcome};

use super::super::recording;
use super::{RunFlags, Traffic, in_words, read_workload};

/// Objects that move and rest as a Markov model has it, updated by one federate.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench traffic --objects 1000 --for 60s
  meshrti bench traffic --live --sim --hosts hosts.toml      what this machine does, and what the simulator says of it
  meshrti bench traffic --workload mine.toml --nodes 2 --subscribers 10
  meshrti bench traffic --for 10s --record updates.csv       the updates as a file for `bench replay`

The workload is that of the SRMP paper (table1, full4) or a file in its form: an object in mode 0 is updated often and \
by best effort, one in mode 1 seldom and reliably, and modes change at random. An update is sent at its moment, whether \
or not the server has dealt with earlier ones, and its time begins then (no coordinated omission).")]
pub(crate) struct TrafficArgs {
    /// table1, full4, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "table1")]
    workload: String,
    /// Objects of a workload that is given by its name [default: 200]
    #[arg(long, value_name = "COUNT")]
    objects: Option<u32>,
    /// Length of the run
    #[arg(long = "for", value_name = "TIME", default_value = "20s", value_parser = humantime::parse_duration)]
    run: Duration,
    /// Write the updates to FILE as well, as comma-separated values
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    flags: RunFlags,
}

pub(crate) async fn run_traffic(args: &TrafficArgs) -> Outcome {
    let workload = read_workload(&args.workload, args.objects)?;
    let federation = args.flags.federation(Traffic::Drawn(workload, args.run))?;
    if let Some(path) = &args.record {
        let script = federation.script(0).map_err(Failure::wrong_use)?;
        recording::write(path, &script).map_err(Failure::bad_news)?;
    }
    let note = format!("workload {}: {}", args.workload, in_words(&federation)?);
    args.flags.run("bench traffic", &federation, &note).await
}
