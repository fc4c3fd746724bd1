//! Negotiations against a server with a script: partial outcomes, refusals, and everything that may
//! end them.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use hla::Exception;
use hla::api::call_response::CallResponse as Response;
use hla::api::*;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};

use super::server::{Fault, Server};
use super::{OBJECT, soon, start};
use crate::{Callback, FederateError, Negotiation, NegotiationOutcome, Owner};

const A: AttributeHandle = AttributeHandle(1);
const B: AttributeHandle = AttributeHandle(2);
const C: AttributeHandle = AttributeHandle(3);

fn answers(server: &Server, script: impl IntoIterator<Item = (Response, Vec<Callback>)>) {
    server.script.lock().unwrap().extend(script);
}

/// The script was followed to its end.
fn is_over(server: &Server) -> bool {
    server.script.lock().unwrap().is_empty()
}

fn refusal(exception: Exception) -> Response {
    Response::ExceptionData(ExceptionData { exception_name: exception.name().into(), details: String::new() })
}

fn acquiring() -> Response {
    Response::AttributeOwnershipAcquisitionResponse(AttributeOwnershipAcquisitionResponse {})
}

fn divesting() -> Response {
    Response::NegotiatedAttributeOwnershipDivestitureResponse(
        NegotiatedAttributeOwnershipDivestitureResponse {},
    )
}

fn confirmed() -> Response {
    Response::ConfirmDivestitureResponse(ConfirmDivestitureResponse {})
}

fn owns(result: bool) -> Response {
    Response::IsAttributeOwnedByFederateResponse(IsAttributeOwnedByFederateResponse { result })
}

fn acquired<const N: usize>(instance: ObjectInstanceHandle, attributes: [AttributeHandle; N]) -> Callback {
    Callback::AttributeOwnershipAcquisitionNotification(AttributeOwnershipAcquisitionNotification {
        object_instance: Some(instance),
        secured_attributes: Some(attributes.into_iter().collect()),
        ..Default::default()
    })
}

fn unavailable(attribute: AttributeHandle) -> Callback {
    Callback::AttributeOwnershipUnavailable(AttributeOwnershipUnavailable {
        object_instance: Some(OBJECT),
        attributes: Some([attribute].into_iter().collect()),
        ..Default::default()
    })
}

fn cancelled(attribute: AttributeHandle) -> Callback {
    let attributes = Some([attribute].into_iter().collect());
    Callback::ConfirmAttributeOwnershipAcquisitionCancellation(
        ConfirmAttributeOwnershipAcquisitionCancellation { object_instance: Some(OBJECT), attributes },
    )
}

fn wanted<const N: usize>(attributes: [AttributeHandle; N]) -> Callback {
    Callback::RequestDivestitureConfirmation(RequestDivestitureConfirmation {
        object_instance: Some(OBJECT),
        released_attributes: Some(attributes.into_iter().collect()),
        ..Default::default()
    })
}

fn removed(instance: ObjectInstanceHandle) -> Callback {
    Callback::RemoveObjectInstance(RemoveObjectInstance {
        object_instance: Some(instance),
        ..Default::default()
    })
}

fn sets<const T: usize, const U: usize, const C: usize>(
    transferred: [AttributeHandle; T],
    unavailable: [AttributeHandle; U],
    cancelled: [AttributeHandle; C],
) -> NegotiationOutcome {
    NegotiationOutcome {
        transferred: transferred.into(),
        unavailable: unavailable.into(),
        cancelled: cancelled.into(),
    }
}

#[tokio::test]
async fn an_outcome_comes_in_parts_and_no_callback_is_lost() {
    let (server, federate, mut callbacks) = start().await;
    let other = ObjectInstanceHandle(2);
    let sent =
        vec![acquired(OBJECT, [A]), acquired(other, [B]), removed(other), unavailable(B), cancelled(C)];
    answers(&server, [(acquiring(), sent.clone())]);
    let mut seen = Vec::new();
    let mut negotiation = Negotiation::acquire(&federate, OBJECT, [A, B, C], "");
    let outcome = soon(negotiation.finish(&mut callbacks, |callback| seen.push(callback))).await;
    assert_eq!(outcome, Ok(sets([A], [B], [C])));
    assert_eq!(seen, sent);
    let again = soon(negotiation.finish(&mut callbacks, |_| panic!("it is over"))).await;
    assert_eq!(again, outcome);
}

