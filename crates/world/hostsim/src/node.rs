//! A process that runs a node: a kernel, driven as the server drives it.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use base::{Address, Moment, NodeKey, Seed};
use bytes::BytesMut;
use kernel::{
    Config, ConnId, Kernel, LinkId, LinkInput, LinkOutput, LinkTarget, LinkTerms, NetworkConfig,
    NetworkStatus, NoFoms,
};

use crate::chunk::{Chunk, Counted};
use crate::federation::Federation;
use crate::groups::{self, Carried, Groups};
use crate::saves::Saves;
use crate::scheduler::ProcessId;
use crate::wires::{SocketId, Turn};

/// Maximum number of bytes of one read or write of a federate's connection.
const IO_BYTES: usize = 256 << 10;
/// Frames are batched into writes of about this many bytes.
const LINK_WRITE_BYTES: usize = 64 << 10;
/// Number of writes to other connections after which the connection that was just read no longer
/// goes last.
const WRITES_BEFORE_ANSWER: usize = 8;

/// A node.
pub(crate) struct Node {
    kernel: Kernel,
    seed: Seed,
    sessions: u64,
    /// The processes of all nodes, by their number.
    directory: Rc<Vec<ProcessId>>,
    federates: BTreeSet<SocketId>,
    links: BTreeSet<SocketId>,
    /// Sockets without room for writes; [`Chunk::Room`] follows.
    full: BTreeSet<SocketId>,
    /// Federates that are paused by the kernel's back-pressure and have unread input.
    paused: BTreeSet<SocketId>,
    /// Multicast groups shared with other nodes.
    groups: Option<Groups>,
    /// Saved federation executions.
    saves: Arc<Saves>,
    /// Bytes written to links.
    link_bytes: u64,
    buffer: BytesMut,
}

fn conn(socket: SocketId) -> ConnId {
    ConnId(u64::from(socket.0))
}

fn link(socket: SocketId) -> LinkId {
    LinkId(u64::from(socket.0))
}

/// The reverse of `conn` and `link`: connections and links have the numbers of their sockets.
fn socket(number: u64) -> SocketId {
    SocketId(u32::try_from(number).expect("numbers of sockets fit"))
}

impl Node {
    /// Creates node `number` of a federation. Datagrams of multicast groups arrive at the socket
    /// `datagrams`; `None` without groups.
    ///
    /// # Errors
    /// [`kernel::NetworkError`]: the network settings are inconsistent.
    pub(crate) fn new(
        number: usize,
        federation: &Federation,
        directory: Rc<Vec<ProcessId>>,
        datagrams: Option<SocketId>,
    ) -> Result<Self, kernel::NetworkError> {
        let seed = federation.seed.split("node").split_index(number as u64);
        let source = Box::new(NoFoms);
        let saves = Arc::new(Saves::default());
        let mut config = Config::default();
        config.rti.saves = Arc::<Saves>::clone(&saves);
        let kernel = if federation.nodes == 1 {
            Kernel::new(config, source)
        } else {
            let key = NodeKey(seed.split("key").0.max(1));
            let name = format!("node {number}");
            let mut network = NetworkConfig::new(key, seed, &name, federation.joined.topology());
            network.overlay.urls = vec![number.to_string()];
            network.bootstrap = (number == 0).then_some(std::time::Duration::ZERO);
            let target =
                |to: usize| LinkTarget { url: to.to_string(), name: None, terms: LinkTerms::default() };
            network.targets = federation.joined.target(number).map(target).into_iter().collect();
            network.multicast = federation.multicast.as_ref().map(groups::of_kernel);
            Kernel::in_network(Moment::ZERO, config, network, source)?
        };
        let groups = federation.multicast.as_ref().zip(datagrams);
        let groups = groups.map(|(multicast, socket)| Groups::new(multicast, socket, seed.split("groups")));
        Ok(Self {
            kernel,
            seed: seed.split("sessions"),
            sessions: 0,
            directory,
            federates: BTreeSet::new(),
            links: BTreeSet::new(),
            full: BTreeSet::new(),
            paused: BTreeSet::new(),
            groups,
            saves,
            link_bytes: 0,
            buffer: BytesMut::new(),
        })
    }

    /// Number of members that it knows of, itself included; `None` until it is a member.
    pub(crate) fn members(&self) -> Option<usize> {
        self.kernel.member_of()?;
        self.kernel.network().map(|network| network.members.len())
    }

