//! Random operations of federates, of all service groups.

use crate::{declare, federation, manage, object, own, region, time};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Declare(declare::Call),
    Object(object::Call),
    Own(own::Call),
    Time(time::Call),
    Region(region::Call),
    Federation(federation::Call),
    Manage(manage::Call),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// The federate that calls, counted round.
    pub(crate) federate: usize,
    /// Whether the call goes from where it may succeed: mostly from the federate that registered the
    /// instance concerned.
    pub(crate) steered: bool,
    pub(crate) call: Call,
}

impl Op {
    /// Whether it makes an instance.
    pub(crate) fn registers(&self) -> bool {
        matches!(
            self.call,
            Call::Object(object::Call::Register { .. } | object::Call::RegisterAs { .. })
                | Call::Region(region::Call::Register { .. })
        )
    }
}

fn op(call: impl Strategy<Value = Call>) -> impl Strategy<Value = Op> {
    (0usize..12, prop::bool::weighted(0.8), call).prop_map(|(federate, steered, call)| Op {
        federate,
        steered,
        call,
    })
}

/// Operations that give a federation execution something to do.
pub(crate) fn beginning() -> impl Strategy<Value = Op> {
    op(prop_oneof![
        8 => declare::additions().prop_map(Call::Declare),
        3 => object::registrations().prop_map(Call::Object),
        2 => time::roles().prop_map(Call::Time),
        2 => region::creations().prop_map(Call::Region),
    ])
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Op> {
    op(prop_oneof![
        5 => declare::arbitrary().prop_map(Call::Declare),
        10 => object::arbitrary().prop_map(Call::Object),
        5 => own::arbitrary().prop_map(Call::Own),
        8 => time::arbitrary().prop_map(Call::Time),
        6 => region::arbitrary().prop_map(Call::Region),
        5 => federation::arbitrary().prop_map(Call::Federation),
        3 => manage::arbitrary().prop_map(Call::Manage),
    ])
}
