//! Complete simulations: studies from papers, whose open questions are options, and user-defined
//! networks.

pub mod four_hop;
pub mod network;
pub mod torus;
