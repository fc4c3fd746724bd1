//! Regions (9.2 to 9.4, 10.26 to 10.28) and what they mean for updates and interactions: the edge cases
//! by number, the life of a region, and which regions overlap.

use crate::common::{Fed, Refused, World, fom};
use hla::Exception::*;
use hla::api::{OrderType, ResignAction};
use hla::handle::RegionHandle;
use rti::Config;

const NOTHING: [&str; 0] = [];
const SCOPE: &[&str] = &["attributeScopeAdvisory"];

/// A has registered a C (1) whose attributes a and b have the first region, at X 10 to 20. B has
/// subscribed both with the second region, at X 50 to 60.
pub(crate) fn apart(switches: &[&str]) -> Refused<(World, [Fed; 2], RegionHandle, RegionHandle)> {
    let (world, [a, b]) = World::in_regions(switches);
    let (of_a, of_b) = (a.region("X=10..20")?, b.region("X=50..60")?);
    a.publish("C", &["a", "b"])?;
    b.subscribe_with("C", &[("a b", &[of_b])])?;
    a.register_with("C", &[("a b", &[of_a])])?;
    assert_eq!(b.callbacks(), NOTHING, "the regions do not overlap");
    Ok((world, [a, b], of_a, of_b))
}

#[test]
fn case_101_a_range_ends_before_its_upper_bound() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    let (of_a, of_b) = (a.region("X=0..5")?, b.region("X=5..9")?);
    a.publish("C", &["a"])?;
    b.subscribe_with("C", &[("a", &[of_b])])?;
    let x = a.register_with("C", &[("a", &[of_a])])?;
    a.update(x, "a=1")?;
    assert_eq!(b.callbacks(), NOTHING);
    a.shift(of_a, "X=0..6")?;
    a.update(x, "a=2")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, a=2, reliable, A)"]);
    Ok(())
}

#[test]
fn case_102_new_bounds_count_when_they_are_committed() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(&[])?;
    b.set_range(of_b, "X", 10..20)?;
    assert_eq!(b.range_of(of_b, "X")?, 10..20, "the caller sees its template");
    a.update(1, "a=1")?;
    assert_eq!(b.callbacks(), NOTHING);
    b.commit(&[of_b])?;
    b.set_range(of_b, "X", 50..60)?;
    a.set_range(of_a, "X", 70..80)?;
    a.update(1, "a=2")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, a=2, reliable, A)"]);
    a.commit(&[of_a])?;
    a.update(1, "a=3")?;
    assert_eq!(b.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn case_103_a_region_that_moves_onto_an_instance_discovers_it() -> Refused {
    let (_world, [_a, b], _, of_b) = apart(SCOPE)?;
    b.shift(of_b, "X=19..60")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a b)"]);
    let (_world, [a, b], of_a, _) = apart(SCOPE)?;
    a.shift(of_a, "X=10..51")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "inScope(1, a b)"], "either may move");
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn case_104_one_update_for_a_set_of_regions() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(&[])?;
    let second = a.region("X=55..56")?;
    a.associate(1, &[("a", &[second])])?;
    b.skip();
    a.update(1, "a=1 b=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)"], "b has only the first region");
    a.shift(of_a, "X=50..60")?;
    let other = b.region("X=40..99")?;
    b.subscribe_with("C", &[("a b", &[of_b, other])])?;
    a.update(1, "a=2")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=2, reliable, A)"], "however many regions overlap");
    Ok(())
}

#[test]
fn case_105_what_is_sent_without_regions_reaches_every_region() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    let of_b = b.region("X=5..9 Y=40..41")?;
    a.publish("C", &["a"])?;
    a.publish_interaction("I")?;
    b.subscribe_with("C", &[("a", &[of_b])])?;
    b.subscribe_interaction_with("I", &[of_b])?;
    let x = a.register("C")?;
    a.update(x, "a=1")?;
    a.send("I", "p=1")?;
    a.send_with("I", "p=2", &[])?;
    assert_eq!(
        b.callbacks(),
        [
            "discover(1, C, A)",
            "reflect(1, a=1, reliable, A)",
            "receive(I, p=1, reliable, A)",
            "receive(I, p=2, reliable, A)"
        ]
    );
    Ok(())
}

