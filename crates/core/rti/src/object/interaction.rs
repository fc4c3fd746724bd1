//! Interactions (6.12, 6.13).

use super::encode::{self, Envelope, HandleValue};
use super::execution::Execution;
use super::update::is_reliable;
use crate::control::PublishedClass;
use crate::plane::{Delivery, Plane, Topic};
use crate::remote::Subject;
use crate::time::Stamp;
use bytes::Bytes;
use hla::api::ParameterHandleValueMap;
use hla::fom::InteractionClass;
use hla::handle::{FederateHandle, InteractionClassHandle, TransportationTypeHandle};
use hla::{Exception, RtiError};
use router::ClientId;
use smallvec::SmallVec;

impl Execution {
    /// Send Interaction. Each receiver gets it once, at the most specific class that it subscribes,
    /// with the parameters of that class.
    pub(crate) fn send_interaction(
        &mut self,
        plane: &mut Plane,
        who: FederateHandle,
        class: Option<InteractionClassHandle>,
        values: Option<ParameterHandleValueMap>,
        tag: &Bytes,
        stamp: Option<&Stamp>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?;
        if !self.federate(who).published_interactions.contains(&class.handle) {
            self.refuse_mom_interaction("sendInteraction", class.handle)?;
            let text = format!("`{}` is not published by this federate", class.name);
            return Err(RtiError::new(Exception::InteractionClassNotPublished, text));
        }
        let values = self.parameters_of(class, values)?;
        let sent = class.handle;
        let transportation = self.interaction_transportation(who, class);
        let envelope = Envelope { tag, transportation, producer: who, time: stamp.map(Stamp::octets) };
        let from = self.federate(who).client;
        self.receive(plane, from, sent, &values, &envelope);
        if self.remote.is_some() {
            let best_effort = !is_reliable(&self.model, transportation);
            let what = PublishedClass::Interactions(sent);
            self.say_load(plane, what, Subject::Interaction, &values, &envelope, best_effort);
        }
        Ok(())
    }

    /// Hands an interaction that was sent at class `sent` to the federates of this node.
    pub(crate) fn receive(
        &self,
        plane: &mut Plane,
        from: ClientId,
        sent: InteractionClassHandle,
        values: &[HandleValue],
        envelope: &Envelope<'_>,
    ) {
        let best_effort = !is_reliable(&self.model, envelope.transportation);
        let mut encoded: SmallVec<[(InteractionClassHandle, Bytes); 4]> = SmallVec::new();
        plane.fan_out(from, Topic::Interaction(self.id, sent), |client, more| {
            let federate = self.federates.get(self.clients.get(&client)?)?;
            let mut lineage = self.interaction_lineage(sent);
            let received = lineage.find(|at| federate.subscribed_interactions.contains_key(at))?;
            let body = match encoded.iter().find(|(done, _)| *done == received) {
                Some((_, body)) => body.clone(),
                None => {
                    let at = self.model.interaction_class(received)?;
                    let select =
                        |place: usize| at.has_parameter(hla::handle::ParameterHandle(values[place].handle));
                    let body = encode::receive(received, values, select, envelope);
                    if more {
                        encoded.push((received, body.clone()));
                    }
                    body
                }
            };
            Some(Delivery { body, best_effort })
        });
    }

    /// The parameters of a request, each of which must be available at `class`. One that comes twice
    /// keeps its last value.
    pub(super) fn parameters_of(
        &self,
        class: &InteractionClass,
        values: Option<ParameterHandleValueMap>,
    ) -> Result<Vec<HandleValue>, RtiError> {
        let pairs = values.map(|map| map.parameter_handle_value).unwrap_or_default();
        let mut values: Vec<HandleValue> = Vec::with_capacity(pairs.len());
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

    /// How interactions of `class` sent by `who` travel.
    pub(crate) fn interaction_transportation(
        &self,
        who: FederateHandle,
        class: &InteractionClass,
    ) -> TransportationTypeHandle {
        let preference = self.federates.get(&who).and_then(|f| f.interaction_preferences.get(&class.handle));
        preference.and_then(|preference| preference.transportation).unwrap_or(class.transportation)
    }
}
