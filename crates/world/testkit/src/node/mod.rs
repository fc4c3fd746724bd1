//! A host that runs a node: a kernel, the connections of its federates, its links and its multicast
//! groups.

mod config;
mod connections;
mod disk;
mod jobs;
mod links;
mod multicast;
mod tap;

pub use config::{View, key, name, target};
pub use connections::PORT;
pub(crate) use disk::Refuses;
pub use links::{FrameCounts, LINK_PORT};

use crate::log;
use crate::observation::{FederationView, Observation, SessionId};
use crate::options::Options;
use base::Moment;
use bytes::Bytes;
use connections::Connections;
use disk::Disk;
use jobs::Jobs;
use kernel::{Kernel, LinkCounts, NetworkConfig, Record};
use links::Links;
use multicast::Groups;
use netsim::{HostEvent, HostId, Port};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The hosts of nodes, by URL.
pub(crate) type Directory = Arc<BTreeMap<String, HostId>>;

/// The directory of a cluster, whose nodes are the first hosts.
pub(crate) fn directory(nodes: usize) -> Directory {
    Arc::new((0..nodes).map(|node| (config::url(node), HostId(node as u32))).collect())
}

/// A node.
///
/// It keeps to the kernel's contract and no more: after each input it takes all outputs, and it
/// wakes the kernel exactly when the kernel asked for it.
pub struct Node {
    kernel: Kernel,
    connections: Connections,
    links: Links,
    groups: Groups,
    disk: Disk,
    jobs: Jobs,
    /// Sessions that are served, each with its network.
    served: Vec<(SessionId, u64)>,
    /// Events since the process was suspended, if it is.
    stopped: Option<Vec<HostEvent>>,
    last_status: Vec<FederationView>,
}

