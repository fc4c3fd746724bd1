//! `meshrti bench save`.

use bench::Server;
use bench::phases::{Outcome, SavesFolder};
use serde_json::{Value, json};
use std::time::Duration;
use workload::phases::Plan;

use super::phases::{
    Run, SimFlags, by, canary_figures, note_simulation, run_live, simulate, table, with_canary,
};
use super::{failure, launcher};
use console::exit::{Failure, Outcome as Exit, Status, say};
use console::report::{JsonFlag, Report};
use console::table::figure;

/// A federation that is saved and restored, and what others notice.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench save
  meshrti bench save --objects 1000000
  meshrti bench save --server localhost
  meshrti bench save --live --sim --hosts hosts.toml      and what the simulator says of the same federates

Two federates save their federation and restore it: an owner of objects, and one that has discovered all of them. A \
canary in another federation exchanges round trips with an echo all the time; its worst one tells how long a phase held \
others up. The floor is the time to write a file as long as the image to the same disk and to sync it. A simulated node \
keeps the image in memory, and storing it takes no time.")]
pub(super) struct Args {
    /// Objects of the federation
    #[arg(long, default_value_t = 100_000)]
    objects: u32,
    /// Measure the server at HOST or HOST:PORT, not one of its own
    #[arg(long, value_name = "HOST")]
    server: Option<String>,
    #[command(flatten)]
    phases: SimFlags,
    #[command(flatten)]
    json: JsonFlag,
}

pub(super) async fn run(args: &Args) -> Exit {
    let mut report = Report::new("bench save", 1);
    let plan = Plan::Saves { objects: args.objects };
    let (mut runs, mut floor) = (Vec::new(), None);
    if args.phases.is_live() {
        let live = measure(args.server.as_deref(), plan).await?;
        floor = live.1;
        runs.push(live.0);
    }
    runs.extend(simulate(&args.phases, plan, 1)?);
    note_simulation(&mut report, &args.phases);
    let floor_of = |run: &Run| floor.filter(|_| run.live);
    if !args.json.takes_stdout() {
        let heads =
            ["", "phase", "objects", "ms", "image MB", "floor ms", "canary p50 us", "p99 us", "max us"];
        say(table(&runs, heads, |run, outcome| line(run, outcome, floor_of(run))));
    }
    for run in &runs {
        run.outcomes.iter().for_each(|outcome| report.row(row(run, outcome, floor_of(run))));
    }
    report.note("the federates have no state of their own to save");
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// Goes through the phases at `server`, or at a server of its own. Then there is a floor.
async fn measure(server: Option<&str>, plan: Plan) -> Result<(Run, Option<Duration>), Failure> {
    let launcher = launcher()?;
    if let Some(server) = server {
        return Ok((run_live(&launcher, &Server::at(server), plan).await?, None));
    }
    let folder = SavesFolder::new().map_err(failure)?;
    let server = Server::with_saves(&launcher, &folder).await.map_err(failure)?;
    let run = run_live(&launcher, &server, plan).await?;
    let bytes = folder.image_bytes().map_err(failure)?;
    let floor = folder.floor(bytes).map_err(failure)?;
    Ok((Run { saved_bytes: Some(bytes), ..run }, Some(floor)))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn row(run: &Run, outcome: &Outcome, floor: Option<Duration>) -> Value {
    let row = json!({
        "phase": outcome.name,
        "objects": outcome.count,
        "seconds": outcome.took.as_secs_f64(),
        "image_bytes": run.saved_bytes,
        "floor_s": floor.map(|floor| floor.as_secs_f64()),
    });
    with_canary(row, run.live, &outcome.canary)
}

fn line(run: &Run, outcome: &Outcome, floor: Option<Duration>) -> [String; 9] {
    let [p50, p99, max] = canary_figures(&outcome.canary);
    [
        by(run.live),
        outcome.name.to_owned(),
        outcome.count.to_string(),
        figure(milliseconds(outcome.took)),
        run.saved_bytes.map_or_else(String::new, |bytes| figure(bytes as f64 / 1e6)),
        floor.map_or_else(String::new, |floor| figure(milliseconds(floor))),
        p50,
        p99,
        max,
    ]
}
