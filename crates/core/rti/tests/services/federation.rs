//! Connecting, creating, joining, destroying, listing (4.2 to 4.11).

use crate::common::{Fed, Refused, World, fom};
use bytes::Bytes;
use hla::Exception::*;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{self, ResignAction};

const TIME: &str = "HLAinteger64Time";

#[test]
fn connecting_twice_leaves_the_first_connection() -> Refused {
    let world = World::new(&[]);
    let f = world.connected("A");
    assert_eq!(f.connect(), Err(AlreadyConnected));
    f.join("F", &[])?;
    assert_eq!(f.connect(), Err(AlreadyConnected));
    f.subscribe("C", &["a"])
}

#[test]
fn disconnect_needs_no_connection_but_no_membership() -> Refused {
    let world = World::new(&[]);
    let f = world.opened("A");
    f.disconnect()?;
    f.connect()?;
    f.join("F", &[])?;
    assert_eq!(f.disconnect(), Err(FederateIsExecutionMember));
    f.resign(ResignAction::NoAction)?;
    f.disconnect()?;
    f.disconnect()?;
    assert_eq!(f.join("F", &[]), Err(NotConnected));
    f.connect()
}

#[test]
fn a_disconnected_caller_is_told_nothing_more() -> Refused {
    let world = World::new(&[]);
    let f = world.connected("A");
    let mut inner = world.0.borrow_mut();
    let now = inner.now;
    let list = Call::ListFederationExecutionsRequest(api::ListFederationExecutionsRequest {});
    inner.rti.call(now, f.caller, rti::CallId(1), list);
    inner.rti.call(now, f.caller, rti::CallId(2), Call::DisconnectRequest(api::DisconnectRequest {}));
    assert_eq!(inner.rti.poll_callback(f.caller), None);
    assert_eq!(inner.rti.poll_ready(), None);
    Ok(())
}

#[test]
fn services_need_a_connection_and_a_membership() {
    let world = World::new(&[]);
    let f = world.opened("A");
    assert_eq!(f.create("G", &[], TIME), Err(NotConnected));
    assert_eq!(f.destroy("F"), Err(NotConnected));
    assert_eq!(f.join("F", &[]), Err(NotConnected));
    assert_eq!(f.publish("C", &["a"]), Err(NotConnected));
    f.connect().unwrap();
    assert_eq!(f.publish("C", &["a"]), Err(FederateNotExecutionMember));
    assert_eq!(f.resign(ResignAction::NoAction), Err(FederateNotExecutionMember));
    assert_eq!(f.class_handle("C"), Err(FederateNotExecutionMember));
    assert_eq!(f.achieve("P", true), Err(FederateNotExecutionMember));
}

#[test]
fn a_session_that_ended_is_not_connected() {
    let world = World::new(&[]);
    let f = world.joined("A");
    world.lose(&f);
    assert_eq!(f.publish("C", &["a"]), Err(NotConnected));
}

fn password(text: &str) -> Bytes {
    let units: Vec<u16> = text.encode_utf16().collect();
    let octets = (units.len() as u32).to_be_bytes().into_iter();
    octets.chain(units.into_iter().flat_map(u16::to_be_bytes)).collect()
}

