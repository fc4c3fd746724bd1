//! A flood: one federate updates as fast as it can, another one counts the reflects.

use std::time::Instant;

use federate::Callback;

use crate::error::BenchError;
use crate::floor::Floor;
use crate::member::{Member, received, stalled};
use crate::process::Launcher;
use crate::process::{PATIENCE, Process};
use crate::role;
use crate::server::{Server, federation_name};
use crate::usage;
use crate::wire::message_bytes;
use workload::share;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Payloads, in bytes.
    pub sizes: Vec<usize>,
    /// Number of updates of each size.
    pub updates: u64,
    /// Number of slices of the updates of each size; the floor has its turn between two of them.
    pub slices: u64,
}

/// A flood of one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Throughput {
    /// Payload, in bytes.
    pub size_bytes: usize,
    /// Number of updates sent, without the warm-up.
    pub sent: u64,
    /// Number of reflects received; equal to `sent`, otherwise there is an error.
    pub received: u64,
    /// Reflects per second, from the first to the last one of a slice.
    pub received_per_s: f64,
    /// Messages of the same length per second through the relay.
    pub floor_per_s: f64,
    /// Processor time per update, in seconds: of the server if the benchmark started it, of the
    /// publisher and of the subscriber.
    pub cpu_s: [Option<f64>; 3],
    /// The same for the busiest process among all nodes of the server, publisher and subscriber.
    /// With a core for each of them, no flood is faster than one update in that time.
    pub busiest_cpu_s: Option<f64>,
}

impl Throughput {
    /// The share of the floor's rate that the server reaches.
    pub fn ratio(&self) -> f64 {
        self.received_per_s / self.floor_per_s
    }
}

/// Runs the plan. `progress` gets the number of finished updates and their total.
///
/// # Errors
/// The server or the system fails or refuses a request; an update was lost, duplicated or refused.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Throughput>, BenchError> {
    let mut floor = Floor::start(launcher, server.links(), &[]).await?;
    let federation = federation_name("throughput");
    let mut subscriber = Member::create(server.address(), server.edition(), &federation).await?;
    subscriber.want(subscriber.ping).await?;
    let (mut publisher, _) = launcher.start(&role::publisher(server.far_address(), &federation)).await?;
    subscriber.await_object(subscriber.ping).await?;
    let slices = plan.slices.clamp(1, plan.updates.max(1));
    let all = plan.updates * plan.sizes.len() as u64;
    let mut done = 0;
    let mut results = Vec::new();
    for &size_bytes in &plan.sizes {
        let (mut seconds, mut floor_seconds) = (0.0, 0.0);
        flood(&mut subscriber, &mut publisher, size_bytes, share(plan.updates, slices, 0) / 10 + 1).await?;
        let mut spent: Option<Clocks> = None;
        for slice in 0..slices {
            let count = share(plan.updates, slices, slice);
            floor_seconds += floor.flood(message_bytes(size_bytes), count).await?.as_secs_f64();
            let before = Clocks::read(server, &publisher);
            seconds += flood(&mut subscriber, &mut publisher, size_bytes, count).await?;
            let slice = Clocks::read(server, &publisher).since(&before);
            spent = Some(spent.map_or_else(|| slice.clone(), |spent| spent.and(&slice)));
            done += count;
            progress(done, all);
        }
        let each = spent.unwrap_or_default().over(plan.updates as f64);
        results.push(Throughput {
            size_bytes,
            sent: plan.updates,
            received: plan.updates,
            received_per_s: plan.updates as f64 / seconds,
            floor_per_s: plan.updates as f64 / floor_seconds,
            cpu_s: [each.server(), each.publisher, each.subscriber],
            busiest_cpu_s: each.busiest(),
        });
    }
    drop(publisher);
    subscriber.leave(&federation).await?;
    Ok(results)
}

