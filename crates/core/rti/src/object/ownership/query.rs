//! Queries of attribute ownership (7.17 to 7.19). The home of an instance tells the nodes with a
//! replica of it about every change of owners, so that each node answers by itself.

use super::super::objects::Objects;
use super::super::scope::handle_set;
use crate::control::management::RTI;
use crate::effect::Effects;
use hla::RtiError;
use hla::api::{self, AttributeHandleSet, callback_request::CallbackRequest as Callback};
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

impl Objects {
    /// Is Attribute Owned By Federate (7.19).
    ///
    /// # Errors
    /// `ObjectInstanceNotKnown`, `AttributeNotDefined`.
    pub(crate) fn owns(
        &self,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attribute: Option<AttributeHandle>,
    ) -> Result<bool, RtiError> {
        let set: AttributeHandleSet = [attribute.unwrap_or_default()].into_iter().collect();
        Ok(self.owners(federate, instance, Some(&set))?.contains_key(&federate))
    }

    /// Query Attribute Ownership (7.17). The answers come as callbacks (7.18): one for each owner,
    /// or one for each attribute if the federate accepts only one at a time.
    ///
    /// # Errors
    /// `ObjectInstanceNotKnown`, `AttributeNotDefined`.
    pub(crate) fn query_ownership(
        &self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attributes: Option<&AttributeHandleSet>,
        one_by_one: bool,
    ) -> Result<(), RtiError> {
        for (owner, attributes) in self.owners(federate, instance, attributes)? {
            if one_by_one {
                for attribute in attributes {
                    self.notify(effects, federate, ownership(instance, owner, &BTreeSet::from([attribute])));
                }
            } else {
                self.notify(effects, federate, ownership(instance, owner, &attributes));
            }
        }
        Ok(())
    }

    /// The attributes by owner. The invalid handle stands for none.
    fn owners(
        &self,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        attributes: Option<&AttributeHandleSet>,
    ) -> Result<BTreeMap<FederateHandle, BTreeSet<AttributeHandle>>, RtiError> {
        let (object, known_class) = self.known_instance(federate, instance)?;
        let class = self.class_of(object.class);
        let mut owners: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for attribute in self.attributes_at(known_class, attributes)? {
            let slot = class.slot(attribute);
            let owner = slot.map_or(FederateHandle::INVALID, |slot| object.attribute(slot).owner);
            owners.entry(owner).or_default().insert(attribute);
        }
        Ok(owners)
    }
}

/// The callback that names the owner of these attributes (7.18).
fn ownership(
    object_instance: Option<ObjectInstanceHandle>,
    owner: FederateHandle,
    attributes: &BTreeSet<AttributeHandle>,
) -> Callback {
    let attributes = handle_set(attributes);
    if owner == RTI {
        Callback::AttributeIsOwnedByRti(api::AttributeIsOwnedByRti { object_instance, attributes })
    } else if owner.is_valid() {
        let federate = Some(owner);
        Callback::InformAttributeOwnership(api::InformAttributeOwnership {
            object_instance,
            attributes,
            federate,
        })
    } else {
        Callback::AttributeIsNotOwned(api::AttributeIsNotOwned { object_instance, attributes })
    }
}
