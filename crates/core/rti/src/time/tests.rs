//! The closed form of GALT against plain iteration of its definition, and the protocol of several
//! nodes.

mod nodes;

use super::bound::{Bound, Delay};
use super::bounds::{Bounds, Conditional, Output};
use super::summary::Summary;
use hla::handle::FederateHandle;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};
use proptest::prelude::*;
use std::cell::Cell;

/// A deliberate mistake of this machine. The tests must notice each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    /// Senders do not vouch for messages on their way.
    NoVouching,
    /// Results are used before the messages that they presuppose have arrived.
    NoPositions,
    /// A grant reopens times at which nothing was to be sent any more.
    NoFloor,
    /// Nobody is told that some federate is conditional.
    ConditionalUntold,
    /// A node ceases to vouch when it hears of a result, and not when it uses the result.
    VouchesTooShort,
    /// Federates that have a message already do not hear of its retraction.
    RetractionForgetsEarly,
    /// Messages of a dead node are delivered after its removal.
    DeadNodeHeard,
    /// Reports and results from before a node was removed are used after it.
    OldEpochs,
}

impl Flaw {
    pub(super) const ALL: [Self; 8] = [
        Self::NoVouching,
        Self::NoPositions,
        Self::NoFloor,
        Self::ConditionalUntold,
        Self::VouchesTooShort,
        Self::RetractionForgetsEarly,
        Self::DeadNodeHeard,
        Self::OldEpochs,
    ];
}

thread_local! {
    static FLAW: Cell<Option<Flaw>> = const { Cell::new(None) };
}

/// Whether the machine makes this mistake now.
pub(super) fn has_flaw(flaw: Flaw) -> bool {
    FLAW.get() == Some(flaw)
}

fn with_flaw<T>(flaw: Flaw, run: impl FnOnce() -> T) -> T {
    FLAW.set(Some(flaw));
    let result = run();
    FLAW.set(None);
    result
}

fn time(kind: TimeKind, number: u32) -> LogicalTime {
    match kind {
        TimeKind::Integer64 => LogicalTime::integer64(i64::from(number)).unwrap(),
        // Sums of these are rounded.
        TimeKind::Float64 => LogicalTime::float64(f64::from(number) * 0.1).unwrap(),
    }
}

fn interval(kind: TimeKind, number: u32) -> LogicalTimeInterval {
    time(kind, number).distance(kind.initial()).unwrap()
}

fn bound(kind: TimeKind) -> impl Strategy<Value = Bound> {
    prop_oneof![
        12 => (0..20_u32).prop_map(move |number| Bound::at(time(kind, number))),
        8 => (0..20_u32).prop_map(move |number| Bound::above(time(kind, number))),
        1 => Just(Bound::at(kind.final_time())),
        1 => Just(Bound::INFINITE),
    ]
}

fn output(kind: TimeKind) -> impl Strategy<Value = Output> {
    let conditional = (0..4_u32, any::<bool>(), proptest::option::weighted(0.3, bound(kind)));
    let conditional = conditional.prop_map(move |(lookahead, strict, floor)| Conditional {
        delay: Delay::new(interval(kind, lookahead), strict),
        floor,
    });
    (bound(kind), proptest::option::of(conditional)).prop_map(|(bound, conditional)| {
        // No federate may send below its floor.
        let floor = conditional.and_then(|conditional| conditional.floor);
        Output { bound: floor.map_or(bound, |floor| bound.max(floor)), conditional }
    })
}

/// The greatest fixed point, from above.
fn iterated(outputs: &[Output], federate: usize) -> Bound {
    let least_other = |all: &[Bound], at: usize| {
        let others = all.iter().enumerate().filter(|&(other, _)| other != at);
        others.map(|(_, &bound)| bound).min().unwrap_or(Bound::INFINITE)
    };
    let mut all: Vec<_> = outputs.iter().map(|output| output.bound).collect();
    loop {
        let lower = outputs.iter().enumerate().map(|(at, output)| match output.conditional {
            None => output.bound,
            Some(Conditional { delay, floor }) => {
                let answer = least_other(&all, at).after(delay);
                output.bound.min(floor.map_or(answer, |floor| answer.max(floor)))
            }
        });
        let lower: Vec<_> = lower.collect();
        if lower == all {
            return least_other(&all, federate);
        }
        all = lower;
    }
}

