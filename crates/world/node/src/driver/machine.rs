//! What the driver asks of the machine it drives.

use base::{Moment, NodeKey};
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};

use crate::link::{CastCounts, CastEvent, CastFrame, LinkCounts, LinkEvent, LinkId, TargetId};

/// A process's logic, without sockets, clock or chance.
///
/// Contract: after any `&mut` call the driver drains [`poll_ready`](Machine::poll_ready), calls
/// [`poll_transmit`](Machine::poll_transmit) for each connection it gets until that has no more or the socket
/// is full, and sleeps until [`poll_timeout`](Machine::poll_timeout) at most. `now` never decreases, and spurious
/// timeouts are harmless.
pub trait Machine {
    /// A connection was accepted. Should it open a session, `session_id` is the session's: drawn at random, not zero.
    fn handle_open(&mut self, now: Moment, conn: ConnId, session_id: u64);
    /// `conn` received `bytes`, cut anywhere.
    fn handle_bytes(&mut self, now: Moment, conn: ConnId, bytes: Bytes);
    /// `conn` is gone, whoever closed it. No call names it again.
    fn handle_closed(&mut self, now: Moment, conn: ConnId);
    /// The moment of [`poll_timeout`](Machine::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Moment);
    /// The next connection that has something to write or is to be closed.
    fn poll_ready(&mut self) -> Option<ConnId>;
    /// Appends whole messages that `conn` should write now: as many as fit into `budget` bytes, at least one unless
    /// `budget` is 0, which asks only whether the connection is to be closed.
    fn poll_transmit(&mut self, now: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit;
    /// When the machine wants to be woken.
    fn poll_timeout(&self) -> Option<Moment>;
    /// The process is about to stop: tell the federates, accept nobody.
    fn begin_shutdown(&mut self, now: Moment);

    /// Whether nothing is to be read from `conn` for now, because what it says could not be passed on.
    fn is_held(&self, _conn: ConnId) -> bool {
        false
    }
    /// The next connection that is no longer [held](Machine::is_held).
    fn poll_released(&mut self) -> Option<ConnId> {
        None
    }

    // Links to other nodes. A machine that wants none needs none of what follows.

    /// Where others reach this node, as URLs, as far as it is known now; replaces what was said before.
    fn handle_link_addresses(&mut self, _now: Moment, _addresses: &[String]) {}
    /// `link` is up: the one that `from` was asked for, or, without it, one that another node made.
    fn handle_link_up(&mut self, _now: Moment, _link: LinkId, _from: Option<TargetId>) {}
    /// Best effort of `link` may travel as datagrams with frames of at most `max` bytes; 0: not (any more).
    fn set_link_datagrams(&mut self, _link: LinkId, _max: usize) {}
    /// No link to `target` could be made.
    fn handle_link_failed(&mut self, _now: Moment, _target: TargetId, _why: &str) {}
    /// `link` brought a frame.
    fn handle_link_frame(&mut self, _now: Moment, _link: LinkId, _frame: Bytes) {}
    /// `link` brought a frame as a datagram.
    fn handle_link_datagram(&mut self, _now: Moment, _link: LinkId, _frame: Bytes) {}
    /// `link` is gone, whoever closed it. No call names it again.
    fn handle_link_down(&mut self, _now: Moment, _link: LinkId, _why: &str) {}
    /// What `link` did so far; told about once a second while something comes in.
    fn handle_link_counters(&mut self, _now: Moment, _link: LinkId, _counters: &LinkCounts) {}
    /// What is to be done about links.
    fn poll_link_event(&mut self) -> Option<LinkEvent> {
        None
    }
    /// The next link that has frames or datagrams; named once, until both are drained to `None`.
    fn poll_link_ready(&mut self) -> Option<LinkId> {
        None
    }
    /// The next frame for `link`; asked only when it can be taken. At most
    /// [`LINK_FRAME_BYTES_MAX`](crate::link::LINK_FRAME_BYTES_MAX) bytes, and not empty.
    fn poll_link_frame(&mut self, _now: Moment, _link: LinkId) -> Option<Bytes> {
        None
    }
    /// The next frame for `link` that may get lost, of at most `max` bytes; asked only after
    /// [`set_link_datagrams`](Machine::set_link_datagrams).
    fn poll_link_datagram(&mut self, _now: Moment, _link: LinkId, _max: usize) -> Option<Bytes> {
        None
    }
    // Multicast groups. A machine that wants none needs none of what follows.

    /// What is to be done about multicast groups.
    fn poll_cast_event(&mut self) -> Option<CastEvent> {
        None
    }
    /// The next group that has frames; named once, until it is drained to `None`.
    fn poll_cast_ready(&mut self) -> Option<usize> {
        None
    }
    /// The next frame for a group, of at most `max` bytes; with `directed` also of those for one member, which wait otherwise.
    fn poll_cast_frame(
        &mut self,
        _now: Moment,
        _group: usize,
        _max: usize,
        _directed: bool,
    ) -> Option<CastFrame> {
        None
    }
    /// Frames of members of groups; they may be lost, repeated or overtaken.
    fn handle_cast_frames(&mut self, _now: Moment, _frames: &mut Vec<(NodeKey, Bytes)>) {}
    /// A member of a group is heard there, or is heard no longer.
    fn handle_cast_member(&mut self, _now: Moment, _group: usize, _member: NodeKey, _heard: bool) {}
    /// What this node did in a group so far; told about once a second.
    fn handle_cast_counts(&mut self, _group: usize, _counts: CastCounts) {}

    /// Whether, after [`begin_shutdown`](Machine::begin_shutdown), the other nodes know that this one leaves.
    fn has_left(&self) -> bool {
        true
    }
}
