//! The links of a simulated node: frames preceded by their lengths, over connections.

use super::Directory;
use base::Moment;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use kernel::{FrameKind, Kernel, LinkCounts, LinkId, LinkInput, LinkOutput, TargetId};
use netsim::{HostEvent, HostId, Port, SocketId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The port that nodes connect to.
pub const LINK_PORT: u16 = 15_165;
/// A longer frame is an error of the peer.
const FRAME_BYTES_MAX: usize = (1 << 20) + 1;
/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Frames sent over links, by contents. A relayed frame counts at each link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameCounts {
    /// Keep-alives of links.
    pub life: u64,
    /// The map of the network, greetings, paths.
    pub map: u64,
    /// The replicated log, its heartbeats included.
    pub log: u64,
    /// Peer messages between the services of nodes.
    pub peer_messages: u64,
    /// Interests, advertisements and messages of the routers.
    pub router: u64,
    /// Octets of all these frames.
    pub bytes: u64,
    /// Octets of peer messages and of the routers among them.
    pub service_bytes: u64,
}

impl FrameCounts {
    fn add(&mut self, frame: &Bytes) {
        let (kind, bytes) = (FrameKind::of(frame), frame.len() as u64);
        self.bytes += bytes;
        if matches!(kind, FrameKind::PeerMessage | FrameKind::Router) {
            self.service_bytes += bytes;
        }
        *match kind {
            FrameKind::Life => &mut self.life,
            FrameKind::Map => &mut self.map,
            FrameKind::Log => &mut self.log,
            FrameKind::PeerMessage => &mut self.peer_messages,
            FrameKind::Router => &mut self.router,
        } += 1;
    }

    /// The sum of these counts and others.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    /// The increase since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.zip(before, |a, b| a - b)
    }

    fn zip(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            life: of(self.life, other.life),
            map: of(self.map, other.map),
            log: of(self.log, other.log),
            peer_messages: of(self.peer_messages, other.peer_messages),
            router: of(self.router, other.router),
            bytes: of(self.bytes, other.bytes),
            service_bytes: of(self.service_bytes, other.service_bytes),
        }
    }

    /// Number of frames that are neither keep-alives nor part of the replicated log.
    pub fn news(&self) -> u64 {
        self.map + self.peer_messages + self.router
    }

    /// Number of all frames.
    pub fn frames(&self) -> u64 {
        self.life + self.log + self.news()
    }
}

/// One link.
struct Wire {
    link: LinkId,
    peer: HostId,
    incoming: BytesMut,
}

/// The links of one node.
pub(super) struct Links {
    directory: Directory,
    made: u64,
    wires: BTreeMap<SocketId, Wire>,
    sockets: BTreeMap<LinkId, SocketId>,
    dialling: BTreeMap<SocketId, (TargetId, Moment)>,
    sent: FrameCounts,
}

