//! `meshrti bench replay`.

use std::path::PathBuf;

use console::exit::{Failure, Outcome};
use hostsim::{Recording, Update};

use super::super::recording;
use super::{RunFlags, Traffic, in_words};

/// Recorded updates, replayed by one federate at their moments.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench replay updates.csv
  meshrti bench replay updates.csv --speed 2 --live --sim    twice as fast, and what the simulator says of it
  meshrti bench replay updates.csv --server sim-host

The file has comma-separated values under a line of headings: `at_s` (seconds from the beginning), `object` (a number \
from 0), `bytes`, and if updates of best effort are among them `reliable` (true or false). `meshrti bench record` and \
`meshrti bench traffic --record` write such files.")]
pub(crate) struct ReplayArgs {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How many times as fast as recorded
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = parse_speed)]
    speed: f64,
    #[command(flatten)]
    flags: RunFlags,
}

/// A factor that leaves moments within their range.
fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed| (1e-3..=1e6).contains(speed));
    speed.ok_or_else(|| format!("`{text}` is no number from 0.001 to 1000000"))
}

pub(crate) async fn run_replay(args: &ReplayArgs) -> Outcome {
    let recorded = recording::read(&args.file).map_err(Failure::wrong_use)?;
    let faster = |update: &Update| Update { at: update.at.div_f64(args.speed), ..*update };
    let recording = Recording::new(recorded.updates().iter().map(faster).collect());
    let federation = args.flags.federation(Traffic::Recorded(recording))?;
    let note = format!("recording {}: {}", args.file.display(), in_words(&federation)?);
    args.flags.run("bench replay", &federation, &note).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_sensible_factor() {
        assert_eq!(parse_speed("2.5"), Ok(2.5));
        for wrong in ["0", "-1", "NaN", "1e9", "fast"] {
            assert!(parse_speed(wrong).unwrap_err().starts_with(&format!("`{wrong}`")), "{wrong}");
        }
    }
}
