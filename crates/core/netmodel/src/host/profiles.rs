//! Named hosts.
//!
//! Only sums and bottlenecks of these chains can be checked from outside: what a small message
//! takes, how many a host sends per second, and how many bytes. Each profile names where these
//! come from; the split among the stages is our choice.

use super::{Bus, Host, Stage};
use crate::stage::TokenRate;
use crate::units::{Picos, Rate};

/// A named host.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name in scenario files.
    pub name: &'static str,
    /// A description, in a line.
    pub title: &'static str,
    build: fn() -> Host,
}

impl Profile {
    /// The profile with this name.
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.into_iter().find(|profile| profile.name == name)
    }

    /// The host.
    pub fn host(self) -> Host {
        (self.build)()
    }
}

const fn profile(name: &'static str, title: &'static str, build: fn() -> Host) -> Profile {
    Profile { name, title, build }
}

/// All named hosts.
pub const PROFILES: [Profile; 8] = [
    profile("via-clan", "Giganet cLAN with VIA, on a PCI bus (2000)", via_clan),
    profile("gigabit-ethernet", "sockets over an interrupting adapter on a PCI-X bus (2004)", gigabit),
    profile("10-gigabit-ethernet", "sockets, PCI Express 2.0 x8 (2010)", || sockets(4_000, 1_500, 32_000)),
    profile("25-gigabit-ethernet", "sockets, PCI Express 3.0 x8 (2016)", || sockets(2_000, 1_000, 58_000)),
    profile("40-gigabit-ethernet", "RDMA, PCI Express 3.0 x8 (2014)", || rdma(29, 700, 58_000)),
    profile("100-gigabit-ethernet", "RDMA, PCI Express 3.0 x16 (2016)", || rdma(7, 500, 112_000)),
    profile("200-gigabit-ethernet", "RDMA, PCI Express 4.0 x16 (2020)", || rdma(5, 400, 224_000)),
    profile("400-gigabit-ethernet", "RDMA, PCI Express 5.0 x16 (2022)", || rdma(3, 350, 448_000)),
];

/// A stage that is busy for `service`, and lets a message go `latency` later; in nanoseconds.
fn stage(name: &str, service: u64, latency: u64) -> Stage {
    Stage { latency: Picos::from_nanos(latency), ..Stage::new(name, Picos::from_nanos(service)) }
}

/// The VIA paper's hosts: the stages of [`via_cluster`](crate::stage::via_cluster), whose fixed
/// times are 25.52 us in all, 2.5 us of which belong to five switches. Nothing is pipelined, since
/// the paper gives no rate of messages. Both ways share the PCI bus (PCI Local Bus Specification
/// 2.1: one set of lines), at 856 Mbit/s, the paper's best throughput.
fn via_clan() -> Host {
    via(Bus { out: constant(856), into: constant(856), shared: true }, [5_060, 0, 5_060, 4_000])
}

/// The hosts of the paper's Table 1, as [`via_simulated`](crate::stage::via_simulated) has them. A
/// transfer in one direction only does not show whether the bus is shared.
pub fn via_table_1() -> Host {
    let out = TokenRate { peak: Rate::mbit(1_000), sustained: Rate::mbit(856), depth: 415 };
    via(Bus { out, into: constant(1_000), shared: false }, [6_390, 610, 7_000, 4_000])
}

/// Hosts of the paper: start to transmit, fetch the data, start to receive, reap, in nanoseconds.
fn via(bus: Bus, [transmit, fetch, receive, reap]: [u64; 4]) -> Host {
    let mut send = vec![
        stage("build and post the descriptor", 3_000, 0),
        stage("doorbell", 1_000, 0),
        stage("fetch the descriptor", 2_450, 0),
        stage("start to transmit", transmit, 0),
    ];
    if fetch > 0 {
        // A descriptor carries up to 4 bytes itself.
        send.push(Stage { skipped_up_to: 4, ..stage("fetch the data", fetch, 0) });
    }
    let receive = vec![
        stage("start to receive", receive, 0),
        stage("write the completion", 2_450, 0),
        stage("reap the completion", reap, 0),
    ];
    Host { send, bus, receive }
}

/// TCP or UDP sockets on Gigabit Ethernet: some 25 us for a small message from program to program
/// over a cable (Hughes-Jones, Clarke and Dallison, "Performance of 1 and 10 Gigabit Ethernet cards
/// with server quality motherboards", 2005), most of it in the kernels and in the interrupt of the
/// receiver. PCI-X: 64 bits at 133 MHz, both ways on the same lines (PCI-X Addendum 1.0), of which
/// some 80 % carry data.
fn gigabit() -> Host {
    Host {
        send: vec![
            stage("system call and protocol", 6_000, 0),
            stage("doorbell", 500, 0),
            stage("fetch the descriptor", 500, 500),
        ],
        bus: Bus { out: constant(6_800), into: constant(6_800), shared: true },
        receive: vec![
            stage("write the completion", 500, 500),
            stage("interrupt", 1_000, 4_000),
            stage("protocol and wake-up", 8_000, 3_000),
        ],
    }
}

/// Sockets on faster Ethernet: the kernel works for `kernel` ns on a message at each end, and the
/// program wakes after a further while. The adapter keeps many reads of memory in flight, each of
/// which takes `read` ns (Neugebauer et al., "Understanding PCIe performance for end host
/// networking", SIGCOMM 2018: 0.5 to 1 us for a read of 64 bytes, with everything). `mbit`: the
/// payload rate of the slot each way, about 87 % of its raw rate (PCI Express Base Specification:
/// 256 bytes in a packet of 256 + 24, and flow control).
fn sockets(kernel: u64, read: u64, mbit: u64) -> Host {
    Host {
        send: vec![
            stage("system call and protocol", kernel, 0),
            stage("doorbell", 100, 200),
            stage("fetch the descriptor", 30, read),
            stage("fetch the data", 30, read),
        ],
        bus: Bus { out: constant(mbit), into: constant(mbit), shared: false },
        receive: vec![
            stage("write the completion", 30, read / 2),
            stage("interrupt", 500, 1_500),
            stage("protocol and wake-up", kernel, kernel / 2),
        ],
    }
}

/// RDMA with kernel bypass: a doorbell is a write to the adapter, which processes a message every
/// `message` ns (35 million per second with ConnectX-3, 150 and 215 with ConnectX-5 and -6: Kalia,
/// Kaminsky and Andersen, "Design guidelines for high performance RDMA systems", USENIX ATC 2016,
/// and the maker's data sheets), keeps many reads of memory in flight of `read` ns each (as with
/// sockets), and writes a completion, which the program polls. Sums are 0.9 to 1.9 us, as makers
/// and users measure with `ib_write_lat`.
fn rdma(message: u64, read: u64, mbit: u64) -> Host {
    Host {
        send: vec![
            stage("build and post the descriptor", 50, 0),
            stage("doorbell", message, 150),
            stage("fetch the data", message, read),
        ],
        bus: Bus { out: constant(mbit), into: constant(mbit), shared: false },
        receive: vec![stage("write the completion", message, read / 2), stage("reap the completion", 40, 60)],
    }
}

fn constant(mbit: u64) -> TokenRate {
    TokenRate::constant(Rate::mbit(mbit))
}
