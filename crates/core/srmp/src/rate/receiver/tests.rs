use super::*;
use crate::model::{Profile, Seq};
use crate::rate::Round;
use proptest::prelude::*;

const ME: MemberId = MemberId(2);
const SENDER: MemberId = MemberId(1);
const BYTES: usize = 1_000;

/// A sender that the test plays: 50 ms away in each direction, with one bundle every 10 ms.
struct Played {
    receiver: Receiver,
    clock: Clock,
    sent: Moment,
    seq: u32,
    info: SenderInfo,
    spacing: Duration,
}

const ONE_WAY: Duration = Duration::from_millis(50);

impl Played {
    fn new(config: Config) -> Self {
        Self {
            clock: config.clock,
            receiver: Receiver::new(config, ME, SENDER, Seed(4)),
            sent: Moment::from_secs(70),
            seq: 0,
            info: SenderInfo {
                round: Round::new(0),
                suppression: Rate::UNLIMITED,
                rtt_max: Duration::from_millis(200),
                echo: None,
                application_limited: false,
            },
            spacing: Duration::from_millis(10),
        }
    }

    fn now(&self) -> Moment {
        self.sent + ONE_WAY
    }

    fn lose(&mut self, bundles: u32) {
        self.seq += bundles;
        self.sent += self.spacing * bundles;
    }

    /// Lets bundles arrive; returns the reports meanwhile.
    fn receive(&mut self, bundles: u32) -> Vec<Feedback> {
        let mut reports = Vec::new();
        for _ in 0..bundles {
            self.seq += 1;
            self.sent += self.spacing;
            let now = self.now();
            while let Some(at) = self.receiver.poll_timeout().filter(|&at| at <= now) {
                self.receiver.handle_timeout(at);
                reports.extend(self.receiver.poll_feedback(at));
            }
            let bundle = BundleInfo {
                seq: Seq(self.seq),
                bytes: BYTES,
                stamp: self.clock.stamp(self.sent),
                info: self.info,
            };
            self.receiver.handle_bundle(now, &bundle);
            reports.extend(self.receiver.poll_feedback(now));
        }
        reports
    }

    /// The sender answers a report with the next bundle, and with none after it.
    fn answer(&mut self, is_clr: bool) -> Vec<Feedback> {
        let asked = Moment::ZERO + ((self.sent + self.spacing - Moment::ZERO) - ONE_WAY);
        self.info.echo = Some(Echo { receiver: ME, stamp: self.clock.stamp(asked), is_clr });
        let reports = self.receive(1);
        self.info.echo = None;
        reports
    }
}

fn config() -> Config {
    Config::new(Profile::V3)
}

#[test]
fn takes_the_longest_time_of_the_group_until_it_has_its_own() {
    for profile in [Profile::V2, Profile::V3] {
        let mut played = Played::new(Config::new(profile));
        played.receive(1);
        assert_eq!(played.receiver.rtt(), Duration::from_millis(200));
        assert!(!played.receiver.has_rtt());
        played.answer(false);
        assert_eq!(played.receiver.rtt(), Duration::from_millis(100));
        played.receive(100);
        assert_eq!(played.receiver.rtt(), Duration::from_millis(100));
        // The way here takes 40 ms more, which shows without another echo.
        played.sent += Duration::from_secs(100);
        let late = Duration::from_millis(40);
        for _ in 0..100 {
            played.seq += 1;
            played.sent += played.spacing;
            let bundle = BundleInfo {
                seq: Seq(played.seq),
                bytes: BYTES,
                stamp: played.clock.stamp(played.sent),
                info: played.info,
            };
            played.receiver.handle_bundle(played.now() + late, &bundle);
        }
        let rtt = played.receiver.rtt().as_millis();
        assert!((138..=141).contains(&rtt), "{rtt} ms");
    }
}

#[test]
fn reports_twice_what_it_receives_before_any_loss_and_the_equation_after() {
    let mut played = Played::new(config());
    played.answer(false);
    played.receive(200);
    // 1028 bytes in 10 ms.
    let received = played.receiver.rate().bits_per_second() / 2.0;
    assert!((received - 822_400.0).abs() < 1.0, "{received}");
    played.lose(1);
    played.receive(10);
    let p = played.receiver.loss_event_rate();
    // The estimate: the interval of a TCP flow at this rate, which the loss lowered a little.
    assert!((1.0 / p / (10.28f64.powi(2) / 1.5) - 1.0).abs() < 0.1, "{p}");
    let expected = throughput(BYTES as f64, Duration::from_millis(100), p);
    assert_eq!(played.receiver.rate(), expected);
}

