//! Round trips: update → reflect → update → reflect.
//!
//! This process updates a ping, and the server reflects it to a federate in another process. That
//! one updates its pong with the same payload, and the server reflects it to this process. So there
//! are two hops each way, as in BMLatency of the RTI benchmark suite. The floor takes turns with
//! the server, in slices, so that any other load of the machine affects both.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hla::api::RegisterObjectInstanceRequest;
use hla::handle::ObjectInstanceHandle;

use crate::error::BenchError;
use crate::floor::Floor;
use crate::member::{Member, reflected, stalled};
use crate::process::Launcher;
use crate::process::PATIENCE;
use crate::role;
use crate::server::{Server, federation_name};
use crate::wire::message_bytes;
use console::rounds::Rounds;

/// The smallest payload, in bytes: a round is identified by its number.
pub const SIZE_BYTES_MIN: usize = 8;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Payloads, in bytes; at least [`SIZE_BYTES_MIN`].
    pub sizes: Vec<usize>,
    /// Number of round trips of each size.
    pub samples: u64,
    /// Number of round trips before every slice that are not counted.
    pub warm_up: u64,
    /// Number of slices of the samples of each size; the floor has its turn between two of them.
    pub slices: u64,
    /// Numbers of other objects that exist while all sizes are measured, in rising order:
    /// registered by this federate, discovered by the other.
    pub objects: Vec<usize>,
}

/// The round trips of one size.
#[derive(Clone, Debug)]
pub struct Latency {
    /// The address of the server.
    pub server: String,
    /// Number of other objects that existed.
    pub objects: usize,
    /// Round trips through the server.
    pub rounds: Rounds,
    /// Round trips through the relay.
    pub floor: Rounds,
    /// Processor time of the server per round trip, in seconds, warm-up included; if this benchmark
    /// started the server.
    pub server_cpu_s: Option<f64>,
}

impl Latency {
    fn new(server: &str, objects: usize, size: usize) -> Self {
        let (rounds, floor) = (Rounds::new(size), Rounds::new(size));
        Self { server: server.to_owned(), objects, rounds, floor, server_cpu_s: Some(0.0) }
    }
}

/// Runs the plan at `server` and at those `beside` it, such as other addresses of the same one, which
/// take turns with it. `progress` gets the number of finished round trips and their total. Of each size,
/// the results are in the order of the servers.
///
/// # Errors
/// The server or the system fails or refuses a request.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    beside: &[Server],
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Latency>, BenchError> {
    let mut floor = Floor::start(launcher, server.links()).await?;
    let (servers, federation) = (std::iter::once(server).chain(beside), federation_name("latency"));
    // The next one is at the front: a ring that had its turn goes to the back.
    let mut rings = VecDeque::new();
    for (at, server) in servers.enumerate() {
        let federation = format!("{federation}-{at}");
        rings.push_back((server, Ring::start(launcher, server, &federation).await?, federation));
    }
    let slices = plan.slices.clamp(1, plan.samples.max(1));
    let each = plan.samples * (plan.sizes.len() * plan.objects.len().max(1)) as u64;
    let (all, mut done) = (each * rings.len() as u64, 0);
    let mut results = Vec::new();
    for &objects in if plan.objects.is_empty() { &[0][..] } else { &plan.objects } {
        for _ in 0..rings.len() {
            let Some((server, ring, federation)) = rings.pop_front() else { break };
            rings.push_back((server, ring.populate(objects).await?, federation));
        }
        for &size in &plan.sizes {
            let latency = |server: &Server| Latency::new(server.address(), objects, size);
            let mut latencies: Vec<_> = rings.iter().map(|(server, ..)| latency(server)).collect();
            let mut bare = Rounds::new(size);
            for slice in 0..slices {
                let samples = share(plan.samples, slices, slice);
                bare.add(&floor.rounds(size, message_bytes(size), plan.warm_up, samples).await?);
                for latency in &mut latencies {
                    let Some((server, ring, federation)) = rings.pop_front() else { break };
                    let before = server.cpu_s();
                    let (ring, rounds) = ring.rounds(size, plan.warm_up, samples).await?;
                    rings.push_back((server, ring, federation));
                    latency.rounds.add(&rounds);
                    let used = server.cpu_s().zip(before).map(|(after, before)| after - before);
                    latency.server_cpu_s = latency.server_cpu_s.zip(used).map(|(sum, used)| sum + used);
                    done += samples;
                    progress(done, all);
                }
            }
            let rounds = (plan.samples + slices * plan.warm_up) as f64;
            for mut latency in latencies {
                latency.floor = bare.clone();
                latency.server_cpu_s = latency.server_cpu_s.map(|sum| sum / rounds);
                results.push(latency);
            }
        }
    }
    for (_, ring, federation) in rings {
        ring.end(&federation).await?;
    }
    Ok(results)
}

