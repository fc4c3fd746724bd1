//! `srmp-q1` to `srmp-q5`: experiments for the questions that the SRMP paper asks and leaves open
//! (its section 2.2).

mod congestion;
mod control;
mod failure;
mod limits;
mod scale;

use base::stats;
use std::time::{Duration, Instant};

use serde_json::json;
use srmp::Config;
use srmp::rate::Rate;

use super::{RunError, good_if_any, in_parallel, tell};
use console::exit::{Failure, Outcome};
use console::report::Report;
use experiment::sheet::{Picture, Sheet};
use experiment::{Settings, seed_of};

/// One of the paper's questions.
#[derive(Clone, Copy)]
pub(super) enum Question {
    /// "How scalable is the protocol with regard to the number of users in a multicast group?"
    Scale {
        /// The size of the largest group.
        receivers: u32,
    },
    /// "What are the mechanisms that limit scalability, and how can we estimate their limits?"
    Limits,
    /// "How well does the protocol protect from congestion?"
    Congestion,
    /// "Under what circumstances will the protocol fail to perform functions needed by the
    /// application?"
    Failure,
    /// "How well does the congestion control mechanism perform, and when does it fail?"
    Control,
}

/// The result of an experiment.
struct Findings {
    sheets: Vec<Sheet>,
    pictures: Vec<Picture>,
    notes: Vec<String>,
}

impl Question {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Scale { .. } => "srmp-q1",
            Self::Limits => "srmp-q2",
            Self::Congestion => "srmp-q3",
            Self::Failure => "srmp-q4",
            Self::Control => "srmp-q5",
        }
    }

    /// The paper's words.
    const fn text(self) -> &'static str {
        match self {
            Self::Scale { .. } => {
                "How scalable is the protocol with regard to the number of users in a multicast group?"
            }
            Self::Limits => {
                "What are the mechanisms that limit scalability, and how can we estimate their limits?"
            }
            Self::Congestion => "How well does the protocol protect from congestion?",
            Self::Failure => {
                "Under what circumstances will the protocol fail to perform functions needed by the application?"
            }
            Self::Control => "How well does the congestion control mechanism perform, and when does it fail?",
        }
    }
}

/// Runs the experiment of a question.
pub(super) fn run(settings: &Settings, question: Question, run: Duration) -> Outcome {
    let begun = Instant::now();
    let Findings { sheets, pictures, mut notes } = match question {
        Question::Scale { receivers } => scale::run(settings, run, receivers)?,
        Question::Limits => limits::run(settings, run)?,
        Question::Congestion => congestion::run(settings, run)?,
        Question::Failure => failure::run(settings, run)?,
        Question::Control => control::run(settings, run)?,
    };
    notes.insert(0, format!("The paper asks: {}", question.text()));
    let mut report = Report::new("sim srmp-questions", 1);
    report.seed(settings.seed);
    report.summary(json!({
        "scenario": question.name(),
        "replications": settings.replications,
        "wall_s": begun.elapsed().as_secs_f64(),
    }));
    let good = good_if_any(&sheets);
    tell(settings, &mut report, (sheets, pictures), notes, good)
}

/// The runs of all replications of each point, in order. If the user stops it, only those of the
/// first points, the last one possibly with fewer replications.
fn replicate<P: Sync, T: Send, E: RunError>(
    settings: &Settings,
    points: &[P],
    work: impl Fn(&P, base::Seed) -> Result<T, E> + Sync,
) -> Result<Vec<Vec<T>>, Failure> {
    let each = usize::from(settings.replications);
    let runs = in_parallel(settings, points.len() * each, |index| {
        work(&points[index / each], seed_of(settings, index % each))
    })?;
    let mut runs = runs.into_iter();
    let of = |_: &P| -> Vec<T> { runs.by_ref().take(each).collect() };
    Ok(points.iter().map(of).filter(|runs| !runs.is_empty()).collect())
}

/// The mean of a figure over replications, and half the width of its 95 % confidence interval if
/// there are several.
fn mean<T>(runs: &[T], of: impl Fn(&T) -> f64) -> (f64, Option<f64>) {
    let values: Vec<f64> = runs.iter().map(of).collect();
    (stats::mean(values.iter().copied()), stats::ci95(&values))
}

/// SRMP on a private network: losses do not slow it down.
fn private(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
}
