//! The time of sending of an update, in its user-supplied tag.

use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};

/// The length of a stamp: this process's key and the nanoseconds since the demo began.
const STAMP_BYTES: usize = 16;

/// Makes and reads stamps. It accepts only stamps of this process, because clocks of other
/// processes cannot be compared with its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    begun: Instant,
    key: u64,
}

impl Stamps {
    /// Stamps of a demo that begins now. `key` distinguishes them from tags of other processes.
    pub(super) fn new(key: u64) -> Self {
        Self { begun: Instant::now(), key }
    }

    /// The tag of an update sent now.
    pub(super) fn now(&self) -> Bytes {
        let nanos = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut tag = BytesMut::with_capacity(STAMP_BYTES);
        tag.put_u64(self.key);
        tag.put_u64(nanos);
        tag.freeze()
    }

    /// The time since the update with `tag` was sent. `None` if the tag is not a stamp of this
    /// process.
    pub(super) fn age(&self, tag: &[u8]) -> Option<Duration> {
        let (key, nanos) = tag.split_first_chunk()?;
        let nanos = u64::from_be_bytes(nanos.try_into().ok()?);
        if u64::from_be_bytes(*key) != self.key {
            return None;
        }
        self.begun.elapsed().checked_sub(Duration::from_nanos(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_stamps_have_an_age() {
        let (ours, theirs) = (Stamps::new(1), Stamps::new(2));
        assert!(ours.age(&ours.now()).is_some());
        assert_eq!(ours.age(&theirs.now()), None);
        assert_eq!(ours.age(b""), None);
        assert_eq!(ours.age(&ours.now()[..15]), None);
        let mut future = ours.now().to_vec();
        future[8] = 0x7f;
        assert_eq!(ours.age(&future), None);
    }
}
