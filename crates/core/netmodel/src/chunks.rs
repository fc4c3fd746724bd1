//! Lists of times with numbers, which grow and shrink, in chunks of one flat array.

/// Entries of a chunk. With the index of the next chunk it has 248 bytes.
const CHUNK: usize = 15;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Chunk {
    items: [(u64, u32); CHUNK],
    next: u32,
}

/// A list. Its first chunk is the one that is being filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    first: u32,
    count: u32,
}

impl Default for Bucket {
    fn default() -> Self {
        Self { first: NONE, count: 0 }
    }
}

impl Bucket {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The chunks of all lists.
#[derive(Clone, Debug)]
pub(crate) struct Chunks {
    chunks: Vec<Chunk>,
    unused: u32,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { chunks: Vec::new(), unused: NONE }
    }
}

impl Chunks {
    /// Adds an entry to a list.
    #[inline]
    pub(crate) fn put(&mut self, bucket: &mut Bucket, item: (u64, u32)) {
        let place = bucket.count as usize % CHUNK;
        if place == 0 {
            bucket.first = self.take(bucket.first);
        }
        self.chunks[bucket.first as usize].items[place] = item;
        bucket.count += 1;
    }

    /// Moves the entries of a list to the end of `items`, in no order.
    pub(crate) fn empty(&mut self, bucket: &mut Bucket, items: &mut Vec<(u64, u32)>) {
        let Bucket { first, count } = std::mem::take(bucket);
        let (mut at, mut left) = (first, count as usize);
        while left > 0 {
            // Only the first chunk may be partly filled.
            let some = (left - 1) % CHUNK + 1;
            let chunk = &mut self.chunks[at as usize];
            items.extend_from_slice(&chunk.items[..some]);
            let next = std::mem::replace(&mut chunk.next, self.unused);
            (self.unused, at, left) = (at, next, left - some);
        }
    }

    /// Empties all lists at once.
    pub(crate) fn clear(&mut self) {
        self.chunks.clear();
        self.unused = NONE;
    }

    fn take(&mut self, next: u32) -> u32 {
        let id = self.unused;
        match self.chunks.get_mut(id as usize) {
            Some(chunk) => {
                self.unused = std::mem::replace(&mut chunk.next, next);
                id
            }
            None => {
                self.chunks.push(Chunk { items: [(0, 0); CHUNK], next });
                u32::try_from(self.chunks.len() - 1).expect("fewer than 2^32 chunks are in use")
            }
        }
    }
}
