//! Partitions, lost histories, and random runs.

use crate::cluster::{BAD, Cluster, SOUND};
use crate::common::Refused;
use std::collections::BTreeSet;
use std::time::Duration;

/// Whether the callbacks about instances are consistent: discovery first, nothing after removal.
pub(crate) fn is_sound(notified: &[String]) -> bool {
    let mut known = BTreeSet::new();
    notified.iter().all(|callback| {
        let Some((kind, rest)) = callback.split_once('(') else { return false };
        let subject = rest.split(',').next().unwrap_or_default().to_owned();
        match kind {
            "discover" => known.insert(subject),
            "remove" => known.remove(&subject),
            "reflect" | "inScope" | "outOfScope" => known.contains(&subject),
            _ => true,
        }
    })
}

#[test]
fn messages_from_behind_a_partition_arrive_when_it_heals() -> Refused {
    let mut cluster = Cluster::new(2, &[], SOUND, 0);
    let [a, b] = cluster.join_all();
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    cluster.settle();
    b.skip();
    cluster.cut.insert((0, 1));
    for value in 0..5 {
        a.update(x, &format!("a={value}"))?;
        cluster.run(Duration::from_secs(3));
    }
    assert_eq!(b.callbacks(), [""; 0]);
    cluster.cut.clear();
    cluster.changed();
    cluster.run(Duration::from_millis(500));
    let expected: Vec<_> = (0..5).map(|value| format!("reflect(1, a={value}, reliable, A)")).collect();
    assert_eq!(b.callbacks(), expected);
    cluster.assert_silent();
    Ok(())
}

#[test]
fn a_federate_that_missed_what_can_no_longer_be_had_is_lost_with_a_reason() -> Refused {
    let mut cluster = Cluster::with(2, &[], SOUND, 0, |config| config.network.history_bytes = 2_000);
    let [a, b] = cluster.join_all();
    let idle = cluster.join(1, "Idle");
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    cluster.settle();
    cluster.cut.insert((0, 1));
    for value in 0..100 {
        a.update(x, &format!("a={value}"))?;
        cluster.run(Duration::from_millis(1));
    }
    cluster.cut.clear();
    cluster.changed();
    cluster.settle();
    let lost = cluster.worlds[1].0.borrow_mut().rti.poll_lost().expect("one federate is concerned");
    assert_eq!(lost.0, b.caller);
    assert!(lost.1.contains("HLAobjectRoot.C") && lost.1.contains("n1"), "{}", lost.1);
    assert_eq!(cluster.worlds[1].0.borrow_mut().rti.poll_lost(), None);
    cluster.worlds[1].lose(&b);
    idle.subscribe("C", &["a"])?;
    cluster.settle();
    a.update(x, "a=new")?;
    cluster.settle();
    assert_eq!(idle.callbacks(), ["discover(1, C, A)", "reflect(1, a=new, reliable, A)"]);
    cluster.assert_converged();
    Ok(())
}

#[test]
fn memory_for_other_nodes_is_bounded_and_given_back() -> Refused {
    let mut cluster = Cluster::with(2, &[], SOUND, 0, |config| config.network.history_bytes = 20_000);
    let [a, b] = cluster.join_all();
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    cluster.settle();
    for _ in 0..1_000 {
        a.update(x, "a=0123456789012345678901234567890123456789")?;
        cluster.run(Duration::from_millis(1));
        assert!(cluster.worlds[0].0.borrow().rti.network_memory() <= 20_000 + 4_000);
    }
    cluster.run(Duration::from_secs(60));
    assert_eq!(cluster.worlds[0].0.borrow().rti.network_memory(), 0);
    assert_eq!(b.callbacks().len(), 1_001);
    Ok(())
}

