//! A federation execution that is restored goes on like the one that was saved.
//!
//! A federation execution does random operations, is saved, and does more of them. Another RTI
//! restores it and does those more as well: every answer and every callback must be the same. So
//! must they be after the first one has gone back to what it saved, and in a third RTI that restores
//! what the second one saved right after its restore.

use crate::common::save::Saves;
use crate::federation;
use crate::op::{self, Op};
use crate::profile;
use crate::resume::{Place, Plan, place, plan};
use crate::run::{Run, Setup};
use proptest::prelude::*;
use proptest::sample::subsequence;
use std::time::Duration;

/// Switches that are drawn for the object model.
const SWITCHES: [&str; 9] = [
    "autoProvide",
    "conveyRegionDesignatorSets",
    "attributeScopeAdvisory",
    "attributeRelevanceAdvisory",
    "objectClassRelevanceAdvisory",
    "interactionRelevanceAdvisory",
    "nonRegulatedGrant",
    "advisoriesUseKnownClass",
    "allowRelaxedDDM",
];

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) setup: Setup,
    pub(crate) before: Vec<Op>,
    pub(crate) after: Vec<Op>,
    /// Whether the save is made while messages of the last operation before it are on their way.
    hasty: bool,
    /// Whether everything is asked for right after the save.
    probed: bool,
    save: Plan,
    place: Place,
    /// The return of the first run. Nobody joins after the save then, since a handle is not given
    /// again after the return.
    back: Option<Plan>,
    third: Option<Place>,
}

/// Whether the moments of operations matter, and whether federates are spread over nodes.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Timely,
    Timeless,
    Spread,
}

fn setup(kind: Kind) -> impl Strategy<Value = Setup> {
    let types = proptest::collection::vec(prop_oneof![2 => Just("T"), 1 => Just("U")], 2..=4);
    let switches = subsequence(SWITCHES.to_vec(), 0..=SWITCHES.len());
    let profiles = proptest::collection::vec(profile::arbitrary(), 4);
    let homes = prop::array::uniform4(0usize..3);
    (types, switches, prop::bool::weighted(0.2), profiles, homes).prop_map(
        move |(types, mut switches, more, profiles, homes)| {
            let timely = matches!(kind, Kind::Timely);
            let homes = matches!(kind, Kind::Spread).then_some(homes);
            if homes.is_some() && !switches.contains(&"nonRegulatedGrant") {
                // A node learns some time later that no other federate regulates time any longer.
                switches.push("nonRegulatedGrant");
            }
            Setup { types, switches, more, timely, profiles, homes }
        },
    )
}

pub(crate) fn case(kind: Kind) -> impl Strategy<Value = Case> {
    let beginning = proptest::collection::vec(op::beginning(), 0..12);
    let before = proptest::collection::vec(op::arbitrary(), 0..60);
    let after = proptest::collection::vec(op::arbitrary(), 0..40);
    let third = prop::option::weighted(0.3, place());
    let back = prop::option::weighted(0.7, plan());
    let flags = (any::<bool>(), prop::bool::weighted(0.3));
    (setup(kind), (beginning, before, after), flags, plan(), place(), back, third).prop_map(
        |(setup, (mut before, more, mut after), (hasty, probed), save, place, back, third)| {
            before.extend(more);
            if setup.homes.is_some() {
                let is_spread = |op: &Op| !matches!(op.call, op::Call::Manage(_));
                before.retain(is_spread);
                after.retain(is_spread);
                // Handles of new instances have the number of the node.
                let same_numbers = [Some(&place), third.as_ref()]
                    .into_iter()
                    .flatten()
                    .all(|place| place.names == [0, 1, 2]);
                after.retain(|op| same_numbers || !op.registers());
            }
            after.retain(|op| {
                back.is_none() || !matches!(op.call, op::Call::Federation(federation::Call::Join))
            });
            Case { setup, before, after, hasty, probed, save, place, back, third }
        },
    )
}

