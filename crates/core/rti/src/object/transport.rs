//! Transportation types (6.25 to 6.33) and order types (8.24 to 8.26).

use super::objects::Objects;
use super::scope::handle_set;
use crate::effect::Effects;
use crate::wire::{Delivery, OwnershipAction};
use hla::api::{self, AttributeHandleSet, OrderType, callback_request::CallbackRequest as Callback};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use hla::{Exception, RtiError};
use std::collections::BTreeSet;

impl Objects {
    fn transportation(
        &self,
        handle: Option<TransportationTypeHandle>,
    ) -> Result<TransportationTypeHandle, RtiError> {
        let handle = handle.unwrap_or_default();
        match self.model.transportation(handle) {
            Some(transportation) => Ok(transportation.handle),
            None => {
                let text = format!("{handle:?} is no transportation type of this federation");
                Err(RtiError::new(Exception::InvalidTransportationTypeHandle, text))
            }
        }
    }

    /// Decodes an order type from its wire number.
    pub(crate) fn order(number: i32) -> Result<OrderType, RtiError> {
        OrderType::try_from(number).map_err(|_| {
            RtiError::new(
                Exception::InvalidOrderType,
                format!("{number} is neither RECEIVE (0) nor TIMESTAMP (1)"),
            )
        })
    }

    /// The instance and those of its attributes that are requested; `federate` must own all of
    /// them.
    pub(super) fn owned(
        &self,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attributes: Option<&AttributeHandleSet>,
    ) -> Result<(ObjectInstanceHandle, BTreeSet<AttributeHandle>), RtiError> {
        let (object, class) = self.known_instance(federate, instance)?;
        let attributes = self.attributes_at(class, attributes)?;
        let registered = self.class_of(object.class);
        let owner = |attribute| registered.slot(attribute).map(|slot| object.attribute(slot).owner);
        match attributes.iter().find(|&&attribute| owner(attribute) != Some(federate)) {
            None => Ok((object.handle, attributes)),
            Some(attribute) => {
                let text = format!("{attribute:?} of {:?} is not owned by this federate", object.handle);
                Err(RtiError::new(Exception::AttributeNotOwned, text))
            }
        }
    }

    /// Request Attribute Transportation Type Change (6.25), confirmed at once (6.26).
    pub(crate) fn change_attribute_transportation(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attributes: Option<&AttributeHandleSet>,
        transportation: Option<TransportationTypeHandle>,
    ) -> Result<(), RtiError> {
        let (handle, attributes) = self.owned(federate, instance, attributes)?;
        let transportation = self.transportation(transportation)?;
        self.for_each_attribute(handle, &attributes, |state| state.transportation = transportation);
        let delivery = Delivery { transportation, time_stamped: false };
        let (action, changed) = (OwnershipAction::ChangeTransportation, attributes.iter().copied().collect());
        self.delivery_changed(effects, (handle, federate), action, changed, delivery);
        let confirm = api::ConfirmAttributeTransportationTypeChange {
            object_instance: Some(handle),
            attributes: handle_set(&attributes),
            transportation_type: Some(transportation),
        };
        self.notify(effects, federate, Callback::ConfirmAttributeTransportationTypeChange(confirm));
        Ok(())
    }

    /// Change Attribute Order Type (8.24): immediate, no callback.
    pub(crate) fn change_attribute_order(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attributes: Option<&AttributeHandleSet>,
        order: i32,
    ) -> Result<(), RtiError> {
        let (handle, attributes) = self.owned(federate, instance, attributes)?;
        let order = Self::order(order)?;
        let time_stamped = order == OrderType::Timestamp;
        self.for_each_attribute(handle, &attributes, |state| state.time_stamped = time_stamped);
        let delivery = Delivery { time_stamped, transportation: TransportationTypeHandle::RELIABLE };
        let (action, changed) = (OwnershipAction::ChangeOrder, attributes.into_iter().collect());
        self.delivery_changed(effects, (handle, federate), action, changed, delivery);
        Ok(())
    }

