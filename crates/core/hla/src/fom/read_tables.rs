//! Reads the small tables of a module: dimensions, transportation types, switches, update rates,
//! and the tables that the RTI only passes on (time, tags, synchronization points).

use roxmltree::Node;

use crate::api::ResignAction;
use crate::fom::datatype::is_given;
use crate::fom::model::{DefaultRange, Dimension};
use crate::fom::module::{
    Documentation, Documented, Origin, RawDimension, RawSwitch, RawTransportation, RawUpdateRate, SwitchValue,
};
use crate::fom::read::Reader;
use crate::fom::xml::{self, Form, Row, listed};

const DIMENSION: Form = Form {
    single: &[
        "name",
        "dataType",
        "inputDataTypes",
        "inputDataDescription",
        "upperBound",
        "normalization",
        "outputDataSemantics",
        "value",
    ],
    many: &[],
};
const TRANSPORTATION: Form = Form { single: &["name", "reliable", "semantics"], many: &[] };
const UPDATE_RATE: Form = Form { single: &["name", "rate", "semantics"], many: &[] };
const TIME: Form =
    Form { single: &["timeStamp", "lookahead", "logicalTime", "logicalTimeInterval"], many: &[] };
const DOCUMENTED: Form = Form { single: &["label", "dataType", "capability", "semantics"], many: &[] };
const TAGS: Form = Form {
    single: &[
        "updateReflectTag",
        "sendReceiveTag",
        "deleteRemoveTag",
        "divestitureRequestTag",
        "divestitureCompletionTag",
        "acquisitionRequestTag",
        "requestUpdateTag",
    ],
    many: &[],
};

/// The switches of both editions, by element name; all but the last are enabled or disabled.
pub(super) const SWITCHES: [&str; 15] = [
    "autoProvide",
    "conveyRegionDesignatorSets",
    "conveyProducingFederate",
    "attributeScopeAdvisory",
    "attributeRelevanceAdvisory",
    "objectClassRelevanceAdvisory",
    "interactionRelevanceAdvisory",
    "serviceReporting",
    "exceptionReporting",
    "delaySubscriptionEvaluation",
    "nonRegulatedGrant",
    "allowRelaxedDDM",
    "advisoriesUseKnownClass",
    "sendServiceReportsToFile",
    RESIGN_SWITCH,
];
pub(super) const RESIGN_SWITCH: &str = "automaticResignAction";

/// The resign actions as object models spell them.
pub(super) const RESIGN_ACTIONS: [(&str, ResignAction); 6] = [
    ("UnconditionallyDivestAttributes", ResignAction::UnconditionallyDivestAttributes),
    ("DeleteObjects", ResignAction::DeleteObjects),
    ("CancelPendingOwnershipAcquisitions", ResignAction::CancelPendingOwnershipAcquisitions),
    ("DeleteObjectsThenDivest", ResignAction::DeleteObjectsThenDivest),
    ("CancelThenDeleteThenDivest", ResignAction::CancelThenDeleteThenDivest),
    ("NoAction", ResignAction::NoAction),
];

/// The `dimensions` table.
pub(super) fn dimensions(table: Node<'_, '_>, reader: &mut Reader<'_>) -> Vec<RawDimension> {
    let rows = Row::read(table, &Form { single: &[], many: &["dimension"] }, &mut reader.findings);
    let read: Vec<RawDimension> = rows.all("dimension").map(|cell| read_dimension(cell, reader)).collect();
    reader.distinct(read.iter().map(|d| (d.name.as_str(), d.offset)), "dimension", "the module");
    read
}

fn read_dimension(cell: Node<'_, '_>, reader: &mut Reader<'_>) -> RawDimension {
    let row = Row::read(cell, &DIMENSION, &mut reader.findings);
    let upper_bound = read_upper_bound(&row, reader);
    let mut input_datatypes = vec![row.text("dataType")];
    if let Some(list) = row.get("inputDataTypes") {
        let list = Row::read(list, &Form { single: &[], many: &["dataType"] }, &mut reader.findings);
        input_datatypes = list.all("dataType").map(xml::text).collect();
    }
    input_datatypes.retain(|name| is_given(name));
    RawDimension {
        name: reader.name(&row, "a dimension"),
        offset: row.offset,
        upper_bound,
        default: read_default(&row, upper_bound.unwrap_or(Dimension::UNBOUNDED), reader),
        input_datatypes,
    }
}

