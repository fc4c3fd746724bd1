//! The management object model (clause 11): one instance for the federation and one for each joined
//! federate, whose attributes belong to the RTI.

use super::{Effects, Federation, Instance, NOBODY};
use bytes::Bytes;
use hla::encoding::{Encode, OpaqueData};
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::BTreeMap;

/// The owner of the attributes.
pub(super) const RTI: FederateHandle = FederateHandle(u32::MAX);

const FEDERATE: &str = "HLAobjectRoot.HLAmanager.HLAfederate";
const FEDERATION: &str = "HLAobjectRoot.HLAmanager.HLAfederation";

/// The instance for the federation; those for federates have their handles.
const WHOLE: ObjectInstanceHandle = ObjectInstanceHandle(RTI.0 as u64);

/// Whether an instance belongs to the management object model.
pub(super) fn is_managed(instance: ObjectInstanceHandle) -> bool {
    instance.0 >> 32 == 0
}

impl Federation {
    fn add_managed(&mut self, handle: ObjectInstanceHandle, class: &str, name: String) {
        let class = self.model.object_class_by_name(class).expect("a class of the MIM");
        let attributes = self.available(class);
        let transportation = |&at: &AttributeHandle| Some((at, self.model.attribute(at)?.transportation));
        let instance = Instance {
            class,
            name,
            producer: NOBODY,
            transportation: attributes.iter().filter_map(transportation).collect(),
            owners: attributes.into_iter().map(|attribute| (attribute, RTI)).collect(),
            known: BTreeMap::new(),
        };
        self.instances.insert(handle, instance);
    }

    pub(super) fn add_whole(&mut self) {
        self.add_managed(WHOLE, FEDERATION, "HLAfederation".to_owned());
    }

    /// A federate has joined.
    pub(super) fn add_federate_instance(&mut self, federate: FederateHandle, fx: &mut Effects) {
        let before = self.advice();
        let handle = ObjectInstanceHandle(federate.0.into());
        self.add_managed(handle, FEDERATE, format!("HLAfederate_{}", federate.0));
        self.discover_all(before, federate, fx);
    }

    /// A federate has left.
    pub(super) fn remove_federate_instance(&mut self, federate: FederateHandle, fx: &mut Effects) {
        self.remove(NOBODY, ObjectInstanceHandle(federate.0.into()), &Bytes::new(), fx);
    }

    /// Whether the RTI alone registers instances of a class.
    pub(super) fn is_for_rti(&self, class: ObjectClassHandle) -> bool {
        let name = self.model.object_class(class).map(|class| class.name.as_str());
        name.is_some_and(|name| [FEDERATE, FEDERATION].contains(&name))
    }

    /// The present value of an attribute, of those that runs without logical time can change.
    pub(super) fn managed_value(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Option<Bytes> {
        let name = self.model.attribute(attribute)?.name.as_str();
        let number = |number: i32| number.encode().ok();
        let handle = |federate: FederateHandle| OpaqueData(federate.to_octets().into());
        if instance == WHOLE {
            return match name {
                "HLAfederatesInFederation" => {
                    self.federates.keys().map(|&federate| handle(federate)).collect::<Vec<_>>().encode().ok()
                }
                "HLAautoProvide" => number(self.model.switches().auto_provide.into()),
                _ => None,
            };
        }
        let federate = FederateHandle(u32::try_from(instance.0).ok()?);
        let known = self.federates.get(&federate)?;
        match name {
            "HLAfederateHandle" => handle(federate).encode().ok(),
            "HLAfederateName" => known.name.as_str().encode().ok(),
            "HLAfederateType" => super::federation::FEDERATE_TYPE.encode().ok(),
            "HLAfederateState" => number(1),
            "HLAtimeConstrained" | "HLAtimeRegulating" | "HLAtimeManagerState" => number(0),
            "HLAobjectClassRelevanceAdvisory" => number(known.registration_advisory.into()),
            "HLAattributeRelevanceAdvisory" => number(known.update_advisory.into()),
            "HLAattributeScopeAdvisory" => number(known.scope_advisory.into()),
            "HLAinteractionRelevanceAdvisory" => number(known.interaction_advisory.into()),
            "HLAconveyRegionDesignatorSets" => number(known.convey_regions.into()),
            "HLAautomaticResignAction" => number(known.directive),
            _ => None,
        }
    }

    /// Compares the last values that a federate was told with the present ones.
    pub(super) fn compare_managed(
        &self,
        federate: FederateHandle,
        told: &BTreeMap<(ObjectInstanceHandle, AttributeHandle), Bytes>,
    ) -> Result<(), String> {
        for (&handle, instance) in self.instances.iter().filter(|(handle, _)| is_managed(**handle)) {
            let Some(&class) = instance.known.get(&federate) else { continue };
            for &attribute in instance.owners.keys() {
                if self.applicable(federate, (class, attribute), handle).is_none() {
                    continue;
                }
                let Some(expected) = self.managed_value(handle, attribute) else { continue };
                if told.get(&(handle, attribute)) != Some(&expected) {
                    let name = self.model.attribute(attribute).map_or("", |attribute| &attribute.name);
                    let got = told.get(&(handle, attribute));
                    return Err(format!(
                        "{name} of {handle:?} is {expected:?}, the last value told is {got:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}
