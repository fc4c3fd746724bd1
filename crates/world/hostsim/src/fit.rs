//! Costs from measurements: least squares of the logarithms of predicted over measured values, by
//! the Levenberg-Marquardt algorithm.
//!
//! Costs and times are positive and relative errors matter, hence logarithms.

use crate::federation::Federation;
use crate::model::Costs;
use crate::report::Report;
use crate::work::Task;

/// Measurements of a federation with one task, or the predictions of a run of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Figures {
    /// Median of round-trip times, or of times from update to reflect for a task with a pace, in
    /// microseconds.
    pub p50_us: Option<f64>,
    /// Reflects per second of each subscriber, for a flood.
    pub per_s: Option<f64>,
    /// Processor time per update of single processes, in microseconds. For a flood: the first
    /// federate, the others, and each node. For a task with a pace: each node only, because there
    /// live federates also watch a clock, which the model does not cover.
    pub cpu_us: Vec<f64>,
}

impl Figures {
    /// Figures of the first task of a run; `None` without a task.
    pub fn of(report: &Report) -> Option<Self> {
        let done = report.done.first()?;
        let updates = f64::from(done.work.count());
        let each = |ns: &[f64]| ns.iter().map(|ns| ns / 1e3 / updates).collect();
        let cpu_us = [each(&done.federates_ns), each(&report.nodes_ns)];
        Some(Self::of_task(&done.work.task, done.quantile_us(0.5), Some(done.per_s()), cpu_us))
    }

    /// The figures that count for a task, from its median, its rate, and the processor times per
    /// update of federates and nodes.
    pub fn of_task(
        task: &Task,
        p50_us: Option<f64>,
        per_s: Option<f64>,
        [federates_us, nodes_us]: [Vec<f64>; 2],
    ) -> Self {
        match task {
            Task::RoundTrips { .. } => Self { p50_us, per_s: None, cpu_us: Vec::new() },
            Task::Paced { .. } | Task::Entities { .. } | Task::Replay { .. } => {
                Self { p50_us, per_s: None, cpu_us: nodes_us }
            }
            Task::Flood { .. } | Task::FanIn { .. } => {
                Self { p50_us: None, per_s, cpu_us: [federates_us, nodes_us].concat() }
            }
        }
    }

    /// Weighted logarithms of the ratios of these figures to others. The weight is one for a time,
    /// one for a rate, and one for the processor times of all processes together.
    pub fn errors(&self, other: &Self) -> Vec<f64> {
        let pair = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| logarithm(a, b));
        let share = 1.0 / (self.cpu_us.len().max(1) as f64).sqrt();
        let cpu = self.cpu_us.iter().zip(&other.cpu_us).map(|(a, b)| share * logarithm(*a, *b));
        pair(self.p50_us, other.p50_us).into_iter().chain(pair(self.per_s, other.per_s)).chain(cpu).collect()
    }
}

/// The logarithm of a ratio. Zero for a value too short to be measured, so that it does not count.
fn logarithm(found: f64, measured: f64) -> f64 {
    if measured > 0.0 { libm::log((found / measured).clamp(1e-6, 1e6)) } else { 0.0 }
}

/// A measured federation.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// The federation; its costs are ignored.
    pub federation: Federation,
    /// Its measured figures.
    pub measured: Figures,
}

/// The result of a fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    /// The costs.
    pub costs: Costs,
    /// Root mean square of the errors, as a fraction (0.05 is 5 %).
    pub rms: f64,
    /// Number of steps taken.
    pub steps: u32,
}

/// Maximum number of steps.
const STEPS_MAX: u32 = 12;
/// Change of a logarithm for the numerical derivative.
const NUDGE: f64 = 0.1;
/// Maximum factor between a cost and its initial value.
const FACTOR_MAX: f64 = 50.0;
/// Weight of the regularization towards the initial value, which keeps costs in place that the
/// measurements do not determine.
const PULL: f64 = 0.02;
/// Relative improvement below which the fit ends.
const IMPROVEMENT: f64 = 1e-3;
/// Damping of the trials of each step: from nearly the whole Gauss-Newton step to a short one along
/// the steepest descent.
const DAMPINGS: [f64; 4] = [1e-3, 1e-2, 0.1, 1.0];

