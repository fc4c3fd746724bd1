//! Queues with backlogs, checked by hand, by brute force in small steps, and at both extremes of
//! buffer sizes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::HopByHop;
use crate::fluid::end_to_end::EndToEnd;
use crate::fluid::lanes::Lanes;
use crate::fluid::run::Carrier;
use crate::fluid::stored::Stored;
use crate::fluid::{Fluid, Sharing};
use crate::units::{Picos, Rate};

/// A message of a flow: its sending time and its bytes.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Picos,
    flow: usize,
    bytes: u64,
}

fn sent(at_us: u64, flow: usize, bytes: u64) -> Sent {
    Sent { at: Picos::from_micros(at_us), flow, bytes }
}

/// The end of each of the messages, which are sent in the order of their times.
fn ends(mut carrier: impl Carrier, paths: &[Vec<u32>], messages: &[Sent]) -> Vec<Picos> {
    let mut under_way = BTreeMap::new();
    let mut ends = vec![Picos::MAX; messages.len()];
    let mut next = messages.iter().enumerate().peekable();
    loop {
        let birth = next.peek().map_or(Picos::MAX, |(_, sent)| sent.at);
        match (carrier.next_event(), next.peek()) {
            (Some(now), _) if now <= birth => {
                if let Some(id) = carrier.step() {
                    ends[under_way.remove(&id).expect("it was sent")] = now;
                }
            }
            (_, Some(&(number, sent))) => {
                let id = carrier.send(sent.at, &paths[sent.flow], &[sent.flow as u32], sent.bytes);
                assert_eq!(under_way.insert(id, number), None, "numbers are used once at a time");
                next.next();
            }
            _ => break,
        }
    }
    let last = ends.iter().max().copied().unwrap_or_default();
    for (link, carried) in carrier.carried(last).into_iter().enumerate() {
        let crossed = messages.iter().filter(|sent| paths[sent.flow].contains(&(link as u32)));
        let bytes = crossed.map(|sent| sent.bytes).sum::<u64>() as f64;
        assert!((carried - bytes).abs() <= 1e-9 * bytes, "link {link} carried {carried} of {bytes}");
    }
    ends
}

fn rates(mbit: &[u64]) -> impl Iterator<Item = Rate> {
    mbit.iter().map(|mbit| Rate::mbit(*mbit))
}

fn close(ends: &[Picos], expected_us: &[f64]) -> bool {
    ends.len() == expected_us.len()
        && ends.iter().zip(expected_us).all(|(end, us)| (end.as_micros() - us).abs() < 1e-4)
}

#[test]
fn two_messages_meet_on_a_link() {
    let messages = [sent(0, 0, 32_768), sent(100, 1, 32_768)];
    let paths = [vec![0], vec![0]];
    for ends in [
        ends(HopByHop::new(None, rates(&[856])), &paths, &messages),
        ends(Stored::new(rates(&[856])), &paths, &messages),
    ] {
        assert!(close(&ends, &[512.486, 612.486]), "{ends:?}");
    }
}

