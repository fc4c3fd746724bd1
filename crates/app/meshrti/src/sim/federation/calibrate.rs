//! `meshrti sim calibrate`: measures the costs of steps on this machine, from live runs with 1 to 3
//! nodes, and tests whether the simulator then predicts runs with 4 to 6, and runs with nodes on
//! computers of their own.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use base::stats::median;
use bench::cores::{Awake, can_pin};
use bench::namespaces::Namespace;
use hostsim::fit::{Figures, Fit, fit};
use hostsim::{Costs, Federation, HostModel};
use serde_json::{Value, json};

use super::between::{self, Between};
use super::cases::{Case, KNOWN, Length, SIMULATED, UNKNOWN, by_node};
use super::rounds::{check_noise, least_disturbed, measure_all};
use super::{hosts, simulate};
use console::exit::{Failure, Outcome, Status, block_on, say};
use console::progress::Progress;
use console::report::{JsonFlag, Report};
use console::table::{Table, figure};
use experiment::interrupt;
use experiment::parallel::each_in_parallel;

/// Options of calibrate.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti sim calibrate --hosts hosts.toml                                 write the host model
  meshrti sim calibrate --namespaces a=10.78.0.1,b=10.78.0.2               predict nodes on computers of their own, too
  meshrti sim examples/simulations/federation.toml --hosts hosts.toml      use it")]
pub(crate) struct Args {
    /// Write the host model to FILE
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Measure everything N times, and take the best of each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=99))]
    rounds: u8,
    /// Threads that fit the model [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Go on although the machine is too noisy
    #[arg(long)]
    noisy: bool,
    /// Predict nodes on computers of one core each, too, for which these network namespaces stand;
    /// `examples/srmp/namespaces.sh` makes them
    #[arg(long, value_name = "NAME=ADDRESS", value_delimiter = ',')]
    namespaces: Vec<Namespace>,
    #[command(flatten)]
    json: JsonFlag,
}

/// The maximum relative errors of a good model: `MEDIAN_MAX` for half of its predictions, and
/// `WORST_MAX` for all.
const MEDIAN_MAX: f64 = 0.10;
const WORST_MAX: f64 = 0.20;

/// Measures, fits, predicts, measures again.
pub(crate) fn run(args: &Args) -> Outcome {
    interrupt::watch();
    // Cores are kept awake because their wake-up time varies from one moment to the next, with the
    // machine and, for a virtual one, with its host.
    let awake = Awake::keep();
    let mut cases: Vec<Case> = KNOWN.into_iter().chain(UNKNOWN).collect();
    let mut rounds = Vec::new();
    let mut network = None;
    between::check(&args.namespaces)?;
    block_on(async {
        check_noise(args.noisy).await?;
        if let [near, far, ..] = &args.namespaces[..] {
            let found = Between::measure([near, far], args.rounds).await?;
            let nodes = u16::try_from(args.namespaces.len()).unwrap_or(u16::MAX);
            cases.extend(by_node(nodes, found.ethernet()));
            network = Some(found);
        }
        rounds = measure_all(&cases, args.rounds, &args.namespaces).await?;
        Ok(Status::Done)
    })?;
    let measured: Vec<Figures> = rounds.iter().map(|rounds| least_disturbed(rounds)).collect();
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let start = HostModel { cores: u32::try_from(cores).unwrap_or(u32::MAX), ..HostModel::EXAMPLE };
    let fit = find(start, (&KNOWN, SIMULATED), &measured[..KNOWN.len()], args.jobs)?;
    let model = HostModel { costs: fit.costs, ..start };
    let all = [model.costs];
    let predicted = predict((&cases, SIMULATED), start, &all, args.jobs)?.pop().unwrap_or_default();
    let lines: Vec<Line> = cases
        .iter()
        .zip(measured.iter().zip(&rounds).zip(&predicted))
        .enumerate()
        .filter_map(|(at, (case, ((measured, rounds), predicted)))| {
            Line::new(*case, at < KNOWN.len(), (measured, rounds), predicted)
        })
        .collect();
    let conditions = Conditions { awake: awake.is_ok(), pinned: can_pin(), network };
    tell(args, &model, &fit, &lines, (args.rounds, conditions))
}

/// The conditions of the measurement.
struct Conditions {
    /// Idle cores were kept awake.
    awake: bool,
    /// Processes were pinned to cores.
    pinned: bool,
    /// The network between namespaces, if there are some.
    network: Option<Between>,
}

impl Conditions {
    /// A description for people.
    fn note(&self) -> String {
        let awake = match self.awake {
            true => "idle cores waited awake",
            false => {
                "idle cores slept, since the system does not let us keep them awake (on Linux an administrator may): times hold what they take \
                 to wake, which may differ from one run to the next"
            }
        };
        let pinned = match self.pinned {
            true => "each process stayed on one core",
            false => "the system moved processes from core to core, which the simulator does not",
        };
        format!("{awake}; {pinned}")
    }
}

