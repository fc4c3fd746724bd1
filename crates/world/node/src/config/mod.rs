//! The configuration of a node: `meshrti.toml`.
//!
//! Reading ends in plain types, so that nothing below checks a setting again. A key that does not
//! exist is an error which names the keys that do; see [`ConfigError`].
//!
//! Lengths of time are written `"200us"`, `"3s"`, `"10min"`; sizes `"64KiB"`, `"1MB"`.
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

mod error;
mod listen;
mod memory;
mod name;
pub mod network;
pub(crate) mod units;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub use error::ConfigError;
pub(crate) use listen::split_host;
pub use listen::{DEFAULT_PORT, ListenAddress, ListenAddressError};
pub use memory::MemoryLimit;
pub use network::Network;

/// What a node calls itself unless told otherwise.
pub const DEFAULT_NAME: &str = "meshrti";

/// Everything that can be set about a node. `Config::default()` is what an empty file means.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// What the node calls itself in logs and in the answer to a connect. Default `meshrti`.
    pub name: String,
    /// Where federates may connect. Default `["tcp://*:15164"]`: every IPv4 and IPv6 address.
    pub listen: Vec<ListenAddress>,
    /// How much the node accepts.
    pub limits: Limits,
    /// Who may connect.
    pub access: Access,
    /// The life of a Federate Protocol session.
    pub session: Session,
    /// Federation executions that are created here.
    pub federation: Federation,
    /// Where FOM modules that federates only name are looked for.
    pub fom: Fom,
    /// How the node stops.
    pub shutdown: Shutdown,
    /// The node as one of many. Default: none, a node by itself.
    pub network: Option<Network>,
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
        }
    }
}

/// `[limits]`: how much the node accepts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Memory that clients may take together, as a size (`4GiB`) or as a part of what the process
    /// may use of this machine (`50%`): the machine's memory, or less where a control group has a
    /// limit. Default `50%`.
    pub memory: MemoryLimit,
    /// TCP connections open at a time; the next one is closed at once. More than sessions, as there are silent
    /// connections and ones that are being closed. Default 6144.
    pub connections: usize,
    /// Federate Protocol sessions alive at a time, cut ones that may resume included; the next one is told
    /// *out of resources*. Default 4096.
    pub sessions: usize,
    /// Sessions of one address (of IPv6, of one /64 network); the next one is told *out of resources*. Default: a
    /// quarter of `sessions`, but 64 at least.
    pub sessions_per_address: Option<usize>,
    /// Of `sessions`, those kept for addresses that have none. Default: a sixteenth of `sessions`.
    pub reserved_sessions: Option<usize>,
    /// Connections that have not yet opened or resumed a session; with the next one, the oldest one of the address
    /// with the most of them is closed. Default 1024.
    pub silent_connections: usize,
    /// Sessions without a connect call; with the next one, the oldest one of the address with the most of them is
    /// ended. Default 1024.
    pub unconnected_sessions: usize,
    /// Calls of one federate that wait for their answer; with more its session ends. Default 65,536.
    pub calls: usize,
    /// Messages kept per session for a resume. Default 2,000, what the clients keep.
    pub history_messages: usize,
    /// Bytes of messages kept per session for a resume. Default `16MiB`.
    #[serde(deserialize_with = "units::size")]
    pub history: usize,
    /// Longest message a federate may send. Default `64MiB`.
    #[serde(deserialize_with = "units::size")]
    pub message: usize,
    /// What may wait to be sent to one federate; beyond it best-effort messages are dropped, and a federate
    /// that is this far behind with reliable ones is disconnected. Default `256MiB`.
    #[serde(deserialize_with = "units::size")]
    pub queue: usize,
    /// Federation executions; the next one is refused. Default 1000.
    pub federations: usize,
    /// Read from one connection before the next one has its turn. Default `256KiB`.
    #[serde(deserialize_with = "units::size")]
    pub read: usize,
    /// Written to one connection in one call. Default `256KiB`.
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
            read: 256 << 10,
            write: 256 << 10,
        }
    }
}

/// The least default of [`Limits::sessions_per_address`]: small limits are for tests and small machines, whose
/// federates often share one host.
const SESSIONS_PER_ADDRESS_LEAST: usize = 64;

impl Limits {
    /// Sessions of one address.
    pub fn sessions_per_address(&self) -> usize {
        self.sessions_per_address.unwrap_or((self.sessions / 4).max(SESSIONS_PER_ADDRESS_LEAST))
    }

    /// Sessions kept for addresses that have none.
    pub fn reserved_sessions(&self) -> usize {
        self.reserved_sessions.unwrap_or(self.sessions / 16)
    }
}

/// `[access]`: who may connect.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Access {
    /// When set, a federate has to connect with credentials of type HLAplainTextPassword and this password. It crosses
    /// the network as it is. Default: none, everybody may connect.
    pub password: Option<String>,
    /// Wrong passwords that one address may try in `password-window`; then it is refused until the window is over.
    /// Default 10.
    pub wrong_passwords: u32,
    /// How long wrong passwords count. Default `60s`.
    #[serde(deserialize_with = "units::duration")]
    pub password_window: Duration,
}

