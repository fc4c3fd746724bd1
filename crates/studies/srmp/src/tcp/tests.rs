//! Two ends and a line.

use std::time::Duration;

use base::{Moment, Seed};
use wan::{LineSpec, Loss, Share, Verdict};

use super::{Config, Control, Segment, Tcp};

/// Two ends with a line in each direction. Only the line from `a` loses segments.
struct World {
    now: Moment,
    a: Tcp,
    b: Tcp,
    there: wan::Line<Segment>,
    back: wan::Line<Segment>,
    /// Octets on the wire from `a`.
    bytes: u64,
}

impl World {
    fn new(config: Config, line: LineSpec, seed: u64) -> Self {
        let back = LineSpec { delay: line.delay, ..LineSpec::default() };
        Self {
            now: Moment::ZERO,
            a: Tcp::new(config),
            b: Tcp::new(config),
            there: wan::Line::new(line, Seed(seed)),
            back: wan::Line::new(back, Seed(seed)),
            bytes: 0,
        }
    }

    fn send(&mut self) {
        while let Some(segment) = self.a.poll_transmit(self.now) {
            self.bytes += segment.wire_bytes() as u64;
            let _: Verdict = self.there.offer(self.now, segment, segment.wire_bytes());
        }
        while let Some(segment) = self.b.poll_transmit(self.now) {
            let _: Verdict = self.back.offer(self.now, segment, segment.wire_bytes());
        }
    }

    /// Runs until `until`, or until no event is left.
    fn run(&mut self, until: Moment) {
        self.send();
        loop {
            let ends = [self.a.poll_timeout(), self.b.poll_timeout()];
            let lines = [self.there.poll_timeout(), self.back.poll_timeout()];
            let Some(at) = ends.into_iter().chain(lines).flatten().min().filter(|at| *at <= until) else {
                self.now = if until == Moment::MAX { self.now } else { until };
                return;
            };
            self.now = self.now.max(at);
            while let Some(segment) = self.there.poll(self.now) {
                self.b.handle_segment(self.now, &segment);
            }
            while let Some(segment) = self.back.poll(self.now) {
                self.a.handle_segment(self.now, &segment);
            }
            for end in [&mut self.a, &mut self.b] {
                if end.poll_timeout().is_some_and(|due| due <= self.now) {
                    end.handle_timeout(self.now);
                }
            }
            self.send();
        }
    }
}

fn line(millis: u64, loss: f64) -> LineSpec {
    let loss = Loss::Bernoulli(Share::from_f64(loss).unwrap());
    LineSpec { delay: Duration::from_millis(millis), loss, ..LineSpec::default() }
}

fn all() -> [Config; 4] {
    let nagle = |config| Config { nodelay: false, ..config };
    [Config::MODERN, Config::CLASSIC, nagle(Config::MODERN), nagle(Config::CLASSIC)]
}

#[test]
fn every_octet_arrives_whatever_is_lost() {
    for config in all() {
        for (seed, loss) in [(1, 0.0), (2, 0.05), (3, 0.3), (4, 0.6)] {
            let mut world = World::new(config, line(50, loss), seed);
            let mut written = 0;
            for message in 0..200u64 {
                world.a.write(250);
                written += 250;
                world.run(Moment::from_millis(24 * (message + 1)));
            }
            world.run(Moment::MAX);
            assert_eq!(world.b.delivered(), written, "{config:?} {loss}");
            assert_eq!((world.a.backlog(), world.a.poll_timeout()), (0, None), "{config:?} {loss}");
        }
    }
}

#[test]
fn one_lost_segment_holds_up_what_comes_after_it() {
    let mut world = World::new(Config::MODERN, line(50, 0.0), 1);
    world.a.write(250);
    world.run(Moment::from_millis(200)); // the round-trip time is known, in part that of a delayed acknowledgement
    world.a.write(250);
    let lost = world.a.poll_transmit(world.now).unwrap();
    assert_eq!((lost.seq, lost.len), (250, 250));
    for wait in [24, 48, 72] {
        world.a.write(250);
        world.run(Moment::from_millis(200 + wait));
    }
    world.run(Moment::from_millis(290));
    assert_eq!(world.b.delivered(), 250, "three are there, and wait");
    assert!(world.b.has(500, 1_000) && !world.b.has(250, 500));
    world.run(Moment::from_millis(450));
    assert_eq!(world.b.delivered(), 1_250);
    assert_eq!((world.a.stats().again, world.a.stats().timeouts), (1, 0));
}

