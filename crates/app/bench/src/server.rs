//! The server under test.

use crate::groups::Groups;
use crate::process::Process;
use crate::{BenchError, Launcher, role, usage};

/// The server under test: one of our own, in a process of its own, a chain of nodes of our own, or any other server.
#[derive(Debug)]
pub struct Server {
    /// Where federates find its nodes; never empty.
    addresses: Vec<String>,
    own: Vec<Process>,
}

/// How nodes of one network are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    /// Each to the one before it.
    Chain,
    /// Each to the first.
    Star,
    /// Each to every other one.
    Mesh,
}

impl Joined {
    /// Whether two nodes have a link to each other.
    pub(crate) fn are_next(self, node: usize, other: usize) -> bool {
        match self {
            Joined::Chain => node.abs_diff(other) == 1,
            Joined::Star => node != other && (node == 0 || other == 0),
            Joined::Mesh => node != other,
        }
    }
}

impl Server {
    /// Starts a server on loopback, on a port that the system chooses. It ends when this is dropped.
    ///
    /// # Errors
    /// The system gives no process.
    pub async fn start(launcher: &Launcher) -> Result<Self, BenchError> {
        Self::chain(launcher, 1).await
    }

    /// Starts a chain of `nodes` servers on loopback that are one network: each has a link to the one before. They end when
    /// this is dropped.
    ///
    /// # Errors
    /// The system gives no process.
    pub async fn chain(launcher: &Launcher, nodes: usize) -> Result<Self, BenchError> {
        Self::network(launcher, nodes, Joined::Chain, None, &[]).await
    }

    /// Starts `nodes` servers on loopback that are one network, and share groups if there are any. They end when this is dropped. Each
    /// stays on the core of `cores`, by node, which is counted around among those that this process may use; one that has none there runs anywhere.
    ///
    /// # Errors
    /// The system gives no process.
    pub async fn network(
        launcher: &Launcher,
        nodes: usize,
        joined: Joined,
        groups: Option<&Groups>,
        cores: &[usize],
    ) -> Result<Self, BenchError> {
        if nodes <= 1 {
            let launcher = launcher.on_core(cores.first().copied());
            let (process, words) = launcher.start(&role::server()).await?;
            let address = words.first().cloned().unwrap_or_default();
            return Ok(Self { addresses: vec![address], own: vec![process] });
        }
        let groups = groups.map(Groups::url).transpose()?;
        let (mut own, mut addresses) = (Vec::new(), Vec::new());
        let mut join: Option<String> = None;
        for number in 1..=nodes {
            let words = match joined {
                Joined::Chain | Joined::Star => role::node(number, groups.as_deref(), join.as_deref()),
                Joined::Mesh => role::site_node(number, groups.as_deref(), join.as_deref()),
            };
            let launcher = launcher.on_core(cores.get(number - 1).copied());
            let (process, address, links) = start_node(&launcher, number, &words).await?;
            if joined == Joined::Chain || join.is_none() {
                join = Some(links);
            }
            addresses.push(address);
            own.push(process);
        }
        Ok(Self { addresses, own })
    }

    /// A server that runs already, at `HOST` or `HOST:PORT`.
    pub fn at(address: impl Into<String>) -> Self {
        Self { addresses: vec![address.into()], own: Vec::new() }
    }

    /// Two nodes of one network that run already, with a link between them: one for each federate of a pair.
    pub fn between(address: impl Into<String>, far_address: impl Into<String>) -> Self {
        Self { addresses: vec![address.into(), far_address.into()], own: Vec::new() }
    }

    /// Where federates find it: `HOST` or `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.addresses[0]
    }

    /// Where federates find its nodes.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Where federates find one of its nodes, by its number from 0.
    pub(crate) fn address_of(&self, node: usize) -> Option<&str> {
        self.addresses.get(node).map(String::as_str)
    }

    /// Where the other federate of a pair finds it: another node, or the same as [`Server::address`].
    pub fn far_address(&self) -> &str {
        &self.addresses[self.addresses.len() - 1]
    }

    /// Links between the two, of a chain.
    pub fn links(&self) -> usize {
        self.addresses.len() - 1
    }

    /// Processor time it has used, all nodes together, in seconds, if it is ours and the system says so.
    pub fn cpu_s(&self) -> Option<f64> {
        if self.own.is_empty() {
            return None;
        }
        self.cpu_s_of_nodes().sum()
    }

    /// Processor time that each of its nodes has used, in seconds, as far as the system says so; nothing if it is not ours.
    pub fn cpu_s_of_nodes(&self) -> impl Iterator<Item = Option<f64>> {
        self.own.iter().map(|process| usage::cpu_s(process.id()))
    }

    /// Its memory in RAM, in bytes.
    ///
    /// # Errors
    /// It is not ours, or the system does not say.
    pub fn resident_bytes(&self) -> Result<u64, BenchError> {
        let own = self.own.first().ok_or_else(|| {
            BenchError::Unusable("the memory of a server can be read only if the benchmark started it".into())
        })?;
        usage::resident_bytes(own.id())
    }
}

/// Starts the role of a node: its process, where federates find it, and where other nodes do.
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

/// A name for a federation execution that nobody else uses.
pub(crate) fn federation_name(benchmark: &str) -> String {
    format!("MeshRTI bench {benchmark} {}", std::process::id())
}