impl Default for Access {
    fn default() -> Self {
        Self { password: None, wrong_passwords: 10, password_window: Duration::from_secs(60) }
    }
}

/// `[session]`: the life of a Federate Protocol session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Session {
    /// A connection that has not opened or resumed a session by then is closed. Default `10s`.
    #[serde(deserialize_with = "units::duration")]
    pub handshake_timeout: Duration,
    /// A session without a connect call by then, or so long after a disconnect call, is ended. Default `10s`.
    #[serde(deserialize_with = "units::duration")]
    pub connect_timeout: Duration,
    /// When memory for messages of federates is short, those with long ones wait for so long; then
    /// the one with the most is disconnected. Default `5s`.
    #[serde(deserialize_with = "units::duration")]
    pub message_timeout: Duration,
    /// A federate that was silent for this long is taken for disconnected; its session may still be resumed.
    /// Must exceed the heartbeat interval of the federates, 60 s by default. `"never"` is for federates that send
    /// no heartbeats. Default `180s`.
    #[serde(deserialize_with = "units::duration_or_never")]
    pub heartbeat_timeout: Option<Duration>,
    /// A joined federate that was silent for too long may resume its session for this long; then it is resigned by its
    /// automatic resign directive. Default `600s`.
    #[serde(deserialize_with = "units::duration")]
    pub resume_window: Duration,
    /// The same for a joined federate whose connection was closed, as it is when its process dies. Default `15s`.
    #[serde(deserialize_with = "units::duration")]
    pub closed_window: Duration,
    /// The same for a federate that is not joined, and so has nothing to lose. Default `2s`.
    #[serde(deserialize_with = "units::duration")]
    pub unjoined_window: Duration,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            handshake_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
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
    /// The automatic resign directive of their federates, at whatever node, unless the FOM modules set one. Default
    /// `NoAction`, the standard's.
    pub automatic_resign: AutomaticResign,
}

/// What becomes of the objects of a federate that is lost, by the names that the standard has for it (1516.2-2025, switches
/// table).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum AutomaticResign {
    /// All its attributes become unowned.
    UnconditionallyDivestAttributes,
    /// Objects that it may delete are deleted.
    DeleteObjects,
    /// What it has asked to own is no longer asked for.
    CancelPendingOwnershipAcquisitions,
    /// Objects that it may delete are deleted, its other attributes become unowned.
    DeleteObjectsThenDivest,
    /// All of these.
    CancelThenDeleteThenDivest,
    /// Nothing: its objects stay, without an owner.
    #[default]
    NoAction,
}

/// `[fom]`: FOM modules, and where those that federates only name are looked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fom {
    /// Folders that names such as `RPR_FOM.xml` are looked up in, in this order; a relative folder counts from
    /// the configuration file. Nothing outside of them can be reached by name. Default: none.
    pub directories: Vec<PathBuf>,
    /// Longest FOM module, unpacked. Default `64MiB`.
    #[serde(deserialize_with = "units::size")]
    pub module: usize,
    /// Longest FOM modules of one service call together, unpacked. Default `64MiB`.
    #[serde(deserialize_with = "units::size")]
    pub call: usize,
    /// FOM modules of one service call. Default 128.
    pub modules: usize,
    /// Whether a federate may name any file this process can read by a `file:` URL. Default false.
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
    /// Longest wait, after a request to stop, for what is queued to reach the federates. Default `5s`.
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
    /// The file cannot be read, is no TOML, or says something that a node does not understand.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|e| ConfigError::unreadable(path, &e))?;
        let mut config = Self::parse(&text, &path.display().to_string())?;
        let base = path.parent().unwrap_or(Path::new(""));
        for directory in &mut config.fom.directories {
            *directory = base.join(&directory);
        }
        if let Some(Network { state: network::StatePlace::Directory(directory), .. }) = &mut config.network {
            *directory = base.join(&directory);
        }
        if let Some(Network { quic, .. }) = &mut config.network {
            for file in [&mut quic.certificate, &mut quic.key, &mut quic.authority].into_iter().flatten() {
                *file = base.join(&file);
            }
        }
        Ok(config)
    }

    /// Reads `text`; `file` is what errors call it.
    ///
    /// # Errors
    /// The text is no TOML, or says something that a node does not understand.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|e| ConfigError::located(file, text, &e))?;
        config.check().map_err(|what| ConfigError::whole(file, what))?;
        if let Some(network) = &config.network {
            network::check(network, text, file)?;
        }
        Ok(config)
    }

    /// What cannot be said of one key by itself.
    fn check(&self) -> Result<(), String> {
        if self.listen.is_empty() {
            return Err(
                "`listen` is empty: a node needs at least one address, for example `tcp://*:15164`".into()
            );
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
        if self.access.wrong_passwords == 0 {
            return Err("`access.wrong-passwords` is 0: no federate could ever connect".into());
        }
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
