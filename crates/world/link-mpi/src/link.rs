//! One end of one link.

use std::collections::VecDeque;
use std::task::Waker;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::message::{BODY_BYTES_MAX, Kind, VERSION};

/// Bytes that an end takes in before its reader has read. A peer cannot make this process keep more
/// for a link.
pub(crate) const WINDOW_BYTES: usize = 1 << 20;

/// Bytes that a writer may leave here before it has to wait.
pub(crate) const OUTGOING_BYTES: usize = 256 << 10;

/// The peer gets new credit for read bytes in portions of at least this size.
const GRANT_BYTES: usize = WINDOW_BYTES / 4;

/// The stage of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Made here; the peer has not answered.
    Asked,
    Up,
    /// The peer will not answer any longer.
    Over,
}

/// The end of the stream, found by the reader after the last octet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    Orderly,
    Broken(String),
}

/// The next output of a link.
pub(crate) struct Outgoing {
    pub(crate) kind: Kind,
    pub(crate) value: u32,
    pub(crate) body: Bytes,
}

impl Outgoing {
    fn plain(kind: Kind, value: usize) -> Self {
        Self { kind, value: u32::try_from(value).unwrap_or(u32::MAX), body: Bytes::new() }
    }
}

/// One end of one link.
pub(crate) struct Link {
    stage: Stage,
    /// `Open` or `Accept`, if it is still to be sent.
    greet: Option<Kind>,
    /// No user here reads or writes any longer. The link can be forgotten when the peer knows.
    dismissed: bool,
    /// The peer has to be told that this end is over.
    closing: bool,
    /// Closing has discarded octets.
    lossy: bool,

    incoming: VecDeque<Bytes>,
    incoming_bytes: usize,
    /// Bytes that the peer may still send.
    allowed: usize,
    /// Bytes that were read, and not yet granted again.
    owed: usize,
    ending: Option<Ending>,
    reader: Option<Waker>,

    outgoing: BytesMut,
    /// Bytes that may still be sent.
    credit: usize,
    /// The stream ends after the octets that wait.
    shut: bool,
    end_sent: bool,
    writer: Option<Waker>,
}

impl Link {
    /// A link that this process makes.
    pub(crate) fn asked() -> Self {
        Self {
            stage: Stage::Asked,
            greet: Some(Kind::Open),
            dismissed: false,
            closing: false,
            lossy: false,
            incoming: VecDeque::new(),
            incoming_bytes: 0,
            allowed: WINDOW_BYTES,
            owed: 0,
            ending: None,
            reader: None,
            outgoing: BytesMut::new(),
            credit: 0,
            shut: false,
            end_sent: false,
            writer: None,
        }
    }

    /// A link that a peer made, which accepts `credit` bytes.
    pub(crate) fn accepted(credit: usize) -> Self {
        Self { stage: Stage::Up, greet: Some(Kind::Accept), credit, ..Self::asked() }
    }

    /// True if the peer has never heard of it.
    pub(crate) fn is_unsaid(&self) -> bool {
        self.greet == Some(Kind::Open)
    }

