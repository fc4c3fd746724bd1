//! Arbitrary service calls on two sessions of one federation, through the kernel.
//!
//! Input: calls, each a control byte, the number of the call's field in `CallRequest` (two bytes),
//! a length byte and that many bytes of the encoded message of that field; so every decodable
//! message reaches the services. Bit 0 of the control byte selects the session. Bit 1 breaks its
//! connection and resumes it first. Bit 2 lets time pass first (bits 4 to 7, times 4 s). Bit 3
//! instead ends the session and opens another one, which joins.
#![no_main]

use base::{Address, Moment, Serial31};
use bytes::{Bytes, BytesMut};
use fedpro::frame::{
    Control, Decoder, Message, MessageType, Numbers, PROTOCOL_VERSION, ResumeStatus, put_control, put_hla,
};
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, FomModule, FomModuleSet, Message as _, call_response, fom_module};
use kernel::{Config, ConnId, Kernel, NoFoms};
use libfuzzer_sys::fuzz_target;
use meshrti_fuzz::chunks;
use std::time::Duration;

const SMALL: &[u8] = include_bytes!("small.xml");

/// The other end of one session.
#[derive(Default)]
struct Client {
    conn: u64,
    session: u64,
    /// Number of the last message sent.
    sent: u32,
    received: u32,
    /// The call that waits for its response.
    call: Option<u32>,
    answer: Option<call_response::CallResponse>,
    /// The session was ended by the kernel or by the client.
    over: bool,
}

struct World {
    kernel: Kernel,
    now: Moment,
    clients: [Client; 2],
    /// Connections and sessions opened so far.
    opened: u64,
}

impl World {
    fn new() -> Self {
        let kernel = Kernel::new(Config::default(), Box::new(NoFoms));
        let mut world = Self { kernel, now: Moment::ZERO, clients: Default::default(), opened: 0 };
        for index in 0..2 {
            world.enter(index);
        }
        world
    }

    fn connect(&mut self, index: usize) {
        self.opened += 1;
        self.clients[index].conn = self.opened;
        self.kernel.handle_open(self.now, ConnId(self.opened), Address::default(), self.opened);
    }

    /// Opens a session and joins.
    fn enter(&mut self, index: usize) {
        self.clients[index] = Client::default();
        self.connect(index);
        self.clients[index].session = self.opened;
        self.control(index, Control::NewSession { version: PROTOCOL_VERSION });
        let fom = fom_module::FomModule::File(api::FileFomModule {
            name: "small.xml".into(),
            content: Bytes::from_static(SMALL),
        });
        let create = api::CreateFederationExecutionWithModulesRequest {
            federation_name: "F".into(),
            fom_modules: Some(FomModuleSet { fom_module: vec![FomModule { fom_module: Some(fom) }] }),
        };
        let join =
            api::JoinFederationExecutionRequest { federate_type: "T".into(), federation_name: "F".into() };
        for call in [
            Call::ConnectRequest(api::ConnectRequest::default()),
            Call::CreateFederationExecutionWithModulesRequest(create),
            Call::JoinFederationExecutionRequest(join),
        ] {
            let request = api::CallRequest { call_request: Some(call) };
            self.call(index, &request.encode_to_vec());
        }
    }

    fn control(&mut self, index: usize, control: Control) {
        let client = &mut self.clients[index];
        let session = if matches!(control, Control::NewSession { .. }) { 0 } else { client.session };
        let mut out = BytesMut::new();
        let numbers = Numbers { sequence: Serial31::new(client.sent), last_received: None };
        put_control(&mut out, session, numbers, control);
        self.kernel.handle_bytes(self.now, ConnId(client.conn), out.freeze());
        self.settle();
    }

    /// Makes one call. It must be answered once, or the session must be over.
    fn call(&mut self, index: usize, body: &[u8]) {
        let client = &mut self.clients[index];
        client.sent += 1;
        client.call = Some(client.sent);
        let numbers =
            Numbers { sequence: Serial31::new(client.sent), last_received: Serial31::new(client.received) };
        let mut out = BytesMut::new();
        put_hla(&mut out, MessageType::CallRequest, client.session, numbers, None, body);
        self.kernel.handle_bytes(self.now, ConnId(client.conn), out.freeze());
        self.settle();
        let client = &self.clients[index];
        assert!(client.call.is_none() || client.over, "a call without an answer");
    }

