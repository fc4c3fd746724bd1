//! `meshrti ping`: does a server answer, and how fast?

use std::time::{Duration, Instant};

use console::rounds::Rounds;
use federate::{Federate, FederateError};

use crate::server::{ServerFlags, unreachable};
use console::exit::{Failure, Outcome, Status, block_on, say};
use console::report::{JsonFlag, Report};

/// Say whether a server answers, and how fast.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti ping localhost
  meshrti ping sim-host:15164 --count 1000 --interval 0ms
  meshrti ping sim-host --json

Each round trip is one service call (Get Transportation Type Handle), answered by the RTI itself.
Exit status: 0 it answers, 1 it does not, 2 the address is malformed.")]
pub(crate) struct Args {
    /// The server: HOST, HOST:PORT (default port 15164), or a URL of either
    host: String,
    /// How many round trips
    #[arg(short, long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Pause between two round trips
    #[arg(short, long, default_value = "100ms", value_parser = humantime::parse_duration)]
    interval: Duration,
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    json: JsonFlag,
}

pub(crate) fn run(args: &Args) -> Outcome {
    block_on(ping(args))
}

async fn ping(args: &Args) -> Outcome {
    let mut report = Report::new("ping", 1);
    let options = args.server.options(&args.host)?;
    let timeout = args.server.timeout;
    let begun = Instant::now();
    let (federate, callbacks) = Federate::connect(options).await.map_err(unreachable)?;
    let connect = begun.elapsed();
    let mut rounds = Rounds::new(0);
    for round in 0..args.count {
        if round > 0 && !args.interval.is_zero() {
            tokio::time::sleep(args.interval).await;
        }
        let begun = Instant::now();
        let answer = federate.get_transportation_type_handle("HLAreliable");
        match tokio::time::timeout(timeout, answer).await {
            // Outside a federation execution there is no such handle, but the exception is an
            // answer, too.
            Ok(Ok(_) | Err(FederateError::Rti(_))) => rounds.record(begun.elapsed()),
            Ok(Err(error)) => return Err(Failure::bad_news(format_args!("{}: {error}", args.host))),
            Err(_) => {
                let waited = humantime::format_duration(timeout);
                return Err(Failure::bad_news(format_args!(
                    "{}: no answer to round trip {} within {waited}",
                    args.host,
                    round + 1
                )));
            }
        }
    }
    drop(callbacks);
    // The measurement is complete, so that the result of disconnecting does not matter.
    let _ = tokio::time::timeout(timeout, federate.disconnect()).await;
    if !args.json.takes_stdout() {
        say(format_args!(
            "{}: {} round trips, p50 {:.1} µs, p99 {:.1} µs, max {:.1} µs (connected in {:.1} ms)",
            args.host,
            rounds.samples(),
            rounds.quantile_us(0.5),
            rounds.quantile_us(0.99),
            rounds.max_us(),
            connect.as_secs_f64() * 1e3,
        ));
    }
    report.row(rounds.row(None));
    report.note(format!(
        "server {}, one service call per round trip, {:?} between them",
        args.host, args.interval
    ));
    args.json.write(&report)?;
    Ok(Status::Done)
}
