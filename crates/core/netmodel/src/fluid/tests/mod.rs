//! Rates against brute force, and times against closed forms.

mod jackson;
mod queues;

use super::{Fluid, MessageId, Sharing};
use crate::units::{Picos, Rate};
use proptest::prelude::*;

const MBIT: Rate = Rate::mbit(1);

/// The four messages of a net of two links: over X, over both, over Y, over Y. Rates in parts of
/// the capacity.
fn two_links(sharing: Sharing) -> [f64; 4] {
    let mut fluid = Fluid::new(sharing, [MBIT, MBIT]);
    let ids = [[0].as_slice(), &[0, 1], &[1], &[1]].map(|path| fluid.add(path, 1_000));
    ids.iter().for_each(|id| fluid.start(Picos::ZERO, *id));
    ids.map(|id| fluid.rate(id) / MBIT.bytes_per_ps())
}

#[test]
fn unused_shares_are_left_or_given_to_others() {
    let close = |got: [f64; 4], want: [f64; 4]| got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12);
    let third = 1.0 / 3.0;
    assert!(close(two_links(Sharing::MinShare), [0.5, third, third, third]));
    assert!(close(two_links(Sharing::MaxMin), [2.0 * third, third, third, third]));
}

#[test]
fn two_messages_meet_on_a_link() {
    for sharing in [Sharing::MinShare, Sharing::MaxMin] {
        let mut fluid = Fluid::new(sharing, [Rate::mbit(856)]);
        let ids = [0, 1].map(|_| fluid.add(&[0], 32_768));
        let starts = [Picos::ZERO, Picos::from_micros(100)];
        fluid.start(starts[0], ids[0]);
        fluid.start(starts[1], ids[1]);
        for expected in [0, 1] {
            let (now, id) = fluid.next_end().unwrap();
            assert_eq!(id, ids[expected]);
            assert!((now.since(starts[expected]).as_micros() - 512.486).abs() < 1e-3, "{now}");
            fluid.end(now, id);
        }
        assert_eq!((fluid.next_end(), fluid.active()), (None, 0));
        assert!((fluid.take_carried(Picos::from_secs(1))[0] - 65_536.0).abs() < 1e-6);
    }
}

/// Links with a rate, and messages that come and go over some of them.
#[derive(Debug, Clone)]
struct Net {
    rates: Vec<u64>,
    paths: Vec<Vec<u32>>,
    /// The message that comes, or goes if it is there, in each step.
    changes: Vec<usize>,
}

fn nets(links: usize, hops: usize) -> impl Strategy<Value = Net> {
    let rates = prop::collection::vec(prop::sample::select(vec![100u64, 250, 856, 1_000]), links);
    let path = prop::sample::subsequence((0..links as u32).collect::<Vec<_>>(), 1..=hops);
    (rates, prop::collection::vec(path, 20), prop::collection::vec(0usize..20, 1..60))
        .prop_map(|(rates, paths, changes)| Net { rates, paths, changes })
}

/// Plays the changes, and after each calls `check` with the present messages and their rates.
fn play(net: &Net, sharing: Sharing, check: impl Fn(&Net, &[(usize, f64)])) {
    let mut fluid = Fluid::new(sharing, net.rates.iter().map(|rate| Rate::mbit(*rate)));
    let mut there: Vec<Option<MessageId>> = vec![None; net.paths.len()];
    for (&change, now) in net.changes.iter().zip(1..) {
        match there[change].take() {
            Some(id) => fluid.end(Picos(now), id),
            None => {
                let id = fluid.add(&net.paths[change], u64::MAX);
                fluid.start(Picos(now), id);
                there[change] = Some(id);
            }
        }
        let rates = there.iter().enumerate().filter_map(|(at, id)| id.map(|id| (at, fluid.rate(id))));
        check(net, &rates.collect::<Vec<_>>());
    }
}

fn capacity(net: &Net, link: u32) -> f64 {
    Rate::mbit(net.rates[link as usize]).bytes_per_ps()
}

/// The rates of the messages that cross a link.
fn on(net: &Net, link: u32, rates: &[(usize, f64)]) -> Vec<f64> {
    rates.iter().filter(|(at, _)| net.paths[*at].contains(&link)).map(|(_, rate)| *rate).collect()
}

/// The definition of max-min fairness: no link carries too much, and each message crosses a full
/// link on which no message has a higher rate.
fn is_max_min(net: &Net, rates: &[(usize, f64)]) {
    let full = |link| on(net, link, rates).iter().sum::<f64>() / capacity(net, link);
    for link in 0..net.rates.len() as u32 {
        assert!(full(link) < 1.0 + 1e-9, "link {link} is {} full", full(link));
    }
    for (at, rate) in rates {
        let bottleneck = |link: &u32| {
            full(*link) > 1.0 - 1e-9
                && on(net, *link, rates).iter().all(|other| *other <= rate * (1.0 + 1e-9))
        };
        assert!(net.paths[*at].iter().any(bottleneck), "message {at} could have more than {rate}");
    }
}

fn is_min_share(net: &Net, rates: &[(usize, f64)]) {
    for (at, rate) in rates {
        let share = |link: &u32| capacity(net, *link) / on(net, *link, rates).len() as f64;
        let least = net.paths[*at].iter().map(share).fold(f64::INFINITY, f64::min);
        assert!((rate / least - 1.0).abs() < 1e-12, "message {at}: {rate}, not {least}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rates_are_those_of_the_definition(net in nets(8, 4)) {
        play(&net, Sharing::MaxMin, is_max_min);
        play(&net, Sharing::MinShare, is_min_share);
    }

    /// Components of this many links are solved with a heap.
    #[test]
    fn large_components_too(net in nets(90, 12)) {
        play(&net, Sharing::MaxMin, is_max_min);
        play(&net, Sharing::MinShare, is_min_share);
    }
}
