//! Calls of data distribution management with drawn arguments.

use super::Op;
use super::calls::{call, federate, held_name, parameters, set};
use super::knowledge::Knowledge;
use super::regions::{OwnRegion, region_set};
use crate::draw::Draw;
use crate::fom;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, AttributeSetRegionSetPair, AttributeSetRegionSetPairList, RangeBounds};
use hla::handle::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, RegionHandle,
};

/// Number of regions that a federate prepares; it then only moves them.
const ENOUGH: usize = 5;

pub(super) fn make(op: Op, k: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    match op {
        Op::PrepareRegion => prepare(k, draw),
        Op::CreateRegion => create(k, draw),
        Op::SetBounds => set_bounds(k, draw),
        Op::CommitRegions => commit(k, draw),
        Op::DeleteRegion => delete(k, draw),
        Op::LookUpRegion => look_up(k, draw),
        Op::RegisterWithRegions => register(k, draw),
        Op::Associate | Op::Unassociate => associations(op, k, draw),
        Op::SubscribeWithRegions | Op::UnsubscribeWithRegions => attributes(op, k, draw),
        Op::SubscribeInteractionWithRegions | Op::UnsubscribeInteractionWithRegions => {
            interactions(op, k, draw)
        }
        Op::SendInteractionWithRegions => send(k, draw),
        Op::RequestWithRegions => request(k, draw),
        _ => None,
    }
}

/// The next step towards some committed regions, or a step that moves one of them.
fn prepare(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let any = |wanted: fn(&OwnRegion) -> bool| k.regions.own.values().any(wanted);
    if any(|region| !region.is_complete()) {
        return set_bounds(k, draw);
    }
    if any(|region| !region.is_committed) {
        return commit(k, draw);
    }
    if k.regions.own.len() < ENOUGH {
        return create(k, draw);
    }
    if any(|region| region.is_changed) && draw.chance(70) { commit(k, draw) } else { set_bounds(k, draw) }
}

/// The dimension of the run's model with this name.
fn dimension(k: &Knowledge, name: &str) -> DimensionHandle {
    k.model.dimension_by_name(name).unwrap_or_default()
}

fn create(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    const SETS: [&[&str]; 9] = [
        &["X"],
        &["X"],
        &["Y"],
        &["X", "Y"],
        &["X", "Y"],
        &["X", "Y", "Kind"],
        &["X", "Kind"],
        &["Kind"],
        &[],
    ];
    let names = draw.pick(&SETS).copied().unwrap_or_default();
    let mut dimensions: Vec<_> = names.iter().map(|name| dimension(k, name)).collect();
    if draw.chance(k.mistakes / 2) {
        dimensions.push(DimensionHandle(draw.below(12) as u32));
    }
    if draw.chance(5) {
        dimensions.extend(dimensions.first().copied());
    }
    call!(CreateRegionRequest { dimensions: Some(api::DimensionHandleSet { dimension_handle: dimensions }) })
}

/// A region that the federate cannot use: one that it has deleted, one of another federate, or one
/// that never existed.
fn foreign(k: &Knowledge, draw: &mut Draw) -> RegionHandle {
    let gone = draw.pick(&k.regions.gone).copied();
    let number = draw.between(1, 4);
    let of = u64::from(federate(k, draw).0);
    match draw.below(4) {
        0 => RegionHandle(draw.below(2) * number),
        1 | 2 if gone.is_some() => gone.unwrap_or_default(),
        _ => RegionHandle(of << 32 | number),
    }
}

/// One of the regions for which `wanted` is true, or any by mistake.
fn region(
    k: &Knowledge,
    draw: &mut Draw,
    wanted: impl Fn(RegionHandle, &OwnRegion) -> bool,
) -> Option<RegionHandle> {
    if draw.chance(k.mistakes) {
        return Some(foreign(k, draw));
    }
    let own = k.regions.own.iter().filter(|(handle, region)| wanted(**handle, region));
    draw.pick(&own.map(|(&handle, _)| handle).collect::<Vec<_>>()).copied()
}

