//! A federate that sends reliable messages faster than the network takes them is paused, and
//! resumes when there is room. With pipes of a few kilobytes every update arrives exactly once and
//! in order. No queue grows beyond its limit, whatever is slow, stalled or dead. Control messages
//! do not wait behind bulk.

use crate::weather::{self, Of};
use base::Seed;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use hla::handle::ObjectInstanceHandle;
use kernel::{DropReason, PipeConfig, Priority};
use netsim::{HostId, LinkSpec};
use std::time::Duration;
use testkit::{Cluster, Failure, Options, Shape, Timing};

/// Number of federates that publish, all at node 0.
const PUBLISHERS: usize = 2;
/// Octets of an update in addition to its stamp.
const PADDING: usize = 400;
/// Bytes in one direction of a connection.
const STREAM_WINDOW: usize = 4 << 10;
/// Interval between two looks at the queues.
const LOOK: Duration = Duration::from_millis(2);

/// A pipe that takes about twenty updates.
fn small() -> PipeConfig {
    let (credit_bytes, frame_bytes_max) = (Some(4 << 10), 1_000);
    PipeConfig { credit_bytes, frame_bytes_max, ..kernel::link_pipe().with_bytes_max(12 << 10) }
}

/// A chain of nodes: publishers at the first, a subscriber at each of the others.
struct Chain {
    cluster: Cluster,
    pipe: PipeConfig,
    instances: Vec<ObjectInstanceHandle>,
    /// Largest number of bytes that any node kept in all its queues.
    most: usize,
}

type Outcome = Result<(), Failure>;

impl Chain {
    fn new(nodes: usize, pipe: PipeConfig, timing: Timing, link: Option<u64>) -> Result<Self, Failure> {
        let edges: Vec<_> = (1..nodes).map(|node| (node - 1, node)).collect();
        let mut options = Options::quiet(Seed(11), Shape::of_edges(nodes, &edges), PUBLISHERS + nodes - 1);
        options.limits.stream_window = STREAM_WINDOW;
        options.timeouts.heart = Duration::from_secs(180);
        options.timeouts.heartbeat = Duration::from_secs(60);
        options.homes = Some([0; PUBLISHERS].into_iter().chain(1..nodes).collect());
        options.timing = timing;
        options.pipe = pipe.clone();
        let mut cluster = Cluster::new(options);
        let hosts = cluster.nodes().to_vec();
        for (a, b) in edges {
            let delay = Duration::from_millis(1);
            cluster.network_mut().set_link(hosts[a], hosts[b], LinkSpec { rate: link, delay });
        }
        let instances = weather::prepare(&mut cluster, PUBLISHERS)?;
        cluster.record();
        Ok(Self { cluster, pipe, instances, most: 0 })
    }

    /// Each publisher makes `count` updates at once.
    fn burst(&mut self, of: Of, count: usize) -> Outcome {
        for (host, instance) in self.cluster.federates().to_vec().into_iter().zip(self.instances.clone()) {
            for _ in 0..count {
                weather::update(&mut self.cluster, host, instance, of, PADDING)?;
            }
        }
        self.look();
        Ok(())
    }

    /// Runs for a while, and checks all queues again and again.
    fn run(&mut self, span: Duration) -> Outcome {
        let until = self.cluster.now() + span;
        while self.cluster.now() < until {
            self.cluster.run_for(LOOK)?;
            self.look();
        }
        Ok(())
    }

    fn look(&mut self) {
        let now = self.cluster.now();
        for node in 0..self.cluster.nodes().len() - 1 {
            let status = self.cluster.kernel(node).network().expect("a node of a network");
            let mut all = 0;
            for channel in status.channels.iter().flat_map(|(_, channels)| channels) {
                let stalled = channel.stats.stalled_bytes_max as usize;
                let credit = self.pipe.credit_bytes.expect("links have credit");
                assert!(channel.waiting_bytes <= self.pipe.bytes_max, "{now}: node {node}: {channel:?}");
                // Each message counts as the whole frame that it came in; a frame has up to two.
                assert!(stalled <= 2 * credit + 4 * PADDING, "{now}: node {node}: {channel:?}");
                all += channel.waiting_bytes + stalled;
            }
            let unicast_bytes =
                status.links.iter().map(|link| link.urgent_bytes + link.bulk_bytes).sum::<usize>();
            assert!(
                unicast_bytes < 64 << 10,
                "{now}: node {node}: {unicast_bytes} bytes of peer messages wait"
            );
            self.most = self.most.max(all);
        }
    }

