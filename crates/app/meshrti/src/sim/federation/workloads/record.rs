//! `meshrti bench record`.

use std::path::PathBuf;
use std::time::Duration;

use bench::record::{Recorded, record};
use console::exit::{Failure, Outcome, Status, say};
use console::table::figure;
use hostsim::{COUNT_MAX, Update};

use super::super::recording;
use crate::bench::failure;

/// Record the updates of a federation that runs, for `meshrti bench replay`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench record Exercise --server sim-host --for 10min --output exercise.csv
  meshrti bench replay exercise.csv --server other-host

A federate of the type `recorder` joins, reads the object model from the server, and subscribes to every attribute. The \
file has the moment, the object and the bytes of each update, and no values. Interactions are not recorded. Ctrl-C ends the \
recording with the updates so far.")]
pub(crate) struct RecordArgs {
    /// The federation execution
    #[arg(value_name = "FEDERATION")]
    federation: String,
    /// The server, as HOST or HOST:PORT
    #[arg(long, value_name = "HOST", default_value = "localhost")]
    server: String,
    /// Length of the recording
    #[arg(long = "for", value_name = "TIME", default_value = "1min", value_parser = humantime::parse_duration)]
    run: Duration,
    /// The file
    #[arg(short, long, value_name = "FILE", default_value = "recording.csv")]
    output: PathBuf,
}

pub(crate) async fn run_record(args: &RecordArgs) -> Outcome {
    let end = async {
        tokio::select! {
            () = tokio::time::sleep(args.run) => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    let recorded = record(&args.server, &args.federation, COUNT_MAX as usize, end).await.map_err(failure)?;
    let update = |update: &bench::entities::Update| Update {
        at: update.at,
        object: update.object,
        size_bytes: update.size,
        reliable: update.reliable,
    };
    let updates: Vec<Update> = recorded.updates.iter().map(update).collect();
    recording::write(&args.output, &updates).map_err(Failure::bad_news)?;
    say(format_args!("{}: {}", args.output.display(), in_words(&recorded)));
    if let Some(reason) = recorded.ended {
        say(format_args!("it ended early: {reason}"));
        return Ok(Status::BadNews);
    }
    Ok(Status::Done)
}

fn in_words(recorded: &Recorded) -> String {
    let length = recorded.updates.last().map_or(0.0, |update| update.at.as_secs_f64());
    let bytes: u64 = recorded.updates.iter().map(|update| u64::from(update.size)).sum();
    format!(
        "{} updates of {} objects in {} classes, {} MB within {} s",
        recorded.updates.len(),
        recorded.objects,
        recorded.classes,
        figure(bytes as f64 / 1e6),
        figure(length)
    )
}
