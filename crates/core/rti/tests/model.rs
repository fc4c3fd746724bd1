//! Random declarations, registrations, updates, deletions and resignations of three federates. Each
//! is compared exactly with a plain model of the standard: the outcome of the call, and the
//! callbacks to all federates.

mod common;
#[path = "model/objects.rs"]
mod objects;
#[path = "model/op.rs"]
mod op;
#[path = "model/run.rs"]
mod run;
#[path = "model/spec.rs"]
mod spec;
#[path = "model/steer.rs"]
mod steer;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn the_services_do_what_the_model_says(
        auto_provide: bool,
        advisories in prop::bool::weighted(0.7),
        ops in proptest::collection::vec(op::arbitrary(), 60),
    ) {
        run::compare(auto_provide, advisories, &ops)?;
    }
}

/// Random cases are worth their time only if they reach everything.
#[test]
fn the_cases_reach_every_callback_and_exception() {
    let mut runner = TestRunner::deterministic();
    let (mut callbacks, mut exceptions) = (BTreeMap::new(), BTreeSet::new());
    for case in 0..400 {
        let ops =
            proptest::collection::vec(op::arbitrary(), 60).new_tree(&mut runner).expect("a case").current();
        let mut spec = spec::Spec::new(case % 2 == 0, case % 4 != 0);
        for (step, op) in ops.iter().enumerate() {
            let op = spec.steer(op);
            exceptions.extend(spec.apply(&op, step).err().map(hla::Exception::name));
            for callback in spec.notified.iter_mut().flat_map(std::mem::take) {
                let kind = callback.split('(').next().unwrap_or_default().to_owned();
                *callbacks.entry(kind).or_insert(0) += 1;
            }
        }
    }
    let rare: Vec<_> = callbacks.iter().filter(|(_, count)| **count < 10).collect();
    assert!(rare.is_empty(), "told too rarely: {rare:?}");
    let all = "confirmTransportation directed discover inScope interactionsOff interactionsOn outOfScope provide receive \
               reflect remove startRegistration stopRegistration updatesOff updatesOn";
    assert_eq!(callbacks.into_keys().collect::<Vec<_>>().join(" "), all);
    let all = "AttributeNotDefined AttributeNotOwned DeletePrivilegeNotHeld FederateAlreadyExecutionMember \
               FederateNotExecutionMember FederateOwnsAttributes InteractionClassNotDefined InteractionClassNotPublished \
               InteractionParameterNotDefined ObjectClassNotDefined ObjectClassNotPublished ObjectInstanceNotKnown";
    assert_eq!(exceptions.into_iter().collect::<Vec<_>>().join(" "), all);
}