/// At 8 Mbit/s a byte takes a microsecond.
#[test]
fn a_backlog_forms_where_less_leaves_than_comes_and_goes_on_at_full_share() {
    // From 8 Mbit/s into 4: after 1000 us the 1000 bytes have left the first link, and 500 wait at
    // the second.
    let mut queue = HopByHop::new(None, rates(&[8, 4]));
    let id = queue.send(Picos::ZERO, &[0, 1], &[0], 1_000);
    let backlogs = queue.backlogs(Picos::from_micros(600), 0);
    assert!((backlogs[0] - 400.0).abs() < 1e-6 && (backlogs[1] - 300.0).abs() < 1e-6, "{backlogs:?}");
    assert_eq!((queue.next_event(), queue.step()), (Some(Picos::from_micros(1_000)), None));
    assert!((queue.carried(Picos::from_micros(1_500))[1] - 750.0).abs() < 1e-6);
    assert_eq!(queue.next_event(), Some(Picos::from_micros(2_000)));
    assert_eq!([queue.step(), queue.step()].into_iter().flatten().collect::<Vec<_>>(), [id]);
    assert_eq!((queue.next_event(), queue.backlogs(Picos::from_secs(1), 0)), (None, Vec::new()));

    // Flow 0 crosses both links, flow 1 only the second, for 500 us. The bytes that flow 0 has
    // queued there leave at its half of the link, then at the full rate together with its inflow.
    // End to end they would have waited at the host.
    let paths = [vec![0, 1], vec![1]];
    let messages = [sent(0, 0, 1_000), sent(0, 1, 250)];
    let hops = ends(HopByHop::new(None, rates(&[8, 8])), &paths, &messages);
    assert!(close(&hops, &[1_250.0, 500.0]), "{hops:?}");
    // A flow 2 on only the first link then gets all of it 250 us earlier than end to end.
    let paths = [vec![0, 1], vec![1], vec![0]];
    let messages = [sent(0, 0, 1_000), sent(0, 1, 250), sent(1_000, 2, 100)];
    let hops = ends(HopByHop::new(None, rates(&[8, 8])), &paths, &messages);
    assert!(close(&hops, &[1_250.0, 500.0, 1_100.0]), "{hops:?}");
    let one = EndToEnd::new(Fluid::new(Sharing::MinShare, rates(&[8, 8])), Lanes::new(3));
    let end_to_end = ends(one, &paths, &messages);
    assert!(close(&end_to_end, &[1_350.0, 500.0, 1_200.0]), "{end_to_end:?}");
}

#[test]
fn a_full_buffer_stops_what_feeds_it() {
    // Into a link of a quarter of the rate, with room for 60 bytes: full after 80 us, then the
    // first link also goes at a quarter.
    let mut queue = HopByHop::new(Some(60), rates(&[8, 2]));
    queue.send(Picos::ZERO, &[0, 1], &[0], 1_000);
    assert_eq!((queue.next_event(), queue.step()), (Some(Picos::from_micros(80)), None));
    for (us, at_host, at_switch) in [(80, 920.0, 60.0), (1_080, 670.0, 60.0), (3_760, 0.0, 60.0)] {
        let backlogs = queue.backlogs(Picos::from_micros(us), 0);
        assert!(
            (backlogs[0] - at_host).abs() < 1e-4 && (backlogs[1] - at_switch).abs() < 1e-4,
            "{backlogs:?}"
        );
    }
    // Meanwhile another flow gets the other half of the first link, and no more.
    let paths = [vec![0, 1], vec![0]];
    let messages = [sent(0, 0, 1_000), sent(200, 1, 100)];
    let ends = ends(HopByHop::new(Some(60), rates(&[8, 2])), &paths, &messages);
    assert!(close(&ends, &[4_000.0, 400.0]), "{ends:?}");
}

/// Processes all events up to a moment.
fn play(queue: &mut HopByHop, until_us: u64) -> Picos {
    let until = Picos::from_micros(until_us);
    while queue.next_event().is_some_and(|next| next <= until) {
        queue.step();
    }
    until
}

#[test]
fn a_buffer_that_was_full_fills_again() {
    // Flow 1 halves the second link until 200 us: full at 120. Flow 2 halves the first from 300 to
    // 500: empty at 420. From 600 on flow 1 comes again: the inflow is all of the first link until
    // the buffer is full once more.
    let mut queue = HopByHop::new(Some(60), rates(&[8, 8]));
    queue.send(Picos::ZERO, &[0, 1], &[0], 1_000);
    queue.send(Picos::ZERO, &[1], &[1], 100);
    let mut check = |sent: Option<(&[u32], u32)>, at_us, waiting: [f64; 2]| {
        let now = play(&mut queue, at_us);
        let backlogs = queue.backlogs(now, 0);
        let close = (0..2).all(|place| (backlogs[place] - waiting[place]).abs() < 1e-4);
        assert!(close, "at {now}: {backlogs:?} instead of {waiting:?}");
        if let Some((path, lane)) = sent {
            queue.send(now, path, &[lane], 100);
        }
    };
    check(None, 60, [940.0, 30.0]);
    check(None, 150, [865.0, 60.0]);
    check(None, 250, [790.0, 60.0]);
    check(Some((&[0], 2)), 300, [740.0, 60.0]);
    check(None, 360, [710.0, 30.0]);
    check(None, 450, [665.0, 0.0]);
    check(Some((&[1], 1)), 600, [540.0, 0.0]);
    check(None, 660, [480.0, 30.0]);
    check(None, 740, [410.0, 60.0]);
}

