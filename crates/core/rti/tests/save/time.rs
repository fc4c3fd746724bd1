//! Random calls of time management.

use crate::common::{Fed, Refused};
use hla::api;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Regulate {
        lookahead: i64,
    },
    DisableRegulation,
    Constrain,
    DisableConstrained,
    /// Time Advance Request, Next Message Request and so on, to a time from the present one.
    Advance {
        how: usize,
        by: i64,
    },
    ModifyLookahead {
        lookahead: i64,
    },
    Asynchronous {
        on: bool,
    },
    Query {
        what: usize,
    },
}

pub(crate) fn roles() -> impl Strategy<Value = Call> {
    prop_oneof![
        1 => (0i64..4).prop_map(|lookahead| Call::Regulate { lookahead }),
        1 => Just(Call::Constrain),
        1 => any::<bool>().prop_map(|on| Call::Asynchronous { on }),
    ]
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => roles(),
        1 => prop_oneof![Just(Call::DisableRegulation), Just(Call::DisableConstrained)],
        10 => (0usize..5, 0i64..9).prop_map(|(how, by)| Call::Advance { how, by }),
        1 => (0i64..5).prop_map(|lookahead| Call::ModifyLookahead { lookahead }),
        1 => (0usize..3).prop_map(|what| Call::Query { what }),
    ]
}

/// The time `by` after the present one of a federate.
pub(crate) fn later(f: &Fed, by: i64) -> i64 {
    f.time().unwrap_or_default() + by
}

pub(crate) fn apply(f: &Fed, call: Call) -> String {
    let done: Refused = match call {
        Call::Regulate { lookahead } => f.regulate(lookahead),
        Call::DisableRegulation => f.ask(api::DisableTimeRegulationRequest {}),
        Call::Constrain => f.constrain(),
        Call::DisableConstrained => f.ask(api::DisableTimeConstrainedRequest {}),
        Call::Advance { how, by } => {
            let to = later(f, by);
            match how {
                0 => f.tar(to),
                1 => f.tara(to),
                2 => f.nmr(to),
                3 => f.nmra(to),
                _ => f.flush(to),
            }
        }
        Call::ModifyLookahead { lookahead } => f.modify_lookahead(lookahead),
        Call::Asynchronous { on: true } => f.ask(api::EnableAsynchronousDeliveryRequest {}),
        Call::Asynchronous { on: false } => f.ask(api::DisableAsynchronousDeliveryRequest {}),
        Call::Query { what: 0 } => return format!("{:?}", f.galt()),
        Call::Query { what: 1 } => return format!("{:?}", f.lits()),
        Call::Query { .. } => return format!("{:?}", f.lookahead()),
    };
    format!("{done:?}")
}
