//! The scenarios that come with the program as files.

use serde::Deserialize;

/// A built-in scenario.
pub(super) struct BuiltIn {
    /// The name that the user types.
    pub(super) name: &'static str,
    /// The scenario file.
    pub(super) text: &'static str,
}

/// The scenario file of router-tree-vs-mesh.
pub(super) const TREE_VS_MESH: &str = include_str!("../../scenarios/router-tree-vs-mesh.toml");

/// All built-in scenarios from files.
pub(super) const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "router-tree-vs-mesh", text: TREE_VS_MESH },
    BuiltIn { name: "juo", text: include_str!("../../scenarios/juo.toml") },
    BuiltIn { name: "sfexpress", text: include_str!("../../scenarios/sfexpress.toml") },
    BuiltIn { name: "million", text: include_str!("../../scenarios/million.toml") },
];

impl BuiltIn {
    /// The title of the scenario, from its file.
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
