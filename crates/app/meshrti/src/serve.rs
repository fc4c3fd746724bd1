//! `meshrti serve`: a node that federates can join.

use std::path::{Path, PathBuf};

use node::config::ListenAddress;
use node::{Config, Node};
use tracing::info;

use crate::exit::{Failure, Outcome, Status, say};

/// The configuration that is read when there is one and no other is named.
const DEFAULT_CONFIG: &str = "meshrti.toml";

/// Run a node that federates can join.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti serve
  meshrti serve --listen tcp://127.0.0.1:15164 --fom-dir ./foms
  meshrti serve --config /etc/meshrti.toml --name range-west

It prints `listening on tcp://HOST:PORT` for each address, and `ready`; the log goes to the standard error.
Flags overrule the configuration. Without --config, `meshrti.toml` in the present folder is read if it is there.
It stops on Ctrl-C or a termination signal: nobody is accepted any more, federates are told, what is queued is
written. A second Ctrl-C stops it at once.")]
pub(crate) struct Args {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen, in place of the configured addresses; may be given several times
    #[arg(short, long, value_name = "URL")]
    listen: Vec<ListenAddress>,
    /// What the node calls itself
    #[arg(short, long)]
    name: Option<String>,
    /// A folder with FOM modules that federates may name, in addition to the configured ones
    #[arg(long, value_name = "DIR")]
    fom_dir: Vec<PathBuf>,
    /// Check the configuration and stop
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let config = configuration(args)?;
    if args.check {
        return Ok(Status::Done);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::bad_news(format_args!("the system gives no event queue: {e}")))?;
    runtime.block_on(serve(&config))
}

/// The configuration file, overruled by the flags.
fn configuration(args: &Args) -> Result<Config, Failure> {
    let path =
        args.config.as_deref().or_else(|| Some(Path::new(DEFAULT_CONFIG)).filter(|path| path.exists()));
    let mut config = match path {
        Some(path) => Config::read(path).map_err(Failure::wrong_use)?,
        None => Config::default(),
    };
    if !args.listen.is_empty() {
        config.listen.clone_from(&args.listen);
    }
    if let Some(name) = &args.name {
        config.name.clone_from(name);
    }
    config.fom.directories.extend_from_slice(&args.fom_dir);
    if let Some(missing) = config.fom.directories.iter().find(|directory| !directory.is_dir()) {
        return Err(Failure::wrong_use(format_args!(
            "FOM folder {}: there is no such folder",
            missing.display()
        )));
    }
    Ok(config)
}

async fn serve(config: &Config) -> Outcome {
    let node = Node::bind(config, node::kernel(config)).await.map_err(|error| {
        Failure::bad_news(error)
            .hint("is another server running? `--listen tcp://*:PORT` chooses another port")
    })?;
    info!(name = config.name, version = env!("CARGO_PKG_VERSION"), "node started");
    let (interrupted, stop) = tokio::sync::oneshot::channel();
    let stopper = tokio::spawn(signals(Signals::listen(), interrupted));
    // Connections are taken, and signals heard, from here on. Whoever chose port 0 learns the port from these lines.
    for address in node.addresses() {
        say(format_args!("listening on tcp://{address}"));
    }
    say("ready");
    let stats = node.run(async { drop(stop.await) }).await;
    stopper.abort();
    info!(
        connections = stats.accepted_connections,
        read_bytes = stats.read_bytes,
        written_bytes = stats.written_bytes,
        "node stopped"
    );
    Ok(Status::Done)
}

/// Asks for the end at the first signal, and takes it at the second.
async fn signals(mut signals: Signals, stop: tokio::sync::oneshot::Sender<()>) {
    signals.next().await;
    let _ = stop.send(());
    signals.next().await;
    std::process::exit(Status::Interrupted as i32);
}

/// Ctrl-C and, where there is one, the termination signal.
struct Signals {
    /// Without a handler the system ends the process, which is what a signal asks for.
    #[cfg(unix)]
    terminate: Option<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)>,
}

impl Signals {
    /// From now on no signal is missed. It has to be called on a runtime.
    fn listen() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Self { terminate: signal(SignalKind::interrupt()).ok().zip(signal(SignalKind::terminate()).ok()) }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// Waits for the next one.
    async fn next(&mut self) {
        #[cfg(unix)]
        match &mut self.terminate {
            Some((interrupt, terminate)) => tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            },
            None => std::future::pending().await,
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
    }
}
