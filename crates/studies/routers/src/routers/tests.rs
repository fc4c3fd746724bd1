//! Compares router networks with closed forms.

use super::message::frame_bytes;
use super::*;
use netsim::cluster::{Cost, Framing};

const EXCHANGES: u32 = 20;

fn hardware() -> Hardware {
    let cost = Cost { per_message: Duration::from_micros(15), per_byte_ps: 1_000 };
    let host = HostSpec { receive: cost, send: cost };
    Hardware {
        ethernet: Ethernet::GIGABIT,
        router: host,
        federate: host,
        memory_pipe: Duration::from_micros(1),
        pipe: PipeConfig::default(),
    }
}

fn plan(shape: Shape, hops: usize, pairs: usize, size: usize) -> Run {
    Run {
        shape,
        layout: Layout { fan_outs: vec![2, 2, 4], federates_per_leaf: 6 },
        hardware: hardware(),
        hops,
        pairs,
        sizes: vec![size],
        exchanges: EXCHANGES,
        look: Duration::ZERO,
        piece_bytes_max: usize::MAX,
        start: Start { spread: Duration::from_millis(1), ..Start::default() },
        seed: Seed(1),
    }
}

/// Time of one crossing of one link, from the sender's processor to the receiver's.
fn crossing(size: usize) -> Duration {
    let (hardware, bytes) = (hardware(), frame_bytes(size));
    let Ethernet { propagation, forwarding, interrupt, framing, .. } = hardware.ethernet;
    let wire = framing.wire_bytes(bytes) + framing.first_packet_bytes(bytes);
    let on_wire = Duration::from_nanos(wire as u64 * 8);
    hardware.router.send.of(bytes)
        + on_wire
        + propagation * 2
        + forwarding
        + interrupt
        + hardware.router.receive.of(bytes)
}

#[test]
fn messages_cross_as_many_links_as_the_paper_says() {
    // Table 1 of the paper.
    for (shape, links) in [(Shape::Tree, [2, 4, 6, 8]), (Shape::Mesh, [2, 3, 3, 3])] {
        for (hops, links) in links.into_iter().enumerate() {
            let outcome = run(&Run { exchanges: 1, ..plan(shape, hops, 48, 100) }).unwrap();
            assert_eq!(outcome.links, links, "{shape:?} {hops}");
        }
    }
}

/// Two uniform waits, one at each partner: their mean is `look`, their variance `look` squared / 6.
#[test]
fn federates_that_look_now_and_then_add_two_uniform_waits() {
    let look = Duration::from_millis(1);
    let plan = Run { exchanges: 4_000, look, ..plan(Shape::Tree, 2, 1, 1_000) };
    let outcome = run(&plan).unwrap();
    let alone = crossing(1_000) * 2 * u32::from(outcome.links);
    let waits = (outcome.means[0][0] - alone).as_secs_f64() / look.as_secs_f64();
    let spread = outcome.spreads[0][0].as_secs_f64() / look.as_secs_f64();
    // Four standard errors of a mean of 4,000; the standard deviation itself to 5 %.
    assert!((waits - 1.0).abs() < 4.0 * 0.408 / 4_000f64.sqrt(), "{waits}");
    assert!((spread / (1.0f64 / 6.0).sqrt() - 1.0).abs() < 0.05, "{spread}");
    let at_once = run(&Run { look: Duration::ZERO, exchanges: 50, ..plan }).unwrap();
    assert!(at_once.spreads[0][0] < Duration::from_nanos(50), "{:?}", at_once.spreads);
}

/// Pieces follow each other as in a pipeline: the first takes the time of its whole path, and each
/// other one the time of the slowest part, here the wire.
#[test]
fn pieces_of_a_message_are_under_way_at_the_same_time() {
    const PIECE: usize = 8_192;
    const PIECES: u32 = 40;
    for (shape, hops) in [(Shape::Tree, 0), (Shape::Tree, 3), (Shape::Mesh, 3)] {
        let mut plan = Run { piece_bytes_max: PIECE, ..plan(shape, hops, 1, PIECE * PIECES as usize) };
        plan.hardware.pipe.frame_bytes_max = frame_bytes(PIECE);
        let outcome = run(&plan).unwrap();
        let wire = plan.hardware.ethernet.framing.wire_bytes(frame_bytes(PIECE)) as u64 * 8;
        let first = crossing(PIECE) * u32::from(outcome.links);
        let expected = (first + Duration::from_nanos(wire) * (PIECES - 1)) * 2;
        let got = outcome.means[0][0];
        // A sender has sent its first pieces before the last, and routers take and send in turn.
        let off = got.as_secs_f64() / expected.as_secs_f64() - 1.0;
        assert!(off.abs() < 0.03, "{shape:?} {hops}: {got:?} {expected:?}");
    }
}

