//! Associations of regions with instance attributes, at the federate that makes them (9.5 to 9.7).
//!
//! A federate may associate regions with attributes that it does not own. They take effect while it
//! owns them.

use super::super::objects::Objects;
use super::RegionsOfAttributes;
use super::subscription::Pairs;
use super::table::Distribution;
use super::update_regions::find;
use crate::control::NodeId;
use crate::effect::Effects;
use crate::limits::{UPDATE_REGIONS_MAX, check_number};
use crate::wire::{ObjectMessage, RegionSet, StreamEvent};
use hla::api::AttributeSetRegionSetPairList;
use hla::handle::{AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, RegionHandle};
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The regions that a federate has associated with the attributes of one instance, by attribute.
/// Every update reads them, and they are few: a list is read faster than a map.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Associations(Vec<(AttributeHandle, Association)>);

impl Associations {
    fn at(&self, attribute: AttributeHandle) -> Result<usize, usize> {
        self.0.binary_search_by_key(&attribute, |(of, _)| *of)
    }

    fn get(&self, attribute: AttributeHandle) -> Option<&Association> {
        find(&self.0, attribute)
    }

    fn get_mut(&mut self, attribute: AttributeHandle) -> Option<&mut Association> {
        let at = self.at(attribute).ok()?;
        self.0.get_mut(at).map(|(_, association)| association)
    }

