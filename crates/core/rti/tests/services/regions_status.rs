//! Reports about regions: how many a federate has, and why it does or does not receive updates.

use crate::common::{Fed, Refused, World};
use crate::regions::apart;
use hla::handle::RegionHandle;
use rti::{AttributeWhy, FederateRegions, RangeStatus, RegionStatus, WhyStatus};

fn regions(world: &World) -> rti::FederationRegions {
    world.0.borrow().rti.regions(Some("F")).expect("F has federates").federations.remove(0)
}

fn of<'a>(all: &'a rti::FederationRegions, name: &str) -> &'a FederateRegions {
    all.federates.iter().find(|federate| federate.name == name).expect("a federate of F")
}

fn why(world: &World, object: &str, federate: &str) -> Result<WhyStatus, String> {
    world.0.borrow().rti.why(None, object, federate)
}

fn attribute(why: &WhyStatus, name: &str) -> AttributeWhy {
    let found = why.attributes.iter().find(|attribute| attribute.name == name);
    found.unwrap_or_else(|| panic!("{name} is not in {why:?}")).clone()
}

fn ranges(text: &[(&str, Option<(u32, u32)>)]) -> Option<Vec<RangeStatus>> {
    let range = |&(dimension, bounds): &(&str, _)| RangeStatus { dimension: String::from(dimension), bounds };
    Some(text.iter().map(range).collect())
}

/// The name of the only object, and its handle.
fn object(world: &World) -> (String, String) {
    let inner = world.0.borrow();
    let all = inner.rti.instances(inner.rti.control().federation("F").expect("F exists").id);
    (all[0].name.clone(), all[0].instance.to_string())
}

#[test]
fn the_regions_of_a_federate_are_counted_with_their_use() -> Refused {
    let (world, [a, b]) = World::in_regions(&[]);
    a.publish("C", &["a", "b"])?;
    let (of_a, open) = (a.region("X=0..5 Y=1..2")?, a.create_region(&["X", "Z"])?);
    a.set_range(open, "Z", 3..4)?;
    a.register_with("C", &[("a b", &[of_a])])?;
    let near = b.region("X=50..60")?;
    b.subscribe_with("C", &[("a b", &[near]), ("a", &[b.region("Y=0..9")?])])?;
    b.subscribe_interaction_with("I", &[near])?;
    b.set_range(near, "X", 70..80)?;
    let all = regions(&world);
    assert_eq!((all.federation.as_str(), all.instances, all.omitted), ("F", 1, 0));
    assert!(all.bytes > 0);
    let of_a_federate = of(&all, "A");
    assert_eq!((of_a_federate.regions, of_a_federate.committed, of_a_federate.associations), (2, 1, 2));
    assert_eq!(
        of_a_federate.first,
        [
            RegionStatus {
                region: of_a.to_string(),
                dimensions: 2,
                committed: ranges(&[("X", Some((0, 5))), ("Y", Some((1, 2)))]),
                uncommitted: None,
                subscriptions: 0,
                associations: 2,
            },
            RegionStatus {
                region: open.to_string(),
                dimensions: 2,
                committed: None,
                uncommitted: ranges(&[("X", None), ("Z", Some((3, 4)))]),
                subscriptions: 0,
                associations: 0,
            },
        ]
    );
    let of_b_federate = of(&all, "B");
    let FederateRegions { attribute_subscriptions, interaction_subscriptions, associations, .. } =
        of_b_federate;
    assert_eq!((*attribute_subscriptions, *interaction_subscriptions, *associations), (3, 1, 0));
    assert_eq!(of_b_federate.first[0].committed, ranges(&[("X", Some((50, 60)))]));
    assert_eq!(of_b_federate.first[0].uncommitted, ranges(&[("X", Some((70, 80)))]));
    assert_eq!(of_b_federate.first[0].subscriptions, 3);
    Ok(())
}

#[test]
fn the_counts_end_with_the_regions() -> Refused {
    let (world, [a, b], of_a, of_b) = apart(&[])?;
    assert_eq!(regions(&world).instances, 1);
    a.unassociate(1, &[("a b", &[of_a])])?;
    b.unsubscribe_with("C", &[("a b", &[of_b])])?;
    a.delete_region(of_a)?;
    b.delete_region(of_b)?;
    let all = regions(&world);
    assert_eq!((all.instances, all.bytes), (0, 0));
    for name in ["A", "B"] {
        let nothing = FederateRegions { name: name.to_owned(), ..FederateRegions::default() };
        assert_eq!(of(&all, name), &nothing);
    }
    Ok(())
}

#[test]
fn a_report_shows_only_the_first_regions_of_a_federate() -> Refused {
    let (world, [a]) = World::in_regions(&[]);
    let all: Vec<RegionHandle> =
        (0..30).map(|lower| a.region(&format!("X={lower}..40"))).collect::<Result<_, _>>()?;
    let told = regions(&world);
    let told = of(&told, "A");
    assert_eq!((told.regions, told.committed, told.first.len()), (30, 30, 20));
    assert_eq!(told.first[19].region, all[19].to_string());
    Ok(())
}

