//! `meshrti serve --mpi`: the ranks of an MPI job as the nodes of a network.

use node::Config;
use node::config::network::{EdgeEntry, NodeEntry, Topology};
use node::config::{DEFAULT_NAME, Network};
use node::link::{LinkListen, LinkUrl, LinkUrlError};

#[cfg(feature = "mpi")]
pub(crate) use with_mpi::Job;
#[cfg(not(feature = "mpi"))]
pub(crate) use without_mpi::Job;

/// The prefix of the names of nodes, unless the node has a name.
const NAME: &str = "rank";

/// Turns `config` into that of rank `rank` of `size`: the nodes of its network are the ranks, and
/// their links consist of MPI messages. Every rank derives the same network. A configuration that
/// lists nodes has one for each rank, `mpi://RANK`.
pub(crate) fn nodes_are_ranks(config: &mut Config, rank: u32, size: u32, fan_out: u32) -> Result<(), String> {
    let network = config.network.get_or_insert_with(Network::default);
    if !network.links.is_empty() || network.join.is_some() {
        return Err("with --mpi the ranks are the nodes: [network] must not have `links` or `join`".into());
    }
    if network.node.is_empty() {
        let own = network.name.take().or_else(|| (config.name != DEFAULT_NAME).then(|| config.name.clone()));
        let prefix = own.unwrap_or_else(|| NAME.to_owned());
        let name = |rank: u32| format!("{prefix}-{rank}");
        for rank in 0..size {
            network.node.push(NodeEntry { name: name(rank), address: address(rank)?, federates: None });
        }
        if network.topology.unwrap_or(Topology::Tree) == Topology::Tree {
            let edge = |lower: u32| EdgeEntry::between(name((lower - 1) / fan_out), name(lower));
            network.edge = (1..size).map(edge).collect();
        }
    } else if network.node.len() != size as usize {
        return Err(format!(
            "the configuration has {} [[network.node]], and the job {size} ranks",
            network.node.len()
        ));
    }
    let own = address(rank)?;
    let entry = network.node.iter().find(|node| node.address.address() == own.address());
    let entry = entry.ok_or_else(|| format!("no [[network.node]] has the address `{own}`, this rank"))?;
    network.name = Some(entry.name.clone());
    network.listen.push(LinkListen { scheme: own.scheme, host: own.host, port: own.port });
    Ok(())
}

fn address(rank: u32) -> Result<LinkUrl, String> {
    format!("mpi://{rank}").parse().map_err(|error: LinkUrlError| error.to_string())
}

/// Sets the ports of this rank. Ranks on one host listen on consecutive ports, and the first rank
/// has those of the configuration.
pub(crate) fn own_ports(config: &mut Config, local_rank: u32) -> Result<(), String> {
    let move_up = |port: &mut u16| {
        if *port != 0 {
            let moved = u16::try_from(local_rank).ok().and_then(|rank| port.checked_add(rank));
            *port = moved.ok_or_else(|| {
                format!("port {port} is too high: rank {local_rank} of this host has as many ports above it")
            })?;
        }
        Ok(())
    };
    let network = config.network.iter_mut().flat_map(|network| &mut network.listen);
    let ports = config.listen.iter_mut().map(|listen| &mut listen.port);
    ports.chain(network.map(|listen| &mut listen.port)).try_for_each(move_up)
}

#[cfg(feature = "mpi")]
mod with_mpi {
    use std::rc::Rc;
    use std::time::Duration;

    use node::link::LinkProvider;

    use console::exit::Failure;

    /// The job that this process is a rank of.
    pub(crate) struct Job(link_mpi::Job);

    impl Job {
        pub(crate) fn start(pause_max: Duration) -> Result<Self, Failure> {
            link_mpi::Job::start(pause_max).map(Self).map_err(Failure::bad_news)
        }

        pub(crate) fn number(&self) -> u32 {
            self.0.number()
        }

        pub(crate) fn size(&self) -> u32 {
            self.0.size()
        }

        pub(crate) fn local_rank(&self) -> u32 {
            self.0.local_rank()
        }

        pub(crate) fn host(&self) -> &str {
            self.0.host()
        }

        pub(crate) fn provider(&self) -> Rc<dyn LinkProvider> {
            Rc::new(self.0.rank())
        }

        pub(crate) fn leave(self) {
            self.0.leave();
        }
    }
}

#[cfg(not(feature = "mpi"))]
mod without_mpi {
    use std::rc::Rc;
    use std::time::Duration;