#[test]
fn hostile_messages_bring_no_node_down() -> Refused {
    for seed in 0..40 {
        let mut cluster = Cluster::new(3, &["attributeRelevanceAdvisory", "autoProvide"], BAD, seed);
        cluster.corrupt = 30;
        let federates = cluster.join_all::<3>();
        for f in &federates {
            f.publish("C", &["a", "b"])?;
            f.publish_interaction("I")?;
            f.publish_directed("C", &["D"])?;
            f.subscribe("C", &["a", "b"])?;
            f.subscribe_interaction("I")?;
            f.subscribe_universally("C", &["D"])?;
        }
        for _ in 0..10 {
            for f in &federates {
                let x = f.register("C")?;
                f.update(x, "a=1 b=2")?;
                f.send("I", "p=1")?;
                f.direct("D", x, "x=1")?;
                f.request_of_class("C", &["a"], "")?;
            }
            cluster.run(Duration::from_millis(50));
        }
        cluster.kill(0);
        cluster.run(Duration::from_secs(20));
        federates[1].resign(hla::api::ResignAction::DeleteObjectsThenDivest)?;
        cluster.run(Duration::from_secs(20));
    }
    Ok(())
}

#[test]
fn nothing_is_sent_that_nobody_wants() -> Refused {
    let mut cluster = Cluster::new(3, &[], SOUND, 0);
    let [a, b, _c] = cluster.join_all();
    a.publish("C", &["a"])?;
    a.publish("E", &["e"])?;
    b.subscribe("C", &["a"])?;
    let (x, y) = (a.register("C")?, a.register("E")?);
    cluster.settle();
    let before = cluster.traffic;
    for _ in 0..10 {
        a.update(y, "e=1")?;
    }
    cluster.settle();
    assert_eq!(cluster.traffic, before, "nobody subscribes E");
    for _ in 0..10 {
        a.update(x, "a=1")?;
    }
    cluster.settle();
    // Ten updates in one packet, two high-water marks by router, one by peer message, and its
    // acknowledgement.
    assert_eq!(cluster.traffic, before + 5);
    for _ in 0..10 {
        a.update(x, "a=1")?;
        cluster.run(Duration::from_millis(1));
    }
    cluster.settle();
    assert_eq!(cluster.traffic, before + 5 + 14, "each by itself");
    assert!(cluster.instances(2).is_empty());
    Ok(())
}

#[test]
fn random_lives_and_deaths_under_a_bad_network_converge() -> Refused {
    for seed in 0..20 {
        let mut cluster = Cluster::new(3, &[], BAD, seed);
        let federates = cluster.join_all::<3>();
        let mut draw = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: u64| {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            draw % below
        };
        let mut instances: Vec<(usize, u32)> = Vec::new();
        for step in 0..150 {
            if step == 100 && seed % 2 == 0 {
                cluster.kill(2);
                instances.retain(|(owner, _)| *owner != 2);
            }
            let federate = next(cluster.live().len() as u64) as usize;
            let f = &federates[federate];
            let class = if next(3) == 0 { "C.S" } else { "C" };
            match next(9) {
                0 => f.subscribe(class, &["a"])?,
                1 => f.unsubscribe_class(class)?,
                2 => f.publish(class, &["a"])?,
                3..=4 => instances.extend(f.register(class).ok().map(|x| (federate, x))),
                5..=6 if !instances.is_empty() => {
                    let (owner, x) = instances[next(instances.len() as u64) as usize];
                    // It may be gone, or no longer owned.
                    let _ = federates[owner].update(x, "a=1");
                }
                7 if !instances.is_empty() => {
                    let (owner, x) = instances.swap_remove(next(instances.len() as u64) as usize);
                    let _ = federates[owner].delete(x);
                }
                8 if next(8) == 0 => f.unpublish_class(class)?,
                _ => {}
            }
            cluster.run(Duration::from_millis(next(30)));
        }
        cluster.settle();
        cluster.assert_converged();
        let federates = &federates[..cluster.live().len()];
        for f in federates {
            f.subscribe("C", &["a"])?;
        }
        cluster.settle();
        cluster.assert_converged();
        for f in federates {
            let notified = f.callbacks();
            assert!(is_sound(&notified), "seed {seed}: {notified:?}");
        }
        cluster.assert_silent();
    }
    Ok(())
}
