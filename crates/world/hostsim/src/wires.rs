//! Sockets between processes, and the network of the computers that they run on.

mod datagrams;

use std::collections::{BTreeMap, VecDeque};

use base::{Digest, Moment};
use netsim::cluster::{Departure, Ethernet, Framing, Port};
use netsim::{EventQueue, Slots};

use crate::chunk::Chunk;
use crate::model::{Costs, HostModel};
use crate::scheduler::{ProcessId, Scheduler};
use datagrams::Member;

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SocketId(pub(crate) u32);

impl SocketId {
    /// The other end of the connection. Both ends are created together: their numbers differ in the
    /// lowest bit.
    fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// Bytes in flight to a process at which its peer finds the socket full: about the sum of both
/// buffers of a loopback connection on Linux.
const SOCKET_BYTES: usize = 4 << 20;

/// An event of the simulation.
pub(crate) enum Event {
    /// A process begins a turn.
    Run(ProcessId),
    /// A process ends its turn.
    Done(ProcessId),
    /// The timer of a process expires; stale if the timer has been moved.
    Timer(ProcessId),
    /// A chunk, by slot, arrives at its socket.
    Arrived(u32),
    /// A chunk, by slot, queues at the switch's port towards its computer.
    AtSwitch(u32),
}

struct Socket {
    owner: ProcessId,
    inbox: VecDeque<Chunk>,
    /// Bytes in the inbox and on the way to it.
    bytes: usize,
    /// The peer waits for room.
    full: bool,
    closed: bool,
}

impl Socket {
    fn new(owner: ProcessId) -> Self {
        Self { owner, inbox: VecDeque::new(), bytes: 0, full: false, closed: false }
    }
}

struct Flight {
    to: SocketId,
    chunk: Chunk,
    departure: Option<Departure>,
}

/// The state of a process: its place, its input, and its timer.
#[derive(Default)]
struct ProcessState {
    computer: usize,
    /// The index of its scheduler.
    scheduler: usize,
    /// Sockets with unread chunks, in order of arrival.
    ready: VecDeque<SocketId>,
    /// Expiry of its timer.
    timer: Option<Moment>,
    /// Processor time used so far, in nanoseconds.
    busy_ns: f64,
}

#[derive(Clone, Default)]
struct Computer {
    out: Port,
    into: Port,
}

/// All sockets and computers, and the chunks in flight.
pub(crate) struct Wires {
    pub(crate) now: Moment,
    model: HostModel,
    ethernet: Ethernet,
    pub(crate) queue: EventQueue<Event>,
    computers: Vec<Computer>,
    /// One for each computer; with pinned processes one for each core.
    schedulers: Vec<Scheduler>,
    pinned: bool,
    places: Vec<ProcessState>,
    sockets: Vec<Socket>,
    /// Processes that receive datagrams of multicast groups.
    members: BTreeMap<ProcessId, Member>,
    flights: Slots<Flight>,
    pub(crate) events: u64,
    pub(crate) digest: Digest,
}

impl Wires {
    /// `pinned`: each process stays on one core.
    pub(crate) fn new(model: HostModel, ethernet: Ethernet, computers: usize, pinned: bool) -> Self {
        let schedulers = match pinned {
            true => vec![Scheduler::new(1); computers * model.cores as usize],
            false => vec![Scheduler::new(model.cores); computers],
        };
        Self {
            now: Moment::ZERO,
            model,
            ethernet,
            queue: EventQueue::new(),
            computers: vec![Computer::default(); computers],
            schedulers,
            pinned,
            places: Vec::new(),
            sockets: Vec::new(),
            members: BTreeMap::new(),
            flights: Slots::default(),
            events: 0,
            digest: Digest::EMPTY,
        }
    }

    /// Adds a process to a computer and wakes it. If processes are pinned, it runs on `core` modulo
    /// the number of cores.
    pub(crate) fn add_process(&mut self, computer: usize, core: u32) -> ProcessId {
        let id = ProcessId(u32::try_from(self.places.len()).expect("fewer than 2^32 processes"));
        let cores = self.model.cores;
        let scheduler =
            if self.pinned { computer * cores as usize + (core % cores) as usize } else { computer };
        self.places.push(ProcessState { computer, scheduler, ..ProcessState::default() });
        self.wake(id);
        id
    }

