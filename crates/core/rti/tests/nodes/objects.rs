//! Discovery, reflection, interactions, deletion, resignation, names, requests: across nodes.

use crate::cluster::{Cluster, Faults, SOUND, under_faults};
use crate::common::{Refused, fom};
use hla::Exception::*;
use hla::api::ResignAction;
use std::time::Duration;

const NOTHING: [&str; 0] = [];

#[test]
fn instances_are_discovered_as_known_classes_and_reflected() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        b.subscribe("C", &["a"])?;
        a.publish("C.S", &["a", "c"])?;
        let x = a.register("C.S")?;
        a.update_tagged(x, "a=1 c=2", "tag")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, a=1, reliable, A, #tag)"]);
        c.subscribe("C.S", &["a", "c"])?;
        cluster.settle();
        a.update(x, "a=3 c=4")?;
        a.update_at(x, "c=5", 7)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["reflect(1, a=3, reliable, A)"]);
        assert_eq!(
            c.callbacks(),
            ["discover(1, C.S, A)", "reflect(1, a=3 c=4, reliable, A)", "reflect(1, c=5, reliable, A, t=7)"]
        );
        assert_eq!(a.callbacks(), NOTHING);
        assert_eq!(b.known_class(x)?, "HLAobjectRoot.C");
        cluster.assert_converged();
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn messages_sent_before_anybody_follows_arrive() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], faults, seed);
        let [a, b] = cluster.join_all();
        b.subscribe_interaction("I")?;
        b.subscribe("C", &["a"])?;
        cluster.settle();
        cluster.behind.insert(1);
        a.publish_interaction("I.J")?;
        a.send("I.J", "p=1")?;
        a.publish("C", &["a"])?;
        let x = a.register("C")?;
        a.update(x, "a=1")?;
        a.delete(x)?;
        a.unpublish_interaction("I.J")?;
        a.unpublish_class("C")?;
        cluster.run(Duration::from_millis(100));
        cluster.behind.clear();
        cluster.settle();
        let mut notified = b.callbacks();
        notified.sort();
        assert_eq!(
            notified,
            [
                "discover(1, C, A)",
                "receive(I, p=1, reliable, A)",
                "reflect(1, a=1, reliable, A)",
                "remove(1, A)"
            ]
        );
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn interactions_arrive_once_at_the_subscribed_class() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        a.publish_interaction("I.J")?;
        b.subscribe_interaction("I")?;
        c.subscribe_interaction("I.J")?;
        c.subscribe_interaction("I")?;
        cluster.settle();
        for value in 0..20 {
            a.send_tagged("I.J", &format!("p={value} q=x"), "t")?;
            cluster.run(Duration::from_millis(3));
        }
        cluster.settle();
        let expected = |class: &str, rest: &str| {
            (0..20)
                .map(|value| format!("receive({class}, p={value}{rest}, reliable, A, #t)"))
                .collect::<Vec<_>>()
        };
        assert_eq!(b.callbacks(), expected("I", ""));
        assert_eq!(c.callbacks(), expected("I.J", " q=x"));
        b.unsubscribe_interaction("I")?;
        a.send("I.J", "p=1")?;
        cluster.settle();
        assert_eq!(b.callbacks(), NOTHING);
        c.resign(ResignAction::NoAction)?;
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn directed_interactions_reach_owners_and_universal_subscribers() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        a.publish("C", &["a"])?;
        a.subscribe_directed("C", &["D"])?;
        b.publish_directed("C", &["D"])?;
        for f in [&b, &c] {
            f.subscribe("C", &["a"])?;
        }
        c.subscribe_universally("C", &["D"])?;
        let x = a.register("C")?;
        cluster.settle();
        b.direct("D", x, "x=1")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["directed(D, 1, x=1, reliable, B)"]);
        assert_eq!(c.callbacks(), ["discover(1, C, A)", "directed(D, 1, x=1, reliable, B)"]);
        Ok(())
    })
}

#[test]
fn a_directed_interaction_comes_after_the_discovery_of_its_instance() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], faults, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        a.publish_directed("C", &["D"])?;
        b.subscribe("C", &["a"])?;
        b.subscribe_universally("C", &["D"])?;
        cluster.settle();
        for number in 1..10 {
            let x = a.register("C")?;
            a.direct("D", x, "x=1")?;
            cluster.settle();
            let notified =
                [format!("discover({number}, C, A)"), format!("directed(D, {number}, x=1, reliable, A)")];
            assert_eq!(b.callbacks(), notified);
        }
        Ok(())
    })
}

