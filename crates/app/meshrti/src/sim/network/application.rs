//! The results of programs: a table, notes, and values for a report.

use netmodel::application::{ApplicationResults, Waiting};
use serde_json::{Value, json};

use console::table::{Table, figure};

fn three(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The results for a report.
pub(super) fn values(results: &ApplicationResults) -> Value {
    let program = |program: &netmodel::application::ProgramResults| {
        let (summary, histogram) = (&program.iteration.summary, &program.iteration.histogram);
        let quantile = |share| three(histogram.quantile(share) * 1e-6);
        json!({
            "program": program.name,
            "hosts": program.hosts,
            "iterations": summary.count(),
            "mean_us": three(summary.mean_us()),
            "std_us": three(summary.std_us()),
            "min_us": summary.min().map(|time| three(time.as_micros())),
            "p50_us": quantile(0.5),
            "p99_us": quantile(0.99),
            "max_us": summary.max().map(|time| three(time.as_micros())),
            "compute_ratio": (program.compute_share() * 1e6).round() / 1e6,
            "communication_ratio": ((1.0 - program.compute_share()) * 1e6).round() / 1e6,
        })
    };
    json!({
        "total_s": results.total.as_secs(),
        "iterations_ended": results.iterations.0,
        "iterations": results.iterations.1,
        "programs": results.programs.iter().map(program).collect::<Vec<_>>(),
        "stalled": results.stalled.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Times of iterations by program.
pub(super) fn table(results: &ApplicationResults) -> String {
    let mut table = Table::new([
        "program",
        "hosts",
        "iterations",
        "mean µs",
        "std",
        "min",
        "p50",
        "p99",
        "max",
        "compute %",
        "communication %",
    ]);
    for program in &results.programs {
        let (summary, histogram) = (&program.iteration.summary, &program.iteration.histogram);
        let micros = |time: Option<netmodel::units::Picos>| {
            time.map_or_else(|| "-".to_owned(), |time| figure(time.as_micros()))
        };
        let any = summary.count() > 0;
        let share = |share: f64| if any { format!("{:.1}", 100.0 * share) } else { "-".to_owned() };
        table.line([
            program.name.clone(),
            program.hosts.to_string(),
            summary.count().to_string(),
            figure(summary.mean_us()),
            figure(summary.std_us()),
            micros(summary.min()),
            figure(histogram.quantile(0.5) * 1e-6),
            figure(histogram.quantile(0.99) * 1e-6),
            micros(summary.max()),
            share(program.compute_share()),
            share(1.0 - program.compute_share()),
        ]);
    }
    table.text()
}

/// A note on the whole run.
pub(super) fn note(results: &ApplicationResults, digest: &str) -> String {
    let (ended, all) = results.iterations;
    let part =
        if ended == all { String::new() } else { format!("; {ended} of {all} iterations of hosts ended") };
    format!("the programs took {:.6} s in all{part}; digest {digest}", results.total.as_secs())
}

/// A note on programs that wait for ever.
pub(super) fn stalled_note(results: &ApplicationResults) -> Option<String> {
    let chain = &results.stalled;
    let lost = results.lost.map_or_else(String::new, |(sender, receiver, at)| {
        format!("the first message lost was one of host {sender} to host {receiver}, at {at}; ")
    });
    (!chain.is_empty()).then(|| {
        format!(
            "the programs stalled: {lost}{}. Nothing is sent again: programs need links without loss, and room or back-pressure",
            Waiting::chain(chain)
        )
    })
}
