//! The acts of federates, drawn at random.

use crate::calls::{Act, Attributes, CLASSES, DIMENSIONS, Pairs, Regions, attributes, dimensions};
use crate::mirror::{Fed, Mirror};
use hla::handle::{ObjectInstanceHandle, RegionHandle};
use std::collections::BTreeSet;
use testkit::Draw;

/// A federate creates no further region if it has this many.
const REGIONS: usize = 5;
const INSTANCES: usize = 8;

/// Bounds on a dimension. Two of them overlap about as often as not.
pub(crate) fn bounds(draw: &mut Draw, dimension: usize) -> (u32, u32) {
    let (end, _) = DIMENSIONS[dimension];
    let lower = draw.below(u64::from(end)) as u32;
    let span = 1 + draw.below(u64::from(end / 3).max(1)) as u32;
    (lower, (lower + span).min(end))
}

/// Dimensions of a new region: mostly the one without a default range, sometimes none at all.
pub(crate) fn dimensions_of_new(draw: &mut Draw) -> BTreeSet<usize> {
    match draw.below(8) {
        0 => BTreeSet::new(),
        1 => draw.some(&dimensions(1).collect::<Vec<_>>()).into_iter().collect(),
        2 => BTreeSet::from([1]),
        3 => BTreeSet::from([0, 1]),
        4 => BTreeSet::from([0, 2]),
        _ => BTreeSet::from([0]),
    }
}

fn some_attributes(draw: &mut Draw, class: usize) -> Attributes {
    let all: Vec<_> = attributes(class).collect();
    let some: Attributes = all.iter().copied().filter(|_| draw.chance(60)).collect();
    match some.is_empty() {
        true => draw.pick(&all).copied().into_iter().collect(),
        false => some,
    }
}

/// Regions that may be used at a class.
fn some_regions(draw: &mut Draw, fed: &Fed, class: usize) -> Regions {
    let fits =
        |region: &RegionHandle| fed.dimensions_of(*region).iter().all(|at| dimensions(class).contains(at));
    let all: Vec<_> = fed.committed().into_iter().filter(fits).collect();
    (0..draw.between(1, 2)).filter_map(|_| draw.pick(&all).copied()).collect()
}

fn some_pairs(draw: &mut Draw, fed: &Fed, class: usize) -> Pairs {
    let mut pairs = Pairs::new();
    for attribute in some_attributes(draw, class) {
        pairs.extend(some_regions(draw, fed, class).into_iter().map(|region| (attribute, region)));
    }
    pairs
}

/// Some of the pairs that a federate has at a place.
fn some_of(draw: &mut Draw, all: impl Iterator<Item = (usize, RegionHandle)>) -> Pairs {
    let all: Vec<_> = all.collect();
    (0..draw.between(1, 3)).filter_map(|_| draw.pick(&all).copied()).collect()
}

/// Moves one of the federate's regions.
pub(crate) fn moving(draw: &mut Draw, fed: &Fed) -> Vec<Act> {
    let all: Vec<_> = fed.regions.keys().copied().collect();
    let Some(&region) = draw.pick(&all) else { return vec![Act::Create(dimensions_of_new(draw))] };
    let mut acts = Vec::new();
    if let Some(&at) = draw.pick(&fed.dimensions_of(region)) {
        acts.push(Act::SetBounds(region, at, bounds(draw, at)));
    }
    let mut regions = Regions::from([region]);
    regions.extend(fed.with_bounds().into_iter().filter(|_| draw.chance(20)));
    acts.push(Act::Commit(regions));
    acts
}

fn some_known(draw: &mut Draw, fed: &Fed) -> Option<ObjectInstanceHandle> {
    let all: Vec<_> = fed.known.keys().copied().collect();
    draw.pick(&all).copied()
}

