//! Advisories about federates of other nodes.

use crate::cluster::{BAD, Cluster, SOUND};
use crate::common::Refused;
use hla::api::ResignAction;

const NOTHING: [&str; 0] = [];

#[test]
fn registration_and_interactions_are_wanted_elsewhere() -> Refused {
    let switches = &["objectClassRelevanceAdvisory", "interactionRelevanceAdvisory"];
    for (faults, seed) in [(SOUND, 0), (BAD, 1), (BAD, 2), (BAD, 3)] {
        let mut cluster = Cluster::new(3, switches, faults, seed);
        let [a, b, c] = cluster.join_all();
        a.publish("C.S", &["a"])?;
        a.publish_interaction("I.J")?;
        cluster.settle();
        b.subscribe("C", &["a"])?;
        b.subscribe_interaction("I")?;
        cluster.settle();
        let mut notified = a.callbacks();
        notified.sort();
        assert_eq!(notified, ["interactionsOn(I.J)", "startRegistration(C.S)"]);
        c.subscribe("C.S", &["a"])?;
        cluster.settle();
        b.unsubscribe_class("C")?;
        b.subscribe_interaction_passively("I")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["interactionsOff(I.J)"]);
        c.resign(ResignAction::NoAction)?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["stopRegistration(C.S)"]);
        b.subscribe("C", &["a"])?;
        b.subscribe_interaction("I")?;
        cluster.settle();
        a.skip();
        cluster.kill(1);
        cluster.settle();
        let mut notified = a.callbacks();
        notified.sort();
        assert_eq!(notified, ["interactionsOff(I.J)", "stopRegistration(C.S)"]);
        cluster.assert_silent();
    }
    Ok(())
}

#[test]
fn updates_are_wanted_elsewhere() -> Refused {
    for (faults, seed) in [(SOUND, 0), (BAD, 1), (BAD, 2)] {
        let mut cluster = Cluster::new(2, &["attributeRelevanceAdvisory"], faults, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a", "b"])?;
        a.register("C")?;
        b.subscribe("C", &["a"])?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOn(1, a)"]);
        a.register("C")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOn(2, a)"]);
        b.subscribe_at("C", &["a"], "Low")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOn(1, a, Low)", "updatesOn(2, a, Low)"]);
        b.unsubscribe_class("C")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOff(1, a)", "updatesOff(2, a)"]);
        assert_eq!(b.callbacks(), ["discover(1, C, A)", "discover(2, C, A)"]);
        assert_eq!(a.callbacks(), NOTHING);
    }
    Ok(())
}

#[test]
fn scope_follows_ownership_elsewhere() -> Refused {
    for (faults, seed) in [(SOUND, 0), (BAD, 1), (BAD, 2)] {
        let mut cluster = Cluster::new(2, &["attributeScopeAdvisory"], faults, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a", "t"])?;
        b.subscribe("C", &["a", "t"])?;
        a.register("C")?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a t)"]);
        a.unpublish("C", &["t"])?;
        cluster.settle();
        assert_eq!(b.callbacks(), ["outOfScope(1, t)"]);
        cluster.assert_converged();
    }
    Ok(())
}

/// An owner is advised by the regions of federates at other nodes, as at a single node. Summaries of these
/// are exact until they move.
#[test]
fn updates_are_wanted_elsewhere_where_regions_overlap() -> Refused {
    for (faults, seed) in [(SOUND, 0), (BAD, 1), (BAD, 2)] {
        let mut cluster = Cluster::new(2, &["attributeRelevanceAdvisory"], faults, seed);
        let [a, b] = cluster.join_all();
        a.publish("C", &["a"])?;
        let here = b.region("X=0..10")?;
        b.subscribe_with("C", &[("a", &[here])])?;
        cluster.settle();
        let place = a.region("X=50..60")?;
        a.register_with("C", &[("a", &[place])])?;
        cluster.settle();
        assert_eq!(a.callbacks(), NOTHING, "nobody is near");
        // Either may move.
        a.shift(place, "X=5..15")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOn(1, a)"]);
        a.shift(place, "X=50..60")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOff(1, a)"]);
        b.shift(here, "X=50..51")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOn(1, a)"]);
        b.shift(here, "X=80..90")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOff(1, a)"]);
        // A subscription without regions applies everywhere, and so does an instance without regions.
        b.subscribe("C", &["a"])?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOn(1, a)"]);
        b.unsubscribe_class("C")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOff(1, a)"]);
        a.register("C")?;
        cluster.settle();
        assert_eq!(a.callbacks(), ["updatesOn(2, a)"]);
        cluster.assert_silent();
    }
    Ok(())
}
