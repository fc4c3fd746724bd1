//! `meshrti trust`: a small authority for the nodes of a network.

mod authority;
mod files;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use console::exit::{Failure, Outcome, Status, say};
use console::report::{JsonFlag, Report};
use console::table::Table;
use serde_json::json;

use authority::{Authority, TrustError};

/// The folder of an authority that is not given one.
const DEFAULT_FOLDER: &str = "meshrti-trust";

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Keep a small authority that says which nodes belong to a network.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti trust init
  meshrti trust add NORFOLK --host norfolk.example --host 192.0.2.7
  meshrti trust list
  meshrti trust renew NORFOLK
  meshrti trust revoke NORFOLK

A node needs authority.pem, revocations.pem, its certificate NODE.pem and its key NODE.key, which \
[network.tls] of its configuration names. Copy revocations.pem to all nodes after `revoke`: they cut the \
revoked node off within seconds. The other files stay with the authority.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make an authority in a new folder
    Init {
        /// The folder
        #[arg(value_name = "DIR", default_value = DEFAULT_FOLDER)]
        dir: PathBuf,
        /// How long the authority is valid, in days
        #[arg(long, value_name = "DAYS", default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36500))]
        days: u32,
    },
    /// Make a certificate and a key for a node
    Add(Add),
    /// Make a new certificate for the key that a node has
    Renew {
        /// The name of the node
        node: String,
        #[command(flatten)]
        life: Life,
        #[command(flatten)]
        folder: Folder,
    },
    /// Say that the certificates of a node are not valid any more
    Revoke {
        /// The name of the node
        node: String,
        #[command(flatten)]
        folder: Folder,
    },
    /// List the certificates
    List {
        #[command(flatten)]
        folder: Folder,
        #[command(flatten)]
        json: JsonFlag,
    },
}

#[derive(clap::Args)]
struct Add {
    /// The name that the node has in the network
    node: String,
    /// Another name or address by which nodes or federates connect to it
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    #[command(flatten)]
    life: Life,
    #[command(flatten)]
    folder: Folder,
}

#[derive(clap::Args)]
struct Life {
    /// How long the certificate is valid, in days; never longer than the authority
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36500))]
    days: u32,
}

#[derive(clap::Args)]
struct Folder {
    /// The folder of the authority
    #[arg(short, long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    dir: PathBuf,
}

impl Folder {
    fn open(&self) -> Result<Authority, Failure> {
        Authority::open(&self.dir).map_err(failure)
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::Init { dir, days } => {
            Authority::init(dir, DAY * *days).map_err(failure)?;
            say(format_args!("{}: a new authority; keep authority.key to yourself", dir.display()));
        }
        Command::Add(Add { node, host, life, folder }) => {
            let until = folder.open()?.add(node, host, DAY * life.days).map_err(failure)?;
            say(format_args!(
                "{node}.pem, {node}.key: the certificate of {node} until {}, and its key",
                date(until)
            ));
        }
        Command::Renew { node, life, folder } => {
            let until = folder.open()?.renew(node, DAY * life.days).map_err(failure)?;
            say(format_args!(
                "{node}.pem: the certificate of {node} until {}, for the same key",
                date(until)
            ));
        }
        Command::Revoke { node, folder } => {
            let count = folder.open()?.revoke(node).map_err(failure)?;
            say(format_args!("{node}: revoked ({count} new); copy revocations.pem to all other nodes"));
        }
        Command::List { folder, json } => return list(&folder.open()?, json),
    }
    Ok(Status::Done)
}

fn list(authority: &Authority, json: &JsonFlag) -> Outcome {
    let now = SystemTime::now();
    let mut report = Report::new("trust list", 1);
    let mut table = Table::new(["node", "state", "until", "names", "serial"]);
    for entry in authority.entries() {
        let state = match (&entry.revoked, entry.until() < now) {
            (Some(_), _) => "revoked",
            (None, true) => "expired",
            (None, false) => "valid",
        };
        let (node, serial) = (entry.node.clone(), entry.serial.clone());
        table.line([node, state.to_owned(), date(entry.until()), entry.names().join(" "), serial]);
        report.row(json!({
            "node": entry.node,
            "state": state,
            "until": entry.until,
            "revoked": entry.revoked,
            "names": entry.names(),
            "serial": entry.serial,
        }));
    }
    if !json.takes_stdout() {
        say(table.text().trim_end());
    }
    json.write(&report)?;
    Ok(Status::Done)
}

/// The day of a moment, in UTC.
fn date(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

fn failure(error: TrustError) -> Failure {
    match error {
        TrustError::NoAuthority(_) => Failure::wrong_use(error)
            .hint("`meshrti trust init` makes an authority; `--dir DIR` says where one is"),
        TrustError::Exists(_) => Failure::wrong_use(error)
            .hint("`meshrti trust renew NODE` makes a new certificate for the key of a node"),
        TrustError::Io { .. } | TrustError::Made(_) | TrustError::InUse(_) => Failure::bad_news(error),
        error => Failure::wrong_use(error),
    }
}
