//! Queues of hosts against closed forms.

use std::sync::Arc;

use base::Seed;
use proptest::prelude::*;

use super::*;
use crate::arrivals::{Gaps, Sources};
use crate::fluid::Sharing;
use crate::fluid::lanes::Subqueue;
use crate::recording::{Recording, Sent};
use crate::simulation::{Model, Outcome, PacketModel};
use crate::study::network::{Load, Network, set_up};
use crate::topology::Shape;
use crate::units::Rate;

const US: u64 = 1_000_000;

fn chain(services: &[u64]) -> Stages {
    let stage = |ps: &u64| Stage::new("test", Picos(*ps));
    Stages::new(&services.iter().map(stage).collect::<Vec<_>>(), 1)
}

/// Times that `count` messages of a Poisson process spend in a chain.
fn poisson(chain: &mut Stages, gap: Picos, count: u32) -> Vec<Picos> {
    let mut sources = Sources::new(Gaps::Poisson(gap), 1, Seed(5));
    let mut now = sources.first(0, Picos::ZERO);
    let mut times = Vec::new();
    for _ in 0..count {
        times.push(chain.pass(0, now, 1).since(now));
        now = sources.next(0, now);
    }
    times
}

#[test]
fn alone_a_message_takes_the_sum_and_many_take_the_slowest() {
    let services = [3 * US, US, 5 * US, 2 * US];
    let mut idle = chain(&services);
    assert_eq!(idle.pass(0, Picos(7), 1), Picos(7 + 11 * US));
    // D/D/1, saturated: one message per 5 us.
    let mut full = chain(&services);
    let ends: Vec<Picos> = (0..1_000).map(|_| full.pass(0, Picos::ZERO, 1)).collect();
    assert!(ends.windows(2).all(|pair| pair[1].since(pair[0]) == Picos(5 * US)));
}

/// D/D/1: no wait while the gap is at least the service, and n (service - gap) for the n-th message
/// while it is not.
#[test]
fn even_arrivals_wait_as_the_formula_says() {
    for gap in [US, 2 * US, 5 * US, 9 * US] {
        let mut queue = chain(&[5 * US]);
        for n in 0..100 {
            let waits = queue.pass(0, Picos(n * gap), 1).since(Picos(n * gap)).0 - 5 * US;
            assert_eq!(waits, n * (5 * US).saturating_sub(gap));
        }
    }
}

/// M/D/1 of Pollaczek and Khinchine, ρ s / (2 (1 - ρ)). A tandem of deterministic servers waits as
/// its slowest alone does: later and faster ones are never found busy, and earlier ones only take
/// waiting over.
#[test]
fn random_arrivals_wait_as_long_as_at_the_slowest_stage() {
    for (services, slowest) in [(&[5 * US][..], 5 * US), (&[3 * US, US, 5 * US, 2 * US], 5 * US)] {
        for load in [0.3, 0.6, 0.8] {
            let mut chain = chain(services);
            let gap = Picos((slowest as f64 / load) as u64);
            let times = poisson(&mut chain, gap, 400_000);
            let sum: u64 = services.iter().sum();
            let waits = times.iter().map(|time| (time.0 - sum) as f64).sum::<f64>() / times.len() as f64;
            let expected = load * slowest as f64 / (2.0 * (1.0 - load));
            assert!((waits / expected - 1.0).abs() < 0.03, "{services:?} {load}: {waits} {expected}");
            let counted: f64 = chain.uses(true).map(|stage| stage.mean_wait_us() * 1e6).sum();
            assert!((counted / waits - 1.0).abs() < 1e-6, "{counted} {waits}");
        }
    }
}

proptest! {
    /// The recursion of a tandem: a message leaves after the sum of the services, or one service of
    /// the slowest after the one before it.
    #[test]
    fn departures_are_those_of_the_recursion(
        gaps in prop::collection::vec(0u64..9, 1..60),
        services in prop::collection::vec(1u64..6, 1..6),
    ) {
        let mut chain = chain(&services);
        let (sum, slowest) = (services.iter().sum::<u64>(), services.iter().copied().max().unwrap_or(0));
        let (mut now, mut last) = (0, 0);
        for (at, gap) in gaps.into_iter().enumerate() {
            now += gap;
            let expected = if at == 0 { now + sum } else { (now + sum).max(last + slowest) };
            last = chain.pass(0, Picos(now), 1).0;
            prop_assert_eq!(last, expected);
        }
    }
}

#[test]
fn latency_delays_and_does_not_occupy() {
    let stage = Stage { latency: Picos(9 * US), ..Stage::new("read", Picos(US)) };
    let mut stages = Stages::new(&[stage], 1);
    let ends: Vec<Picos> = (0..4).map(|_| stages.pass(0, Picos::ZERO, 1)).collect();
    assert_eq!(ends, [10, 11, 12, 13].map(Picos::from_micros));
    let skip = Stage { skipped_up_to: 4, ..Stage::new("fetch", Picos(US)) };
    let mut stages = Stages::new(&[skip], 1);
    assert_eq!([stages.pass(0, Picos(3), 4), stages.pass(0, Picos(3), 5)], [Picos(3), Picos(US + 3)]);
}

const PACKETS: Model = Model::Packets(PacketModel {
    bytes: 1_000,
    switching: crate::packet::Switching::StoreAndForward,
    buffer: None,
    full: crate::packet::ports::Full::Drop,
    discipline: crate::packet::ports::Discipline::Fifo,
    mark_above: None,
});

