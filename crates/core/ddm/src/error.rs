//! Mistakes of the caller. None of them has an effect.

use crate::{DIMENSIONS_MAX, Population, REGIONS_MAX};

/// The reason why a call was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A range has no value: its lower bound is not below its upper bound.
    #[error("the range [{lower}, {upper}) has no value")]
    EmptyRange {
        /// The least value that would be in the range.
        lower: u32,
        /// The least value that would be above it.
        upper: u32,
    },
    /// A matching has at least one dimension and at most [`DIMENSIONS_MAX`].
    #[error("{asked} dimensions are not between 1 and {DIMENSIONS_MAX}")]
    Dimensions {
        /// The number of dimensions.
        asked: usize,
    },
    /// A region has another number of ranges than the matching has dimensions.
    #[error("a region of {given} ranges is given for {expected} dimensions")]
    Ranges {
        /// The number of ranges.
        given: usize,
        /// The number of dimensions.
        expected: usize,
    },
    /// A region with this id is in the population already.
    #[error("there is a region {id} of population {population:?} already")]
    Present {
        /// The population.
        population: Population,
        /// The region.
        id: u32,
    },
    /// No region with this id is in the population.
    #[error("there is no region {id} of population {population:?}")]
    Unknown {
        /// The population.
        population: Population,
        /// The region.
        id: u32,
    },
    /// Ids are below [`REGIONS_MAX`].
    #[error("the id {id} is not below {REGIONS_MAX}")]
    Id {
        /// The region.
        id: u32,
    },
}