impl Node {
    /// A start of a node, with the state that its last start has `stored`. `adjust` may change any
    /// setting.
    pub(crate) fn new(
        options: &Options,
        now: Moment,
        (node, start): (usize, u32),
        directory: &Directory,
        stored: Option<Bytes>,
        adjust: impl FnOnce(&mut NetworkConfig),
    ) -> Self {
        let kept = Disk::kept(options.disk, stored.as_ref());
        let adjust = |config: &mut NetworkConfig| {
            config.kept = kept;
            adjust(config);
        };
        let seed = config::seed(options, node, start);
        let hosts = (0..options.nodes() as u32).map(HostId).collect();
        let loss = options.multicast.map_or(0, |multicast| multicast.loss);
        Self {
            kernel: config::kernel(options, now, (node, start), adjust),
            connections: Connections::new(seed.split("sessions"), options),
            links: Links::new(Arc::clone(directory)),
            groups: Groups::new(hosts, loss, seed.split("casts")),
            disk: Disk::new(options.disk, seed.split("disk"), stored),
            jobs: Jobs::new(options.reading, node),
            served: Vec::new(),
            stopped: None,
            last_status: Vec::new(),
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The image that a crash leaves on its disk.
    pub(crate) fn stored(&self) -> Option<Bytes> {
        self.disk.stored()
    }

    /// The record that its next start will find.
    ///
    /// # Panics
    /// The disk has something else: a mistake of this test kit.
    pub fn record(&self) -> Option<Record> {
        self.disk.stored().map(|image| Record::from_image(&image).expect("a disk gives back what it got"))
    }

    /// Number of federates whose connections it does not read now, and number of times that it has
    /// paused one.
    pub fn paused(&self) -> (usize, u64) {
        self.connections.paused()
    }

    /// Frames that it has sent over links.
    pub fn sent_frames(&self) -> &FrameCounts {
        self.links.sent()
    }

    /// The sessions that began since the last call and are served, each with its network. A session
    /// belongs to one network: it ends when the node leaves its network, and is not served before
    /// the node is in one.
    pub(crate) fn take_served(&mut self) -> Vec<(SessionId, u64)> {
        std::mem::take(&mut self.served)
    }

    /// The observations since the last call.
    pub(crate) fn take_seen(&mut self) -> Vec<Observation> {
        self.connections.tap().take()
    }

    /// Starts its process.
    pub(crate) fn begin(&mut self, port: &mut Port<'_>) {
        self.settle(port);
    }

    /// Ends all sessions and leaves the network.
    pub(crate) fn leave(&mut self, port: &mut Port<'_>) {
        self.kernel.begin_shutdown(port.now());
        self.settle(port);
    }

    /// Suspends the process: it reads nothing from its connections, and its clock does not tick.
    pub(crate) fn stop(&mut self, port: &mut Port<'_>) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some(Vec::new());
        self.set_reading(port, false);
        port.wake(None);
    }

    /// Resumes the process.
    pub(crate) fn go_on(&mut self, port: &mut Port<'_>) {
        let Some(missed) = self.stopped.take() else { return };
        for event in missed {
            self.take_in(event, port);
        }
        self.set_reading(port, true);
        self.kernel.handle_timeout(port.now());
        self.settle(port);
    }

    /// Sets the operations that its disk refuses from now on.
    pub(crate) fn refuse(&mut self, refuses: Refuses) {
        self.disk.refuse(refuses);
    }

    /// Sends a frame to the node on `to` that its kernel did not make.
    pub(crate) fn forge(&mut self, to: HostId, frame: &[u8], port: &mut Port<'_>) {
        self.links.forge(to, frame, port);
    }

    /// Whether a link leads to the node on `to`.
    pub(crate) fn is_linked(&self, to: HostId) -> bool {
        self.links.is_linked(to)
    }

    /// Reports counters to the kernel for each of its links.
    pub(crate) fn count(&mut self, counts: LinkCounts, port: &mut Port<'_>) {
        self.links.count(counts, &mut self.kernel, port);
    }

    fn set_reading(&mut self, port: &mut Port<'_>, reading: bool) {
        let sockets = self.connections.sockets().iter().copied().chain(self.links.sockets());
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
        // The operating system goes on accepting connections for a suspended process.
        if let HostEvent::Opened { socket, .. } = event {
            port.set_reading(socket, false);
        }
        if !matches!(event, HostEvent::Woken) {
            missed.push(event);
        }
    }

    fn take_in(&mut self, event: HostEvent, port: &mut Port<'_>) {
        if self.links.is_mine(&event) {
            return self.links.handle(event, &mut self.kernel, port);
        }
        match event {
            HostEvent::Datagram { from, bytes } => self.groups.handle(from, &bytes, port.now()),
            HostEvent::Opened { port: wanted, socket, .. } if wanted != PORT && wanted != LINK_PORT => {
                port.reset(socket);
            }
            other => self.connections.handle(other, &mut self.kernel, port),
        }
    }

    fn settle(&mut self, port: &mut Port<'_>) {
        log::set_present(port.now(), port.host().0 as usize);
        let kernel = &mut self.kernel;
        loop {
            self.jobs.settle(kernel, port.now());
            self.links.settle(kernel, port);
            self.connections.give_out(kernel, port);
            self.connections.pause_and_resume(kernel, port);
            let now = port.now();
            let any = self.links.settle(kernel, port) | self.disk.settle(now, kernel);
            let any = self.groups.settle(kernel, port) | any;
            if !self.jobs.settle(kernel, now) && !any {
                break;
            }
        }
        if let Some(network) = kernel.member_of() {
            self.served.extend(self.connections.take_fresh().into_iter().map(|session| (session, network)));
        }
        let (links, groups) = (self.links.poll_timeout(), self.groups.poll_timeout());
        let timeouts =
            [kernel.poll_timeout(), links, groups, self.disk.poll_timeout(), self.jobs.poll_timeout()];
        port.wake(timeouts.into_iter().flatten().min());
        if self.connections.tap().is_on() {
            self.report();
        }
    }

    /// Records the kernel's status if it has changed.
    fn report(&mut self) {
        let federations = self.kernel.status().federations.into_iter();
        let status: Vec<_> = federations
            .map(|federation| FederationView {
                name: federation.name,
                instances: federation.instances,
                federates: federation.federates.into_iter().map(|f| (f.name, f.dropped)).collect(),
            })
            .collect();
        if status != self.last_status {
            self.last_status.clone_from(&status);
            self.connections.tap().note(Observation::Status(status));
        }
    }
}

/// A node's view of its network; `None` without a network.
pub(crate) fn view(kernel: &Kernel) -> Option<View> {
    config::view(kernel)
}
