use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const RATE: f64 = 200_000.0;
const BYTES: usize = 250;

fn rate(bits_per_second: f64) -> Rate {
    Rate::new(bits_per_second).expect("a rate")
}

fn shaper<M>(policy: Policy) -> Shaper<M> {
    let config = ShaperConfig { policy, ..ShaperConfig::default() };
    Shaper::new(config, rate(RATE), Seed(1), Moment::ZERO)
}

/// An offered message: its stream and its priority.
type Offer = (Option<StreamKey>, u8);

/// The times at which messages of each stream leave, when `offers` are made 1 ms apart.
fn run(shaper: &mut Shaper<Offer>, offers: impl Iterator<Item = Offer>) -> BTreeMap<Offer, Vec<Moment>> {
    let mut passed: BTreeMap<Offer, Vec<Moment>> = BTreeMap::new();
    let mut now = Moment::ZERO;
    for offer in offers {
        shaper.offer_best_effort(now, offer.0, offer.1, BYTES, offer);
        let next = now + Duration::from_millis(1);
        loop {
            while let Some((class, offer)) = shaper.poll(now) {
                assert_eq!(class, Class::BestEffort);
                passed.entry(offer).or_default().push(now);
            }
            match shaper.poll_timeout().filter(|&at| at < next) {
                Some(at) => now = now.max(at),
                None => break,
            }
        }
        while shaper.poll_dropped().is_some() {}
        now = next;
    }
    passed
}

fn sent_bits(passed: &BTreeMap<Offer, Vec<Moment>>) -> f64 {
    passed.values().map(Vec::len).sum::<usize>() as f64 * 8.0 * BYTES as f64
}

fn mean_interval(times: &[Moment]) -> f64 {
    (times[times.len() - 1] - times[0]).as_secs_f64() / (times.len() - 1) as f64
}

#[test]
fn twice_the_rate_offered_the_rate_sent() {
    for policy in [Policy::Random, Policy::Conflate, Policy::Floor] {
        let mut shaper = shaper(policy);
        // 20 streams, and 2000 bits every millisecond: 2 Mbit/s, ten times the rate.
        let offers = (0..10_000u32).map(|i| (Some(StreamKey(i % 20)), 0));
        let passed = run(&mut shaper, offers);
        let sent = sent_bits(&passed) / 10.0;
        assert!((sent / RATE - 1.0).abs() < 0.03, "{policy:?}: {sent} bit/s");
        assert_eq!(shaper.stats().bytes[Class::BestEffort as usize] as f64 * 8.0, sent_bits(&passed));
    }
}

#[test]
fn conflation_slows_all_streams_alike() {
    let mut shaper = shaper(Policy::Conflate);
    // Streams with very different rates, all above their share: 100 messages per second for 10
    // streams.
    let offers = (0..20_000u32).map(|i| {
        let stream = if i % 2 == 0 { i / 2 % 3 } else { 3 + i / 2 % 7 };
        (Some(StreamKey(stream)), 0)
    });
    let passed = run(&mut shaper, offers);
    let intervals: Vec<f64> = passed.values().map(|times| mean_interval(times)).collect();
    assert_eq!(intervals.len(), 10);
    let mean = intervals.iter().sum::<f64>() / 10.0;
    assert!(intervals.iter().all(|interval| (interval / mean - 1.0).abs() < 0.1), "{intervals:?}");
    assert!((mean - 0.1).abs() < 0.01, "{mean}");
}

#[test]
fn the_floor_serves_the_least_important_now_and_then() {
    let mut shaper = shaper(Policy::Floor);
    let offers = (0..30_000u32).map(|i| {
        if i % 20 == 0 { (Some(StreamKey(i / 20 % 10)), 0) } else { (Some(StreamKey(100 + i % 200)), 9) }
    });
    let passed = run(&mut shaper, offers);
    for ((stream, priority), times) in &passed {
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]).max().expect("served more than once");
        assert!(gaps < Duration::from_millis(5_300), "{stream:?} was silent for {gaps:?}");
        if *priority == 0 {
            assert!(mean_interval(times) > 4.5, "{stream:?} was served more often than it had to be");
        }
    }
    assert_eq!(passed.len(), 10 + 190);
}

