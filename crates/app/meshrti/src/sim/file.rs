//! Scenario files on the command line: `meshrti sim FILE` means `meshrti sim KIND FILE`, with the
//! kind that the file states.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use console::exit::Failure;
use node::config::in_words;
use serde::Deserialize;

/// The kinds of scenario files, which are names of subcommands.
const KINDS: [&str; 4] = ["network", super::federation::KIND, router_study::ROUTERS, router_study::EXERCISE];

#[derive(Deserialize)]
struct Peek {
    kind: Option<String>,
}

/// Parses a scenario file.
///
/// # Errors
/// The mistake, in words of the file's format, with its line and column where the parser has them.
pub(super) fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| in_words(error.to_string().trim_end()))
}

/// The kind of a scenario file, if it has one.
pub(crate) fn kind_of(text: &str) -> Option<String> {
    toml::from_str::<Peek>(text).ok()?.kind
}

/// Inserts the kind of a scenario file before its name. Other command lines stay as they are.
///
/// # Errors
/// `meshrti sim` is followed by an option, by a file of an unknown kind, or by a name that is
/// neither a subcommand of `program` nor a file.
pub(crate) fn with_kind(program: &clap::Command, mut words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let is_option = |word: &OsString| word.to_string_lossy().starts_with('-');
    let sim = words.iter().skip(1).position(|word| !is_option(word)).map(|at| at + 1);
    let Some(at) = sim.filter(|at| words[*at] == "sim").map(|at| at + 1) else { return Ok(words) };
    let Some(word) = words.get(at).map(|word| word.to_string_lossy().into_owned()) else { return Ok(words) };
    if let Some(option) = word.strip_prefix("--").filter(|option| is_of_a_scenario(program, option)) {
        return Err(Failure::wrong_use(format_args!("--{option}: options follow the scenario"))
            .hint(format!("meshrti sim SCENARIO --{option} ...")));
    }
    if word.starts_with('-') || scenarios(program).any(|scenario| scenario.get_name() == word) {
        return Ok(words);
    }
    let text = std::fs::read_to_string(&word).map_err(|error| {
        Failure::wrong_use(format_args!(
            "{word}: no built-in scenario, and as a file it cannot be read: {error}"
        ))
        .hint("`meshrti sim list` names the built-in ones")
    })?;
    // The first kind of files had no `kind`.
    let kind = kind_of(&text).unwrap_or_else(|| router_study::ROUTERS.to_owned());
    if !KINDS.contains(&kind.as_str()) {
        return Err(Failure::wrong_use(format_args!(
            "scenario {word}: unknown kind `{kind}`, expected `{}`",
            KINDS.join("`, `")
        )));
    }
    words.insert(at, kind.into());
    Ok(words)
}

/// A hint for an error of `meshrti sim` about an option that other scenarios have.
pub(crate) fn options_hint(program: &clap::Command, error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let wanted = option.strip_prefix("--")?.split('=').next()?;
    let having: Vec<&str> = scenarios(program)
        .filter(|scenario| has_option(scenario, wanted))
        .map(clap::Command::get_name)
        .collect();
    let is_sim = usage.contains("meshrti sim ");
    (is_sim && !having.is_empty()).then(|| format!("--{wanted} is an option of {}", having.join(", ")))
}

fn scenarios(program: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    program.find_subcommand("sim").into_iter().flat_map(clap::Command::get_subcommands)
}

fn is_of_a_scenario(program: &clap::Command, option: &str) -> bool {
    let option = option.split('=').next().unwrap_or(option);
    scenarios(program).any(|scenario| has_option(scenario, option))
}

fn has_option(scenario: &clap::Command, option: &str) -> bool {
    scenario.get_arguments().any(|arg| arg.get_long() == Some(option))
}
