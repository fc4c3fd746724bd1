//! The management object model (clause 11): its interactions.

use crate::common::mom::{FEDERATE, FEDERATION, handle_of, instance_of, number, text};
use crate::common::{Fed, Refused, World, fom};
use bytes::Bytes;
use hla::Exception;
use hla::encoding::{Encode as _, OpaqueData};
use hla::fom::{Edition, Fdd};
use hla::handle::FederateHandle;
use rti::Config;
use std::time::Duration;

/// Two federates, the second of which hears all reports.
fn watched() -> Refused<(World, Fed, Fed)> {
    let (world, [a, b]) = World::join(&[]);
    b.hear_all_reports()?;
    Ok((world, a, b))
}

fn about(federate: &Fed) -> (&'static str, Bytes) {
    ("federate", handle_of(federate))
}

/// [111]
#[test]
fn periods_begin_and_end() -> Refused {
    let (world, [a, b]) = World::join(&[]);
    b.watch(FEDERATE, &["federateName", "updatesSent", "timeRegulating"])?;
    b.skip();
    let pass = |time| {
        world.pass(time);
        let mut inner = world.0.borrow_mut();
        let now = inner.now;
        inner.rti.handle_timeout(now);
        inner.take_callbacks();
    };
    let due = || world.0.borrow().rti.poll_timeout();
    assert_eq!(due(), None);
    b.ask_rti("HLAfederate.HLAadjust.HLAsetTiming", &[about(&a), ("reportPeriod", number(1))])?;
    assert!(b.managed().is_empty());
    pass(Duration::from_millis(999));
    assert!(b.managed().is_empty());
    for _ in 0..3 {
        pass(Duration::from_secs(1));
        assert_eq!(b.managed(), ["reflect(A, updatesSent=0)"], "neither static ones nor those of others");
    }
    b.ask_rti("HLAfederate.HLAadjust.HLAsetTiming", &[about(&a), ("reportPeriod", number(0))])?;
    assert_eq!(due(), None);
    pass(Duration::from_secs(10));
    assert!(b.managed().is_empty());
    Ok(())
}

/// [112]
#[test]
fn wrong_parameters_are_reported_and_have_no_effect() -> Refused {
    let (_, a, b) = watched()?;
    let timing = "HLAfederate.HLAadjust.HLAsetTiming";
    let opaque = |octets: &'static [u8]| OpaqueData(Bytes::from_static(octets)).encode().unwrap();
    let cases: [(&[(&str, Bytes)], &str); 6] = [
        (&[("reportPeriod", number(1))], "parameter HLAfederate is missing"),
        (&[about(&a)], "parameter HLAreportPeriod is missing"),
        (&[about(&a), ("reportPeriod", number(-1))], "no HLAinteger32BE from 0 on"),
        (&[about(&a), ("reportPeriod", Bytes::from_static(b"abc"))], "no HLAinteger32BE from 0 on: 3 octets"),
        (&[("federate", opaque(&[0, 0, 0, 9])), ("reportPeriod", number(1))], "f9 is no joined federate"),
        (&[("federate", opaque(&[])), ("reportPeriod", number(1))], "f0 is no joined federate"),
    ];
    for (parameters, why) in cases {
        a.ask_rti(timing, parameters)?;
        let told = b.managed();
        let [report] = &told[..] else { panic!("{told:?}") };
        let start = format!(
            "HLAreportMOMexception(federate=1 service=HLAinteractionRoot.HLAmanager.{timing} exception="
        );
        assert!(report.starts_with(&start), "{report}");
        assert!(report.contains(why) && report.ends_with("parameterError=true)"), "{report}");
    }
    assert!(a.callbacks().is_empty());
    // The octets of a handle are also accepted as they are.
    let octets = Bytes::from(a.handle.get().to_octets());
    a.ask_rti("HLAfederate.HLArequest.HLArequestPublications", &[("federate", octets)])?;
    assert_eq!(b.managed().len(), 3);
    assert_eq!(a.send("HLAmanager.HLAfederate.HLArequest", ""), Err(Exception::InteractionClassNotPublished));
    Ok(())
}

