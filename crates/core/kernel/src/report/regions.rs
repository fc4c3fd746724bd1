//! The report that `meshrti status --regions` shows.

use super::Report;
use super::question::{settings, text_of, value_of};
use rti::{RegionsStatus, Rti};
use serde::{Deserialize, Serialize};

/// The additional settings that ask for the report: the second is left out for all federation
/// executions.
const REGIONS: &str = "MeshRTI.regions";
const FEDERATION: &str = "MeshRTI.regions.federation";

/// A request for the regions of federates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionsQuery {
    /// The federation execution; none for all.
    pub federation: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionsReport {
    /// The regions.
    Regions(RegionsStatus),
    /// The node does not know the federation execution, in words.
    Unknown(String),
}

impl RegionsQuery {
    /// The lines to add to the additional settings of a connect request.
    #[must_use]
    pub fn to_settings(&self) -> String {
        format!("{REGIONS}=1\n{}", text_of(&[(FEDERATION, self.federation.as_deref())]))
    }

    /// The request in additional settings, if there is one.
    pub(crate) fn from_settings(text: &str) -> Option<Self> {
        settings(text).find(|(name, _)| *name == REGIONS)?;
        Some(Self { federation: value_of(text, FEDERATION) })
    }
}

impl RegionsReport {
    pub(crate) fn of(rti: &Rti, query: &RegionsQuery) -> Self {
        match rti.regions(query.federation.as_deref()) {
            Ok(status) => Self::Regions(status),
            Err(reason) => Self::Unknown(reason),
        }
    }
}

impl Report for RegionsReport {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_federation_execution_reaches_the_node() {
        for federation in [None, Some("Range, \"east\"=\n".to_owned())] {
            let query = RegionsQuery { federation };
            let settings = format!("MeshRTI.report=network,\n{}\ncolour=blue", query.to_settings());
            assert_eq!(RegionsQuery::from_settings(&settings), Some(query));
        }
        assert_eq!(RegionsQuery::from_settings("MeshRTI.report=network"), None);
    }
}
