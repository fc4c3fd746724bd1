//! Programs in closed form, and programs that cannot run.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use base::Seed;

use super::*;
use crate::fluid::Sharing;
use crate::fluid::lanes::Subqueue;
use crate::packet::ports::Full;
use crate::simulation::{Model, Outcome, PacketModel};
use crate::study::network::{Load, Network, NetworkError, set_up};
use crate::topology::{LinkClass, Shape, Torus, Wire};
use crate::units::{Picos, Rate};

/// Constant time of a message: 7 us in hosts, and two links of 1 us.
const ALPHA_US: u64 = 9;
/// Rate of all links: 100 bytes/us.
const BYTES_PER_US: u64 = 100;

fn class(mbit: u64) -> LinkClass {
    LinkClass {
        name: "host".to_owned(),
        rate: Rate::mbit(mbit),
        delay: Picos::from_micros(1),
        wire: Wire::default(),
    }
}

fn on(shape: Shape, model: Model, application: &Application) -> Network {
    Network {
        shape,
        host_link: class(800),
        cable: class(800),
        load: Load::Application(Arc::new(application.clone())),
        window: (Picos::from_millis(1), Picos::MAX),
        host_time: Picos::from_micros(7),
        host: None,
        model,
        subqueue: Subqueue::Flow,
        routing: crate::routing::Routing::default(),
    }
}

fn run(network: &Network) -> Outcome {
    let mut simulation = set_up(network, Seed(1)).unwrap();
    while simulation.step(|_, _| {}) {}
    simulation.outcome()
}

fn one(hosts: u32, iterations: u32, phases: Vec<Phase>) -> Application {
    let program = Program { name: "all".to_owned(), hosts: (0..hosts).collect(), phases };
    Application { programs: vec![program], iterations, warm_up: 0 }
}

fn compute(us: u64) -> Phase {
    Phase::Compute(Span::Constant(Picos::from_micros(us)))
}

fn send(to: Peers, bytes: u64) -> Phase {
    Phase::Send { to, bytes, tag: String::new() }
}

fn wait(from: Peers) -> Phase {
    Phase::Wait { from, tag: String::new(), behind: 0 }
}

/// The longest iteration on a star, in us.
fn longest_us(hosts: u32, model: Model, phases: Vec<Phase>) -> f64 {
    let outcome = run(&on(Shape::Star { hosts }, model, &one(hosts, 1, phases)));
    let results = outcome.application.unwrap();
    assert_eq!((results.iterations, results.stalled.len()), ((u64::from(hosts), u64::from(hosts)), 0));
    results.total.as_micros()
}

const FLUIDS: [Model; 2] = [Model::Fluid(Sharing::MinShare), Model::Fluid(Sharing::MaxMin)];

/// Each collective alone takes its number of steps, each with a constant and the time of its bytes
/// (Thakur, Rabenseifner and Gropp 2005), since no two messages share a link.
#[test]
fn collectives_take_the_time_of_their_steps() {
    for model in FLUIDS {
        for hosts in [2_u64, 3, 4, 7, 8, 16] {
            let steps = |count: u64, bytes: u64| (count * (ALPHA_US + bytes / BYTES_PER_US)) as f64;
            let bytes = 100 * BYTES_PER_US * hosts;
            let rounds = u64::from(hosts.next_power_of_two().trailing_zeros());
            let doublings = u64::from(hosts.ilog2()) + 2 * u64::from(!hosts.is_power_of_two());
            for (collective, expected) in [
                (Collective::Barrier { bytes: 1_000 }, steps(rounds, 1_000)),
                (Collective::RingAllReduce { bytes }, steps(2 * (hosts - 1), bytes / hosts)),
                (Collective::DoublingAllReduce { bytes }, steps(doublings, bytes)),
                (Collective::PairwiseAllToAll { bytes }, steps(hosts - 1, bytes)),
                (Collective::Broadcast { root: 1, bytes }, steps(rounds, bytes)),
                // All messages of a host share its link.
                (Collective::DirectAllToAll { bytes: 1_000 }, steps(1, (hosts - 1) * 1_000)),
            ] {
                let took = longest_us(hosts as u32, model, vec![Phase::Collective(collective)]);
                // Hosts without a neighbour to represent begin the rounds at once, and meet the data
                // of the others on a link.
                let meets =
                    matches!(collective, Collective::DoublingAllReduce { .. }) && !hosts.is_power_of_two();
                let close = (took - expected).abs() < 1e-3 * expected || (meets && took > expected);
                assert!(close, "{hosts} hosts, {collective:?}, {model:?}: {took}, expected {expected}");
            }
        }
    }
}

