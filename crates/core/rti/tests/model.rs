//! Random declarations, registrations, updates, deletions, resignations of three federates, each compared exactly
//! with a plain model of what the standard says: the outcome of the call and the callbacks at everybody.

mod common;
#[path = "model/op.rs"]
mod op;
#[path = "model/run.rs"]
mod run;
#[path = "model/spec.rs"]
mod spec;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, max_shrink_iters: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn the_services_do_what_the_model_says(
        auto_provide: bool,
        advisories: bool,
        ops in proptest::collection::vec(op::arbitrary(), 60),
    ) {
        run::compare(auto_provide, advisories, &ops)?;
    }
}
