//! The management object model (clause 11): its object classes.

use crate::common::mom::{FEDERATE, FEDERATION, instance_of};
use crate::common::{Fed, Refused, World, fom};
use hla::Exception;
use hla::api::{self, ResignAction, call_request::CallRequest as Call};
use hla::handle::ObjectInstanceHandle;
use rti::Config;
use std::time::Duration;

/// The instance of HLAfederation.
const WHOLE: ObjectInstanceHandle = ObjectInstanceHandle(u32::MAX as u64);

/// An object model of the 2010 edition.
const OF_2010: &str = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\"></objectModel>";

#[test]
fn federates_come_and_go() -> Refused {
    let (world, [a, b]) = World::join(&[]);
    a.watch(FEDERATE, &["federateName", "federateType", "federateState", "federateHandle"])?;
    let values = |name: &str, number: u32| {
        format!("reflect({name}, federateHandle={number} federateName={name} federateType=T federateState=1)")
    };
    assert_eq!(
        a.managed(),
        ["discover(A, HLAfederate)", "discover(B, HLAfederate)", &values("A", 1), &values("B", 2)]
    );
    let c = world.connected("C");
    c.join("F", &[])?;
    assert_eq!(a.managed(), ["discover(C, HLAfederate)", &values("C", 3)]);
    c.resign(ResignAction::NoAction)?;
    assert_eq!(a.managed(), ["remove(C)"]);
    world.lose(&b);
    assert_eq!(a.managed(), ["remove(B)"]);
    Ok(())
}

#[test]
fn the_federation_tells_of_its_members_and_modules() -> Refused {
    let (world, [a]) = World::join(&[]);
    a.watch(
        FEDERATION,
        &["federationName", "federatesInFederation", "FOMmoduleDesignatorList", "MIMdesignator"],
    )?;
    assert_eq!(
        a.managed(),
        [
            "discover(federation, HLAfederation)",
            "reflect(federation, federationName=F federatesInFederation=[1] MIMdesignator=HLAstandardMIM \
             FOMmoduleDesignatorList=[main.xml])"
        ]
    );
    let more = fom::objects("<objectClass><name>More</name></objectClass>");
    let b = world.connected("B");
    b.join("F", &[("more.xml", &more)])?;
    assert_eq!(
        a.managed(),
        [
            "reflect(federation, FOMmoduleDesignatorList=[main.xml,more.xml])",
            "reflect(federation, federatesInFederation=[1,2])"
        ]
    );
    a.watch(FEDERATE, &["FOMmoduleDesignatorList"])?;
    let told = a.managed();
    assert!(told.contains(&"reflect(A, FOMmoduleDesignatorList=[])".to_owned()), "{told:?}");
    assert!(told.contains(&"reflect(B, FOMmoduleDesignatorList=[more.xml])".to_owned()), "{told:?}");
    Ok(())
}

/// No attribute of the MIM is forgotten: each has a value that is one of its datatype. Those that are
/// updated periodically come on request only.
fn every_attribute_has_a_value(text: &str) -> Refused {
    let world = World::with_model(Config::default(), text);
    let a = world.joined("A");
    for (class, instance, name) in [(FEDERATE, instance_of(&a), "A"), (FEDERATION, WHOLE, "federation")] {
        let all = a.all_of(class);
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        a.watch(class, &all)?;
        let told = a.managed();
        let [discovered, first] = &told[..] else { panic!("{told:?}") };
        assert!(discovered.starts_with("discover"), "{discovered}");
        a.request_managed(class, instance, &all)?;
        let told = a.managed();
        let [second] = &told[..] else { panic!("{told:?}") };
        for attribute in &all {
            let shown = format!(" {attribute}=");
            let has = |reflect: &str| reflect.replace('(', " ").contains(&shown) || reflect.contains(&shown);
            assert!(has(second), "{name} {attribute}: {second}");
            let periodic = world.0.borrow().model.mim().text().to_owned();
            let place = periodic.find(&format!("<name>HLA{attribute}</name>")).expect("in the MIM");
            let kind = &periodic[place..];
            let of_class =
                periodic.find(&format!("<name>{}</name>", &class["HLAmanager.".len()..])).expect("a class");
            let kind = if place < of_class { &periodic[of_class..] } else { kind };
            let kind = &kind[kind.find(&format!("<name>HLA{attribute}</name>")).expect("in its class")..];
            let kind = &kind[kind.find("<updateType>").expect("stated") + "<updateType>".len()..];
            assert_eq!(has(first), !kind.starts_with("Periodic"), "{attribute}: {first}");
        }
    }
    Ok(())
}

#[test]
fn every_attribute_of_2025_has_a_value() -> Refused {
    every_attribute_has_a_value(&fom::main(&[]))
}

#[test]
fn every_attribute_of_2010_has_a_value() -> Refused {
    every_attribute_has_a_value(OF_2010)
}

