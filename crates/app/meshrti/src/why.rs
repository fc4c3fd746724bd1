//! `meshrti why`: does a federate receive the updates of an object, and why?

use console::exit::{Failure, Outcome, Status, block_on, say};
use console::report::{JsonFlag, Report};
use console::table::Table;
use kernel::report::Report as _;
use kernel::report::{
    ApartStatus, AttributeWhy, SeparatedRegions, SubscriptionStatus, WhyQuery, WhyReport, WhyStatus,
};
use serde_json::{Value, json};

use crate::server::{ServerFlags, ask};

/// Say whether a federate receives the updates of an object, and why or why not.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti why Truck-1 Red
  meshrti why Truck-1 Red --federation Range --server sim-host:15164
  meshrti why oi4294967297 Red --json

For each attribute it shows the owner, the subscription and, if their regions do not overlap, the dimensions that separate them. Ask the node at which the federate has joined: only this node knows its regions.
Exit status: 0 there is an explanation, 1 there is none: the server does not answer or does not know the names.")]
pub(crate) struct Args {
    /// The name of the object instance, or its handle
    object: String,
    /// The name of the federate
    federate: String,
    /// The federation execution, if federates of several have joined at the node
    #[arg(long, value_name = "NAME")]
    federation: Option<String>,
    /// The server: HOST or HOST:PORT (default port 15164)
    #[arg(long = "server", value_name = "HOST", default_value = "localhost")]
    host: String,
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    json: JsonFlag,
}

pub(crate) fn run(args: &Args) -> Outcome {
    block_on(async {
        let query = WhyQuery {
            object: args.object.clone(),
            federate: args.federate.clone(),
            federation: args.federation.clone(),
        };
        let (federate, _callbacks, answer) = ask(&args.server, &args.host, query.to_settings()).await?;
        let _ = tokio::time::timeout(args.server.timeout, federate.disconnect()).await;
        show(&args.host, &answer, &args.json)
    })
}

/// Prints the answer of a server, the message of its response.
fn show(host: &str, answer: &str, json: &JsonFlag) -> Outcome {
    let why = match WhyReport::from_json(answer) {
        Some(WhyReport::Why(why)) => why,
        Some(WhyReport::Unknown(reason)) => {
            return Err(Failure::bad_news(format_args!("{host}: {reason}")));
        }
        None => {
            return Err(Failure::bad_news(format_args!("{host}: the server does not explain scope")));
        }
    };
    if !json.takes_stdout() {
        print(&why);
    }
    let mut report = Report::new("why", 1);
    for attribute in &why.attributes {
        report.row(row(attribute));
    }
    report.summary(json!({
        "federation": why.federation, "object": why.object, "handle": why.handle, "class": why.class,
        "federate": why.federate, "known_class": why.known_class, "explanation": why.summary,
        "omitted": why.omitted,
    }));
    json.write(&report)?;
    Ok(Status::Done)
}

fn row(attribute: &AttributeWhy) -> Value {
    let subscription = attribute.subscription.as_ref();
    json!({
        "attribute": attribute.name,
        "class": attribute.class,
        "owner": attribute.owner,
        "subscribed": subscription.is_some(),
        "plain": subscription.map(|subscription| subscription.plain),
        "subscribed_regions": subscription.map(|subscription| subscription.regions),
        "active": subscription.map(|subscription| subscription.active),
        "rate": subscription.and_then(|subscription| subscription.rate.as_ref()),
        "updates_per_s": subscription.and_then(|subscription| subscription.updates_per_s),
        "update_regions": attribute.update_regions,
        "overlapping": attribute.overlapping,
        "separated": attribute.separated,
        "cut_short": attribute.cut_short,
        "in_scope": attribute.in_scope,
        "reason": attribute.reason,
    })
}