impl Links {
    /// The initial state, without links; `directory` has the hosts of other nodes.
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            directory,
            made: 0,
            wires: BTreeMap::new(),
            sockets: BTreeMap::new(),
            dialling: BTreeMap::new(),
            sent: FrameCounts::default(),
        }
    }

    /// Sockets of links, including those that are being opened.
    pub(super) fn sockets(&self) -> BTreeSet<SocketId> {
        self.wires.keys().chain(self.dialling.keys()).copied().collect()
    }

    /// Whether the event concerns a link, or a connection that becomes one.
    pub(super) fn is_mine(&self, event: &HostEvent) -> bool {
        match *event {
            HostEvent::Opened { socket, port, .. } => port == LINK_PORT || self.has(socket),
            HostEvent::Received { socket, .. }
            | HostEvent::Ended { socket }
            | HostEvent::Broken { socket, .. }
            | HostEvent::Writable { socket } => self.has(socket),
            HostEvent::Datagram { .. } | HostEvent::Woken => false,
        }
    }

    fn has(&self, socket: SocketId) -> bool {
        self.wires.contains_key(&socket) || self.dialling.contains_key(&socket)
    }

    /// Handles an event of a link.
    pub(super) fn handle(&mut self, event: HostEvent, kernel: &mut Kernel, port: &mut Port<'_>) {
        let now = port.now();
        match event {
            HostEvent::Opened { socket, peer, .. } => {
                let target = self.dialling.remove(&socket).map(|(target, _)| target);
                self.made += 1;
                let link = LinkId(self.made);
                self.wires.insert(socket, Wire { link, peer, incoming: BytesMut::new() });
                self.sockets.insert(link, socket);
                kernel.handle_link(now, LinkInput::Up { link, target });
            }
            HostEvent::Received { socket, bytes } => self.received(socket, &bytes, kernel, port),
            HostEvent::Ended { socket } => {
                self.gone(now, socket, "the other side closed it", kernel);
                port.close(socket);
            }
            HostEvent::Broken { socket, reason } => {
                let reason = &*format!("{reason:?}");
                match self.dialling.remove(&socket) {
                    Some((target, _)) => kernel.handle_link(now, LinkInput::Failed { target, reason }),
                    None => self.gone(now, socket, reason, kernel),
                }
            }
            HostEvent::Writable { socket } => {
                if let Some(link) = self.wires.get(&socket).map(|wire| wire.link) {
                    self.write(link, kernel, port);
                }
            }
            HostEvent::Datagram { .. } | HostEvent::Woken => {}
        }
    }

    fn received(&mut self, socket: SocketId, bytes: &Bytes, kernel: &mut Kernel, port: &mut Port<'_>) {
        let now = port.now();
        if let Some(wire) = self.wires.get_mut(&socket) {
            wire.incoming.extend_from_slice(bytes);
        }
        while let Some(wire) = self.wires.get_mut(&socket) {
            let Some(prefix) = wire.incoming.first_chunk::<4>() else { return };
            let length = u32::from_be_bytes(*prefix) as usize;
            let link = wire.link;
            if length > FRAME_BYTES_MAX {
                self.forget(socket);
                port.reset(socket);
                let reason = &*format!("a frame of {length} bytes was announced");
                return kernel.handle_link(now, LinkInput::Down { link, reason });
            }
            if wire.incoming.len() < 4 + length {
                return;
            }
            wire.incoming.advance(4);
            let frame = wire.incoming.split_to(length).freeze();
            kernel.handle_link(now, LinkInput::Frame { link, frame });
        }
    }

    /// Carries out the kernel's outputs for its links. Returns whether there were any.
    pub(super) fn settle(&mut self, kernel: &mut Kernel, port: &mut Port<'_>) -> bool {
        let now = port.now();
        let mut any = false;
        let late: Vec<_> = self.dialling.iter().filter(|(_, (_, until))| *until <= now).collect();
        let late: Vec<_> = late.into_iter().map(|(&socket, &(target, _))| (socket, target)).collect();
        for (socket, target) in late {
            self.dialling.remove(&socket);
            port.reset(socket);
            kernel.handle_link(now, LinkInput::Failed { target, reason: "no answer" });
        }
        while let Some(output) = kernel.poll_link() {
            any = true;
            self.obey(output, kernel, port);
        }
        any
    }

    /// When [`Links::settle`] is due without an input.
    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.dialling.values().map(|&(_, until)| until).min()
    }

    fn obey(&mut self, output: LinkOutput, kernel: &mut Kernel, port: &mut Port<'_>) {
        let now = port.now();
        match output {
            LinkOutput::Connect { target, url } => match self.directory.get(&url) {
                Some(&host) => {
                    let socket = port.connect(host, LINK_PORT);
                    self.dialling.insert(socket, (target, now + CONNECT_TIMEOUT));
                }
                None => {
                    let reason = "nobody has that address";
                    kernel.handle_link(now, LinkInput::Failed { target, reason });
                }
            },
            LinkOutput::Close { link, .. } => {
                self.write(link, kernel, port);
                if let Some(socket) = self.sockets.get(&link).copied() {
                    self.forget(socket);
                    port.close(socket);
                }
            }
            LinkOutput::Ready(link) => self.write(link, kernel, port),
        }
    }

    fn write(&mut self, link: LinkId, kernel: &mut Kernel, port: &mut Port<'_>) {
        let Some(socket) = self.sockets.get(&link).copied() else { return };
        let mut out = BytesMut::new();
        let room = port.room(socket);
        // A sender that fills the connection is notified when there is room again.
        while out.len() < room {
            let Some(frame) = kernel.poll_link_frame(port.now(), link) else { break };
            self.sent.add(&frame);
            append(&mut out, &frame);
        }
        if !out.is_empty() {
            // The socket reports a connection that has broken meanwhile by its own event.
            let _ = port.send(socket, out.freeze());
        }
    }

    /// Frames sent so far.
    pub(super) fn sent(&self) -> &FrameCounts {
        &self.sent
    }

    /// Sends a frame that the kernel did not make.
    pub(super) fn forge(&self, to: HostId, frame: &[u8], port: &mut Port<'_>) {
        let mut out = BytesMut::new();
        append(&mut out, frame);
        if let Some((&socket, _)) = self.wires.iter().find(|(_, wire)| wire.peer == to) {
            let _ = port.send(socket, out.freeze());
        }
    }

    pub(super) fn is_linked(&self, to: HostId) -> bool {
        self.wires.values().any(|wire| wire.peer == to)
    }

    /// Reports counters of all links to the kernel.
    pub(super) fn count(&self, counts: LinkCounts, kernel: &mut Kernel, port: &Port<'_>) {
        for &link in self.sockets.keys() {
            kernel.handle_link(port.now(), LinkInput::Counts { link, counts });
        }
    }

    fn gone(&mut self, now: Moment, socket: SocketId, reason: &str, kernel: &mut Kernel) {
        if let Some(link) = self.forget(socket) {
            kernel.handle_link(now, LinkInput::Down { link, reason });
        }
    }

    fn forget(&mut self, socket: SocketId) -> Option<LinkId> {
        self.dialling.remove(&socket);
        let wire = self.wires.remove(&socket)?;
        self.sockets.remove(&wire.link);
        Some(wire.link)
    }
}

/// Appends a frame preceded by its length.
fn append(out: &mut BytesMut, frame: &[u8]) {
    out.put_u32(u32::try_from(frame.len()).expect("frames are shorter than 4 GiB"));
    out.put_slice(frame);
}
