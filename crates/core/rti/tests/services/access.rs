//! Access control (4.2 to 4.11): what accounts may do, decided when federates declare it.

use crate::common::{Fed, Refused, World};
use ::access::{Account, Policy};
use hla::Exception::*;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, ResignAction};
use std::sync::Arc;

const POLICY: &str = r#"
[accounts.viewer]
certificate = "viewer"
may = [
    "join F as Viewer*",
    "subscribe HLAobjectRoot.C",
    "subscribe HLAinteractionRoot.I",
]

[accounts.sim]
certificate = "sim"
may = ["do anything"]
may-not = [
    "destroy *",
    "publish HLAobjectRoot.C.S in F",
    "regulate time",
]
"#;

fn account(policy: &str, name: &str) -> Arc<Account> {
    Arc::clone(Policy::read(policy).unwrap().account(name).unwrap())
}

/// A connected caller of an account.
fn connected(world: &World, account_name: &str, name: &str) -> Fed {
    let fed = world.opened(name);
    world.0.borrow_mut().rti.set_account(fed.caller, account(POLICY, account_name));
    fed.connect().unwrap();
    fed
}

/// The decisions since the last call: the operation, whether it was allowed, and the line.
fn decisions(world: &World) -> Vec<(String, bool, Option<usize>)> {
    let rti = &mut world.0.borrow_mut().rti;
    std::iter::from_fn(|| rti.poll_authorization())
        .map(|(_, decision)| (decision.operation, decision.allowed, decision.line))
        .collect()
}

#[test]
fn a_federation_execution_is_created_joined_and_destroyed_by_those_who_may() -> Refused {
    let world = World::new(&[]);
    let viewer = connected(&world, "viewer", "Viewer-1");
    assert_eq!(viewer.create("G", &[], "HLAinteger64Time"), Err(Unauthorized));
    assert_eq!(decisions(&world), [("create G".to_owned(), false, None)]);
    assert_eq!(viewer.destroy("F"), Err(Unauthorized));
    viewer.join("F", &[])?;
    let join = ("join F as Viewer-1 of type T".to_owned(), true, Some(5));
    assert_eq!(decisions(&world).last(), Some(&join));
    let other = connected(&world, "viewer", "Other");
    assert_eq!(other.join("F", &[]), Err(Unauthorized));
    let sim = connected(&world, "sim", "S");
    sim.create("G", &[("main.xml", &crate::common::fom::main(&[]))], "HLAinteger64Time")?;
    assert_eq!(sim.destroy("G"), Err(Unauthorized), "what is forbidden counts more");
    Ok(())
}

#[test]
fn a_class_includes_those_below_it_and_updates_are_not_looked_at() -> Refused {
    let world = World::new(&[]);
    let [viewer, sim] = [("viewer", "Viewer-1"), ("sim", "S")].map(|(account, name)| {
        let fed = connected(&world, account, name);
        fed.join("F", &[]).unwrap();
        fed
    });
    viewer.subscribe("C.S", &["c"])?;
    viewer.subscribe("C", &["a"])?;
    viewer.subscribe_interaction("I.J")?;
    assert_eq!(viewer.publish("C", &["a"]), Err(RTIinternalError));
    assert_eq!(viewer.publish_interaction("I"), Err(RTIinternalError));
    assert_eq!(sim.publish("C.S", &["c"]), Err(RTIinternalError));
    sim.publish("C", &["a"])?;
    decisions(&world);
    let instance = sim.register("C")?;
    sim.update(instance, "a=1")?;
    assert_eq!(decisions(&world), [], "nothing is decided per object or update");
    assert!(viewer.callbacks().iter().any(|callback| callback.starts_with("reflect")));
    let regulate = Call::EnableTimeRegulationRequest(api::EnableTimeRegulationRequest {
        lookahead: Some(api::LogicalTimeInterval { data: vec![0; 8].into() }),
    });
    let error = sim.call(regulate).unwrap_err();
    assert!(error.details.contains("may not regulate time in F: line 16"), "{error}");
    Ok(())
}