/// Draws a change of regions, subscriptions or associations.
pub(crate) fn draw_distribution(draw: &mut Draw, fed: &Fed) -> Vec<Act> {
    let class = draw.below(CLASSES as u64) as usize;
    let one = match draw.below(20) {
        0 if fed.regions.len() < REGIONS => Act::Create(dimensions_of_new(draw)),
        0..5 => return moving(draw, fed),
        5..8 => Act::SubscribeWith(class, some_pairs(draw, fed, class)),
        8 | 9 => {
            let all = fed.subscriptions.iter().filter(|(at, ..)| *at == class);
            Act::UnsubscribeWith(class, some_of(draw, all.filter_map(|&(_, at, r)| Some((at, r?)))))
        }
        10 if draw.chance(50) => Act::Subscribe(class, some_attributes(draw, class)),
        10 => Act::Unsubscribe(class, some_attributes(draw, class)),
        11 if draw.chance(30) => Act::SubscribeInteraction(class),
        11 => Act::UnsubscribeInteraction(class),
        12 => Act::SubscribeInteractionWith(class, some_regions(draw, fed, class)),
        13 => Act::UnsubscribeInteractionWith(class, some_regions(draw, fed, class)),
        14..17 => {
            let Some(instance) = some_known(draw, fed) else { return Vec::new() };
            let class = fed.known[&instance];
            Act::Associate(instance, some_pairs(draw, fed, class))
        }
        17 => {
            let all: Vec<_> = fed.regions.keys().copied().collect();
            let Some(&region) = draw.pick(&all) else { return Vec::new() };
            Act::DeleteRegion(region)
        }
        _ => {
            let Some(instance) = some_known(draw, fed) else { return Vec::new() };
            let all = fed.updates.iter().filter(|((of, _), _)| *of == instance);
            Act::Unassociate(instance, some_of(draw, all.map(|&((_, at), region)| (at, region))))
        }
    };
    vec![one]
}

/// Draws a deletion, or a change of owners.
pub(crate) fn draw_ownership(draw: &mut Draw, fed: &Fed) -> Vec<Act> {
    let Some(instance) = some_known(draw, fed) else { return Vec::new() };
    let some = some_attributes(draw, fed.known[&instance]);
    let owned = fed.owned_of(instance);
    let given: Attributes = some.intersection(&owned).copied().collect();
    let wanted: Attributes = some.difference(&owned).copied().collect();
    match draw.below(8) {
        0 => vec![Act::Delete(instance)],
        1 => vec![Act::LocalDelete(instance)],
        2 if !given.is_empty() => vec![Act::Divest(instance, given)],
        2..5 if !given.is_empty() => vec![Act::DivestIfWanted(instance, given)],
        5 if !wanted.is_empty() => {
            // It brings regions along.
            let pairs = some_pairs(draw, fed, fed.known[&instance]);
            vec![Act::Associate(instance, pairs), Act::AcquireIfAvailable(instance, wanted)]
        }
        _ if !wanted.is_empty() => vec![Act::Acquire(instance, wanted)],
        _ => Vec::new(),
    }
}

/// Draws an act of a federate, or several that belong together. A witness never stops watching.
pub(crate) fn draw(draw: &mut Draw, mirror: &Mirror, at: usize, is_witness: bool) -> Vec<Act> {
    let fed = &mirror.feds[at];
    let class = draw.below(CLASSES as u64) as usize;
    let is_loss = |act: &Act| matches!(act, Act::Unsubscribe(..) | Act::LocalDelete(_));
    let acts = match draw.below(20) {
        0 | 1 if mirror.instances.len() < INSTANCES => {
            let pairs = if draw.chance(80) { some_pairs(draw, fed, class) } else { Pairs::new() };
            vec![Act::Register(class, pairs)]
        }
        2 | 3 => {
            let Some(instance) = some_known(draw, fed) else { return Vec::new() };
            match fed.owned_of(instance) {
                owned if owned.is_empty() => Vec::new(),
                owned => vec![Act::Update(instance, owned)],
            }
        }
        4 => vec![Act::Send(class, Regions::new())],
        5 => vec![Act::Send(class, some_regions(draw, fed, class))],
        6..11 => draw_ownership(draw, fed),
        _ => draw_distribution(draw, fed),
    };
    acts.into_iter().filter(|act| !is_witness || !is_loss(act)).collect()
}
