//! Digests, updated with the state that they stand for.

use crate::model::{DataId, Sn};
use crate::wire::Digest;

impl Digest {
    /// A version replaces another one, or is the first of its data element.
    pub(crate) fn replace(&mut self, data: DataId, old: Option<Sn>, new: Sn) {
        if let Some(old) = old {
            self.remove(data, old);
        }
        self.active += 1;
        self.hash ^= Self::hash(data, new);
    }

    /// The data element is no longer part of the state.
    pub(crate) fn remove(&mut self, data: DataId, sn: Sn) {
        self.active -= 1;
        self.hash ^= Self::hash(data, sn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depends_on_contents_and_not_on_the_way() {
        let mut a = Digest::default();
        a.replace(DataId(1), None, Sn(5));
        a.replace(DataId(2), None, Sn(7));
        let mut b = Digest::default();
        b.replace(DataId(2), None, Sn(6));
        b.replace(DataId(2), Some(Sn(6)), Sn(7));
        assert_ne!(a, b);
        b.replace(DataId(1), None, Sn(5));
        assert_eq!(a, b);
        b.remove(DataId(1), Sn(5));
        b.remove(DataId(2), Sn(7));
        assert_eq!(b, Digest::default());
    }
}
