//! `meshrti sim pool`: combines reports of one scenario with different seeds, from any machines,
//! into means with confidence intervals.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use base::stats::ci95;
use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};

/// The name of the command.
const NAME: &str = "pool";

/// A report that was read.
struct Read {
    schema: String,
    seed: Option<u64>,
    rows: Vec<Map<String, Value>>,
}

/// One figure of one row, over all reports.
struct Figure {
    row: usize,
    /// The subject of the row, which is its texts.
    about: String,
    key: String,
    mean: f64,
    ci95: f64,
    least: f64,
    most: f64,
}

/// Options of pool.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Reports of one scenario with different seeds, as --json wrote them
    #[arg(value_name = "REPORT")]
    reports: Vec<PathBuf>,
    #[command(flatten)]
    json: JsonFlag,
}

/// Reads the reports, and prints their means.
pub(super) fn run(args: &Args) -> Outcome {
    let reads = args.reports.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let figures = figures(&args.reports, &reads)?;
    let mut report = Report::new("sim pool", 1);
    let mut table = Table::new(["row", "what", "figure", "mean", "±95 %", "least", "most"]);
    for figure_ in &figures {
        report.row(json!({
            "row": figure_.row,
            "what": figure_.about,
            "figure": figure_.key,
            "mean": figure_.mean,
            "ci95": figure_.ci95,
            "min": figure_.least,
            "max": figure_.most,
        }));
        table.line([
            figure_.row.to_string(),
            figure_.about.clone(),
            figure_.key.clone(),
            figure(figure_.mean),
            figure(figure_.ci95),
            figure(figure_.least),
            figure(figure_.most),
        ]);
    }
    let note = format!(
        "{} of {} reports; figures that are the same in all of them are left out, intervals are Student's",
        reads[0].schema,
        reads.len()
    );
    if !args.json.takes_stdout() {
        say(table.text());
        say(&note);
    }
    report.note(note);
    args.json.write(&report)?;
    Ok(Status::Done)
}

fn read(path: &Path) -> Result<Read, Failure> {
    let fail = |why: String| Failure::wrong_use(format_args!("report {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(format!("it cannot be read: {error}")))?;
    let mut value: Value =
        serde_json::from_str(&text).map_err(|error| fail(format!("it is no JSON: {error}")))?;
    let schema = value["schema"].as_str().map(str::to_owned);
    let rows = value["rows"].take();
    let rows = serde_json::from_value(rows).ok();
    match (schema, rows) {
        (Some(schema), Some(rows)) if schema.starts_with("meshrti.sim.") => {
            Ok(Read { schema, seed: value["seed"].as_u64(), rows })
        }
        _ => Err(fail("it is no report of `meshrti sim ... --json FILE`".to_owned())),
    }
}

fn figures(paths: &[PathBuf], reads: &[Read]) -> Result<Vec<Figure>, Failure> {
    let [first, others @ ..] = reads else {
        return Err(Failure::wrong_use(format_args!("{NAME}: which reports?")));
    };
    if others.is_empty() {
        return Err(Failure::wrong_use(format_args!("{NAME}: one report says nothing of how sure it is")));
    }
    for (at, read) in reads.iter().enumerate() {
        let path = paths[at].display();
        if read.schema != first.schema || read.rows.len() != first.rows.len() {
            return Err(Failure::wrong_use(format_args!(
                "report {path}: it is of another scenario than {}",
                paths[0].display()
            )));
        }
        if let Some(same) = reads[..at].iter().position(|other| other.seed == read.seed) {
            return Err(Failure::wrong_use(format_args!(
                "report {path}: it has the seed of {}, so that it says nothing new",
                paths[same].display()
            )));
        }
    }
    let mut figures = Vec::new();
    for (at, row) in first.rows.iter().enumerate() {
        for (other, path) in others.iter().zip(&paths[1..]) {
            if about(&other.rows[at]) != about(row) {
                return Err(Failure::wrong_use(format_args!(
                    "report {}: row {} is about something else than in {}",
                    path.display(),
                    at + 1,
                    paths[0].display()
                )));
            }
        }
        figures.extend(row.keys().filter_map(|key| pooled(reads, at, key, about(row))));
    }
    Ok(figures)
}

/// The subject of a row: its texts, except digests, which differ with the seed.
fn about(row: &Map<String, Value>) -> String {
    let texts = row.iter().filter(|(key, _)| *key != "digest").filter_map(|(_, value)| value.as_str());
    texts.collect::<Vec<_>>().join(", ")
}

/// A figure over all reports. `None` if it is not a number in some of them, or the same in all.
fn pooled(reads: &[Read], row: usize, key: &str, about: String) -> Option<Figure> {
    let values: Vec<f64> =
        reads.iter().map(|read| read.rows[row].get(key)?.as_f64()).collect::<Option<_>>()?;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let ci95 = ci95(&values)?;
    (least < most).then(|| Figure { row: row + 1, about, key: key.to_owned(), mean, ci95, least, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(seed: u64, mean: f64, name: &str) -> Read {
        let row = json!({ "scenario": name, "hosts": 8, "mean_us": mean, "ci95_us": null, "digest": seed.to_string() });
        let Value::Object(row) = row else { unreachable!("it is an object") };
        Read { schema: "meshrti.sim.network/1".to_owned(), seed: Some(seed), rows: vec![row] }
    }

    fn pool(reads: &[Read]) -> Result<Vec<Figure>, String> {
        let paths: Vec<PathBuf> = (0..reads.len()).map(|at| format!("{at}.json").into()).collect();
        figures(&paths, reads).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn means_have_intervals_and_constants_none() {
        let reads = [report(1, 9.0, "x"), report(2, 10.0, "x"), report(3, 11.0, "x")];
        let [only] = &pool(&reads).ok().unwrap()[..] else { panic!("one figure differs") };
        assert_eq!((only.key.as_str(), only.about.as_str(), only.row), ("mean_us", "x", 1));
        assert_eq!((only.mean, only.least, only.most), (10.0, 9.0, 11.0));
        assert!((only.ci95 - 4.302_652_730 / 3.0f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn contradicting_options_are_reported() {
        let say = |reads: &[Read]| pool(reads).err().unwrap();
        assert!(say(&[]).contains("which reports?"));
        assert!(say(&[report(1, 1.0, "x")]).contains("says nothing of how sure"));
        assert!(
            say(&[report(1, 1.0, "x"), report(1, 2.0, "x")]).contains("1.json: it has the seed of 0.json")
        );
        assert!(say(&[report(1, 1.0, "x"), report(2, 2.0, "y")]).contains("row 1 is about something else"));
        let mut other = report(2, 2.0, "x");
        other.schema = "meshrti.sim.federation/1".to_owned();
        assert!(say(&[report(1, 1.0, "x"), other]).contains("1.json: it is of another scenario than 0.json"));
    }
}
