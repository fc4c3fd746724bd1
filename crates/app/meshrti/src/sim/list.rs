//! `meshrti sim list`: the scenarios and their titles.

use clap::Subcommand as _;
use serde_json::json;

use super::Scenario;
use console::exit::{Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::Table;

/// Subcommands that simulate nothing.
const NO_SCENARIOS: [&str; 3] = ["list", "pool", "trace-from"];

/// Options of list.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    json: JsonFlag,
}

/// Prints the list.
pub(super) fn run(args: &Args) -> Outcome {
    let mut report = Report::new("sim list", 1);
    let mut table = Table::new(["scenario", "title"]);
    for (name, title) in scenarios() {
        report.row(json!({ "scenario": name, "title": title }));
        table.line([name, title]);
    }
    if !args.json.takes_stdout() {
        say(table.text());
    }
    args.json.write(&report)?;
    Ok(Status::Done)
}

/// Names and titles, from the subcommands themselves.
fn scenarios() -> Vec<(String, String)> {
    let command = Scenario::augment_subcommands(clap::Command::new("sim"));
    let titled = |scenario: &clap::Command| {
        (scenario.get_name().to_owned(), scenario.get_about().map(ToString::to_string).unwrap_or_default())
    };
    command.get_subcommands().map(titled).filter(|(name, _)| !NO_SCENARIOS.contains(&name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_scenario_has_a_title_of_one_line() {
        for (name, title) in super::scenarios() {
            assert!(!title.is_empty() && title.chars().count() <= 76, "{name}: {title}");
        }
    }
}
