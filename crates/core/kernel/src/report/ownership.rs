//! The report that `meshrti status --ownership` shows.

use super::Report;
use super::question::{text_of, value_of};
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
        text_of(&[(FEDERATION, Some(&self.federation)), (OBJECT, self.object.as_deref())])
    }

    /// The request in additional settings, if there is one.
    pub(crate) fn from_settings(text: &str) -> Option<Self> {
        Some(Self { federation: value_of(text, FEDERATION)?, object: value_of(text, OBJECT) })
    }
}

impl OwnershipReport {
    pub(crate) fn of(rti: &Rti, query: &OwnershipQuery) -> Self {
        match rti.ownership(&query.federation, query.object.as_deref()) {
            Ok(status) => Self::Ownership(status),
            Err(reason) => Self::Unknown(reason),
        }
    }
}

impl Report for OwnershipReport {}

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
