//! Whole lines: times to the nanosecond, the order of events, and the invariants of any line.

use std::time::Duration;

use base::{Moment, Seed};
use proptest::prelude::*;
use wan::{Line, LineSpec, Losses, Scenario, Schedule, SpecError, Verdict};

fn line(text: &str) -> Line<u64> {
    Line::new(text.parse::<Schedule>().unwrap(), Seed(1))
}

fn ms(ms: u64) -> Moment {
    Moment::from_millis(ms)
}

/// All arrivals, with their times.
fn drain(line: &mut Line<u64>) -> Vec<(Moment, u64)> {
    std::iter::from_fn(|| line.poll_at(Moment::MAX)).collect()
}

#[test]
fn a_datagram_waits_leaves_and_travels() {
    let mut line = line("delay=20ms,rate=1Mbit/s"); // 125 octets take a millisecond
    let times = |verdict| match verdict {
        Verdict::Taken(passage) => (passage.starts, passage.departs, passage.arrives),
        other => panic!("{other:?}"),
    };
    assert_eq!(times(line.offer(ms(0), 1, 125)), (ms(0), ms(1), ms(21)));
    assert_eq!(times(line.offer(ms(0), 2, 250)), (ms(1), ms(3), ms(23)));
    assert_eq!(line.poll_timeout(), Some(ms(21)));
    assert_eq!(line.poll(Moment::from_nanos(20_999_999)), None);
    assert_eq!((line.poll(ms(21)), line.poll(ms(21))), (Some(1), None));
    assert_eq!(times(line.offer(ms(22), 3, 125)), (ms(22), ms(23), ms(43)));
    let queue = *line.queue();
    assert_eq!((queue.sojourn_max, queue.datagrams_max, queue.bytes_max), (Duration::from_millis(3), 2, 375));
    assert_eq!(queue.sojourn_ns, 5_000_000);
    assert_eq!(queue.waiting_ns, 1_000_000);
    assert_eq!(queue.utilisation(Duration::from_millis(8)), 0.5);
}

#[test]
fn the_queue_takes_what_fits_behind_the_datagram_on_the_line() {
    let mut line = line("rate=1Mbit/s,queue=300B");
    assert!(matches!(line.offer(ms(0), 1, 1_250), Verdict::Taken(_)), "an idle line takes any");
    assert!(matches!(line.offer(ms(0), 2, 125), Verdict::Taken(_)));
    assert!(matches!(line.offer(ms(0), 3, 125), Verdict::Taken(_)));
    assert_eq!(line.offer(ms(9), 4, 125), Verdict::Full);
    assert!(matches!(line.offer(ms(10), 5, 125), Verdict::Taken(_)), "the first has left");
    assert_eq!(drain(&mut line).iter().map(|&(_, item)| item).collect::<Vec<_>>(), [1, 2, 3, 5]);
    assert_eq!(line.counters().overflowed, 1);
}

#[test]
fn lost_datagrams_take_no_room() {
    let mut line = line("rate=1Mbit/s,loss=100%");
    assert_eq!(line.offer(ms(0), 1, 125), Verdict::Lost);
    assert_eq!(line.channel().busy_until(), ms(0));
}

#[test]
fn a_partition_heals_and_what_was_under_way_arrives() {
    let mut line = line("delay=100ms;at=1s,cut;at=2s,cut=off");
    assert!(matches!(line.offer(ms(950), 1, 1), Verdict::Taken(_)));
    assert_eq!(line.offer(ms(1_000), 2, 1), Verdict::Cut);
    assert_eq!(line.offer(ms(1_999), 3, 1), Verdict::Cut);
    assert!(matches!(line.offer(ms(2_000), 4, 1), Verdict::Taken(_)));
    assert_eq!(drain(&mut line), [(ms(1_050), 1), (ms(2_100), 4)]);
}

#[test]
fn a_slower_phase_does_not_let_the_next_one_overtake() {
    let mut line = line("rate=8kbit/s;at=1s,rate=none");
    line.offer(ms(0), 1, 2_000); // two seconds
    line.offer(ms(1_500), 2, 1);
    assert_eq!(drain(&mut line), [(ms(2_000), 1), (ms(2_000), 2)]);
}

#[test]
fn traces_are_played_over_and_over() {
    let read = |name: &str| {
        if name == "a.txt" { Ok("# of a Tuesday\n.x.\n1 0".to_owned()) } else { Err(format!("{name}?")) }
    };
    let schedule = Schedule::parse("loss=trace:a.txt", &read).unwrap();
    assert_eq!(schedule.to_string(), "loss=trace:a.txt");
    let mut line = Line::new(schedule, Seed(1));
    let lost: Vec<bool> = (0..7).map(|n| line.offer(ms(0), n, 1) == Verdict::Lost).collect();
    assert_eq!(lost, [false, true, false, true, false, false, true]);
    let error = |text: &str| Schedule::parse(text, &read).unwrap_err().to_string();
    assert_eq!(error("loss=trace:b"), "option `loss`: b?");
    let odd = Schedule::parse("loss=trace:a", &|_| Ok("0\n02".to_owned())).unwrap_err().to_string();
    assert!(odd.contains("a, line 2: `2` is neither lost"), "{odd}");
}

