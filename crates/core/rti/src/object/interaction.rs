//! Interactions (6.12, 6.13).

use super::encode;
use super::objects::Objects;
use super::timed::{pass_on, received_order};
use super::update::{Conveyed, is_reliable};
use crate::control::PublishedClass;
use crate::effect::{Asked, Effect, Effects, MomRequest};
use crate::stamp::Stamp;
use crate::time::Subject;
use crate::wire::{HandleValue, Payload, RegionSet, StreamEvent, Values};
use bytes::Bytes;
use hla::api::{ConveyedRegionSet, OrderType, ParameterHandleValueMap, RegionHandleSet};
use hla::fom::InteractionClass;
use hla::handle::{FederateHandle, InteractionClassHandle, ParameterHandle, TransportationTypeHandle};
use hla::{Exception, RtiError};
use smallvec::SmallVec;

impl Objects {
    /// Send Interaction (6.12), with or without regions (9.12). Each receiver gets it once, at the
    /// most specific class of which a subscription applies, with the parameters of that class. Returns
    /// whether it was sent in time-stamp order.
    #[allow(clippy::too_many_arguments)] // the service has that many
    pub(crate) fn send_interaction(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        values: Option<ParameterHandleValueMap>,
        tag: Bytes,
        stamp: Option<Stamp>,
        regions: Option<&RegionHandleSet>,
    ) -> Result<bool, RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?;
        if !self.federate(federate).published_interactions.contains(&class.handle) {
            let text = format!("`{}` is not published by this federate", class.name);
            return Err(RtiError::new(Exception::InteractionClassNotPublished, text));
        }
        let (sent, mut payload) =
            (class.handle, self.interaction_payload(federate, class, values, tag, stamp)?);
        payload.regions = self.sent_regions(federate, sent, regions)?;
        let in_time = payload.is_in_time();
        self.federate_mut(federate).counters.count_sent(sent, payload.transportation, false);
        self.receive(effects, sent, &payload);
        if self.is_mom_interaction(sent) {
            let asked = Asked { sender: federate, class: sent, values: payload.values.clone() };
            effects.push(Effect::Manage(self.id, Box::new(MomRequest::Asked { asked, from: None })));
        }
        self.append_payload(effects, PublishedClass::Interactions(sent), payload, None, StreamEvent::Sent);
        Ok(in_time)
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
        let stamp = stamp.map(|stamp| stamp.ordered(self.interaction_order(federate, class)));
        let regions = RegionSet::default();
        Ok(Box::new(Payload { producer: federate, transportation, tag, stamp, regions, values }))
    }

    /// Delivers an interaction that was sent at class `sent` to the federates of this node.
    pub(super) fn receive(&mut self, effects: &mut Effects, sent: InteractionClassHandle, payload: &Payload) {
        let received = self.fan_out(
            effects,
            PublishedClass::Interactions(sent),
            payload,
            |federate| {
                let mut lineage = self.interaction_lineage(sent);
                lineage.find(|&at| self.is_interaction_wanted(federate, at, (sent, payload)))
            },
            |received, how, select| encode::receive(received, payload, how, select),
            Subject::Interaction,
        );
        self.count_received(&received, payload.transportation, false);
    }

    /// Counts interactions that federates have received.
    pub(super) fn count_received(
        &mut self,
        received: &[(FederateHandle, InteractionClassHandle)],
        transportation: TransportationTypeHandle,
        is_directed: bool,
    ) {
        for (federate, class) in received {
            if let Some(federate) = self.federates.get_mut(federate) {
                federate.counters.count_received(*class, transportation, is_directed);
            }
        }
    }

    /// Delivers an interaction to each federate that is interested in `class`, at the class given
    /// by `received` and with the parameters of that class. Receivers of the same class share one
    /// encoded callback. Returns the receivers that need not wait for their logical time.
    pub(super) fn fan_out(
        &self,
        effects: &mut Effects,
        class: PublishedClass,
        payload: &Payload,
        received: impl Fn(&super::federate::Federate) -> Option<InteractionClassHandle>,
        encode: impl Fn(
            InteractionClassHandle,
            (OrderType, Option<&ConveyedRegionSet>),
            &dyn Fn(usize) -> bool,
        ) -> Bytes,
        subject: impl Fn(InteractionClassHandle) -> Subject,
    ) -> SmallVec<[(FederateHandle, InteractionClassHandle); 4]> {
        let mut counted = SmallVec::new();
        let best_effort = !is_reliable(&self.model, payload.transportation);
        let mut conveyed = Conveyed::default();
        let mut encoded: SmallVec<[(InteractionClassHandle, OrderType, bool, Bytes); 4]> = SmallVec::new();
        let receivers = self.interest.of(class).filter(|&receiver| receiver != payload.producer);
        let mut receivers = receivers.peekable();
        while let Some(receiver) = receivers.next() {
            let Some(federate) = self.federates.get(&receiver) else { continue };
            let Some(received) = received(federate) else { continue };
            let order = received_order(payload, federate);
            let conveys = federate.switches.convey_region_designator_sets;
            let key = (received, order, conveys);
            let done = encoded.iter().find(|(class, order, conveys, _)| (*class, *order, *conveys) == key);
            let body = match done {
                Some((.., body)) => body.clone(),
                None => {
                    let Some(at) = self.model.interaction_class(received) else { continue };
                    let values = &payload.values;
                    let select = |place: usize| at.has_parameter(ParameterHandle(values[place].handle));
                    let regions = conveyed.of(&payload.regions, conveys);
                    let body = encode(received, (order, regions), &select);
                    if receivers.peek().is_some() {
                        encoded.push((received, order, conveys, body.clone()));
                    }
                    body
                }
            };
            if order == OrderType::Receive {
                counted.push((receiver, received));
            }
            let kind = self.time;
            pass_on(effects, kind, federate, payload, best_effort, (body, order), || subject(received));
        }
        counted
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

    /// The preferred order of interactions of `class` sent by `federate`.
    fn interaction_order(&self, federate: FederateHandle, class: &InteractionClass) -> OrderType {
        let preference =
            self.federates.get(&federate).and_then(|f| f.interaction_preferences.get(&class.handle));
        preference.and_then(|preference| preference.order).unwrap_or(class.order)
    }

    /// The transportation of interactions of `class` sent by `federate`.
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
