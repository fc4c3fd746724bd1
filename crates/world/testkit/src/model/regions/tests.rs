//! The rules of overlap, alone and through the services.

use super::super::{Model, Owed, Served};
use super::*;
use crate::fom::{self, RESIGN, Switches};
use crate::observation::SessionId;
use base::Moment;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, AttributeHandleSet, DimensionHandleSet, RegionHandleSet};
use std::sync::Arc;

const SUBSCRIBER: SessionId = SessionId(1);
const OWNER: SessionId = SessionId(2);

macro_rules! call {
    ($variant:ident { $($field:ident: $value:expr),* $(,)? }) => {
        Call::$variant(api::$variant { $($field: $value.into()),* })
    };
}

fn model() -> Fdd {
    fom::of_module(&fom::module(&Switches {
        auto_provide: false,
        attribute_scope: true,
        attribute_relevance: false,
        object_class_relevance: false,
        interaction_relevance: false,
        convey_regions: false,
        resign: RESIGN[0],
    }))
}

fn ranges(model: &Fdd, listed: &[(&str, u32, u32)]) -> Ranges {
    let one = |&(name, lower, upper): &(&str, u32, u32)| {
        (model.dimension_by_name(name).expect("the model has it"), RangeBounds { lower, upper })
    };
    listed.iter().map(one).collect()
}

#[test]
fn ranges_that_touch_do_not_overlap() {
    let model = model();
    let of = |lower, upper| ranges(&model, &[("X", lower, upper)]);
    assert!(!overlap(&of(0, 5), &of(5, 9)), "[0,5) and [5,9)");
    assert!(!overlap(&of(5, 9), &of(0, 5)));
    assert!(overlap(&of(0, 6), &of(5, 9)));
    assert!(overlap(&of(5, 9), &of(0, 6)));
    assert!(overlap(&of(0, 9), &of(3, 4)), "one inside the other");
}

#[test]
fn regions_overlap_in_every_common_dimension() {
    let model = model();
    let of = |listed: &[_]| ranges(&model, listed);
    let one = of(&[("X", 0, 5), ("Y", 0, 5)]);
    assert!(overlap(&one, &of(&[("X", 4, 9), ("Y", 4, 9)])));
    assert!(!overlap(&one, &of(&[("X", 4, 9), ("Y", 5, 9)])));
    assert!(overlap(&one, &of(&[("X", 4, 9), ("Kind", 5, 9)])), "only one dimension is common");
    assert!(!overlap(&one, &of(&[("Kind", 0, 10)])), "no dimension is common");
    assert!(!overlap(&one, &of(&[])));
    assert!(!overlap(&of(&[]), &of(&[])));
}

#[test]
fn a_missing_dimension_has_its_default_range() {
    let model = model();
    let all: Vec<_> = fom::DIMENSIONS.iter().filter_map(|(name, ..)| model.dimension_by_name(name)).collect();
    let of = |listed: &[_]| effective(&model, &ranges(&model, listed), &all);
    assert_eq!(of(&[]), ranges(&model, &[("Y", 0, 100), ("Kind", 0, 1)]), "X is excluded");
    assert_eq!(of(&[("Kind", 5, 6)]), ranges(&model, &[("Y", 0, 100), ("Kind", 5, 6)]));
    assert!(overlap(&of(&[("X", 0, 5)]), &of(&[("Kind", 0, 3)])), "the default of Kind");
    assert!(!overlap(&of(&[("X", 0, 5)]), &of(&[("Kind", 1, 3)])));
    // A dimension that is not available does not count.
    let x = &all[..1];
    let nothing = effective(&model, &Ranges::new(), x);
    assert!(
        nothing.is_empty() && !overlap(&nothing, &effective(&model, &ranges(&model, &[("X", 0, 100)]), x))
    );
}

#[test]
fn subscriptions_that_apply_count_together() {
    let slow = Subscribed { active: false, rate: Some(("Slow", 2.0)) };
    let fast = Subscribed { active: true, rate: Some(("Fast", 20.0)) };
    let unlimited = Subscribed { active: false, rate: None };
    assert_eq!(together(slow, fast), fast);
    assert_eq!(together(fast, slow), fast);
    assert_eq!(together(fast, unlimited), Subscribed { active: true, rate: None });
}

