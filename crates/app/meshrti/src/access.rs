//! `meshrti access`: passwords and the access policy of a server.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use ::access::{Account, Operation, Policy, hash_password};
use console::exit::{Failure, Outcome, Status, say};
use console::password::{PasswordFlag, ask};
use console::report::{JsonFlag, Report};
use console::table::Table;
use serde_json::json;

/// See to who may connect to a server, and what federates may do.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti access hash
  meshrti access hash --password-file secret.txt
  meshrti access check access.toml
  meshrti access check access.toml --as viewer --may 'join Range as Viewer-1 of type Viewer'
  meshrti access check access.toml --as viewer --may 'subscribe HLAobjectRoot.Truck in Range'

A server has a policy by `policy = \"access.toml\"` under [access] in its configuration.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Print the hash of a password, for an access policy or `password` under [access]
    ///
    /// The password is asked for, or comes from --password-file, MESHRTI_PASSWORD or the standard input.
    Hash {
        #[command(flatten)]
        password: PasswordFlag,
    },
    /// Check an access policy, and say what an account may do
    ///
    /// Exit status: 0 the policy makes sense and allows it, 1 it does not allow it, 2 it makes no sense.
    Check {
        /// The policy
        file: PathBuf,
        /// The account in question
        #[arg(long = "as", value_name = "ACCOUNT", requires = "may")]
        account: Option<String>,
        /// The operation in question, as a sentence
        #[arg(long, value_name = "SENTENCE", requires = "account")]
        may: Option<String>,
        #[command(flatten)]
        json: JsonFlag,
    },
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::Hash { password } => hash(password),
        Command::Check { file, account, may, json } => {
            let policy = node::config::read_policy(file).map_err(Failure::wrong_use)?;
            match account.as_deref().zip(may.as_deref()) {
                None => list(&policy, json),
                Some((account, sentence)) => decide(&policy, account, sentence, json),
            }
        }
    }
}

fn hash(password: &PasswordFlag) -> Outcome {
    let password = match password.read()? {
        Some(password) => password,
        None => read_password()?,
    };
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)
        .map_err(|error| Failure::bad_news(format_args!("the system gives no random numbers: {error}")))?;
    say(hash_password(&password, salt).map_err(Failure::wrong_use)?);
    Ok(Status::Done)
}

/// The password of the standard input. At a terminal it is asked for, twice.
fn read_password() -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return ask("");
    }
    let password = ask("Password: ")?;
    match ask("The same again: ")? == password {
        true => Ok(password),
        false => Err(Failure::wrong_use("the passwords differ")),
    }
}

/// Shows the accounts.
fn list(policy: &Policy, json: &JsonFlag) -> Outcome {
    let mut report = Report::new("access check", 1);
    let mut table = Table::new(["account", "line", "proof", "rules", "limits"]);
    for account in policy.accounts() {
        let (proofs, rules) = (account.proofs(), account.rules().len());
        table.line([
            account.name().to_owned(),
            account.line().to_string(),
            proofs.join(", "),
            rules.to_string(),
            account.limits().to_string(),
        ]);
        report.row(json!({
            "account": account.name(),
            "line": account.line(),
            "proofs": proofs,
            "rules": account.rules().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "sessions_max": account.limits().sessions,
            "objects_max": account.limits().objects,
            "bytes_per_second": account.limits().bytes_per_second,
        }));
    }
    if !json.takes_stdout() {
        say(table.text().trim_end());
        if !policy.admits_without_credentials() {
            say("federates without credentials and certificate are refused");
        }
    }
    json.write(&report)?;
    Ok(Status::Done)
}

/// Says whether an account may do something, and which line says so.
fn decide(policy: &Policy, account: &str, sentence: &str, json: &JsonFlag) -> Outcome {
    let account = policy.account(account).ok_or_else(|| {
        let names: Vec<_> = policy.accounts().map(|account| account.name()).collect();
        let names = names.join(", ");
        Failure::wrong_use(format_args!("there is no account `{account}`; there are: {names}"))
    })?;
    let outcome = Operation::read(sentence, |operation| explain(account, &operation, json));
    let is_allowed = outcome.map_err(|why| Failure::wrong_use(format_args!("`{sentence}`: {why}")))??;
    Ok(if is_allowed { Status::Done } else { Status::BadNews })
}

fn explain(account: &Account, operation: &Operation<'_>, json: &JsonFlag) -> Result<bool, Failure> {
    let decision = account.decide(operation);
    let why = match (decision.rule, decision.allowed) {
        (Some(rule), _) => rule.to_string(),
        (None, true) => "every account may connect".to_owned(),
        (None, false) => "no line allows it".to_owned(),
    };
    if !json.takes_stdout() {
        say(format_args!(
            "{}: account `{}` may {}{operation}: {why}",
            if decision.allowed { "yes" } else { "no" },
            account.name(),
            if decision.allowed { "" } else { "not " },
        ));
    }
    let mut report = Report::new("access check", 1);
    report.row(json!({
        "account": account.name(),
        "operation": operation.to_string(),
        "allowed": decision.allowed,
        "line": decision.rule.map(|rule| rule.line),
        "why": why,
    }));
    json.write(&report)?;
    Ok(decision.allowed)
}
