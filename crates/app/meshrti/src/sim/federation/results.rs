//! Results of runs of a federation, as a table, rows and notes.

use hostsim::{Done, Federation, Placement, Report, Task, Work, quantile_us};
use serde_json::{Value, json};

use super::of_all::{self, OfAll};
use console::size;
use console::table::{Table, figure, or_dash};

/// The utilisation from which a process or a computer counts as full.
const FULL: f64 = 0.98;

/// A task over all runs.
struct Pooled {
    work: Work,
    /// The times in ascending order, in nanoseconds.
    times_ns: Vec<u64>,
    per_s: f64,
    /// The number of times without losses.
    expected: u64,
}

fn pooled(task: usize, runs: &[Report]) -> Option<Pooled> {
    let of = || runs.iter().map(|run| &run.done[task]);
    let work = of().next()?.work.clone();
    let mut times_ns: Vec<u64> = of().flat_map(|done| done.times_ns.iter().copied()).collect();
    times_ns.sort_unstable();
    let per_s = of().map(Done::per_s).sum::<f64>() / runs.len() as f64;
    let expected = of().map(|done| done.expected).sum();
    Some(Pooled { work, times_ns, per_s, expected })
}

impl Pooled {
    fn quantile_us(&self, share: f64) -> Option<f64> {
        quantile_us(&self.times_ns, share)
    }

    fn mean_us(&self) -> Option<f64> {
        let sum: u128 = self.times_ns.iter().map(|time| u128::from(*time)).sum();
        (!self.times_ns.is_empty()).then(|| sum as f64 / 1e3 / self.times_ns.len() as f64)
    }
}

/// The number of subscribers of a task. `None` for round trips.
fn subscribers(work: &Work) -> Option<u32> {
    match work.task {
        Task::RoundTrips { .. } => None,
        task => Some(task.subscribers()),
    }
}

/// The payload of each update in bytes. `None` for entities and recordings, whose updates have different
/// sizes.
pub(super) fn size_bytes(work: &Work) -> Option<u32> {
    (!matches!(work.task, Task::Entities { .. } | Task::Replay { .. })).then_some(work.size_bytes)
}

/// The nodes of the receiving federates: a number, or a list.
fn places(work: &Work) -> Value {
    match work.to[..] {
        [node] => json!(node),
        ref nodes => json!(nodes),
    }
}

/// Formats numbers, with consecutive ones as a range: `1-3,7`.
fn ranges(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|before, after| before.checked_add(1) == Some(*after));
    let word = |run: &[u16]| match run {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(u16::to_string).collect(),
    };
    runs.map(word).collect::<Vec<_>>().join(",")
}

pub(super) fn rows(name: &str, federation: &Federation, runs: &[Report]) -> Vec<Value> {
    let all = (0..federation.work.len()).filter_map(|task| Some((task, pooled(task, runs)?)));
    let row = |(task, pooled): (usize, Pooled)| {
        json!({
            "scenario": name,
            "task": task + 1,
            "what": pooled.work.task.name(),
            "from": pooled.work.from,
            "to": places(&pooled.work),
            "size_bytes": size_bytes(&pooled.work),
            "subscribers": subscribers(&pooled.work),
            "samples": pooled.times_ns.len(),
            "expected": pooled.expected,
            "mean_us": pooled.mean_us(),
            "p50_us": pooled.quantile_us(0.5),
            "p90_us": pooled.quantile_us(0.9),
            "p99_us": pooled.quantile_us(0.99),
            "max_us": pooled.quantile_us(1.0),
            "reflects_per_s": pooled.per_s,
        })
    };
    all.map(row).collect()
}

