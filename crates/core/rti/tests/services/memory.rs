//! The memory of federation executions and object models: counted, bounded, and given back.

use crate::common::{Fed, Refused, World, fom};
use hla::Exception::*;
use hla::api::ResignAction;
use hla::handle::RegionHandle;
use rti::{Config, MemoryBounds};

const TIME: &str = "HLAinteger64Time";

/// Memory of the contents of federation executions, in bytes.
fn used(world: &World) -> usize {
    world.0.borrow().rti.memory().federations
}

fn models(world: &World) -> usize {
    world.0.borrow().rti.memory().models
}

/// Sets the bound for federation executions, in bytes.
fn bound(world: &World, federations: usize) {
    world.0.borrow_mut().rti.set_memory_bounds(MemoryBounds { federations, ..MemoryBounds::default() });
}

fn bound_models(world: &World, models: usize) {
    world.0.borrow_mut().rti.set_memory_bounds(MemoryBounds { models, ..MemoryBounds::default() });
}

/// Makes a call for which there is no memory. It must be refused and change nothing.
fn assert_no_room(world: &World, f: &Fed, service: &str, call: impl Fn() -> Refused) {
    let before = used(world);
    bound(world, before);
    f.skip();
    assert_eq!(call(), Err(RTIinternalError), "{service}");
    assert_eq!((used(world), f.callbacks()), (before, Vec::new()), "{service} has no effect");
    bound(world, usize::MAX);
    assert_eq!(call(), Ok(()), "{service}");
    assert!(used(world) > before, "{service} counts");
}

#[test]
fn every_call_that_makes_the_rti_keep_something_is_refused_without_memory() {
    let world = World::new(&[]);
    let f = world.joined("A");
    assert_no_room(&world, &f, "to publish", || f.publish("C", &["a", "b"]));
    assert_no_room(&world, &f, "to subscribe", || f.subscribe("C", &["a"]));
    assert_no_room(&world, &f, "to reserve a name", || f.reserve("one"));
    assert_no_room(&world, &f, "to reserve names", || f.reserve_all(&["two", "three"]));
    assert_no_room(&world, &f, "to register", || f.register("C").map(drop));
    // The name was reserved, the instance is new.
    assert_no_room(&world, &f, "to register with a name", || f.register_as("C", "one").map(drop));
    assert_no_room(&world, &f, "a synchronization point", || f.register_sync("point", "tag"));
    let other = world.connected("B");
    assert_no_room(&world, &other, "to join", || other.join("F", &[]));
    let third = world.connected("C");
    assert_no_room(&world, &third, "to create", || third.create("G", &[], TIME));
    assert_eq!(world.0.borrow().rti.refused_for_memory(), (0, 9));
}

#[test]
fn regions_and_their_uses_count_until_they_are_over() -> Refused {
    let (world, [a, _]) = World::in_regions(&[]);
    a.publish("C", &["a", "b"])?;
    a.subscribe_interaction("I")?;
    let region = a.region("X=0..5")?;
    let x = a.register("C")?;
    let before = used(&world);
    assert_no_room(&world, &a, "to create a region", || a.create_region(&["X"]).map(drop));
    let use_ = [("a", &[region][..])];
    assert_no_room(&world, &a, "to associate", || a.associate(x, &use_));
    assert_no_room(&world, &a, "to subscribe with regions", || a.subscribe_with("C", &use_));
    assert_no_room(&world, &a, "to subscribe interactions with regions", || {
        a.subscribe_interaction_with("I", &[region])
    });
    assert_no_room(&world, &a, "to register with regions", || a.register_with("C", &use_).map(drop));
    a.delete(x)?;
    a.delete(x + 1)?;
    a.unsubscribe_with("C", &use_)?;
    a.unsubscribe_interaction_with("I", &[region])?;
    a.delete_region(RegionHandle(region.0 + 1))?;
    assert!(used(&world) < before, "nothing of it is left");
    a.delete_region(region)?;
    a.resign(ResignAction::NoAction)
}

