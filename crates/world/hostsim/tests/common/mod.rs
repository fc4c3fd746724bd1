//! Helpers shared by the tests of runs.

use base::Seed;
use hostsim::{Costs, Federation, HostModel, Report, Work, run};

/// Costs that are all zero.
pub(crate) const FREE: Costs = Costs {
    wake_ns: 0.0,
    turn_ns: 0.0,
    refill_ns: 0.0,
    write_ns: 0.0,
    warm_byte_ns: 0.0,
    write_byte_ns: 0.0,
    read_byte_ns: 0.0,
    call_ns: 0.0,
    callback_ns: 0.0,
    link_message_ns: 0.0,
    remote_message_ns: 0.0,
    remote_byte_ns: 0.0,
    datagram_send_ns: 0.0,
    datagram_take_ns: 0.0,
    federate_call_ns: 0.0,
    federate_callback_ns: 0.0,
};

/// A chain of nodes on one computer of this kind, with one task.
pub(crate) fn chain(nodes: u16, hosts: HostModel, work: Work) -> Federation {
    Federation::chain(nodes, hosts, vec![work], Seed(1))
}

/// The report of a run of the federation.
pub(crate) fn done(federation: &Federation) -> Report {
    run(federation, |_| true).unwrap()
}
