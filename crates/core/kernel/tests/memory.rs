//! The memory that clients may use: at the bounds and beyond, beside clients that do nothing wrong.

use base::{Address, MemoryStatus, MemoryUse, Moment, Serial31};
use bytes::{Bytes, BytesMut};
use fedpro::frame::{Control, MessageType, Numbers, put_control, put_hla};
use hla::api::{self, Message as _, call_request::CallRequest as Call};
use kernel::{Config, ConnId, Kernel, NoFoms};
use std::time::Duration;

const KIB: usize = 1 << 10;
const FLOOD: Address = Address::numbered(1);
const HONEST: Address = Address::numbered(2);

/// A kernel and its clients. A connection has the number of its session.
struct World {
    kernel: Kernel,
    now: Moment,
    numbers: u32,
}

impl World {
    /// Gives the clients 1 MiB.
    fn new() -> Self {
        let sessions = fedpro::server::Config {
            unsent_bytes_high: 16 * KIB,
            unsent_bytes_low: 4 * KIB,
            ..Config::default().sessions
        };
        let config = Config { memory_bytes_max: 1024 * KIB, sessions, ..Config::default() };
        Self { kernel: Kernel::new(config, Box::new(NoFoms)), now: Moment::ZERO, numbers: 0 }
    }

    fn open(&mut self, address: Address, conn: u64) {
        self.kernel.handle_open(self.now, ConnId(conn), address, conn);
        let mut hello = BytesMut::new();
        put_control(&mut hello, 0, Numbers::default(), Control::NewSession { version: 1 });
        self.bytes(conn, hello.freeze());
        self.call(conn, Call::ConnectRequest(api::ConnectRequest {}));
        self.read(conn);
    }

    fn bytes(&mut self, conn: u64, bytes: Bytes) {
        self.kernel.handle_bytes(self.now, ConnId(conn), bytes);
    }

    /// Sends the first `bytes` bytes of a call.
    fn call_part(&mut self, conn: u64, call: Call, bytes: usize) {
        self.numbers += 1;
        let body = api::CallRequest { call_request: Some(call) }.encode_to_vec();
        let mut out = BytesMut::new();
        let numbers = Numbers { sequence: Serial31::new(self.numbers), last_received: None };
        put_hla(&mut out, MessageType::CallRequest, conn, numbers, None, &body);
        out.truncate(bytes);
        self.bytes(conn, out.freeze());
    }

    fn call(&mut self, conn: u64, call: Call) {
        self.call_part(conn, call, usize::MAX);
    }

    /// The bytes that wait for a client. The client reads them.
    fn read(&mut self, conn: u64) -> usize {
        let mut out = BytesMut::new();
        while self.kernel.poll_transmit(self.now, ConnId(conn), &mut out, 64 * KIB).more {}
        out.len()
    }

    /// Asserts that the client's calls are answered.
    fn assert_served(&mut self, conn: u64) {
        assert!(!self.kernel.is_paused(ConnId(conn)), "client {conn} is not read");
        self.call(conn, list());
        assert!(self.read(conn) > 0, "client {conn} gets no answer");
    }

    fn memory(&self, of: MemoryUse) -> MemoryStatus {
        *self.kernel.memory().iter().find(|status| status.of == of).unwrap()
    }

    fn assert_bounded(&self) {
        let all = self.kernel.memory();
        assert!(all.iter().all(|status| status.used <= status.bound), "{all:?}");
        assert!(all.iter().map(|status| status.used).sum::<usize>() <= 1024 * KIB, "{all:?}");
    }

    fn close(&mut self, conn: u64) {
        self.kernel.handle_closed(self.now, ConnId(conn));
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.kernel.handle_timeout(self.now);
    }
}

fn list() -> Call {
    Call::ListFederationExecutionsRequest(api::ListFederationExecutionsRequest {})
}

/// A call of about so many bytes.
fn long(bytes: usize) -> Call {
    Call::DestroyFederationExecutionRequest(api::DestroyFederationExecutionRequest {
        federation_name: "x".repeat(bytes),
    })
}

