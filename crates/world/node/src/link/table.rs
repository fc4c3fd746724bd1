//! All links of a node, and the connections that its machine wants.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;

use base::Moment;
use tokio::sync::Notify;

use super::keys::Proof;
use super::outbound::Outbound;
use super::{LinkId, LinkInput, LinkOutput, Scheme, TargetId};
use crate::machine::{Input, Machine};
use crate::url::written;

/// Maximum number of its own addresses that a node announces.
const ADDRESSES_MAX: usize = 16;

/// Maximum number of connections that the machine may request at a time. Further ones are reported
/// as failed.
const WANTED_MAX: usize = 4096;

/// All links of a node.
#[derive(Default)]
pub(crate) struct Links {
    links: BTreeMap<LinkId, Outbound>,
    /// The proofs of who is at the other end, for links that have one.
    pub(crate) proofs: BTreeMap<LinkId, Proof>,
    /// Number of links ever opened.
    opened: u64,
    /// Number of open links that others made.
    pub(crate) accepted: usize,
    /// Connections that the machine has requested.
    pub(crate) wanted: VecDeque<(TargetId, String)>,
    /// Signalled when there is something in `wanted`.
    pub(crate) asked: Rc<Notify>,
    /// Signalled when a link is gone.
    pub(crate) departed: Rc<Notify>,
    /// Number of links that are gone from here while their peers may still read the last octets.
    lingering: Rc<Cell<usize>>,
    own: OwnAddresses,
}

/// A link that is gone from the table while its peer may still read the last octets.
pub(crate) struct Lingering {
    count: Rc<Cell<usize>>,
    departed: Rc<Notify>,
}

impl Drop for Lingering {
    fn drop(&mut self) {
        self.count.update(|count| count - 1);
        self.departed.notify_waiters();
    }
}

/// The URLs at which others reach this node.
#[derive(Default)]
struct OwnAddresses {
    /// The configured URLs, or those of the listeners.
    fixed: Vec<String>,
    /// Listeners on every address. The address that others see is learned from the links.
    every: Vec<(Scheme, u16)>,
    seen: BTreeSet<IpAddr>,
}

impl Links {
    pub(crate) fn get_mut(&mut self, link: LinkId) -> Option<&mut Outbound> {
        self.links.get_mut(&link)
    }

    pub(crate) fn insert(&mut self, outbound: Outbound, proof: Option<Proof>) -> LinkId {
        self.opened += 1;
        let link = LinkId(self.opened);
        self.links.insert(link, outbound);
        self.proofs.extend(proof.map(|proof| (link, proof)));
        link
    }

    pub(crate) fn remove(&mut self, link: LinkId) -> Option<Outbound> {
        let outbound = self.links.remove(&link);
        self.proofs.remove(&link);
        self.departed.notify_waiters();
        outbound
    }

    /// The peer of a link that was removed may still read the last octets, until the result is
    /// dropped.
    pub(crate) fn linger(&self) -> Lingering {
        self.lingering.update(|count| count + 1);
        Lingering { count: Rc::clone(&self.lingering), departed: Rc::clone(&self.departed) }
    }

    /// Whether all links are gone, and their peers have read everything.
    pub(crate) fn is_over(&self) -> bool {
        self.links.is_empty() && self.lingering.get() == 0
    }

    /// Every link.
    pub(crate) fn ids(&self) -> Vec<LinkId> {
        self.links.keys().copied().collect()
    }

    /// Carries out a request of the machine.
    pub(crate) fn obey<M: Machine>(&mut self, machine: &mut M, now: Moment, output: LinkOutput) {
        match output {
            LinkOutput::Connect { target, .. } if self.wanted.len() >= WANTED_MAX => {
                let reason = "too many connections are wanted at once";
                machine.handle(now, Input::Link(LinkInput::Failed { target, reason }));
            }
            LinkOutput::Connect { target, url } => {
                self.wanted.push_back((target, url));
                self.asked.notify_one();
            }
            LinkOutput::Close { link, reason } => {
                if let Some(outbound) = self.links.get_mut(&link) {
                    outbound.close(machine, now, link, reason);
                }
            }
            LinkOutput::Ready(link) => {
                if let Some(outbound) = self.links.get_mut(&link) {
                    outbound.pump(machine, now, link);
                }
            }
        }
    }

    /// Sets the URLs at which others reach this node: `fixed`, and those of listeners on every
    /// address.
    pub(crate) fn set_addresses(&mut self, fixed: Vec<String>, every: Vec<(Scheme, u16)>) {
        self.own = OwnAddresses { fixed, every, seen: BTreeSet::new() };
    }

    /// Notes that a link shows this node's address `ip`. Returns whether it is new.
    pub(crate) fn see_address(&mut self, ip: IpAddr) -> bool {
        let own = &mut self.own;
        !own.every.is_empty() && own.seen.len() < ADDRESSES_MAX && own.seen.insert(ip.to_canonical())
    }

    /// The known URLs at which others reach this node. Addresses that only this host understands
    /// come last.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let mut addresses = self.own.fixed.clone();
        let (loopback, others): (Vec<IpAddr>, Vec<IpAddr>) =
            self.own.seen.iter().partition(|ip| ip.is_loopback());
        for ip in others.into_iter().chain(loopback) {
            for (scheme, port) in &self.own.every {
                addresses.push(written(*scheme, &ip.to_string(), *port));
            }
        }
        addresses.truncate(ADDRESSES_MAX);
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_learned_from_links() {
        let mut links = Links::default();
        links.set_addresses(vec!["tcp://a:1".into()], vec![]);
        assert!(!links.see_address("10.0.0.1".parse().unwrap()), "nothing to learn");
        links.set_addresses(vec![], vec![(Scheme::Tcp, 5)]);
        assert!(links.addresses().is_empty());
        assert!(links.see_address("127.0.0.1".parse().unwrap()));
        assert!(links.see_address("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!links.see_address("10.0.0.1".parse().unwrap()));
        assert_eq!(links.addresses(), ["tcp://10.0.0.1:5", "tcp://127.0.0.1:5"]);
    }
}
