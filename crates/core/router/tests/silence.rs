//! Without changes and senders the network is silent but for keep-alives. A change is announced
//! only to routers whose sending it changes.

mod common;

use base::{Moment, Seed};
use common::app::{Topic, Want, note};
use common::{At, Net};
use router::topology::{hypercube, mesh, tree};
use router::{ClientConfig, Event, PipeConfig, Priority};

/// Frames that an action leads to.
fn frames(net: &mut Net, act: impl FnOnce(&mut Net)) -> u64 {
    let before = net.frames;
    act(net);
    net.settle();
    net.frames - before
}

#[test]
fn the_first_is_news_to_all_the_second_to_the_first_the_third_to_nobody() {
    let topology = tree(&[4]);
    let mut net = Net::new(&topology, Seed(1), &PipeConfig::default());
    let apps: Vec<At> = topology.entries.iter().map(|entry| net.add_app(*entry)).collect();
    let want = Want::group(1);
    // To the root, and from there to the three others.
    assert_eq!(frames(&mut net, |net| assert!(net.want(apps[0], want, true))), 4);
    // To the root, and from there to the first.
    assert_eq!(frames(&mut net, |net| assert!(net.want(apps[1], want, true))), 2);
    assert_eq!(frames(&mut net, |net| assert!(net.want(apps[2], want, true))), 1);
    assert_eq!(frames(&mut net, |net| assert!(!net.want(apps[2], want, true))), 0);
    let neighbour = net.add_app(topology.entries[2]);
    assert_eq!(frames(&mut net, |net| assert!(net.want(neighbour, want, true))), 0);
    assert_eq!(frames(&mut net, |net| assert!(net.want(apps[2], want, false))), 0);
    assert_eq!(frames(&mut net, |net| assert!(net.want(neighbour, want, false))), 1);
    // Nobody wants this message: it does not leave its router.
    assert_eq!(frames(&mut net, |net| net.send(apps[0], note(2, 0, Priority::Reliable, 0))), 0);
    // Two links, up and down, to the only other router that wants it.
    assert_eq!(frames(&mut net, |net| net.send(apps[0], note(1, 0, Priority::Reliable, 1))), 2);
}

#[test]
fn a_change_that_is_taken_back_before_it_is_told_is_not_told() {
    let topology = tree(&[2]);
    let mut net = Net::new(&topology, Seed(1), &PipeConfig::default());
    let app = net.add_app(topology.entries[0]);
    let there_and_back = |net: &mut Net| {
        net.want(app, Want::group(1), true);
        net.want(app, Want::group(1), false);
    };
    assert_eq!(frames(&mut net, there_and_back), 0);
}

#[test]
fn only_keep_alives_when_nothing_happens() {
    for topology in [tree(&[2, 3]), mesh(5), hypercube(3)] {
        let mut net = Net::new(&topology, Seed(1), &PipeConfig::default());
        let apps: Vec<At> = topology.entries.iter().map(|entry| net.add_app(*entry)).collect();
        for app in &apps {
            net.want(*app, Want::group(1), true);
        }
        net.settle();
        let count = |net: &Net| {
            let ends = net.wiring.links.iter().flat_map(|ends| [ends.a, ends.b]);
            let stats = |(router, client): At| net.routers[router].pipe_stats(client).expect("wired").clone();
            ends.map(stats).fold((0, 0), |sum, s| (sum.0 + s.sent_frames, sum.1 + s.sent_keep_alives))
        };
        let (frames, signs) = count(&net);
        let end = Moment::from_secs(10);
        while net.now < end {
            let next = net.routers.iter().filter_map(|router| router.poll_timeout()).min();
            net.now = net.now.max(next.unwrap_or(end));
            let now = net.now;
            net.routers.iter_mut().for_each(|router| router.handle_timeout(now));
            net.settle();
        }
        let (frames, signs) = (count(&net).0 - frames, count(&net).1 - signs);
        assert_eq!(frames, signs);
        // Once a second on each link, in each direction; delays are below a millisecond.
        let ends = 2 * net.wiring.links.len() as u64;
        assert!((9 * ends..=10 * ends).contains(&signs), "{signs} signs of life on {ends} ends");
        assert!(net.routers.iter().all(|router| router.clients().all(|client| router.is_up(client))));
    }
}

#[test]
fn local_sources_are_advised_of_what_others_want() {
    let topology = tree(&[2]);
    let mut net = Net::new(&topology, Seed(1), &PipeConfig::default());
    let [here, there] = [topology.entries[0], topology.entries[1]];
    let source = net.routers[here].add_client(net.now, ClientConfig::advised()).expect("few");
    let (far, near) = (net.add_app(there), net.add_app(here));
    let want = Want::group(1);
    let advice = |net: &mut Net| {
        // Events are inspected before the test's world discards them.
        let mut advice = Vec::new();
        loop {
            while let Some(event) = net.routers[here].poll_event() {
                if let Event::InterestChanged { client, interest, any } = event {
                    assert_eq!((client, interest), (source, want));
                    advice.push(any);
                }
            }
            if !net.step() {
                return advice;
            }
        }
    };
    net.want((here, source), want, true);
    assert_eq!(advice(&mut net), [], "its own interest is no news");
    net.want(far, want, true);
    assert_eq!(advice(&mut net), [true]);
    net.want(near, want, true);
    assert_eq!(advice(&mut net), []);
    assert!(net.routers[here].is_wanted(source, &want));
    assert!(net.routers[here].has_sinks(source, &Topic { group: 1, cell: 3 }));
    net.want(far, want, false);
    assert_eq!(advice(&mut net), []);
    net.routers[here].remove_client(net.now, near.1);
    assert_eq!(advice(&mut net), [false]);
    assert!(!net.routers[here].is_wanted(source, &want));
    assert!(!net.routers[here].has_sinks(source, &Topic { group: 1, cell: 3 }));
}
