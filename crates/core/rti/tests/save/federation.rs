//! Random calls about the federation execution: names, synchronization points, switches, joining and
//! resigning; and time that passes.

use crate::common::{Fed, Refused};
use crate::run::Run;
use hla::api::{self, ResignAction};
use proptest::prelude::*;
use std::time::Duration;

/// Names of object instances.
pub(crate) const NAMES: [&str; 4] = ["ant", "bee", "cat", "dog"];
const LABELS: [&str; 2] = ["ready", "go"];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Reserve { name: usize },
    Release { name: usize },
    ReserveAll { name: usize },
    ReleaseAll { name: usize },
    RegisterSync { label: usize, with: Option<usize> },
    Achieve { label: usize, successfully: bool },
    Set { switch: usize, value: bool },
    SetDirective { action: i32 },
    Resign { action: i32 },
    Lose,
    Join,
    Pass { milliseconds: u64 },
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Call> {
    let (name, label, action) = (0usize..4, 0usize..2, 0i32..6);
    prop_oneof![
        6 => name.clone().prop_map(|name| Call::Reserve { name }),
        2 => name.clone().prop_map(|name| Call::Release { name }),
        1 => name.clone().prop_map(|name| Call::ReserveAll { name }),
        1 => name.prop_map(|name| Call::ReleaseAll { name }),
        6 => (label.clone(), prop::option::weighted(0.3, 0usize..4))
            .prop_map(|(label, with)| Call::RegisterSync { label, with }),
        6 => (label, prop::bool::weighted(0.8))
            .prop_map(|(label, successfully)| Call::Achieve { label, successfully }),
        6 => (0usize..6, any::<bool>()).prop_map(|(switch, value)| Call::Set { switch, value }),
        2 => action.clone().prop_map(|action| Call::SetDirective { action }),
        1 => action.prop_map(|action| Call::Resign { action }),
        1 => Just(Call::Lose),
        4 => Just(Call::Join),
        4 => prop_oneof![Just(50u64), Just(100), Just(900), Just(1000)]
            .prop_map(|milliseconds| Call::Pass { milliseconds }),
    ]
}

/// A multiple of all periods of reports, and longer than all intervals of update rates.
const STEP: Duration = Duration::from_secs(2);

impl Run {
    /// Lets time pass: as much as this, or a step.
    pub(crate) fn pass(&self, time: Duration) {
        match self.net {
            // Time passes with each operation.
            Some(_) => self.settle(),
            None => self.world.pass(if self.setup.timely { time } else { STEP }),
        }
    }
}

fn set(f: &Fed, switch: usize, value: bool) -> Refused {
    match switch {
        0 => f.set_scope(value),
        1 => f.set_relevance(value),
        2 => f.set_class_relevance(value),
        3 => f.set_interaction_relevance(value),
        4 => f.set_convey_regions(value),
        _ => f.ask(api::SetExceptionReportingSwitchRequest { value }),
    }
}

pub(crate) fn apply(run: &mut Run, at: usize, call: Call) -> String {
    let f = &run.federates[at];
    let action = |action| ResignAction::try_from(action).expect("there are six");
    let two = |name: usize| [NAMES[name], NAMES[(name + 1) % NAMES.len()]];
    let done = match call {
        Call::Reserve { name } => f.reserve(NAMES[name]),
        Call::Release { name } => f.release(NAMES[name]),
        Call::ReserveAll { name } => f.reserve_all(&two(name)),
        Call::ReleaseAll { name } => f.release_all(&two(name)),
        Call::RegisterSync { label, with: None } => f.register_sync(LABELS[label], "tag"),
        Call::RegisterSync { label, with: Some(with) } => {
            let with = &run.federates[with % run.federates.len()];
            f.register_sync_for(LABELS[label], &[f.handle.get(), with.handle.get()])
        }
        Call::Achieve { label, successfully } => f.achieve(LABELS[label], successfully),
        Call::Set { switch, value } => set(f, switch, value),
        Call::SetDirective { action: directive } => f.set_resign_directive(action(directive)),
        Call::Resign { action: number } => f.resign(action(number)),
        Call::Lose => {
            run.lose(at);
            Ok(())
        }
        Call::Join => run.join(at),
        Call::Pass { milliseconds } => {
            run.pass(Duration::from_millis(milliseconds));
            Ok(())
        }
    };
    format!("{done:?}")
}