#[tokio::test]
async fn an_owner_confirms_whatever_has_a_new_owner() {
    let (server, federate, mut callbacks) = start().await;
    answers(
        &server,
        [
            (divesting(), vec![wanted([A, B])]),
            (refusal(Exception::NoAcquisitionPending), vec![]),
            (confirmed(), vec![]),                              // of A
            (refusal(Exception::NoAcquisitionPending), vec![]), // of B
            (owns(true), vec![wanted([B])]),                    // it may have lost B by itself
            (confirmed(), vec![]),
        ],
    );
    let mut negotiation = Negotiation::divest(&federate, OBJECT, [A, B], "");
    let outcome = soon(negotiation.finish(&mut callbacks, |_| {})).await;
    assert_eq!(outcome, Ok(sets([A, B], [], [])));
    assert!(is_over(&server));
}

#[tokio::test]
async fn callbacks_that_are_taken_elsewhere_are_noted() {
    let (server, federate, _callbacks) = start().await;
    answers(&server, [(divesting(), vec![]), (confirmed(), vec![])]);
    let mut negotiation = Negotiation::divest(&federate, OBJECT, [A], "");
    assert_eq!(soon(negotiation.settle()).await, Ok(false));
    negotiation.note(&acquired(OBJECT, [A]));
    assert_eq!(soon(negotiation.settle()).await, Ok(false), "it concerns an acquisition");
    negotiation.note(&wanted([A]));
    assert_eq!(soon(negotiation.settle()).await, Ok(true));
    assert_eq!(negotiation.outcome(), &sets([A], [], []));
}

#[tokio::test]
async fn a_cancelled_acquisition_ends_in_either_way() {
    let (server, federate, mut callbacks) = start().await;
    answers(&server, [(acquiring(), vec![])]);
    let mut negotiation = Negotiation::acquire(&federate, OBJECT, [A, B], "");
    assert_eq!(soon(negotiation.settle()).await, Ok(false));
    {
        let mut dropped = pin!(negotiation.finish(&mut callbacks, |_| {}));
        let is_pending = poll_fn(|cx| Poll::Ready(dropped.as_mut().poll(cx).is_pending())).await;
        assert!(is_pending);
    }
    let cancelling =
        Response::CancelAttributeOwnershipAcquisitionResponse(CancelAttributeOwnershipAcquisitionResponse {});
    answers(
        &server,
        [
            (refusal(Exception::AttributeAlreadyOwned), vec![]),
            (refusal(Exception::AttributeAlreadyOwned), vec![]), // A
            (cancelling, vec![acquired(OBJECT, [A]), cancelled(B)]),
        ],
    );
    negotiation.cancel();
    let outcome = soon(negotiation.finish(&mut callbacks, |_| {})).await;
    assert_eq!(outcome, Ok(sets([A], [], [B])));
    assert!(is_over(&server));
}

#[tokio::test]
async fn a_cancelled_divestiture_ends_at_once() {
    let (server, federate, mut callbacks) = start().await;
    let cancelling = Response::CancelNegotiatedAttributeOwnershipDivestitureResponse(
        CancelNegotiatedAttributeOwnershipDivestitureResponse {},
    );
    answers(
        &server,
        [(divesting(), vec![]), (cancelling, vec![]), (owns(true), vec![]), (owns(false), vec![])],
    );
    let mut negotiation = Negotiation::divest(&federate, OBJECT, [A, B], "");
    negotiation.cancel();
    let outcome = soon(negotiation.finish(&mut callbacks, |_| {})).await;
    assert_eq!(outcome, Ok(sets([B], [], [A])));
}

