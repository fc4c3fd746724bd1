//! One population: its tree, the leaf of each region, and the changes that wait for a commit.

use crate::Range;
use crate::nodes::NONE;
use crate::order::along_curve;
use crate::pack::Regions;
use crate::range;
use crate::tree::Tree;

/// Regions that one population can have: ids are below this number.
pub const REGIONS_MAX: usize = 1 << 26;

/// About as many regions as a part of a tree has. No less is packed anew at once, so that a commit of a few
/// changes seldom pays for it.
const PART_REGIONS: usize = 1 << 14;
/// Changes for each region that is packed anew.
const CHANGES_OF_PACKED: usize = 2;

/// Room that is kept for relocated regions: some splits.
const RELOCATED_KEPT: usize = 1 << 10;

/// Set in a [`Place`] that is the number of a change.
const IS_QUEUED: u32 = 1 << 31;

/// The place where a region is found: the number of its leaf, or of its change in the queue; [`NONE`]
/// if there is no such region.
#[derive(Clone, Copy, Debug)]
struct Place(u32);

impl Place {
    /// The number of the change in the queue, if there is one.
    const fn queued(self) -> Option<usize> {
        if self.0 != NONE && self.0 & IS_QUEUED != 0 { Some((self.0 & !IS_QUEUED) as usize) } else { None }
    }
}

/// A change that waits for a commit. Its box is in [`Population::bounds`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) id: u32,
    /// The leaf that has the region, or [`NONE`] for an insertion.
    pub(crate) leaf: u32,
    /// Whether the region will be there after the commit.
    pub(crate) is_present: bool,
}

#[derive(Debug)]
pub(crate) struct Population {
    pub(crate) tree: Tree,
    /// By id: each region that is there now, or will be after the next commit.
    places: Vec<Place>,
    /// In the order in which the regions were first changed.
    queue: Vec<Change>,
    /// The new boxes of the changes, one after the other.
    bounds: Vec<i32>,
    /// Places in the queue, in the order in which the changes are applied.
    order: Vec<u32>,
    /// Changes that earlier slices of this commit have applied.
    applied: usize,
    /// Insertions of this slice, which go into the tree at its end.
    fresh: Regions,
    /// Regions in the tree.
    in_tree: usize,
    /// Changes since parts of the tree were last packed anew.
    unpacked: usize,
    /// Regions that will be there after the next commit.
    present: usize,
    sides: usize,
}

