//! Frames on a stream: a length of four octets in network byte order, followed by as many octets.

use std::future::Future as _;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;

use super::stream::BoxRead;

/// Longest frame in bytes: 1 MiB, and room for the fields before a router's frame.
pub const LINK_FRAME_BYTES_MAX: usize = (1 << 20) + 64;

/// Octets of the length before each frame.
pub(crate) const LENGTH_BYTES: usize = 4;

/// Bytes requested from a stream in one read.
const READ_BYTES: usize = 64 << 10;

/// A frame of at most this fraction of the bytes of one read is copied out. Otherwise a kept frame
/// would keep all bytes read with it alive.
const COPY_OUT_PART: usize = 16;

/// The reason why a stream cannot be cut into further frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame longer than any that a node sends.
    #[error("the peer announced a frame of {length} bytes; the limit is {limit}")]
    TooLong {
        /// The announced length, in bytes.
        length: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// An empty frame, which no node sends.
    #[error("the peer announced an empty frame")]
    Empty,
}

/// Appends `frame`, preceded by its length.
pub(crate) fn write(out: &mut BytesMut, frame: &[u8]) {
    out.reserve(LENGTH_BYTES + frame.len());
    out.put_u32(u32::try_from(frame.len()).expect("a frame is far below 4 GiB"));
    out.put_slice(frame);
}

/// Cuts the bytes of a stream into frames.
pub(crate) struct FrameReader {
    buffer: BytesMut,
}

impl FrameReader {
    pub(crate) fn new() -> Self {
        Self { buffer: BytesMut::new() }
    }

    /// Reads once. Ready with the number of bytes, which is 0 at the end of the stream.
    pub(crate) fn poll_read(
        &mut self,
        stream: &mut BoxRead,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES / 4 {
            self.buffer.reserve(READ_BYTES);
        }
        let count = ready!(pin!(stream.read_buf(&mut self.buffer)).poll(cx))?;
        Poll::Ready(Ok(count))
    }

    /// Reads once.
    pub(crate) async fn read(&mut self, stream: &mut BoxRead) -> io::Result<usize> {
        std::future::poll_fn(|cx| self.poll_read(stream, cx)).await
    }

    /// The next whole frame; `None` until more bytes are read.
    ///
    /// # Errors
    /// The next frame is longer than `limit`, or empty. The stream cannot be used any further.
    pub(crate) fn next(&mut self, limit: usize) -> Result<Option<Bytes>, FrameError> {
        let Some((length, _)) = self.buffer.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length == 0 {
            return Err(FrameError::Empty);
        }
        if length > limit {
            return Err(FrameError::TooLong { length, limit });
        }
        let Some(frame) = self.buffer.get(LENGTH_BYTES..LENGTH_BYTES + length) else {
            self.buffer.reserve(LENGTH_BYTES + length - self.buffer.len());
            return Ok(None);
        };
        if length <= READ_BYTES / COPY_OUT_PART {
            let frame = Bytes::copy_from_slice(frame);
            let _ = self.buffer.split_to(LENGTH_BYTES + length);
            return Ok(Some(frame));
        }
        let _ = self.buffer.split_to(LENGTH_BYTES);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(octets: &[u8]) -> FrameReader {
        FrameReader { buffer: BytesMut::from(octets) }
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let frames = [vec![1; 3], vec![2; READ_BYTES], vec![3; LINK_FRAME_BYTES_MAX], vec![4]];
        let mut octets = BytesMut::new();
        frames.iter().for_each(|frame| write(&mut octets, frame));
        for cut in [1, 1000, 65_536, octets.len()] {
            let mut reader = FrameReader::new();
            let mut got = Vec::new();
            for part in octets.chunks(cut.max(octets.len() / 1000)) {
                reader.buffer.extend_from_slice(part);
                while let Some(frame) = reader.next(LINK_FRAME_BYTES_MAX).unwrap() {
                    got.push(frame.to_vec());
                }
            }
            assert!(got == frames, "cut at {cut}");
        }
    }

    #[test]
    fn hostile_lengths_are_errors_before_memory_is_taken() {
        let text = reader(b"GET / HTTP").next(LINK_FRAME_BYTES_MAX).unwrap_err().to_string();
        assert_eq!(text, "the peer announced a frame of 1195725856 bytes; the limit is 1048640");
        assert_eq!(reader(&[0; 4]).next(10), Err(FrameError::Empty));
        assert_eq!(reader(&[0, 0, 0, 11]).next(10), Err(FrameError::TooLong { length: 11, limit: 10 }));
        assert_eq!(reader(&[0, 0, 0]).next(10), Ok(None));
    }
}