/// Bounds of a quarter of the dimension, or of some quarters. Most of them end where others begin.
fn bounds(of: u32, draw: &mut Draw) -> RangeBounds {
    let cut = |quarter: u64| (u64::from(of) * quarter / 4) as u32;
    let first = draw.below(4);
    let last = draw.between(first, (first + 1).min(3));
    let last = if draw.chance(15) { 3 } else { last };
    let (lower, upper) = (cut(first), cut(last + 1));
    match draw.below(12) {
        0 => RangeBounds { lower: lower.saturating_sub(1), upper },
        1 => RangeBounds { lower, upper: (upper + 1).min(of) },
        2 => RangeBounds { lower, upper: lower + 1 },
        _ => RangeBounds { lower, upper },
    }
}

/// Sets bounds, first of all those that have not been set.
fn set_bounds(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let incomplete = k.regions.own.values().any(|region| !region.is_complete());
    let first = incomplete && draw.chance(80);
    let handle = region(k, draw, |_, region| !(region.bounds.is_empty() || first && region.is_complete()))?;
    let own = k.regions.own.get(&handle);
    let all: Vec<_> = own.iter().flat_map(|region| &region.bounds).collect();
    let unset: Vec<_> = all.iter().filter(|(_, bounds)| bounds.is_none()).map(|(at, _)| **at).collect();
    let all: Vec<_> = all.iter().map(|(at, _)| **at).collect();
    let some = if unset.is_empty() { &all } else { &unset };
    let at = draw.pick(some).copied().unwrap_or_else(|| dimension(k, "X"));
    let at = if draw.chance(k.mistakes / 3) { DimensionHandle(draw.below(12) as u32) } else { at };
    let most = k.model.dimension(at).map_or(100, |dimension| dimension.upper_bound);
    let right = bounds(most, draw);
    let range_bounds = match draw.below(4) {
        _ if !draw.chance(k.mistakes) => Some(right),
        0 => Some(RangeBounds { upper: right.lower, ..right }),
        1 => Some(RangeBounds { lower: right.upper, upper: right.lower }),
        2 => Some(RangeBounds { upper: most.saturating_add(1), ..right }),
        _ => None,
    };
    call!(SetRangeBoundsRequest { region: Some(handle), dimension: Some(at), range_bounds: range_bounds })
}

/// Commits some regions, among them one that was changed.
fn commit(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let own = k.regions.own.iter().filter(|(_, region)| region.is_complete());
    let complete: Vec<_> = own.map(|(&handle, _)| handle).collect();
    let mut some = if draw.chance(40) { draw.some(&complete) } else { Vec::new() };
    some.extend(region(k, draw, |_, region| {
        region.is_complete() && (region.is_changed || !region.is_committed)
    }));
    if draw.chance(k.mistakes / 2) {
        some.extend(k.regions.own.keys().next());
    }
    if some.is_empty() && !draw.chance(10) {
        return None;
    }
    call!(CommitRegionModificationsRequest { regions: Some(region_set(some)) })
}

/// Deletes a region, mostly one that is not in use.
fn delete(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let any = draw.chance(k.mistakes);
    let region = region(k, draw, |handle, _| any || !k.regions.are_using(handle))?;
    call!(DeleteRegionRequest { region: Some(region) })
}

fn look_up(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let handle = region(k, draw, |_, _| true)?;
    if draw.chance(30) {
        return call!(GetDimensionHandleSetRequest { region: Some(handle) });
    }
    let of = k.regions.own.get(&handle).map(|region| region.bounds.keys().copied().collect::<Vec<_>>());
    let at = draw.pick(&of.unwrap_or_default()).copied().filter(|_| !draw.chance(k.mistakes));
    let at = at.unwrap_or_else(|| dimension(k, draw.pick(&fom::DIMENSIONS).map_or("X", |(name, ..)| name)));
    call!(GetRangeBoundsRequest { region: Some(handle), dimension: Some(at) })
}