#[test]
fn federates_without_declarations_are_reported() -> Refused {
    let (_, a, b) = watched()?;
    let ask = |what: &str| {
        b.ask_rti(&format!("HLAfederate.HLArequest.HLArequest{what}"), &[about(&a)])?;
        Ok::<_, Exception>(b.managed())
    };
    assert_eq!(
        ask("Publications")?,
        [
            "HLAreportObjectClassPublication(federate=1 numberOfClasses=0)",
            "HLAreportInteractionPublication(federate=1 interactionClassList=[])",
            "HLAreportDirectedInteractionPublication(federate=1 numberOfClasses=0)",
        ]
    );
    assert_eq!(
        ask("Subscriptions")?,
        [
            "HLAreportObjectClassSubscription(federate=1 numberOfClasses=0)",
            "HLAreportInteractionSubscription(federate=1 interactionClassList=[])",
            "HLAreportDirectedInteractionSubscription(federate=1 numberOfClasses=0)",
        ]
    );
    Ok(())
}

#[test]
fn declarations_are_reported() -> Refused {
    let (_, a, b) = watched()?;
    let ask = |what: &str| {
        b.ask_rti(&format!("HLAfederate.HLArequest.HLArequest{what}"), &[about(&a)])?;
        Ok::<_, Exception>(b.managed())
    };
    a.publish("C", &["a"])?;
    a.publish("E", &["e"])?;
    a.publish_interaction("I")?;
    a.publish_directed("C", &["D"])?;
    a.subscribe("C", &["a"])?;
    a.subscribe_at("C", &["b"], "Low")?;
    a.subscribe_passively("E", &["e"])?;
    a.subscribe_interaction("I")?;
    a.subscribe_interaction_passively("B")?;
    a.subscribe_universally("C", &["D"])?;
    let class = |name: &str| a.class(name).unwrap().0;
    let interaction = |name: &str| a.interaction(name).unwrap().0;
    let at = |name: &str| a.attribute(name).0;
    let privilege = at("privilege");
    let (c, e, i, d, low) = (class("C"), class("E"), interaction("I"), interaction("D"), interaction("B"));
    assert_eq!(
        ask("Publications")?,
        [
            format!(
                "HLAreportObjectClassPublication(federate=1 numberOfClasses=2 objectClass={c} attributeList=[{privilege},{}])",
                at("a")
            ),
            format!(
                "HLAreportObjectClassPublication(federate=1 numberOfClasses=2 objectClass={e} attributeList=[{privilege},{}])",
                at("e")
            ),
            format!("HLAreportInteractionPublication(federate=1 interactionClassList=[{i}])"),
            format!(
                "HLAreportDirectedInteractionPublication(federate=1 numberOfClasses=1 objectClass={c} interactionClassList=[{d}])"
            ),
        ]
    );
    let mut told = ask("Subscriptions")?;
    let subscribed = |class, active, rate, attribute| {
        format!(
            "HLAreportObjectClassSubscription(federate=1 numberOfClasses=3 objectClass={class} active={active} \
             maxUpdateRate={rate} attributeList=[{attribute}])"
        )
    };
    let mut expected = vec![
        subscribed(c, true, "", at("a")),
        subscribed(c, true, "Low", at("b")),
        subscribed(e, false, "", at("e")),
        format!(
            "HLAreportDirectedInteractionSubscription(federate=1 numberOfClasses=1 objectClass={c} interactionClassList=[{d}])"
        ),
        format!(
            "HLAreportInteractionSubscription(federate=1 interactionClassList=[({},{}),({},{})])",
            i.min(low),
            i < low,
            i.max(low),
            i > low
        ),
    ];
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    Ok(())
}

