//! The call table at work: every call is checked by it, and counted.

use crate::common::{Fed, Refused, World};
use hla::Exception::{self, *};
use hla::api::{CallRequest, Message as _, Needs, ResignAction, SERVICES, Service};
use rti::CallId;

/// An empty request of a service.
fn request(service: &Service) -> CallRequest {
    let mut octets = Vec::new();
    prost::encoding::encode_key(service.field, prost::encoding::WireType::LengthDelimited, &mut octets);
    octets.push(0);
    CallRequest::decode(&octets[..]).expect("a known field with an empty message")
}

fn refusal(fed: &Fed, service: &Service) -> Option<Exception> {
    let request = request(service).call_request.expect("a known service");
    assert_eq!(request.service(), service);
    fed.call(request).err().map(|error| error.exception)
}

#[test]
fn callers_are_refused_by_what_they_have_reached() {
    let world = World::new(&[]);
    let open = world.opened("A");
    let connected = world.connected("B");
    for service in SERVICES.iter().filter(|service| service.needs != Needs::Nothing) {
        assert_eq!(refusal(&open, service), Some(NotConnected), "{}", service.name);
    }
    for service in SERVICES.iter().filter(|service| service.needs == Needs::Membership) {
        assert_eq!(refusal(&connected, service), Some(FederateNotExecutionMember), "{}", service.name);
    }
}

#[test]
fn services_raise_only_what_they_declare() {
    let (world, [a]) = World::join(&[]);
    for service in SERVICES.iter().filter(|service| service.name != "resignFederationExecution") {
        if let Some(exception) = refusal(&a, service) {
            assert!(service.raises(exception), "{}: {exception}", service.name);
        }
    }
    let fresh = |name: &str| [world.opened(name), world.connected(name)];
    for service in SERVICES.iter().filter(|service| service.needs != Needs::Membership) {
        for (at, fed) in fresh(service.name).iter().enumerate() {
            if let Some(exception) = refusal(fed, service) {
                assert!(service.raises(exception), "{} of caller {at}: {exception}", service.name);
            }
        }
    }
}

#[test]
fn calls_are_counted_unless_the_table_refuses_them() -> Refused {
    let (world, [a, b]) = World::join(&[]);
    let count = |name: &str| {
        let inner = world.0.borrow();
        inner.rti.calls().find(|(service, _)| service.name == name).map(|(_, count)| count)
    };
    assert_eq!(count("joinFederationExecutionWithNameAndModules"), Some(2));
    assert_eq!(count("sendInteraction"), Some(0));
    a.publish_interaction("I")?;
    a.send("I", "p=1")?;
    a.send("I", "")?;
    assert_eq!(b.send("I", ""), Err(InteractionClassNotPublished), "refused by the service, and counted");
    assert_eq!(count("sendInteraction"), Some(3));
    b.resign(ResignAction::NoAction)?;
    assert_eq!(b.send("I", ""), Err(FederateNotExecutionMember));
    assert_eq!(count("sendInteraction"), Some(3));
    let mut inner = world.0.borrow_mut();
    let now = inner.now;
    inner.rti.close(now, b.caller);
    let request = request(&SERVICES[4]).call_request.expect("disconnect");
    assert!(matches!(inner.rti.call(now, b.caller, CallId(9), request), Some(Err(_))));
    Ok(())
}
