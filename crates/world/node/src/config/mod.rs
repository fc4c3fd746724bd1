//! The configuration of a node: `meshrti.toml`.
//!
//! Reading ends in plain types, so that no code below checks a setting again. A key that does not
//! exist is an error that lists the existing ones; see [`ConfigError`].
//!
//! Durations are written `"200us"`, `"3s"`, `"10min"`; sizes `"64KiB"`, `"1MB"`.
//!
//! ```toml
//! name = "range-west"
//! listen = ["tcp://*:15164"]
//!
//! [limits]
//! connections = 4096
//!
//! [fom]
//! directories = ["/usr/share/foms"]
//! ```

mod access;
mod error;
mod listen;
mod memory;
mod name;
pub mod network;
mod tls;
pub(crate) mod units;

use std::path::{Path, PathBuf};
use std::time::Duration;

use carrier::ServerTls;
use network::StatePlace;
use serde::Deserialize;

pub use access::{Access, Authorizer, Kerberos, Permission, Tokens, read_policy};
pub use error::{ConfigError, in_words};
pub use listen::{DEFAULT_PORT, ListenAddress, ListenAddressError};
pub use memory::MemoryLimit;
pub use network::Network;
pub use tls::{ClientCertificates, Tls};

/// The name of a node that is not given one.
pub const DEFAULT_NAME: &str = "meshrti";

/// All settings of a node. `Config::default()` is the meaning of an empty file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The name of the node in logs and in the response to a connect. Default `meshrti`.
    pub name: String,
    /// The addresses on which federates may connect. Default `["tcp://*:15164"]`: every IPv4 and
    /// IPv6 address.
    pub listen: Vec<ListenAddress>,
    /// Limits on what the node accepts.
    pub limits: Limits,
    /// The federates that may connect.
    pub access: Access,
    /// The life of a Federate Protocol session.
    pub session: Session,
    /// Federation executions that are created here.
    pub federation: Federation,
    /// The places to look up FOM modules that federates name but do not send.
    pub fom: Fom,
    /// How the node stops.
    pub shutdown: Shutdown,
    /// The node as one of many. Default: none, for a single node.
    pub network: Option<Network>,
    /// The certificates for addresses that encrypt. Default: none.
    pub tls: Option<Tls>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: DEFAULT_NAME.to_owned(),
            listen: vec![ListenAddress::default()],
            limits: Limits::default(),
            access: Access::default(),
            session: Session::default(),
            federation: Federation::default(),
            fom: Fom::default(),
            shutdown: Shutdown::default(),
            network: None,
            tls: None,
        }
    }
}

/// `[limits]`: limits on what the node accepts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// The memory that clients together may use, as a size (`4GiB`) or as a percentage of the
    /// memory that the process may use (`50%`). The process may use the machine's memory, or less
    /// if a control group limits it. Default `50%`.
    pub memory: MemoryLimit,
    /// Concurrent TCP connections. Further ones are closed at once. The limit is higher than that
    /// of sessions, because there are silent connections and ones that are closing. Default 6144.
    pub connections: usize,
    /// Concurrent Federate Protocol sessions, interrupted ones included. Further ones are refused
    /// with *out of resources*. Default 4096.
    pub sessions: usize,
    /// Concurrent sessions of one address (for IPv6: of one /64 network). Further ones are refused
    /// with *out of resources*. Default: a quarter of `sessions`, but at least 64.
    pub sessions_per_address: Option<usize>,
    /// The number of `sessions` that is reserved for addresses without a session. Default: a
    /// sixteenth of `sessions`.
    pub reserved_sessions: Option<usize>,
    /// Connections that have not yet opened or resumed a session. Beyond this number, the oldest
    /// one of the address with the most is closed. Default 1024.
    pub silent_connections: usize,
    /// Sessions without a connect call. Beyond this number, the oldest one of the address with the
    /// most is ended. Default 1024.
    pub unconnected_sessions: usize,
    /// Calls of one federate that wait for their response. Beyond it the session is ended. Default
    /// 65,536.
    pub calls: usize,
    /// Messages kept per session for a resume. Default 2,000, as many as the clients keep.
    pub history_messages: usize,
    /// Bytes of messages kept per session for a resume. Default `16MiB`.
    #[serde(deserialize_with = "units::size")]
    pub history: usize,
    /// Longest message that a federate may send. Default `64MiB`.
    #[serde(deserialize_with = "units::size")]
    pub message: usize,
    /// Bytes that may wait for one federate. Beyond it best-effort messages are dropped; a federate
    /// whose reliable messages alone exceed it is disconnected. Default `256MiB`.
    #[serde(deserialize_with = "units::size")]
    pub queue: usize,
    /// Maximum number of federation executions. Further ones are refused. Default 1000.
    pub federations: usize,
    /// Bytes read from one connection before the next one gets its turn. Default `64KiB`:
    /// some thousand small calls, which take about 3 ms.
    #[serde(deserialize_with = "units::size")]
    pub read: usize,
    /// Bytes written to one connection in one system call. Default `256KiB`.
    #[serde(deserialize_with = "units::size")]
    pub write: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: MemoryLimit::default(),
            connections: 6144,
            sessions: 4096,
            sessions_per_address: None,
            reserved_sessions: None,
            silent_connections: 1024,
            unconnected_sessions: 1024,
            calls: 65_536,
            history_messages: 2_000,
            history: 16 << 20,
            message: 64 << 20,
            queue: 256 << 20,
            federations: 1_000,
            read: 64 << 10,
            write: 256 << 10,
        }
    }
}

