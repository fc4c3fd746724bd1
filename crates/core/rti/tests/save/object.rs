//! Random calls of object management.

use crate::common::{Fed, Refused};
use crate::run::{Instance, Run};
use crate::time::later;
use crate::words::{
    CLASSES, DIRECTED, INTERACTIONS, Mask, attributes, parameters, pick, transportation, values,
};
use bytes::Bytes;
use hla::api::{self, LogicalTime, MessageRetractionReturn};
use hla::handle::MessageRetractionHandle;
use proptest::prelude::*;

/// How long after the present time of its sender a message is, if it has a time.
type After = Option<i64>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Register { class: usize },
    RegisterAs { class: usize, name: usize },
    Update { instance: usize, attributes: Mask, after: After },
    Delete { instance: usize, after: After },
    LocalDelete { instance: usize },
    Send { class: usize, after: After },
    Direct { interaction: usize, instance: usize, after: After },
    Retract { message: usize },
    Request { instance: usize, attributes: Mask },
    RequestOfClass { class: usize, attributes: Mask },
    ChangeTransportation { instance: usize, attributes: Mask, reliable: bool },
    ChangeDefaultTransportation { class: usize, attributes: Mask, reliable: bool },
    ChangeInteractionTransportation { class: usize, reliable: bool },
    ChangeOrder { instance: usize, attributes: Mask, order: i32 },
    ChangeDefaultOrder { class: usize, attributes: Mask, order: i32 },
    ChangeInteractionOrder { class: usize, order: i32 },
}

fn class() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0usize), 3 => Just(1usize), 1 => Just(2usize)]
}

pub(crate) fn registrations() -> impl Strategy<Value = Call> {
    class().prop_map(|class| Call::Register { class })
}

fn messages() -> impl Strategy<Value = Call> {
    let after = || prop::option::weighted(0.6, 0i64..12);
    let mask = any::<Mask>;
    prop_oneof![
        8 => (0usize..12, mask(), after())
            .prop_map(|(instance, attributes, after)| Call::Update { instance, attributes, after }),
        2 => (0usize..12, after()).prop_map(|(instance, after)| Call::Delete { instance, after }),
        4 => (0usize..3, after()).prop_map(|(class, after)| Call::Send { class, after }),
        2 => (0usize..2, 0usize..12, after())
            .prop_map(|(interaction, instance, after)| Call::Direct { interaction, instance, after }),
        4 => (0usize..3).prop_map(|message| Call::Retract { message }),
        1 => (0usize..12, mask()).prop_map(|(instance, attributes)| Call::Request { instance, attributes }),
        1 => (class(), mask()).prop_map(|(class, attributes)| Call::RequestOfClass { class, attributes }),
    ]
}

fn changes() -> impl Strategy<Value = Call> {
    let mask = any::<Mask>;
    prop_oneof![
        2 => (0usize..12, mask(), any::<bool>()).prop_map(|(instance, attributes, reliable)| {
            Call::ChangeTransportation { instance, attributes, reliable }
        }),
        1 => (class(), mask(), any::<bool>()).prop_map(|(class, attributes, reliable)| {
            Call::ChangeDefaultTransportation { class, attributes, reliable }
        }),
        1 => (0usize..3, any::<bool>())
            .prop_map(|(class, reliable)| Call::ChangeInteractionTransportation { class, reliable }),
        3 => (0usize..12, mask(), 0i32..2)
            .prop_map(|(instance, attributes, order)| Call::ChangeOrder { instance, attributes, order }),
        1 => (class(), mask(), 0i32..2)
            .prop_map(|(class, attributes, order)| Call::ChangeDefaultOrder { class, attributes, order }),
        1 => (0usize..3, 0i32..2).prop_map(|(class, order)| Call::ChangeInteractionOrder { class, order }),
    ]
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => registrations(),
        2 => (class(), 0usize..4).prop_map(|(class, name)| Call::RegisterAs { class, name }),
        12 => messages(),
        1 => (0usize..12).prop_map(|instance| Call::LocalDelete { instance }),
        4 => changes(),
    ]
}

impl Call {
    /// The number that picks the instance concerned, if it is one for its owner.
    pub(crate) fn of_owner(&self) -> Option<usize> {
        match *self {
            Call::Update { instance, .. }
            | Call::Delete { instance, .. }
            | Call::ChangeTransportation { instance, .. }
            | Call::ChangeOrder { instance, .. } => Some(instance),
            _ => None,
        }
    }
}

pub(crate) fn time(time: i64) -> Option<LogicalTime> {
    Some(LogicalTime { data: Bytes::copy_from_slice(&time.to_be_bytes()) })
}