impl Run {
    fn continue_with(&mut self, case: &Case) {
        if !self.setup.timely {
            self.pass(Duration::ZERO);
            self.record("time passes");
        }
        if case.probed {
            self.probe();
        }
        for (step, op) in case.after.iter().enumerate() {
            self.apply(case.before.len() + step, op);
        }
        self.probe();
        self.finish();
        self.probe();
    }

    /// The run up to the moment of the save. Somebody is joined then.
    pub(crate) fn up_to_save(case: &Case, saves: &Saves) -> Self {
        let mut run = Self::start(&case.setup, saves);
        for (at, profile) in
            case.setup.types.iter().zip(&case.setup.profiles).map(|(_, profile)| *profile).enumerate()
        {
            run.begin(at, profile);
        }
        let hasty = case.hasty && run.net.is_some() && case.before.len() > 1;
        for (step, op) in case.before.iter().enumerate() {
            if hasty && step + 1 == case.before.len() {
                run.act(step, op);
            } else {
                run.apply(step, op);
            }
        }
        run.hasty = hasty;
        if run.joined().is_empty() {
            run.hasty = false;
            run.join(0).expect("its name is free");
            run.record("somebody joins");
        }
        run
    }

    /// The whole run without a save.
    pub(crate) fn unsaved(case: &Case) -> Self {
        let mut run = Self::up_to_save(case, &Saves::default());
        run.continue_with(case);
        run
    }
}

/// Compares two logs, and shows the operation where they part.
fn equal(first: &[String], second: &[String], which: &str, past: &[String]) -> Result<(), TestCaseError> {
    if first == second {
        return Ok(());
    }
    let same = first.iter().zip(second).take_while(|(first, second)| first == second).count();
    let from = first[..same].iter().rposition(|line| !line.starts_with("  ")).unwrap_or_default();
    let shown =
        |log: &[String]| log.iter().map(|line| line.escape_debug().to_string() + "\n").collect::<String>();
    let end = |log: &[String]| shown(&log[from..log.len().min(same + 3)]);
    let message = format!(
        "{which} parts from the first one.\nExpected:\n{}Got:\n{}Before:\n{}",
        end(first),
        end(second),
        shown(past)
    );
    Err(TestCaseError::fail(message))
}

pub(crate) fn compare(case: &Case) -> Result<(), TestCaseError> {
    let saves = Saves::default();
    let mut first = Run::up_to_save(case, &saves);
    let past = std::mem::take(&mut first.log);
    let saved = first.save("L", &case.save)?;
    first.continue_with(case);
    let expected = std::mem::take(&mut first.log);

    let mut second = Run::elsewhere(&case.setup, &saves, &case.place, "L", &saved)?;
    if let Some(place) = &case.third {
        let told = std::mem::take(&mut second.log);
        second.save("M", &case.save)?;
        let later = std::mem::replace(&mut second.log, told);
        prop_assert!(later.is_empty(), "{later:?}");
        second.continue_with(case);
        equal(&expected, &second.log, "the second run", &past)?;
        let mut third = Run::elsewhere(&case.setup, &saves, place, "M", &saved)?;
        third.continue_with(case);
        let ops = |log: &[String]| log.iter().skip_while(|line| line.starts_with("  ")).cloned().collect();
        let (expected, got): (Vec<_>, Vec<_>) = (ops(&expected), ops(&third.log));
        equal(&expected, &got, "the third run", &past)?;
    } else {
        second.continue_with(case);
        equal(&expected, &second.log, "the second run", &past)?;
    }
    let Some(back) = &case.back else { return Ok(()) };
    first.back(back, "L", &saved)?;
    first.continue_with(case);
    equal(&expected, &first.log, "the first run after its return", &past)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn a_restored_federation_execution_goes_on_like_the_saved_one(case in case(Kind::Timeless)) {
        compare(&case)?;
    }

    /// Federates at several nodes.
    #[test]
    fn a_restored_network_goes_on_like_the_saved_one(case in case(Kind::Spread)) {
        compare(&case)?;
    }

    /// Intervals and periods that have begun before the save, and durations, go on as well.
    #[test]
    fn time_before_a_save_counts_after_it(case in case(Kind::Timely)) {
        compare(&case)?;
    }
}
