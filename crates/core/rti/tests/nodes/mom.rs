//! The management object model over several nodes: every subscriber sees the same, wherever it is.

use crate::cluster::{BAD, Cluster, under_faults};
use crate::common::mom::{FEDERATE, FEDERATION, View, handle_of, instance_of, number};
use crate::common::{Fed, Refused};
use hla::api::ResignAction;
use std::time::Duration;

/// Attributes that do not change by themselves.
const TOLD: [&str; 8] = [
    "federateName",
    "federateType",
    "federateState",
    "timeRegulating",
    "timeConstrained",
    "timeManagerState",
    "attributeScopeAdvisory",
    "automaticResignAction",
];

/// The view of a federate once all is quiet.
fn seen(cluster: &mut Cluster, view: &mut View, federate: &Fed) -> View {
    cluster.settle();
    view.take(federate);
    view.clone()
}

#[test]
fn subscribers_at_all_nodes_see_the_same() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        let mut of_a = View::default();
        a.watch(FEDERATE, &TOLD)?;
        // It changes while the nodes learn that they are watched.
        c.set_scope(true)?;
        b.regulate(1)?;
        let first = seen(&mut cluster, &mut of_a, &a);
        for (name, regulating, scope) in [("A", "false", "0"), ("B", "true", "0"), ("C", "false", "1")] {
            assert_eq!(first.value(name, "federateName"), name);
            assert_eq!(first.value(name, "timeRegulating"), regulating, "{name} {first:?}");
            assert_eq!(first.value(name, "attributeScopeAdvisory"), scope, "{name} {first:?}");
        }
        b.watch(FEDERATE, &TOLD)?;
        c.constrain()?;
        c.set_scope(false)?;
        c.set_resign_directive(ResignAction::DeleteObjects)?;
        let d = cluster.join(2, "D");
        d.set_relevance(true)?;
        d.regulate(2)?;
        // A late subscriber sees the present, and so does one at a node that watched before.
        b.unwatch(FEDERATE)?;
        let e = cluster.join(1, "E");
        e.watch(FEDERATE, &TOLD)?;
        let of_e = seen(&mut cluster, &mut View::default(), &e);
        let of_a_now = seen(&mut cluster, &mut of_a, &a);
        assert_eq!(of_a_now, of_e);
        assert_eq!(of_e.value("C", "timeConstrained"), "true");
        assert_eq!(of_e.value("C", "automaticResignAction"), "1");
        assert_eq!(of_e.value("D", "timeRegulating"), "true");
        Ok(())
    })
}

#[test]
fn federates_go_with_their_node() -> Refused {
    let mut cluster = Cluster::new(3, &[], BAD, 7);
    let [a, _b, _c] = cluster.join_all();
    let mut view = View::default();
    a.watch(FEDERATE, &TOLD)?;
    a.watch(FEDERATION, &["federatesInFederation"])?;
    let before = seen(&mut cluster, &mut view, &a);
    assert_eq!(before.value("federation", "federatesInFederation"), "[1,2,3]");
    assert!(before.0.contains_key("C"));
    cluster.kill(2);
    let after = seen(&mut cluster, &mut view, &a);
    assert_eq!(after.value("federation", "federatesInFederation"), "[1,2]");
    assert!(after.0.contains_key("B") && !after.0.contains_key("C"), "{after:?}");
    let again = cluster.join(1, "F");
    let later = seen(&mut cluster, &mut view, &a);
    assert_eq!(later.value("F", "federateName"), "F");
    again.resign(ResignAction::NoAction)?;
    assert!(!seen(&mut cluster, &mut view, &a).0.contains_key("F"));
    Ok(())
}

#[test]
fn requests_reach_the_node_of_the_federate() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(2, &[], faults, seed);
        let [a, b] = cluster.join_all();
        b.publish("C", &["a"])?;
        let x = b.register("C")?;
        b.update(x, "a=1")?;
        b.update(x, "a=2")?;
        a.watch(FEDERATE, &["federateName", "updatesSent", "objectInstancesRegistered", "logicalTime"])?;
        cluster.settle();
        let mut view = View::default();
        view.take(&a);
        assert_eq!(view.value("B", "updatesSent"), "?", "it was not requested");
        a.request_managed(FEDERATE, instance_of(&b), &["federateName", "updatesSent", "logicalTime"])?;
        let seen = seen(&mut cluster, &mut view, &a);
        assert_eq!(seen.value("B", "updatesSent"), "2");
        assert_eq!(seen.value("B", "logicalTime"), "0");
        assert_eq!(seen.value("B", "objectInstancesRegistered"), "?");
        a.request_all_managed(FEDERATE, &["objectInstancesRegistered"])?;
        let seen = self::seen(&mut cluster, &mut view, &a);
        assert_eq!(seen.value("B", "objectInstancesRegistered"), "1");
        assert_eq!(seen.value("A", "objectInstancesRegistered"), "0");
        Ok(())
    })
}