#[test]
fn records_of_no_stream_wait_their_turn_and_not_too_long() {
    let mut shaper = shaper(Policy::Conflate);
    let offers = (0..10_000u32).map(|i| if i % 2 == 0 { (None, 0) } else { (Some(StreamKey(i % 10)), 0) });
    let passed = run(&mut shaper, offers);
    assert!(passed[&(None, 0)].len() > 400, "{}", passed[&(None, 0)].len());
    assert!(shaper.stats().stale > 100);
    assert!(shaper.waiting().1 <= 1_010, "a second's worth");
}

#[test]
fn too_much_drops_the_least_important() {
    let config = ShaperConfig { queue_max: 3, ..ShaperConfig::default() };
    let mut shaper = Shaper::new(config, Rate::ZERO, Seed(1), Moment::ZERO);
    for (name, priority) in [("a", 1), ("b", 7), ("c", 0), ("d", 5), ("e", 0)] {
        shaper.offer_best_effort(Moment::ZERO, None, priority, 10_000, name);
    }
    let dropped: Vec<_> = std::iter::from_fn(|| shaper.poll_dropped()).collect();
    assert_eq!(dropped.iter().map(|dropped| dropped.message).collect::<Vec<_>>(), ["c", "e"]);
    assert!(dropped.iter().all(|dropped| dropped.why == Discard::Overflow));
    assert_eq!(shaper.stats().overflow, 2);
}

#[test]
fn mode_1_does_not_wait_until_the_debt_is_large() {
    let mut shaper = shaper(Policy::Conflate);
    // Full: 23 264 bits; the debt: 50 000 bits; a message: 2000 bits.
    for i in 0..50 {
        shaper.offer_reliable(DataId(i), Sn(0), BYTES, i);
    }
    let at_once = std::iter::from_fn(|| shaper.poll(Moment::ZERO)).count();
    assert_eq!(at_once, 37);
    // Waiting messages are conflated, and leave at the rate.
    shaper.offer_reliable(DataId(40), Sn(1), BYTES, 140);
    assert_eq!(shaper.poll_dropped(), Some(Dropped { message: 40, why: Discard::Superseded }));
    let mut now = Moment::ZERO;
    let mut order = Vec::new();
    while let Some(at) = shaper.poll_timeout() {
        now = at;
        order.extend(std::iter::from_fn(|| shaper.poll(now)).map(|(_, message)| message));
    }
    assert_eq!(order.len(), 13);
    assert_eq!(order[3], 140);
    assert!(now - Moment::ZERO < Duration::from_millis(140), "{now}");
}

#[test]
fn mode_1_never_starves_the_floor_of_mode_0() {
    let mut shaper = shaper(Policy::Conflate);
    let (mut sn, mut served) = (0, Vec::new());
    for ms in 0..20_000 {
        let now = Moment::from_millis(ms);
        // Ten times the rate in mode 1.
        sn += 1;
        shaper.offer_reliable(DataId(sn % 50), Sn(sn / 50), BYTES, u32::MAX);
        shaper.offer_best_effort(now, Some(StreamKey(7)), 0, BYTES, sn);
        while let Some((class, _)) = shaper.poll(now) {
            if class == Class::BestEffort {
                served.push(now);
            }
        }
        while shaper.poll_dropped().is_some() {}
    }
    let gaps: Vec<_> = served.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    assert!(served.len() >= 4 && gaps.iter().all(|&gap| gap <= 5_100), "{served:?}");
}