#[test]
fn changes_are_told_at_once() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    let attributes = [
        "timeRegulating",
        "timeConstrained",
        "asynchronousDelivery",
        "timeManagerState",
        "attributeScopeAdvisory",
        "automaticResignAction",
    ];
    a.watch(FEDERATE, &attributes)?;
    a.managed();
    b.regulate(3)?;
    assert_eq!(a.managed(), ["reflect(B, timeRegulating=true)"]);
    b.constrain()?;
    assert_eq!(a.managed(), ["reflect(B, timeConstrained=true)"]);
    b.ask(api::EnableAsynchronousDeliveryRequest {})?;
    assert_eq!(a.managed(), ["reflect(B, asynchronousDelivery=true)"]);
    b.set_scope(true)?;
    assert_eq!(a.managed(), ["reflect(B, attributeScopeAdvisory=1)"]);
    b.set_resign_directive(ResignAction::DeleteObjects)?;
    assert_eq!(a.managed(), ["reflect(B, automaticResignAction=1)"]);
    a.regulate(1)?;
    a.managed();
    b.tar(10)?;
    assert_eq!(a.managed(), ["reflect(B, timeManagerState=1)"]);
    a.tar(20)?;
    assert_eq!(a.managed(), ["granted(20)", "reflect(B, timeManagerState=0)"]);
    Ok(())
}

#[test]
fn counters_are_told_on_request() -> Refused {
    let (world, [a, b]) = World::join(&[]);
    a.publish("C", &["a", "b"])?;
    a.publish_interaction("I")?;
    b.subscribe("C", &["a", "b"])?;
    b.subscribe_interaction("I")?;
    let (x, y) = (a.register("C")?, a.register("C")?);
    a.update(x, "a=1 b=2")?;
    a.update(x, "a=2")?;
    a.update(y, "a=2")?;
    a.send("I", "p=1")?;
    a.delete(y)?;
    let counters = [
        "updatesSent",
        "reflectionsReceived",
        "interactionsSent",
        "interactionsReceived",
        "objectInstancesThatCanBeDeleted",
        "objectInstancesUpdated",
        "objectInstancesReflected",
        "objectInstancesDeleted",
        "objectInstancesRemoved",
        "objectInstancesRegistered",
        "objectInstancesDiscovered",
        "logicalTime",
        "lookahead",
        "GALT",
        "LITS",
        "TSOlength",
        "timeGrantedTime",
        "timeAdvancingTime",
    ];
    b.skip();
    b.watch(FEDERATE, &counters)?;
    assert_eq!(b.managed(), ["discover(A, HLAfederate)", "discover(B, HLAfederate)"], "only on request");
    world.pass(Duration::from_millis(1_500));
    let end = "logicalTime=0 lookahead=- GALT=- LITS=- TSOlength=0";
    let ask = |federate: &Fed| {
        b.request_managed(FEDERATE, instance_of(federate), &counters)?;
        Ok(b.managed().concat().replace(end, "…"))
    };
    assert_eq!(
        ask(&a)?,
        "reflect(A, … reflectionsReceived=0 updatesSent=3 interactionsReceived=0 interactionsSent=1 \
         objectInstancesThatCanBeDeleted=1 objectInstancesUpdated=2 objectInstancesReflected=0 objectInstancesDeleted=1 \
         objectInstancesRemoved=0 objectInstancesRegistered=2 objectInstancesDiscovered=0 timeGrantedTime=1500 \
         timeAdvancingTime=0)"
    );
    // One of its reflections is that of A.
    assert_eq!(
        ask(&b)?,
        "reflect(B, … reflectionsReceived=5 updatesSent=0 interactionsReceived=1 interactionsSent=0 \
         objectInstancesThatCanBeDeleted=0 objectInstancesUpdated=0 objectInstancesReflected=3 objectInstancesDeleted=0 \
         objectInstancesRemoved=1 objectInstancesRegistered=0 objectInstancesDiscovered=4 timeGrantedTime=1500 \
         timeAdvancingTime=0)"
    );
    assert!(ask(&a)?.contains("timeGrantedTime=0"), "since it was last told");
    Ok(())
}

#[test]
fn requests_for_a_class_are_answered_for_every_instance() -> Refused {
    let (_, [a, _b]) = World::join(&[]);
    a.watch(FEDERATE, &["federateName"])?;
    a.managed();
    a.request_all_managed(FEDERATE, &["federateName", "updatesSent"])?;
    assert_eq!(a.managed(), ["reflect(A, federateName=A)", "reflect(B, federateName=B)"], "subscribed ones");
    a.unwatch(FEDERATE)?;
    a.request_all_managed(FEDERATE, &["federateName"])?;
    assert!(a.managed().is_empty());
    Ok(())
}