#[test]
fn a_guess_made_with_the_time_of_the_group_is_corrected() {
    let mut played = Played::new(config());
    played.receive(200);
    played.lose(1);
    played.receive(10);
    let before = played.receiver.loss_event_rate();
    played.answer(false);
    let after = played.receiver.loss_event_rate();
    assert!(
        (after / before - 4.0).abs() < 0.01,
        "half the time, a quarter of the interval: {before} {after}"
    );
}

#[test]
fn the_clr_reports_once_per_round_trip_within_its_budget() {
    let mut played = Played::new(Config::strict(Profile::V3));
    played.receive(50);
    played.answer(true);
    assert!(played.receiver.is_clr());
    let reports = played.receive(1_000);
    assert!((90..=101).contains(&reports.len()), "{} in 10 s", reports.len());

    let mut played = Played::new(config());
    played.receive(50);
    played.answer(true);
    let reports = played.receive(1_000);
    // One report for every 20 bundles, and those that were saved up.
    assert!((50..=60).contains(&reports.len()), "{} in 10 s", reports.len());
    // Slow senders get reports too, but at most one in 5 s.
    played.spacing = Duration::from_secs(1);
    let reports = played.receive(60);
    assert!((11..=14).contains(&reports.len()), "{} in 60 s", reports.len());

    // Another receiver becomes the CLR.
    played.info.echo = Some(Echo { receiver: MemberId(9), stamp: Stamp(0), is_clr: true });
    played.receive(1);
    assert!(!played.receiver.is_clr());
    assert!(played.receive(50).is_empty());
}

#[test]
fn others_report_once_per_round_unless_somebody_is_slower() {
    let mut played = Played::new(config());
    let mut reports = 0;
    for round in 0..20 {
        played.info.round = Round::new(round);
        reports += played.receive(81).len();
    }
    assert_eq!(reports, 20);
    // A bundle tells that another receiver is slower.
    played.info.round = played.info.round.next();
    played.receive(1);
    played.info.suppression = Rate::new(1_000.0).expect("a rate");
    assert!(played.receive(100).is_empty());
    assert_eq!(played.receiver.stats().suppressed, 1);
    // So does the report of any receiver but the CLR.
    played.info.round = played.info.round.next();
    played.info.suppression = Rate::UNLIMITED;
    played.receive(1);
    let mut heard = Feedback {
        sender: SENDER,
        receiver: MemberId(7),
        round: played.info.round,
        have_rtt: true,
        have_loss: true,
        leaving: false,
        rate: Rate::new(1_000.0).expect("a rate"),
        echo: Stamp(0),
        stamp: Stamp(0),
        loss_event_rate: 0.0,
        rtt: Duration::ZERO,
    };
    played.receiver.handle_feedback(&heard);
    assert!(played.receive(100).is_empty());
    assert_eq!(played.receiver.stats().suppressed, 2);
    // A faster receiver does not suppress the report.
    played.info.round = played.info.round.next();
    played.receive(1);
    heard.rate = Rate::UNLIMITED;
    played.receiver.handle_feedback(&heard);
    assert_eq!(played.receive(100).len(), 1);
    // A receiver that is further away than the sender knows reports in any case.
    played.answer(false);
    played.info.rtt_max = Duration::from_millis(60);
    played.info.suppression = Rate::new(1_000.0).expect("a rate");
    played.info.round = played.info.round.next();
    assert_eq!(played.receive(100).len(), 1);
}

#[test]
fn nobody_has_to_say_that_an_idle_sender_could_send_more() {
    let mut played = Played::new(config());
    played.info.application_limited = true;
    assert!(played.receive(300).is_empty());
    played.info.application_limited = false;
    played.info.round = Round::new(1);
    assert_eq!(played.receive(300).len(), 1);
}

