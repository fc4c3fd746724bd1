//! The scenarios that come with the program.

/// A scenario that goes by a name.
pub(super) struct BuiltIn {
    /// What the user writes.
    pub(super) name: &'static str,
    /// The scenario file.
    pub(super) text: &'static str,
}

/// All of them.
pub(super) const BUILT_IN: &[BuiltIn] = &[BuiltIn {
    name: "router-tree-vs-mesh",
    text: include_str!("../../scenarios/router-tree-vs-mesh.toml"),
}];
