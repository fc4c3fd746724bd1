//! Nodes that are sent only their part of a stream.

use crate::cluster::{Cluster, Faults, SOUND, under_faults};
use crate::common::{Fed, Refused};
use hla::api::OrderType;
use hla::handle::RegionHandle;
use std::time::Duration;

const NOTHING: [&str; 0] = [];

/// The federates of two nodes watch the ends of an axis, along which a third one has instances.
struct Watch {
    cluster: Cluster,
    a: Fed,
    ends: [Fed; 2],
    watched: [RegionHandle; 2],
    places: [RegionHandle; 2],
    instances: [u32; 2],
}

fn watch(faults: Faults, seed: u64) -> Result<Watch, hla::Exception> {
    let mut cluster = Cluster::new(3, &[], faults, seed);
    let [a, b, c] = cluster.join_all();
    a.publish("C", &["a", "t"])?;
    let watched = [b.region("X=0..20")?, c.region("X=80..100")?];
    b.subscribe_with("C", &[("a", &[watched[0]])])?;
    c.subscribe_with("C", &[("a", &[watched[1]])])?;
    cluster.settle();
    let places = [a.region("X=10..11")?, a.region("X=90..91")?];
    let instances =
        [a.register_with("C", &[("a", &[places[0]])])?, a.register_with("C", &[("a", &[places[1]])])?];
    cluster.settle();
    [&b, &c].iter().for_each(|fed| fed.skip());
    Ok(Watch { cluster, a, ends: [b, c], watched, places, instances })
}

impl Watch {
    /// Sends a value of one of the instances, and gives it time to arrive.
    fn update(&mut self, at: usize, value: u32) -> Refused {
        self.a.update(self.instances[at], &format!("a={value}"))?;
        self.cluster.run(Duration::from_millis(20));
        Ok(())
    }
}

/// The same over a sound network, once both nodes are filtered.
fn filtered_watch() -> Result<Watch, hla::Exception> {
    let mut watch = watch(SOUND, 0)?;
    for value in 0..20 {
        [0, 1].into_iter().try_for_each(|at| watch.update(at, value))?;
    }
    watch.cluster.settle();
    watch.ends.iter().for_each(Fed::skip);
    Ok(watch)
}

#[test]
fn each_node_gets_its_part_of_the_world_alone() -> Refused {
    let Watch { mut cluster, a, ends, instances, .. } = watch(SOUND, 0)?;
    let update = |cluster: &mut Cluster, value: u32| {
        for (instance, end) in instances.iter().zip(["west", "east"]) {
            a.update(*instance, &format!("a={value}{end}"))?;
        }
        cluster.run(Duration::from_millis(20));
        Ok::<_, hla::Exception>(())
    };
    // Until the sender has seen who wants what, both nodes get all.
    (0..10).try_for_each(|value| update(&mut cluster, value))?;
    cluster.settle();
    let (packets, asked) = (cluster.packets, cluster.asked());
    (10..50).try_for_each(|value| update(&mut cluster, value))?;
    let packets = cluster.packets - packets;
    assert!((80..=84).contains(&packets), "{packets} packets for 80 updates that one node each wants");
    cluster.settle();
    assert_eq!(cluster.asked(), asked, "nothing was taken for lost");
    for (fed, (instance, end)) in ends.iter().zip([(1, "west"), (2, "east")]) {
        let expected = (0..50).map(|value| format!("reflect({instance}, a={value}{end}, reliable, A)"));
        assert_eq!(fed.callbacks(), expected.collect::<Vec<_>>());
    }
    cluster.assert_converged();
    cluster.assert_silent();
    Ok(())
}

