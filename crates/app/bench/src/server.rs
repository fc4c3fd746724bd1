//! The server under test.

use crate::error::BenchError;
use crate::groups::Groups;
use crate::joined::Joined;
use crate::namespaces::Namespace;
use crate::process::{Launcher, PATIENCE, Process};
use crate::role;
use crate::status::report;
use crate::usage;
use hla::fom::Edition;
use wan::LineSpec;

/// The port of the Federate Protocol over plain TCP.
const DEFAULT_PORT: u16 = 15_164;

/// The server under test: one that the benchmark starts in a process of its own, a network of such
/// nodes, or any other server.
#[derive(Debug)]
pub struct Server {
    /// The addresses of its nodes for federates; never empty.
    addresses: Vec<String>,
    own: Vec<Process>,
    /// Number of links between the first and the last.
    links: usize,
    /// An emulated line in front of the last one.
    line: Option<Line>,
    /// The edition of the FOM modules that it gets.
    edition: Edition,
}

/// A relay that passes bytes on over an emulated line.
#[derive(Debug)]
struct Line {
    _relay: Process,
    address: String,
    spec: LineSpec,
}

impl Server {
    /// Starts a server on loopback, on a port that the system chooses. It ends when this is
    /// dropped.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub async fn start(launcher: &Launcher) -> Result<Self, BenchError> {
        Self::chain(launcher, 1).await
    }

    /// Starts a server on loopback that keeps saved federation executions in a folder.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub(crate) async fn saving(launcher: &Launcher, saves: &std::path::Path) -> Result<Self, BenchError> {
        let saves = saves.display().to_string();
        let (process, words) = launcher.start(&role::saving_server(&saves)).await?;
        let address = words.first().cloned().unwrap_or_default();
        Ok(Self { own: vec![process], ..Self::at(address) })
    }

    /// Starts a chain of `nodes` servers on loopback that are one network: each has a link to the
    /// one before. They end when this is dropped.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub async fn chain(launcher: &Launcher, nodes: usize) -> Result<Self, BenchError> {
        Self::network(launcher, nodes, &Joined::Chain, None, (&[], &[])).await
    }

    /// Starts `nodes` servers that are one network, and share `groups` if given. They end when this
    /// is dropped. Each node is pinned to its core in `cores`, a number among those that this process
    /// may use, counted modulo their number; a node without one runs on any core. Each is in its
    /// network namespace in `namespaces`; a node without one is on loopback.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub async fn network(
        launcher: &Launcher,
        nodes: usize,
        joined: &Joined,
        groups: Option<&Groups>,
        (cores, namespaces): (&[usize], &[Namespace]),
    ) -> Result<Self, BenchError> {
        let launcher_of = |node: usize| {
            let launcher = launcher.on_core(cores.get(node).copied());
            namespaces.get(node).map_or(launcher.clone(), |namespace| launcher.inside(&namespace.name))
        };
        if nodes <= 1 {
            let launcher = launcher_of(0);
            let (process, words) = launcher.start(&role::server()).await?;
            let address = words.first().cloned().unwrap_or_default();
            let own = vec![process];
            return Ok(Self { own, ..Self::at(address) });
        }
        let groups = groups.map(Groups::url).transpose()?;
        let (mut own, mut addresses) = (Vec::new(), Vec::new());
        // Where nodes listen for other nodes.
        let mut links: Vec<String> = Vec::new();
        for number in 1..=nodes {
            let join = joined.target(number - 1).and_then(|target| links.get(target));
            let (groups, join) = (groups.as_deref(), join.map(String::as_str));
            let host = namespaces.get(number - 1).map(|namespace| namespace.address);
            let words = match joined {
                Joined::Mesh => role::site_node(number, host, groups, join),
                _ => role::node(number, host, groups, join),
            };
            let (process, address, link) = start_node(&launcher_of(number - 1), number, &words).await?;
            links.push(link);
            addresses.push(address);
            own.push(process);
        }
        let links = addresses.len() - 1;
        Ok(Self { addresses, own, links, line: None, edition: Edition::Hla2025 })
    }

    /// A running server at `HOST` or `HOST:PORT`.
    pub fn at(address: impl Into<String>) -> Self {
        Self {
            addresses: vec![address.into()],
            own: Vec::new(),
            links: 0,
            line: None,
            edition: Edition::Hla2025,
        }
    }

    /// Two running nodes of one network, one for each federate of a pair. The first is asked how many
    /// links lead to the other: one if it does not say.
    pub async fn between(address: impl Into<String>, far_address: impl Into<String>) -> Self {
        let (address, far) = (address.into(), far_address.into());
        let links = links_between(&address, &far).await.unwrap_or(1);
        Self { addresses: vec![address, far], own: Vec::new(), links, line: None, edition: Edition::Hla2025 }
    }

    /// The same with an emulated line between it and the other federate of a pair: that federate
    /// connects to a relay, whose connection to the server crosses the line.
    ///
    /// # Errors
    /// The server is not reached over plain TCP, or the system cannot start a process.
    pub async fn behind(self, launcher: &Launcher, spec: &LineSpec) -> Result<Self, BenchError> {
        let far = self.far_address();
        let onward = match far.split_once("://") {
            None => far,
            Some(("tcp", rest)) => rest,
            Some(_) => {
                return Err(BenchError::Unusable(format!("{far}: an emulated line carries plain TCP only")));
            }
        };
        let has_port = onward.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let onward = if has_port { onward.to_owned() } else { format!("{onward}:{DEFAULT_PORT}") };
        let (relay, words) = launcher.start(&role::relay(Some(&onward), Some(spec))).await?;
        let address = words.first().cloned().unwrap_or_default();
        let line = Some(Line { _relay: relay, address, spec: spec.clone() });
        Ok(Self { line, ..self })
    }

    /// The same, which gets FOM modules of `edition`.
    #[must_use]
    pub fn with_edition(self, edition: Edition) -> Self {
        Self { edition, ..self }
    }

    /// The edition of the FOM modules that it gets.
    pub fn edition(&self) -> Edition {
        self.edition
    }

    /// Its address for federates: `HOST` or `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.addresses[0]
    }

    /// The addresses of its nodes for federates.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// The address of one of its nodes, by its number from 0.
    pub(crate) fn address_of(&self, node: usize) -> Option<&str> {
        self.addresses.get(node).map(String::as_str)
    }

    /// The address for the other federate of a pair: another node, that of an emulated line, or the
    /// same as [`Server::address`].
    pub fn far_address(&self) -> &str {
        match &self.line {
            Some(line) => &line.address,
            None => &self.addresses[self.addresses.len() - 1],
        }
    }

    /// Number of links on the path between the two.
    pub fn links(&self) -> usize {
        self.links
    }

    /// The emulated line in front of the other federate, as a text.
    pub fn line(&self) -> Option<String> {
        self.line.as_ref().map(|line| line.spec.to_string())
    }

    /// The number of hops between the relays of a floor with the same path, and their emulated lines:
    /// those of the links of the server, and behind them that in front of the other federate.
    pub(crate) fn floor_lines(&self, lines: &[LineSpec]) -> (usize, Vec<LineSpec>) {
        let mut lines = lines.to_vec();
        lines.resize(self.links, LineSpec::default());
        lines.extend(self.line.as_ref().map(|line| line.spec.clone()));
        (self.links + usize::from(self.line.is_some()), lines)
    }

    /// Processor time of all its nodes together, in seconds, if the benchmark started it and the
    /// system reports it.
    pub fn cpu_s(&self) -> Option<f64> {
        if self.own.is_empty() {
            return None;
        }
        self.cpu_s_of_nodes().sum()
    }

    /// Processor time of each of its nodes, in seconds, where the system reports it; empty if the
    /// benchmark did not start it.
    pub fn cpu_s_of_nodes(&self) -> impl Iterator<Item = Option<f64>> {
        self.own.iter().map(|process| usage::cpu_s(process.id()))
    }

    /// Resident memory of all its nodes together, in bytes; `None` if the benchmark did not start it or the
    /// system does not report it.
    pub fn resident_bytes_of_all(&self) -> Option<u64> {
        if self.own.is_empty() {
            return None;
        }
        self.own.iter().map(|process| usage::resident_bytes(process.id()).ok()).sum()
    }

    /// Resident memory of its first node, in bytes.
    ///
    /// # Errors
    /// The benchmark did not start it, or the system does not report the memory.
    pub fn resident_bytes(&self) -> Result<u64, BenchError> {
        let own = self.own.first().ok_or_else(|| {
            BenchError::Unusable("the memory of a server can be read only if the benchmark started it".into())
        })?;
        usage::resident_bytes(own.id())
    }
}

/// Number of links on the path from the node at one address to that at the other, as the first
/// reports it.
async fn links_between(address: &str, far: &str) -> Option<usize> {
    let far = report(far, PATIENCE).await?.node;
    let near = report(address, PATIENCE).await?;
    near.nodes.iter().find(|node| node.name == far && node.reachable).map(|node| node.hops as usize)
}

/// Starts the role of a node. Returns its process, its address for federates, and its address for
/// other nodes.
pub(crate) async fn start_node(
    launcher: &Launcher,
    number: usize,
    words: &[String],
) -> Result<(Process, String, String), BenchError> {
    let (process, said) = launcher.start(words).await?;
    let [address, links] = &said[..] else {
        return Err(BenchError::Unusable(format!("node {number} does not say where it listens")));
    };
    Ok((process, address.clone(), links.clone()))
}

/// A name for a federation execution that no other benchmark uses.
pub(crate) fn federation_name(benchmark: &str) -> String {
    format!("MeshRTI bench {benchmark} {}", std::process::id())
}
