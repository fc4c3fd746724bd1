//! `meshrti serve`: a node that federates can join.

use std::path::{Path, PathBuf};
use std::time::Duration;

use node::config::network::{LinkEntry, LinkTls, StatePlace, Topology};
use node::config::{ListenAddress, Network, Tls};
use node::link::{LinkListen, LinkUrl, MulticastUrl};
use node::{Config, DEFAULT_SAVES_DIRECTORY, DEFAULT_STATE_DIRECTORY, Node, StateError, StateFile};
use tracing::{info, warn};

use crate::signals::Signals;
use crate::{exposure, logging, mpi, open_files};
use console::exit::{Failure, Outcome, Status, say};

/// The configuration file that is read if it exists and no other is named.
const DEFAULT_CONFIG: &str = "meshrti.toml";

/// Run a node that federates can join.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  meshrti serve --listen tcp://127.0.0.1:15164 --fom-dir ./foms
  meshrti serve --listen tls://*:15165 --certificate server.pem --key server.key
  meshrti serve --config /etc/meshrti.toml --name range-west
  meshrti serve --name NORFOLK --network-listen tcp://*:15160
  meshrti serve --name MAUI --join tcp://norfolk:15160
  meshrti serve --name MAUI --join tls://norfolk:15160 --trust ./maui
  meshrti serve --name MAUI --link tcp://norfolk:15160,delay=60ms,best-effort=udp
  meshrti serve --join tcp://norfolk:15160 --link srmp://239.255.44.32:4420,interface=eth0
  mpirun -n 4 meshrti serve --mpi --topology mesh

Without --config, `meshrti.toml` in the present folder is read if it is there; flags overrule it. \
The addresses and `ready` go to the standard output, the log to the standard error. Ctrl-C stops the \
node after it has told its federates; a second Ctrl-C stops it at once.")]
pub(crate) struct Args {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen for federates, in place of the configured addresses
    #[arg(short, long, value_name = "URL")]
    listen: Vec<ListenAddress>,
    /// PEM file with the certificate for addresses that encrypt: tls, wss and any
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Name of the node
    #[arg(short, long)]
    name: Option<String>,
    /// Another folder with FOM modules that federates may name
    #[arg(long, value_name = "DIR")]
    fom_dir: Vec<PathBuf>,
    /// Join the network that this node is part of; it tells the rest
    #[arg(long, value_name = "URL")]
    join: Option<LinkUrl>,
    /// Make and keep another link to a node, or share multicast groups
    ///
    /// `srmp://GROUP:PORT` shares multicast groups with the other nodes of the site: what several
    /// of them want is sent once. With the options interface=eth0, groups=8, ttl=1, key=FILE
    /// or key=network, key-interval=1h, site=NAME, rate-min=100Mbit/s, and those of an emulated line. It comes in addition to links, which it
    /// needs.
    ///
    /// Options follow the URL: delay=20ms, jitter=2ms, loss=0.5%, rate=10Mbit/s (emulated, in both directions; with back-
    /// before them for what the other side sends), best-effort=stream|udp|datagram, mtu=1400, pin=SHA256.
    #[arg(long, value_name = "URL[,OPTION=VALUE]")]
    link: Vec<Link>,
    /// Where to listen for nodes, in place of the configured addresses
    #[arg(long, value_name = "URL")]
    network_listen: Vec<LinkListen>,
    /// Folder with what `meshrti trust` made for this node: NAME.pem, NAME.key, authority.pem,
    /// revocations.pem
    #[arg(long, value_name = "DIR")]
    trust: Option<PathBuf>,
    /// The shape of the network: tree, mesh, hypercube or graph
    #[arg(long, value_name = "KIND")]
    topology: Option<Topology>,
    /// Allow several ways between two nodes of a tree or graph
    #[arg(long)]
    redundancy: bool,
    /// Link to nodes of a mesh only while there is traffic with them
    #[arg(long)]
    on_demand: bool,
    /// Where to keep this node's vote in the network; `none`: nowhere
    ///
    /// Default for a node with a name: the folder `meshrti-state` in the present one. Of a network
    /// that lost a majority of its nodes, those that come back with their state found the successor
    /// by themselves.
    #[arg(long, value_name = "DIR")]
    state: Option<String>,
    /// Create the network, though this node has links
    #[arg(long)]
    bootstrap: bool,
    /// Be a rank of an MPI job, whose ranks are the nodes of the network
    ///
    /// Start it with `mpirun` or `srun`. The nodes are called NAME-0, NAME-1, ... (NAME: see
    /// --name; `rank` without it). Ranks on one host listen on ports that follow each other.
    #[arg(long, conflicts_with_all = ["join", "link", "bootstrap"])]
    mpi: bool,
    /// With --mpi and --topology tree: nodes that connect to each upper one
    #[arg(long, value_name = "NODES", default_value_t = 4, requires = "mpi", value_parser = clap::value_parser!(u32).range(1..))]
    fan_out: u32,
    /// With --mpi: the longest pause between two looks for messages
    ///
    /// Shorter: what comes after a silence waits less, and an idle rank needs more processor time.
    #[arg(long, value_name = "TIME", default_value = "1ms", requires = "mpi", value_parser = humantime::parse_duration)]
    mpi_poll: std::time::Duration,
    /// Refuse to listen for other hosts without accounts and encryption
    #[arg(long)]
    require_security: bool,
    /// Check the configuration and stop
    #[arg(long)]
    check: bool,
}