#[test]
fn places_lose_by_themselves_and_alike_whoever_else_there_is() {
    let spec: LineSpec = "loss=5%".parse().unwrap();
    let draw = |places| {
        let mut losses = Losses::new(spec.clone(), Seed(2), places);
        (0..4_000).map(|n| losses.draw(ms(n)).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let (three, four) = (draw(3), draw(4));
    assert!(three.iter().zip(&four).all(|(three, four)| three[..] == four[..3]));
    let any = three.iter().filter(|lost| lost.contains(&true)).count() as f64 / 4_000.0;
    assert!((any - (1.0 - 0.95_f64.powi(3))).abs() < 0.02, "{any}");
}

#[test]
fn scenarios_are_lines_that_can_be_written_and_read() {
    for scenario in Scenario::ALL {
        assert_eq!(scenario.name().parse(), Ok(scenario));
        for (from, to) in [(0, 1), (0, 3), (3, 0)] {
            let line = scenario.line(from, to, 4);
            assert_eq!(line.to_string().parse::<Schedule>().unwrap(), line);
        }
    }
    let written = |scenario: Scenario, from, to| scenario.line(from, to, 4).to_string();
    assert_eq!(written(Scenario::Continental, 0, 1), "delay=35ms,jitter=gamma:3ms");
    assert_eq!(written(Scenario::Congested, 0, 1), "delay=35ms,rate=384kbit/s,queue=16kB");
    assert_eq!(written(Scenario::Tail, 0, 2), "delay=35ms,loss=0.1%");
    assert!(written(Scenario::Tail, 0, 3).contains("loss=ge:p="));
    assert_eq!(written(Scenario::Partition, 0, 1), "delay=35ms");
    assert_eq!(written(Scenario::Partition, 0, 2), "delay=35ms;at=1m,cut=on;at=1m30s,cut=off");
    let error = "mars".parse::<Scenario>().unwrap_err().to_string();
    assert!(error.starts_with("`mars` is no scenario of lines (there are: lan, metro"), "{error}");
}

#[test]
fn mistakes_are_named() {
    let error = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
    for (text, expected) in [
        ("delay=3", "option `delay`: `3` is no length of time"),
        ("delay=2h", "longer than 60s"),
        ("speed=3", "`speed` is no option of a line (there are: delay, jitter, loss"),
        ("jitter=cauchy:3ms", "`cauchy` is no distribution of jitter"),
        ("jitter=gamma:3ms:0", "`0` is no shape of a gamma distribution"),
        ("jitter=normal:3ms", "give the line at least that delay"),
        ("loss=5", "write for example \"0.5%\""),
        ("loss=ge:5%", "names no burst"),
        ("loss=ge:5%:0.5", "a mean burst of 0.5 steps is below one"),
        ("loss=ge:90%:2", "they would have no gaps"),
        ("loss=ge:p=1%", "needs both p= (good to bad) and r= (bad to good)"),
        ("loss=ge:q=1%", "`q=1%` is nothing of a Gilbert-Elliott channel"),
        ("loss=trace:x", "would be read from a file"),
        ("queue=1kB", "`queue` limits what waits for a line with a `rate`"),
        ("order=any", "write `fifo` or `free`"),
        ("reorder=1%", "\"1%:20ms\""),
        ("cut=maybe", "neither `on` nor `off`"),
        ("delay=1ms;delay=2ms", "phase 2 of the schedule: it begins with `delay=2ms`"),
        ("delay=1ms;at=0s,cut", "phase 2 of the schedule: it is to begin at 0s, not after 0s"),
        ("delay=1ms;at=1s,cut=x", "phase 2 of the schedule: option `cut`: `x` is neither"),
    ] {
        assert!(error(text).contains(expected), "{text}: {}", error(text));
    }
    assert_eq!("x=".parse::<LineSpec>(), Err(SpecError::Unknown { key: "x".to_owned() }));
}

fn any_spec() -> impl Strategy<Value = String> {
    let jitter =
        prop::sample::select(vec!["none", "2ms", "uniform:2ms", "normal:1ms", "gamma:3ms", "gamma:1ms:0.5"]);
    let loss = prop::sample::select(vec![
        "0%",
        "30%",
        "100%",
        "ge:20%:3",
        "ge:20%:5ms",
        "ge:p=50%:r=50%:good=10%:bad=50%",
    ]);
    let rate =
        prop::sample::select(vec!["", ",rate=100kbit/s", ",rate=100kbit/s,queue=2kB", ",rate=1Mbit/s"]);
    let rest = prop::sample::select(vec!["", ",order=free", ",reorder=20%:9ms", ",duplicate=20%", ",cut"]);
    let later = prop::sample::select(vec![
        "",
        ";at=20ms,cut=on;at=40ms,cut=off",
        ";at=10ms,loss=50%;at=30ms,rate=10kbit/s",
    ]);
    (jitter, loss, rate, rest, later).prop_map(|(jitter, loss, rate, rest, later)| {
        format!("delay=5ms,jitter={jitter},loss={loss}{rate}{rest}{later}")
    })
}

proptest! {
    #[test]
    fn nothing_is_made_or_lost_unseen(
        text in any_spec(),
        seed in any::<u64>(),
        offers in prop::collection::vec((0_u64..2_000, 1_usize..1_500), 0..120),
    ) {
        let schedule: Schedule = text.parse().unwrap();
        prop_assert_eq!(&schedule.to_string().parse::<Schedule>().unwrap(), &schedule);
        let mut line = Line::new(schedule, Seed(seed));
        let (mut now, mut got) = (Moment::ZERO, 0);
        let mut last = Moment::ZERO;
        for (number, &(gap_us, bytes)) in (0..).zip(&offers) {
            now += Duration::from_micros(gap_us);
            while let Some((at, _)) = line.poll_at(now) {
                prop_assert!(at <= now && at >= last);
                last = at;
                got += 1;
            }
            if let Verdict::Taken(passage) = line.offer(now, number, bytes) {
                prop_assert!(now <= passage.starts && passage.starts <= passage.departs);
                prop_assert!(passage.departs <= passage.arrives);
            }
            let counters = *line.counters();
            prop_assert_eq!(counters.offered, number + 1);
            prop_assert_eq!(
                counters.offered + counters.duplicated,
                counters.lost + counters.overflowed + counters.cut + got + line.in_flight() as u64
            );
        }
        got += drain(&mut line).len() as u64;
        prop_assert_eq!(line.delivered(), got);
        prop_assert_eq!(line.counters().taken + line.counters().duplicated, got);
    }

    #[test]
    fn order_is_kept_unless_asked_otherwise(
        jitter in prop::sample::select(vec!["5ms", "gamma:3ms", "uniform:5ms"]),
        seed in any::<u64>(),
    ) {
        let schedule: Schedule = format!("delay=5ms,jitter={jitter},loss=10%,duplicate=10%").parse().unwrap();
        let mut line = Line::new(schedule, Seed(seed));
        for number in 0..200 {
            line.offer(Moment::from_micros(number * 300), number, 100);
        }
        let got = drain(&mut line);
        prop_assert!(got.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        prop_assert!(got.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn the_rate_is_never_exceeded(
        seed in any::<u64>(),
        offers in prop::collection::vec((0_u64..3_000, 1_usize..1_500), 1..100),
    ) {
        let spec: LineSpec = "rate=1Mbit/s,queue=4kB,loss=10%".parse().unwrap();
        let mut line = Line::new(spec, Seed(seed));
        let (mut now, mut sent) = (Moment::ZERO, Vec::new());
        for &(gap_us, bytes) in &offers {
            now += Duration::from_micros(gap_us);
            if let Verdict::Taken(passage) = line.offer(now, 0, bytes) {
                sent.push((passage.starts, passage.departs, bytes));
            }
        }
        // From any start to any later departure, the line sends no more than the rate allows, to
        // the nanosecond of rounding.
        for (first, &(starts, ..)) in sent.iter().enumerate() {
            let mut bits = 0;
            for &(_, departs, bytes) in &sent[first..] {
                bits += bytes as u64 * 8;
                prop_assert!(departs.since(starts).as_nanos() as u64 + 1 >= bits * 1_000);
            }
        }
        let queue = line.queue();
        prop_assert_eq!(queue.datagrams, sent.len() as u64);
        prop_assert!(queue.bytes_max <= 4_000 + 1_500);
    }

    #[test]
    fn one_kind_of_chance_leaves_the_others_alone(seed in any::<u64>()) {
        let lost = |text: &str| {
            let mut line = Line::new(text.parse::<LineSpec>().unwrap(), Seed(seed));
            (0..200).map(|n| line.offer(ms(n), n, 10) == Verdict::Lost).collect::<Vec<_>>()
        };
        let other = "delay=9ms,loss=20%,jitter=normal:2ms,duplicate=10%,reorder=10%:1ms";
        prop_assert_eq!(lost("loss=20%"), lost(other));
    }
}