pub(super) fn table(federation: &Federation, runs: &[Report]) -> String {
    let mut table = Table::new([
        "task",
        "from",
        "to",
        "payload",
        "subscribers",
        "samples",
        "mean µs",
        "p50",
        "p90",
        "p99",
        "max",
        "reflects/s",
    ]);
    for task in 0..federation.work.len() {
        let Some(pooled) = pooled(task, runs) else { continue };
        let quantile = |share| or_dash(pooled.quantile_us(share));
        table.line([
            pooled.work.task.name().to_owned(),
            pooled.work.from.to_string(),
            ranges(&pooled.work.to),
            size_bytes(&pooled.work).map_or_else(|| "-".to_owned(), |bytes| size::name(bytes as usize)),
            subscribers(&pooled.work).map_or_else(|| "-".to_owned(), |count| count.to_string()),
            figure(pooled.times_ns.len() as f64).trim_end_matches(".00").to_owned(),
            or_dash(pooled.mean_us()),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            quantile(1.0),
            figure(pooled.per_s),
        ]);
    }
    table.text()
}

/// A description of the simulation, and conclusions. Those about processors come from the first
/// run.
pub(super) fn notes(title: &str, federation: &Federation, runs: &[Report]) -> Vec<String> {
    let placement = match federation.placement {
        Placement::Together => "all processes on one computer",
        Placement::ByNode => "each node with its federates on a computer of its own",
        Placement::Apart => "each process on a computer of its own",
    };
    let mut notes = vec![
        title.to_owned(),
        format!(
            "{} nodes as a {}, {placement} of {} cores",
            federation.nodes,
            federation.joined.name(),
            federation.hosts.cores
        ),
    ];
    let Some(first) = runs.first() else { return notes };
    let spent = first.took.as_secs_f64() * 1e9;
    let share = |ns: f64| if spent > 0.0 { ns / spent } else { 0.0 };
    let nodes: Vec<f64> = first.nodes_ns.iter().map(|ns| share(*ns)).collect();
    if let Some((node, most)) = nodes.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)) {
        notes.push(format!("busiest node: {node}, at work for {:.1} % of the time", 100.0 * most));
    }
    let federates = first.done.iter().flat_map(|done| done.federates_ns.iter().copied()).map(share);
    let busiest = federates.fold(0.0, f64::max);
    notes.push(format!("busiest process of federates: at work for {:.1} % of the time", 100.0 * busiest));
    if federation.placement == Placement::Together {
        let all: f64 = nodes.iter().sum::<f64>()
            + first.done.iter().flat_map(|done| done.federates_ns.iter().copied()).map(share).sum::<f64>();
        let cores = all / f64::from(federation.hosts.cores);
        notes.push(format!("the computer: its cores were at work for {:.1} % of the time", 100.0 * cores));
        let paced = federation.work.iter().any(|work| work.task.is_scripted());
        if cores >= FULL && paced {
            notes.push(
                "warning: the computer is full: queues grow, and times say how long the run was".to_owned(),
            );
        }
    }
    for (task, pooled) in (0..federation.work.len()).filter_map(|task| Some((task + 1, pooled(task, runs)?)))
    {
        let lost = pooled.expected - pooled.times_ns.len() as u64;
        if lost > 0 {
            notes.push(format!("task {task}: {lost} of {} reflects did not come", pooled.expected));
        }
    }
    notes.push(format!("digest {}", first.digest));
    notes
}

/// Statistics over all tasks of the same kind and size, each over all runs.
pub(super) fn notes_of_all(federation: &Federation, runs: &[Report], discard_largest: usize) -> Vec<String> {
    let value = |task: usize| {
        let pooled = pooled(task, runs)?;
        if pooled.work.task.is_flood() { Some(pooled.per_s) } else { pooled.mean_us() }
    };
    let note = |group: &OfAll| {
        let [mean, std] = group.of(value)?;
        let (count, name, what) = (group.tasks.len(), group.name, group.what);
        let size = size::name(group.size_bytes as usize);
        Some(format!("all {count} {name} of {size}: {what} {} ± {}", figure(mean), figure(std)))
    };
    of_all::groups(&federation.work, discard_largest).iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn nodes_are_told_in_short() {
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[3, 2, 65_535, 0]), "3,2,65535,0");
    }
}
