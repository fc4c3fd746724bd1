//! Queries of attribute ownership (7.17 to 7.19).

use crate::common::{Fed, Refused, World};
use hla::Exception::*;
use hla::api::{ConnectWithConfigurationRequest, ResignAction, RtiConfiguration};

/// A has registered a C.S with a and c. The class's attribute b is unowned.
fn registered(a: &Fed, b: &Fed) -> Refused<u32> {
    a.publish("C.S", &["a", "c"])?;
    let x = a.register("C.S")?;
    b.subscribe("C.S", &["a"])?;
    b.skip();
    Ok(x)
}

#[test]
fn a_federate_asks_whether_it_owns_an_attribute() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    let x = registered(&a, &b)?;
    assert!(a.owns(x, "a")? && a.owns(x, "privilege")?);
    assert!(!a.owns(x, "b")?, "not published when it was registered");
    assert!(!b.owns(x, "a")? && !b.owns(x, "b")?);
    a.unpublish("C.S", &["a"])?;
    assert!(!a.owns(x, "a")? && a.owns(x, "c")?);
    Ok(())
}

#[test]
fn owners_are_told_with_one_callback_each() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    let x = registered(&a, &b)?;
    b.query_ownership(x, &["c", "a", "b", "privilege"])?;
    assert_eq!(b.callbacks(), ["notOwned(1, b)", "owned(1, privilege a c, A)"]);
    a.query_ownership(x, &["a"])?;
    assert_eq!(a.callbacks(), ["owned(1, a, A)"], "the owner may ask as well");
    a.unpublish("C.S", &["a"])?;
    b.query_ownership(x, &["a", "c"])?;
    assert_eq!(b.callbacks(), ["notOwned(1, a)", "owned(1, c, A)"]);
    b.query_ownership(x, &[])?;
    assert!(b.callbacks().is_empty(), "nothing asked, nothing told");
    Ok(())
}

#[test]
fn a_federate_that_has_left_owns_nothing() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    let x = registered(&a, &b)?;
    a.resign(ResignAction::UnconditionallyDivestAttributes)?;
    b.query_ownership(x, &["a", "c", "privilege"])?;
    assert_eq!(b.callbacks(), ["notOwned(1, privilege a c)"]);
    Ok(())
}

#[test]
fn the_2010_edition_takes_one_attribute_at_a_time() -> Refused {
    let (world, [a]) = World::join(&[]);
    let b = world.opened("B");
    let rti_configuration = Some(RtiConfiguration {
        additional_settings: "API.version=IEEE 1516-2010".to_owned(),
        ..RtiConfiguration::default()
    });
    b.ask(ConnectWithConfigurationRequest { rti_configuration })?;
    b.join("F", &[])?;
    let x = registered(&a, &b)?;
    b.query_ownership(x, &["a", "b", "c"])?;
    assert_eq!(b.callbacks(), ["notOwned(1, b)", "owned(1, a, A)", "owned(1, c, A)"]);
    Ok(())
}

#[test]
fn only_known_instances_and_available_attributes() -> Refused {
    let (_, [a, b, c]) = World::join(&[]);
    let x = registered(&a, &b)?;
    assert_eq!(c.owns(x, "a"), Err(ObjectInstanceNotKnown));
    assert_eq!(c.query_ownership(x, &["a"]), Err(ObjectInstanceNotKnown));
    assert_eq!(a.owns(7, "a"), Err(ObjectInstanceNotKnown));
    c.subscribe("C", &["a"])?;
    c.skip();
    assert_eq!(c.owns(x, "c"), Err(AttributeNotDefined), "not available at the class it knows");
    assert_eq!(c.query_ownership(x, &["a", "c"]), Err(AttributeNotDefined));
    assert_eq!(c.query_ownership(x, &["a", "nope"]), Err(AttributeNotDefined));
    assert!(c.callbacks().is_empty(), "a service that fails has no effect");
    Ok(())
}
