//! Every pair, after every commit, compared one by one.

use ddm::{Error, Matching, Pair, Population, Range};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Region = Vec<Range>;

#[derive(Clone, Debug)]
enum Step {
    /// A region is inserted, or modified if it is there.
    Put(Population, u32, Region),
    Remove(Population, u32),
    /// Commits, in slices of so many pairs.
    Commit(usize),
}

/// The regions, and nothing else.
#[derive(Default)]
struct Reference {
    updates: BTreeMap<u32, Region>,
    subscriptions: BTreeMap<u32, Region>,
}

impl Reference {
    fn of(&mut self, population: Population) -> &mut BTreeMap<u32, Region> {
        match population {
            Population::Update => &mut self.updates,
            Population::Subscription => &mut self.subscriptions,
        }
    }

    /// Values of half-open ranges: two overlap if a value is in both. Written as the standard says
    /// it, not as the crate computes it.
    fn pairs(&self) -> BTreeSet<Pair> {
        let overlap = |one: &Region, other: &Region| {
            one.iter()
                .zip(other)
                .all(|(one, other)| one.lower().max(other.lower()) < one.upper().min(other.upper()))
        };
        let mut pairs = BTreeSet::new();
        for (update, one) in &self.updates {
            for (subscription, other) in &self.subscriptions {
                if overlap(one, other) {
                    pairs.insert(Pair { update: *update, subscription: *subscription });
                }
            }
        }
        pairs
    }
}

/// Runs the steps on both, and compares after each commit.
fn check(dimensions: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut matching = Matching::new(dimensions).expect("few dimensions");
    let mut reference = Reference::default();
    let mut before = BTreeSet::new();
    for step in steps {
        match step {
            Step::Put(population, id, region) => {
                put(&mut matching, &mut reference, *population, *id, region)?;
            }
            Step::Remove(population, id) => {
                let was_there = reference.of(*population).remove(id).is_some();
                let (population, id) = (*population, *id);
                let expected = if was_there { Ok(()) } else { Err(Error::Unknown { population, id }) };
                prop_assert_eq!(matching.remove(population, id), expected);
            }
            Step::Commit(slice) => before = commit(&mut matching, &mut reference, &before, *slice)?,
        }
        for population in [Population::Update, Population::Subscription] {
            prop_assert_eq!(matching.regions(population), reference.of(population).len());
        }
    }
    commit(&mut matching, &mut reference, &before, usize::MAX)?;
    Ok(())
}

fn put(
    matching: &mut Matching,
    reference: &mut Reference,
    population: Population,
    id: u32,
    region: &Region,
) -> Result<(), TestCaseError> {
    if reference.of(population).insert(id, region.clone()).is_none() {
        prop_assert_eq!(matching.modify(population, id, region), Err(Error::Unknown { population, id }));
        prop_assert_eq!(matching.insert(population, id, region), Ok(()));
    } else {
        prop_assert_eq!(matching.insert(population, id, region), Err(Error::Present { population, id }));
        prop_assert_eq!(matching.modify(population, id, region), Ok(()));
    }
    Ok(())
}

/// Commits, and compares the difference with that of all pairs, and each query with all pairs.
fn commit(
    matching: &mut Matching,
    reference: &mut Reference,
    before: &BTreeSet<Pair>,
    slice: usize,
) -> Result<BTreeSet<Pair>, TestCaseError> {
    let mut known = before.clone();
    let mut slices = 0;
    loop {
        let commit = matching.commit(slice);
        prop_assert!(commit.gained.is_sorted_by(|one, next| one < next), "gained: {:?}", commit.gained);
        prop_assert!(commit.lost.is_sorted_by(|one, next| one < next), "lost: {:?}", commit.lost);
        for pair in commit.lost {
            prop_assert!(known.remove(pair), "{pair:?} was lost, and not known");
        }
        for pair in commit.gained {
            prop_assert!(known.insert(*pair), "{pair:?} was gained, and known");
        }
        slices += 1;
        prop_assert!(slices < 10_000, "a commit ends");
        if commit.is_complete {
            break;
        }
    }
    let pairs = reference.pairs();
    prop_assert_eq!(&known, &pairs);
    let mut found = Vec::new();
    for (update, region) in &reference.updates {
        prop_assert_eq!(matching.overlapping(Population::Subscription, region, &mut found), Ok(()));
        let expected: Vec<u32> =
            pairs.iter().filter(|pair| pair.update == *update).map(|pair| pair.subscription).collect();
        prop_assert_eq!(&found, &expected);
    }
    Ok(pairs)
}

