//! The list of measurements, `docs/performance.toml`.

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a command may take whose entry does not say it.
const LIMIT_S: u64 = 120;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    measurement: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    command: String,
    limit: Option<u64>,
}

/// A command of `meshrti` whose tables are a block of the page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Measurement {
    pub(super) name: String,
    /// The arguments of `meshrti`.
    pub(super) arguments: Vec<String>,
    pub(super) limit: Duration,
}

impl Measurement {
    /// The command as one types it.
    pub(super) fn command(&self) -> String {
        format!("meshrti {}", self.arguments.join(" "))
    }
}

/// Reads the list, whose order is that of the measurements.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Measurement>> {
    let file: File = toml::from_str(text)?;
    ensure!(!file.measurement.is_empty(), "it has no [[measurement]]");
    let (mut names, mut list) = (BTreeSet::new(), Vec::new());
    for (at, entry) in file.measurement.into_iter().enumerate() {
        let place = format!("measurement {}, `{}`", at + 1, entry.name);
        ensure!(names.insert(entry.name.clone()), "{place}: another one has this name");
        list.push(measurement(entry).context(place)?);
    }
    Ok(list)
}

fn measurement(entry: Entry) -> anyhow::Result<Measurement> {
    let Entry { name, command, limit } = entry;
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    ensure!(
        !name.is_empty() && name.chars().all(is_part),
        "a name has lower-case letters, digits and hyphens"
    );
    if let Some(other) = command.chars().find(|c| !c.is_ascii_graphic() && *c != ' ' || "'\"`\\".contains(*c))
    {
        bail!("command: {other:?} is not possible, since no shell reads the words, which spaces separate");
    }
    let arguments: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    ensure!(!arguments.is_empty(), "command: it has no words, such as `bench latency`");
    let is_report = |word: &&String| *word == "--json" || word.starts_with("--json=");
    ensure!(!arguments.iter().any(|word| is_report(&word)), "command: --json is added by the chore");
    let limit = limit.unwrap_or(LIMIT_S);
    ensure!(limit > 0, "limit: a number of seconds above 0 is needed");
    Ok(Measurement { name, arguments, limit: Duration::from_secs(limit) })
}

/// The measurements with one of these names, or all if there are no names, in the order of the list.
pub(super) fn select(list: Vec<Measurement>, only: &[String]) -> anyhow::Result<Vec<Measurement>> {
    for name in only {
        if !list.iter().any(|measurement| measurement.name == *name) {
            let names: Vec<_> = list.iter().map(|measurement| measurement.name.as_str()).collect();
            bail!("--only {name}: there is no such measurement; possible are {}", names.join(", "));
        }
    }
    Ok(list.into_iter().filter(|measurement| only.is_empty() || only.contains(&measurement.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "[[measurement]]\nname = 'ping'\ncommand = 'bench ping  --size 16'\nlimit = 7\n\
                       [[measurement]]\nname = 'a-1'\ncommand = 'bench floor'\n";

    #[test]
    fn a_list_has_names_commands_and_limits() {
        let list = parse(TWO).unwrap();
        assert_eq!(list[0].command(), "meshrti bench ping --size 16");
        assert_eq!(list[0].limit, Duration::from_secs(7));
        assert_eq!((&list[1].name[..], list[1].limit), ("a-1", Duration::from_secs(LIMIT_S)));
    }

    #[test]
    fn a_wrong_entry_is_named_with_what_is_wrong() {
        let entry = |name: &str, command: &str, more: &str| {
            format!("[[measurement]]\nname = '{name}'\ncommand = '''{command}'''\n{more}\n")
        };
        for (text, told) in [
            (String::new(), "it has no [[measurement]]"),
            (entry("a", "bench a", "limits = 3"), "unknown field `limits`"),
            ("[[measurement]]\nname = 'a'\n".to_owned(), "missing field `command`"),
            (entry("a", "bench a", "limit = 0"), "measurement 1, `a`: limit: a number of seconds"),
            (entry("A", "bench a", ""), "measurement 1, `A`: a name has lower-case letters"),
            (entry("", "bench a", ""), "measurement 1, ``: a name has"),
            (entry("a", "  ", ""), "measurement 1, `a`: command: it has no words"),
            (entry("a", "bench 'b c'", ""), "measurement 1, `a`: command: '\\'' is not possible"),
            (entry("a", "bench\tb", ""), "measurement 1, `a`: command: '\\t' is not possible"),
            (entry("a", "bench a --json", ""), "measurement 1, `a`: command: --json is added"),
            (entry("a", "bench a --json=x", ""), "measurement 1, `a`: command: --json is added"),
            (entry("a", "bench a", "") + &entry("a", "bench b", ""), "measurement 2, `a`: another one"),
        ] {
            let error = format!("{:#}", parse(&text).unwrap_err());
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn names_select_and_unknown_ones_are_told_what_is_possible() {
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
            let selected = select(parse(TWO).unwrap(), &only)?;
            Ok(selected.into_iter().map(|measurement| measurement.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["ping", "a-1"]);
        assert_eq!(names(&["a-1", "ping"]).unwrap(), ["ping", "a-1"], "in the order of the list");
        assert_eq!(names(&["a-1"]).unwrap(), ["a-1"]);
        let error: anyhow::Error = names(&["pong"]).unwrap_err();
        assert_eq!(error.to_string(), "--only pong: there is no such measurement; possible are ping, a-1");
    }
}