/// Two federates: one subscribes, the other owns an instance of Entity.
struct World {
    model: Model,
    fdd: Arc<Fdd>,
    class: ObjectClassHandle,
    attribute: AttributeHandle,
}

impl World {
    fn new() -> Self {
        let fdd = Arc::new(model());
        let class = fdd.object_class_by_name("Entity").expect("the model has it");
        let attribute = fdd.attribute_by_name(class, "id").expect("and its attribute");
        let mut world = Self { model: Model::new(Arc::clone(&fdd)), fdd, class, attribute };
        for session in [SUBSCRIBER, OWNER] {
            world.model.open(session);
            let (federation_name, federate_type) = ("f".to_owned(), "scripted".to_owned());
            let create = api::CreateFederationExecutionRequest {
                federation_name: federation_name.clone(),
                fom_module: None,
            };
            world.good(session, call!(ConnectRequest {}));
            // The second federate is told that the federation exists.
            let _ = world.call(session, Call::CreateFederationExecutionRequest(create));
            let join = call!(JoinFederationExecutionRequest {
                federate_type: federate_type,
                federation_name: federation_name,
            });
            world.good(session, join);
        }
        let publish =
            call!(PublishObjectClassAttributesRequest { object_class: class, attributes: world.listed() });
        world.good(OWNER, publish);
        world
    }

    fn listed(&self) -> AttributeHandleSet {
        AttributeHandleSet { attribute_handle: vec![self.attribute] }
    }

    fn pairs(&self, regions: &[RegionHandle]) -> api::AttributeSetRegionSetPairList {
        [(vec![self.attribute], regions.to_vec())].into_iter().collect()
    }

    #[allow(clippy::needless_pass_by_value)] // requests are made where they are passed
    fn call(&mut self, session: SessionId, request: Call) -> (Served, Vec<(SessionId, Callback)>) {
        let (served, effects) = self.model.execute(Moment::ZERO, session, &request);
        let owed = effects.owed.into_iter().map(|Owed { to, callback, .. }| (to, callback));
        (served, owed.collect())
    }

    fn good(&mut self, session: SessionId, request: Call) -> Vec<(SessionId, Callback)> {
        let text = format!("{request:?}");
        let (served, owed) = self.call(session, request);
        assert!(served.is_ok(), "{text}: {served:?}");
        owed
    }

    fn refused(&mut self, session: SessionId, request: Call) -> Vec<Exception> {
        let text = format!("{request:?}");
        self.call(session, request).0.expect_err(&text)
    }

    fn dimension(&self, name: &str) -> DimensionHandle {
        self.fdd.dimension_by_name(name).expect("the model has it")
    }

    /// A region with a range of one dimension, which is not committed.
    fn draft(&mut self, session: SessionId, (name, lower, upper): (&str, u32, u32)) -> RegionHandle {
        let set = DimensionHandleSet { dimension_handle: vec![self.dimension(name)] };
        let (served, _) = self.call(session, call!(CreateRegionRequest { dimensions: set }));
        let Ok(Some(Answer::CreateRegionResponse(r))) = served else { panic!("{served:?}") };
        let region = r.result.expect("a region");
        self.set(session, region, (name, lower, upper));
        region
    }

    fn set(&mut self, session: SessionId, region: RegionHandle, (name, lower, upper): (&str, u32, u32)) {
        let dimension = self.dimension(name);
        let range_bounds = RangeBounds { lower, upper };
        self.good(
            session,
            call!(SetRangeBoundsRequest { region: region, dimension: dimension, range_bounds: range_bounds }),
        );
    }

    fn commit(&mut self, session: SessionId, region: RegionHandle) -> Vec<(SessionId, Callback)> {
        let regions = RegionHandleSet { region_handle: vec![region] };
        self.good(session, call!(CommitRegionModificationsRequest { regions: regions }))
    }

    fn region(&mut self, session: SessionId, range: (&str, u32, u32)) -> RegionHandle {
        let region = self.draft(session, range);
        self.commit(session, region);
        region
    }