fn population() -> impl Strategy<Value = Population> {
    prop_oneof![Just(Population::Update), Just(Population::Subscription)]
}

/// Ranges in a world of so few values that many share borders; some dimensions are left out, and
/// some ranges meet the ends of all values.
fn range(world: u32) -> impl Strategy<Value = Range> {
    let inside = (0..world, 1..=world / 2).prop_map(|(lower, extent)| (lower, lower + extent));
    let bounds = prop_oneof![
        12 => inside,
        1 => Just((0, u32::MAX)),
        1 => (0..world).prop_map(|lower| (lower, u32::MAX)),
        1 => Just((u32::MAX - 1, u32::MAX)),
    ];
    bounds.prop_map(|(lower, upper)| Range::new(lower, upper).expect("it has values"))
}

/// Steps of a world, most of which change regions. The more ids, the deeper the trees.
fn steps(world: u32, dimensions: usize, ids: u32, length: usize) -> impl Strategy<Value = Vec<Step>> {
    let region = || prop::collection::vec(range(world), dimensions);
    let step = prop_oneof![
        40 => (population(), 0..ids, region()).prop_map(|(population, id, region)| Step::Put(population, id, region)),
        6 => (population(), 0..ids).prop_map(|(population, id)| Step::Remove(population, id)),
        1 => prop_oneof![Just(usize::MAX), 1..20_usize].prop_map(Step::Commit),
    ];
    prop::collection::vec(step, 0..length)
}

/// A world of one of some sizes, its dimensions, and steps in it.
fn worlds(sizes: &'static [u32], ids: u32, length: usize) -> impl Strategy<Value = (usize, Vec<Step>)> {
    (prop::sample::select(sizes), 1..=4_usize)
        .prop_flat_map(move |(world, dimensions)| (Just(dimensions), steps(world, dimensions, ids, length)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A few regions that change often: what shrinks to the shortest of histories.
    #[test]
    fn few_regions_match_as_by_brute_force((dimensions, steps) in worlds(&[4, 12], 6, 60)) {
        check(dimensions, &steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Trees of several levels, whose nodes are split and merged.
    #[test]
    fn many_regions_match_as_by_brute_force((dimensions, steps) in worlds(&[12, 50, 1_000], 160, 900)) {
        check(dimensions, &steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Trees that are packed at once, and whose parts are packed anew as their regions move.
    #[test]
    fn packed_regions_match_as_by_brute_force(
        first in prop::collection::vec((0..3_000_u32, prop::collection::vec(range(2_000), 2)), 3_000),
        (_, moves) in (Just(()), steps(2_000, 2, 3_000, 2_500)),
    ) {
        let update = |(id, region)| Step::Put(Population::Update, id, region);
        let filled = first.into_iter().map(update).chain([Step::Commit(usize::MAX)]);
        // Few subscriptions, as every update region is compared with each of them.
        let is_few = |step: &Step| match step {
            Step::Put(Population::Subscription, id, _) | Step::Remove(Population::Subscription, id) => *id < 60,
            Step::Commit(slice) => *slice == usize::MAX,
            _ => true,
        };
        let all: Vec<Step> = filled.chain(moves.into_iter().filter(is_few)).collect();
        check(2, &all)?;
    }
}
