//! Links that are slow or lose datagrams, and nodes that take nothing: who sends reliably is held
//! back, best effort makes room, and nobody else waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use federate::Callback;

use crate::common::federates::{heard_by, number, tag};
use crate::common::{Member, Server, create_and_join, eventually, member_of, options, soon};

/// Octets of a large interaction.
const SIZE: usize = 16 << 10;

/// Queues that fill soon.
const SMALL: &str = "[network]\nqueue = \"256KiB\"\nmessage = \"64KiB\"\ncredit = \"64KiB\"";

/// Two nodes, the second of which makes the link with these options.
async fn pair(toml: &str, options: &str) -> (Server, Server) {
    let loopback = "tcp://127.0.0.1:0";
    let a = Server::with(toml, &["--name", "A", "--listen", loopback, "--network-listen", loopback]);
    let link = format!("{},{options}", a.links()[0]);
    let b = Server::with(toml, &["--name", "B", "--listen", loopback, "--link", &link]);
    eventually("they are one network", || a.nodes() == ["A", "B"] && b.nodes() == ["A", "B"]).await;
    (a, b)
}

/// A federate that publishes interactions and hears nothing.
async fn speaker(node: &Server, name: &str) -> Member {
    let member = create_and_join(options(node.address()), "Wide", name).await;
    for class in [member.model.fire, member.model.sweep] {
        soon(member.federate.publish_interaction_class(class)).await.expect("the model has it");
    }
    member
}

/// Sends large reliable interactions, numbered from 1, until it is told to stop.
fn flood(member: Member, stop: &Arc<AtomicBool>) -> tokio::task::JoinHandle<(Member, u32)> {
    let stop = Arc::clone(stop);
    tokio::spawn(async move {
        let values = [(member.model.event, Bytes::from(vec![1; SIZE]))];
        let mut sent = 0;
        while !stop.load(Ordering::Relaxed) {
            sent += 1;
            let call = member.federate.send_interaction(member.model.fire, values.clone(), tag(sent));
            soon(call).await.expect("it is held back, and not refused");
        }
        (member, sent)
    })
}

/// A number that a node reports about itself.
fn own(node: &Server, name: &str, kind: &str, key: &str) -> u64 {
    let rows = node.rows(kind).into_iter().filter(|row| row["node"] == name);
    rows.filter_map(|row| row[key].as_u64()).sum()
}

#[tokio::test]
async fn a_slow_link_slows_down_who_sends_reliably_over_it_and_nobody_else() {
    let (a, b) = pair(SMALL, "rate=8Mbit/s").await;
    let mut far = member_of(&a, "Wide", "far").await;
    let sender = member_of(&b, "Wide", "sender").await;
    let (near, mut neighbour) =
        (member_of(&b, "Narrow", "near").await, member_of(&b, "Narrow", "neighbour").await);
    heard_by(&sender, &mut far).await;

    let stop = Arc::new(AtomicBool::new(false));
    let flood = flood(sender, &stop);
    eventually("the sender is held back", || own(&b, "B", "node", "paused_federates") == 1).await;
    for n in 1..=50 {
        near.fire(n).await;
        assert_eq!(neighbour.receives().await, n, "at the same node, without the link");
    }
    // The log of the nodes does not wait behind the flood.
    let late = member_of(&b, "Wide", "late").await;
    stop.store(true, Ordering::Relaxed);
    let (sender, sent) = soon(flood).await.expect("it does not panic");
    for n in 1..=sent {
        assert_eq!(far.receives().await, n, "reliable messages arrive, each once and in order");
    }
    assert_eq!(own(&b, "B", "channel", "dropped"), 0);
    eventually("nobody is held back any more", || own(&b, "B", "node", "paused_federates") == 0).await;

    // Best effort makes room and holds back nobody: the oldest go first.
    let values = [(sender.model.echo, Bytes::from(vec![1; SIZE]))];
    let last = 400;
    for n in 1..=last {
        let call = late.federate.send_interaction(late.model.sweep, values.clone(), tag(n));
        soon(call).await.expect("it is published");
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        seen.push(far.receives().await);
    }
    assert!(seen.is_sorted_by(|a, b| a < b), "in order, and none twice: {seen:?}");
    let missing = u64::from(last) - seen.len() as u64;
    assert!(missing > 0, "the link carries a tenth of that");
    eventually("each drop is counted", || own(&b, "B", "channel", "dropped") == missing).await;
}