/// The costs with which simulated runs come closest to the measurements.
fn find(
    start: HostModel,
    (cases, length): (&[Case], Length),
    measured: &[Figures],
    jobs: Option<NonZeroUsize>,
) -> Result<Fit, Failure> {
    let mut progress = Progress::new("fitting");
    let mut asked = 0;
    fit(start.costs, |candidates| {
        asked += candidates.len() as u64;
        progress.at(asked, EXPECTED_CANDIDATES.max(asked));
        let predicted = predict((cases, length), start, candidates, jobs)?;
        let errors = |figures: Vec<Figures>| {
            figures.iter().zip(measured).flat_map(|(found, measured)| found.errors(measured)).collect()
        };
        Ok(predicted.into_iter().map(errors).collect())
    })
}

/// The approximate number of sets of costs that a fit tries.
const EXPECTED_CANDIDATES: u64 = 80;

/// Simulates these cases with each of these sets of costs.
fn predict(
    (cases, length): (&[Case], Length),
    model: HostModel,
    candidates: &[Costs],
    jobs: Option<NonZeroUsize>,
) -> Result<Vec<Vec<Figures>>, Failure> {
    let runs: Vec<Federation> = candidates
        .iter()
        .flat_map(|costs| {
            cases.iter().map(|case| case.federation(HostModel { costs: *costs, ..model }, length))
        })
        .collect();
    let mut figures = each_in_parallel(jobs, &runs, |federation| {
        let report = simulate(federation, |_| ())?;
        if interrupt::is_stopped() {
            return Err(Failure::interrupted());
        }
        Figures::of(&report).ok_or_else(|| Failure::bad_news("a run without a task"))
    })?
    .into_iter();
    Ok(candidates.iter().map(|_| figures.by_ref().take(cases.len()).collect()).collect())
}

/// The measurement and the prediction of a case.
struct Line {
    case: Case,
    known: bool,
    measured: f64,
    /// The median of all rounds, beside the best.
    middle: f64,
    predicted: f64,
    /// Processor time per update, in µs, of the initiating federate, the others, and each node:
    /// measured and predicted.
    cpu_us: [Vec<f64>; 2],
}

impl Line {
    fn new(
        case: Case,
        known: bool,
        (measured, rounds): (&Figures, &[Figures]),
        predicted: &Figures,
    ) -> Option<Self> {
        let of = |figures: &Figures| figures.p50_us.or(figures.per_s);
        let middle = median(rounds.iter().filter_map(of).collect())?;
        let cpu_us = [measured, predicted].map(|figures| figures.cpu_us.clone());
        Some(Self { case, known, measured: of(measured)?, middle, predicted: of(predicted)?, cpu_us })
    }

    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    fn unit(&self) -> &'static str {
        if self.case.subscribers().is_none() { "p50_us" } else { "reflects_per_s" }
    }

    fn row(&self) -> Value {
        json!({
            "kind": if self.known { "fitted" } else { "predicted" },
            "nodes": self.case.nodes,
            "size_bytes": self.case.size_bytes,
            "subscribers": self.case.subscribers(),
            "multicast": self.case.is_multicast(),
            "by_node": self.case.is_by_node(),
            "what": self.unit(),
            "measured": self.measured,
            "measured_median": self.middle,
            "simulated": self.predicted,
            "error_ratio": self.error(),
            "error_to_median_ratio": self.predicted / self.middle - 1.0,
            "measured_cpu_us": self.cpu_us[0],
            "simulated_cpu_us": self.cpu_us[1],
        })
    }
}

fn table(lines: &[Line]) -> String {
    let mut table =
        Table::new(["", "nodes", "run", "figure", "best", "median", "simulated", "error %", "of median %"]);
    for line in lines {
        table.line([
            if line.known { "fitted" } else { "predicted" }.to_owned(),
            line.case.nodes.to_string(),
            line.case.name(),
            line.unit().to_owned(),
            figure(line.measured),
            figure(line.middle),
            figure(line.predicted),
            format!("{:+.1}", 100.0 * line.error()),
            format!("{:+.1}", 100.0 * (line.predicted / line.middle - 1.0)),
        ]);
    }
    table.text()
}

/// Writes the host model, if that is wanted. Returns its text.
fn write_hosts(args: &Args, model: &HostModel) -> Result<String, Failure> {
    let text = hosts::text(model);
    if let Some(path) = &args.hosts {
        let head = "# Costs of steps on one computer, as `meshrti sim calibrate` measured them.\n";
        std::fs::write(path, format!("{head}{text}")).map_err(|error| {
            Failure::bad_news(format_args!("{}: the host model cannot be written: {error}", path.display()))
        })?;
    }
    Ok(text)
}