/// [114]
#[test]
fn messages_are_counted_by_transportation_type_and_class() -> Refused {
    let (_, a, b) = watched()?;
    let ask = |of: &Fed, what: &str| {
        b.ask_rti(&format!("HLAfederate.HLArequest.HLArequest{what}"), &[about(of)])?;
        Ok::<_, Exception>(b.managed())
    };
    assert_eq!(
        ask(&a, "UpdatesSent")?,
        [
            "HLAreportUpdatesSent(federate=1 transportation=1 updateCounts=[])",
            "HLAreportUpdatesSent(federate=1 transportation=2 updateCounts=[])",
        ]
    );
    a.publish("C", &["a", "b"])?;
    a.publish("C.S", &["c"])?;
    a.publish_interaction("I")?;
    a.publish_directed("C", &["D"])?;
    b.subscribe("C", &["a", "b"])?;
    b.subscribe_interaction("I")?;
    b.subscribe_universally("C", &["D"])?;
    let (x, y) = (a.register("C")?, a.register("C.S")?);
    a.update(x, "a=1 b=2")?;
    a.update(x, "a=1")?;
    a.update(y, "c=1")?;
    a.send("I", "p=1")?;
    a.direct("D", x, "x=1")?;
    b.skip();
    let (c, s) = (a.class("C").unwrap().0, a.class("C.S").unwrap().0);
    let (i, d) = (a.interaction("I").unwrap().0, a.interaction("D").unwrap().0);
    let two = |name: &str, federate: u32, list: &str, reliable: String, best_effort: String| {
        [(1, reliable), (2, best_effort)].map(|(how, counts)| {
            format!("HLAreport{name}(federate={federate} transportation={how} {list}=[{counts}])")
        })
    };
    let none = String::new;
    assert_eq!(
        ask(&a, "UpdatesSent")?,
        two("UpdatesSent", 1, "updateCounts", format!("({c},2),({s},1)"), format!("({c},1)"))
    );
    assert_eq!(
        ask(&b, "ReflectionsReceived")?,
        two("ReflectionsReceived", 2, "reflectCounts", format!("({c},2)"), format!("({c},1)"))
    );
    assert_eq!(
        ask(&a, "InteractionsSent")?,
        two("InteractionsSent", 1, "interactionCounts", format!("({i},1)"), none())
    );
    assert_eq!(
        ask(&a, "DirectedInteractionsSent")?,
        two("DirectedInteractionsSent", 1, "interactionCounts", format!("({d},1)"), none())
    );
    assert_eq!(
        ask(&b, "DirectedInteractionsReceived")?,
        two("DirectedInteractionsReceived", 2, "interactionCounts", format!("({d},1)"), none())
    );
    let received = ask(&b, "InteractionsReceived")?.concat();
    assert!(received.contains(&format!("({i},1)")), "beside the reports: {received}");
    Ok(())
}

#[test]
fn instances_are_counted_by_class() -> Refused {
    let (_, a, b) = watched()?;
    let ask = |of: &Fed, what: &str| {
        b.ask_rti(&format!("HLAfederate.HLArequest.HLArequest{what}"), &[about(of)])?;
        Ok::<_, Exception>(b.managed())
    };
    a.publish("C", &["a"])?;
    a.publish("C.S", &["c"])?;
    b.subscribe("C", &["a"])?;
    let (x, y) = (a.register("C")?, a.register("C.S")?);
    a.update(x, "a=1")?;
    a.update(x, "a=2")?;
    a.update(y, "c=1")?;
    b.skip();
    let (c, s) = (a.class("C").unwrap().0, a.class("C.S").unwrap().0);
    assert_eq!(
        ask(&a, "ObjectInstancesThatCanBeDeleted")?,
        [format!(
            "HLAreportObjectInstancesThatCanBeDeleted(federate=1 objectInstanceCounts=[({c},1),({s},1)])"
        )]
    );
    assert_eq!(
        ask(&a, "ObjectInstancesUpdated")?,
        [format!("HLAreportObjectInstancesUpdated(federate=1 objectInstanceCounts=[({c},1),({s},1)])")]
    );
    assert_eq!(
        ask(&b, "ObjectInstancesReflected")?,
        [format!("HLAreportObjectInstancesReflected(federate=2 objectInstanceCounts=[({c},1)])")]
    );
    Ok(())
}

#[test]
fn instances_are_described() -> Refused {
    let (_, a, b) = watched()?;
    a.publish("C.S", &["c"])?;
    let x = a.register("C.S")?;
    let instance = a.instance(x).unwrap();
    let ask = |of: &Fed, octets: Vec<u8>| {
        let octets = OpaqueData(octets.into()).encode().unwrap();
        let class = "HLAfederate.HLArequest.HLArequestObjectInstanceInformation";
        b.ask_rti(class, &[about(of), ("objectInstance", octets)])?;
        Ok::<_, Exception>(b.managed().concat())
    };
    let (s, c, number) = (a.class("C.S").unwrap().0, a.class("C").unwrap().0, instance.0);
    let owned = format!("[{},{}]", a.attribute("privilege").0, a.attribute("c").0);
    let start = |federate: u32| {
        format!("HLAreportObjectInstanceInformation(federate={federate} objectInstance={number} ")
    };
    assert_eq!(
        ask(&a, instance.to_octets())?,
        format!("{}ownedInstanceAttributeList={owned} registeredClass={s} knownClass={s})", start(1))
    );
    assert_eq!(
        ask(&b, instance.to_octets())?,
        format!("{}ownedInstanceAttributeList=[])", start(2)),
        "not known"
    );
    b.subscribe("C", &["a"])?;
    b.skip();
    assert_eq!(
        ask(&b, instance.to_octets())?,
        format!("{}ownedInstanceAttributeList=[])", start(2)),
        "unowned"
    );
    a.publish("C", &["a"])?;
    let y = a.register("C")?;
    b.skip();
    let other = a.instance(y).unwrap();
    assert_eq!(
        ask(&b, other.to_octets())?,
        format!(
            "HLAreportObjectInstanceInformation(federate=2 objectInstance={} ownedInstanceAttributeList=[] \
             registeredClass={c} knownClass={c})",
            other.0
        )
    );
    Ok(())
}

