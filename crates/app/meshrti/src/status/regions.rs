//! `meshrti status --regions`: the regions of federates, and the use that they make of them.

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::Table;
use kernel::report::Report as _;
use kernel::report::{
    FederateRegions, FederationRegions, RangeStatus, RegionStatus, RegionsQuery, RegionsReport,
};
use serde_json::{Value, json};

/// Prints the answer of a server, the message of its response.
pub(super) fn show(host: &str, query: &RegionsQuery, answer: &str, json: &JsonFlag) -> Outcome {
    let status = match RegionsReport::from_json(answer) {
        Some(RegionsReport::Regions(status)) => status,
        Some(RegionsReport::Unknown(reason)) => {
            return Err(Failure::bad_news(format_args!("{host}: {reason}")));
        }
        None => {
            return Err(Failure::bad_news(format_args!("{host}: the server does not report regions")));
        }
    };
    if !json.takes_stdout() {
        if status.federations.is_empty() {
            say(format_args!("{host}: no federate has joined at this node"));
        }
        status.federations.iter().for_each(print);
    }
    let mut report = Report::new("status-regions", 1);
    for federation in &status.federations {
        rows(federation, &mut report);
    }
    let totals: Vec<Value> = status.federations.iter().map(total).collect();
    report.summary(json!({ "federation": query.federation, "totals": totals }));
    json.write(&report)?;
    Ok(Status::Done)
}

fn rows(of: &FederationRegions, report: &mut Report) {
    for federate in &of.federates {
        report.row(json!({
            "kind": "federate", "federation": of.federation, "federate": federate.name,
            "regions": federate.regions, "committed": federate.committed,
            "attribute_subscriptions": federate.attribute_subscriptions,
            "interaction_subscriptions": federate.interaction_subscriptions,
            "associations": federate.associations,
        }));
        for region in &federate.first {
            report.row(json!({
                "kind": "region", "federation": of.federation, "federate": federate.name,
                "region": region.region, "dimensions": region.dimensions,
                "committed": region.committed.as_deref().map(ranges),
                "uncommitted": region.uncommitted.as_deref().map(ranges),
                "subscriptions": region.subscriptions, "associations": region.associations,
            }));
        }
    }
}

/// The ranges by the name of the dimension: lower and upper bound, or null while they are not set.
fn ranges(all: &[RangeStatus]) -> Value {
    all.iter().map(|range| (range.dimension.clone(), json!(range.bounds))).collect()
}

fn total(of: &FederationRegions) -> Value {
    json!({
        "federation": of.federation, "instances_with_update_regions": of.instances, "bytes": of.bytes,
        "omitted_federates": of.omitted,
    })
}

fn print(of: &FederationRegions) {
    let FederationRegions { federation, federates, omitted, instances, bytes } = of;
    let kibibytes = bytes.div_ceil(1 << 10);
    say(format_args!(
        "{federation}: objects with update regions: {instances}; memory of regions: {kibibytes} KiB"
    ));
    let mut table = Table::new(["federate", "regions", "committed", "subscriptions", "associations"]);
    for federate in federates {
        let FederateRegions { name, regions, committed, associations, .. } = federate;
        let subscriptions = federate.attribute_subscriptions + federate.interaction_subscriptions;
        let [regions, committed, subscriptions, associations] =
            [regions, committed, &subscriptions, associations].map(usize::to_string);
        table.line([name.clone(), regions, committed, subscriptions, associations]);
    }
    say(table.text());
    if *omitted > 0 {
        say(format_args!("and {omitted} federates more"));
    }
    print_regions(federates);
}

fn print_regions(federates: &[FederateRegions]) {
    let mut table = Table::new(["federate", "region", "subscriptions", "associations", "ranges"]);
    let all =
        federates.iter().flat_map(|federate| federate.first.iter().map(move |region| (federate, region)));
    for (federate, region) in all.clone() {
        let RegionStatus { region: handle, subscriptions, associations, .. } = region;
        let (subscriptions, associations) = (subscriptions.to_string(), associations.to_string());
        table.line([federate.name.clone(), handle.clone(), subscriptions, associations, describe(region)]);
    }
    if all.count() > 0 {
        say(format_args!("\n{}", table.text()));
    }
    for federate in federates {
        let more = federate.regions - federate.first.len();
        if more > 0 {
            say(format_args!("and {more} regions more of {}", federate.name));
        }
    }
}

/// The ranges of a region in words.
fn describe(region: &RegionStatus) -> String {
    let more = |shown: usize| match region.dimensions.saturating_sub(shown) {
        0 => String::new(),
        more => format!(" (dimensions left out: {more})"),
    };
    let listed = |ranges: &[RangeStatus]| {
        let range = |range: &RangeStatus| match range.bounds {
            Some((lower, upper)) => format!("{} [{lower}, {upper})", range.dimension),
            None => format!("{} not set", range.dimension),
        };
        let text: Vec<_> = ranges.iter().map(range).collect();
        if text.is_empty() { "no dimensions".to_owned() } else { text.join(", ") + &more(ranges.len()) }
    };
    match (&region.committed, &region.uncommitted) {
        (Some(committed), None) => listed(committed),
        (Some(committed), Some(set)) => format!("{}; not committed: {}", listed(committed), listed(set)),
        (None, set) => format!("never committed: {}", listed(set.as_deref().unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_not_committed_are_told_apart() {
        let range = |dimension: &str, bounds| RangeStatus { dimension: dimension.to_owned(), bounds };
        let mut region = RegionStatus { dimensions: 2, ..RegionStatus::default() };
        region.uncommitted = Some(vec![range("X", Some((0, 5))), range("Y", None)]);
        assert_eq!(describe(&region), "never committed: X [0, 5), Y not set");
        region.uncommitted = None;
        region.committed = Some(vec![range("X", Some((0, 5))), range("Y", Some((1, 2)))]);
        assert_eq!(describe(&region), "X [0, 5), Y [1, 2)");
        region.uncommitted = Some(vec![range("X", Some((7, 9)))]);
        assert_eq!(describe(&region), "X [0, 5), Y [1, 2); not committed: X [7, 9) (dimensions left out: 1)");
        let without = RegionStatus { committed: Some(Vec::new()), ..RegionStatus::default() };
        assert_eq!(describe(&without), "no dimensions");
    }
}
