//! Whole groups.

use std::time::Duration;

use base::Seed;

use super::group::{Group, Report};
use super::table1::Preset;

/// All limits that one run of half an hour can meet. More runs, for the means, go by `meshrti sim srmp-table1 --replications`.
fn is_within_its_limits(preset: Preset) {
    let runs = [preset.run(Seed(1)).expect("a preset runs")];
    for check in preset.checks(&runs, None) {
        assert!(check.passes(), "{}: {check:?}", preset.name());
    }
    let totals = &runs[0].totals;
    assert_eq!((totals.faults, totals.mode0_withheld, runs[0].unsent), (0, 0, 0), "{}", preset.name());
}

#[test]
fn table_1_with_losses_at_daemons_is_within_its_limits() {
    is_within_its_limits(Preset::Honest);
}

#[test]
fn table_1_with_losses_at_objects_is_within_its_limits() {
    is_within_its_limits(Preset::ObjectLoss);
}

#[test]
fn table_1_without_hold_off_is_within_its_limits() {
    is_within_its_limits(Preset::NoHoldoff);
}

/// T11.
#[test]
fn one_seed_is_one_run() {
    for preset in Preset::ALL {
        let run = |seed: u64| -> Report {
            let setup = preset.setup(5, Duration::from_secs(30));
            Group::new(setup, Seed(seed)).expect("it can be").run().expect("it runs")
        };
        assert_eq!(run(7), run(7), "{}", preset.name());
        assert_ne!(run(7), run(8), "{}", preset.name());
    }
}
