//! Whole kernels and federates: a change of interest costs messages in proportion to the nodes that
//! publish the class, however many nodes there are. When nothing changes, only keep-alives are
//! sent. A grant of logical time costs as many messages in a large network as in a small one.

use base::Seed;
use testkit::areas;
use testkit::grants;
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

fn grants(workload: grants::Workload, nodes: usize, far: usize) -> grants::Report {
    let settings = grants::Settings { workload, nodes, federates: 3, steps: 8, far, seed: Seed(1) };
    let report = grants::run(&settings).unwrap_or_else(|why| panic!("{settings:?}: {why}"));
    assert!(report.grants >= 3 * 8 * nodes as u64 && report.received > 0, "{report:?}");
    report
}

#[test]
fn a_grant_in_lock_step_costs_as_many_messages_in_a_network_three_times_as_large() {
    let per_grant = |nodes| {
        let grants::Report { grants, control, .. } = grants(grants::Workload::LockStep, nodes, 0);
        control.messages as f64 / grants as f64
    };
    let (few, many) = (per_grant(8), per_grant(24));
    assert!(many <= 1.2 * few, "{few} and {many} messages per grant");
}

#[test]
fn federates_that_are_far_ahead_or_idle_cost_the_others_no_messages() {
    for workload in [grants::Workload::LockStep, grants::Workload::Events] {
        let (alone, beside) = (grants(workload, 4, 0), grants(workload, 4, 4));
        assert_eq!(beside.of_far, grants::Control::default(), "their nodes send nothing");
        let (least, most) = (alone.control.messages, beside.control.messages);
        assert!(most * 100 <= least * 105, "{workload:?}: {least} messages without them, {most} with them");
    }
}

fn areas(interest: Option<u32>) -> areas::Report {
    let settings = areas::Settings {
        nodes: 6,
        entities: 60,
        world: 60_000,
        interest,
        cell: 1_000,
        speed: 15,
        value_bytes: 128,
        warm_up: 20,
        seconds: 10,
        seed: Seed(1),
    };
    areas::run(&settings, |_, _| {}).unwrap_or_else(|why| panic!("{settings:?}: {why}"))
}

#[test]
fn a_node_gets_hardly_more_than_its_area_of_interest() {
    let (part, all) = (areas(Some(10_000)), areas(None));
    let per_wanted = |report: &areas::Report| report.bytes as f64 / report.received as f64;
    assert!(part.received * 20 < all.received && part.received > 100, "{part:?}, {all:?}");
    assert!(per_wanted(&part) <= 1.7 * per_wanted(&all), "{part:?}, {all:?}");
}
