//! The access control of a server.

use console::exit::say;
use console::report::Report;
use console::table::Table;
use kernel::report::{AccessReport, AccountReport};
use serde_json::json;

/// Prints the accounts.
pub(super) fn print(access: &AccessReport) {
    if !access.is_on {
        return say("  no access control: everybody may do anything");
    }
    let AccessReport { accounts, allowed, refused, slowed, .. } = access;
    say(format_args!(
        "  access: {allowed} operations allowed, {refused} refused; sessions slowed down {slowed} times"
    ));
    let mut table = Table::new(["account", "line", "sessions", "limits"]);
    for account in accounts {
        let AccountReport { name, line, sessions, limits } = account;
        table.line([name.clone(), line.to_string(), sessions.to_string(), limits.to_string()]);
    }
    say(table.text().trim_end());
}

/// The same as rows.
pub(super) fn rows(access: &AccessReport, report: &mut Report) {
    for account in &access.accounts {
        report.row(json!({
            "kind": "account",
            "account": account.name,
            "line": account.line,
            "sessions": account.sessions,
            "sessions_max": account.limits.sessions,
            "objects_max": account.limits.objects,
            "bytes_per_second": account.limits.bytes_per_second,
        }));
    }
}
