//! A client session against an endpoint over connections that break anywhere.
//!
//! Safety: each call is executed once and in order, and answered once with the right response; each
//! callback is delivered once and in order, no matter what is cut, refused, delayed or noticed
//! late. Liveness: once connections hold, everything is answered and delivered, and the session
//! ends in order.

use base::{Address, Moment, Serial31};
use bytes::{Bytes, BytesMut};
use fedpro::client::{self, Action, Session};
use fedpro::server::{self, ConnId, EndReason, Endpoint, SessionKey};
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, Message, call_request::CallRequest as Call, call_response::CallResponse as Answer};
use hla::handle::FederateHandle;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Op {
    Call,
    Callback,
    /// The kernel answers the oldest or the newest outstanding call.
    Answer {
        newest: bool,
    },
    ClientWrites(usize),
    ServerWrites(usize),
    /// So many bytes arrive.
    ToServer(usize),
    ToClient(usize),
    /// The connection breaks. The client learns of it now, and the server may.
    Cut {
        server_notices: bool,
    },
    /// The server learns of the connections that broke before.
    Notice,
    /// The next attempts to connect fail.
    Refuse(u8),
    Advance(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => Just(Op::Call),
        4 => Just(Op::Callback),
        3 => any::<bool>().prop_map(|newest| Op::Answer { newest }),
        4 => (1usize..200).prop_map(Op::ClientWrites),
        4 => (1usize..200).prop_map(Op::ServerWrites),
        5 => (1usize..150).prop_map(Op::ToServer),
        5 => (1usize..150).prop_map(Op::ToClient),
        1 => any::<bool>().prop_map(|server_notices| Op::Cut { server_notices }),
        1 => Just(Op::Notice),
        1 => (0u8..4).prop_map(Op::Refuse),
        2 => (0u64..70).prop_map(Op::Advance),
    ]
}

struct World {
    now: Moment,
    client: Session,
    endpoint: Endpoint,
    session: Option<SessionKey>,
    /// The connection that the client has.
    conn: Option<ConnId>,
    /// Connections that are broken without the endpoint knowing it yet.
    broken: Vec<ConnId>,
    next_conn: u64,
    refuse: u8,
    to_server: BytesMut,
    to_client: BytesMut,
    /// The calls that the endpoint delivered: number, payload.
    executed: Vec<(Serial31, u32)>,
    unanswered: Vec<(Serial31, u32)>,
    /// The payload of each call of the client.
    asked: BTreeMap<u32, u32>,
    answered: Vec<u32>,
    calls: u32,
    callbacks: u32,
    delivered: Vec<u32>,
    resumes: u32,
    terminated: bool,
    ended: Option<EndReason>,
}

fn handle(k: u32) -> Option<FederateHandle> {
    Some(FederateHandle(k + 1))
}

impl World {
    fn new(client_first: u32, server_first: u32) -> Self {
        let forever = Duration::from_secs(1_000_000);
        let client = client::Config {
            first_sequence: Serial31::new(client_first).expect("31 bits"),
            reconnect_window: forever,
            ..Default::default()
        };
        let server = server::Config {
            first_sequence: Serial31::new(server_first).expect("31 bits"),
            resume_window: forever,
            ..Default::default()
        };
        Self {
            now: Moment::ZERO,
            client: Session::new(Moment::ZERO, client),
            endpoint: Endpoint::new(server),
            session: None,
            conn: None,
            broken: Vec::new(),
            next_conn: 1,
            refuse: 0,
            to_server: BytesMut::new(),
            to_client: BytesMut::new(),
            executed: Vec::new(),
            unanswered: Vec::new(),
            asked: BTreeMap::new(),
            answered: Vec::new(),
            calls: 0,
            callbacks: 0,
            delivered: Vec::new(),
            resumes: 0,
            terminated: false,
            ended: None,
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Call => self.call(),
            Op::Callback => self.callback(),
            Op::Answer { newest } => self.answer(newest),
            Op::ClientWrites(budget) => self.client_writes(budget),
            Op::ServerWrites(budget) => self.server_writes(budget),
            Op::ToServer(n) => self.deliver_to_server(n),
            Op::ToClient(n) => self.deliver_to_client(n),
            Op::Cut { server_notices } => {
                if let Some(conn) = self.drop_connection() {
                    self.client.handle_closed(self.now, "cut");
                    if server_notices {
                        self.notice(conn);
                    } else {
                        self.broken.push(conn);
                    }
                }
            }
            Op::Notice => {
                for conn in std::mem::take(&mut self.broken) {
                    self.notice(conn);
                }
            }
            Op::Refuse(n) => self.refuse = n,
            Op::Advance(secs) => self.advance(self.now + Duration::from_secs(secs)),
        }
        self.settle();
    }

