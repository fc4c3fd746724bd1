//! Images that are missing, damaged, or of something else; places that fail.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World, fom};
use hla::api::ResignAction;

#[track_caller]
fn told<const N: usize>(federates: [&Fed; N], callbacks: &[&str]) {
    for federate in federates {
        assert_eq!(federate.callbacks(), callbacks, "told to {}", federate.name);
    }
}

fn save<const N: usize>(label: &str, federates: [&Fed; N], end: &str) -> Refused {
    federates[0].request_save(label)?;
    federates.into_iter().try_for_each(Fed::save)?;
    told(federates, &[&format!("initiateSave({label})"), end]);
    Ok(())
}

#[track_caller]
fn is_refused(f: &Fed, label: &str) -> Refused {
    f.request_restore(label)?;
    told([f], &[&format!("restoreRequestFailed({label})")]);
    f.publish("C", &["a"])
}

/// A federation execution with something of everything, saved as L.
fn saved() -> Refused<(World, Saves, [Fed; 2])> {
    let saves = Saves::default();
    let (world, [a, b]) = World::with_saves(&saves, &["nonRegulatedGrant"]);
    a.publish("C", &["a", "b"])?;
    b.subscribe("C", &["a"])?;
    let region = b.region("X=0..5");
    a.register("C")?;
    a.reserve("ant")?;
    a.register_sync("point", "")?;
    a.regulate(1)?;
    b.constrain()?;
    assert!(region.is_ok());
    [&a, &b].into_iter().for_each(Fed::skip);
    save("L", [&a, &b], "federationSaved")?;
    Ok((world, saves, [a, b]))
}

#[test]
fn a_place_that_fails_is_told() -> Refused {
    let (_, saves, [a, b]) = saved()?;
    let image = saves.image("L");
    assert!(image.is_some());
    saves.fail(true);
    save("L", [&a, &b], "federationNotSaved(RTI_UNABLE_TO_SAVE)")?;
    is_refused(&a, "L")?;
    saves.fail(false);
    assert_eq!(saves.image("L"), image);
    save("M", [&b, &a], "federationSaved")
}

#[test]
fn without_a_place_nothing_is_saved() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    save("L", [&a, &b], "federationNotSaved(RTI_UNABLE_TO_SAVE)")?;
    is_refused(&a, "L")
}

#[test]
fn damaged_images_are_refused() -> Refused {
    let (_, saves, [a, _]) = saved()?;
    let image = saves.image("L").expect("a saved image");
    let step = (image.len() / 64).max(1);
    for at in (0..image.len()).step_by(step).chain([image.len() - 1]) {
        let mut damaged = image.clone();
        damaged[at] ^= 0x10;
        saves.put("L", &damaged);
        is_refused(&a, "L")?;
        saves.put("L", &image[..at]);
        is_refused(&a, "L")?;
    }
    let mut longer = image.clone();
    longer.push(0);
    saves.put("L", &longer);
    is_refused(&a, "L")?;
    saves.put("L", &image);
    a.request_restore("L")?;
    assert_eq!(a.callbacks()[0], "restoreRequestSucceeded(L)");
    Ok(())
}

/// A label names the image of one federation execution; a later save takes its place.
#[test]
fn a_later_save_replaces_an_earlier_one() -> Refused {
    let (_, saves, [a, b]) = saved()?;
    let first = saves.image("L");
    a.register("C")?;
    b.skip();
    save("L", [&a, &b], "federationSaved")?;
    assert_ne!(saves.image("L"), first);
    a.request_restore("L")?;
    [&a, &b].into_iter().try_for_each(Fed::restore_complete)?;
    assert!(a.instance_name(2).is_ok());
    Ok(())
}

/// Equal states have equal images, wherever they are.
#[test]
fn images_are_equal_in_every_run() -> Refused {
    assert_eq!(saved()?.1.image("L"), saved()?.1.image("L"));
    Ok(())
}

#[test]
fn federates_must_match() -> Refused {
    let (world, _, [a, b]) = saved()?;
    let c = world.joined("C");
    is_refused(&a, "L")?;
    b.resign(ResignAction::CancelThenDeleteThenDivest)?;
    c.skip();
    a.request_restore("L")?;
    assert_eq!(a.callbacks()[0], "restoreRequestSucceeded(L)");
    a.abort_restore()?;
    c.resign(ResignAction::NoAction)?;
    a.skip();
    world.joined_as("D", "U");
    is_refused(&a, "L")
}

/// An extension of the object model changes no handle.
#[test]
fn a_model_may_have_been_extended_since_and_nothing_may_be_missing() -> Refused {
    let (world, saves, [a, b]) = saved()?;
    b.resign(ResignAction::CancelThenDeleteThenDivest)?;
    let more = fom::more();
    world.connected("B").join_as("T", &[("more.xml", &more)])?;
    a.skip();
    a.request_restore("L")?;
    assert_eq!(a.callbacks().first().map(String::as_str), Some("restoreRequestSucceeded(L)"));

    let other = World::with_model(saves.config(), &fom::everything(&[]));
    let federates = ["A", "B"].map(|name| other.joined(name));
    is_refused(&federates[0], "L")?;

    let other = World::empty(saves.config());
    let creator = other.connected("creator");
    let main = fom::main(&["nonRegulatedGrant"]);
    creator.create("F", &[("main.xml", &main)], "HLAfloat64Time")?;
    other.learn(&[("main.xml", &main)]);
    let federates = ["A", "B"].map(|name| other.joined(name));
    is_refused(&federates[0], "L")
}

/// The additional module may come with any federate.
#[test]
fn the_order_in_which_modules_come_does_not_matter() -> Refused {
    let saves = Saves::default();
    let (world, [a]) = World::with_saves(&saves, &[]);
    let (more, b) = (fom::more(), world.connected("B"));
    let files: &[(&str, &str)] = &[("more.xml", &more)];
    b.join_as("T", files)?;
    save("L", [&a, &b], "federationSaved")?;

    let world = World::with_config(saves.config(), &[]);
    let a = world.connected("A");
    a.join_as("T", files)?;
    let b = world.joined("B");
    b.request_restore("L")?;
    [&a, &b].into_iter().try_for_each(Fed::restore_complete)?;
    assert_eq!(a.callbacks().pop().as_deref(), Some("federationRestored"));
    Ok(())
}
