//! Nodes that die: automatic resign directives, new homes, names.

use crate::cluster::{BAD, Cluster, SOUND, under_faults};
use crate::common::Refused;
use hla::api::ResignAction;
use std::time::Duration;

#[test]
fn a_directive_that_deletes_deletes_everywhere() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        for f in [&a, &b] {
            f.subscribe("C", &["a"])?;
        }
        c.publish("C", &["a"])?;
        c.set_resign_directive(ResignAction::DeleteObjects)?;
        c.reserve("tank")?;
        c.register_as("C", "tank")?;
        c.register("C")?;
        cluster.settle();
        a.skip();
        b.skip();
        cluster.kill(2);
        for f in [&a, &b] {
            assert_eq!(f.callbacks(), ["remove(3:1, C)", "remove(3:2, C)"]);
        }
        cluster.settle();
        a.reserve("tank")?;
        assert_eq!(a.callbacks(), ["reserved(tank)"], "the name is free again");
        cluster.assert_converged();
        cluster.assert_silent();
        Ok(())
    })
}

#[test]
fn a_directive_that_divests_leaves_instances_with_a_new_home() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(4, &["attributeScopeAdvisory"], faults, seed);
        let [_a, b, c, d] = cluster.join_all();
        d.publish("C", &["a"])?;
        d.reserve("tank")?;
        for f in [&b, &c] {
            f.subscribe("C", &["a"])?;
        }
        let x = d.register_as("C", "tank")?;
        d.register("C")?;
        cluster.settle();
        b.skip();
        c.skip();
        cluster.kill(3);
        cluster.settle();
        for f in [&b, &c] {
            assert_eq!(f.callbacks(), ["outOfScope(4:1, a)", "outOfScope(4:2, a)"]);
            assert_eq!(f.instance_called("tank")?, x);
        }
        assert_eq!(cluster.instances(0).len(), 2, "the lowest node, which had none of it, is the new home");
        assert!(cluster.instances(1).iter().all(|object| object.home == rti::NodeId(1)));
        cluster.assert_converged();
        b.reserve("tank")?;
        assert_eq!(b.callbacks(), ["notReserved(tank)"], "the instance is still there");
        // The new home dies as well.
        cluster.kill(0);
        cluster.settle();
        assert!(cluster.instances(2).iter().all(|object| object.home == rti::NodeId(2)));
        assert_eq!(cluster.instances(2).len(), 2);
        cluster.assert_converged();
        assert_eq!(c.callbacks(), [""; 0]);
        cluster.assert_silent();
        Ok(())
    })
}

/// The cost of a node's death should not grow with its objects where this is avoidable: their names
/// are already in the table, and messages about them are sent in windows.
#[test]
fn a_thousand_orphans_are_no_flood() -> Refused {
    const ORPHANS: usize = 1_000;
    let mut cluster = Cluster::new(3, &[], SOUND, 0);
    let [_a, b, c] = cluster.join_all();
    c.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    for number in 0..ORPHANS {
        let name = format!("tank {number}");
        c.reserve(&name)?;
        c.register_as("C", &name)?;
    }
    cluster.settle();
    let (commands, traffic) = (cluster.commands(), cluster.traffic);
    cluster.kill(2);
    cluster.settle();
    assert_eq!(
        cluster.instances(0).len(),
        ORPHANS,
        "the lowest node, which had none of them, is the new home"
    );
    cluster.assert_converged();
    let (commands, traffic) = (cluster.commands() - commands, cluster.traffic - traffic);
    assert!(commands <= 3, "{commands} commands");
    assert!(traffic <= 2 * ORPHANS as u64, "{traffic} messages");
    b.reserve("tank 999")?;
    assert_eq!(b.callbacks().last().map(String::as_str), Some("notReserved(tank 999)"));
    cluster.assert_silent();
    Ok(())
}

/// Federates join and subscribe, and the new home dies, while a node's instances are being
/// processed in slices.
#[test]
fn very_many_orphans_are_dealt_with_while_others_go_on() -> Refused {
    const ORPHANS: usize = 3_000;
    let setups = [(ResignAction::DeleteObjects, 0), (ResignAction::NoAction, ORPHANS)];
    for ((directive, left), faults) in setups.into_iter().zip([SOUND, BAD]) {
        let mut cluster = Cluster::new(4, &[], faults, 7);
        let [_a, b, c, d] = cluster.join_all();
        d.publish("C", &["a"])?;
        d.set_resign_directive(directive)?;
        b.subscribe("C", &["a"])?;
        for _ in 0..ORPHANS {
            d.register("C")?;
        }
        d.reserve("tank")?;
        d.register_as("C", "tank")?;
        cluster.settle();
        assert_eq!(b.callbacks().len(), ORPHANS + 1);
        cluster.kill(3);
        let reached = b.callbacks().len();
        assert!(reached <= 1_500, "{reached} in the first slice");
        // The new home has none of them, and dies before it has heard of all.
        c.subscribe("C", &["a"])?;
        let again = cluster.join(2, "D");
        cluster.kill(0);
        cluster.settle();
        cluster.assert_converged();
        assert_eq!(cluster.instances(1).len(), if left == 0 { 0 } else { left + 1 });
        let removals = b.callbacks();
        let rest = if left == 0 { ORPHANS + 1 - reached } else { 0 };
        assert_eq!(removals.len(), rest, "each is removed once");
        assert!(crate::faults::is_sound(&c.callbacks()));
        // Its name is free once its instance is gone, also for the federate's next life.
        again.reserve("tank")?;
        let expected = if left == 0 { "reserved(tank)" } else { "notReserved(tank)" };
        assert_eq!(again.callbacks(), [expected]);
        cluster.assert_silent();
    }
    Ok(())
}

