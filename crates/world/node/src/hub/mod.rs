//! The state shared by all tasks of a node: the machine, the writing halves and the buffers.

pub(crate) mod connections;
pub(crate) mod jobs;
mod stats;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use base::{Address, Moment};
use bytes::{Bytes, BytesMut};
use carrier::Filter;
use fedpro::server::ConnId;
use kernel::{AuthorizerRequest, Certificate, CredentialsCheck, Job, Persist};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::audit::Audit;
use crate::link::{Groups, Links};
use crate::machine::{Input, Machine, Output};
use connections::{End, Outbound, Table, send};
use jobs::{Done, Worker};

pub(crate) use srmp_udp::Clock;
pub use stats::NodeStats;

/// A read of at most this fraction of the read buffer is copied out of it. Otherwise a few bytes
/// that are kept would keep the whole buffer alive.
const COPY_OUT_PART: usize = 16;

/// Number of writes, caused by a connection's input, that precede the answer to that connection.
const WRITES_BEFORE_ANSWER: usize = 8;

/// Shortest turn that federates may notice as a wait: it is as long as a disk access.
const SLOW_TURN: Duration = Duration::from_millis(20);

/// Sizes of the driver's buffers, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) read: usize,
    pub(crate) write: usize,
}

/// The state shared by all tasks of one node, which all run on one thread.
pub(crate) struct Hub<M> {
    pub(crate) clock: Clock,
    pub(crate) core: RefCell<Core<M>>,
    /// Signalled when the machine must be woken earlier than the timer is set.
    pub(crate) earlier: Notify,
    /// Signalled when a connection is gone.
    pub(crate) departed: Notify,
    /// Number of ended connections whose sockets wait for their peers to close.
    pub(crate) lingering: Rc<Cell<usize>>,
    /// The moment for which the timer is set.
    armed: Cell<Moment>,
    /// The receivers of the outcomes of work, until their task takes them.
    done: Cell<Option<(Done<Job>, Done<CredentialsCheck>)>>,
}

/// The mutable part of a [`Hub`].
pub(crate) struct Core<M> {
    pub(crate) machine: M,
    pub(crate) table: Table,
    pub(crate) links: Links,
    pub(crate) groups: Groups,
    /// The channel to the task that stores states.
    pub(crate) persist: Option<UnboundedSender<Persist>>,
    pub(crate) stats: NodeStats,
    jobs: Worker<Job>,
    credentials: Worker<CredentialsCheck>,
    /// The channel to the task that asks the authorizer of the site.
    pub(crate) authorizer: Option<UnboundedSender<AuthorizerRequest>>,
    /// Decisions about access are written to it.
    pub(crate) audit: Option<Audit>,
    pub(crate) read_buffer: BytesMut,
    write_buffer: BytesMut,
    /// The octets that carry the content of `write_buffer`, where that is not the same.
    carrier_buffer: BytesMut,
    sizes: Sizes,
}

impl<M: Machine> Hub<M> {
    pub(crate) fn new(machine: M, sizes: Sizes) -> Self {
        let ((jobs, jobs_done), (credentials, credentials_done)) = (Worker::new(), Worker::new());
        Self {
            clock: Clock::start(),
            core: RefCell::new(Core {
                machine,
                table: Table::default(),
                links: Links::default(),
                groups: Groups::default(),
                persist: None,
                stats: NodeStats::default(),
                jobs,
                credentials,
                authorizer: None,
                audit: None,
                read_buffer: BytesMut::new(),
                write_buffer: BytesMut::new(),
                carrier_buffer: BytesMut::new(),
                sizes,
            }),
            earlier: Notify::new(),
            departed: Notify::new(),
            lingering: Rc::default(),
            armed: Cell::new(Moment::MAX),
            done: Cell::new(Some((jobs_done, credentials_done))),
        }
    }

    /// Runs `action` on the machine and carries out the outputs. Returns the time.
    pub(crate) fn act(&self, action: impl FnOnce(&mut M, Moment)) -> Moment {
        self.act_for(None, action)
    }

    /// Passes an input to the machine and carries out the outputs.
    pub(crate) fn handle(&self, input: Input<'_>) {
        self.act(|machine, now| machine.handle(now, input));
    }

    /// Like [`act`](Hub::act), for an input from `origin`.
    fn act_for(&self, origin: Option<ConnId>, action: impl FnOnce(&mut M, Moment)) -> Moment {
        let mut core = self.core.borrow_mut();
        let now = self.clock.now();
        action(&mut core.machine, now);
        core.write_ready(now, origin);
        self.watch(&mut core, now);
        self.rearm(&core.machine);
        now
    }

