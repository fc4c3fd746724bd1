//! Sender and receivers of congestion control against each other, over lines that lose and queue.
//! Every run is deterministic.

mod rate_world;

use rate_world::line::{Line, Losses};
use rate_world::{BYTES, World, rate};
use srmp::model::Profile;
use srmp::rate::{Config, throughput};
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The rate of the equation for the bundles of this world.
fn equation(rtt: Duration, p: f64) -> f64 {
    throughput(BYTES as f64, rtt, p).bits_per_second()
}

fn assert_within(share: f64, actual: f64, expected: f64, happening: &str) {
    let off = actual / expected - 1.0;
    assert!(off.abs() <= share, "{happening}: {actual:.0} is {:.1} % off {expected:.0}", 100.0 * off);
}

#[test]
fn the_rate_is_that_of_the_equation_under_static_loss() {
    for config in [Config::new(Profile::V3), Config::strict(Profile::V3), Config::new(Profile::V2)] {
        for (every, one_way) in [(20, 50), (50, 50), (100, 20), (20, 10)] {
            let mut world = World::new(&config, vec![(ms(one_way), Losses::every(every))]);
            world.run(secs(60));
            let mean = world.run(secs(120));
            let expected = equation(ms(2 * one_way), 1.0 / every as f64);
            assert_within(0.2, mean, expected, &format!("1 of {every}, {one_way} ms"));
        }
    }
}

#[test]
fn the_rate_is_that_of_the_equation_under_random_loss() {
    for (p, seed) in [(0.01, 1), (0.02, 2), (0.05, 3), (0.1, 4)] {
        let mut world = World::v3(vec![(ms(50), Losses::random(p, seed))]);
        world.run(secs(60));
        let mean = world.run(secs(600));
        // Further losses within a round-trip time of the first belong to the same event.
        let per_round_trip = mean * 0.1 / (8.0 * BYTES as f64);
        let events = p / (1.0 + p * per_round_trip);
        assert_within(0.2, mean, equation(ms(100), events), &format!("{p}"));
    }
}

#[test]
fn slow_start_finds_a_rate_without_loss() {
    let mut world = World::new(
        &Config { rate_max: rate(2e6), ..Config::new(Profile::V3) },
        vec![(ms(50), Losses::None), (ms(20), Losses::None)],
    );
    world.run(secs(15));
    assert_eq!(world.rate(), 2e6);
    assert!(world.sender.is_slow_start());
}

#[test]
fn the_slowest_receiver_governs() {
    let losses = [(10, 200), (60, 100), (80, 20), (5, 50)];
    let peers = losses.iter().map(|&(one_way, every)| (ms(one_way), Losses::every(every))).collect();
    let mut world = World::v3(peers);
    world.run(secs(90));
    let mean = world.run(secs(120));
    assert_eq!(world.clr(), Some(2));
    assert_within(0.2, mean, equation(ms(160), 0.05), "the slowest of four");
}

#[test]
fn the_rate_halves_and_recovers_when_the_limiting_receiver_dies() {
    let mut world = World::v3(vec![(ms(50), Losses::every(20)), (ms(50), Losses::every(100))]);
    world.run(secs(60));
    assert_eq!(world.clr(), Some(0));
    let before = world.rate();
    world.peers[0].dead = true;
    let mut lowest = f64::INFINITY;
    for _ in 0..100 {
        world.run(ms(100));
        lowest = lowest.min(world.rate());
    }
    assert!(lowest < 0.6 * before, "it halved: {lowest} from {before}");
    assert!(lowest > 0.1 * before, "and not for ever: {lowest} from {before}");
    assert_eq!(world.clr(), Some(1));
    world.run(secs(60));
    let mean = world.run(secs(60));
    assert_within(0.2, mean, equation(ms(100), 0.01), "the one that is left");
}

#[test]
fn the_rate_follows_a_line_that_becomes_slow_and_fast_again() {
    let mut world = World::v3(vec![(ms(50), Losses::None), (ms(30), Losses::None)]);
    world.line = Some(Line::new(2e6, 30_000));
    world.run(secs(60));
    let fast = world.run(secs(30));
    assert!(fast > 1e6 && fast < 2.1e6, "{fast} of 2 Mbit/s");
    for capacity in [1e5, 2e6] {
        let now = world.now;
        world.line.iter_mut().for_each(|line| line.set_capacity(now, capacity));
        if capacity < 1e6 {
            world.run(secs(20));
            let slow = world.run(secs(40));
            assert!(slow > 4e4 && slow < 1.3e5, "{slow} of 100 kbit/s");
        }
    }
    world.run(secs(90));
    let again = world.run(secs(30));
    assert!(again > 1e6 && again < 2.1e6, "{again} of 2 Mbit/s");
}

#[test]
fn a_thousand_receivers_report_a_handful_per_round() {
    let peers = (0..1_000).map(|i| (ms(10 + i % 40), Losses::random(0.02, i))).collect();
    let config = Config { rate_max: rate(200_000.0), ..Config::new(Profile::V3) };
    let mut world = World::new(&config, peers);
    world.run(secs(20));
    let round = world.sender.rtt_max() * 4;
    world.run(secs(20));
    let (rounds, seen) = (20.0 / round.as_secs_f64(), &world.seen);
    let per_round = seen.reports as f64 / rounds;
    assert!(per_round < 20.0, "{per_round} reports per round of {round:?}, {} bundles", seen.bundles);
}

/// Compares with a *model* of TCP Reno (see `rate_world::tcp`), on one bottleneck with a drop-tail
/// queue.
///
/// Where the window of TCP is only a few packets, the model is faster than TCP, because it hardly
/// ever times out. At 1 Mbit/s and 60 ms TFMCC gets half of the model's rate.
#[test]
fn shares_a_bottleneck_with_tcp() {
    for (capacity, one_way, queue) in
        [(2e6, 40, 30), (2e6, 40, 60), (4e6, 40, 40), (4e6, 20, 30), (4e6, 20, 60), (8e6, 40, 80)]
    {
        let mut world = World::v3(vec![(ms(one_way), Losses::None)]).with_tcp(ms(2 * one_way));
        world.line = Some(Line::new(capacity, queue * (BYTES + 28)));
        world.run(secs(60));
        world.run(secs(240));
        let seen = &world.seen;
        let ratio = seen.bundles as f64 / seen.tcp_packets as f64;
        let happening = format!("{capacity} bit/s, {one_way} ms, queue of {queue}");
        assert!((0.5..=2.0).contains(&ratio), "{happening}: {ratio:.2} times TCP");
        let bits = (seen.bundles + seen.tcp_packets) as f64 * 8.0 * (BYTES + 28) as f64;
        assert_within(0.05, bits / 240.0, capacity, &happening);
    }
}