#[test]
fn case_106_a_plain_subscription_takes_every_region() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    let of_a = a.region("X=5..9 Y=40..41")?;
    a.publish("C", &["a"])?;
    a.publish_interaction("I")?;
    b.subscribe("C", &["a"])?;
    b.subscribe_interaction("I")?;
    let x = a.register_with("C", &[("a", &[of_a])])?;
    a.update(x, "a=1")?;
    a.send_with("I", "p=1", &[of_a])?;
    assert_eq!(
        b.callbacks(),
        ["discover(1, C, A)", "reflect(1, a=1, reliable, A)", "receive(I, p=1, reliable, A)"]
    );
    Ok(())
}

#[test]
fn case_107_dimensions_are_available_and_ranges_are_not_empty() -> Refused {
    let (_, [a]) = World::in_regions(&[]);
    let z = a.region("Z=0..1")?;
    assert_eq!(a.subscribe_with("C", &[("a", &[z])]), Err(InvalidRegionContext));
    a.subscribe_with("C.S", &[("a", &[z])])?;
    let x = a.create_region(&["X"])?;
    for (lower, upper) in [(5, 5), (6, 5), (0, 101)] {
        assert_eq!(a.set_range(x, "X", lower..upper), Err(InvalidRangeBound), "{lower} to {upper}");
    }
    a.set_range(x, "X", 0..100)?;
    Ok(())
}

#[test]
fn case_108_regions_in_use_and_regions_of_others_are_not_deleted() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(&[])?;
    assert_eq!(b.delete_region(of_b), Err(RegionInUseForUpdateOrSubscription));
    assert_eq!(a.delete_region(of_a), Err(RegionInUseForUpdateOrSubscription));
    assert_eq!(b.delete_region(of_a), Err(RegionNotCreatedByThisFederate));
    b.unsubscribe_with("C", &[("a", &[of_b])])?;
    assert_eq!(b.delete_region(of_b), Err(RegionInUseForUpdateOrSubscription), "b is still subscribed");
    b.unsubscribe_with("C", &[("b", &[of_b])])?;
    b.delete_region(of_b)?;
    assert_eq!(b.delete_region(of_b), Err(InvalidRegion), "it is gone");
    a.unassociate(1, &[("a b", &[of_a])])?;
    a.delete_region(of_a)?;
    let of_a = a.region("X=0..1")?;
    a.subscribe_interaction_with("I", &[of_a])?;
    assert_eq!(a.delete_region(of_a), Err(RegionInUseForUpdateOrSubscription));
    a.unsubscribe_interaction_with("I", &[of_a])?;
    a.delete_region(of_a)
}

/// A sends in time-stamp order: it regulates time, and B is constrained.
fn in_time([a, b]: [&Fed; 2]) -> Refused {
    a.publish_interaction("I")?;
    a.order_interaction("I", OrderType::Timestamp)?;
    a.regulate(1)?;
    b.constrain()?;
    b.skip();
    Ok(())
}

#[test]
fn case_109_a_message_with_a_time_has_the_regions_of_when_it_was_sent() -> Refused {
    let (_, [a, b]) = World::in_regions(&["nonRegulatedGrant", "conveyRegionDesignatorSets"]);
    in_time([&a, &b])?;
    let (of_a, of_b) = (a.region("X=10..20")?, b.region("X=15..16")?);
    b.subscribe_interaction_with("I", &[of_b])?;
    assert!(a.send_with_at("I", "p=1", &[of_a], 3)?, "it is sent in time-stamp order");
    a.shift(of_a, "X=50..60")?;
    a.send_with_at("I", "p=2", &[of_a], 4)?;
    a.shift(of_a, "X=15..30")?;
    a.tar(5)?;
    b.tar(5)?;
    assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A, t=3, TSO, [X=10..20])", "granted(5)"]);
    Ok(())
}

#[test]
fn case_109_an_update_with_a_time_has_the_regions_of_when_it_was_sent() -> Refused {
    let (_, [a, b]) = World::in_regions(&["nonRegulatedGrant"]);
    let (of_a, of_b) = (a.region("X=10..20")?, b.region("X=15..16")?);
    a.publish("C", &["t"])?;
    b.subscribe_with("C", &[("t", &[of_b])])?;
    let x = a.register_with("C", &[("t", &[of_a])])?;
    in_time([&a, &b])?;
    assert!(a.update_at(x, "t=1", 3)?, "it is sent in time-stamp order");
    a.shift(of_a, "X=50..60")?;
    a.update_at(x, "t=2", 4)?;
    a.shift(of_a, "X=15..30")?;
    a.tar(5)?;
    b.tar(5)?;
    assert_eq!(b.callbacks(), ["reflect(1, t=1, reliable, A, t=3, TSO)", "granted(5)"]);
    Ok(())
}

