//! Time management (clause 8): the part that is built.

use crate::common::{Refused, World};
use hla::Exception::*;
use hla::api::{DisableAsynchronousDeliveryRequest, EnableAsynchronousDeliveryRequest, ResignAction};

#[test]
fn asynchronous_delivery_is_off_at_first_and_belongs_to_the_federate() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    assert_eq!(a.ask(DisableAsynchronousDeliveryRequest {}), Err(AsynchronousDeliveryAlreadyDisabled));
    a.ask(EnableAsynchronousDeliveryRequest {})?;
    assert_eq!(a.ask(EnableAsynchronousDeliveryRequest {}), Err(AsynchronousDeliveryAlreadyEnabled));
    assert_eq!(b.ask(DisableAsynchronousDeliveryRequest {}), Err(AsynchronousDeliveryAlreadyDisabled));
    a.ask(DisableAsynchronousDeliveryRequest {})?;
    a.ask(EnableAsynchronousDeliveryRequest {})?;
    a.resign(ResignAction::NoAction)?;
    assert_eq!(a.ask(EnableAsynchronousDeliveryRequest {}), Err(FederateNotExecutionMember));
    a.join("F", &[])?;
    a.ask(EnableAsynchronousDeliveryRequest {})
}

#[test]
fn a_federate_that_is_not_constrained_gets_everything_at_once() -> Refused {
    let (_, [a, b]) = World::join(&[]);
    a.publish_interaction("I")?;
    b.subscribe_interaction("I")?;
    for on in [false, true] {
        if on {
            b.ask(EnableAsynchronousDeliveryRequest {})?;
        }
        a.send("I", "p=1")?;
        assert_eq!(b.callbacks(), ["receive(I, p=1, reliable, A)"]);
    }
    Ok(())
}
