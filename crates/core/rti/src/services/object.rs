//! Object management (clause 6), without transportation types.

use super::{Context, Reply, Serve, Served};
use crate::control::{Command, NameTable};
use crate::limits::{INSTANCE_NAMES_MAX, check_count};
use crate::stamp::Stamp;
use crate::time::Sending;
use hla::api::*;
use hla::handle::ObjectInstanceHandle;
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

impl Context<'_> {
    /// Notes the outcome of a service that sends messages: if some of them were sent
    /// in time-stamp order, the caller gets the handle by which it can retract them (8.22).
    pub(super) fn sent(&mut self, sending: Sending, in_time: bool) -> Reply<MessageRetractionReturn> {
        if in_time {
            self.time.sent(self.federate, sending, None);
        }
        Reply::Now(retraction(sending.stamp, in_time))
    }
}

fn retraction(stamp: Stamp, in_time: bool) -> MessageRetractionReturn {
    MessageRetractionReturn {
        retraction_handle_is_valid: in_time,
        message_retraction_handle: in_time.then_some(stamp.retraction),
    }
}

impl Serve for UpdateAttributeValuesRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (instance, values) = (self.object_instance, self.attribute_values);
        objects.update(effects, federate, instance, values, self.user_supplied_tag, None)?;
        Ok(Reply::Now(()))
    }
}

impl Serve for UpdateAttributeValuesWithTimeRequest {
    fn serve(self, mut context: Context<'_>) -> Served<MessageRetractionReturn> {
        let sending = context.time.stamp(context.federate, self.time.as_ref())?;
        let (instance, values, tag) = (self.object_instance, self.attribute_values, self.user_supplied_tag);
        let Context { objects, effects, federate, .. } = &mut context;
        let in_time = objects.update(effects, *federate, instance, values, tag, Some(sending.stamp))?;
        Ok(context.sent(sending, in_time))
    }
}

impl Serve for SendInteractionRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (class, values) = (self.interaction_class, self.parameter_values);
        objects.send_interaction(effects, federate, class, values, self.user_supplied_tag, None, None)?;
        Ok(Reply::Now(()))
    }
}

impl Serve for SendInteractionWithTimeRequest {
    fn serve(self, mut context: Context<'_>) -> Served<MessageRetractionReturn> {
        let sending = context.time.stamp(context.federate, self.time.as_ref())?;
        let (class, values, tag) = (self.interaction_class, self.parameter_values, self.user_supplied_tag);
        let Context { objects, effects, federate, .. } = &mut context;
        let in_time =
            objects.send_interaction(effects, *federate, class, values, tag, Some(sending.stamp), None)?;
        Ok(context.sent(sending, in_time))
    }
}

impl Serve for SendDirectedInteractionRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (class, instance) = (self.interaction_class, self.object_instance);
        let (values, tag) = (self.parameter_values, self.user_supplied_tag);
        objects.send_directed(effects, federate, class, instance, values, tag, None)?;
        Ok(Reply::Now(()))
    }
}

impl Serve for SendDirectedInteractionWithTimeRequest {
    fn serve(self, mut context: Context<'_>) -> Served<MessageRetractionReturn> {
        let sending = context.time.stamp(context.federate, self.time.as_ref())?;
        let (class, instance) = (self.interaction_class, self.object_instance);
        let (values, tag) = (self.parameter_values, self.user_supplied_tag);
        let Context { objects, effects, federate, .. } = &mut context;
        let in_time =
            objects.send_directed(effects, *federate, class, instance, values, tag, Some(sending.stamp))?;
        Ok(context.sent(sending, in_time))
    }
}

impl Serve for RegisterObjectInstanceRequest {
    fn serve(self, context: Context<'_>) -> Served<ObjectInstanceHandle> {
        let names = context.names();
        let Context { objects, effects, mut growth, federate, .. } = context;
        growth.check(objects.bytes_of_instance(self.object_class, ""))?;
        objects.register(effects, names, federate, self.object_class, (None, None)).map(Reply::Now)
    }
}

impl Serve for RegisterObjectInstanceWithNameRequest {
    fn serve(self, context: Context<'_>) -> Served<ObjectInstanceHandle> {
        let names = context.names();
        let Context { objects, effects, mut growth, federate, .. } = context;
        growth.check(objects.bytes_of_instance(self.object_class, &self.object_instance_name))?;
        let name = Some(self.object_instance_name.as_str());
        objects.register(effects, names, federate, self.object_class, (name, None)).map(Reply::Now)
    }
}

