//! Nodes of one site: a federate at one node updates, and federates at all others receive, over
//! links and through multicast groups that lose datagrams.
//!
//! Delays are from the call at the sender to the reflect at the listener, by the clock of the one
//! machine on which all run.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::{BufMut as _, Bytes, BytesMut};
use hla::fom::Edition;

use crate::error::BenchError;
use crate::groups::{Groups, STALE, await_reach, summary};
use crate::joined::Joined;
use crate::member::{Member, Payload, received, reflected};
use crate::process::Launcher;
use crate::process::{Process, orders, print_line};
use crate::role;
use crate::server::{federation_name, start_node};
use crate::usage;
use console::rounds::Rounds;

/// Bytes of the time stamp in a payload.
const TIME_BYTES: usize = 8;
/// Number of updates before those that count.
const WARM_UP: u64 = 50;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of nodes, at least two.
    pub nodes: usize,
    /// Payload, in bytes; at least 8.
    pub size: usize,
    /// Number of updates, all reliable.
    pub updates: u64,
    /// Updates per second.
    pub rate: f64,
}

/// The carrier of messages between the nodes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Carrier {
    /// A link for each pair of nodes.
    Links,
    /// A multicast group of which each node loses a share of the datagrams.
    Group {
        /// The lost share (0 to 1).
        loss: f64,
    },
}

/// The results of the benchmark.
#[derive(Clone, Debug)]
pub struct Site {
    /// The carrier of messages.
    pub carrier: Carrier,
    /// Times from the update to each reflect.
    pub delays: Rounds,
    /// Bytes that the first node sent over links and to groups, per update.
    pub sent_bytes: f64,
    /// Frames of the first node that were sent to the group again because a node missed them.
    pub repaired: u64,
    /// Frames that nodes missed and then received from the group.
    pub recovered: u64,
    /// Messages that nodes requested over links.
    pub asked_again: u64,
    /// Processor time of all nodes per update, in seconds.
    pub cpu_s: Option<f64>,
}

/// Measures one carrier. `progress` gets the number of updates sent and their total.
///
/// # Errors
/// The nodes or the system fail or refuse a request; an update was lost.
pub async fn measure(
    launcher: &Launcher,
    plan: &Plan,
    carrier: Carrier,
    mut progress: impl FnMut(u64, u64),
) -> Result<Site, BenchError> {
    let nodes = Nodes::start(launcher, plan.nodes.max(2), carrier).await?;
    let federation = federation_name("site");
    let publisher = Member::create(&nodes.addresses[0], Edition::Hla2025, &federation).await?;
    let object = publisher.offer(publisher.ping).await?;
    let mut listeners = Vec::new();
    for address in &nodes.addresses[1..] {
        listeners.push(launcher.start(&role::listener(address, &federation)).await?.0);
    }
    if carrier != Carrier::Links {
        await_reach(&nodes.addresses, &Joined::Mesh).await?;
    }
    exchange(&publisher, object, &mut listeners, plan, WARM_UP, |_| ()).await?;
    let before = nodes.counts().await?;
    let progress = |done| progress(done, plan.updates);
    let delays = exchange(&publisher, object, &mut listeners, plan, plan.updates, progress).await?;
    let after = nodes.counts().await?;
    drop(listeners);
    publisher.leave(&federation).await?;
    let updates = plan.updates as f64;
    Ok(Site {
        carrier,
        delays,
        sent_bytes: (after.sent_bytes - before.sent_bytes) as f64 / updates,
        repaired: after.repaired - before.repaired,
        recovered: after.recovered - before.recovered,
        asked_again: after.asked_again - before.asked_again,
        cpu_s: after.cpu_s.zip(before.cpu_s).map(|(after, before)| (after - before) / updates),
    })
}

/// Sends `updates` updates, and waits until all listeners have all of them. Returns the delays.
async fn exchange(
    publisher: &Member,
    object: hla::handle::ObjectInstanceHandle,
    listeners: &mut [Process],
    plan: &Plan,
    count: u64,
    progress: impl FnMut(u64),
) -> Result<Rounds, BenchError> {
    for listener in &mut *listeners {
        listener.send_line(&format!("expect {count}")).await?;
    }
    send(publisher, object, plan, count, progress).await?;
    let mut delays = Rounds::new(plan.size);
    for listener in listeners {
        let heard = listener.hear("delays").await?;
        let nanos = heard.iter().filter_map(|word| word.parse().ok());
        nanos.for_each(|nanos| delays.record(Duration::from_nanos(nanos)));
    }
    Ok(delays)
}

