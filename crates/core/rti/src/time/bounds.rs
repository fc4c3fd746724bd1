//! The output bounds of all regulating federates, and GALT in closed form.
//!
//! Let `a` be the least time stamp that a federate may still send if it receives nothing more. A
//! federate with a Next Message Request is *conditional*: a message that it receives can make it
//! send below its `a`, but not below `GALT ⊕ λ`, where λ is its lookahead. True output bounds are
//! therefore a fixed point: `o = min(a, GALT ⊕ λ)` for conditional federates, `o = a` for the
//! others, and the GALT of a federate is the least `o` of the others.
//!
//! It needs no iteration. Let `m1` be the least `a`, `i1` the federate that has it, and `m2` the
//! least `a` of the others. No `o` is below `m1`, because ⊕ never lowers a bound. Hence the `o` of
//! `i1` is `m1`, and the GALT of every other federate is `m1`. The other conditional federates then
//! have `o = min(a, m1 ⊕ λ)`, and the GALT of `i1` is the least of these and `m2`.
//!
//! A federate never sends below its *floor*, the bound that it had at its last grant. The floor is
//! above `m1 ⊕ λ` only after the lookahead was lowered, and in a few cases with a lookahead of
//! zero. Such federates are looked at one by one.

use super::bound::{Bound, Delay};
use super::summary::Summary;
use hla::handle::FederateHandle;
use std::collections::{BTreeMap, BTreeSet};

/// A regulating federate's contribution to the bounds of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Output {
    /// The least time stamp that it may send if it receives nothing more.
    pub(super) bound: Bound,
    /// Set if it may send less after it has received a message.
    pub(super) conditional: Option<Conditional>,
}

impl Output {
    /// That of a federate whose bound no message lowers.
    pub(super) fn unconditional(bound: Bound) -> Self {
        Self { bound, conditional: None }
    }
}

/// How a received message lowers the bound of a federate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Conditional {
    pub(super) delay: Delay,
    /// A bound above `GALT ⊕ delay` that holds nevertheless.
    pub(super) floor: Option<Bound>,
}

/// The outputs of all regulating federates.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    outputs: BTreeMap<FederateHandle, Output>,
    by_bound: BTreeSet<(Bound, FederateHandle)>,
    /// Conditional federates without a floor.
    by_delay: BTreeSet<(Delay, FederateHandle)>,
    /// Conditional federates with a floor.
    with_floor: BTreeSet<FederateHandle>,
}

impl Bounds {
    /// Sets the output of a federate; `None` if it does not regulate time. Returns whether that is
    /// a change.
    pub(super) fn set(&mut self, federate: FederateHandle, output: Option<Output>) -> bool {
        let before = self.outputs.get(&federate).copied();
        if before == output {
            return false;
        }
        if let Some(before) = before {
            self.outputs.remove(&federate);
            self.by_bound.remove(&(before.bound, federate));
            match before.conditional {
                Some(Conditional { floor: Some(_), .. }) => {
                    self.with_floor.remove(&federate);
                }
                Some(Conditional { delay, floor: None }) => {
                    self.by_delay.remove(&(delay, federate));
                }
                None => {}
            }
        }
        if let Some(output) = output {
            self.outputs.insert(federate, output);
            self.by_bound.insert((output.bound, federate));
            match output.conditional {
                Some(Conditional { floor: Some(_), .. }) => {
                    self.with_floor.insert(federate);
                }
                Some(Conditional { delay, floor: None }) => {
                    self.by_delay.insert((delay, federate));
                }
                None => {}
            }
        }
        true
    }

    /// The summary for other nodes.
    pub(super) fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        self.by_bound.iter().take(2).for_each(|&(bound, federate)| summary.bounds.add(bound, federate));
        self.by_delay.iter().take(2).for_each(|&(delay, federate)| summary.delays.add(delay, federate));
        for &federate in &self.with_floor {
            if let Some(Conditional { delay, .. }) = self.outputs.get(&federate).and_then(|o| o.conditional) {
                summary.delays.add(delay, federate);
            }
        }
        summary
    }

    /// Whether any federate other than `federate` regulates time, that is, GALT is defined.
    pub(super) fn has_others(&self, federate: FederateHandle) -> bool {
        self.outputs.len() > usize::from(self.outputs.contains_key(&federate))
    }

    /// The greatest available logical time of a federate.
    pub(super) fn galt(&self, federate: FederateHandle) -> Bound {
        let mut lowest = self.by_bound.iter().copied();
        let Some((least, holder)) = lowest.next() else { return Bound::INFINITE };
        if holder != federate {
            return least;
        }
        let second = lowest.next().map_or(Bound::INFINITE, |(bound, _)| bound);
        let shortest = self.by_delay.iter().find(|&&(_, other)| other != federate);
        let conditional = shortest.map_or(Bound::INFINITE, |&(delay, _)| least.after(delay));
        let others = self.with_floor.iter().filter(|&&other| other != federate);
        let with_floor = others.filter_map(|other| {
            let Conditional { delay, floor } = self.outputs.get(other)?.conditional?;
            Some(least.after(delay).max(floor?))
        });
        with_floor.fold(second.min(conditional), Bound::min)
    }
}