#[test]
fn a_lost_tail_takes_a_probe_or_the_timer() {
    for (config, at_most, timeouts) in [(Config::MODERN, 700, 0), (Config::CLASSIC, 1_500, 1)] {
        let mut world = World::new(config, line(50, 0.0), 1);
        world.a.write(250);
        world.run(Moment::from_millis(200));
        world.a.write(250);
        assert!(world.a.poll_transmit(world.now).is_some(), "lost");
        world.run(Moment::from_millis(200 + at_most));
        assert_eq!((world.b.delivered(), world.a.stats().timeouts), (500, timeouts), "{config:?}");
    }
}

/// After a timeout the window must grow while lost segments are still being retransmitted.
/// Otherwise a stream of small messages never catches up.
#[test]
fn a_stream_of_messages_catches_up_after_timeouts() {
    for (seed, config) in (1..).zip([Config::MODERN, Config::CLASSIC, Config::CLASSIC, Config::CLASSIC]) {
        let mut world = World::new(config, line(50, 0.01), seed);
        let mut backlog_max = 0;
        for message in 0..12_500u64 {
            world.a.write(250);
            world.run(Moment::from_millis(24 * (message + 1)));
            backlog_max = backlog_max.max(world.a.backlog());
        }
        // Converts the backlog to seconds of traffic, at 83 kbit/s.
        let seconds = backlog_max as f64 * 8.0 / 83_333.0;
        assert!(seconds < 8.0, "{config:?}: {seconds} s, {:?}", world.a.stats());
    }
}

#[test]
fn nagle_sends_fewer_and_longer_segments() {
    let sent = |nodelay| {
        let mut world = World::new(Config { nodelay, ..Config::MODERN }, line(50, 0.0), 1);
        for message in 0..400u64 {
            world.a.write(250);
            world.run(Moment::from_millis(10 * (message + 1)));
        }
        world.run(Moment::MAX);
        (world.a.stats().segments, world.bytes)
    };
    let (at_once, held) = (sent(true), sent(false));
    assert_eq!(at_once, (400, 400 * 302));
    assert!(held.0 < 120 && held.1 < at_once.1 * 9 / 10, "{held:?}");
}

/// Within a quarter of the square-root formula for small losses (Mathis, Semke, Mahdavi, Ott 1997):
/// sqrt(3 / (2 b p)) segments per round trip, where b is the number of segments per
/// acknowledgement.
#[test]
fn reno_has_the_rate_of_the_formula() {
    for (seed, loss) in [(1, 0.001), (2, 0.004), (3, 0.01)] {
        let config = Config { control: Control::NewReno, ..Config::MODERN };
        let mut world = World::new(config, line(50, loss), seed);
        world.a.write(1 << 40);
        world.run(Moment::from_secs(600));
        let rate = world.b.delivered() as f64 / 1_448.0 / 6_000.0;
        // The window counts each acknowledged segment, as RFC 3465 allows: b is 1.
        let expected = (1.5 / loss).sqrt();
        assert!(
            (rate / expected - 1.0).abs() < 0.25,
            "{loss}: {rate} segments per round trip, not {expected}"
        );
    }
}

#[test]
fn cubic_is_no_slower_than_reno_and_fills_a_line() {
    let run = |control| {
        let spec = LineSpec { rate: Some(10_000_000), queue: Some(60_000), ..line(40, 0.0) };
        let mut world = World::new(Config { control, ..Config::MODERN }, spec, 1);
        world.a.write(1 << 40);
        world.run(Moment::from_secs(60));
        world.b.delivered() as f64 * 8.0 / 60.0 / 10e6
    };
    let (reno, cubic) = (run(Control::NewReno), run(Control::Cubic));
    assert!(reno > 0.65 && cubic > 0.75 && cubic >= reno, "{reno} {cubic} of the line");
}
