//! Soaking: simulated runs with fresh seeds on all cores, for hours.

use crate::cargo::{call, cargo};
use anyhow::ensure;
use clap::Args;

/// How long, or how many, and of what.
#[derive(Args)]
pub(crate) struct Soak {
    /// How long to run, in hours.
    #[arg(long, required_unless_present = "seeds", conflicts_with = "seeds")]
    hours: Option<f64>,
    /// How many seeds to run in all, in place of a time.
    #[arg(long)]
    seeds: Option<u64>,
    /// Where the seeds come from, decimal or after 0x hexadecimal: the same base gives the same seeds. Another one each time
    /// by default, which is printed.
    #[arg(long)]
    base: Option<String>,
    /// Only these kinds of runs: services of one node (federation, declaration, object, distribution, support, session) or topologies of
    /// many (tree, mesh, hypercube, graph).
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Build with all optimisations, and without the checks of a debug build: takes minutes more, and runs faster.
    #[arg(long)]
    release: bool,
}

/// Runs fresh seeds, and fails if a run did. Prints the runs, their failures and the commands that
/// repeat them.
pub(crate) fn run(soak: &Soak) -> anyhow::Result<()> {
    let program = ["run", "--package", "meshrti-testkit", "--example", "soak", "--locked"];
    let mut command = cargo(&program);
    if soak.release {
        command.arg("--release");
    }
    command.arg("--").args(arguments(soak)?);
    call(&mut command)
}

/// The arguments of the example that makes the runs.
fn arguments(soak: &Soak) -> anyhow::Result<Vec<String>> {
    let (name, value) = match (soak.hours, soak.seeds) {
        (_, Some(seeds)) => ("--seeds", seeds),
        (hours, None) => {
            let seconds = hours.unwrap_or_default() * 3_600.0;
            ensure!((1.0..1e9).contains(&seconds), "--hours: a time from a second to 30 years is needed");
            ("--seconds", seconds as u64)
        }
    };
    let mut arguments = vec![name.to_owned(), value.to_string()];
    arguments.extend(soak.base.iter().flat_map(|base| ["--base".to_owned(), base.clone()]));
    arguments.extend(soak.kinds.iter().cloned());
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        soak: Soak,
    }

    fn arguments_of(line: &[&str]) -> Option<String> {
        let line = Line::try_parse_from([&["soak"], line].concat()).ok()?;
        arguments(&line.soak).ok().map(|words| words.join(" "))
    }

    #[test]
    fn hours_or_seeds_are_needed() {
        assert_eq!(arguments_of(&["--hours", "0.5"]).as_deref(), Some("--seconds 1800"));
        let line = ["--seeds", "20", "--base", "0x1f", "--kinds", "tree,mesh"];
        assert_eq!(arguments_of(&line).as_deref(), Some("--seeds 20 --base 0x1f tree mesh"));
        assert_eq!(arguments_of(&[]), None);
        assert_eq!(arguments_of(&["--hours", "1", "--seeds", "20"]), None);
        assert_eq!([arguments_of(&["--hours", "0"]), arguments_of(&["--hours", "NaN"])], [None, None]);
    }
}
