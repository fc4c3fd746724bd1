//! Steering: most random calls would be refused. This leads most of them to where something may
//! happen. It looks only at the state of the model, so a case is reproducible.

use crate::op::{Call, Mask, Op};
use crate::spec::Spec;

impl Spec {
    /// The operation to perform in this state.
    pub(crate) fn steer(&self, op: &Op) -> Op {
        if op.bias == 0 {
            return *op;
        }
        if self.federates[op.federate].is_none() && !matches!(op.call, Call::Pass { .. } | Call::Join { .. })
        {
            return Op { call: Call::Join { more: op.bias == 1 }, ..*op };
        }
        let pick = usize::from(op.bias);
        match op.call {
            Call::Register { class } => {
                Op { call: Call::Register { class: self.published(op.federate, class, pick) }, ..*op }
            }
            Call::Send { class, parameters } => {
                let published = self.of(op.federate).interactions.iter().copied();
                let class = nth(published, pick).unwrap_or(class);
                let parameters = if class == 2 { parameters } else { parameters & class as u8 };
                Op { call: Call::Send { class, parameters }, ..*op }
            }
            Call::Update { instance, attributes } => {
                let (federate, instance, attributes) = self.of_owner(op.federate, instance, attributes);
                Op { federate, call: Call::Update { instance, attributes }, ..*op }
            }
            Call::ChangeTransportation { instance, attributes, reliable } => {
                let (federate, instance, attributes) = self.of_owner(op.federate, instance, attributes);
                Op { federate, call: Call::ChangeTransportation { instance, attributes, reliable }, ..*op }
            }
            Call::Delete { instance } => {
                let (federate, instance, _) = self.of_owner(op.federate, instance, 0);
                Op { federate, call: Call::Delete { instance }, ..*op }
            }
            Call::LocalDelete { instance } => {
                let (federate, instance) = self.of_knower(op.federate, instance, pick);
                Op { federate, call: Call::LocalDelete { instance }, ..*op }
            }
            Call::Request { instance, attributes } => {
                let (federate, instance) = self.of_knower(op.federate, instance, pick);
                Op { federate, call: Call::Request { instance, attributes }, ..*op }
            }
            Call::Direct { instance, interaction } => {
                let (knower, instance) = self.of_knower(op.federate, instance, pick);
                let publishers = self.joined().filter(|(_, federate)| !federate.directed.is_empty());
                let federate = nth(publishers.map(|(federate, _)| federate), pick).unwrap_or(knower);
                let published = self.of(federate).directed.iter().map(|&(_, at)| at);
                let interaction = nth(published, pick).unwrap_or(interaction);
                Op { federate, call: Call::Direct { instance, interaction }, ..*op }
            }
            _ => self.steer_withdrawal(op, pick),
        }
    }

    /// Withdrawals mostly concern something declared.
    fn steer_withdrawal(&self, op: &Op, pick: usize) -> Op {
        let Some(federate) = &self.federates[op.federate] else { return *op };
        let subscribed = || nth(federate.subscriptions.keys().copied(), pick);
        let call = match op.call {
            Call::Unsubscribe { class, attributes } => match subscribed() {
                Some((class, attribute)) => Call::Unsubscribe { class, attributes: 1 << attribute },
                None => Call::Unsubscribe { class, attributes },
            },
            Call::UnsubscribeClass { class } => {
                Call::UnsubscribeClass { class: subscribed().map_or(class, |(class, _)| class) }
            }
            Call::Unpublish { class, attributes } => {
                let class = self.published(op.federate, class, pick);
                let published = federate.publications.get(&class).into_iter().flatten().copied();
                Call::Unpublish { class, attributes: nth(published, pick).map_or(attributes, |at| 1 << at) }
            }
            Call::UnpublishClass { class } => {
                Call::UnpublishClass { class: self.published(op.federate, class, pick) }
            }
            Call::UnsubscribeInteraction { class } => {
                let subscribed = federate.subscribed_interactions.keys().copied();
                Call::UnsubscribeInteraction { class: nth(subscribed, pick).unwrap_or(class) }
            }
            Call::PublishDirected { class, interactions } => {
                Call::PublishDirected { class, interactions: directed_at(class, interactions) }
            }
            Call::SubscribeDirected { class, interactions, universally } => {
                Call::SubscribeDirected { class, interactions: directed_at(class, interactions), universally }
            }
            Call::Set { switch, value } => Call::Set { switch, value: value || pick > 2 },
            other => other,
        };
        Op { call, ..*op }
    }

    fn published(&self, federate: usize, class: usize, pick: usize) -> usize {
        nth(self.of(federate).publications.keys().copied(), pick).unwrap_or(class)
    }

    fn live(&self, instance: u32) -> u32 {
        nth(self.instances.keys().copied(), instance as usize).unwrap_or(instance)
    }

    /// An owner of a living instance, and those of the drawn attributes that it owns, or all that
    /// it owns if it owns none of the drawn ones.
    fn of_owner(&self, federate: usize, instance: u32, attributes: Mask) -> (usize, u32, Mask) {
        let instance = self.live(instance);
        let Some(object) = self.instances.get(&instance) else { return (federate, instance, attributes) };
        let federate = object.owners.values().next().copied().unwrap_or(federate);
        let owned = object.owners.iter().filter(|(_, owner)| **owner == federate);
        let owned = owned.fold(0, |mask, (attribute, _)| mask | 1 << attribute);
        (federate, instance, if attributes & owned == 0 { owned } else { attributes & owned })
    }

    fn of_knower(&self, federate: usize, instance: u32, pick: usize) -> (usize, u32) {
        let instance = self.live(instance);
        let knowers =
            self.instances.get(&instance).and_then(|object| nth(object.known.keys().copied(), pick));
        (knowers.unwrap_or(federate), instance)
    }
}

/// The directed interactions that exist at C (the first) and C.S (both).
fn directed_at(class: usize, interactions: u8) -> u8 {
    if class == 1 { 1 } else { interactions }
}

/// The element selected by `pick`.
fn nth<T>(all: impl IntoIterator<Item = T>, pick: usize) -> Option<T> {
    let mut all: Vec<T> = all.into_iter().collect();
    (!all.is_empty()).then(|| all.swap_remove(pick % all.len()))
}