#[test]
fn modules_are_reported() -> Refused {
    let (world, a, b) = watched()?;
    let more = fom::objects("<objectClass><name>More</name></objectClass>");
    let c = world.connected("C");
    c.join("F", &[("more.xml", &more)])?;
    b.skip();
    let module = |of: Option<&Fed>, index: i32| {
        let index = ("FOMmoduleIndicator", number(index));
        match of {
            Some(of) => b.ask_rti("HLAfederate.HLArequest.HLArequestFOMmoduleData", &[about(of), index])?,
            None => b.ask_rti("HLAfederation.HLArequest.HLArequestFOMmoduleData", &[index])?,
        }
        Ok::<_, Exception>(b.managed().concat())
    };
    assert_eq!(
        module(None, 1)?,
        format!("HLAreportFOMmoduleData(FOMmoduleIndicator=1 FOMmoduleData={more})")
    );
    assert_eq!(
        module(Some(&c), 0)?,
        format!("HLAreportFOMmoduleData(federate=3 FOMmoduleIndicator=0 FOMmoduleData={more})")
    );
    assert!(module(None, 2)?.starts_with("HLAreportMOMexception"));
    assert!(module(Some(&a), 0)?.starts_with("HLAreportMOMexception"), "it passed none");
    b.ask_rti("HLAfederation.HLArequest.HLArequestMIMdata", &[])?;
    let mim = Fdd::standard(Edition::Hla2025);
    assert_eq!(b.managed(), [format!("HLAreportMIMdata(MIMdata={})", mim.mim().text())]);
    Ok(())
}

#[test]
fn synchronization_points_are_reported() -> Refused {
    let (_, a, b) = watched()?;
    let points = || {
        b.ask_rti("HLAfederation.HLArequest.HLArequestSynchronizationPoints", &[])?;
        Ok::<_, Exception>(b.managed().concat())
    };
    assert_eq!(points()?, "HLAreportSynchronizationPoints(syncPoints=[])");
    a.register_sync_for("P", &[FederateHandle(1)])?;
    a.register_sync("Q", "")?;
    a.achieve("Q", true)?;
    b.skip();
    assert_eq!(points()?, "HLAreportSynchronizationPoints(syncPoints=[P,Q])");
    let status = |label: &str| {
        b.ask_rti(
            "HLAfederation.HLArequest.HLArequestSynchronizationPointStatus",
            &[("syncPointName", text(label))],
        )?;
        Ok::<_, Exception>(b.managed().concat())
    };
    let report = |label: &str, of_a: u32, of_b: u32| {
        format!(
            "HLAreportSynchronizationPointStatus(syncPointName={label} syncPointFederates=[(1,{of_a}),(2,{of_b})])"
        )
    };
    assert_eq!(status("P")?, report("P", 2, 0));
    assert_eq!(status("Q")?, report("Q", 3, 2));
    assert_eq!(status("R")?, report("R", 0, 0));
    b.ask_rti("HLAfederation.HLArequest.HLArequestSynchronizationPointStatus", &[])?;
    assert!(b.managed().concat().starts_with("HLAreportMOMexception"));
    Ok(())
}