    fn subscribe(&mut self, regions: &[RegionHandle]) -> Vec<(SessionId, Callback)> {
        let subscribe = call!(SubscribeObjectClassAttributesWithRegionsRequest {
            object_class: self.class,
            attributes_and_regions: self.pairs(regions),
            active: true,
        });
        self.good(SUBSCRIBER, subscribe)
    }

    fn subscribe_plainly(&mut self) {
        let subscribe = call!(SubscribeObjectClassAttributesRequest {
            object_class: self.class,
            attributes: self.listed()
        });
        self.good(SUBSCRIBER, subscribe);
    }

    fn register(&mut self, regions: &[RegionHandle]) -> ObjectInstanceHandle {
        let register = call!(RegisterObjectInstanceWithRegionsRequest {
            object_class: self.class,
            attributes_and_regions: self.pairs(regions),
        });
        let (served, _) = self.call(OWNER, register);
        let Ok(Some(Answer::RegisterObjectInstanceWithRegionsResponse(r))) = served else {
            panic!("{served:?}")
        };
        r.result.expect("an instance")
    }

    /// Updates the instance. Returns the reflections.
    fn update(&mut self, instance: ObjectInstanceHandle) -> Vec<api::ReflectAttributeValues> {
        let value =
            api::AttributeHandleValue { attribute_handle: Some(self.attribute), value: Bytes::from("v") };
        let values = api::AttributeHandleValueMap { attribute_handle_value: vec![value] };
        let update = call!(UpdateAttributeValuesRequest {
            object_instance: instance,
            attribute_values: values,
            user_supplied_tag: Bytes::new(),
        });
        let owed = self.good(OWNER, update);
        let reflections = owed.into_iter().filter_map(|(_, callback)| match callback {
            Callback::ReflectAttributeValues(reflect) => Some(reflect),
            _ => None,
        });
        reflections.collect()
    }
}

#[test]
fn bounds_count_once_they_are_committed() {
    let mut world = World::new();
    let wanted = world.region(SUBSCRIBER, ("X", 0, 5));
    world.subscribe(&[wanted]);
    let used = world.region(OWNER, ("X", 4, 9));
    let instance = world.register(&[used]);
    assert_eq!(world.update(instance).len(), 1);
    world.set(OWNER, used, ("X", 5, 9));
    assert_eq!(world.update(instance).len(), 1, "the template does not count");
    let dimension = world.dimension("X");
    let (served, _) = world.call(OWNER, call!(GetRangeBoundsRequest { region: used, dimension: dimension }));
    let Ok(Some(Answer::GetRangeBoundsResponse(bounds))) = served else { panic!("{served:?}") };
    assert_eq!(bounds.result, Some(RangeBounds { lower: 5, upper: 9 }));
    world.commit(OWNER, used);
    assert!(world.update(instance).is_empty());
}

#[test]
fn a_commit_moves_attributes_into_scope_and_out_of_it() {
    let mut world = World::new();
    let wanted = world.region(SUBSCRIBER, ("X", 0, 5));
    world.subscribe(&[wanted]);
    let used = world.region(OWNER, ("X", 5, 9));
    let instance = world.register(&[used]);
    world.set(SUBSCRIBER, wanted, ("X", 0, 6));
    let owed = world.commit(SUBSCRIBER, wanted);
    let [(SUBSCRIBER, Callback::DiscoverObjectInstance(_)), (SUBSCRIBER, Callback::AttributesInScope(_))] =
        &owed[..]
    else {
        panic!("{owed:?}")
    };
    assert_eq!(world.update(instance).len(), 1);
    world.set(SUBSCRIBER, wanted, ("X", 0, 5));
    let owed = world.commit(SUBSCRIBER, wanted);
    let [(SUBSCRIBER, Callback::AttributesOutOfScope(_))] = &owed[..] else { panic!("{owed:?}") };
    assert!(world.update(instance).is_empty());
    world.set(OWNER, used, ("X", 0, 1));
    let owed = world.commit(OWNER, used);
    let [(SUBSCRIBER, Callback::AttributesInScope(_))] = &owed[..] else { panic!("{owed:?}") };
    let unsubscribe = call!(UnsubscribeObjectClassAttributesWithRegionsRequest {
        object_class: world.class,
        attributes_and_regions: world.pairs(&[wanted]),
    });
    assert!(world.good(SUBSCRIBER, unsubscribe).is_empty(), "the federate knows what it has done");
}

