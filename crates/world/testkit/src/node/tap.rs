//! Observes the server's side of the wire: calls in the order in which the kernel executes them,
//! and messages in the order in which it sends them.

use crate::observation::{Loss, Observation, SessionId};
use base::Serial31;
use bytes::Bytes;
use fedpro::frame::{Control, Decoder, MESSAGE_BYTES_MAX, Message, ResumeStatus};
use hla::api::{CallRequest, CallResponse, Message as _};
use netsim::{HostId, SocketId};
use std::collections::BTreeMap;

/// One connection as seen by the tap.
struct Wire {
    host: HostId,
    /// The id that a new session on it would get.
    fresh: SessionId,
    session: Option<SessionId>,
    incoming: Decoder,
    outgoing: Decoder,
    /// The kernel ignores all further input from the connection.
    deaf: bool,
}

/// One session as seen by the tap.
#[derive(Default)]
struct Track {
    socket: Option<SocketId>,
    last_call: Option<Serial31>,
    /// HLA messages sent, by number.
    sent: BTreeMap<u32, Bytes>,
}

/// Decodes the traffic, if it is on. Runs that are judged by the observations of federates alone do
/// not need it.
pub(super) struct Tap {
    on: bool,
    wires: BTreeMap<SocketId, Wire>,
    tracks: BTreeMap<SessionId, Track>,
    seen: Vec<Observation>,
}