    /// Bytes that it has written to links.
    pub(crate) fn link_bytes(&self) -> u64 {
        self.link_bytes
    }

    /// Its group traffic so far, and the number of messages requested again over links.
    pub(crate) fn carried(&self) -> Carried {
        let asked_again = self.kernel.network().map_or(0, |network| network.services.asked);
        let carried = self.groups.as_ref().map_or_else(Carried::default, Groups::carried);
        Carried { asked_again, ..carried }
    }

    /// Octets of the saved federation executions that it keeps.
    pub(crate) fn saved_bytes(&self) -> u64 {
        self.saves.bytes()
    }

    /// Its view of the network.
    pub(crate) fn network(&self) -> Option<NetworkStatus> {
        self.kernel.network()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let groups = self.groups.as_ref().and_then(Groups::poll_timeout);
        Moment::sooner(self.kernel.poll_timeout(), groups)
    }

    /// Handles all timers and input that are due.
    pub(crate) fn turn(&mut self, turn: &mut Turn<'_>) {
        if self.kernel.poll_timeout().is_some_and(|at| at <= turn.now()) {
            self.kernel.handle_timeout(turn.now());
        }
        self.give_out(turn, None);
        let mut ready = Vec::new();
        while let Some(socket) = turn.next_ready() {
            ready.push(socket);
        }
        for socket in ready {
            self.take_in(turn, socket);
        }
    }

    /// Reads a socket once.
    fn take_in(&mut self, turn: &mut Turn<'_>, socket: SocketId) {
        if let Some(groups) = self.groups.as_mut().filter(|groups| groups.socket() == socket) {
            groups.take_in(turn);
            return self.give_out(turn, None);
        }
        if self.federates.contains(&socket) && self.kernel.is_paused(conn(socket)) {
            self.paused.insert(socket);
            return;
        }
        for chunk in turn.read(socket, IO_BYTES) {
            self.take(turn, socket, chunk);
        }
    }

    fn take(&mut self, turn: &mut Turn<'_>, socket: SocketId, chunk: Chunk) {
        match chunk {
            Chunk::Opened { by_node: true } => {
                self.links.insert(socket);
                let link = link(socket);
                self.kernel.handle_link(turn.now(), LinkInput::Up { link, target: None });
            }
            Chunk::Opened { by_node: false } => {
                self.federates.insert(socket);
                self.sessions += 1;
                let session = self.seed.split_index(self.sessions).0.max(1);
                // Each federate counts as a host of its own.
                let address = Address::numbered(self.sessions);
                self.kernel.handle_open(turn.now(), conn(socket), address, session);
            }
            Chunk::Bytes(bytes, counted) => {
                turn.spend(f64::from(counted.calls) * turn.costs().call_ns);
                let (before, length) = (self.kernel.link_messages().services_sent, bytes.len());
                self.kernel.handle_bytes(turn.now(), conn(socket), bytes);
                let sent = self.kernel.link_messages().services_sent - before;
                turn.spend(sent as f64 * turn.costs().remote_message_ns / 2.0);
                if sent > 0 {
                    turn.spend(length as f64 * turn.costs().remote_byte_ns);
                }
                return self.give_out(turn, Some(socket));
            }
            Chunk::Frames(frames) => {
                let before = self.kernel.link_messages();
                let link = link(socket);
                for frame in frames {
                    self.kernel.handle_link(turn.now(), LinkInput::Frame { link, frame });
                }
                let after = self.kernel.link_messages();
                let (received, heard) =
                    (after.received - before.received, after.services_received - before.services_received);
                turn.spend(received as f64 * turn.costs().link_message_ns / 2.0);
                turn.spend(heard as f64 * turn.costs().remote_message_ns / 2.0);
            }
            Chunk::Room => {
                if self.full.remove(&socket) {
                    self.write(turn, socket);
                }
            }
            Chunk::Closed if self.links.remove(&socket) => {
                let (link, reason) = (link(socket), "closed by the other end");
                self.kernel.handle_link(turn.now(), LinkInput::Down { link, reason });
            }
            // Datagrams arrive at a socket of their own.
            Chunk::Datagram(_) => {}
            Chunk::Closed => {
                self.federates.remove(&socket);
                self.kernel.handle_closed(turn.now(), conn(socket));
            }
        }
        self.give_out(turn, None);
    }

