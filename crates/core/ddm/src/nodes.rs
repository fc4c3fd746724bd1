//! The nodes of a tree, in one arena.
//!
//! A node has up to [`LANES`] entries: regions in a leaf, children elsewhere. The bounds of its
//! entries lie in 2d rows of one lane per entry, so that a query compares all entries at once.

use crate::range::{extend, extent, widest};

/// Entries of a node. A node is split when it gets as many, so that each has room for one more.
pub(crate) const LANES: usize = 32;
/// A node with fewer entries is merged with a sibling, where one has room.
const FEW: usize = LANES / 4;
/// Two nodes are merged only if they have at most this many entries together. A fuller one would soon be
/// split again.
const MERGED: usize = LANES * 3 / 4;
/// Times that the cover of a leaf grows before it is fitted again: about once for each of its regions. This bounds
/// how far one region that moves on and on, among others that stay, can stretch its leaf.
const GROWTHS_MAX: u8 = LANES as u8;
/// The parent of the root.
pub(crate) const NONE: u32 = u32::MAX;

/// One value per entry.
type Row<T> = [T; LANES];

#[derive(Clone, Copy, Debug)]
struct Head {
    parent: u32,
    length: u8,
    /// Leaves have level 0.
    level: u8,
    /// Times that the cover has grown for a region that moved, since it was fitted.
    growths: u8,
}

/// Nodes of d dimensions, by number.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// Bounds of one box: 2d.
    sides: usize,
    /// For each node, row by row: lower and upper bounds of the entries, dimension by dimension.
    /// Lanes without an entry are empty boxes: they overlap nothing, and extend nothing.
    bounds: Vec<Row<i32>>,
    /// For each node: ids of regions, or numbers of children.
    entries: Vec<Row<u32>>,
    /// For each node: a box that contains its entries. It is the least one after [`Nodes::fit`].
    covers: Vec<i32>,
    heads: Vec<Head>,
    free: Vec<u32>,
}

impl Nodes {
    pub(crate) const fn new(dimensions: usize) -> Self {
        Self {
            sides: 2 * dimensions,
            bounds: Vec::new(),
            entries: Vec::new(),
            covers: Vec::new(),
            heads: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Bytes of heap memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bounds.capacity() * size_of::<Row<i32>>()
            + self.entries.capacity() * size_of::<Row<u32>>()
            + (self.covers.capacity() + self.free.capacity()) * size_of::<u32>()
            + self.heads.capacity() * size_of::<Head>()
    }

    /// Makes room for the nodes of so many regions, packed.
    pub(crate) fn reserve(&mut self, regions: usize) {
        let more = regions / (LANES * 3 / 4) + 8;
        self.heads.reserve_exact(more);
        self.entries.reserve_exact(more);
        self.bounds.reserve_exact(more * self.sides);
        self.covers.reserve_exact(more * self.sides);
    }

    /// Adds a node without entries.
    pub(crate) fn add(&mut self, level: u8) -> u32 {
        let head = Head { parent: NONE, length: 0, level, growths: 0 };
        if let Some(node) = self.free.pop() {
            self.heads[node as usize] = head;
            return node;
        }
        let node = self.heads.len();
        if node == self.heads.capacity() {
            // Half of a doubled arena could be unused; an eighth is enough to amortize the copies.
            let more = node / 8 + 8;
            self.heads.reserve_exact(more);
            self.entries.reserve_exact(more);
            self.bounds.reserve_exact(more * self.sides);
            self.covers.reserve_exact(more * self.sides);
        }
        self.heads.push(head);
        self.entries.push([NONE; LANES]);
        for side in 0..self.sides {
            self.bounds.push([EMPTY[side % 2]; LANES]);
            self.covers.push(EMPTY[side % 2]);
        }
        node as u32 // REGIONS_MAX keeps nodes below 2³¹
    }

    /// Removes all entries, and gives up the nodes below. The cover is the caller's business. The
    /// recursion is as deep as the tree.
    pub(crate) fn release_below(&mut self, node: u32) {
        if self.level(node) > 0 {
            for child in self.entries(node).to_vec() {
                self.release_below(child);
                self.release(child);
            }
        }
        self.heads[node as usize].length = 0;
        for (side, row) in self.rows_mut(node).iter_mut().enumerate() {
            *row = [EMPTY[side % 2]; LANES];
        }
    }

    /// The first node of a level from number `from` on. None if there is none.
    pub(crate) fn of_level(&self, level: u8, from: u32) -> Option<u32> {
        let heads = self.heads.iter().enumerate().skip(from as usize);
        let mut found = heads.filter(|(_, head)| head.level == level && head.length > 0);
        found.next().map(|(node, _)| node as u32)
    }

    /// Gives up a node that has no entries.
    pub(crate) fn release(&mut self, node: u32) {
        debug_assert_eq!(self.length(node), 0, "node {node} is in use");
        self.free.push(node);
    }

    pub(crate) fn length(&self, node: u32) -> usize {
        self.heads[node as usize].length.into()
    }

    pub(crate) fn is_full(&self, node: u32) -> bool {
        self.length(node) == LANES
    }

    pub(crate) fn is_sparse(&self, node: u32) -> bool {
        self.length(node) < FEW
    }

    /// Whether the cover of a leaf may grow for a region that moves.
    pub(crate) fn may_grow(&self, leaf: u32) -> bool {
        self.heads[leaf as usize].growths < GROWTHS_MAX
    }

    /// Counts a growth of the cover of a leaf.
    pub(crate) fn note_growth(&mut self, leaf: u32) {
        self.heads[leaf as usize].growths += 1;
    }

    pub(crate) fn level(&self, node: u32) -> u8 {
        self.heads[node as usize].level
    }

    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        Some(self.heads[node as usize].parent).filter(|parent| *parent != NONE)
    }

