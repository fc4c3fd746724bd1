//! Eventual consistency of mode 1, compared with the simplest model: the newest message of every
//! data element.

mod common;

use bytes::Bytes;
use common::{Lines, Net, ms};
use proptest::prelude::*;
use srmp::model::{DataId, Epoch, MemberId, Profile};
use srmp::rate::Rate;
use srmp::wire::Kind;
use srmp::{Config, Event};
use std::collections::BTreeMap;
use std::time::Duration;

const NODES: usize = 4;

/// An action on a group.
#[derive(Clone, Debug)]
enum Act {
    /// A new version of a data element, with this many bytes.
    Send {
        node: usize,
        data: u32,
        len: usize,
    },
    /// A best-effort message.
    Mode0 {
        node: usize,
    },
    Pass {
        ms: u64,
    },
    /// The node is cut off, or no longer.
    Split {
        node: usize,
        island: u32,
    },
    /// The node dies and restarts without its state.
    Restart {
        node: usize,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let node = 0..NODES;
    prop_oneof![
        6 => (node.clone(), 0u32..12, prop_oneof![4 => 1usize..300, 1 => 2_000usize..9_000])
            .prop_map(|(node, data, len)| Act::Send { node, data, len }),
        3 => node.clone().prop_map(|node| Act::Mode0 { node }),
        6 => (1u64..400).prop_map(|ms| Act::Pass { ms }),
        1 => (node.clone(), 0u32..2).prop_map(|(node, island)| Act::Split { node, island }),
        1 => node.prop_map(|node| Act::Restart { node }),
    ]
}

/// Three of the four combinations of profile and strictness, which are those used in practice.
#[derive(Clone, Copy, Debug)]
enum Style {
    V3,
    V2,
    Strict,
}

fn config(style: Style, node: usize, epoch: u32) -> Config {
    let member = MemberId(node as u64 + 1);
    let mut config = match style {
        Style::V3 => Config::new(Profile::V3, member),
        Style::V2 => Config::new(Profile::V2, member),
        Style::Strict => Config::strict(Profile::V2, member),
    };
    config.epoch = Epoch(epoch);
    config.announcements_max = 8;
    config.rate.rate_min = Rate::new(5e6).expect("a rate");
    config
}

/// A run: the network, and the last messages of every node in its current epoch.
struct Run {
    net: Net,
    style: Style,
    model: BTreeMap<(MemberId, DataId), Bytes>,
    epochs: [u32; NODES],
    count: u32,
}

impl Run {
    fn new(style: Style, seed: u64, lines: Lines) -> Self {
        let mut net = Net::new(seed, lines);
        for node in 0..NODES {
            net.join(config(style, node, 1));
        }
        Self { net, style, model: BTreeMap::new(), epochs: [1; NODES], count: 0 }
    }

    fn play(&mut self, act: &Act) {
        match *act {
            Act::Send { node, data, len } => {
                self.count += 1;
                let text = format!("{} of {node}/{data} ", self.count);
                let body: Bytes = text.bytes().cycle().take(len.max(text.len())).collect::<Vec<_>>().into();
                self.net.send_mode1(node, data, body.clone());
                self.model.insert((MemberId(node as u64 + 1), DataId(data)), body);
            }
            Act::Mode0 { node } => {
                self.net
                    .with(node, |endpoint, now| {
                        endpoint.send_mode0(now, None, 0, Bytes::from_static(b"tick"))
                    })
                    .expect("it fits");
            }
            Act::Pass { ms: time } => self.net.run(ms(time)),
            Act::Split { node, island } => self.net.island[node] = island,
            Act::Restart { node } => {
                self.epochs[node] += 1;
                self.net.start(node, config(self.style, node, self.epochs[node]));
                let member = MemberId(node as u64 + 1);
                self.model.retain(|(from, _), _| *from != member);
            }
        }
    }

    /// Heals the network, and lets time pass.
    fn heal(&mut self, time: Duration) {
        self.net.island.fill(0);
        self.net.run(time);
    }

