//! The connections of a node's federates.

use super::tap::Tap;
use crate::observation::{Observation, SessionId};
use crate::options::Options;
use base::{Address, Moment, Seed};
use bytes::BytesMut;
use kernel::{ConnId, Kernel};
use netsim::{HostEvent, HostId, Port, SocketId};
use std::collections::{BTreeMap, BTreeSet};

/// The port that federates connect to.
pub const PORT: u16 = 15_164;

/// The sockets of a node's federates, and the tap on them.
pub(super) struct Connections {
    tap: Tap,
    /// The first host of malicious clients.
    hostile: HostId,
    seed: Seed,
    sessions: u64,
    open: BTreeSet<SocketId>,
    /// Connections on which nothing has been sent to the client, each with the session that may
    /// begin on it. The session begins with the first message: until then the node may leave its
    /// network, and the connection stays.
    silent: BTreeMap<SocketId, SessionId>,
    /// Sessions that began since [`Connections::take_fresh`] was last called.
    fresh: Vec<SessionId>,
    /// Sockets for which the kernel has more bytes than they take.
    full: BTreeSet<SocketId>,
    /// Sockets that are not read, since the network has no room for the messages of their
    /// federates.
    paused: BTreeSet<SocketId>,
    /// Number of times that one was paused.
    pauses: u64,
    timer: bool,
}

impl Connections {
    /// The initial state, without connections. Session ids come from `seed`.
    pub(super) fn new(seed: Seed, options: &Options) -> Self {
        Self {
            tap: Tap::new(options.is_tapped),
            hostile: HostId((options.nodes() + options.federates) as u32),
            seed,
            sessions: 0,
            open: BTreeSet::new(),
            silent: BTreeMap::new(),
            fresh: Vec::new(),
            full: BTreeSet::new(),
            paused: BTreeSet::new(),
            pauses: 0,
            timer: false,
        }
    }

    /// Connections of federates.
    pub(super) fn sockets(&self) -> &BTreeSet<SocketId> {
        &self.open
    }

    /// The tap on the connections.
    pub(super) fn tap(&mut self) -> &mut Tap {
        &mut self.tap
    }

    /// Sessions that began since the last call.
    pub(super) fn take_fresh(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.fresh)
    }

    /// Passes an event to the kernel.
    pub(super) fn handle(&mut self, event: HostEvent, kernel: &mut Kernel, port: &mut Port<'_>) {
        let now = port.now();
        match event {
            HostEvent::Opened { socket, peer, .. } => {
                self.sessions += 1;
                let fresh = SessionId(self.seed.split_index(self.sessions).0.max(1));
                self.open.insert(socket);
                self.silent.insert(socket, fresh);
                self.tap.opened(socket, peer, fresh);
                // Each session of a federate counts as a host of its own: the shares of hosts are
                // not tested in these runs.
                let address = match peer < self.hostile {
                    true => Address::numbered(self.sessions),
                    false => Address::numbered(u64::MAX - u64::from(peer.0)),
                };
                kernel.handle_open(now, conn(socket), address, fresh.0);
            }
            HostEvent::Received { socket, bytes } if self.open.contains(&socket) => {
                self.tap.incoming(socket, bytes.clone());
                kernel.handle_bytes(now, conn(socket), bytes);
            }
            HostEvent::Ended { socket } => {
                self.lost(now, socket, kernel);
                port.close(socket);
            }
            HostEvent::Broken { socket, .. } => self.lost(now, socket, kernel),
            HostEvent::Writable { socket } => {
                if self.full.remove(&socket) {
                    self.tap.full(socket);
                }
                self.write(socket, kernel, port);
            }
            HostEvent::Woken => {
                self.tap.note(Observation::TimedOut);
                self.timer = true;
                kernel.handle_timeout(now);
            }
            HostEvent::Received { .. } | HostEvent::Datagram { .. } => {}
        }
    }

    /// Pauses federates for whose messages the network has no room, and resumes them when it has.
    pub(super) fn pause_and_resume(&mut self, kernel: &mut Kernel, port: &mut Port<'_>) {
        for &socket in &self.open {
            if kernel.is_paused(conn(socket)) && self.paused.insert(socket) {
                self.pauses += 1;
                port.set_reading(socket, false);
            }
        }
        while let Some(conn) = kernel.poll_released() {
            let socket = SocketId(conn.0 as u32);
            if self.paused.remove(&socket) && self.open.contains(&socket) {
                port.set_reading(socket, true);
            }
        }
    }

    /// Number of federates that are paused now, and number of times that one was paused.
    pub(super) fn paused(&self) -> (usize, u64) {
        (self.paused.iter().filter(|socket| self.open.contains(socket)).count(), self.pauses)
    }

    /// Writes the kernel's output.
    pub(super) fn give_out(&mut self, kernel: &mut Kernel, port: &mut Port<'_>) {
        while let Some(conn) = kernel.poll_ready() {
            self.write(SocketId(conn.0 as u32), kernel, port);
        }
        self.timer = false;
    }

    fn lost(&mut self, now: Moment, socket: SocketId, kernel: &mut Kernel) {
        self.full.remove(&socket);
        self.silent.remove(&socket);
        if self.open.remove(&socket) {
            self.tap.lost(socket);
            kernel.handle_closed(now, conn(socket));
        }
    }

    fn write(&mut self, socket: SocketId, kernel: &mut Kernel, port: &mut Port<'_>) {
        if !self.open.contains(&socket) {
            return;
        }
        loop {
            let budget = if self.full.contains(&socket) { 0 } else { port.room(socket) };
            let mut out = BytesMut::new();
            let transmit = kernel.poll_transmit(port.now(), conn(socket), &mut out, budget);
            if !out.is_empty() {
                let bytes = out.freeze();
                self.fresh.extend(self.silent.remove(&socket));
                self.tap.outgoing(socket, bytes.clone());
                // The socket reports a connection that has broken meanwhile by its own event.
                let _ = port.send(socket, bytes);
            }
            if transmit.close_after {
                self.tap.closed_by_kernel(socket, self.timer);
                self.open.remove(&socket);
                self.full.remove(&socket);
                if transmit.discard {
                    port.reset(socket);
                } else {
                    port.close(socket);
                }
                return;
            }
            if !transmit.more {
                return;
            }
            if port.room(socket) == 0 && self.full.insert(socket) {
                self.tap.full(socket);
            }
            if budget == 0 {
                return;
            }
        }
    }
}

fn conn(socket: SocketId) -> ConnId {
    ConnId(socket.0.into())
}