/// Sends updates at the plan's rate, each with the time at which it was sent.
async fn send(
    publisher: &Member,
    object: hla::handle::ObjectInstanceHandle,
    plan: &Plan,
    count: u64,
    mut progress: impl FnMut(u64),
) -> Result<(), BenchError> {
    let updates = publisher.federate.updates();
    let begun = Instant::now();
    for number in 0..count {
        let due = begun + Duration::from_secs_f64(number as f64 / plan.rate);
        tokio::time::sleep_until(due.into()).await;
        let values = [(publisher.ping.attribute, payload(plan.size))];
        updates.update_attribute_values(object, values, "").await?;
        updates.flush();
        progress(number + 1);
    }
    Ok(updates.drained().await?)
}

/// The current time, padded to `size` bytes.
fn payload(size: usize) -> Bytes {
    let mut bytes = BytesMut::with_capacity(size.max(TIME_BYTES));
    bytes.put_u64(now_ns());
    bytes.resize(size.max(TIME_BYTES), 1);
    bytes.freeze()
}

/// Nanoseconds since 1970, by the clock that all processes of a machine share.
fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// The role of a listener: `expect COUNT` is answered by `delays` and that many delays in
/// nanoseconds.
pub(crate) async fn listen(server: &str, federation: &str) -> Result<(), BenchError> {
    let mut orders = orders();
    let mut member = Member::join(server, federation).await?;
    let ping: Payload = member.ping;
    member.want(ping).await?;
    member.await_object(ping).await?;
    print_line("ready");
    while let Some(order) = orders.recv().await {
        let [_, count] = &order[..] else { continue };
        let count = count.parse().unwrap_or(0);
        let mut line = "delays".to_owned();
        let mut heard = 0;
        while heard < count {
            let Some(payload) = reflected(received(member.callbacks.recv().await)?) else { continue };
            let sent = payload.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            line.push_str(&format!(" {}", now_ns().saturating_sub(sent)));
            heard += 1;
        }
        print_line(&line);
    }
    Ok(())
}

/// Counters of the nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent_bytes: u64,
    repaired: u64,
    recovered: u64,
    asked_again: u64,
    cpu_s: Option<f64>,
}

/// The nodes of a site.
struct Nodes {
    processes: Vec<Process>,
    addresses: Vec<String>,
}

impl Nodes {
    async fn start(launcher: &Launcher, count: usize, carrier: Carrier) -> Result<Self, BenchError> {
        let groups = match carrier {
            Carrier::Links => None,
            Carrier::Group { loss } => Some(Groups { count: 1, rate_min: None, loss }.url()?),
        };
        let (mut nodes, mut join) = (Self { processes: Vec::new(), addresses: Vec::new() }, None);
        for number in 1..=count {
            let words = role::site_node(number, None, groups.as_deref(), join.as_deref());
            let (process, address, links) = start_node(launcher, number, &words).await?;
            join.get_or_insert(links);
            nodes.addresses.push(address);
            nodes.processes.push(process);
        }
        Ok(nodes)
    }

    async fn counts(&self) -> Result<Counts, BenchError> {
        tokio::time::sleep(STALE).await;
        let cpu_s = self.processes.iter().map(|process| usage::cpu_s(process.id())).sum();
        let mut counts = Counts { cpu_s, ..Counts::default() };
        for (node, address) in self.addresses.iter().enumerate() {
            let summary = summary(address).await?;
            counts.asked_again += summary.asked_again;
            counts.recovered += summary.groups.iter().map(|group| group.counts.recovered_frames).sum::<u64>();
            if node == 0 {
                counts.repaired = summary.groups.iter().map(|group| group.counts.repaired_frames).sum();
                counts.sent_bytes = summary.groups.iter().map(|group| group.counts.sent_bytes).sum::<u64>()
                    + summary.links.iter().map(|link| link.sent_bytes).sum::<u64>();
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_a_time_and_as_long_as_asked() {
        let before = now_ns();
        for (size, len) in [(0, 8), (8, 8), (250, 250)] {
            let payload = payload(size);
            let time = payload.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            assert_eq!(payload.len(), len);
            assert!((before..=now_ns()).contains(&time));
        }
    }
}
