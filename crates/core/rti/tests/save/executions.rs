//! Several federation executions, one after another or at a time, and large ones.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World, fom};
use hla::api::ResignAction;

const TIME: &str = "HLAinteger64Time";

fn save<const N: usize>(label: &str, federates: [&Fed; N]) -> Refused {
    federates[0].request_save(label)?;
    federates.into_iter().try_for_each(Fed::save)?;
    for f in federates {
        assert_eq!(f.callbacks(), [format!("initiateSave({label})"), "federationSaved".to_owned()]);
    }
    Ok(())
}

fn restore<const N: usize>(label: &str, federates: [&Fed; N]) -> Refused {
    federates[0].request_restore(label)?;
    federates.into_iter().try_for_each(Fed::restore_complete)?;
    for f in federates {
        let told = f.callbacks();
        assert!(told.contains(&"federationRestored".to_owned()), "{} was told {told:?}", f.name);
    }
    Ok(())
}

/// A save and a restore concern one federation execution.
#[test]
fn others_go_on_during_a_save_and_a_restore() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    let [c, d] = ["A", "D"].map(|name| world.connected(name));
    c.create("G", &[("main.xml", &fom::main(&[]))], TIME)?;
    let works = |tag: &str| {
        c.send_tagged("I", "p=1", tag)?;
        assert_eq!(d.callbacks(), [format!("receive(I, p=1, reliable, A, #{tag})")]);
        d.query_save()?;
        d.query_restore()?;
        let told = d.callbacks();
        assert!(told.iter().all(|told| told.matches("=NO_").count() == 2), "{told:?}");
        assert_eq!(c.callbacks(), Vec::<String>::new());
        Ok(())
    };
    [&c, &d].into_iter().try_for_each(|f| f.join("G", &[]))?;
    c.publish_interaction("I")?;
    d.subscribe_interaction("I")?;
    works("before")?;
    a.request_save("L")?;
    works("during a save")?;
    b.save()?;
    a.save()?;
    works("after a save")?;
    c.request_restore("L")?;
    assert_eq!(c.callbacks(), ["restoreRequestFailed(L)"], "that label is of F");
    b.request_restore("L")?;
    works("during a restore")?;
    [&a, &b].into_iter().try_for_each(Fed::restore_complete)?;
    works("after a restore")
}

/// The federation execution has been destroyed since, and created again in the same RTI.
#[test]
fn a_federation_execution_is_restored_after_it_was_destroyed() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    b.publish("C", &["a"])?;
    b.reserve("ant")?;
    let first = b.register_as("C", "ant")?;
    b.skip();
    save("L", [&a, &b])?;
    b.register("C")?;
    [&a, &b].into_iter().try_for_each(|f| f.resign(ResignAction::DeleteObjects))?;
    a.destroy("F")?;
    a.create("F", &[("main.xml", &fom::main(&[]))], TIME)?;
    [&b, &a].into_iter().try_for_each(|f| f.join("F", &[]))?;
    restore("L", [&a, &b])?;
    assert_eq!(b.instance_called("ant"), Ok(first));
    assert_eq!(b.owns(first, "a"), Ok(true));
    let second = b.register("C")?;
    assert_ne!(first, second);
    Ok(())
}

/// Nobody is left to answer.
#[test]
fn a_save_ends_with_the_last_federate() -> Refused {
    let (world, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.request_save("L")?;
    a.resign(ResignAction::NoAction)?;
    b.resign(ResignAction::NoAction)?;
    assert_eq!(a.callbacks(), ["initiateSave(L)"]);
    let c = world.joined("C");
    save("M", [&c])?;
    c.request_restore("M")?;
    c.resign(ResignAction::NoAction)?;
    c.destroy("F")
}

#[test]
fn many_objects_are_restored() -> Refused {
    const COUNT: u32 = 20_000;
    let saves = Saves::default();
    let (_, [a, b]) = World::with_saves(&saves, &[]);
    a.publish("C", &["a", "b"])?;
    b.subscribe("C", &["a"])?;
    for number in 1..=COUNT {
        assert_eq!(a.register("C"), Ok(number));
    }
    assert_eq!(b.callbacks().len(), COUNT as usize);
    let names = [1, COUNT / 2, COUNT].map(|number| b.instance_name(number));
    save("L", [&a, &b])?;

    let world = World::with_config(saves.config(), &[]);
    let (b, a) = (world.joined("B"), world.joined("A"));
    restore("L", [&b, &a])?;
    assert_eq!([1, COUNT / 2, COUNT].map(|number| b.instance_name(number)), names);
    let handles = [(a.federate_called("A")?, "A".to_owned())];
    world.name_federates(&handles.into());
    a.update(COUNT, "a=1")?;
    assert_eq!(b.callbacks(), [format!("reflect({COUNT}, a=1, reliable, A)")]);
    assert_eq!(a.register("C"), Ok(COUNT + 1));
    a.delete(1)?;
    assert_eq!(b.callbacks(), [format!("discover({}, C, A)", COUNT + 1), "remove(1, A)".to_owned()]);
    Ok(())
}

/// A restore of a federation execution that was itself restored.
#[test]
fn saves_and_restores_follow_one_another() -> Refused {
    let saves = Saves::default();
    let (_, [a, b]) = World::with_saves(&saves, &[]);
    a.publish("C", &["a"])?;
    save("0", [&a, &b])?;
    for round in 0..5 {
        restore(&round.to_string(), [&b, &a])?;
        a.register("C")?;
        save(&(round + 1).to_string(), [&a, &b])?;
    }
    for round in 0..=5 {
        restore(&round.to_string(), [&a, &b])?;
        let known = (1..=6).filter(|number| a.instance_name(*number).is_ok()).count();
        assert_eq!(known, round, "after restore {round}");
    }
    Ok(())
}
