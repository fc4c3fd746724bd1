//! What is simulated as a whole: studies from papers, with the readings that they leave open as options, and networks of one's own.

pub mod network;
pub mod torus;