impl Population {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            tree: Tree::new(dimensions),
            places: Vec::new(),
            queue: Vec::new(),
            bounds: Vec::new(),
            order: Vec::new(),
            applied: 0,
            fresh: Regions::default(),
            in_tree: 0,
            unpacked: 0,
            present: 0,
            sides: 2 * dimensions,
        }
    }

    /// Regions, with those that a queued change inserts and without those that it removes.
    pub(crate) const fn len(&self) -> usize {
        self.present
    }

    /// Bytes of heap memory.
    pub(crate) fn bytes(&self) -> usize {
        self.tree.bytes()
            + self.places.capacity() * size_of::<Place>()
            + self.queue.capacity() * size_of::<Change>()
            + (self.bounds.capacity() + self.order.capacity()) * size_of::<i32>()
    }

    /// Whether the region will be there after the next commit.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.places.get(id as usize).is_some_and(|place| match place.queued() {
            Some(at) => self.queue[at].is_present,
            None => place.0 != NONE,
        })
    }

    /// Queues the insertion or the modification of a region.
    pub(crate) fn put(&mut self, id: u32, region: &[Range]) {
        let at = self.queued(id);
        range::write(&mut self.bounds[at * self.sides..][..self.sides], region);
        if !self.queue[at].is_present {
            self.queue[at].is_present = true;
            self.present += 1;
        }
    }

    /// Queues the removal of a region that [is there](Self::has).
    pub(crate) fn take(&mut self, id: u32) {
        let at = self.queued(id);
        self.queue[at].is_present = false;
        self.present -= 1;
    }

    /// The number of the change of a region in the queue. A new change has no box yet.
    fn queued(&mut self, id: u32) -> usize {
        let at = self.queue.len();
        self.make_room(id);
        let place = &mut self.places[id as usize];
        if let Some(at) = place.queued() {
            return at;
        }
        let Place(leaf) = *place;
        let is_present = leaf != NONE;
        *place = Place(at as u32 | IS_QUEUED); // a region has one change at most, and REGIONS_MAX bounds them
        self.queue.push(Change { id, leaf, is_present });
        self.bounds.resize(self.bounds.len() + self.sides, 0);
        at
    }

    fn make_room(&mut self, id: u32) {
        let needed = id as usize + 1;
        if needed > self.places.capacity() {
            // Half of a doubled table could be unused; an eighth is enough to amortize the copies.
            self.places.reserve_exact(needed - self.places.len() + needed / 8);
        }
        if needed > self.places.len() {
            self.places.resize(needed, Place(NONE));
        }
    }

    /// Decides in which order the changes that are new in the queue are applied.
    pub(crate) fn arrange(&mut self) {
        let arranged = self.order.len();
        let new = &self.bounds[arranged * self.sides..];
        self.order.extend(along_curve(new, self.sides).map(|number| (arranged + number) as u32));
    }

    /// Takes the next change out of the queue: the old box is written to `old`, the new one to `new`.
    /// Those that the region does not have are left empty.
    pub(crate) fn next(&mut self, old: &mut Vec<i32>, new: &mut Vec<i32>) -> Option<Change> {
        let at = *self.order.get(self.applied)? as usize;
        let change = self.queue[at];
        old.clear();
        new.clear();
        if change.leaf != NONE {
            self.tree.read(change.leaf, change.id, old);
        }
        if change.is_present {
            new.extend_from_slice(&self.bounds[at * self.sides..][..self.sides]);
        }
        self.applied += 1;
        Some(change)
    }

    /// Applies a change to the tree.
    pub(crate) fn apply(&mut self, change: Change, old: &[i32], new: &[i32], scales: &[f32]) {
        let Change { id, leaf, is_present } = change;
        // The place of a region that stays in its leaf.
        self.places[id as usize] = Place(leaf);
        match (leaf != NONE, is_present) {
            (true, true) => {
                self.tree.modify(leaf, id, old, new, scales);
                self.unpacked += 1;
            }
            (true, false) => {
                self.tree.remove(leaf, id, old, scales);
                self.in_tree -= 1;
            }
            (false, true) => {
                self.fresh.ids.push(id);
                self.fresh.bounds.extend_from_slice(new);
            }
            (false, false) => {}
        }
        self.note_relocated();
        if !is_present {
            self.places[id as usize] = Place(NONE);
        }
    }

    /// Ends a slice: after it the tree has all regions, and is in good shape.
    pub(crate) fn end_slice(&mut self, scales: &[f32]) {
        self.insert_fresh(scales);
        self.repack(scales);
    }

    /// Puts the insertions of a slice into the tree. If they are more than the tree has, a new one is
    /// built: that is faster and makes a better tree, and happens at most as often as a population
    /// doubles.
    fn insert_fresh(&mut self, scales: &[f32]) {
        let fresh = std::mem::take(&mut self.fresh);
        let is_much = fresh.ids.len() > self.in_tree;
        self.in_tree += fresh.ids.len();
        if is_much {
            self.tree.rebuild(fresh, scales);
        } else {
            for (id, region) in fresh.ids.iter().zip(fresh.bounds.chunks_exact(self.sides)) {
                self.tree.insert(*id, region, scales);
            }
        }
        self.note_relocated();
    }

    /// Packs half as much of the tree anew as has changed, so that the whole is packed anew once for twice as
    /// many changes as it has regions. Twice as often costs more than the queries gain.
    fn repack(&mut self, scales: &[f32]) {
        while self.unpacked >= CHANGES_OF_PACKED * PART_REGIONS.min(self.in_tree.max(1)) {
            let packed = self.tree.repack_next(scales);
            self.unpacked = self.unpacked.saturating_sub(packed.saturating_mul(CHANGES_OF_PACKED));
            self.note_relocated();
        }
    }

    fn note_relocated(&mut self) {
        for (id, leaf) in self.tree.relocated.drain(..) {
            let place = &mut self.places[id as usize];
            match place.queued() {
                Some(at) => self.queue[at].leaf = leaf,
                None => *place = Place(leaf),
            }
        }
        // After a rebuilt tree this is as long as the population.
        self.tree.relocated.shrink_to(RELOCATED_KEPT);
    }

    /// Empties the queue, if all its changes are applied. Returns whether they are.
    pub(crate) fn finish(&mut self) -> bool {
        if self.applied < self.queue.len() {
            return false;
        }
        // After a large commit, such as the first one, the queue does not keep its room for ever.
        let room = 2 * self.queue.len();
        self.queue.clear();
        self.bounds.clear();
        self.order.clear();
        self.order.shrink_to(room);
        self.queue.shrink_to(room);
        self.bounds.shrink_to(room * self.sides);
        if self.present == 0 {
            self.places = Vec::new();
        }
        self.applied = 0;
        true
    }
}
