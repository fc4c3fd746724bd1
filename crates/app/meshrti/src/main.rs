//! The `meshrti` command: one file per subcommand.
//!
//! A subcommand is a module with `Args` (a [`clap::Args`]) and `run(&Args) -> Outcome`. To add one,
//! write the module and add a line to [`Command`] and one to [`Command::run`]. Subcommands share
//! the library `console`: outcomes, printing,
//! running async work, `--json`, tables.

mod access;
mod allocator;
#[cfg(feature = "bench")]
mod bench;
mod demo;
mod exposure;
mod fom;
mod gateway;
mod logging;
mod mpi;
mod network;
mod open_files;
mod ping;
mod serve;
mod server;
#[cfg(feature = "shell")]
mod shell;
mod signals;
#[cfg(feature = "sim")]
mod sim;
mod srmp;
mod status;
mod trust;
mod tunnel;
mod why;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use console::exit::Outcome;

/// An open HLA 4 run-time infrastructure (RTI).
#[derive(Parser)]
#[command(name = "meshrti", version, arg_required_else_help = true, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    verbosity: logging::Verbosity,
    #[command(subcommand)]
    command: Command,
}

/// The subcommands that a build may leave out.
const OPTIONAL: [&str; 4] = ["bench", "sim", "completions", "man"];

const EXAMPLES: &str = "\
Examples:
  meshrti demo                     see it work
  meshrti serve                    an RTI on port 15164 that federates can join
  meshrti status                   what runs on it
  meshrti why Truck-1 Red          why a federate gets no updates
  meshrti ping sim-host:15164      whether it answers, and how fast
  meshrti bench quick              how fast it is
  meshrti fom check *.xml          whether FOM modules fit together
  meshrti sim list                 what can be simulated
  meshrti srmp recv                hear a multicast group

Exit status: 0 done, 1 bad news, 2 wrong use, 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    /// Show an RTI at work: embedded server, a few federates, a live table
    Demo(demo::Args),
    /// Run a node that federates can join
    Serve(Box<serve::Args>),
    /// See to what a node keeps of its network: reset
    Network(network::Args),
    /// Say what runs on a server: federations and their members
    Status(status::Args),
    /// Say whether and why a federate receives the updates of an object
    Why(why::Args),
    /// Say whether a server answers, and how fast
    Ping(ping::Args),
    /// Keep a small authority that says which nodes belong to a network: init, add, revoke
    Trust(trust::Args),
    /// See to who may connect, and do what: hash, check
    Access(access::Args),
    /// Carry the connections of federates that know TCP alone over TLS or WebSocket
    Tunnel(tunnel::Args),
    /// Pass named federations and classes between two networks, and nothing else
    Gateway(gateway::Args),
    /// Measure a server against the floor of the bare network
    #[cfg(feature = "bench")]
    Bench(Box<bench::Args>),
    /// Check and merge FOM modules
    Fom(fom::Args),
    /// Simulate a network of routers before building it
    #[cfg(feature = "sim")]
    Sim(Box<sim::Args>),
    /// Use the multicast protocol SRMP by itself: send, recv
    Srmp(srmp::Args),
    /// Print the completions of a shell
    #[cfg(feature = "shell")]
    Completions(shell::CompletionsArgs),
    /// Write the manual pages into a folder
    #[cfg(feature = "shell")]
    Man(shell::ManArgs),
}

impl Command {
    /// The log level without flags: the events of a server for its operator, and only warnings and
    /// errors for subcommands that print tables.
    const fn default_level(&self) -> &'static str {
        match self {
            Command::Demo(_) | Command::Srmp(_) => "warn",
            #[cfg(feature = "bench")]
            Command::Bench(_) => "warn",
            #[cfg(feature = "sim")]
            Command::Sim(_) => "warn",
            _ => "info",
        }
    }

    fn run(&self, verbosity: &logging::Verbosity) -> Outcome {
        match self {
            Command::Demo(args) => demo::run(args, verbosity.is_quiet()),
            Command::Serve(args) => serve::run(args),
            Command::Network(args) => network::run(args),
            Command::Status(args) => status::run(args),
            Command::Why(args) => why::run(args),
            Command::Ping(args) => ping::run(args),
            Command::Trust(args) => trust::run(args),
            Command::Access(args) => access::run(args),
            Command::Tunnel(args) => tunnel::run(args),
            Command::Gateway(args) => gateway::run(args),
            #[cfg(feature = "bench")]
            Command::Bench(args) => bench::run(args),
            Command::Fom(args) => fom::run(args),
            #[cfg(feature = "sim")]
            Command::Sim(args) => sim::run(args),
            Command::Srmp(args) => srmp::run(args),
            #[cfg(feature = "shell")]
            Command::Completions(args) => shell::completions(args, program()),
            #[cfg(feature = "shell")]
            Command::Man(args) => shell::man(args, program()),
        }
    }
}

