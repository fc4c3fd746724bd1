//! The next action of a scripted federate: operations with weights, and arguments from the
//! knowledge of the federate.

pub(crate) mod calls;
mod distribution;
mod knowledge;
mod lookups;
mod regions;

pub use knowledge::{Knowledge, Standing};

use crate::draw::Draw;
use hla::api::call_request::CallRequest as Call;

/// A service group under test: it determines which calls the federates make most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Federation management and synchronization points (clause 4).
    Federation,
    /// Declaration management and its advisories (clause 5).
    Declaration,
    /// Object management (clause 6).
    Object,
    /// Data distribution management (clause 9).
    Distribution,
    /// Support services (clause 10), and saves without a label.
    Support,
    /// Everything, over faulty connections.
    Session,
}

/// An operation of a script: a call without its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // named after the services
pub enum Op {
    Publish,
    Unpublish,
    Subscribe,
    Unsubscribe,
    PublishInteraction,
    UnpublishInteraction,
    SubscribeInteraction,
    UnsubscribeInteraction,
    PublishDirected,
    UnpublishDirected,
    SubscribeDirected,
    UnsubscribeDirected,
    ReserveName,
    ReserveNames,
    ReleaseName,
    Register,
    RegisterNamed,
    Update,
    SendInteraction,
    SendDirected,
    Delete,
    LocalDelete,
    RequestInstance,
    RequestClass,
    ChangeTransportation,
    ChangeDefaultTransportation,
    QueryTransportation,
    ChangeInteractionTransportation,
    QueryInteractionTransportation,
    PrepareRegion,
    CreateRegion,
    SetBounds,
    CommitRegions,
    DeleteRegion,
    LookUpRegion,
    RegisterWithRegions,
    Associate,
    Unassociate,
    SubscribeWithRegions,
    UnsubscribeWithRegions,
    SubscribeInteractionWithRegions,
    UnsubscribeInteractionWithRegions,
    SendInteractionWithRegions,
    RequestWithRegions,
    RegisterSync,
    AchieveSync,
    ListFederations,
    ListMembers,
    Create,
    Destroy,
    Join,
    Resign,
    SetSwitch,
    GetSwitch,
    Lookup,
    Later,
}

const DECLARE: &[(Op, u64)] = &[
    (Op::Publish, 8),
    (Op::Unpublish, 2),
    (Op::Subscribe, 12),
    (Op::Unsubscribe, 2),
    (Op::PublishInteraction, 4),
    (Op::UnpublishInteraction, 2),
    (Op::SubscribeInteraction, 4),
    (Op::UnsubscribeInteraction, 2),
    (Op::PublishDirected, 2),
    (Op::UnpublishDirected, 1),
    (Op::SubscribeDirected, 2),
    (Op::UnsubscribeDirected, 1),
    (Op::SetSwitch, 2),
];

const OBJECTS: &[(Op, u64)] = &[
    (Op::ReserveName, 2),
    (Op::ReserveNames, 2),
    (Op::ReleaseName, 1),
    (Op::Register, 5),
    (Op::RegisterNamed, 4),
    (Op::Update, 30),
    (Op::SendInteraction, 12),
    (Op::SendDirected, 8),
    (Op::Delete, 3),
    (Op::LocalDelete, 2),
    (Op::RequestInstance, 2),
    (Op::RequestClass, 2),
    (Op::ChangeTransportation, 2),
    (Op::ChangeDefaultTransportation, 1),
    (Op::QueryTransportation, 1),
    (Op::ChangeInteractionTransportation, 1),
    (Op::QueryInteractionTransportation, 1),
];

const DISTRIBUTE: &[(Op, u64)] = &[
    (Op::PrepareRegion, 24),
    (Op::CreateRegion, 1),
    (Op::SetBounds, 4),
    (Op::CommitRegions, 6),
    (Op::DeleteRegion, 2),
    (Op::LookUpRegion, 3),
    (Op::RegisterWithRegions, 8),
    (Op::Associate, 8),
    (Op::Unassociate, 3),
    (Op::SubscribeWithRegions, 12),
    (Op::UnsubscribeWithRegions, 3),
    (Op::SubscribeInteractionWithRegions, 6),
    (Op::UnsubscribeInteractionWithRegions, 2),
    (Op::SendInteractionWithRegions, 10),
    (Op::RequestWithRegions, 3),
];