/// Compute, swap borders with four neighbours, wait: the four messages share the host's link.
#[test]
fn a_stencil_without_contention_is_the_sum_of_its_parts() {
    let grid = || Peers::Grid { sides: vec![4, 4], wraps: true };
    let application = one(16, 10, vec![compute(50), send(grid(), 1_000), wait(grid())]);
    let shape = Shape::Torus(Torus { sides: vec![4, 4], hosts_per_switch: 1, wraps: true });
    for model in FLUIDS {
        let outcome = run(&on(shape.clone(), model, &application));
        let results = outcome.application.unwrap();
        let all = &results.programs[0];
        // Three links: one more than on a star.
        let expected = 50 + ALPHA_US + 1 + 4 * 1_000 / BYTES_PER_US;
        assert_eq!(all.iteration.summary.count(), 160);
        assert!((all.iteration.summary.mean_us() - expected as f64).abs() < 0.01);
        assert_eq!(all.iteration.summary.std_us(), 0.0);
        assert!((all.compute_share() - 50.0 / expected as f64).abs() < 1e-4);
        assert!((results.total.as_micros() - 10.0 * expected as f64).abs() < 0.1);
        assert_eq!(outcome.until, Picos::from_millis(1) + results.total, "the run ends with the programs");
        assert_eq!(outcome.latency.summary.count(), 16 * 4 * 10);
    }
}

#[test]
fn packets_and_queues_at_links_run_programs_too() {
    let bytes = 8_000;
    for (model, of_a_step) in [
        // The last packet of 500 bytes crosses one more link than it is behind.
        (Model::Packets(PacketModel::new(500)), 10 + 5),
        (Model::StoreAndForward, 20),
        (Model::HopByHop { buffer: None }, 10),
    ] {
        let took = longest_us(8, model, vec![Phase::Collective(Collective::RingAllReduce { bytes })]);
        let expected = (14 * (ALPHA_US + of_a_step)) as f64;
        assert!((took - expected).abs() < 0.01, "{model:?}: {took}, expected {expected}");
    }
}

/// The slower of two hosts sets the pace, and the other one waits for the difference.
#[test]
fn a_slow_host_holds_up_those_that_wait_for_it() {
    let fast = Program {
        name: "fast".to_owned(),
        hosts: vec![0],
        phases: vec![compute(10), send(Peers::Program("slow".to_owned()), 100), wait(Peers::Hosts(vec![1]))],
    };
    let slow = Program {
        name: "slow".to_owned(),
        hosts: vec![1],
        phases: vec![compute(90), send(Peers::Hosts(vec![0]), 100), wait(Peers::Program("fast".to_owned()))],
    };
    let application = Application { programs: vec![fast, slow], iterations: 20, warm_up: 5 };
    let results = run(&on(Shape::Star { hosts: 2 }, FLUIDS[0], &application)).application.unwrap();
    let [fast, slow] = &results.programs[..] else { panic!("there are two") };
    // The fast one waits for the message of the slow one, which has its message when it sends.
    let round = |mean: f64| (mean * 1e3).round() / 1e3;
    assert_eq!(round(slow.iteration.summary.mean_us()), 90.0);
    assert_eq!(round(fast.iteration.summary.mean_us()), 90.0);
    assert_eq!((fast.iteration.summary.count(), slow.iteration.summary.count()), (15, 15));
    assert!((slow.compute_share() - 1.0).abs() < 1e-6 && (fast.compute_share() - 10.0 / 90.0).abs() < 1e-6);
}

