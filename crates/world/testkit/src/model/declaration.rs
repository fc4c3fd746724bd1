//! Declaration management (clause 5) and the switches that advisories depend on.

use super::{Effects, Federation, Served, Subscribed, refuse_if};
use crate::fom::RATES;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::{AttributeHandleSet, InteractionClassHandleSet};
use hla::handle::{AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle};

/// The attributes of a request.
pub(super) fn listed(set: Option<&AttributeHandleSet>) -> Vec<AttributeHandle> {
    set.map(|set| set.attribute_handle.clone()).unwrap_or_default()
}

fn listed_interactions(set: Option<&InteractionClassHandleSet>) -> Vec<InteractionClassHandle> {
    set.map(|set| set.interaction_class_handle.clone()).unwrap_or_default()
}

/// What `designator` stands for; `Err` when it stands for nothing.
fn rate(designator: &str) -> Result<Option<(&'static str, f64)>, Exception> {
    if designator.is_empty() {
        return Ok(None);
    }
    let found = RATES.iter().find(|(name, _)| *name == designator);
    let (name, hertz) = found.ok_or(Exception::InvalidUpdateRateDesignator)?;
    Ok(Some((name, hertz.parse().expect("the model's rates are numbers"))))
}

impl Federation {
    /// A declaration, with the discoveries and advisories that follow. `None`: it is another call.
    pub(super) fn declare(
        &mut self,
        who: FederateHandle,
        request: &Call,
        fx: &mut Effects,
    ) -> Option<Served> {
        let before = self.advice();
        let served = self.declare_attributes(who, request);
        let served = served.or_else(|| self.declare_interactions(who, request));
        let served = served.or_else(|| self.declare_directed(who, request));
        let served = served.or_else(|| self.set_switch(who, request))?;
        if served.is_ok() && !is_switch(request) {
            let now = self.tell_changes(&before, who, fx);
            self.discover_all(now, who, fx);
            self.tell_interest(&before, fx);
        }
        Some(served)
    }

    fn declare_attributes(&mut self, who: FederateHandle, request: &Call) -> Option<Served> {
        Some(match request {
            Call::PublishObjectClassAttributesRequest(r) => {
                self.publish(who, r.object_class.unwrap_or_default(), &listed(r.attributes.as_ref()))
            }
            Call::UnpublishObjectClassRequest(r) => {
                self.unpublish(who, r.object_class.unwrap_or_default(), None)
            }
            Call::UnpublishObjectClassAttributesRequest(r) => {
                let attributes = listed(r.attributes.as_ref());
                self.unpublish(who, r.object_class.unwrap_or_default(), Some(&attributes))
            }
            Call::SubscribeObjectClassAttributesRequest(r) => {
                self.subscribe(who, r.object_class, &listed(r.attributes.as_ref()), true, "")
            }
            Call::SubscribeObjectClassAttributesPassivelyRequest(r) => {
                self.subscribe(who, r.object_class, &listed(r.attributes.as_ref()), false, "")
            }
            Call::SubscribeObjectClassAttributesWithRateRequest(r) => {
                let attributes = listed(r.attributes.as_ref());
                self.subscribe(who, r.object_class, &attributes, true, &r.update_rate_designator)
            }
            Call::UnsubscribeObjectClassRequest(r) => self.unsubscribe(who, r.object_class, None),
            Call::UnsubscribeObjectClassAttributesRequest(r) => {
                self.unsubscribe(who, r.object_class, Some(&listed(r.attributes.as_ref())))
            }
            _ => return None,
        })
    }

    /// Additive; the privilege to delete comes with any attribute (5.2).
    fn publish(
        &mut self,
        who: FederateHandle,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) -> Served {
        let mut faults = self.check_attributes(class, attributes, Exception::ObjectClassNotDefined);
        faults.extend(self.is_mom(class).then_some(Exception::RTIinternalError));
        refuse_if(faults)?;
        let privilege = self.privilege;
        let publishes = &mut self.me(who).publishes;
        publishes.extend(attributes.iter().map(|&attribute| (class, attribute)));
        if !attributes.is_empty() {
            publishes.insert((class, privilege));
        }
        Ok(None)
    }

