//! `meshrti network`: the state that a node keeps of its network.

use std::path::PathBuf;

use node::{DEFAULT_STATE_DIRECTORY, StateError, StateFile};

use console::exit::{Failure, Outcome, Status, say};

/// See to what a node keeps of its network.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Forget the network that a node was a member of, so that it begins or joins another one
    Reset(Reset),
}

/// Forget the network that a node was a member of
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti network reset --name NORFOLK           say what it would forget
  meshrti network reset --name NORFOLK --yes     forget it

A network goes on by itself when a majority of the nodes that voted last is back. This is for the case that they never come: stop \
all nodes of the network that still run, then reset the node that creates networks and start it; the others join it. Do not reset it \
while a part of the old network may still be at work elsewhere: there would be two.")]
struct Reset {
    /// The name of the node
    #[arg(short, long)]
    name: String,
    /// The folder that it keeps its state in, as given to `meshrti serve`
    #[arg(long, value_name = "DIR", default_value = DEFAULT_STATE_DIRECTORY)]
    state: PathBuf,
    /// Really forget it
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::Reset(reset) => forget(reset),
    }
}

fn forget(args: &Reset) -> Outcome {
    if !args.state.is_dir() {
        let folder = args.state.display();
        return Err(Failure::wrong_use(format_args!("{folder}: there is no such folder"))
            .hint("`--state DIR` says where the node keeps its state"));
    }
    let file = StateFile::open(&args.state, &args.name).map_err(|error| match error {
        StateError::InUse { .. } => Failure::bad_news(error).hint("stop the node first"),
        error => Failure::bad_news(error),
    })?;
    let path = file.path().display();
    match file.read() {
        Ok(None) => {
            say(format_args!("{path}: {} keeps nothing, so there is nothing to forget", args.name));
            return Ok(Status::Done);
        }
        Ok(Some(record)) => {
            let network = record.head.network;
            say(format_args!("{path}: {} was a member of network {network:016x}", args.name));
            say(format_args!("  nodes that voted last: {}", record.head.voter_names().join(", ")));
            say(format_args!("  this node has {} vote", if record.votes() { "a" } else { "no" }));
            if let Some((_, proposal)) = &record.accepted {
                say(format_args!("  it has agreed to network {:016x} as the successor", proposal.network));
            }
        }
        Err(error @ StateError::Damaged { .. }) => say(format_args!("{error}")),
        Err(error) => return Err(Failure::bad_news(error)),
    }
    if !args.yes {
        return Err(Failure::bad_news("nothing was changed").hint("`--yes` makes the node forget this"));
    }
    file.store(None).map_err(|error| Failure::bad_news(format_args!("{path}: {error}")))?;
    say(format_args!("forgotten: {} begins or joins another network when it is started", args.name));
    Ok(Status::Done)
}