type Vector = [f64; Costs::COUNT];
type Matrix = [Vector; Costs::COUNT];

/// Fits costs to measurements. `evaluate` returns the vector of errors of each candidate, in the
/// same order for all.
///
/// # Errors
/// The error of `evaluate`.
pub fn fit<E>(
    start: Costs,
    mut evaluate: impl FnMut(&[Costs]) -> Result<Vec<Vec<f64>>, E>,
) -> Result<Fit, E> {
    let origin = start.to_array().map(|cost| libm::log(cost.max(1e-3)));
    let mut at = origin;
    let mut errors = evaluate(&[costs(&at)])?.pop().unwrap_or_default();
    let mut steps = 0;
    while steps < STEPS_MAX {
        let slopes = slopes(&at, &errors, &mut evaluate)?;
        let trials: Vec<Vector> =
            DAMPINGS.iter().map(|damping| step(&at, &origin, &errors, &slopes, *damping)).collect();
        let candidates: Vec<Costs> = trials.iter().map(costs).collect();
        let found = evaluate(&candidates)?;
        let score = |(trial, errors): &(Vector, Vec<f64>)| objective(errors, trial, &origin);
        let best = trials.into_iter().zip(found).min_by(|a, b| score(a).total_cmp(&score(b)));
        let Some(best) = best else { break };
        let (before, after) = (objective(&errors, &at, &origin), score(&best));
        steps += 1;
        if after >= before {
            break;
        }
        (at, errors) = best;
        if after > before * (1.0 - IMPROVEMENT) {
            break;
        }
    }
    let mean_square = errors.iter().map(|error| error * error).sum::<f64>() / errors.len().max(1) as f64;
    Ok(Fit { costs: costs(&at), rms: mean_square.sqrt(), steps })
}

fn costs(logarithms: &Vector) -> Costs {
    Costs::from_array(logarithms.map(libm::exp))
}

/// The objective function: the sum of squared errors and the regularization.
fn objective(errors: &[f64], at: &Vector, origin: &Vector) -> f64 {
    let pull: f64 = at.iter().zip(origin).map(|(a, b)| PULL * PULL * (a - b) * (a - b)).sum();
    errors.iter().map(|error| error * error).sum::<f64>() + pull
}

/// The Jacobian: the derivative of each error with respect to the logarithm of each cost.
fn slopes<E>(
    at: &Vector,
    errors: &[f64],
    evaluate: &mut impl FnMut(&[Costs]) -> Result<Vec<Vec<f64>>, E>,
) -> Result<Vec<Vector>, E> {
    let nudged: Vec<Costs> = (0..Costs::COUNT)
        .map(|index| {
            let mut nudged = *at;
            nudged[index] += NUDGE;
            costs(&nudged)
        })
        .collect();
    let found = evaluate(&nudged)?;
    let slope = |row: usize| std::array::from_fn(|index| (found[index][row] - errors[row]) / NUDGE);
    Ok((0..errors.len()).map(slope).collect())
}

/// The next point: the solution of the damped normal equations.
fn step(at: &Vector, origin: &Vector, errors: &[f64], slopes: &[Vector], damping: f64) -> Vector {
    let mut matrix: Matrix = [[0.0; Costs::COUNT]; Costs::COUNT];
    let mut right: Vector = [0.0; Costs::COUNT];
    for (error, slope) in errors.iter().zip(slopes) {
        for i in 0..Costs::COUNT {
            right[i] -= slope[i] * error;
            for j in 0..Costs::COUNT {
                matrix[i][j] += slope[i] * slope[j];
            }
        }
    }
    for i in 0..Costs::COUNT {
        right[i] -= PULL * PULL * (at[i] - origin[i]);
        matrix[i][i] += PULL * PULL + damping * matrix[i][i];
    }
    let change = solve(matrix, right);
    let reach = libm::log(FACTOR_MAX);
    std::array::from_fn(|i| (at[i] + change[i].clamp(-1.0, 1.0)).clamp(origin[i] - reach, origin[i] + reach))
}