#[test]
fn case_110_an_instance_that_moves_away_is_still_known() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(SCOPE)?;
    a.shift(of_a, "X=50..60")?;
    b.skip();
    for (fed, region, there, back) in [(&a, of_a, "X=80..90", "X=50..60"), (&b, of_b, "X=0..5", "X=55..56")] {
        fed.shift(region, there)?;
        a.update(1, "a=1")?;
        assert_eq!(b.callbacks(), ["outOfScope(1, a b)"], "no reflection and no removal");
        assert_eq!(b.known_class(1)?, "HLAobjectRoot.C");
        fed.shift(region, back)?;
        a.update(1, "a=2")?;
        assert_eq!(b.callbacks(), ["inScope(1, a b)", "reflect(1, a=2, reliable, A)"], "no discovery");
    }
    Ok(())
}

#[test]
fn handles_of_regions_count_for_each_federate() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    let numbered = |fed: &Fed, number: u64| RegionHandle(u64::from(fed.handle.get().0) << 32 | number);
    assert_eq!(a.create_region(&["X"])?, numbered(&a, 1));
    assert_eq!(b.create_region(&["X"])?, numbered(&b, 1));
    assert_eq!(a.create_region(&["X"])?, numbered(&a, 2));
    a.delete_region(numbered(&a, 2))?;
    assert_eq!(a.create_region(&["X"])?, numbered(&a, 3), "handles are not used again");
    Ok(())
}

#[test]
fn a_new_region_has_dimensions_without_bounds() -> Refused {
    let (_, [a]) = World::in_regions(&[]);
    let region = a.create_region(&["Y", "X", "Y"])?;
    assert_eq!(a.dimensions_of(region)?, ["X", "Y"]);
    assert_eq!(a.range_of(region, "X"), Err(InvalidRegion));
    assert_eq!(a.commit(&[region]), Err(InvalidRegion));
    a.set_range(region, "X", 1..2)?;
    assert_eq!(a.range_of(region, "X")?, 1..2);
    assert_eq!(a.range_of(region, "Y"), Err(InvalidRegion));
    assert_eq!(a.commit(&[region]), Err(InvalidRegion), "Y has no bounds");
    a.set_range(region, "Y", 0..50)?;
    a.commit(&[region])?;
    a.set_range(region, "X", 3..4)?;
    a.set_range(region, "X", 5..6)?;
    assert_eq!((a.range_of(region, "X")?, a.range_of(region, "Y")?), (5..6, 0..50));
    Ok(())
}

#[test]
fn a_commitment_is_all_or_nothing() -> Refused {
    let (_world, [a, b], of_a, of_b) = apart(&[])?;
    b.set_range(of_b, "X", 10..20)?;
    let open = b.create_region(&["X"])?;
    let deleted = b.region("X=0..1")?;
    b.delete_region(deleted)?;
    for (other, why) in [
        (open, InvalidRegion),
        (deleted, InvalidRegion),
        (RegionHandle(7), InvalidRegion),
        (of_a, RegionNotCreatedByThisFederate),
    ] {
        assert_eq!(b.commit(&[of_b, other]), Err(why));
        assert_eq!(b.commit(&[other, of_b]), Err(why));
    }
    a.update(1, "a=1")?;
    b.commit(&[])?;
    assert_eq!(b.callbacks(), NOTHING);
    b.set_range(open, "X", 0..1)?;
    b.commit(&[of_b, open, of_b])?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)"]);
    Ok(())
}

#[test]
fn regions_that_move_together_are_never_seen_apart() -> Refused {
    let (_world, [_a, b], _, of_b) = apart(SCOPE)?;
    let second = b.region("X=10..20")?;
    b.subscribe_with("C", &[("a b", &[second])])?;
    b.skip();
    b.set_range(of_b, "X", 10..20)?;
    b.set_range(second, "X", 50..60)?;
    b.commit(&[of_b, second])?;
    assert_eq!(b.callbacks(), NOTHING, "one of them overlaps before and after");
    Ok(())
}

#[test]
fn a_federate_takes_its_regions_along() -> Refused {
    for lost in [false, true] {
        let (world, [a, _b], of_a, _) = apart(&[])?;
        match lost {
            true => world.lose(&a),
            false => a.resign(ResignAction::UnconditionallyDivestAttributes)?,
        }
        let a = world.joined("A");
        assert_ne!(a.create_region(&["X"])?, of_a, "a federate that joins again is another one");
        assert_eq!(a.delete_region(of_a), Err(RegionNotCreatedByThisFederate));
        assert_eq!(a.range_of(of_a, "X"), Err(InvalidRegion));
    }
    Ok(())
}