#[test]
fn names_that_nobody_knew_are_freed() -> Refused {
    let mut cluster = Cluster::new(2, &[], SOUND, 0);
    let [a, b] = cluster.join_all();
    b.publish("C", &["a"])?;
    b.reserve("tank")?;
    b.register_as("C", "tank")?;
    cluster.settle();
    cluster.kill(1);
    a.reserve("tank")?;
    cluster.settle();
    a.reserve("tank")?;
    assert_eq!(a.callbacks(), ["notReserved(tank)", "reserved(tank)"]);
    cluster.assert_silent();
    Ok(())
}

#[test]
fn death_with_messages_on_their_way_converges() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(4, &[], faults, seed);
        let [a, b, c, d] = cluster.join_all();
        for f in [&a, &b, &c] {
            f.subscribe("C", &["a"])?;
        }
        d.publish("C", &["a"])?;
        cluster.settle();
        for number in 0..20 {
            let x = d.register("C")?;
            d.update(x, "a=1")?;
            if number % 3 == 0 {
                d.delete(x)?;
            }
            cluster.run(Duration::from_millis(2));
        }
        cluster.kill(3);
        cluster.settle();
        cluster.assert_converged();
        for f in [&a, &b, &c] {
            assert!(crate::faults::is_sound(&f.callbacks()));
        }
        cluster.assert_silent();
        Ok(())
    })
}

/// Nodes may be configured differently: the one that created the federation execution decides.
#[test]
fn the_creating_node_chooses_the_directive_for_all() -> Refused {
    let mut cluster = Cluster::with(3, &[], SOUND, 0, |config| {
        let creates = config.key == Some(base::NodeKey(100));
        config.automatic_resign = if creates { ResignAction::DeleteObjects } else { ResignAction::NoAction };
    });
    let [_a, b, c] = cluster.join_all();
    assert_eq!(c.resign_directive()?, ResignAction::DeleteObjects);
    b.subscribe("C", &["a"])?;
    c.publish("C", &["a"])?;
    c.register("C")?;
    cluster.settle();
    b.skip();
    cluster.kill(2);
    cluster.settle();
    assert_eq!(b.callbacks(), ["remove(3:1, C)"]);
    cluster.assert_silent();
    Ok(())
}

#[test]
fn the_new_home_counts_what_has_no_owner() -> Refused {
    let mut cluster = Cluster::new(3, &[], SOUND, 0);
    let [_a, b, c] = cluster.join_all();
    b.subscribe("C", &["a"])?;
    c.publish("C", &["a"])?;
    c.register("C")?;
    c.register("C")?;
    cluster.settle();
    let counts = |cluster: &Cluster, node: usize| {
        let status = cluster.worlds[node].0.borrow().rti.status();
        (status[0].instances, status[0].unowned)
    };
    assert_eq!((counts(&cluster, 1), counts(&cluster, 2)), ((0, 0), (2, 0)));
    cluster.kill(2);
    cluster.settle();
    assert_eq!((counts(&cluster, 0), counts(&cluster, 1)), ((2, 2), (0, 0)));
    Ok(())
}

/// The control plane may report that a federate has left and that its node is gone before the
/// streams of that node report the disposal of its objects. Then nobody follows those streams any
/// longer, and each node disposes of the objects itself.
#[test]
fn a_federate_that_left_just_before_its_node_leaves_nothing_behind() -> Refused {
    for (action, expected) in [
        (ResignAction::DeleteObjects, "remove(3:1, C)"),
        (ResignAction::UnconditionallyDivestAttributes, "outOfScope(3:1, a)"),
    ] {
        for is_lost in [false, true] {
            let mut cluster = Cluster::new(4, &["attributeScopeAdvisory"], SOUND, 0);
            let [a, b, c, _d] = cluster.join_all();
            for f in [&a, &b] {
                f.subscribe("C", &["a"])?;
            }
            c.publish("C", &["a"])?;
            c.register("C")?;
            cluster.settle();
            a.skip();
            b.skip();
            // From now on only the log gets through.
            cluster.cut.extend([(0, 2), (1, 2), (2, 3)]);
            match is_lost {
                true => {
                    c.set_resign_directive(action)?;
                    cluster.worlds[2].lose(&c);
                }
                false => c.resign(action)?,
            }
            cluster.kill(2);
            cluster.settle();
            for f in [&a, &b] {
                assert_eq!(f.callbacks(), [expected], "{action:?}, lost: {is_lost}");
            }
            cluster.assert_converged();
            cluster.assert_silent();
        }
    }
    Ok(())
}

/// A federate may rely on its automatic resign directive once it has the response. Before that its
/// node might die while the others know another directive.
#[test]
fn a_resign_directive_is_set_once_all_nodes_have_it() -> Refused {
    let cluster = Cluster::new(2, &[], SOUND, 0);
    let world = &cluster.worlds[1];
    let b = world.joined("B");
    let request = hla::api::SetAutomaticResignDirectiveRequest { value: ResignAction::DeleteObjects.into() };
    let call = hla::api::call_request::CallRequest::SetAutomaticResignDirectiveRequest(request);
    let mut inner = world.0.borrow_mut();
    let now = inner.now;
    assert!(inner.rti.call(now, b.caller, rti::CallId(900), call).is_none(), "the answer waits for the log");
    let proposal = inner.rti.poll_proposal().expect("the log is asked");
    let completion = inner.rti.commit(now, proposal).expect("the call is answered then");
    assert_eq!((completion.caller, completion.answer.is_ok()), (b.caller, true));
    Ok(())
}
