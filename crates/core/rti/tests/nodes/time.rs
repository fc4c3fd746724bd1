//! Time management (clause 8) across nodes.

use crate::cluster::{Cluster, Faults, SOUND, under_faults};
use crate::common::{Fed, Refused};
use hla::Exception::*;
use hla::api::OrderType::Timestamp;
use hla::api::ResignAction;

const NOTHING: [&str; 0] = [];

/// A test under a sound network and a few bad ones.
fn in_time(nodes: usize, faults: Faults, seed: u64) -> Cluster {
    Cluster::new(nodes, &["nonRegulatedGrant"], faults, seed)
}

/// Makes federates regulating with this lookahead and constrained.
fn take_roles(cluster: &mut Cluster, federates: &[&Fed], lookahead: i64) -> Refused {
    for federate in federates {
        federate.regulate(lookahead)?;
        federate.constrain()?;
    }
    cluster.settle();
    for federate in federates {
        let mut enabled = federate.callbacks();
        enabled.sort();
        assert_eq!(enabled, ["constrained(0)", "regulating(0)"], "{}", federate.name);
    }
    Ok(())
}

#[test]
fn federates_of_several_nodes_advance_in_step() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(3, faults, seed);
        let [a, b, c] = cluster.join_all();
        take_roles(&mut cluster, &[&a, &b, &c], 1)?;
        for step in 1..=5 {
            a.tar(step)?;
            b.tar(step)?;
            cluster.settle();
            if step > 1 {
                assert_eq!(a.callbacks(), NOTHING, "{step}: c is at {}", step - 1);
            } else {
                a.skip();
            }
            c.tar(step)?;
            cluster.settle();
            for federate in [&a, &b, &c] {
                let heard = federate.callbacks();
                assert!(heard.is_empty() || heard == [format!("granted({step})")], "{heard:?}");
                assert_eq!(federate.time()?, step, "{}", federate.name);
            }
        }
        Ok(())
    })
}

/// Lets `a` send the interaction I in time-stamp order to all others.
fn talk(a: &Fed, others: &[&Fed]) -> Refused {
    a.publish_interaction("I")?;
    a.order_interaction("I", Timestamp)?;
    others.iter().try_for_each(|other| other.subscribe_interaction("I"))
}

#[test]
fn messages_come_in_time_stamp_order_from_several_nodes() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(3, faults, seed);
        let [a, b, c] = cluster.join_all();
        talk(&a, &[&c])?;
        talk(&b, &[&c])?;
        take_roles(&mut cluster, &[&a, &b, &c], 1)?;
        a.send_in_time("I", "p=1", 5)?;
        b.send_in_time("I", "p=2", 3)?;
        a.send_in_time("I", "p=3", 12)?;
        c.tar(10)?;
        a.tar(20)?;
        cluster.settle();
        assert_eq!(c.callbacks(), NOTHING, "b may still send at 1");
        b.tar(20)?;
        cluster.settle();
        let expected = [
            "receive(I, p=2, reliable, B, t=3, TSO)",
            "receive(I, p=1, reliable, A, t=5, TSO)",
            "granted(10)",
        ];
        assert_eq!(c.callbacks(), expected);
        c.nmr(20)?;
        cluster.settle();
        assert_eq!(c.callbacks(), ["receive(I, p=3, reliable, A, t=12, TSO)", "granted(12)"]);
        Ok(())
    })
}

#[test]
fn case_89_regulation_begins_no_earlier_than_constrained_federates_elsewhere() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(2, faults, seed);
        let [a, b] = cluster.join_all();
        b.constrain()?;
        b.tar(50)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["constrained(0)", "granted(50)"]);
        a.regulate(5)?;
        assert_eq!(a.regulate(5), Err(RequestForTimeRegulationPending));
        assert_eq!(a.tar(10), Err(RequestForTimeRegulationPending));
        cluster.settle();
        // The grant of 50 has closed that time: a may send above it only.
        assert_eq!(a.callbacks(), ["regulating(45)"]);
        assert_eq!(a.time()?, 45);
        b.tar(51)?;
        cluster.settle();
        assert_eq!(b.callbacks(), NOTHING, "a may send at 51");
        a.tar(46)?;
        cluster.settle();
        a.tar(47)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["granted(51)"]);
        Ok(())
    })
}

#[test]
fn case_98_a_message_is_retracted_at_all_nodes() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(3, faults, seed);
        let [a, b, c] = cluster.join_all();
        talk(&a, &[&b, &c])?;
        a.regulate(1)?;
        b.constrain()?;
        cluster.settle();
        [&a, &b, &c].into_iter().for_each(Fed::skip);
        let kept = a.send_in_time("I", "p=1", 8)?;
        let gone = a.send_in_time("I", "p=2", 9)?;
        cluster.settle();
        assert_eq!(
            c.callbacks(),
            ["receive(I, p=1, reliable, A, t=8, TSO as RO)", "receive(I, p=2, reliable, A, t=9, TSO as RO)"]
        );
        a.retract(gone)?;
        assert_eq!(a.retract(gone), Err(MessageCanNoLongerBeRetracted));
        cluster.settle();
        assert_eq!(c.callbacks(), ["requestRetraction"]);
        b.tar(10)?;
        a.tar(20)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A, t=8, TSO)", "granted(10)"]);
        assert_eq!(a.retract(kept), Err(MessageCanNoLongerBeRetracted));
        Ok(())
    })
}

