//! The writing side of a link.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use base::Moment;
use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::AsyncWrite as _;

use super::datagram::{DatagramSender, Room};
use super::frame::{self, LINK_FRAME_BYTES_MAX};
use super::stream::BoxWrite;
use super::{LinkCounts, LinkId};
use crate::emulation::Line;
use crate::machine::Machine;

/// Frames are pulled until this many bytes wait for one write.
const WRITE_BYTES: usize = 64 << 10;

/// Limit, in bytes, of the frames that are still pulled from the machine for a link that is about
/// to be closed.
const LAST_BYTES_MAX: usize = 2 << 20;

/// How long a link that is being closed may take to write its remaining frames.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Interval at which to ask again a datagram side that does not signal when it has room.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// The end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkEnd {
    /// The reason, for people and for the machine.
    pub(crate) why: String,
    /// Whether everything was written, so that the peer may be given time to read it.
    pub(crate) orderly: bool,
}

impl LinkEnd {
    pub(crate) fn broken(why: impl Into<String>) -> Self {
        Self { why: why.into(), orderly: false }
    }
}

enum State {
    Open,
    /// Nothing is received any longer. The link ends when everything is written, or at this moment.
    Closing {
        why: String,
        deadline: Moment,
    },
    Over(LinkEnd),
}

/// The writing side of one link.
pub(crate) struct Outbound {
    write: BoxWrite,
    /// Bytes that a full stream did not accept.
    unsent: BytesMut,
    /// The emulated line, if there is one.
    line: Option<Line>,
    pub(crate) datagrams: Option<DatagramSender>,
    state: State,
    /// The task of the link; `None` until its first run.
    task: Option<Waker>,
    /// The stream or the datagram side was full. The task is woken when it has room.
    blocked: bool,
    /// When the task must look again.
    wake_at: Option<Moment>,
    pub(crate) counters: LinkCounts,
}

impl Outbound {
    pub(crate) fn new(write: BoxWrite, line: Option<Line>, datagrams: Option<DatagramSender>) -> Self {
        Self {
            write,
            unsent: BytesMut::new(),
            line,
            datagrams,
            state: State::Open,
            task: None,
            blocked: true, // until the task has run
            wake_at: None,
            counters: LinkCounts::default(),
        }
    }

    /// Registers the task that serves the link.
    pub(crate) fn attend(&mut self, waker: &Waker) {
        match &mut self.task {
            Some(task) => task.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Whether the task should let the link write: something was full, or its time has come.
    pub(crate) fn is_due(&self, now: impl FnOnce() -> Moment) -> bool {
        self.blocked || self.wake_at.is_some_and(|at| at <= now())
    }

    /// When the task must look again, even if nothing else happens.
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        self.wake_at
    }

    /// The end of the link, if it has ended.
    pub(crate) fn end(&self) -> Option<&LinkEnd> {
        if let State::Over(end) = &self.state { Some(end) } else { None }
    }

    /// Whether the link still takes frames from the machine and reports to it.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    pub(crate) fn into_write(self) -> BoxWrite {
        self.write
    }

    /// Writes as much of the machine's frames for the link as is possible now. Returns whether any
    /// frame was taken from the machine.
    pub(crate) fn pump<M: Machine>(&mut self, machine: &mut M, now: Moment, link: LinkId) -> bool {
        let Some(task) = self.task.take() else { return false }; // its first run comes here again
        let mut cx = Context::from_waker(&task);
        let before = self.wake_at;
        let mut took = false;
        if !matches!(self.state, State::Over(_)) {
            match self.write_all(machine, now, link, &mut cx) {
                Ok(any) => took = any,
                Err(why) => self.state = State::Over(LinkEnd::broken(why)),
            }
        }
        let sooner = self.wake_at.is_some_and(|at| before.is_none_or(|before| at < before));
        if sooner || matches!(self.state, State::Over(_)) {
            task.wake_by_ref();
        }
        self.task = Some(task);
        took
    }

    /// Takes the last frames from the machine, and ends the link when they are written.
    pub(crate) fn close<M: Machine>(&mut self, machine: &mut M, now: Moment, link: LinkId, why: String) {
        if !self.is_open() {
            return;
        }
        if let Some(mut line) = self.line.take() {
            line.drain().for_each(|frame| self.put(&frame));
        }
        while self.unsent.len() < LAST_BYTES_MAX
            && let Some(frame) = machine.poll_link_frame(now, link)
        {
            self.put(&frame);
        }
        self.state = State::Closing { why, deadline: now + CLOSE_MAX };
        self.pump(machine, now, link);
    }

    /// Ends the link at once, without the frames that wait.
    pub(crate) fn cut(&mut self, why: String) {
        self.unsent = BytesMut::new();
        self.state = State::Over(LinkEnd::broken(why));
        if let Some(task) = &self.task {
            task.wake_by_ref();
        }
    }

