//! The edge cases of clause 7 by number, and properties of random runs.

use super::{Answer, Attributes, Callback, Callbacks, NO_TAG, OwnershipModel, Request};
use crate::Draw;
use base::Seed;
use hla::Exception::{self, *};
use hla::handle::FederateHandle;
use std::collections::BTreeSet;

const F1: FederateHandle = FederateHandle(1);
const F2: FederateHandle = FederateHandle(2);
const F3: FederateHandle = FederateHandle(3);

/// Two attributes of the only instance.
const A: usize = 0;
const B: usize = 1;

fn set(attributes: &[usize]) -> Attributes {
    attributes.iter().copied().collect()
}

/// Three federates publish both attributes, and the first has registered the instance 0.
fn model() -> OwnershipModel {
    let mut model = OwnershipModel::new(2);
    for federate in [F1, F2, F3] {
        model.join(federate);
        done(&mut model, federate, &Request::Publish(set(&[A, B])));
    }
    assert_eq!(model.call(F1, &Request::Register), Ok((Answer::Registered(0), vec![])));
    model
}

fn done(model: &mut OwnershipModel, federate: FederateHandle, request: &Request) -> Callbacks {
    let (answer, told) = model.call(federate, request).expect("a call that is served");
    assert_eq!(answer, Answer::Done);
    told
}

fn refused(model: &mut OwnershipModel, federate: FederateHandle, request: &Request) -> Vec<Exception> {
    let before = model.clone();
    let faults = model.call(federate, request).expect_err("a call that is refused");
    assert_eq!(before.instances, model.instances, "a refused call changes nothing");
    faults
}

fn acquire(tag: u32) -> Request {
    Request::Acquire(0, set(&[A]), tag)
}

fn if_available(tag: u32) -> Request {
    Request::AcquireIfAvailable(0, set(&[A]), tag)
}

#[test]
fn case_69_an_unowned_attribute_is_acquired_at_once() {
    let mut model = model();
    let offers = [F2, F3].map(|federate| (federate, Callback::Assumption(0, A, 5)));
    assert_eq!(done(&mut model, F1, &Request::Divest(0, set(&[A]), 5)), offers);
    assert_eq!(model.owner(0, A), None);
    assert_eq!(done(&mut model, F2, &acquire(6)), [(F2, Callback::Acquired(0, A, NO_TAG))]);
    assert_eq!(model.owner(0, A), Some(F2));
}

#[test]
fn case_70_a_divesting_owner_owns_until_somebody_takes_it() {
    let mut model = model();
    let offers = [F2, F3].map(|federate| (federate, Callback::Assumption(0, A, 5)));
    assert_eq!(done(&mut model, F1, &Request::Negotiate(0, set(&[A]), 5)), offers);
    assert_eq!(model.owner(0, A), Some(F1));
    assert_eq!(
        refused(&mut model, F1, &Request::Negotiate(0, set(&[A]), 5)),
        [AttributeAlreadyBeingDivested]
    );
    assert_eq!(refused(&mut model, F1, &Request::Confirm(0, set(&[A]), 5)), [NoAcquisitionPending]);
    // A federate that becomes eligible later is offered it, too.
    let f4 = FederateHandle(4);
    model.join(f4);
    let told = done(&mut model, f4, &Request::Publish(set(&[A, B])));
    assert_eq!(told, [(f4, Callback::Assumption(0, A, 5))]);
    assert_eq!(done(&mut model, F2, &if_available(6)), [(F1, Callback::Confirmation(0, A, 6))]);
    assert_eq!(done(&mut model, F3, &acquire(7)), [], "the owner is asked once");
    let told = done(&mut model, F1, &Request::Confirm(0, set(&[A]), 8));
    assert_eq!(told, [(F2, Callback::Acquired(0, A, 8)), (F2, Callback::Release(0, A, 7))]);
}

