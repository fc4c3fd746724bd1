//! Reports of services (11.5), and the switch that begins them.

use crate::common::mom::{FEDERATE, handle_of, number};
use crate::common::{Fed, Refused, World};
use bytes::Bytes;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, ResignAction, call_response::CallResponse as Answer};

const REPORTS: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";

/// A federate whose services are reported, and one that hears the reports.
fn reported() -> Refused<(World, Fed, Fed)> {
    let (world, [a, b]) = World::join(&[]);
    b.subscribe_interaction(REPORTS)?;
    set(&a, true)?;
    b.skip();
    Ok((world, a, b))
}

fn set(federate: &Fed, value: bool) -> Refused {
    let request = api::SetServiceReportingSwitchRequest { value };
    federate.plain(Call::SetServiceReportingSwitchRequest(request))
}

fn is_on(federate: &Fed) -> bool {
    match federate.call(Call::GetServiceReportingSwitchRequest(Default::default())) {
        Ok(Answer::GetServiceReportingSwitchResponse(response)) => response.result,
        other => panic!("{other:?}"),
    }
}

fn about(federate: &Fed) -> (&'static str, Bytes) {
    ("federate", handle_of(federate))
}

/// [113]
#[test]
fn reports_are_not_both_made_and_heard() -> Refused {
    let (_, a, b) = reported()?;
    assert!(is_on(&a) && !is_on(&b));
    let refused = Err(Exception::FederateServiceInvocationsAreBeingReportedViaMOM);
    assert_eq!(a.subscribe_interaction(REPORTS), refused);
    assert_eq!(set(&b, true), Err(Exception::ReportServiceInvocationsAreSubscribed));
    assert!(!is_on(&b));
    set(&a, false)?;
    a.subscribe_interaction(REPORTS)?;
    b.unsubscribe_interaction(REPORTS)?;
    set(&b, true)
}

/// [115]
#[test]
fn reports_are_numbered_from_0_for_each_federate() -> Refused {
    let (_, a, b) = reported()?;
    a.publish("C.S", &["a"])?;
    assert!(a.update(9, "a=1").is_err());
    let told = b.managed();
    let [published, failed] = &told[..] else { panic!("{told:?}") };
    assert!(
        published.starts_with(
            "HLAreportServiceInvocation(federate=1 service=publishObjectClassAttributes serviceType=1 \
             successIndicator=true"
        ),
        "{published}"
    );
    assert!(published.ends_with("exception= serialNumber=0)"), "{published}");
    assert!(
        failed.contains("service=updateAttributeValues serviceType=2 successIndicator=false"),
        "{failed}"
    );
    assert!(
        failed.contains("exception=ObjectInstanceNotKnown") && failed.ends_with("serialNumber=1)"),
        "{failed}"
    );
    set(&a, false)?;
    assert_eq!(b.managed().len(), 1, "the call that ends the reports is reported");
    a.publish("C.S", &["c"])?;
    assert!(b.managed().is_empty());
    set(&a, true)?;
    a.unpublish_class("C.S")?;
    assert!(b.managed().concat().ends_with("serialNumber=3)"), "numbers continue");
    Ok(())
}

#[test]
fn arguments_results_and_callbacks_are_told() -> Refused {
    let (world, a, b) = reported()?;
    let c = world.joined("C");
    c.publish("C.S", &["a"])?;
    a.subscribe("C.S", &["a"])?;
    b.skip();
    c.register("C.S")?;
    let told = b.managed();
    let [discovery] = &told[..] else { panic!("{told:?}") };
    assert!(
        discovery.contains("service=discoverObjectInstance serviceType=2 successIndicator=true"),
        "{discovery}"
    );
    assert!(discovery.contains("objectInstanceName"), "{discovery}");
    a.publish("C.S", &["a"])?;
    b.skip();
    a.register("C.S")?;
    let told = b.managed().concat();
    assert!(told.contains("service=registerObjectInstance") && told.contains("objectClass"), "{told}");
    assert!(told.contains("returnedArgument=(37,result,oi"), "{told}");
    Ok(())
}

#[test]
fn an_answer_that_comes_later_is_reported_with_it() -> Refused {
    let (_, a, b) = reported()?;
    a.register_sync("P", "")?;
    let told: Vec<String> = b.managed();
    let of = |name: &str| told.iter().filter(|report| report.contains(&format!("service={name} "))).count();
    assert_eq!(of("registerFederationSynchronizationPoint"), 1, "{told:?}");
    assert_eq!(of("synchronizationPointRegistrationSucceeded"), 1, "{told:?}");
    assert_eq!(of("announceSynchronizationPoint"), 1, "{told:?}");
    Ok(())
}

/// Otherwise each report would be the reason for another one.
#[test]
fn what_the_rti_itself_sends_is_not_reported() -> Refused {
    let (_, a, b) = reported()?;
    a.subscribe_interaction("HLAmanager.HLAfederate.HLAreport")?;
    a.watch(FEDERATE, &["federateName"])?;
    a.skip();
    b.skip();
    a.publish("C.S", &["a"])?;
    assert_eq!(b.managed().len(), 1);
    assert_eq!(a.managed().len(), 1, "it hears of it by a superclass");
    Ok(())
}

#[test]
fn others_set_the_switch() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    b.subscribe_interaction(REPORTS)?;
    b.watch(FEDERATE, &["serviceReporting"])?;
    b.subscribe_interaction("HLAmanager.HLAfederate.HLAreport.HLAreportMOMexception")?;
    b.skip();
    let switches = "HLAfederate.HLAadjust.HLAsetSwitches";
    b.ask_rti(switches, &[about(&a), ("serviceReporting", number(1))])?;
    assert_eq!(b.managed(), ["reflect(A, serviceReporting=1)"]);
    a.publish("C.S", &["a"])?;
    assert_eq!(b.managed().len(), 1);
    b.ask_rti(switches, &[about(&b), ("serviceReporting", number(1))])?;
    let told = b.managed().concat();
    assert!(told.contains("ReportServiceInvocationsAreSubscribed"), "{told}");
    b.ask_rti(switches, &[about(&a), ("sendServiceReportsToFile", number(1))])?;
    assert!(b.managed().concat().contains("writes no files of service reports"));
    let files = api::SetSendServiceReportsToFileSwitchRequest { value: true };
    assert!(a.plain(Call::SetSendServiceReportsToFileSwitchRequest(files)).is_err());
    b.ask_rti(switches, &[about(&a), ("serviceReporting", number(0))])?;
    b.skip();
    a.publish("C.S", &["c"])?;
    assert!(b.managed().is_empty());
    Ok(())
}

#[test]
fn reports_end_with_the_membership() -> Refused {
    let (_, a, b) = reported()?;
    a.resign(ResignAction::NoAction)?;
    assert!(b.managed().concat().contains("service=resignFederationExecution"), "the last one");
    a.join("F", &[])?;
    a.publish("C.S", &["a"])?;
    assert!(b.managed().is_empty());
    Ok(())
}