    /// Regions of a leaf, or children of another node.
    pub(crate) fn entries(&self, node: u32) -> &[u32] {
        &self.entries[node as usize][..self.length(node)]
    }

    pub(crate) fn cover(&self, node: u32) -> &[i32] {
        &self.covers[node as usize * self.sides..][..self.sides]
    }

    /// The lane of an entry that the node has.
    pub(crate) fn lane(&self, node: u32, entry: u32) -> usize {
        let lane = self.entries(node).iter().position(|own| *own == entry);
        lane.expect("places and parents name the node of each entry")
    }

    fn rows(&self, node: u32) -> &[Row<i32>] {
        &self.bounds[node as usize * self.sides..][..self.sides]
    }

    fn rows_mut(&mut self, node: u32) -> &mut [Row<i32>] {
        &mut self.bounds[node as usize * self.sides..][..self.sides]
    }

    /// Copies the box of an entry.
    pub(crate) fn read(&self, node: u32, lane: usize, region: &mut Vec<i32>) {
        region.clear();
        region.extend(self.rows(node).iter().map(|row| row[lane]));
    }

    /// Overwrites the box of an entry.
    pub(crate) fn write(&mut self, node: u32, lane: usize, region: &[i32]) {
        for (row, bound) in self.rows_mut(node).iter_mut().zip(region) {
            row[lane] = *bound;
        }
    }

    /// The entries of a node that overlap `region`, a bit for each lane. Lanes are compared without
    /// branches: a lane that misses in any dimension loses its bit.
    pub(crate) fn overlapping(&self, node: u32, region: &[i32]) -> u32 {
        let mut hits = LANE_BITS;
        for (rows, range) in self.rows(node).chunks_exact(2).zip(region.chunks_exact(2)) {
            for ((hit, lower), upper) in hits.iter_mut().zip(&rows[0]).zip(&rows[1]) {
                *hit &= -(i32::from(*lower < range[1]) & i32::from(range[0] < *upper));
            }
        }
        hits.iter().fold(0, |bits, hit| bits | hit).cast_unsigned()
    }

    /// Adds an entry. The cover is the caller's business.
    pub(crate) fn push(&mut self, node: u32, entry: u32, region: &[i32]) {
        let lane = self.length(node);
        self.entries[node as usize][lane] = entry;
        self.heads[node as usize].length += 1;
        if self.level(node) > 0 {
            self.heads[entry as usize].parent = node;
        }
        self.write(node, lane, region);
    }

    /// Removes an entry. The cover is the caller's business.
    pub(crate) fn swap_remove(&mut self, node: u32, lane: usize) {
        let last = self.length(node) - 1;
        self.entries[node as usize][lane] = self.entries[node as usize][last];
        self.heads[node as usize].length -= 1;
        for (side, row) in self.rows_mut(node).iter_mut().enumerate() {
            row[lane] = row[last];
            row[last] = EMPTY[side % 2];
        }
    }

    /// Moves the entries in `lanes`, a bit for each, to another node of the same level.
    pub(crate) fn move_entries(&mut self, from: u32, lanes: u32, to: u32) {
        let mut region = Vec::with_capacity(self.sides);
        // From the last lane down, so that a removal changes no lane that is yet to be moved.
        for lane in (0..LANES).rev().filter(|lane| lanes >> lane & 1 == 1) {
            self.read(from, lane, &mut region);
            self.push(to, self.entries[from as usize][lane], &region);
            self.swap_remove(from, lane);
        }
        self.fit(from);
        self.fit(to);
    }