/// One or two regions that can be used where these dimensions are available, or others by mistake.
/// At times none: that is legal.
fn regions_for(k: &Knowledge, available: &[DimensionHandle], draw: &mut Draw) -> Option<Vec<RegionHandle>> {
    if draw.chance(5) {
        return Some(Vec::new());
    }
    let usable = k.regions.usable(available);
    let any: Vec<_> = k.regions.own.keys().copied().collect();
    let mut some: Vec<_> = (0..draw.between(1, 2)).filter_map(|_| draw.pick(&usable).copied()).collect();
    if draw.chance(k.mistakes) {
        some.push(foreign(k, draw));
    }
    if draw.chance(k.mistakes) {
        some.extend(draw.pick(&any));
    }
    (!some.is_empty()).then_some(some)
}

/// One or two pairs of attributes of `class` and regions.
fn pairs_for(
    k: &Knowledge,
    class: ObjectClassHandle,
    draw: &mut Draw,
) -> Option<AttributeSetRegionSetPairList> {
    let all = k.model.object_class(class).map(|class| class.attributes.clone()).unwrap_or_default();
    let available = all.first().map(|&at| k.model.attribute_dimensions(class, at)).unwrap_or_default();
    let pairs = (0..draw.between(1, 2)).filter_map(|_| {
        let regions = regions_for(k, &available, draw)?;
        Some(pair(k.attributes(class, draw), regions))
    });
    let pairs: Vec<_> = pairs.collect();
    (!pairs.is_empty()).then_some(AttributeSetRegionSetPairList { attribute_set_region_set_pair: pairs })
}

fn pair(attributes: Vec<AttributeHandle>, regions: Vec<RegionHandle>) -> AttributeSetRegionSetPair {
    AttributeSetRegionSetPair { attribute_set: Some(set(attributes)), region_set: Some(region_set(regions)) }
}

fn list(pair: AttributeSetRegionSetPair) -> AttributeSetRegionSetPairList {
    AttributeSetRegionSetPairList { attribute_set_region_set_pair: vec![pair] }
}

fn register(k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let published: Vec<_> = k.published.iter().copied().collect();
    let class = draw.pick(&published).copied().filter(|_| !draw.chance(k.mistakes));
    let class = class.or_else(|| draw.chance(k.mistakes).then(|| k.object_class(draw)))?;
    let mut list = pairs_for(k, class, draw)?;
    // The federate remembers the class, not the attributes that it publishes there.
    if draw.chance(80) {
        for pair in &mut list.attribute_set_region_set_pair {
            let listed = pair.attribute_set.iter_mut();
            listed.for_each(|set| set.attribute_handle.retain(|&at| k.is_published(class, at)));
        }
    }
    match held_name(k, draw).filter(|_| draw.chance(40)) {
        None => call!(RegisterObjectInstanceWithRegionsRequest {
            object_class: Some(class),
            attributes_and_regions: Some(list),
        }),
        Some(name) => call!(RegisterObjectInstanceWithNameAndRegionsRequest {
            object_class: Some(class),
            attributes_and_regions: Some(list),
            object_instance_name: name,
        }),
    }
}

fn associations(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let associated: Vec<_> = k.regions.associated.iter().copied().collect();
    let one = draw.pick(&associated).copied().filter(|_| draw.chance(75));
    if let (Op::Unassociate, Some((instance, attribute, region))) = (op, one) {
        let all = associated.iter().filter(|&&(of, _, used)| (of, used) == (instance, region));
        let all: Vec<_> = all.map(|&(_, at, _)| at).collect();
        let attributes = if draw.chance(50) { all } else { vec![attribute] };
        return call!(UnassociateRegionsForUpdatesRequest {
            object_instance: Some(instance),
            attributes_and_regions: Some(list(pair(attributes, vec![region]))),
        });
    }
    let (instance, class) = k.instance(draw)?;
    let pairs = pairs_for(k, class, draw)?;
    match op {
        Op::Associate => call!(AssociateRegionsForUpdatesRequest {
            object_instance: Some(instance),
            attributes_and_regions: Some(pairs),
        }),
        _ => call!(UnassociateRegionsForUpdatesRequest {
            object_instance: Some(instance),
            attributes_and_regions: Some(pairs),
        }),
    }
}