#[test]
fn case_71_an_acquirer_that_withdraws_leaves_the_offer_open() {
    let mut model = model();
    done(&mut model, F1, &Request::Negotiate(0, set(&[A]), 5));
    assert_eq!(done(&mut model, F2, &acquire(6)), [(F1, Callback::Confirmation(0, A, 6))]);
    let told = done(&mut model, F2, &Request::CancelAcquisition(0, set(&[A])));
    assert_eq!(told, [(F2, Callback::CancellationConfirmed(0, A))]);
    assert_eq!(refused(&mut model, F1, &Request::Confirm(0, set(&[A]), 7)), [NoAcquisitionPending]);
    assert_eq!(done(&mut model, F3, &acquire(8)), [(F1, Callback::Confirmation(0, A, 8))]);
}

#[test]
fn cases_72_and_73_an_owner_is_not_bothered_by_who_only_asks_whether_it_is_available() {
    let mut model = model();
    assert_eq!(done(&mut model, F2, &if_available(6)), [(F2, Callback::Unavailable(0, A, 6))]);
    assert_eq!(done(&mut model, F2, &acquire(7)), [(F1, Callback::Release(0, A, 7))]);
    assert_eq!(refused(&mut model, F2, &if_available(8)), [AttributeAlreadyBeingAcquired]);
    assert_eq!(done(&mut model, F2, &acquire(9)), [], "a second request changes nothing");
    let mut model = self::model();
    done(&mut model, F1, &Request::Negotiate(0, set(&[A]), 5));
    done(&mut model, F2, &if_available(6));
    assert_eq!(done(&mut model, F2, &acquire(7)), [], "the owner has already been asked");
    let told = done(&mut model, F1, &Request::CancelNegotiated(0, set(&[A])));
    assert_eq!(told, [(F1, Callback::Release(0, A, 7))], "the acquisition is pending now");
}

#[test]
fn case_74_a_cancellation_or_the_attribute_and_never_both() {
    let mut model = model();
    done(&mut model, F2, &acquire(6));
    assert_eq!(done(&mut model, F1, &Request::Divest(0, set(&[A]), 7)), [(F2, Callback::Acquired(0, A, 7))]);
    let cancel = Request::CancelAcquisition(0, set(&[A]));
    assert_eq!(refused(&mut model, F2, &cancel), [AttributeAlreadyOwned]);
    assert_eq!(refused(&mut model, F3, &cancel), [AttributeAcquisitionWasNotRequested]);
}

#[test]
fn case_75_only_who_publishes_an_attribute_can_acquire_it() {
    let mut model = model();
    let f4 = FederateHandle(4);
    model.join(f4);
    assert_eq!(refused(&mut model, f4, &acquire(6)), [ObjectClassNotPublished]);
    done(&mut model, f4, &Request::Publish(set(&[B])));
    assert_eq!(refused(&mut model, f4, &acquire(6)), [AttributeNotPublished]);
    assert_eq!(refused(&mut model, F1, &acquire(6)), [FederateOwnsAttributes]);
}

#[test]
fn case_76_only_what_is_wanted_is_divested() {
    let mut model = model();
    done(&mut model, F2, &acquire(6));
    let (answer, told) = model.call(F1, &Request::DivestIfWanted(0, set(&[A, B]), 7)).expect("it owns both");
    assert_eq!((answer, told), (Answer::Divested(set(&[A])), vec![(F2, Callback::Acquired(0, A, 7))]));
    assert_eq!((model.owner(0, A), model.owner(0, B)), (Some(F2), Some(F1)));
}

#[test]
fn case_77_a_denied_release_ends_all_acquisitions() {
    let mut model = model();
    done(&mut model, F2, &acquire(6));
    done(&mut model, F3, &acquire(7));
    let told = done(&mut model, F1, &Request::DenyRelease(0, set(&[A]), 8));
    assert_eq!(told, [F2, F3].map(|federate| (federate, Callback::Unavailable(0, A, 8))));
    let cancel = Request::CancelAcquisition(0, set(&[A]));
    assert_eq!(refused(&mut model, F2, &cancel), [AttributeAcquisitionWasNotRequested]);
}