#[test]
fn a_separating_dimension_explains_why_an_object_is_not_discovered() -> Refused {
    let (world, [a, b], of_a, of_b) = apart(&[])?;
    let (name, handle) = object(&world);
    let told = why(&world, &name, "B").unwrap();
    assert_eq!((told.known_class.as_deref(), told.class.as_str()), (None, "HLAobjectRoot.C"));
    assert_eq!(
        told.summary,
        "B has not discovered the object, because its regions do not overlap the update regions of an attribute that it \
         subscribes."
    );
    let of_attribute = attribute(&told, "a");
    assert_eq!(
        of_attribute.reason,
        "B receives no updates, because its region does not overlap the update region \
         (X: update [10, 20), subscribed [50, 60))."
    );
    let pair = &of_attribute.separated[0];
    let expected = (of_a.to_string(), of_b.to_string());
    assert_eq!((pair.update_region.clone(), pair.subscribed_region.clone()), expected);

    a.shift(of_a, "X=55..65")?;
    b.callbacks();
    let told = why(&world, &handle, "B").unwrap();
    assert_eq!(told.summary, "B knows the object at its class HLAobjectRoot.C.");
    let of_attribute = attribute(&told, "a");
    assert!(of_attribute.in_scope);
    assert_eq!(of_attribute.overlapping, Some(expected));

    a.shift(of_a, "X=10..20")?;
    let told = why(&world, &name, "B").unwrap();
    assert!(told.known_class.is_some() && !attribute(&told, "a").in_scope, "it stays known: {told:?}");
    Ok(())
}

#[test]
fn each_attribute_of_a_known_object_has_its_reason() -> Refused {
    let (world, [a, b]) = World::in_regions(&[]);
    a.publish("C.S", &["a", "b"])?;
    b.subscribe("C.S", &["a"])?;
    b.subscribe("C", &["b"])?;
    a.register("C.S")?;
    b.callbacks();
    let told = why(&world, &object(&world).0, "B").unwrap();
    let reason = |name| attribute(&told, name).reason;
    assert_eq!(reason("a"), "B receives the updates, because it subscribes the attribute without regions.");
    assert_eq!(
        reason("b"),
        "B receives no updates, because it knows the object at HLAobjectRoot.C.S, and subscribes the attribute only at \
         HLAobjectRoot.C."
    );
    assert_eq!(reason("t"), "B receives no updates, because no federate owns the attribute.");
    let of_owner = why(&world, &object(&world).0, "A").unwrap();
    assert_eq!(
        attribute(&of_owner, "a").reason,
        "A receives no updates, because it owns the attribute itself."
    );
    Ok(())
}

#[test]
fn the_explanation_agrees_with_the_scope_of_every_attribute() -> Refused {
    let (world, [a, b]) = World::in_regions(&["attributeScopeAdvisory"]);
    a.publish("C", &["a", "b", "t"])?;
    let (here, there) = (a.region("X=10..20")?, a.region("X=50..60 Y=20..30")?);
    let mine = b.region("X=15..55")?;
    b.subscribe_at_with("C", &[("a b", &[mine])], "Low")?;
    b.subscribe_passively_with("C", &[("t", &[mine])])?;
    a.register_with("C", &[("a", &[here]), ("b", &[there])])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a t)"]);
    let told = why(&world, &object(&world).0, "B").unwrap();
    let in_scope = |name| attribute(&told, name).in_scope;
    assert_eq!([in_scope("a"), in_scope("b"), in_scope("t")], [true, false, true]);
    let rate = |name| attribute(&told, name).subscription.unwrap();
    assert_eq!((rate("a").rate.as_deref(), rate("a").updates_per_s), (Some("Low"), Some(1.0)));
    assert!(!rate("t").active && rate("a").active);
    assert_eq!(
        attribute(&told, "b").reason,
        "B receives no updates, because its region does not overlap the update region \
         (Y: update [20, 30), subscribed [0, 10)).",
        "the region of B has the default range of Y"
    );
    Ok(())
}

#[test]
fn names_that_are_unknown_are_explained() -> Refused {
    let (world, [a, b]) = World::in_regions(&[]);
    let said = |object, federate| why(&world, object, federate).unwrap_err();
    assert_eq!(said("x", "Z"), "no federate of `F` is called `Z`");
    let unknown = "this node knows no object `x` in `F`: it does not exist, or no federate here subscribes its class or a \
                   class above it";
    assert_eq!(said("x", "B"), format!("{unknown} (`B` subscribes no object class)"));
    b.subscribe("C", &["a"])?;
    assert_eq!(said("x", "B"), format!("{unknown} (`B` subscribes `HLAobjectRoot.C`)"));
    a.publish("E", &["e"])?;
    a.register("E")?;
    let told = why(&world, &object(&world).0, "B").unwrap();
    assert_eq!(
        told.summary,
        "B has not discovered the object, because it subscribes no attribute at HLAobjectRoot.E or a class above it."
    );
    assert_eq!(
        world.0.borrow().rti.why(Some("G"), "x", "B").unwrap_err(),
        "no federation execution is called `G`"
    );
    let other: Fed = world.connected("other");
    other.create("G", &[("main.xml", &crate::common::fom::regions(&[]))], "HLAinteger64Time")?;
    other.join("G", &[])?;
    assert_eq!(said("x", "B"), "several federation executions have federates here: choose one of `F`, `G`");
    Ok(())
}
