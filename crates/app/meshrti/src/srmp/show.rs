//! Events and counters, for people and for machines.

use serde_json::{Map, Value, json};
use srmp::{Event, Fault};
use srmp_udp::SrmpHost;

/// An event as a line of text.
pub(super) fn text(event: &Event) -> String {
    match event {
        Event::Mode0 { from, stream, body, .. } => format!("{from} mode 0 {stream}: {}", body_text(body)),
        Event::Mode1 { from, data, sn, body } => {
            format!("{from} mode 1 {data} #{}: {}", sn.0, body_text(body))
        }
        Event::Mode2 { from, address, data, body, .. } => {
            let from = from.map_or_else(|| address.to_string(), |from| from.to_string());
            format!("{from} mode 2 {data}: {}", body_text(body))
        }
        Event::Sent { ticket } => format!("message {} was sent", ticket.0),
        Event::Dropped { ticket, why } => format!("message {} was dropped: {why:?}", ticket.0),
        Event::Delivered { ticket, .. } => format!("message {} was delivered", ticket.0),
        Event::TimedOut { ticket } => format!("message {} was never acknowledged", ticket.0),
        Event::MemberSeen { member, address } => format!("{member} is here, at {address}"),
        Event::MemberLost { member, left: true } => format!("{member} left"),
        Event::MemberLost { member, left: false } => format!("{member} is silent"),
        Event::Restarted { member, .. } => format!("{member} began again"),
        Event::DuplicateMember { member, address } => {
            format!("{address} says it is {member}, too, and is ignored")
        }
        Event::StateDiffers { member } => format!("something of {member} is missing"),
    }
}

/// An event as a flat object.
pub(super) fn value(event: &Event) -> Value {
    match event {
        Event::Mode0 { from, stream, body, .. } => {
            json!({ "event": "message", "mode": 0, "from": from.0, "stream": stream.0, "bytes": body.len(), "text": body_text(body) })
        }
        Event::Mode1 { from, data, sn, body } => {
            json!({ "event": "message", "mode": 1, "from": from.0, "data": data.0, "sn": sn.0, "bytes": body.len(), "text": body_text(body) })
        }
        Event::Mode2 { from, address, data, body, .. } => {
            let from = from.map(|from| from.0);
            json!({ "event": "message", "mode": 2, "from": from, "address": address.to_string(), "data": data.0, "bytes": body.len(), "text": body_text(body) })
        }
        Event::Sent { ticket } => json!({ "event": "sent", "ticket": ticket.0 }),
        Event::Dropped { ticket, why } => {
            json!({ "event": "dropped", "ticket": ticket.0, "why": format!("{why:?}") })
        }
        Event::Delivered { ticket, .. } => json!({ "event": "delivered", "ticket": ticket.0 }),
        Event::TimedOut { ticket } => json!({ "event": "timed-out", "ticket": ticket.0 }),
        Event::MemberSeen { member, address } => {
            json!({ "event": "member-seen", "member": member.0, "address": address.to_string() })
        }
        Event::MemberLost { member, left } => {
            json!({ "event": "member-lost", "member": member.0, "left": left })
        }
        Event::Restarted { member, .. } => json!({ "event": "restarted", "member": member.0 }),
        Event::DuplicateMember { member, address } => {
            json!({ "event": "duplicate-member", "member": member.0, "address": address.to_string() })
        }
        Event::StateDiffers { member } => json!({ "event": "state-differs", "member": member.0 }),
    }
}

/// The body of a message as printable text, with escape sequences for other characters.
fn body_text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).escape_debug().to_string()
}

/// The counters that are useful for a user, as a flat object.
pub(super) fn counters(host: &SrmpHost) -> Value {
    let io = host.io();
    let mut all = host.inspect(|endpoint| {
        let counters = endpoint.counters();
        let (sent, received) = (&counters.endpoint.sent, &counters.endpoint.received);
        let mut all = Map::new();
        let mut note = |key: &str, value: u64| all.insert(key.to_owned(), value.into());
        for (way, traffic) in [("sent", sent), ("received", received)] {
            note(&format!("{way}_datagrams"), traffic.datagrams);
            note(&format!("{way}_bytes"), traffic.bytes);
            note(&format!("{way}_bundles"), traffic.bundles);
            note(&format!("{way}_mode0"), traffic.mode0);
            note(&format!("{way}_mode1"), traffic.mode1);
            note(&format!("{way}_mode2"), traffic.mode2);
            note(&format!("{way}_nacks"), traffic.nacks);
        }
        // The mode 1 messages of this member by kind: new ones, repairs, and copies before anybody asked.
        note("sent_mode1_new", counters.send.messages);
        note("sent_mode1_repairs", counters.send.pieces_repaired);
        note("sent_mode1_copies", counters.send.pieces_copied);
        if let Some(logger) = counters.logger.filter(|_| endpoint.logger().is_some()) {
            note("logger_elections", logger.activations);
            note("logger_nacks", logger.nacks);
            note("logger_repairs_unicast", logger.repairs_unicast);
            note("logger_repairs_multicast", logger.repairs_multicast);
            note("logger_pendings", logger.pendings);
            note("logger_syncs", logger.syncs_served);
            note("logger_sync_messages", logger.sync_messages);
            note("logger_asks", logger.asks);
            note("logger_escalations", logger.escalations);
        }
        let shaper = counters.shaper;
        note("mode0_dropped", shaper.random + shaper.superseded + shaper.overflow + shaper.stale);
        note("mode0_gated", counters.endpoint.mode0_gated);
        note("members", endpoint.live_members().into());
        let faults = &counters.endpoint.faults;
        for fault in Fault::ALL.iter().filter(|&&fault| faults.get(fault) > 0) {
            note(fault.name(), faults.get(*fault));
        }
        all.insert("rate_mbit_per_s".to_owned(), (endpoint.rate().rate / 1e6).into());
        all
    });
    all.insert("event".to_owned(), "counters".into());
    all.insert("send_errors".to_owned(), io.send_errors.into());
    all.insert("emulated_losses".to_owned(), io.emulated_losses.into());
    all.insert("events_dropped".to_owned(), io.events_dropped.into());
    all.into()
}

/// The counters that are not zero, as lines of text.
pub(super) fn counters_text(counters: &Value) -> String {
    let shown = counters
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.as_f64().is_some_and(|n| n != 0.0));
    let lines = shown.map(|(key, value)| match value.as_u64() {
        Some(whole) => format!("{key:>22} {whole}"),
        None => format!("{key:>22} {:.3}", value.as_f64().unwrap_or_default()),
    });
    lines.collect::<Vec<_>>().join("\n")
}
