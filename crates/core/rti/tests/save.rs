//! Federation save and restore (4.19 to 4.35).

mod common;

#[allow(dead_code)] // a part of it is used here
#[path = "nodes/cluster.rs"]
mod cluster;
#[path = "save/declare.rs"]
mod declare;
#[path = "save/edge.rs"]
mod edge;
#[path = "save/exceptions.rs"]
mod exceptions;
#[path = "save/executions.rs"]
mod executions;
#[path = "save/federation.rs"]
mod federation;
#[path = "save/images.rs"]
mod images;
#[path = "save/manage.rs"]
mod manage;
#[path = "save/mom.rs"]
mod mom;
#[path = "save/object.rs"]
mod object;
#[path = "save/op.rs"]
mod op;
#[path = "save/own.rs"]
mod own;
#[path = "save/probe.rs"]
mod probe;
#[path = "save/profile.rs"]
mod profile;
#[path = "save/protocol.rs"]
mod protocol;
#[path = "save/protocol_spec.rs"]
mod protocol_spec;
#[path = "save/reach.rs"]
mod reach;
#[path = "save/region.rs"]
mod region;
#[path = "save/resume.rs"]
mod resume;
#[path = "save/run.rs"]
mod run;
#[path = "save/spread.rs"]
mod spread;
#[path = "save/storing.rs"]
mod storing;
#[path = "save/time.rs"]
mod time;
#[path = "save/timed.rs"]
mod timed;
#[path = "save/twin.rs"]
mod twin;
#[path = "save/words.rs"]
mod words;
