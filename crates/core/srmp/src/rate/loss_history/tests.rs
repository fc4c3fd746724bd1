use super::*;
use proptest::prelude::*;

const RTT: Duration = Duration::from_millis(100);

/// A flow of bundles that are 10 ms apart; some of them are lost.
struct Flow {
    history: LossHistory,
    sent: u32,
    first: f64,
}

impl Flow {
    fn new(space: SeqSpace, start: u32) -> Self {
        Self { history: LossHistory::new(space), sent: start, first: 50.0 }
    }

    fn now(&self) -> Moment {
        Moment::from_millis(10 * u64::from(self.sent))
    }

    fn receive(&mut self, bundles: u32) {
        for _ in 0..bundles {
            let seq = self.history.space.next(Seq(self.sent & self.history.space.max().0));
            let now = self.now();
            let first = self.first;
            self.history.arrive(now, seq, RTT, || first);
            self.sent += 1;
        }
    }

    fn lose(&mut self, bundles: u32) {
        self.sent += bundles;
    }

    fn intervals(&self) -> Vec<f64> {
        self.history.events.iter().map(|event| event.interval).collect()
    }
}

#[test]
fn a_bundle_is_lost_when_three_later_ones_came() {
    let mut flow = Flow::new(SeqSpace::V2, 65_500);
    flow.receive(40);
    flow.lose(1);
    flow.receive(2);
    assert!(!flow.history.has_loss());
    assert_eq!(flow.history.loss_event_rate(), 0.0);
    flow.receive(1);
    assert_eq!(flow.history.loss_event_rate(), 1.0 / 50.0, "the guess of the first loss");
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    let mut flow = Flow::new(SeqSpace::V3, 0);
    flow.receive(10);
    for _ in 0..3 {
        flow.lose(2);
        flow.receive(1);
    }
    flow.receive(30);
    assert_eq!(flow.intervals(), [50.0]);
    // Thirty bundles take 300 ms: events that are 11 bundles apart are more than one round trip
    // apart.
    flow.lose(30);
    flow.receive(3);
    assert_eq!(flow.intervals(), [11.0, 11.0, 39.0, 50.0]);
}

#[test]
fn a_late_bundle_repairs_the_record() {
    let mut flow = Flow::new(SeqSpace::V3, 0);
    flow.receive(100);
    flow.lose(1);
    flow.receive(50);
    flow.lose(1);
    flow.receive(50);
    assert_eq!(flow.intervals(), [51.0, 50.0]);
    let now = flow.now();
    // Number 101 was the first loss. The second becomes the first and takes over the estimate.
    assert_eq!(flow.history.arrive(now, Seq(101), RTT, || 1.0), Observation::Late);
    assert_eq!(flow.intervals(), [50.0]);
    assert_eq!(flow.history.arrive(now, Seq(152), RTT, || 1.0), Observation::Late);
    assert!(!flow.history.has_loss());
    assert_eq!(flow.history.arrive(now, Seq(152), RTT, || 1.0), Observation::Duplicate);
}

#[test]
fn a_gap_that_fills_is_no_loss() {
    let mut flow = Flow::new(SeqSpace::V2, 0);
    flow.receive(10);
    let now = flow.now();
    let history = &mut flow.history;
    for (number, observation) in [
        (14, Observation::Ahead),
        (12, Observation::Late),
        (12, Observation::Duplicate),
        (11, Observation::Late),
        (13, Observation::Late),
        (15, Observation::Next),
        (16, Observation::Next),
        (17, Observation::Next),
    ] {
        assert_eq!(history.arrive(now, Seq(number), RTT, || 1.0), observation, "{number}");
    }
    assert!(!history.has_loss());
}

#[test]
fn intervals_are_weighted_and_a_long_quiet_time_counts_at_once() {
    let mut flow = Flow::new(SeqSpace::V3, 0);
    flow.receive(20);
    for _ in 0..12 {
        flow.lose(1);
        flow.receive(99);
    }
    let steady = flow.history.mean_interval().expect("losses");
    assert!((steady - 100.0).abs() < 1e-9, "{steady}");
    flow.receive(900);
    let quiet = flow.history.mean_interval().expect("losses");
    // Without discounting: (999 + 5 * 100) / 6 = 249.8.
    assert!(quiet > 300.0 && quiet < 999.0, "{quiet}");
    // The next loss makes the discount permanent.
    flow.lose(1);
    flow.receive(99);
    let after = flow.history.mean_interval().expect("losses");
    assert!(after > 250.0 && after < quiet + 1.0, "{after}");
}

#[test]
fn the_guess_is_corrected_once_and_only_while_it_counts() {
    let mut flow = Flow::new(SeqSpace::V3, 0);
    flow.receive(20);
    flow.lose(1);
    flow.receive(9);
    assert!(flow.history.rescale_guess(0.5));
    assert_eq!(flow.intervals(), [12.5]);
    assert!(!flow.history.rescale_guess(0.5));
    for _ in 0..INTERVALS {
        flow.receive(20);
        flow.lose(1);
    }
    flow.receive(20);
    assert_eq!(flow.intervals().len(), INTERVALS);
    assert!(!flow.history.guessed);
}

#[test]
fn a_jump_starts_anew() {
    let mut flow = Flow::new(SeqSpace::V2, 100);
    flow.receive(20);
    flow.lose(1);
    flow.receive(20);
    assert!(flow.history.has_loss());
    let now = flow.now();
    assert_eq!(flow.history.arrive(now, Seq(30_000), RTT, || 1.0), Observation::Restart);
    assert!(!flow.history.has_loss());
    assert!(flow.history.is_next(Seq(30_001)));
}

proptest! {
    /// For numbers in any order, with duplicates and jumps, the rate is from 0 to 1 and the state
    /// bounded.
    #[test]
    fn any_numbers_leave_a_bounded_record(
        steps in prop::collection::vec((-40i64..3_000, 0u64..50_000, 1u64..300), 0..400),
        wide: bool,
        first in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), 0.0..1e6f64],
    ) {
        let space = if wide { SeqSpace::V3 } else { SeqSpace::V2 };
        let mut history = LossHistory::new(space);
        let (mut now, mut seq) = (Moment::ZERO, 5i64);
        for (step, micros, rtt) in steps {
            now += Duration::from_micros(micros);
            // Most steps are small.
            seq += if step > 100 && step < 2_900 { 1 } else { step };
            let number = Seq(seq as u32 & space.max().0);
            history.arrive(now, number, Duration::from_millis(rtt), || first);
            let p = history.loss_event_rate();
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
            prop_assert!(history.events.len() <= INTERVALS && history.gaps.len() <= 3);
        }
    }

    /// Losses that are at least one round trip apart make one event each, also where the numbers
    /// wrap.
    #[test]
    fn spaced_losses_are_counted_exactly(start in 65_000u32..66_000, gap in 12u32..200) {
        let mut flow = Flow::new(SeqSpace::V2, start);
        flow.receive(gap);
        for _ in 0..20 {
            flow.lose(1);
            flow.receive(gap - 1);
        }
        let mean = flow.history.closed_mean().expect("losses");
        prop_assert!((mean - f64::from(gap)).abs() < 1e-9, "{mean}");
    }
}