#[test]
fn repairs_and_headers_count() {
    let mut shaper = shaper(Policy::Random);
    let mut sent = 0;
    for ms in 0..10_000 {
        let now = Moment::from_millis(ms);
        if ms % 10 == 0 {
            // 40 % of the rate.
            shaper.charge(now, Class::Repair, 100);
        }
        shaper.offer_best_effort(now, None, 0, BYTES, ());
        while shaper.poll(now).is_some() {
            shaper.charge(now, Class::BestEffort, 50);
            sent += 300;
        }
    }
    let bits = 8.0 * f64::from(sent) / 10.0;
    assert!((bits / (0.6 * RATE) - 1.0).abs() < 0.05, "{bits}");
    assert!(shaper.waiting().1 < 50);
}

#[test]
fn streams_that_have_gone_make_room() {
    let config = ShaperConfig { streams_max: 10, ..ShaperConfig::default() };
    let mut shaper = Shaper::new(config, rate(1e6), Seed(1), Moment::ZERO);
    for round in 0..100u32 {
        let now = Moment::from_secs(30 * u64::from(round) + 1);
        for key in 0..10 {
            for _ in 0..2 {
                shaper.offer_best_effort(now, Some(StreamKey(10 * round + key)), 0, BYTES, round);
            }
        }
        assert_eq!(shaper.waiting().1, 10, "conflated in round {round}");
        while let Some(at) = shaper.poll_timeout() {
            while shaper.poll(at).is_some() {}
        }
        while shaper.poll_dropped().is_some() {}
    }
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    SetRate(f64),
    Charge(usize),
    Reliable(u32, u32, usize),
    BestEffort(u32, u8, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..300_000).prop_map(Step::Wait),
        prop_oneof![Just(0.0), 1.0..1e7, Just(f64::INFINITY)].prop_map(Step::SetRate),
        (0usize..5_000).prop_map(Step::Charge),
        (0u32..5, 0u32..3, 1usize..1_500).prop_map(|(data, sn, bytes)| Step::Reliable(data, sn, bytes)),
        (0u32..8, 0u8..3, 1usize..9_000)
            .prop_map(|(key, priority, bytes)| Step::BestEffort(key, priority, bytes)),
    ]
}

proptest! {
    /// Every message offered comes out once, sent or dropped, and the number of waiting ones is
    /// bounded.
    #[test]
    fn every_message_comes_out_once(
        steps in prop::collection::vec(step(), 1..200),
        policy in prop_oneof![Just(Policy::Random), Just(Policy::Conflate), Just(Policy::Floor)],
    ) {
        let config = ShaperConfig { policy, queue_max: 6, streams_max: 4, ..ShaperConfig::default() };
        let mut shaper = Shaper::new(config, rate(1e5), Seed(3), Moment::ZERO);
        let (mut now, mut offered, mut out) = (Moment::ZERO, 0usize, Vec::new());
        for step in steps {
            match step {
                Step::Wait(micros) => now += Duration::from_micros(micros),
                Step::SetRate(bits_per_second) => shaper.set_rate(now, rate(bits_per_second)),
                Step::Charge(bytes) => shaper.charge(now, Class::Control, bytes),
                Step::Reliable(data, sn, bytes) => {
                    shaper.offer_reliable(DataId(data), Sn(sn), bytes, offered);
                    offered += 1;
                }
                Step::BestEffort(key, priority, bytes) => {
                    let key = (key > 0).then_some(StreamKey(key));
                    shaper.offer_best_effort(now, key, priority, bytes, offered);
                    offered += 1;
                }
            }
            while let Some((_, message)) = shaper.poll(now) {
                out.push(message);
            }
            out.extend(std::iter::from_fn(|| shaper.poll_dropped()).map(|dropped| dropped.message));
            prop_assert!(shaper.waiting().1 <= 6);
        }
        // At a positive rate everything leaves, at the times promised.
        shaper.set_rate(now, rate(1e6));
        let mut turns = 0;
        while let Some(at) = shaper.poll_timeout() {
            now = now.max(at);
            while let Some((_, message)) = shaper.poll(now) {
                out.push(message);
            }
            turns += 1;
            prop_assert!(turns < 10_000, "it never ends");
        }
        out.extend(std::iter::from_fn(|| shaper.poll_dropped()).map(|dropped| dropped.message));
        out.sort_unstable();
        prop_assert_eq!(out, (0..offered).collect::<Vec<_>>());
    }
}

