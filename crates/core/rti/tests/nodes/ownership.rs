//! Ownership of instances with a home at another node, and what the death of that home means.

use crate::cluster::{Cluster, Faults, SOUND, under_faults};
use crate::common::{Fed, Refused};
use std::time::Duration;

/// A, B and C at nodes of their own. All publish and subscribe attribute a, and know the instance that C has
/// registered.
fn federation(faults: Faults, seed: u64) -> Refused<(Cluster, [Fed; 3], u32)> {
    let mut cluster = Cluster::new(3, &[], faults, seed);
    let federates: [Fed; 3] = cluster.join_all();
    for fed in &federates {
        fed.publish("C", &["a"])?;
        fed.subscribe("C", &["a"])?;
    }
    cluster.settle();
    let x = federates[2].register("C")?;
    cluster.settle();
    federates.iter().for_each(Fed::skip);
    Ok((cluster, federates, x))
}

/// Lets some time pass in which hardly anything is sent again.
fn pass(cluster: &mut Cluster) {
    cluster.run(Duration::from_millis(100));
}

#[test]
fn of_two_federates_elsewhere_one_acquires_an_attribute() -> Refused {
    under_faults(|faults, seed| {
        let (mut cluster, [a, b, c], x) = federation(faults, seed)?;
        c.divest(x, &["a"], "")?;
        cluster.settle();
        a.acquire(x, &["a"], "")?;
        b.acquire(x, &["a"], "")?;
        cluster.settle();
        let (first, second) = if a.owns(x, "a")? { (a, b) } else { (b, a) };
        assert!(first.owns(x, "a")? && !second.owns(x, "a")?);
        assert_eq!(first.callbacks(), ["offered(3:1, a)", "acquired(3:1, a)", "release(3:1, a)"]);
        assert_eq!(second.callbacks(), ["offered(3:1, a)"]);
        cluster.assert_converged();
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn an_answer_to_a_request_that_was_replaced_is_not_told() -> Refused {
    under_faults(|faults, seed| {
        let (mut cluster, [_, b, c], x) = federation(faults, seed)?;
        b.acquire_if_available(x, &["a"], "")?;
        b.acquire(x, &["a"], "please")?;
        cluster.settle();
        assert_eq!(b.callbacks(), [""; 0], "it waits for what it has requested last");
        assert_eq!(c.callbacks(), ["release(3:1, a, #please)"]);
        c.divest_if_wanted(x, &["a"], "")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["acquired(3:1, a)"]);
        cluster.assert_converged();
        Ok(())
    })
}

#[test]
fn an_update_of_an_owner_elsewhere_waits_for_the_discovery() -> Refused {
    let mut cluster = Cluster::new(3, &[], SOUND, 0);
    let [a, b, c] = cluster.join_all();
    for fed in [&b, &c] {
        fed.publish("C", &["a"])?;
    }
    for fed in [&a, &b] {
        fed.subscribe("C", &["a"])?;
    }
    cluster.settle();
    cluster.cut.insert((0, 2));
    let x = c.register("C")?;
    c.divest(x, &["a"], "")?;
    pass(&mut cluster);
    b.acquire(x, &["a"], "")?;
    pass(&mut cluster);
    b.update(x, "a=1")?;
    pass(&mut cluster);
    assert_eq!(a.callbacks(), [""; 0], "it has come, and the instance is not known yet");
    cluster.cut.clear();
    cluster.settle();
    assert_eq!(a.callbacks(), ["discover(3:1, C, C)", "reflect(3:1, a=1, reliable, B)"]);
    Ok(())
}

/// B is told that it owns the attribute. Before A hears of that, the home dies, and the node of A is the new one.
fn acquired_before_the_death(cluster: &mut Cluster, [_, b, c]: &[Fed; 3], x: u32) -> Refused {
    b.acquire(x, &["a"], "")?;
    pass(cluster);
    cluster.cut.insert((0, 2));
    c.divest_if_wanted(x, &["a"], "")?;
    pass(cluster);
    assert_eq!(b.callbacks(), ["acquired(3:1, a)"]);
    cluster.kill(2);
    Ok(())
}

#[test]
fn an_acquired_attribute_is_not_lost_with_the_home() -> Refused {
    let (mut cluster, federates, x) = federation(SOUND, 0)?;
    acquired_before_the_death(&mut cluster, &federates, x)?;
    let [a, b, _] = &federates;
    for _ in 0..100 {
        cluster.run(Duration::from_millis(1));
        assert!(b.owns(x, "a")?, "not even for a moment does it lose the attribute");
    }
    cluster.settle();
    a.skip();
    a.query_ownership(x, &["a"])?;
    assert_eq!(a.callbacks(), ["owned(3:1, a, B)"]);
    cluster.assert_converged();
    cluster.assert_silent();
    Ok(())
}

#[test]
fn a_new_home_decides_nothing_before_it_has_heard_of_all_changes() -> Refused {
    let (mut cluster, federates, x) = federation(SOUND, 0)?;
    acquired_before_the_death(&mut cluster, &federates, x)?;
    let [a, b, _] = &federates;
    a.acquire_if_available(x, &["a"], "")?;
    cluster.settle();
    assert!(b.owns(x, "a")? && !a.owns(x, "a")?);
    assert_eq!(a.callbacks().last().map(String::as_str), Some("unavailable(3:1, a)"));
    cluster.assert_converged();
    cluster.assert_silent();
    Ok(())
}

#[test]
fn a_request_that_a_home_has_not_answered_is_answered_by_the_next_one() -> Refused {
    let (mut cluster, [_, b, _], x) = federation(SOUND, 0)?;
    cluster.cut.insert((1, 2));
    b.acquire(x, &["a"], "")?;
    pass(&mut cluster);
    cluster.kill(2);
    cluster.settle();
    assert!(b.owns(x, "a")?);
    assert_eq!(b.callbacks().last().map(String::as_str), Some("acquired(3:1, a)"));
    cluster.assert_converged();
    cluster.assert_silent();
    Ok(())
}

/// How an attribute is delivered is a matter of its owner, and known at all nodes.
#[test]
fn an_owner_elsewhere_changes_how_an_attribute_is_delivered() -> Refused {
    under_faults(|faults, seed| {
        let (mut cluster, [a, b, c], x) = federation(Faults { lost: 0, ..faults }, seed)?;
        b.acquire(x, &["a"], "")?;
        cluster.settle();
        c.divest_if_wanted(x, &["a"], "")?;
        cluster.settle();
        for kind in ["bestEffort", "reliable", "bestEffort"] {
            b.change_transportation(x, &["a"], kind)?;
        }
        b.update(x, "a=1")?;
        cluster.settle();
        [&a, &b, &c].iter().for_each(|fed| fed.skip());
        for fed in [&a, &b, &c] {
            fed.query_transportation(x, "a")?;
            assert_eq!(fed.callbacks(), ["reportTransportation(3:1, a, bestEffort)"]);
        }
        assert!(b.owns(x, "a")?);
        cluster.assert_converged();
        Ok(())
    })
}

/// The home may die before it has said so to others: its successor is asked again.
#[test]
fn a_change_of_delivery_outlives_the_home() -> Refused {
    let (mut cluster, [a, b, c], x) = federation(SOUND, 0)?;
    b.acquire(x, &["a"], "")?;
    cluster.settle();
    c.divest_if_wanted(x, &["a"], "")?;
    cluster.settle();
    cluster.cut.insert((0, 2));
    cluster.cut.insert((1, 2));
    b.change_transportation(x, &["a"], "bestEffort")?;
    pass(&mut cluster);
    cluster.kill(2);
    cluster.settle();
    [&a, &b].iter().for_each(|fed| fed.skip());
    a.query_transportation(x, "a")?;
    assert_eq!(a.callbacks(), ["reportTransportation(3:1, a, bestEffort)"]);
    cluster.assert_converged();
    Ok(())
}

/// The home has removed the instance, since nobody there waits for the time of its deletion. A has yet to
/// come to that time.
#[test]
fn a_call_about_an_instance_that_its_home_has_removed_is_answered() -> Refused {
    under_faults(|faults, seed| {
        let (mut cluster, [a, _, c], x) = federation(faults, seed)?;
        a.constrain()?;
        c.regulate(1)?;
        cluster.settle();
        assert_eq!(c.delete_at(x, 5), Ok(true));
        c.tar(20)?;
        cluster.settle();
        assert!(cluster.instances(2).is_empty(), "C can no longer retract the deletion");
        a.skip();
        a.acquire_if_available(x, &["a"], "")?;
        a.unpublish_class("C")?;
        a.tar(6)?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["remove(3:1, C, t=5, TSO)", "granted(6)"]);
        Ok(())
    })
}
