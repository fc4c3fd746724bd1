use super::*;
use crate::model::{Clock, Profile};
use proptest::prelude::*;

const ME: MemberId = MemberId(1);
const SIZE: usize = 1_000;

fn rate(bits_per_second: f64) -> Rate {
    Rate::new(bits_per_second).expect("a rate")
}

fn config() -> Config {
    Config { bundle_bytes: SIZE, ..Config::new(Profile::V3) }
}

/// A report with a round-trip time of `rtt` milliseconds.
fn report(sender: &Sender, now: Moment, receiver: u64, bits_per_second: f64, rtt: u64) -> Feedback {
    let clock = Clock::V3;
    Feedback {
        sender: ME,
        receiver: MemberId(receiver),
        round: sender.round(),
        have_rtt: true,
        have_loss: true,
        leaving: false,
        rate: rate(bits_per_second),
        echo: clock.stamp(Moment::from_nanos(now.as_nanos() - rtt * 1_000_000)),
        stamp: clock.stamp(now),
        loss_event_rate: 0.0,
        rtt: Duration::ZERO,
    }
}

/// A sender at 1 Mbit/s that has used its rate so far. Its CLR is member 2, 100 ms away.
fn settled() -> (Sender, Moment) {
    let mut sender = Sender::new(config(), ME, Moment::ZERO);
    sender.set_rate(rate(1e6));
    let mut now = Moment::from_secs(1);
    for _ in 0..1_000 {
        now += Duration::from_millis(8);
        sender.info(now);
        sender.handle_sent(now, SIZE);
        sender.handle_timeout(now);
    }
    let feedback = report(&sender, now, 2, 1e6, 100);
    assert_eq!(sender.handle_feedback(now, &feedback), Verdict::Accepted);
    assert_eq!(sender.clr(), Some(MemberId(2)));
    assert_eq!(sender.rate(), rate(1e6));
    (sender, now)
}

/// Moves on to the next round, in which no report has been heard.
fn next_round(sender: &mut Sender, now: Moment) -> Moment {
    let now = now + sender.rtt_max() * 4;
    sender.handle_timeout(now);
    assert_eq!(sender.suppression(), Rate::UNLIMITED);
    now
}

#[test]
fn starts_with_one_bundle_per_half_a_second() {
    let sender = Sender::new(config(), ME, Moment::ZERO);
    assert_eq!(sender.rate(), rate(16_000.0));
    assert!(sender.rtt_max() >= super::super::RTT_INITIAL);
    assert_eq!((sender.round(), sender.suppression()), (Round::new(0), Rate::UNLIMITED));
    assert!(sender.is_slow_start() && sender.clr().is_none());
}

#[test]
fn a_slower_receiver_takes_over_at_once() {
    let (mut sender, now) = settled();
    let feedback = report(&sender, now, 3, 600_000.0, 50);
    assert_eq!(sender.handle_feedback(now, &feedback), Verdict::Accepted);
    assert_eq!((sender.clr(), sender.rate()), (Some(MemberId(3)), rate(600_000.0)));
    assert_eq!(sender.suppression(), rate(540_000.0));
    // A faster receiver should not have reported.
    let feedback = report(&sender, now, 4, 700_000.0, 50);
    assert_eq!(sender.handle_feedback(now, &feedback), Verdict::Ignored);
    // A report with an echo that this sender did not send is invalid.
    let mut feedback = report(&sender, now, 4, 1_000.0, 50);
    feedback.echo = Clock::V3.stamp(now + Duration::from_secs(3));
    assert_eq!(sender.handle_feedback(now, &feedback), Verdict::Ignored);
    // So is one of a round long past.
    let mut feedback = report(&sender, now, 4, 1_000.0, 50);
    feedback.round = Round::new(sender.round().get() + 9);
    assert_eq!(sender.handle_feedback(now, &feedback), Verdict::Ignored);
}

#[test]
fn one_receiver_halves_once_in_two_rounds() {
    let (mut sender, now) = settled();
    for _ in 0..10 {
        let feedback = report(&sender, now, 3, 1.0, 50);
        sender.handle_feedback(now, &feedback);
    }
    assert_eq!(sender.rate(), rate(500_000.0));
    assert_eq!(sender.stats().guarded, 10);
    let (mut strict, now) = settled();
    strict.config.halving_guard = false;
    let feedback = report(&strict, now, 3, 1.0, 50);
    strict.handle_feedback(now, &feedback);
    assert_eq!(strict.rate(), rate(1_000.0), "one bundle in 8 s");
}