    /// Processor time that a process has used, in nanoseconds.
    pub(crate) fn busy_ns(&self, process: ProcessId) -> f64 {
        self.places[process.0 as usize].busy_ns
    }

    /// Wakes a process.
    pub(crate) fn wake(&mut self, process: ProcessId) {
        let scheduler = self.places[process.0 as usize].scheduler;
        if self.schedulers[scheduler].wake(process) {
            self.queue.push(self.now + nanos(self.model.costs.wake_ns), Event::Run(process));
        }
    }

    /// Begins a turn of a process and charges its fixed costs.
    pub(crate) fn begin(&mut self, process: ProcessId) -> Turn<'_> {
        let scheduler = self.places[process.0 as usize].scheduler;
        let others = self.schedulers[scheduler].begin(process, self.now);
        let costs = self.model.costs;
        let mut turn = Turn { wires: self, costs, process, spent_ns: 0.0 };
        turn.spend(costs.turn_ns + others * costs.refill_ns);
        turn
    }

    /// Ends the turn of a process. The next turn on its core is another one of its own or one of a
    /// waiting process; without work it sleeps until `timer`.
    pub(crate) fn end(&mut self, process: ProcessId, timer: Option<Moment>) {
        let now = self.now;
        let process_state = &mut self.places[process.0 as usize];
        let due = timer.is_some_and(|at| at <= now);
        let wants_more = due || !process_state.ready.is_empty();
        if let Some(at) = timer.filter(|at| !due && Some(*at) != process_state.timer) {
            self.queue.push(at, Event::Timer(process));
        }
        process_state.timer = timer;
        if let Some(next) = self.schedulers[process_state.scheduler].end(process, now, wants_more) {
            self.queue.push(now, Event::Run(next));
        }
    }

    /// Handles an expired timer. A timer that has been moved leaves a stale event behind, which is
    /// ignored.
    pub(crate) fn timer(&mut self, process: ProcessId) {
        if self.places[process.0 as usize].timer == Some(self.now) {
            self.wake(process);
        }
    }

    /// Delivers a chunk to its socket.
    pub(crate) fn arrived(&mut self, slot: u32) {
        let Some(Flight { to, chunk, .. }) = self.flights.take(slot) else { return };
        self.digest.word(self.now.as_nanos());
        self.digest.word(u64::from(to.0) << 32 | chunk.bytes() as u64 & 0xffff_ffff);
        self.put(to, chunk);
    }

    /// Queues a chunk at the switch's port towards its receiver.
    pub(crate) fn at_switch(&mut self, slot: u32) {
        let Some(Flight { to, chunk, departure: Some(departure) }) = self.flights.get(slot) else {
            return;
        };
        let ethernet = framed(self.ethernet, chunk);
        let (departure, bytes) = (*departure, chunk.bytes());
        let computer = self.places[self.sockets[to.0 as usize].owner.0 as usize].computer;
        let heard = ethernet.arrive(&mut self.computers[computer].into, &departure, bytes);
        self.queue.push(heard, Event::Arrived(slot));
    }

    fn put(&mut self, to: SocketId, chunk: Chunk) {
        if self.drops(to, &chunk) {
            return;
        }
        let socket = &mut self.sockets[to.0 as usize];
        if socket.closed {
            return;
        }
        socket.inbox.push_back(chunk);
        let owner = socket.owner;
        if socket.inbox.len() == 1 {
            self.places[owner.0 as usize].ready.push_back(to);
        }
        self.wake(owner);
    }

    fn launch(&mut self, now: Moment, from: SocketId, chunk: Chunk) {
        let to = from.peer();
        let (near, far) = (self.computer_of(from), self.computer_of(to));
        let departure = (near != far).then(|| self.depart(now, near, &chunk));
        self.fly(now, to, chunk, departure);
    }

    fn computer_of(&self, socket: SocketId) -> usize {
        self.places[self.sockets[socket.0 as usize].owner.0 as usize].computer
    }

    /// Queues a chunk at the network port of a computer.
    fn depart(&mut self, now: Moment, computer: usize, chunk: &Chunk) -> Departure {
        framed(self.ethernet, chunk).depart(&mut self.computers[computer].out, now, chunk.bytes())
    }

