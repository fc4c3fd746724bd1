//! The routers of whole nodes: single ones in a tree, triads in a mesh.

mod common;

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use common::app::{Note, Want, note};
use router::{ClientFlags, Fifos, NodeRouters, PipeConfig, Priority};

const NOW: Moment = Moment::from_secs(1);
const BOTH: ClientFlags = ClientFlags::SOURCE.union(ClientFlags::SINK);

/// Nodes with ideal links.
struct Nodes(Vec<NodeRouters<Note, Want>>);

/// Both halves differ, as those of random keys do: they become the identity of a router.
fn key(node: usize) -> NodeKey {
    NodeKey((node as u64 + 1) << 32 | (node as u64 + 1))
}

impl Nodes {
    /// A chain of single routers.
    fn chain(count: usize, pipe: &PipeConfig) -> Self {
        let single = |node| NodeRouters::single(NOW, key(node), Seed(7), pipe.clone());
        let mut nodes = Self((0..count).map(single).collect());
        (1..count).for_each(|node| nodes.connect(node, node - 1));
        nodes.settle();
        nodes
    }

    /// A full mesh of triads.
    fn mesh(count: usize) -> Self {
        let triad = |node| NodeRouters::triad(NOW, key(node), Seed(7), PipeConfig::default());
        let mut nodes = Self((0..count).map(triad).collect());
        for node in 0..count {
            (0..node).for_each(|other| nodes.connect(node, other));
        }
        nodes.settle();
        nodes
    }

    fn connect(&mut self, initiator: usize, acceptor: usize) {
        for (node, other) in [(initiator, acceptor), (acceptor, initiator)] {
            let routers = &mut self.0[node];
            routers.neighbour_up(NOW, key(other), node == initiator, BOTH, 0).expect("there is room");
        }
    }

    fn disconnect(&mut self, a: usize, b: usize) {
        self.0[a].neighbour_down(NOW, key(b));
        self.0[b].neighbour_down(NOW, key(a));
    }

    /// Moves frames until there are none.
    fn settle(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for node in 0..self.0.len() {
                while let Some(to) = self.0[node].poll_ready() {
                    while let Some((channel, frame)) =
                        self.0[node].poll_frame(NOW, to, Fifos::ALL, usize::MAX)
                    {
                        let other = (to.0 >> 32) as usize - 1;
                        let taken = self.0[other].handle_frame(NOW, key(node), channel, frame, false);
                        taken.expect("routers understand each other");
                        moved = true;
                    }
                }
            }
        }
    }

    fn want(&mut self, node: usize, group: u8, any: bool) {
        self.0[node].set_interest(NOW, &Want::group(group), any);
        self.settle();
    }

    fn publish(&mut self, node: usize, group: u8, number: u32) {
        let waits_in = self.0[node].publish(NOW, note(group, 0, Priority::Reliable, number));
        assert_eq!(waits_in, [], "nothing is congested");
        self.settle();
    }

    /// Numbers of the messages that have come to each node.
    fn received(&mut self) -> Vec<Vec<u32>> {
        let numbers = |routers: &mut NodeRouters<Note, Want>| {
            std::iter::from_fn(|| routers.poll_message()).map(|note| note.number).collect()
        };
        self.0.iter_mut().map(numbers).collect()
    }

    /// Messages that a node has sent to each other one.
    fn sent(&self, node: usize) -> Vec<u64> {
        (0..self.0.len()).map(|other| self.0[node].sent_to(key(other))).collect()
    }

    /// The news that a node has got of the interests of others.
    fn told(&mut self, node: usize) -> Vec<(Want, bool)> {
        std::iter::from_fn(|| self.0[node].poll_wanted()).collect()
    }
}

#[test]
fn in_a_mesh_each_interested_node_gets_a_message_once_and_directly() {
    let mut nodes = Nodes::mesh(5);
    nodes.want(1, 9, true);
    nodes.want(2, 9, true);
    nodes.publish(0, 9, 1);
    nodes.publish(1, 9, 2);
    nodes.publish(3, 8, 3);
    assert_eq!(nodes.received(), [vec![], vec![1], vec![1, 2], vec![], vec![]]);
    assert_eq!(nodes.sent(0), [0, 1, 1, 0, 0]);
    assert_eq!(nodes.sent(1), [0, 0, 1, 0, 0]);
    for idle in 2..5 {
        assert_eq!(nodes.sent(idle), [0; 5], "node {idle} relays nothing");
    }
}

