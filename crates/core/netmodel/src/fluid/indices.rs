//! Arrays of indices, nearly all of which are none. They have 16 bits each until one does not fit,
//! so that more of them stay in a near cache.

/// No index.
pub(super) const NONE: u32 = u32::MAX;
/// The same in 16 bits.
const NARROW_NONE: u16 = u16::MAX;

/// Indices below [`NONE`], or none, by number.
#[derive(Clone, Debug)]
pub(super) enum Indices {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Default for Indices {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Indices {
    /// `count` indices, all none.
    pub(super) fn new(count: usize) -> Self {
        Self::Narrow(vec![NARROW_NONE; count])
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(all) => all.len(),
            Self::Wide(all) => all.len(),
        }
    }

    /// Resizes the array; new indices are none.
    pub(super) fn resize(&mut self, count: usize) {
        match self {
            Self::Narrow(all) => all.resize(count, NARROW_NONE),
            Self::Wide(all) => all.resize(count, NONE),
        }
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> u32 {
        match self {
            Self::Narrow(all) => widened(all[at as usize]),
            Self::Wide(all) => all[at as usize],
        }
    }

    #[inline]
    pub(super) fn set(&mut self, at: u32, index: u32) {
        match self {
            Self::Wide(all) => all[at as usize] = index,
            Self::Narrow(all) if index == NONE => all[at as usize] = NARROW_NONE,
            Self::Narrow(all) if index < u32::from(NARROW_NONE) => all[at as usize] = index as u16,
            Self::Narrow(_) => self.set_wide(at, index),
        }
    }

    /// Sets the first index that does not fit into 16 bits.
    #[cold]
    fn set_wide(&mut self, at: u32, index: u32) {
        if let Self::Narrow(all) = self {
            *self = Self::Wide(all.iter().map(|index| widened(*index)).collect());
        }
        self.set(at, index);
    }
}

#[inline]
fn widened(index: u16) -> u32 {
    if index == NARROW_NONE { NONE } else { u32::from(index) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stay_when_one_is_large() {
        let mut indices = Indices::new(2);
        indices.resize(4);
        let mut model = [NONE; 4];
        for (at, index) in [(0, 7), (1, 65_534), (2, 1), (2, NONE), (3, 65_535), (0, 1 << 31), (1, NONE)] {
            indices.set(at, index);
            model[at as usize] = index;
            assert_eq!((0..4).map(|at| indices.get(at)).collect::<Vec<_>>(), model);
        }
        indices.resize(5);
        assert_eq!((indices.len(), indices.get(4)), (5, NONE));
    }
}