/// Processor times in seconds, where the system reports them.
#[derive(Clone, PartialEq, Default, Debug)]
struct Clocks {
    /// Times of the nodes, if the benchmark started the server.
    nodes: Vec<Option<f64>>,
    publisher: Option<f64>,
    subscriber: Option<f64>,
}

impl Clocks {
    /// Times used so far; the subscriber is this process.
    fn read(server: &Server, publisher: &Process) -> Self {
        Self {
            nodes: server.cpu_s_of_nodes().collect(),
            publisher: usage::cpu_s(publisher.id()),
            subscriber: usage::cpu_s(std::process::id()),
        }
    }

    fn zip(&self, other: &Self, with: impl Fn(f64, f64) -> f64) -> Self {
        let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| with(a, b));
        Self {
            nodes: self.nodes.iter().zip(&other.nodes).map(|(a, b)| both(*a, *b)).collect(),
            publisher: both(self.publisher, other.publisher),
            subscriber: both(self.subscriber, other.subscriber),
        }
    }

    fn since(&self, before: &Self) -> Self {
        self.zip(before, |after, before| after - before)
    }

    fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    /// Times per update, for this many updates.
    fn over(&self, updates: f64) -> Self {
        self.zip(self, |time, _| time / updates)
    }

    /// Time of all nodes together.
    fn server(&self) -> Option<f64> {
        if self.nodes.is_empty() { None } else { self.nodes.iter().copied().sum() }
    }

    fn busiest(&self) -> Option<f64> {
        let all = self.nodes.iter().copied().chain([self.publisher, self.subscriber]);
        all.flatten().max_by(f64::total_cmp)
    }
}

/// Makes the publisher send `count` updates, and counts them. Returns the seconds from the first to
/// the last one.
pub(crate) async fn flood(
    subscriber: &mut Member,
    publisher: &mut Process,
    size: usize,
    count: u64,
) -> Result<f64, BenchError> {
    publisher.send_line(&format!("flood {size} {count}")).await?;
    let counted = tokio::time::timeout(PATIENCE, count_reflects(subscriber, count)).await;
    let words = publisher.hear("sent").await?;
    let failed = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let (received, begun, ended) = counted.map_err(|_| stalled("reflects"))??;
    // A reflect beyond the last update would be one that nobody sent.
    let surplus = std::iter::from_fn(|| subscriber.callbacks.try_recv()).filter(is_reflect).count() as u64;
    if received + surplus != count || failed != 0 {
        return Err(BenchError::Lossy { sent: count, received: received + surplus, failed });
    }
    Ok((ended - begun).as_secs_f64())
}

async fn count_reflects(subscriber: &mut Member, count: u64) -> Result<(u64, Instant, Instant), BenchError> {
    let mut received_count = 0;
    let mut begun = None;
    while received_count < count {
        let callback = received(subscriber.callbacks.recv().await)?;
        if is_reflect(&callback) {
            begun.get_or_insert_with(Instant::now);
            received_count += 1;
        }
    }
    let ended = Instant::now();
    Ok((received_count, begun.unwrap_or(ended), ended))
}

fn is_reflect(callback: &Callback) -> bool {
    matches!(callback, Callback::ReflectAttributeValues(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(nodes: &[f64], publisher: f64) -> Clocks {
        Clocks {
            nodes: nodes.iter().copied().map(Some).collect(),
            publisher: Some(publisher),
            subscriber: None,
        }
    }

    #[test]
    fn the_busiest_is_one_process_and_the_server_all_of_its_nodes() {
        let spent = clocks(&[5.0, 9.0], 4.0).since(&clocks(&[1.0, 3.0], 1.0));
        let each = spent.and(&spent).over(2.0);
        assert_eq!(each, clocks(&[4.0, 6.0], 3.0));
        assert_eq!((each.server(), each.busiest()), (Some(10.0), Some(6.0)));
        let elsewhere = clocks(&[], 3.0);
        assert_eq!((elsewhere.server(), elsewhere.busiest()), (None, Some(3.0)));
    }
}
