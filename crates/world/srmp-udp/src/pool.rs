//! Memory for received datagrams.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes of one buffer.
const CHUNK_BYTES: usize = 64 << 10;
/// Number of buffers that are kept for reuse.
const CHUNKS_MAX: usize = 32;

/// Buffers into which datagrams are copied. Each is reused when none of its datagrams is held any
/// longer.
///
/// In steady state nothing is allocated. A datagram that is held for a long time keeps a buffer of
/// 64 KiB alive.
#[derive(Debug, Default)]
pub(super) struct Pool {
    current: BytesMut,
    /// Filled buffers, the oldest first.
    filled: VecDeque<BytesMut>,
}

impl Pool {
    /// A copy of the datagram.
    pub(super) fn copy(&mut self, datagram: &[u8]) -> Bytes {
        if self.current.capacity() < datagram.len() {
            self.turn(datagram.len());
        }
        self.current.extend_from_slice(datagram);
        self.current.split().freeze()
    }

    /// Replaces the current buffer by one with room for `bytes`.
    fn turn(&mut self, bytes: usize) {
        let bytes = bytes.max(CHUNK_BYTES);
        let full = std::mem::take(&mut self.current);
        self.filled.push_back(full);
        let oldest = self.filled.pop_front().map(|mut oldest| (oldest.try_reclaim(bytes), oldest));
        self.current = match oldest {
            Some((true, oldest)) => oldest,
            Some((false, oldest)) => {
                // Still in use. If there are too many such buffers, its memory is freed with the
                // last of its datagrams.
                if self.filled.len() < CHUNKS_MAX && oldest.capacity() > 0 {
                    self.filled.push_back(oldest);
                }
                BytesMut::with_capacity(bytes)
            }
            None => BytesMut::with_capacity(bytes),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again() {
        let mut pool = Pool::default();
        let mut places = std::collections::BTreeSet::new();
        let mut held: VecDeque<Bytes> = VecDeque::new();
        for number in 0..10_000_u32 {
            let datagram = vec![number as u8; 1_000];
            let copy = pool.copy(&datagram);
            assert_eq!(copy, datagram);
            places.insert(copy.as_ptr() as usize / CHUNK_BYTES);
            held.push_back(copy);
            if held.len() > 200 {
                held.pop_front();
            }
        }
        // 200 datagrams fill four buffers; one may span two positions.
        assert!(places.len() <= 24, "{}", places.len());
    }

    #[test]
    fn kept_values_stay_unchanged() {
        let mut pool = Pool::default();
        let kept: Vec<Bytes> =
            (0..5_000_u32).map(|number| pool.copy(&number.to_be_bytes().repeat(200))).collect();
        for (number, datagram) in (0..5_000_u32).zip(&kept) {
            assert_eq!(datagram[..], number.to_be_bytes().repeat(200));
        }
        assert!(pool.filled.len() <= CHUNKS_MAX);
        assert_eq!(pool.copy(&[1; 100_000]).len(), 100_000, "longer than a buffer");
        assert_eq!(pool.copy(&[]).len(), 0);
    }
}
