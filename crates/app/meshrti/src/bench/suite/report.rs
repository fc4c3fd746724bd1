//! `meshrti bench report`.

use std::path::{Path, PathBuf};

use results::{Results, merged, report};

use super::compare::read;
use console::exit::{Failure, Outcome, Status, say};

/// A page of all results in a folder.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti bench mass --json results/mass.json; meshrti bench ping --json results/ping.json
  meshrti bench report results
  meshrti bench report results -o report.html --markdown report.md --csv rows.csv

The page needs nothing else: no network, no scripts. It has plots, tables in the form of the papers, the papers' figures, \
the method, the machine and the exact command of each file.")]
pub(in crate::bench) struct Args {
    /// The folder; its files `*.json` are read
    folder: PathBuf,
    /// The page [default: report.html in the folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The same in Markdown, without plots
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// All rows with all figures
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// The heading of the page
    #[arg(long, default_value = "What an RTI costs")]
    title: String,
}

pub(in crate::bench) fn run(args: &Args) -> Outcome {
    let files = read_folder(&args.folder)?;
    let page = args.output.clone().unwrap_or_else(|| args.folder.join("report.html"));
    let sets = merged(&files);
    write(&page, &report::html(&args.title, &sets))?;
    if let Some(path) = &args.markdown {
        write(path, &report::markdown(&args.title, &sets))?;
    }
    if let Some(path) = &args.csv {
        write(path, &report::csv(&files))?;
    }
    Ok(Status::Done)
}

/// The files of results in a folder, by name. One that is none is named on the standard output.
pub(super) fn read_folder(folder: &Path) -> Result<Vec<(String, Results)>, Failure> {
    let named = |error: std::io::Error| Failure::bad_news(format_args!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(named)? {
        let path = entry.map_err(named)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match read(&path) {
            Ok(results) => files.push((name, results)),
            Err(failure) => say(format_args!("left out: {}", failure.to_string().trim_end())),
        }
    }
    if files.is_empty() {
        let what = format!("{}: there are no results", folder.display());
        return Err(
            Failure::bad_news(what).hint("the commands of `meshrti bench` write them with --json FILE")
        );
    }
    Ok(files)
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::bad_news(format_args!("{}: it cannot be written: {error}", path.display()));
    std::fs::write(path, text).map_err(failed)?;
    say(format_args!("{}", path.display()));
    Ok(())
}
