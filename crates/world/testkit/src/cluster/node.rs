//! A host that runs a node: a kernel, the connections of its federates, and its links.

use super::casts::Casts;
use super::links::{LINK_PORT, Links};
use super::log;
use crate::observation::SessionId;
use crate::server::{PORT, Server};
use base::Seed;
use kernel::Kernel;
use netsim::{HostEvent, HostId, Port};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node.
///
/// Like a [`Server`], it keeps to the kernel's contract and no more.
pub struct Node {
    server: Server,
    links: Links,
    casts: Casts,
    /// Sessions that are served, and by which network.
    served: Vec<(SessionId, u64)>,
    /// The process stands still; what happened to it since.
    stopped: Option<Vec<HostEvent>>,
}

impl Node {
    /// A node around `kernel`. Session ids come from `seed`; where other nodes are says `directory`.
    pub(super) fn new(
        kernel: Kernel,
        seed: Seed,
        directory: Arc<BTreeMap<String, HostId>>,
        casts: Casts,
    ) -> Self {
        Self {
            server: Server::unwatched(kernel, seed),
            links: Links::new(directory),
            casts,
            served: Vec::new(),
            stopped: None,
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        self.server.kernel()
    }

    /// Federates that it holds back now, and how often it has held back one.
    pub fn held(&self) -> (usize, u64) {
        self.server.held()
    }

    /// Which network serves the sessions that it serves since the last call. A session is in one: it ends when the node leaves
    /// its network, and is not served before the node is in one.
    pub fn take_served(&mut self) -> Vec<(SessionId, u64)> {
        std::mem::take(&mut self.served)
    }

    /// Its process starts.
    pub fn begin(&mut self, port: &mut Port<'_>) {
        self.settle(port);
    }

    /// It ends all sessions and leaves the network.
    pub fn leave(&mut self, port: &mut Port<'_>) {
        self.server.kernel_mut().begin_shutdown(port.now());
        self.settle(port);
    }

    /// The process stands still: it takes nothing from its connections, and its clock does not tick.
    pub fn stop(&mut self, port: &mut Port<'_>) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some(Vec::new());
        self.set_reading(port, false);
        port.wake(None);
    }

    /// It goes on.
    pub fn go_on(&mut self, port: &mut Port<'_>) {
        let Some(missed) = self.stopped.take() else { return };
        for event in missed {
            self.take_in(event, port);
        }
        self.set_reading(port, true);
        self.server.kernel_mut().handle_timeout(port.now());
        self.settle(port);
    }

    fn set_reading(&mut self, port: &mut Port<'_>, reading: bool) {
        let sockets = self.server.sockets().iter().copied().chain(self.links.sockets());
        for socket in sockets.collect::<Vec<_>>() {
            port.set_reading(socket, reading);
        }
    }

    /// See [`netsim::Host::handle`].
    pub fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        log::set_present(port.now(), port.host().0 as usize);
        let Some(missed) = &mut self.stopped else {
            self.take_in(event, port);
            return self.settle(port);
        };
        // The system goes on accepting connections for a process that stands still.
        if let HostEvent::Opened { socket, .. } = event {
            port.set_reading(socket, false);
        }
        if !matches!(event, HostEvent::Woken) {
            missed.push(event);
        }
    }

    fn take_in(&mut self, event: HostEvent, port: &mut Port<'_>) {
        if self.links.is_mine(&event) {
            return self.links.handle(event, self.server.kernel_mut(), port);
        }
        match event {
            HostEvent::Datagram { from, bytes } => self.casts.handle(from, &bytes, port.now()),
            HostEvent::Opened { port: wanted, socket, .. } if wanted != PORT && wanted != LINK_PORT => {
                port.reset(socket);
            }
            other => self.server.take_in(other, port),
        }
    }

    fn settle(&mut self, port: &mut Port<'_>) {
        log::set_present(port.now(), port.host().0 as usize);
        loop {
            self.links.settle(self.server.kernel_mut(), port);
            self.server.give_out(port);
            self.server.hold_back(port);
            let any = self.links.settle(self.server.kernel_mut(), port);
            if !self.casts.settle(self.server.kernel_mut(), port) && !any {
                break;
            }
        }
        if let Some(network) = self.server.kernel().member_of() {
            self.served.extend(self.server.take_fresh().into_iter().map(|session| (session, network)));
        }
        let timeouts =
            [self.server.kernel().poll_timeout(), self.links.poll_timeout(), self.casts.poll_timeout()];
        port.wake(timeouts.into_iter().flatten().min());
    }
}
