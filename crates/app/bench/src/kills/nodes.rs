//! The nodes of a run: processes of their own, killed by the system and started again with the same
//! configuration.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernel::report::NetworkReport;

use crate::error::BenchError;
use crate::process::Launcher;
use crate::process::{Process, orders, print_line};
use crate::status::report;

/// Ports below those that systems give to outgoing connections: one of those could take the port of
/// a dead node.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// Longest wait for a node's report about the network.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Interval between two requests.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Number of attempts to start a node: the system may take a moment to release a port.
const STARTS: usize = 20;

/// The links between the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Every node with every other one.
    Mesh,
    /// A ring with chords, `redundancy = true`: each node has links to the next one and to the one
    /// after it. With five or more nodes it stays connected without any two of them.
    Graph,
    /// Each node has two below it. Only nodes with none below are killed: the death of another one
    /// would split the network, and the guide promises nothing to the smaller part.
    Tree,
}

impl Shape {
    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Mesh => "mesh",
            Shape::Graph => "graph",
            Shape::Tree => "tree",
        }
    }

    /// Whether the others stay connected without this node of `count`.
    fn is_spare(self, node: usize, count: usize) -> bool {
        self != Shape::Tree || 2 * node + 1 >= count
    }
}

/// All nodes.
pub(crate) struct Nodes {
    launcher: Launcher,
    folder: PathBuf,
    federates: Vec<String>,
    running: Vec<Option<Process>>,
    shape: Shape,
}

impl Nodes {
    /// Writes the configuration that all nodes share, and starts them.
    pub(crate) async fn start(
        launcher: &Launcher,
        folder: &Path,
        shape: Shape,
        count: usize,
    ) -> Result<Self, BenchError> {
        let ports = free_ports(2 * count)?;
        let (links, federates) = ports.split_at(count);
        let file = folder.join("meshrti.toml");
        std::fs::write(&file, configuration(shape, links, federates))
            .map_err(BenchError::system(file.display().to_string()))?;
        let mut nodes = Self {
            launcher: launcher.clone(),
            folder: folder.to_owned(),
            federates: federates.iter().map(|port| format!("127.0.0.1:{port}")).collect(),
            running: (0..count).map(|_| None).collect(),
            shape,
        };
        for node in 0..count {
            nodes.restart(node).await?;
        }
        Ok(nodes)
    }

