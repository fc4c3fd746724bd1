//! Federations over several nodes: the services behave as they do on one node, whatever the network
//! does.

mod common;

#[path = "nodes/advisories.rs"]
mod advisories;
#[path = "nodes/cluster.rs"]
mod cluster;
#[path = "nodes/death.rs"]
mod death;
#[path = "nodes/faults.rs"]
mod faults;
#[path = "nodes/model.rs"]
mod model;
#[path = "model/objects.rs"]
mod model_of_objects;
#[path = "nodes/mom.rs"]
mod mom;
#[path = "nodes/narrow.rs"]
mod narrow;
#[path = "nodes/narrow_filtered.rs"]
mod narrow_filtered;
#[path = "nodes/objects.rs"]
mod objects;
#[path = "model/op.rs"]
mod op;
#[path = "nodes/ownership.rs"]
mod ownership;
#[allow(dead_code)] // a part of it is used here
#[path = "model/run.rs"]
mod run;
#[path = "nodes/save.rs"]
mod save;
#[path = "model/spec.rs"]
mod spec;
#[path = "model/steer.rs"]
mod steer;
#[path = "nodes/time.rs"]
mod time;
#[path = "nodes/time_exceptions.rs"]
mod time_exceptions;
#[path = "nodes/time_status.rs"]
mod time_status;
#[path = "nodes/transfer_cost.rs"]
mod transfer_cost;