    /// Checks that every node has the newest messages of all others, and none that was never sent.
    fn check(&self) -> Result<(), TestCaseError> {
        for node in 0..NODES {
            let me = MemberId(node as u64 + 1);
            let newest = &self.net.node(node).newest;
            for ((from, data), body) in self.model.iter().filter(|((from, _), _)| *from != me) {
                let got = newest.get(&(*from, *data)).map(|(_, body)| body);
                prop_assert_eq!(got, Some(body), "{:?} of {:?} at node {}", data, from, node);
            }
            let known = newest.keys().filter(|key| self.model.contains_key(key)).count();
            let expected = self.model.keys().filter(|(from, _)| *from != me).count();
            prop_assert_eq!(known, expected);
        }
        Ok(())
    }

    /// Checks the traffic once all nodes have everything: heartbeats and reports, but no repairs
    /// and no repair requests.
    fn check_silence(&mut self) -> Result<(), TestCaseError> {
        self.net.lines.loss = 0.0;
        self.net.run(ms(15_000));
        let before: Vec<_> = (0..NODES).map(|node| self.traffic(node)).collect();
        let sent = self.net.sent.len();
        self.net.run(ms(10_000));
        for (node, before) in before.into_iter().enumerate() {
            prop_assert_eq!(self.traffic(node), before, "node {} is not silent", node);
        }
        let mut bundles = 0;
        for (_, node, _, datagram) in &self.net.sent[sent..] {
            let envelope = self.net.node(*node).endpoint.format().decode(datagram).expect("well-formed");
            prop_assert!(matches!(envelope.header().kind, Kind::Bundle | Kind::Feedback));
            bundles += usize::from(envelope.header().kind == Kind::Bundle);
        }
        let reports = self.net.sent.len() - sent - bundles;
        prop_assert!(
            bundles <= NODES * 10 && reports <= bundles * (NODES - 1),
            "{} and {}",
            bundles,
            reports
        );
        Ok(())
    }

    fn traffic(&self, node: usize) -> (u64, u64, u64) {
        let sent = &self.net.node(node).endpoint.counters().endpoint.sent;
        (sent.mode1, sent.nacks, sent.mode0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn everybody_ends_with_the_newest(
        style in prop_oneof![Just(Style::V3), Just(Style::V2), Just(Style::Strict)],
        seed: u64,
        loss in 0.0f64..0.25, duplicate in 0.0f64..0.1, delay in 1u64..120, jitter in 0u64..60,
        acts in proptest::collection::vec(act(), 1..60),
    ) {
        let lines = Lines { delay: ms(delay), jitter: ms(jitter), loss, duplicate };
        let mut run = Run::new(style, seed, lines);
        // In profile v2 only the numbers reveal a restart: see below.
        let v3 = matches!(style, Style::V3);
        for act in acts.iter().filter(|act| v3 || !matches!(act, Act::Restart { .. })) {
            run.play(act);
        }
        run.heal(ms(90_000));
        run.check()?;
        run.check_silence()?;
    }
}

#[test]
fn members_that_were_apart_for_long_agree_again() {
    for style in [Style::V3, Style::V2, Style::Strict] {
        let mut run = Run::new(style, 3, Lines::lossy(ms(40), 0.1));
        run.net.run(ms(500));
        run.net.island[2] = 1;
        for round in 0..40 {
            run.play(&Act::Send { node: round % NODES, data: round as u32 % 12, len: 100 });
            run.play(&Act::Pass { ms: 1_000 });
        }
        let lost = run.net.count(0, |event| matches!(event, Event::MemberLost { .. }));
        assert_eq!(lost, 1);
        run.heal(ms(40_000));
        run.check().expect("all agree");
    }
}

#[test]
fn a_fifth_of_all_datagrams_may_be_lost() {
    for seed in 0..5 {
        let mut run = Run::new(Style::V3, seed, Lines::lossy(ms(50), 0.2));
        for round in 0..300 {
            run.play(&Act::Send { node: round % NODES, data: round as u32 % 12, len: 200 });
            run.play(&Act::Pass { ms: 100 });
        }
        run.heal(ms(20_000));
        run.check().expect("all agree");
    }
}
