//! Values that no federate of another node wants stay at the sender.

use crate::cluster::{Cluster, Faults, SOUND, under_faults};
use crate::common::{Fed, Refused, fom};
use std::time::Duration;

const NOTHING: [&str; 0] = [];

/// A value of a thousand octets.
fn large(attribute: &str) -> String {
    format!("{attribute}={}", "x".repeat(1_000))
}

/// The octets of packets that a call causes, and the callbacks of a federate.
fn cost(
    cluster: &mut Cluster,
    fed: &Fed,
    call: impl Fn() -> Refused,
) -> Result<(u64, usize), hla::Exception> {
    let before = cluster.packet_octets;
    call()?;
    cluster.settle();
    Ok((cluster.packet_octets - before, fed.callbacks().len()))
}

#[test]
fn attributes_that_nobody_wants_stay_at_the_sender() -> Refused {
    let mut cluster = Cluster::new(2, &[], SOUND, 0);
    let [a, b] = cluster.join_all();
    b.subscribe("C", &["a"])?;
    a.publish("C.S", &["a", "b", "c"])?;
    let x = a.register("C.S")?;
    cluster.settle();
    assert_eq!(b.callbacks(), ["discover(1, C, A)"]);
    // Nothing is left of the update: not even the position of the stream changes.
    for unwanted in ["b", "c"] {
        let (octets, callbacks) = cost(&mut cluster, &b, || a.update(x, &large(unwanted)))?;
        assert_eq!((octets, callbacks), (0, 0), "{unwanted}");
    }
    let (octets, callbacks) = cost(&mut cluster, &b, || a.update(x, &format!("a=1 {}", large("c"))))?;
    assert!(octets < 200 && callbacks == 1, "{octets} octets, {callbacks} callbacks");
    // A federate that subscribes below gets the attribute from then on, and nothing changes for the others.
    let c = cluster.join(1, "C");
    c.subscribe("C.S", &["c"])?;
    cluster.settle();
    let both = format!("a=2 {}", large("c"));
    let (octets, callbacks) = cost(&mut cluster, &c, || a.update(x, &both))?;
    assert!(octets > 1_000, "{octets} octets");
    assert_eq!(callbacks, 2, "the discovery and the value");
    assert_eq!(b.callbacks(), ["reflect(1, a=2, reliable, A)"]);
    c.unsubscribe_class("C.S")?;
    cluster.settle();
    let (octets, _) = cost(&mut cluster, &c, || a.update(x, &large("c")))?;
    assert_eq!(octets, 0);
    cluster.assert_converged();
    cluster.assert_silent();
    Ok(())
}

/// Nodes want different attributes of a stream, over bad networks too.
#[test]
fn each_node_gets_all_that_it_wants() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(4, &[], faults, seed);
        let [a, b, c, d] = cluster.join_all();
        a.publish("C.S", &["a", "t", "c"])?;
        b.subscribe("C", &["a"])?;
        c.subscribe("C.S", &["c", "t"])?;
        cluster.settle();
        let x = a.register("C.S")?;
        cluster.settle();
        d.subscribe("C", &["t"])?;
        cluster.settle();
        for value in 0..20 {
            a.update(x, &format!("a={value} t={value} c={value}"))?;
            cluster.run(Duration::from_millis(7));
        }
        cluster.settle();
        let expected = |class: &str, attributes: &[&str]| {
            let values = |value: u32| -> Vec<_> {
                attributes.iter().map(|attribute| format!("{attribute}={value}")).collect()
            };
            let mut all = vec![format!("discover(1, {class}, A)")];
            all.extend((0..20).map(|value| format!("reflect(1, {}, reliable, A)", values(value).join(" "))));
            all
        };
        assert_eq!(b.callbacks(), expected("C", &["a"]));
        assert_eq!(c.callbacks(), expected("C.S", &["t", "c"]));
        assert_eq!(d.callbacks(), expected("C", &["t"]));
        cluster.assert_converged();
        Ok(())
    })
}