/// The smallest default of [`Limits::sessions_per_address`]. Low limits are set for tests and for
/// small machines, where federates often share one host.
const SESSIONS_PER_ADDRESS_LEAST: usize = 64;

impl Limits {
    /// The limit on sessions of one address.
    pub fn sessions_per_address(&self) -> usize {
        self.sessions_per_address.unwrap_or((self.sessions / 4).max(SESSIONS_PER_ADDRESS_LEAST))
    }

    /// The number of sessions reserved for addresses without a session.
    pub fn reserved_sessions(&self) -> usize {
        self.reserved_sessions.unwrap_or(self.sessions / 16)
    }
}

/// `[session]`: the life of a Federate Protocol session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Session {
    /// How long a connection may take to open or resume a session before it is closed. Default
    /// `10s`.
    #[serde(deserialize_with = "units::duration")]
    pub handshake_timeout: Duration,
    /// How long a session may stay without a connect call, at first or after a disconnect call,
    /// before it is ended. Default `30s`.
    #[serde(deserialize_with = "units::duration")]
    pub connect_timeout: Duration,
    /// While memory for input is short, federates with long messages are paused. If the shortage
    /// lasts for this long, the one with the most input is disconnected. Default `5s`.
    #[serde(deserialize_with = "units::duration")]
    pub message_timeout: Duration,
    /// A federate that is silent for this long counts as disconnected; its session may still be
    /// resumed. Must exceed the heartbeat interval of the federates, 60 s by default. `"never"` is
    /// for federates that send no heartbeats. Default `180s`.
    #[serde(deserialize_with = "units::duration_or_never")]
    pub heartbeat_timeout: Option<Duration>,
    /// How long a joined federate whose connection was silent too long may resume its session. It
    /// is then resigned by its automatic resign directive. Default `600s`.
    #[serde(deserialize_with = "units::duration")]
    pub resume_window: Duration,
    /// The same for a joined federate whose connection was closed, as happens when its process
    /// dies. Default `15s`.
    #[serde(deserialize_with = "units::duration")]
    pub closed_window: Duration,
    /// The same for a federate that is not joined, and therefore has nothing to lose. Default `2s`.
    #[serde(deserialize_with = "units::duration")]
    pub unjoined_window: Duration,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            handshake_timeout: Duration::from_secs(10),
            // MAK's client in Python opens a session, and waits for 10 s before it connects.
            connect_timeout: Duration::from_secs(30),
            message_timeout: Duration::from_secs(5),
            heartbeat_timeout: Some(Duration::from_secs(180)),
            resume_window: Duration::from_secs(600),
            closed_window: Duration::from_secs(15),
            unjoined_window: Duration::from_secs(2),
        }
    }
}

/// `[federation]`: federation executions that are created here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Federation {
    /// The automatic resign directive of their federates, at any node, unless the FOM modules set
    /// one. Default `NoAction`, the standard's.
    pub automatic_resign: AutomaticResign,
    /// The place for the images of saved federation executions: a folder, or `"none"`. A relative
    /// folder is relative to the configuration file. Default: the folder `meshrti-saves` for
    /// `meshrti serve`, and none for other programs.
    pub saves: StatePlace,
}

/// How the objects of a lost federate are disposed of. The values have the names of the standard
/// (1516.2-2025, switches table).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum AutomaticResign {
    /// All its attributes become unowned.
    UnconditionallyDivestAttributes,
    /// Objects that it may delete are deleted.
    DeleteObjects,
    /// Its pending ownership acquisitions are cancelled.
    CancelPendingOwnershipAcquisitions,
    /// Objects that it may delete are deleted, its other attributes become unowned.
    DeleteObjectsThenDivest,
    /// All three of these.
    CancelThenDeleteThenDivest,
    /// Nothing: its objects stay, without an owner.
    #[default]
    NoAction,
}

/// `[fom]`: FOM modules, and where to look up those that federates name but do not send.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fom {
    /// Folders in which names such as `RPR_FOM.xml` are looked up, in this order. A relative folder
    /// is relative to the configuration file. Files outside these folders cannot be reached by
    /// name. Default: none.
    pub directories: Vec<PathBuf>,
    /// Longest FOM module in bytes, unpacked. Default `64MiB`.
    #[serde(deserialize_with = "units::size")]
    pub module: usize,
    /// Longest total of the FOM modules of one service call in bytes, unpacked. Default `64MiB`.
    #[serde(deserialize_with = "units::size")]
    pub call: usize,
    /// Maximum number of FOM modules of one service call. Default 128.
    pub modules: usize,
    /// Whether a federate may name, by a `file:` URL, any file that this process can read. Default
    /// false.
    pub allow_file_urls: bool,
}

