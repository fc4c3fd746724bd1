//! The options that experiments have in common.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use base::Seed;
use console::exit::{Failure, say};
use console::report::JsonFlag;

use crate::sheet::FilesFlag;

/// The seed of a single run.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct SeedFlag {
    /// Where chance comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// The seed and the number of runs.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct RunFlags {
    /// The seed of the first run.
    #[command(flatten)]
    pub seed: SeedFlag,
    /// Runs with different chance, pooled
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub replications: u16,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

impl From<SeedFlag> for RunFlags {
    fn from(seed: SeedFlag) -> Self {
        Self { seed, replications: 1, jobs: None }
    }
}

/// The settings of an experiment, whatever its subcommand lets the user choose.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The scenario, as the user names it.
    pub scenario: String,
    /// The seed of the first run.
    pub seed: u64,
    /// The number of runs with different chance.
    pub replications: u16,
    /// The number of threads; one per core without it.
    pub jobs: Option<NonZeroUsize>,
    /// Where tables and charts go as files.
    pub files: FilesFlag,
    /// Where messages on their way are written.
    pub trace: Option<PathBuf>,
    /// Where the report goes.
    pub json: JsonFlag,
}

impl Settings {
    /// Settings without files.
    pub fn new(scenario: impl Into<String>, runs: impl Into<RunFlags>, json: &JsonFlag) -> Self {
        let runs = runs.into();
        Self {
            scenario: scenario.into(),
            seed: runs.seed.seed,
            replications: runs.replications,
            jobs: runs.jobs,
            files: FilesFlag::default(),
            trace: None,
            json: json.clone(),
        }
    }

    /// The same with files.
    #[must_use]
    pub fn with_files(mut self, files: &FilesFlag) -> Self {
        self.files = files.clone();
        self
    }

    /// The same with a trace of messages.
    #[must_use]
    pub fn with_trace(mut self, trace: Option<&Path>) -> Self {
        self.trace = trace.map(Path::to_owned);
        self
    }

    /// A failure about the scenario, or about its use.
    pub fn wrong(&self, why: impl fmt::Display) -> Failure {
        Failure::wrong_use(format_args!("scenario {}: {why}", self.scenario))
    }

    /// Parses the text of a scenario. With `show`, prints the text instead and returns `None`.
    ///
    /// # Errors
    /// The error of `parse`.
    pub fn read_or_show<S>(
        &self,
        show: bool,
        text: &str,
        parse: impl FnOnce(&str) -> Result<S, String>,
    ) -> Result<Option<S>, Failure> {
        let scenario = parse(text).map_err(|why| self.wrong(why))?;
        if show {
            say(text.trim_end());
            return Ok(None);
        }
        Ok(Some(scenario))
    }
}

/// The seed of a replication. The first is that of the command.
#[must_use]
pub fn seed_of(settings: &Settings, replication: usize) -> Seed {
    let first = Seed(settings.seed);
    if replication == 0 { first } else { first.split_index(replication as u64) }
}

/// The name of a scenario file for reports, and its text.
///
/// # Errors
/// The file cannot be read.
pub fn read_scenario(path: &str) -> Result<(String, String), Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::wrong_use(format_args!("{path}: the scenario cannot be read: {error}"))
            .hint("`meshrti sim list` names the built-in ones")
    })?;
    let stem = Path::new(path).file_stem();
    Ok((stem.map_or_else(|| path.to_owned(), |stem| stem.to_string_lossy().into_owned()), text))
}
