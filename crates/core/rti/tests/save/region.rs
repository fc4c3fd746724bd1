//! Random calls of data distribution management.

use crate::object::{time, valid};
use crate::run::{Instance, Run};
use crate::time::later;
use crate::words::{CLASSES, INTERACTIONS, Mask, RATES, attributes, parameters, pick, values};
use bytes::Bytes;
use hla::api;
use hla::handle::RegionHandle;
use proptest::prelude::*;

/// The dimensions of new regions. All classes have X.
const DIMENSIONS: [&[&str]; 4] = [&["X"], &["X", "Y"], &["Y"], &["X", "Z"]];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Create {
        dimensions: usize,
        lower: u32,
        size: u32,
    },
    /// Sets bounds, and commits them or not.
    Shift {
        region: usize,
        lower: u32,
        size: u32,
        commit: bool,
    },
    Commit {
        region: usize,
    },
    Delete {
        region: usize,
    },
    Register {
        class: usize,
        attributes: Mask,
        region: usize,
    },
    Associate {
        instance: usize,
        attributes: Mask,
        region: usize,
    },
    Unassociate {
        instance: usize,
        attributes: Mask,
        region: usize,
    },
    Subscribe {
        class: usize,
        attributes: Mask,
        region: usize,
        active: bool,
        rate: usize,
    },
    Unsubscribe {
        class: usize,
        attributes: Mask,
        region: usize,
    },
    SubscribeInteraction {
        class: usize,
        region: usize,
        active: bool,
    },
    UnsubscribeInteraction {
        class: usize,
        region: usize,
    },
    Send {
        class: usize,
        region: usize,
        after: Option<i64>,
    },
    Request {
        class: usize,
        attributes: Mask,
        region: usize,
    },
}

fn class() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0usize), 3 => Just(1usize), 1 => Just(2usize)]
}

fn subscriptions() -> impl Strategy<Value = Call> {
    let (mask, region) = (any::<Mask>, 0usize..4);
    prop_oneof![
        2 => (class(), mask(), region.clone(), prop::bool::weighted(0.7), 0usize..3).prop_map(
            |(class, attributes, region, active, rate)| Call::Subscribe { class, attributes, region, active, rate }
        ),
        1 => (0usize..2, region, prop::bool::weighted(0.7))
            .prop_map(|(class, region, active)| Call::SubscribeInteraction { class, region, active }),
    ]
}