    /// Counts and logs a turn that began at `begin`, if it took too long.
    fn watch(&self, core: &mut Core<M>, begin: Moment) {
        let now = self.clock.now();
        let took = now.since(begin);
        if took < SLOW_TURN {
            return;
        }
        core.stats.slow_turns += 1;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        core.stats.longest_turn_us = core.stats.longest_turn_us.max(micros);
        let cause = core.machine.note_slow_turn(now, took);
        tracing::warn!(ms = took.as_millis(), cause, "slow turn: the federates of this node have waited");
    }

    /// Passes the bytes read from `conn` to the machine, and acknowledges them.
    pub(crate) fn receive(&self, conn: ConnId) {
        let (bytes, secured) = self.core.borrow_mut().take_read(conn);
        if let Some(certificate) = secured {
            self.handle(Input::Secured { conn, certificate });
        }
        if !bytes.is_empty() {
            self.act_for(Some(conn), |machine, now| machine.handle(now, Input::Bytes { conn, bytes }));
        }
        if let Some(outbound) = self.core.borrow_mut().table.get_mut(conn) {
            outbound.acknowledge();
        }
    }

    /// Adds a connection: its socket, and what stands between that and the machine.
    pub(crate) fn open(
        &self,
        (socket, filter): (OwnedWriteHalf, Option<Filter>),
        address: Address,
        session_id: u64,
    ) -> ConnId {
        let conn = {
            let mut core = self.core.borrow_mut();
            core.stats.accepted_connections += 1;
            core.stats.open_connections += 1;
            core.table.insert(Outbound::new(socket, filter))
        };
        self.handle(Input::Opened { conn, address, session_id });
        conn
    }

    /// Removes a connection, which closes the writing side of its socket.
    pub(crate) fn close(&self, conn: ConnId, end: &End) {
        {
            let mut core = self.core.borrow_mut();
            core.table.remove(conn);
            core.stats.open_connections -= 1;
            if matches!(end, End::Failed(_) | End::Refused(_)) {
                core.stats.failed_connections += 1;
            }
        }
        self.handle(Input::Closed { conn });
        self.departed.notify_waiters();
    }

    /// Wakes the timer task if it would sleep too long.
    fn rearm(&self, machine: &M) {
        let wanted = machine.poll_timeout().unwrap_or(Moment::MAX);
        if wanted < self.armed.get() {
            self.armed.set(wanted);
            self.earlier.notify_one();
        }
    }

    /// Passes the outcomes of work on other threads to the machine. Never ends.
    pub(crate) async fn finish_jobs(&self) {
        let Some((mut jobs, mut credentials)) = self.done.take() else { return };
        loop {
            tokio::select! {
                Some(done) = jobs.recv() => self.handle(Input::JobDone(done)),
                Some(verdict) = credentials.recv() => self.handle(Input::CredentialsVerdict(verdict)),
                else => return,
            }
        }
    }

    /// Wakes the machine at its timeouts. Never ends.
    pub(crate) async fn keep_time(&self) {
        loop {
            let wanted = self.core.borrow().machine.poll_timeout().unwrap_or(Moment::MAX);
            self.armed.set(wanted);
            let changed = self.earlier.notified();
            match self.clock.instant(wanted) {
                None => changed.await,
                Some(instant) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(instant) => {
                            self.handle(Input::Timeout);
                            // Work in slices is due again at once. Others have their turn first.
                            tokio::task::yield_now().await;
                        }
                        () = changed => {}
                    }
                }
            }
        }
    }
}

impl<M: Machine> Core<M> {
    /// Makes room in the read buffer for one read of the full size.
    pub(crate) fn prepare_read(&mut self) {
        if self.read_buffer.capacity() < self.sizes.read / 4 {
            self.read_buffer.reserve(self.sizes.read);
        }
    }

    /// Takes the bytes read from `conn` out of the read buffer. Returns those for the machine and, when
    /// the connection has just begun to encrypt, the certificate of its peer.
    fn take_read(&mut self, conn: ConnId) -> (Bytes, Option<Option<Certificate>>) {
        self.stats.reads += 1;
        self.stats.read_bytes += self.read_buffer.len() as u64;
        let read = if self.read_buffer.len() <= self.sizes.read / COPY_OUT_PART {
            let copy = BytesMut::from(&self.read_buffer[..]);
            self.read_buffer.clear();
            copy
        } else {
            self.read_buffer.split()
        };
        let Some(outbound) = self.table.get_mut(conn) else { return (Bytes::new(), None) };
        outbound.acknowledged = false;
        let bytes = outbound.decode(read);
        let secured = outbound.newly_secured();
        self.write_carrier(conn);
        (bytes.freeze(), secured)
    }

    /// Writes what the carrier of `conn` itself has to send, unless its socket is full.
    fn write_carrier(&mut self, conn: ConnId) {
        let Some(outbound) = self.table.get_mut(conn) else { return };
        if outbound.has_carrier() && outbound.unsent.is_empty() {
            self.write_buffer.clear();
            outbound.take_output(&mut self.write_buffer);
            outbound.write(&mut self.write_buffer, &mut self.stats);
            self.machine.set_socket_bytes(conn, outbound.unsent.len());
        }
    }

