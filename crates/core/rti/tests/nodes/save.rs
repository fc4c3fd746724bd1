//! Saves and restores of federation executions over several nodes: each node stores its part, and the
//! restored federation goes on as if nothing had happened.

use crate::cluster::{BAD, Cluster, Faults, SOUND, under_faults};
use crate::common::save::Saves;
use crate::common::{Fed, Refused, World, fom};
use hla::api::OrderType;
use hla::handle::FederateHandle;
use rti::ExecutionId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Longer than a message is lost again and again, even in a bad network.
const WHILE: Duration = Duration::from_secs(15);

/// The disks of nodes `N0`, `N1` and `N2`.
#[derive(Clone, Default)]
pub(crate) struct Disks([Saves; 3]);

impl Disks {
    /// A cluster of nodes with these names, each of which has its own disk.
    pub(crate) fn cluster(&self, names: &[usize], switches: &[&str], faults: (Faults, u64)) -> Cluster {
        Cluster::named(names, &fom::main(switches), faults, |name, config| {
            config.saves = Arc::new(self.0[name].clone());
        })
    }
}

/// Saves the federation execution. Returns the callbacks of each federate after `federationSaved`.
pub(crate) fn save(cluster: &mut Cluster, federates: &[&Fed], label: &str) -> Vec<Vec<String>> {
    federates[0].request_save(label).expect("request");
    cluster.run(WHILE);
    let before = answer(cluster, federates, label);
    assert!(before.iter().all(Vec::is_empty), "{before:?}");
    cluster.run(WHILE);
    federates.iter().map(|federate| after(federate, "federationSaved")).collect()
}

/// The same at once, while messages are on their way. Returns the callbacks of each federate before it
/// was told.
pub(crate) fn save_at_once(cluster: &mut Cluster, federates: &[&Fed], label: &str) -> Vec<Vec<String>> {
    federates[0].request_save(label).expect("request");
    cluster.align();
    let before = answer(cluster, federates, label);
    cluster.run(WHILE);
    federates.iter().for_each(|federate| drop(after(federate, "federationSaved")));
    before
}

/// Lets all federates save. Returns the callbacks of each federate before it was told.
fn answer(cluster: &mut Cluster, federates: &[&Fed], label: &str) -> Vec<Vec<String>> {
    let initiate = format!("initiateSave({label})");
    let mut before = Vec::new();
    for federate in federates {
        let mut told = federate.callbacks();
        assert_eq!(told.pop().as_ref(), Some(&initiate), "{}: {told:?}", federate.name);
        before.push(told);
        federate.save_begun().expect("begin");
        cluster.align();
    }
    for federate in federates {
        federate.save_complete().expect("complete");
        cluster.align();
    }
    before
}

/// The callbacks of a federate, of which the first is this one.
fn after(federate: &Fed, first: &str) -> Vec<String> {
    let mut told = federate.callbacks();
    assert_eq!(told.first().map(String::as_str), Some(first), "{}: {told:?}", federate.name);
    told.remove(0);
    told
}

/// Restores what was saved under a label. Returns the callbacks of each federate after
/// `federationRestored`.
pub(crate) fn restore(cluster: &mut Cluster, federates: &[&Fed], label: &str) -> Vec<Vec<String>> {
    federates[0].request_restore(label).expect("request");
    cluster.run(WHILE);
    for (at, federate) in federates.iter().enumerate() {
        let mut told = federate.callbacks();
        if at == 0 {
            assert_eq!(told.remove(0), format!("restoreRequestSucceeded({label})"));
        }
        let [begun, initiate] = &told[..] else { panic!("{}: {told:?}", federate.name) };
        assert_eq!(begun, "restoreBegun");
        let (prefix, handle) = initiate.rsplit_once(", f").expect("a handle");
        assert_eq!(prefix, format!("initiateRestore({label}, {}", federate.name));
        let handle = handle.trim_end_matches(')').parse().expect("a number");
        federate.handle.set(FederateHandle(handle));
    }
    for federate in federates {
        federate.restore_complete().expect("complete");
        cluster.align();
    }
    cluster.execution = ExecutionId(cluster.execution.0 + 1);
    for world in &cluster.worlds {
        name_all(world, &cluster.saved_names, federates);
    }
    cluster.run(WHILE);
    federates.iter().map(|federate| after(federate, "federationRestored")).collect()
}

fn name_all(world: &World, saved: &BTreeMap<FederateHandle, String>, federates: &[&Fed]) {
    let names = federates.iter().map(|federate| (federate.handle.get(), federate.name.clone()));
    let saved = saved.iter().map(|(&federate, name)| (federate, name.clone()));
    world.name_federates(&saved.chain(names).collect());
}

