//! Whole kernels and federates: a change of interest costs messages in proportion to the nodes that
//! publish the class, however many nodes there are. When nothing changes, only keep-alives are
//! sent.

use testkit::scale::{self, Counts, Report, Settings, Shape};

fn run(shape: Shape, nodes: usize) -> Report {
    let report =
        scale::run(&Settings::new(shape, nodes), |_| {}).unwrap_or_else(|why| panic!("{nodes}: {why}"));
    let silence = report.steps.last().expect("there are steps").counts;
    assert_eq!(silence.news(), 0, "{nodes} nodes in silence: {silence:?}");
    assert!(silence.life > 0, "they live");
    report
}

/// Frames with interests, and peer messages.
fn counts(counts: &Counts) -> (u64, u64) {
    (counts.router, counts.peer_messages)
}

#[test]
fn in_a_mesh_a_change_of_interest_concerns_the_nodes_that_publish_and_no_others() {
    for nodes in [8, 20] {
        for interest in run(Shape::Mesh, nodes).interests {
            let publishers = interest.publishers as u64;
            assert_eq!(
                counts(&interest.subscribe),
                (3 * publishers, 3 * publishers),
                "{nodes}: {interest:?}"
            );
            assert_eq!(counts(&interest.unsubscribe), (0, 4 * publishers), "{nodes}: {interest:?}");
        }
    }
}

#[test]
fn in_a_graph_it_concerns_the_ways_to_them() {
    let nodes = 20;
    let mut before = 0;
    for interest in run(Shape::Graph, nodes).interests {
        let (router, peer_messages) = counts(&interest.subscribe);
        assert_eq!(router + peer_messages == 0, interest.publishers == 0, "{interest:?}");
        // No path is longer than the number of nodes, and more publishers lie on more paths.
        let most = 3 * (interest.publishers * (nodes - 1)) as u64;
        assert!(router <= most && peer_messages <= most && router + peer_messages >= before, "{interest:?}");
        before = router + peer_messages;
    }
}
