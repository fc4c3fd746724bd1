//! Complete simulations: studies from papers, whose open questions are options, and user-defined
//! networks.

pub mod network;
pub mod torus;
