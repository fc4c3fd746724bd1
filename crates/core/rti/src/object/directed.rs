//! Directed interactions (1516.1-2025, 6.14, 6.15): interactions sent to one object instance.

use super::encode;
use super::federate::Federate;
use super::instance::Instance;
use super::objects::Objects;
use crate::control::PublishedClass;
use crate::effect::Effects;
use crate::stamp::Stamp;
use crate::time::Subject;
use crate::wire::{Payload, StreamEvent};
use bytes::Bytes;
use hla::api::ParameterHandleValueMap;
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

impl Objects {
    /// Send Directed Interaction (6.14), to federates that know the instance and either subscribed
    /// universally or own an attribute of it. Returns whether it was sent in time-stamp order.
    #[allow(clippy::too_many_arguments)] // the service has that many
    pub(crate) fn send_directed(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        instance: Option<ObjectInstanceHandle>,
        values: Option<ParameterHandleValueMap>,
        tag: Bytes,
        stamp: Option<Stamp>,
    ) -> Result<bool, RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?;
        let (object, _) = self.known_instance(federate, instance)?;
        let interaction = class.handle;
        let sender = self.federate(federate);
        let publishes =
            |at| sender.published_directed.get(&at).is_some_and(|of: &BTreeSet<_>| of.contains(&interaction));
        if !self.lineage(object.class).any(publishes) {
            let at = &self.class_of(object.class).name;
            let text = format!("directed interaction `{}` is not published for `{at}`", class.name);
            return Err(RtiError::new(Exception::InteractionClassNotPublished, text));
        }
        let instance = object.handle;
        let after = Some((PublishedClass::Objects(object.class), object.home));
        let payload = self.interaction_payload(federate, class, values, tag, stamp)?;
        let in_time = payload.is_in_time();
        self.federate_mut(federate).counters.count_sent(interaction, payload.transportation, true);
        self.receive_directed(effects, interaction, instance, &payload);
        self.append_payload(effects, PublishedClass::Directed, payload, after, |payload| {
            StreamEvent::Directed { interaction, instance, payload }
        });
        Ok(in_time)
    }

    /// Delivers an interaction of class `sent`, directed at an instance, to the federates of this
    /// node.
    pub(super) fn receive_directed(
        &mut self,
        effects: &mut Effects,
        sent: InteractionClassHandle,
        instance: ObjectInstanceHandle,
        payload: &Payload,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        let received = self.fan_out(
            effects,
            PublishedClass::Directed,
            payload,
            |federate| self.directed_class(federate, object, sent),
            // A directed interaction has no regions.
            |received, (order, _), select| {
                encode::receive_directed(received, instance, payload, order, select)
            },
            |class| Subject::Directed { instance, class },
        );
        self.count_received(&received, payload.transportation, true);
    }

    /// The class at which `federate` receives an interaction of class `sent` directed at `object`:
    /// the most specific one that it subscribes at the object's class or a superclass.
    pub(super) fn directed_class(
        &self,
        federate: &Federate,
        object: &Instance,
        sent: InteractionClassHandle,
    ) -> Option<InteractionClassHandle> {
        object.known_class(federate.handle)?;
        let owns = object.is_owned_by(federate.handle);
        self.interaction_lineage(sent).find(|interaction| {
            let mut subscribed =
                self.lineage(object.class).filter_map(|at| federate.subscribed_directed.get(&at));
            subscribed.any(|of| of.get(interaction).is_some_and(|&universally| universally || owns))
        })
    }
}
