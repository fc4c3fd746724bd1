//! The layout of routers and federates, and the pairing of federates.

use router::ClientFlags;
use router::topology::{self, Edge, End, Place, Role, Topology};

/// The topology of the routers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shape {
    /// A tree of routers, each on a host of its own.
    Tree,
    /// A full mesh of triads, one in place of each leaf of the tree. The three routers of a triad
    /// share a host.
    Mesh,
}

impl Shape {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::Tree => "tree",
            Shape::Mesh => "mesh",
        }
    }
}

/// The layout of a federation: leaf routers with their federates. Federate `f` is at the leaf `f /
/// federates_per_leaf`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Number of routers below the root of the tree, below each of these, and so on down to the
    /// leaves.
    pub fan_outs: Vec<usize>,
    /// Number of federates at each leaf router.
    pub federates_per_leaf: usize,
}

/// An invalid layout, or a pairing that it does not allow.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayoutError {
    /// A number out of range.
    #[error("{what} must be from {min} to {max}, not {got}")]
    Range {
        /// Name of the number.
        what: &'static str,
        /// Least valid value.
        min: usize,
        /// Greatest valid value.
        max: usize,
        /// The given value.
        got: usize,
    },
    /// An odd number, whose halves cannot be paired.
    #[error("{what} must be even to pair {hops}-hop neighbours, not {got}")]
    Odd {
        /// Name of the number.
        what: &'static str,
        /// The requested distance.
        hops: usize,
        /// The number.
        got: usize,
    },
}

/// Maximum number of leaf routers of a layout.
pub const LEAVES_MAX: usize = 1_024;
/// Maximum number of federates of a layout.
pub const FEDERATES_MAX: usize = 65_536;

impl Layout {
    /// Number of leaf routers.
    pub fn leaves(&self) -> usize {
        self.fan_outs.iter().fold(1, |product: usize, fan_out| product.saturating_mul(*fan_out))
    }