#[test]
fn stored_messages_pay_at_every_link_and_keep_the_order_of_their_flow() {
    let paths = [vec![0, 1, 2], vec![1]];
    let alone = ends(Stored::new(rates(&[8, 4, 8])), &paths, &[sent(0, 0, 100)]);
    assert!(close(&alone, &[100.0 + 200.0 + 100.0]), "{alone:?}");
    // The second message of flow 0 waits for the first at the second link; flow 1 shares that link
    // from 150 us on.
    let messages = [sent(0, 0, 100), sent(0, 0, 100), sent(150, 1, 50)];
    let ends = ends(Stored::new(rates(&[8, 4, 8])), &paths, &messages);
    // 25 of 100 bytes have passed when flow 1 comes, which takes 200 us for its 50; then 25 are
    // left: 50 us.
    assert!(close(&ends, &[500.0, 700.0, 350.0]), "{ends:?}");
}

/// Links with rates, paths of flows, and the messages of the flows.
#[derive(Debug, Clone)]
struct Net {
    mbit: Vec<u64>,
    paths: Vec<Vec<u32>>,
    messages: Vec<Sent>,
}

fn nets() -> impl Strategy<Value = Net> {
    const LINKS: u32 = 6;
    let mbit = prop::collection::vec(prop::sample::select(vec![8u64, 20, 40, 80]), LINKS as usize);
    let links: Vec<u32> = (0..LINKS).collect();
    let path = prop::sample::subsequence(links, 1..=4).prop_shuffle();
    let message = (0u64..600, 0usize..6, 1u64..800);
    (mbit, prop::collection::vec(path, 6), prop::collection::vec(message, 1..30)).prop_map(
        |(mbit, paths, messages)| {
            let mut messages: Vec<Sent> =
                messages.into_iter().map(|(at, flow, bytes)| sent(at, flow, bytes)).collect();
            messages.sort_by_key(|sent| sent.at);
            Net { mbit, paths, messages }
        },
    )
}

/// The definition, in steps of `step` ps. In each step n counts the streams with a backlog or an
/// inflow, and bytes move at the rates of the beginning of the step.
fn in_small_steps(net: &Net, buffer: f64, step: u64) -> Vec<Picos> {
    let share = |link: u32, active: &[Vec<bool>]| {
        let crossing = |flow: usize| net.paths[flow].iter().zip(&active[flow]);
        let n =
            (0..net.paths.len()).flat_map(crossing).filter(|(at, active)| **at == link && **active).count();
        Rate::mbit(net.mbit[link as usize]).bytes_per_ps() / n.max(1) as f64
    };
    // By flow, and by position on its path: bytes that have come in. The last entry is the bytes
    // that have left the last link.
    let mut come: Vec<Vec<f64>> = net.paths.iter().map(|path| vec![0.0; path.len() + 1]).collect();
    let (mut due, mut now, mut born) = (BTreeMap::<usize, Vec<(f64, usize)>>::new(), 0, 0);
    let mut ends = vec![Picos::MAX; net.messages.len()];
    while ends.contains(&Picos::MAX) {
        while let Some(sent) = net.messages.get(born).filter(|sent| sent.at.0 <= now) {
            come[sent.flow][0] += sent.bytes as f64;
            due.entry(sent.flow).or_default().push((come[sent.flow][0], born));
            born += 1;
        }
        let backlog = |flow: usize, place: usize| come[flow][place] - come[flow][place + 1];
        let active: Vec<Vec<bool>> = (0..net.paths.len())
            .map(|flow| {
                // A flow with a backlog anywhere before has an inflow, because shares are above
                // zero.
                let busy = (0..net.paths[flow].len()).scan(false, |busy, place| {
                    *busy |= backlog(flow, place) > 1e-9;
                    Some(*busy)
                });
                busy.collect()
            })
            .collect();
        let mut moved = come.clone();
        for (flow, path) in net.paths.iter().enumerate() {
            // From the end: at most the offer of the link, and the room behind it, some of which is
            // made within the step.
            let mut offers: Vec<f64> = path.iter().map(|link| share(*link, &active) * step as f64).collect();
            for place in (1..path.len()).rev() {
                let room = (buffer - backlog(flow, place)).max(0.0) + offers[place];
                offers[place - 1] = offers[place - 1].min(room);
            }
            let mut inflow = 0.0;
            for (place, offer) in offers.iter().enumerate() {
                inflow = offer.min(backlog(flow, place) + inflow);
                moved[flow][place + 1] += inflow;
            }
        }
        come = moved;
        now += step;
        for (flow, waiting) in &mut due {
            let left = come[*flow][net.paths[*flow].len()];
            waiting.retain(|(end, number)| {
                let there = *end <= left + 1e-6;
                if there {
                    ends[*number] = Picos(now);
                }
                !there
            });
        }
    }
    ends
}