const FEDERATION: &[(Op, u64)] = &[
    (Op::RegisterSync, 8),
    (Op::AchieveSync, 14),
    (Op::ListFederations, 1),
    (Op::ListMembers, 2),
    (Op::Create, 1),
    (Op::Destroy, 1),
    (Op::Join, 1),
    (Op::Resign, 3),
];

const SUPPORT: &[(Op, u64)] = &[(Op::Lookup, 25), (Op::GetSwitch, 4), (Op::SetSwitch, 4), (Op::Later, 3)];

impl Group {
    /// The operations of this group with weights drawn around their usual ones.
    pub fn mix(self, draw: &mut Draw) -> Vec<(Op, u64)> {
        let factor = |group: Group| match (self, group) {
            (own, of) if own == of => 4,
            (Group::Session, Group::Distribution) => 2,
            (Group::Session, _) => 3,
            (Group::Distribution, Group::Object) => 3,
            (Group::Declaration | Group::Object | Group::Support, Group::Distribution) => 1,
            (Group::Declaration, Group::Object) | (Group::Object, Group::Declaration) => 3,
            (_, Group::Declaration) => 2,
            (Group::Support, Group::Object) => 2,
            _ => u64::from(self == Group::Federation),
        };
        let parts = [
            (Group::Declaration, DECLARE),
            (Group::Object, OBJECTS),
            (Group::Federation, FEDERATION),
            (Group::Support, SUPPORT),
            (Group::Distribution, DISTRIBUTE),
        ];
        let mut mix = Vec::new();
        for (group, ops) in parts {
            for &(op, weight) in ops {
                let luck = *draw.pick(&[0, 1, 1, 2, 4]).unwrap_or(&1);
                mix.push((op, weight * factor(group) * luck));
            }
        }
        // Every run has some resignations, and calls to begin again.
        mix.extend([(Op::Resign, 1), (Op::Publish, 1), (Op::Subscribe, 1), (Op::Register, 1)]);
        if self == Group::Distribution {
            // Without regions nothing else of this group can happen.
            mix.push((Op::PrepareRegion, 60));
        }
        mix
    }
}

/// Draws an operation by its weight.
pub fn draw_op(mix: &[(Op, u64)], draw: &mut Draw) -> Option<Op> {
    let total = mix.iter().map(|(_, weight)| weight).sum();
    let mut left = draw.below(total);
    mix.iter().find_map(|&(op, weight)| {
        if left < weight {
            return Some(op);
        }
        left -= weight;
        None
    })
}

/// The call for `op` this time; `None` if the federate lacks the arguments for it.
pub fn make(op: Op, known: &mut Knowledge, draw: &mut Draw) -> Option<Call> {
    match op {
        Op::Lookup => lookups::lookup(known, draw),
        Op::Later => Some(lookups::later(known, draw)),
        Op::GetSwitch => Some(lookups::get_switch(draw)),
        Op::SetSwitch => Some(lookups::set_switch(draw)),
        Op::PrepareRegion
        | Op::CreateRegion
        | Op::SetBounds
        | Op::CommitRegions
        | Op::DeleteRegion
        | Op::LookUpRegion
        | Op::RegisterWithRegions
        | Op::Associate
        | Op::Unassociate
        | Op::SubscribeWithRegions
        | Op::UnsubscribeWithRegions
        | Op::SubscribeInteractionWithRegions
        | Op::UnsubscribeInteractionWithRegions
        | Op::SendInteractionWithRegions
        | Op::RequestWithRegions => distribution::make(op, known, draw),
        _ => calls::make(op, known, draw),
    }
}

#[cfg(test)]
mod tests;
