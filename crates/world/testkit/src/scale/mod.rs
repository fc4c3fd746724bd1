//! What many nodes say to each other, counted: whole kernels, joined by links that are queues with a delay, and federates
//! at each.
//!
//! Unlike a [cluster](crate::cluster) nothing goes wrong here and nothing is drawn but the shape: the question is how much is
//! said when nodes and federates come, when somebody's interest changes, and when nothing happens.

mod federate;
mod model;
mod run;
mod shape;
mod world;

pub use run::{Interest, Report, Settings, Step, run};
pub use shape::Shape;
pub use world::Counts;