#[test]
fn exceptions_are_reported_while_the_switch_is_on() -> Refused {
    let (_, a, b) = watched()?;
    assert!(a.update(9, "a=1").is_err());
    assert!(b.managed().is_empty());
    b.ask_rti("HLAfederate.HLAadjust.HLAsetSwitches", &[about(&a), ("exceptionReporting", number(1))])?;
    assert_eq!(a.update(9, "a=1"), Err(Exception::ObjectInstanceNotKnown));
    let told = b.managed().concat();
    assert!(
        told.starts_with(
            "HLAreportException(federate=1 service=updateAttributeValues exception=ObjectInstanceNotKnown"
        ),
        "{told}"
    );
    assert!(b.update(9, "a=1").is_err());
    assert!(b.managed().is_empty(), "the switch is that of A");
    b.ask_rti("HLAfederate.HLAadjust.HLAsetSwitches", &[about(&a), ("exceptionReporting", number(0))])?;
    assert!(a.update(9, "a=1").is_err());
    assert!(b.managed().is_empty());
    Ok(())
}

#[test]
fn switches_are_set_all_or_none() -> Refused {
    let (_, a, b) = watched()?;
    b.watch(FEDERATE, &["attributeScopeAdvisory", "interactionRelevanceAdvisory", "automaticResignAction"])?;
    b.skip();
    let set = "HLAfederate.HLAadjust.HLAsetSwitches";
    let scope = |value| ("attributeScopeAdvisory", number(value));
    b.ask_rti(set, &[about(&a), scope(1), ("interactionRelevanceAdvisory", number(2))])?;
    assert!(b.managed().concat().starts_with("HLAreportMOMexception"));
    b.ask_rti(set, &[about(&a), scope(1), ("automaticResignAction", number(1))])?;
    let told = b.managed().concat();
    assert!(told.contains("attributeScopeAdvisory=1") && told.contains("automaticResignAction=1"), "{told}");
    b.request_managed(FEDERATE, instance_of(&a), &["interactionRelevanceAdvisory"])?;
    assert_eq!(b.managed(), ["reflect(A, interactionRelevanceAdvisory=0)"]);
    Ok(())
}

#[test]
fn lost_federates_are_reported() -> Refused {
    let (world, a, b) = watched()?;
    a.regulate(1)?;
    a.tar(7)?;
    world.lose(&a);
    let told = b.managed();
    let [report] = &told[..] else { panic!("{told:?}") };
    assert!(
        report.starts_with("HLAreportFederateLost(federate=1 federateName=A timeStamp=7 faultDescription="),
        "{report}"
    );
    Ok(())
}

#[test]
fn the_2010_edition_names_transportation_types() -> Refused {
    let text = "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\"></objectModel>";
    let world = World::with_model(Config::default(), text);
    let [a, b] = ["A", "B"].map(|name| world.joined(name));
    b.hear_all_reports()?;
    b.ask_rti("HLAfederate.HLArequest.HLArequestUpdatesSent", &[about(&a)])?;
    assert_eq!(
        b.managed(),
        [
            "HLAreportUpdatesSent(federate=1 transportation=HLAreliable updateCounts=[])",
            "HLAreportUpdatesSent(federate=1 transportation=HLAbestEffort updateCounts=[])",
        ]
    );
    b.ask_rti("HLAfederate.HLArequest.HLArequestPublications", &[about(&a)])?;
    assert_eq!(b.managed().len(), 2, "it has no directed interactions");
    b.ask_rti("HLAfederate.HLAadjust.HLAsetExceptionReporting", &[about(&a), ("reportingState", number(1))])?;
    assert!(a.update(9, "").is_err());
    assert!(b.managed().concat().starts_with("HLAreportException"));
    Ok(())
}

/// The octets of a list of handles.
fn handles(list: &[Vec<u8>]) -> Bytes {
    let list: Vec<OpaqueData> = list.iter().map(|octets| OpaqueData(octets.clone().into())).collect();
    hla::encoding::Encode::encode(&list).unwrap()
}