impl Serve for DeleteObjectInstanceRequest {
    fn serve(self, context: Context<'_>) -> Served<()> {
        let call = context.ownership_call(|_| Self::response(()));
        let Context { objects, effects, federate, .. } = context;
        let (instance, _) = objects.deletable(federate, self.object_instance)?;
        if objects.delete_elsewhere(effects, (instance, federate), &self.user_supplied_tag, call) {
            return Ok(Reply::Later);
        }
        objects.delete(effects, federate, instance, &self.user_supplied_tag, None, true);
        Ok(Reply::Now(()))
    }
}

impl Serve for DeleteObjectInstanceWithTimeRequest {
    fn serve(self, context: Context<'_>) -> Served<MessageRetractionReturn> {
        let call = context.ownership_call(|_| Self::response(MessageRetractionReturn::default()));
        let Context { objects, time, effects, federate, .. } = context;
        let (instance, order) = objects.deletable(federate, self.object_instance)?;
        let sending = time.stamp(federate, self.time.as_ref())?;
        let stamp = sending.stamp.ordered(order);
        // The home does not know this federate's time, so that it deletes in receive order.
        if objects.delete_elsewhere(effects, (instance, federate), &self.user_supplied_tag, call) {
            return Ok(Reply::Later);
        }
        let retractable = stamp.is_in_time() && time.sent(federate, sending, Some(instance));
        objects.delete(effects, federate, instance, &self.user_supplied_tag, Some(stamp), !retractable);
        Ok(Reply::Now(retraction(stamp, stamp.is_in_time())))
    }
}

impl Serve for LocalDeleteObjectInstanceRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        objects.local_delete(effects, federate, self.object_instance).map(Reply::Now)
    }
}

impl Serve for RequestInstanceAttributeValueUpdateRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (attributes, tag) = (self.attributes.as_ref(), &self.user_supplied_tag);
        objects
            .request_instance_update(effects, federate, self.object_instance, attributes, tag)
            .map(Reply::Now)
    }
}

impl Serve for RequestClassAttributeValueUpdateRequest {
    fn serve(self, Context { objects, effects, federate, .. }: Context<'_>) -> Served<()> {
        let (attributes, tag) = (self.attributes.as_ref(), &self.user_supplied_tag);
        objects.request_class_update(effects, federate, self.object_class, attributes, tag).map(Reply::Now)
    }
}

impl<'a> Context<'a> {
    /// The names of object instances in the federation execution.
    pub(super) fn names(&self) -> &'a NameTable {
        &self.control.execution(self.objects.id).expect("an execution has its federation").names
    }

    fn propose_reservation<R: Request<Output = ()>>(
        &mut self,
        names: BTreeSet<String>,
        multiple: bool,
    ) -> Served<()> {
        names.iter().try_for_each(|name| NameTable::check_legal(name))?;
        check_count("names of object instances", self.names().len() + names.len() - 1, INSTANCE_NAMES_MAX)?;
        self.growth.check(NameTable::bytes_of(&names))?;
        let (execution, federate) = (self.objects.id, self.federate);
        self.propose::<R>(Command::ReserveNames { execution, federate, names, multiple })
    }

    fn propose_release<R: Request<Output = ()>>(&mut self, names: BTreeSet<String>) -> Served<()> {
        let (execution, federate) = (self.objects.id, self.federate);
        self.propose::<R>(Command::ReleaseNames { execution, federate, names })
    }
}

impl Serve for ReserveObjectInstanceNameRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        context.propose_reservation::<Self>(BTreeSet::from([self.object_instance_name]), false)
    }
}

impl Serve for ReserveMultipleObjectInstanceNamesRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        if self.object_instance_names.is_empty() {
            return Err(RtiError::new(Exception::NameSetWasEmpty, "at least one name is needed"));
        }
        context.propose_reservation::<Self>(self.object_instance_names.into_iter().collect(), true)
    }
}

impl Serve for ReleaseObjectInstanceNameRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        context.propose_release::<Self>(BTreeSet::from([self.object_instance_name]))
    }
}

impl Serve for ReleaseMultipleObjectInstanceNamesRequest {
    fn serve(self, mut context: Context<'_>) -> Served<()> {
        context.propose_release::<Self>(self.object_instance_names.into_iter().collect())
    }
}