/// A load that changes from step to step, each 20 ms long: messages per stream, mode 1 messages and
/// control bytes.
#[derive(Clone, Debug)]
struct Load {
    offers: Vec<(u32, u8)>,
    reliable: u32,
    control: f64,
}

fn load(streams: u32) -> impl Strategy<Value = Load> {
    (prop::collection::vec((0..streams, 0u8..4), 0..60), 0u32..40, 0.0f64..1.0)
        .prop_map(|(offers, reliable, control)| Load { offers, reliable, control })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever is offered, the waiting message of a stream or a newer one leaves within the floor,
    /// if the rate suffices for that.
    #[test]
    fn no_stream_is_silent_for_longer_than_the_floor(
        (streams, loads) in (1u32..60).prop_flat_map(|streams| (Just(streams), prop::collection::vec(load(streams), 1..12))),
        bytes in 20usize..1_400,
        over in 1.0f64..4.0,
    ) {
        let config = ShaperConfig::default();
        let floor = config.floor;
        let round = 8.0 * f64::from(streams) * bytes as f64;
        // Three eighths carry a round in a quarter of the floor.
        let carries = over * round / (floor.as_secs_f64() / 4.0) * 8.0 / 3.0;
        let mut shaper = Shaper::new(config, rate(carries), Seed(1), Moment::ZERO);
        let mut since: BTreeMap<u32, Moment> = BTreeMap::new();
        let step = Duration::from_millis(20);
        for turn in 0..1_000u32 {
            let begin = Moment::ZERO + step * turn;
            let load = &loads[turn as usize / 90 % loads.len()];
            shaper.charge(begin, Class::Control, (load.control * carries * step.as_secs_f64() / 32.0) as usize);
            for &(stream, priority) in &load.offers {
                since.entry(stream).or_insert(begin);
                shaper.offer_best_effort(begin, Some(StreamKey(stream)), priority, bytes, Some(stream));
            }
            for data in 0..load.reliable {
                shaper.offer_reliable(DataId(data), Sn(turn), 1_400, None);
            }
            let mut now = begin;
            loop {
                while let Some((_, message)) = shaper.poll(now) {
                    if let Some(begun) = message.and_then(|stream| since.remove(&stream)) {
                        prop_assert!(now - begun <= floor, "{:?} after {:?}", message, now - begun);
                    }
                }
                match shaper.poll_timeout().filter(|at| *at < begin + step) {
                    Some(at) => now = now.max(at),
                    None => break,
                }
            }
            for (stream, begun) in &since {
                prop_assert!(now - *begun <= floor, "{stream} waits for {:?}", now - *begun);
            }
            while shaper.poll_dropped().is_some() {}
        }
    }
}

/// Fifteen times the rate, and mode 0 only: each stream is served as often as turns allow.
#[test]
fn a_crowd_takes_turns() {
    let mut shaper = shaper(Policy::Conflate);
    let streams = 300;
    let offers = (0..60_000u32).map(|i| (Some(StreamKey(i * 7 % streams)), 0));
    let passed = run(&mut shaper, offers);
    let turn = f64::from(streams) * 8.0 * BYTES as f64 / RATE;
    for (stream, times) in &passed {
        let gap = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).fold(0.0, f64::max);
        assert!(gap <= turn * 1.1, "{stream:?} was silent for {gap} s, a turn takes {turn} s");
    }
    assert_eq!(passed.len(), streams as usize);
}