#[test]
fn services_are_called_on_behalf_of_others() -> Refused {
    let (_, a, b) = watched()?;
    let service = |name: &str, parameters: &[(&str, Bytes)]| {
        let mut all = vec![about(&a)];
        all.extend_from_slice(parameters);
        b.ask_rti(&format!("HLAfederate.HLAservice.HLA{name}"), &all)?;
        Ok::<_, Exception>(b.managed())
    };
    let class = |name: &str| handle_octets(a.class(name).unwrap().to_octets());
    let attributes = |name: &str| handles(&[a.attribute(name).to_octets()]);
    service(
        "publishObjectClassAttributes",
        &[("objectClass", class("C")), ("attributeList", attributes("a"))],
    )?;
    let x = a.register("C")?;
    service(
        "subscribeObjectClassAttributes",
        &[("objectClass", class("C")), ("attributeList", attributes("b")), ("active", number(0))],
    )?;
    b.publish("C", &["b"])?;
    let y = b.register("C")?;
    assert_eq!(a.callbacks(), [format!("discover({y}, C, B)")]);
    let interaction = handle_octets(a.interaction("I").unwrap().to_octets());
    service("publishInteractionClass", &[("interactionClass", interaction.clone())])?;
    a.send("I", "p=1")?;
    service("subscribeInteractionClass", &[("interactionClass", interaction), ("active", number(1))])?;
    b.publish_interaction("I")?;
    b.send("I", "p=2")?;
    assert_eq!(a.callbacks(), ["receive(I, p=2, reliable, B)"]);
    let time = |value: i64| handle_octets(value.to_be_bytes().to_vec());
    assert!(service("enableTimeRegulation", &[("lookahead", time(3))])?.is_empty());
    assert_eq!(a.lookahead()?, 3);
    assert!(service("timeAdvanceRequest", &[("timeStamp", time(10))])?.is_empty());
    assert_eq!(a.time()?, 10);
    // A service that fails, and one without its parameter.
    let told = service("timeAdvanceRequest", &[("timeStamp", time(5))])?.concat();
    assert!(
        told.starts_with("HLAreportMOMexception(federate=2 ") && told.ends_with("parameterError=false)"),
        "{told}"
    );
    assert!(told.contains("exception=LogicalTimeAlreadyPassed"), "{told}");
    let told = service("timeAdvanceRequest", &[])?.concat();
    assert!(told.ends_with("parameterError=true)"), "{told}");
    let told = service("federateSaveBegun", &[])?.concat();
    assert!(told.contains("exception=SaveNotInitiated") && told.ends_with("parameterError=false)"), "{told}");
    let instance = handle_octets(a.instance(x).unwrap().to_octets());
    service("deleteObjectInstance", &[("objectInstance", instance), ("tag", handle_octets(vec![1]))])?;
    assert_eq!(a.update(x, "a=1"), Err(Exception::ObjectInstanceNotKnown));
    Ok(())
}

fn handle_octets(octets: Vec<u8>) -> Bytes {
    hla::encoding::Encode::encode(&OpaqueData(octets.into())).unwrap()
}

/// [120]: the numbers of the actions are those of the edition.
#[test]
fn federates_are_resigned_by_others() -> Refused {
    let (_, a, b) = watched()?;
    a.publish("C", &["a"])?;
    b.subscribe("C", &["a"])?;
    let x = a.register("C")?;
    b.skip();
    let resign = |number_of_action: i32| {
        let class = "HLAfederate.HLAservice.HLAresignFederationExecution";
        b.ask_rti(class, &[about(&a), ("resignAction", number(number_of_action))])?;
        Ok::<_, Exception>(b.managed())
    };
    let told = resign(5)?.concat();
    assert!(
        told.contains("exception=FederateOwnsAttributes") && told.ends_with("parameterError=false)"),
        "{told}"
    );
    assert!(resign(6)?.concat().ends_with("parameterError=true)"), "2025 counts from 0 to 5");
    assert!(a.callbacks().is_empty());
    assert_eq!(resign(1)?, [format!("remove({:?})", a.instance(x).unwrap())], "1 deletes objects");
    let told = a.callbacks();
    assert!(told.len() == 1 && told[0].starts_with("FederateResigned"), "{told:?}");
    assert_eq!(a.send("I", ""), Err(Exception::FederateNotExecutionMember));
    a.join("F", &[])?;
    Ok(())
}

#[test]
fn values_are_provided_from_when_the_switch_is_set() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    b.watch(FEDERATION, &["autoProvide"])?;
    b.skip();
    a.publish("C", &["a"])?;
    a.register("C")?;
    let set = "HLAfederation.HLAadjust.HLAsetSwitches";
    b.ask_rti(set, &[("autoProvide", number(1))])?;
    assert_eq!(b.managed(), ["reflect(federation, autoProvide=1)"]);
    b.subscribe("C", &["a"])?;
    assert_eq!(a.callbacks(), ["provide(1, a)"]);
    b.ask_rti(set, &[("autoProvide", number(1))])?;
    b.ask_rti(set, &[])?;
    b.skip();
    b.ask_rti(set, &[("autoProvide", number(0))])?;
    assert_eq!(b.managed(), ["reflect(federation, autoProvide=0)"], "only changes are told");
    a.register("C")?;
    assert!(a.callbacks().is_empty());
    Ok(())
}
