//! Directed interactions (1516.1-2025, 6.14, 6.15): interactions sent to one object instance.

use super::encode::{self, Envelope, HandleValue};
use super::execution::Execution;
use super::federate::Federate;
use super::instance::Instance;
use super::update::is_reliable;
use crate::control::PublishedClass;
use crate::plane::{Delivery, Plane, Topic};
use crate::remote::Subject;
use crate::time::Stamp;
use bytes::Bytes;
use hla::api::ParameterHandleValueMap;
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use router::ClientId;
use smallvec::SmallVec;
use std::collections::BTreeSet;

impl Execution {
    /// Send Directed Interaction, to federates that know the instance and either subscribed
    /// universally or own an attribute of it.
    #[allow(clippy::too_many_arguments)] // the service has that many
    pub(crate) fn send_directed(
        &mut self,
        plane: &mut Plane,
        who: FederateHandle,
        class: Option<InteractionClassHandle>,
        instance: Option<ObjectInstanceHandle>,
        values: Option<ParameterHandleValueMap>,
        tag: &Bytes,
        stamp: Option<&Stamp>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?;
        let (object, _) = self.known_instance(who, instance)?;
        let sent = class.handle;
        let sender = self.federate(who);
        let publishes =
            |at| sender.published_directed.get(&at).is_some_and(|of: &BTreeSet<_>| of.contains(&sent));
        if !self.lineage(object.class).any(publishes) {
            let at = &self.class_of(object.class).name;
            let text = format!("directed interaction `{}` is not published for `{at}`", class.name);
            return Err(RtiError::new(Exception::InteractionClassNotPublished, text));
        }
        let values = self.parameters_of(class, values)?;
        let transportation = self.interaction_transportation(who, class);
        let envelope = Envelope { tag, transportation, producer: who, time: stamp.map(Stamp::octets) };
        let (from, instance) = (sender.client, object.handle);
        self.receive_directed(plane, from, sent, instance, &values, &envelope);
        if self.remote.is_some() {
            let best_effort = !is_reliable(&self.model, transportation);
            let subject = Subject::Directed(sent, instance, self.said_so_far(instance));
            self.say_load(plane, PublishedClass::Directed, subject, &values, &envelope, best_effort);
        }
        Ok(())
    }

    /// Hands an interaction of class `sent` that was directed at an instance to the federates of this node.
    pub(crate) fn receive_directed(
        &self,
        plane: &mut Plane,
        from: ClientId,
        sent: InteractionClassHandle,
        instance: ObjectInstanceHandle,
        values: &[HandleValue],
        envelope: &Envelope<'_>,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        let best_effort = !is_reliable(&self.model, envelope.transportation);
        let mut encoded: SmallVec<[(InteractionClassHandle, Bytes); 2]> = SmallVec::new();
        plane.fan_out(from, Topic::Directed(self.id), |client, more| {
            let federate = self.federates.get(self.clients.get(&client)?)?;
            let received = self.directed_class(federate, object, sent)?;
            let body = match encoded.iter().find(|(done, _)| *done == received) {
                Some((_, body)) => body.clone(),
                None => {
                    let at = self.model.interaction_class(received)?;
                    let select =
                        |place: usize| at.has_parameter(hla::handle::ParameterHandle(values[place].handle));
                    let body = encode::receive_directed(received, object.handle, values, select, envelope);
                    if more {
                        encoded.push((received, body.clone()));
                    }
                    body
                }
            };
            Some(Delivery { body, best_effort })
        });
    }

    /// The class at which `federate` receives an interaction of class `sent` directed at `object`: the
    /// most specific one that it subscribes for the object's class or a superclass.
    fn directed_class(
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