    fn write_all<M: Machine>(
        &mut self,
        machine: &mut M,
        now: Moment,
        link: LinkId,
        cx: &mut Context<'_>,
    ) -> Result<bool, String> {
        self.blocked = false;
        self.wake_at = None;
        if let State::Closing { why, deadline } = &self.state {
            let end = LinkEnd { why: why.clone(), orderly: true };
            let deadline = *deadline;
            if self.flush(cx)? || now >= deadline {
                self.state = State::Over(end);
            } else {
                self.wake_at = Some(deadline);
            }
            return Ok(false);
        }
        match self.line.take() {
            Some(mut line) => {
                let result = self.write_by_line(&mut line, machine, now, link, cx);
                self.counters.emulated_losses = line.lost;
                self.line = Some(line);
                result
            }
            None => {
                let frames = self.write_frames(|| machine.poll_link_frame(now, link), cx)?;
                let next = |max| Some((None, machine.poll_link_datagram(now, link, max)?));
                Ok(self.write_datagrams(now, next, cx) || frames)
            }
        }
    }

    /// Writes through the emulated line, which the stream and the datagram side use in turns.
    fn write_by_line<M: Machine>(
        &mut self,
        line: &mut Line,
        machine: &mut M,
        now: Moment,
        link: LinkId,
        cx: &mut Context<'_>,
    ) -> Result<bool, String> {
        let datagram_bytes =
            self.datagrams.as_ref().filter(|side| side.usable).map(DatagramSender::frame_bytes_max);
        let mut took = false;
        loop {
            let mut more = false;
            if line.is_free(now)
                && let Some(frame) = machine.poll_link_frame(now, link)
            {
                line.push(now, frame);
                more = true;
            }
            if let Some(max) = datagram_bytes
                && line.is_free(now)
                && let Some(frame) = machine.poll_link_datagram(now, link, max)
            {
                line.push_datagram(now, frame);
                more = true;
            }
            took |= more;
            if !more {
                break;
            }
        }
        self.write_frames(|| line.pop(now), cx)?;
        let next = |_| line.pop_datagram(now).map(|(number, frame)| (Some(number), frame));
        self.write_datagrams(now, next, cx);
        let free_at = (!line.is_free(now)).then(|| line.free_at());
        // Arrived frames that could not be written wait for the stream. They must not keep the task
        // busy.
        let next = free_at.into_iter().chain(line.next_arrival()).chain(self.wake_at).min();
        self.wake_at = next.map(|at| at.max(now + ASK_AGAIN));
        Ok(took)
    }

    /// Writes frames while the stream accepts them.
    fn write_frames(
        &mut self,
        mut next: impl FnMut() -> Option<Bytes>,
        cx: &mut Context<'_>,
    ) -> Result<bool, String> {
        let (mut took, mut drained) = (false, false);
        while self.flush(cx)? && !drained {
            while self.unsent.len() < WRITE_BYTES {
                let Some(frame) = next() else {
                    drained = true;
                    break;
                };
                if frame.is_empty() || frame.len() > LINK_FRAME_BYTES_MAX {
                    return Err(format!(
                        "this node has a frame of {} bytes for the link; the limit is {LINK_FRAME_BYTES_MAX}",
                        frame.len()
                    ));
                }
                self.put(&frame);
                took = true;
            }
        }
        Ok(took)
    }

    /// Sends datagrams while there is room, with the numbers assigned by an emulated line, if there
    /// is one.
    fn write_datagrams(
        &mut self,
        now: Moment,
        mut next: impl FnMut(usize) -> Option<(Option<u64>, Bytes)>,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(side) = &mut self.datagrams else { return false };
        let mut took = false;
        while side.usable {
            match side.poll_room(cx, &mut self.counters) {
                Room::Yes => {}
                Room::Woken => {
                    self.blocked = true;
                    break;
                }
                Room::AskAgain => {
                    self.wake_at = Some(now + ASK_AGAIN);
                    break;
                }
            }
            let Some((number, frame)) = next(side.frame_bytes_max()) else { break };
            side.send(number, &frame, &mut self.counters);
            took = true;
        }
        took
    }

    fn put(&mut self, frame: &[u8]) {
        frame::write(&mut self.unsent, frame);
        self.counters.sent_frames += 1;
    }

    /// Writes the waiting bytes. Returns false when the stream accepted no more.
    fn flush(&mut self, cx: &mut Context<'_>) -> Result<bool, String> {
        while !self.unsent.is_empty() {
            match Pin::new(&mut self.write).poll_write(cx, &self.unsent) {
                Poll::Pending => {
                    self.counters.full += 1;
                    self.blocked = true;
                    return Ok(false);
                }
                Poll::Ready(Ok(0)) => return Err("the stream takes no more bytes".to_owned()),
                Poll::Ready(Ok(count)) => {
                    self.counters.sent_bytes += count as u64;
                    self.unsent.advance(count);
                }
                Poll::Ready(Err(error)) => return Err(error.to_string()),
            }
        }
        if self.unsent.capacity() > 4 * WRITE_BYTES {
            self.unsent = BytesMut::new(); // one long frame must not cost memory for ever
        }
        // A layer below may buffer bytes of its own.
        match Pin::new(&mut self.write).poll_flush(cx) {
            Poll::Pending => {
                self.blocked = true;
                Ok(false)
            }
            Poll::Ready(result) => result.map(|()| true).map_err(|error| error.to_string()),
        }
    }
}