    /// Writes the kernel's output: first to links, then to federates. The connection `origin`,
    /// which was just read, goes last, unless [`WRITES_BEFORE_ANSWER`] others precede it anyway.
    fn give_out(&mut self, turn: &mut Turn<'_>, origin: Option<SocketId>) {
        // Another thread of the process reads FOM modules, before the measurement begins. It also writes
        // and reads saved federation executions, for which the host model has no cost.
        while let Some(job) = self.kernel.poll_job() {
            self.kernel.finish_job(turn.now(), job.run());
        }
        self.serve_links(turn);
        let (mut others, mut waits) = (0, None);
        while let Some(conn) = self.kernel.poll_ready() {
            let socket = socket(conn.0);
            if Some(socket) == origin && others < WRITES_BEFORE_ANSWER {
                waits = origin;
                continue;
            }
            self.write(turn, socket);
            others += 1;
        }
        if let Some(origin) = waits {
            self.write(turn, origin);
        }
        // Room in a queue may have made the kernel produce more output, for any peer.
        loop {
            let mut any = self.serve_links(turn);
            while let Some(conn) = self.kernel.poll_ready() {
                self.write(turn, socket(conn.0));
                any = true;
            }
            if !any {
                return;
            }
        }
    }

    fn serve_links(&mut self, turn: &mut Turn<'_>) -> bool {
        let mut any = false;
        while let Some(output) = self.kernel.poll_link() {
            any = true;
            self.obey(turn, output);
        }
        if let Some(groups) = &mut self.groups {
            any |= groups.serve(&mut self.kernel, turn);
        }
        while let Some(released) = self.kernel.poll_released() {
            let socket = socket(released.0);
            if self.paused.remove(&socket) {
                self.take_in(turn, socket);
            }
        }
        any
    }

    fn obey(&mut self, turn: &mut Turn<'_>, output: LinkOutput) {
        match output {
            LinkOutput::Connect { target, url } => {
                let to = url.parse().ok().and_then(|number: usize| self.directory.get(number));
                let Some(to) = to else {
                    let reason = "there is no such node";
                    return self.kernel.handle_link(turn.now(), LinkInput::Failed { target, reason });
                };
                let socket = turn.connect(*to, true);
                self.links.insert(socket);
                let (link, target) = (link(socket), Some(target));
                self.kernel.handle_link(turn.now(), LinkInput::Up { link, target });
            }
            LinkOutput::Ready(link) => self.write_link(turn, socket(link.0)),
            LinkOutput::Close { link, .. } => {
                let socket = socket(link.0);
                self.write_link(turn, socket);
                self.links.remove(&socket);
                turn.close(socket);
            }
        }
    }

    fn write(&mut self, turn: &mut Turn<'_>, socket: SocketId) {
        if self.links.contains(&socket) {
            self.write_link(turn, socket);
        } else {
            self.write_federate(turn, socket);
        }
    }

    fn write_federate(&mut self, turn: &mut Turn<'_>, socket: SocketId) {
        loop {
            if !turn.has_room(socket) {
                self.full.insert(socket);
                return;
            }
            let transmit = self.kernel.poll_transmit(turn.now(), conn(socket), &mut self.buffer, IO_BYTES);
            if !self.buffer.is_empty() {
                let bytes = self.buffer.split().freeze();
                let counted = Counted::of(&bytes);
                turn.spend(f64::from(counted.callbacks) * turn.costs().callback_ns);
                turn.write(socket, Chunk::Bytes(bytes, counted));
            }
            if transmit.close_after {
                self.federates.remove(&socket);
                turn.close(socket);
            }
            if !transmit.more || transmit.close_after {
                return;
            }
        }
    }

    fn write_link(&mut self, turn: &mut Turn<'_>, socket: SocketId) {
        loop {
            if !turn.has_room(socket) {
                self.full.insert(socket);
                return;
            }
            let before = self.kernel.link_sent(link(socket));
            let (mut frames, mut bytes) = (Vec::new(), 0);
            while bytes < LINK_WRITE_BYTES
                && let Some(frame) = self.kernel.poll_link_frame(turn.now(), link(socket))
            {
                bytes += frame.len();
                frames.push(frame);
            }
            if frames.is_empty() {
                return;
            }
            let messages = self.kernel.link_sent(link(socket)) - before;
            turn.spend(messages as f64 * turn.costs().link_message_ns / 2.0);
            let frames = Chunk::Frames(frames);
            self.link_bytes += frames.bytes() as u64;
            turn.write(socket, frames);
        }
    }
}