    /// Makes the cover of a node the least box that contains its entries. Returns whether it changed.
    pub(crate) fn fit(&mut self, node: u32) -> bool {
        let rows = &self.bounds[node as usize * self.sides..][..self.sides];
        let cover = &mut self.covers[node as usize * self.sides..][..self.sides];
        let mut has_changed = false;
        for (pair, cover) in rows.chunks_exact(2).zip(cover.chunks_exact_mut(2)) {
            let lower = pair[0].iter().fold(EMPTY[0], |least, bound| least.min(*bound));
            let upper = pair[1].iter().fold(EMPTY[1], |greatest, bound| greatest.max(*bound));
            has_changed |= cover != [lower, upper];
            cover.copy_from_slice(&[lower, upper]);
        }
        self.heads[node as usize].growths = 0;
        has_changed
    }

    /// Makes room for `region` in the cover of a node.
    pub(crate) fn extend_cover(&mut self, node: u32, region: &[i32]) {
        extend(&mut self.covers[node as usize * self.sides..][..self.sides], region);
    }

    /// Makes room for `region` in the child of a node at `lane`. Returns the child.
    pub(crate) fn extend_child(&mut self, node: u32, lane: usize, region: &[i32]) -> u32 {
        let child = self.entries[node as usize][lane];
        self.extend_cover(child, region);
        self.copy_cover(child, node, lane);
        child
    }

    /// Copies the cover of a node into its parent. Returns the parent.
    pub(crate) fn tell_parent(&mut self, node: u32) -> Option<u32> {
        let parent = self.parent(node)?;
        self.copy_cover(node, parent, self.lane(parent, node));
        Some(parent)
    }

    fn copy_cover(&mut self, node: u32, parent: u32, lane: usize) {
        let cover = &self.covers[node as usize * self.sides..][..self.sides];
        let rows = &mut self.bounds[parent as usize * self.sides..][..self.sides];
        for (row, bound) in rows.iter_mut().zip(cover) {
            row[lane] = *bound;
        }
    }

    /// Gives up all nodes and their memory.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.sides / 2);
    }

    /// Makes a node the root.
    pub(crate) fn orphan(&mut self, node: u32) {
        self.heads[node as usize].parent = NONE;
    }

    /// The lane whose box has to grow least to contain `region`, summed over the dimensions in units
    /// of `scales`; the smallest of these boxes.
    pub(crate) fn least_growth(&self, node: u32, region: &[i32], scales: &[f32]) -> usize {
        let (growths, margins) = self.growths(node, region, scales);
        let mut best = 0;
        for lane in 1..self.length(node) {
            if (growths[lane], margins[lane]) < (growths[best], margins[best]) {
                best = lane;
            }
        }
        best
    }

    /// For each lane: the growth that it takes to contain `region`, and the sum of its extents.
    fn growths(&self, node: u32, region: &[i32], scales: &[f32]) -> (Row<f32>, Row<f32>) {
        let (mut growths, mut margins) = ([0.0; LANES], [0.0; LANES]);
        let dimensions = self.rows(node).chunks_exact(2).zip(region.chunks_exact(2)).zip(scales);
        for ((rows, range), scale) in dimensions {
            for lane in 0..LANES {
                let (lower, upper) = (rows[0][lane], rows[1][lane]);
                let own = extent(upper, lower);
                let grown = extent(upper.max(range[1]), lower.min(range[0]));
                growths[lane] += grown.wrapping_sub(own) as f32 * scale;
                margins[lane] += own as f32 * scale;
            }
        }
        (growths, margins)
    }

    /// A sibling with room for the entries of `node`: the one that has to grow least.
    pub(crate) fn sibling_with_room(&self, node: u32, scales: &[f32]) -> Option<u32> {
        let parent = self.parent(node)?;
        let (growths, _) = self.growths(parent, self.cover(node), scales);
        let siblings = self.entries(parent).iter().zip(growths);
        let with_room =
            siblings.filter(|(own, _)| **own != node && self.length(**own) + self.length(node) <= MERGED);
        with_room.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(sibling, _)| *sibling)
    }

    /// Half of the entries of a full node, a bit for each lane: those with the greater values of the
    /// bound whose values are spread most, in units of `scales`.
    pub(crate) fn upper_half(&self, node: u32, scales: &[f32]) -> u32 {
        let widest = widest(scales, |side| {
            let row = &self.rows(node)[side];
            let least = row.iter().fold(i32::MAX, |least, bound| least.min(*bound));
            let greatest = row.iter().fold(i32::MIN, |greatest, bound| greatest.max(*bound));
            (least, greatest)
        });
        let row = &self.rows(node)[widest];
        let mut order: Row<(i32, usize)> = std::array::from_fn(|lane| (row[lane], lane));
        order.select_nth_unstable(LANES / 2);
        order[LANES / 2..].iter().fold(0, |lanes, (_, lane)| lanes | 1 << lane)
    }
}

/// Lower and upper bound of a box that overlaps nothing and extends nothing.
const EMPTY: [i32; 2] = [i32::MAX, i32::MIN];

/// The bit of each lane.
const LANE_BITS: Row<i32> = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};
