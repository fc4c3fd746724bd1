//! One update to many subscribers, against as many updates to one subscriber.
//!
//! In both cases the subscribers' process gets the same number of reflects. The difference is the
//! cost of receiving an update, finding its subscribers, encoding it, and sending it out.

use std::time::Instant;

use crate::error::BenchError;
use crate::member::{Member, Payload, flood};
use crate::process::Launcher;
use crate::process::Process;
use crate::role;
use crate::server::{Server, federation_name};
use crate::share::share;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Payload, in bytes.
    pub size: usize,
    /// Subscribing federates, all in one process.
    pub subscribers: usize,
    /// Number of updates that go to all of them.
    pub updates: u64,
    /// Number of slices of the updates; fan-out and single sends take turns.
    pub slices: u64,
}

/// The cost of an update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fanout {
    /// Payload, in bytes.
    pub size_bytes: usize,
    /// Subscribing federates.
    pub subscribers: usize,
    /// Number of updates that went to all of them.
    pub updates: u64,
    /// Seconds for an update to reach every subscriber, in a flood.
    pub fanout_s: f64,
    /// Seconds for an update to reach the one subscriber, in a flood.
    pub single_s: f64,
    /// The same two values in processor time of the server, if this benchmark started it.
    pub server_cpu_s: Option<(f64, f64)>,
}

impl Fanout {
    /// Cost of an update to all subscribers, relative to as many single sends.
    pub fn ratio(&self) -> f64 {
        self.fanout_s / (self.single_s * self.subscribers as f64)
    }

    /// The same ratio in processor time of the server.
    pub fn server_cpu_ratio(&self) -> Option<f64> {
        self.server_cpu_s.map(|(fanout, single)| fanout / (single * self.subscribers as f64))
    }
}

/// Runs the plan. `progress` gets the number of finished updates and their total.
///
/// # Errors
/// The server or the system fails or refuses a request; an update was lost or duplicated.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Fanout, BenchError> {
    let federation = federation_name("fanout");
    let publisher = Member::create(server.address(), server.edition(), &federation).await?;
    let (mut sinks, _) =
        launcher.start(&role::sinks(server.address(), &federation, plan.subscribers)).await?;
    let (ping, pong) = (publisher.ping, publisher.pong);
    let to_all =
        Flood { payload: ping, object: publisher.offer(ping).await?, reach: plan.subscribers as u64 };
    let to_one = Flood { payload: pong, object: publisher.offer(pong).await?, reach: 1 };
    let slices = plan.slices.clamp(1, plan.updates.max(1));
    let mut sums = [(0.0, Some(0.0)); 2];
    for slice in 0..=slices {
        let warm_up = slice == 0;
        let updates =
            if warm_up { plan.updates.div_ceil(10) } else { share(plan.updates, slices, slice - 1) };
        let floods = [(&to_all, updates), (&to_one, updates * plan.subscribers as u64)];
        for ((flood, count), (seconds, cpu_s)) in floods.into_iter().zip(&mut sums) {
            let cpu_before = server.cpu_s();
            let taken = flood.send(&publisher, &mut sinks, plan.size, count).await?;
            if !warm_up {
                *seconds += taken;
                *cpu_s = cpu_s
                    .zip(server.cpu_s().zip(cpu_before))
                    .map(|(sum, (after, before))| sum + after - before);
            }
        }
        progress(slice, slices);
    }
    drop(sinks);
    publisher.leave(&federation).await?;
    let [(fanout_s, fanout_cpu_s), (single_s, single_cpu_s)] = sums;
    let (updates, singles) = (plan.updates as f64, (plan.updates * plan.subscribers as u64) as f64);
    Ok(Fanout {
        size_bytes: plan.size,
        subscribers: plan.subscribers,
        updates: plan.updates,
        fanout_s: fanout_s / updates,
        single_s: single_s / singles,
        server_cpu_s: fanout_cpu_s
            .zip(single_cpu_s)
            .map(|(fanout, single)| (fanout / updates, single / singles)),
    })
}

/// Updates of one object.
struct Flood {
    payload: Payload,
    object: hla::handle::ObjectInstanceHandle,
    /// Number of federates that get each update.
    reach: u64,
}

impl Flood {
    /// Sends `count` updates. Returns the seconds until all federates have them.
    async fn send(
        &self,
        publisher: &Member,
        sinks: &mut Process,
        size: usize,
        count: u64,
    ) -> Result<f64, BenchError> {
        let expected = count * self.reach;
        sinks.send_line(&format!("expect {expected}")).await?;
        let updates = publisher.federate.updates();
        let begun = Instant::now();
        let number = usize::try_from(count).unwrap_or(usize::MAX);
        flood(&updates, self.object, self.payload, size, number).await?;
        let received = sinks.hear_number("got").await?;
        let taken = begun.elapsed().as_secs_f64();
        updates.drained().await?;
        if received != expected {
            return Err(BenchError::Lossy { sent: expected, received, failed: 0 });
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_against_as_many_single_sends() {
        let fanout = Fanout {
            size_bytes: 100,
            subscribers: 100,
            updates: 10,
            fanout_s: 1e-4,
            single_s: 1e-5,
            server_cpu_s: Some((1e-4, 2e-5)),
        };
        assert!((fanout.ratio() - 0.1).abs() < 1e-9);
        assert!((fanout.server_cpu_ratio().unwrap() - 0.05).abs() < 1e-9);
    }
}