/// A node that learns of a publication late gets the stream from its beginning, whatever those want
/// that already follow it.
#[test]
fn the_beginning_of_a_stream_is_kept_whole() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        b.subscribe("C", &["a"])?;
        c.subscribe("C.S", &["c"])?;
        cluster.settle();
        cluster.behind.insert(2);
        a.publish("C.S", &["a", "c"])?;
        let x = a.register("C.S")?;
        // B follows by now, and C does not know of the publication.
        cluster.run(Duration::from_millis(500));
        a.update(x, "a=1 c=2")?;
        cluster.run(Duration::from_millis(500));
        assert_eq!(c.callbacks(), NOTHING);
        cluster.behind.clear();
        cluster.settle();
        assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, a=1, reliable, A)"]);
        assert_eq!(c.callbacks(), ["discover(1, C.S, A)", "reflect(1, c=2, reliable, A)"]);
        Ok(())
    })
}

#[test]
fn values_cross_the_network_no_more_often_than_they_are_wanted() -> Refused {
    let jitter = Faults { delay_ms: (1, 40), ..SOUND };
    for (faults, seed) in [(SOUND, 0), (jitter, 1), (jitter, 2), (jitter, 3)] {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        a.publish("C", &["b"])?;
        // Ten per second, and one.
        b.subscribe_at("C", &["b"], "High")?;
        c.subscribe_at("C", &["b"], "Low")?;
        let x = a.register("C")?;
        cluster.settle();
        for fed in [&b, &c] {
            assert_eq!(fed.callbacks(), ["discover(1, C, A)"]);
        }
        let before = cluster.packets;
        let send = |cluster: &mut Cluster| {
            for value in 0..200 {
                a.update(x, &format!("b={value}"))?;
                cluster.run(Duration::from_millis(20));
            }
            cluster.run(Duration::from_millis(100));
            Ok(())
        };
        // For four seconds, 50 per second.
        send(&mut cluster)?;
        let packets = cluster.packets - before;
        assert_eq!(packets, 2 * 40, "to two nodes, whatever the jitter");
        let counts = [&b, &c].map(|fed| fed.callbacks().len());
        assert!((39..=40).contains(&counts[0]) && (4..=5).contains(&counts[1]), "{counts:?} of 40 and 4");
        // Once a federate wants all, all cross.
        let d = cluster.join(2, "D");
        d.subscribe("C", &["b"])?;
        cluster.settle();
        d.callbacks();
        send(&mut cluster)?;
        let counts = [&b, &c, &d].map(|fed| fed.callbacks().len());
        assert!((39..=41).contains(&counts[0]) && (4..=5).contains(&counts[1]), "{counts:?}");
        assert_eq!(counts[2], 200);
    }
    Ok(())
}

#[test]
fn values_outside_the_regions_of_all_others_stay_at_the_sender() -> Refused {
    let mut cluster = Cluster::new(3, &[], SOUND, 0);
    let [a, b, c] = cluster.join_all();
    a.publish("C", &["a", "t"])?;
    let [west, east] = [b.region("X=0..10")?, c.region("X=80..90")?];
    b.subscribe_with("C", &[("a", &[west])])?;
    cluster.settle();
    let place = a.region("X=50..60")?;
    let x = a.register_with("C", &[("a", &[place])])?;
    cluster.settle();
    let update = |cluster: &mut Cluster, fed: &Fed| {
        let (octets, callbacks) = cost(cluster, fed, || a.update(x, &large("a")))?;
        Ok((octets / 1_000, callbacks))
    };
    assert_eq!(update(&mut cluster, &b)?, (0, 0));
    // Until a region moves, others know exactly where it is.
    a.shift(place, "X=10..20")?;
    cluster.settle();
    b.skip();
    assert_eq!(update(&mut cluster, &b)?, (0, 0));
    b.shift(west, "X=1..11")?;
    cluster.settle();
    b.skip();
    assert_eq!(update(&mut cluster, &b)?, (1, 1));
    // From then on, a move by less than a tenth of its extent is not reported.
    let before = cluster.traffic;
    b.shift(west, "X=2..12")?;
    cluster.settle();
    assert_eq!(cluster.traffic, before);
    assert_eq!(update(&mut cluster, &b)?, (1, 1));
    b.shift(west, "X=0..5")?;
    cluster.settle();
    b.skip();
    assert_eq!(update(&mut cluster, &b)?, (0, 0));
    // Any subscription that overlaps is enough, at whichever node. The stream has one set of followers.
    c.subscribe_with("C", &[("a", &[east])])?;
    cluster.settle();
    assert_eq!(update(&mut cluster, &c)?, (0, 0));
    a.shift(place, "X=85..86")?;
    cluster.settle();
    c.skip();
    assert_eq!(update(&mut cluster, &c)?, (2, 1));
    assert_eq!(b.callbacks().len(), 0);
    // The default region overlaps every region, and a subscription without regions applies everywhere.
    a.shift(place, "X=40..50")?;
    cluster.settle();
    c.skip();
    assert_eq!(update(&mut cluster, &c)?, (0, 0));
    c.subscribe("C", &["a"])?;
    cluster.settle();
    c.skip();
    assert_eq!(update(&mut cluster, &c)?, (2, 1));
    c.unsubscribe_class("C")?;
    cluster.settle();
    assert_eq!(update(&mut cluster, &c)?, (0, 0), "with its regions the subscription has ended");
    a.unassociate(x, &[("a", &[place])])?;
    cluster.settle();
    b.skip();
    assert_eq!(update(&mut cluster, &b)?, (2, 1), "C knows the instance, so its node still follows");
    cluster.assert_converged();
    Ok(())
}

