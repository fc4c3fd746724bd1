//! The conformance suite over every kind of link, and tests of particular kinds.

mod conformance;
mod special;