fn main() -> ExitCode {
    let (cli, wants_json) = match parse() {
        Ok(parsed) => parsed,
        Err(status) => return status,
    };
    console::report::set_commit(env!("MESHRTI_COMMIT"));
    let started = logging::init(&cli.verbosity, cli.command.default_level());
    let outcome = started.and_then(|()| cli.command.run(&cli.verbosity));
    if let (true, Err(failure)) = (wants_json, &outcome) {
        console::exit::say(failure.to_json());
    }
    report(outcome)
}

/// The grammar of the command line. `--help` is as short as `-h`, so that every page fits a screen.
fn program() -> clap::Command {
    let help =
        Arg::new("help").short('h').long("help").global(true).action(ArgAction::HelpShort).display_order(102);
    Cli::command().disable_help_flag(true).arg(help.help("Print help"))
}

/// Parses the command line, and tells whether the standard output gets JSON. Wrong use is reported
/// and ends with status 2; help ends with status 0.
fn parse() -> Result<(Cli, bool), ExitCode> {
    let program = program();
    let words: Vec<OsString> = std::env::args_os().collect();
    #[cfg(feature = "sim")]
    let words = sim::with_kind(&program, words).map_err(|failure| report(Err(failure)))?;
    let matches = program.clone().try_get_matches_from(words);
    let parsed = matches.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, takes_stdout(&matches))));
    parsed.map_err(|error| {
        // A failure to print is ignored: nothing else can tell the user.
        let _ = error.print();
        if let Some(hint) = hint(&program, &error) {
            logging::finish(&format!("hint: {hint}\n"));
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })
}

/// Whether a subcommand has `--json` for the standard output.
fn takes_stdout(matches: &ArgMatches) -> bool {
    let json = matches.try_get_one::<PathBuf>("json").ok().flatten();
    json.is_some_and(|file| file.as_os_str() == "-")
        || matches.subcommand().is_some_and(|(_, below)| takes_stdout(below))
}

/// A hint for a wrong command line that its error does not give.
fn hint(program: &clap::Command, error: &clap::Error) -> Option<String> {
    #[cfg(feature = "sim")]
    if let Some(hint) = sim::options_hint(program, error) {
        return Some(hint);
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_left_out = OPTIONAL.contains(&name.as_str()) && program.find_subcommand(name).is_none();
    is_left_out.then(|| format!("this build has no `{name}`; `cargo build --release` makes one that has"))
}

/// Reports a failure to the user, and the outcome to the shell.
fn report(outcome: Outcome) -> ExitCode {
    let (status, text) = match outcome {
        Ok(status) => (status, String::new()),
        Err(failure) => (failure.status(), failure.to_string()),
    };
    logging::finish(&text);
    ExitCode::from(status as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 100;
    const LINES: usize = 50;

    /// Checks the help of a subcommand and of all below it.
    fn check(command: &clap::Command, path: &str) {
        let mut shown = command.clone().term_width(COLUMNS);
        let text = shown.render_help().to_string();
        let widest = text.lines().map(|line| line.chars().count()).max();
        let fits = text.lines().count() <= LINES && widest <= Some(COLUMNS);
        assert!(!text.contains('\\'), "{path}: a help page has a backslash\n{text}");
        assert!(fits, "{path}: {} lines, {widest:?} columns\n{text}", text.lines().count());
        check_paragraphs(command, path);
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            check(below, &format!("{path} {}", below.get_name()));
        }
    }

    /// Checks that no paragraph is broken into lines by hand: it would be ragged in a narrow terminal.
    fn check_paragraphs(command: &clap::Command, path: &str) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
        for (line, next) in text.lines().zip(text.lines().skip(1)) {
            let is_broken = is_prose(line) && is_prose(next) && !next.starts_with("Exit status: ");
            assert!(!is_broken, "{path}: the paragraph with `{line}` is broken by hand");
        }
    }

    #[test]
    fn every_help_page_fits_a_screen() {
        let mut program = program();
        program.build();
        check(&program, "meshrti");
    }

    #[test]
    fn the_grammar_is_sound() {
        program().debug_assert();
    }
}
