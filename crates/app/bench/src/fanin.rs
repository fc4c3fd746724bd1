//! Updates of many publishers to one subscriber, against as many updates of one publisher.
//!
//! In both cases the subscriber gets the same number of reflects. The difference is the cost of
//! taking them from many sessions. The rates of the publishers show how evenly the server serves them
//! while all of them send as fast as they can.

use std::time::Instant;

use crate::error::BenchError;
use crate::member::Member;
use crate::process::{Launcher, Process};
use crate::role;
use crate::server::{Server, federation_name};
use crate::share::share;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Payload, in bytes.
    pub size: usize,
    /// Publishing federates, each in a process of its own.
    pub publishers: usize,
    /// Number of updates of all of them together.
    pub updates: u64,
    /// Number of slices of the updates; many publishers and one take turns.
    pub slices: u64,
}

/// Updates of many publishers, beside those of one.
#[derive(Clone, PartialEq, Debug)]
pub struct FanIn {
    /// Payload, in bytes.
    pub size_bytes: usize,
    /// Publishing federates.
    pub publishers: usize,
    /// Number of updates of all of them.
    pub updates: u64,
    /// Updates per second of all publishers together, and of one that sends as many.
    pub per_s: [f64; 2],
    /// The same two in processor time of the server for an update, in seconds, if this benchmark
    /// started it.
    pub server_cpu_s: [Option<f64>; 2],
    /// Updates per second of each publisher while all of them send, rising.
    pub of_each_per_s: Vec<f64>,
}

impl FanIn {
    /// The rate of all publishers, relative to that of one alone.
    pub fn ratio(&self) -> f64 {
        self.per_s[0] / self.per_s[1]
    }

    /// The same ratio in processor time of the server.
    pub fn server_cpu_ratio(&self) -> Option<f64> {
        let [many, one] = self.server_cpu_s;
        many.zip(one).filter(|(_, one)| *one > 0.0).map(|(many, one)| many / one)
    }

    /// Jain's fairness index of the publishers' rates: 1 if all are equal, 1 / n if one has
    /// everything (Jain, Chiu and Hawe, 1984).
    pub fn fairness(&self) -> f64 {
        let sum: f64 = self.of_each_per_s.iter().sum();
        let squares: f64 = self.of_each_per_s.iter().map(|rate| rate * rate).sum();
        sum * sum / (self.of_each_per_s.len() as f64 * squares)
    }
}

/// Runs the plan. `progress` gets the number of finished slices and their total.
///
/// # Errors
/// The server or the system fails or refuses a request; an update was lost or duplicated.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<FanIn, BenchError> {
    // The federates of another number of publishers may still be leaving.
    let federation = federation_name(&format!("fan-in of {}", plan.publishers));
    let creator = Member::create(server.address(), server.edition(), &federation).await?;
    let (mut sink, _) = launcher.start(&role::sinks(server.far_address(), &federation, 1)).await?;
    let mut publishers = Vec::with_capacity(plan.publishers);
    for _ in 0..plan.publishers {
        publishers.push(launcher.start(&role::publisher(server.address(), &federation)).await?.0);
    }
    let slices = plan.slices.clamp(1, plan.updates.max(1));
    let mut sums = [(0.0, Some(0.0)); 2];
    let mut seconds_of_each = vec![0.0; publishers.len()];
    let mut sent_by_each = vec![0; publishers.len()];
    for slice in 0..=slices {
        let warm_up = slice == 0;
        let updates =
            if warm_up { plan.updates.div_ceil(10) } else { share(plan.updates, slices, slice - 1) };
        for (many, (seconds, cpu_s)) in [true, false].into_iter().zip(&mut sums) {
            let senders = if many { &mut publishers[..] } else { &mut publishers[..1] };
            let cpu_before = server.cpu_s();
            let flood = send(senders, &mut sink, plan.size, updates).await?;
            if warm_up {
                continue;
            }
            *seconds += flood.seconds;
            *cpu_s =
                cpu_s.zip(server.cpu_s().zip(cpu_before)).map(|(sum, (after, before))| sum + after - before);
            if many {
                for (at, (count, seconds)) in flood.of_each.into_iter().enumerate() {
                    sent_by_each[at] += count;
                    seconds_of_each[at] += seconds;
                }
            }
        }
        progress(slice, slices);
    }
    drop((sink, publishers));
    creator.leave(&federation).await?;
    let updates = plan.updates as f64;
    let mut of_each_per_s: Vec<f64> =
        sent_by_each.iter().zip(&seconds_of_each).map(|(count, seconds)| *count as f64 / seconds).collect();
    of_each_per_s.sort_by(f64::total_cmp);
    Ok(FanIn {
        size_bytes: plan.size,
        publishers: plan.publishers,
        updates: plan.updates,
        per_s: sums.map(|(seconds, _)| updates / seconds),
        server_cpu_s: sums.map(|(_, cpu_s)| cpu_s.map(|cpu_s| cpu_s / updates)),
        of_each_per_s,
    })
}

/// A flood of several publishers.
struct Flood {
    /// From the first update to the last reflect.
    seconds: f64,
    /// Updates of each publisher, and the seconds until the server had taken them.
    of_each: Vec<(u64, f64)>,
}

/// Lets all publishers send their part of so many updates, and waits until the subscriber has them.
async fn send(
    publishers: &mut [Process],
    sink: &mut Process,
    size: usize,
    updates: u64,
) -> Result<Flood, BenchError> {
    sink.send_line(&format!("expect {updates}")).await?;
    let parts = publishers.len() as u64;
    let begun = Instant::now();
    for (index, publisher) in (0..).zip(publishers.iter_mut()) {
        publisher.send_line(&format!("flood {size} {}", share(updates, parts, index))).await?;
    }
    let received = sink.hear_number("got").await?;
    let seconds = begun.elapsed().as_secs_f64();
    let (mut of_each, mut failed) = (Vec::new(), 0);
    for (index, publisher) in (0..).zip(publishers) {
        let said = publisher.hear("sent").await?;
        let number = |at: usize| said.get(at).and_then(|word| word.parse::<f64>().ok());
        failed += number(1).unwrap_or(0.0) as u64;
        let taken = number(2).ok_or_else(|| BenchError::Unusable("a publisher says no time".to_owned()))?;
        of_each.push((share(updates, parts, index), taken));
    }
    if received != updates || failed > 0 {
        return Err(BenchError::Lossy { sent: updates, received, failed });
    }
    Ok(Flood { seconds, of_each })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_where_all_are_equal() {
        let fan_in = |of_each_per_s: Vec<f64>| FanIn {
            size_bytes: 100,
            publishers: of_each_per_s.len(),
            updates: 10,
            per_s: [50.0, 100.0],
            server_cpu_s: [Some(3.0), Some(2.0)],
            of_each_per_s,
        };
        assert!((fan_in(vec![5.0; 4]).fairness() - 1.0).abs() < 1e-9);
        assert!((fan_in(vec![0.0, 0.0, 0.0, 8.0]).fairness() - 0.25).abs() < 1e-9);
        assert!((fan_in(vec![1.0]).ratio() - 0.5).abs() < 1e-9);
        assert_eq!(fan_in(vec![1.0]).server_cpu_ratio(), Some(1.5));
    }
}
