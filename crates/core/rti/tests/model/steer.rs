//! Steering: most random calls would be refused. This leads most of them to where something may
//! happen. It looks only at the state of the model, so a case is reproducible.

use crate::op::{Mask, Op, What};
use crate::spec::Spec;

impl Spec {
    /// The operation to perform in this state.
    pub(crate) fn steer(&self, op: &Op) -> Op {
        if op.bias == 0 {
            return *op;
        }
        if self.federates[op.who].is_none() && !matches!(op.what, What::Pass { .. } | What::Join { .. }) {
            return Op { what: What::Join { more: op.bias == 1 }, ..*op };
        }
        let pick = usize::from(op.bias);
        match op.what {
            What::Register { class } => {
                Op { what: What::Register { class: self.published(op.who, class, pick) }, ..*op }
            }
            What::Send { class, parameters } => {
                let published = self.of(op.who).interactions.iter().copied();
                let class = nth(published, pick).unwrap_or(class);
                let parameters = if class == 2 { parameters } else { parameters & class as u8 };
                Op { what: What::Send { class, parameters }, ..*op }
            }
            What::Update { instance, attributes } => {
                let (who, instance, attributes) = self.of_owner(op.who, instance, attributes);
                Op { who, what: What::Update { instance, attributes }, ..*op }
            }
            What::ChangeTransportation { instance, attributes, reliable } => {
                let (who, instance, attributes) = self.of_owner(op.who, instance, attributes);
                Op { who, what: What::ChangeTransportation { instance, attributes, reliable }, ..*op }
            }
            What::Delete { instance } => {
                let (who, instance, _) = self.of_owner(op.who, instance, 0);
                Op { who, what: What::Delete { instance }, ..*op }
            }
            What::LocalDelete { instance } => {
                let (who, instance) = self.of_knower(op.who, instance, pick);
                Op { who, what: What::LocalDelete { instance }, ..*op }
            }
            What::Request { instance, attributes } => {
                let (who, instance) = self.of_knower(op.who, instance, pick);
                Op { who, what: What::Request { instance, attributes }, ..*op }
            }
            What::Direct { instance, interaction } => {
                let (knower, instance) = self.of_knower(op.who, instance, pick);
                let publishers = self.joined().filter(|(_, federate)| !federate.directed.is_empty());
                let who = nth(publishers.map(|(who, _)| who), pick).unwrap_or(knower);
                let published = self.of(who).directed.iter().map(|&(_, at)| at);
                let interaction = nth(published, pick).unwrap_or(interaction);
                Op { who, what: What::Direct { instance, interaction }, ..*op }
            }
            _ => self.steer_withdrawal(op, pick),
        }
    }

    /// Withdrawals mostly concern something declared.
    fn steer_withdrawal(&self, op: &Op, pick: usize) -> Op {
        let Some(federate) = &self.federates[op.who] else { return *op };
        let subscribed = || nth(federate.subscriptions.keys().copied(), pick);
        let what = match op.what {
            What::Unsubscribe { class, attributes } => match subscribed() {
                Some((class, attribute)) => What::Unsubscribe { class, attributes: 1 << attribute },
                None => What::Unsubscribe { class, attributes },
            },
            What::UnsubscribeClass { class } => {
                What::UnsubscribeClass { class: subscribed().map_or(class, |(class, _)| class) }
            }
            What::Unpublish { class, attributes } => {
                let class = self.published(op.who, class, pick);
                let published = federate.publications.get(&class).into_iter().flatten().copied();
                What::Unpublish { class, attributes: nth(published, pick).map_or(attributes, |at| 1 << at) }
            }
            What::UnpublishClass { class } => {
                What::UnpublishClass { class: self.published(op.who, class, pick) }
            }
            What::UnsubscribeInteraction { class } => {
                let subscribed = federate.subscribed_interactions.keys().copied();
                What::UnsubscribeInteraction { class: nth(subscribed, pick).unwrap_or(class) }
            }
            What::PublishDirected { class, interactions } => {
                What::PublishDirected { class, interactions: directed_at(class, interactions) }
            }
            What::SubscribeDirected { class, interactions, universally } => {
                What::SubscribeDirected { class, interactions: directed_at(class, interactions), universally }
            }
            What::Set { switch, value } => What::Set { switch, value: value || pick > 2 },
            other => other,
        };
        Op { what, ..*op }
    }

    fn published(&self, who: usize, class: usize, pick: usize) -> usize {
        nth(self.of(who).publications.keys().copied(), pick).unwrap_or(class)
    }

    fn live(&self, instance: u32) -> u32 {
        nth(self.instances.keys().copied(), instance as usize).unwrap_or(instance)
    }

    /// An owner of a living instance, and those of the drawn attributes that it owns, or all that it
    /// owns if it owns none of the drawn ones.
    fn of_owner(&self, who: usize, instance: u32, attributes: Mask) -> (usize, u32, Mask) {
        let instance = self.live(instance);
        let Some(object) = self.instances.get(&instance) else { return (who, instance, attributes) };
        let who = object.owners.values().next().copied().unwrap_or(who);
        let owned = object.owners.iter().filter(|(_, owner)| **owner == who);
        let owned = owned.fold(0, |mask, (attribute, _)| mask | 1 << attribute);
        (who, instance, if attributes & owned == 0 { owned } else { attributes & owned })
    }

    fn of_knower(&self, who: usize, instance: u32, pick: usize) -> (usize, u32) {
        let instance = self.live(instance);
        let knowers =
            self.instances.get(&instance).and_then(|object| nth(object.known.keys().copied(), pick));
        (knowers.unwrap_or(who), instance)
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