    /// True if the peer knows that it is over, or can no longer be told.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// True if no user here holds it any longer.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed
    }

    /// The outcome of making it: success, or the reason why not; `None` if it is not known yet.
    pub(crate) fn outcome(&self) -> Option<Result<(), String>> {
        match (&self.stage, &self.ending) {
            (Stage::Asked | Stage::Over, Some(Ending::Broken(why))) => Some(Err(why.clone())),
            (Stage::Asked, _) => None,
            _ => Some(Ok(())),
        }
    }

    /// Registers a waiting task before each wait. Only the last one that waits to read or to be
    /// connected is woken.
    pub(crate) fn await_reading(&mut self, waker: &Waker) {
        self.reader = Some(waker.clone());
    }

    pub(crate) fn await_writing(&mut self, waker: &Waker) {
        self.writer = Some(waker.clone());
    }

    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }

    /// Octets received, at most `max`; empty at the end of the stream; `None` if there are none
    /// yet.
    pub(crate) fn read(&mut self, max: usize) -> Result<Option<Bytes>, String> {
        let Some(first) = self.incoming.front_mut() else {
            return match &self.ending {
                None => Ok(None),
                Some(Ending::Orderly) => Ok(Some(Bytes::new())),
                Some(Ending::Broken(why)) => Err(why.clone()),
            };
        };
        let part = first.split_to(max.min(first.len()));
        if first.is_empty() {
            self.incoming.pop_front();
        }
        self.incoming_bytes -= part.len();
        self.owed += part.len();
        Ok(Some(part))
    }

    /// Takes as many of `octets` as there is room for, and returns their number; 0 if there is no
    /// room now.
    pub(crate) fn write(&mut self, octets: &[u8]) -> Result<usize, String> {
        match &self.ending {
            Some(Ending::Broken(why)) => return Err(why.clone()),
            _ if self.is_over() => return Err("the peer has closed the link".to_owned()),
            _ if self.shut => return Err("this side has ended its stream".to_owned()),
            _ => {}
        }
        let count = octets.len().min(OUTGOING_BYTES.saturating_sub(self.outgoing.len()));
        self.outgoing.extend_from_slice(&octets[..count]);
        Ok(count)
    }

    pub(crate) fn shut(&mut self) {
        self.shut = true;
    }

    /// Closes the link because no user here reads or writes any longer. Octets that fit into the
    /// peer's window are still sent.
    pub(crate) fn dismiss(&mut self) {
        self.dismissed = true;
        self.close();
    }

    fn close(&mut self) {
        self.closing = true;
        self.incoming.clear();
        self.incoming_bytes = 0;
        self.lossy |= self.outgoing.len() > self.credit;
        self.outgoing.truncate(self.credit);
        self.wake();
    }

    /// Ends the link because the peer sends nothing more about it, and takes nothing.
    pub(crate) fn end(&mut self, why: Option<&str>) {
        self.stage = Stage::Over;
        self.greet = None;
        self.outgoing.clear();
        match (why, &self.ending) {
            (_, Some(_)) => {}
            (None, None) => self.ending = Some(Ending::Orderly),
            (Some(why), None) => self.ending = Some(Ending::Broken(why.to_owned())),
        }
        self.wake();
    }

    /// Ends the link because the peer broke a rule, and lets the peer know.
    pub(crate) fn breach(&mut self, why: &str) {
        self.ending = Some(Ending::Broken(why.to_owned()));
        self.lossy = true;
        self.close();
    }

    /// True if [`next`](Self::next) returns something.
    pub(crate) fn has_next(&self) -> bool {
        !self.is_over()
            && (self.greet.is_some()
                || self.closing
                || self.has_grant()
                || self.outgoing.len().min(self.credit) > 0
                || self.has_end())
    }

    fn has_grant(&self) -> bool {
        self.owed >= GRANT_BYTES && self.ending.is_none() && !self.closing
    }

    fn has_end(&self) -> bool {
        self.shut && self.outgoing.is_empty() && !self.end_sent
    }

    /// The next output.
    pub(crate) fn next(&mut self) -> Option<Outgoing> {
        if self.is_over() {
            return None;
        }
        match self.greet.take() {
            Some(Kind::Open) => {
                return Some(Outgoing {
                    body: Bytes::from_static(&[VERSION]),
                    ..Outgoing::plain(Kind::Open, WINDOW_BYTES)
                });
            }
            Some(kind) => return Some(Outgoing::plain(kind, WINDOW_BYTES)),
            None => {}
        }
        if self.has_grant() {
            let owed = std::mem::take(&mut self.owed);
            self.allowed += owed;
            return Some(Outgoing::plain(Kind::Credit, owed));
        }
        let count = self.outgoing.len().min(self.credit).min(BODY_BYTES_MAX);
        if count > 0 {
            self.credit -= count;
            let body = self.outgoing.split_to(count).freeze();
            if let Some(writer) = self.writer.take() {
                writer.wake();
            }
            return Some(Outgoing { body, ..Outgoing::plain(Kind::Data, 0) });
        }
        if self.closing {
            self.stage = Stage::Over;
            return Some(Outgoing::plain(Kind::Close, usize::from(self.lossy)));
        }
        if self.has_end() {
            self.end_sent = true;
            return Some(Outgoing::plain(Kind::End, 0));
        }
        None
    }

    /// Notes that the peer accepted the link.
    pub(crate) fn on_accept(&mut self, credit: usize) {
        if self.stage == Stage::Asked {
            self.stage = Stage::Up;
            self.credit = credit;
            self.wake();
        }
    }

    /// Takes octets from the peer.
    ///
    /// # Errors
    /// More octets than the peer was allowed to send.
    pub(crate) fn on_data(&mut self, octets: Bytes) -> Result<(), String> {
        let count = octets.len();
        let Some(left) = self.allowed.checked_sub(count) else {
            return Err(format!("the peer sent {count} bytes where it may send {}", self.allowed));
        };
        self.allowed = left;
        if !self.closing && self.ending.is_none() && octets.has_remaining() {
            self.incoming.push_back(octets);
            self.incoming_bytes += count;
            if let Some(reader) = self.reader.take() {
                reader.wake();
            }
        }
        Ok(())
    }

    /// Allows this end to send `credit` more bytes.
    pub(crate) fn on_credit(&mut self, credit: usize) {
        self.credit = self.credit.saturating_add(credit);
    }

    /// Notes that the peer sends no further octets.
    pub(crate) fn on_end(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(Ending::Orderly);
        }
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// The bytes that it keeps: read side and write side.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.incoming_bytes, self.outgoing.len())
    }
}
