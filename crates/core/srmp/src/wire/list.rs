//! Lists that are read in place.

use std::fmt;

/// The entries of a record: a view of a datagram, or a slice given for writing. Iterating allocates
/// nothing.
#[derive(Clone, Copy)]
pub struct List<'a, T>(Source<'a, T>);

#[derive(Clone, Copy)]
enum Source<'a, T> {
    /// Entries of `stride` bytes each, and the function that reads one.
    Wire {
        bytes: &'a [u8],
        stride: usize,
        read: fn(&[u8]) -> T,
    },
    Plain(&'a [T]),
}

impl<'a, T: Copy> List<'a, T> {
    /// A list of entries in memory.
    pub const fn of(entries: &'a [T]) -> Self {
        Self(Source::Plain(entries))
    }

    /// A list over a datagram's bytes, the number of which is a multiple of `stride`.
    pub(super) fn on_wire(bytes: &'a [u8], stride: usize, read: fn(&[u8]) -> T) -> Self {
        Self(Source::Wire { bytes, stride, read })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Wire { bytes, stride, .. } => bytes.len() / stride,
            Source::Plain(entries) => entries.len(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at an index.
    pub fn get(&self, index: usize) -> Option<T> {
        match self.0 {
            Source::Wire { bytes, stride, read } => {
                let start = index.checked_mul(stride)?;
                bytes.get(start..start.checked_add(stride)?).map(read)
            }
            Source::Plain(entries) => entries.get(index).copied(),
        }
    }

    /// All entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        let list = *self;
        (0..list.len()).map(move |index| list.get(index).expect("the index is below the length"))
    }
}

impl<T: Copy + PartialEq> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