#[test]
fn the_rate_rises_by_one_bundle_per_round_trip() {
    let (mut sender, start) = settled();
    let mut now = start;
    let step = Duration::from_millis(100);
    let before = sender.rate();
    let rtt = sender.rtt_max().as_secs_f64();
    for _ in 0..10 {
        for _ in 0..20 {
            now += step / 20;
            sender.handle_sent(now, SIZE);
        }
        let feedback = report(&sender, now, 2, 1e9, 100);
        sender.handle_feedback(now, &feedback);
    }
    let gained = sender.rate().bits_per_second() - before.bits_per_second();
    let expected = 8.0 * SIZE as f64 / rtt / rtt;
    assert!(gained > expected * 0.95 && gained < expected * 1.6, "{gained} {expected}");
    // An unused rate does not grow.
    now += Duration::from_secs(60);
    let before = sender.rate();
    let feedback = report(&sender, now, 2, 1e9, 100);
    sender.handle_feedback(now, &feedback);
    assert_eq!(sender.rate(), before);
}

#[test]
fn a_silent_clr_halves_once_and_is_given_up() {
    let (mut sender, start) = settled();
    let run = |sender: &mut Sender, from: Moment, time: Duration| {
        let mut now = from;
        while now - from < time {
            now += Duration::from_millis(1);
            sender.handle_sent(now, SIZE);
            sender.handle_timeout(now);
        }
        now
    };
    // The CLR has to be older than ten round-trip times, so it reports for a while.
    let mut now = start;
    for _ in 0..60 {
        now = run(&mut sender, now, Duration::from_millis(100));
        let feedback = report(&sender, now, 2, 1e6, 100);
        sender.handle_feedback(now, &feedback);
    }
    let (rtt, before) = (sender.rtt_max(), sender.rate());
    now = run(&mut sender, now, rtt * 4 - Duration::from_millis(5));
    assert_eq!(sender.rate(), before);
    now = run(&mut sender, now, Duration::from_millis(20));
    assert_eq!((sender.rate(), sender.clr()), (before.times(0.5), Some(MemberId(2))));
    now = run(&mut sender, now, rtt * 6);
    assert_eq!((sender.rate(), sender.clr()), (before.times(0.5), None));
    now = run(&mut sender, now, Duration::from_secs(600));
    assert!(sender.rate() <= rate(SIZE as f64 * 1.01), "{}", sender.rate());
    // Another receiver reports, and the rate comes back.
    let feedback = report(&sender, now, 5, 1e6, 100);
    assert_eq!(sender.handle_feedback(now, &feedback), Verdict::Accepted);
    assert_eq!(sender.clr(), Some(MemberId(5)));
}

#[test]
fn a_silent_sender_is_not_punished_for_missing_feedback() {
    let (mut sender, now) = settled();
    for second in 0..600 {
        sender.handle_timeout(now + Duration::from_secs(second));
    }
    assert_eq!((sender.rate(), sender.clr()), (rate(1e6), Some(MemberId(2))));
    let mut alone = Sender::new(config(), ME, Moment::ZERO);
    for second in 0..600 {
        let now = Moment::from_secs(second);
        alone.handle_sent(now, SIZE);
        alone.handle_timeout(now);
    }
    assert_eq!(alone.rate(), rate(16_000.0), "alone in the group");
}

#[test]
fn a_leaving_clr_makes_room_without_a_jump() {
    let (mut sender, now) = settled();
    let mut feedback = report(&sender, now, 2, 1e6, 100);
    feedback.leaving = true;
    sender.handle_feedback(now, &feedback);
    assert_eq!(sender.clr(), None);
    let now = next_round(&mut sender, now);
    let feedback = report(&sender, now, 3, 5e6, 50);
    sender.handle_feedback(now, &feedback);
    assert_eq!((sender.clr(), sender.rate()), (Some(MemberId(3)), rate(1e6)));
}

