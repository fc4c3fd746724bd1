//! A malicious client: it sends garbage to the ports of nodes, and valid messages at the wrong
//! time.

use crate::draw::Draw;
use crate::node::{LINK_PORT, PORT};
use base::{Moment, Serial31};
use bytes::{BufMut as _, Bytes, BytesMut};
use fedpro::frame::{Control, HeaderView, MessageType, Numbers, PROTOCOL_VERSION, put_control, put_hla};
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, CallRequest, Message as _};
use netsim::{HostEvent, HostId, Port, SocketId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Largest number of its connections at a time.
const CONNECTIONS_MAX: usize = 40;
/// Longest piece of garbage in bytes.
const NONSENSE_MAX: u64 = 3_000;
/// Names of federations and federates that it invents; no federate of the run uses them.
const NAMES: [&str; 3] = ["nobody's", "", "\u{1f980}"];

/// A malicious client. It is not a member of a federation, and ignores the answers that it gets.
pub(crate) struct Hostile {
    nodes: Vec<HostId>,
    draw: Draw,
    call_interval: Duration,
    open: BTreeMap<SocketId, Talk>,
}

/// The state of a conversation on a connection.
#[derive(Clone, Copy, Default)]
struct Talk {
    /// The number of its session, once the node has begun one.
    session: u64,
    /// The number of the next call.
    next: u32,
}

impl Hostile {
    /// A client that draws its actions from `draw`, about every `call_interval`.
    pub(crate) fn new(nodes: Vec<HostId>, call_interval: Duration, draw: Draw) -> Self {
        Self { nodes, draw, call_interval, open: BTreeMap::new() }
    }

    /// See [`netsim::Host::handle`].
    pub(crate) fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        match event {
            HostEvent::Woken => self.act(port),
            HostEvent::Opened { socket, .. } => {
                self.open.insert(socket, Talk::default());
                // If it does not read, its answers pile up at the node.
                port.set_reading(socket, self.draw.chance(70));
                self.send(socket, port);
            }
            // The node ended its side, so this one closes too.
            HostEvent::Ended { socket } => {
                self.open.remove(&socket);
                port.close(socket);
            }
            HostEvent::Broken { socket, .. } => {
                self.open.remove(&socket);
            }
            HostEvent::Received { socket, bytes } => {
                let header = HeaderView::parse(&bytes, usize::MAX);
                if let (Ok(header), Some(talk)) = (header, self.open.get_mut(&socket)) {
                    talk.session = header.header().session;
                }
            }
            HostEvent::Writable { .. } | HostEvent::Datagram { .. } => {}
        }
    }

    fn act(&mut self, port: &mut Port<'_>) {
        let next = self.draw.micros(1, 2 * self.call_interval.as_micros() as u64);
        port.wake(Some(port.now() + next));
        let open: Vec<_> = self.open.keys().copied().collect();
        match self.draw.pick(&open).copied() {
            Some(socket) if self.draw.chance(50) => self.send(socket, port),
            Some(socket) if self.draw.chance(20) => {
                self.open.remove(&socket);
                if self.draw.chance(50) { port.close(socket) } else { port.reset(socket) }
            }
            _ => {
                for _ in 0..self.draw.between(1, 12) {
                    if self.open.len() < CONNECTIONS_MAX {
                        let node = *self.draw.pick(&self.nodes).expect("there are nodes");
                        let to = if self.draw.chance(70) { PORT } else { LINK_PORT };
                        port.connect(node, to);
                    }
                }
            }
        }
    }

    /// Sends well-formed messages on a connection, which may be cut short or damaged.
    fn send(&mut self, socket: SocketId, port: &mut Port<'_>) {
        let Some(mut talk) = self.open.get(&socket).copied() else { return };
        let mut out = BytesMut::new();
        for _ in 0..self.draw.between(0, 4) {
            self.put_message(&mut talk, &mut out);
        }
        self.open.insert(socket, talk);
        if self.draw.chance(30) {
            out.truncate(self.draw.below(out.len() as u64 + 1) as usize);
        }
        if self.draw.chance(30) && !out.is_empty() {
            let at = self.draw.below(out.len() as u64) as usize;
            out[at] = self.draw.below(256) as u8;
        }
        // The socket reports a connection that has broken meanwhile by its own event.
        let _ = port.send(socket, out.freeze());
    }

    fn put_message(&mut self, talk: &mut Talk, out: &mut BytesMut) {
        let usual = self.draw.chance(80);
        let session = if usual { talk.session } else { self.draw.below(u64::MAX) };
        let any = |draw: &mut Draw| Serial31::new(draw.below(1 << 32) as u32);
        let numbers = match usual {
            true => Numbers { sequence: Serial31::new(talk.next), last_received: None },
            false => Numbers { sequence: any(&mut self.draw), last_received: any(&mut self.draw) },
        };
        match self.draw.below(10) {
            0..=2 => {
                let version = if usual { PROTOCOL_VERSION } else { self.draw.below(1 << 32) as u32 };
                put_control(out, 0, Numbers::default(), Control::NewSession { version });
            }
            3 => {
                let last_received = any(&mut self.draw);
                let resume = Control::ResumeRequest { last_received, oldest_available: last_received };
                put_control(out, session, numbers, resume);
            }
            4 => put_control(out, session, numbers, Control::TerminateSession),
            5..=7 => {
                talk.next += 1;
                put_hla(out, MessageType::CallRequest, session, numbers, None, &self.call());
            }
            8 => {
                talk.next += 1;
                put_hla(out, MessageType::CallRequest, session, numbers, None, &self.nonsense());
            }
            _ => out.put_slice(&self.nonsense()),
        }
    }

    fn call(&mut self) -> Bytes {
        let federation_name = (*self.draw.pick(&NAMES).expect("there are names")).to_owned();
        let call = match self.draw.below(4) {
            0 => Call::ConnectRequest(api::ConnectRequest {}),
            1 => Call::ListFederationExecutionsRequest(api::ListFederationExecutionsRequest {}),
            2 => Call::DestroyFederationExecutionRequest(api::DestroyFederationExecutionRequest {
                federation_name,
            }),
            _ => Call::ListFederationExecutionMembersRequest(api::ListFederationExecutionMembersRequest {
                federation_name,
            }),
        };
        CallRequest { call_request: Some(call) }.encode_to_vec().into()
    }

    fn nonsense(&mut self) -> Bytes {
        let len = self.draw.below(NONSENSE_MAX);
        (0..len).map(|_| self.draw.below(256) as u8).collect::<Vec<_>>().into()
    }
}

/// When the first one acts: nodes have then begun to find each other.
pub(crate) const BEGIN: Moment = Moment::from_millis(50);
