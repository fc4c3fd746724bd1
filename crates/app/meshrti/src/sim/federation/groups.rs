//! The traffic of multicast groups, as a table and as values. Both are missing without groups.

use std::ops::Add;

use hostsim::{Carried, Federation, Report};
use serde_json::{Value, json};

use console::table::{Table, figure};

/// The traffic of groups in all runs together, and the bytes of links.
fn sums(runs: &[Report]) -> (Carried, u64) {
    let carried = runs.iter().filter_map(|run| run.carried).fold(Carried::default(), Add::add);
    (carried, runs.iter().map(|run| run.link_bytes).sum())
}

/// The values for the summary of a report.
pub(super) fn summary(federation: &Federation, runs: &[Report]) -> Option<Value> {
    let multicast = federation.multicast?;
    let (Carried { groups, lost_datagrams, asked_again }, link_bytes) = sums(runs);
    Some(json!({
        "groups": multicast.groups,
        "rate_min_bit_per_s": multicast.rate_min,
        "loss_ratio": multicast.loss.as_f64(),
        "frames": groups.sent_frames,
        "reliable_frames": groups.reliable_frames,
        "received_frames": groups.received_frames,
        "datagrams": groups.sent_datagrams,
        "bytes": groups.sent_bytes,
        "received_datagrams": groups.received_datagrams,
        "lost_datagrams": lost_datagrams,
        "nacks": groups.nacks,
        "repaired_frames": groups.repaired_frames,
        "recovered_frames": groups.recovered_frames,
        "asked_again": asked_again,
        "link_bytes": link_bytes,
    }))
}

/// The table for people.
pub(super) fn table(federation: &Federation, runs: &[Report]) -> Option<String> {
    let multicast = federation.multicast?;
    let (Carried { groups, lost_datagrams, asked_again }, link_bytes) = sums(runs);
    let mut table = Table::new([
        "groups",
        "loss",
        "frames",
        "datagrams",
        "bytes",
        "lost",
        "NACKs",
        "sent again",
        "recovered",
        "asked for over links",
        "bytes of links",
    ]);
    table.line([
        multicast.groups.to_string(),
        format!("{} %", figure(100.0 * multicast.loss.as_f64())),
        groups.sent_frames.to_string(),
        groups.sent_datagrams.to_string(),
        groups.sent_bytes.to_string(),
        lost_datagrams.to_string(),
        groups.nacks.to_string(),
        groups.repaired_frames.to_string(),
        groups.recovered_frames.to_string(),
        asked_again.to_string(),
        link_bytes.to_string(),
    ]);
    Some(table.text())
}
