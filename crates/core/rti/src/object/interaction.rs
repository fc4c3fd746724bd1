//! Interactions (6.12, 6.13).

use super::encode;
use super::objects::Objects;
use super::update::is_reliable;
use crate::control::PublishedClass;
use crate::delivery::Arrival;
use crate::effect::{Effect, Effects};
use crate::time::Stamp;
use crate::wire::{HandleValue, Payload, RegionSet, StreamEvent, Values};
use bytes::Bytes;
use hla::api::{OrderType, ParameterHandleValueMap};
use hla::fom::InteractionClass;
use hla::handle::{FederateHandle, InteractionClassHandle, ParameterHandle, TransportationTypeHandle};
use hla::{Exception, RtiError};
use smallvec::SmallVec;

impl Objects {
    /// Send Interaction (6.12). Each receiver gets it once, at the most specific class that it
    /// subscribes, with the parameters of that class.
    pub(crate) fn send_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        values: Option<ParameterHandleValueMap>,
        tag: Bytes,
        stamp: Option<Stamp>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?;
        if !self.federate(federate).published_interactions.contains(&class.handle) {
            self.refuse_mom_interaction("sendInteraction", class.handle)?;
            let text = format!("`{}` is not published by this federate", class.name);
            return Err(RtiError::new(Exception::InteractionClassNotPublished, text));
        }
        let (sent, payload) = (class.handle, self.interaction_payload(federate, class, values, tag, stamp)?);
        self.receive(effects, sent, &payload);
        self.append_payload(effects, PublishedClass::Interactions(sent), payload, None, StreamEvent::Sent);
        Ok(())
    }

    /// The payload of a request: its parameters and everything that travels with them.
    pub(super) fn interaction_payload(
        &self,
        federate: FederateHandle,
        class: &InteractionClass,
        values: Option<ParameterHandleValueMap>,
        tag: Bytes,
        stamp: Option<Stamp>,
    ) -> Result<Box<Payload>, RtiError> {
        let values = self.parameters_of(class, values)?;
        let transportation = self.interaction_transportation(federate, class);
        let regions = RegionSet::default();
        Ok(Box::new(Payload { producer: federate, transportation, tag, stamp, regions, values }))
    }

    /// Delivers an interaction that was sent at class `sent` to the federates of this node.
    pub(super) fn receive(&self, effects: &mut Effects, sent: InteractionClassHandle, payload: &Payload) {
        self.fan_out(
            effects,
            PublishedClass::Interactions(sent),
            payload,
            |federate| {
                let mut lineage = self.interaction_lineage(sent);
                lineage.find(|at| federate.subscribed_interactions.contains_key(at))
            },
            |received, select| encode::receive(received, payload, OrderType::Receive, select),
        );
    }

    /// Delivers an interaction to each federate that is interested in `class`, at the class given
    /// by `received` and with the parameters of that class. Receivers of the same class share one
    /// encoded callback.
    pub(super) fn fan_out(
        &self,
        effects: &mut Effects,
        class: PublishedClass,
        payload: &Payload,
        received: impl Fn(&super::federate::Federate) -> Option<InteractionClassHandle>,
        encode: impl Fn(InteractionClassHandle, &dyn Fn(usize) -> bool) -> Bytes,
    ) {
        let best_effort = !is_reliable(&self.model, payload.transportation);
        let mut encoded: SmallVec<[(InteractionClassHandle, Bytes); 4]> = SmallVec::new();
        let receivers = self.interest.of(class).filter(|&receiver| receiver != payload.producer);
        let mut receivers = receivers.peekable();
        while let Some(receiver) = receivers.next() {
            let Some(federate) = self.federates.get(&receiver) else { continue };
            let Some(received) = received(federate) else { continue };
            let body = match encoded.iter().find(|(done, _)| *done == received) {
                Some((_, body)) => body.clone(),
                None => {
                    let Some(at) = self.model.interaction_class(received) else { continue };
                    let values = &payload.values;
                    let select = |index: usize| at.has_parameter(ParameterHandle(values[index].handle));
                    let body = encode(received, &select);
                    if receivers.peek().is_some() {
                        encoded.push((received, body.clone()));
                    }
                    body
                }
            };
            let arrival = Arrival::receive_order(body, best_effort);
            effects.push(Effect::Deliver { to: federate.client, arrival });
        }
    }

    /// The parameters of a request, each of which must be available at `class`. If one occurs
    /// twice, its last value counts.
    fn parameters_of(
        &self,
        class: &InteractionClass,
        values: Option<ParameterHandleValueMap>,
    ) -> Result<Values, RtiError> {
        let pairs = values.map(|map| map.parameter_handle_value).unwrap_or_default();
        let mut values = Values::with_capacity(pairs.len());
        for pair in pairs {
            let parameter = pair.parameter_handle.unwrap_or_default();
            if !class.has_parameter(parameter) {
                let name = self.model.parameter(parameter).map_or("?", |parameter| &parameter.name);
                let text = format!("parameter `{name}` ({parameter:?}) is not available at `{}`", class.name);
                return Err(RtiError::new(Exception::InteractionParameterNotDefined, text));
            }
            match values.iter_mut().find(|earlier| earlier.handle == parameter.0) {
                Some(earlier) => earlier.value = pair.value,
                None => values.push(HandleValue { handle: parameter.0, value: pair.value }),
            }
        }
        Ok(values)
    }

    /// The transportation and order of interactions of `class` sent by `federate`.
    pub(crate) fn interaction_transportation(
        &self,
        federate: FederateHandle,
        class: &InteractionClass,
    ) -> TransportationTypeHandle {
        let preference =
            self.federates.get(&federate).and_then(|f| f.interaction_preferences.get(&class.handle));
        preference.and_then(|preference| preference.transportation).unwrap_or(class.transportation)
    }
}
