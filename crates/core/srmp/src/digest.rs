//! The state of a member's data elements in twelve bytes.

use crate::model::{DataId, Sn};

/// How many data elements there are, and the exclusive or over all of a hash of element and version.
///
/// It lets a receiver verify complete state although the list of versions comes in parts. It is no protection from forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Digest {
    /// Active data elements.
    pub count: u32,
    /// Exclusive or of FNV-1a-64 over the four bytes of the element and the four of the version, big-endian.
    pub hash: u64,
}

impl Digest {
    /// The element came in.
    pub(crate) fn insert(&mut self, data: DataId, sn: Sn) {
        self.count += 1;
        self.hash ^= hash(data, sn);
    }

    /// The element went.
    pub(crate) fn remove(&mut self, data: DataId, sn: Sn) {
        self.count -= 1;
        self.hash ^= hash(data, sn);
    }

    /// A version takes the place of another.
    pub(crate) fn replace(&mut self, data: DataId, old: Option<Sn>, new: Sn) {
        if let Some(old) = old {
            self.remove(data, old);
        }
        self.insert(data, new);
    }
}

fn hash(data: DataId, sn: Sn) -> u64 {
    let bytes = data.0.to_be_bytes().into_iter().chain(sn.0.to_be_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depends_on_contents_and_not_on_the_way() {
        let mut a = Digest::default();
        a.insert(DataId(1), Sn(5));
        a.insert(DataId(2), Sn(7));
        let mut b = Digest::default();
        b.replace(DataId(2), None, Sn(6));
        b.replace(DataId(2), Some(Sn(6)), Sn(7));
        assert_ne!(a, b);
        b.insert(DataId(1), Sn(5));
        assert_eq!(a, b);
        b.remove(DataId(1), Sn(5));
        b.remove(DataId(2), Sn(7));
        assert_eq!(b, Digest::default());
    }

    #[test]
    fn is_fnv_1a() {
        // The reference value for eight zero bytes: the offset basis times the prime to the eighth.
        let expected = (0..8).fold(0xcbf2_9ce4_8422_2325_u64, |h, _| h.wrapping_mul(0x0100_0000_01b3));
        assert_eq!(hash(DataId(0), Sn(0)), expected);
    }
}
