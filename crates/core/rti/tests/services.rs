//! The services, group by group, as federates see them: one test per rule or edge case.

mod common;

#[path = "services/access.rs"]
mod access;
#[path = "services/advisories.rs"]
mod advisories;
#[path = "services/declaration.rs"]
mod declaration;
#[path = "services/directed.rs"]
mod directed;
#[path = "services/federation.rs"]
mod federation;
#[path = "services/handover.rs"]
mod handover;
#[path = "services/interactions.rs"]
mod interactions;
#[path = "services/limits.rs"]
mod limits;
#[path = "services/memory.rs"]
mod memory;
#[path = "services/mom.rs"]
mod mom;
#[path = "services/mom_interactions.rs"]
mod mom_interactions;
#[path = "services/names.rs"]
mod names;
#[path = "services/objects.rs"]
mod objects;
#[path = "services/ownership.rs"]
mod ownership;
#[path = "services/queues.rs"]
mod queues;
#[path = "services/reading.rs"]
mod reading;
#[path = "services/regions.rs"]
mod regions;
#[path = "services/regions_many.rs"]
mod regions_many;
#[path = "services/regions_messages.rs"]
mod regions_messages;
#[path = "services/regions_refused.rs"]
mod regions_refused;
#[path = "services/regions_scope.rs"]
mod regions_scope;
#[path = "services/regions_status.rs"]
mod regions_status;
#[path = "services/resign.rs"]
mod resign;
#[path = "services/service_reports.rs"]
mod service_reports;
#[path = "services/support.rs"]
mod support;
#[path = "services/synchronization.rs"]
mod synchronization;
#[path = "services/table.rs"]
mod table;
#[path = "services/time.rs"]
mod time;
#[path = "services/time_input.rs"]
mod time_input;
#[path = "services/time_slices.rs"]
mod time_slices;
#[path = "services/transport.rs"]
mod transport;