impl Default for Fom {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            module: 64 << 20,
            call: 64 << 20,
            modules: 128,
            allow_file_urls: false,
        }
    }
}

/// `[shutdown]`: how the node stops.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Shutdown {
    /// Longest wait, after a request to stop, for queued messages to reach the federates. Default
    /// `5s`.
    #[serde(deserialize_with = "units::duration")]
    pub grace: Duration,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { grace: Duration::from_secs(5) }
    }
}

impl Config {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has unknown keys or invalid values.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|e| ConfigError::unreadable(path, &e))?;
        let mut config = Self::parse(&text, &path.display().to_string())?;
        let base = path.parent().unwrap_or(Path::new(""));
        for directory in &mut config.fom.directories {
            *directory = base.join(&directory);
        }
        if let Some(Network { state: StatePlace::Directory(directory), .. }) = &mut config.network {
            *directory = base.join(&directory);
        }
        if let StatePlace::Directory(directory) = &mut config.federation.saves {
            *directory = base.join(&directory);
        }
        if let Some(Network { tls, .. }) = &mut config.network {
            tls.files_mut().for_each(|file| *file = base.join(&file));
        }
        config.access.files_mut().for_each(|file| *file = base.join(&file));
        if let Some(tls) = &mut config.tls {
            tls.files_mut().for_each(|file| *file = base.join(&file));
        }
        Ok(config)
    }

    /// Parses `text`. Errors name `file` as its origin.
    ///
    /// # Errors
    /// The text is not TOML, or has unknown keys or invalid values.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|e| ConfigError::located(file, text, &e))?;
        config.check().map_err(|what| ConfigError::whole(file, what))?;
        config.access.check(text, file)?;
        if let Some(network) = &config.network {
            network::check(network, text, file)?;
        }
        Ok(config)
    }

    /// Reads the certificate for addresses that encrypt, if there is one.
    ///
    /// # Errors
    /// It is missing, or of no use.
    pub fn server_tls(&self) -> Result<Option<ServerTls>, String> {
        self.check_certificate()?;
        self.tls.as_ref().map(Tls::read).transpose().map_err(|error| error.to_string())
    }

    fn check_certificate(&self) -> Result<(), String> {
        let mut encrypting = self.listen.iter().filter(|address| address.carriers.needs_certificate());
        match (&self.tls, encrypting.next()) {
            (None, Some(address)) => {
                Err(format!("`{address}` encrypts, and [tls] has no certificate and key for it"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the combination of settings, for defects that no single key shows.
    fn check(&self) -> Result<(), String> {
        if self.listen.is_empty() {
            return Err(
                "`listen` is empty: a node needs at least one address, for example `tcp://*:15164`".into()
            );
        }
        self.check_certificate()?;
        if let Some(Tls { client_authority: None, client_certificates: Some(_), .. }) = &self.tls {
            return Err("`tls.client-certificates` needs `tls.client-authority`".into());
        }
        for (key, value, least) in [
            ("limits.connections", self.limits.connections, 1),
            ("limits.sessions", self.limits.sessions, 1),
            ("limits.sessions-per-address", self.limits.sessions_per_address(), 1),
            ("limits.silent-connections", self.limits.silent_connections, 1),
            ("limits.unconnected-sessions", self.limits.unconnected_sessions, 1),
            ("limits.calls", self.limits.calls, 1),
            ("limits.message", self.limits.message, 1 << 10),
            ("limits.queue", self.limits.queue, 64 << 10),
            ("limits.read", self.limits.read, 4 << 10),
            ("limits.write", self.limits.write, 4 << 10),
        ] {
            if value < least {
                return Err(format!(
                    "`{key}` is {value}, which is less than the least useful value, {least}"
                ));
            }
        }
        if self.limits.reserved_sessions() >= self.limits.sessions {
            return Err(format!(
                "`limits.reserved-sessions` is {}, which leaves none of the {} sessions for a second federate of an address",
                self.limits.reserved_sessions(),
                self.limits.sessions
            ));
        }
        self.access.check_limits()?;
        for (key, value) in [
            ("session.handshake-timeout", Some(self.session.handshake_timeout)),
            ("session.connect-timeout", Some(self.session.connect_timeout)),
            ("session.message-timeout", Some(self.session.message_timeout)),
            ("session.heartbeat-timeout", self.session.heartbeat_timeout),
        ] {
            if value.is_some_and(|value| value.is_zero()) {
                return Err(format!("`{key}` is zero: no federate could ever connect"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