/// Whether the first region, of an instance of C.S, overlaps the second, of a subscription of `class`.
fn overlap(update: &str, subscription: &str, class: &str) -> Refused<bool> {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish("C.S", &["a"])?;
    let (of_a, of_b) = (a.region(update)?, b.region(subscription)?);
    b.subscribe_with(class, &[("a", &[of_b])])?;
    a.register_with("C.S", &[("a", &[of_a])])?;
    let seen = b.callbacks();
    assert!(seen.is_empty() || seen == [format!("discover(1, {class}, A)")], "{seen:?}");
    Ok(!seen.is_empty())
}

#[test]
fn a_dimension_that_a_region_lacks_has_its_default_range() -> Refused {
    // Y is 0 to 10 where a region leaves it open.
    assert!(overlap("X=0..5", "X=4..9", "C")?);
    assert!(overlap("X=0..5", "X=4..9 Y=9..50", "C")?);
    assert!(!overlap("X=0..5", "X=4..9 Y=10..50", "C")?);
    assert!(!overlap("X=0..5 Y=10..11", "X=4..9", "C")?);
    assert!(overlap("X=0..5 Y=10..11", "X=4..9 Y=10..11", "C")?);
    assert!(!overlap("X=0..5 Y=10..11", "X=5..9 Y=10..11", "C")?, "all dimensions in common must overlap");
    // X and Z have no default: only the dimensions in common count.
    assert!(overlap("Y=0..5", "X=4..9", "C")?);
    assert!(!overlap("Y=10..15", "X=4..9", "C")?);
    assert!(overlap("X=0..5 Z=0..1", "X=4..9", "C")?, "Z is not available at C");
    assert!(overlap("X=0..5 Z=0..1", "X=4..9", "C.S")?);
    assert!(!overlap("X=0..5 Z=0..1", "X=4..9 Z=1..2", "C.S")?);
    assert!(overlap("", "X=4..9", "C")?, "even a region without dimensions has the default of Y");
    assert!(!overlap("", "X=4..9 Y=10..11", "C")?);
    Ok(())
}

#[test]
fn regions_without_a_dimension_in_common_do_not_overlap() -> Refused {
    let (_, [a, b]) = World::in_regions(&[]);
    a.publish("E", &["e"])?;
    a.publish_interaction("B")?;
    let (of_a, of_b) = (a.region("X=0..100")?, b.region("Z=0..20")?);
    b.subscribe_with("E", &[("e", &[of_b])])?;
    a.register_with("E", &[("e", &[of_a])])?;
    assert_eq!(b.callbacks(), NOTHING);
    let (none_of_a, none_of_b) = (a.region("")?, b.region("")?);
    b.subscribe_interaction_with("B", &[none_of_b])?;
    a.send_with("B", "r=1", &[none_of_a])?;
    assert_eq!(b.callbacks(), NOTHING, "B has no dimensions at all");
    a.send("B", "r=2")?;
    assert_eq!(b.callbacks(), ["receive(B, r=2, bestEffort, A)"], "the default region overlaps every region");
    Ok(())
}

#[test]
fn in_the_2010_edition_dimensions_belong_to_attributes() -> Refused {
    let world = World::with_model(Config::default(), &fom::regions_of_2010());
    let (a, b) = (world.joined("A"), world.joined("B"));
    a.publish("C", &["a", "b", "n"])?;
    let (x, y, both) = (b.region("X=0..5")?, b.region("Y=20..30")?, b.region("X=0..5 Y=0..5")?);
    assert_eq!(b.subscribe_with("C", &[("a b", &[x])]), Err(InvalidRegionContext));
    assert_eq!(b.subscribe_with("C", &[("a", &[both])]), Err(InvalidRegionContext));
    assert_eq!(b.subscribe_with("C", &[("n", &[y])]), Err(InvalidRegionContext));
    b.subscribe_with("C", &[("a", &[x]), ("b", &[y])])?;
    let (of_a, of_b) = (a.region("X=4..9")?, a.region("Y=30..40")?);
    a.register_with("C", &[("a", &[of_a]), ("b", &[of_b])])?;
    a.update(1, "a=1 b=1 n=1")?;
    assert_eq!(b.callbacks(), ["discover(1, C, A)", "reflect(1, a=1, reliable, A)"]);
    a.shift(of_b, "Y=29..40")?;
    a.update(1, "b=2")?;
    assert_eq!(b.callbacks(), ["reflect(1, b=2, reliable, A)"]);
    Ok(())
}