/// A value of `--link`.
#[derive(Clone)]
enum Link {
    To(LinkUrl),
    Groups(MulticastUrl),
}

impl std::str::FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.starts_with(MulticastUrl::SCHEME) {
            true => text.parse().map(Self::Groups).map_err(|error| error.to_string()),
            false => text.parse().map(Self::To).map_err(|error| error.to_string()),
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.mpi {
        let job = mpi::Job::start(args.mpi_poll)?;
        let config = configuration(args, Some(&job))?;
        let outcome = if args.check { Ok(Status::Done) } else { serve_on_runtime(&config, Some(&job)) };
        if outcome.is_ok() {
            // This waits for the other ranks. Signals no longer end the process: `mpirun` sends
            // them to waiting ranks, too, and the orderly shutdown is complete. A failure ends the
            // whole job, without waiting for other ranks.
            job.leave();
        }
        return outcome;
    }
    let config = configuration(args, None)?;
    if args.check { Ok(Status::Done) } else { serve_on_runtime(&config, None) }
}

/// The file for the state that a node keeps of its network. By default only a node with a
/// configured name has one. A random name differs at each start, and an MPI job starts and ends as
/// a whole.
fn state_file(config: &mut Config, is_job: bool) -> Result<Option<StateFile>, Failure> {
    let Some(network) = &mut config.network else { return Ok(None) };
    let usual = network.state == StatePlace::Default;
    if usual && network.is_named && !is_job {
        network.state = StatePlace::Directory(DEFAULT_STATE_DIRECTORY.into());
    }
    match StateFile::of(config) {
        Ok(Some(file)) => {
            info!(file = %file.path().display(), "this node keeps who votes in its network");
            Ok(Some(file))
        }
        Ok(None) => {
            warn!(
                "this node keeps nothing of its network: once its process has ended it has no vote in it, and should a majority \
                   of the nodes end like this, their network does not come back by itself (--state)"
            );
            Ok(None)
        }
        Err(error @ StateError::Io { .. }) if usual => {
            warn!(%error, "this node cannot keep its state here, and goes on without: once its process has ended it has no vote in \
                   its network (--state chooses a folder)");
            Ok(None)
        }
        Err(error) => Err(Failure::wrong_use(error)),
    }
}

fn serve_on_runtime(config: &Config, job: Option<&mpi::Job>) -> Outcome {
    let runtime = node::runtime()
        .map_err(|e| Failure::bad_news(format_args!("the system gives no event queue: {e}")))?;
    runtime.block_on(serve(config, job))
}