    /// Number of publishers that are paused, and number of times that one was paused.
    fn held(&self) -> (usize, u64) {
        self.cluster.node(0).paused()
    }

    /// Number of answers that the publishers have got to their updates.
    fn answered(&self) -> usize {
        let made = weather::made(&self.cluster);
        self.cluster.federates()[..PUBLISHERS].iter().map(|host| made.get(host).map_or(0, |m| m.1)).sum()
    }

    /// The federate at a node.
    fn subscriber(&self, node: usize) -> HostId {
        self.cluster.federates()[PUBLISHERS + node - 1]
    }

    /// Checks that the subscribers at these nodes have got every reliable update once and in order,
    /// and that no publisher is paused.
    fn expect_all(&self, nodes: &[usize], count: usize) {
        let (made, received) = (weather::made(&self.cluster), weather::received(&self.cluster));
        for &publisher in &self.cluster.federates()[..PUBLISHERS] {
            let stamps = &made[&publisher].0;
            assert_eq!(
                (stamps.len(), made[&publisher].1),
                (count, count),
                "updates and answers of {publisher}"
            );
            for &node in nodes {
                let got = received.get(&(self.subscriber(node), publisher)).cloned().unwrap_or_default();
                assert!(got == *stamps, "node {node} got {} of {count} of {publisher}: {got:?}", got.len());
            }
        }
        for node in 0..self.cluster.nodes().len() - 1 {
            assert_eq!(self.cluster.node(node).paused().0, 0, "held back at node {node}: {:?}", self.held());
        }
        let overflows: u64 = self.overflows();
        assert_eq!(overflows, 0, "reliable messages found no room");
    }

    /// Number of reliable messages that found no room at any node.
    fn overflows(&self) -> u64 {
        let full =
            |channel: &kernel::ChannelStatus| channel.stats.dropped(Priority::Reliable, DropReason::Full);
        let status = |node| self.cluster.kernel(node).network().expect("a node of a network");
        (0..self.cluster.nodes().len() - 1)
            .flat_map(|node| status(node).channels)
            .flat_map(|(_, channels)| channels)
            .map(|channel| full(&channel))
            .sum()
    }
}

