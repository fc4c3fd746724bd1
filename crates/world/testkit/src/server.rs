//! A host that runs a kernel.

use crate::observation::{FederationView, Observation, SessionId};
use crate::tap::Tap;
use base::{Moment, Seed};
use bytes::BytesMut;
use kernel::{Config, ConnId, Kernel, NoFoms};
use netsim::{HostEvent, Port, SocketId};
use std::collections::BTreeSet;

/// The port that federates connect to.
pub const PORT: u16 = 15_164;

/// A kernel, its sockets, and the tap on them.
///
/// It keeps to the kernel's contract and no more: it drains what is to be drained after each input, and
/// wakes the kernel exactly when that asked to be woken.
pub struct Server {
    kernel: Kernel,
    tap: Tap,
    seed: Seed,
    sessions: u64,
    open: BTreeSet<SocketId>,
    /// Sessions that nobody has asked for since they began.
    fresh: Vec<SessionId>,
    /// Sockets that the kernel has more for than they take.
    full: BTreeSet<SocketId>,
    /// Sockets of federates that the kernel holds back.
    held: BTreeSet<SocketId>,
    /// How often one was held back.
    holds: u64,
    last_status: Vec<FederationView>,
    timer: bool,
}

impl Server {
    /// A server whose session ids come from `seed`.
    pub fn new(config: Config, seed: Seed) -> Self {
        Self::with(Kernel::new(config, Box::new(NoFoms)), Tap::default(), seed)
    }

    /// A server around `kernel` that nobody reads along at.
    pub(crate) fn unwatched(kernel: Kernel, seed: Seed) -> Self {
        Self::with(kernel, Tap::off(), seed)
    }

    fn with(kernel: Kernel, tap: Tap, seed: Seed) -> Self {
        Self {
            kernel,
            tap,
            seed,
            sessions: 0,
            open: BTreeSet::new(),
            fresh: Vec::new(),
            full: BTreeSet::new(),
            held: BTreeSet::new(),
            holds: 0,
            last_status: Vec::new(),
            timer: false,
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The kernel, for what is not the business of a federate's connection.
    pub(crate) fn kernel_mut(&mut self) -> &mut Kernel {
        &mut self.kernel
    }

    /// Connections of federates.
    pub(crate) fn sockets(&self) -> &BTreeSet<SocketId> {
        &self.open
    }

    /// Sessions that began since the last call.
    pub(crate) fn take_fresh(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.fresh)
    }

    /// What was seen since the last call.
    pub fn take_seen(&mut self) -> Vec<Observation> {
        self.tap.take()
    }

    /// See [`netsim::Host::handle`].
    pub fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        self.take_in(event, port);
        self.give_out(port);
        port.wake(self.kernel.poll_timeout());
        self.report();
    }

    /// Tells the kernel of an event.
    pub(crate) fn take_in(&mut self, event: HostEvent, port: &mut Port<'_>) {
        let now = port.now();
        match event {
            HostEvent::Opened { socket, peer, .. } => {
                self.sessions += 1;
                let fresh = SessionId(self.seed.split_index(self.sessions).0.max(1));
                self.open.insert(socket);
                self.fresh.push(fresh);
                self.tap.opened(socket, peer, fresh);
                self.kernel.handle_open(now, conn(socket), fresh.0);
            }
            HostEvent::Received { socket, bytes } if self.open.contains(&socket) => {
                self.tap.incoming(socket, bytes.clone());
                self.kernel.handle_bytes(now, conn(socket), bytes);
            }
            HostEvent::Ended { socket } => {
                self.lost(now, socket);
                port.close(socket);
            }
            HostEvent::Broken { socket, .. } => self.lost(now, socket),
            HostEvent::Writable { socket } => {
                self.full.remove(&socket);
                self.write(socket, port);
            }
            HostEvent::Woken => {
                self.tap.note(Observation::TimedOut);
                self.timer = true;
                self.kernel.handle_timeout(now);
            }
            HostEvent::Received { .. } | HostEvent::Datagram { .. } => {}
        }
    }

    /// Reads nothing more of federates that the kernel holds back, and again of those that it does not any more.
    pub(crate) fn hold_back(&mut self, port: &mut Port<'_>) {
        for &socket in &self.open {
            if self.kernel.is_held(conn(socket)) && self.held.insert(socket) {
                self.holds += 1;
                port.set_reading(socket, false);
            }
        }
        while let Some(conn) = self.kernel.poll_released() {
            let socket = SocketId(conn.0 as u32);
            if self.held.remove(&socket) && self.open.contains(&socket) {
                port.set_reading(socket, true);
            }
        }
    }

    /// Federates that are held back now, and how often one was.
    pub(crate) fn held(&self) -> (usize, u64) {
        (self.held.iter().filter(|socket| self.open.contains(socket)).count(), self.holds)
    }

    /// Writes what the kernel has to say.
    pub(crate) fn give_out(&mut self, port: &mut Port<'_>) {
        while let Some(conn) = self.kernel.poll_ready() {
            self.write(SocketId(conn.0 as u32), port);
        }
        self.timer = false;
    }

    fn lost(&mut self, now: Moment, socket: SocketId) {
        self.full.remove(&socket);
        if self.open.remove(&socket) {
            self.tap.lost(socket);
            self.kernel.handle_closed(now, conn(socket));
        }
    }

    fn write(&mut self, socket: SocketId, port: &mut Port<'_>) {
        if !self.open.contains(&socket) {
            return;
        }
        loop {
            let budget = if self.full.contains(&socket) { 0 } else { port.room(socket) };
            let mut out = BytesMut::new();
            let transmit = self.kernel.poll_transmit(port.now(), conn(socket), &mut out, budget);
            if !out.is_empty() {
                let bytes = out.freeze();
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

    fn report(&mut self) {
        let status: Vec<_> = self
            .kernel
            .status()
            .federations
            .into_iter()
            .map(|federation| FederationView {
                name: federation.name,
                instances: federation.instances,
                federates: federation.federates.into_iter().map(|f| (f.name, f.dropped)).collect(),
            })
            .collect();
        if status != self.last_status {
            self.last_status.clone_from(&status);
            self.tap.note(Observation::Status(status));
        }
    }
}

fn conn(socket: SocketId) -> ConnId {
    ConnId(socket.0.into())
}
