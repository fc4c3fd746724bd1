//! The ownership of attributes, for people and tools.

use crate::control::Federation;
use crate::object::objects::Objects;
use crate::rti::Rti;
use base::Moment;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};

/// The greatest number of instances in one report. No person reads more of them, and the node
/// serves no other federate while it describes them.
const MAX_INSTANCES: usize = 1_000;

/// Attributes and their owners, as one node knows them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OwnershipStatus {
    /// By handle.
    pub instances: Vec<InstanceOwnership>,
    /// The number of instances that are left out, because there are too many.
    pub omitted: usize,
}

/// The ownership of the attributes of an object instance.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InstanceOwnership {
    /// Its name.
    pub name: String,
    /// The name of its class.
    pub class: String,
    /// The name of the node that decides about its owners, if that is another one. It knows the
    /// acquirers of all nodes; the others know their own.
    pub home: Option<String>,
    /// Its attributes, in the order of their handles.
    pub attributes: Vec<AttributeOwnershipStatus>,
}

/// The ownership of an attribute.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AttributeOwnershipStatus {
    /// Its name.
    pub name: String,
    /// The name of the federate that owns it.
    pub owner: Option<String>,
    /// Whether federates may have it without asking the owner.
    pub offered: bool,
    /// How long its owner has been divesting it by negotiation (7.3), in milliseconds.
    pub divesting_ms: Option<u64>,
    /// The federates that want to acquire it; the first gets it first.
    pub acquirers: Vec<AcquirerStatus>,
}

/// A federate that wants to acquire an attribute.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AcquirerStatus {
    /// Its name.
    pub federate: String,
    /// How long it has waited, in milliseconds. The count starts anew when the home of the instance
    /// is lost.
    pub waits_ms: u64,
    /// Whether it has asked the owner for the attribute (7.8), and not only whether the attribute
    /// is available (7.9).
    pub asks_owner: bool,
}

impl Rti {
    /// The ownership of the attributes of an object instance, or of all instances about which
    /// something is negotiated, in a federation execution.
    ///
    /// # Errors
    /// The federation execution, or the instance, is unknown to this node.
    pub fn ownership(&self, federation: &str, object: Option<&str>) -> Result<OwnershipStatus, String> {
        let (known, objects) = self.federation_here(federation)?;
        let instances: Vec<_> = match object {
            Some(name) => {
                let instance = objects.instances.by_name(name);
                let unknown = || format!("this node knows no object `{name}` in `{federation}`");
                vec![instance.ok_or_else(unknown)?.handle]
            }
            None => objects.negotiated_instances().into_iter().collect(),
        };
        let omitted = instances.len().saturating_sub(MAX_INSTANCES);
        let reported = instances.into_iter().take(MAX_INSTANCES);
        let describe = |instance: ObjectInstanceHandle| self.instance_ownership(known, objects, instance);
        Ok(OwnershipStatus { instances: reported.filter_map(describe).collect(), omitted })
    }

    fn instance_ownership(
        &self,
        federation: &Federation,
        objects: &Objects,
        instance: ObjectInstanceHandle,
    ) -> Option<InstanceOwnership> {
        let object = objects.instances.get(instance)?;
        let lasting = |since: Moment| u64::try_from(self.now().since(since).as_millis()).unwrap_or(u64::MAX);
        let federate = |handle: FederateHandle| {
            federation.member(handle).map_or_else(|| format!("{handle:?}"), |member| member.name.clone())
        };
        let attributes = objects.ownership(instance).into_iter().map(|known| AttributeOwnershipStatus {
            name: federation.model.attribute(known.attribute).map_or_else(String::new, |at| at.name.clone()),
            owner: known.owner.is_valid().then(|| federate(known.owner)),
            offered: known.is_offered,
            divesting_ms: known.divesting.map(lasting),
            acquirers: known
                .acquirers
                .into_iter()
                .map(|acquirer| AcquirerStatus {
                    federate: federate(acquirer.federate),
                    waits_ms: lasting(acquirer.since),
                    asks_owner: acquirer.is_pending,
                })
                .collect(),
        });
        Some(InstanceOwnership {
            name: object.name.to_string(),
            class: objects.class_of(object.class).name.clone(),
            home: (!objects.is_at_home(instance)).then(|| self.node_name(object.home)),
            attributes: attributes.collect(),
        })
    }
}
