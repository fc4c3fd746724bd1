//! Registration, deletion and local deletion of object instances (6.8, 6.16 to 6.18).

use super::instance::{AttributeState, Instance};
use super::objects::Objects;
use crate::control::{Command, NameTable, PublishedClass};
use crate::effect::{Effects, encode};
use crate::stamp::Stamp;
use crate::wire::StreamEvent;
use bytes::Bytes;
use hla::api::{
    self, AttributeSetRegionSetPairList, OrderType, callback_request::CallbackRequest as Callback,
};
use hla::fom::ObjectClass;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};

/// Prefix of the object instance names that the RTI makes. Federates cannot reserve such a name.
const MADE_NAME: &str = "HLAobj_";

impl Objects {
    /// Register Object Instance (6.8), with a name that `federate` has reserved or one that the RTI
    /// makes, and with or without update regions (9.5).
    pub(crate) fn register(
        &mut self,
        effects: &mut Effects,
        names: &NameTable,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        (name, regions): (Option<&str>, Option<&AttributeSetRegionSetPairList>),
    ) -> Result<ObjectInstanceHandle, RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        if !self.federate(federate).publishes(class.handle) {
            let text = format!("`{}` is not published by this federate", class.name);
            return Err(RtiError::new(Exception::ObjectClassNotPublished, text));
        }
        self.check_not_managed(class.handle)?;
        let regions = self.regions_for_registration(federate, Some(class.handle), regions)?;
        if let Some(name) = name {
            self.check_name(names, federate, name)?;
        }
        self.check_room(federate)?;
        let number = self.last_instance.checked_add(1).ok_or_else(|| {
            RtiError::internal("this node has no object instance handles left in this federation")
        })?;
        let handle = ObjectInstanceHandle(u64::from(self.node.0) << 32 | u64::from(number));
        let attributes = self.initial_attributes(federate, class);
        let made;
        let label = match name {
            Some(name) => name,
            None => {
                made = format!("{MADE_NAME}{}_{number}", self.node.0);
                &made
            }
        };
        let instance = Instance::new(handle, class.handle, label, federate, self.node, attributes);
        self.last_instance = number;
        self.federate_mut(federate).counters.registered += 1;
        self.instances.insert(instance);
        if let Some(name) = name {
            let name = name.to_owned();
            effects.propose(Command::UseName { execution: self.id, name, instance: handle });
        }
        self.associate_new(federate, handle, &regions);
        self.append_registered(effects, handle);
        self.discover_at_all(effects, handle);
        Ok(handle)
    }

    /// Whether a federate may register another instance.
    fn check_room(&self, federate: FederateHandle) -> Result<(), RtiError> {
        match self.federate(federate).objects_max {
            Some(most) if self.instances.registered_by(federate) >= most => Err(RtiError::internal(format!(
                "this federate has registered {most} object instances, as many as its account may have at a time"
            ))),
            _ => Ok(()),
        }
    }

    fn check_name(&self, names: &NameTable, federate: FederateHandle, name: &str) -> Result<(), RtiError> {
        // An instance at home here may not be in the table yet. One from elsewhere may not yet be
        // gone here.
        let here = self.instances.by_name(name).is_some_and(|object| object.home == self.node);
        if names.is_used(name) || here {
            let text = format!("an object instance is called `{name}`");
            return Err(RtiError::new(Exception::ObjectInstanceNameInUse, text));
        }
        if !names.is_reserved_by(name, federate) {
            let text = format!("`{name}` is not reserved by this federate");
            return Err(RtiError::new(Exception::ObjectInstanceNameNotReserved, text));
        }
        Ok(())
    }

    /// The registrant owns the attributes that it publishes at the class at that moment. The others
    /// are unowned.
    fn initial_attributes(&self, handle: FederateHandle, class: &ObjectClass) -> Vec<AttributeState> {
        let federate = self.federate(handle);
        let published = federate.publications.get(&class.handle);
        let state = |&attribute: &AttributeHandle| {
            let model = self.model.attribute(attribute).expect("a class lists attributes of its model");
            let delivery = self.preferred_delivery(handle, class.handle, attribute);
            let mut state = AttributeState::unowned(model);
            if published.is_some_and(|published| published.contains(&attribute)) {
                state.owner = handle;
            }
            (state.transportation, state.time_stamped) = (delivery.transportation, delivery.time_stamped);
            state
        };
        class.attributes.iter().map(state).collect()
    }

    /// The instance that `federate` wants to delete (6.16), and the preferred order of its deletion.
    ///
    /// # Errors
    /// `federate` does not know it or may not delete it.
    pub(crate) fn deletable(
        &self,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
    ) -> Result<(ObjectInstanceHandle, OrderType), RtiError> {
        let (object, _) = self.known_instance(federate, instance)?;
        let privilege = self.class_of(object.class).slot(self.privilege);
        let privilege = privilege.map(|slot| object.attribute(slot)).filter(|state| state.owner == federate);
        let Some(privilege) = privilege else {
            let text = format!("{:?} `{}`: the right to delete it is not owned", object.handle, object.name);
            return Err(RtiError::new(Exception::DeletePrivilegeNotHeld, text));
        };
        let order = if privilege.time_stamped { OrderType::Timestamp } else { OrderType::Receive };
        Ok((object.handle, order))
    }

    /// Delete Object Instance (6.16). All federates that know it are told, except the caller.
    /// `is_final`: the deletion cannot be retracted.
    pub(crate) fn delete(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        tag: &Bytes,
        stamp: Option<Stamp>,
        is_final: bool,
    ) {
        self.count_deletion(federate);
        match stamp.filter(|stamp| stamp.is_in_time()) {
            Some(stamp) => self.delete_in_time(effects, federate, instance, tag, stamp, is_final),
            None => self.remove(effects, federate, instance, tag, stamp),
        }
    }

    /// Counts a deletion by a federate here.
    pub(crate) fn count_deletion(&mut self, federate: FederateHandle) {
        if let Some(federate) = self.federates.get_mut(&federate) {
            federate.counters.deleted += 1;
        }
    }

    /// Removes an instance and tells all federates that know it, except `producer`.
    pub(crate) fn remove(
        &mut self,
        effects: &mut Effects,
        producer: FederateHandle,
        handle: ObjectInstanceHandle,
        tag: &Bytes,
        stamp: Option<Stamp>,
    ) {
        let Some(object) = self.instances.remove(handle) else { return };
        self.count_unowned(handle);
        self.end_negotiations(effects, handle);
        self.forget_owned_elsewhere(effects, object.class, handle);
        if self.replicated && object.home == self.node {
            let class = PublishedClass::Objects(object.class);
            let (instance, tag) = (handle, tag.clone());
            effects.append(class, StreamEvent::Removed { instance, producer, tag, stamp });
        }
        let mut body = None;
        for known in object.known() {
            self.forget_instance(known.federate, handle);
            let Some(federate) = self.federates.get_mut(&known.federate) else { continue };
            if federate.handle != producer {
                federate.counters.removed += 1;
                let removal = || removal(handle, producer, tag, stamp, OrderType::Receive);
                effects.deliver(federate.client, body.get_or_insert_with(removal).clone());
            }
        }
        if object.home != self.node {
            return;
        }
        self.refresh_publication(effects, PublishedClass::Objects(object.class));
        self.free_name(effects, &object);
    }

    /// Frees the name of an instance that no longer exists.
    pub(super) fn free_name(&self, effects: &mut Effects, object: &Instance) {
        if !object.name.starts_with(MADE_NAME) {
            let (name, instance) = (object.name.to_string(), object.handle);
            effects.propose(Command::FreeName { execution: self.id, name, instance });
        }
    }

    /// Local Delete Object Instance (6.18): the caller does not know the instance until it
    /// discovers it again.
    pub(crate) fn local_delete(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
    ) -> Result<(), RtiError> {
        let (object, _) = self.known_instance(federate, instance)?;
        if object.is_owned_by(federate) {
            let text =
                format!("attributes of {:?} `{}` are owned by this federate", object.handle, object.name);
            return Err(RtiError::new(Exception::FederateOwnsAttributes, text));
        }
        let handle = object.handle;
        self.check_nothing_wanted(federate, handle)?;
        self.rediscover(effects, federate, handle);
        self.end_deletion(effects, handle);
        Ok(())
    }
}

/// The callback that an instance was removed.
pub(super) fn removal(
    instance: ObjectInstanceHandle,
    producer: FederateHandle,
    tag: &Bytes,
    stamp: Option<Stamp>,
    received: OrderType,
) -> Bytes {
    encode(match stamp {
        None => Callback::RemoveObjectInstance(api::RemoveObjectInstance {
            object_instance: Some(instance),
            user_supplied_tag: tag.clone(),
            producing_federate: Some(producer),
        }),
        Some(stamp) => Callback::RemoveObjectInstanceWithTime(api::RemoveObjectInstanceWithTime {
            object_instance: Some(instance),
            user_supplied_tag: tag.clone(),
            producing_federate: Some(producer),
            time: Some(stamp.to_api()),
            sent_order_type: stamp.sent.into(),
            received_order_type: received.into(),
            optional_retraction: stamp.retraction_to_api(),
        }),
    })
}
