//! The multicast protocol SRMP on real sockets, against bare UDP multicast.
//!
//! One thread sends to a group and receives from it. The result is the number of messages that it
//! can send *and* receive in a second of its processor. The floor is two bare sockets in the same
//! thread, with the same datagrams, as many of them in one system call, and no work except copying
//! the messages into them. Both take turns. Processor time is counted, not elapsed time, so that
//! other load of the machine has little effect; the delay of messages ([`delay`]) has to be
//! measured with the clock. [`population`] is a group of many processes, and [`table1`] that of the
//! paper's table.

mod bare;
pub mod delay;
mod members;
pub mod objects;
pub mod population;
pub mod table1;

use std::time::{Duration, Instant};

use srmp_udp::Interface;

use crate::error::BenchError;

/// Number of datagrams that are sent before they are awaited: as many long ones as one system call
/// takes.
const BURST_DATAGRAMS: usize = 40;
/// Silence after which datagrams count as lost.
const SILENCE: Duration = Duration::from_secs(5);

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bytes of a message.
    pub size: usize,
    /// Number of messages of each kind.
    pub messages: u64,
    /// Number of slices in which the kinds take turns.
    pub slices: u64,
    /// The interface of the group.
    pub interface: Interface,
}

/// The form in which messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SRMP mode 0, in bundles as long as a datagram may be.
    Bundled,
    /// The same with a key of the group: every datagram is authenticated.
    Authenticated,
    /// The same, and encrypted for members with the key.
    Encrypted,
    /// SRMP mode 0, one message at a time: each in a datagram of its own, with system calls of its
    /// own.
    Single,
}

impl Kind {
    /// All kinds, in the order of the table.
    pub const ALL: [Self; 4] = [Self::Bundled, Self::Authenticated, Self::Encrypted, Self::Single];

    /// Number of datagrams that are sent before they are awaited.
    const fn burst(self) -> usize {
        if matches!(self, Self::Single) { 1 } else { BURST_DATAGRAMS }
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::Authenticated => "authenticated",
            Self::Encrypted => "encrypted",
            Self::Single => "single",
        }
    }
}

/// The cost of a kind, and the cost of the same datagrams on bare sockets.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The kind.
    pub kind: Kind,
    /// Bytes of a message.
    pub size_bytes: usize,
    /// Number of messages that were sent and received.
    pub messages: u64,
    /// Number of datagrams that carried them.
    pub datagrams: u64,
    /// Bytes of a datagram.
    pub datagram_bytes: usize,
    /// Processor time for all of them, in seconds.
    pub cpu_s: f64,
    /// Elapsed time, in seconds.
    pub wall_s: f64,
    /// Processor time of the bare sockets, in seconds, for `floor_datagrams`.
    pub floor_cpu_s: f64,
    /// Number of datagrams that the bare sockets sent and received.
    pub floor_datagrams: u64,
}

impl Cost {
    /// Messages sent and received per second of one core.
    pub fn messages_per_core_s(&self) -> f64 {
        self.messages as f64 / self.cpu_s
    }

    /// Processor time of a datagram, in microseconds.
    pub fn datagram_us(&self) -> f64 {
        self.cpu_s / self.datagrams as f64 * 1e6
    }

    /// Processor time of a bare datagram, in microseconds.
    pub fn floor_datagram_us(&self) -> f64 {
        self.floor_cpu_s / self.floor_datagrams as f64 * 1e6
    }

    /// Cost of a datagram relative to a bare one.
    pub fn ratio(&self) -> f64 {
        self.datagram_us() / self.floor_datagram_us()
    }

    /// Mean number of messages in a datagram.
    pub fn per_datagram(&self) -> f64 {
        self.messages as f64 / self.datagrams as f64
    }
}

/// Measures every kind in `kinds`. `progress` gets the finished work and its total.
///
/// # Errors
/// The group cannot be joined, or does not carry the messages.
pub fn measure(
    plan: &Plan,
    kinds: &[Kind],
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Cost>, BenchError> {
    let all = plan.slices * kinds.len() as u64;
    let mut costs = Vec::with_capacity(kinds.len());
    for (at, &kind) in kinds.iter().enumerate() {
        let each = (plan.messages / plan.slices).max(1);
        let mut members = members::Pair::open(plan, kind)?;
        members.flood(each.div_ceil(10))?; // warms up memory and caches
        let datagram = members.datagram_bytes();
        let mut bare = bare::Pair::open(&plan.interface, plan.size, datagram, kind.burst())?;
        bare.flood((each / 50).max(BURST_DATAGRAMS as u64))?;
        let mut cost = Cost {
            kind,
            size_bytes: plan.size,
            messages: 0,
            datagrams: 0,
            datagram_bytes: datagram,
            cpu_s: 0.0,
            wall_s: 0.0,
            floor_cpu_s: 0.0,
            floor_datagrams: 0,
        };
        for slice in 0..plan.slices {
            progress(at as u64 * plan.slices + slice, all);
            let (begun, before) = (Stopwatch::start(), members.datagrams());
            cost.messages += members.flood(each)?;
            begun.stop(&mut cost.cpu_s, &mut cost.wall_s);
            let datagrams = members.datagrams() - before;
            cost.datagrams += datagrams;
            let begun = Stopwatch::start();
            cost.floor_datagrams += bare.flood(datagrams)?;
            begun.stop(&mut cost.floor_cpu_s, &mut 0.0);
        }
        costs.push(cost);
    }
    Ok(costs)
}

/// This thread's processor time, and elapsed time.
struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    fn start() -> Self {
        Self { cpu: thread_cpu(), wall: Instant::now() }
    }

    fn stop(self, cpu_s: &mut f64, wall_s: &mut f64) {
        *cpu_s += thread_cpu().saturating_sub(self.cpu).as_secs_f64();
        *wall_s += self.wall.elapsed().as_secs_f64();
    }
}

/// Processor time of this thread so far, user and system.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_messages_are_received_and_counted() {
        let plan = Plan {
            size: 250,
            messages: 2_000,
            slices: 2,
            interface: Interface::Address(std::net::Ipv4Addr::LOCALHOST.into()),
        };
        let costs = measure(&plan, &Kind::ALL, |_, _| ()).expect("loopback carries multicast");
        for cost in &costs {
            assert!(cost.messages >= 2_000, "{cost:?}");
            assert!(cost.cpu_s > 0.0 && cost.floor_cpu_s > 0.0, "{cost:?}");
            let per_datagram = if cost.kind == Kind::Single { 0.9..1.01 } else { 4.0..5.5 };
            assert!(per_datagram.contains(&cost.per_datagram()), "{cost:?}");
        }
        let delays = delay::measure(&delay::Plan {
            size: 250,
            messages: 200,
            per_s: 2_000.0,
            interface: plan.interface,
        });
        let delays = delays.expect("loopback carries multicast");
        assert_eq!([delays.srmp.samples(), delays.bare.samples()], [200, 200]);
    }
}