/// The size of part `index` of `parts` nearly equal parts of `whole`.
pub(crate) fn share(whole: u64, parts: u64, index: u64) -> u64 {
    whole * (index + 1) / parts - whole * index / parts
}

/// This federate, the other one, and the server between them.
struct Ring {
    member: Member,
    ping: ObjectInstanceHandle,
    others: usize,
    number: u64,
    /// Ends the other federate when it is dropped.
    echo: crate::process::Process,
}

impl Ring {
    async fn start(launcher: &Launcher, server: &Server, federation: &str) -> Result<Self, BenchError> {
        let mut member = Member::create(server.address(), federation).await?;
        member.want(member.pong).await?;
        let ping = member.offer(member.ping).await?;
        let (echo, _) = launcher.start(&role::echo(server.far_address(), federation)).await?;
        member.await_object(member.pong).await?;
        Ok(Self { member, ping, others: 0, number: 0, echo })
    }

    /// Registers objects of the measured class until there are `count` besides the one that is
    /// updated, and waits until the other federate has discovered them.
    async fn populate(mut self, count: usize) -> Result<Self, BenchError> {
        let updates = self.member.federate.updates();
        let object_class = Some(self.member.ping.class);
        for _ in self.others..count {
            updates.send(RegisterObjectInstanceRequest { object_class }).await?;
        }
        updates.drained().await?;
        self.others = self.others.max(count);
        self.rounds(SIZE_BYTES_MIN, 1, 0).await.map(|(ring, _)| ring) // an answer shows that it has them
    }

    async fn rounds(mut self, size: usize, warm_up: u64, count: u64) -> Result<(Self, Rounds), BenchError> {
        let budget =
            PATIENCE + Duration::from_millis(20) * u32::try_from(warm_up + count).unwrap_or(u32::MAX);
        let rounds = role::spawned(async move {
            let rounds = self.rounds_unlimited(size, warm_up, count).await?;
            Ok((self, rounds))
        });
        tokio::time::timeout(budget, rounds).await.map_err(|_| stalled("a round trip"))?
    }

    async fn rounds_unlimited(
        &mut self,
        size: usize,
        warm_up: u64,
        count: u64,
    ) -> Result<Rounds, BenchError> {
        round_trips(&mut self.member, self.ping, &mut self.number, size, (warm_up, count)).await
    }

    async fn end(self, federation: &str) -> Result<(), BenchError> {
        drop(self.echo);
        self.member.leave(federation).await
    }
}

/// Makes round trips with a federate that answers: first some that are not counted, then some that
/// are. `number` is that of the last round trip ever.
pub(crate) async fn round_trips(
    member: &mut Member,
    ping: ObjectInstanceHandle,
    number: &mut u64,
    size: usize,
    (warm_up, count): (u64, u64),
) -> Result<Rounds, BenchError> {
    let updates = member.federate.updates();
    let mut rounds = Rounds::new(size);
    let mut payload = vec![0; size];
    for round in 0..warm_up + count {
        *number += 1;
        payload[..SIZE_BYTES_MIN].copy_from_slice(&number.to_be_bytes());
        let value = Bytes::copy_from_slice(&payload);
        let begun = Instant::now();
        updates.update_attribute_values(ping, [(member.ping.attribute, value)], "").await?;
        loop {
            let callback = crate::member::received(member.callbacks.recv().await)?;
            if reflected(callback).is_some_and(|value| value[..] == payload[..]) {
                break;
            }
        }
        if round >= warm_up {
            rounds.record(begun.elapsed());
        }
    }
    updates.drained().await?;
    Ok(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for (whole, parts) in [(10, 3), (7, 7), (100, 8), (0, 4)] {
            let sum: u64 = (0..parts).map(|index| share(whole, parts, index)).sum();
            assert_eq!(sum, whole);
        }
        assert_eq!(share(10, 3, 0), 3);
    }
}
