//! `rooms serve` runs a server, `rooms join` connects a terminal to one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;

use base::{Moment, NodeKey, Seed};
use clap::{Parser, Subcommand, ValueEnum};
use node::config::{ListenAddress, Network};
use node::link::{LinkListen, LinkUrl};
use node::{Config, Node};
use rooms::{Server, Settings, Shape, check_name};
use tracing_subscriber::EnvFilter;

/// Presence and chat in rooms, over servers in a tree or a mesh.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run a server
    Serve(Serve),
    /// Be a member: lines of the terminal go to a server, and its lines to the terminal
    Join {
        /// The address of the server for members
        #[arg(value_name = "HOST:PORT")]
        server: String,
    },
}

#[derive(clap::Args)]
struct Serve {
    /// The name of this server, unique in the network
    #[arg(long, value_parser = name)]
    name: String,
    /// Where members connect; port 0: the system chooses one
    #[arg(long, value_name = "ADDRESS", default_value = "tcp://127.0.0.1:0")]
    members: ListenAddress,
    /// Where other servers connect
    #[arg(long, value_name = "ADDRESS", default_value = "tcp://127.0.0.1:0")]
    links: LinkListen,
    /// A server to connect to; may be given several times
    #[arg(long, value_name = "URL")]
    join: Vec<LinkUrl>,
    /// How the servers are linked: the same at all of them
    #[arg(long, value_enum, default_value_t = ShapeName::Tree)]
    shape: ShapeName,
    /// The name of the network: the same at all servers
    #[arg(long, default_value = "rooms", value_parser = name)]
    network: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum ShapeName {
    /// A single path between any two servers
    Tree,
    /// A tree with spare links, which stand by
    RedundantTree,
    /// Each server is linked to all others, which it finds by itself
    Mesh,
}

impl From<ShapeName> for Shape {
    fn from(name: ShapeName) -> Self {
        match name {
            ShapeName::Tree => Self::Tree,
            ShapeName::RedundantTree => Self::RedundantTree,
            ShapeName::Mesh => Self::Mesh,
        }
    }
}

fn name(text: &str) -> Result<String, rooms::NameError> {
    check_name(text).map(str::to_owned)
}

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let done = match Arguments::parse().what {
        What::Serve(serve) => run(&serve),
        What::Join { server } => join(&server),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(serve: &Serve) -> Result<(), String> {
    let random = || getrandom::u64().map_err(|error| format!("the system gives no random numbers: {error}"));
    let settings = Settings {
        key: NodeKey(random()?.max(1)),
        name: serve.name.clone(),
        network: serve.network.clone(),
        shape: serve.shape.into(),
        join: serve.join.iter().map(ToString::to_string).collect(),
        seed: Seed(random()?),
    };
    let machine = Server::new(Moment::ZERO, &settings).map_err(|error| error.to_string())?;
    // The driver needs of a configuration only the addresses. The rest has defaults.
    let config = Config {
        name: serve.name.clone(),
        listen: vec![serve.members.clone()],
        network: Some(Network { listen: vec![serve.links.clone()], ..Network::default() }),
        ..Config::default()
    };
    let runtime = node::runtime().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let node = Node::bind(&config, machine).await.map_err(|error| error.to_string())?;
        let addresses = [node.federate_urls(), node.link_addresses()].map(|urls| urls.join(" "));
        let _ = writeln!(
            std::io::stdout(),
            "server {}: members at {}, links at {}",
            serve.name,
            addresses[0],
            addresses[1]
        );
        node.run(stop()).await;
        Ok(())
    })
}

/// Ready when the process is asked to stop.
async fn stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

fn join(server: &str) -> Result<(), String> {
    let address = server.trim_start_matches("tcp://");
    let fail = |error: std::io::Error| format!("{address}: {error}");
    let stream = TcpStream::connect(address).map_err(fail)?;
    let mut to_server = stream.try_clone().map_err(fail)?;
    // It ends with the process: a terminal cannot be interrupted.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if to_server.write_all(format!("{line}\n").as_bytes()).is_err() {
                return;
            }
        }
        let _ = to_server.write_all(b"quit\n");
    });
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(fail)?;
        if writeln!(std::io::stdout(), "{line}").is_err() {
            break;
        }
    }
    Ok(())
}