#[test]
fn case_80_unpublishing_waits_for_acquisitions_and_divests() {
    let mut model = model();
    done(&mut model, F2, &acquire(6));
    assert_eq!(refused(&mut model, F2, &Request::Unpublish(set(&[A]))), [OwnershipAcquisitionPending]);
    let told = done(&mut model, F1, &Request::Unpublish(set(&[A, B])));
    assert_eq!(
        told,
        [
            (F2, Callback::Acquired(0, A, NO_TAG)),
            (F2, Callback::Assumption(0, B, NO_TAG)),
            (F3, Callback::Assumption(0, B, NO_TAG)),
        ]
    );
}

#[test]
fn cases_17_and_18_resigning_with_attributes_or_acquisitions() {
    let mut model = model();
    done(&mut model, F2, &acquire(6));
    let none = Request::Resign { cancels: false, divests: false };
    assert_eq!(refused(&mut model, F1, &none), [FederateOwnsAttributes]);
    assert_eq!(refused(&mut model, F2, &none), [OwnershipAcquisitionPending]);
    done(&mut model, F2, &Request::Resign { cancels: true, divests: false });
    let told = model.lose(F1);
    assert_eq!(told, [A, B].map(|at| (F3, Callback::Assumption(0, at, NO_TAG))), "nobody else is left");
    assert_eq!(model.owner(0, A), None);
}

/// Draws a call of a federate.
fn draw_request(draw: &mut Draw, tag: u32) -> Request {
    let attributes: Attributes = [A, B].into_iter().filter(|_| draw.chance(60)).collect();
    match draw.below(11) {
        0 => Request::Publish(attributes),
        1 => Request::Unpublish(attributes),
        2 => Request::Divest(0, attributes, tag),
        3 => Request::Negotiate(0, attributes, tag),
        4 => Request::Confirm(0, attributes, tag),
        5 | 6 => Request::Acquire(0, attributes, tag),
        7 => Request::AcquireIfAvailable(0, attributes, tag),
        8 => Request::DenyRelease(0, attributes, tag),
        9 => Request::DivestIfWanted(0, attributes, tag),
        _ => match draw.chance(50) {
            true => Request::CancelNegotiated(0, attributes),
            false => Request::CancelAcquisition(0, attributes),
        },
    }
}

/// An owner publishes what it owns, nobody waits for an attribute without an owner, and each federate
/// that waits has been made known to the present owner.
#[test]
fn nobody_waits_for_an_owner_that_does_not_know() {
    for place in 0..2_000 {
        let mut draw = Draw::new(Seed(0).split("ownership").split_index(place), "calls");
        let mut model = model();
        // Owners that were asked about an attribute since they own it.
        let mut asked: BTreeSet<(FederateHandle, usize)> = BTreeSet::new();
        for tag in 1..60 {
            let federate = *draw.pick(&[F1, F2, F3]).expect("there are some");
            let Ok((_, told)) = model.call(federate, &draw_request(&mut draw, tag)) else { continue };
            for (to, callback) in told {
                match callback {
                    Callback::Acquired(_, at, _) => asked.retain(|&(_, of)| of != at),
                    Callback::Release(_, at, _) | Callback::Confirmation(_, at, _) => {
                        asked.insert((to, at));
                    }
                    _ => {}
                }
            }
            for (at, state) in model.instances[0].iter().enumerate() {
                let Some(owner) = state.owner else {
                    assert!(state.acquirers.is_empty(), "seed {place}: somebody waits for nobody");
                    continue;
                };
                assert!(model.published[&owner].contains(&at), "seed {place}");
                let pending = state.acquirers.iter().any(|acquirer| acquirer.pending);
                assert!(!pending || asked.contains(&(owner, at)), "seed {place}: {owner:?} was not asked");
                assert!(state.acquirers.iter().all(|a| a.federate != owner), "seed {place}");
            }
        }
    }
}
