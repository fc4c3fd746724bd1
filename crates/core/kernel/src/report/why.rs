//! The report that `meshrti why` shows.

use super::Report;
use super::question::{text_of, value_of};
use rti::{Rti, WhyStatus};
use serde::{Deserialize, Serialize};

/// The additional settings that ask for the report.
const OBJECT: &str = "MeshRTI.why.object";
const FEDERATE: &str = "MeshRTI.why.federate";
const FEDERATION: &str = "MeshRTI.why.federation";

/// The question whether and why a federate receives the updates of an object instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyQuery {
    /// The name of the instance, or its handle.
    pub object: String,
    /// The name of the federate.
    pub federate: String,
    /// The federation execution; none for the only one.
    pub federation: Option<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyReport {
    /// The explanation.
    Why(WhyStatus),
    /// The node has none, in words.
    Unknown(String),
}

impl WhyQuery {
    /// The lines to add to the additional settings of a connect request.
    #[must_use]
    pub fn to_settings(&self) -> String {
        text_of(&[
            (OBJECT, Some(&self.object)),
            (FEDERATE, Some(&self.federate)),
            (FEDERATION, self.federation.as_deref()),
        ])
    }

    /// The question in additional settings, if there is one.
    pub(crate) fn from_settings(text: &str) -> Option<Self> {
        let (object, federate) = (value_of(text, OBJECT)?, value_of(text, FEDERATE)?);
        Some(Self { object, federate, federation: value_of(text, FEDERATION) })
    }
}

impl WhyReport {
    pub(crate) fn of(rti: &Rti, query: &WhyQuery) -> Self {
        match rti.why(query.federation.as_deref(), &query.object, &query.federate) {
            Ok(status) => Self::Why(status),
            Err(reason) => Self::Unknown(reason),
        }
    }
}

impl Report for WhyReport {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_form_reach_the_node() {
        for federation in [None, Some("Range, east".to_owned())] {
            let (object, federate) = ("Truck, \"red\"=\n\u{2028}".to_owned(), "Red, 1".to_owned());
            let query = WhyQuery { object, federate, federation };
            let settings = format!("MeshRTI.report=network,\n{}\ncolour=blue", query.to_settings());
            assert_eq!(WhyQuery::from_settings(&settings), Some(query));
        }
        assert_eq!(WhyQuery::from_settings("MeshRTI.why.object=\"Truck\""), None);
    }
}
