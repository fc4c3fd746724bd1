//! Owners and open negotiations, for people and tools.

use super::super::objects::Objects;
use super::requests::{About, OpenRequests};
use base::Moment;
use hla::handle::{AttributeHandle, FederateHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

/// The ownership of an attribute, as this node knows it.
pub(crate) struct AttributeOwnership {
    pub(crate) attribute: AttributeHandle,
    /// Invalid for none.
    pub(crate) owner: FederateHandle,
    /// Whether all federates may acquire it without the owner's consent.
    pub(crate) is_offered: bool,
    /// When its owner requested the negotiated divestiture (7.3), if it did.
    pub(crate) divesting: Option<Moment>,
    /// The federates that want to acquire it, in the order in which they get it. At a node that is
    /// not the home of the instance: those of this node.
    pub(crate) acquirers: Vec<AcquirerView>,
}

/// A federate that wants to acquire an attribute.
pub(crate) struct AcquirerView {
    pub(crate) federate: FederateHandle,
    /// It has requested the owner to release the attribute (7.8).
    pub(crate) is_pending: bool,
    pub(crate) since: Moment,
}

impl Objects {
    /// The instances about which something is negotiated, as far as this node knows, ascending.
    pub(crate) fn negotiated_instances(&self) -> BTreeSet<ObjectInstanceHandle> {
        let Self { negotiations, requests, .. } = self;
        negotiations.instances().chain(requests.instances()).collect()
    }

    /// The ownership of each attribute of an instance. Empty for an unknown instance.
    pub(crate) fn ownership(&self, instance: ObjectInstanceHandle) -> Vec<AttributeOwnership> {
        let Some(object) = self.instances.get(instance) else { return Vec::new() };
        let handles = &self.class_of(object.class).attributes;
        let mut own = match self.is_at_home(instance) {
            true => BTreeMap::new(),
            false => requested(&self.requests, instance),
        };
        let attributes = handles.iter().zip(object.attributes()).map(|(&attribute, (_, state))| {
            let (mut divesting, mut acquirers) = own.remove(&attribute).unwrap_or_default();
            if let Some(open) = self.negotiations.get(instance, attribute) {
                divesting = open.divesting.map(|divesting| divesting.since);
                let view = |known: &super::negotiation::Acquirer| AcquirerView {
                    federate: known.federate,
                    is_pending: known.is_pending,
                    since: known.since,
                };
                acquirers = open.acquirers.iter().map(view).collect();
            }
            let (owner, is_offered) = (state.owner, state.is_offered);
            AttributeOwnership { attribute, owner, is_offered, divesting, acquirers }
        });
        attributes.collect()
    }
}

/// The requests of federates here to the home of an instance, another node, by attribute.
fn requested(
    requests: &OpenRequests,
    instance: ObjectInstanceHandle,
) -> BTreeMap<AttributeHandle, (Option<Moment>, Vec<AcquirerView>)> {
    let About { acquisitions, divestitures, .. } = requests.of(instance);
    let mut all: BTreeMap<_, (Option<Moment>, Vec<_>)> = BTreeMap::new();
    for ((_, federate, attribute), open) in acquisitions {
        let (is_pending, since) = (open.is_pending, open.since);
        all.entry(attribute).or_default().1.push(AcquirerView { federate, is_pending, since });
    }
    for ((.., attribute), open) in divestitures {
        all.entry(attribute).or_default().0 = Some(open.since);
    }
    all
}