fn attributes(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let subscribed: Vec<_> = k.regions.subscribed.iter().copied().collect();
    let one = draw.pick(&subscribed).copied().filter(|_| draw.chance(75));
    if let (Op::UnsubscribeWithRegions, Some((class, attribute, region))) = (op, one) {
        let all = subscribed.iter().filter(|&&(at, _, used)| (at, used) == (class, region));
        let all: Vec<_> = all.map(|&(_, at, _)| at).collect();
        let attributes = if draw.chance(50) { all } else { vec![attribute] };
        return call!(UnsubscribeObjectClassAttributesWithRegionsRequest {
            object_class: Some(class),
            attributes_and_regions: Some(list(pair(attributes, vec![region]))),
        });
    }
    let class = k.object_class(draw);
    let pairs = pairs_for(k, class, draw)?;
    let active = draw.chance(75);
    let rate = draw.pick(&fom::RATES).map_or("", |(name, _)| name);
    let rate = if draw.chance(k.mistakes / 4) { "Never" } else { rate };
    match op {
        Op::UnsubscribeWithRegions => call!(UnsubscribeObjectClassAttributesWithRegionsRequest {
            object_class: Some(class),
            attributes_and_regions: Some(pairs),
        }),
        _ if draw.chance(30) => call!(SubscribeObjectClassAttributesWithRegionsAndRateRequest {
            object_class: Some(class),
            attributes_and_regions: Some(pairs),
            active: active,
            update_rate_designator: rate,
        }),
        _ => call!(SubscribeObjectClassAttributesWithRegionsRequest {
            object_class: Some(class),
            attributes_and_regions: Some(pairs),
            active: active,
        }),
    }
}

/// The dimensions of an interaction class.
fn dimensions_of(k: &Knowledge, class: InteractionClassHandle) -> Vec<DimensionHandle> {
    k.model.interaction_class(class).map(|class| class.dimensions.clone()).unwrap_or_default()
}

fn interactions(op: Op, k: &Knowledge, draw: &mut Draw) -> Option<Call> {
    let subscribed: Vec<_> = k.regions.subscribed_interactions.iter().copied().collect();
    let one = draw.pick(&subscribed).copied().filter(|_| draw.chance(75));
    if let (Op::UnsubscribeInteractionWithRegions, Some((class, region))) = (op, one) {
        return call!(UnsubscribeInteractionClassWithRegionsRequest {
            interaction_class: Some(class),
            regions: Some(region_set(vec![region])),
        });
    }
    let class = k.interaction_class(draw);
    let regions = Some(region_set(regions_for(k, &dimensions_of(k, class), draw)?));
    match op {
        Op::UnsubscribeInteractionWithRegions => call!(UnsubscribeInteractionClassWithRegionsRequest {
            interaction_class: Some(class),
            regions: regions,
        }),
        _ => call!(SubscribeInteractionClassWithRegionsRequest {
            interaction_class: Some(class),
            active: draw.chance(75),
            regions: regions,
        }),
    }
}

fn send(k: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    let published: Vec<_> = k.published_interactions.iter().copied().collect();
    let mistake = draw.chance(k.mistakes);
    let class = draw.pick(&published).copied().filter(|_| !mistake);
    let class = class.or_else(|| mistake.then(|| k.interaction_class(draw)))?;
    let regions = regions_for(k, &dimensions_of(k, class), draw)?;
    let stamp = k.stamp();
    call!(SendInteractionWithRegionsRequest {
        interaction_class: Some(class),
        parameter_values: Some(parameters(k, class, &stamp, draw)),
        regions: Some(region_set(regions)),
        user_supplied_tag: stamp,
    })
}

fn request(k: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    let class = k.object_class(draw);
    let pairs = pairs_for(k, class, draw)?;
    call!(RequestAttributeValueUpdateWithRegionsRequest {
        object_class: Some(class),
        attributes_and_regions: Some(pairs),
        user_supplied_tag: k.stamp(),
    })
}
