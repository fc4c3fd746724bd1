//! The network as a machine: hosts send, and [`Network::poll`] returns the deliveries in order of
//! time.

mod actions;
mod datagrams;
mod streams;
#[cfg(test)]
mod tests;

pub use actions::Action;
pub use streams::{BreakReason, ConnId, SendError, SocketId};

use crate::fault::{Fate, Packet, PacketKind, Rules};
use crate::link::Link;
use crate::{Digest, EventQueue, LinkSpec, NetworkStats, Slots};
use base::{Moment, Seed};
use bytes::Bytes;
use datagrams::Datagram;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;
use streams::Socket;

base::id! {
    /// A host of a network.
    pub struct HostId(u32) as "h";
}

/// Options of a whole network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkOptions {
    /// Links without a setting of their own. Default: 50 µs, infinitely fast.
    pub link: LinkSpec,
    /// Bytes in flight in one direction of a connection at which its sender has no
    /// [room](Network::room) left. Default: 256 KiB.
    pub stream_window: usize,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self { link: LinkSpec::default(), stream_window: 256 * 1024 }
    }
}

/// An event of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostEvent {
    /// A connection is open, which this host or another one requested. A host that does not want it
    /// resets it.
    Opened {
        /// This host's end of it.
        socket: SocketId,
        /// The host at the other end.
        peer: HostId,
        /// The port that the opener gave.
        port: u16,
        /// True at the host that accepted the connection.
        accepted: bool,
    },
    /// The next bytes of a connection; never empty. Their boundaries carry no meaning.
    Received {
        /// This host's end of the connection.
        socket: SocketId,
        /// The bytes.
        bytes: Bytes,
    },
    /// The peer sends no more bytes (half-close). Sending is still possible.
    Ended {
        /// This host's end of the connection.
        socket: SocketId,
    },
    /// The connection is gone in both directions. This is the last event of the socket.
    Broken {
        /// This host's end of the connection.
        socket: SocketId,
        /// The reason.
        reason: BreakReason,
    },
    /// A full connection has room again.
    Writable {
        /// This host's end of the connection.
        socket: SocketId,
    },
    /// A datagram.
    Datagram {
        /// The sender.
        from: HostId,
        /// The payload.
        bytes: Bytes,
    },
    /// The moment of the host's wake-up has come.
    Woken,
}

/// An event for a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The moment of the event.
    pub at: Moment,
    /// The host.
    pub host: HostId,
    /// The event.
    pub event: HostEvent,
}

/// An entry of the queue. It is small; the details are in tables.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The oldest segment in flight from this socket arrives.
    Arrival(SocketId),
    /// The owner of this socket resumes reading.
    Reading(SocketId),
    /// The owner of this socket may learn that there is room.
    Writable(SocketId),
    /// A datagram arrives; holds its slot.
    Datagram(u32),
    Wake(HostId),
    /// A scheduled action; holds its index.
    Action(u32),
}

#[derive(Debug)]
struct HostState {
    name: String,
    up: bool,
    wake: Option<Moment>,
    /// Lead of its clock over that of the world.
    ahead: Duration,
    /// Its ends of connections that still exist.
    sockets: BTreeSet<SocketId>,
}

base::id! {
    /// One direction of a link.
    struct LinkId(u32) as "l";
}

/// Hosts, links, connections and faults in virtual time.
///
/// Contract: call [`poll`](Network::poll) until it returns `None`; hosts may act between two polls.
/// An action of a host happens at [`now`](Network::now). Hosts that are woken, sent to or connected
/// must belong to this network: an id of another network is a programming error and panics.
///
/// Connections are never forgotten (about 300 bytes each), so that a stale id finds a dead
/// connection rather than a new one.
pub struct Network {
    options: NetworkOptions,
    seed: Seed,
    now: Moment,
    queue: EventQueue<Event>,
    hosts: Vec<HostState>,
    links: Vec<Link>,
    /// Used for look-ups only, since the order of its iteration would differ from run to run.
    link_ids: HashMap<(HostId, HostId), LinkId>,
    rules: Rules,
    /// Sockets whose outbound direction is stalled.
    stalled: BTreeSet<SocketId>,
    sockets: Vec<Socket>,
    datagrams: Slots<Datagram>,
    actions: Vec<Option<Action>>,
    digest: Digest,
    stats: NetworkStats,
}

impl Network {
    /// An empty network. All randomness derives from `seed`.
    pub fn new(seed: Seed, options: NetworkOptions) -> Self {
        Self {
            options,
            seed,
            now: Moment::ZERO,
            queue: EventQueue::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            link_ids: HashMap::new(),
            rules: Rules::default(),
            stalled: BTreeSet::new(),
            sockets: Vec::new(),
            datagrams: Slots::default(),
            actions: Vec::new(),
            digest: Digest::EMPTY,
            stats: NetworkStats::default(),
        }
    }

    /// The present.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Counters.
    pub fn stats(&self) -> &NetworkStats {
        &self.stats
    }

    /// A fingerprint of all events so far.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Adds data to the digest that the network does not see, such as the state of a host.
    pub fn note(&mut self, octets: &[u8]) {
        self.digest.octets(octets);
    }

    /// Moment of the next event; `None` if there is none unless a host acts.
    pub fn next_event(&self) -> Option<Moment> {
        self.queue.next()
    }

    /// Adds a host. The name is for display only.
    pub fn add_host(&mut self, name: &str) -> HostId {
        let id = HostId(u32::try_from(self.hosts.len()).expect("fewer than 2^32 hosts"));
        let name = name.to_owned();
        self.hosts.push(HostState {
            name,
            up: true,
            wake: None,
            ahead: Duration::ZERO,
            sockets: BTreeSet::new(),
        });
        id
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.host(host).name
    }