/// Hosts that may be `behind` iterations ahead of what they have heard of: with k of them, k + 1
/// iterations share the time of a message.
#[test]
fn waiting_for_earlier_iterations_hides_the_time_of_messages() {
    for behind in [0, 1, 2, 20] {
        let wait = Phase::Wait { from: Peers::Others, tag: String::new(), behind };
        let mut application = one(2, 600, vec![compute(1), send(Peers::Others, 100), wait]);
        application.warm_up = 300;
        let results = run(&on(Shape::Star { hosts: 2 }, FLUIDS[1], &application)).application.unwrap();
        let mean = results.programs[0].iteration.summary.mean_us();
        // From computing to the arrival of its message there are 11 us.
        let circle = f64::max(1.0, 11.0 / f64::from(behind + 1));
        assert!((mean - circle).abs() < 0.02, "{behind} behind: {mean}, expected {circle}");
    }
}

#[test]
fn random_times_of_computing_have_their_streams_and_their_share() {
    let phases = vec![
        Phase::Compute(Span::Exponential(Picos::from_micros(100))),
        send(Peers::Others, 100),
        wait(Peers::Others),
    ];
    let network = on(Shape::Star { hosts: 4 }, FLUIDS[1], &one(4, 2_000, phases));
    let digest = |seed| {
        let mut simulation = set_up(&network, Seed(seed)).unwrap();
        while simulation.step(|_, _| {}) {}
        let outcome = simulation.outcome();
        (outcome.digest.value(), outcome.application.unwrap().programs[0].clone())
    };
    let (first, program) = digest(1);
    assert_eq!(first, digest(1).0);
    assert_ne!(first, digest(2).0);
    // The longest of four exponential times: 100 (1 + 1/2 + 1/3 + 1/4), and a message of 3 x 1 us.
    let expected = 100.0 * 25.0 / 12.0 + 9.0 + 3.0;
    let mean = program.iteration.summary.mean_us();
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean}, expected about {expected}");
    assert!((program.compute_share() - 100.0 / mean).abs() < 0.01);
}

/// The error of these programs on eight hosts, or the number of messages in an iteration.
fn checked(programs: &[(&str, &[u32], Vec<Phase>)]) -> Result<u64, String> {
    let programs = programs.iter().map(|(name, hosts, phases)| Program {
        name: (*name).to_owned(),
        hosts: hosts.to_vec(),
        phases: phases.clone(),
    });
    let application = Application { programs: programs.collect(), iterations: 3, warm_up: 0 };
    application.check(8).map_err(|error| error.to_string())
}