#[test]
fn clients_that_do_not_complete_their_messages_wait_and_then_go() {
    let mut world = World::new();
    world.open(HONEST, 100);
    for conn in 1..=3 {
        world.open(FLOOD, conn);
        world.call_part(conn, long(2_000 * KIB), 140 * KIB);
        assert!(!world.kernel.is_paused(ConnId(conn)), "420 KiB of 576 are no reason to wait");
    }
    world.open(HONEST, 101);
    world.call_part(101, long(60 * KIB), 30 * KIB);
    world.assert_bounded();
    assert!((1..=3).all(|conn| world.kernel.is_paused(ConnId(conn))), "{:?}", world.kernel.memory());
    assert!(!world.kernel.is_paused(ConnId(101)), "it has not much");
    world.assert_served(100);

    // Nobody completes a message, so a client of the address with the most input is ended.
    world.pass(Duration::from_secs(5));
    assert_eq!(world.memory(MemoryUse::Input).actions.ended, 1);
    assert_eq!(world.memory(MemoryUse::Input).used / KIB, 2 * 140 + 30);
    assert!((1..=3).all(|conn| !world.kernel.is_paused(ConnId(conn))), "the others may go on");
    let released: Vec<_> = std::iter::from_fn(|| world.kernel.poll_released()).collect();
    assert_eq!(released.len(), 2, "{released:?}");
    assert!(world.kernel.poll_timeout().is_none_or(|at| at > world.now), "it does not spin");
    (1..=3).chain([101]).for_each(|conn| world.close(conn));
    world.pass(Duration::from_secs(60));
    assert_eq!(world.memory(MemoryUse::Input).used, 0);
    world.assert_served(100);
}

#[test]
fn a_client_that_waits_in_vain_goes_even_if_memory_is_no_longer_short() {
    let mut world = World::new();
    for conn in 1..=4 {
        world.open(FLOOD, conn);
        world.call_part(conn, long(2_000 * KIB), 125 * KIB);
    }
    assert!(world.kernel.is_paused(ConnId(1)), "500 KiB are over three quarters of 576");
    world.close(1);
    assert!(world.kernel.is_paused(ConnId(2)), "375 KiB are over five eighths");
    for _ in 0..2 {
        world.pass(Duration::from_secs(5));
        assert_eq!(world.memory(MemoryUse::Input).actions.ended, 1);
        assert!(world.kernel.poll_timeout().is_none_or(|at| at > world.now), "it does not spin");
        assert!((2..=4).all(|conn| !world.kernel.is_paused(ConnId(conn))));
    }
}

#[test]
fn input_is_never_over_its_bound_and_the_flood_pays() {
    let mut world = World::new();
    world.open(HONEST, 100);
    world.open(HONEST, 101);
    world.call_part(101, long(60 * KIB), 40 * KIB);
    for conn in 1..=40 {
        world.open(FLOOD, conn);
        world.call_part(conn, long(2_000 * KIB), 100 * KIB);
        world.assert_bounded();
        world.assert_served(100);
    }
    let input = world.memory(MemoryUse::Input);
    assert!(input.actions.ended >= 30 && input.actions.paused > 0, "{input:?}");
    assert!(!world.kernel.is_paused(ConnId(101)));
}

#[test]
fn clients_that_do_not_read_their_answers_wait_and_then_go() {
    let mut world = World::new();
    world.open(HONEST, 100);
    for conn in 1..=4 {
        world.open(FLOOD, conn);
    }
    let mut paused = 0;
    for round in 0..2_000 {
        for conn in 1..=4 {
            paused += usize::from(world.kernel.is_paused(ConnId(conn)));
            world.call(conn, long(200)); // even if it is paused: it may have been read before
        }
        world.assert_bounded();
        if round % 10 == 0 {
            world.assert_served(100);
        }
    }
    let queues = world.memory(MemoryUse::Queues);
    assert!(paused > 0 && queues.actions.paused > 0 && queues.actions.ended > 0, "{queues:?}");
    (1..=4).for_each(|conn| world.close(conn));
    world.pass(Duration::from_secs(60));
    assert_eq!(world.memory(MemoryUse::Queues).used, 0);
}

#[test]
fn histories_are_trimmed_at_their_bound() {
    let mut world = World::new();
    for conn in 1..=4 {
        world.open(FLOOD, conn);
    }
    for _ in 0..1_900 {
        for conn in 1..=4 {
            world.call(conn, list());
            world.read(conn); // and never says how much of it came
        }
        world.pass(Duration::from_micros(1));
        world.assert_bounded();
    }
    let history = world.memory(MemoryUse::History);
    assert!(history.actions.dropped > 0 && history.actions.ended == 0, "{history:?}");
    assert!(history.peak < 640 * KIB, "{history:?}");
    (1..=4).for_each(|conn| world.assert_served(conn));
}
