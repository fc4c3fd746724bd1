//! A federate that makes the calls it is told to make.

use base::Moment;
use bytes::BytesMut;
use fedpro::client::{Action, Config, Event, Session};
use hla::api::CallRequest;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use kernel::{ConnId, Kernel};
use std::time::Duration;

/// What a kernel may write at a time.
const BUDGET: usize = 1 << 20;

/// A federate and its session, beside its kernel: nothing is between them.
pub(super) struct Federate {
    pub(super) node: usize,
    conn: ConnId,
    session: Session,
    open: bool,
    waiting: usize,
    /// The last answer.
    pub(super) answer: Option<Answer>,
    /// Instances discovered, less those removed.
    pub(super) known: usize,
    /// Updates reflected.
    pub(super) reflected: usize,
    /// Why its session is over.
    pub(super) lost: Option<String>,
}

impl Federate {
    pub(super) fn new(now: Moment, number: usize, node: usize) -> Self {
        // Silence is to be that of the nodes.
        let never = Duration::from_secs(1 << 24);
        let config = Config { heartbeat_interval: never, heart_timeout: never, ..Config::default() };
        Self {
            node,
            conn: ConnId(number as u64 + 1),
            session: Session::new(now, config),
            open: false,
            waiting: 0,
            answer: None,
            known: 0,
            reflected: 0,
            lost: None,
        }
    }

    pub(super) fn conn(&self) -> ConnId {
        self.conn
    }

    /// All its calls are answered.
    pub(super) fn is_idle(&self) -> bool {
        self.open && self.waiting == 0
    }

    /// Asks for something; the answer comes when the federate is [idle](Federate::is_idle).
    pub(super) fn call(&mut self, now: Moment, call: Call) {
        self.answer = None;
        match self.session.call(now, &CallRequest { call_request: Some(call) }) {
            Ok(_) => self.waiting += 1,
            Err(error) => self.lost = Some(error.to_string()),
        }
    }

    /// Exchanges with the kernel all that there is.
    pub(super) fn exchange(&mut self, now: Moment, kernel: &mut Kernel) {
        loop {
            let mut any = false;
            while let Some(action) = self.session.poll_action() {
                any = true;
                match action {
                    Action::Connect => {
                        kernel.handle_open(now, self.conn, self.conn.0);
                        self.session.handle_connected(now);
                    }
                    Action::CloseConnection => kernel.handle_closed(now, self.conn),
                }
            }
            let mut out = BytesMut::new();
            if self.session.poll_transmit(now, &mut out, BUDGET) > 0 {
                any = true;
                kernel.handle_bytes(now, self.conn, out.split().freeze());
            }
            let transmit = kernel.poll_transmit(now, self.conn, &mut out, BUDGET);
            if !out.is_empty() {
                any = true;
                self.session.handle_bytes(now, out.freeze());
            }
            if transmit.close_after {
                self.session.handle_closed(now, "closed by the node");
            }
            while let Some(event) = self.session.poll_event() {
                any = true;
                self.learn(now, event);
            }
            if !any {
                return;
            }
        }
    }

    fn learn(&mut self, now: Moment, event: Event) {
        match event {
            Event::Established => self.open = true,
            Event::Response { response, .. } => {
                self.waiting = self.waiting.saturating_sub(1);
                self.answer = response.call_response;
            }
            Event::Callback { callback, request } => {
                self.session.callback_done(now, callback, Ok(()));
                match request.callback_request {
                    Some(Callback::DiscoverObjectInstance(_)) => self.known += 1,
                    Some(Callback::RemoveObjectInstance(_)) => self.known -= 1,
                    Some(Callback::ReflectAttributeValues(_)) => self.reflected += 1,
                    _ => {}
                }
            }
            Event::Lost { reason } => self.lost = Some(reason.to_string()),
            Event::Terminated => self.lost = Some("terminated".to_owned()),
            Event::Interrupted { .. } | Event::Resumed | Event::Writable => {}
        }
    }
}
