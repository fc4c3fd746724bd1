//! The decoder that cuts a byte stream into whole messages.

use super::{Frame, FrameError, HEADER_BYTES, HeaderView};
use bytes::{Buf, Bytes, BytesMut};

/// Cuts a byte stream into messages.
///
/// A message that lies whole in one chunk is a slice of that chunk; nothing is copied. Only a
/// message that spans chunks is collected in a buffer of its own. This buffer grows with the bytes
/// that have arrived, not with the announced size, and is handed over with the message: an idle
/// decoder holds no memory.
///
/// A slice keeps its whole chunk alive. Copy a body that you store for a long time.
///
/// After an error the stream has lost its frame boundaries. Drop the decoder.
#[derive(Debug, Default)]
pub struct Decoder {
    limit: usize,
    chunk: Bytes,
    partial: BytesMut,
}

impl Decoder {
    /// A decoder that refuses messages of more than `limit` bytes, header included.
    pub fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Changes the limit for messages whose header has not yet been read.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes the next bytes of the stream. Call [`Decoder::next_frame`] until it returns `None`
    /// before pushing again.
    pub fn push(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            // Only needed if the caller stopped half-way. Correct, but not fast.
            let mut joined = BytesMut::with_capacity(self.chunk.len() + chunk.len());
            joined.extend_from_slice(&self.chunk);
            joined.extend_from_slice(&chunk);
            self.chunk = joined.freeze();
        }
    }

    /// The next whole message; `None` when more bytes are needed.
    ///
    /// # Errors
    /// See [`HeaderView::parse`].
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if !self.partial.is_empty() {
            return self.next_collected();
        }
        if self.chunk.len() < HEADER_BYTES {
            self.keep_rest();
            return Ok(None);
        }
        let view = HeaderView::parse(&self.chunk, self.limit)?;
        let (size, header) = (view.size(), view.header());
        if self.chunk.len() < size {
            self.keep_rest();
            return Ok(None);
        }
        let mut payload = self.chunk.split_to(size);
        payload.advance(HEADER_BYTES);
        if self.chunk.is_empty() {
            self.chunk = Bytes::new();
        }
        Ok(Some(Frame { header, payload }))
    }

    /// Bytes of an incomplete message held now.
    pub fn buffered(&self) -> usize {
        self.partial.len() + self.chunk.len()
    }

    fn next_collected(&mut self) -> Result<Option<Frame>, FrameError> {
        if !self.collect(HEADER_BYTES) {
            return Ok(None);
        }
        let view = HeaderView::parse(&self.partial, self.limit)?;
        let (size, header) = (view.size(), view.header());
        if !self.collect(size) {
            return Ok(None);
        }
        let mut payload = std::mem::take(&mut self.partial).freeze();
        payload.advance(HEADER_BYTES);
        Ok(Some(Frame { header, payload }))
    }

    /// Moves bytes to `partial` until it holds `want` of them. Returns whether it does.
    fn collect(&mut self, want: usize) -> bool {
        let take = want.saturating_sub(self.partial.len()).min(self.chunk.len());
        self.partial.extend_from_slice(&self.chunk[..take]);
        self.chunk.advance(take);
        if self.chunk.is_empty() {
            self.chunk = Bytes::new();
        }
        self.partial.len() >= want
    }

    fn keep_rest(&mut self) {
        let rest = std::mem::take(&mut self.chunk);
        self.partial.extend_from_slice(&rest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Header, MessageType, Numbers, put_hla};
    use super::*;
    use proptest::prelude::*;

    fn stream(bodies: &[Vec<u8>]) -> Bytes {
        let mut out = BytesMut::new();
        for body in bodies {
            put_hla(&mut out, MessageType::CallbackRequest, 7, Numbers::default(), None, body);
        }
        out.freeze()
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_messages(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..12),
            cuts in prop::collection::vec(1usize..60, 1..40),
        ) {
            let mut bytes = stream(&bodies);
            let mut decoder = Decoder::new(1_000);
            let mut got = Vec::new();
            let mut cuts = cuts.iter().cycle();
            while !bytes.is_empty() {
                let n = (*cuts.next().unwrap()).min(bytes.len());
                decoder.push(bytes.split_to(n));
                while let Some(frame) = decoder.next_frame().unwrap() {
                    got.push(frame.payload.to_vec());
                }
            }
            prop_assert_eq!(got, bodies);
            prop_assert_eq!(decoder.buffered(), 0);
            prop_assert_eq!(decoder.partial.capacity(), 0);
        }

        #[test]
        fn random_bytes_never_panic(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..70), 0..9)) {
            let mut decoder = Decoder::new(64);
            'chunks: for chunk in chunks {
                decoder.push(chunk.into());
                loop {
                    match decoder.next_frame() {
                        Ok(Some(frame)) => drop(frame.message()),
                        Ok(None) => break,
                        Err(_) => break 'chunks,
                    }
                }
            }
        }
    }

    #[test]
    fn whole_messages_are_slices_and_a_long_size_is_refused_from_the_header() {
        let bytes = stream(&[vec![1; 10], vec![2; 10]]);
        let start = bytes.as_ptr();
        let mut decoder = Decoder::new(40);
        decoder.push(bytes);
        let first = decoder.next_frame().unwrap().unwrap();
        assert_eq!(first.payload.as_ptr(), start.wrapping_add(24));
        assert!(decoder.next_frame().unwrap().is_some());
        let header =
            Header { message_type: MessageType::CallRequest, session: 1, numbers: Numbers::default() }
                .to_bytes(17);
        for cut in 1..=24 {
            let mut decoder = Decoder::new(40);
            decoder.push(Bytes::copy_from_slice(&header[..cut]));
            let first = decoder.next_frame();
            let result = first.and_then(|_| {
                decoder.push(Bytes::copy_from_slice(&header[cut..]));
                decoder.next_frame()
            });
            assert_eq!(result.unwrap_err(), FrameError::TooLong { size: 41, limit: 40 });
        }
    }
}