    /// Owned attributes of instances known as exactly this class become unowned; the privilege goes with
    /// the last of the others (5.3).
    fn unpublish(
        &mut self,
        who: FederateHandle,
        class: ObjectClassHandle,
        attributes: Option<&[AttributeHandle]>,
    ) -> Served {
        refuse_if(self.check_attributes(
            class,
            attributes.unwrap_or_default(),
            Exception::ObjectClassNotDefined,
        ))?;
        let privilege = self.privilege;
        let publishes = &mut self.me(who).publishes;
        let before = publishes.clone();
        publishes.retain(|&(at, attribute)| {
            at != class || attributes.is_some_and(|listed| !listed.contains(&attribute))
        });
        let last = publishes.iter().all(|&(at, attribute)| at != class || attribute == privilege);
        if last && *publishes != before {
            publishes.retain(|&(at, _)| at != class);
        }
        let gone: Vec<_> = before.difference(publishes).map(|&(_, attribute)| attribute).collect();
        for instance in self.instances.values_mut() {
            if instance.known.get(&who) == Some(&class) {
                instance.owners.retain(|attribute, owner| *owner != who || !gone.contains(attribute));
            }
        }
        Ok(None)
    }

    /// Additive; a new call replaces how the listed attributes are subscribed (5.8).
    fn subscribe(
        &mut self,
        who: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: &[AttributeHandle],
        active: bool,
        designator: &str,
    ) -> Served {
        let class = class.unwrap_or_default();
        let mut faults = self.check_attributes(class, attributes, Exception::ObjectClassNotDefined);
        faults.extend(self.is_mom(class).then_some(Exception::RTIinternalError));
        let rate = rate(designator);
        faults.extend(rate.err());
        refuse_if(faults)?;
        let how = Subscribed { active, rate: rate.ok().flatten() };
        let subscribed = attributes.iter().map(|&attribute| ((class, attribute), how));
        self.me(who).subscribes.extend(subscribed);
        Ok(None)
    }

    fn unsubscribe(
        &mut self,
        who: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<&[AttributeHandle]>,
    ) -> Served {
        let class = class.unwrap_or_default();
        let listed = attributes.unwrap_or_default();
        refuse_if(self.check_attributes(class, listed, Exception::ObjectClassNotDefined))?;
        self.me(who).subscribes.retain(|&(at, attribute), _| {
            at != class || attributes.is_some_and(|listed| !listed.contains(&attribute))
        });
        Ok(None)
    }

    fn declare_interactions(&mut self, who: FederateHandle, request: &Call) -> Option<Served> {
        let (class, declares) = match request {
            Call::PublishInteractionClassRequest(r) => (r.interaction_class, true),
            Call::SubscribeInteractionClassRequest(r) => (r.interaction_class, true),
            Call::SubscribeInteractionClassPassivelyRequest(r) => (r.interaction_class, true),
            Call::UnpublishInteractionClassRequest(r) => (r.interaction_class, false),
            Call::UnsubscribeInteractionClassRequest(r) => (r.interaction_class, false),
            _ => return None,
        };
        let class = class.unwrap_or_default();
        let mut faults = Vec::new();
        if self.model.interaction_class(class).is_none() {
            faults.push(Exception::InteractionClassNotDefined);
        }
        faults.extend((declares && self.is_mom_interaction(class)).then_some(Exception::RTIinternalError));
        if let Err(faults) = refuse_if(faults) {
            return Some(Err(faults));
        }
        let me = self.me(who);
        match request {
            Call::PublishInteractionClassRequest(_) => {
                me.publishes_interactions.insert(class);
            }
            Call::UnpublishInteractionClassRequest(_) => {
                me.publishes_interactions.remove(&class);
                me.interaction_transportation.remove(&class);
            }
            Call::SubscribeInteractionClassRequest(_) => {
                me.subscribes_interactions.insert(class, true);
            }
            Call::SubscribeInteractionClassPassivelyRequest(_) => {
                me.subscribes_interactions.insert(class, false);
            }
            _ => {
                me.subscribes_interactions.remove(&class);
            }
        }
        Some(Ok(None))
    }