fn read_upper_bound(row: &Row<'_, '_>, reader: &mut Reader<'_>) -> Option<u32> {
    let cell = row.get("upperBound")?;
    let text = xml::text(cell);
    if !is_given(&text) {
        return None;
    }
    let bound = text.parse::<u32>().ok().filter(|&bound| bound > 0);
    if bound.is_none() {
        let message = format!("`{text}` is no upper bound of a dimension");
        reader.findings.error_expected(
            xml::offset(cell),
            message,
            format!("a whole number from 1 to {}", u32::MAX),
        );
    }
    bound
}

fn read_default(row: &Row<'_, '_>, upper_bound: u32, reader: &mut Reader<'_>) -> DefaultRange {
    let Some(cell) = row.get("value") else { return DefaultRange::Excluded };
    let text = xml::text(cell);
    if !is_given(&text) || text == "Excluded" {
        return DefaultRange::Excluded;
    }
    let at = xml::offset(cell);
    match parse_range(&text) {
        None => {
            let message = format!("`{text}` is no default range of a dimension");
            reader.findings.error_expected(at, message, "`[a..b)`, `[a)`, `a` or `Excluded`");
        }
        Some((lower, upper)) if lower >= upper => {
            reader.findings.error_expected(
                at,
                format!("the default range `{text}` is empty"),
                "`[a..b)` with a < b",
            );
        }
        Some((_, upper)) if upper > upper_bound => {
            let message = format!("the default range `{text}` ends beyond the dimension");
            reader.findings.error_expected(at, message, format!("an end of at most {upper_bound}"));
        }
        Some((lower, upper)) => return DefaultRange::Range { lower, upper },
    }
    DefaultRange::Excluded
}

/// Parses `[a..b)`, or `[a)` and `a` for one point.
fn parse_range(text: &str) -> Option<(u32, u32)> {
    let inner = text.strip_prefix('[').map_or(Some(text), |rest| rest.strip_suffix(')'))?;
    if let Some((lower, upper)) = inner.split_once("..") {
        return if inner.len() < text.len() {
            Some((lower.trim().parse().ok()?, upper.trim().parse().ok()?))
        } else {
            None
        };
    }
    let point: u32 = inner.trim().parse().ok()?;
    Some((point, point.checked_add(1)?))
}

/// The `transportations` table.
pub(super) fn transportations(table: Node<'_, '_>, reader: &mut Reader<'_>) -> Vec<RawTransportation> {
    let rows = Row::read(table, &Form { single: &[], many: &["transportation"] }, &mut reader.findings);
    let mut read = Vec::new();
    for cell in rows.all("transportation") {
        let row = Row::read(cell, &TRANSPORTATION, &mut reader.findings);
        let reliable = row.get("reliable").and_then(|cell| match xml::text(cell).as_str() {
            "Yes" => Some(true),
            "No" => Some(false),
            other => {
                let message = format!("`{other}` does not say whether the transportation is reliable");
                reader.findings.error_expected(xml::offset(cell), message, "`Yes` or `No`");
                None
            }
        });
        let name = reader.name(&row, "a transportation type");
        read.push(RawTransportation { name, offset: row.offset, reliable });
    }
    reader.distinct(read.iter().map(|t| (t.name.as_str(), t.offset)), "transportation type", "the module");
    read
}

/// The `updateRates` table.
pub(super) fn update_rates(table: Node<'_, '_>, reader: &mut Reader<'_>) -> Vec<RawUpdateRate> {
    let rows = Row::read(table, &Form { single: &[], many: &["updateRate"] }, &mut reader.findings);
    let mut read = Vec::new();
    for cell in rows.all("updateRate") {
        let row = Row::read(cell, &UPDATE_RATE, &mut reader.findings);
        let name = reader.name(&row, "an update rate");
        let text = row.text("rate");
        // Only decimals are legal, not the other spellings of a float.
        let decimal = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'.' || c == b'+');
        match text.parse::<f64>().ok().filter(|rate| decimal && *rate > 0.0 && rate.is_finite()) {
            Some(rate) => read.push(RawUpdateRate { name, offset: row.offset, rate }),
            None => {
                let message = format!("`{text}` is no update rate");
                let at = row.get("rate").map_or(row.offset, xml::offset);
                reader.findings.error_expected(
                    at,
                    message,
                    "a positive decimal number of updates per second",
                );
            }
        }
    }
    reader.distinct(read.iter().map(|r| (r.name.as_str(), r.offset)), "update rate", "the module");
    read
}

