//! An R-tree over the regions of one population.

use crate::nodes::{NONE, Nodes};
use crate::pack::{Regions, pack, repack};
use crate::range::{contains, extend, is_inside, overlap};

/// The level of the nodes that are packed anew as a whole: with some ten thousand regions each, which
/// takes a few milliseconds.
const PART_LEVEL: u8 = 2;

/// Regions by place. The owner of the tree remembers the leaf of each region.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Nodes,
    root: u32,
    /// The node at which the next part to be packed anew is looked for.
    cursor: u32,
    /// Region and new leaf of each region that has changed its leaf, until the owner takes them.
    pub(crate) relocated: Vec<(u32, u32)>,
}

impl Tree {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self { nodes: Nodes::new(dimensions), root: NONE, cursor: 0, relocated: Vec::new() }
    }

    /// Bytes of heap memory.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.relocated.capacity() * size_of::<(u32, u32)>()
    }

    /// Copies the box of a region that is in `leaf`.
    pub(crate) fn read(&self, leaf: u32, id: u32, region: &mut Vec<i32>) {
        self.nodes.read(leaf, self.nodes.lane(leaf, id), region);
    }

    /// Calls `visit` with each region that overlaps `region`.
    pub(crate) fn overlapping(&self, region: &[i32], mut visit: impl FnMut(u32)) {
        self.walk(self.root, region, &mut |nodes, leaf| {
            for_each(nodes, leaf, nodes.overlapping(leaf, region), &mut visit);
        });
    }

    /// Calls `visit` with each region that overlaps just one of two boxes, and whether that is `new`.
    /// Either box may be missing: an empty slice.
    pub(crate) fn changes(&self, old: &[i32], new: &[i32], mut visit: impl FnMut(u32, bool)) {
        let overlapping = |nodes: &Nodes, leaf, region: &[i32]| match region {
            [] => 0,
            _ => nodes.overlapping(leaf, region),
        };
        if overlap(old, new) {
            let mut both = old.to_vec();
            extend(&mut both, new);
            self.walk(self.root, &both, &mut |nodes, leaf| {
                // Most leaves around a region have none that overlaps it, in many dimensions above all.
                if nodes.overlapping(leaf, &both) == 0 {
                    return;
                }
                let (before, after) = (overlapping(nodes, leaf, old), overlapping(nodes, leaf, new));
                for_each(nodes, leaf, before & !after, &mut |id| visit(id, false));
                for_each(nodes, leaf, after & !before, &mut |id| visit(id, true));
            });
            return;
        }
        // Between the ends of a leap there may be very many regions, so each end gets its own walk.
        for (region, other, is_gain) in [(old, new, false), (new, old, true)] {
            if !region.is_empty() {
                self.walk(self.root, region, &mut |nodes, leaf| {
                    let lanes = overlapping(nodes, leaf, region) & !overlapping(nodes, leaf, other);
                    for_each(nodes, leaf, lanes, &mut |id| visit(id, is_gain));
                });
            }
        }
    }

    /// Calls `visit` with each leaf below `node` whose cover overlaps `region`. The recursion is as
    /// deep as the tree, which is balanced.
    fn walk(&self, node: u32, region: &[i32], visit: &mut impl FnMut(&Nodes, u32)) {
        if node == NONE {
            return;
        }
        if self.nodes.level(node) == 0 {
            visit(&self.nodes, node);
            return;
        }
        for_each(&self.nodes, node, self.nodes.overlapping(node, region), &mut |child| {
            self.walk(child, region, visit);
        });
    }

    /// Builds the tree anew of its regions and of others, which it does not have.
    pub(crate) fn rebuild(&mut self, mut regions: Regions, scales: &[f32]) {
        self.collect(self.root, &mut regions);
        self.nodes.clear();
        self.root = NONE;
        if !regions.ids.is_empty() {
            self.nodes.reserve(regions.ids.len());
            let relocated = &mut self.relocated;
            self.root = pack(&mut self.nodes, &regions, scales, &mut |id, leaf| relocated.push((id, leaf)));
        }
    }

    /// Packs the next part of the tree anew: moves make nodes larger and emptier than they could be.
    /// Returns the number of its regions, at least 1.
    pub(crate) fn repack_next(&mut self, scales: &[f32]) -> usize {
        if self.root == NONE || self.nodes.level(self.root) == 0 {
            return usize::MAX;
        }
        let level = self.nodes.level(self.root).min(PART_LEVEL);
        let next = self.nodes.of_level(level, self.cursor).or_else(|| self.nodes.of_level(level, 0));
        let Some(node) = next else { return usize::MAX };
        self.cursor = node + 1;
        let mut regions = Regions::default();
        self.collect(node, &mut regions);
        let relocated = &mut self.relocated;
        if repack(&mut self.nodes, node, &regions, scales, &mut |id, leaf| relocated.push((id, leaf))) {
            self.shrink(node);
        }
        regions.ids.len().max(1)
    }

    /// Adds the regions below `node` to `regions`. The recursion is as deep as the tree.
    fn collect(&self, node: u32, regions: &mut Regions) {
        if node == NONE {
            return;
        }
        if self.nodes.level(node) > 0 {
            self.nodes.entries(node).iter().for_each(|&child| self.collect(child, regions));
            return;
        }
        regions.ids.extend(self.nodes.entries(node));
        let mut bounds = Vec::new();
        for lane in 0..self.nodes.length(node) {
            self.nodes.read(node, lane, &mut bounds);
            regions.bounds.extend(&bounds);
        }
    }

    /// Adds a region.
    pub(crate) fn insert(&mut self, id: u32, region: &[i32], scales: &[f32]) {
        if self.root == NONE {
            self.root = self.nodes.add(0);
        }
        let mut node = self.root;
        self.nodes.extend_cover(node, region);
        while self.nodes.level(node) > 0 {
            let lane = self.nodes.least_growth(node, region, scales);
            node = self.nodes.extend_child(node, lane, region);
        }
        self.nodes.push(node, id, region);
        self.relocated.push((id, node));
        while self.nodes.is_full(node) {
            node = self.split(node, scales);
        }
    }

    /// Moves half of the entries of a full node to a new sibling. Returns their parent.
    fn split(&mut self, node: u32, scales: &[f32]) -> u32 {
        let level = self.nodes.level(node);
        let sibling = self.nodes.add(level);
        let lanes = self.nodes.upper_half(node, scales);
        self.nodes.move_entries(node, lanes, sibling);
        self.relocate(sibling);
        if self.nodes.parent(node).is_none() {
            self.root = self.nodes.add(level + 1);
            self.adopt(node);
        }
        let parent = self.nodes.tell_parent(node).unwrap_or(self.root);
        self.push_child(parent, sibling);
        parent
    }

    /// Puts the former root below the new one.
    fn adopt(&mut self, node: u32) {
        self.push_child(self.root, node);
        self.nodes.fit(self.root);
    }

    fn push_child(&mut self, parent: u32, child: u32) {
        let cover = self.nodes.cover(child).to_vec();
        self.nodes.push(parent, child, &cover);
        self.nodes.extend_cover(parent, &cover);
    }

    /// Notes that all regions of `node`, if it is a leaf, may be new there.
    fn relocate(&mut self, node: u32) {
        if self.nodes.level(node) == 0 {
            self.relocated.extend(self.nodes.entries(node).iter().map(|id| (*id, node)));
        }
    }

    /// Moves a region that is in `leaf` from its box `old` to `new`. A region that has moved partly out of its leaf
    /// stays there, and the leaf grows: to find another leaf, and to fit both, takes longer than the next
    /// queries lose, and the leaf is packed anew before long.
    pub(crate) fn modify(&mut self, leaf: u32, id: u32, old: &[i32], new: &[i32], scales: &[f32]) {
        let cover = self.nodes.cover(leaf);
        let is_in = contains(cover, new);
        if is_in || overlap(cover, new) && self.nodes.may_grow(leaf) {
            self.nodes.write(leaf, self.nodes.lane(leaf, id), new);
            if !is_in {
                self.nodes.note_growth(leaf);
                self.grow(leaf, new);
            }
        } else {
            self.remove(leaf, id, old, scales);
            self.insert(id, new, scales);
        }
    }

    /// Makes room for `region` in the covers of a node and of those above it.
    fn grow(&mut self, mut node: u32, region: &[i32]) {
        while !contains(self.nodes.cover(node), region) {
            self.nodes.extend_cover(node, region);
            let Some(parent) = self.nodes.tell_parent(node) else { break };
            node = parent;
        }
    }

    /// Removes a region that is in `leaf` with the box `old`.
    pub(crate) fn remove(&mut self, leaf: u32, id: u32, old: &[i32], scales: &[f32]) {
        self.nodes.swap_remove(leaf, self.nodes.lane(leaf, id));
        if !is_inside(self.nodes.cover(leaf), old) || !self.nodes.may_grow(leaf) {
            self.shrink(leaf);
        }
        let mut node = leaf;
        while self.nodes.is_sparse(node) {
            let Some(parent) = self.nodes.parent(node) else { break };
            if !self.merge(node, parent, scales) {
                break;
            }
            node = parent;
        }
        self.lower_root();
    }

    /// Moves the entries of a sparse node to a sibling, and releases the node. Does nothing, and
    /// returns false, where no sibling has room.
    fn merge(&mut self, node: u32, parent: u32, scales: &[f32]) -> bool {
        if self.nodes.length(node) > 0 {
            let Some(sibling) = self.nodes.sibling_with_room(node, scales) else { return false };
            let lanes = (1 << self.nodes.length(node)) - 1; // a sparse node has fewer than 32
            self.nodes.move_entries(node, lanes, sibling);
            self.relocate(sibling);
            self.nodes.tell_parent(sibling);
        }
        self.nodes.swap_remove(parent, self.nodes.lane(parent, node));
        self.nodes.release(node);
        self.shrink(parent);
        true
    }

    /// Fits the covers of a node and of those above it, as far as they change.
    fn shrink(&mut self, mut node: u32) {
        while self.nodes.fit(node) {
            let Some(parent) = self.nodes.tell_parent(node) else { break };
            node = parent;
        }
    }

    /// Replaces a root that has one child by the child, and drops one that has no entries.
    fn lower_root(&mut self) {
        while let [child] = *self.nodes.entries(self.root)
            && self.nodes.level(self.root) > 0
        {
            self.nodes.swap_remove(self.root, 0);
            self.nodes.fit(self.root);
            self.nodes.release(self.root);
            self.nodes.orphan(child);
            self.root = child;
        }
        if self.nodes.length(self.root) == 0 {
            // Without regions the arena goes back too.
            self.nodes.clear();
            self.root = NONE;
        }
    }
}

