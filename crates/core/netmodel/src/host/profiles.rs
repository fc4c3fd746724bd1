//! Named hosts.
//!
//! Only sums and bottlenecks of these chains can be checked from outside: what a small message
//! takes, how many a host sends per second, and how many bytes. Each profile names where these
//! come from, or says that they are our choice; the split among the stages always is.

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
    profile("10-gigabit-ethernet", "sockets, PCI Express 2.0 x8 (2010)", || sockets(4_000, 1_500, PCIE_2_X8)),
    profile("25-gigabit-ethernet", "sockets, PCI Express 3.0 x8 (2016)", || sockets(2_000, 1_000, PCIE_3_X8)),
    profile("40-gigabit-ethernet", "RDMA, PCI Express 3.0 x8 (2014)", || rdma(29, 700, PCIE_3_X8)),
    profile("100-gigabit-ethernet", "RDMA, PCI Express 3.0 x16 (2016)", || rdma(5, 500, PCIE_3_X16)),
    profile("200-gigabit-ethernet", "RDMA, PCI Express 4.0 x16 (2020)", || rdma(5, 400, PCIE_4_X16)),
    profile("400-gigabit-ethernet", "RDMA, PCI Express 5.0 x16 (2022)", || rdma(3, 350, PCIE_5_X16)),
];

// Rates of data in memory writes over a slot of PCI Express, each way, in Mbit/s. Lanes: PCI Express
// Base Specification (5 GT/s with 8b/10b, 8, 16 and 32 GT/s with 128b/130b). Acknowledgements, flow
// control and clock compensation take their share at the intervals that the specification
// recommends, and packets of 256 bytes have 24 bytes of headers: Neugebauer et al., "Understanding
// PCIe performance for end host networking", SIGCOMM 2018, section 3, and their program
// (github.com/pcie-bench/pcie-model, `pcie.py`), which leaves 57.88 Gbit/s of 3.0 x8 before headers,
// and 52.9 behind them.
const PCIE_2_X8: u64 = 26_200;
const PCIE_3_X8: u64 = 52_900;
const PCIE_3_X16: u64 = 104_000;
const PCIE_4_X16: u64 = 207_900;
const PCIE_5_X16: u64 = 415_800;

/// A stage that is busy for `service`, and lets a message go `latency` later; in nanoseconds.
fn stage(name: &str, service: u64, latency: u64) -> Stage {
    Stage { latency: Picos::from_nanos(latency), ..Stage::new(name, Picos::from_nanos(service)) }
}

/// The VIA paper's hosts: the stages of [`via_cluster`](crate::stage::via_cluster), whose fixed
/// times are 25.52 us in all, 2.5 us of which belong to five switches. Nothing is pipelined, since
/// the paper gives no rate of messages. Both ways share the PCI bus (PCI Local Bus Specification
/// 2.1: one set of lines, 32 bits at 33 MHz, 1,056 Mbit/s), at 856 Mbit/s, the paper's best
/// throughput.
///
/// Another measurement of the same adapters was faster for small messages and slower for large ones:
/// 14.2 us at 288 bytes, and 87.7 MB/s, under Windows NT 4.0 (Jacobson, MacDonald and Du,
/// "Experimental analysis of VI Architecture", University of Minnesota, 2000, abstract,
/// hdl.handle.net/11299/215411). This profile is that of the paper whose study we repeat.
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

/// UDP sockets on Gigabit Ethernet. From program to program over a cable and back, a small message
/// took 46.3 us, 23.1 each way, with an adapter that interrupts for each packet, and 183 us with one
/// that waits for more (Li, "An investigation into transport protocols and data transport
/// applications over high performance networks", University College London, 2006, appendix A.2.2,
/// figure A.8). Ours take 24.5. Messages per second are our choice: the receiving kernel's 8 us, a
/// third of the sum. PCI-X: 64 bits at 133 MHz, 8.5 Gbit/s, both ways on the same lines (PCI-X
/// Addendum 1.0); that 80 % carry data is our choice.
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
/// which takes `read` ns (Neugebauer et al., SIGCOMM 2018, section 6: 0.5 to 1 us for a read of 64
/// bytes, with everything; 1.5 us at 10 Gbit/s is our choice for older slots). `mbit`: what the slot
/// carries each way.
///
/// At 10 Gbit/s small messages took 20.7 and 16.1 us each way (half of 41.5 and 32.2, between two
/// Xeon and two Itanium servers: Li 2006, appendix A.2.2, figure A.9), and 20 us (Hurwitz and Feng,
/// "Initial end-to-end performance evaluation of 10-Gigabit Ethernet", Hot Interconnects 11, 2003,
/// abstract). Ours take 16.1: servers of 2010 were no slower than the best of these. At 25 Gbit/s we
/// have no source for a kernel's sockets: half of the kernel's time at 10 Gbit/s is our choice. So
/// are the messages per second of both.
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
/// `message` ns, keeps many reads of memory in flight of `read` ns each (as with sockets), and writes
/// a completion, which the program polls.
///
/// - 40 Gbit/s, ConnectX-3: 35 million writes per second (Kalia, Kaminsky and Andersen, "Using RDMA
///   efficiently for key-value services", SIGCOMM 2014, section 3.2), so 29 ns. Its maker announced
///   less than a microsecond with RoCE, after 1.3 us of its predecessor (The Register, 6 June 2011);
///   our sum is 1.4.
/// - 100 Gbit/s, ConnectX-5: a message every 5 ns (Hoefler et al., "sPIN: high-performance streaming
///   processing in the network", SC17, slide 4). "Sub-600ns" by its maker (ConnectX-5 EN product
///   brief), and less than 2 us there and back (forums.developer.nvidia.com/t/358441); our sum is 1.1.
/// - 200 Gbit/s, ConnectX-6: 215 million per second, so 5 ns, and "sub 0.8usec" by its maker
///   (ConnectX-6 EN product brief); our sum is 0.9.
/// - 400 Gbit/s: 3 ns and a sum of 0.8 us are our choice, without a source.
///
/// Figures of makers leave out the programs at both ends, which take 150 ns here. Reads of memory
/// that become faster from slot to slot are our choice, within or below the range that is measured.
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
