//! A network of nodes as text and as rows.

use console::table::counted;
use kernel::GroupStatus;
use kernel::report::{ChannelReport, DatagramReport, LinkEndReport, NetworkReport, NodeReport};
use serde_json::json;

use console::exit::say;
use console::report::Report;

/// Prints what one node knows of its network.
pub(crate) fn print(host: &str, network: &NetworkReport) {
    let standing = match (network.member, network.quorum) {
        (false, _) => "looks for its network: federates wait",
        (true, false) => "is without contact to a majority of the network: federates wait",
        (true, true) => "is a member",
    };
    say(format_args!("{host} is the node {} of a {} and {standing}", network.node, network.topology));
    say("nodes");
    let width = network.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0);
    for node in &network.nodes {
        say(format_args!("  {:width$}  {}", node.name, describe(node)));
        for channel in node.summary.iter().flat_map(|summary| &summary.channels) {
            say(format_args!("  {:width$}    {}", "", describe_channel(channel)));
        }
    }
    let grouped =
        |node: &&NodeReport| node.summary.as_ref().is_some_and(|summary| !summary.groups.is_empty());
    if network.nodes.iter().any(|node| grouped(&node)) {
        say("multicast groups");
    }
    for node in network.nodes.iter().filter(grouped) {
        for group in node.summary.iter().flat_map(|summary| &summary.groups) {
            say(format_args!("  {:width$}  {}", node.name, describe_group(group)));
        }
    }
    if !network.links.is_empty() {
        say("links");
    }
    for link in &network.links {
        say(format_args!("  {} - {}  {}, round trip {} µs", link.a, link.b, link.state, link.rtt_us));
        for (node, other) in [(&link.a, &link.b), (&link.b, &link.a)] {
            for end in ends(network, node).filter(|end| end.to == *other) {
                say(format_args!("    {node} {}", describe_end(end)));
                if let Some(datagrams) = &end.datagrams {
                    say(format_args!("    {node} {}", describe_datagrams(datagrams)));
                }
            }
        }
    }
    for target in
        network.targets.iter().filter(|target| target.state != "linked" && target.state != "covered")
    {
        let why = target.last_error.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        say(format_args!("not linked to {}, {} attempts{why}", target.url, target.attempts));
    }
}

fn describe(node: &NodeReport) -> String {
    let mut parts = Vec::new();
    if !node.reachable {
        parts.push("out of reach".to_owned());
    } else if node.hops > 0 {
        parts.push(format!("{} away", counted(node.hops as usize, "link")));
    }
    match (node.number, node.leader, node.voter) {
        (0, ..) => parts.push("no member".to_owned()),
        (_, true, _) => parts.push("leads".to_owned()),
        (_, _, true) => parts.push("votes".to_owned()),
        (..) => {}
    }
    if let Some(summary) = &node.summary {
        parts.push(format!(
            "{}, {}",
            counted(summary.federates, "federate"),
            counted(summary.instances, "instance")
        ));
        if summary.unowned > 0 {
            parts.push(format!("{} of them without an owner", summary.unowned));
        }
        if summary.paused > 0 {
            parts.push(format!("{} paused", counted(summary.paused, "federate")));
        }
        if summary.asked_again > 0 {
            parts.push(format!("asked again {}", counted(summary.asked_again as usize, "time")));
        }
    }
    parts.join(", ")
}

fn describe_channel(channel: &ChannelReport) -> String {
    let mut text = format!(
        "{} to {} [{}]: {} interests, {} waiting ({} bytes), {}/s, {} messages sent, {} received",
        channel.role,
        channel.to,
        channel.flags,
        channel.interests,
        channel.waiting,
        channel.waiting_bytes,
        channel.sent_messages_per_s,
        channel.sent_messages,
        channel.received_messages
    );
    if channel.congested {
        text += ", congested";
    }
    for (why, count) in &channel.dropped {
        text += &format!(", {count} dropped ({why})");
    }
    text
}

fn describe_group(group: &GroupStatus) -> String {
    let counts = &group.counts;
    let mut text = format!(
        "group {}: hears {}, reaches {}, sent {} messages once each in {} frames ({} datagrams, {} bytes), \
         received {} frames ({} datagrams)",
        group.group,
        group.hears,
        group.reaches,
        group.sent_messages,
        counts.sent_frames,
        counts.sent_datagrams,
        counts.sent_bytes,
        counts.received_frames,
        counts.received_datagrams,
    );
    if let Some(key) = &group.key {
        text += &format!(", key of epoch {} by {}", key.epoch, key.maker);
    }
    for (count, what) in [
        (counts.reliable_frames, "frames that the group repairs"),
        (counts.directed_frames, "frames to one member"),
        (counts.repaired_frames, "sent again"),
        (counts.recovered_frames, "recovered"),
        (group.waiting as u64, "waiting"),
        (counts.emulated_losses, "lost by its emulated line"),
        (counts.refused, "refused"),
    ] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text
}

