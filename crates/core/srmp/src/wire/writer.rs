//! The writer of datagrams, record by record.

use super::error::WriteError;
use super::format::Format;
use super::header::{Header, Kind};
use super::record::{Congestion, Echo, Feedback, Mode1, Origin, Record};
use super::{v2, v3};
use crate::model::{Dsn, Profile};
use bytes::{Buf, BytesMut};

/// Bytes of the buffer from which datagrams are split off.
const ARENA_BYTES: usize = 128 * 1024;

/// Writes datagrams: call [`Writer::begin`], then [`Writer::push`] as long as there is
/// [`Writer::room`], then [`Writer::finish`].
///
/// Datagrams lie in one buffer, one after the other. When the buffer is used up it is reused if all
/// of its datagrams have been dropped, and replaced otherwise. So there is no allocation for each
/// datagram.
#[derive(Debug)]
pub struct Writer {
    format: Format,
    /// The datagram being written; the bytes before it belong to datagrams that were handed out.
    arena: BytesMut,
    kind: Kind,
    /// The number of announcements for which there is room.
    reserved: usize,
    /// Records that lie in the header in v2.
    echo: Option<Echo>,
    congestion: Option<Congestion>,
    feedback: Option<Feedback>,
    relay: Relay,
}

/// The source of the mode 1 data in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relay {
    /// No mode 1 data yet.
    Open,
    /// The sender's own data.
    Own,
    /// Relayed data, most recently of this origin.
    Of(Origin),
}

impl Writer {
    /// Creates a writer for datagrams of this format, which has begun an empty bundle.
    pub fn new(format: Format) -> Self {
        let mut writer = Self {
            format,
            arena: BytesMut::new(),
            kind: Kind::Bundle,
            reserved: 0,
            echo: None,
            congestion: None,
            feedback: None,
            relay: Relay::Open,
        };
        writer.begin(Kind::Bundle, 0);
        writer
    }

    /// The format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Begins a datagram with room for `announcements` announcements, or as many as fit; only
    /// bundles have them. An unfinished datagram is dropped.
    pub fn begin(&mut self, kind: Kind, announcements: usize) {
        self.kind = kind;
        self.reserved = match kind {
            Kind::Bundle => announcements.min(self.format.announcements_in(usize::MAX)),
            _ => 0,
        };
        (self.echo, self.congestion, self.feedback, self.relay) = (None, None, None, Relay::Open);
        self.arena.clear();
        if self.arena.capacity() < self.format.length_max() {
            self.arena.reserve(ARENA_BYTES.max(self.format.length_max()));
        }
        self.arena.resize(self.head_bytes(), 0);
    }

    /// Bytes before the first record.
    fn head_bytes(&self) -> usize {
        match (self.format.profile(), self.kind) {
            (Profile::V2, Kind::Bundle) => {
                v2::BUNDLE_HEAD_BYTES + self.format.announcements_bytes(self.reserved)
            }
            (Profile::V2, _) => 0,
            (Profile::V3, _) => v3::HEAD_BYTES,
        }
    }

    /// Whether nothing was pushed, except for records that lie in the header in v2.
    pub fn is_empty(&self) -> bool {
        self.arena.len() == self.head_bytes() && self.feedback.is_none()
    }

    /// Bytes left for records.
    pub fn room(&self) -> usize {
        let behind = match self.format.profile() {
            Profile::V2 => 0,
            Profile::V3 => self.format.announcements_bytes(self.reserved),
        };
        let taken = self.arena.len() + behind + self.format.trailer_bytes();
        self.format.limit(self.kind).saturating_sub(taken)
    }

