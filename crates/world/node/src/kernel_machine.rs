//! The kernel as the machine of a node.

use base::{Moment, NodeKey, Seed};
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};
use kernel::{
    FomSource, GroupFrame, Kernel, LinkId, LinkTarget, LinkTerms, Multicast, NetworkConfig, NoSaves,
    SaveStore, TopologyKind,
};
use std::sync::Arc;

use crate::config::network::{DropFirst, NetworkPlan, PlanError, PlannedLink, Topology};
use crate::config::{AutomaticResign, Config, ConfigError, Network};
use crate::fom_files::FomFiles;
use crate::machine::{Input, Machine, Output};
use crate::machine_memory::machine_memory;
use crate::saves::SaveFolder;
use crate::state::{self, StateError, StateFile};
use crate::url::MulticastUrl;
use srmp::frames::FRAME_BYTES;

/// How long a creating node that has links of its own looks for an existing network first.
const BOOTSTRAP_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

/// The reason why no kernel can be made from a configuration.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The node has no place in the network.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The settings of the network are invalid.
    #[error(transparent)]
    Network(#[from] kernel::NetworkError),
    /// The access policy cannot be used.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    /// The state of the node cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The system gives no random key for this incarnation of the node.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// A kernel with the settings of `config`. It is a node of a network if they include one. It stores
/// no state: see [`kernel_with`].
///
/// # Errors
/// The settings of the network are invalid, or the access policy is.
pub fn kernel(config: &Config) -> Result<Kernel, KernelError> {
    kernel_with(config, None)
}

/// A kernel that stores the voters of its network in `file`. Pass the file also to the
/// [`Node`](crate::Node) that drives the kernel, by [`with_state`](crate::Node::with_state).
///
/// # Errors
/// The settings of the network are invalid, the access policy is, or the file is damaged.
pub fn kernel_with(config: &Config, file: Option<&StateFile>) -> Result<Kernel, KernelError> {
    let source = Box::new(FomFiles::new(&config.fom));
    match &config.network {
        None => Ok(Kernel::new(settings(config, None)?, source)),
        Some(network) => {
            let suffix = u16::try_from(getrandom::u32()? >> 16).unwrap_or_default();
            let name = config.network_name(suffix);
            let mut network = network_settings(&name, network)?;
            network.kept = state::kept(file)?;
            Ok(Kernel::in_network(Moment::ZERO, settings(config, Some(&name))?, network, source)?)
        }
    }
}

/// The place for saved federation executions of the node with this name, if it is one of a network.
fn saves(config: &Config, node: Option<&str>) -> Arc<dyn SaveStore> {
    match config.federation.saves.directory() {
        Some(directory) => Arc::new(SaveFolder::new(directory, node)),
        None => Arc::new(NoSaves),
    }
}

/// The part of a configuration that concerns the network.
fn network_settings(name: &str, network: &Network) -> Result<NetworkConfig, KernelError> {
    let plan: NetworkPlan = network.plan(name)?;
    let (key, seed) = (getrandom::u64()?.max(1), getrandom::u64()?);
    let topology = match plan.topology.unwrap_or(Topology::Tree) {
        Topology::Tree => TopologyKind::Tree,
        Topology::Mesh => TopologyKind::Mesh,
        Topology::Hypercube => TopologyKind::Hypercube,
        Topology::Graph => TopologyKind::Graph,
    };
    let mut settings = NetworkConfig::new(NodeKey(key), Seed(seed), name, topology);
    settings.any_shape = plan.topology.is_none();
    settings.targets = plan.links.iter().map(target).collect();
    let wait = if plan.links.is_empty() { std::time::Duration::ZERO } else { BOOTSTRAP_WAIT };
    settings.bootstrap = plan.bootstrap.then_some(wait);
    settings.creator = network.creator.clone().unwrap_or_else(|| name.to_owned());
    settings.node_timeout = network.node_timeout;
    settings.minority_timeout = network.minority_timeout;
    settings.multicast =
        network.multicast.as_ref().map(|url| Multicast { groups: url.groups, frame_bytes: FRAME_BYTES });
    settings.group_keys = network.multicast.as_ref().and_then(MulticastUrl::group_keys);
    let overlay = &mut settings.overlay;
    overlay.redundancy = plan.redundancy;
    overlay.on_demand = network.on_demand.map(|on_demand| on_demand.settings());
    overlay.urls = plan.advertise.iter().map(ToString::to_string).collect();
    overlay.awaited = plan.awaited.iter().cloned().collect();
    overlay.topology_digest = plan.digest;
    overlay.clock_millis = clock_millis();
    overlay.timing.keep_alive = network.keep_alive;
    overlay.timing.silence_max = network.silence;
    let pipe = &mut settings.pipe;
    *pipe = pipe.clone().with_bytes_max(network.queue);
    pipe.messages_max = network.queue_messages;
    pipe.frame_bytes_max = network.bundle;
    pipe.bundle_wait = network.bundle_wait;
    pipe.message_bytes_max = network.message;
    pipe.newest_wins = network.newest_wins;
    pipe.credit_bytes = Some(network.credit);
    pipe.drop_first = match network.drop_first {
        DropFirst::Oldest => router::DropFirst::Oldest,
        DropFirst::Newest => router::DropFirst::Newest,
    };
    Ok(settings)
}

fn target(link: &PlannedLink) -> LinkTarget {
    let (near, far) = link.flags.unwrap_or((LinkTerms::default().near, LinkTerms::default().far));
    let terms = LinkTerms { near, far, rank: link.rank };
    LinkTarget { url: link.url.to_string(), name: link.name.clone(), terms }
}

/// Milliseconds since 1970; `None` if the machine's clock is earlier.
fn clock_millis() -> Option<u64> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// The part of a configuration that concerns the kernel.
fn settings(config: &Config, node: Option<&str>) -> Result<kernel::Config, ConfigError> {
    let policy = config.access.read_policy()?;
    // A session takes from the federate's queue only enough to keep its socket busy, because
    // callbacks can be dropped only in the queue. The session's own limit leaves room for the
    // messages that a resume repeats.
    let defaults = fedpro::server::Config::default();
    let unsent_bytes_high = defaults.unsent_bytes_high.min(config.limits.queue / 4);
    let sessions = fedpro::server::Config {
        message_bytes_max: config.limits.message,
        sessions_max: config.limits.sessions,
        sessions_per_address_max: config.limits.sessions_per_address(),
        sessions_reserved: config.limits.reserved_sessions(),
        connect_timeout: Some(config.session.connect_timeout),
        unconnected_sessions_max: config.limits.unconnected_sessions,
        first_message_timeout: config.session.handshake_timeout,
        connections_without_session_max: config.limits.silent_connections,
        calls_max: config.limits.calls,
        history_messages_max: config.limits.history_messages,
        history_bytes_max: config.limits.history,
        heart_timeout: config.session.heartbeat_timeout,
        resume_window: config.session.resume_window,
        unsent_bytes_high,
        unsent_bytes_low: unsent_bytes_high / 4,
        unsent_bytes_max: config.limits.queue.saturating_add(config.limits.history),
        ..defaults
    };
    let rti = rti::Config {
        queue_bytes_max: config.limits.queue,
        federations_max: config.limits.federations,
        automatic_resign: resign_action(config.federation.automatic_resign),
        saves: saves(config, node),
        fom: rti::FomLimits {
            module_bytes: config.fom.module,
            call_bytes: config.fom.call,
            call_modules: config.fom.modules,
            ..rti::FomLimits::default()
        },
        ..rti::Config::default()
    };
    Ok(kernel::Config {
        rti,
        sessions,
        closed_window: config.session.closed_window,
        unjoined_window: config.session.unjoined_window,
        policy,
        authorizer_timeout: config.access.authorizer.as_ref().map(|authorizer| authorizer.timeout),
        passwords_wrong_max: config.access.wrong_passwords,
        password_window: config.access.password_window,
        memory_bytes_max: config.limits.memory.of_machine(machine_memory()),
        input_pause_max: config.session.message_timeout,
    })
}

fn resign_action(directive: AutomaticResign) -> rti::ResignAction {
    use rti::ResignAction;
    match directive {
        AutomaticResign::UnconditionallyDivestAttributes => ResignAction::UnconditionallyDivestAttributes,
        AutomaticResign::DeleteObjects => ResignAction::DeleteObjects,
        AutomaticResign::CancelPendingOwnershipAcquisitions => {
            ResignAction::CancelPendingOwnershipAcquisitions
        }
        AutomaticResign::DeleteObjectsThenDivest => ResignAction::DeleteObjectsThenDivest,
        AutomaticResign::CancelThenDeleteThenDivest => ResignAction::CancelThenDeleteThenDivest,
        AutomaticResign::NoAction => ResignAction::NoAction,
    }
}

impl FomSource for FomFiles {
    fn open(&self, designator: &str) -> Result<Bytes, String> {
        self.read(designator).map(Bytes::from).map_err(|error| error.to_string())
    }
}

impl Machine for Kernel {
    fn handle(&mut self, now: Moment, input: Input<'_>) {
        match input {
            Input::Opened { conn, address, session_id } => self.handle_open(now, conn, address, session_id),
            Input::Secured { conn, certificate } => self.handle_secured(conn, certificate),
            Input::Bytes { conn, bytes } => self.handle_bytes(now, conn, bytes),
            Input::Closed { conn } => self.handle_closed(now, conn),
            Input::Timeout => self.handle_timeout(now),
            Input::Shutdown => self.begin_shutdown(now),
            Input::Link(input) => self.handle_link(now, input),
            Input::Group(input) => self.handle_group(now, input),
            Input::Persisted { revision } => self.handle_persisted(now, revision),
            Input::JobDone(done) => self.finish_job(now, done),
            Input::CredentialsVerdict(verdict) => self.finish_credentials_check(now, verdict),
            Input::AuthorizerResult(number, result) => self.finish_authorizer_request(now, number, result),
            Input::Policy(policy) => self.set_policy(now, policy),
        }
    }

    fn poll(&mut self) -> Option<Output> {
        (self.poll_persist().map(Output::Persist))
            .or_else(|| self.poll_link().map(Output::Link))
            .or_else(|| self.poll_group().map(Output::Group))
            .or_else(|| self.poll_released().map(Output::Released))
            .or_else(|| self.poll_ready().map(Output::Ready))
            .or_else(|| self.poll_access_record().map(Output::Access))
            .or_else(|| self.poll_credentials_check().map(Output::CredentialsCheck))
            .or_else(|| self.poll_authorizer_request().map(Output::Authorizer))
            .or_else(|| self.poll_job().map(|job| Output::Job(Box::new(job))))
    }

    fn poll_transmit(&mut self, now: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit {
        self.poll_transmit(now, conn, out, budget)
    }

    fn poll_timeout(&self) -> Option<Moment> {
        self.poll_timeout()
    }

    fn is_paused(&self, conn: ConnId) -> bool {
        self.is_paused(conn)
    }

    fn set_socket_bytes(&mut self, conn: ConnId, bytes: usize) {
        self.set_socket_bytes(conn, bytes);
    }

    fn note_slow_turn(&mut self, now: Moment, took: std::time::Duration) -> String {
        self.note_slow_turn(now, took)
    }

    fn is_waiting(&self) -> bool {
        self.is_waiting()
    }

    fn has_left(&self) -> bool {
        self.has_left()
    }

    fn poll_link_frame(&mut self, now: Moment, link: LinkId) -> Option<Bytes> {
        self.poll_link_frame(now, link)
    }

    fn poll_link_datagram(&mut self, now: Moment, link: LinkId, max: usize) -> Option<Bytes> {
        self.poll_link_datagram(now, link, max)
    }

    fn poll_group_frame(
        &mut self,
        now: Moment,
        group: usize,
        max: usize,
        directed: bool,
    ) -> Option<GroupFrame> {
        self.poll_group_frame(now, group, max, directed)
    }
}