    /// Puts a chunk in flight: through the switch if it has departed from its computer.
    fn fly(&mut self, now: Moment, to: SocketId, chunk: Chunk, departure: Option<Departure>) {
        self.sockets[to.0 as usize].bytes += chunk.bytes();
        let slot = self.flights.put(Flight { to, chunk, departure });
        match departure {
            Some(departure) => self.queue.push(departure.head, Event::AtSwitch(slot)),
            None => self.queue.push(now, Event::Arrived(slot)),
        }
    }
}

/// The network with the framing of a chunk: UDP for datagrams, TCP for streams.
fn framed(ethernet: Ethernet, chunk: &Chunk) -> Ethernet {
    match chunk {
        Chunk::Datagram(_) => Ethernet { framing: Framing::UDP, ..ethernet },
        _ => ethernet,
    }
}

/// A duration from fractional nanoseconds.
fn nanos(ns: f64) -> std::time::Duration {
    std::time::Duration::from_nanos(ns as u64) // costs are not negative, and sums of them far below 2^64
}

/// A turn of a process. Each step takes time and so advances the present of the process.
pub(crate) struct Turn<'a> {
    wires: &'a mut Wires,
    costs: Costs,
    process: ProcessId,
    spent_ns: f64,
}

impl Turn<'_> {
    /// The present of the process: the start of the turn and the time spent since.
    pub(crate) fn now(&self) -> Moment {
        self.wires.now + nanos(self.spent_ns)
    }

    /// The costs of steps.
    pub(crate) fn costs(&self) -> Costs {
        self.costs
    }

    /// Uses processor time.
    pub(crate) fn spend(&mut self, ns: f64) {
        self.spent_ns += ns;
    }

    /// The next socket with unread chunks. Each is returned once, until more arrives.
    pub(crate) fn next_ready(&mut self) -> Option<SocketId> {
        self.wires.places[self.process.0 as usize].ready.pop_front()
    }

    /// Reads chunks from a socket until they have `bytes_max` bytes or more, or the socket is
    /// empty. The rest waits for another turn.
    pub(crate) fn read(&mut self, socket: SocketId, bytes_max: usize) -> Vec<Chunk> {
        let process_state = &mut self.wires.places[self.process.0 as usize];
        let end = &mut self.wires.sockets[socket.0 as usize];
        let (mut chunks, mut bytes) = (Vec::new(), 0);
        while let Some(chunk) = end.inbox.pop_front() {
            bytes += chunk.bytes();
            chunks.push(chunk);
            if bytes >= bytes_max {
                break;
            }
        }
        if !end.inbox.is_empty() {
            process_state.ready.push_back(socket);
        }
        if bytes > 0 {
            end.bytes -= bytes;
            let room = end.full && end.bytes < SOCKET_BYTES / 2;
            end.full &= !room;
            self.spent_ns += self.costs.of_read(bytes);
            if room {
                let now = self.now();
                self.wires.launch(now, socket, Chunk::Room);
            }
        }
        chunks
    }

    /// Whether a socket accepts a write. If not, [`Chunk::Room`] arrives once it does again.
    pub(crate) fn has_room(&mut self, socket: SocketId) -> bool {
        let far = &mut self.wires.sockets[socket.peer().0 as usize];
        far.full = far.bytes >= SOCKET_BYTES;
        !far.full
    }

    /// Writes a chunk, which departs after the process has paid for the write.
    pub(crate) fn write(&mut self, socket: SocketId, chunk: Chunk) {
        self.spent_ns += self.costs.of_write(chunk.bytes());
        let now = self.now();
        self.wires.launch(now, socket, chunk);
    }

    /// Connects to another process.
    pub(crate) fn connect(&mut self, to: ProcessId, by_node: bool) -> SocketId {
        let first = u32::try_from(self.wires.sockets.len()).expect("fewer than 2^32 sockets");
        self.wires.sockets.extend([self.process, to].map(Socket::new));
        let socket = SocketId(first);
        self.write(socket, Chunk::Opened { by_node });
        socket
    }

    /// Closes a socket. The peer first receives everything written before.
    pub(crate) fn close(&mut self, socket: SocketId) {
        let end = &mut self.wires.sockets[socket.0 as usize];
        if !std::mem::replace(&mut end.closed, true) {
            end.inbox.clear();
            self.write(socket, Chunk::Closed);
        }
    }

    /// Ends the turn.
    pub(crate) fn finish(self) {
        let until = self.now();
        self.wires.places[self.process.0 as usize].busy_ns += self.spent_ns;
        self.wires.queue.push(until, Event::Done(self.process));
    }
}