    /// Carries out the outputs of the machine: sends over links and to groups, and writes to
    /// connections.
    ///
    /// Input of `origin` is passed on to [`WRITES_BEFORE_ANSWER`] others before `origin` gets its
    /// own answer. Each write costs microseconds, and the input was meant for the others.
    fn write_ready(&mut self, now: Moment, origin: Option<ConnId>) {
        let (mut waiting, mut others) = (None, 0);
        loop {
            match self.machine.poll() {
                Some(Output::Persist(persist)) => {
                    let taken = self.persist.as_ref().is_some_and(|orders| orders.send(persist).is_ok());
                    debug_assert!(taken, "a machine with a place for its state is driven by a node with one");
                }
                Some(Output::Link(output)) => self.links.obey(&mut self.machine, now, output),
                Some(Output::Group(output)) => self.groups.obey(&mut self.machine, now, output),
                Some(Output::Released(conn)) => {
                    if let Some(outbound) = self.table.get_mut(conn) {
                        outbound.wake();
                    }
                }
                Some(Output::Ready(conn)) if Some(conn) == origin && others < WRITES_BEFORE_ANSWER => {
                    waiting = origin;
                }
                Some(Output::Ready(conn)) => {
                    self.write_to(now, conn);
                    others += 1;
                    if others == WRITES_BEFORE_ANSWER
                        && let Some(origin) = waiting.take()
                    {
                        self.write_to(now, origin);
                    }
                }
                Some(Output::Access(record)) => {
                    if let Some(audit) = &mut self.audit {
                        audit.write(record);
                    }
                }
                Some(Output::CredentialsCheck(check)) => self.credentials.run(check),
                Some(Output::Authorizer(request)) => {
                    if let Some(authorizer) = &self.authorizer {
                        // The task ends with the node, and the machine refuses what is not answered.
                        let _ = authorizer.send(request);
                    }
                }
                Some(Output::Job(job)) => self.jobs.run(*job),
                // The write may make room in the origin's queue, and the machine may then have more
                // to send to anybody.
                None => match waiting.take() {
                    Some(origin) => self.write_to(now, origin),
                    None => return,
                },
            }
        }
    }

    /// Writes to `conn` until the machine has no more data for it, or its socket is full.
    fn write_to(&mut self, now: Moment, conn: ConnId) {
        let Some(outbound) = self.table.get_mut(conn) else { return };
        let mut more = outbound.end.is_none() && !outbound.close_after;
        while more {
            // The task of a full socket returns when there is room. Until then the machine may want
            // the connection closed.
            let budget = if outbound.unsent.is_empty() { self.sizes.write } else { 0 };
            self.write_buffer.clear();
            let transmit = self.machine.poll_transmit(now, conn, &mut self.write_buffer, budget);
            if transmit.close_after {
                outbound.close_after = true;
                if transmit.discard {
                    outbound.unsent = BytesMut::new();
                    outbound.end = Some(End::CutOff);
                }
            }
            more = transmit.more && budget > 0 && outbound.end.is_none();
            if self.write_buffer.is_empty() {
                continue;
            }
            outbound.encode(&mut self.write_buffer, &mut self.carrier_buffer);
            if !outbound.unsent.is_empty() {
                outbound.unsent.extend_from_slice(&self.write_buffer); // the machine's last output
                continue;
            }
            if !outbound.write(&mut self.write_buffer, &mut self.stats) {
                self.machine.set_socket_bytes(conn, outbound.unsent.len());
                more = false;
            }
        }
        if outbound.close_after {
            outbound.finish(&mut self.write_buffer, &mut self.stats);
        }
        if outbound.end.is_some() {
            outbound.wake();
        }
        if self.write_buffer.capacity() > 2 * self.sizes.write {
            self.write_buffer = BytesMut::new(); // one long message must not cost memory for ever
        }
        if self.carrier_buffer.capacity() > 2 * self.sizes.write {
            self.carrier_buffer = BytesMut::new();
        }
    }

    /// Continues to write: the socket of `conn` has room again.
    pub(crate) fn write_more(&mut self, now: Moment, conn: ConnId) {
        let Some(outbound) = self.table.get_mut(conn) else { return };
        match send(&outbound.socket, &mut outbound.unsent, &mut self.stats) {
            Ok(false) => return self.machine.set_socket_bytes(conn, outbound.unsent.len()),
            Ok(true) => {
                outbound.unsent = BytesMut::new();
                self.machine.set_socket_bytes(conn, 0);
            }
            Err(error) => {
                outbound.end = Some(End::Failed(error.to_string()));
                return;
            }
        }
        if outbound.close_after {
            outbound.finish(&mut self.write_buffer, &mut self.stats);
        } else {
            self.write_carrier(conn);
            self.write_to(now, conn);
            self.write_ready(now, None); // room may have made the machine send more, to anybody
        }
    }
}
