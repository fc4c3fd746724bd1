//! Requests for attribute values (6.21, 6.22).

use super::class_request::RequestedClass;
use super::objects::Objects;
use super::scope::handle_set;
use crate::control::management::RTI;
use crate::effect::Effects;
use bytes::Bytes;
use hla::api::{
    self, AttributeHandleSet, AttributeSetRegionSetPairList, callback_request::CallbackRequest as Callback,
};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use std::collections::{BTreeMap, BTreeSet};

impl Objects {
    /// Request Attribute Value Update (6.21) of one instance.
    pub(crate) fn request_instance_update(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attributes: Option<&AttributeHandleSet>,
        tag: &Bytes,
    ) -> Result<(), RtiError> {
        let (object, class) = self.known_instance(federate, instance)?;
        let attributes = self.attributes_at(class, attributes)?;
        self.ask_owners(effects, federate, object.handle, &attributes, tag, |_| true);
        Ok(())
    }

    /// Request Attribute Value Update of a class: for all its instances and those of its
    /// subclasses.
    pub(crate) fn request_class_update(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        attributes: Option<&AttributeHandleSet>,
        tag: &Bytes,
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let attributes = self.attributes_at(class, attributes)?;
        let class = class.handle;
        let requested = RequestedClass { class, attributes, regions: Vec::new() };
        self.provide_class(effects, federate, requested.clone(), tag.clone())?;
        self.ask_publishers(effects, federate, requested, tag);
        Ok(())
    }

    /// Request Attribute Value Update With Regions (9.13).
    pub(crate) fn request_update_with_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        pairs: Option<&AttributeSetRegionSetPairList>,
        tag: &Bytes,
    ) -> Result<(), RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?.handle;
        let regions = self.requested_regions(federate, class, pairs)?;
        self.refuse_mom_class("requestAttributeValueUpdateWithRegions", class)?;
        if regions.is_empty() {
            return Ok(());
        }
        let attributes = regions.iter().map(|(attribute, _)| *attribute).collect();
        let requested = RequestedClass { class, attributes, regions };
        self.provide_class(effects, federate, requested.clone(), tag.clone())?;
        self.ask_publishers(effects, federate, requested, tag);
        Ok(())
    }

    /// Asks each owner that `is_asked` selects, except `requester`, for its share of `attributes`.
    pub(crate) fn ask_owners(
        &self,
        effects: &mut Effects,
        requester: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        tag: &Bytes,
        mut is_asked: impl FnMut(FederateHandle) -> bool,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        let class = self.class_of(object.class);
        let mut by_owner: BTreeMap<FederateHandle, BTreeSet<AttributeHandle>> = BTreeMap::new();
        for &attribute in attributes {
            let owner = class.slot(attribute).map(|slot| object.attribute(slot).owner);
            if let Some(owner) = owner.filter(|&owner| owner.is_valid() && owner != requester) {
                by_owner.entry(owner).or_default().insert(attribute);
            }
        }
        for (owner, attributes) in by_owner {
            if !is_asked(owner) {
                continue;
            }
            if owner == RTI {
                self.request_managed(effects, requester, instance, attributes);
                continue;
            }
            if !self.federates.contains_key(&owner) {
                self.ask_owner_elsewhere(effects, (requester, owner), instance, &attributes, tag);
                continue;
            }
            let provide = api::ProvideAttributeValueUpdate {
                object_instance: Some(instance),
                attributes: handle_set(&attributes),
                user_supplied_tag: tag.clone(),
            };
            self.notify(effects, owner, Callback::ProvideAttributeValueUpdate(provide));
        }
    }
}
