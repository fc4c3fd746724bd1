//! All nodes are suspended together, as machines are with their host, and resume.

use crate::weather;
use base::Seed;
use std::time::Duration;
use testkit::{Cluster, Options, Shape};

const NODES: usize = 3;

/// Suspends all nodes for a while. Returns whether the federates are still joined afterwards, and
/// the federations of each node.
fn suspend(span: Duration) -> (bool, Vec<Vec<String>>) {
    let mut options = Options::quiet(Seed(9), Shape::mesh(NODES, 0), 3);
    options.homes = Some(vec![0, 1, 2]);
    let mut cluster = Cluster::new(options);
    weather::prepare(&mut cluster, 1).unwrap_or_else(|failure| panic!("{failure}"));
    let key = |cluster: &Cluster, node| cluster.view(node).key;
    let keys: Vec<_> = (0..NODES).map(|node| key(&cluster, node)).collect();
    (0..NODES).for_each(|node| cluster.pause(node));
    cluster.run_for(span).unwrap_or_else(|failure| panic!("{failure}"));
    (0..NODES).for_each(|node| cluster.go_on(node));
    cluster.run_for(Duration::from_secs(20)).unwrap_or_else(|failure| panic!("{failure}"));
    for (node, key) in keys.into_iter().enumerate() {
        let view = cluster.view(node);
        assert!(view.member && view.members.len() == NODES && view.key == key, "{view:?}");
    }
    let joined = cluster.federates().iter().all(|host| cluster.is_joined(*host));
    let names = |node| cluster.kernel(node).status().federations.into_iter().map(|f| f.name).collect();
    (joined, (0..NODES).map(names).collect())
}

#[test]
fn federates_come_back_to_nodes_that_were_suspended_for_less_than_their_window() {
    let (joined, federations) = suspend(Duration::from_secs(5));
    assert!(joined, "their sessions resume");
    assert_eq!(federations, vec![["federation 0"]; NODES]);
}

#[test]
fn nodes_that_were_suspended_for_long_are_still_one_network_with_its_federations() {
    let (joined, federations) = suspend(Duration::from_secs(40));
    assert!(!joined, "their federates, which were not suspended, have given up");
    assert_eq!(federations, vec![["federation 0"]; NODES]);
}
