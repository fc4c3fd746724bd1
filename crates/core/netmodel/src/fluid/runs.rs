//! Storage for short lists with short lives: each is a run of neighbours in one flat array.

/// Allocates runs of indices, and reuses freed ones for requests of the same length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    end: u32,
    free: Vec<Vec<u32>>,
}

impl Runs {
    /// The first index of `length` free neighbours. The array may have to grow for them: see
    /// [`Runs::end`].
    pub(crate) fn take(&mut self, length: usize) -> u32 {
        if let Some(first) = self.free.get_mut(length).and_then(Vec::pop) {
            return first;
        }
        let first = self.end;
        self.end = u32::try_from(self.end as usize + length).expect("fewer than 2^32 places are in use");
        first
    }

    /// Frees a run that [`Runs::take`] returned.
    pub(crate) fn give_back(&mut self, first: u32, length: usize) {
        if self.free.len() <= length {
            self.free.resize_with(length + 1, Vec::new);
        }
        self.free[length].push(first);
    }

    /// Length that the array needs for all runs allocated so far.
    pub(crate) fn end(&self) -> usize {
        self.end as usize
    }
}