    use node::link::LinkProvider;

    use console::exit::Failure;

    /// A build without MPI has no jobs.
    pub(crate) enum Job {}

    impl Job {
        pub(crate) fn start(_: Duration) -> Result<Self, Failure> {
            Err(Failure::wrong_use("this `meshrti` was built without MPI")
                .hint("build one with `cargo build --release --features mpi`; it needs mpicc and libclang"))
        }

        pub(crate) fn number(&self) -> u32 {
            match *self {}
        }

        pub(crate) fn size(&self) -> u32 {
            match *self {}
        }

        pub(crate) fn local_rank(&self) -> u32 {
            match *self {}
        }

        pub(crate) fn host(&self) -> &str {
            match *self {}
        }

        pub(crate) fn provider(&self) -> Rc<dyn LinkProvider> {
            match *self {}
        }

        pub(crate) fn leave(self) {
            match self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(topology: Topology, rank: u32, size: u32) -> Vec<String> {
        let network = Network { topology: Some(topology), ..Network::default() };
        let mut config = Config { network: Some(network), ..Config::default() };
        nodes_are_ranks(&mut config, rank, size, 2).unwrap();
        config.settle(0).unwrap();
        let network = config.network.unwrap();
        let name = network.name.clone().unwrap();
        assert_eq!(name, format!("rank-{rank}"));
        assert_eq!(network.listen.len(), 1);
        let plan = network.plan(&name).unwrap();
        assert_eq!(plan.bootstrap, rank == 0);
        plan.links.iter().map(|link| link.url.to_string()).collect()
    }

    #[test]
    fn every_topology_follows_from_the_ranks() {
        let tree: Vec<_> = (0..6).map(|rank| plan(Topology::Tree, rank, 6)).collect();
        assert!(tree[0].is_empty());
        assert_eq!(tree[1..].concat(), ["mpi://0", "mpi://0", "mpi://1", "mpi://1", "mpi://2"]);
        let links = |topology, size| (0..size).map(|rank| plan(topology, rank, size).len()).sum::<usize>();
        assert_eq!(links(Topology::Mesh, 12), 12 * 11 / 2);
        assert_eq!(links(Topology::Hypercube, 8), 8 * 3 / 2);
        assert_eq!(links(Topology::Mesh, 1), 0);
    }

    #[test]
    fn names_follow_the_name() {
        let mut config = Config { name: "JUO".into(), ..Config::default() };
        nodes_are_ranks(&mut config, 1, 2, 4).unwrap();
        assert_eq!(config.network.as_ref().unwrap().name.as_deref(), Some("JUO-1"));
    }

    #[test]
    fn a_file_may_draw_the_network() {
        let text = |last: u32| {
            format!(
                r#"
                [network]
                topology = "graph"
                node = [{{ name = "A", address = "mpi://1" }}, {{ name = "B", address = "mpi://{last}" }}]
                edge = [{{ a = "A", b = "B" }}]
                "#
            )
        };
        let read = |last, rank, size| {
            let mut config = Config::parse(&text(last), "test").unwrap();
            nodes_are_ranks(&mut config, rank, size, 4).map(|()| config.network.unwrap().name.unwrap())
        };
        assert_eq!(read(0, 0, 2).unwrap(), "B");
        assert_eq!(read(0, 1, 2).unwrap(), "A");
        assert!(read(0, 0, 3).unwrap_err().contains("2 [[network.node]], and the job 3 ranks"));
        assert!(read(7, 0, 2).unwrap_err().contains("`mpi://0`, this rank"));
        let network = Network { join: Some("tcp://a".parse().unwrap()), ..Network::default() };
        let mut config = Config { network: Some(network), ..Config::default() };
        assert!(nodes_are_ranks(&mut config, 0, 1, 4).unwrap_err().contains("must not have"));
    }

    #[test]
    fn ranks_of_one_host_have_ports_of_their_own() {
        let mut config = Config::default();
        config.listen.push("tcp://127.0.0.1:0".parse().unwrap());
        config.network =
            Some(Network { listen: vec!["tcp://*:20000".parse().unwrap()], ..Network::default() });
        own_ports(&mut config, 3).unwrap();
        let ports: Vec<u16> = config.listen.iter().map(|listen| listen.port).collect();
        assert_eq!(ports, [15167, 0]);
        assert_eq!(config.network.as_ref().unwrap().listen[0].port, 20003);
        assert!(own_ports(&mut config, 60_000).unwrap_err().contains("too high"));
    }
}
