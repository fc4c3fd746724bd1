//! What all tests of runs begin with.

use base::Seed;
use hostsim::{Federation, HostModel, Joined, Placement, Report, Work, run};
use netsim::cluster::Ethernet;

/// Nodes in a row on one computer of this kind, with one task.
pub(crate) fn chain(nodes: u16, hosts: HostModel, work: Work) -> Federation {
    Federation {
        nodes,
        joined: Joined::Chain,
        multicast: None,
        work: vec![work],
        workloads: Vec::new(),
        hosts,
        placement: Placement::Together,
        pinned: false,
        ethernet: Ethernet::GIGABIT,
        seed: Seed(1),
    }
}

/// What comes of it.
pub(crate) fn done(federation: &Federation) -> Report {
    run(federation, |_| true).unwrap()
}
