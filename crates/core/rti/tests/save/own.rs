//! Random calls of ownership management. Negotiations are often left open.

use crate::common::Fed;
use crate::run::{Instance, Run};
use crate::words::{Mask, attributes, pick};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    Divest,
    Negotiate,
    Confirm,
    CancelNegotiated,
    DivestIfWanted,
    DenyRelease,
    Acquire,
    AcquireIfAvailable,
    CancelAcquisition,
    Query,
}

impl Service {
    /// Whether it is mostly for the owner.
    pub(crate) fn is_of_owner(self) -> bool {
        !matches!(self, Self::Acquire | Self::AcquireIfAvailable | Self::CancelAcquisition | Self::Query)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) service: Service,
    pub(crate) instance: usize,
    pub(crate) attributes: Mask,
}

pub(crate) fn arbitrary() -> impl Strategy<Value = Call> {
    let service = prop_oneof![
        3 => Just(Service::Divest),
        4 => Just(Service::Negotiate),
        2 => Just(Service::Confirm),
        1 => Just(Service::CancelNegotiated),
        1 => Just(Service::DivestIfWanted),
        1 => Just(Service::DenyRelease),
        6 => Just(Service::Acquire),
        2 => Just(Service::AcquireIfAvailable),
        4 => Just(Service::CancelAcquisition),
        1 => Just(Service::Query),
    ];
    (service, any::<u8>(), any::<Mask>()).prop_map(|(service, instance, attributes)| Call {
        service,
        instance: instance.into(),
        attributes,
    })
}

/// An acquisition or a divestiture that was requested: by a federate, of attributes of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requested {
    federate: usize,
    instance: usize,
    attributes: Mask,
}

/// Calls the service. Those that end a negotiation mostly end one that was begun.
pub(crate) fn apply(run: &mut Run, at: usize, steered: bool, call: Call) -> (usize, String) {
    let drawn = Requested { federate: at, instance: call.instance, attributes: call.attributes };
    let begun = match call.service {
        Service::CancelAcquisition => pick(&run.state.acquired, call.instance),
        Service::Confirm | Service::CancelNegotiated => pick(&run.state.negotiated, call.instance),
        _ => None,
    };
    let asked = begun.filter(|begun| steered && run.is_joined(begun.federate)).copied().unwrap_or(drawn);
    let Some(&Instance { number, class, .. }) = pick(&run.state.instances, asked.instance) else {
        return (at, "nothing".to_owned());
    };
    let asked = Requested { instance: asked.instance % run.state.instances.len(), ..asked };
    let names = attributes(class, asked.attributes);
    let answer = request(&run.federates[asked.federate], call.service, number, &names);
    if answer == "Ok(())" {
        match call.service {
            Service::Acquire => run.state.acquired.push(asked),
            Service::Negotiate => run.state.negotiated.push(asked),
            _ => {}
        }
    }
    (asked.federate, answer)
}

fn request(f: &Fed, service: Service, instance: u32, names: &[&str]) -> String {
    let done = match service {
        Service::Divest => f.divest(instance, names, "divest"),
        Service::Negotiate => f.negotiate(instance, names, "negotiate"),
        Service::Confirm => f.confirm_divestiture(instance, names, "confirm"),
        Service::CancelNegotiated => f.cancel_negotiated(instance, names),
        Service::DivestIfWanted => {
            return format!("{:?}", f.divest_if_wanted(instance, names, "wanted"));
        }
        Service::DenyRelease => f.deny_release(instance, names, "deny"),
        Service::Acquire => f.acquire(instance, names, "acquire"),
        Service::AcquireIfAvailable => f.acquire_if_available(instance, names, "available"),
        Service::CancelAcquisition => f.cancel_acquisition(instance, names),
        Service::Query => f.query_ownership(instance, names),
    };
    format!("{done:?}")
}
