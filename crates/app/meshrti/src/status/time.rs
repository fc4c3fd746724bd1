//! The logical time of a federate as a line of text.

use kernel::report::TimeReport;

/// Role, time, request, and the federates that hold it up.
pub(super) fn describe(report: &TimeReport) -> String {
    let TimeReport { time, lookahead, constrained, pending, galt, lits, queued, waits_for } = report;
    let role = match (lookahead, constrained) {
        (Some(lookahead), true) => format!("regulating with lookahead {lookahead}, constrained"),
        (Some(lookahead), false) => format!("regulating with lookahead {lookahead}"),
        (None, true) => "constrained".to_owned(),
        (None, false) => "neither regulating nor constrained".to_owned(),
    };
    let defined = |value: &Option<String>| value.clone().unwrap_or_else(|| "undefined".to_owned());
    let state = match (pending, waits_for.split_first()) {
        (None, _) => "granted".to_owned(),
        (Some(pending), None) => format!("{pending} pending: no other federate regulates time"),
        (Some(pending), Some((first, others))) => {
            let others: String = others.iter().map(|other| format!(", which waits for {other}")).collect();
            format!("{pending} pending: waits for {first}{others}")
        }
    };
    let (galt, lits) = (defined(galt), defined(lits));
    format!("at {time} ({role}), {state}; GALT {galt}, LITS {lits}, {queued} messages queued")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_federates_that_hold_up_another() {
        let waits_for = vec!["Blue".to_owned(), "Red".to_owned()];
        let some = |text: &str| Some(text.to_owned());
        let report = TimeReport {
            time: "3".to_owned(),
            lookahead: some("1"),
            constrained: true,
            pending: some("Time Advance Request to 5"),
            galt: some("4"),
            lits: some("3"),
            queued: 2,
            waits_for,
        };
        assert_eq!(
            describe(&report),
            "at 3 (regulating with lookahead 1, constrained), Time Advance Request to 5 pending: waits for Blue, \
             which waits for Red; GALT 4, LITS 3, 2 messages queued"
        );
        let report = TimeReport { time: "0".to_owned(), ..TimeReport::default() };
        assert_eq!(
            describe(&report),
            "at 0 (neither regulating nor constrained), granted; GALT undefined, LITS undefined, 0 messages queued"
        );
    }
}