/// [79]
#[test]
fn the_rti_owns_the_attributes_for_ever() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.watch(FEDERATE, &["federateName"])?;
    a.managed();
    let instance = Some(instance_of(&b));
    let name = a.attribute("HLAfederateName");
    let set = || Some(api::AttributeHandleSet { attribute_handle: vec![name, a.attribute("privilege")] });
    a.plain(Call::QueryAttributeOwnershipRequest(api::QueryAttributeOwnershipRequest {
        object_instance: instance,
        attributes: set(),
    }))?;
    let told = a.callbacks();
    assert!(told.len() == 1 && told[0].contains("AttributeIsOwnedByRti"), "{told:?}");
    let owned = api::IsAttributeOwnedByFederateRequest { object_instance: instance, attribute: Some(name) };
    assert_eq!(a.ask(owned), Ok(false));
    let acquire = || {
        Call::AttributeOwnershipAcquisitionRequest(api::AttributeOwnershipAcquisitionRequest {
            object_instance: instance,
            desired_attributes: set(),
            user_supplied_tag: Default::default(),
        })
    };
    assert_eq!(a.plain(acquire()), Err(Exception::ObjectClassNotPublished));
    a.publish(FEDERATE, &["HLAfederateName"])?;
    a.plain(acquire())?;
    assert!(a.callbacks().is_empty(), "it waits for ever");
    assert_eq!(a.resign(ResignAction::NoAction), Err(Exception::OwnershipAcquisitionPending));
    let cancel = || {
        Call::CancelAttributeOwnershipAcquisitionRequest(api::CancelAttributeOwnershipAcquisitionRequest {
            object_instance: instance,
            attributes: set(),
        })
    };
    a.plain(cancel())?;
    let told = a.callbacks();
    assert!(told.len() == 1 && told[0].starts_with("cancelled"), "{told:?}");
    assert_eq!(a.plain(cancel()), Err(Exception::AttributeAcquisitionWasNotRequested));
    let available = api::AttributeOwnershipAcquisitionIfAvailableRequest {
        object_instance: instance,
        desired_attributes: set(),
        user_supplied_tag: Default::default(),
    };
    a.plain(Call::AttributeOwnershipAcquisitionIfAvailableRequest(available))?;
    let told = a.callbacks();
    assert!(told.len() == 1 && told[0].starts_with("unavailable"), "{told:?}");
    let divest = api::UnconditionalAttributeOwnershipDivestitureRequest {
        object_instance: instance,
        attributes: set(),
        user_supplied_tag: Default::default(),
    };
    let divest = Call::UnconditionalAttributeOwnershipDivestitureRequest(divest);
    assert_eq!(a.plain(divest), Err(Exception::AttributeNotOwned));
    a.plain(acquire())?;
    a.resign(ResignAction::CancelThenDeleteThenDivest)?;
    assert_eq!(b.callbacks(), [""; 0]);
    Ok(())
}

#[test]
fn federates_neither_register_nor_delete_nor_update_its_instances() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.watch(FEDERATE, &["federateName"])?;
    a.publish(FEDERATE, &["HLAfederateName"])?;
    assert_eq!(a.register(FEDERATE), Err(Exception::RTIinternalError));
    let instance = Some(instance_of(&b));
    let delete =
        api::DeleteObjectInstanceRequest { object_instance: instance, user_supplied_tag: Default::default() };
    assert_eq!(a.plain(Call::DeleteObjectInstanceRequest(delete)), Err(Exception::DeletePrivilegeNotHeld));
    let update = api::UpdateAttributeValuesRequest {
        object_instance: instance,
        attribute_values: a.values("HLAfederateName=X"),
        user_supplied_tag: Default::default(),
    };
    assert_eq!(a.plain(Call::UpdateAttributeValuesRequest(update)), Err(Exception::AttributeNotOwned));
    a.managed();
    let forget = api::LocalDeleteObjectInstanceRequest { object_instance: instance };
    a.plain(Call::LocalDeleteObjectInstanceRequest(forget))?;
    assert_eq!(
        a.managed(),
        ["discover(B, HLAfederate)", "reflect(B, federateName=B)"],
        "it is still subscribed"
    );
    Ok(())
}

#[test]
fn superclasses_show_its_instances_too() -> Refused {
    let (_, [a, _b]) = World::join(&[]);
    a.subscribe("HLAobjectRoot", &["privilege"])?;
    let told = a.managed();
    let root = |name: &str| format!("discover({name}, HLAobjectRoot)");
    for name in ["A", "B", "federation"] {
        assert!(told.contains(&root(name)), "{told:?}");
    }
    Ok(())
}

#[test]
fn the_editions_differ_in_attributes() {
    let world = World::with_model(Config::default(), OF_2010);
    let all = world.joined("A").all_of(FEDERATE);
    assert!(!all.contains(&"automaticResignAction".to_owned()), "it came with 2025");
    assert!(all.contains(&"conveyProducingFederate".to_owned()), "it went with 2010");
}
