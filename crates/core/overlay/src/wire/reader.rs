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

    pub(super) fn bytes(&mut self, item: &'static str, need: usize) -> Result<Bytes, FrameError> {
        if self.rest.len() < need {
            return Err(FrameError::Truncated { item, at: self.at, need, left: self.rest.len() });
        }
        self.at += need;
        Ok(self.rest.split_to(need))
    }

    pub(super) fn u8(&mut self, item: &'static str) -> Result<u8, FrameError> {
        Ok(self.bytes(item, 1)?.get_u8())
    }

    pub(super) fn u16(&mut self, item: &'static str) -> Result<u16, FrameError> {
        Ok(self.bytes(item, 2)?.get_u16())
    }

    pub(super) fn u32(&mut self, item: &'static str) -> Result<u32, FrameError> {
        Ok(self.bytes(item, 4)?.get_u32())
    }

    pub(super) fn u64(&mut self, item: &'static str) -> Result<u64, FrameError> {
        Ok(self.bytes(item, 8)?.get_u64())
    }

    pub(super) fn key(&mut self, item: &'static str) -> Result<NodeKey, FrameError> {
        self.u64(item).map(NodeKey)
    }

    /// A byte that is 0 or 1.
    pub(super) fn flag(&mut self, item: &'static str) -> Result<bool, FrameError> {
        match self.u8(item)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(item, "neither 0 nor 1")),
        }
    }

    /// A blob: as many bytes as the number in front says, at most `limit`.
    pub(super) fn blob(&mut self, item: &'static str, limit: usize) -> Result<Bytes, FrameError> {
        let len = self.u32(item)? as usize;
        if len > limit {
            return Err(FrameError::TooLong { item, len, limit });
        }
        self.bytes(item, len)
    }

    pub(super) fn text(&mut self, item: &'static str, limit: usize) -> Result<String, FrameError> {
        let blob = self.blob(item, limit)?;
        String::from_utf8(blob.to_vec()).map_err(|_| self.wrong(item, "not UTF-8"))
    }

    /// A name: a printable text.
    pub(super) fn name(&mut self, item: &'static str, limit: usize) -> Result<String, FrameError> {
        let name = self.text(item, limit)?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(self.wrong(item, "empty or with control characters"));
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

    pub(super) fn wrong(&self, item: &'static str, why: &'static str) -> FrameError {
        FrameError::Value { item, at: self.at, why }
    }
}