/// Calls `visit` with the entries of a node in `lanes`, a bit for each.
fn for_each(nodes: &Nodes, node: u32, mut lanes: u32, visit: &mut impl FnMut(u32)) {
    let entries = nodes.entries(node);
    while lanes != 0 {
        visit(entries[lanes.trailing_zeros() as usize]);
        lanes &= lanes - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf grows for it a few dozen times. Then the leaf is fitted, and the region gets another one.
    #[test]
    fn one_region_that_moves_on_does_not_stretch_its_leaf() {
        const EXTENT: i32 = 10;
        let at = |place: i32| [place * EXTENT, (place + 1) * EXTENT];
        let mut tree = Tree::new(1);
        let ids: Vec<u32> = (0..1_000).collect();
        let bounds = (0..1_000).flat_map(at).collect();
        tree.rebuild(Regions { ids, bounds }, &[1.0]);
        let mut leaves = std::mem::take(&mut tree.relocated);
        leaves.sort_unstable();
        let mut longest = 0;
        for step in 0..2 * 999 {
            let (old, new) = ([step * EXTENT / 2, step * EXTENT / 2 + EXTENT], (step + 1) * EXTENT / 2);
            let new = [new, new + EXTENT];
            tree.modify(leaves[0].1, 0, &old, &new, &[1.0]);
            for (id, leaf) in tree.relocated.drain(..) {
                leaves[id as usize].1 = leaf;
            }
            for (_, leaf) in &leaves {
                let cover = tree.nodes.cover(*leaf);
                longest = longest.max(cover[1] - cover[0]);
            }
            let mut found = Vec::new();
            tree.overlapping(&new, |id| found.push(id));
            assert!(found.contains(&0) && found.len() <= 3, "step {step}: {found:?}");
        }
        // A leaf has at most 32 places, and grows by half of one at most 32 times.
        assert!(longest <= 48 * EXTENT, "{longest}");
    }
}