#[test]
fn echoes_go_by_urgency() {
    let (mut sender, now) = settled();
    let mut now = next_round(&mut sender, now);
    let mut sequence = Vec::new();
    let mut newcomer = report(&sender, now, 3, 900_000.0, 300);
    (newcomer.have_rtt, newcomer.have_loss) = (false, false);
    assert_eq!(sender.handle_feedback(now, &newcomer), Verdict::Accepted);
    for _ in 0..4 {
        now += Duration::from_millis(7);
        let echo = sender.info(now).echo.expect("an echo");
        sequence.push((echo.receiver.0, echo.is_clr));
        if echo.receiver == MemberId(3) {
            assert_eq!(Clock::V3.since(echo.stamp, now), Duration::from_millis(0), "its clock went on");
        }
    }
    assert_eq!(sequence, [(2, true), (3, false), (2, true), (2, true)]);
}

#[test]
fn a_receiver_without_a_round_trip_time_is_judged_by_its_own() {
    let (mut sender, now) = settled();
    // It assumed the longest of the group, 5 times its own, and so reports a fifth of its rate.
    let longest = sender.rtt_max().as_secs_f64() * 1e3;
    let mut feedback = report(&sender, now, 3, 800_000.0 / (longest / 50.0), 50);
    feedback.have_rtt = false;
    sender.handle_feedback(now, &feedback);
    let reached = sender.rate().bits_per_second();
    assert!((reached - 800_000.0).abs() < 1_000.0, "{reached}");
}

#[derive(Clone, Debug)]
struct Hostile {
    receiver: u64,
    rate: f32,
    wait: u64,
    round: u8,
    flags: u8,
    echo: u32,
    stamp: u32,
    sent: usize,
}

fn hostile() -> impl Strategy<Value = Hostile> {
    let rate = prop_oneof![
        any::<f32>(),
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        Just(-1.0f32),
        Just(f32::MIN_POSITIVE),
        1e3f32..1e7,
    ];
    let identity = (0u64..200, rate, 0u64..2_000_000, any::<u8>());
    (identity, any::<u8>(), any::<u32>(), any::<u32>(), 0usize..70_000).prop_map(
        |((receiver, rate, wait, round), flags, echo, stamp, sent)| Hostile {
            receiver,
            rate,
            wait,
            round,
            flags,
            echo,
            stamp,
            sent,
        },
    )
}

proptest! {
    /// Whatever receivers report, the rate stays within its limits and the state bounded.
    #[test]
    fn no_report_leads_the_rate_astray(reports in prop::collection::vec(hostile(), 1..300), v2: bool, guard: bool) {
        let profile = if v2 { Profile::V2 } else { Profile::V3 };
        let limits = (rate(20_000.0), rate(5e6));
        let config = Config { halving_guard: guard, rate_min: limits.0, rate_max: limits.1, ..Config::new(profile) };
        let clock = config.clock;
        let mut sender = Sender::new(config, ME, Moment::ZERO);
        let mut now = Moment::ZERO;
        for hostile in reports {
            now += Duration::from_micros(hostile.wait);
            sender.handle_timeout(now);
            if hostile.flags & 8 != 0 {
                sender.info(now);
                sender.handle_sent(now, hostile.sent);
            }
            if hostile.flags & 64 != 0 {
                sender.forget(now, MemberId(hostile.receiver));
            }
            let Some(reported) = Rate::new(f64::from(hostile.rate)) else { continue };
            let plausible = clock.stamp(Moment::from_nanos(now.as_nanos().saturating_sub(u64::from(hostile.echo))));
            let feedback = Feedback {
                sender: ME,
                receiver: MemberId(hostile.receiver),
                round: if hostile.flags & 16 != 0 { sender.round() } else { Round::new(hostile.round) },
                have_rtt: hostile.flags & 1 != 0,
                have_loss: hostile.flags & 2 != 0,
                leaving: hostile.flags & 4 != 0,
                rate: reported,
                echo: if hostile.flags & 32 != 0 { plausible } else { crate::model::Stamp(hostile.echo) },
                stamp: crate::model::Stamp(hostile.stamp),
                loss_event_rate: f64::NAN,
                rtt: Duration::MAX,
            };
            sender.handle_feedback(now, &feedback);
            prop_assert!(sender.rate() >= limits.0 && sender.rate() <= limits.1, "{}", sender.rate());
            prop_assert!(sender.rtt_max() >= Duration::from_millis(1) && sender.rtt_max() <= RTT_MAX);
            prop_assert!(sender.echoes.len() <= 64);
            prop_assert!(sender.poll_timeout().is_some());
        }
    }
}