fn check(outputs: &[Output]) -> Result<(), TestCaseError> {
    let mut bounds = Bounds::default();
    for (at, output) in outputs.iter().enumerate() {
        bounds.set(FederateHandle(at as u32), Some(*output));
    }
    for at in 0..=outputs.len() {
        prop_assert_eq!(bounds.galt(FederateHandle(at as u32)), iterated(outputs, at), "federate {}", at);
    }
    Ok(())
}

/// The summaries of two parts of the federates, merged.
fn merged(outputs: &[Output], parts: &[bool]) -> Summary {
    let mut bounds = [Bounds::default(), Bounds::default()];
    for (at, output) in outputs.iter().enumerate() {
        let part = usize::from(parts.get(at).copied().unwrap_or(false));
        bounds[part].set(FederateHandle(at as u32), Some(*output));
    }
    let [one, other] = bounds.map(|bounds| bounds.summary());
    assert_eq!(one.merge(other), other.merge(one));
    one.merge(other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_closed_form_is_the_fixed_point_of_integer_times(
        outputs in proptest::collection::vec(output(TimeKind::Integer64), 0..7),
    ) {
        check(&outputs)?;
    }

    #[test]
    fn the_closed_form_is_the_fixed_point_of_float_times(
        outputs in proptest::collection::vec(output(TimeKind::Float64), 0..7),
    ) {
        check(&outputs)?;
    }

    /// Without floors exactly; with floors no higher.
    #[test]
    fn merged_summaries_have_the_closed_form(
        outputs in proptest::collection::vec(output(TimeKind::Integer64), 0..7),
        parts in proptest::collection::vec(any::<bool>(), 7),
    ) {
        let summary = merged(&outputs, &parts);
        let unfloored: Vec<_> = outputs.iter().map(|output| {
            let conditional = output.conditional.map(|c| Conditional { floor: None, ..c });
            Output { conditional, ..*output }
        }).collect();
        for at in 0..=outputs.len() {
            let galt = summary.galt(FederateHandle(at as u32));
            prop_assert_eq!(galt, iterated(&unfloored, at));
            prop_assert!(galt <= iterated(&outputs, at));
        }
    }

    #[test]
    fn outputs_that_change_and_go_leave_no_trace(
        changes in proptest::collection::vec((0..5_u32, proptest::option::of(output(TimeKind::Integer64))), 0..40),
    ) {
        let mut bounds = Bounds::default();
        let mut last = std::collections::BTreeMap::new();
        for (federate, output) in changes {
            bounds.set(FederateHandle(federate), output);
            last.insert(federate, output);
        }
        let mut fresh = Bounds::default();
        for (&federate, &output) in &last {
            fresh.set(FederateHandle(federate), output);
        }
        for federate in (0..6).map(FederateHandle) {
            prop_assert_eq!(bounds.galt(federate), fresh.galt(federate));
            prop_assert_eq!(bounds.has_others(federate), fresh.has_others(federate));
        }
    }

    #[test]
    fn a_bound_orders_and_admits_as_its_time(a in 0..9_u32, b in 0..9_u32, lookahead in 0..3_u32) {
        for kind in [TimeKind::Integer64, TimeKind::Float64] {
            let [x, y] = [a, b].map(|number| time(kind, number));
            prop_assert_eq!(Bound::at(x).admits(y), x <= y);
            prop_assert_eq!(Bound::above(x).admits(y), x < y);
            prop_assert_eq!(Bound::above(x).time(kind), Some(x));
            prop_assert!(!Bound::INFINITE.admits(kind.final_time()));
            let delay = Delay::new(interval(kind, lookahead), true);
            let after = Bound::at(x).after(delay);
            prop_assert_eq!(after > Bound::at(x), true, "strictly after, or exclusive");
        }
    }
}