pub(crate) fn apply(run: &mut Run, at: usize, step: usize, call: Call) -> String {
    match call {
        Call::Register { class } => {
            let registered = run.federates[at].register(CLASSES[class]);
            run.note_instance(at, class, registered)
        }
        Call::RegisterAs { class, name } => {
            let registered = run.federates[at].register_as(CLASSES[class], crate::federation::NAMES[name]);
            run.note_instance(at, class, registered)
        }
        Call::Send { class, after } => {
            let class = INTERACTIONS[class];
            let sent = send(&run.federates[at], class, &values(parameters(class), step), after);
            run.note_message(at, sent)
        }
        Call::Retract { message } => {
            let own: Vec<_> = run.state.messages.iter().rev().filter(|(owner, _)| *owner == at).collect();
            let Some((_, message)) = pick(&own, message) else { return "nothing".to_owned() };
            format!("{:?}", run.federates[at].retract(*message))
        }
        Call::RequestOfClass { class, attributes: mask } => {
            let names = attributes(class, mask);
            format!("{:?}", run.federates[at].request_of_class(CLASSES[class], &names, "please"))
        }
        Call::ChangeDefaultTransportation { class, attributes: mask, reliable } => {
            let (f, how) = (&run.federates[at], transportation(reliable));
            format!("{:?}", f.change_default_transportation(CLASSES[class], &attributes(class, mask), how))
        }
        Call::ChangeInteractionTransportation { class, reliable } => {
            let (f, how) = (&run.federates[at], transportation(reliable));
            format!("{:?}", f.change_interaction_transportation(INTERACTIONS[class], how))
        }
        Call::ChangeDefaultOrder { class, attributes: mask, order } => {
            let f = &run.federates[at];
            format!("{:?}", f.change_default_order(CLASSES[class], &attributes(class, mask), order))
        }
        Call::ChangeInteractionOrder { class, order } => {
            format!("{:?}", run.federates[at].change_interaction_order(INTERACTIONS[class], order))
        }
        call => of_instance(run, at, step, call),
    }
}

fn of_instance(run: &mut Run, at: usize, step: usize, call: Call) -> String {
    let number = match call {
        Call::Update { instance, .. }
        | Call::Delete { instance, .. }
        | Call::LocalDelete { instance }
        | Call::Direct { instance, .. }
        | Call::Request { instance, .. }
        | Call::ChangeTransportation { instance, .. }
        | Call::ChangeOrder { instance, .. } => instance,
        other => unreachable!("{other:?} was dealt with"),
    };
    let Some(&Instance { number: instance, class, .. }) = pick(&run.state.instances, number) else {
        return "nothing".to_owned();
    };
    let f = &run.federates[at];
    let done = match call {
        Call::Update { attributes: mask, after, .. } => {
            let sent = update(f, instance, &values(&attributes(class, mask & 0x1f), step), after);
            return run.note_message(at, sent);
        }
        Call::Delete { after, .. } => {
            let sent = delete(f, instance, after);
            return run.note_message(at, sent);
        }
        Call::Direct { interaction, after, .. } => {
            let class = DIRECTED[interaction];
            let sent = direct(f, class, instance, &values(parameters(class), step), after);
            return run.note_message(at, sent);
        }
        Call::LocalDelete { .. } => f.local_delete(instance),
        Call::Request { attributes: mask, .. } => f.request(instance, &attributes(class, mask), "now"),
        Call::ChangeTransportation { attributes: mask, reliable, .. } => {
            f.change_transportation(instance, &attributes(class, mask), transportation(reliable))
        }
        Call::ChangeOrder { attributes: mask, order, .. } => {
            f.change_order(instance, &attributes(class, mask), order)
        }
        other => unreachable!("{other:?} was dealt with"),
    };
    format!("{done:?}")
}

/// The retraction handle of a message in time-stamp order.
type Sent = Refused<Option<MessageRetractionHandle>>;

pub(crate) fn valid(sent: &MessageRetractionReturn) -> Option<MessageRetractionHandle> {
    sent.message_retraction_handle.filter(|_| sent.retraction_handle_is_valid)
}

fn update(f: &Fed, instance: u32, values: &str, after: After) -> Sent {
    let Some(after) = after else { return f.update(instance, values).map(|()| None) };
    let sent = f.ask(api::UpdateAttributeValuesWithTimeRequest {
        object_instance: f.instance(instance),
        attribute_values: f.values(values),
        user_supplied_tag: Bytes::new(),
        time: time(later(f, after)),
    });
    sent.map(|sent| valid(&sent))
}

fn delete(f: &Fed, instance: u32, after: After) -> Sent {
    let Some(after) = after else { return f.delete(instance).map(|()| None) };
    let sent = f.ask(api::DeleteObjectInstanceWithTimeRequest {
        object_instance: f.instance(instance),
        user_supplied_tag: Bytes::new(),
        time: time(later(f, after)),
    });
    sent.map(|sent| valid(&sent))
}

fn send(f: &Fed, class: &str, values: &str, after: After) -> Sent {
    let Some(after) = after else { return f.send(class, values).map(|()| None) };
    let sent = f.ask(api::SendInteractionWithTimeRequest {
        interaction_class: f.interaction(class),
        parameter_values: f.parameters(values),
        user_supplied_tag: Bytes::new(),
        time: time(later(f, after)),
    });
    sent.map(|sent| valid(&sent))
}

fn direct(f: &Fed, class: &str, instance: u32, values: &str, after: After) -> Sent {
    let Some(after) = after else { return f.direct(class, instance, values).map(|()| None) };
    let sent = f.ask(api::SendDirectedInteractionWithTimeRequest {
        interaction_class: f.interaction(class),
        object_instance: f.instance(instance),
        parameter_values: f.parameters(values),
        user_supplied_tag: Bytes::new(),
        time: time(later(f, after)),
    });
    sent.map(|sent| valid(&sent))
}