#[test]
fn an_update_with_several_regions_comes_once() {
    let mut world = World::new();
    let (near, far) = (world.region(SUBSCRIBER, ("X", 0, 5)), world.region(SUBSCRIBER, ("X", 0, 6)));
    world.subscribe(&[near, far]);
    let (one, other) = (world.region(OWNER, ("X", 50, 60)), world.region(OWNER, ("X", 4, 9)));
    let instance = world.register(&[one, other]);
    let convey = call!(SetConveyRegionDesignatorSetsSwitchRequest { value: true });
    world.good(SUBSCRIBER, convey);
    let reflections = world.update(instance);
    let [reflection] = &reflections[..] else { panic!("{reflections:?}") };
    let conveyed = reflection.optional_sent_regions.clone().expect("the switch is on").conveyed_regions;
    let lower = |region: &ConveyedRegion| region.dimension_and_range[0].range_bounds.map(|range| range.lower);
    assert_eq!(conveyed.iter().map(lower).collect::<Vec<_>>(), [Some(50), Some(4)]);
}

#[test]
fn the_default_region_overlaps_every_region() {
    let mut world = World::new();
    let wanted = world.region(SUBSCRIBER, ("X", 0, 5));
    world.subscribe(&[wanted]);
    let instance = world.register(&[]);
    assert_eq!(world.update(instance)[0].optional_sent_regions, None);
    assert_eq!(world.update(instance).len(), 1, "an update without regions");
    let far = world.region(OWNER, ("X", 5, 9));
    let instance = world.register(&[far]);
    assert!(world.update(instance).is_empty());
    world.subscribe_plainly();
    assert_eq!(world.update(instance).len(), 1, "a subscription without regions");
    let unassociate = call!(UnassociateRegionsForUpdatesRequest {
        object_instance: instance,
        attributes_and_regions: world.pairs(&[far]),
    });
    world.good(OWNER, unassociate);
    let delete = call!(DeleteRegionRequest { region: far });
    world.good(OWNER, delete);
}

#[test]
fn wrong_regions_are_refused() {
    let mut world = World::new();
    let draft = world.draft(SUBSCRIBER, ("X", 0, 5));
    let subscribe = |world: &World, region| {
        call!(SubscribeObjectClassAttributesWithRegionsRequest {
            object_class: world.class,
            attributes_and_regions: world.pairs(&[region]),
            active: true,
        })
    };
    let request = subscribe(&world, draft);
    assert_eq!(world.refused(SUBSCRIBER, request.clone()), [Exception::InvalidRegion], "not committed");
    assert_eq!(world.refused(OWNER, request), [Exception::RegionNotCreatedByThisFederate]);
    let kind = world.region(SUBSCRIBER, ("Kind", 0, 5));
    let request = subscribe(&world, kind);
    assert_eq!(world.refused(SUBSCRIBER, request), [Exception::InvalidRegionContext]);
    let dimension = world.dimension("X");
    for (lower, upper) in [(5, 5), (6, 5), (0, 101)] {
        let range_bounds = RangeBounds { lower, upper };
        let set =
            call!(SetRangeBoundsRequest { region: draft, dimension: dimension, range_bounds: range_bounds });
        assert_eq!(world.refused(SUBSCRIBER, set), [Exception::InvalidRangeBound]);
    }
    world.commit(SUBSCRIBER, draft);
    world.subscribe(&[draft]);
    let delete = call!(DeleteRegionRequest { region: draft });
    assert_eq!(world.refused(SUBSCRIBER, delete.clone()), [Exception::RegionInUseForUpdateOrSubscription]);
    assert_eq!(world.refused(OWNER, delete), [Exception::RegionNotCreatedByThisFederate]);
    let never = call!(DeleteRegionRequest { region: RegionHandle(1 << 32 | 9) });
    assert_eq!(world.refused(SUBSCRIBER, never), [Exception::InvalidRegion]);
}
