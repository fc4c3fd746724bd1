//! Calls with regions that are refused: each exception of the services of clause 9 and of 10.26 to 10.28.
//! A service that fails has no effect.

use crate::common::{Fed, NOBODY, Refused, World};
use hla::Exception::{self, *};
use hla::api;
use hla::handle::RegionHandle;
use rti::limits::{REGIONS_PER_CALL_MAX, SUBSCRIPTION_REGIONS_MAX, UPDATE_REGIONS_MAX};

const NOTHING: [&str; 0] = [];

/// A publishes attribute a of C, and has registered a C (1). B publishes a and b of C.
struct Setup {
    world: World,
    a: Fed,
    b: Fed,
    /// A region of A with X, to be used.
    mine: RegionHandle,
    /// One with Z, which is not available at C and I.
    z: RegionHandle,
    /// One that has bounds, but was never committed.
    fresh: RegionHandle,
    /// One that A has deleted.
    gone: RegionHandle,
    /// A region of B with X.
    theirs: RegionHandle,
}

impl Setup {
    fn new() -> Refused<Self> {
        let (world, [a, b]) = World::in_regions(&[]);
        a.publish("C", &["a"])?;
        b.publish("C", &["a", "b"])?;
        a.register("C")?;
        let (mine, z, theirs) = (a.region("X=0..5")?, a.region("Z=0..5")?, b.region("X=0..5")?);
        let (fresh, gone) = (a.create_region(&["X"])?, a.region("X=0..5")?);
        a.set_range(fresh, "X", 0..5)?;
        a.delete_region(gone)?;
        Ok(Self { world, a, b, mine, z, fresh, gone, theirs })
    }

    /// Tries a service of A with handles that are not those of its regions.
    fn refuses_strange_regions(&self, service: impl Fn(RegionHandle) -> Refused) {
        let never = RegionHandle(self.mine.0 + 1_000);
        for handle in [self.gone, never, RegionHandle::INVALID, RegionHandle(7)] {
            assert_eq!(service(handle), Err(InvalidRegion), "{handle:?}");
        }
        for handle in [self.theirs, RegionHandle(u64::from(NOBODY) << 32 | 1)] {
            assert_eq!(service(handle), Err(RegionNotCreatedByThisFederate), "{handle:?}");
        }
    }

    /// Tries a service of A that uses a region, at C or I, with regions that cannot be used.
    fn refuses(&self, service: impl Fn(RegionHandle) -> Refused) {
        self.refuses_strange_regions(&service);
        assert_eq!(service(self.fresh), Err(InvalidRegion), "it was never committed");
        assert_eq!(service(self.z), Err(InvalidRegionContext));
    }

    /// Checks that nothing uses the regions of A.
    fn assert_unused(&self) {
        for region in [self.mine, self.z, self.fresh] {
            assert_eq!(self.a.delete_region(region), Ok(()), "{region:?} is not in use");
        }
        assert_eq!((self.a.callbacks(), self.b.callbacks()), (vec![], vec![]));
    }
}

#[test]
fn regions_are_created_with_dimensions_of_the_object_model() -> Refused {
    let Setup { a, .. } = Setup::new()?;
    assert_eq!(a.create_region(&["X", "Nope"]), Err(InvalidDimensionHandle));
    let missing = api::CreateRegionRequest { dimensions: None };
    let region = a.ask(missing)?;
    assert_eq!(a.dimensions_of(region)?, NOTHING, "a set that is missing is empty");
    Ok(())
}

#[test]
fn bounds_of_strange_regions_and_dimensions() -> Refused {
    let s = Setup::new()?;
    s.refuses_strange_regions(|region| s.a.set_range(region, "X", 0..1));
    for dimension in ["Y", "Nope"] {
        assert_eq!(s.a.set_range(s.mine, dimension, 0..1), Err(RegionDoesNotContainSpecifiedDimension));
        assert_eq!(s.a.range_of(s.mine, dimension), Err(RegionDoesNotContainSpecifiedDimension));
    }
    let dimension = Some(s.a.dimension("X"));
    for range_bounds in [None, Some(api::RangeBounds::default())] {
        let request = api::SetRangeBoundsRequest { region: Some(s.mine), dimension, range_bounds };
        assert_eq!(s.a.ask(request), Err(InvalidRangeBound), "bounds that are missing are empty");
    }
    assert_eq!(s.a.range_of(s.mine, "X")?, 0..5, "nothing has changed");
    for region in [s.gone, s.theirs, RegionHandle::INVALID] {
        assert_eq!(s.a.range_of(region, "X"), Err(InvalidRegion));
        assert_eq!(s.a.dimensions_of(region), Err(InvalidRegion));
    }
    assert_eq!(s.b.range_of(s.theirs, "X")?, 0..5);
    Ok(())
}