/// A node that begins to follow later is told of the same summaries as the others, which regions then
/// leave for all of them.
#[test]
fn a_publisher_that_comes_later_knows_where_regions_are() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        let here = b.region("X=0..20")?;
        b.subscribe_with("C", &[("a", &[here])])?;
        a.publish("C", &["a"])?;
        cluster.settle();
        b.shift(here, "X=1..21")?; // A is told of a region with a margin of 2
        b.shift(here, "X=2..22")?;
        cluster.settle();
        c.publish("C", &["a"])?;
        cluster.settle();
        // Out of what A was told, and within what a new summary would be.
        b.shift(here, "X=4..24")?;
        cluster.settle();
        let place = c.region("X=23..24")?;
        let x = c.register_with("C", &[("a", &[place])])?;
        cluster.settle();
        b.skip();
        c.update(x, "a=1")?;
        cluster.settle();
        assert_eq!(b.callbacks().len(), 1);
        Ok(())
    })
}

#[test]
fn interactions_outside_the_regions_of_all_others_stay_at_the_sender() -> Refused {
    let text = fom::regions(&[]);
    let mut cluster = Cluster::with_model(2, &text, SOUND, 0);
    let [a, b] = cluster.join_all();
    a.publish_interaction("I.J")?;
    cluster.settle();
    let [near, far] = [a.region("X=0..10")?, a.region("X=70..80")?];
    let here = b.region("X=5..15")?;
    b.subscribe_interaction_with("I", &[here])?;
    cluster.settle();
    let send = |cluster: &mut Cluster, region| cost(cluster, &b, || a.send_with("I.J", "p=1", &[region]));
    let (octets, callbacks) = send(&mut cluster, near)?;
    assert!(octets > 0 && callbacks == 1);
    assert_eq!(send(&mut cluster, far)?, (0, 0));
    b.shift(here, "X=75..85")?;
    cluster.settle();
    let (octets, callbacks) = send(&mut cluster, far)?;
    assert!(octets > 0 && callbacks == 1);
    assert_eq!(send(&mut cluster, near)?, (0, 0));
    // Another region, and then a subscription without regions.
    let there = b.region("X=8..9")?;
    b.subscribe_interaction_with("I", &[there])?;
    cluster.settle();
    assert_eq!(send(&mut cluster, near)?.1, 1);
    b.unsubscribe_interaction_with("I", &[there])?;
    cluster.settle();
    assert_eq!(send(&mut cluster, near)?, (0, 0));
    b.subscribe_interaction("I.J")?;
    cluster.settle();
    assert_eq!(send(&mut cluster, near)?.1, 1);
    Ok(())
}