#[tokio::test]
async fn datagrams_that_are_lost_in_one_direction_cost_best_effort_only() {
    let (a, b) = pair("", "best-effort=udp,loss=30%,back-loss=0%").await;
    let (mut at_a, mut at_b) = (member_of(&a, "Wide", "at A").await, member_of(&b, "Wide", "at B").await);
    heard_by(&at_a, &mut at_b).await;
    heard_by(&at_b, &mut at_a).await;
    let mut sent = 0;
    while own(&b, "B", "link_end", "emulated_losses") < 20 {
        for _ in 0..20 {
            sent += 1;
            for member in [&at_a, &at_b] {
                let values = [(member.model.echo, Bytes::from_static(b"echo"))];
                let call = member.federate.send_interaction(member.model.sweep, values, tag(sent));
                soon(call).await.expect("it is published");
                member.fire(sent).await;
            }
        }
    }
    for (member, loses) in [(&mut at_a, true), (&mut at_b, false)] {
        let fire = member.model.fire;
        let (mut reliable, mut best_effort) = (Vec::new(), Vec::new());
        while reliable.last() != Some(&sent) || !loses && best_effort.last() != Some(&sent) {
            let (class, n) = member
                .until("interaction", |callback| match callback {
                    Callback::ReceiveInteraction(r) => {
                        Some((r.interaction_class, number(&r.user_supplied_tag)))
                    }
                    _ => None,
                })
                .await;
            if class == Some(fire) { reliable.push(n) } else { best_effort.push(n) }
        }
        assert_eq!(reliable, (1..=sent).collect::<Vec<_>>(), "each once, in order");
        if loses {
            assert!(best_effort.len() < sent as usize, "{} of {sent}", best_effort.len());
        }
    }
}

/// A node that takes nothing costs the others no memory; nothing reliable is lost when it goes on.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_stalled_node_costs_nobody_memory() {
    let patient =
        format!("{SMALL}\nsilence = \"300s\"\nnode-timeout = \"300s\"\nminority-timeout = \"600s\"");
    let (a, b) = pair(&patient, "best-effort=stream").await;
    let mut far = member_of(&a, "Wide", "far").await;
    let (sender, noisy) = (speaker(&b, "sender").await, speaker(&b, "noisy").await);
    heard_by(&sender, &mut far).await;

    a.signal("STOP");
    let before = b.resident_kib();
    let stop = Arc::new(AtomicBool::new(false));
    let flood = flood(sender, &stop);
    let values = [(noisy.model.echo, Bytes::from(vec![1; SIZE]))];
    for n in 1..=4_000 {
        let call = noisy.federate.send_interaction(noisy.model.sweep, values.clone(), tag(n));
        soon(call).await.expect("best effort is never held back");
    }
    eventually("the sender is held back", || own(&b, "B", "node", "paused_federates") == 1).await;
    let after = b.resident_kib();
    assert!(after < before + (16 << 10), "{before} KiB grew to {after} KiB with more than 64 MiB sent");
    assert!(own(&b, "B", "channel", "dropped") > 3_000);

    a.signal("CONT");
    stop.store(true, Ordering::Relaxed);
    let (_sender, sent) = soon(flood).await.expect("it does not panic");
    let fire = far.model.fire;
    for n in 1..=sent {
        let next = far.until("interaction", |callback| match callback {
            Callback::ReceiveInteraction(r) if r.interaction_class == Some(fire) => {
                Some(number(&r.user_supplied_tag))
            }
            _ => None,
        });
        assert_eq!(next.await, n, "each once, in order");
    }
}