#[test]
fn deletion_and_local_deletion() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], faults, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        b.subscribe("C", &["a"])?;
        let (x, y) = (a.register("C")?, a.register("C")?);
        cluster.settle();
        b.skip();
        b.local_delete(x)?;
        assert_eq!(b.callbacks(), ["discover(1, C, A)"], "and at once again");
        a.delete_tagged(x, "gone")?;
        b.unsubscribe_class("C")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["remove(1, A, #gone)"]);
        a.update(y, "a=1")?;
        a.delete_at(y, 3)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["remove(2, A, t=3)"], "known, though no longer subscribed");
        assert!(cluster.instances(1).is_empty());
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn unsubscribed_and_subscribed_again() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], faults, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        let x = a.register("C")?;
        b.subscribe("C", &["a"])?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["discover(1, C, A)"]);
        b.unsubscribe_class("C")?;
        cluster.settle();
        a.update(x, "a=1")?;
        cluster.settle();
        b.local_delete(x)?;
        cluster.settle();
        assert!(cluster.instances(1).is_empty(), "nobody knows it, nobody subscribes it");
        a.update(x, "a=2")?;
        let y = a.register("C")?;
        cluster.settle();
        assert_eq!(b.callbacks(), NOTHING);
        b.subscribe("C", &["a"])?;
        cluster.settle();
        a.update(y, "a=3")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["discover(1, C, A)", "discover(2, C, A)", "reflect(2, a=3, reliable, A)"]);
        cluster.assert_converged();
        Ok(())
    })
}

#[test]
fn all_six_resign_actions() -> Refused {
    under_faults(|faults, seed| {
        for number in 0..6 {
            let action = ResignAction::try_from(number).expect("there are six");
            let mut cluster = Cluster::new(2, &["attributeScopeAdvisory"], faults, seed);
            let [a, b] = cluster.join_all();
            a.publish("C", &["a"])?;
            b.subscribe("C", &["a"])?;
            a.register("C")?;
            cluster.settle();
            assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a)"]);
            let resigned = a.resign(action);
            cluster.settle();
            let (deletes, divests) = (matches!(number, 1 | 3 | 4), number == 0);
            match (deletes, divests) {
                (true, _) => assert_eq!(b.callbacks(), ["remove(1, A)"]),
                (_, true) => assert_eq!(b.callbacks(), ["outOfScope(1, a)"]),
                _ => {
                    assert_eq!(resigned, Err(FederateOwnsAttributes));
                    assert_eq!(b.callbacks(), NOTHING);
                }
            }
            cluster.assert_converged();
            cluster.assert_silent();
        }
        Ok(())
    })
}

#[test]
fn names_are_one_name_space() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], faults, seed);
        let [a, b] = cluster.join_all();
        for f in [&a, &b] {
            f.publish("C", &["a"])?;
            f.subscribe("C", &["a"])?;
        }
        a.reserve("tank")?;
        let x = a.register_as("C", "tank")?;
        b.reserve("tank")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["notReserved(tank)", "discover(1, C tank, A)"]);
        assert_eq!(b.instance_called("tank")?, x);
        a.delete(x)?;
        b.reserve("tank")?;
        let y = b.register_as("C", "tank")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["reserved(tank)", "discover(2:1, C tank, B)"]);
        assert_eq!(a.instance_called("tank")?, y);
        assert_eq!(b.instance_called("tank")?, y);
        Ok(())
    })
}

#[test]
fn values_are_provided_by_owners_elsewhere() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        a.publish("C", &["a"])?;
        b.publish("C.S", &["c"])?;
        c.subscribe("C", &["a"])?;
        let x = a.register("C")?;
        b.register("C.S")?;
        cluster.settle();
        c.request(x, &["a", "b"], "please")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["provide(1, a, #please)"]);
        c.request_of_class("C", &["a", "privilege"], "all")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["provide(1, privilege a, #all)"]);
        assert_eq!(b.callbacks(), ["provide(2:1, privilege, #all)"]);
        Ok(())
    })
}

#[test]
fn automatic_provide_across_nodes() -> Refused {
    let mut cluster = Cluster::new(2, &["autoProvide"], SOUND, 0);
    let [a, b] = cluster.join_all();
    a.publish("C", &["a", "b"])?;
    a.register("C")?;
    b.subscribe("C", &["a"])?;
    cluster.settle();
    assert_eq!(a.callbacks(), ["provide(1, a)"]);
    Ok(())
}

#[test]
fn transportation_types_change_and_are_queried_across_nodes() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], Faults { lost: 0, ..faults }, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a", "b"])?;
        a.publish_interaction("I")?;
        b.subscribe("C", &["a", "b"])?;
        let x = a.register("C")?;
        cluster.settle();
        b.skip();
        a.update(x, "a=1 b=2")?;
        cluster.settle();
        let mut notified = b.callbacks();
        notified.retain(|callback| callback != "reflect(1, b=2, bestEffort, A)");
        assert_eq!(notified, ["reflect(1, a=1, reliable, A)"]);
        a.change_transportation(x, &["b"], "reliable")?;
        a.change_interaction_transportation("I", "bestEffort")?;
        cluster.settle();
        b.query_transportation(x, "b")?;
        b.query_interaction_transportation(a.handle.get(), "I")?;
        a.update(x, "b=3")?;
        cluster.settle();
        let mut notified = b.callbacks();
        notified.sort();
        assert_eq!(
            notified,
            [
                "reflect(1, b=3, reliable, A)",
                "reportTransportation(1, b, reliable)",
                "reportTransportation(A, I, bestEffort)"
            ]
        );
        cluster.assert_converged();
        Ok(())
    })
}