/// Whatever the network loses, and whenever nodes want more or less.
#[test]
fn no_message_is_lost_while_filters_come_and_go() -> Refused {
    under_faults(|faults, seed| {
        let Watch { mut cluster, a, ends, watched, instances, .. } = watch(faults, seed)?;
        let [b, c] = &ends;
        let mut value = 0;
        let mut updates = |cluster: &mut Cluster, rounds: u32| {
            for _ in 0..rounds {
                for instance in instances {
                    a.update(instance, &format!("a={value}"))?;
                }
                value += 1;
                cluster.run(Duration::from_millis(9));
            }
            Ok::<_, hla::Exception>(())
        };
        updates(&mut cluster, 30)?;
        cluster.settle();
        let reflects = |fed: &Fed| {
            let callbacks = fed.callbacks().into_iter();
            callbacks.filter(|callback| callback.starts_with("reflect")).collect::<Vec<_>>()
        };
        let of = |instances: &[u32], values: std::ops::Range<u32>| {
            let one = |value| {
                instances.iter().map(move |instance| format!("reflect({instance}, a={value}, reliable, A)"))
            };
            values.flat_map(one).collect::<Vec<_>>()
        };
        assert_eq!((reflects(b), reflects(c)), (of(&[1], 0..30), of(&[2], 0..30)));
        // B wants all, and C nothing.
        let d = cluster.join(1, "D");
        d.subscribe("C", &["a"])?;
        c.unsubscribe_with("C", &[("a", &[watched[1]])])?;
        cluster.settle();
        updates(&mut cluster, 30)?;
        cluster.settle();
        assert_eq!((reflects(b), reflects(&d)), (of(&[1], 30..60), of(&[1, 2], 30..60)));
        assert_eq!(reflects(c), NOTHING);
        // And the other way round.
        d.unsubscribe_class("C")?;
        b.unsubscribe_with("C", &[("a", &[watched[0]])])?;
        c.subscribe("C", &["a"])?;
        cluster.settle();
        updates(&mut cluster, 30)?;
        cluster.settle();
        assert_eq!((reflects(b), reflects(c)), (vec![], of(&[1, 2], 60..90)));
        cluster.assert_converged();
        Ok(())
    })
}

/// Messages in time-stamp order that do not concern a node hold it up no longer than others.
#[test]
fn a_filtered_node_is_granted_as_soon_as_the_others() -> Refused {
    under_faults(|faults, seed| {
        let sound = seed == 0;
        let Watch { mut cluster, a, ends, instances, .. } = watch(faults, seed)?;
        let [b, c] = &ends;
        for instance in instances {
            a.order_attribute(instance, "a", OrderType::Timestamp)?;
        }
        a.regulate(1)?;
        b.constrain()?;
        c.constrain()?;
        cluster.settle();
        ends.iter().for_each(Fed::skip);
        for step in 1..20 {
            // The last message of each step is for C alone.
            for instance in instances {
                a.update_at(instance, &format!("a={step}"), step)?;
            }
            a.tar(step)?;
            b.tar(step)?;
            c.tar(step)?;
            cluster.run(Duration::from_millis(if sound { 100 } else { 15_000 }));
            for (fed, instance) in [(b, 1), (c, 2)] {
                let update = format!("reflect({instance}, a={step}, reliable, A, t={step}, TSO)");
                let expected = [update, format!("granted({step})")];
                assert_eq!(fed.callbacks(), expected, "step {step}");
            }
        }
        Ok(())
    })
}

/// A filtered node learns soon after a failure that it has missed a message, however busy the stream is with
/// messages for others.
#[test]
fn a_filtered_node_learns_of_a_lost_message_on_a_busy_stream() -> Refused {
    let mut watch = filtered_watch()?;
    watch.cluster.cut.insert((0, 1));
    watch.update(0, 20)?;
    (20..80).try_for_each(|value| watch.update(1, value))?;
    watch.cluster.cut.clear();
    watch.cluster.changed();
    (80..90).try_for_each(|value| watch.update(1, value))?;
    assert_eq!(watch.ends[0].callbacks(), ["reflect(1, a=20, reliable, A)"]);
    Ok(())
}

/// A node is told of regions that move once they are where it watches, and of no others.
#[test]
fn a_node_is_told_of_regions_that_come_to_where_it_watches() -> Refused {
    under_faults(|faults, seed| {
        let Watch { mut cluster, a, ends, watched, places, instances } = watch(faults, seed)?;
        let [b, c] = &ends;
        for value in 0..20 {
            for instance in instances {
                a.update(instance, &format!("a={value}"))?;
            }
            cluster.run(Duration::from_millis(9));
        }
        cluster.settle();
        // B loses sight of the instance in the east.
        a.shift(places[1], "X=91..92")?;
        cluster.settle();
        b.skip();
        let packets = cluster.packets;
        for lower in 92..98 {
            a.shift(places[1], &format!("X={lower}..{}", lower + 1))?;
            cluster.settle();
        }
        let packets = cluster.packets - packets;
        assert!(seed > 0 || packets == 2 * 6, "{packets} packets with 6 moves and announcements for C alone");
        // It is neither where it was last seen, nor where B watches now.
        a.shift(places[1], "X=50..51")?;
        cluster.settle();
        c.skip();
        b.shift(watched[0], "X=85..100")?;
        cluster.settle();
        assert_eq!(b.callbacks(), NOTHING);
        b.shift(watched[0], "X=45..60")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["discover(2, C, A)"]);
        a.update(instances[1], "a=here")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["reflect(2, a=here, reliable, A)"]);
        // It comes to where C watches meanwhile.
        a.shift(places[0], "X=85..86")?;
        cluster.settle();
        assert_eq!((b.callbacks(), c.callbacks()), (vec![], vec!["discover(1, C, A)".to_owned()]));
        Ok(())
    })
}

