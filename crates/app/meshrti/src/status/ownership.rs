//! `meshrti status --ownership`: owners of attributes, and federates that wait for them.

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::Table;
use kernel::report::Report as _;
use kernel::report::{
    AttributeOwnershipStatus, InstanceOwnership, OwnershipQuery, OwnershipReport, OwnershipStatus,
};
use serde_json::json;

use super::time::lasting;

/// The query in the arguments: a federation execution, and perhaps an object.
pub(super) fn query(names: &[String]) -> Option<OwnershipQuery> {
    let (federation, object) = names.split_first()?;
    Some(OwnershipQuery { federation: federation.clone(), object: object.first().cloned() })
}

/// Prints the answer of a server, the message of its response.
pub(super) fn show(host: &str, query: &OwnershipQuery, answer: &str, json: &JsonFlag) -> Outcome {
    let status = match OwnershipReport::from_json(answer) {
        Some(OwnershipReport::Ownership(status)) => status,
        Some(OwnershipReport::Unknown(reason)) => {
            return Err(Failure::bad_news(format_args!("{host}: {reason}")));
        }
        None => {
            return Err(Failure::bad_news(format_args!("{host}: the server does not report ownership")));
        }
    };
    if !json.takes_stdout() {
        print(query, &status);
    }
    let mut report = Report::new("status-ownership", 1);
    for instance in &status.instances {
        for attribute in &instance.attributes {
            report.row(json!({
                "object": instance.name, "class": instance.class, "home": instance.home,
                "attribute": attribute.name, "owner": attribute.owner, "offered": attribute.offered,
                "divesting_ms": attribute.divesting_ms, "acquirers": attribute.acquirers,
            }));
        }
    }
    report.summary(json!({ "federation": query.federation, "omitted": status.omitted }));
    json.write(&report)?;
    Ok(Status::Done)
}

fn print(query: &OwnershipQuery, status: &OwnershipStatus) {
    if status.instances.is_empty() {
        say(format_args!("{}: no attribute is being divested or acquired", query.federation));
    }
    for instance in &status.instances {
        let InstanceOwnership { name, class, home, attributes } = instance;
        let home = home.as_ref().map_or_else(String::new, |home| {
            format!("; node {home} decides, and knows the acquirers at other nodes")
        });
        say(format_args!("{name} ({class}){home}"));
        let mut table = Table::new(["attribute", "owner", "negotiation"]);
        for attribute in attributes {
            let owner = attribute.owner.clone().unwrap_or_else(|| "none".to_owned());
            table.line([attribute.name.clone(), owner, describe(attribute)]);
        }
        say(table.text());
    }
    if status.omitted > 0 {
        say(format_args!("and {} objects more", status.omitted));
    }
}

/// The negotiation about an attribute in words; empty if there is none.
fn describe(attribute: &AttributeOwnershipStatus) -> String {
    let mut parts = Vec::new();
    match attribute.divesting_ms {
        Some(ms) => parts.push(format!("divesting for {}", lasting(ms))),
        None if attribute.offered => parts.push("offered".to_owned()),
        None => {}
    }
    for acquirer in &attribute.acquirers {
        let how = if acquirer.asks_owner { "" } else { " if available" };
        parts.push(format!("{} waits for it{how} for {}", acquirer.federate, lasting(acquirer.waits_ms)));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::report::AcquirerStatus;

    #[test]
    fn a_line_names_the_federates_that_wait() {
        let acquirer = |federate: &str, waits_ms, asks_owner| AcquirerStatus {
            federate: federate.to_owned(),
            waits_ms,
            asks_owner,
        };
        let mut attribute = AttributeOwnershipStatus::default();
        assert_eq!(describe(&attribute), "");
        attribute.offered = true;
        assert_eq!(describe(&attribute), "offered");
        attribute.divesting_ms = Some(61_500);
        attribute.acquirers = vec![acquirer("Red", 3_200, true), acquirer("Blue", 20, false)];
        assert_eq!(
            describe(&attribute),
            "divesting for 1m 1s; Red waits for it for 3s; Blue waits for it if available for 20ms"
        );
    }
}