impl Tap {
    pub(super) fn new(on: bool) -> Self {
        Self { on, wires: BTreeMap::new(), tracks: BTreeMap::new(), seen: Vec::new() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// The observations since the last call.
    pub(super) fn take(&mut self) -> Vec<Observation> {
        std::mem::take(&mut self.seen)
    }

    /// Records that a connection was accepted.
    pub(super) fn opened(&mut self, socket: SocketId, host: HostId, fresh: SessionId) {
        if !self.on {
            return;
        }
        let decoder = || Decoder::new(MESSAGE_BYTES_MAX);
        let wire = Wire { host, fresh, session: None, incoming: decoder(), outgoing: decoder(), deaf: false };
        self.wires.insert(socket, wire);
    }

    /// Decodes `bytes` that the kernel is about to receive.
    pub(super) fn incoming(&mut self, socket: SocketId, bytes: Bytes) {
        let Some(wire) = self.wires.get_mut(&socket) else { return };
        let mut decoder = std::mem::take(&mut wire.incoming);
        decoder.push(bytes);
        while let Ok(Some(frame)) = decoder.next_frame() {
            let (named, number) = (SessionId(frame.header.session), frame.header.numbers.sequence);
            if let Ok(message) = frame.message() {
                self.client_says(socket, named, number, message);
            }
        }
        if let Some(wire) = self.wires.get_mut(&socket) {
            wire.incoming = decoder;
        }
    }

    fn client_says(
        &mut self,
        socket: SocketId,
        named: SessionId,
        number: Option<Serial31>,
        message: Message,
    ) {
        let Some(wire) = self.wires.get_mut(&socket).filter(|wire| !wire.deaf) else { return };
        if let Message::Control(Control::NewSession { .. }) = message {
            let session = wire.fresh;
            wire.session = Some(session);
            self.tracks.insert(session, Track { socket: Some(socket), ..Track::default() });
            self.seen.push(Observation::Opened { session, host: wire.host });
            return;
        }
        // The old connection is given up at once; the new one counts once the kernel has agreed.
        if let Message::Control(Control::ResumeRequest { .. }) = message {
            if let Some(track) = self.tracks.get_mut(&named) {
                track.socket = None;
            }
            return;
        }
        let Some(session) = wire.session else { return };
        let Some(track) = self.tracks.get_mut(&session).filter(|track| track.socket == Some(socket)) else {
            return;
        };
        match (message, number) {
            (Message::CallRequest(body), Some(call)) => {
                if track.last_call.is_some_and(|last| call.get() <= last.get()) {
                    return;
                }
                track.last_call = Some(call);
                if let Ok(CallRequest { call_request: Some(request) }) = CallRequest::decode(body) {
                    self.seen.push(Observation::Executed { session, call, request });
                }
            }
            (Message::Control(Control::TerminateSession), _) => {
                wire.deaf = true;
                self.tracks.remove(&session);
                self.seen.push(Observation::Terminated { session });
            }
            _ => {}
        }
    }

    /// Records that a socket has no room, or has room again.
    pub(super) fn full(&mut self, socket: SocketId) {
        if let Some(session) = self.wires.get(&socket).and_then(|wire| wire.session) {
            self.seen.push(Observation::Full { session });
        }
    }

    /// Decodes `bytes` that the kernel gave to be written.
    pub(super) fn outgoing(&mut self, socket: SocketId, bytes: Bytes) {
        let Some(wire) = self.wires.get_mut(&socket) else { return };
        let mut decoder = std::mem::take(&mut wire.outgoing);
        decoder.push(bytes);
        while let Ok(Some(frame)) = decoder.next_frame() {
            let session = SessionId(frame.header.session);
            let number = frame.header.numbers.sequence;
            if let Ok(message) = frame.message() {
                self.server_says(socket, session, number, message);
            }
        }
        if let Some(wire) = self.wires.get_mut(&socket) {
            wire.outgoing = decoder;
        }
    }

    fn server_says(
        &mut self,
        socket: SocketId,
        session: SessionId,
        number: Option<Serial31>,
        message: Message,
    ) {
        match (message, number) {
            (Message::Control(Control::ResumeStatus { status, .. }), _) => {
                self.resume_decided(socket, session, status);
            }
            (Message::CallResponse { to, body }, Some(number)) if self.is_new(session, number, &body) => {
                let answer = CallResponse::decode(body).ok().and_then(|response| response.call_response);
                if let Some(answer) = answer {
                    self.seen.push(Observation::Answered { session, call: to, answer });
                }
            }
            (Message::CallbackRequest(body), Some(number)) if self.is_new(session, number, &body) => {
                self.seen.push(Observation::Called { session, number, body });
            }
            _ => {}
        }
    }

    /// Whether an HLA message leaves for the first time; otherwise records the repetition.
    fn is_new(&mut self, session: SessionId, number: Serial31, body: &Bytes) -> bool {
        let track = self.tracks.entry(session).or_default();
        match track.sent.get(&number.get()) {
            Some(earlier) => {
                let identical = earlier == body;
                self.seen.push(Observation::Repeated { session, number, identical });
                false
            }
            None => {
                track.sent.insert(number.get(), body.clone());
                true
            }
        }
    }

    fn resume_decided(&mut self, socket: SocketId, session: SessionId, status: ResumeStatus) {
        match status {
            ResumeStatus::Ok => {
                if let Some(wire) = self.wires.get_mut(&socket) {
                    wire.session = Some(session);
                }
                self.tracks.entry(session).or_default().socket = Some(socket);
                self.seen.push(Observation::Resumed { session });
            }
            _ => {
                if self.tracks.remove(&session).is_some() {
                    self.seen.push(Observation::Ended { session });
                }
            }
        }
    }

    /// Records that the kernel is about to learn of the loss of a connection.
    pub(super) fn lost(&mut self, socket: SocketId) {
        self.drop_wire(socket, |session| Observation::Interrupted { session, loss: Loss::Closed });
    }

    /// Records that the kernel closes the connection, by itself or because its timer fired.
    pub(super) fn closed_by_kernel(&mut self, socket: SocketId, timer: bool) {
        if timer {
            self.drop_wire(socket, |session| Observation::Interrupted { session, loss: Loss::Silent });
        } else if let Some(session) = self.drop_wire(socket, |session| Observation::Ended { session }) {
            self.tracks.remove(&session);
        }
    }

    fn drop_wire(
        &mut self,
        socket: SocketId,
        observation: impl FnOnce(SessionId) -> Observation,
    ) -> Option<SessionId> {
        let session = self.wires.remove(&socket)?.session?;
        let track = self.tracks.get_mut(&session).filter(|track| track.socket == Some(socket))?;
        track.socket = None;
        self.seen.push(observation(session));
        Some(session)
    }

    /// Records an event that is not on the wire.
    pub(super) fn note(&mut self, observation: Observation) {
        if self.on {
            self.seen.push(observation);
        }
    }
}