    /// The addresses of the nodes for federates.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.federates
    }

    /// Whether a node runs and may be killed.
    pub(crate) fn may_be_killed(&self, node: usize) -> bool {
        self.running[node].is_some() && self.shape.is_spare(node, self.running.len())
    }

    /// Kills the process of a node without warning (SIGKILL on Unix).
    pub(crate) async fn kill(&mut self, node: usize) -> Result<(), BenchError> {
        match self.running[node].take() {
            Some(process) => process.kill().await,
            None => Ok(()),
        }
    }

    /// Starts a node, for the first time or again.
    pub(crate) async fn restart(&mut self, node: usize) -> Result<(), BenchError> {
        let file = self.folder.join("meshrti.toml").display().to_string();
        let words = ["kills-node".to_owned(), file, name(node)];
        let log = self.folder.join(format!("node-{node}.log"));
        for attempt in 1.. {
            match self.launcher.start_logging(&words, &log).await {
                Ok((process, _)) => {
                    self.running[node] = Some(process);
                    return Ok(());
                }
                Err(error) if attempt == STARTS => return Err(error),
                Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
        Ok(())
    }

    /// The leader, as far as a running node knows.
    pub(crate) async fn leader(&self) -> Option<usize> {
        let report = self.report(self.running.iter().position(Option::is_some)?).await?;
        let leader = report.nodes.iter().find(|node| node.leader)?;
        (0..self.running.len()).find(|node| name(*node) == leader.name)
    }

    /// Waits until every node reports that all nodes are members and the network has as many voters
    /// as it should.
    ///
    /// # Errors
    /// The missing condition, after `patience`.
    pub(crate) async fn whole(&self, patience: Duration) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let Err(why) = self.is_whole().await else { return Ok(()) };
            if began.elapsed() > patience {
                return Err(format!("after {} s {why}", patience.as_secs()));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn is_whole(&self) -> Result<(), String> {
        let count = self.running.len();
        for node in 0..count {
            let asked = name(node);
            let report = self.report(node).await.ok_or_else(|| format!("{asked} does not answer"))?;
            if !report.member || !report.quorum {
                return Err(format!("{asked} is no member with a majority"));
            }
            let here = report.nodes.iter().filter(|node| node.number != 0 && node.reachable).count();
            let stale = report.nodes.iter().filter(|node| node.number != 0 && !node.reachable).count();
            let voters = report.nodes.iter().filter(|node| node.voter).count();
            let wanted = count - (1 - count % 2);
            if here != count || stale != 0 || voters != wanted {
                return Err(format!(
                    "{asked} knows {here} of {count} members, {stale} dead ones, and {voters} of {wanted} voters"
                ));
            }
        }
        Ok(())
    }

    async fn report(&self, node: usize) -> Option<NetworkReport> {
        report(&self.federates[node], ANSWER_MAX).await
    }
}

/// The name of a node. The creator's name comes first, so that it has links of its own and looks
/// for the network when it comes back.
pub(crate) fn name(node: usize) -> String {
    format!("N{node:02}")
}

/// The configuration that all nodes share.
fn configuration(shape: Shape, links: &[u16], federates: &[u16]) -> String {
    let count = links.len();
    let mut text = format!("[network]\ntopology = \"{}\"\n", shape.name());
    if shape == Shape::Graph {
        text.push_str("redundancy = true\n");
    }
    for (node, (link, federates)) in links.iter().zip(federates).enumerate() {
        let _ = write!(
            text,
            "\n[[network.node]]\nname = \"{}\"\naddress = \"tcp://127.0.0.1:{link}\"\n\
             federates = [\"tcp://127.0.0.1:{federates}\"]\n",
            name(node)
        );
    }
    for (a, b) in edges(shape, count) {
        let _ = write!(text, "\n[[network.edge]]\na = \"{}\"\nb = \"{}\"\n", name(a), name(b));
    }
    text
}

/// The edges, each once; in a tree from the upper node to the lower one. A mesh makes its own
/// links.
fn edges(shape: Shape, count: usize) -> Vec<(usize, usize)> {
    match shape {
        Shape::Mesh => Vec::new(),
        Shape::Tree => (1..count).map(|node| ((node - 1) / 2, node)).collect(),
        Shape::Graph => {
            let mut seen = std::collections::BTreeSet::new();
            let ring = [1, 2].into_iter().flat_map(|step| (0..count).map(move |a| (a, (a + step) % count)));
            ring.filter(|&(a, b)| a != b && seen.insert((a.min(b), a.max(b)))).collect()
        }
    }
}

/// Ports that nobody uses now.
fn free_ports(count: usize) -> Result<Vec<u16>, BenchError> {
    // Two runs at the same time start their search at different ports.
    let width = PORTS.end - PORTS.start;
    let start = (std::process::id().wrapping_mul(97) % u32::from(width)) as u16;
    let all = (0..width).map(|at| PORTS.start + (start + at) % width);
    let free: Vec<u16> =
        all.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).take(count).collect();
    if free.len() < count {
        return Err(BenchError::Unusable(format!("there are no {count} free ports in {PORTS:?}")));
    }
    Ok(free)
}

/// The role of a node: does the same as `meshrti serve --config FILE --name NAME`.
pub(crate) async fn play(file: &str, name: &str) -> Result<(), BenchError> {
    let unusable = |error: &dyn std::fmt::Display| BenchError::Unusable(error.to_string());
    let mut config = node::Config::read(Path::new(file)).map_err(|error| unusable(&error))?;
    name.clone_into(&mut config.name);
    config.settle_here().map_err(|error| unusable(&error))?;
    let kernel = node::kernel(&config).map_err(|error| unusable(&error))?;
    let node = Box::pin(node::Node::bind(&config, kernel)).await.map_err(|error| unusable(&error))?;
    let _orders = orders();
    print_line("ready");
    node.run(std::future::pending()).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nodes_have_their_part_in_the_configuration() {
        for shape in [Shape::Mesh, Shape::Graph, Shape::Tree] {
            for count in [3, 6] {
                let ports: Vec<u16> = (20_000..).take(2 * count).collect();
                let (links, federates) = ports.split_at(count);
                let config = node::Config::parse(&configuration(shape, links, federates), "x.toml");
                let network = config.unwrap().network.unwrap();
                for node in 0..count {
                    let plan = network.plan(&name(node)).unwrap();
                    assert_eq!(plan.bootstrap, node == 0);
                    // The creator looks for the others first; in a tree the lower nodes look for
                    // the creator.
                    assert!(node != 0 || shape == Shape::Tree || !plan.links.is_empty());
                }
            }
        }
        assert_eq!(edges(Shape::Graph, 6).len(), 12);
        assert_eq!(edges(Shape::Graph, 3).len(), 3);
        assert_eq!(edges(Shape::Tree, 6), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]);
        let spare = (0..6).filter(|node| Shape::Tree.is_spare(*node, 6));
        assert_eq!(spare.collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn free_ports_are_different() {
        let mut ports = free_ports(12).unwrap();
        ports.dedup();
        assert_eq!(ports.len(), 12);
    }
}
