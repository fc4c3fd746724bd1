//! The operations of federates.

use proptest::prelude::*;

/// Object classes, by index. The last one exists only after a join with the additional module.
pub(crate) const CLASSES: [&str; 5] = ["HLAobjectRoot", "C", "C.S", "E", "C.Z"];
/// Attributes with the class that declares them; the last two come with the additional module.
pub(crate) const ATTRIBUTES: [(&str, usize); 8] =
    [("privilege", 0), ("a", 1), ("b", 1), ("t", 1), ("c", 2), ("e", 3), ("d", 1), ("z", 4)];
pub(crate) const INTERACTIONS: [&str; 3] = ["HLAinteractionRoot", "I", "I.J"];
pub(crate) const DIRECTED: [&str; 2] = ["D", "D.K"];
/// Update rate designators with their interval in milliseconds.
pub(crate) const RATES: [(&str, u64); 3] = [("", 0), ("Low", 1000), ("High", 100)];

/// A set of attributes: bit i for `ATTRIBUTES[i]`.
pub(crate) type Mask = u8;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Switch {
    Scope,
    Relevance,
    Class,
    Interaction,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Publish { class: usize, attributes: Mask },
    Unpublish { class: usize, attributes: Mask },
    UnpublishClass { class: usize },
    Subscribe { class: usize, attributes: Mask, active: bool, rate: usize },
    Unsubscribe { class: usize, attributes: Mask },
    UnsubscribeClass { class: usize },
    Register { class: usize },
    Update { instance: u32, attributes: Mask },
    Delete { instance: u32 },
    LocalDelete { instance: u32 },
    Request { instance: u32, attributes: Mask },
    RequestOfClass { class: usize, attributes: Mask },
    ChangeTransportation { instance: u32, attributes: Mask, reliable: bool },
    PublishInteraction { class: usize, publish: bool },
    SubscribeInteraction { class: usize, active: bool },
    UnsubscribeInteraction { class: usize },
    Send { class: usize, parameters: u8 },
    PublishDirected { class: usize, interactions: u8 },
    UnpublishDirected { class: usize, interactions: u8 },
    SubscribeDirected { class: usize, interactions: u8, universally: bool },
    UnsubscribeDirected { class: usize, interactions: u8 },
    Direct { interaction: usize, instance: u32 },
    Set { switch: Switch, value: bool },
    Resign { action: i32 },
    Lose { directive: i32 },
    Join { more: bool },
    Pass { milliseconds: u64 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) federate: usize,
    /// 0 leaves the rest as drawn. Other values steer it to where something may happen.
    pub(crate) bias: u8,
    pub(crate) call: Call,
}

/// A class; the ones with attributes of their own are the interesting ones.
fn class() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0usize), 12 => Just(1usize), 8 => Just(2usize), 1 => Just(3usize), 2 => Just(4usize)]
}

/// A set of attributes, mostly of C and C.S.
fn attributes() -> impl Strategy<Value = Mask> {
    let bit = |at: u8| Just(1u8 << at);
    let few = prop_oneof![1 => bit(0), 5 => bit(1), 5 => bit(2), 2 => bit(3), 3 => bit(4), 1 => bit(6)];
    prop_oneof![
        8 => few,
        8 => (0u8..16).prop_map(|mask| mask & 0b1110),
        2 => 0u8..32,
        1 => any::<u8>(),
    ]
}

fn instance() -> impl Strategy<Value = u32> {
    1u32..7
}

fn declarations() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => (class(), attributes()).prop_map(|(class, attributes)| Call::Publish { class, attributes }),
        2 => (class(), attributes()).prop_map(|(class, attributes)| Call::Unpublish { class, attributes }),
        1 => class().prop_map(|class| Call::UnpublishClass { class }),
        8 => (class(), attributes(), prop::bool::weighted(0.7), 0usize..3).prop_map(
            |(class, attributes, active, rate)| Call::Subscribe { class, attributes, active, rate }
        ),
        2 => (class(), attributes()).prop_map(|(class, attributes)| Call::Unsubscribe { class, attributes }),
        1 => class().prop_map(|class| Call::UnsubscribeClass { class }),
        4 => (0usize..3, prop::bool::weighted(0.8)).prop_map(|(class, publish)| Call::PublishInteraction { class, publish }),
        4 => (0usize..3, any::<bool>()).prop_map(|(class, active)| Call::SubscribeInteraction { class, active }),
        3 => (0usize..3).prop_map(|class| Call::UnsubscribeInteraction { class }),
        4 => (class(), 0u8..4).prop_map(|(class, interactions)| Call::PublishDirected { class, interactions }),
        1 => (class(), 0u8..4).prop_map(|(class, interactions)| Call::UnpublishDirected { class, interactions }),
        5 => (class(), 0u8..4, any::<bool>()).prop_map(
            |(class, interactions, universally)| Call::SubscribeDirected { class, interactions, universally }
        ),
        1 => (class(), 0u8..4).prop_map(|(class, interactions)| Call::UnsubscribeDirected { class, interactions }),
    ]
}

fn use_of_objects() -> impl Strategy<Value = Call> {
    prop_oneof![
        8 => class().prop_map(|class| Call::Register { class }),
        10 => (instance(), attributes()).prop_map(|(instance, attributes)| Call::Update { instance, attributes }),
        2 => instance().prop_map(|instance| Call::Delete { instance }),
        3 => instance().prop_map(|instance| Call::LocalDelete { instance }),
        2 => (instance(), attributes()).prop_map(|(instance, attributes)| Call::Request { instance, attributes }),
        1 => (class(), attributes()).prop_map(|(class, attributes)| Call::RequestOfClass { class, attributes }),
        2 => (instance(), attributes(), any::<bool>()).prop_map(|(instance, attributes, reliable)| {
            Call::ChangeTransportation { instance, attributes, reliable }
        }),
        3 => (0usize..3, 0u8..4).prop_map(|(class, parameters)| Call::Send { class, parameters }),
        5 => (0usize..2, instance()).prop_map(|(interaction, instance)| Call::Direct { interaction, instance }),
    ]
}

fn the_rest() -> impl Strategy<Value = Call> {
    let switch = prop_oneof![
        Just(Switch::Scope),
        Just(Switch::Relevance),
        Just(Switch::Class),
        Just(Switch::Interaction)
    ];
    prop_oneof![
        4 => (switch, any::<bool>()).prop_map(|(switch, value)| Call::Set { switch, value }),
        1 => (0i32..6).prop_map(|action| Call::Resign { action }),
        1 => (0i32..6).prop_map(|directive| Call::Lose { directive }),
        2 => prop::bool::weighted(0.3).prop_map(|more| Call::Join { more }),
        2 => prop_oneof![Just(50u64), Just(100), Just(900), Just(1000)]
            .prop_map(|milliseconds| Call::Pass { milliseconds }),
    ]
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Op> {
    let call = prop_oneof![8 => declarations(), 10 => use_of_objects(), 2 => the_rest()];
    (0usize..3, 0u8..8, call).prop_map(|(federate, bias, call)| Op { federate, bias, call })
}