#[test]
fn programs_that_would_wait_for_ever_are_refused() {
    let tagged =
        |from: u32, tag: &str| Phase::Wait { from: Peers::Hosts(vec![from]), tag: tag.to_owned(), behind: 0 };
    let to = |to: u32, tag: &str| Phase::Send { to: Peers::Hosts(vec![to]), bytes: 1, tag: tag.to_owned() };
    let shift = |by| Peers::Shift(vec![by]);
    let say = |programs: &[(&str, &[u32], Vec<Phase>)]| checked(programs).unwrap_err();
    assert_eq!(
        say(&[("a", &[0], vec![tagged(1, "x"), to(1, "y")]), ("b", &[1], vec![tagged(0, "y"), to(0, "x")])]),
        "the programs deadlock: host 0 waits in iteration 1, phase 1 of `a`, for a message `x` of host 1; host 1 waits in iteration 1, \
         phase 1 of `b`, for a message `y` of host 0"
    );
    assert_eq!(
        say(&[("a", &[0], vec![to(1, ""), tagged(1, "x")]), ("b", &[1], vec![to(0, ""), compute(1)])]),
        "the programs deadlock: host 0 waits in iteration 1, phase 2 of `a`, for a message `x` of host 1, which does not send it"
    );
    let ring = say(&[("ring", &[0, 1, 2, 3, 4, 5, 6, 7], vec![wait(shift(-1)), send(shift(1), 5)])]);
    assert!(ring.starts_with("the programs deadlock: host 0 waits in iteration 1, phase 1 of `ring`, for a message of host 7; host 7"));
    assert_eq!(
        say(&[("a", &[0], vec![to(1, "x"), to(1, "x")]), ("b", &[1], vec![tagged(0, "x")])]),
        "host 0 sends 2 messages `x` to host 1 in an iteration, which waits for 1 of them: the others would pile up"
    );
    // Messages that nobody ever waits for are discarded.
    assert_eq!(checked(&[("a", &[0], vec![to(1, "x"), to(1, "x")]), ("b", &[1], vec![compute(1)])]), Ok(2));
}