fn skip(federates: &[&Fed]) {
    federates.iter().for_each(|federate| federate.skip());
}

#[test]
fn federates_at_three_nodes_go_on_in_another_network() -> Refused {
    under_faults(|faults, seed| {
        let disks = Disks::default();
        let mut cluster = disks.cluster(&[0, 1, 2], &[], (faults, seed));
        let [a, b, c] = cluster.join_all();
        a.publish("C", &["a", "b"])?;
        b.subscribe("C", &["a", "b"])?;
        c.subscribe("C", &["a"])?;
        c.publish("C", &["a", "b"])?;
        cluster.settle();
        let car = a.register("C")?;
        let van = c.register("C")?;
        cluster.settle();
        skip(&[&a, &b, &c]);
        assert_eq!(save(&mut cluster, &[&a, &b, &c], "L"), [[""; 0]; 3]);
        // The run goes on.
        a.update(car, "a=1")?;
        cluster.settle();
        assert_eq!(b.callbacks(), [format!("reflect({car}, a=1, reliable, A)")]);
        drop(cluster);

        // Nodes have other numbers.
        let mut cluster = disks.cluster(&[2, 0, 1], &[], (faults, seed + 100));
        let (a, b, c) = (cluster.join(1, "A"), cluster.join(2, "B"), cluster.join(0, "C"));
        assert_eq!(restore(&mut cluster, &[&b, &a, &c], "L"), [[""; 0]; 3]);
        a.update(car, "a=2 b=2")?;
        c.update(van, "a=3")?;
        cluster.run(WHILE);
        let mut told = b.callbacks();
        told.sort();
        let of_car = ["reflect(1, a=2, reliable, A)", "reflect(1, b=2, bestEffort, A)"];
        told.retain(|callback| faults.lost == 0 || !callback.contains("bestEffort"));
        let of_car = if faults.lost == 0 { &of_car[..] } else { &of_car[..1] };
        assert_eq!(told, [of_car, &["reflect(3:1, a=3, reliable, C)"]].concat());
        assert_eq!(c.callbacks(), ["reflect(1, a=2, reliable, A)"]);
        let bus = a.register("C")?;
        a.delete(car)?;
        cluster.run(WHILE);
        assert_eq!(b.callbacks().len(), 2, "the new one is discovered, the old one removed");
        assert_ne!(bus, car);
        cluster.assert_converged();
        Ok(())
    })
}