    fn declare_directed(&mut self, who: FederateHandle, request: &Call) -> Option<Served> {
        let (class, set) = match request {
            Call::PublishObjectClassDirectedInteractionsRequest(r) => {
                (r.object_class, r.interaction_classes.as_ref())
            }
            Call::SubscribeObjectClassDirectedInteractionsRequest(r) => {
                (r.object_class, r.interaction_classes.as_ref())
            }
            Call::SubscribeObjectClassDirectedInteractionsUniversallyRequest(r) => {
                (r.object_class, r.interaction_classes.as_ref())
            }
            Call::UnpublishObjectClassDirectedInteractionsRequest(r) => (r.object_class, None),
            Call::UnsubscribeObjectClassDirectedInteractionsRequest(r) => (r.object_class, None),
            Call::UnpublishObjectClassDirectedInteractionsWithSetRequest(r) => {
                (r.object_class, r.interaction_classes.as_ref())
            }
            Call::UnsubscribeObjectClassDirectedInteractionsWithSetRequest(r) => {
                (r.object_class, r.interaction_classes.as_ref())
            }
            _ => return None,
        };
        let class = class.unwrap_or_default();
        let listed = listed_interactions(set);
        let faults = match self.model.object_class(class) {
            None => vec![Exception::ObjectClassNotDefined],
            Some(of) if listed.iter().any(|i| !of.directed_interactions.contains(i)) => {
                vec![Exception::InteractionClassNotDefined]
            }
            Some(_) => Vec::new(),
        };
        if let Err(faults) = refuse_if(faults) {
            return Some(Err(faults));
        }
        let me = self.me(who);
        let pairs = listed.iter().map(|&interaction| (class, interaction));
        match request {
            Call::PublishObjectClassDirectedInteractionsRequest(_) => me.publishes_directed.extend(pairs),
            Call::SubscribeObjectClassDirectedInteractionsRequest(_) => {
                me.subscribes_directed.extend(pairs.map(|pair| (pair, false)));
            }
            Call::SubscribeObjectClassDirectedInteractionsUniversallyRequest(_) => {
                me.subscribes_directed.extend(pairs.map(|pair| (pair, true)));
            }
            Call::UnpublishObjectClassDirectedInteractionsRequest(_) => {
                me.publishes_directed.retain(|&(at, _)| at != class);
            }
            Call::UnpublishObjectClassDirectedInteractionsWithSetRequest(_) => {
                me.publishes_directed.retain(|&(at, i)| at != class || !listed.contains(&i));
            }
            Call::UnsubscribeObjectClassDirectedInteractionsRequest(_) => {
                me.subscribes_directed.retain(|&(at, _), _| at != class);
            }
            _ => me.subscribes_directed.retain(|&(at, i), _| at != class || !listed.contains(&i)),
        }
        Some(Ok(None))
    }

    /// Switching an advisory on replays nothing (10.34 to 10.41).
    fn set_switch(&mut self, who: FederateHandle, request: &Call) -> Option<Served> {
        let me = self.me(who);
        match request {
            Call::SetObjectClassRelevanceAdvisorySwitchRequest(r) => me.registration_advisory = r.value,
            Call::SetInteractionRelevanceAdvisorySwitchRequest(r) => me.interaction_advisory = r.value,
            Call::SetAttributeScopeAdvisorySwitchRequest(r) => me.scope_advisory = r.value,
            Call::SetAttributeRelevanceAdvisorySwitchRequest(r) => me.update_advisory = r.value,
            Call::SetConveyRegionDesignatorSetsSwitchRequest(r) => me.convey_regions = r.value,
            Call::SetAutomaticResignDirectiveRequest(r) if (0..6).contains(&r.value) => {
                me.directive = r.value;
            }
            Call::SetAutomaticResignDirectiveRequest(_) => {
                return Some(Err(vec![Exception::InvalidResignAction]));
            }
            _ => return None,
        }
        Some(Ok(None))
    }
}

fn is_switch(request: &Call) -> bool {
    matches!(
        request,
        Call::SetObjectClassRelevanceAdvisorySwitchRequest(_)
            | Call::SetInteractionRelevanceAdvisorySwitchRequest(_)
            | Call::SetAttributeScopeAdvisorySwitchRequest(_)
            | Call::SetAttributeRelevanceAdvisorySwitchRequest(_)
            | Call::SetConveyRegionDesignatorSetsSwitchRequest(_)
            | Call::SetAutomaticResignDirectiveRequest(_)
    )
}