pub(crate) fn creations() -> impl Strategy<Value = Call> {
    let create = (0usize..4, 0u32..8, 1u32..6).prop_map(|(dimensions, lower, size)| Call::Create {
        dimensions,
        lower,
        size,
    });
    prop_oneof![2 => create, 1 => subscriptions()]
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Call> {
    let (mask, region, instance) = (any::<Mask>, 0usize..4, 0usize..12);
    let pairs = (instance, mask(), region.clone());
    prop_oneof![
        3 => creations(),
        4 => (region.clone(), 0u32..8, 1u32..6, prop::bool::weighted(0.8))
            .prop_map(|(region, lower, size, commit)| Call::Shift { region, lower, size, commit }),
        1 => region.clone().prop_map(|region| Call::Commit { region }),
        1 => region.clone().prop_map(|region| Call::Delete { region }),
        3 => (class(), mask(), region.clone())
            .prop_map(|(class, attributes, region)| Call::Register { class, attributes, region }),
        3 => pairs.clone()
            .prop_map(|(instance, attributes, region)| Call::Associate { instance, attributes, region }),
        1 => pairs
            .prop_map(|(instance, attributes, region)| Call::Unassociate { instance, attributes, region }),
        3 => subscriptions(),
        1 => (class(), mask(), region.clone())
            .prop_map(|(class, attributes, region)| Call::Unsubscribe { class, attributes, region }),
        1 => (0usize..2, region.clone())
            .prop_map(|(class, region)| Call::UnsubscribeInteraction { class, region }),
        3 => (0usize..2, region.clone(), prop::option::of(0i64..12))
            .prop_map(|(class, region, after)| Call::Send { class, region, after }),
        1 => (class(), mask(), region)
            .prop_map(|(class, attributes, region)| Call::Request { class, attributes, region }),
    ]
}

impl Call {
    /// The number that picks the instance concerned, if it is one for its owner.
    pub(crate) fn of_owner(&self) -> Option<usize> {
        match *self {
            Call::Associate { instance, .. } | Call::Unassociate { instance, .. } => Some(instance),
            _ => None,
        }
    }
}

/// `X=2..5 Y=2..5`
fn ranges(dimensions: usize, lower: u32, size: u32) -> String {
    let range = |name: &&str| format!("{name}={lower}..{}", lower + size);
    DIMENSIONS[dimensions].iter().map(range).collect::<Vec<_>>().join(" ")
}

/// A region of a federate, as its dimensions and its handle.
fn own(run: &Run, at: usize, number: usize) -> Option<(usize, RegionHandle)> {
    let own = run.state.regions.iter().filter(|(owner, ..)| *owner == at);
    let own: Vec<_> = own.map(|&(_, dimensions, region)| (dimensions, region)).collect();
    pick(&own, number).copied()
}

pub(crate) fn apply(run: &mut Run, at: usize, step: usize, call: Call) -> String {
    match call {
        Call::Create { dimensions, lower, size } => {
            let created = run.federates[at].region(&ranges(dimensions, lower, size));
            if let Ok(region) = created {
                run.state.regions.push((at, dimensions, region));
            }
            format!("{created:?}")
        }
        Call::Shift { region, .. }
        | Call::Commit { region }
        | Call::Delete { region }
        | Call::Register { region, .. }
        | Call::Associate { region, .. }
        | Call::Unassociate { region, .. }
        | Call::Subscribe { region, .. }
        | Call::Unsubscribe { region, .. }
        | Call::SubscribeInteraction { region, .. }
        | Call::UnsubscribeInteraction { region, .. }
        | Call::Send { region, .. }
        | Call::Request { region, .. } => match own(run, at, region) {
            Some(region) => with_region(run, at, step, call, region),
            None => "nothing".to_owned(),
        },
    }
}

fn with_region(
    run: &mut Run,
    at: usize,
    step: usize,
    call: Call,
    (dimensions, region): (usize, RegionHandle),
) -> String {
    let f = &run.federates[at];
    let done = match call {
        Call::Shift { lower, size, commit: true, .. } => f.shift(region, &ranges(dimensions, lower, size)),
        Call::Shift { lower, size, .. } => {
            f.set_range(region, DIMENSIONS[dimensions][0], lower..lower + size)
        }
        Call::Commit { .. } => f.commit(&[region]),
        Call::Delete { .. } => f.delete_region(region),
        Call::Register { class, attributes: mask, .. } => {
            let names = attributes(class, mask).join(" ");
            let registered = f.register_with(CLASSES[class], &[(&names, &[region])]);
            return run.note_instance(at, class, registered);
        }
        Call::Associate { .. } | Call::Unassociate { .. } => return associate(run, at, call, region),
        Call::Subscribe { class, attributes: mask, active, rate, .. } => {
            let names = attributes(class, mask).join(" ");
            let pairs: &[(&str, &[RegionHandle])] = &[(&names, &[region])];
            match (active, RATES[rate]) {
                (true, "") => f.subscribe_with(CLASSES[class], pairs),
                (true, rate) => f.subscribe_at_with(CLASSES[class], pairs, rate),
                (false, "") => f.subscribe_passively_with(CLASSES[class], pairs),
                (false, rate) => f.subscribe_passively_at_with(CLASSES[class], pairs, rate),
            }
        }
        Call::Unsubscribe { class, attributes: mask, .. } => {
            let names = attributes(class, mask).join(" ");
            f.unsubscribe_with(CLASSES[class], &[(&names, &[region])])
        }
        Call::SubscribeInteraction { class, active: true, .. } => {
            f.subscribe_interaction_with(INTERACTIONS[class], &[region])
        }
        Call::SubscribeInteraction { class, .. } => {
            f.subscribe_interaction_passively_with(INTERACTIONS[class], &[region])
        }
        Call::UnsubscribeInteraction { class, .. } => {
            f.unsubscribe_interaction_with(INTERACTIONS[class], &[region])
        }
        Call::Send { class, after, .. } => return send(run, at, step, (class, after), region),
        Call::Request { class, attributes: mask, .. } => {
            let names = attributes(class, mask).join(" ");
            f.request_with(CLASSES[class], &[(&names, &[region])], "there")
        }
        other => unreachable!("{other:?} was dealt with"),
    };
    format!("{done:?}")
}

fn associate(run: &Run, at: usize, call: Call, region: RegionHandle) -> String {
    let (Call::Associate { instance, attributes: mask, .. }
    | Call::Unassociate { instance, attributes: mask, .. }) = call
    else {
        unreachable!("{call:?}")
    };
    let Some(&Instance { number, class, .. }) = pick(&run.state.instances, instance) else {
        return "nothing".to_owned();
    };
    let (f, names) = (&run.federates[at], attributes(class, mask).join(" "));
    let pairs: &[(&str, &[RegionHandle])] = &[(&names, &[region])];
    let done = match call {
        Call::Associate { .. } => f.associate(number, pairs),
        _ => f.unassociate(number, pairs),
    };
    format!("{done:?}")
}

fn send(
    run: &mut Run,
    at: usize,
    step: usize,
    (class, after): (usize, Option<i64>),
    region: RegionHandle,
) -> String {
    let (f, class) = (&run.federates[at], INTERACTIONS[class]);
    let values = values(parameters(class), step);
    let Some(after) = after else { return format!("{:?}", f.send_with(class, &values, &[region])) };
    let sent = f.ask(api::SendInteractionWithRegionsAndTimeRequest {
        interaction_class: f.interaction(class),
        parameter_values: f.parameters(&values),
        regions: Some([region].into_iter().collect()),
        user_supplied_tag: Bytes::new(),
        time: time(later(f, after)),
    });
    let sent = sent.map(|sent| valid(&sent));
    run.note_message(at, sent)
}
