//! Messages in time-stamp order: their way into the queues of constrained federates, and out of
//! them when they are due.

use super::federate::{ClassSubscription, Federate};
use super::objects::Objects;
use crate::delivery::Arrival;
use crate::effect::{Effect, Effects};
use crate::time::{Subject, TimeInput, TimedMessage};
use crate::wire::Payload;
use bytes::Bytes;
use hla::api::{CallbackRequest, Message as _, OrderType, callback_request::CallbackRequest as Callback};
use hla::handle::{FederateHandle, TransportationTypeHandle};
use hla::time::TimeKind;

/// The order in which a federate receives a message: in time-stamp order if it was sent in that
/// order and the federate is constrained (8.1.2).
pub(super) fn received_order(payload: &Payload, federate: &Federate) -> OrderType {
    match payload.stamp {
        Some(stamp) if stamp.is_in_time() && federate.constrained => OrderType::Timestamp,
        _ => OrderType::Receive,
    }
}

/// Passes a message on to a federate: to its queue in time-stamp order, or for delivery.
pub(super) fn pass_on(
    effects: &mut Effects,
    kind: TimeKind,
    federate: &Federate,
    payload: &Payload,
    best_effort: bool,
    (body, received): (Bytes, OrderType),
    subject: impl FnOnce() -> Subject,
) {
    let sent_in_time = payload.stamp.filter(|stamp| stamp.is_in_time());
    if received == OrderType::Receive {
        let arrival = Arrival::receive_order(body, best_effort);
        effects.push(Effect::Deliver { to: federate.client, arrival });
        if let Some(stamp) = sent_in_time
            && let Ok(time) = kind.decode_time(&stamp.time)
        {
            let (to, retraction) = (federate.handle, stamp.retraction);
            effects.push(Effect::Time(TimeInput::Early { to, retraction, time }));
        }
    } else if let Some(stamp) = sent_in_time
        && let Ok(time) = kind.decode_time(&stamp.time)
    {
        let (sender, retraction, subject) = (payload.producer, stamp.retraction, subject());
        let transportation = payload.transportation;
        let message = Box::new(TimedMessage { time, sender, retraction, subject, transportation, body });
        effects.push(Effect::Time(TimeInput::Queue { to: federate.handle, message }));
    }
}

impl Objects {
    /// Delivers a message that was queued for a federate, unless the federate no longer knows the
    /// instance or no longer subscribes. Returns whether the federate gets it.
    pub(crate) fn deliver_timed(
        &mut self,
        effects: &mut Effects,
        to: FederateHandle,
        message: TimedMessage,
        received: OrderType,
    ) -> bool {
        let TimedMessage { subject, transportation, body, .. } = message;
        let Some(federate) = self.federates.get(&to) else { return false };
        let client = federate.client;
        let Some(body) = self.still_wanted(federate, subject, body) else { return false };
        if let Subject::Removal(instance) = subject {
            self.forget_deleted(to, instance);
            effects.review_following();
        }
        let arrival = match received {
            OrderType::Timestamp => Arrival::in_time(body),
            OrderType::Receive => Arrival::receive_order(in_receive_order(body), false),
        };
        effects.push(Effect::Deliver { to: client, arrival });
        self.count_timed(to, subject, transportation);
        if let Subject::Removal(instance) = subject {
            self.end_deletion(effects, instance);
        }
        true
    }

    fn count_timed(
        &mut self,
        to: FederateHandle,
        subject: Subject,
        transportation: TransportationTypeHandle,
    ) {
        let Some(federate) = self.federates.get_mut(&to) else { return };
        let counters = &mut federate.counters;
        match subject {
            Subject::Update { instance, class, .. } => {
                counters.count_reflect(class, transportation);
                self.note_reflected(instance, to);
            }
            Subject::Interaction(class) => counters.count_received(class, transportation, false),
            Subject::Directed { class, .. } => counters.count_received(class, transportation, true),
            Subject::Removal(_) => counters.removed += 1,
        }
    }

    /// The callback of a message as far as its receiver still wants it.
    fn still_wanted(&self, federate: &Federate, subject: Subject, body: Bytes) -> Option<Bytes> {
        match subject {
            Subject::Update { instance, class, unsubscribed } => {
                let known = self.instances.get(instance)?.known_class(federate.handle)?;
                if known != class {
                    return None;
                }
                if federate.unsubscribed == unsubscribed {
                    return Some(body);
                }
                subscribed_part(body, federate.subscriptions.get(&class)?)
            }
            Subject::Interaction(class) => {
                federate.subscribed_interactions.contains_key(&class).then_some(body)
            }
            Subject::Directed { instance, class } => {
                let object = self.instances.get(instance)?;
                (self.directed_class(federate, object, class) == Some(class)).then_some(body)
            }
            Subject::Removal(instance) => {
                self.instances.get(instance)?.known_class(federate.handle).map(|_| body)
            }
        }
    }
}

/// The part of a reflect that its receiver still subscribes, after it has removed subscriptions.
fn subscribed_part(body: Bytes, subscribed: &ClassSubscription) -> Option<Bytes> {
    let mut callback = CallbackRequest::decode(&body[..]).ok()?;
    let Some(Callback::ReflectAttributeValuesWithTime(reflect)) = &mut callback.callback_request else {
        return None;
    };
    let values = &mut reflect.attribute_values.as_mut()?.attribute_handle_value;
    let before = values.len();
    values.retain(|pair| pair.attribute_handle.is_some_and(|handle| subscribed.contains_key(&handle)));
    match values.len() {
        0 => None,
        left if left == before => Some(body),
        _ => Some(callback.encode_to_vec().into()),
    }
}

/// The same callback with Receive as the received order: its receiver is no longer constrained.
/// This is rare enough to decode it.
fn in_receive_order(body: Bytes) -> Bytes {
    let Ok(CallbackRequest { callback_request: Some(mut callback) }) = CallbackRequest::decode(&body[..])
    else {
        return body;
    };
    let order = match &mut callback {
        Callback::ReflectAttributeValuesWithTime(reflect) => &mut reflect.received_order_type,
        Callback::ReceiveInteractionWithTime(receive) => &mut receive.received_order_type,
        Callback::ReceiveDirectedInteractionWithTime(receive) => &mut receive.received_order_type,
        Callback::RemoveObjectInstanceWithTime(remove) => &mut remove.received_order_type,
        _ => return body,
    };
    *order = OrderType::Receive.into();
    CallbackRequest { callback_request: Some(callback) }.encode_to_vec().into()
}