fn print(why: &WhyStatus) {
    let WhyStatus { object, handle, summary, attributes, omitted, .. } = why;
    say(format_args!("{object} ({handle}): {summary}"));
    if !attributes.is_empty() {
        let mut table = Table::new(["attribute", "owner", "subscribed", "in scope"]);
        for attribute in attributes {
            let owner = attribute.owner.clone().unwrap_or_else(|| "none".to_owned());
            let at = why.known_class.is_none().then_some(attribute.class.as_str());
            let subscribed = describe(attribute.subscription.as_ref(), at);
            let in_scope = if attribute.in_scope { "yes" } else { "no" };
            table.line([attribute.name.clone(), owner, subscribed, in_scope.to_owned()]);
        }
        say(format_args!("\n{}\n", table.text()));
    }
    for (names, attribute) in by_reason(attributes) {
        say(format_args!("{}: {}", names.join(", "), attribute.reason));
        if attribute.separated.len() > 1 {
            attribute.separated.iter().for_each(|pair| say(format_args!("  {}", describe_pair(pair))));
        }
    }
    if *omitted > 0 {
        say(format_args!("and {omitted} attributes more"));
    }
}

/// The names of attributes that have the same reason, in the order of the first, with the first.
fn by_reason(attributes: &[AttributeWhy]) -> Vec<(Vec<&str>, &AttributeWhy)> {
    let mut groups: Vec<(Vec<&str>, &AttributeWhy)> = Vec::new();
    for attribute in attributes {
        let same = groups.iter_mut().find(|(_, first)| {
            (&first.reason, &first.separated) == (&attribute.reason, &attribute.separated)
        });
        match same {
            Some((names, _)) => names.push(&attribute.name),
            None => groups.push((vec![&attribute.name], attribute)),
        }
    }
    groups
}

/// A subscription in words; `class`: where it is, unless it is clear.
fn describe(subscription: Option<&SubscriptionStatus>, class: Option<&str>) -> String {
    let Some(SubscriptionStatus { plain, regions, active, rate, .. }) = subscription else {
        return "no".to_owned();
    };
    let number = if *regions == 1 { "1 region".to_owned() } else { format!("{regions} regions") };
    let how = match (plain, regions) {
        (true, 0) => "plainly".to_owned(),
        (true, _) => format!("plainly and with {number}"),
        (false, _) => format!("with {number}"),
    };
    let passive = if *active { "" } else { ", passively" };
    let rate = rate.as_ref().map(|rate| format!(", at rate {rate}")).unwrap_or_default();
    let class = class.map(|class| format!(", at {class}")).unwrap_or_default();
    how + passive + &rate + &class
}

/// A pair of regions that do not overlap.
fn describe_pair(pair: &SeparatedRegions) -> String {
    let on = |of: &ApartStatus| {
        let ApartStatus { dimension, update, subscribed } = of;
        format!(
            "{dimension}: update [{}, {}), subscribed [{}, {})",
            update.0, update.1, subscribed.0, subscribed.1
        )
    };
    let apart: Vec<_> = pair.apart.iter().map(on).collect();
    let reason = if apart.is_empty() { "no common dimension".to_owned() } else { apart.join("; ") };
    format!("update region {}, subscribed region {}: {reason}", pair.update_region, pair.subscribed_region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_told_in_words() {
        let mut subscription =
            SubscriptionStatus { plain: true, active: true, ..SubscriptionStatus::default() };
        assert_eq!(describe(None, None), "no");
        assert_eq!(describe(Some(&subscription), None), "plainly");
        subscription.regions = 2;
        assert_eq!(describe(Some(&subscription), None), "plainly and with 2 regions");
        let limited = SubscriptionStatus { regions: 1, rate: Some("Low".to_owned()), ..Default::default() };
        assert_eq!(describe(Some(&limited), Some("C")), "with 1 region, passively, at rate Low, at C");
    }

    #[test]
    fn attributes_with_the_same_reason_share_a_sentence() {
        let attribute = |name: &str, reason: &str| AttributeWhy {
            name: name.to_owned(),
            reason: reason.to_owned(),
            ..AttributeWhy::default()
        };
        let all = [attribute("a", "x"), attribute("b", "y"), attribute("c", "x")];
        let names: Vec<_> = by_reason(&all).into_iter().map(|(names, _)| names).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"]]);
    }
}
