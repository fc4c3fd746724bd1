//! The interface between the driver and the machine that it drives.

use std::time::Duration;

use base::{Address, Moment};
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};
use kernel::{
    AccessRecord, AuthorizerRequest, AuthorizerResult, Certificate, CredentialsCheck, CredentialsVerdict,
    GroupFrame, GroupInput, GroupOutput, Job, JobDone, LinkInput, LinkOutput, Persist, Policy,
};
use overlay::LinkId;

/// An input of a [`Machine`].
pub enum Input<'a> {
    /// A connection was accepted.
    Opened {
        /// The connection, under a number that was never used before.
        conn: ConnId,
        /// The address of its peer.
        address: Address,
        /// The id of the session that it may open: drawn at random, not zero.
        session_id: u64,
    },
    /// A connection encrypts. This comes before its first bytes.
    Secured {
        /// The connection.
        conn: ConnId,
        /// The verified certificate of its peer, if that has one.
        certificate: Option<Certificate>,
    },
    /// A connection received bytes, cut anywhere.
    Bytes {
        /// The connection.
        conn: ConnId,
        /// The bytes.
        bytes: Bytes,
    },
    /// A connection is closed, no matter by which side. No later input names it.
    Closed {
        /// The connection.
        conn: ConnId,
    },
    /// The moment of [`Machine::poll_timeout`] has come.
    Timeout,
    /// The process is about to stop: tell the federates, and accept no new ones.
    Shutdown,
    /// An input from the links to other nodes.
    Link(LinkInput<'a>),
    /// An input from the multicast groups.
    Group(GroupInput<'a>),
    /// A state of [`Output::Persist`] is stored.
    Persisted {
        /// Its revision.
        revision: u64,
    },
    /// A job of [`Output::Job`] is done.
    JobDone(JobDone),
    /// The credentials of [`Output::CredentialsCheck`] are right or wrong.
    CredentialsVerdict(CredentialsVerdict),
    /// The answer to an [`Output::Authorizer`], by its number.
    AuthorizerResult(u64, AuthorizerResult),
    /// The access policy has changed.
    Policy(Policy),
}

/// An output of a [`Machine`].
pub enum Output {
    /// Store a state in place of the last one; [`Input::Persisted`] confirms it. Only machines that
    /// know of a place for it emit this.
    Persist(Persist),
    /// A request about the links to other nodes.
    Link(LinkOutput),
    /// A request about the multicast groups.
    Group(GroupOutput),
    /// A connection is no longer [held](Machine::is_paused).
    Released(ConnId),
    /// A connection has data to write, or must be closed.
    Ready(ConnId),
    /// A decision for the audit log.
    Access(AccessRecord),
    /// Credentials to be verified on another thread, one at a time.
    CredentialsCheck(CredentialsCheck),
    /// A question for the authorizer of the site.
    Authorizer(AuthorizerRequest),
    /// Work for another thread. It comes after all other outputs.
    Job(Box<Job>),
}

/// The logic of a process, without sockets, clock or randomness.
///
/// Contract: after any `&mut` call the driver drains [`poll`](Machine::poll) and sleeps until
/// [`poll_timeout`](Machine::poll_timeout) at most. For each [`Output::Ready`] it calls
/// [`poll_transmit`](Machine::poll_transmit) until there is no more data or the socket is full. For
/// each ready link or group it pulls frames until there are none, or until the link or group can
/// take no more, and continues when it can. `now` never decreases, and spurious timeouts are
/// harmless.
pub trait Machine {
    /// Handles an input.
    fn handle(&mut self, now: Moment, input: Input<'_>);
    /// The next output. Those about links come before those about connections.
    fn poll(&mut self) -> Option<Output>;
    /// Appends whole messages for `conn`: as many as fit into `budget` bytes, and at least one
    /// unless `budget` is 0. A budget of 0 only asks whether the connection must be closed.
    fn poll_transmit(&mut self, now: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit;
    /// The next moment at which the machine must be woken.
    fn poll_timeout(&self) -> Option<Moment>;

    /// Whether to pause reading from `conn`, because its input could not be passed on.
    fn is_paused(&self, _conn: ConnId) -> bool {
        false
    }

    /// Reports that the socket of `conn` is full and has not yet accepted `bytes` that
    /// [`poll_transmit`](Machine::poll_transmit) gave; 0 when it has accepted them.
    fn set_socket_bytes(&mut self, _conn: ConnId, _bytes: usize) {}

    /// Notes that the turn that has just ended was long enough for federates to notice. Returns its
    /// cause, for the log.
    fn note_slow_turn(&mut self, _now: Moment, _took: Duration) -> String {
        String::new()
    }

    /// Whether federates have to wait, because this node is not yet a member of its network.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Whether, after [`Input::Shutdown`], the other nodes know that this one has left.
    fn has_left(&self) -> bool {
        true
    }

    /// The next frame for a link that [`LinkOutput::Ready`] named. Called only when the link can
    /// take one. The frame has at most [`LINK_FRAME_BYTES_MAX`](crate::link::LINK_FRAME_BYTES_MAX)
    /// bytes, and is not empty.
    fn poll_link_frame(&mut self, _now: Moment, _link: LinkId) -> Option<Bytes> {
        None
    }

    /// The next frame for a link that may be lost, of at most `max` bytes. Called only after
    /// [`LinkInput::DatagramSize`].
    fn poll_link_datagram(&mut self, _now: Moment, _link: LinkId, _max: usize) -> Option<Bytes> {
        None
    }

    /// The next frame for a group that [`GroupOutput::Ready`] named, of at most `max` bytes. Called
    /// only when the group can take one. With `directed` it may be one for a single member;
    /// otherwise those wait.
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