    fn call(&mut self) {
        let k = self.calls;
        let request = api::NormalizeFederateHandleRequest { federate: handle(k) };
        let request = api::CallRequest { call_request: Some(Call::NormalizeFederateHandleRequest(request)) };
        let number = self.client.call(self.now, &request).expect("the session runs");
        assert_eq!(self.asked.insert(number.get(), k), None, "number {number} given twice");
        self.calls += 1;
    }

    fn callback(&mut self) {
        let Some(session) = self.session else { return };
        let label = self.callbacks.to_string();
        let body = api::CallbackRequest {
            callback_request: Some(Callback::SynchronizationPointRegistrationSucceeded(
                api::SynchronizationPointRegistrationSucceeded { synchronization_point_label: label },
            )),
        };
        assert!(self.endpoint.callback(self.now, session, body.encode_to_vec().into()));
        self.callbacks += 1;
    }

    fn answer(&mut self, newest: bool) {
        let (Some(session), false) = (self.session, self.unanswered.is_empty()) else { return };
        let index = if newest { self.unanswered.len() - 1 } else { 0 };
        let (call, k) = self.unanswered.remove(index);
        let answer = api::NormalizeFederateHandleResponse { result: k };
        let response =
            api::CallResponse { call_response: Some(Answer::NormalizeFederateHandleResponse(answer)) };
        assert!(self.endpoint.respond(self.now, session, call, &response));
        assert!(!self.endpoint.respond(self.now, session, call, &response), "answered twice");
    }

    fn client_writes(&mut self, budget: usize) {
        if self.conn.is_some() {
            let _ = self.client.poll_transmit(self.now, &mut self.to_server, budget);
        }
    }

    fn server_writes(&mut self, budget: usize) {
        let Some(conn) = self.conn else { return };
        let done = self.endpoint.poll_transmit(self.now, conn, &mut self.to_client, budget);
        if done.close_after {
            self.deliver_to_client(usize::MAX);
            self.drop_connection();
            self.client.handle_closed(self.now, "closed by the server");
        }
    }

    fn deliver_to_server(&mut self, n: usize) {
        if let Some(conn) = self.conn {
            let chunk = self.to_server.split_to(n.min(self.to_server.len())).freeze();
            self.endpoint.handle_bytes(self.now, conn, chunk);
        }
    }

    fn deliver_to_client(&mut self, n: usize) {
        let chunk: Bytes = self.to_client.split_to(n.min(self.to_client.len())).freeze();
        self.client.handle_bytes(self.now, chunk);
    }

    fn drop_connection(&mut self) -> Option<ConnId> {
        self.to_server.clear();
        self.to_client.clear();
        self.conn.take()
    }

    fn notice(&mut self, conn: ConnId) {
        self.endpoint.handle_closed(self.now, conn);
    }

    fn advance(&mut self, to: Moment) {
        self.now = to;
        self.endpoint.handle_timeout(to);
        self.client.handle_timeout(to);
    }

    fn settle(&mut self) {
        while self.server_events() | self.client_events() | self.client_actions() {}
        while let Some(conn) = self.endpoint.poll_ready() {
            if Some(conn) != self.conn {
                let done = self.endpoint.poll_transmit(self.now, conn, &mut BytesMut::new(), 0);
                self.broken.retain(|&c| c != conn || !done.close_after);
            }
        }
    }

    fn client_actions(&mut self) -> bool {
        let Some(action) = self.client.poll_action() else { return false };
        if let Some(old) = self.drop_connection() {
            self.broken.push(old);
        }
        match action {
            Action::Connect if self.refuse > 0 => {
                self.refuse -= 1;
                self.client.handle_closed(self.now, "refused");
            }
            Action::Connect => {
                let conn = ConnId(self.next_conn);
                self.next_conn += 1;
                self.conn = Some(conn);
                self.endpoint.handle_open(self.now, conn, Address::default(), 1_000 + conn.0);
                self.client.handle_connected(self.now);
            }
            Action::CloseConnection => {}
        }
        true
    }

