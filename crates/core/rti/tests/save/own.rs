//! Random calls of ownership management. Negotiations are often left open.

use crate::common::Fed;
use crate::words::Mask;
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

/// Calls the service for these attributes of an instance. Returns the answer in text.
pub(crate) fn apply(f: &Fed, service: Service, instance: u32, names: &[&str]) -> String {
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
