//! Random calls of declaration management.

use crate::common::{Fed, Refused};
use crate::words::{CLASSES, DIRECTED, INTERACTIONS, Mask, RATES, attributes};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Publish { class: usize, attributes: Mask },
    Unpublish { class: usize, attributes: Mask },
    UnpublishClass { class: usize },
    Subscribe { class: usize, attributes: Mask, active: bool, rate: usize },
    Unsubscribe { class: usize, attributes: Mask },
    UnsubscribeClass { class: usize },
    PublishInteraction { class: usize },
    UnpublishInteraction { class: usize },
    SubscribeInteraction { class: usize, active: bool },
    UnsubscribeInteraction { class: usize },
    PublishDirected { class: usize },
    UnpublishDirected { class: usize },
    SubscribeDirected { class: usize, universally: bool },
    UnsubscribeDirected { class: usize },
}

fn class() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0usize), 3 => Just(1usize), 1 => Just(2usize)]
}

pub(crate) fn additions() -> impl Strategy<Value = Call> {
    let (mask, interaction) = (any::<Mask>, 0usize..3);
    prop_oneof![
        6 => (class(), mask()).prop_map(|(class, attributes)| Call::Publish { class, attributes }),
        6 => (class(), mask(), prop::bool::weighted(0.7), 0usize..3).prop_map(
            |(class, attributes, active, rate)| Call::Subscribe { class, attributes, active, rate }
        ),
        2 => interaction.clone().prop_map(|class| Call::PublishInteraction { class }),
        3 => (interaction, prop::bool::weighted(0.7))
            .prop_map(|(class, active)| Call::SubscribeInteraction { class, active }),
        1 => (0usize..2).prop_map(|class| Call::PublishDirected { class }),
        2 => (0usize..2, any::<bool>())
            .prop_map(|(class, universally)| Call::SubscribeDirected { class, universally }),
    ]
}

fn withdrawals() -> impl Strategy<Value = Call> {
    let (mask, interaction) = (any::<Mask>, 0usize..3);
    prop_oneof![
        3 => (class(), mask()).prop_map(|(class, attributes)| Call::Unpublish { class, attributes }),
        1 => class().prop_map(|class| Call::UnpublishClass { class }),
        3 => (class(), mask()).prop_map(|(class, attributes)| Call::Unsubscribe { class, attributes }),
        1 => class().prop_map(|class| Call::UnsubscribeClass { class }),
        1 => interaction.clone().prop_map(|class| Call::UnpublishInteraction { class }),
        2 => interaction.prop_map(|class| Call::UnsubscribeInteraction { class }),
        1 => (0usize..2).prop_map(|class| Call::UnpublishDirected { class }),
        1 => (0usize..2).prop_map(|class| Call::UnsubscribeDirected { class }),
    ]
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Call> {
    prop_oneof![3 => additions(), 1 => withdrawals()]
}

/// The directed interactions that may be directed at a class.
fn directed(class: usize) -> &'static [&'static str] {
    if class == 1 { &DIRECTED } else { &DIRECTED[..1] }
}

pub(crate) fn apply(f: &Fed, call: Call) -> Refused {
    match call {
        Call::Publish { class, attributes: mask } => f.publish(CLASSES[class], &attributes(class, mask)),
        Call::Unpublish { class, attributes: mask } => f.unpublish(CLASSES[class], &attributes(class, mask)),
        Call::UnpublishClass { class } => f.unpublish_class(CLASSES[class]),
        Call::Subscribe { class, attributes: mask, active, rate } => {
            let (class, attributes) = (CLASSES[class], attributes(class, mask));
            match (active, RATES[rate]) {
                (true, "") => f.subscribe(class, &attributes),
                (true, rate) => f.subscribe_at(class, &attributes, rate),
                (false, "") => f.subscribe_passively(class, &attributes),
                (false, rate) => f.subscribe_passively_at(class, &attributes, rate),
            }
        }
        Call::Unsubscribe { class, attributes: mask } => {
            f.unsubscribe(CLASSES[class], &attributes(class, mask))
        }
        Call::UnsubscribeClass { class } => f.unsubscribe_class(CLASSES[class]),
        Call::PublishInteraction { class } => f.publish_interaction(INTERACTIONS[class]),
        Call::UnpublishInteraction { class } => f.unpublish_interaction(INTERACTIONS[class]),
        Call::SubscribeInteraction { class, active: true } => f.subscribe_interaction(INTERACTIONS[class]),
        Call::SubscribeInteraction { class, active: false } => {
            f.subscribe_interaction_passively(INTERACTIONS[class])
        }
        Call::UnsubscribeInteraction { class } => f.unsubscribe_interaction(INTERACTIONS[class]),
        Call::PublishDirected { class } => f.publish_directed(CLASSES[class], directed(class)),
        Call::UnpublishDirected { class } => f.unpublish_directed(CLASSES[class], directed(class)),
        Call::SubscribeDirected { class, universally: true } => {
            f.subscribe_universally(CLASSES[class], directed(class))
        }
        Call::SubscribeDirected { class, universally: false } => {
            f.subscribe_directed(CLASSES[class], directed(class))
        }
        Call::UnsubscribeDirected { class } => f.unsubscribe_directed(CLASSES[class], directed(class)),
    }
}