    fn client_events(&mut self) -> bool {
        let Some(event) = self.client.poll_event() else { return false };
        match event {
            client::Event::Response { call, response } => {
                let k = self.asked[&call.get()];
                let Some(Answer::NormalizeFederateHandleResponse(answer)) = response.call_response else {
                    panic!("{response:?}");
                };
                assert_eq!(answer.result, k, "the answer to another call");
                assert!(!self.answered.contains(&k), "call {k} answered twice");
                self.answered.push(k);
            }
            client::Event::Callback { callback, request } => {
                let Some(Callback::SynchronizationPointRegistrationSucceeded(c)) = request.callback_request
                else {
                    panic!("{request:?}");
                };
                let k: u32 = c.synchronization_point_label.parse().unwrap();
                assert_eq!(k as usize, self.delivered.len(), "callbacks out of order");
                self.delivered.push(k);
                self.client.callback_done(self.now, callback, Ok(()));
            }
            client::Event::Resumed => self.resumes += 1,
            client::Event::Terminated => self.terminated = true,
            client::Event::Lost { reason } => panic!("lost: {reason}"),
            client::Event::Established | client::Event::Interrupted { .. } | client::Event::Writable => {}
        }
        true
    }

    fn server_events(&mut self) -> bool {
        let Some(event) = self.endpoint.poll_event() else { return false };
        match event {
            server::Event::SessionOpened { session, .. } => {
                assert_eq!(self.session, None, "one session");
                self.session = Some(session);
            }
            server::Event::Call { call, request, .. } => {
                let Some(Call::NormalizeFederateHandleRequest(request)) = request.call_request else {
                    panic!("{request:?}");
                };
                let k = self.executed.len() as u32;
                assert_eq!(request.federate, handle(k), "calls out of order or twice");
                self.executed.push((call, k));
                self.unanswered.push((call, k));
            }
            server::Event::SessionEnded { reason, .. } => self.ended = Some(reason),
            server::Event::CallbackResponse { result, .. } => assert_eq!(result, Ok(())),
            server::Event::Refused { .. }
            | server::Event::Interrupted { .. }
            | server::Event::Resumed { .. }
            | server::Event::Writable { .. } => {}
        }
        true
    }

    fn done(&self) -> bool {
        self.answered.len() == self.calls as usize && self.delivered.len() == self.callbacks as usize
    }

    /// No more faults: all bytes move, and time passes only when nothing else can happen.
    fn heal(&mut self, done: impl Fn(&Self) -> bool) {
        self.refuse = 0;
        for _ in 0..1_000 {
            if done(self) {
                return;
            }
            for op in [
                Op::ClientWrites(usize::MAX),
                Op::ToServer(usize::MAX),
                Op::Answer { newest: false },
                Op::ServerWrites(usize::MAX),
                Op::ToClient(usize::MAX),
            ] {
                self.apply(&op);
            }
            let idle = self.unanswered.is_empty() && !self.client.has_output();
            if idle && let Some(at) = self.client.poll_timeout() {
                // A connection that the server closed without a message is noticed by silence.
                self.advance(at.max(self.now));
                self.settle();
            }
        }
        panic!("no progress");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_or_doubled_over_broken_connections(
        ops in prop::collection::vec(op(), 1..160),
        client_first in prop_oneof![Just(0u32), 0x7fff_ff80u32..=0x7fff_ffff],
        server_first in prop_oneof![Just(1u32), 0x7fff_ff80u32..=0x7fff_ffff],
    ) {
        let mut world = World::new(client_first, server_first);
        world.settle();
        // A session that was never opened cannot be resumed, so the first connection must hold.
        for op in [Op::ClientWrites(99), Op::ToServer(99), Op::ServerWrites(99), Op::ToClient(99)] {
            world.apply(&op);
        }
        prop_assert!(world.session.is_some());
        for op in &ops {
            world.apply(op);
        }
        world.heal(World::done);
        prop_assert_eq!(world.executed.len() as u32, world.calls);
        prop_assert_eq!(world.client.stats().unknown_responses, 0);
        prop_assert_eq!(world.client.stats().repeated_messages, 0);
        prop_assert_eq!(world.client.outstanding_calls(), 0);

        world.client.terminate(world.now);
        world.settle();
        world.heal(|w| w.terminated);
        if let Some(reason) = world.ended {
            prop_assert_eq!(reason, EndReason::Terminated);
        }
    }
}