/// Gaussian elimination with partial pivoting. The matrix is symmetric and, because of the
/// regularization, positive definite.
fn solve(mut matrix: Matrix, mut right: Vector) -> Vector {
    for column in 0..Costs::COUNT {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..Costs::COUNT).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let (above, below) = matrix.split_at_mut(column + 1);
        let pivot = &above[column];
        for (row, line) in below.iter_mut().enumerate() {
            let part = line[column] / pivot[column];
            line.iter_mut().zip(pivot).for_each(|(value, own)| *value -= part * own);
            right[column + 1 + row] -= part * right[column];
        }
    }
    for row in (0..Costs::COUNT).rev() {
        let known: f64 = (row + 1..Costs::COUNT).map(|i| matrix[row][i] * right[i]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HostModel;

    #[test]
    fn equations_are_solved() {
        let mut matrix: Matrix = [[0.1; Costs::COUNT]; Costs::COUNT];
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] = 1.0 + i as f64;
        }
        matrix.swap(0, 3);
        let wanted: Vector = std::array::from_fn(|i| i as f64 - 4.0);
        let right = matrix.map(|row| row.iter().zip(&wanted).map(|(a, b)| a * b).sum());
        for (found, wanted) in solve(matrix, right).iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        }
    }

    /// Sums of costs stand for measurements. They determine every cost but the last, which appears
    /// in none of them.
    #[test]
    fn costs_are_found_again_from_sums_of_them() {
        let truth = HostModel::EXAMPLE.costs.to_array().map(|cost| cost * 3.0);
        let sums = |costs: &Costs| -> Vec<f64> {
            let costs = costs.to_array();
            let known = &costs[..Costs::COUNT - 1];
            let all: f64 = known.iter().sum();
            known.iter().map(|cost| libm::log(all + 5.0 * cost)).collect()
        };
        let measured = sums(&Costs::from_array(truth));
        let evaluate = |candidates: &[Costs]| {
            let errors = |costs: &Costs| sums(costs).iter().zip(&measured).map(|(a, b)| a - b).collect();
            Ok::<_, std::convert::Infallible>(candidates.iter().map(errors).collect())
        };
        let fit = fit(HostModel::EXAMPLE.costs, evaluate).unwrap();
        assert!(fit.rms < 0.01, "{fit:?}");
        let found = fit.costs.to_array();
        for index in 0..3 {
            assert!((found[index] / truth[index] - 1.0).abs() < 0.1, "{fit:?}");
        }
        let unsaid = HostModel::EXAMPLE.costs.federate_callback_ns;
        assert!((fit.costs.federate_callback_ns / unsaid - 1.0).abs() < 0.05, "{fit:?}");
    }

    #[test]
    fn figures_differ_by_logarithms() {
        let measured = Figures { p50_us: Some(100.0), per_s: None, cpu_us: vec![] };
        let predicted = Figures { p50_us: Some(110.0), ..measured.clone() };
        let [error] = predicted.errors(&measured)[..] else { panic!("there is one") };
        assert!((error - 0.0953).abs() < 1e-3);
        let flood = Figures { p50_us: None, per_s: Some(2e5), cpu_us: vec![1.0, 2.0, 0.0, 4.0] };
        let twice = Figures { cpu_us: vec![2.0, 4.0, 0.0, 8.0], ..flood };
        let errors = twice.errors(&flood);
        assert_eq!(errors.len(), 5);
        assert_eq!((errors[0], errors[3]), (0.0, 0.0), "the same rate, and what is too short: {errors:?}");
        assert!((errors[1] - 0.3466).abs() < 1e-3, "half of the logarithm of two: {errors:?}");
    }
}