#[test]
fn a_federate_at_another_node_is_named() -> Refused {
    let disks = Disks::default();
    let mut cluster = disks.cluster(&[0, 1], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    save(&mut cluster, &[&a, &b], "L");
    // They have changed places.
    let mut cluster = disks.cluster(&[1, 0], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    a.request_restore("L")?;
    cluster.run(WHILE);
    assert_eq!(a.callbacks(), ["restoreRequestFailed(L)"]);
    assert_eq!(b.callbacks(), [""; 0]);
    Ok(())
}

#[test]
fn a_node_that_has_no_part_is_missed() -> Refused {
    let disks = Disks::default();
    let mut cluster = disks.cluster(&[0, 1], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    save(&mut cluster, &[&a, &b], "L");
    let mut cluster = disks.cluster(&[0, 2], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    a.request_restore("L")?;
    cluster.run(WHILE);
    assert_eq!(a.callbacks(), ["restoreRequestFailed(L)"], "N1 is not part of the network");
    assert_eq!(b.callbacks(), [""; 0]);
    Ok(())
}

#[test]
fn parts_of_different_saves_are_never_put_together() -> Refused {
    let disks = Disks::default();
    let mut cluster = disks.cluster(&[0, 1], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    save(&mut cluster, &[&a, &b], "L");
    let older = disks.0[1].image("L").expect("it was stored");
    b.subscribe("C", &["a"])?;
    cluster.settle();
    save(&mut cluster, &[&a, &b], "L");
    disks.0[1].put("L", &older);
    a.request_restore("L")?;
    cluster.run(WHILE);
    let unable = "federationNotRestored(RTI_UNABLE_TO_RESTORE)";
    assert_eq!(a.callbacks().last().map(String::as_str), Some(unable));
    assert_eq!(b.callbacks().last().map(String::as_str), Some(unable));
    // Nothing has changed, and both go on.
    a.publish("C", &["a"])?;
    let car = a.register("C")?;
    cluster.settle();
    assert_eq!(b.callbacks(), [format!("discover({car}, C, A)")]);
    Ok(())
}

#[test]
fn a_node_that_cannot_store_fails_the_save() -> Refused {
    let disks = Disks::default();
    let mut cluster = disks.cluster(&[0, 1], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    disks.0[1].fail(true);
    a.request_save("L")?;
    cluster.run(WHILE);
    for federate in [&a, &b] {
        federate.save()?;
        cluster.align();
    }
    cluster.run(WHILE);
    for federate in [&a, &b] {
        assert_eq!(federate.callbacks(), ["initiateSave(L)", "federationNotSaved(RTI_UNABLE_TO_SAVE)"]);
    }
    Ok(())
}

#[test]
fn a_node_that_dies_fails_the_save() -> Refused {
    for completed in 0..=3 {
        let disks = Disks::default();
        let mut cluster = disks.cluster(&[0, 1, 2], &[], (BAD, completed));
        let [a, b, c] = cluster.join_all();
        a.request_save("L")?;
        cluster.run(WHILE);
        for federate in [&a, &b, &c].into_iter().take(completed as usize) {
            federate.save()?;
            cluster.align();
        }
        cluster.kill(2);
        for federate in [&a, &b].into_iter().skip(completed as usize) {
            federate.save()?;
            cluster.align();
        }
        cluster.run(WHILE);
        for federate in [&a, &b] {
            let told = federate.callbacks();
            let resigned = "federationNotSaved(FEDERATE_RESIGNED_DURING_SAVE)";
            assert_eq!(told, ["initiateSave(L)", resigned], "after {completed}: {}", federate.name);
        }
        // It works without that node.
        assert_eq!(save(&mut cluster, &[&a, &b], "M"), [[""; 0]; 2]);
    }
    Ok(())
}

#[test]
fn an_update_that_was_on_its_way_is_delivered_after_the_restore() -> Refused {
    under_faults(|faults, seed| {
        let disks = Disks::default();
        let mut cluster = disks.cluster(&[0, 1], &[], (faults, seed));
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        b.subscribe("C", &["a"])?;
        let car = a.register("C")?;
        cluster.settle();
        skip(&[&a, &b]);
        a.update(car, "a=1")?;
        assert_eq!(save_at_once(&mut cluster, &[&b, &a], "L"), [[""; 0]; 2]);
        drop(cluster);
        let mut cluster = disks.cluster(&[0, 1], &[], (faults, seed + 100));
        let [a, b] = cluster.join_all();
        let told = restore(&mut cluster, &[&a, &b], "L");
        assert_eq!((&told[0], &*told[1]), (&Vec::new(), &["reflect(1, a=1, reliable, A)".to_owned()][..]));
        Ok(())
    })
}

#[test]
fn what_was_on_its_way_is_withheld_and_delivered_after_the_restore() -> Refused {
    under_faults(|faults, seed| {
        let disks = Disks::default();
        let mut cluster = disks.cluster(&[0, 1], &[], (faults, seed));
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        b.publish("C", &["a"])?;
        b.subscribe("C", &["a"])?;
        let car = a.register("C")?;
        cluster.settle();
        skip(&[&a, &b]);
        a.update(car, "a=1")?;
        b.acquire(car, &["a"], "")?;
        // The update, and the request to the home of the instance, have left their nodes.
        cluster.align();
        assert_eq!(save_at_once(&mut cluster, &[&b, &a], "L"), [[""; 0]; 2]);
        drop(cluster);
        let mut cluster = disks.cluster(&[0, 1], &[], (faults, seed + 100));
        let [a, b] = cluster.join_all();
        let told = restore(&mut cluster, &[&a, &b], "L");
        assert_eq!(told[0], ["release(1, a)"]);
        assert_eq!(told[1], ["reflect(1, a=1, reliable, A)"]);
        Ok(())
    })
}

/// Its node still follows the other one when the federates that are left have answered.
#[test]
fn a_federate_that_has_just_left_takes_no_part() -> Refused {
    under_faults(|faults, seed| {
        let disks = Disks::default();
        let mut cluster = disks.cluster(&[0, 1, 2], &[], (faults, seed));
        let [a, b, c] = cluster.join_all();
        a.publish("C", &["a"])?;
        b.subscribe("C", &["a"])?;
        let car = a.register("C")?;
        cluster.settle();
        b.resign(hla::api::ResignAction::NoAction)?;
        save_at_once(&mut cluster, &[&a, &c], "L");
        drop(cluster);
        let mut cluster = disks.cluster(&[0, 1, 2], &[], (faults, seed + 100));
        let (a, c) = (cluster.join(0, "A"), cluster.join(2, "C"));
        let b = cluster.worlds[1].connected("B");
        assert_eq!(restore(&mut cluster, &[&a, &c], "L"), [[""; 0]; 2]);
        b.join("F", &[])?;
        b.subscribe("C", &["a"])?;
        cluster.run(WHILE);
        assert_eq!(b.callbacks().len(), 1, "it discovers the object");
        a.update(car, "a=1")?;
        cluster.run(WHILE);
        assert_eq!(b.callbacks().len(), 1, "it reflects the update");
        Ok(())
    })
}

/// Federates of three nodes come to the time of a save one after the other.
#[test]
fn a_save_with_a_time_waits_for_the_constrained_federates_of_all_nodes() -> Refused {
    under_faults(|faults, seed| {
        let disks = Disks::default();
        let mut cluster = disks.cluster(&[0, 1, 2], &[], (faults, seed));
        let [a, b, c] = cluster.join_all();
        a.publish_interaction("I")?;
        a.order_interaction("I", OrderType::Timestamp)?;
        a.regulate(1)?;
        for federate in [&b, &c] {
            federate.subscribe_interaction("I")?;
            federate.constrain()?;
        }
        cluster.run(WHILE);
        a.send_in_time("I", "p=1", 10)?;
        a.send_in_time("I", "p=1", 11)?;
        a.request_save_at("L", 10)?;
        a.tar(20)?;
        cluster.run(WHILE);
        skip(&[&a, &b, &c]);
        let message = |time: i64| format!("receive(I, p=1, reliable, A, t={time}, TSO)");
        b.tar(15)?;
        cluster.run(WHILE);
        assert_eq!(b.callbacks(), [message(10), "initiateSave(L, 10)".to_owned()]);
        assert_eq!((a.callbacks(), c.callbacks()), (Vec::new(), Vec::new()), "C has yet to come to it");
        c.tar(10)?;
        cluster.run(WHILE);
        assert_eq!(c.callbacks(), [message(10), "granted(10)".to_owned()]);
        c.tar(15)?;
        cluster.run(WHILE);
        assert_eq!(
            (a.callbacks(), c.callbacks()),
            (vec!["initiateSave(L, 10)".to_owned()], vec!["initiateSave(L, 10)".to_owned()])
        );
        for federate in [&a, &b, &c] {
            federate.save()?;
            cluster.align();
        }
        cluster.run(WHILE);
        let granted = ["federationSaved".to_owned(), message(11), "granted(15)".to_owned()];
        assert_eq!((b.callbacks(), c.callbacks()), (granted.to_vec(), granted.to_vec()));
        drop(cluster);
        let mut cluster = disks.cluster(&[1, 2, 0], &[], (faults, seed + 100));
        let (a, b, c) = (cluster.join(2, "A"), cluster.join(0, "B"), cluster.join(1, "C"));
        let told = restore(&mut cluster, &[&a, &b, &c], "L");
        assert_eq!(told, [Vec::new(), granted[1..].to_vec(), granted[1..].to_vec()]);
        Ok(())
    })
}

/// The node that has given the handle takes no part in the save.
#[test]
fn a_handle_is_not_given_again_after_a_restore() -> Refused {
    let disks = Disks::default();
    let mut cluster = disks.cluster(&[0, 1], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    b.publish("C", &["a"])?;
    let first = b.register("C")?;
    b.delete(first)?;
    b.resign(hla::api::ResignAction::NoAction)?;
    cluster.settle();
    save(&mut cluster, &[&a], "L");
    let mut cluster = disks.cluster(&[0, 1], &[], (SOUND, 0));
    let (a, b) = (cluster.join(0, "A"), cluster.worlds[1].connected("B"));
    restore(&mut cluster, &[&a], "L");
    b.join("F", &[])?;
    b.publish("C", &["a"])?;
    assert_ne!(b.register("C")?, first);
    Ok(())
}

#[test]
fn an_instance_without_an_owner_stays_at_its_node_without_federates() -> Refused {
    let disks = Disks::default();
    let mut cluster = disks.cluster(&[0, 1], &[], (SOUND, 0));
    let [a, b] = cluster.join_all();
    b.publish("C", &["a"])?;
    b.register("C")?;
    cluster.settle();
    b.resign(hla::api::ResignAction::UnconditionallyDivestAttributes)?;
    cluster.settle();
    skip(&[&a]);
    assert_eq!(save(&mut cluster, &[&a], "L"), [[""; 0]; 1]);
    let mut cluster = disks.cluster(&[1, 0], &[], (SOUND, 0));
    let a = cluster.join(1, "A");
    assert_eq!(restore(&mut cluster, &[&a], "L"), [[""; 0]; 1]);
    a.subscribe("C", &["a"])?;
    cluster.run(WHILE);
    let [instance] = &cluster.instances(1)[..] else { panic!("node N0 has a replica of it") };
    assert_eq!((instance.home, &*instance.name), (rti::NodeId(1), "HLAobj_2_1"));
    assert_eq!(a.callbacks(), [""; 0], "nobody owns an attribute of it");
    Ok(())
}