#[test]
fn in_a_tree_a_message_goes_as_far_as_somebody_wants_it() {
    let mut nodes = Nodes::chain(4, &PipeConfig::default());
    nodes.want(0, 9, true);
    nodes.want(2, 9, true);
    nodes.publish(1, 9, 1);
    nodes.publish(3, 9, 2);
    assert_eq!(nodes.received(), [vec![1, 2], vec![], vec![1, 2], vec![]]);
    assert_eq!(nodes.sent(2), [0, 1, 0, 0], "node 3 wants nothing");
}

#[test]
fn the_application_is_told_whether_anybody_else_wants_a_topic() {
    for mut nodes in [Nodes::mesh(3), Nodes::chain(3, &PipeConfig::default())] {
        nodes.want(1, 9, true);
        nodes.want(2, 9, true);
        assert_eq!(nodes.told(0), [(Want::group(9), true)]);
        nodes.want(1, 9, false);
        assert_eq!(nodes.told(0), []);
        // With the neighbours their interest goes.
        nodes.disconnect(0, 1);
        nodes.disconnect(0, 2);
        assert_eq!(nodes.told(0), [(Want::group(9), false)]);
        nodes.publish(0, 9, 1);
        assert_eq!(nodes.received(), [vec![], vec![], vec![]]);
    }
}

#[test]
fn a_triad_has_its_neighbours_above_it() {
    let nodes = Nodes::mesh(2);
    for (node, initiator) in [(1, true), (0, false)] {
        let channels = nodes.0[node].channels(key(1 - node));
        let roles: Vec<_> =
            channels.iter().map(|channel| (channel.role, channel.channel, channel.flags)).collect();
        let upper = ClientFlags::UPPER;
        let (up, down) = if initiator { (1, 2) } else { (2, 1) };
        assert_eq!(
            roles,
            [("PopUp", up, ClientFlags::SINK | upper), ("PullDown", down, ClientFlags::SOURCE | upper)]
        );
    }
    let stats = nodes.0[0].stats();
    assert_eq!(stats.iter().map(|(role, _)| *role).collect::<Vec<_>>(), ["Primary", "PopUp", "PullDown"]);
}

#[test]
fn a_sender_waits_for_the_congested_pipe_until_it_is_relieved() {
    let mut nodes = Nodes::chain(2, &PipeConfig::default().with_bytes_max(64 << 10));
    nodes.want(1, 9, true);
    let big = |number| Note { body: Bytes::from(vec![0; 1 << 10]), ..note(9, 0, Priority::Reliable, number) };
    let first = (0..).find_map(|number| {
        let waits_in = nodes.0[0].publish(NOW, big(number));
        assert!(number < 64, "a pipe of 64 KiB is never congested");
        (!waits_in.is_empty()).then_some(waits_in)
    });
    let pipe = first.expect("it was congested")[0];
    assert!(nodes.0[0].is_congested(pipe) && nodes.0[0].poll_relieved().is_none());
    nodes.settle();
    assert_eq!(nodes.0[0].poll_relieved(), Some(pipe));
    assert!(!nodes.0[0].is_congested(pipe));
    // A pipe that goes with its neighbour holds nobody up either.
    nodes.disconnect(0, 1);
    assert_eq!(nodes.0[0].poll_relieved(), Some(pipe));
}

#[test]
fn frames_of_strangers_and_of_other_channels_have_no_effect() {
    let mut nodes = Nodes::chain(2, &PipeConfig::default());
    let frame = Bytes::from_static(b"no frame of a router");
    assert_eq!(nodes.0[0].handle_frame(NOW, NodeKey(99), 1, frame.clone(), false), Ok(()));
    assert_eq!(nodes.0[0].handle_frame(NOW, key(1), 2, frame.clone(), false), Ok(()));
    assert!(nodes.0[0].handle_frame(NOW, key(1), 1, frame, false).is_err());
}