fn same(ends: &[Picos], expected: &[Picos], within_us: f64) -> Result<(), TestCaseError> {
    for (number, (end, expected)) in ends.iter().zip(expected).enumerate() {
        let off = (end.as_micros() - expected.as_micros()).abs();
        prop_assert!(off < within_us, "message {number}: {end} instead of {expected}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Against the definition by brute force, with unlimited and limited buffers. A step is 1/4 us,
    /// or 2 bytes at most.
    #[test]
    fn queues_do_what_the_definition_says(net in nets(), buffer in prop::option::of(20u64..300)) {
        let hops = ends(HopByHop::new(buffer, rates(&net.mbit)), &net.paths, &net.messages);
        let limit = buffer.map_or(f64::INFINITY, |buffer| buffer as f64);
        same(&hops, &in_small_steps(&net, limit, 250_000), 15.0)?;
    }

    /// With hardly any buffers a message holds its whole path, and moves at the least offer of its
    /// links.
    #[test]
    fn without_buffers_it_is_min_share(net in nets()) {
        let hops = ends(HopByHop::new(Some(1), rates(&net.mbit)), &net.paths, &net.messages);
        let lanes = Lanes::new(net.paths.len());
        let whole = EndToEnd::new(Fluid::new(Sharing::MinShare, rates(&net.mbit)), lanes);
        same(&hops, &ends(whole, &net.paths, &net.messages), 15.0)?;
    }

    /// Each flow keeps its order, and a limit that is never reached has no effect. A stored message
    /// is never faster than alone.
    #[test]
    fn flows_keep_their_order(net in nets()) {
        let hops = ends(HopByHop::new(None, rates(&net.mbit)), &net.paths, &net.messages);
        let large = ends(HopByHop::new(Some(1 << 40), rates(&net.mbit)), &net.paths, &net.messages);
        prop_assert_eq!(&hops, &large);
        let stored = ends(Stored::new(rates(&net.mbit)), &net.paths, &net.messages);
        for (ends, is_stored) in [(&hops, false), (&stored, true)] {
            let mut last = BTreeMap::new();
            for (sent, end) in net.messages.iter().zip(ends) {
                let before = last.insert(sent.flow, *end).unwrap_or(Picos::ZERO);
                prop_assert!(before <= *end && *end < Picos::MAX, "{:?} ends at {}", sent, end);
                let times = net.paths[sent.flow].iter().map(|link| {
                    Rate::mbit(net.mbit[*link as usize]).time_of(sent.bytes).0
                });
                let least = if is_stored { times.sum() } else { times.max().unwrap_or(0) };
                prop_assert!(end.since(sent.at).0 + 10 >= least, "{:?} takes {}", sent, end.since(sent.at));
            }
        }
    }
}
