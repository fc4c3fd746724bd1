//! The conformance suite over every kind of link, and what is special about some.

mod conformance;
mod special;