    /// The reading of a host's clock.
    pub fn local_time(&self, host: HostId) -> Moment {
        self.now + self.host(host).ahead
    }

    /// Advances the clock of a host, as after a suspension or a live migration of a machine. A
    /// wake-up that is now overdue comes at once; a later one comes earlier by the same time.
    pub fn advance_clock(&mut self, host: HostId, by: Duration) {
        let wake = self.host(host).wake.map(|at| self.now + at.since(self.now).saturating_sub(by));
        self.host_mut(host).ahead += by;
        self.wake(host, wake);
    }

    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.hosts.len() as u32).map(HostId)
    }

    /// Sets the links between two hosts, in both directions, for everything that departs from now
    /// on.
    pub fn set_link(&mut self, a: HostId, b: HostId, spec: LinkSpec) {
        for (from, to) in [(a, b), (b, a)] {
            let link = self.link_id(from, to);
            self.link_mut(link).set_spec(spec);
        }
    }

    /// Schedules the wake-up of `host` for `at` (now, if that is past) in place of an earlier one;
    /// `None` cancels it.
    pub fn wake(&mut self, host: HostId, at: Option<Moment>) {
        let at = at.map(|at| at.max(self.now));
        let state = self.host_mut(host);
        if state.wake == at || !state.up {
            return;
        }
        state.wake = at;
        if let Some(at) = at {
            self.queue.push(at, Event::Wake(host));
        }
    }

    /// The next event of a host, at or before `until`. `None` if there is none; the present is then
    /// `until` (with [`Moment::MAX`] it stays the moment of the last event).
    pub fn poll(&mut self, until: Moment) -> Option<Delivery> {
        while let Some((at, event)) = self.queue.pop_until(until) {
            self.now = at;
            self.stats.events += 1;
            let delivery = match event {
                Event::Arrival(socket) => self.arrive(socket),
                Event::Reading(socket) => self.read_on(socket),
                Event::Writable(socket) => self.tell_writable(socket),
                Event::Datagram(slot) => self.arrive_datagram(slot),
                Event::Wake(host) => self.wake_up(host),
                Event::Action(index) => {
                    self.act(index);
                    None
                }
            };
            if let Some((host, event)) = delivery {
                self.stats.deliveries += 1;
                let delivery = Delivery { at, host, event };
                delivery.add_to(&mut self.digest);
                return Some(delivery);
            }
        }
        if until < Moment::MAX {
            self.now = self.now.max(until);
        }
        None
    }

    fn wake_up(&mut self, host: HostId) -> Option<(HostId, HostEvent)> {
        let now = self.now;
        let state = self.host_mut(host);
        // A wake-up that has been moved leaves a stale event behind.
        if state.wake != Some(now) {
            return None;
        }
        state.wake = None;
        Some((host, HostEvent::Woken))
    }

    /// Applies the rules to a packet that is put on a link now.
    fn judge(&mut self, link: LinkId, from: HostId, to: HostId, kind: PacketKind, bytes: &Bytes) -> Fate {
        let at = self.now;
        let link = self.link_mut(link);
        let (seed, number) = (link.seed, link.packets);
        link.packets += 1;
        if self.rules.is_empty() {
            return Fate::Arrives(Default::default());
        }
        let seed = seed.split_index(number);
        let fate = self.rules.judge(&Packet { at, from, to, kind, bytes }, seed, &mut self.digest);
        if let Fate::Arrives(arrival) = fate {
            self.stats.delayed_packets += u64::from(!arrival.delay.is_zero() && !arrival.reordered);
        }
        fate
    }

    /// The link from one host to another; created at first use.
    fn link_id(&mut self, from: HostId, to: HostId) -> LinkId {
        assert!(from.0.max(to.0) < self.hosts.len() as u32, "{from} or {to} is no host of this network");
        if let Some(&id) = self.link_ids.get(&(from, to)) {
            return id;
        }
        let id = LinkId(u32::try_from(self.links.len()).expect("fewer than 2^32 links"));
        let seed = self.seed.split("link").split_index(from.0.into()).split_index(to.0.into());
        self.links.push(Link::new(self.options.link, seed));
        self.link_ids.insert((from, to), id);
        id
    }

    fn link_mut(&mut self, link: LinkId) -> &mut Link {
        &mut self.links[link.0 as usize]
    }

    fn host(&self, host: HostId) -> &HostState {
        self.hosts.get(host.0 as usize).expect("hosts are of this network")
    }

    fn host_mut(&mut self, host: HostId) -> &mut HostState {
        self.hosts.get_mut(host.0 as usize).expect("hosts are of this network")
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("seed", &self.seed)
            .field("now", &self.now)
            .field("hosts", &self.hosts.len())
            .field("events waiting", &self.queue.len())
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl Delivery {
    fn add_to(&self, digest: &mut Digest) {
        digest.word(self.at.as_nanos());
        let (kind, detail) = match &self.event {
            HostEvent::Opened { socket, port, .. } => (0, (u64::from(socket.0) << 16) | u64::from(*port)),
            HostEvent::Received { socket, .. } => (1, socket.0.into()),
            HostEvent::Ended { socket } => (2, socket.0.into()),
            HostEvent::Broken { socket, reason } => (3, (u64::from(socket.0) << 8) | *reason as u64),
            HostEvent::Writable { socket } => (4, socket.0.into()),
            HostEvent::Datagram { from, .. } => (5, from.0.into()),
            HostEvent::Woken => (6, 0),
        };
        digest.word((u64::from(self.host.0) << 8) | kind);
        digest.word(detail);
        if let HostEvent::Received { bytes, .. } | HostEvent::Datagram { bytes, .. } = &self.event {
            digest.octets(bytes);
        }
    }
}