#[test]
fn phases_that_do_not_suit_their_hosts_are_refused() {
    let shift = |by| Peers::Shift(vec![by]);
    for (programs, why) in [
        (
            vec![("a", &[9][..], vec![compute(1)])],
            "program `a` runs on host 9, and there are 8 hosts, numbered from 0",
        ),
        (
            vec![("a", &[1][..], vec![compute(1)]), ("b", &[1][..], vec![compute(1)])],
            "host 1 runs both `a` and `b`: it can run one program",
        ),
        (
            vec![("a", &[1][..], vec![compute(1)])],
            "no program sends a message: the network has nothing to do",
        ),
        (vec![("a", &[][..], vec![compute(1)])], "program `a` has no hosts"),
        (vec![("a", &[1][..], vec![])], "program `a` has no phases"),
        (
            vec![("a", &[0, 1][..], vec![send(shift(2), 1)])],
            "phase 1 of program `a`: a shift of 2 leads each of the 2 hosts of `a` to itself",
        ),
        (vec![("a", &[0, 1][..], vec![send(shift(1), 0)])], "phase 1 of program `a`: the size is zero"),
        (
            vec![("a", &[0, 1][..], vec![send(Peers::Hosts(vec![5]), 1)])],
            "phase 1 of program `a`: host 5 runs no program",
        ),
        (
            vec![("a", &[0][..], vec![compute(1), send(Peers::Others, 1)])],
            "phase 2 of program `a`: `a` runs on one host, and there are no others",
        ),
        (
            vec![("a", &[0, 1][..], vec![send(Peers::Hosts(vec![1]), 1)])],
            "phase 1 of program `a`: host 1 runs `a` itself: name the others by `shift`, `grid` or \"others\"",
        ),
        (
            vec![("a", &[0, 1][..], vec![send(Peers::Program("c".to_owned()), 1)])],
            "phase 1 of program `a`: there is no program `c` (there are: a)",
        ),
        (
            vec![("a", &[0, 1][..], vec![send(Peers::Grid { sides: vec![2, 2], wraps: true }, 1)])],
            "phase 1 of program `a`: a grid of 2 by 2 has 4 hosts, and `a` runs on 2",
        ),
        (
            vec![("a", &[0][..], vec![Phase::Collective(Collective::Barrier { bytes: 1 })])],
            "phase 1 of program `a`: a collective needs at least two hosts",
        ),
        (
            vec![("a", &[0, 1][..], vec![Phase::Collective(Collective::Broadcast { root: 2, bytes: 1 })])],
            "phase 1 of program `a`: the root, host 2, does not run this program",
        ),
        (
            vec![("a", &[0, 1][..], vec![Phase::Wait { from: shift(1), tag: String::new(), behind: 65 }])],
            "phase 1 of program `a`: `behind` is 65; at most 64 iterations are possible",
        ),
    ] {
        assert_eq!(checked(&programs).unwrap_err(), why);
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    let shift = |by| Peers::Shift(vec![by]);
    let mut application = one(8, 0, vec![compute(1)]);
    assert_eq!(application.check(8).unwrap_err().to_string(), "`iterations` is 0; expected 1 to 10000000");
    application.iterations = 2;
    application.warm_up = 2;
    assert_eq!(
        application.check(8).unwrap_err().to_string(),
        "`warm_up` is 2; expected less than the 2 iterations"
    );
    let error =
        set_up(&on(Shape::Star { hosts: 4 }, FLUIDS[0], &one(8, 1, vec![send(shift(1), 1)])), Seed(1)).err();
    assert!(matches!(error, Some(NetworkError::Application(ApplicationError::NoHost { host: 4, .. }))));
    let many = one(2_300, 1, vec![send(Peers::Others, 1)]);
    let error = many.check(2_300).unwrap_err().to_string();
    assert!(error.starts_with("the number of messages in an iteration is 50"), "{error}");
}

/// Nothing is sent again, so that a lost message stops the programs; the results name both.
#[test]
fn a_lost_message_stalls_the_programs() {
    let application = one(3, 10_000, vec![send(Peers::Shift(vec![1]), 100), wait(Peers::Shift(vec![-1]))]);
    let mut network = on(Shape::Star { hosts: 3 }, Model::Packets(PacketModel::new(100)), &application);
    network.host_link.wire.loss = crate::units::parse_share("0.1%").unwrap();
    let outcome = run(&network);
    let results = outcome.application.unwrap();
    let (sender, receiver, at) = results.lost.unwrap();
    assert!((sender + 1) % 3 == receiver && at <= outcome.until && outcome.lost >= 1);
    assert!(results.iterations.0 < results.iterations.1);
    assert!(!results.stalled.is_empty() && results.stalled.iter().all(|waiting| !waiting.sender_ended));
    // Back-pressure loses nothing.
    let model = PacketModel { buffer: Some(300), full: Full::Wait, ..PacketModel::new(100) };
    let outcome = run(&on(Shape::Star { hosts: 3 }, Model::Packets(model), &application));
    assert_eq!(outcome.application.unwrap().iterations, (30_000, 30_000));
}

fn phases() -> impl Strategy<Value = Vec<Phase>> {
    let peers = || {
        prop_oneof![
            Just(Peers::Others),
            (-5_i64..6).prop_map(|shift| Peers::Shift(vec![shift])),
            Just(Peers::Grid { sides: vec![3, 2], wraps: true }),
            Just(Peers::Grid { sides: vec![2, 3], wraps: false }),
        ]
    };
    let tag = || prop_oneof![Just(String::new()), Just("x".to_owned())];
    let phase = prop_oneof![
        (0_u64..50).prop_map(compute),
        (peers(), 1_u64..5_000, tag()).prop_map(|(to, bytes, tag)| Phase::Send { to, bytes, tag }),
        (peers(), tag(), 0_u32..3).prop_map(|(from, tag, behind)| Phase::Wait { from, tag, behind }),
        (1_u64..5_000).prop_map(|bytes| Phase::Collective(Collective::Barrier { bytes })),
        (1_u64..5_000).prop_map(|bytes| Phase::Collective(Collective::RingAllReduce { bytes })),
        (1_u64..5_000).prop_map(|bytes| Phase::Collective(Collective::DoublingAllReduce { bytes })),
        (1_u64..5_000).prop_map(|bytes| Phase::Collective(Collective::PairwiseAllToAll { bytes })),
        (0_u32..6, 1_u64..500)
            .prop_map(|(root, bytes)| Phase::Collective(Collective::Broadcast { root, bytes })),
    ];
    prop::collection::vec(phase, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The check before the run is right: what it passes ends in time, with every message counted,
    /// and what it finds to deadlock does not.
    #[test]
    fn the_check_and_the_run_agree(phases in phases(), iterations in 1_u32..6, model in 0_usize..2) {
        let application = one(6, iterations, phases);
        match application.check(6) {
            Ok(_) => {
                let outcome = run(&on(Shape::Star { hosts: 6 }, FLUIDS[model], &application));
                let results = outcome.application.unwrap();
                prop_assert_eq!(results.iterations, (6 * u64::from(iterations), 6 * u64::from(iterations)));
                prop_assert!(results.stalled.is_empty());
                let mut sent = 0;
                application.each_message(6, |_| sent += 1);
                prop_assert_eq!(outcome.latency.summary.count(), sent * u64::from(iterations));
            }
            Err(ApplicationError::Deadlock(chain)) => {
                prop_assert!(!chain.is_empty());
                let is_circle = chain.last().unwrap().sender == chain[0].host;
                prop_assert!(is_circle || chain.last().unwrap().sender_ended);
            }
            Err(_) => {}
        }
    }

    /// In each step of a collective a host waits for exactly those that send to it in that step.
    #[test]
    fn collectives_send_what_is_waited_for(hosts in 2_u32..40, root in 0_u32..40, bytes in 1_u64..10_000) {
        for collective in [
            Collective::Barrier { bytes },
            Collective::Broadcast { root: root % hosts, bytes },
            Collective::RingAllReduce { bytes },
            Collective::DoublingAllReduce { bytes },
            Collective::PairwiseAllToAll { bytes },
            Collective::DirectAllToAll { bytes },
        ] {
            let all: Vec<u32> = (0..hosts).collect();
            let (mut step, mut rounds) = (Step::default(), 0);
            loop {
                let (mut sent, mut awaited, mut any) = (BTreeMap::new(), BTreeMap::new(), 0);
                for rank in 0..hosts {
                    step.sends.clear();
                    step.waits.clear();
                    any += u32::from(collective.step(rank, &all, rounds, &mut step));
                    for (to, _) in &step.sends {
                        prop_assert!(*to != rank);
                        *sent.entry((rank, *to)).or_insert(0) += 1;
                    }
                    step.waits.iter().for_each(|from| *awaited.entry((*from, rank)).or_insert(0) += 1);
                }
                prop_assert!(any == 0 || any == hosts);
                prop_assert_eq!(sent, awaited);
                if any == 0 {
                    break;
                }
                rounds += 1;
            }
            prop_assert!(rounds > 0);
        }
    }
}

/// Every host gets the data of every host: the knowledge of all spreads along the messages.
#[test]
fn collectives_reach_everybody() {
    for hosts in 2_u32..33 {
        let all: Vec<u32> = (0..hosts).collect();
        for collective in [
            Collective::Barrier { bytes: 1 },
            Collective::RingAllReduce { bytes: 1 },
            Collective::DoublingAllReduce { bytes: 1 },
            Collective::PairwiseAllToAll { bytes: 1 },
            Collective::DirectAllToAll { bytes: 1 },
            Collective::Broadcast { root: hosts / 2, bytes: 1 },
        ] {
            let mut known: Vec<BTreeSet<u32>> = all.iter().map(|host| BTreeSet::from([*host])).collect();
            let mut step = Step::default();
            for number in 0.. {
                let before = known.clone();
                let mut more = false;
                for rank in 0..hosts {
                    step.sends.clear();
                    step.waits.clear();
                    more |= collective.step(rank, &all, number, &mut step);
                    for (to, _) in &step.sends {
                        known[*to as usize].extend(&before[rank as usize]);
                    }
                }
                if !more {
                    break;
                }
            }
            let needed = match collective {
                Collective::Broadcast { root, .. } => BTreeSet::from([root]),
                _ => all.iter().copied().collect(),
            };
            assert!(known.iter().all(|known| known.is_superset(&needed)), "{hosts} {collective:?}");
        }
    }
}
