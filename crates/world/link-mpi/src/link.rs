//! One end of one link.

use std::collections::VecDeque;
use std::task::Waker;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::message::{BODY_BYTES_MAX, Kind, VERSION};

/// What an end takes in before its reader has read, in bytes: all that a peer can make this process keep for a link.
pub(crate) const WINDOW_BYTES: usize = 1 << 20;

/// What a writer may leave here before it has to wait, in bytes.
pub(crate) const OUTGOING_BYTES: usize = 256 << 10;

/// Read bytes are granted to the peer again in portions of at least this many.
const GRANT_BYTES: usize = WINDOW_BYTES / 4;

/// How far a link has come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Made here; the peer has not answered.
    Asked,
    Up,
    /// There is nobody to answer any more.
    Over,
}

/// What the reader finds after the last octet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    Orderly,
    Broken(String),
}

/// What a link has to say next.
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
    /// `Open` or `Accept` is still to be sent.
    greet: Option<Kind>,
    /// Nobody here reads or writes any more; it can be forgotten when the peer knows.
    dismissed: bool,
    /// The peer is to be told that this end is over.
    closing: bool,
    /// Octets were lost by closing.
    lossy: bool,

    incoming: VecDeque<Bytes>,
    incoming_bytes: usize,
    /// What the peer may still send.
    allowed: usize,
    /// What was read, and not granted again.
    owed: usize,
    ending: Option<Ending>,
    reader: Option<Waker>,

    outgoing: BytesMut,
    /// What may still be sent.
    credit: usize,
    /// Nothing is written after what waits.
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

    /// A link that a peer made, which takes `credit` bytes.
    pub(crate) fn accepted(credit: usize) -> Self {
        Self { stage: Stage::Up, greet: Some(Kind::Accept), credit, ..Self::asked() }
    }

    /// Whether the peer has never heard of it.
    pub(crate) fn is_unsaid(&self) -> bool {
        self.greet == Some(Kind::Open)
    }

    /// Whether the peer knows that it is over, or cannot be told.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Whether nobody here asks for it any more.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed
    }

    /// Whether it is made, or why it is not; `None`: not yet.
    pub(crate) fn outcome(&self) -> Option<Result<(), String>> {
        match (&self.stage, &self.ending) {
            (Stage::Asked | Stage::Over, Some(Ending::Broken(why))) => Some(Err(why.clone())),
            (Stage::Asked, _) => None,
            _ => Some(Ok(())),
        }
    }

    /// Called with every wait: the last one who waits to read or to be connected is woken.
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

    /// Octets that came, at most `max`; empty at the end of the stream, `None`: none yet.
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

    /// Takes as much of `octets` as there is room for; 0: none now.
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

    /// Nobody here reads or writes any more. What the peer has room for is still said.
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

    /// The peer has nothing more to say about it, and takes nothing.
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

    /// The peer broke a rule: it is over here, and the peer is told.
    pub(crate) fn breach(&mut self, why: &str) {
        self.ending = Some(Ending::Broken(why.to_owned()));
        self.lossy = true;
        self.close();
    }

    /// Whether [`next`](Self::next) has something.
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

    /// What it has to say next.
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

    /// The peer took the link.
    pub(crate) fn on_accept(&mut self, credit: usize) {
        if self.stage == Stage::Asked {
            self.stage = Stage::Up;
            self.credit = credit;
            self.wake();
        }
    }

    /// Octets came.
    ///
    /// # Errors
    /// More than the peer was allowed.
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

    /// More may be sent.
    pub(crate) fn on_credit(&mut self, credit: usize) {
        self.credit = self.credit.saturating_add(credit);
    }

    /// The peer sends no more octets.
    pub(crate) fn on_end(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(Ending::Orderly);
        }
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// What it keeps, in bytes: read side and write side.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.incoming_bytes, self.outgoing.len())
    }
}
