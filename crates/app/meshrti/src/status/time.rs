//! The logical time of a federate as a line of text.

use kernel::report::TimeStatus;
use std::time::Duration;

/// Role, time, request, and the federates that hold it up.
pub(super) fn describe(report: &TimeStatus) -> String {
    let TimeStatus {
        time,
        lookahead,
        constrained,
        pending,
        galt,
        lits,
        queued,
        lasts_ms,
        waits_for,
        reasons,
    } = report;
    let role = match (lookahead, constrained) {
        (Some(lookahead), true) => format!("regulating with lookahead {lookahead}, constrained"),
        (Some(lookahead), false) => format!("regulating with lookahead {lookahead}"),
        (None, true) => "constrained".to_owned(),
        (None, false) => "neither regulating nor constrained".to_owned(),
    };
    let lasts = lasting(*lasts_ms);
    let defined = |value: &Option<String>| value.clone().unwrap_or_else(|| "undefined".to_owned());
    let state = match (pending, waits_for.split_first()) {
        (None, _) => format!("granted for {lasts}"),
        (Some(pending), None) if reasons.is_empty() => {
            format!("{pending} pending for {lasts}: no other federate regulates time")
        }
        (Some(pending), None) => format!("{pending} pending for {lasts}"),
        (Some(pending), Some((first, others))) => {
            let others: String = others.iter().map(|other| format!(", which waits for {other}")).collect();
            format!("{pending} pending for {lasts}: waits for {first}{others}")
        }
    };
    let (galt, lits) = (defined(galt), defined(lits));
    let state = reasons.iter().fold(state, |state, reason| state + "; " + reason);
    format!("at {time} ({role}), {state}; GALT {galt}, LITS {lits}, {queued} messages queued")
}

/// Whole seconds from one second on: a duration of minutes needs no milliseconds.
pub(super) fn lasting(ms: u64) -> String {
    let duration = Duration::from_millis(if ms < 1_000 { ms } else { ms / 1_000 * 1_000 });
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_federates_that_hold_up_another() {
        let waits_for = vec!["Blue".to_owned(), "Red".to_owned()];
        let some = |text: &str| Some(text.to_owned());
        let report = TimeStatus {
            time: "3".to_owned(),
            lookahead: some("1"),
            constrained: true,
            pending: some("Time Advance Request to 5"),
            galt: some("4"),
            lits: some("3"),
            queued: 2,
            lasts_ms: 72_345,
            waits_for,
            reasons: vec!["node B has not answered".to_owned()],
        };
        assert_eq!(
            describe(&report),
            "at 3 (regulating with lookahead 1, constrained), Time Advance Request to 5 pending for 1m 12s: waits for Blue, \
             which waits for Red; node B has not answered; GALT 4, LITS 3, 2 messages queued"
        );
        let report = TimeStatus { time: "0".to_owned(), ..TimeStatus::default() };
        assert_eq!(
            describe(&report),
            "at 0 (neither regulating nor constrained), granted for 0s; GALT undefined, LITS undefined, 0 messages queued"
        );
    }
}
