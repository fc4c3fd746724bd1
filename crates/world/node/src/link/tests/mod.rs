//! One conformance suite for every kind of link, and what is special about some.

mod conformance;
mod peer;
mod special;