#[test]
fn a_late_node_gets_a_snapshot_in_parts() -> Refused {
    under_faults(|faults, seed| {
        let small = |config: &mut rti::Config| config.network.part_bytes = 200;
        let mut cluster = Cluster::with(3, &[], faults, seed, small);
        let [a, b, c] = cluster.join_all();
        for f in [&a, &b] {
            f.publish("C", &["a"])?;
        }
        let of_a: Vec<u32> = (0..30).map(|_| a.register("C")).collect::<Result<_, _>>()?;
        for _ in 0..10 {
            b.register("C")?;
        }
        cluster.settle();
        c.subscribe("C", &["a"])?;
        // Changes continue while the parts arrive.
        for (round, &x) in of_a.iter().enumerate() {
            cluster.run(Duration::from_millis(7));
            match round % 3 {
                0 => a.delete(x)?,
                1 => a.update(x, "a=1")?,
                _ => {
                    a.register("C")?;
                }
            }
        }
        cluster.settle();
        let notified = c.callbacks();
        assert_eq!(cluster.instances(2).len(), 20 + 10 + 10);
        let count = |kind: &str| notified.iter().filter(|callback| callback.starts_with(kind)).count();
        assert_eq!(count("discover") - count("remove"), 40);
        assert!(crate::faults::is_sound(&notified), "{notified:?}");
        cluster.assert_converged();
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn instances_of_a_former_single_node_are_discovered() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::apart(2, &[], faults, seed, |_| {});
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        a.publish_interaction("I")?;
        let x = a.register("C")?;
        a.update(x, "a=1")?;
        b.subscribe("C", &["a"])?;
        b.subscribe_interaction("I")?;
        cluster.connect();
        cluster.settle();
        a.update(x, "a=2")?;
        a.send("I", "p=1")?;
        cluster.settle();
        let mut notified = b.callbacks();
        notified.sort();
        let expected = ["discover(1, C, A)", "receive(I, p=1, reliable, A)", "reflect(1, a=2, reliable, A)"];
        assert_eq!(notified, expected);
        cluster.assert_converged();
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn a_model_is_extended_while_messages_are_on_their_way() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], faults, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        b.subscribe("C", &["a"])?;
        let x = a.register("C")?;
        cluster.settle();
        cluster.behind.insert(1);
        let text = fom::more();
        let late = cluster.worlds[0].connected("Late");
        late.join("F", &[("more.xml", &text)])?;
        let name = (late.handle.get(), "Late".to_owned());
        cluster.worlds.iter().for_each(|world| {
            world.learn(&[("more.xml", &text)]);
            world.0.borrow_mut().federates.insert(name.0, name.1.clone());
        });
        late.publish("C.Z", &["a", "z"])?;
        late.publish("C", &["a", "d"])?;
        let y = late.register("C.Z")?;
        let z = late.register("C")?;
        late.update(y, "a=2 z=3")?;
        late.update(z, "a=4")?;
        a.update(x, "a=1")?;
        cluster.run(Duration::from_millis(300));
        assert!(!b.callbacks().iter().any(|callback| callback.contains("Late")), "unknown here yet");
        cluster.behind.clear();
        cluster.settle();
        let notified = b.callbacks();
        let place = |callback: &str| {
            notified
                .iter()
                .position(|notified| notified == callback)
                .unwrap_or_else(|| panic!("{callback} in {notified:?}"))
        };
        assert!(place("discover(2, C, Late)") < place("reflect(2, a=2, reliable, Late)"));
        assert!(place("discover(3, C, Late)") < place("reflect(3, a=4, reliable, Late)"));
        cluster.assert_converged();
        Ok(())
    })
}

#[test]
fn a_node_with_a_replica_knows_the_owners() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        b.subscribe("C.S", &["a"])?;
        a.publish("C.S", &["a", "c"])?;
        let x = a.register("C.S")?;
        cluster.settle();
        b.skip();
        b.query_ownership(x, &["a", "b", "c", "privilege"])?;
        assert_eq!(b.callbacks(), ["notOwned(1, b)", "owned(1, privilege a c, A)"]);
        assert!(!b.owns(x, "a")?);
        a.unpublish("C.S", &["a"])?;
        cluster.settle();
        b.query_ownership(x, &["a", "c"])?;
        assert_eq!(b.callbacks(), ["notOwned(1, a)", "owned(1, c, A)"]);
        // A node that learns of the instance only now.
        c.subscribe("C.S", &["c"])?;
        cluster.settle();
        c.skip();
        c.query_ownership(x, &["a", "c"])?;
        assert_eq!(c.callbacks(), ["notOwned(1, a)", "owned(1, c, A)"]);
        a.resign(ResignAction::UnconditionallyDivestAttributes)?;
        cluster.settle();
        for f in [&b, &c] {
            f.skip();
            f.query_ownership(x, &["a", "c", "privilege"])?;
            assert_eq!(f.callbacks(), ["notOwned(1, privilege a c)"]);
        }
        Ok(())
    })
}