    fn terminate(&mut self, index: usize) {
        self.control(index, Control::TerminateSession);
        assert!(self.clients[index].over, "the end is confirmed");
    }

    fn step(&mut self, control: u8, field: u16, body: &[u8]) {
        let index = usize::from(control & 1);
        if control & 4 != 0 {
            self.now += Duration::from_secs(u64::from(control >> 4) * 4);
            self.kernel.handle_timeout(self.now);
            self.settle();
        }
        if control & 8 != 0 && !self.clients[index].over {
            self.terminate(index);
        }
        if self.clients[index].over {
            self.enter(index);
        } else if control & 2 != 0 {
            self.kernel.handle_closed(self.now, ConnId(self.clients[index].conn));
            self.settle();
            self.connect(index);
            let client = &self.clients[index];
            let (last_received, oldest_available) = (Serial31::new(client.received), Serial31::new(1));
            self.control(index, Control::ResumeRequest { last_received, oldest_available });
        }
        if !self.clients[index].over {
            let mut request = BytesMut::new();
            put_varint(&mut request, u32::from(field) << 3 | 2);
            put_varint(&mut request, body.len() as u32);
            request.extend_from_slice(body);
            self.call(index, &request);
        }
    }

    /// Reads all output of the kernel.
    fn settle(&mut self) {
        while let Some(job) = self.kernel.poll_job() {
            self.kernel.finish_job(self.now, job.run());
        }
        while let Some(conn) = self.kernel.poll_ready() {
            let mut out = BytesMut::new();
            let mut closed = false;
            loop {
                let done = self.kernel.poll_transmit(self.now, conn, &mut out, 1_000);
                closed |= done.close_after;
                if !done.more {
                    break;
                }
            }
            // An old connection of a session must have no output.
            let Some(client) = self.clients.iter_mut().find(|client| client.conn == conn.0) else { continue };
            client.read(out.freeze());
            client.over |= closed;
        }
    }
}

impl Client {
    fn read(&mut self, bytes: Bytes) {
        let mut decoder = Decoder::new(usize::MAX);
        decoder.push(bytes);
        while let Some(frame) = decoder.next_frame().expect("sound frames") {
            assert_eq!(frame.header.session, self.session);
            let sequence = frame.header.numbers.sequence.map(Serial31::get);
            let message = frame.message().expect("sound messages");
            if let Message::Control(Control::ResumeStatus { status, .. }) = message {
                assert_eq!(status, ResumeStatus::Ok);
                continue;
            }
            self.received += 1;
            assert_eq!(sequence, Some(self.received), "numbers without gaps");
            match message {
                Message::CallResponse { to, body } => {
                    assert_eq!(Some(to.get()), self.call.take(), "an answer that nobody waits for");
                    let answer = api::CallResponse::decode(body).expect("a sound response");
                    self.answer = Some(answer.call_response.expect("a response of a service"));
                }
                Message::CallbackRequest(body) => {
                    let callback = api::CallbackRequest::decode(body).expect("a sound callback");
                    assert!(callback.callback_request.is_some());
                }
                Message::Control(Control::SessionTerminated) => self.over = true,
                _ => {}
            }
        }
        assert_eq!(decoder.buffered(), 0, "whole messages");
    }
}

fn put_varint(out: &mut BytesMut, mut value: u32) {
    while value > 127 {
        out.extend_from_slice(&[value as u8 | 128]);
        value >>= 7;
    }
    out.extend_from_slice(&[value as u8]);
}

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    for client in &world.clients {
        let joined =
            matches!(client.answer, Some(call_response::CallResponse::JoinFederationExecutionResponse(_)));
        assert!(joined, "the two are joined at the start: {:?}", client.answer);
    }
    for ([control, high, low], body) in chunks(data) {
        world.step(control, u16::from_be_bytes([high, low]), body);
    }
    let _ = world.kernel.status();
    // Whatever was done, all state goes away with the last federate.
    for index in 0..2 {
        if !world.clients[index].over {
            world.terminate(index);
        }
    }
    world.now += Duration::from_secs(1_000);
    world.kernel.handle_timeout(world.now);
    let status = world.kernel.status();
    assert_eq!(status.sessions, 0);
    for federation in status.federations {
        assert!(federation.federates.is_empty(), "{federation:?}");
    }
});
