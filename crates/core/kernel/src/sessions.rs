//! The mapping of sessions to callers of the services, and the calls that wait for their turn.

use base::Serial31;
use bytes::Bytes;
use fedpro::server::{ConnId, SessionKey};
use hla::api::call_request::CallRequest as Call;
use hla::api::{CallRequest, Message as _};
use rti::CallerId;
use std::collections::VecDeque;

/// One session of a federate.
pub(crate) struct Session {
    pub(crate) key: SessionKey,
    pub(crate) caller: CallerId,
    /// The connection that carries it, or carried it last.
    conn: ConnId,
    /// One of its calls waits until all nodes agree on its order. Later calls wait behind it,
    /// because the calls of one federate are served in order.
    waiting: bool,
    /// Bounded by the endpoint's limit on outstanding calls. The calls stay encoded, because a
    /// decoded call may take a multiple of the memory.
    later: VecDeque<(Serial31, Bytes)>,
}

/// The sessions, by slot of their key.
#[derive(Default)]
pub(crate) struct Sessions {
    slots: Vec<Option<Session>>,
    last_caller: u64,
    /// All calls wait, because this node is not yet a member of its network.
    closed: bool,
}

impl Sessions {
    /// Adds a session, and assigns the number by which the services know it.
    pub(crate) fn open(&mut self, key: SessionKey, conn: ConnId) -> CallerId {
        self.last_caller += 1;
        // The slot in the low half finds the session again.
        let caller = CallerId(self.last_caller << 32 | key.slot() as u64);
        if self.slots.len() <= key.slot() {
            self.slots.resize_with(key.slot() + 1, || None);
        }
        self.slots[key.slot()] = Some(Session { key, caller, conn, waiting: false, later: VecDeque::new() });
        caller
    }

    /// Forgets a session that has ended.
    pub(crate) fn close(&mut self, key: SessionKey) -> Option<CallerId> {
        let entry = self.slots.get_mut(key.slot())?;
        entry.take_if(|session| session.key == key).map(|session| session.caller)
    }

    /// The caller of a session.
    pub(crate) fn caller(&self, key: SessionKey) -> Option<CallerId> {
        let session = self.slots.get(key.slot())?.as_ref()?;
        (session.key == key).then_some(session.caller)
    }

    /// The session of a caller.
    pub(crate) fn key(&self, caller: CallerId) -> Option<SessionKey> {
        Some(self.of(caller)?.key)
    }

    /// All sessions.
    pub(crate) fn keys(&self) -> impl Iterator<Item = SessionKey> + '_ {
        self.slots.iter().flatten().map(|session| session.key)
    }

    /// The session continues on another connection.
    pub(crate) fn moved(&mut self, key: SessionKey, conn: ConnId) {
        if let Some(session) = self.slots.get_mut(key.slot()).and_then(Option::as_mut)
            && session.key == key
        {
            session.conn = conn;
        }
    }

    /// The connection of a caller's session.
    pub(crate) fn conn(&self, caller: CallerId) -> Option<ConnId> {
        Some(self.of(caller)?.conn)
    }

    /// All callers.
    pub(crate) fn callers(&self) -> impl Iterator<Item = CallerId> + '_ {
        self.slots.iter().flatten().map(|session| session.caller)
    }

    /// Makes all calls wait from now on, or ends that. Returns true if this is a change.
    pub(crate) fn set_closed(&mut self, closed: bool) -> bool {
        std::mem::replace(&mut self.closed, closed) != closed
    }

    /// Whether any call waits for its turn.
    pub(crate) fn are_waiting(&self) -> bool {
        self.slots.iter().flatten().any(|session| !session.later.is_empty())
    }

    /// Takes a deferred call, whatever it waits for.
    pub(crate) fn take_call(&mut self, caller: CallerId) -> Option<(Serial31, Call)> {
        self.of_mut(caller)?.later.pop_front().and_then(read)
    }

    /// Returns the call if it may be served now. Otherwise it defers the call and returns `None`.
    /// `early`: the call need not wait for this node to become a member of its network.
    pub(crate) fn admit(
        &mut self,
        caller: CallerId,
        number: Serial31,
        call: Call,
        early: bool,
    ) -> Option<Call> {
        let closed = self.closed;
        let session = self.of_mut(caller)?;
        if session.waiting || closed && !(early && session.later.is_empty()) {
            session.later.push_back((number, encode(call)));
            return None;
        }
        Some(call)
    }

    /// Notes that the caller's call waits for its outcome. All later ones wait with it.
    pub(crate) fn wait(&mut self, caller: CallerId) {
        if let Some(session) = self.of_mut(caller) {
            session.waiting = true;
        }
    }

    /// Notes that the outcome has arrived.
    pub(crate) fn go_on(&mut self, caller: CallerId) {
        if let Some(session) = self.of_mut(caller) {
            session.waiting = false;
        }
    }

    /// The next call of a caller that may be served now.
    pub(crate) fn next_call(&mut self, caller: CallerId) -> Option<(Serial31, Call)> {
        let closed = self.closed;
        let session = self.of_mut(caller).filter(|session| !session.waiting && !closed)?;
        session.later.pop_front().and_then(read)
    }

    fn of(&self, caller: CallerId) -> Option<&Session> {
        let session = self.slots.get(slot(caller))?.as_ref()?;
        (session.caller == caller).then_some(session)
    }

    fn of_mut(&mut self, caller: CallerId) -> Option<&mut Session> {
        let session = self.slots.get_mut(slot(caller))?.as_mut()?;
        (session.caller == caller).then_some(session)
    }
}

fn encode(call: Call) -> Bytes {
    CallRequest { call_request: Some(call) }.encode_to_vec().into()
}

fn read((number, body): (Serial31, Bytes)) -> Option<(Serial31, Call)> {
    let request = CallRequest::decode(body).expect("it was encoded here");
    Some((number, request.call_request?))
}

fn slot(caller: CallerId) -> usize {
    (caller.0 & u64::from(u32::MAX)) as usize
}
