//! The number of members that ask when all miss the same message, and the time that it takes.

mod common;

use common::{Lines, Net, ms};
use srmp::model::{MemberId, Profile};
use srmp::rate::Rate;
use srmp::{Config, Event};
use std::time::Duration;

const RECEIVERS: usize = 80;

/// A sender and its receivers, which know each other.
fn group(seed: u64) -> Net {
    let mut net = Net::new(seed, Lines::perfect(ms(50)));
    for member in 1..=RECEIVERS as u64 + 1 {
        let mut config = Config::new(Profile::V3, MemberId(member));
        config.rate.rate_min = Rate::new(1e6).expect("a rate");
        config.copies = false;
        net.join(config);
    }
    net.run(ms(1_000));
    net.send_mode1(0, 0, vec![1; 200]);
    net.run(ms(40_000));
    net.sent.clear();
    net
}

fn nacks(net: &Net) -> u64 {
    (1..=RECEIVERS).map(|node| net.node(node).endpoint.counters().receive.nacks_sent).sum()
}

#[test]
fn a_few_of_many_ask_for_what_all_miss() {
    let mut net = group(1);
    assert_eq!(net.node(9).endpoint.live_members() as usize, RECEIVERS);
    let before = nacks(&net);
    let losses = 20;
    for round in 0..losses {
        net.lines.loss = 1.0;
        net.send_mode1(0, 1, vec![round; 200]);
        net.run(ms(12));
        net.lines.loss = 0.0;
        net.run(ms(3_000));
        assert!((1..=RECEIVERS).all(|node| net.node(node).newest.values().any(|(_, body)| body[0] == round)));
    }
    let asked = (nacks(&net) - before) as f64 / f64::from(losses);
    let repaired = net.node(0).endpoint.counters().send.pieces_repaired as f64 / f64::from(losses);
    assert!(asked <= 4.0, "{asked} NACKs per loss");
    assert!(repaired <= 1.2, "{repaired} repairs per loss");
    let recovery = &net.node(9).endpoint.counters().receive.recovery;
    assert!(recovery.quantile(0.5) <= ms(260), "{recovery:?}");
}

#[test]
fn repairs_are_near_their_least_under_independent_loss() {
    let mut net = group(2);
    net.lines.loss = 0.05;
    let before = net.node(0).endpoint.counters().send.pieces_repaired;
    let messages = 60;
    for round in 0..messages {
        net.send_mode1(0, u32::from(round) % 15, vec![round; 200]);
        net.run(ms(400));
    }
    net.run(Duration::from_secs(10));
    let counters = net.node(0).endpoint.counters();
    let repaired = (counters.send.pieces_repaired - before) as f64 / f64::from(messages);
    // The least number: the sum over k of 1 - (1 - 0.05^k)^80.
    let least: f64 = (1..9).map(|k| 1.0 - (1.0 - 0.05f64.powi(k)).powi(RECEIVERS as i32)).sum();
    assert!(repaired <= least * 1.3, "{repaired} repairs per message, {least} at least");
    for node in 1..=RECEIVERS {
        assert_eq!(net.node(node).newest.len(), 15);
        assert_eq!(net.count(node, |event| matches!(event, Event::StateDiffers { .. })), 0);
    }
}
