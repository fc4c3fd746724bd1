//! The scenarios that come with the program as files.

/// The scenario file of router-tree-vs-mesh.
pub(super) const TREE_VS_MESH: &str = include_str!("../../scenarios/router-tree-vs-mesh.toml");
/// The scenario file of juo.
pub(super) const JUO: &str = include_str!("../../scenarios/juo.toml");
/// The scenario file of sfexpress.
pub(super) const SFEXPRESS: &str = include_str!("../../scenarios/sfexpress.toml");
/// The scenario file of million.
pub(super) const MILLION: &str = include_str!("../../scenarios/million.toml");
/// Its reading with the cost of an RTI in the federates.
pub(super) const READING_RTI: &str = include_str!("../../scenarios/readings/rti.toml");
/// Its reading with one pair at a time.
pub(super) const READING_ALONE: &str = include_str!("../../scenarios/readings/alone.toml");
/// Its reading with a cost of bytes in the federates.
pub(super) const READING_PER_BYTE: &str = include_str!("../../scenarios/readings/per-byte.toml");