/// The configuration file, overruled by the flags.
fn configuration(args: &Args, job: Option<&mpi::Job>) -> Result<Config, Failure> {
    let path =
        args.config.as_deref().or_else(|| Some(Path::new(DEFAULT_CONFIG)).filter(|path| path.exists()));
    let mut config = match path {
        Some(path) => {
            let config = Config::read(path).map_err(Failure::wrong_use)?;
            info!(file = %path.display(), "configuration read");
            config
        }
        None => Config::default(),
    };
    if config.federation.saves == StatePlace::Default {
        config.federation.saves = StatePlace::Directory(DEFAULT_SAVES_DIRECTORY.into());
    }
    if let Some(name) = &args.name {
        config.name.clone_from(name);
        if let Some(network) = &mut config.network {
            network.name = None;
        }
    }
    network(args, &mut config, job).map_err(Failure::wrong_use)?;
    if !args.listen.is_empty() {
        config.listen.clone_from(&args.listen);
    }
    if let (Some(certificate), Some(key)) = (args.certificate.clone(), args.key.clone()) {
        config.tls = Some(Tls { certificate, key, ..config.tls.unwrap_or_default() });
    }
    config.server_tls().map_err(Failure::wrong_use)?;
    config.access.read_policy().map_err(Failure::wrong_use)?;
    exposure::check(&config, args.require_security)?;
    if let Some(network) = &config.network {
        node::link::check_certificates(&network.tls).map_err(Failure::wrong_use)?;
    }
    if let Some(job) = job {
        mpi::own_ports(&mut config, job.local_rank()).map_err(Failure::wrong_use)?;
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

/// Completes the network of the configuration with the flags, and with the entries for this node's
/// name.
fn network(args: &Args, config: &mut Config, job: Option<&mpi::Job>) -> Result<(), String> {
    let flags = args.join.is_some()
        || !args.link.is_empty()
        || !args.network_listen.is_empty()
        || args.topology.is_some()
        || args.redundancy
        || args.on_demand
        || args.bootstrap;
    if flags {
        let network = config.network.get_or_insert_with(Network::default);
        if !args.network_listen.is_empty() {
            network.listen.clone_from(&args.network_listen);
        }
        for link in &args.link {
            match link {
                Link::To(url) => network.links.push(LinkEntry::to(url.clone())),
                Link::Groups(url) => network.multicast = Some(url.clone()),
            }
        }
        network.join = args.join.clone().or(network.join.take());
        network.topology = args.topology.or(network.topology);
        network.redundancy |= args.redundancy;
        if args.on_demand {
            network.on_demand.get_or_insert_default();
        }
        network.bootstrap = if args.bootstrap { Some(true) } else { network.bootstrap };
    }
    if let (Some(network), Some(state)) = (&mut config.network, &args.state) {
        network.state = StatePlace::from(state.clone());
    }
    if let Some(folder) = &args.trust {
        trust(config, folder)?;
    }
    if let Some(job) = job {
        mpi::nodes_are_ranks(config, job.number(), job.size(), args.fan_out)?;
    }
    config.settle_here().map_err(|error| error.to_string())
}

/// Lets the node prove who it is with the files in a folder.
fn trust(config: &mut Config, folder: &Path) -> Result<(), String> {
    let Some(name) = config.given_name() else {
        return Err("--trust needs the name that is in the certificate of this node: --name".to_owned());
    };
    let Some(network) = &mut config.network else {
        return Err("--trust is for a node of a network: --network-listen, --join or --link".to_owned());
    };
    let tls = LinkTls::in_folder(folder, &name)
        .map_err(|missing| format!("--trust: {missing}: `meshrti trust add {name}` makes it"))?;
    network.tls = LinkTls { plain_links: network.tls.plain_links, ..tls };
    Ok(())
}

/// How long a node may take to become a member of its network before it says that it waits. In a
/// network that works, joining takes a few round trips.
const QUIET_WAIT: Duration = Duration::from_secs(1);

async fn serve(config: &Config, job: Option<&mpi::Job>) -> Outcome {
    let mut config = config.clone();
    open_files::allow(&config);
    let file = state_file(&mut config, job.is_some())?;
    let kernel = node::kernel_with(&config, file.as_ref()).map_err(Failure::wrong_use)?;
    let node = Node::bind_in(job.map(mpi::Job::provider), &config, kernel).await.map_err(|error| {
        let hint = match error.address.starts_with(MulticastUrl::SCHEME) {
            true => {
                "`ip -br address` shows what there is; --link srmp://GROUP:PORT,interface=NAME chooses one"
            }
            false => "is another server running? `--listen tcp://*:PORT` chooses another port",
        };
        Failure::bad_news(error).hint(hint)
    })?;
    let node = node.with_state(file);
    info!(name = config.name, version = env!("CARGO_PKG_VERSION"), "node started");
    let (interrupted, stop) = tokio::sync::oneshot::channel();
    let stopper = tokio::spawn(signals(Signals::listen(), interrupted));
    tokio::spawn(crate::allocator::return_memory());
    // From here on the node accepts connections and handles signals. With port 0, these lines show
    // the chosen port. One `mpirun` prints the lines of all ranks.
    let who = job.map(|job| format!("rank {} on {}: ", job.number(), job.host())).unwrap_or_default();
    for url in node.federate_urls() {
        say(format_args!("{who}listening on {url}"));
    }
    for url in node.link_addresses() {
        say(format_args!("{who}listening for nodes on {url}"));
    }
    let serving = node.serving();
    let mut run = std::pin::pin!(node.run(async { drop(stop.await) }));
    let stats = tokio::select! {
        stats = &mut run => stats,
        () = announce(serving, &who) => run.await,
    };
    stopper.abort();
    info!(
        connections = stats.accepted_connections,
        read_bytes = stats.read_bytes,
        written_bytes = stats.written_bytes,
        "node stopped"
    );
    Ok(Status::Done)
}

/// Says `ready` once federates are served, and before that, if it takes long, that the node waits.
async fn announce(serving: impl Future<Output = ()>, who: &str) {
    let mut serving = std::pin::pin!(serving);
    if tokio::time::timeout(QUIET_WAIT, &mut serving).await.is_err() {
        say(format_args!("{who}waiting for its network"));
        serving.await;
    }
    say(format_args!("{who}ready"));
}

/// Requests an orderly shutdown at the first signal, and ends the process at the second.
async fn signals(mut signals: Signals, stop: tokio::sync::oneshot::Sender<()>) {
    signals.next().await;
    let _ = stop.send(());
    signals.next().await;
    logging::finish("");
    std::process::exit(Status::Interrupted as i32);
}
