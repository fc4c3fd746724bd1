//! Time management, by names.

use super::calls::{Refused, integer_time, plain};
use super::{Fed, World};
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, OrderType};
use hla::handle::MessageRetractionHandle;

fn interval(lookahead: i64) -> Option<api::LogicalTimeInterval> {
    Some(api::LogicalTimeInterval { data: Bytes::copy_from_slice(&lookahead.to_be_bytes()) })
}

fn integer(octets: &[u8]) -> i64 {
    i64::from_be_bytes(octets.try_into().expect("eight octets"))
}

impl World {
    /// Like [`World::join`], with `N` federates that may advance without regulating ones.
    pub(crate) fn in_time<const N: usize>() -> (Self, [Fed; N]) {
        Self::join(&["nonRegulatedGrant"])
    }
}

impl Fed {
    pub(crate) fn regulate(&self, lookahead: i64) -> Refused {
        self.ask(api::EnableTimeRegulationRequest { lookahead: interval(lookahead) })
    }

    pub(crate) fn constrain(&self) -> Refused {
        self.ask(api::EnableTimeConstrainedRequest {})
    }

    pub(crate) fn tar(&self, to: i64) -> Refused {
        self.ask(api::TimeAdvanceRequestRequest { time: integer_time(to) })
    }

    pub(crate) fn tara(&self, to: i64) -> Refused {
        self.ask(api::TimeAdvanceRequestAvailableRequest { time: integer_time(to) })
    }

    pub(crate) fn nmr(&self, to: i64) -> Refused {
        self.ask(api::NextMessageRequestRequest { time: integer_time(to) })
    }

    pub(crate) fn nmra(&self, to: i64) -> Refused {
        self.ask(api::NextMessageRequestAvailableRequest { time: integer_time(to) })
    }

    pub(crate) fn flush(&self, to: i64) -> Refused {
        self.ask(api::FlushQueueRequestRequest { time: integer_time(to) })
    }

    pub(crate) fn modify_lookahead(&self, lookahead: i64) -> Refused {
        self.ask(api::ModifyLookaheadRequest { lookahead: interval(lookahead) })
    }

    pub(crate) fn lookahead(&self) -> Refused<i64> {
        self.ask(api::QueryLookaheadRequest {}).map(|lookahead| integer(&lookahead.data))
    }

    pub(crate) fn time(&self) -> Refused<i64> {
        self.ask(api::QueryLogicalTimeRequest {}).map(|time| integer(&time.data))
    }

    pub(crate) fn galt(&self) -> Refused<Option<i64>> {
        self.ask(api::QueryGaltRequest {}).map(query)
    }

    pub(crate) fn lits(&self) -> Refused<Option<i64>> {
        self.ask(api::QueryLitsRequest {}).map(query)
    }

    pub(crate) fn retract(&self, retraction: MessageRetractionHandle) -> Refused {
        self.ask(api::RetractRequest { retraction: Some(retraction) })
    }

    /// Lets the federate send interactions of a class in time-stamp order.
    pub(crate) fn order_interaction(&self, class: &str, order: OrderType) -> Refused {
        plain!(
            self,
            ChangeInteractionOrderTypeRequest {
                interaction_class: self.interaction(class),
                order_type: order.into(),
            }
        )
    }

    pub(crate) fn order_attribute(&self, instance: u32, attribute: &str, order: OrderType) -> Refused {
        plain!(
            self,
            ChangeAttributeOrderTypeRequest {
                object_instance: self.instance(instance),
                attributes: self.set(&[attribute]),
                order_type: order.into(),
            }
        )
    }

    /// Sends an interaction in time-stamp order.
    pub(crate) fn send_in_time(
        &self,
        class: &str,
        values: &str,
        time: i64,
    ) -> Refused<MessageRetractionHandle> {
        let sent = self.ask(api::SendInteractionWithTimeRequest {
            interaction_class: self.interaction(class),
            parameter_values: self.parameters(values),
            user_supplied_tag: Bytes::new(),
            time: integer_time(time),
        })?;
        assert!(sent.retraction_handle_is_valid, "sent in time-stamp order");
        Ok(sent.message_retraction_handle.expect("a valid handle is there"))
    }

    /// Deletes an instance in time-stamp order.
    pub(crate) fn delete_in_time(&self, instance: u32, time: i64) -> Refused<MessageRetractionHandle> {
        let sent = self.ask(api::DeleteObjectInstanceWithTimeRequest {
            object_instance: self.instance(instance),
            user_supplied_tag: Bytes::new(),
            time: integer_time(time),
        })?;
        assert!(sent.retraction_handle_is_valid, "sent in time-stamp order");
        Ok(sent.message_retraction_handle.expect("a valid handle is there"))
    }
}

fn query(query: api::TimeQueryReturn) -> Option<i64> {
    let time = query.logical_time.expect("clients decode it in any case");
    query.logical_time_is_valid.then_some(integer(&time.data))
}