#[test]
fn an_instance_is_deleted_in_time_at_all_nodes() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(3, faults, seed);
        let [a, b, c] = cluster.join_all();
        a.publish("C", &["a", "privilege"])?;
        b.subscribe("C", &["a"])?;
        c.subscribe("C", &["a"])?;
        let x = a.register("C")?;
        let y = a.register("C")?;
        for instance in [x, y] {
            a.order_attribute(instance, "privilege", Timestamp)?;
        }
        a.regulate(1)?;
        b.constrain()?;
        cluster.settle();
        [&a, &b, &c].into_iter().for_each(Fed::skip);
        a.delete_in_time(x, 5)?;
        let retracted = a.delete_in_time(y, 6)?;
        cluster.settle();
        assert_eq!(b.callbacks(), NOTHING);
        assert_eq!(c.callbacks(), ["remove(1, A, t=5, TSO as RO)", "remove(2, A, t=6, TSO as RO)"]);
        assert_eq!(b.known_class(x)?, "HLAobjectRoot.C", "until the removal comes");
        a.retract(retracted)?;
        cluster.settle();
        assert_eq!(c.callbacks(), ["requestRetraction"]);
        a.tar(10)?;
        b.tar(7)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["remove(1, A, t=5, TSO)", "granted(7)"]);
        assert_eq!(a.callbacks(), ["granted(10)"]);
        assert_eq!(c.known_class(y)?, "HLAobjectRoot.C", "its deletion was retracted");
        a.update(y, "a=1")?;
        cluster.settle();
        assert_eq!(c.callbacks(), ["reflect(2, a=1, reliable, A)"]);
        cluster.assert_converged();
        Ok(())
    })
}

#[test]
fn who_has_left_or_died_holds_nobody_up() -> Refused {
    for gone in 0..3 {
        under_faults(|faults, seed| {
            let mut cluster = in_time(3, faults, seed);
            let federates: [Fed; 3] = cluster.join_all();
            let [a, b, c] = &federates;
            take_roles(&mut cluster, &[a, b, c], 1)?;
            for (at, federate) in federates.iter().enumerate().filter(|(at, _)| *at != gone) {
                federate.tar(10)?;
                cluster.settle();
                assert_eq!(federate.callbacks(), NOTHING, "{gone} of {at}");
            }
            cluster.kill(gone);
            cluster.settle();
            for (_, federate) in federates.iter().enumerate().filter(|(at, _)| *at != gone) {
                assert_eq!(federate.callbacks(), ["granted(10)"], "{gone} is dead");
            }
            // Another one can begin.
            let at = (gone + 1) % 3;
            let late = cluster.join(at, "L");
            late.regulate(1)?;
            cluster.settle();
            assert_eq!(late.callbacks(), ["regulating(9)"]);
            late.resign(ResignAction::NoAction)?;
            for (_, federate) in federates.iter().enumerate().filter(|(at, _)| *at != gone) {
                federate.tar(20)?;
            }
            cluster.settle();
            for (_, federate) in federates.iter().enumerate().filter(|(at, _)| *at != gone) {
                assert_eq!(federate.callbacks(), ["granted(20)"]);
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn what_a_dead_node_sent_does_not_come_after_its_removal() -> Refused {
    for seed in 0..20 {
        let mut cluster = in_time(3, SOUND, seed);
        let [a, b, c] = cluster.join_all();
        talk(&c, &[&b])?;
        take_roles(&mut cluster, &[&a, &c], 1)?;
        b.constrain()?;
        cluster.settle();
        b.skip();
        // On its way when its node dies: it arrives after the removal.
        c.send_in_time("I", "p=1", 5)?;
        cluster.kill(2);
        a.tar(20)?;
        b.tar(10)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["granted(10)"]);
        b.tar(15)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["granted(15)"], "nor later");
    }
    Ok(())
}

#[test]
fn galt_and_lits_are_undefined_before_anybody_in_the_network_has_a_role() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(2, faults, seed);
        let federates: [_; 2] = cluster.join_all();
        cluster.settle();
        for federate in &federates {
            assert_eq!(federate.galt()?, None, "{}", federate.name);
            assert_eq!(federate.lits()?, None, "{}", federate.name);
        }
        Ok(())
    })
}

#[test]
fn a_queue_is_flushed_up_to_a_fresh_galt() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(2, faults, seed);
        let [a, b] = cluster.join_all();
        talk(&a, &[&b])?;
        a.regulate(1)?;
        b.constrain()?;
        cluster.settle();
        [&a, &b].into_iter().for_each(Fed::skip);
        a.tar(7)?;
        cluster.settle();
        a.send_in_time("I", "p=1", 30)?;
        cluster.settle();
        b.flush(20)?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A, t=30, TSO)", "flushed(8, 20)"]);
        Ok(())
    })
}

#[test]
fn a_constrained_federate_that_joins_late_elsewhere_gets_what_comes() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = in_time(2, faults, seed);
        let a = cluster.join(0, "A");
        a.publish_interaction("I")?;
        a.order_interaction("I", Timestamp)?;
        a.regulate(1)?;
        cluster.settle();
        a.tar(5)?;
        a.send_in_time("I", "p=1", 8)?;
        let b = cluster.join(1, "B");
        b.subscribe_interaction("I")?;
        b.constrain()?;
        cluster.settle();
        a.send_in_time("I", "p=2", 9)?;
        a.tar(10)?;
        b.tar(10)?;
        cluster.settle();
        let heard = b.callbacks();
        assert_eq!(heard.first().map(String::as_str), Some("constrained(0)"));
        assert_eq!(heard.last().map(String::as_str), Some("granted(10)"));
        assert!(heard.contains(&"receive(I, p=2, reliable, A, t=9, TSO)".to_owned()), "{heard:?}");
        cluster.assert_silent();
        Ok(())
    })
}
