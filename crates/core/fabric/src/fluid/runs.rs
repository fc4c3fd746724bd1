//! Room for short lists that come and go: each is a run of neighbours in one flat array.

/// Gives out runs of indices, and takes them back for the next of the same length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    end: u32,
    free: Vec<Vec<u32>>,
}

impl Runs {
    /// The first index of `length` free neighbours, and whether the array must grow for them.
    pub(crate) fn take(&mut self, length: usize) -> u32 {
        if let Some(first) = self.free.get_mut(length).and_then(Vec::pop) {
            return first;
        }
        let first = self.end;
        self.end = u32::try_from(self.end as usize + length).expect("fewer than 2^32 places are in use");
        first
    }

    /// Gives back what [`Runs::take`] gave.
    pub(crate) fn give_back(&mut self, first: u32, length: usize) {
        if self.free.len() <= length {
            self.free.resize_with(length + 1, Vec::new);
        }
        self.free[length].push(first);
    }

    /// How long the array must be for all runs given out so far.
    pub(crate) fn end(&self) -> usize {
        self.end as usize
    }
}