fn check(run: impl FnOnce() -> Outcome) {
    run().unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn publishers_are_held_back_and_released_again_and_again_on_a_slow_link() {
    for (nodes, rate, count) in [(2, 2_000_000, 100), (3, 2_000_000, 100), (2, 200_000, 20)] {
        check(|| {
            let mut chain = Chain::new(nodes, small(), Timing::USUAL, Some(rate))?;
            for _ in 0..5 {
                chain.burst(Of::Report, count)?;
                chain.run(Duration::from_millis(700))?;
            }
            chain.run(Duration::from_secs(4))?;
            let all: Vec<_> = (1..nodes).collect();
            chain.expect_all(&all, 5 * count);
            assert!(chain.held().1 > 10, "{:?}", chain.held());
            assert!(chain.most > 4 << 10, "queues did fill: {}", chain.most);
            // A message without a subscriber in between does not hold back later ones.
            for _ in 0..3 {
                let before = chain.held().1;
                chain.burst(Of::Report, 1)?;
                chain.run(Duration::from_millis(200))?;
                assert_eq!(chain.held(), (0, before), "nothing waits anywhere");
            }
            chain.expect_all(&all, 5 * count + 3);
            chain.cluster.finish().map(drop)
        });
    }
}

#[test]
fn a_stalled_node_holds_back_who_sends_to_it_and_costs_nobody_memory() {
    check(|| {
        let timing = Timing { silence: Duration::from_secs(30), ..Timing::USUAL };
        let mut chain = Chain::new(3, small(), timing, None)?;
        chain.cluster.pause(2);
        for _ in 0..8 {
            chain.burst(Of::Report, 100)?;
            chain.burst(Of::Wind, 100)?;
            chain.run(Duration::from_secs(1))?;
        }
        // The capacity of pipes, credit and connections on the way to the subscriber, and the
        // updates in flight from the publishers to their node.
        let most = (2 * small().bytes_max + 3 * STREAM_WINDOW) / PADDING;
        assert_eq!(chain.held().0, PUBLISHERS);
        assert!(chain.answered() < most, "{} answers, at most {most}", chain.answered());
        chain.cluster.go_on(2);
        chain.run(Duration::from_secs(3))?;
        assert_eq!(chain.held().0, 0);
        assert_eq!(chain.answered(), PUBLISHERS * 8 * 200);
        let received = weather::received(&chain.cluster);
        for &publisher in &chain.cluster.federates()[..PUBLISHERS] {
            for node in [1, 2] {
                let got = &received[&(chain.subscriber(node), publisher)];
                let reliable = weather::reliable(&chain.cluster, publisher);
                let got: Vec<u32> = got.iter().copied().filter(|stamp| reliable.contains(stamp)).collect();
                assert!(got.iter().eq(&reliable), "node {node} got {} of {publisher}", got.len());
            }
        }
        assert_eq!(chain.overflows(), 0);
        chain.cluster.finish().map(drop)
    });
}

#[test]
fn best_effort_alone_waits_for_nobody() {
    check(|| {
        let timing = Timing { silence: Duration::from_secs(30), ..Timing::USUAL };
        let mut chain = Chain::new(2, small(), timing, None)?;
        chain.cluster.pause(1);
        for _ in 0..10 {
            chain.burst(Of::Wind, 100)?;
            chain.run(Duration::from_millis(200))?;
        }
        assert_eq!(chain.held(), (0, 0), "nobody is held back for what may be dropped");
        assert_eq!(chain.answered(), PUBLISHERS * 1_000);
        chain.cluster.go_on(1);
        chain.cluster.finish().map(drop)
    });
}

#[test]
fn the_death_of_a_node_releases_who_waited_for_it() {
    check(|| {
        let mut chain = Chain::new(3, small(), Timing::SHORT, None)?;
        chain.cluster.pause(2);
        chain.burst(Of::Report, 300)?;
        chain.run(Duration::from_millis(300))?;
        assert_eq!(chain.held().0, PUBLISHERS);
        chain.run(Duration::from_secs(4))?;
        chain.expect_all(&[1], 300);
        assert_eq!(chain.cluster.view(0).members.len(), 2);
        chain.cluster.go_on(2);
        chain.cluster.wait(Duration::from_secs(20), "it joins again", |cluster| {
            let views: Vec<_> = (0..3).map(|node| cluster.view(node)).collect();
            match views.iter().all(|view| view.member && view.members.len() == 3) {
                true => Ok(()),
                false => Err(format!("{views:?}")),
            }
        })
    });
}

#[test]
fn a_federate_that_does_not_read_holds_back_nobody() {
    check(|| {
        let mut chain = Chain::new(2, small(), Timing::USUAL, None)?;
        let slow = chain.subscriber(1);
        chain.cluster.set_reading(slow, false);
        for _ in 0..4 {
            chain.burst(Of::Report, 100)?;
            chain.run(Duration::from_secs(1))?;
            assert_eq!(chain.held().0, 0);
        }
        assert_eq!(chain.answered(), PUBLISHERS * 400);
        chain.cluster.set_reading(slow, true);
        chain.run(Duration::from_secs(2))?;
        chain.expect_all(&[1], 400);
        chain.cluster.finish().map(drop)
    });
}

/// Bulk waits at a link for several seconds; a service that needs the agreement of all nodes is
/// answered meanwhile.
#[test]
fn agreement_does_not_wait_behind_bulk() {
    check(|| {
        let pipe = PipeConfig { credit_bytes: Some(1 << 20), ..kernel::link_pipe() };
        let mut chain = Chain::new(2, pipe, Timing::USUAL, Some(1_000_000))?;
        chain.burst(Of::Report, 600)?;
        chain.run(Duration::from_millis(200))?;
        let waiting = chain.most;
        assert!(waiting > 400_000, "{waiting} bytes wait for a link that carries 125,000 a second");
        let host = chain.subscriber(1);
        let request = api::ReserveObjectInstanceNameRequest { object_instance_name: "a name".to_owned() };
        let asked = chain.cluster.now();
        chain.cluster.act(host, Call::ReserveObjectInstanceNameRequest(request))?;
        let granted = |cluster: &Cluster| match weather::has_name(cluster, host) {
            true => Ok(()),
            false => Err("no answer".to_owned()),
        };
        chain.cluster.wait(Duration::from_millis(300), "a reservation beside bulk", granted)?;
        let took = chain.cluster.now().since(asked);
        let status = chain.cluster.kernel(0).network().expect("a node of a network");
        let left: usize = status.channels.iter().flat_map(|(_, of)| of).map(|c| c.waiting_bytes).sum();
        assert!(left > 300_000, "after {took:?} bulk still waits: {left}");
        chain.run(Duration::from_secs(8))?;
        chain.expect_all(&[1], 600);
        chain.cluster.finish().map(drop)
    });
}