#[tokio::test]
async fn a_negotiation_ends_with_its_instance() {
    let (server, federate, mut callbacks) = start().await;
    answers(&server, [(acquiring(), vec![acquired(OBJECT, [A]), removed(OBJECT), unavailable(C)])]);
    let mut negotiation = Negotiation::acquire(&federate, OBJECT, [A, B], "");
    let mut count = 0;
    let error = soon(negotiation.finish(&mut callbacks, |_| count += 1)).await.unwrap_err();
    assert!(error.is(Exception::ObjectInstanceNotKnown), "{error}");
    assert_eq!((count, negotiation.outcome()), (2, &sets([A], [], [])));
    assert_eq!(soon(callbacks.recv()).await, Some(unavailable(C)), "the next one stays");
    answers(&server, [(refusal(Exception::AttributeNotPublished), vec![])]);
    let mut refused = Negotiation::acquire(&federate, OBJECT, [B], "");
    for _ in 0..2 {
        let error = soon(refused.finish(&mut callbacks, |_| {})).await.unwrap_err();
        assert!(error.is(Exception::AttributeNotPublished), "{error}");
    }
}

/// A federate gets no callback for its own resignation or deletion, nor for a lost session in time.
#[tokio::test]
async fn a_negotiation_ends_with_the_federate() {
    let (server, federate, mut callbacks) = start().await;
    let resigned = Response::ResignFederationExecutionResponse(ResignFederationExecutionResponse {});
    answers(
        &server,
        [
            (acquiring(), vec![]),
            (resigned, vec![]),
            (refusal(Exception::FederateNotExecutionMember), vec![]),
            (acquiring(), vec![]),
        ],
    );
    let mut negotiation = Negotiation::acquire(&federate, OBJECT, [A], "");
    assert_eq!(soon(negotiation.settle()).await, Ok(false));
    let resign = federate.resign_federation_execution(ResignAction::NoAction);
    let (outcome, resigned) =
        soon(async { tokio::join!(negotiation.finish(&mut callbacks, |_| {}), resign) }).await;
    assert!(outcome.unwrap_err().is(Exception::FederateNotExecutionMember));
    resigned.unwrap();
    let mut negotiation = Negotiation::acquire(&federate, OBJECT, [A], "");
    assert_eq!(soon(negotiation.settle()).await, Ok(false));
    server.faults.send(Fault::Cut).unwrap();
    let (outcome, ()) =
        soon(async { tokio::join!(negotiation.finish(&mut callbacks, |_| {}), federate.terminate()) }).await;
    assert!(matches!(outcome, Err(FederateError::Disconnected(_))), "{outcome:?}");
}

#[tokio::test]
async fn owners_are_collected() {
    let (server, federate, mut callbacks) = start().await;
    let (object_instance, set) = (Some(OBJECT), |attribute| Some([attribute].into_iter().collect()));
    let answered = Response::QueryAttributeOwnershipResponse(QueryAttributeOwnershipResponse {});
    let sent = vec![
        Callback::AttributeIsNotOwned(AttributeIsNotOwned { object_instance, attributes: set(A) }),
        unavailable(A),
        Callback::AttributeIsOwnedByRti(AttributeIsOwnedByRti { object_instance, attributes: set(B) }),
        Callback::InformAttributeOwnership(InformAttributeOwnership {
            object_instance,
            attributes: set(C),
            federate: Some(FederateHandle(7)),
        }),
    ];
    answers(&server, [(answered.clone(), sent.clone()), (answered, vec![removed(OBJECT)])]);
    let mut seen = Vec::new();
    let owners =
        soon(federate.owners(OBJECT, [A, B, C], &mut callbacks, |callback| seen.push(callback))).await;
    let expected = [(A, Owner::Nobody), (B, Owner::Rti), (C, Owner::Federate(FederateHandle(7)))];
    assert_eq!(owners, Ok(expected.into_iter().collect()));
    assert_eq!(seen, sent);
    let error = soon(federate.owners(OBJECT, [A], &mut callbacks, |_| {})).await.unwrap_err();
    assert!(error.is(Exception::ObjectInstanceNotKnown), "{error}");
}