#[test]
fn a_pair_by_itself_takes_the_sum_of_its_parts() {
    for shape in [Shape::Tree, Shape::Mesh] {
        for hops in 0..4 {
            for size in [1, 1_000, 8_192] {
                let outcome = run(&plan(shape, hops, 1, size)).unwrap();
                // Up to the PopUp and down from the PullDown, in each direction.
                let pipes = if shape == Shape::Mesh && hops > 0 { 4 } else { 0 };
                let expected = crossing(size) * 2 * u32::from(outcome.links) + Duration::from_micros(pipes);
                let got = outcome.means[0][0];
                // Times on the wire are rounded up, by less than a nanosecond at each port.
                assert!(
                    got.abs_diff(expected) < Duration::from_nanos(50),
                    "{shape:?} {hops} {size}: {got:?} {expected:?}"
                );
            }
        }
    }
}

#[test]
fn the_root_bounds_what_a_full_tree_can_do() {
    let size = 8_192;
    let outcome = run(&plan(Shape::Tree, 3, 48, size)).unwrap();
    // Each exchange crosses the root twice, and its 1 Gbit/s link each time: 96 crossings for all
    // pairs.
    let wire = Duration::from_nanos(Framing::TCP.wire_bytes(frame_bytes(size)) as u64 * 8);
    let mean: Duration = outcome.means.iter().map(|means| means[0]).sum::<Duration>() / 48;
    let bound = wire * 96;
    assert!(bound.mul_f64(0.95) < mean && mean < bound.mul_f64(1.05), "{mean:?} {bound:?}");
    assert!(outcome.busiest.part.starts_with("root router"), "{:?}", outcome.busiest);
    assert!((0.95..=1.0).contains(&outcome.busiest.utilisation), "{:?}", outcome.busiest);
}

#[test]
fn pairs_start_in_turn_and_some_leaves_late() {
    let ms = Duration::from_millis;
    let start = Start { interval: ms(1), late_leaf_in: 4, late_by: ms(100), ..Start::default() };
    let run = Run { start, ..plan(Shape::Tree, 3, 48, 1) };
    let starts = starts(&run, &run.layout.pairs(3).unwrap());
    let late: Vec<bool> =
        starts.iter().enumerate().map(|(pair, start)| *start - WARM > ms(pair as u64)).collect();
    let expected: Vec<bool> = (0..48).map(|pair| pair / 6 % 4 == 3).collect();
    assert_eq!(late, expected, "the pairs of leaf routers 3 and 7");
    assert_eq!(starts[47], WARM + ms(147));
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let of = |seed| run(&Run { seed: Seed(seed), ..plan(Shape::Mesh, 2, 48, 1_000) }).unwrap();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).digest, of(2).digest);
}

#[test]
fn impossible_settings_are_refused_with_the_reason() {
    let say = |run_: Run| run(&run_).unwrap_err().to_string();
    let good = || plan(Shape::Tree, 0, 48, 1);
    assert_eq!(say(Run { sizes: vec![], ..good() }), "the number of sizes must be from 1 to 64, not 0");
    assert_eq!(say(Run { sizes: vec![0], ..good() }), "a size in bytes must be from 1 to 1048576, not 0");
    assert_eq!(
        say(Run { exchanges: 0, ..good() }),
        "the number of exchanges must be from 1 to 1000000, not 0"
    );
    assert_eq!(say(Run { pairs: 0, ..good() }), "the number of pairs must be from 1 to 48, not 0");
    let mut slow = good();
    slow.hardware.ethernet.rate = 1;
    assert!(say(slow).contains("interest did not get there"));
}
