//! Random uses of the management object model.

use crate::common::Refused;
use crate::common::mom::{FEDERATE, FEDERATION, handle_of, number};
use crate::run::Run;
use proptest::prelude::*;

/// Attributes that tell of the save itself, or are long.
const EXCEPT: [&str; 6] =
    ["federateState", "lastSaveName", "lastSaveTime", "nextSaveName", "nextSaveTime", "currentFDD"];

/// Attributes that tell how long a federate has been in a state.
const TIMELY: [&str; 2] = ["timeGrantedTime", "timeAdvancingTime"];

/// Requests about a federate.
pub(crate) const OF_FEDERATES: [&str; 11] = [
    "Publications",
    "Subscriptions",
    "ObjectInstancesThatCanBeDeleted",
    "ObjectInstancesUpdated",
    "ObjectInstancesReflected",
    "UpdatesSent",
    "InteractionsSent",
    "DirectedInteractionsSent",
    "ReflectionsReceived",
    "InteractionsReceived",
    "DirectedInteractionsReceived",
];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Watch { federation: bool, attributes: u64 },
    Unwatch { federation: bool },
    HearReports,
    SetTiming { about: usize, period: i32 },
    Ask { about: usize, what: usize },
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (prop::bool::weighted(0.2), any::<u64>())
            .prop_map(|(federation, attributes)| Call::Watch { federation, attributes }),
        1 => any::<bool>().prop_map(|federation| Call::Unwatch { federation }),
        2 => Just(Call::HearReports),
        3 => (0usize..4, 0i32..3).prop_map(|(about, period)| Call::SetTiming { about, period }),
        4 => (0usize..4, 0usize..11).prop_map(|(about, what)| Call::Ask { about, what }),
    ]
}

fn class(federation: bool) -> &'static str {
    if federation { FEDERATION } else { FEDERATE }
}

pub(crate) fn apply(run: &Run, at: usize, call: Call) -> Refused {
    let f = &run.federates[at];
    match call {
        Call::Watch { federation, attributes } => {
            let mut names = f.all_of(class(federation));
            names.retain(|name| !EXCEPT.contains(&name.as_str()));
            names.retain(|name| run.setup.timely || !TIMELY.contains(&name.as_str()));
            let drawn = names.iter().enumerate().filter(|(at, _)| attributes >> at & 1 == 1);
            let drawn: Vec<&str> = drawn.map(|(_, name)| name.as_str()).collect();
            f.watch(class(federation), &drawn)
        }
        Call::Unwatch { federation } => f.unwatch(class(federation)),
        Call::HearReports => f.hear_all_reports(),
        Call::SetTiming { about, period } => {
            let about = handle_of(&run.federates[about % run.federates.len()]);
            let parameters = [("federate", about), ("reportPeriod", number(period))];
            f.ask_rti("HLAfederate.HLAadjust.HLAsetTiming", &parameters)
        }
        Call::Ask { about, what } => {
            let about = handle_of(&run.federates[about % run.federates.len()]);
            let what = OF_FEDERATES[what % OF_FEDERATES.len()];
            f.ask_rti(&format!("HLAfederate.HLArequest.HLArequest{what}"), &[("federate", about)])
        }
    }
}
