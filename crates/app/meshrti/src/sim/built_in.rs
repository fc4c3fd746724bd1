//! The scenarios that come with the program as files.

use serde::Deserialize;

/// A scenario that goes by a name.
pub(super) struct BuiltIn {
    /// What the user writes.
    pub(super) name: &'static str,
    /// The scenario file.
    pub(super) text: &'static str,
}

/// The scenario file of router-tree-vs-mesh.
pub(super) const TREE_VS_MESH: &str = include_str!("../../scenarios/router-tree-vs-mesh.toml");

/// All of them.
pub(super) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "router-tree-vs-mesh", text: TREE_VS_MESH },
    BuiltIn { name: "juo", text: include_str!("../../scenarios/juo.toml") },
    BuiltIn { name: "sfexpress", text: include_str!("../../scenarios/sfexpress.toml") },
    BuiltIn { name: "million", text: include_str!("../../scenarios/million.toml") },
];

impl BuiltIn {
    /// The line for people that it has.
    pub(super) fn title(&self) -> String {
        #[derive(Deserialize)]
        struct Titled {
            title: String,
        }
        toml::from_str::<Titled>(self.text).map(|titled| titled.title).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_have_titles() {
        assert!(BUILT_IN.iter().all(|built_in| !built_in.title().is_empty()));
    }
}
