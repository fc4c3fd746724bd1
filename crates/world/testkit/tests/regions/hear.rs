//! Callbacks to federates while calls are on their way. Each must be possible by the acts of its
//! sender and of its receiver since the network was last quiet.

use crate::calls::{CLASSES, Ranges};
use crate::mirror::{Place, meets};
use crate::nodes::Trial;
use hla::api::callback_request::CallbackRequest as Wire;
use hla::api::{ReceiveInteraction, ReflectAttributeValues};
use hla::handle::FederateHandle;

impl Trial {
    pub(crate) fn hear(&mut self, at: usize, wire: Wire) -> Result<(), String> {
        let fed = &mut self.mirror.feds[at];
        let note = |what: String| format!("{:?} f{at} hears {what}", self.cluster.now());
        match wire {
            Wire::DiscoverObjectInstance(r) => {
                let (instance, class) =
                    (r.object_instance.unwrap_or_default(), self.handles.class(r.object_class));
                self.history.push(note(format!("discover {instance:?} at {class}")));
                fed.known.insert(instance, class);
                if self.has_faults && at == 0 {
                    // The registrar may die before it has its answer. The witness subscribes
                    // everything, so that it knows the class.
                    self.mirror.instances.entry(instance).or_insert(class);
                }
            }
            Wire::RemoveObjectInstance(r) => {
                let instance = r.object_instance.unwrap_or_default();
                self.history.push(note(format!("remove {instance:?}")));
                fed.forget(instance);
                if self.has_faults && at == 0 {
                    self.mirror.instances.remove(&instance);
                }
                if !self.doomed.contains(&instance) && !self.deletes {
                    return Err(format!("f{at}: {instance:?} is removed, and nobody has deleted it"));
                }
            }
            Wire::AttributesInScope(r) => {
                let instance = r.object_instance.unwrap_or_default();
                let gained = self.handles.numbers(r.attributes);
                self.history.push(note(format!("in scope {instance:?} {gained:?}")));
                for attribute in gained {
                    fed.in_scope.insert((instance, attribute));
                    fed.doubtful.remove(&(instance, attribute));
                }
            }
            Wire::AttributesOutOfScope(r) => {
                let instance = r.object_instance.unwrap_or_default();
                let lost = self.handles.numbers(r.attributes);
                self.history.push(note(format!("out of scope {instance:?} {lost:?}")));
                for attribute in lost {
                    fed.in_scope.remove(&(instance, attribute));
                    fed.doubtful.remove(&(instance, attribute));
                }
            }
            Wire::AttributeOwnershipAcquisitionNotification(r) => {
                let instance = r.object_instance.unwrap_or_default();
                let secured = self.handles.numbers(r.secured_attributes);
                self.history.push(note(format!("acquired {instance:?} {secured:?}")));
                fed.owns.extend(secured.into_iter().map(|attribute| (instance, attribute)));
            }
            Wire::ProvideAttributeValueUpdate(r) => {
                let instance = r.object_instance.unwrap_or_default();
                for attribute in self.handles.numbers(r.attributes) {
                    *self.received.asked.entry((at, (instance, attribute))).or_default() += 1;
                }
            }
            Wire::ReflectAttributeValues(r) => self.reflect(at, r)?,
            Wire::ReceiveInteraction(r) => self.receive(at, r)?,
            _ => {}
        }
        Ok(())
    }

    fn reflect(&mut self, at: usize, r: ReflectAttributeValues) -> Result<(), String> {
        let instance = r.object_instance.unwrap_or_default();
        let regions = self.handles.ranges(r.optional_sent_regions.ok_or("no regions are conveyed")?);
        let values = r.attribute_values.unwrap_or_default().attribute_handle_value;
        let handles = values.iter().filter_map(|value| value.attribute_handle);
        let of: Vec<usize> = handles.filter_map(|handle| self.handles.attribute(handle)).collect();
        self.check_sender(r.producing_federate, &regions)?;
        for attribute in of {
            self.check_reflected(at, (instance, attribute), &regions)?;
            let all = self.received.reflected.entry((at, (instance, attribute))).or_default();
            all.push(regions.clone());
        }
        Ok(())
    }

    fn receive(&mut self, at: usize, r: ReceiveInteraction) -> Result<(), String> {
        let class = self.handles.interaction(r.interaction_class);
        let regions = self.handles.ranges(r.optional_sent_regions.ok_or("no regions are conveyed")?);
        self.check_sender(r.producing_federate, &regions)?;
        // The class as sent is not known here: of the two, the lower one has more dimensions.
        let fed = &self.mirror.feds[at];
        let fits = |wanted: &Option<Ranges>| {
            let meets = |wanted| (class..CLASSES).any(|sent| meets(wanted, class, &regions, sent));
            wanted.as_ref().is_none_or(meets)
        };
        if !fed.interactions_lately.iter().any(|(of, wanted)| *of == class && fits(wanted)) {
            return Err(format!("f{at} gets an interaction with {regions:?}, which it does not want"));
        }
        let tag = r.user_supplied_tag.to_vec();
        self.received.heard.entry((at, tag)).or_default().push((class, regions));
        Ok(())
    }

    /// The regions of a message are such as its sender has committed.
    fn check_sender(&self, sender: Option<FederateHandle>, regions: &[Ranges]) -> Result<(), String> {
        let at = self.ports.iter().position(|port| Some(port.handle) == sender).ok_or("no sender")?;
        match regions.iter().find(|region| !self.mirror.feds[at].ever.contains(*region)) {
            Some(unknown) => Err(format!("f{at} has never committed {unknown:?}")),
            None => Ok(()),
        }
    }

    /// A federate reflects an attribute: since the network was last quiet it has had a subscription
    /// that could cover it.
    fn check_reflected(&self, at: usize, place: Place, regions: &[Ranges]) -> Result<(), String> {
        let fed = &self.mirror.feds[at];
        let (Some(&class), Some(&registered)) =
            (fed.known.get(&place.0), self.mirror.instances.get(&place.0))
        else {
            return Ok(());
        };
        let covers = |(of, attribute, wanted): &(usize, usize, Option<Ranges>)| {
            let meets = |wanted| meets(wanted, class, regions, registered);
            *of == class && *attribute == place.1 && wanted.as_ref().is_none_or(meets)
        };
        match fed.lately.iter().any(covers) {
            true => Ok(()),
            false => Err(format!("f{at} reflects {place:?} with {regions:?}, which it does not want")),
        }
    }
}
