//! Frames that are received (RFC 6455, 5).
//!
//! Data is passed on as it comes. So a frame needs no memory of its own, and its length no limit: the
//! Federate Protocol has limits on messages.

use std::io::Cursor;

use bytes::{Buf as _, BytesMut};
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use crate::error::CarrierError;

/// The longest header of a frame: two octets, eight of a length, and a mask.
const HEADER_MAX: usize = 14;

/// The longest payload of a control frame (5.5).
const CONTROL_MAX: u64 = 125;

/// A part of what has been received.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The next octets of binary messages.
    Data(BytesMut),
    Ping(Vec<u8>),
    Pong,
    Close,
}

/// The frame whose payload is being received.
struct Frame {
    opcode: OpCode,
    mask: Option<[u8; 4]>,
    /// Octets of its payload that have come, and those that are still to come.
    received: u64,
    remaining: u64,
    /// The payload of a control frame.
    control: Vec<u8>,
}

/// Reads frames.
#[derive(Default)]
pub(super) struct FrameReader {
    /// The octets of a header that is incomplete.
    header: BytesMut,
    frame: Option<Frame>,
    /// A message of several frames has begun, and is not over.
    in_message: bool,
}

impl FrameReader {
    /// The next part in `octets`, which it takes out. `masked`: the peer must mask its frames.
    pub(super) fn next(&mut self, octets: &mut BytesMut, masked: bool) -> Result<Option<Part>, CarrierError> {
        loop {
            let Some(frame) = &mut self.frame else {
                match self.take_header(octets, masked)? {
                    Some(frame) => self.frame = Some(frame),
                    None => return Ok(None),
                }
                continue;
            };
            if frame.remaining > 0 && octets.is_empty() {
                return Ok(None);
            }
            let count = usize::try_from(frame.remaining).unwrap_or(usize::MAX).min(octets.len());
            let mut part = octets.split_to(count);
            if let Some(mask) = frame.mask {
                apply_mask(&mut part, mask, frame.received);
            }
            frame.received += count as u64;
            frame.remaining -= count as u64;
            let (is_over, opcode) = (frame.remaining == 0, frame.opcode);
            let OpCode::Control(kind) = opcode else {
                self.frame.take_if(|_| is_over);
                if part.is_empty() {
                    continue;
                }
                return Ok(Some(Part::Data(part)));
            };
            frame.control.extend_from_slice(&part);
            if let Some(frame) = self.frame.take_if(|_| is_over) {
                return Ok(Some(match kind {
                    Control::Ping => Part::Ping(frame.control),
                    Control::Close => Part::Close,
                    Control::Pong | Control::Reserved(_) => Part::Pong,
                }));
            }
        }
    }

    /// The next header, if all of it has come.
    fn take_header(&mut self, octets: &mut BytesMut, masked: bool) -> Result<Option<Frame>, CarrierError> {
        let before = self.header.len();
        let more = octets.len().min(HEADER_MAX - before);
        self.header.extend_from_slice(&octets[..more]);
        let mut cursor = Cursor::new(&self.header);
        let parsed = FrameHeader::parse(&mut cursor).map_err(|_| CarrierError::Frame("an unknown opcode"))?;
        let Some((header, length)) = parsed else {
            octets.advance(more);
            return Ok(None);
        };
        let used = cursor.position() as usize; // at most `HEADER_MAX`
        octets.advance(used - before);
        self.header.clear();
        self.check(&header, length, masked)?;
        let FrameHeader { opcode, mask, .. } = header;
        Ok(Some(Frame { opcode, mask, received: 0, remaining: length, control: Vec::new() }))
    }

    /// Checks a header, and notes whether a message goes on.
    fn check(&mut self, header: &FrameHeader, length: u64, masked: bool) -> Result<(), CarrierError> {
        let fail = |why| Err(CarrierError::Frame(why));
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return fail("a frame of an extension that was not agreed upon");
        }
        match (header.mask.is_some(), masked) {
            (false, true) => return fail("a frame of a client without a mask"),
            (true, false) => return fail("a frame of a server with a mask"),
            _ => {}
        }
        if length > i64::MAX as u64 {
            return fail("a length of more than 63 bits");
        }
        match header.opcode {
            OpCode::Control(_) if !header.is_final || length > CONTROL_MAX => {
                return fail("a control frame in parts, or of more than 125 octets");
            }
            OpCode::Control(_) => {}
            OpCode::Data(Data::Binary) if !self.in_message => self.in_message = !header.is_final,
            OpCode::Data(Data::Continue) if self.in_message => self.in_message = !header.is_final,
            OpCode::Data(Data::Binary) => return fail("a new message before the last one was over"),
            OpCode::Data(Data::Continue) => return fail("the continuation of no message"),
            OpCode::Data(_) => return fail("a text message; those of the Federate Protocol are binary"),
        }
        Ok(())
    }
}

/// Masks octets, or the other way round: the same. `position` is that of the first one in its frame.
pub(super) fn apply_mask(octets: &mut [u8], mask: [u8; 4], position: u64) {
    let mut mask = mask;
    mask.rotate_left((position % 4) as usize);
    // Eight octets at a time: with single ones, masking would take most of the time of a frame.
    let wide = u64::from_ne_bytes([mask, mask].concat().try_into().unwrap_or_default());
    let (words, rest) = octets.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (octet, mask) in rest.iter_mut().zip(mask.into_iter().cycle()) {
        *octet ^= mask;
    }
}

/// A mask that cannot be guessed (5.3).
pub(super) fn random_mask() -> [u8; 4] {
    // It keeps proxies from being misled by scripts of web pages. A federate is none, so that a system
    // without random numbers need not stop it.
    getrandom::u32().unwrap_or_default().to_ne_bytes()
}