/// Nobody pays for what nobody watches.
#[test]
fn nothing_is_told_without_subscribers() -> Refused {
    let mut cluster = Cluster::new(2, &[], crate::cluster::SOUND, 0);
    let [a, b] = cluster.join_all();
    cluster.settle();
    let before = cluster.commands();
    b.set_scope(true)?;
    b.set_relevance(false)?;
    cluster.settle();
    assert_eq!(cluster.commands(), before, "no command");
    a.watch(FEDERATE, &TOLD)?;
    cluster.settle();
    assert_eq!(cluster.commands(), before + 1, "one node watches");
    a.unwatch(FEDERATE)?;
    cluster.settle();
    assert_eq!(cluster.commands(), before + 2);
    a.skip();
    b.set_scope(false)?;
    cluster.settle();
    assert!(a.callbacks().is_empty());
    Ok(())
}

#[test]
fn requests_and_reports_cross_nodes() -> Refused {
    under_faults(|faults, seed| {
        let mut cluster = Cluster::new(3, &[], faults, seed);
        let [a, b, c] = cluster.join_all();
        b.hear_all_reports()?;
        cluster.settle();
        let ask = |from: &Fed, about: &Fed| {
            let class = "HLAfederate.HLArequest.HLArequestPublications";
            from.ask_rti(class, &[("federate", handle_of(about))])
        };
        ask(&a, &c)?;
        cluster.settle();
        let told = b.managed();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[0], "HLAreportObjectClassPublication(federate=3 numberOfClasses=0)");
        assert!(a.callbacks().is_empty() && c.callbacks().is_empty());
        // A node that has just subscribed gets the answers to its own requests.
        c.hear_all_reports()?;
        ask(&c, &a)?;
        cluster.settle();
        let told = c.managed();
        assert_eq!(told.len(), 3, "{told:?}");
        b.skip();
        let class = "HLAfederate.HLArequest.HLArequestObjectInstanceInformation";
        a.ask_rti(class, &[("federate", handle_of(&c))])?;
        cluster.settle();
        for subscriber in [&b, &c] {
            let told = subscriber.managed();
            assert!(told.len() == 1 && told[0].starts_with("HLAreportMOMexception(federate=1"), "{told:?}");
        }
        cluster.worlds[0].lose(&a);
        cluster.settle();
        for subscriber in [&b, &c] {
            let told = subscriber.managed();
            assert!(told.len() == 1 && told[0].starts_with("HLAreportFederateLost(federate=1"), "{told:?}");
        }
        Ok(())
    })
}

#[test]
fn periods_cross_nodes() -> Refused {
    let mut cluster = Cluster::new(3, &[], BAD, 3);
    let [a, b, c] = cluster.join_all();
    b.watch(FEDERATE, &["updatesSent"])?;
    cluster.settle();
    b.skip();
    let timing = |seconds: i32| {
        let class = "HLAfederate.HLAadjust.HLAsetTiming";
        a.ask_rti(class, &[("federate", handle_of(&c)), ("reportPeriod", number(seconds))])
    };
    timing(1)?;
    cluster.run(Duration::from_secs(5));
    let told = b.managed();
    assert!((3..=5).contains(&told.len()), "{told:?}");
    assert!(told.iter().all(|callback| callback == "reflect(C, updatesSent=0)"), "{told:?}");
    timing(0)?;
    cluster.settle();
    b.skip();
    cluster.run(Duration::from_secs(5));
    assert!(b.callbacks().is_empty());
    Ok(())
}

/// The loss of a node is reported at all others, once.
#[test]
fn federates_that_are_lost_with_their_node_are_reported() -> Refused {
    let mut cluster = Cluster::new(3, &[], BAD, 5);
    let [a, b, _c] = cluster.join_all();
    a.hear_all_reports()?;
    b.hear_all_reports()?;
    cluster.settle();
    cluster.kill(2);
    cluster.settle();
    for subscriber in [&a, &b] {
        let told = subscriber.managed();
        assert!(
            told.len() == 1 && told[0].starts_with("HLAreportFederateLost(federate=3 federateName=C"),
            "{told:?}"
        );
    }
    Ok(())
}
