//! The report that `meshrti status --ownership` shows.

use super::question::{setting, settings, string};
use rti::{OwnershipStatus, Rti};
use serde::{Deserialize, Serialize};

/// The additional settings that ask for the report.
const FEDERATION: &str = "MeshRTI.ownership.federation";
const OBJECT: &str = "MeshRTI.ownership.object";

/// A request for the ownership of attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnershipQuery {
    /// The federation execution.
    pub federation: String,
    /// The name of an object instance; none for all instances about which something is negotiated.
    pub object: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnershipReport {
    /// The ownership of the attributes.
    Ownership(OwnershipStatus),
    /// The node does not know the federation execution or the object, in words.
    Unknown(String),
}

impl OwnershipQuery {
    /// The lines to add to the additional settings of a connect request.
    #[must_use]
    pub fn to_settings(&self) -> String {
        let object = self.object.as_ref().map(|object| format!("\n{}", setting(OBJECT, object)));
        format!("{}{}", setting(FEDERATION, &self.federation), object.unwrap_or_default())
    }

    /// The request in additional settings, if there is one.
    pub(crate) fn from_settings(text: &str) -> Option<Self> {
        let value = |wanted| settings(text).find(|(name, _)| *name == wanted).and_then(|(_, v)| string(v));
        Some(Self { federation: value(FEDERATION)?, object: value(OBJECT) })
    }
}

impl OwnershipReport {
    pub(crate) fn of(rti: &Rti, query: &OwnershipQuery) -> Self {
        match rti.ownership(&query.federation, query.object.as_deref()) {
            Ok(status) => Self::Ownership(status),
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
    fn names_of_any_form_reach_the_node() {
        for object in [None, Some("Truck, \"red\"=\n\u{2028}".to_owned())] {
            let query = OwnershipQuery { federation: "Range, east".to_owned(), object };
            let settings = format!("MeshRTI.report=network,\n{}\ncolour=blue", query.to_settings());
            assert_eq!(OwnershipQuery::from_settings(&settings), Some(query));
        }
        assert_eq!(OwnershipQuery::from_settings("MeshRTI.ownership.federation=no string"), None);
        assert_eq!(OwnershipQuery::from_settings("MeshRTI.report=network"), None);
    }
}