fn connect_with(f: &Fed, kind: &str, data: Bytes) -> Refused {
    let credentials = Some(api::Credentials { r#type: kind.to_owned(), data });
    f.plain(Call::ConnectWithCredentialsRequest(api::ConnectWithCredentialsRequest { credentials }))
}

#[test]
fn credentials() {
    let f = World::new(&[]).opened("A");
    assert_eq!(connect_with(&f, "HLAnoCredentials", Bytes::from_static(b"x")), Err(InvalidCredentials));
    assert_eq!(
        connect_with(&f, "HLAplainTextPassword", Bytes::from_static(b"open")),
        Err(InvalidCredentials)
    );
    assert_eq!(connect_with(&f, "Badge", Bytes::new()), Err(InvalidCredentials));
    assert_eq!(f.join("F", &[]), Err(NotConnected), "a refused connect leaves the federate unconnected");
    assert_eq!(connect_with(&f, "HLAplainTextPassword", password("whatever")), Ok(()));
    assert_eq!(connect_with(&f, "Badge", Bytes::new()), Err(AlreadyConnected));
}

#[test]
fn a_configuration_is_answered_with_what_was_used() {
    let f = World::new(&[]).opened("A");
    let rti_configuration = Some(api::RtiConfiguration {
        configuration_name: "night".to_owned(),
        rti_address: String::new(),
        additional_settings: "API.version=IEEE 1516-2010\ncolour=red".to_owned(),
    });
    let request = api::ConnectWithConfigurationRequest { rti_configuration };
    match f.call(Call::ConnectWithConfigurationRequest(request)) {
        Ok(Answer::ConnectWithConfigurationResponse(answer)) => {
            let result = answer.configuration_result.unwrap();
            assert!(!result.configuration_used && !result.address_used);
            assert!(
                result.message.contains("night") && result.message.contains("colour"),
                "{}",
                result.message
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(f.world.0.borrow().rti.is_evolved(f.caller));
}

#[test]
fn a_failed_create_leaves_nothing() -> Refused {
    let world = World::new(&[]);
    let f = world.connected("A");
    let main = fom::main(&[]);
    let bad = [("1.xml", &*main), ("2.xml", &*fom::more()), ("3.xml", "<objectModel")];
    assert_eq!(f.create("G", &bad, TIME), Err(ErrorReadingFOM));
    f.create("G", &bad[..2], TIME)
}

#[test]
fn an_existing_federation_stays_as_it_is() -> Refused {
    let world = World::new(&[]);
    let f = world.joined("A");
    let other = fom::objects("<objectClass><name>Other</name></objectClass>");
    assert_eq!(f.create("F", &[("o.xml", &*other)], TIME), Err(FederationExecutionAlreadyExists));
    assert_eq!(f.create("F", &[("o.xml", "<broken")], TIME), Err(FederationExecutionAlreadyExists));
    assert_eq!(f.class_handle("Other"), Err(NameNotFound));
    f.class_handle("C").map(|_| ())
}

#[test]
fn unknown_time_creates_no_federation() -> Refused {
    let world = World::new(&[]);
    let f = world.connected("A");
    let main = fom::main(&[]);
    assert_eq!(f.create("G", &[("m.xml", &*main)], "WallClock"), Err(CouldNotCreateLogicalTimeFactory));
    assert_eq!(f.destroy("G"), Err(FederationExecutionDoesNotExist));
    f.create("G", &[("m.xml", &*main)], "")?;
    f.create("H", &[("m.xml", &*main)], "HLAfloat64Time")?;
    f.plain(Call::ListFederationExecutionsRequest(api::ListFederationExecutionsRequest {}))?;
    let listed = "federations(F:HLAinteger64Time G:HLAfloat64Time H:HLAfloat64Time)";
    assert_eq!(f.callbacks(), [listed]);
    Ok(())
}

#[test]
fn the_standard_mim_is_not_to_be_named() {
    let f = World::new(&[]).connected("A");
    let url =
        |url: &str| api::FomModule { fom_module: Some(api::fom_module::FomModule::Url(url.to_owned())) };
    let create = |mim: &str| {
        f.plain(Call::CreateFederationExecutionWithMimRequest(api::CreateFederationExecutionWithMimRequest {
            federation_name: "G".to_owned(),
            fom_modules: None,
            mim_module: Some(url(mim)),
        }))
    };
    assert_eq!(create("HLAstandardMIM"), Err(DesignatorIsHLAstandardMIM));
    assert_eq!(create("nowhere.xml"), Err(CouldNotOpenMIM));
    let file = api::FileFomModule { name: "m.xml".to_owned(), content: "<no".into() };
    let mim = api::FomModule { fom_module: Some(api::fom_module::FomModule::File(file)) };
    let request = api::CreateFederationExecutionWithMimRequest {
        federation_name: "G".to_owned(),
        fom_modules: None,
        mim_module: Some(mim),
    };
    assert_eq!(f.plain(Call::CreateFederationExecutionWithMimRequest(request)), Err(ErrorReadingMIM));
    let request = api::CreateFederationExecutionRequest {
        federation_name: "G".to_owned(),
        fom_module: Some(url("nowhere.xml")),
    };
    assert_eq!(f.plain(Call::CreateFederationExecutionRequest(request)), Err(CouldNotOpenFOM));
}

#[test]
fn destroying_waits_for_the_last_federate() -> Refused {
    let world = World::new(&[]);
    let (f, other) = (world.joined("A"), world.connected("B"));
    assert_eq!(other.destroy("F"), Err(FederatesCurrentlyJoined));
    assert_eq!(f.destroy("F"), Err(FederatesCurrentlyJoined));
    other.create("G", &[], TIME)?;
    other.join("G", &[])?;
    f.resign(ResignAction::NoAction)?;
    other.destroy("F")?;
    assert_eq!(other.destroy("F"), Err(FederationExecutionDoesNotExist));
    assert_eq!(f.join("F", &[]), Err(FederationExecutionDoesNotExist));
    Ok(())
}

#[test]
fn federate_names_are_unique_while_joined() -> Refused {
    let world = World::new(&[]);
    let (f, twin) = (world.joined("A"), world.connected("A"));
    assert_eq!(twin.join("F", &[]), Err(FederateNameAlreadyInUse));
    assert_eq!(f.join("F", &[]), Err(FederateAlreadyExecutionMember));
    f.resign(ResignAction::NoAction)?;
    twin.join("F", &[])?;
    assert_ne!(twin.handle.get(), f.handle.get(), "handles of federates are not used again");
    assert_eq!(twin.federate_name(f.handle.get()), Err(FederateHandleNotKnown));
    Ok(())
}

#[test]
fn federates_without_a_name_get_a_unique_one() {
    let world = World::new(&[]);
    let (a, b) = (world.connected(""), world.connected(""));
    for f in [&a, &b] {
        let request = api::JoinFederationExecutionRequest {
            federate_type: "T".to_owned(),
            federation_name: "F".to_owned(),
        };
        match f.call(Call::JoinFederationExecutionRequest(request)) {
            Ok(Answer::JoinFederationExecutionResponse(joined)) => {
                let joined = joined.result.unwrap();
                assert_eq!(joined.logical_time_implementation_name, TIME);
                f.note_joined(joined.federate_handle, String::new());
            }
            other => panic!("{other:?}"),
        }
    }
    let name = |f: &Fed| a.federate_name(f.handle.get()).unwrap();
    assert_ne!(name(&a), name(&b));
    assert_eq!(a.federate_called(&name(&b)), Ok(b.handle.get()));
}

#[test]
fn a_join_that_clashes_changes_nothing() -> Refused {
    let world = World::new(&[]);
    let (f, late) = (world.joined("A"), world.connected("B"));
    let before = f.class_handle("C.S")?;
    let clash = fom::objects(&format!(
        "<objectClass><name>C</name>{}</objectClass><objectClass><name>New</name></objectClass>",
        fom::attribute("a", "HLAbestEffort", "TimeStamp")
    ));
    assert_eq!(late.join("F", &[("clash.xml", &*clash)]), Err(InconsistentFOM));
    assert_eq!(late.join("F", &[("bad.xml", "<x")]), Err(ErrorReadingFOM));
    assert_eq!(f.class_handle("New"), Err(NameNotFound));
    assert_eq!(f.class_handle("C.S")?, before);
    assert_eq!(late.class_handle("C"), Err(FederateNotExecutionMember));
    late.join("F", &[])
}

#[test]
fn a_join_may_add_classes_and_repeat_modules() -> Refused {
    let world = World::new(&[]);
    let (f, late) = (world.joined("A"), world.connected("B"));
    let before = (f.class_handle("C")?, f.class_handle("C.S")?, f.attribute_handle("C.S", "c")?);
    late.join("F", &[("main.xml", &*fom::main(&[])), ("more.xml", &*fom::more())])?;
    world.learn(&[("more.xml", &fom::more())]);
    for f in [&f, &late] {
        assert_eq!((f.class_handle("C")?, f.class_handle("C.S")?, f.attribute_handle("C.S", "c")?), before);
        assert!(f.class_handle("C.Z")? > 0 && f.attribute_handle("C.S", "d")? > 0);
    }
    Ok(())
}

#[test]
fn members_are_listed_for_anybody_connected() -> Refused {
    let world = World::new(&[]);
    let (_f, other) = (world.joined("A"), world.connected("B"));
    let list = |name: &str| {
        other.plain(Call::ListFederationExecutionMembersRequest(api::ListFederationExecutionMembersRequest {
            federation_name: name.to_owned(),
        }))
    };
    list("F")?;
    list("G")?;
    assert_eq!(other.callbacks(), ["members(F, A:T)", "noFederation(G)"]);
    Ok(())
}

#[test]
fn a_federate_that_joins_again_starts_afresh() -> Refused {
    let (_world, [f, other]) = World::join(&[]);
    other.publish("C", &["a"])?;
    f.subscribe("C", &["a"])?;
    f.set_scope(true)?;
    f.resign(ResignAction::NoAction)?;
    let first = f.handle.get();
    f.join("F", &[])?;
    assert_ne!(f.handle.get(), first);
    other.register("C")?;
    assert_eq!(f.callbacks(), [""; 0], "subscriptions ended with the membership");
    f.subscribe("C", &["a"])?;
    assert_eq!(f.callbacks(), ["discover(1, C, B)"], "and so did switches");
    Ok(())
}

#[test]
fn a_join_of_a_session_that_ends_meanwhile_is_undone() {
    let world = World::new(&[]);
    let f = world.connected("A");
    {
        let mut inner = world.0.borrow_mut();
        let now = inner.now;
        let request = Call::JoinFederationExecutionRequest(api::JoinFederationExecutionRequest {
            federate_type: "T".to_owned(),
            federation_name: "F".to_owned(),
        });
        assert!(inner.rti.call(now, f.caller, rti::CallId(77), request).is_none());
        inner.rti.close(now, f.caller);
        while let Some(proposal) = inner.rti.poll_proposal() {
            inner.rti.commit(now, proposal);
        }
        assert!(inner.rti.status()[0].federates.is_empty());
    }
    assert_eq!(world.connected("B").destroy("F"), Ok(()), "nobody is left behind");
}

/// Does all due slices of work. Returns how many there were.
fn work_off(world: &World) -> usize {
    let inner = &mut *world.0.borrow_mut();
    let mut slices = 0;
    while let Some(due) = inner.rti.poll_timeout() {
        inner.rti.handle_timeout(due);
        inner.commit_all();
        slices += 1;
    }
    slices
}

#[test]
fn the_instances_of_a_federation_execution_that_is_over_are_freed_in_slices() -> Refused {
    let (world, [a]) = World::join(&[]);
    a.publish("C", &["a"])?;
    for _ in 0..12_000 {
        a.register("C")?;
    }
    world.lose(&a);
    work_off(&world);
    assert_eq!(world.0.borrow().rti.status()[0].unowned, 12_000);
    world.connected("B").destroy("F")?;
    assert_eq!(work_off(&world), 2, "5,000 each, the first ones at once");
    Ok(())
}

/// A module of an edition that gives class `C` one attribute.
fn module_of(year: u32, attribute: &str) -> api::FomModule {
    let namespace = format!("http://standards.ieee.org/IEEE1516-{year}");
    let content = format!(
        "<objectModel xmlns='{namespace}'><objects><objectClass><name>HLAobjectRoot</name><objectClass>\
         <name>C</name><attribute><name>{attribute}</name></attribute></objectClass></objectClass></objects>\
         </objectModel>"
    );
    let file = api::FileFomModule { name: format!("{attribute}.xml"), content: content.into() };
    api::FomModule { fom_module: Some(api::fom_module::FomModule::File(file)) }
}

#[test]
fn the_edition_of_the_modules_decides_how_they_are_merged() {
    let world = World::new(&[]);
    let f = world.connected("A");
    let create = |name: &str, years: [u32; 2]| {
        let modules = [module_of(years[0], "a"), module_of(years[1], "b")];
        let request = api::CreateFederationExecutionWithModulesRequest {
            federation_name: name.to_owned(),
            fom_modules: Some(modules.into_iter().collect()),
        };
        f.plain(Call::CreateFederationExecutionWithModulesRequest(request))
    };
    assert_eq!(create("Old", [2010, 2010]), Err(InconsistentFOM), "a class may not be extended");
    assert_eq!(create("New", [2025, 2025]), Ok(()));
    assert_eq!(create("Both", [2010, 2025]), Ok(()), "a model of 2025 takes modules of both");
}
