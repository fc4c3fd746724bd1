//! The access control of a server.

use console::exit::say;
use console::report::Report;
use console::table::Table;
use kernel::report::AccessReport;
use serde_json::json;

/// Prints the accounts.
pub(super) fn print(access: &AccessReport) {
    if !access.is_on {
        return say("  no access control: everybody may do anything");
    }
    let AccessReport { accounts, allowed, refused, .. } = access;
    say(format_args!("  access: {allowed} operations allowed, {refused} refused"));
    let mut table = Table::new(["account", "line", "sessions", "most"]);
    for account in accounts {
        let most = account.sessions_max.map_or_else(|| "any number".to_owned(), |most| most.to_string());
        table.line([account.name.clone(), account.line.to_string(), account.sessions.to_string(), most]);
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
            "sessions_max": account.sessions_max,
        }));
    }
}
