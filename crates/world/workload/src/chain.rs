//! The embedded chain of the states of an object, without the times.

use crate::class::{Chain, State};
use crate::matrix::{Matrix, inverse};

/// Largest distance of a sum of probabilities from 1; allows for rounding of decimal fractions.
const SUM_TOLERANCE: f64 = 1e-9;

/// A set of states and probabilities that does not form an irreducible chain.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChainError {
    /// A class without states.
    #[error("there is no state")]
    Empty,
    /// A state whose mean stay is zero.
    #[error("state `{0}`: the mean stay is zero")]
    NoTime(State),
    /// A number that is not a probability.
    #[error("state `{from}`: the probability of `{to}` next is {value}; expected a number from 0 to 1")]
    Probability {
        /// The state that is left.
        from: State,
        /// The state that is entered.
        to: State,
        /// The number.
        value: f64,
    },
    /// A transition from a state to itself.
    #[error("state `{0}`: what is next is another state, not the same")]
    Same(State),
    /// Probabilities whose sum is not 1.
    #[error("state `{from}`: the probabilities of what is next have the sum {sum}, not 1")]
    Sum {
        /// The state that is left.
        from: State,
        /// The sum.
        sum: f64,
    },
    /// A transition to a state that the class does not have.
    #[error("state `{from}`: `{to}` can be next, but there is no such state in this class")]
    Absent {
        /// The state that is left.
        from: State,
        /// The state that is entered.
        to: State,
    },
    /// States that do not all lead to each other, so that there is no single long-run behaviour.
    #[error("`{from}` never leads to `{to}`: in the long run the class would fall apart")]
    Parted {
        /// A state.
        from: State,
        /// A state that it never leads to.
        to: State,
    },
}

/// Checks that the states form an irreducible chain with valid probabilities and means above zero.
pub(crate) fn check(chain: &Chain) -> Result<(), ChainError> {
    let present: Vec<State> = State::ALL.into_iter().filter(|&state| chain.get(state).is_some()).collect();
    if present.is_empty() {
        return Err(ChainError::Empty);
    }
    for &from in &present {
        check_state(chain, from)?;
    }
    let matrix = probabilities(chain);
    for &from in &present {
        let reached = reach(&matrix, from);
        if let Some(&to) = present.iter().find(|&&to| !reached[to as usize]) {
            return Err(ChainError::Parted { from, to });
        }
    }
    Ok(())
}

fn check_state(chain: &Chain, from: State) -> Result<(), ChainError> {
    let Some(spec) = chain.get(from) else { return Ok(()) };
    if spec.mean.is_zero() {
        return Err(ChainError::NoTime(from));
    }
    for to in State::ALL {
        let value = spec.next[to as usize];
        if !(0.0..=1.0).contains(&value) {
            return Err(ChainError::Probability { from, to, value });
        }
        if value > 0.0 && to == from {
            return Err(ChainError::Same(from));
        }
        if value > 0.0 && chain.get(to).is_none() {
            return Err(ChainError::Absent { from, to });
        }
    }
    let sum: f64 = spec.next.iter().sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        return Err(ChainError::Sum { from, sum });
    }
    Ok(())
}

/// The states that can be reached from `from`, itself included.
fn reach(matrix: &Matrix, from: State) -> [bool; 4] {
    let mut reached = [false; 4];
    reached[from as usize] = true;
    for _ in 0..4 {
        for state in 0..4 {
            reached[state] |= (0..4).any(|before| reached[before] && matrix[before][state] > 0.0);
        }
    }
    reached
}

/// The transition matrix; rows of absent states are zero.
pub(crate) fn probabilities(chain: &Chain) -> Matrix {
    [0, 1, 2, 3].map(|state| chain.states[state].as_ref().map_or([0.0; 4], |spec| spec.next))
}

/// The stationary distribution of the embedded chain: the share of visits to each state.
pub(crate) fn embedded(chain: &Chain) -> Result<[f64; 4], ChainError> {
    check(chain)?;
    // v (I - P + 1 w) = w holds for any weights w that sum to 1 and are zero for absent states.
    let matrix = probabilities(chain);
    let count = chain.states.iter().flatten().count() as f64;
    let weights = [0, 1, 2, 3].map(|state| if chain.states[state].is_some() { 1.0 / count } else { 0.0 });
    let system: Matrix = std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            f64::from(u8::from(row == column)) - matrix[row][column] + weights[column]
        })
    });
    let inverse = inverse(&system).ok_or(ChainError::Empty)?; // there is one: all states lead to each other
    Ok(std::array::from_fn(|column| (0..4).map(|row| weights[row] * inverse[row][column]).sum()))
}
