//! The measurements of `calibrate`: rounds of live runs, retries, and whether the machine is quiet
//! enough for them.

use base::stats::median;
use bench::federation::measure;
use bench::namespaces::Namespace;
use hostsim::HostModel;
use hostsim::fit::Figures;

use super::cases::{Case, KNOWN, LIVE};
use super::plan::live_plan;
use crate::bench::{failure, launcher};
use console::exit::Failure;
use console::progress::Progress;

/// Attempts at a run: other work of the machine may silence one for so long that it is given up.
const ATTEMPTS: u32 = 3;
/// Short runs before the measurements, and the spread from which on they mean nothing: the median
/// may be so much above the least.
const NOISE_RUNS: usize = 7;
const NOISE_MAX: f64 = 0.15;

/// One run, once more if it fails. Nodes on computers of their own are in `namespaces`.
async fn one(case: &Case, namespaces: &[Namespace]) -> Result<Figures, Failure> {
    let launcher = launcher()?;
    let namespaces = if case.is_by_node() { namespaces } else { &[] };
    let federation = case.federation(HostModel::EXAMPLE, LIVE);
    let plan = live_plan(&federation, namespaces).map_err(Failure::bad_news)?;
    let mut attempt = 1;
    loop {
        match Box::pin(measure(&launcher, &plan)).await {
            Ok(measured) => return Ok(case.figures(&measured)),
            Err(error) if attempt >= ATTEMPTS => {
                return Err(failure(error).hint(format!("{ATTEMPTS} attempts failed")));
            }
            Err(_) => attempt += 1,
        }
    }
}

/// Measures the same case several times.
///
/// # Errors
/// The times differ so much that costs fitted to such times would mean nothing, and `noisy` does
/// not say to go on.
pub(super) async fn check_noise(noisy: bool) -> Result<(), Failure> {
    let mut progress = Progress::new("listening");
    let mut times = Vec::new();
    for run in 0..NOISE_RUNS {
        progress.at(run as u64, NOISE_RUNS as u64);
        times.extend(one(&KNOWN[0], &[]).await?.p50_us);
    }
    let spread = spread(&times);
    if spread <= NOISE_MAX || noisy {
        return Ok(());
    }
    Err(Failure::bad_news(format_args!(
        "too noisy to calibrate: of {NOISE_RUNS} equal runs the median took {:.0} % longer than the quickest; at most {:.0} % is \
         quiet enough",
        100.0 * spread,
        100.0 * NOISE_MAX
    ))
    .hint("end other work on this machine, or measure all the same with --noisy"))
}

/// How much the median is above the least.
fn spread(times: &[f64]) -> f64 {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    median(times.to_vec()).map_or(0.0, |middle| middle / least - 1.0)
}

/// Measures all cases in turn, `rounds` times, so that other work of the machine affects all of
/// them alike. Returns all rounds of each. Nodes on computers of their own are in `namespaces`.
pub(super) async fn measure_all(
    cases: &[Case],
    rounds: u8,
    namespaces: &[Namespace],
) -> Result<Vec<Vec<Figures>>, Failure> {
    let mut progress = Progress::new("measuring");
    let mut found: Vec<Vec<Figures>> = vec![Vec::new(); cases.len()];
    let all = cases.len() as u64 * u64::from(rounds);
    for round in 0..u64::from(rounds) {
        for (at, case) in cases.iter().enumerate() {
            progress.at(round * cases.len() as u64 + at as u64, all);
            found[at].push(one(case, namespaces).await?);
        }
    }
    Ok(found)
}

/// The figures of the least disturbed round, chosen for each figure by itself. Other work on the
/// machine, or on the host of a virtual one, makes runs slower, and nothing makes them faster.
pub(super) fn least_disturbed(rounds: &[Figures]) -> Figures {
    let of = |pick: &dyn Fn(&Figures) -> Option<f64>| rounds.iter().filter_map(pick).min_by(f64::total_cmp);
    let processes = rounds.iter().map(|figures| figures.cpu_us.len()).max().unwrap_or(0);
    Figures {
        p50_us: of(&|figures| figures.p50_us),
        per_s: rounds.iter().filter_map(|figures| figures.per_s).max_by(f64::total_cmp),
        cpu_us: (0..processes)
            .map(|process| of(&|figures| figures.cpu_us.get(process).copied()).unwrap_or(0.0))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_is_that_of_its_best_round() {
        let figures = |per_s, cpu| Figures { p50_us: None, per_s: Some(per_s), cpu_us: vec![cpu, 1.0] };
        let all = [figures(3.0, 9.0), figures(1.0, 7.0), figures(2.0, 8.0)];
        assert_eq!(least_disturbed(&all), Figures { p50_us: None, per_s: Some(3.0), cpu_us: vec![7.0, 1.0] });
    }

    #[test]
    fn one_slow_run_is_no_noise_and_a_slow_half_is() {
        assert!(spread(&[100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 900.0]) < NOISE_MAX);
        assert!(spread(&[100.0, 101.0, 102.0, 130.0, 130.0, 140.0, 150.0]) > NOISE_MAX);
    }
}
