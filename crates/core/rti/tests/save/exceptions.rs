//! Each exception of each of the twelve services.

use crate::common::save::Saves;
use crate::common::{Fed, Refused, World};
use bytes::Bytes;
use hla::Exception::{self, *};
use hla::api::{self, LogicalTime};

const SERVICES: [&str; 12] = [
    "requestFederationSave",
    "requestFederationSaveWithTime",
    "federateSaveBegun",
    "federateSaveComplete",
    "federateSaveNotComplete",
    "abortFederationSave",
    "queryFederationSaveStatus",
    "requestFederationRestore",
    "federateRestoreComplete",
    "federateRestoreNotComplete",
    "abortFederationRestore",
    "queryFederationRestoreStatus",
];

fn call(f: &Fed, service: &str) -> Refused {
    match service {
        "requestFederationSave" => f.request_save("L"),
        "requestFederationSaveWithTime" => f.request_save_at("L", 10),
        "federateSaveBegun" => f.save_begun(),
        "federateSaveComplete" => f.save_complete(),
        "federateSaveNotComplete" => f.save_not_complete(),
        "abortFederationSave" => f.abort_save(),
        "queryFederationSaveStatus" => f.query_save(),
        "requestFederationRestore" => f.request_restore("L"),
        "federateRestoreComplete" => f.restore_complete(),
        "federateRestoreNotComplete" => f.restore_not_complete(),
        "abortFederationRestore" => f.abort_restore(),
        "queryFederationRestoreStatus" => f.query_restore(),
        other => panic!("{other}"),
    }
}

/// The services that are refused with this exception, of those not in `except`.
fn are_refused(f: &Fed, except: &[&str], exception: Exception) {
    for service in SERVICES.iter().filter(|service| !except.contains(service)) {
        assert_eq!(call(f, service), Err(exception), "{service}");
        assert_eq!(f.callbacks(), Vec::<String>::new(), "{service}");
    }
}

#[test]
fn not_connected_and_not_a_member() {
    let world = World::with_config(Saves::default().config(), &[]);
    are_refused(&world.opened("A"), &[], NotConnected);
    are_refused(&world.connected("A"), &[], FederateNotExecutionMember);
}

#[test]
fn save_in_progress() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    b.request_save("L")?;
    a.skip();
    let allowed = [
        "federateSaveBegun",
        "federateSaveComplete",
        "federateSaveNotComplete",
        "abortFederationSave",
        "queryFederationSaveStatus",
        "abortFederationRestore",
    ];
    are_refused(&a, &allowed, SaveInProgress);
    a.save_begun()?;
    are_refused(&a, &allowed, SaveInProgress);
    a.save_complete()?;
    are_refused(&a, &allowed, SaveInProgress);
    assert_eq!(a.abort_restore(), Err(RestoreNotInProgress));
    b.abort_save()?;
    a.request_save("L")
}

#[test]
fn restore_in_progress() -> Refused {
    let (_, [a, b]) = World::with_saves(&Saves::default(), &[]);
    a.request_save("L")?;
    a.save()?;
    b.save()?;
    b.request_restore("L")?;
    a.skip();
    let allowed = [
        "federateRestoreComplete",
        "federateRestoreNotComplete",
        "abortFederationRestore",
        "queryFederationRestoreStatus",
        "abortFederationSave",
    ];
    are_refused(&a, &allowed, RestoreInProgress);
    a.restore_complete()?;
    are_refused(&a, &allowed, RestoreInProgress);
    assert_eq!(a.abort_save(), Err(SaveNotInProgress));
    b.restore_complete()?;
    a.request_save("L")
}

#[test]
fn nothing_in_progress() {
    let (_, [a]) = World::with_saves(&Saves::default(), &[]);
    assert_eq!(a.save_begun(), Err(SaveNotInitiated));
    assert_eq!(a.save_complete(), Err(FederateHasNotBegunSave));
    assert_eq!(a.save_not_complete(), Err(FederateHasNotBegunSave));
    assert_eq!(a.abort_save(), Err(SaveNotInProgress));
    assert_eq!(a.restore_complete(), Err(RestoreNotRequested));
    assert_eq!(a.restore_not_complete(), Err(RestoreNotRequested));
    assert_eq!(a.abort_restore(), Err(RestoreNotInProgress));
}

#[test]
fn times_of_saves() -> Refused {
    let (_, [a]) = World::with_saves(&Saves::default(), &[]);
    let at = |octets: &'static [u8]| {
        let time = Some(LogicalTime { data: Bytes::from_static(octets) });
        a.ask(api::RequestFederationSaveWithTimeRequest { label: "L".to_owned(), time })
    };
    a.regulate(1)?;
    a.skip();
    assert_eq!(at(b"abc"), Err(InvalidLogicalTime));
    assert_eq!(at(&[0xff; 8]), Err(InvalidLogicalTime), "before the initial time");
    assert_eq!(a.request_save_at("L", 0), Err(LogicalTimeAlreadyPassed));
    a.ask(api::DisableTimeRegulationRequest {})?;
    assert_eq!(a.request_save_at("L", 10), Err(FederateUnableToUseTime));
    assert_eq!(a.callbacks(), Vec::<String>::new());
    Ok(())
}

#[test]
fn labels_have_a_limit() -> Refused {
    let (_, [a]) = World::with_saves(&Saves::default(), &[]);
    let long = "x".repeat(rti::limits::NAME_BYTES_MAX + 1);
    assert_eq!(a.request_save(&long), Err(RTIinternalError));
    assert_eq!(a.request_restore(&long), Err(RTIinternalError));
    let full = &long[1..];
    a.request_save(full)?;
    a.save()?;
    a.request_restore(full)?;
    a.restore_complete()?;
    assert_eq!(a.callbacks().pop().as_deref(), Some("federationRestored"));
    Ok(())
}

#[test]
fn what_is_raised_is_declared() -> Refused {
    let (_, [a]) = World::with_saves(&Saves::default(), &[]);
    let declared = |name: &str| api::SERVICES.iter().find(|service| service.name == name).expect(name);
    let check = || {
        for name in SERVICES {
            if let Err(exception) = call(&a, name) {
                assert!(declared(name).raises(exception), "{name}: {exception}");
            }
        }
    };
    check();
    a.request_save("L")?;
    a.save()?;
    a.request_restore("L")?;
    check();
    Ok(())
}