/// The `switches` table.
pub(super) fn switches(table: Node<'_, '_>, reader: &mut Reader<'_>) -> Vec<RawSwitch> {
    let row = Row::read(table, &Form { single: &SWITCHES, many: &[] }, &mut reader.findings);
    let mut read = Vec::new();
    for name in SWITCHES {
        let Some(cell) = row.get(name) else { continue };
        let value =
            if name == RESIGN_SWITCH { read_resign(cell, reader) } else { read_enabled(cell, reader) };
        if let Some(value) = value {
            read.push(RawSwitch { name, offset: xml::offset(cell), value });
        }
    }
    read
}

fn read_enabled(cell: Node<'_, '_>, reader: &mut Reader<'_>) -> Option<SwitchValue> {
    match cell.attribute("isEnabled").unwrap_or("false").trim() {
        "true" | "1" => Some(SwitchValue::Enabled(true)),
        "false" | "0" => Some(SwitchValue::Enabled(false)),
        other => {
            let message = format!("`{other}` is no setting of switch `{}`", cell.tag_name().name());
            reader.findings.error_expected(xml::offset(cell), message, "isEnabled=\"true\" or \"false\"");
            None
        }
    }
}

fn read_resign(cell: Node<'_, '_>, reader: &mut Reader<'_>) -> Option<SwitchValue> {
    let text = cell.attribute("resignAction").unwrap_or("NoAction").trim();
    let found = RESIGN_ACTIONS.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let message = format!("`{text}` is no resign action");
        let expected = listed(RESIGN_ACTIONS.iter().map(|(name, _)| name));
        reader.findings.error_expected(xml::offset(cell), message, expected);
    }
    found.map(|&(_, action)| SwitchValue::Resign(action))
}

/// The tables that the RTI passes on.
pub(super) fn documentation(tables: &Row<'_, '_>, reader: &mut Reader<'_>) -> Documentation {
    let mut read = Documentation::default();
    if let Some(time) = tables.get("time") {
        let row = Row::read(time, &TIME, &mut reader.findings);
        // The names of the same two rows in both editions.
        for (name, key) in [
            ("timeStamp", "logicalTime"),
            ("logicalTime", "logicalTime"),
            ("lookahead", "logicalTimeInterval"),
            ("logicalTimeInterval", "logicalTimeInterval"),
        ] {
            if let Some(cell) = row.get(name) {
                read.time.insert(key, read_documented(cell, reader));
            }
        }
    }
    if let Some(tags) = tables.get("tags") {
        let row = Row::read(tags, &TAGS, &mut reader.findings);
        for name in TAGS.single {
            if let Some(cell) = row.get(name) {
                read.tags.insert(name, read_documented(cell, reader));
            }
        }
    }
    if let Some(points) = tables.get("synchronizations") {
        let form = Form { single: &[], many: &["synchronizationPoint", "synchronization"] };
        let rows = Row::read(points, &form, &mut reader.findings);
        for cell in rows.all("synchronizationPoint").chain(rows.all("synchronization")) {
            let label = cell.children().find(|child| child.tag_name().name() == "label").map(xml::text);
            let documented = read_documented(cell, reader);
            read.synchronizations.insert(label.unwrap_or_default(), documented);
        }
    }
    read
}

fn read_documented(cell: Node<'_, '_>, reader: &mut Reader<'_>) -> Documented {
    let row = Row::read(cell, &DOCUMENTED, &mut reader.findings);
    let origin = Origin { module: 0, offset: row.offset };
    Documented { datatype: row.text("dataType"), capability: row.text("capability"), origin }
}

#[cfg(test)]
mod tests {
    use super::parse_range;

    #[test]
    fn default_ranges() {
        assert_eq!(parse_range("[2..5)"), Some((2, 5)));
        assert_eq!(parse_range("[7)"), Some((7, 8)));
        assert_eq!(parse_range("7"), Some((7, 8)));
        for bad in ["", "[", "[)", "2..5", "[2..5", "[2..5]", "[-1..5)", "[4294967295)", "a"] {
            assert_eq!(parse_range(bad), None, "{bad}");
        }
    }
}
