//! `meshrti bench compare`.

use std::path::{Path, PathBuf};

use results::compare::{ALPHA, LEAST, Verdict, compare, runs_needed};
use results::{Results, grids};
use serde_json::json;

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};

/// Changes from one file of results to another, beyond noise.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench latency --json before.json; meshrti bench latency --json after.json
  meshrti bench compare before.json after.json

The means of the runs of each case are compared by the two-sided exact test of Mann and Whitney. The error of the whole \
comparison is held at 5 % by Holm's method, and changes below 2 % are not told. Exit status 1 if any case became slower, \
fails now, or is gone.")]
pub(in crate::bench) struct Args {
    /// Results of before, as --json wrote them
    before: PathBuf,
    /// Results of after
    after: PathBuf,
    #[command(flatten)]
    json: JsonFlag,
}

pub(in crate::bench) fn run(args: &Args) -> Outcome {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let changes = compare(&before, &after);
    let count = |wanted: Verdict| changes.iter().filter(|change| change.verdict == wanted).count();
    let is_worse = changes.iter().any(|change| change.verdict.is_worse());
    if !args.json.takes_stdout() {
        say(grids::changes(&changes).text());
        say(format_args!(
            "{} cases: {} slower, {} faster, {} without a change beyond noise",
            changes.len(),
            count(Verdict::Slower),
            count(Verdict::Faster),
            count(Verdict::Same)
        ));
        let tested = changes.iter().filter(|change| change.p.is_some()).count();
        let runs =
            |results: &Results| results.rows.iter().map(|row| row.runs.len()).filter(|runs| *runs > 0).min();
        let least = runs(&before).min(runs(&after)).unwrap_or(0);
        if tested > 0 && least < runs_needed(tested) {
            say(format_args!(
                "note: with {tested} cases a difference needs {} runs of each to be told; some have {least}",
                runs_needed(tested)
            ));
        }
    }
    let mut report = Report::new("bench compare", 1);
    for change in &changes {
        report.row(json!({
            "case": change.case.to_string(),
            "before_us": change.before_us,
            "after_us": change.after_us,
            "change_ratio": change.ratio(),
            "p": change.p,
            "verdict": change.verdict.words(),
        }));
    }
    report.summary(json!({ "alpha": ALPHA, "least_ratio": LEAST, "is_worse": is_worse }));
    args.json.write(&report)?;
    Ok(if is_worse { Status::BadNews } else { Status::Done })
}

/// Reads a file of results.
pub(super) fn read(path: &Path) -> Result<Results, Failure> {
    let named =
        |error: &dyn std::fmt::Display| Failure::bad_news(format_args!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    Results::read(&text).map_err(|error| named(&error))
}