/// Hosts at one switch, with links far faster than a bus of 1 byte per nanosecond.
fn star(host: Host, model: Model, messages: Vec<(u32, Sent)>) -> Network {
    let class = LinkClass {
        name: "link".to_owned(),
        rate: Rate::mbit(8_000_000),
        delay: Picos::ZERO,
        wire: Wire::default(),
    };
    Network {
        shape: Shape::Star { hosts: 3 },
        host_link: class.clone(),
        cable: class,
        load: Load::Recorded(Arc::new(Recording::new(messages))),
        window: (Picos::ZERO, Picos::from_millis(10)),
        host_time: Picos::ZERO,
        host: Some(host),
        model,
        subqueue: Subqueue::Message,
        routing: crate::routing::Routing::default(),
    }
}

fn host(shared: bool) -> Host {
    let rate = TokenRate::constant(Rate::mbit(8_000));
    let stage = |name, us| Stage::new(name, Picos(us * US));
    Host {
        send: vec![stage("post", 2), stage("doorbell", 1)],
        bus: Bus { out: rate, into: rate, shared },
        receive: vec![stage("reap", 4)],
    }
}

fn run(network: &Network) -> (Outcome, Vec<(u64, Picos)>) {
    let mut simulation = set_up(network, Seed(1)).unwrap();
    let mut times = Vec::new();
    while simulation.step(|message, latency| times.push((message.number, latency))) {}
    times.sort_unstable();
    (simulation.outcome(), times)
}

/// Two messages out of one host and one into it: stages queue, buses are shared if they are one.
#[test]
fn messages_share_the_stages_and_the_bus_of_their_host() {
    let sent = |at: u64, to, bytes| Sent { at: Picos(at), to, bytes };
    let (quick, long) = (sent(US, 1, 1_000), 100_000);
    // Two messages at once: the second starts a `post` later.
    let two = vec![(0, quick), (0, sent(US, 2, 1_000))];
    for model in [Model::Fluid(Sharing::MinShare), PACKETS] {
        let (outcome, times) = run(&star(host(false), model, two.clone()));
        // 3 us of sending, 1 us on each bus (as fluid both at once), 4 us of receiving.
        let [first, second] = [times[0].1, times[1].1];
        let alone = if model.is_packets() { 9 } else { 8 };
        assert!(first.0.abs_diff(alone * US) < 10_000, "{model:?}: {first}");
        assert!(second.0.abs_diff((alone + 2) * US) < 10_000, "{model:?}: {second}");
        let waits: Vec<f64> = outcome.stages.iter().map(StageUse::mean_wait_us).collect();
        assert_eq!((outcome.stages.len(), waits), (3, vec![1.0, 0.0, 0.0]), "{model:?}");
    }
    // 100 us out of host 0 and 100 us into it at the same time: twice as long on a shared bus.
    let both = vec![(0, sent(US, 1, long)), (2, sent(US, 0, long))];
    for (shared, us) in [(false, 107.0), (true, 207.0)] {
        let (_, times) = run(&star(host(shared), Model::Fluid(Sharing::MinShare), both.clone()));
        assert!((times[0].1.as_micros() - us).abs() < 0.1, "shared {shared}: {times:?}");
    }
}

/// Everything that is sent arrives once, in the order of each host, and no sooner than alone.
#[test]
fn nothing_is_lost_between_stages_and_links() {
    let mut sources = Sources::new(Gaps::Poisson(Picos(4 * US)), 3, Seed(9));
    let mut messages = Vec::new();
    for source in 0..3 {
        let mut at = sources.first(source, Picos::ZERO);
        while at < Picos::from_millis(9) {
            messages.push((source, Sent { at, to: (source + 1) % 3, bytes: 900 }));
            at = sources.next(source, at);
        }
    }
    let count = messages.len() as u64;
    for model in [Model::Fluid(Sharing::MaxMin), Model::HopByHop { buffer: None }, PACKETS] {
        let network = star(host(true), model, messages.clone());
        let (outcome, times) = run(&network);
        let numbers: Vec<u64> = times.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{model:?}");
        assert!(times.iter().all(|(_, latency)| latency.0 >= 7 * US + 900_000), "{model:?}");
        assert!(outcome.stages.iter().all(|stage| stage.messages == count), "{:?}", outcome.stages);
        assert_eq!(run(&network).0.digest, outcome.digest);
    }
}

#[test]
fn named_hosts_are_as_fast_as_their_sources_say() {
    // Sums without bytes, in microseconds, and millions of messages per second.
    for (name, us, millions) in [
        ("via-clan", 23.02..23.03, 0.19..0.2),
        ("gigabit-ethernet", 20.0..30.0, 0.1..0.2),
        ("10-gigabit-ethernet", 10.0..20.0, 0.2..0.3),
        ("25-gigabit-ethernet", 6.0..12.0, 0.4..0.6),
        ("40-gigabit-ethernet", 1.2..2.0, 15.0..40.0),
        ("100-gigabit-ethernet", 0.9..1.5, 15.0..25.0),
        ("200-gigabit-ethernet", 0.8..1.2, 15.0..25.0),
        ("400-gigabit-ethernet", 0.7..1.1, 15.0..25.0),
    ] {
        let host = Profile::named(name).unwrap().host();
        let sum = host.constant(64).as_micros();
        let slowest = host.slowest().into_iter().max().unwrap();
        assert!(us.contains(&sum), "{name}: {sum} us");
        assert!(millions.contains(&(1.0 / slowest.as_micros())), "{name}: {slowest}");
    }
    assert!(Profile::named("token-ring").is_none());
}
