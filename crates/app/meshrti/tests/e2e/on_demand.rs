//! Links that follow the traffic: two nodes of a mesh link while they have much to say to each other.

use crate::common::server::settled;
use crate::common::{Server, eventually, member_of};
use std::collections::BTreeSet;
use std::time::Duration;

const SETTINGS: &str = "[network]\ntopology = \"mesh\"\n\
     on-demand = { above = \"20kbit/s\", below = \"8kbit/s\", idle-after = \"2s\" }";

/// The pairs of nodes that are linked, as `asked` sees it.
fn linked(asked: &Server) -> BTreeSet<(String, String)> {
    let name = |row: &serde_json::Value, end: &str| row[end].as_str().expect("a name").to_owned();
    let pair = |row: &serde_json::Value| (name(row, "a"), name(row, "b"));
    asked.rows("link").iter().map(pair).map(|(a, b)| if a < b { (a, b) } else { (b, a) }).collect()
}

fn pairs(of: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    of.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[tokio::test]
async fn a_link_comes_with_the_traffic_and_goes_without_it() {
    let loopback = "tcp://127.0.0.1:0";
    let flags = |name| ["--name", name, "--listen", loopback, "--network-listen", loopback];
    let a = Server::with(SETTINGS, &flags("A"));
    let [b, c] = ["B", "C"]
        .map(|name| Server::with(SETTINGS, &[&flags(name)[..], &["--join", &a.links()[0]]].concat()));
    settled(&[&a, &b, &c], &["A", "B", "C"]).await;
    let base = pairs(&[("A", "B"), ("A", "C")]);
    let at_b = member_of(&b, "Wide", "at B").await;
    let mut at_c = member_of(&c, "Wide", "at C").await;
    crate::common::federates::heard_by(&at_b, &mut at_c).await;
    assert_eq!(linked(&a), base, "the nodes do not link because they know each other");
    // Whichever way they go, all arrive, in order and once.
    let mut sent = 0;
    let with_link = pairs(&[("A", "B"), ("A", "C"), ("B", "C")]);
    for with in [true, false] {
        let wanted = if with { &with_link } else { &base };
        let begun = std::time::Instant::now();
        while linked(&b) != *wanted || linked(&c) != *wanted {
            assert!(begun.elapsed() < Duration::from_secs(60), "links of {:?}", linked(&b));
            for _ in 0..if with { 300 } else { 1 } {
                at_b.fire(sent).await;
                assert_eq!(at_c.receives().await, sent);
                sent += 1;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    eventually("both logs tell of the link", || {
        [&b, &c].iter().all(|node| {
            let log = node.log();
            log.contains("messages to this neighbour go another way") && log.contains("link down")
        })
    })
    .await;
}
