//! What every group's test does with its runs.
#![allow(clippy::print_stderr)] // the figures are what one runs many seeds by hand for

use std::collections::BTreeMap;
use testkit::{Group, Outcome, check_seeds};

/// Runs the seeds of `group` and sees to it that they amounted to something.
pub(crate) fn check_group(test: &str, group: Group, seeds: u64) {
    let outcomes = check_seeds(test, group, seeds);
    let sum = |of: fn(&Outcome) -> u64| outcomes.values().map(of).sum::<u64>();
    let (runs, calls, callbacks) = (outcomes.len() as u64, sum(|o| o.calls), sum(|o| o.callbacks));
    let (resumes, lost, dropped) = (sum(|o| o.resumes), sum(|o| o.lost), sum(|o| o.dropped));
    eprintln!(
        "{test}: {runs} runs, {calls} calls, {callbacks} callbacks, {resumes} resumes, {lost} lost, {dropped} dropped"
    );
    if runs >= 20 {
        assert!(calls > 50 * runs && callbacks > 10 * runs, "the federates do next to nothing");
        let ends: BTreeMap<_, _> = outcomes.values().map(|outcome| (outcome.digest.value(), ())).collect();
        assert_eq!(ends.len() as u64, runs, "different seeds make different runs");
    }
}
