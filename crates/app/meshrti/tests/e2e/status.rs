//! The rows of `meshrti status` about links, queues and drops.

use bytes::Bytes;

use crate::common::federates::tag;
use crate::common::server::run;
use crate::common::{Member, Server, create_and_join, eventually, member_of, options, soon};

/// Sends best-effort interactions of this size.
async fn sweep(member: &Member, count: u32, size: usize) {
    let values = [(member.model.echo, Bytes::from(vec![1; size]))];
    for n in 0..count {
        soon(member.federate.send_interaction(member.model.sweep, values.clone(), tag(n)))
            .await
            .expect("it is published");
    }
}

fn text(server: &Server) -> String {
    String::from_utf8(run(&["status", server.address()]).stdout).expect("it is UTF-8")
}

/// The end of the only link that `node` says it has, as `asked` knows it; `Null` before it is told.
fn end(asked: &Server, node: &str) -> serde_json::Value {
    asked.rows("link_end").into_iter().find(|row| row["node"] == node).unwrap_or_default()
}

fn count(row: &serde_json::Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or_default()
}

#[tokio::test]
async fn both_ends_of_a_lossy_link_count_what_is_lost() {
    let a = Server::node("A", None, &[]);
    let link = format!("{},best-effort=udp,loss=50%,back-loss=0%", a.links()[0]);
    let b = Server::with("", &["--name", "B", "--listen", "tcp://127.0.0.1:0", "--link", &link]);
    eventually("it is a member", || a.nodes() == ["A", "B"]).await;
    let (_at_a, at_b) = (member_of(&a, "Lossy", "at A").await, member_of(&b, "Lossy", "at B").await);
    // Interest has to arrive, and UDP to be probed, before anything goes that way.
    soon(async {
        while count(&end(&b, "B"), "emulated_losses") < 50 {
            sweep(&at_b, 20, 100).await;
        }
    })
    .await;

    // Each end is known to both nodes: that of the other as it was last told.
    for asked in [&a, &b] {
        eventually("the losses are told", || count(&end(asked, "B"), "emulated_losses") >= 50).await;
        eventually("the losses are seen", || count(&end(asked, "A"), "lost_datagrams") > 40).await;
        let (sender, receiver) = (end(asked, "B"), end(asked, "A"));
        assert_eq!((&sender["to"], &receiver["to"]), (&"A".into(), &"B".into()));
        assert!(count(&sender, "sent_datagrams") > 0, "{sender}");
        assert!(count(&receiver, "received_datagrams") > 0, "{receiver}");
        assert_eq!(count(&sender, "lost_datagrams"), 0, "the way back loses nothing: {sender}");
        assert_eq!(count(&receiver, "emulated_losses"), 0, "{receiver}");
        for (row, what) in [(&sender, "sent"), (&receiver, "received")] {
            for unit in ["frames", "bytes"] {
                assert!(count(row, &format!("{what}_{unit}")) > 0, "{row}");
                assert!(row[format!("{what}_{unit}_per_s")].is_f64(), "{row}");
            }
        }
    }
    // A link in use has a rate, of frames and bytes: at least its signs of life.
    eventually("a rate", || end(&b, "B")["sent_frames_per_s"].as_f64().is_some_and(|rate| rate > 0.0)).await;
    let text = text(&b);
    assert!(text.contains("lost by its emulated line"), "{text}");
    assert!(text.contains("    A sent ") && text.contains("    B sent "), "{text}");
}

#[tokio::test]
async fn a_single_node_says_what_waits_for_its_federates() {
    let server = Server::configured("[limits]\nqueue = \"256KiB\"");
    let sender = member_of(&server, "Queues", "Sender").await;
    let mut lazy = options(server.address());
    lazy.callbacks_high = 4;
    let sleeper = create_and_join(lazy, "Queues", "Sleeper").await;
    sleeper.declare_all().await;
    let row = |name: &str| {
        server.rows("federate").into_iter().find(|row| row["federate"] == name).unwrap_or_default()
    };
    for name in ["Sender", "Sleeper"] {
        let row = row(name);
        assert_eq!((&row["waiting"], &row["dropped"]), (&0.into(), &0.into()), "{row}");
    }
    assert!(server.rows("node").is_empty(), "it is no network");

    // More than the sockets between hold.
    sweep(&sender, 3_000, 16 << 10).await;
    eventually("drops are counted", || count(&row("Sleeper"), "dropped") > 0).await;
    let slow = row("Sleeper");
    assert!(count(&slow, "waiting") > 0, "{slow}");
    let bytes = count(&slow, "waiting_bytes");
    assert!((1..=256 << 10).contains(&bytes), "{slow}");
    assert_eq!(count(&row("Sender"), "dropped"), 0, "others are not concerned");
    let text = text(&server);
    assert!(text.contains("callbacks waiting"), "{text}");
    let line = text.lines().find(|line| line.contains("Sleeper")).unwrap_or_default();
    assert!(line.ends_with(&format!("{} dropped", count(&row("Sleeper"), "dropped"))), "{text}");
}
