//! The report that `meshrti status --regions` shows.

use super::question::{setting, settings, string};
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
        let federation = self.federation.as_ref().map(|name| format!("\n{}", setting(FEDERATION, name)));
        format!("{REGIONS}=1{}", federation.unwrap_or_default())
    }

    /// The request in additional settings, if there is one.
    pub(crate) fn from_settings(text: &str) -> Option<Self> {
        settings(text).find(|(name, _)| *name == REGIONS)?;
        let federation = settings(text).find(|(name, _)| *name == FEDERATION);
        Some(Self { federation: federation.and_then(|(_, value)| string(value)) })
    }
}

impl RegionsReport {
    pub(crate) fn of(rti: &Rti, query: &RegionsQuery) -> Self {
        match rti.regions(query.federation.as_deref()) {
            Ok(status) => Self::Regions(status),
            Err(reason) => Self::Unknown(reason),
        }
    }

    /// The report as text for the message of a response.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers can be written")
    }

    /// Parses the message of a response; `None` when it is not such a report.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

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
