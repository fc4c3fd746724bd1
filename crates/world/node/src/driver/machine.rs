//! What the driver asks of the machine it drives.

use std::time::Duration;

use base::{Address, Moment};
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};
use kernel::{Job, JobDone, Persist};

use crate::link::{GroupFrame, GroupInput, GroupOutput, LinkId, LinkInput, LinkOutput};

/// What happens to a [`Machine`].
pub enum Input<'a> {
    /// A connection was accepted.
    Opened {
        /// The connection: a number never used before.
        conn: ConnId,
        /// The address of its peer.
        address: Address,
        /// The id of the session, should it open one: drawn at random, not zero.
        session_id: u64,
    },
    /// A connection received bytes, cut anywhere.
    Bytes {
        /// The connection.
        conn: ConnId,
        /// The bytes.
        bytes: Bytes,
    },
    /// A connection is gone, whoever closed it. No later input names it.
    Closed {
        /// The connection.
        conn: ConnId,
    },
    /// The moment of [`Machine::poll_timeout`] has come.
    Timeout,
    /// The process is about to stop: tell the federates, accept nobody.
    Shutdown,
    /// Something happened to the links to other nodes.
    Link(LinkInput<'a>),
    /// Something happened in the multicast groups.
    Group(GroupInput<'a>),
    /// A state that [`Output::Persist`] had is stored.
    Persisted {
        /// Its revision.
        revision: u64,
    },
    /// A job of [`Output::Job`] is done.
    JobDone(JobDone),
}

/// What a [`Machine`] wants done.
pub enum Output {
    /// A state is to be stored, in place of the last one; answered by [`Input::Persisted`]. Only of machines that were told of
    /// a place for it.
    Persist(Persist),
    /// Something is to be done with the links to other nodes.
    Link(LinkOutput),
    /// Something is to be done with the multicast groups.
    Group(GroupOutput),
    /// A connection is no longer [held](Machine::is_held).
    Released(ConnId),
    /// A connection has something to write, or is to be closed.
    Ready(ConnId),
    /// Work for another thread. It comes after everything else.
    Job(Box<Job>),
}

/// A process's logic, without sockets, clock or chance.
///
/// Contract: after any `&mut` call the driver drains [`poll`](Machine::poll) and sleeps until
/// [`poll_timeout`](Machine::poll_timeout) at most. For each [`Output::Ready`] it calls
/// [`poll_transmit`](Machine::poll_transmit) until that has no more or the socket is full; for each link or group that is
/// ready it pulls frames until there are none or it can take no more, and then later again. `now` never decreases, and
/// spurious timeouts are harmless.
pub trait Machine {
    /// Something happened.
    fn handle(&mut self, now: Moment, input: Input<'_>);
    /// What is to be done next; links come before connections.
    fn poll(&mut self) -> Option<Output>;
    /// Appends whole messages that `conn` should write now: as many as fit into `budget` bytes, at least one unless
    /// `budget` is 0, which asks only whether the connection is to be closed.
    fn poll_transmit(&mut self, now: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit;
    /// When the machine wants to be woken.
    fn poll_timeout(&self) -> Option<Moment>;

    /// Whether to pause reading from `conn`, because what it sent could not be passed on.
    fn is_held(&self, _conn: ConnId) -> bool {
        false
    }

    /// The socket of `conn` is full, and has yet to take `bytes` that
    /// [`poll_transmit`](Machine::poll_transmit) gave; 0 when it has taken them.
    fn set_socket_bytes(&mut self, _conn: ConnId, _bytes: usize) {}

    /// The turn that has just ended took so long that federates may have noticed. Returns its cause, for the log.
    fn note_slow_turn(&mut self, _now: Moment, _took: Duration) -> String {
        String::new()
    }

    /// Whether, after [`Input::Shutdown`], the other nodes know that this one leaves.
    fn has_left(&self) -> bool {
        true
    }

    /// The next frame for a link that [`LinkOutput::Ready`] named; asked only when it can be taken. At most
    /// [`LINK_FRAME_BYTES_MAX`](crate::link::LINK_FRAME_BYTES_MAX) bytes, and not empty.
    fn poll_link_frame(&mut self, _now: Moment, _link: LinkId) -> Option<Bytes> {
        None
    }

    /// The next frame for a link that may get lost, of at most `max` bytes; asked only after
    /// [`LinkInput::DatagramSize`].
    fn poll_link_datagram(&mut self, _now: Moment, _link: LinkId, _max: usize) -> Option<Bytes> {
        None
    }

    /// The next frame for a group that [`GroupOutput::Ready`] named, of at most `max` bytes; asked only when it can be
    /// taken. With `directed` also one of those for a single member, which wait otherwise.
    fn poll_group_frame(
        &mut self,
        _now: Moment,
        _group: usize,
        _max: usize,
        _directed: bool,
    ) -> Option<GroupFrame> {
        None
    }
}
