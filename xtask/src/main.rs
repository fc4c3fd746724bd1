//! Chores of the workspace. `cargo xtask ci` proves the tree and changes nothing; `cargo xtask fix`
//! repairs what a machine can repair. Every step of the gate is also a command of its own.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command speaks to its user")]

mod cargo;
mod deny;
mod fix;
mod fuzz;
mod gate;
mod generate;
mod layers;
mod mpi;
mod mutations;
mod performance;
mod pictures;
mod ratchets;
mod sbom;
mod soak;
mod test_times;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Chores of the MeshRTI workspace")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// The gate: every check, in order, with its time. Changes nothing.
    Ci {
        /// Run the remaining steps after one has failed.
        #[arg(long)]
        keep_going: bool,
    },
    /// Repair what can be repaired: generated code, lints with a known fix, formatting.
    Fix,
    /// Check the formatting.
    Fmt,
    /// Compare the dependency arrows with those written in layers.toml.
    Layers,
    /// Check the sources: file lengths, left-over markers, whitespace, manifests, links in the docs, and that the
    /// performance page has the blocks and commands of its list.
    Tidy,
    /// Compare what may only shrink or grow with its limit: lines of the product, comments that give reasons.
    Ratchets,
    /// Check licences, advisories, duplicate versions and sources of third parties. Builds cargo-deny if it is not installed.
    Deny,
    /// Print the software bill of materials of `meshrti`: its packages with licences and digests, as CycloneDX.
    Sbom {
        /// Where to write it, in place of the standard output.
        file: Option<std::path::PathBuf>,
    },
    /// Write the generated code, or check that it is current.
    Gen {
        /// Write nothing; fail when the files differ from what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Draw the pictures of the README, that of the demo from a run of it.
    Pictures,
    /// Measure what docs/performance.toml lists with a release build, and write the tables into docs/performance.md.
    Performance(performance::Performance),
    /// Lint every target; a warning is an error.
    Clippy,
    /// Run the tests of every target: units, properties, seeded runs, examples. The property tests draw the same cases
    /// every time, unless PROPTEST_RNG_SEED says otherwise; the simulated runs draw fresh seeds beside fixed ones, from
    /// MESHRTI_SEED_BASE or else a base that is printed.
    Test,
    /// Run the tests with property cases that nobody has seen yet.
    Explore {
        /// How often; each round says the seed that repeats it.
        #[arg(long, default_value_t = 1)]
        rounds: u32,
    },
    /// Simulate with fresh seeds on all cores, until the time is over. Reports failures with the commands that repeat them,
    /// and failure rates; exits with 1 when a run failed.
    Soak(soak::Soak),
    /// Make deliberate mistakes in a copy of the last commit, one after the other, and run for each the test that must fail.
    /// Exits with 1 when a mistake survives.
    Mutations(mutations::Mutations),
    /// Run the examples in the documentation.
    Doctest,
    /// Build the documentation; a warning is an error.
    Doc,
    /// Run the tests over MPI alone, where an MPI library is installed (MESHRTI_MPI=required: it has to be; skip: not here).
    Mpi,
    /// Build the fuzz targets with the stable compiler and run each over its committed corpus.
    FuzzReplay,
    /// Explore with every fuzz target (needs cargo-fuzz and a nightly toolchain).
    Fuzz {
        /// How long each target runs.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Only these targets.
        targets: Vec<String>,
    },
}

fn main() -> ExitCode {
    let chore = Arguments::parse().chore;
    match run(chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    match chore {
        Chore::Ci { keep_going } => gate::run(keep_going),
        Chore::Fix => fix::run(),
        Chore::Fmt => cargo::fmt(),
        Chore::Layers => layers::run(),
        Chore::Tidy => tidy::run(),
        Chore::Ratchets => ratchets::run(),
        Chore::Deny => deny::run(),
        Chore::Sbom { file } => sbom::run(file.as_deref()),
        Chore::Gen { check: true } => generate::check(),
        Chore::Gen { check: false } => generate::write(),
        Chore::Pictures => pictures::write(),
        Chore::Performance(performance) => performance::run(&performance),
        Chore::Clippy => cargo::clippy(),
        Chore::Test => cargo::test(),
        Chore::Explore { rounds } => cargo::explore(rounds),
        Chore::Soak(soak) => soak::run(&soak),
        Chore::Mutations(mutations) => mutations::run(&mutations),
        Chore::Doctest => cargo::doctest(),
        Chore::Doc => cargo::doc(),
        Chore::Mpi => mpi::run(),
        Chore::FuzzReplay => fuzz::replay(),
        Chore::Fuzz { seconds, targets } => fuzz::explore(seconds, &targets),
    }
}
