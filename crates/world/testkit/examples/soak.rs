//! Runs fresh seeds for a given time, or a given number of them. `cargo xtask soak` runs this.
//!
//! `soak (--seconds N | --seeds N) --base SEED [SETUP ...]`. Prints each failure with the command
//! that repeats it, then runs, failures and failure rates by setup. Exits with 1 if a run failed,
//! and with 2 if the arguments are invalid.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to its user")]
#![allow(clippy::disallowed_methods, reason = "the time of a soak is that of its user")]

use base::Seed;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use testkit::{FailedRun, Setup, parse_number, soak};

/// Runs between two reports of progress: every minute or two on one core.
const PROGRESS: u64 = 1_000;

/// The runs to make.
struct Arguments {
    setups: Vec<Setup>,
    base: Seed,
    /// The limit: a time, or a total number of runs.
    limit: Limit,
}

#[derive(Clone, Copy)]
enum Limit {
    Seconds(u64),
    Runs(u64),
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let Arguments { setups, base, limit } = arguments;
    println!("base seed {base}");
    let begun = Instant::now();
    let more = |runs: u64| {
        if runs > 0 && runs.is_multiple_of(PROGRESS) {
            println!("{runs} runs in {:.0} s", begun.elapsed().as_secs_f64());
        }
        match limit {
            Limit::Seconds(seconds) => begun.elapsed() < Duration::from_secs(seconds),
            Limit::Runs(all) => runs < all,
        }
    };
    let tallies = soak(&setups, base, more, |failed: &FailedRun| {
        println!("{} {}: {}\n  {}", failed.setup.name(), failed.seed, failed.summary, failed.replay());
    });
    let (mut runs, mut failures) = (0, 0);
    println!("{:<12} {:>9} {:>9} {:>12}", "setup", "runs", "failures", "per million");
    let line = |name: &str, runs: u64, failures: u64| {
        let rate = failures as f64 * 1e6 / runs.max(1) as f64;
        println!("{name:<12} {runs:>9} {failures:>9} {rate:>12.1}");
    };
    for (setup, tally) in &tallies {
        let failed = tally.failures.len() as u64;
        line(setup.name(), tally.runs, failed);
        (runs, failures) = (runs + tally.runs, failures + failed);
    }
    line("all", runs, failures);
    println!("{:.0} s", begun.elapsed().as_secs_f64());
    if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (mut setups, mut base, mut limit) = (Vec::new(), None, None);
    while let Some(word) = words.next() {
        let mut value = || {
            let text = words.next().ok_or_else(|| format!("{word} wants a number"))?;
            parse_number(&text).ok_or_else(|| format!("{word} {text}: no number"))
        };
        match word.as_str() {
            "--seconds" => limit = Some(Limit::Seconds(value()?)),
            "--seeds" => limit = Some(Limit::Runs(value()?)),
            "--base" => base = Some(Seed(value()?)),
            name => {
                let known = Setup::ALL.iter().find(|(known, _)| *known == name);
                let all = || Setup::ALL.map(|(name, _)| name).join(", ");
                setups.push(known.ok_or_else(|| format!("no kind `{name}`; there are: {}", all()))?.1);
            }
        }
    }
    if setups.is_empty() {
        setups = Setup::ALL.map(|(_, setup)| setup).to_vec();
    }
    let limit = limit.ok_or("one of --seconds and --seeds is needed")?;
    Ok(Arguments { setups, base: base.unwrap_or_else(testkit::fresh_base), limit })
}
