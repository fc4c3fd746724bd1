//! The conformance suite over every kind of link, and tests of particular kinds.

pub(crate) mod certificates;
mod conformance;
mod special;
mod trust;
