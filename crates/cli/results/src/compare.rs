//! Changes from one file of results to another.
//!
//! The unit is a run: samples within a run depend on each other, and on what else the machine did
//! meanwhile. The means of the runs of a case in both files are compared by the two-sided exact test
//! of Mann and Whitney. Of many cases a few differ by chance, so the error of the whole comparison is
//! held at 5 % by Holm's method. A change below [`LEAST`] is of no interest even if it is certain.

use std::collections::BTreeMap;

use base::stats::median;

use crate::ranks::mann_whitney;
use crate::schema::{Case, Outcome, Results, Row};

/// The probability of a change that is none, in the whole comparison.
pub const ALPHA: f64 = 0.05;
/// The smallest change that is told.
pub const LEAST: f64 = 0.02;

/// The answer of the comparison for a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// No difference beyond noise.
    Same,
    /// There are too few runs to tell any difference.
    TooFewRuns,
    /// It failed only in the second file.
    Broken,
    /// It failed only in the first file.
    Mended,
    /// Only the first file has it.
    Missing,
    /// Only the second file has it.
    New,
}

impl Verdict {
    /// Its words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "no change beyond noise",
            Self::TooFewRuns => "too few runs to tell",
            Self::Broken => "fails now",
            Self::Mended => "failed before",
            Self::Missing => "only in the first",
            Self::New => "only in the second",
        }
    }

    /// Whether this is bad news.
    #[must_use]
    pub const fn is_worse(self) -> bool {
        matches!(self, Self::Slower | Self::Broken | Self::Missing)
    }
}

/// A case in two files.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The settings.
    pub case: Case,
    /// The median of the means of the runs in the first file, in microseconds.
    pub before_us: Option<f64>,
    /// The same in the second file.
    pub after_us: Option<f64>,
    /// The probability of a difference at least as great between files of one distribution.
    pub p: Option<f64>,
    /// The answer.
    pub verdict: Verdict,
}

impl Change {
    /// After relative to before.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        Some(self.after_us? / self.before_us?)
    }
}

/// Compares two files. The changes are in the order of the first file, then of the second.
#[must_use]
pub fn compare(before: &Results, after: &Results) -> Vec<Change> {
    let measured = |row: &&Row| row.outcome != Outcome::NotInStandard;
    let mut others: BTreeMap<Case, &Row> =
        after.rows.iter().filter(measured).map(|row| (row.case(), row)).collect();
    let mut changes: Vec<Change> = Vec::new();
    for row in before.rows.iter().filter(measured) {
        let case = row.case();
        let other = others.remove(&case);
        changes.push(change(case, row, other));
    }
    for row in after.rows.iter().filter(measured) {
        if others.remove(&row.case()).is_some() {
            let after_us = median(row.run_means_us());
            let (case, verdict) = (row.case(), Verdict::New);
            changes.push(Change { case, before_us: None, after_us, p: None, verdict });
        }
    }
    judge(&mut changes);
    changes
}

/// A change, without the verdict of the test.
fn change(case: Case, row: &Row, other: Option<&Row>) -> Change {
    let before_us = median(row.run_means_us());
    let Some(other) = other else {
        return Change { case, before_us, after_us: None, p: None, verdict: Verdict::Missing };
    };
    let after_us = median(other.run_means_us());
    let verdict = match (row.outcome, other.outcome) {
        (Outcome::Measured, Outcome::Measured) => Verdict::TooFewRuns,
        (Outcome::Measured, _) => Verdict::Broken,
        (_, Outcome::Measured) => Verdict::Mended,
        _ => Verdict::Same,
    };
    let p = match verdict {
        Verdict::TooFewRuns => mann_whitney(&row.run_means_us(), &other.run_means_us()),
        _ => None,
    };
    Change { case, before_us, after_us, p, verdict }
}

/// Holm's method: the smallest of `m` probabilities counts below α/m, the next one below α/(m−1),
/// and so on until one does not.
fn judge(changes: &mut [Change]) {
    let mut tested: Vec<usize> = (0..changes.len()).filter(|at| changes[*at].p.is_some()).collect();
    let p = |changes: &[Change], at: usize| changes[at].p.unwrap_or(1.0);
    tested.sort_by(|a, b| p(changes, *a).total_cmp(&p(changes, *b)));
    let (all, mut holds) = (tested.len(), true);
    for (rank, at) in tested.into_iter().enumerate() {
        holds &= p(changes, at) <= ALPHA / (all - rank) as f64;
        let ratio = changes[at].ratio().unwrap_or(1.0);
        changes[at].verdict = match ratio {
            _ if !holds || (ratio - 1.0).abs() < LEAST => Verdict::Same,
            ratio if ratio > 1.0 => Verdict::Slower,
            _ => Verdict::Faster,
        };
    }
}

/// The runs that both files need so that a comparison of `cases` cases can tell anything: fewer, and
/// even runs without any overlap count as noise.
#[must_use]
pub fn runs_needed(cases: usize) -> usize {
    let separate = |runs: usize| {
        let (low, high): (Vec<f64>, Vec<f64>) =
            ((0..runs).map(|at| at as f64).collect(), (runs..2 * runs).map(|at| at as f64).collect());
        mann_whitney(&low, &high).unwrap_or(1.0)
    };
    (2..50).find(|runs| separate(*runs) <= ALPHA / cases.max(1) as f64).unwrap_or(50)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::{results, row};

    const QUIET: [u64; 8] = [100, 101, 99, 102, 98, 100, 103, 101];

    fn scaled(factor: f64) -> Vec<u64> {
        QUIET.map(|mean| (mean as f64 * 10.0 * factor) as u64).to_vec()
    }

    #[test]
    fn noise_is_no_change_and_a_change_is_told() {
        let before = results([16, 64, 256].map(|size| row("latency", 0, size, &scaled(1.0))).to_vec());
        let after = results(vec![
            row("latency", 0, 16, &scaled(1.004)),
            row("latency", 0, 64, &scaled(1.3)),
            row("latency", 0, 256, &scaled(0.7)),
        ]);
        let verdicts: Vec<_> = compare(&before, &after).iter().map(|change| change.verdict).collect();
        assert_eq!(verdicts, [Verdict::Same, Verdict::Slower, Verdict::Faster]);
        assert!(compare(&before, &before).iter().all(|change| change.verdict == Verdict::Same));
    }

    #[test]
    fn cases_that_came_and_went_are_told() {
        let mut failed = row("latency", 0, 64, &[]);
        failed.outcome = Outcome::Failed;
        let before = results(vec![row("latency", 0, 16, &scaled(1.0)), row("latency", 0, 64, &scaled(1.0))]);
        let after = results(vec![failed, row("latency", 0, 256, &scaled(1.0))]);
        let found: Vec<_> = compare(&before, &after).iter().map(|change| change.verdict).collect();
        assert_eq!(found, [Verdict::Missing, Verdict::Broken, Verdict::New]);
        assert!(found[0].is_worse() && found[1].is_worse() && !found[2].is_worse());
    }

    #[test]
    fn a_file_without_runs_says_nothing() {
        let without = results(vec![row("latency", 0, 16, &[])]);
        assert_eq!(compare(&without, &without)[0].verdict, Verdict::TooFewRuns);
        assert_eq!((runs_needed(1), runs_needed(20)), (4, 6));
    }
}
