//! Results of measurements as data: what a file of results contains, what papers measured, what has
//! changed from one file to another, and reports for people.
//!
//! Everything here is pure: text in, text out. The same files give the same report, byte for byte.
//!
//! - [`schema`]: a file of results;
//! - [`papers`]: the figures of papers;
//! - [`compare`](mod@compare): what changed beyond noise;
//! - [`drift`]: whether a figure rises or falls over a long run;
//! - [`grids`]: tables in the form of the papers;
//! - [`report`]: pages in HTML and Markdown, and rows as CSV.

pub mod compare;
pub mod drift;
mod escape;
pub mod grids;
mod merge;
pub mod papers;
mod plots;
mod ranks;
pub mod report;
pub mod schema;

pub use merge::merged;
pub use schema::{Outcome, Results, Row, SCHEMA};
