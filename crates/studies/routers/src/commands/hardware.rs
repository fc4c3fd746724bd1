//! Tables of scenario files that describe hosts of routers and the links between them, with the
//! unit in each key.

use std::time::Duration;

use crate::routers::{Hardware, PipeConfig};
use netsim::cluster::{Cost, Ethernet, Framing, HostSpec};
use serde::Deserialize;

/// Links.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EthernetTable {
    rate_mbit_per_s: u32,
    propagation_us: Micros,
    forwarding_us: Micros,
    interrupt_us: Micros,
    payload_bytes_max: usize,
    overhead_bytes: usize,
}

/// Hosts of routers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouterTable {
    receive_us: Micros,
    receive_ns_per_byte: NanosPerByte,
    send_us: Micros,
    send_ns_per_byte: NanosPerByte,
    memory_pipe_us: Micros,
    frame_bytes_max: usize,
}

/// Hosts of federates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FederateTable {
    receive_us: Micros,
    receive_ns_per_byte: NanosPerByte,
    send_us: Micros,
    send_ns_per_byte: NanosPerByte,
}

/// A duration in microseconds, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Micros(pub(super) Duration);

impl TryFrom<f64> for Micros {
    type Error = String;

    fn try_from(us: f64) -> Result<Self, String> {
        const HOUR_US: f64 = 3.6e9;
        if (0.0..=HOUR_US).contains(&us) {
            Ok(Self(Duration::from_nanos((us * 1e3).round() as u64)))
        } else {
            Err(format!("{us} is no time in microseconds: expected 0 to {HOUR_US} (an hour)"))
        }
    }
}

/// Nanoseconds per byte, kept in picoseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct NanosPerByte(u64);

impl TryFrom<f64> for NanosPerByte {
    type Error = String;

    fn try_from(ns: f64) -> Result<Self, String> {
        if (0.0..=1e6).contains(&ns) {
            Ok(Self((ns * 1e3).round() as u64))
        } else {
            Err(format!("{ns} is no cost in nanoseconds per byte: expected 0 to 1000000"))
        }
    }
}

/// Converts the tables to the hardware that they describe.
///
/// # Errors
/// The wrong value in the tables.
pub(super) fn hardware(
    ethernet: &EthernetTable,
    router: &RouterTable,
    federate: &FederateTable,
) -> Result<Hardware, String> {
    if ethernet.rate_mbit_per_s == 0 {
        return Err("`rate_mbit_per_s` must be at least 1".to_owned());
    }
    let cost = |fixed: Micros, each: NanosPerByte| Cost { per_message: fixed.0, per_byte_ps: each.0 };
    Ok(Hardware {
        ethernet: Ethernet {
            rate: u64::from(ethernet.rate_mbit_per_s) * 1_000_000,
            propagation: ethernet.propagation_us.0,
            forwarding: ethernet.forwarding_us.0,
            interrupt: ethernet.interrupt_us.0,
            framing: Framing {
                payload_bytes_max: ethernet.payload_bytes_max,
                overhead_bytes: ethernet.overhead_bytes,
            },
        },
        router: HostSpec {
            receive: cost(router.receive_us, router.receive_ns_per_byte),
            send: cost(router.send_us, router.send_ns_per_byte),
        },
        federate: HostSpec {
            receive: cost(federate.receive_us, federate.receive_ns_per_byte),
            send: cost(federate.send_us, federate.send_ns_per_byte),
        },
        memory_pipe: router.memory_pipe_us.0,
        pipe: PipeConfig { frame_bytes_max: router.frame_bytes_max, ..PipeConfig::default() },
    })
}