/// Messages for others are not taken, although they come because of another publisher: the ones between
/// them would seem lost.
#[test]
fn a_filtered_node_takes_no_messages_for_others() -> Refused {
    let Watch { mut cluster, a, ends, instances, .. } = watch(SOUND, 0)?;
    let [b, c] = &ends;
    // All that C publishes is wanted at the node of B: its interest in the class stays.
    c.publish("C", &["a"])?;
    let own = c.register("C")?;
    for value in 0..40 {
        for instance in instances {
            a.update(instance, &format!("a={value}"))?;
        }
        c.update(own, &format!("a={value}"))?;
        cluster.run(Duration::from_millis(50));
        if value == 20 {
            cluster.settle();
        }
    }
    cluster.settle();
    assert_eq!(cluster.asked(), 0);
    let heard = b.callbacks();
    for (sender, updates) in [("A", 40), ("C", 40)] {
        let is_from = |text: &&String| text.starts_with("reflect") && text.ends_with(&format!("{sender})"));
        assert_eq!(heard.iter().filter(is_from).count(), updates, "{sender}");
    }
    Ok(())
}

/// While a filter begins and ends, best-effort values come exactly once.
#[test]
fn no_best_effort_value_is_lost_or_repeated_by_a_filter() -> Refused {
    let mut cluster = Cluster::new(3, &[], SOUND, 0);
    let [a, b, c] = cluster.join_all();
    a.publish("C", &["b"])?;
    let watched = [b.region("X=0..20")?, c.region("X=80..100")?];
    b.subscribe_with("C", &[("b", &[watched[0]])])?;
    c.subscribe_with("C", &[("b", &[watched[1]])])?;
    cluster.settle();
    let places = [a.region("X=10..11")?, a.region("X=90..91")?];
    let instances = [places[0], places[1]].map(|place| a.register_with("C", &[("b", &[place])]));
    let instances = [instances[0]?, instances[1]?];
    cluster.settle();
    // For six seconds: filters begin and end within one each, and the routers get two.
    let send = |cluster: &mut Cluster| {
        for value in 0..6_000 {
            for instance in instances {
                a.update(instance, &format!("b={value}"))?;
            }
            cluster.run(Duration::from_millis(1));
        }
        cluster.settle();
        Ok::<_, hla::Exception>(())
    };
    let reflects = |instances: &[u32]| {
        let of = |value| {
            instances.iter().map(move |instance| format!("reflect({instance}, b={value}, bestEffort, A)"))
        };
        (0..6_000).flat_map(of).collect::<Vec<_>>()
    };
    [&b, &c].iter().for_each(|fed| fed.skip());
    send(&mut cluster)?;
    assert!((b.callbacks(), c.callbacks()) == (reflects(&[1]), reflects(&[2])), "while they begin");
    let d = cluster.join(1, "D");
    d.subscribe("C", &["b"])?;
    cluster.settle();
    [&b, &d].iter().for_each(|fed| fed.skip());
    send(&mut cluster)?;
    assert!((b.callbacks(), d.callbacks()) == (reflects(&[1]), reflects(&[1, 2])), "while they end");
    Ok(())
}

/// A filtered node gets again the messages that it has missed: a few of many.
#[test]
fn a_filtered_node_gets_the_messages_that_it_has_missed() -> Refused {
    let mut watch = filtered_watch()?;
    watch.cluster.cut.insert((0, 1));
    for value in 20..60 {
        if value % 10 == 0 {
            watch.update(0, value)?;
        }
        watch.update(1, value)?;
    }
    let (asked, repaired) = (watch.cluster.asked(), watch.cluster.repaired());
    watch.cluster.cut.clear();
    watch.update(0, 60)?;
    watch.cluster.run(Duration::from_millis(200));
    let expected = (20..=60).step_by(10).map(|value| format!("reflect(1, a={value}, reliable, A)"));
    assert_eq!(watch.ends[0].callbacks(), expected.collect::<Vec<_>>());
    assert_eq!(
        (watch.cluster.asked() - asked, watch.cluster.repaired() - repaired),
        (1, 4),
        "and none of the others"
    );
    watch.cluster.assert_converged();
    watch.cluster.assert_silent();
    Ok(())
}