/// The median error of predictions to the median rounds.
fn error_to_medians(lines: &[Line]) -> f64 {
    let predicted = lines.iter().filter(|line| !line.known);
    median(predicted.map(|line| (line.predicted / line.middle - 1.0).abs()).collect()).unwrap_or(0.0)
}

/// The median and the greatest error of these lines.
fn median_and_worst<'a>(lines: impl Iterator<Item = &'a Line>) -> (f64, f64) {
    let errors: Vec<f64> = lines.map(|line| line.error().abs()).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    (median(errors).unwrap_or(0.0), worst)
}

/// Prints and writes the results. Bad news if the predictions are not good.
fn tell(
    args: &Args,
    model: &HostModel,
    fit: &Fit,
    lines: &[Line],
    (rounds, conditions): (u8, Conditions),
) -> Outcome {
    let (middle, worst) = median_and_worst(lines.iter().filter(|line| !line.known));
    let of_medians = error_to_medians(lines);
    let good = middle < MEDIAN_MAX && worst < WORST_MAX;
    let text = write_hosts(args, model)?;
    let mut notes = vec![
        conditions.note(),
        format!(
            "costs were fitted to runs with 1 to 3 nodes: error {:.1} % (root of the mean square), {} steps, the best of {rounds} rounds",
            100.0 * fit.rms,
            fit.steps
        ),
        format!(
            "predictions: error {:.1} % (median), {:.1} % (worst), to the best round of each; {:.1} % (median) to \
             the median round: {}",
            100.0 * middle,
            100.0 * worst,
            100.0 * of_medians,
            if good {
                "the model holds on this machine"
            } else {
                "more than 10 % or 20 %: the model does not hold, or the machine had other work"
            }
        ),
    ];
    let mut report = Report::new("sim calibrate", 1);
    if let Some(network) = conditions.network {
        let (middle, worst) = median_and_worst(lines.iter().filter(|line| line.case.is_by_node()));
        notes.push(network.note());
        notes.push(format!(
            "predictions of nodes on computers of their own, by node: error {:.1} % (median), {:.1} % (worst), to the best round of each",
            100.0 * middle,
            100.0 * worst
        ));
    }
    lines.iter().for_each(|line| report.row(line.row()));
    let costs: serde_json::Map<String, Value> = Costs::NAMES
        .into_iter()
        .zip(model.costs.to_array())
        .map(|(name, cost)| (name.to_owned(), json!(cost)))
        .collect();
    report.summary(json!({
        "cores": model.cores,
        "cores_awake": conditions.awake,
        "processes_pinned": conditions.pinned,
        "costs": costs,
        "fit_rms_ratio": fit.rms,
        "median_error_ratio": middle,
        "worst_error_ratio": worst,
        "median_error_to_medians_ratio": of_medians,
    }));
    notes.iter().for_each(|note| report.note(note.clone()));
    if !args.json.takes_stdout() {
        say(table(lines));
        say("");
        say(text);
        notes.iter().for_each(say);
    }
    args.json.write(&report)?;
    Ok(if good { Status::Done } else { Status::BadNews })
}

#[cfg(test)]
mod tests {
    use super::super::cases::{flood, site, trips};
    use super::*;

    /// The fit recovers the costs of a model from its own runs: the loop of the command, with short
    /// simulated runs in place of measurements.
    #[test]
    fn costs_of_simulated_measurements_are_found_again() {
        const SHORT: Length = Length { trips: (10, 2), updates: 6_000, paced: 50 };
        let known = [
            trips(1, 16),
            trips(1, 4_096),
            trips(2, 16),
            flood(1, 16, 1),
            flood(2, 64, 1),
            flood(1, 64, 3),
            site(3, 64),
        ];
        let truth = Costs::from_array(HostModel::EXAMPLE.costs.to_array().map(|cost| cost * 1.7));
        let of = |cases: &[Case], costs| {
            predict((cases, SHORT), HostModel::EXAMPLE, &[costs], None).unwrap().remove(0)
        };
        let fit = find(HostModel::EXAMPLE, (&known, SHORT), &of(&known, truth), None).unwrap();
        assert!(fit.rms < 0.03, "{fit:?}");
        let unknown = [trips(4, 1_024), flood(3, 256, 2), site(5, 250)];
        for (found, wanted) in of(&unknown, fit.costs).iter().zip(of(&unknown, truth)) {
            let figures = [(found.p50_us, wanted.p50_us), (found.per_s, wanted.per_s)];
            for (found, wanted) in figures.into_iter().filter_map(|(found, wanted)| found.zip(wanted)) {
                assert!((found / wanted - 1.0).abs() < 0.05, "{found} {wanted} {fit:?}");
            }
        }
    }
}
