//! Regions whose movement concerns very many instances: the RTI may do the work in slices.

use crate::common::{Fed, Refused, World};
use hla::api::{CommitRegionModificationsRequest, ResignAction};
use hla::handle::RegionHandle;
use std::collections::BTreeSet;

const NOTHING: [&str; 0] = [];
const MANY: u32 = 3_000;

/// A has registered very many instances of C, each with a region at X 10 to 20 for attribute a. B has
/// subscribed a with a region at X 50 to 60. The regions come along.
fn many() -> Refused<(World, [Fed; 2], RegionHandle, RegionHandle)> {
    let (world, [a, b]) = World::in_regions(&["attributeScopeAdvisory"]);
    let (of_a, of_b) = (a.region("X=10..20")?, b.region("X=50..60")?);
    a.publish("C", &["a"])?;
    b.subscribe_with("C", &[("a", &[of_b])])?;
    for _ in 0..MANY {
        a.register_with("C", &[("a", &[of_a])])?;
    }
    assert_eq!(b.callbacks(), NOTHING);
    Ok((world, [a, b], of_a, of_b))
}

/// Commits a region, and leaves work that is not done at once for later.
fn commit_only(fed: &Fed, region: RegionHandle, lower: u32, upper: u32) -> Refused {
    fed.set_range(region, "X", lower..upper)?;
    fed.ask(CommitRegionModificationsRequest { regions: Some([region].into_iter().collect()) })
}

/// The callbacks that begin like this, for each instance once.
fn of_each(kind: &str, end: &str) -> BTreeSet<String> {
    (1..=MANY).map(|number| format!("{kind}({number}{end}")).collect()
}

/// The callbacks to a federate, none of which comes twice.
fn distinct(fed: &Fed) -> BTreeSet<String> {
    let callbacks = fed.callbacks();
    let count = callbacks.len();
    let distinct: BTreeSet<_> = callbacks.into_iter().collect();
    assert_eq!(distinct.len(), count, "a callback comes twice");
    distinct
}

#[test]
fn a_commitment_discovers_very_many_instances_once() -> Refused {
    let (_world, [a, b], of_a, of_b) = many()?;
    let (discovered, in_scope) = (of_each("discover", ", C, A)"), of_each("inScope", ", a)"));
    b.shift(of_b, "X=15..16")?;
    assert_eq!(distinct(&b), &discovered | &in_scope);
    b.shift(of_b, "X=50..60")?;
    assert_eq!(distinct(&b), of_each("outOfScope", ", a)"));
    a.shift(of_a, "X=50..60")?;
    assert_eq!(distinct(&b), in_scope);
    a.update(MANY, "a=1")?;
    assert_eq!(b.callbacks(), [format!("reflect({MANY}, a=1, reliable, A)")]);
    a.shift(of_a, "X=0..1")?;
    assert_eq!(distinct(&b), of_each("outOfScope", ", a)"));
    a.update(1, "a=2")?;
    assert_eq!(b.callbacks(), NOTHING);
    assert_eq!(a.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn a_subscription_with_a_region_discovers_very_many_instances_once() -> Refused {
    let (_world, [_a, b], ..) = many()?;
    let second = b.region("X=15..16")?;
    b.subscribe_with("C", &[("a", &[second])])?;
    assert_eq!(distinct(&b), &of_each("discover", ", C, A)") | &of_each("inScope", ", a)"));
    b.unsubscribe_with("C", &[("a", &[second])])?;
    assert_eq!(b.callbacks(), NOTHING, "it knows what it unsubscribed itself");
    Ok(())
}

#[test]
fn calls_between_slices_see_a_sound_federation() -> Refused {
    let (world, [a, b], _, of_b) = many()?;
    let c = world.joined("C");
    c.subscribe("C", &["a"])?;
    world.work();
    c.skip();
    commit_only(&b, of_b, 15, 16)?;
    for number in [1, MANY / 2, MANY] {
        a.update(number, "a=1")?;
    }
    a.delete(2)?;
    a.delete(MANY - 1)?;
    assert_eq!(c.callbacks().len(), 5, "others are served at once");
    world.work();
    let seen = b.callbacks();
    let place = |text: &str| seen.iter().position(|callback| callback.starts_with(text));
    for number in [1, MANY / 2, MANY] {
        let discovered = place(&format!("discover({number},"));
        assert!(discovered.is_some(), "{number} is there");
        let reflected = place(&format!("reflect({number},"));
        assert!(reflected.is_none() || reflected > discovered, "{number} is reflected before its discovery");
    }
    for number in [2, MANY - 1] {
        let (discovered, removed) =
            (place(&format!("discover({number},")), place(&format!("remove({number},")));
        assert_eq!(removed.is_some(), discovered.is_some(), "{number} is removed if it was discovered");
        assert!(removed >= discovered, "{number} is removed before its discovery");
    }
    let left = seen.iter().filter(|callback| callback.starts_with("discover(")).count();
    assert!(left >= MANY as usize - 2, "{left} of them were discovered");
    a.update(3, "a=2")?;
    assert_eq!(b.callbacks(), ["reflect(3, a=2, reliable, A)"]);
    Ok(())
}

#[test]
fn the_last_commitment_decides() -> Refused {
    let (world, [a, b], of_a, of_b) = many()?;
    commit_only(&b, of_b, 15, 16)?;
    commit_only(&b, of_b, 50, 60)?;
    commit_only(&a, of_a, 55, 56)?;
    commit_only(&b, of_b, 30, 40)?;
    world.work();
    let mut in_scope = BTreeSet::new();
    for callback in b.callbacks() {
        let (kind, rest) = callback.split_once('(').expect("a name and arguments");
        let number: u32 = rest.split_once(',').expect("a number first").0.parse().expect("a number");
        match kind {
            "inScope" => assert!(in_scope.insert(number), "{number} is in scope twice"),
            "outOfScope" => assert!(in_scope.remove(&number), "{number} was not in scope"),
            kind => assert_eq!(kind, "discover"),
        }
    }
    assert!(in_scope.is_empty(), "{} are told to be in scope at the end", in_scope.len());
    [1, MANY].into_iter().try_for_each(|number| a.update(number, "a=1"))?;
    assert_eq!(b.callbacks(), NOTHING);
    Ok(())
}

#[test]
fn a_federate_may_leave_before_all_is_discovered() -> Refused {
    let (world, [a, b], _, of_b) = many()?;
    commit_only(&b, of_b, 15, 16)?;
    b.resign(ResignAction::NoAction)?;
    b.skip();
    world.work();
    assert_eq!(b.callbacks(), NOTHING, "nothing comes after it has left");
    a.update(1, "a=1")
}

#[test]
fn the_owner_may_leave_before_all_is_discovered() -> Refused {
    let (world, [a, b], of_a, _) = many()?;
    commit_only(&a, of_a, 55, 56)?;
    a.resign(ResignAction::DeleteObjectsThenDivest)?;
    world.work();
    let (mut known, mut told) = (BTreeSet::new(), 0);
    for callback in b.callbacks() {
        let number = callback.split(['(', ',']).nth(1).expect("a number").to_owned();
        match callback.split_once('(').expect("a name and arguments").0 {
            "discover" => assert!(known.insert(number), "{callback} twice"),
            "remove" => assert!(known.remove(&number), "{callback} without a discovery"),
            _ => assert!(known.contains(&number), "{callback} of an unknown instance"),
        }
        told += 1;
    }
    assert!(known.is_empty(), "{} of {told} callbacks are about instances that stay", known.len());
    Ok(())
}