    /// Appends a record. A record that lies in the header in v2 replaces an earlier one of its
    /// kind.
    ///
    /// # Errors
    /// [`WriteError::Full`] when there is no room, [`WriteError::Unrepresentable`] when the profile
    /// or this kind of datagram cannot carry it. Nothing has been appended then.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let need = self.format.record_bytes(record);
        if need > self.room() {
            return Err(WriteError::Full { need, room: self.room() });
        }
        match self.format.profile() {
            Profile::V2 => self.push_v2(record),
            Profile::V3 => self.push_v3(record),
        }
    }

    fn cannot<T>(&self, item: &'static str) -> Result<T, WriteError> {
        Err(WriteError::Unrepresentable { profile: self.format.profile(), item })
    }

    fn push_v2(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        match (self.kind, record) {
            (Kind::Bundle, Record::Echo(echo)) => self.echo = Some(*echo),
            (Kind::Bundle, Record::Congestion(declared)) => self.congestion = Some(*declared),
            (Kind::Bundle, Record::Mode0(_) | Record::Mode1(_) | Record::Nack(_)) => {
                return v2::put_message(&mut self.arena, record);
            }
            (Kind::Feedback, Record::Feedback(report)) => self.feedback = Some(*report),
            (Kind::Mode2, Record::Mode2(_) | Record::Ack(_)) if self.arena.is_empty() => {
                return v2::put_message(&mut self.arena, record);
            }
            _ => return self.cannot("such a record in such a datagram"),
        }
        Ok(())
    }

    fn push_v3(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let Record::Mode1(message) = record else { return v3::put_record(&mut self.arena, record) };
        let start = self.arena.len();
        let relay = self.relay_with(message)?;
        if let Relay::Of(origin) = relay
            && relay != self.relay
        {
            v3::put_origin(&mut self.arena, origin);
        }
        v3::put_record(&mut self.arena, record).inspect_err(|_| self.arena.truncate(start))?;
        self.relay = relay;
        Ok(())
    }

    /// Own and relayed data cannot share a datagram, since one flag tells them apart.
    fn relay_with(&self, message: &Mode1) -> Result<Relay, WriteError> {
        match (self.relay, message.origin) {
            (Relay::Open | Relay::Of(_), Some(origin)) => Ok(Relay::Of(origin)),
            (Relay::Open | Relay::Own, None) => Ok(Relay::Own),
            _ => self.cannot("own and relayed data in one datagram"),
        }
    }

    /// Ends the datagram: writes the header, the announcements and, if the format has a tag, zeros
    /// for [`Encryptor::seal`](crate::auth::Encryptor::seal) to replace. Sets the flags `AUTH`,
    /// `ENCRYPTED` and `RELAY` as needed. The kind is that of [`Writer::begin`], which must be
    /// called again before the next datagram.
    ///
    /// # Errors
    /// [`WriteError::Announcements`] when there are more than were reserved,
    /// [`WriteError::Unrepresentable`] when the profile cannot represent the header, or when a
    /// required record is missing. The datagram is kept then.
    pub fn finish(&mut self, header: &Header, announcements: &[Dsn]) -> Result<BytesMut, WriteError> {
        if announcements.len() > self.reserved {
            return Err(WriteError::Announcements { got: announcements.len(), reserved: self.reserved });
        }
        let header = Header { kind: self.kind, ..*header };
        let trailer = self.format.trailer_bytes();
        let skip = match self.format.profile() {
            Profile::V2 => self.finish_v2(&header, announcements)?,
            Profile::V3 => {
                self.finish_v3(&header, announcements)?;
                0
            }
        };
        self.arena.resize(self.arena.len() + trailer, 0);
        let mut datagram = self.arena.split();
        datagram.advance(skip);
        Ok(datagram)
    }

    /// Returns the number of bytes to skip at the start: those of announcements that were reserved
    /// and not made.
    fn finish_v2(&mut self, header: &Header, announcements: &[Dsn]) -> Result<usize, WriteError> {
        if self.kind == Kind::Bundle {
            let skip = self.format.announcements_bytes(self.reserved - announcements.len());
            let len = self.arena.len() - skip;
            let steering = (self.echo, self.congestion);
            v2::put_bundle_head(&mut self.arena[skip..], header, steering, announcements, len)?;
            return Ok(skip);
        }
        if let Some(report) = &self.feedback {
            self.arena.clear();
            v2::put_feedback(&mut self.arena, header, report)?;
        }
        if self.arena.is_empty() { self.cannot("a datagram without its message") } else { Ok(0) }
    }

    fn finish_v3(&mut self, header: &Header, announcements: &[Dsn]) -> Result<(), WriteError> {
        let heading = v3::Heading {
            session: self.format.session(),
            protection: self.format.protection(),
            relay: matches!(self.relay, Relay::Of(_)),
            len: self.arena.len()
                + self.format.announcements_bytes(announcements.len())
                + self.format.trailer_bytes(),
        };
        v3::put_head(&mut self.arena, header, &heading)?;
        v3::put_announcements(&mut self.arena, announcements);
        Ok(())
    }
}
