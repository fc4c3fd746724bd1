//! Reads numbers, texts and parts of a frame. Every length is checked before it is used.

use crate::error::FrameError;
use base::NodeKey;
use bytes::{Buf, Bytes};

/// The rest of a frame, and its offset.
#[derive(Debug)]
pub(super) struct Reader {
    rest: Bytes,
    at: usize,
}

impl Reader {
    pub(super) fn new(bytes: Bytes, at: usize) -> Self {
        Self { rest: bytes, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn bytes(&mut self, what: &'static str, need: usize) -> Result<Bytes, FrameError> {
        if self.rest.len() < need {
            return Err(FrameError::Truncated { what, at: self.at, need, left: self.rest.len() });
        }
        self.at += need;
        Ok(self.rest.split_to(need))
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, FrameError> {
        Ok(self.bytes(what, 1)?.get_u8())
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, FrameError> {
        Ok(self.bytes(what, 2)?.get_u16())
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, FrameError> {
        Ok(self.bytes(what, 4)?.get_u32())
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, FrameError> {
        Ok(self.bytes(what, 8)?.get_u64())
    }

    pub(super) fn key(&mut self, what: &'static str) -> Result<NodeKey, FrameError> {
        self.u64(what).map(NodeKey)
    }

    /// A byte that is 0 or 1.
    pub(super) fn flag(&mut self, what: &'static str) -> Result<bool, FrameError> {
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(what, "neither 0 nor 1")),
        }
    }

    /// A blob: as many bytes as the number in front says, at most `limit`.
    pub(super) fn blob(&mut self, what: &'static str, limit: usize) -> Result<Bytes, FrameError> {
        let len = self.u32(what)? as usize;
        if len > limit {
            return Err(FrameError::TooLong { what, len, limit });
        }
        self.bytes(what, len)
    }

    pub(super) fn text(&mut self, what: &'static str, limit: usize) -> Result<String, FrameError> {
        let blob = self.blob(what, limit)?;
        String::from_utf8(blob.to_vec()).map_err(|_| self.wrong(what, "not UTF-8"))
    }

    /// A name: a printable text.
    pub(super) fn name(&mut self, what: &'static str, limit: usize) -> Result<String, FrameError> {
        let name = self.text(what, limit)?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(self.wrong(what, "empty or with control characters"));
        }
        Ok(name)
    }

    /// The rest of the frame.
    pub(super) fn rest(self) -> Bytes {
        self.rest
    }

    pub(super) fn end(self) -> Result<(), FrameError> {
        match self.rest.len() {
            0 => Ok(()),
            extra => Err(FrameError::Trailing { at: self.at, extra }),
        }
    }

    pub(super) fn wrong(&self, what: &'static str, why: &'static str) -> FrameError {
        FrameError::Value { what, at: self.at, why }
    }
}
