//! Data distribution management: which update regions and subscription regions overlap, as they
//! move.
//!
//! A region is a box: one half-open [`Range`] of `u32` per dimension. Regions have 32-bit ids and
//! belong to one of two [`Population`]s. [`Matching`] queues insertions, modifications and removals,
//! and a [commit](Matching::commit) applies them and answers with the pairs of an update region and a
//! subscription region that began to overlap, or ceased to. The crate knows nothing of HLA:
//!
//! - **All dimensions are given.** A range that its owner leaves out is [`Range::FULL`], which
//!   overlaps every range. In HLA, two regions *without a common dimension* do not overlap. Their
//!   owner knows the sets of dimensions of its regions. It keeps one `Matching` for each pair of sets
//!   that have common dimensions, over these dimensions. One `Matching` then serves each federation
//!   whose regions all have the same dimensions, and no pair has to be vetoed.
//! - **The default region** overlaps every region. It needs no geometry, so its owner does not bring
//!   it here.
//! - **Several regions for one subject.** The owner counts, for each of its subjects, the pairs gained
//!   and lost.
//!
//! # Structure
//!
//! Each population has an [R-tree](https://doi.org/10.1145/602259.602266) (Guttman 1984) of its own.
//! A moved region is compared with the tree of the other population: one walk finds all that overlap
//! its old box or its new one. These choices make moves cheap:
//!
//! - A region that moves within the box of its leaf is overwritten there, and the tree stays as it is
//!   (lazy update: Kwon, Lee and Lee 2002). If it moves partly out of the box, the box grows instead, a
//!   few dozen times. Only regions that move farther get another leaf.
//! - A commit applies its changes along a space-filling curve. Neighbours follow each other, and meet
//!   nodes that are still in the processor's caches.
//! - The 32 entries of a node lie in arrays by coordinate, and are all compared at once, without
//!   branches, by the vector instructions of any processor.
//! - A first commit, or one that doubles a population, builds its tree at once, by halving it where
//!   its regions are spread most. The nodes of such a tree are compact and nearly full.
//! - Moves make nodes larger and emptier. So parts of the tree are built anew in turn: half as many
//!   regions as have moved.
//! - A node is split at the median of that bound, of the 2d lower and upper bounds, whose values are
//!   spread most. Large regions thus part from small ones, and regions that span a whole dimension
//!   from those that do not. Spreads are measured in typical extents, so that dimensions of different
//!   units count alike.
//!
//! A hashed grid would need a size for its cells. Cells as large as the regions suit no population of
//! points, and 3ᵈ of them around a region are 81 in four dimensions. The tree adapts to the density of
//! each place, in any number of dimensions.
//!
//! ```
//! use ddm::{Matching, Pair, Population, Range};
//!
//! let mut matching = Matching::new(2)?;
//! let range = |lower, upper| Range::new(lower, upper);
//! matching.insert(Population::Update, 1, &[range(0, 5)?, range(0, 5)?])?;
//! matching.insert(Population::Subscription, 7, &[range(5, 9)?, Range::FULL])?;
//! assert!(matching.commit(usize::MAX).gained.is_empty(), "[0, 5) and [5, 9) have no common value");
//! matching.modify(Population::Update, 1, &[range(1, 6)?, range(0, 5)?])?;
//! assert_eq!(matching.commit(usize::MAX).gained, [Pair { update: 1, subscription: 7 }]);
//! # Ok::<(), ddm::Error>(())
//! ```

mod error;
mod matching;
mod nodes;
mod order;
mod pack;
mod population;
mod range;
mod tree;

pub use error::Error;
pub use matching::{Commit, DIMENSIONS_MAX, Matching, Pair, Population};
pub use population::REGIONS_MAX;
pub use range::Range;