    pub(crate) fn for_each_attribute(
        &mut self,
        handle: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        change: impl Fn(&mut super::instance::AttributeState),
    ) {
        let Self { instances, model, .. } = self;
        let Some(object) = instances.get_mut(handle) else { return };
        let Some(class) = model.object_class(object.class) else { return };
        for slot in attributes.iter().filter_map(|&attribute| class.slot(attribute)) {
            change(object.attribute_mut(slot));
        }
    }

    /// Change Default Attribute Transportation Type (6.27), for instances registered from now on.
    pub(crate) fn change_default_transportation(
        &mut self,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<&AttributeHandleSet>,
        transportation: Option<TransportationTypeHandle>,
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let attributes = self.attributes_at(class, attributes)?;
        let class = class.handle;
        let transportation = self.transportation(transportation)?;
        let preferences = &mut self.federate_mut(federate).attribute_preferences;
        for attribute in attributes {
            preferences.entry((class, attribute)).or_default().transportation = Some(transportation);
        }
        Ok(())
    }

    /// Change Default Attribute Order Type (8.25), for instances registered from now on.
    pub(crate) fn change_default_order(
        &mut self,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<&AttributeHandleSet>,
        order: i32,
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let attributes = self.attributes_at(class, attributes)?;
        let class = class.handle;
        let order = Self::order(order)?;
        let preferences = &mut self.federate_mut(federate).attribute_preferences;
        for attribute in attributes {
            preferences.entry((class, attribute)).or_default().order = Some(order);
        }
        Ok(())
    }

    /// Query Attribute Transportation Type (6.28), reported at once (6.29).
    pub(crate) fn query_attribute_transportation(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attribute: Option<AttributeHandle>,
    ) -> Result<(), RtiError> {
        let (object, class) = self.known_instance(federate, instance)?;
        let attribute = attribute.unwrap_or_default();
        let slot = self.class_of(object.class).slot(attribute).filter(|_| class.has_attribute(attribute));
        let slot = slot.ok_or_else(|| self.attribute_not_defined(attribute, class))?;
        let report = api::ReportAttributeTransportationType {
            object_instance: Some(object.handle),
            attribute: Some(attribute),
            transportation_type: Some(object.attribute(slot).transportation),
        };
        self.notify(effects, federate, Callback::ReportAttributeTransportationType(report));
        Ok(())
    }

    fn published_interaction(
        &self,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
    ) -> Result<InteractionClassHandle, RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?;
        if !self.federate(federate).published_interactions.contains(&class.handle) {
            let text = format!("`{}` is not published by this federate", class.name);
            return Err(RtiError::new(Exception::InteractionClassNotPublished, text));
        }
        Ok(class.handle)
    }

    /// Request Interaction Transportation Type Change (6.30), confirmed at once (6.31).
    pub(crate) fn change_interaction_transportation(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        transportation: Option<TransportationTypeHandle>,
    ) -> Result<(), RtiError> {
        let class = self.published_interaction(federate, class)?;
        let transportation = self.transportation(transportation)?;
        let preferences = &mut self.federate_mut(federate).interaction_preferences;
        preferences.entry(class).or_default().transportation = Some(transportation);
        let confirm = api::ConfirmInteractionTransportationTypeChange {
            interaction_class: Some(class),
            transportation_type: Some(transportation),
        };
        self.notify(effects, federate, Callback::ConfirmInteractionTransportationTypeChange(confirm));
        Ok(())
    }

    /// Change Interaction Order Type (8.26): immediate, no callback.
    pub(crate) fn change_interaction_order(
        &mut self,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
        order: i32,
    ) -> Result<(), RtiError> {
        let class = self.published_interaction(federate, class)?;
        let order = Self::order(order)?;
        self.federate_mut(federate).interaction_preferences.entry(class).or_default().order = Some(order);
        Ok(())
    }

    /// Query Interaction Transportation Type (6.32) of another federate or of the caller itself,
    /// reported by (6.33).
    pub(crate) fn query_interaction_transportation(
        &mut self,
        effects: &mut Effects,
        handle: FederateHandle,
        federate: FederateHandle,
        class: Option<InteractionClassHandle>,
    ) -> Result<(), RtiError> {
        let class = self.interaction_class(class, Exception::InteractionClassNotDefined)?;
        let transportation = self.interaction_transportation(federate, class);
        self.report_transportation(effects, handle, federate, class.handle, transportation);
        Ok(())
    }
}
