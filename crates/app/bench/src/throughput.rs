//! A flood: one federate updates as fast as it can, one counts what is reflected to it.

use std::time::Instant;

use federate::Callback;

use crate::floor::Floor;
use crate::latency::share;
use crate::member::{Member, received, stalled};
use crate::process::{PATIENCE, Process};
use crate::server::{Server, federation_name};
use crate::wire::message_bytes;
use crate::{BenchError, Launcher, role, usage};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Payloads, in bytes.
    pub sizes: Vec<usize>,
    /// Updates of each size.
    pub updates: u64,
    /// Slices that the updates of each size are cut into; between two of them the floor has its turn.
    pub slices: u64,
}

/// A flood of one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Throughput {
    /// Payload, in bytes.
    pub size_bytes: usize,
    /// Updates sent, warm-up not included.
    pub sent: u64,
    /// Reflects received; equal to `sent`, else there is an error.
    pub received: u64,
    /// Reflects per second, from the first to the last of a slice.
    pub received_per_s: f64,
    /// Messages of the same length per second through the relay.
    pub floor_per_s: f64,
    /// Processor time per update, in seconds, of the server if it is ours, the publisher and the subscriber.
    pub cpu_s: [Option<f64>; 3],
}

impl Throughput {
    /// The part of the floor's rate that the server reaches.
    pub fn ratio(&self) -> f64 {
        self.received_per_s / self.floor_per_s
    }
}

/// Measures as planned. `progress` is told how many updates of how many are done.
///
/// # Errors
/// The server or the system does not what is asked of it; an update was lost, doubled or refused.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Throughput>, BenchError> {
    let mut floor = Floor::start(launcher, server.links()).await?;
    let federation = federation_name("throughput");
    let mut subscriber = Member::create(server.address(), &federation).await?;
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
        let mut cpu_s = [Some(0.0); 3];
        for slice in 0..slices {
            let count = share(plan.updates, slices, slice);
            floor_seconds += floor.flood(message_bytes(size_bytes), count).await?.as_secs_f64();
            let before = clocks(server, &publisher);
            seconds += flood(&mut subscriber, &mut publisher, size_bytes, count).await?;
            for (sum, (after, before)) in
                cpu_s.iter_mut().zip(clocks(server, &publisher).into_iter().zip(before))
            {
                *sum = sum.zip(after.zip(before)).map(|(sum, (after, before))| sum + after - before);
            }
            done += count;
            progress(done, all);
        }
        results.push(Throughput {
            size_bytes,
            sent: plan.updates,
            received: plan.updates,
            received_per_s: plan.updates as f64 / seconds,
            floor_per_s: plan.updates as f64 / floor_seconds,
            cpu_s: cpu_s.map(|sum| sum.map(|sum| sum / plan.updates as f64)),
        });
    }
    drop(publisher);
    subscriber.leave(&federation).await?;
    Ok(results)
}

/// Processor time used so far by the server, the publisher, and the subscriber, which is this process.
fn clocks(server: &Server, publisher: &Process) -> [Option<f64>; 3] {
    [server.cpu_s(), usage::cpu_s(publisher.id()), usage::cpu_s(std::process::id())]
}

/// Has `count` updates sent and counts them: the seconds from the first to the last.
async fn flood(
    subscriber: &mut Member,
    publisher: &mut Process,
    size: usize,
    count: u64,
) -> Result<f64, BenchError> {
    publisher.tell(&format!("flood {size} {count}")).await?;
    let counted = tokio::time::timeout(PATIENCE, count_reflects(subscriber, count)).await;
    let words = publisher.hear("sent").await?;
    let failed = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let (received, begun, ended) = counted.map_err(|_| stalled("reflects"))??;
    // Anything beyond the last update would be one that nobody sent.
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
