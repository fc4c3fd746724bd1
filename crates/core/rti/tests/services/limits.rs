//! Limits on the state that one federate can make the RTI keep: at the limits, and one beyond.

use crate::common::{Refused, World};
use hla::Exception::*;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, ResignAction};
use rti::limits::{NAME_BYTES_MAX, SYNC_POINTS_MAX, SYNC_TAG_BYTES_MAX};
use rti::{CallId, CallerId, Config, NoFoms, Rti};

const TIME: &str = "HLAinteger64Time";

fn name(octets: usize) -> String {
    "n".repeat(octets)
}

#[test]
fn names_of_federations_and_federates() -> Refused {
    let world = World::empty(Config::default());
    let (longest, too_long) = (name(NAME_BYTES_MAX), name(NAME_BYTES_MAX + 1));
    let f = world.connected(&longest);
    assert_eq!(f.create(&too_long, &[], TIME), Err(RTIinternalError));
    f.create(&longest, &[], TIME)?;
    assert_eq!(world.connected(&too_long).join(&longest, &[]), Err(RTIinternalError));
    f.join(&longest, &[])?;
    f.resign(ResignAction::NoAction)
}

#[test]
fn names_of_object_instances() -> Refused {
    let world = World::new(&[]);
    let f = world.joined("A");
    f.reserve(&name(NAME_BYTES_MAX))?;
    assert_eq!(f.reserve(&name(NAME_BYTES_MAX + 1)), Err(IllegalName));
    assert_eq!(f.reserve_all(&["fine", &name(NAME_BYTES_MAX + 1)]), Err(IllegalName));
    Ok(())
}

#[test]
fn synchronization_points() -> Refused {
    let world = World::new(&[]);
    let f = world.joined("A");
    assert_eq!(f.register_sync(&name(NAME_BYTES_MAX + 1), ""), Err(RTIinternalError));
    assert_eq!(f.register_sync("tag", &name(SYNC_TAG_BYTES_MAX + 1)), Err(RTIinternalError));
    f.register_sync(&name(NAME_BYTES_MAX), &name(SYNC_TAG_BYTES_MAX))?;
    for point in 1..SYNC_POINTS_MAX {
        f.register_sync(&format!("point {point}"), "")?;
    }
    assert_eq!(f.register_sync("one too many", ""), Err(RTIinternalError));
    Ok(())
}

#[test]
fn federation_executions() -> Refused {
    let world = World::empty(Config { federations_max: 3, ..Config::default() });
    let f = world.connected("A");
    for federation in ["F", "G", "H"] {
        f.create(federation, &[], TIME)?;
    }
    assert_eq!(f.create("I", &[], TIME), Err(RTIinternalError));
    f.destroy("G")?;
    f.create("I", &[], TIME)
}

/// A client that requests one list after the other and takes none of them cannot make the RTI keep
/// them.
#[test]
fn lists_that_are_not_taken() {
    let mut rti = Rti::new(Config::default(), Box::new(NoFoms));
    let (now, caller) = (base::Moment::ZERO, CallerId(1));
    let mut number = 0;
    let mut call = |rti: &mut Rti, request| {
        number += 1;
        let answer = rti.call(now, caller, CallId(number), request);
        let committed = rti.poll_proposal().and_then(|proposal| rti.commit(now, proposal));
        answer.or(committed.map(|completion| completion.answer)).expect("nothing else decides")
    };
    rti.open(now, caller).unwrap();
    call(&mut rti, Call::ConnectRequest(api::ConnectRequest::default())).unwrap();
    for federation in 0..100 {
        let federation_name = format!("{federation}{}", name(1_000));
        let create = api::CreateFederationExecutionRequest { federation_name, ..Default::default() };
        call(&mut rti, Call::CreateFederationExecutionRequest(create)).unwrap();
    }
    let list = || Call::ListFederationExecutionsRequest(api::ListFederationExecutionsRequest {});
    // Each list has over 100 kB.
    let taken = (0..1_000).take_while(|_| call(&mut rti, list()).is_ok()).count();
    assert!((5..20).contains(&taken), "{taken} lists");
    while rti.poll_callback(caller).is_some() {}
    call(&mut rti, list()).expect("those that waited were taken");
}