    /// Number of federates.
    pub fn federates(&self) -> usize {
        self.leaves().saturating_mul(self.federates_per_leaf)
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// [`LayoutError::Range`].
    pub fn check(&self) -> Result<(), LayoutError> {
        let range = |what, min, max, got| {
            let fits = (min..=max).contains(&got);
            if fits { Ok(()) } else { Err(LayoutError::Range { what, min, max, got }) }
        };
        for &fan_out in &self.fan_outs {
            range("a fan-out", 1, LEAVES_MAX, fan_out)?;
        }
        range("the number of leaf routers", 1, LEAVES_MAX, self.leaves())?;
        range("the number of federates", 2, FEDERATES_MAX, self.federates())
    }

    /// All pairs of federates that are `hops` levels apart, leaf by leaf. At distance 0 partners
    /// are at the same leaf; at distance `n` their lowest common router is `n` levels above the
    /// leaves. Every federate is in one pair: the first half of a router's children is paired with
    /// the second half. At distance 0 the last of an odd number of federates has no partner.
    ///
    /// # Errors
    /// [`LayoutError`]: the distance does not exist, or halves cannot be formed.
    pub fn pairs(&self, hops: usize) -> Result<Vec<(usize, usize)>, LayoutError> {
        self.check()?;
        let per_leaf = self.federates_per_leaf;
        let odd = |what, got: usize| match got % 2 {
            0 => Ok(()),
            _ => Err(LayoutError::Odd { what, hops, got }),
        };
        if hops == 0 {
            if per_leaf < 2 {
                let what = "the number of federates per leaf, to pair 0-hop neighbours,";
                return Err(LayoutError::Range { what, min: 2, max: FEDERATES_MAX, got: per_leaf });
            }
            let of_leaf = |leaf: usize| {
                (0..per_leaf / 2).map(move |pair| leaf * per_leaf + 2 * pair).map(|first| (first, first + 1))
            };
            return Ok((0..self.leaves()).flat_map(of_leaf).collect());
        }
        let levels = self.fan_outs.len();
        let Some(level) = levels.checked_sub(hops) else {
            return Err(LayoutError::Range { what: "the number of hops", min: 0, max: levels, got: hops });
        };
        let fan_out = self.fan_outs[level];
        odd("the fan-out there", fan_out)?;
        // Leaves below one child, and the distance from a leaf to its counterpart.
        let child: usize = self.fan_outs[level + 1..].iter().product();
        let distance = child * (fan_out / 2);
        let firsts = (0..self.leaves()).filter(|leaf| leaf % (child * fan_out) < distance);
        Ok(firsts
            .flat_map(|leaf| (0..per_leaf).map(move |seat| leaf * per_leaf + seat))
            .map(|first| (first, first + distance * per_leaf))
            .collect())
    }

    /// The share of all pairs of federates that are so far apart, for each distance from 0. Sums to 1.
    ///
    /// # Errors
    /// [`LayoutError`]: as for [`Layout::check`].
    pub fn shares(&self) -> Result<Vec<f64>, LayoutError> {
        self.check()?;
        let others = self.federates() as f64 - 1.0;
        let mut nearer = 1;
        let mut within = self.federates_per_leaf;
        let mut shares = vec![(within - nearer) as f64 / others];
        for fan_out in self.fan_outs.iter().rev() {
            nearer = within;
            within *= fan_out;
            shares.push((within - nearer) as f64 / others);
        }
        Ok(shares)
    }

    /// `wanted` of these pairs, evenly spread.
    ///
    /// # Errors
    /// [`LayoutError`]: as for [`Layout::pairs`], or there are too few pairs.
    pub fn some_pairs(&self, hops: usize, wanted: usize) -> Result<Vec<(usize, usize)>, LayoutError> {
        let all = self.pairs(hops)?;
        if !(1..=all.len()).contains(&wanted) {
            return Err(LayoutError::Range {
                what: "the number of pairs",
                min: 1,
                max: all.len(),
                got: wanted,
            });
        }
        Ok((0..wanted).map(|pair| all[pair * all.len() / wanted]).collect())
    }

    /// The network of routers. Behind the leaf routers it has a router for each federate: the last
    /// `federates()` routers, each in a process of its own.
    pub(crate) fn topology(&self, shape: Shape) -> Topology {
        let routers = match shape {
            Shape::Tree => topology::tree(&self.fan_outs),
            Shape::Mesh => topology::mesh(self.leaves()),
        };
        with_federates(routers, self.federates_per_leaf)
    }

    /// The name of a process, for display. Processes are numbered as in [`Layout::topology`].
    pub(crate) fn process_name(&self, shape: Shape, process: usize) -> String {
        let mut first = 0;
        match shape {
            Shape::Tree => {
                let mut width = 1;
                for level in 0..=self.fan_outs.len() {
                    if process < first + width {
                        return match self.fan_outs.len() - level {
                            _ if level == 0 => "root router".to_owned(),
                            0 => format!("leaf router {}", process - first),
                            above => format!("router {} of level {above}", process - first),
                        };
                    }
                    first += width;
                    width = width.saturating_mul(self.fan_outs.get(level).copied().unwrap_or(1));
                }
            }
            Shape::Mesh => {
                if process < self.leaves() {
                    return format!("triad {process}");
                }
                first = self.leaves();
            }
        }
        format!("federate {}", process - first)
    }
}

/// Adds the routers of federates behind the leaf routers of a topology, each in a process of its
/// own. They are its entries from then on.
pub(super) fn with_federates(mut topology: Topology, per_leaf: usize) -> Topology {
    let both = ClientFlags::SOURCE | ClientFlags::SINK;
    let entries = std::mem::take(&mut topology.entries);
    let mut process = topology.routers.iter().map(|place| place.process + 1).max().unwrap_or(0);
    for leaf in entries {
        for _ in 0..per_leaf {
            let federate = topology.routers.len();
            topology.routers.push(Place { role: Role::Plain, process });
            topology.edges.push(Edge {
                a: End { router: federate, flags: both | ClientFlags::UPPER | ClientFlags::PERSISTENT },
                b: End { router: leaf, flags: both },
                rank: 0,
            });
            topology.entries.push(federate);
            process += 1;
        }
    }
    topology
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn layout() -> Layout {
        Layout { fan_outs: vec![2, 2, 4], federates_per_leaf: 6 }
    }

    #[test]
    fn everybody_has_one_partner_at_the_distance_asked_for() {
        let layout = layout();
        assert_eq!((layout.leaves(), layout.federates()), (16, 96));
        // Leaves below a router of each level.
        let below = [1, 4, 8, 16];
        for hops in 0..4 {
            let pairs = layout.pairs(hops).unwrap();
            assert_eq!(pairs.len(), 48);
            let all: BTreeSet<usize> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
            assert_eq!(all.len(), 96);
            for (a, b) in pairs {
                let (a, b) = (a / 6, b / 6);
                assert_eq!(a / below[hops], b / below[hops], "{hops}");
                assert!(hops == 0 || a / below[hops - 1] != b / below[hops - 1], "{hops}");
            }
        }
        assert_eq!(layout.some_pairs(3, 2).unwrap(), [(0, 48), (24, 72)]);
    }

    #[test]
    fn impossible_settings_are_refused_with_the_reason() {
        let say = |result: Result<Vec<_>, LayoutError>| result.unwrap_err().to_string();
        assert_eq!(say(layout().pairs(4)), "the number of hops must be from 0 to 3, not 4");
        assert_eq!(say(layout().some_pairs(3, 49)), "the number of pairs must be from 1 to 48, not 49");
        let odd = Layout { fan_outs: vec![3], federates_per_leaf: 1 };
        assert_eq!(say(odd.pairs(1)), "the fan-out there must be even to pair 1-hop neighbours, not 3");
        assert_eq!(
            say(odd.pairs(0)),
            "the number of federates per leaf, to pair 0-hop neighbours, must be from 2 to 65536, not 1"
        );
        let huge = Layout { fan_outs: vec![1_024, 1_024], federates_per_leaf: usize::MAX };
        assert_eq!(say(huge.pairs(0)), "the number of leaf routers must be from 1 to 1024, not 1048576");
    }

    #[test]
    fn groups_of_five_leave_one_out_and_shares_count_all_pairs() {
        let koa = Layout { fan_outs: vec![4, 4], federates_per_leaf: 5 };
        let pairs = koa.pairs(0).unwrap();
        assert_eq!(pairs.len(), 32);
        assert_eq!(pairs[..3], [(0, 1), (2, 3), (5, 6)]);
        let shares = koa.shares().unwrap();
        let level = |a: usize, b: usize| match (a / 5, b / 5) {
            (a, b) if a == b => 0,
            (a, b) if a / 4 == b / 4 => 1,
            _ => 2,
        };
        for (hops, share) in shares.into_iter().enumerate() {
            let all = (0..80).flat_map(|a| (0..80).map(move |b| (a, b)));
            let count = all.filter(|(a, b)| a != b && level(*a, *b) == hops).count();
            assert!((share - count as f64 / (80.0 * 79.0)).abs() < 1e-12, "{hops}: {share}");
        }
    }

    #[test]
    fn topologies_are_sound_and_processes_have_names() {
        let layout = layout();
        for (shape, processes) in [(Shape::Tree, 23 + 96), (Shape::Mesh, 16 + 96)] {
            let topology = layout.topology(shape);
            assert_eq!(topology.check(), Ok(()));
            assert_eq!(topology.entries.len(), 96);
            assert_eq!(topology.routers.last().map(|place| place.process), Some(processes - 1));
        }
        let tree = [0, 1, 2, 3, 6, 7, 22, 23, 118].map(|p| layout.process_name(Shape::Tree, p));
        let names = [
            "root router",
            "router 0 of level 2",
            "router 1 of level 2",
            "router 0 of level 1",
            "router 3 of level 1",
            "leaf router 0",
            "leaf router 15",
            "federate 0",
            "federate 95",
        ];
        assert_eq!(tree, names);
        assert_eq!(
            [0, 15, 16].map(|p| layout.process_name(Shape::Mesh, p)),
            ["triad 0", "triad 15", "federate 0"]
        );
    }
}