#[test]
fn strange_regions_are_neither_committed_nor_deleted() -> Refused {
    let s = Setup::new()?;
    s.refuses_strange_regions(|region| s.a.commit(&[s.fresh, region]));
    assert_eq!(s.a.subscribe_with("C", &[("a", &[s.fresh])]), Err(InvalidRegion), "still not committed");
    s.refuses_strange_regions(|region| s.a.delete_region(region));
    s.b.set_range(s.theirs, "X", 1..2)?;
    s.b.commit(&[s.theirs])
}

#[test]
fn registrations_with_regions_that_are_refused() -> Refused {
    let s = Setup::new()?;
    let a = &s.a;
    let late = s.world.joined("L");
    late.subscribe("C", &["a"])?;
    late.skip();
    s.refuses(|region| a.register_with("C", &[("a", &[s.mine, region])]).map(drop));
    let pairs = |attributes: &'static str| [(attributes, vec![s.mine]), (attributes, vec![])];
    for (class, attributes, why) in [
        ("C", "a b", AttributeNotPublished),
        ("C", "c", AttributeNotDefined),
        ("C", "nope", AttributeNotDefined),
        ("E", "e", ObjectClassNotPublished),
        ("C.S", "a", ObjectClassNotPublished),
        ("Nope", "a", ObjectClassNotDefined),
    ] {
        for (attributes, regions) in pairs(attributes) {
            assert_eq!(a.register_with(class, &[(attributes, &regions)]), Err(why), "{class} {attributes}");
        }
    }
    s.assert_unused();
    assert_eq!(late.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn registrations_with_names_and_regions_that_are_refused() -> Refused {
    let s = Setup::new()?;
    let a = &s.a;
    a.reserve("N")?;
    a.skip();
    s.refuses(|region| a.register_as_with("C", "N", &[("a", &[region])]).map(drop));
    let using = |class, attributes, name| a.register_as_with(class, name, &[(attributes, &[s.mine])]);
    assert_eq!(using("C", "b", "N"), Err(AttributeNotPublished));
    assert_eq!(using("C", "c", "N"), Err(AttributeNotDefined));
    assert_eq!(using("E", "e", "N"), Err(ObjectClassNotPublished));
    assert_eq!(using("Nope", "a", "N"), Err(ObjectClassNotDefined));
    assert_eq!(using("C", "a", "M"), Err(ObjectInstanceNameNotReserved));
    s.assert_unused();
    let region = a.region("X=0..5")?;
    let x = a.register_as_with("C", "N", &[("a", &[region])])?;
    assert_eq!(a.instance_name(x)?, "N", "it was still reserved");
    assert_eq!(a.register_as_with("C", "N", &[("a", &[region])]), Err(ObjectInstanceNameInUse));
    Ok(())
}

#[test]
fn associations_that_are_refused() -> Refused {
    let s = Setup::new()?;
    let (a, unknown) = (&s.a, s.b.register("C")?);
    s.refuses(|region| a.associate(1, &[("a", &[s.mine]), ("b", &[region])]));
    for regions in [&[s.mine][..], &[]] {
        assert_eq!(a.associate(unknown, &[("a", regions)]), Err(ObjectInstanceNotKnown));
        assert_eq!(a.associate(1, &[("a c", regions)]), Err(AttributeNotDefined));
        assert_eq!(a.associate(1, &[("nope", regions)]), Err(AttributeNotDefined));
        assert_eq!(a.unassociate(unknown, &[("a", regions)]), Err(ObjectInstanceNotKnown));
        assert_eq!(a.unassociate(1, &[("a c", regions)]), Err(AttributeNotDefined));
    }
    s.assert_unused();
    Ok(())
}

#[test]
fn an_association_ends_only_if_all_of_the_call_is_sound() -> Refused {
    let s = Setup::new()?;
    s.a.associate(1, &[("a", &[s.mine])])?;
    s.refuses_strange_regions(|region| s.a.unassociate(1, &[("a", &[s.mine, region])]));
    assert_eq!(s.a.unassociate(1, &[("a", &[s.mine]), ("c", &[s.mine])]), Err(AttributeNotDefined));
    assert_eq!(s.a.delete_region(s.mine), Err(RegionInUseForUpdateOrSubscription));
    s.a.unassociate(1, &[("a b", &[s.mine, s.fresh, s.z])])?;
    s.assert_unused();
    Ok(())
}

#[test]
fn subscriptions_with_regions_that_are_refused() -> Refused {
    let s = Setup::new()?;
    let a = &s.a;
    s.b.register("C")?;
    s.refuses(|region| a.subscribe_with("C", &[("a", &[s.mine]), ("b", &[s.mine, region])]));
    s.refuses(|region| a.subscribe_passively_with("C", &[("a", &[region])]));
    s.refuses(|region| a.subscribe_at_with("C", &[("a", &[region])], "Low"));
    for regions in [&[s.mine][..], &[]] {
        let (undefined, unknown) = ([("a c", regions)], [("a", regions)]);
        assert_eq!(a.subscribe_with("C", &undefined), Err(AttributeNotDefined));
        assert_eq!(a.subscribe_with("Nope", &unknown), Err(ObjectClassNotDefined));
        assert_eq!(a.subscribe_at_with("C", &undefined, "Low"), Err(AttributeNotDefined));
        assert_eq!(a.subscribe_at_with("Nope", &unknown, "Low"), Err(ObjectClassNotDefined));
        assert_eq!(a.unsubscribe_with("C", &undefined), Err(AttributeNotDefined));
        assert_eq!(a.unsubscribe_with("Nope", &unknown), Err(ObjectClassNotDefined));
    }
    assert_eq!(a.subscribe_at_with("C", &[("a", &[s.mine])], "Warp"), Err(InvalidUpdateRateDesignator));
    s.assert_unused();
    Ok(())
}

#[test]
fn a_subscription_ends_only_if_all_of_the_call_is_sound() -> Refused {
    let s = Setup::new()?;
    let a = &s.a;
    a.subscribe_with("C", &[("a", &[s.mine])])?;
    a.subscribe_interaction_with("I", &[s.mine])?;
    s.refuses_strange_regions(|region| a.unsubscribe_with("C", &[("a", &[s.mine, region])]));
    s.refuses_strange_regions(|region| a.unsubscribe_interaction_with("I", &[s.mine, region]));
    a.unsubscribe_interaction_with("I", &[s.mine])?;
    assert_eq!(a.delete_region(s.mine), Err(RegionInUseForUpdateOrSubscription));
    a.unsubscribe_with("C", &[("a b", &[s.mine, s.fresh, s.z])])?;
    s.assert_unused();
    Ok(())
}

#[test]
fn interactions_with_regions_that_are_refused() -> Refused {
    let s = Setup::new()?;
    let a = &s.a;
    a.publish_interaction("I")?;
    s.b.subscribe_interaction("I")?;
    s.refuses(|region| a.subscribe_interaction_with("I", &[s.mine, region]));
    s.refuses(|region| a.subscribe_interaction_passively_with("I", &[region]));
    s.refuses(|region| a.send_with("I", "p=1", &[s.mine, region]));
    s.refuses(|region| a.send_with_at("I", "p=1", &[s.mine, region], 3).map(drop));
    assert_eq!(a.subscribe_interaction_with("B", &[s.mine]), Err(InvalidRegionContext));
    assert_eq!(a.subscribe_interaction_with("Nope", &[s.mine]), Err(InteractionClassNotDefined));
    assert_eq!(a.unsubscribe_interaction_with("Nope", &[s.mine]), Err(InteractionClassNotDefined));
    for (class, values, why) in [
        ("I.J", "q=1", InteractionClassNotPublished),
        ("Nope", "", InteractionClassNotDefined),
        ("I", "p=1 q=1", InteractionParameterNotDefined),
        ("I", "nope=1", InteractionParameterNotDefined),
    ] {
        assert_eq!(a.send_with(class, values, &[s.mine]), Err(why), "{class} {values}");
        assert_eq!(a.send_with_at(class, values, &[s.mine], 3), Err(why), "{class} {values}");
    }
    assert_eq!(a.send_with_at("I", "p=1", &[s.mine], -3), Err(InvalidLogicalTime));
    s.assert_unused();
    Ok(())
}

#[test]
fn requests_with_regions_that_are_refused() -> Refused {
    let s = Setup::new()?;
    let a = &s.a;
    s.b.register("C")?;
    s.refuses(|region| a.request_with("C", &[("a", &[s.mine]), ("b", &[region])], ""));
    for regions in [&[s.mine][..], &[]] {
        assert_eq!(a.request_with("C", &[("a c", regions)], ""), Err(AttributeNotDefined));
        assert_eq!(a.request_with("Nope", &[("a", regions)], ""), Err(ObjectClassNotDefined));
    }
    s.assert_unused();
    Ok(())
}

#[test]
fn classes_of_the_management_object_model_have_no_regions_yet() -> Refused {
    let Setup { a, .. } = Setup::new()?;
    let (federate, reports) =
        ("HLAmanager.HLAfederate", "HLAmanager.HLAfederate.HLAreport.HLAreportUpdatesSent");
    let region = a.region("HLAfederate=0..1")?;
    let none: Result<(), Exception> = Err(RTIinternalError);
    assert_eq!(a.subscribe_with(federate, &[("HLAfederateName", &[region])]), none);
    assert_eq!(a.subscribe_at_with(federate, &[("HLAfederateName", &[region])], "Low"), none);
    assert_eq!(a.request_with(federate, &[("HLAfederateName", &[region])], ""), none);
    assert_eq!(a.subscribe_interaction_with(reports, &[region]), none);
    a.delete_region(region)
}

#[test]
fn the_numbers_of_regions_have_limits() -> Refused {
    let (_, [a, _]) = World::in_regions(&[]);
    a.publish("C", &["a", "b"])?;
    a.publish_interaction("I")?;
    let x = a.register("C")?;
    let regions: Vec<RegionHandle> =
        (0..=SUBSCRIPTION_REGIONS_MAX).map(|_| a.region("X=0..5")).collect::<Refused<_>>()?;
    let (last, most) = regions.split_last().expect("there are regions");

    assert_eq!(a.subscribe_with("C", &[("a", &regions)]), Err(RTIinternalError));
    a.subscribe_with("C", &[("a", most)])?;
    assert_eq!(a.subscribe_with("C", &[("a", &[*last])]), Err(RTIinternalError));
    a.subscribe_with("C", &[("a", &most[..1]), ("b", &[*last])])?;
    assert_eq!(a.subscribe_interaction_with("I", &regions), Err(RTIinternalError));
    a.subscribe_interaction_with("I", most)?;
    assert_eq!(a.subscribe_interaction_with("I", &[*last]), Err(RTIinternalError));

    let (few, more) = regions.split_at(UPDATE_REGIONS_MAX);
    assert_eq!(a.send_with("I", "p=1", &regions[..=UPDATE_REGIONS_MAX]), Err(RTIinternalError));
    a.send_with("I", "p=1", few)?;
    assert_eq!(
        a.register_with("C", &[("a", &regions[..=UPDATE_REGIONS_MAX])]).map(drop),
        Err(RTIinternalError)
    );
    a.associate(x, &[("a", few)])?;
    assert_eq!(a.associate(x, &[("b a", &more[..1])]), Err(RTIinternalError));
    a.delete_region(more[1]).expect_err("it is in use for a subscription, and for nothing else");
    a.associate(x, &[("b", &more[..1]), ("a", few)])?;

    let many = vec![*last; REGIONS_PER_CALL_MAX + 1];
    assert_eq!(a.commit(&many), Err(RTIinternalError));
    a.commit(&many[1..])?;
    assert_eq!(a.unsubscribe_with("C", &[("a", &many)]), Err(RTIinternalError));
    Ok(())
}