#[test]
fn a_pause_of_the_sender_clears_its_record_and_an_outage_does_not() {
    let mut played = Played::new(config());
    played.answer(false);
    played.receive(100);
    played.lose(1);
    played.receive(20);
    assert!(played.receiver.loss_event_rate() > 0.0);
    played.lose(150);
    played.receive(1);
    assert!(played.receiver.loss_event_rate() > 0.0);
    played.receive(20);
    played.sent += Duration::from_secs(2);
    played.receive(1);
    assert_eq!(played.receiver.loss_event_rate(), 0.0);
}

#[test]
fn a_leaving_clr_says_so() {
    let mut played = Played::new(config());
    played.receive(50);
    played.answer(true);
    played.receiver.leave();
    let feedback = played.receiver.poll_feedback(played.now()).expect("a last report");
    assert!(feedback.leaving);
    assert!(played.receive(1_000).is_empty());
}

#[derive(Clone, Debug)]
struct Hostile {
    step: u32,
    wait: u64,
    stamp: u32,
    suppression: f64,
    rtt_max: u64,
    round: u8,
    echo: u32,
    flags: u8,
    bytes: usize,
}

fn hostile() -> impl Strategy<Value = Hostile> {
    let numbers = (0u32..6, 0u64..3_000_000, any::<u32>(), any::<u32>());
    let reported = (any::<f64>(), prop_oneof![0u64..100_000, any::<u64>()], any::<u8>());
    (numbers, reported, any::<u8>(), prop_oneof![0usize..70_000, Just(usize::MAX)]).prop_map(
        |((step, wait, stamp, echo), (suppression, rtt_max, round), flags, bytes)| Hostile {
            step,
            wait,
            stamp,
            suppression,
            rtt_max,
            round,
            echo,
            flags,
            bytes,
        },
    )
}

proptest! {
    /// Whatever a sender announces, a receiver's reports are valid and within its budget.
    #[test]
    fn no_bundle_leads_a_receiver_astray(bundles in prop::collection::vec(hostile(), 1..300), v2: bool) {
        let profile = if v2 { Profile::V2 } else { Profile::V3 };
        let config = Config::new(profile);
        let (clock, space) = (config.clock, config.seq_space);
        let mut receiver = Receiver::new(config, ME, SENDER, Seed(9));
        let (mut now, mut seq, mut reports, count) = (Moment::ZERO, 65_000u32, 0usize, bundles.len());
        for hostile in bundles {
            now += Duration::from_micros(hostile.wait);
            seq = seq.wrapping_add(if hostile.step == 5 { hostile.echo } else { hostile.step });
            if receiver.poll_timeout().is_some_and(|at| at <= now) {
                receiver.handle_timeout(now);
                prop_assert!(receiver.poll_timeout().is_none_or(|at| at > now) || receiver.reports.due);
            }
            let stamp = if hostile.flags & 1 != 0 { clock.stamp(now) } else { Stamp(hostile.stamp) };
            let echo = if hostile.flags & 16 != 0 { clock.stamp(now) } else { Stamp(hostile.echo) };
            let receiver_of_echo = if hostile.flags & 2 != 0 { ME } else { MemberId(7) };
            receiver.handle_bundle(now, &BundleInfo {
                seq: Seq(seq & space.max().0),
                bytes: hostile.bytes,
                stamp,
                info: SenderInfo {
                    round: Round::new(hostile.round),
                    suppression: Rate::new(hostile.suppression).unwrap_or(Rate::UNLIMITED),
                    rtt_max: Duration::from_micros(hostile.rtt_max),
                    echo: Some(Echo { receiver: receiver_of_echo, stamp: echo, is_clr: hostile.flags & 4 != 0 }),
                    application_limited: hostile.flags & 8 != 0,
                },
            });
            if let Some(feedback) = receiver.poll_feedback(now) {
                reports += 1;
                prop_assert!(feedback.rate >= Rate::ZERO);
                prop_assert!((0.0..=1.0).contains(&feedback.loss_event_rate));
                prop_assert!(feedback.rtt >= RTT_MIN && feedback.rtt <= RTT_MAX);
            }
        }
        // The reports saved up, the share of bundles, and one in 5 s.
        let allowed = 9 + count / 20 + (now - Moment::ZERO).as_secs() as usize / 5;
        prop_assert!(reports <= allowed, "{reports} of {allowed}");
    }
}
