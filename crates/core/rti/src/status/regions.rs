//! The regions of federates, for people and tools.

use crate::control::Federation;
use crate::object::objects::Objects;
use crate::object::regions::{Bounds, RegionView, RegionsView};
use crate::rti::Rti;
use hla::fom::Fdd;
use serde::{Deserialize, Serialize};

/// The greatest number of federates in one report. No person reads more of them, and the node serves
/// no other federate while it describes them.
const FEDERATES_MAX: usize = 1_000;

/// The greatest number of regions of one federate in a report.
const REGIONS_OF_FEDERATE_MAX: usize = 20;

/// The greatest number of regions in one report.
const REGIONS_MAX: usize = 2_000;

/// The greatest number of ranges of one region in a report.
const RANGES_MAX: usize = 16;

/// The use of regions at one node.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RegionsStatus {
    /// The federation executions with federates at this node, by name.
    pub federations: Vec<FederationRegions>,
}

/// The use of regions in a federation execution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FederationRegions {
    /// The name of the federation execution.
    pub federation: String,
    /// Its federates at this node, by handle.
    pub federates: Vec<FederateRegions>,
    /// The number of federates that are left out, because there are too many.
    pub omitted: usize,
    /// The number of object instances with update regions that this node knows.
    pub instances: usize,
    /// An estimate of the memory of regions, subscriptions, associations and update regions at this
    /// node, in bytes.
    pub bytes: usize,
}

/// The use that a federate makes of regions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FederateRegions {
    /// Its name.
    pub name: String,
    /// The number of its regions.
    pub regions: usize,
    /// The number of those that it has committed.
    pub committed: usize,
    /// The number of its subscriptions of a class attribute with a region.
    pub attribute_subscriptions: usize,
    /// The number of its subscriptions of an interaction class with a region.
    pub interaction_subscriptions: usize,
    /// The number of its associations of an instance attribute with a region.
    pub associations: usize,
    /// Its first regions, by handle.
    pub first: Vec<RegionStatus>,
}

/// A region.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RegionStatus {
    /// Its handle.
    pub region: String,
    /// The number of its dimensions. The ranges on only the first are in the report if there are very
    /// many.
    pub dimensions: usize,
    /// The ranges that were last committed; `None` if none ever were.
    pub committed: Option<Vec<RangeStatus>>,
    /// The ranges that have been set but not committed: all of them, if one differs.
    pub uncommitted: Option<Vec<RangeStatus>>,
    /// The number of subscriptions that use the region.
    pub subscriptions: usize,
    /// The number of instance attributes with which it is associated.
    pub associations: usize,
}

/// The range of a region on a dimension.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RangeStatus {
    /// The name of the dimension.
    pub dimension: String,
    /// The lower bound, which belongs to the range, and the upper bound, which does not; `None`
    /// while they have not been set.
    pub bounds: Option<(u32, u32)>,
}

impl Rti {
    /// The regions of federates at this node: in the federation execution with this name, or in all.
    ///
    /// # Errors
    /// The federation execution is unknown to this node, or has no federates here.
    pub fn regions(&self, federation: Option<&str>) -> Result<RegionsStatus, String> {
        let mut room = Room { federates: FEDERATES_MAX, regions: REGIONS_MAX };
        let federations = match federation {
            Some(name) => {
                let (known, objects) = self.federation_here(name)?;
                vec![federation_regions(known, objects, &mut room)]
            }
            None => {
                let all = self.control().federations();
                let here = all.filter_map(|known| Some((known, self.objects(known.id)?)));
                here.map(|(known, objects)| federation_regions(known, objects, &mut room)).collect()
            }
        };
        Ok(RegionsStatus { federations })
    }
}

/// The federates and regions for which a report has room.
struct Room {
    federates: usize,
    regions: usize,
}

fn federation_regions(federation: &Federation, objects: &Objects, room: &mut Room) -> FederationRegions {
    let mut federates = Vec::new();
    for (&handle, federate) in objects.federates.iter().take(room.federates) {
        let name = federation.member(handle).map_or_else(|| format!("{handle:?}"), |m| m.name.clone());
        let shown = room.regions.min(REGIONS_OF_FEDERATE_MAX);
        let first = federate.distribution.region_views().take(shown);
        let first: Vec<_> = first.map(|region| region_status(&federation.model, region)).collect();
        room.regions -= first.len();
        let view = federate.distribution.view();
        let RegionsView { regions, committed, attribute_subscriptions, interaction_subscriptions, .. } = view;
        let associations = view.associations;
        federates.push(FederateRegions {
            name,
            regions,
            committed,
            attribute_subscriptions,
            interaction_subscriptions,
            associations,
            first,
        });
    }
    room.federates -= federates.len();
    FederationRegions {
        federation: federation.name.clone(),
        omitted: objects.federates.len() - federates.len(),
        federates,
        instances: objects.instances.update_regions().0,
        bytes: objects.bytes_of_regions(),
    }
}

fn region_status(model: &Fdd, view: RegionView) -> RegionStatus {
    let RegionView { region, committed, template, subscriptions, associations } = view;
    let is_changed = committed.as_ref() != Some(&template);
    RegionStatus {
        region: region.to_string(),
        dimensions: template.len(),
        committed: committed.map(|bounds| ranges(model, bounds)),
        uncommitted: is_changed.then(|| ranges(model, template)),
        subscriptions,
        associations,
    }
}

fn ranges(model: &Fdd, bounds: Bounds) -> Vec<RangeStatus> {
    let range = |(dimension, bounds)| {
        let known = model.dimension(dimension);
        let dimension = known.map_or_else(|| dimension.to_string(), |known| known.name.clone());
        RangeStatus { dimension, bounds }
    };
    bounds.into_iter().take(RANGES_MAX).map(range).collect()
}