/// The reports of a node about its ends of links.
fn ends<'a>(network: &'a NetworkReport, node: &str) -> impl Iterator<Item = &'a LinkEndReport> {
    let node = network.nodes.iter().find(|known| known.name == node && known.reachable);
    node.and_then(|node| node.summary.as_ref()).into_iter().flat_map(|summary| &summary.links)
}

fn describe_end(end: &LinkEndReport) -> String {
    let mut text = format!(
        "sent {} frames ({} bytes), {}/s ({} bytes/s), received {} ({} bytes), {}/s ({} bytes/s)",
        end.sent_frames,
        end.sent_bytes,
        end.sent_frames_per_s,
        end.sent_bytes_per_s,
        end.received_frames,
        end.received_bytes,
        end.received_frames_per_s,
        end.received_bytes_per_s,
    );
    if end.full > 0 {
        text += &format!(", {} times full", end.full);
    }
    text
}

fn describe_datagrams(datagrams: &DatagramReport) -> String {
    let mut text = format!(
        "sent {} datagrams, {}/s, received {}, {}/s, {} lost, {} late, {} duplicate",
        datagrams.sent,
        datagrams.sent_per_s,
        datagrams.received,
        datagrams.received_per_s,
        datagrams.lost,
        datagrams.late,
        datagrams.duplicate,
    );
    for (count, what) in [
        (datagrams.emulated_losses, "lost by its emulated line"),
        (datagrams.refused, "refused by the system"),
        (datagrams.foreign, "foreign"),
    ] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text
}

/// The same as rows.
pub(crate) fn rows(network: &NetworkReport, report: &mut Report) {
    for node in &network.nodes {
        let summary = node.summary.clone().unwrap_or_default();
        report.row(json!({
            "kind": "node",
            "node": node.name,
            "asked": node.name == network.node,
            "key": node.key,
            "number": node.number,
            "member": node.number != 0,
            "reachable": node.reachable,
            "hops": node.hops,
            "voter": node.voter,
            "leader": node.leader,
            "federates": summary.federates,
            "sessions": summary.sessions,
            "instances": summary.instances,
            "unowned_instances": summary.unowned,
            "paused_federates": summary.paused,
            "addresses": node.addresses,
        }));
        for channel in &summary.channels {
            report.row(json!({
                "kind": "channel",
                "node": node.name,
                "to": channel.to,
                "role": channel.role,
                "flags": channel.flags,
                "interests": channel.interests,
                "waiting": channel.waiting,
                "waiting_bytes": channel.waiting_bytes,
                "congested": channel.congested,
                "sent_messages": channel.sent_messages,
                "sent_bytes": channel.sent_bytes,
                "received_messages": channel.received_messages,
                "sent_per_s": channel.sent_messages_per_s,
                "dropped": channel.dropped.values().sum::<u64>(),
                "dropped_by": channel.dropped,
            }));
        }
        for end in &summary.links {
            report.row(end_row(&node.name, end));
        }
        for group in &summary.groups {
            let mut row = row("group", group);
            row["node"] = json!(node.name);
            report.row(row);
        }
    }
    for link in &network.links {
        report.row(row("link", link));
    }
    for target in &network.targets {
        report.row(row("target", target));
    }
    report.note(format!(
        "node {}: a {} of {}{}",
        network.node,
        network.topology,
        counted(network.nodes.iter().filter(|node| node.reachable).count(), "node"),
        if network.quorum { "" } else { ", without contact to a majority" }
    ));
}

/// A report as a row.
fn row(kind: &str, report: &impl serde::Serialize) -> serde_json::Value {
    let mut row = json!(report);
    row["kind"] = json!(kind);
    row
}

fn end_row(node: &str, end: &LinkEndReport) -> serde_json::Value {
    let datagrams = end.datagrams.clone().unwrap_or_default();
    json!({
        "kind": "link_end",
        "node": node,
        "to": end.to,
        "sent_frames": end.sent_frames,
        "sent_bytes": end.sent_bytes,
        "received_frames": end.received_frames,
        "received_bytes": end.received_bytes,
        "full": end.full,
        "sent_frames_per_s": end.sent_frames_per_s,
        "sent_bytes_per_s": end.sent_bytes_per_s,
        "received_frames_per_s": end.received_frames_per_s,
        "received_bytes_per_s": end.received_bytes_per_s,
        "sent_datagrams": datagrams.sent,
        "refused_datagrams": datagrams.refused,
        "emulated_losses": datagrams.emulated_losses,
        "received_datagrams": datagrams.received,
        "lost_datagrams": datagrams.lost,
        "late_datagrams": datagrams.late,
        "duplicate_datagrams": datagrams.duplicate,
        "foreign_datagrams": datagrams.foreign,
        "sent_datagrams_per_s": datagrams.sent_per_s,
        "received_datagrams_per_s": datagrams.received_per_s,
    })
}
