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
    /// The first host of clients that mean harm.
    hostile: HostId,
    seed: Seed,
    sessions: u64,
    open: BTreeSet<SocketId>,
    /// Connections on which nothing was said to the client yet, and the session that may begin on each. It begins with the
    /// first word: until then the node may leave its network, and the connection stays.
    silent: BTreeMap<SocketId, SessionId>,
    /// Sessions that nobody has asked for since they began.
    fresh: Vec<SessionId>,
    /// Sockets that the kernel has more for than they take.
    full: BTreeSet<SocketId>,
    /// Sockets that are not read, since the network has no room for what their federates send.
    paused: BTreeSet<SocketId>,
    /// How often one was paused.
    pauses: u64,
    timer: bool,
}

impl Connections {
    /// None yet. Session ids come from `seed`.
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

    /// What reads along.
    pub(super) fn tap(&mut self) -> &mut Tap {
        &mut self.tap
    }

    /// Sessions that began since the last call.
    pub(super) fn take_fresh(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.fresh)
    }

    /// Tells the kernel of an event.
    pub(super) fn handle(&mut self, event: HostEvent, kernel: &mut Kernel, port: &mut Port<'_>) {
        let now = port.now();
        match event {
            HostEvent::Opened { socket, peer, .. } => {
                self.sessions += 1;
                let fresh = SessionId(self.seed.split_index(self.sessions).0.max(1));
                self.open.insert(socket);
                self.silent.insert(socket, fresh);
                self.tap.opened(socket, peer, fresh);
                // Each session of a federate counts as a host of its own: their shares are no part of these runs.
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
                self.full.remove(&socket);
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

    /// Stops reading federates for whose messages the network has no room, and reads again when it has.
    pub(super) fn pause_and_resume(&mut self, kernel: &mut Kernel, port: &mut Port<'_>) {
        for &socket in &self.open {
            if kernel.is_held(conn(socket)) && self.paused.insert(socket) {
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

    /// Federates that are paused now, and how often one was.
    pub(super) fn paused(&self) -> (usize, u64) {
        (self.paused.iter().filter(|socket| self.open.contains(socket)).count(), self.pauses)
    }

    /// Writes what the kernel has to say.
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
                // A connection that has broken meanwhile says so by its own event.
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
            if port.room(socket) == 0 {
                self.full.insert(socket);
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
