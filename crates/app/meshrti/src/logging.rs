//! Logs on the standard error.

use std::io::IsTerminal;

use clap::ArgAction;
use tracing_subscriber::EnvFilter;

/// How much is logged.
#[derive(clap::Args)]
pub(crate) struct Verbosity {
    /// Log more; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Log errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl Verbosity {
    /// Whether as little as possible is to be printed.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// Starts logging, at level `default` without flags. The environment variable `MESHRTI_LOG` (`node=debug,kernel=trace`) overrules the flags.
pub(crate) fn init(verbosity: &Verbosity, default: &'static str) {
    let level = match (verbosity.quiet, verbosity.verbose) {
        (true, _) => "error",
        (false, 0) => default,
        (false, 1) => "debug",
        (false, _) => "trace",
    };
    let filter = EnvFilter::try_from_env("MESHRTI_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
