//! The validation network of the VIA paper (its Figure 4 and Table 1): two hosts, and five switches
//! in a row between them.

use std::sync::Arc;

use base::Seed;

use crate::arrivals::{Gaps, Sources};
use crate::fluid::lanes::Subqueue;
use crate::host::via_table_1;
use crate::packet::Switching;
use crate::recording::{Recording, Sent};
use crate::simulation::{Model, Outcome, PacketModel};
use crate::study::network::{Load, Network, NetworkError, set_up};
use crate::topology::{LinkClass, Shape, Torus, Wire};
use crate::units::{Picos, Rate};

/// Switches between the hosts: four links between switches join five of them.
const SWITCHES: u32 = 5;
/// Rate of the links, and forwarding time of a switch with its link.
const RATE: Rate = Rate::mbit(1_000);
const SWITCH: Picos = Picos::from_nanos(500);

/// The messages that one host sends to the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sending {
    /// One message.
    Alone,
    /// So many messages of a Poisson process that keeps the slowest stage busy for this share of
    /// the time, below 1.
    Load(f64, u32),
}

/// The time for which the slowest stage or link is busy with a message of `bytes`.
pub fn slowest(bytes: u64) -> Picos {
    let host = via_table_1();
    let bus = host.bus.out.sustained.time_of(bytes);
    host.slowest().into_iter().fold(bus, Picos::max)
}

/// Mean waiting time at a share of the load, in microseconds: that of M/D/1 at the slowest stage,
/// ρ s / (2 (1 - ρ)) (Pollaczek and Khinchine), where all wait. Of messages not much longer than
/// the bucket of the bus it is more than they wait, since the bus is faster after a rest.
pub fn expected_wait_us(bytes: u64, load: f64) -> f64 {
    slowest(bytes).as_micros() * load / (2.0 * (1.0 - load))
}

/// Simulates messages of `bytes` from the first host to the last: each is one packet, which
/// switches forward as it comes.
///
/// # Errors
/// The size is zero or above 4 GiB.
pub fn run(bytes: u64, sending: Sending, seed: Seed) -> Result<Outcome, NetworkError> {
    let to = SWITCHES - 1;
    let mut at = Picos::from_micros(1);
    let mut messages = vec![(0, Sent { at, to, bytes })];
    if let Sending::Load(load, count) = sending {
        let gap = Picos((slowest(bytes).0 as f64 / load) as u64);
        let mut sources = Sources::new(Gaps::Poisson(gap), 1, seed);
        for _ in 1..count {
            at = sources.next(0, at);
            messages.push((0, Sent { at, to, bytes }));
        }
    }
    let class = |delay| LinkClass { name: "link".to_owned(), rate: RATE, delay, wire: Wire::default() };
    let network = Network {
        shape: Shape::Torus(Torus { sides: vec![SWITCHES], hosts_per_switch: 1, wraps: false }),
        // The last switch and its link take as long as the others; half of it is on each host's.
        host_link: class(Picos(SWITCH.0 / 2)),
        cable: class(SWITCH),
        load: Load::Recorded(Arc::new(Recording::new(messages))),
        window: (Picos::ZERO, at + Picos(1)),
        host_time: Picos::ZERO,
        host: Some(via_table_1()),
        model: Model::Packets(PacketModel {
            switching: Switching::CutThrough { header: 0 },
            ..PacketModel::new(u32::try_from(bytes).unwrap_or(u32::MAX))
        }),
        subqueue: Subqueue::Flow,
        routing: crate::routing::Routing::default(),
    };
    let mut simulation = set_up(&network, seed)?;
    while simulation.step(|_, _| ()) {}
    Ok(simulation.outcome())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{TABLE_1, unloaded, via_simulated};

    /// The simulated hosts and switches take for each size what the chain takes by formula.
    #[test]
    fn a_message_alone_takes_the_time_of_the_chain() {
        for row in TABLE_1 {
            let outcome = run(row.size_bytes, Sending::Alone, Seed(1)).unwrap();
            let chain = unloaded(&via_simulated(), row.size_bytes);
            let off = outcome.latency.summary.mean_us() - chain.as_micros();
            assert!(off.abs() < 1e-3, "{} bytes: {off} us off {chain}", row.size_bytes);
        }
    }

    #[test]
    fn under_load_messages_wait_as_at_the_slowest_stage() {
        // The tokens of the bus, which grow while it rests, make messages of a kilobyte wait less.
        for (bytes, share) in [(1, 0.95..1.05), (1_024, 0.65..1.0), (32_768, 0.95..1.05)] {
            let alone = unloaded(&via_simulated(), bytes).as_micros();
            for load in [0.5, 0.8] {
                let outcome = run(bytes, Sending::Load(load, 60_000), Seed(3)).unwrap();
                assert_eq!(outcome.latency.summary.count(), 60_000);
                let waits = outcome.latency.summary.mean_us() - alone;
                let expected = expected_wait_us(bytes, load);
                assert!(share.contains(&(waits / expected)), "{bytes} {load}: {waits} {expected}");
            }
        }
    }
}
