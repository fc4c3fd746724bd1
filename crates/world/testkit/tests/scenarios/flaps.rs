//! Every connected graph of up to five nodes, with every single link flapped, exhaustively. One
//! federate publishes, and one at each node subscribes. Every reliable update arrives exactly once
//! and in order: at once where another path exists, otherwise after the link is back.

use crate::weather::{self, Of};
use base::Seed;
use hla::handle::ObjectInstanceHandle;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{Cluster, Failure, FaultKind, Options, Shape, Timing};

/// Time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(10);

/// How a link fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flap {
    /// It breaks, and both ends are notified.
    Cut,
    /// It falls silent.
    Stall,
}

/// One run: the graph, the link, and the node of the publisher.
#[derive(Clone, Debug)]
struct Case {
    shape: Shape,
    edge: usize,
    publisher: usize,
    flap: Flap,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in (2..=5).flat_map(Shape::connected_graphs) {
        for edge in 0..shape.edges.len() {
            for flap in [Flap::Cut, Flap::Stall] {
                // In small graphs every node is the publisher; in larger ones each node in turn,
                // over all cases.
                let all =
                    if shape.nodes <= 4 { 0..shape.nodes } else { cases.len() % 5..cases.len() % 5 + 1 };
                for publisher in all {
                    cases.push(Case { shape: shape.clone(), edge, publisher, flap });
                }
            }
        }
    }
    cases
}

/// A cluster in which federate 0, at the publisher's node, has registered an instance that all
/// others know.
fn prepared(case: &Case) -> Result<(Cluster, ObjectInstanceHandle), Failure> {
    let nodes = case.shape.nodes;
    let mut options = Options::quiet(Seed(7), case.shape.clone(), nodes + 1);
    options.timing = Timing { keep_alive: Duration::from_millis(100), ..Timing::USUAL };
    options.timing.silence = Duration::from_millis(400);
    options.timing.backoff = Duration::from_millis(100);
    // Federate 0 shares its node with a subscriber; federate n is at node n - 1.
    let mut at: Vec<usize> = (0..nodes).collect();
    at.insert(0, case.publisher);
    options.homes = Some(at);
    let mut cluster = Cluster::new(options);
    let instance = weather::prepare(&mut cluster, 1)?[0];
    Ok((cluster, instance))
}

/// Makes updates for a while. Returns their number.
fn update(cluster: &mut Cluster, instance: ObjectInstanceHandle, span: Duration) -> Result<u32, Failure> {
    let host = cluster.federates()[0];
    let until = cluster.now() + span;
    let mut count = 0;
    while cluster.now() < until {
        weather::update(cluster, host, instance, Of::Report, 0)?;
        count += 1;
        cluster.run_for(UPDATE_INTERVAL)?;
    }
    Ok(count)
}

fn run(case: &Case) -> Result<(), Failure> {
    let (mut cluster, instance) = prepared(case)?;
    cluster.record();
    let mut count = update(&mut cluster, instance, Duration::from_millis(200))?;
    let edge = case.shape.edges[case.edge];
    let kind = match case.flap {
        Flap::Cut => FaultKind::Cut(edge.from, edge.to),
        Flap::Stall => FaultKind::Stall(edge.from, edge.to),
    };
    let redundant = case.shape.is_connected_without(case.edge);
    let rule = cluster.add_rule(kind);
    if redundant {
        // Updates travel over another path while the link is away.
        count += update(&mut cluster, instance, Duration::from_millis(1_500))?;
        cluster.run_for(Duration::from_millis(200))?;
        complete(case, &cluster, count, "while the link was away");
        cluster.network_mut().remove_rule(rule);
        count += update(&mut cluster, instance, Duration::from_millis(500))?;
    } else {
        count += update(&mut cluster, instance, Duration::from_millis(500))?;
        cluster.network_mut().remove_rule(rule);
        count += update(&mut cluster, instance, Duration::from_millis(500))?;
    }
    cluster.run_for(Duration::from_millis(1_000))?;
    complete(case, &cluster, count, "in the end");
    for node in 0..case.shape.nodes {
        assert_eq!(cluster.view(node).members.len(), case.shape.nodes, "{case:?}: a node was given up");
    }
    Ok(())
}

fn complete(case: &Case, cluster: &Cluster, count: u32, when: &str) {
    let received = weather::received(cluster);
    let publisher = cluster.federates()[0];
    for &host in &cluster.federates()[1..] {
        let got = received.get(&(host, publisher)).cloned().unwrap_or_default();
        let first = got.first().copied().unwrap_or_default();
        let expected: Vec<u32> = (first..first + count).collect();
        assert!(got == expected, "{case:?}: {when}, {host} got {} of {count}: {got:?}", got.len());
    }
}

#[test]
fn every_update_arrives_once_whatever_link_flaps() {
    let cases = cases();
    assert!(cases.len() > 400, "{}", cases.len());
    let next = AtomicUsize::new(0);
    let only: Option<usize> = std::env::var("MESHRTI_CASE").ok().and_then(|text| text.parse().ok());
    let work = || {
        while let Some((place, case)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            cases.get(place).map(|case| (place, case))
        } {
            if only.is_none_or(|only| only == place)
                && let Err(failure) = run(case)
            {
                panic!("{case:?}\n{failure}\nReplay: MESHRTI_CASE={place}");
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    #[allow(clippy::disallowed_methods)] // whole runs side by side; within a run there is one thread
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
}
