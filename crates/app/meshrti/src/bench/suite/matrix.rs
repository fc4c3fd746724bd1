//! `meshrti bench matrix`.

mod file;

use std::path::{Path, PathBuf};

use bench::Launcher;
use bench::{latency, mass};
use results::{Outcome as RowOutcome, Results, Row, merged, report};
use serde_json::json;

use self::file::{Cell, Matrix, Test};
use super::ping::loop_of;
use super::report::{read_folder, write};
use super::{behind, command_line, latency_rows, mass_rows, method, notes};
use crate::bench::{Target, failure, launcher};
use console::exit::{Failure, Outcome, Status, say};
use console::progress::Progress;

/// The matrix that is built in, and its name.
const PAPER: (&str, &str) = ("paper", include_str!("paper.toml"));

/// Many cases from one file; goes on where it was interrupted.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench matrix paper                   the whole matrix of the 2001 paper, and its wishes
  meshrti bench matrix paper --print           the same as a file, to begin one's own with
  meshrti bench matrix my.toml -o results --server sim-host

Each cell is a file of results in the folder, and is not run again while it is there and its settings are the same; one \
that failed is. At the end the folder has a page of everything: see `meshrti bench report`.")]
pub(in crate::bench) struct Args {
    /// A file of cells, or `paper`
    file: PathBuf,
    /// The folder of results [default: the name of the file, with `-results`]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the file and run nothing
    #[arg(long)]
    print: bool,
    /// Longest silence of a server that may still mean work
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    patience: std::time::Duration,
    #[command(flatten)]
    target: Target,
}

pub(in crate::bench) async fn run(args: &Args) -> Outcome {
    let (name, text) = source(&args.file)?;
    if args.print {
        say(text.trim_end());
        return Ok(Status::Done);
    }
    let matrix = Matrix::read(&text)
        .map_err(|error| Failure::wrong_use(format_args!("{}: {error}", args.file.display())))?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}-results")));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::bad_news(format_args!("{}: {error}", folder.display())))?;
    let cells: Vec<(PathBuf, Cell)> = matrix
        .cells()
        .into_iter()
        .enumerate()
        .map(|(at, cell)| (folder.join(format!("{:03}-{}.json", at + 1, cell.name())), cell))
        .collect();
    let todo: Vec<_> = cells.iter().filter(|(path, cell)| !is_done(path, cell)).collect();
    if todo.len() < cells.len() {
        say(format_args!("{} of {} cells are there already", cells.len() - todo.len(), cells.len()));
    }
    let launcher = launcher()?;
    let mut progress = Progress::new("matrix");
    let work: u64 = todo.iter().map(|(_, cell)| cell.work()).sum();
    let (mut done, mut failed) = (0, 0);
    for (path, cell) in todo {
        let within = |part: f64| progress.at(done + (cell.work() as f64 * part) as u64, work);
        let rows = measure(&launcher, args, cell, within).await;
        failed += rows.iter().filter(|row| row.outcome == RowOutcome::Failed).count();
        keep(path, args, cell, &rows)?;
        done += cell.work();
        progress.at(done, work);
    }
    drop(progress);
    let files = read_folder(&folder)?;
    let sets = merged(&files);
    write(&folder.join("report.html"), &report::html(&matrix.title, &sets))?;
    write(&folder.join("report.md"), &report::markdown(&matrix.title, &sets))?;
    write(&folder.join("rows.csv"), &report::csv(&files))?;
    if failed > 0 {
        say(format_args!(
            "{failed} rows failed: the page names the reasons; the same command runs those cells again"
        ));
        return Ok(Status::BadNews);
    }
    Ok(Status::Done)
}

/// The name and the text of a matrix.
fn source(file: &Path) -> Result<(String, String), Failure> {
    if file == Path::new(PAPER.0) && !file.exists() {
        return Ok((PAPER.0.to_owned(), PAPER.1.to_owned()));
    }
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::bad_news(format_args!("{}: {error}", file.display())))?;
    let name =
        file.file_stem().map_or_else(|| "matrix".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok((name, text))
}

/// Whether a file has the results of this very cell, and none of them failed.
fn is_done(path: &Path, cell: &Cell) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let settings = serde_json::from_str::<serde_json::Value>(&text).ok().map(|value| value["cell"].clone());
    let results = Results::read(&text);
    settings == Some(json!(cell))
        && results.is_ok_and(|results| results.rows.iter().all(|row| row.outcome != RowOutcome::Failed))
}

/// Measures a cell, on a server of its own unless one is given. A failure becomes a row that gives the
/// reason. `progress` gets the share that is done.
async fn measure(launcher: &Launcher, args: &Args, cell: &Cell, mut progress: impl FnMut(f64)) -> Vec<Row> {
    let progress = |done: u64, all: u64| progress(done as f64 / all.max(1) as f64);
    let measured = async {
        let server = behind(args.target.server(launcher).await?, cell.line().as_ref(), launcher).await?;
        match cell.test {
            Test::Mass => {
                let plan = mass::Plan { patience: args.patience, ..cell.mass_plan() };
                let measured = Box::pin(mass::measure(launcher, &server, &plan, progress)).await;
                Ok(mass_rows(&args.target, &plan, &measured.map_err(failure)?))
            }
            Test::Latency | Test::Ping => {
                let plan = latency::Plan { patience: args.patience, ..cell.latency_plan() };
                let measured = Box::pin(latency::measure(launcher, &server, &[], &plan, progress)).await;
                let measured = measured.map_err(failure)?;
                Ok::<_, Failure>(latency_rows(cell.test.word(), &args.target, &plan, &measured))
            }
        }
    };
    match measured.await {
        Ok(rows) => rows,
        Err(failure) => {
            let reason = failure.to_string();
            let reason = reason.trim_start_matches("error: ").trim_end().to_owned();
            super::rows::failed_rows(
                cell.test.word(),
                (&cell.ways(), cell.federates()),
                &args.target,
                &reason,
            )
        }
    }
}

/// Writes the results of a cell: whole or not at all.
fn keep(path: &Path, args: &Args, cell: &Cell, rows: &[Row]) -> Result<(), Failure> {
    let description = match cell.test {
        Test::Mass => super::mass::METHOD,
        Test::Latency | Test::Ping => loop_of(cell.rate),
    };
    let method = method(description, cell.warm_up, cell.runs);
    let mut report = results::schema::report(cell.test.command(), &command_line(), &method, rows);
    report.section("cell", json!(cell));
    notes(&args.target, &method, rows).into_iter().for_each(|note| report.note(note));
    let text = serde_json::to_string(&report.to_value()).expect("a JSON value always prints");
    let partial = path.with_extension("partial");
    std::fs::write(&partial, text)
        .and_then(|()| std::fs::rename(&partial, path))
        .map_err(|error| Failure::bad_news(format_args!("{}: it cannot be written: {error}", path.display())))
}
