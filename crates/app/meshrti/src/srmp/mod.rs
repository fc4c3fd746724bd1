//! `meshrti srmp`: the multicast protocol by itself, without a federation.

mod group;
mod logger;
#[cfg(feature = "bench")]
mod objects;
mod recv;
mod send;
mod show;

use clap::Subcommand;

use console::exit::{Failure, Outcome, Status};

/// Use the Selectively Reliable Multicast Protocol by itself.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  meshrti srmp recv --interface lo                         hear a group of this machine
  echo hello | meshrti srmp send --interface lo            say something in it, best effort
  echo open | meshrti srmp send --mode 1 --data 7          the newest value of data element 7, to everyone, reliably
  meshrti srmp send --mode 1 --objects 50 --rate 100       made-up values until Ctrl-C
  meshrti srmp recv --wan delay=40ms,loss=10%              hear it as over a bad line
  meshrti srmp logger --interface lo                       repair for all who say --loggers

Without --interface the group is where the system's routes lead; on a machine without a network that is nowhere, and \
`--interface lo` is what works."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Send lines of the standard input, or made-up values
    Send(Box<send::Args>),
    /// Print what comes
    Recv(Box<recv::Args>),
    /// Keep the newest messages of a site, and repair what its members miss
    Logger(Box<logger::Args>),
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Send(args) => block_on(send::send(args)),
        What::Recv(args) => block_on(recv::recv(args)),
        What::Logger(args) => block_on(logger::logger(args)),
    }
}

/// Runs `work`, which handles Ctrl-C itself because it has to print counters before it ends.
fn block_on(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::bad_news(format_args!("the system gives no event queue: {e}")))?;
    runtime.block_on(work)
}

/// The status, depending on whether the user interrupted the work.
fn status(interrupted: bool) -> Status {
    if interrupted { Status::Interrupted } else { Status::Done }
}