    fn get_or_insert(&mut self, attribute: AttributeHandle) -> &mut Association {
        let at = self.at(attribute).unwrap_or_else(|at| {
            self.0.insert(at, (attribute, Association::default()));
            at
        });
        &mut self.0.get_mut(at).expect("the attribute has its place now").1
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Association {
    handles: BTreeSet<RegionHandle>,
    /// The same with their specifications.
    regions: RegionSet,
}

impl Distribution {
    /// The regions that the federate has associated with an instance attribute.
    pub(crate) fn associated(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> &RegionSet {
        let of = self.associations.get(&instance).and_then(|all| all.get(attribute));
        of.map_or(RegionSet::DEFAULT, |association| &association.regions)
    }

    /// Whether any regions are associated. If not, updates need not look for them.
    pub(crate) fn associates(&self) -> bool {
        !self.associations.is_empty()
    }

    /// Reads the specifications of associated regions again. `sets` keeps those that were read, so
    /// that instances with the same regions share them.
    pub(super) fn respecify(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        sets: &mut BTreeMap<BTreeSet<RegionHandle>, RegionSet>,
    ) {
        for &attribute in attributes {
            let all = self.associations.get(&instance);
            let Some(association) = all.and_then(|all| all.get(attribute)) else { continue };
            let regions = match sets.get(&association.handles) {
                Some(regions) => regions.clone(),
                None => {
                    let regions = self.set(&association.handles);
                    sets.insert(association.handles.clone(), regions.clone());
                    regions
                }
            };
            let all = self.associations.get_mut(&instance);
            if let Some(association) = all.and_then(|all| all.get_mut(attribute)) {
                association.regions = regions;
            }
        }
    }

    /// Adds associations, or removes them. Returns the number of those that were added or removed.
    fn change(&mut self, instance: ObjectInstanceHandle, pairs: &Pairs, on: bool) -> usize {
        let mut changed = 0;
        for &(attribute, handle) in pairs {
            let all = self.associations.entry(instance).or_default();
            let association = all.get_or_insert(attribute);
            let is_new =
                if on { association.handles.insert(handle) } else { association.handles.remove(&handle) };
            if association.handles.is_empty() {
                all.0.retain(|(of, _)| *of != attribute);
            }
            if all.0.is_empty() {
                self.associations.remove(&instance);
            }
            if let Some(region) = self.region_mut(handle).filter(|_| is_new) {
                match on {
                    true => region.associated.insert((instance, attribute)),
                    false => region.associated.remove(&(instance, attribute)),
                };
                changed += 1;
            }
        }
        match on {
            true => self.associated += changed,
            false => self.associated -= changed,
        }
        let attributes = pairs.iter().map(|&(attribute, _)| attribute).collect();
        self.respecify(instance, &attributes, &mut BTreeMap::new());
        changed
    }

    /// The associations of an instance, only those of some attributes if they are given.
    fn pairs_at(&self, instance: ObjectInstanceHandle, of: Option<&BTreeSet<AttributeHandle>>) -> Pairs {
        let all = self.associations.get(&instance).into_iter().flat_map(|all| &all.0);
        all.filter(|(attribute, _)| of.is_none_or(|of| of.contains(attribute)))
            .flat_map(|(attribute, association)| {
                association.handles.iter().map(|&region| (*attribute, region))
            })
            .collect()
    }
}

impl Objects {
    /// Associate Regions For Updates (9.6).
    pub(crate) fn associate_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        pairs: Option<&AttributeSetRegionSetPairList>,
    ) -> Result<(), RtiError> {
        let (object, class) = self.known_instance(federate, instance)?;
        let (handle, pairs) = (object.handle, self.usable_pairs(federate, class.handle, pairs)?);
        self.check_update_regions(federate, handle, &pairs)?;
        self.change_associations(federate, handle, &pairs, true);
        self.push_regions(effects, federate, handle, attributes_of(&pairs));
        Ok(())
    }

    /// Unassociate Regions For Updates (9.7).
    pub(crate) fn unassociate_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: Option<ObjectInstanceHandle>,
        pairs: Option<&AttributeSetRegionSetPairList>,
    ) -> Result<(), RtiError> {
        let (object, class) = self.known_instance(federate, instance)?;
        let (handle, pairs) = (object.handle, self.pairs_of(federate, class.handle, pairs)?);
        self.change_associations(federate, handle, &pairs, false);
        self.push_regions(effects, federate, handle, attributes_of(&pairs));
        Ok(())
    }

    /// The regions with which an instance is to be registered (9.5).
    pub(crate) fn regions_for_registration(
        &self,
        federate: FederateHandle,
        class: Option<ObjectClassHandle>,
        pairs: Option<&AttributeSetRegionSetPairList>,
    ) -> Result<Pairs, RtiError> {
        let class = self.object_class(class, Exception::ObjectClassNotDefined)?;
        let usable = self.usable_pairs(federate, class.handle, pairs)?;
        let published = self.federate(federate).publications.get(&class.handle);
        let listed = pairs.iter().flat_map(|list| &list.attribute_set_region_set_pair);
        let mut listed = listed.flat_map(|pair| &pair.attribute_set).flat_map(|set| &set.attribute_handle);
        self.check_update_regions(federate, ObjectInstanceHandle::INVALID, &usable)?;
        match listed.find(|attribute| !published.is_some_and(|published| published.contains(attribute))) {
            // A class without any publication has an exception of its own.
            Some(attribute) if published.is_some() => {
                let text = format!("{attribute:?} of `{}` is not published by this federate", class.name);
                Err(RtiError::new(Exception::AttributeNotPublished, text))
            }
            _ => Ok(usable),
        }
    }

    /// Checks the number of regions of each attribute, with those that are associated already.
    fn check_update_regions(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        pairs: &Pairs,
    ) -> Result<(), RtiError> {
        let all = self.federate(federate).distribution.pairs_at(instance, None);
        let all: Vec<_> = all.union(pairs).collect();
        let most = all.chunk_by(|one, next| one.0 == next.0).map(<[_]>::len).max();
        check_number("regions for updates of an attribute", most.unwrap_or_default(), UPDATE_REGIONS_MAX)
    }

    /// Gives a new instance of this node the update regions of its registrant.
    pub(crate) fn associate_new(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        pairs: &Pairs,
    ) {
        if pairs.is_empty() {
            return;
        }
        self.change_associations(federate, instance, pairs, true);
        let attributes: Vec<_> = attributes_of(pairs).into_iter().collect();
        let regions = self.associated_regions(federate, instance, &attributes);
        self.set_update_regions(instance, &regions);
        self.refresh_narrowed(instance, federate);
    }

    fn change_associations(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        pairs: &Pairs,
        on: bool,
    ) {
        self.has_associated |= on;
        let changed = self.federate_mut(federate).distribution.change(instance, pairs, on);
        self.count_region_uses(changed, on);
    }

    /// Drops the associations of attributes that a federate no longer owns, or of an instance that
    /// it no longer knows (all attributes).
    pub(crate) fn drop_associations(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: Option<&BTreeSet<AttributeHandle>>,
    ) {
        let known = self.federates.get(&federate).map(|federate| &federate.distribution);
        let Some(distribution) = known.filter(|distribution| distribution.associates()) else { return };
        let pairs = distribution.pairs_at(instance, attributes);
        self.change_associations(federate, instance, &pairs, false);
    }

    /// The associations of a federate with attributes that it owns have changed: they become the
    /// update regions of these attributes. The home of the instance decides that, in the order of
    /// all changes.
    pub(crate) fn push_regions(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: BTreeSet<AttributeHandle>,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        let Some(owner) = self.federates.get(&federate) else { return };
        let class = self.class_of(object.class);
        let regions = attributes.into_iter().filter_map(|attribute| {
            let slot = class.slot(attribute)?;
            let regions = owner.distribution.associated(instance, attribute).clone();
            (object.attribute(slot).owner == federate).then_some((attribute, regions))
        });
        let regions: RegionsOfAttributes = regions.collect();
        let home = object.home;
        if home == self.node {
            self.decide_regions(effects, instance, regions);
        } else if !regions.is_empty() && self.replicated {
            effects.send(home, ObjectMessage::Regions { federate, instance, regions });
        }
    }

    /// A federate of another node has changed the update regions of attributes that it owns.
    pub(crate) fn regions_requested(
        &mut self,
        effects: &mut Effects,
        from: NodeId,
        (federate, instance): (FederateHandle, ObjectInstanceHandle),
        mut regions: RegionsOfAttributes,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        if object.home != self.node {
            // The home has changed. The sender learns of it, and asks the new one.
            tracing::debug!(%from, ?instance, "update regions for an instance with another home");
            return;
        }
        let class = self.class_of(object.class);
        // It may have lost some in the meantime.
        regions.retain(|(attribute, _)| {
            class.slot(*attribute).is_some_and(|slot| object.attribute(slot).owner == federate)
        });
        self.decide_regions(effects, instance, regions);
    }

    /// Changes the update regions of an instance that is at home here.
    pub(crate) fn decide_regions(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        mut regions: RegionsOfAttributes,
    ) {
        let Some(object) = self.instances.get(instance) else { return };
        regions.retain(|(attribute, regions)| object.regions_of(*attribute) != regions);
        if regions.is_empty() {
            return;
        }
        self.append_change(effects, instance, || StreamEvent::Regions {
            instance,
            regions: regions.clone(),
            is_away: false,
        });
        self.apply_regions(effects, instance, &regions);
    }

    /// The regions that a federate here has associated with some of these attributes, for the home
    /// of an instance of which it wants to own them.
    pub(crate) fn associated_regions(
        &self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) -> RegionsOfAttributes {
        let known = self.federates.get(&federate).map(|federate| &federate.distribution);
        let Some(distribution) = known.filter(|distribution| distribution.associates()) else {
            return RegionsOfAttributes::new();
        };
        let all = attributes.iter().map(|&at| (at, distribution.associated(instance, at).clone()));
        all.filter(|(_, regions)| !regions.is_empty()).collect()
    }

    /// Before attributes of an instance at home here get the owner `to`: their update regions become
    /// those that `to` has associated. `regions`: those as of its request, in case it is a federate
    /// of another node. Later changes follow from there.
    pub(crate) fn regions_of_new_owner(
        &mut self,
        effects: &mut Effects,
        instance: ObjectInstanceHandle,
        to: FederateHandle,
        mut regions: RegionsOfAttributes,
    ) {
        if let Some(owner) = self.federates.get(&to) {
            for (attribute, regions) in &mut regions {
                *regions = owner.distribution.associated(instance, *attribute).clone();
            }
        }
        self.decide_regions(effects, instance, regions);
    }

    /// Asks the home of an instance for the update regions of the attributes that federates here
    /// own, where they differ: the home is a new one, perhaps this node, or a federate here has
    /// become the owner.
    pub(crate) fn push_differing_regions(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        let Some(object) = self.instances.get(instance) else { return };
        let class = self.class_of(object.class);
        let mut differing: BTreeMap<FederateHandle, BTreeSet<AttributeHandle>> = BTreeMap::new();
        for (slot, state) in object.attributes() {
            let Some(owner) = self.federates.get(&state.owner) else { continue };
            let Some(&attribute) = class.attributes.get(slot) else { continue };
            if owner.distribution.associated(instance, attribute) != object.regions_of(attribute) {
                differing.entry(state.owner).or_default().insert(attribute);
            }
        }
        for (owner, attributes) in differing {
            self.push_regions(effects, owner, instance, attributes);
        }
    }
}

fn attributes_of(pairs: &Pairs) -> BTreeSet<AttributeHandle> {
    pairs.iter().map(|&(attribute, _)| attribute).collect()
}
