//! Data distribution management (clause 9): regions narrow the set of those who get a message.
//!
//! - [`table`]: the regions of a federate and their services (9.2 to 9.4);
//! - [`overlap`]: whether two regions overlap;
//! - [`subscription`]: subscriptions with regions (9.8 to 9.11);
//! - [`summary`]: summaries of them for the nodes of owners;
//! - [`association`]: update regions of instance attributes (9.5 to 9.7), at the federate that made
//!   them;
//! - [`update_regions`]: update regions as every node knows them, and the subscriptions that apply;
//! - [`commit`]: the consequences of moved regions (9.3);
//! - [`index`]: instances by their update regions;
//! - [`request`]: requests for values with regions (9.13);
//! - [`comparison`] and [`view`]: why regions do not overlap, and which there are, for people.
//!
//! A region has meaning only at the node of its creator. Elsewhere regions are values: an instance
//! carries the ranges of its update regions, and so does every message. The home of an instance
//! decides on its update regions, at the request of the owner, as it decides on everything else. So
//! all nodes know them in the order of the updates. Subscriptions are matched where the subscriber
//! is.
//!
//! `Federate::subscriptions` holds for each attribute the union of all its subscriptions, with and
//! without regions. This is what applies to an attribute without update regions, since the default
//! region overlaps every region. Update regions may *narrow* these subscriptions: an instance lists,
//! for each federate that knows it, the attributes to which not all of them apply.

mod association;
mod commit;
mod comparison;
mod index;
mod overlap;
mod request;
mod subscription;
mod summary;
mod table;
mod update_regions;
mod view;

pub(crate) use commit::{Difference, MovedRegions, RegionReviews};
pub(crate) use comparison::{Comparison, REGIONS_COMPARED_MAX};
pub(crate) use index::RegionIndex;
pub(crate) use overlap::Separation;
pub(crate) use table::{Distribution, REGION_BYTES};
pub(crate) use update_regions::{Narrowed, UpdateRegions, applicable_in, narrowed_as_sent};
pub(crate) use view::{Bounds, RegionView, RegionsView, SubscriptionView};

use crate::wire::RegionSet;
use hla::handle::AttributeHandle;

/// Attributes, each with its update regions.
pub(crate) type RegionsOfAttributes = Vec<(AttributeHandle, RegionSet)>;