#[test]
fn a_federate_registers_as_many_objects_as_its_account_may() -> Refused {
    let policy = |limits: &str| {
        format!("[accounts.sim]\ncertificate = \"sim\"\nmay = [\"do anything\"]\nlimits = {limits}\n")
    };
    let world = World::new(&[]);
    let sim = world.opened("S");
    world.0.borrow_mut().rti.set_account(sim.caller, account(&policy("{ objects = 2 }"), "sim"));
    sim.connect()?;
    sim.join("F", &[])?;
    sim.publish("C", &["a"])?;
    let first = sim.register("C")?;
    sim.register("C")?;
    let register = Call::RegisterObjectInstanceRequest(api::RegisterObjectInstanceRequest {
        object_class: sim.class("C"),
    });
    let error = sim.call(register).unwrap_err();
    assert_eq!(error.exception, RTIinternalError);
    assert!(
        error.details.contains("has registered 2 object instances, as many as its account may"),
        "{error}"
    );
    sim.delete(first)?;
    sim.register("C")?;
    assert_eq!(sim.register("C"), Err(RTIinternalError));
    let changed = account(&policy("{ objects = 3 }"), "sim");
    world.0.borrow_mut().rti.change_account(sim.caller, &changed).unwrap();
    sim.register("C")?;
    assert_eq!(sim.register("C"), Err(RTIinternalError), "the changed limit counts");
    Ok(())
}

#[test]
fn the_exceptions_of_the_standard_come_first() -> Refused {
    let world = World::new(&[]);
    let viewer = connected(&world, "viewer", "Viewer-1");
    assert_eq!(viewer.publish("C", &["a"]), Err(FederateNotExecutionMember));
    viewer.join("F", &[])?;
    assert_eq!(viewer.publish("Nope", &["a"]), Err(ObjectClassNotDefined));
    assert_eq!(viewer.join("F", &[]), Err(FederateAlreadyExecutionMember));
    Ok(())
}

#[test]
fn a_caller_without_an_account_may_do_anything() -> Refused {
    let (world, [a]) = World::join(&[]);
    a.publish("C.S", &["c"])?;
    a.resign(ResignAction::NoAction)?;
    assert_eq!(decisions(&world), []);
    Ok(())
}

#[test]
fn an_account_is_lost_with_the_connection() -> Refused {
    let world = World::new(&[]);
    let viewer = connected(&world, "viewer", "Viewer-1");
    viewer.disconnect()?;
    assert!(world.0.borrow().rti.account(viewer.caller).is_none());
    Ok(())
}

/// The error names the operation that the changed account may not do.
#[test]
fn a_changed_account_is_compared_with_what_its_caller_does() -> Refused {
    let world = World::new(&[]);
    let viewer = connected(&world, "viewer", "Viewer-1");
    let change = |policy: &str| {
        let account = account(policy, "viewer");
        let changed = world.0.borrow_mut().rti.change_account(viewer.caller, &account);
        changed.map_err(|error| error.details.to_string())
    };
    change(&POLICY.replace("join F", "join G")).expect("it has not joined");
    change(POLICY).unwrap();
    viewer.join("F", &[])?;
    viewer.subscribe("C.S", &["c"])?;
    viewer.subscribe_interaction("I")?;
    change(POLICY).unwrap();
    for (old, new, operation) in [
        ("join F as Viewer*", "join F as Watcher*", "join F as Viewer-1 of type T"),
        ("HLAobjectRoot.C\"", "HLAobjectRoot.D\"", "subscribe HLAobjectRoot.C.S in F"),
        ("HLAinteractionRoot.I\"", "HLAinteractionRoot.I.J\"", "subscribe HLAinteractionRoot.I in F"),
    ] {
        let why = change(&POLICY.replacen(old, new, 1)).unwrap_err();
        assert!(why.contains(&format!("may not {operation}: no line")), "{why}");
    }
    Ok(())
}