#[test]
fn calls_that_keep_nothing_are_served_without_memory() -> Refused {
    let world = World::new(&[]);
    let (a, b) = (world.joined("A"), world.joined("B"));
    a.publish("C", &["a", "b"])?;
    b.subscribe("C", &["a"])?;
    a.register("C")?;
    bound(&world, 0);
    b.skip();
    a.update(1, "a=1")?;
    assert_eq!(b.callbacks(), ["reflect(1, a=1, reliable, A)"]);
    a.delete(1)?;
    a.resign(ResignAction::NoAction)
}

#[test]
fn names_fit_up_to_the_last_byte() -> Refused {
    let world = World::new(&[]);
    let f = world.joined("A");
    let before = used(&world);
    f.reserve("a name")?;
    let growth = used(&world) - before;
    f.release("a name")?;
    assert_eq!(used(&world), before);
    bound(&world, before + growth - 1);
    assert_eq!(f.reserve("a name"), Err(RTIinternalError));
    bound(&world, before + growth);
    f.reserve("a name")
}

#[test]
fn all_memory_comes_back() -> Refused {
    let world = World::new(&[]);
    let empty = used(&world);
    let (a, b) = (world.joined("A"), world.joined("B"));
    for round in 0..2 {
        a.publish("C", &["a", "b"])?;
        a.subscribe("C", &["b"])?;
        b.subscribe("C", &["a", "b"])?;
        a.reserve_all(&["one", "two", "three"])?;
        a.register_as("C", "one")?;
        a.register("C")?;
        a.release("three")?;
        a.register_sync("point", "tag")?;
        if round == 0 {
            b.unsubscribe_class("C")?;
            a.unsubscribe_class("C")?;
            for instance in 1..=2 {
                a.delete(instance)?;
            }
            a.unpublish_class("C")?;
            a.release("two")?;
            a.achieve("point", true)?;
            b.achieve("point", true)?;
        }
    }
    world.lose(&b);
    a.resign(ResignAction::DeleteObjectsThenDivest)?;
    assert_eq!(used(&world), empty);
    a.destroy("F")?;
    assert_eq!((used(&world), models(&world)), (0, 0));
    Ok(())
}

#[test]
fn a_model_for_which_there_is_no_memory_is_not_made() -> Refused {
    let world = World::empty(Config::default());
    let f = world.connected("A");
    let text = fom::main(&[]);
    let modules = [("main.xml", text.as_str())];
    f.create("F", &modules, TIME)?;
    let (one, kept) = (models(&world), used(&world));
    bound_models(&world, 2 * one - 1);
    assert_eq!(f.create("G", &modules, TIME), Err(RTIinternalError));
    assert_eq!(f.join("G", &[]), Err(FederationExecutionDoesNotExist));
    assert_eq!(
        (models(&world), used(&world), world.0.borrow().rti.refused_for_memory()),
        (one, kept, (1, 0))
    );
    f.join("F", &modules)?; // it has them already
    bound_models(&world, 2 * one);
    let g = world.connected("B");
    g.create("G", &modules, TIME)?;
    g.destroy("G")?;
    assert_eq!(models(&world), one);
    Ok(())
}

#[test]
fn a_long_model_that_a_job_has_read_is_refused_as_well() -> Refused {
    let world = World::empty(Config::default());
    let f = world.connected("A");
    let text = format!("{}<!-- {} -->", fom::main(&[]), "x".repeat(100_000));
    let modules = [("main.xml", text.as_str())];
    bound_models(&world, 500_000);
    assert_eq!(f.create("F", &modules, TIME), Err(RTIinternalError));
    assert_eq!(models(&world), 0);
    bound_models(&world, 2_000_000);
    f.create("F", &modules, TIME)?;
    assert!(models(&world) > 1_200_000);
    Ok(())
}
