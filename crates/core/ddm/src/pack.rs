//! Trees built of very many regions at once.
//!
//! The regions are halved again and again where their bounds are spread most, as in a k-d tree
//! (Bentley 1975), until each part fits into a leaf. Leaves of such a tree are compact and nearly full;
//! insertions one by one leave them a third empty, and let them overlap in many dimensions.

use crate::nodes::{LANES, Nodes};
use crate::range::widest;

/// Entries of a packed node: nearly full, but with room for those that move in.
const PACKED: usize = LANES * 7 / 8;

/// Regions and their boxes, in the same order.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    pub(crate) ids: Vec<u32>,
    pub(crate) bounds: Vec<i32>,
}

impl Regions {
    fn bounds_of(&self, place: u32, sides: usize) -> &[i32] {
        &self.bounds[place as usize * sides..][..sides]
    }
}

/// Builds a tree of at least one region in empty `nodes`. Returns its root. `leaf` is called with each
/// region and its leaf.
pub(crate) fn pack(
    nodes: &mut Nodes,
    regions: &Regions,
    scales: &[f32],
    leaf: &mut impl FnMut(u32, u32),
) -> u32 {
    let mut order: Vec<u32> = (0..regions.ids.len() as u32).collect();
    let mut level = 0;
    while capacity(level) < order.len() {
        level += 1;
    }
    Packer { nodes, regions, scales, leaf }.node(&mut order, level)
}

/// The most regions below a packed node.
fn capacity(level: u8) -> usize {
    PACKED.saturating_pow(u32::from(level) + 1)
}

/// Replaces all below a node, which is no leaf, by packed nodes of the same regions. Returns false, and
/// does nothing, if these would not fit.
pub(crate) fn repack(
    nodes: &mut Nodes,
    node: u32,
    regions: &Regions,
    scales: &[f32],
    leaf: &mut impl FnMut(u32, u32),
) -> bool {
    let below = nodes.level(node) - 1;
    let parts = regions.ids.len().div_ceil(capacity(below));
    if parts == 0 || parts >= LANES {
        return false;
    }
    nodes.release_below(node);
    let mut order: Vec<u32> = (0..regions.ids.len() as u32).collect();
    Packer { nodes, regions, scales, leaf }.children(node, &mut order, parts, below);
    true
}

struct Packer<'a, F> {
    nodes: &'a mut Nodes,
    regions: &'a Regions,
    scales: &'a [f32],
    leaf: &'a mut F,
}

impl<F: FnMut(u32, u32)> Packer<'_, F> {
    /// Makes a node of the regions with these places. The recursion is as deep as the tree.
    fn node(&mut self, order: &mut [u32], level: u8) -> u32 {
        let node = self.nodes.add(level);
        if level == 0 {
            for &place in &*order {
                let id = self.regions.ids[place as usize];
                self.nodes.push(node, id, self.regions.bounds_of(place, 2 * self.scales.len()));
                (self.leaf)(id, node);
            }
        } else {
            let parts = order.len().div_ceil(capacity(level - 1));
            self.children(node, order, parts, level - 1);
        }
        self.nodes.fit(node);
        node
    }

    /// Divides the regions into parts of equal size, near each other in space, and makes a child of
    /// each. The recursion is as deep as the logarithm of the number of parts.
    fn children(&mut self, node: u32, order: &mut [u32], parts: usize, level: u8) {
        if parts == 1 {
            let child = self.node(order, level);
            let cover = self.nodes.cover(child).to_vec();
            self.nodes.push(node, child, &cover);
            return;
        }
        let sides = self.scales.len() * 2;
        let widest = self.widest(order, sides);
        let first = parts / 2;
        let (at, bounds) = (order.len() * first / parts, &self.regions.bounds);
        order.select_nth_unstable_by_key(at, |&place| bounds[place as usize * sides + widest]);
        let (lower, upper) = order.split_at_mut(at);
        self.children(node, lower, first, level);
        self.children(node, upper, parts - first, level);
    }

    /// The bound whose values are spread most, in units of the scales.
    fn widest(&self, order: &[u32], sides: usize) -> usize {
        let mut least = vec![i32::MAX; sides];
        let mut greatest = vec![i32::MIN; sides];
        for &place in order {
            for ((least, greatest), bound) in
                least.iter_mut().zip(&mut greatest).zip(self.regions.bounds_of(place, sides))
            {
                *least = (*least).min(*bound);
                *greatest = (*greatest).max(*bound);
            }
        }
        widest(self.scales, |side| (least[side], greatest[side]))
    }
}
