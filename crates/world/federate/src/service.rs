//! Services as types: how a request and its result travel.

use bytes::Bytes;
use hla::api::{
    AttributeHandleSet, AttributeHandleValue, AttributeHandleValueMap, AttributeSetRegionSetPair,
    AttributeSetRegionSetPairList, FomModule, FomModuleSet, ParameterHandleValue, ParameterHandleValueMap,
    RegionHandleSet, call_request, call_response,
};
use hla::handle::{AttributeHandle, ParameterHandle, RegionHandle};

/// A service of the HLA API: its arguments, and how to find its result in a response.
///
/// It is implemented by every request type of [`hla::api`], for [`Federate::call`](crate::Federate::call).
pub trait Service: Send {
    /// What the service returns.
    type Output: Send + 'static;

    /// The name of its request.
    const NAME: &'static str;

    /// The request as it is sent.
    fn into_request(self) -> call_request::CallRequest;

    /// The result in `response`; `None` when that is the response of another service, or holds no valid result.
    fn output(response: call_response::CallResponse) -> Option<Self::Output>;
}

/// A result in the form an application wants, made from the form it has on the wire.
pub(crate) trait FromWire<Wire>: Sized {
    fn from_wire(wire: Wire) -> Option<Self>;
}

impl<T> FromWire<Option<T>> for T {
    fn from_wire(wire: Option<T>) -> Option<Self> {
        wire
    }
}

macro_rules! plain {
    ($($scalar:ty)+) => {$(
        impl FromWire<$scalar> for $scalar {
            fn from_wire(wire: $scalar) -> Option<Self> {
                Some(wire)
            }
        }
    )+};
}
plain! { bool u32 f64 String }

macro_rules! enumerations {
    ($($name:ident)+) => {$(
        impl FromWire<i32> for hla::api::$name {
            fn from_wire(wire: i32) -> Option<Self> {
                Self::try_from(wire).ok()
            }
        }
    )+};
}
enumerations! { OrderType ResignAction }

macro_rules! services {
    ($($request:ident => $response:ident $(. $field:ident)?: $output:ty;)+) => {$(
        impl $crate::service::Service for $request {
            type Output = $output;

            const NAME: &'static str = stringify!($request);

            fn into_request(self) -> call_request::CallRequest {
                call_request::CallRequest::$request(self)
            }

            #[allow(unused_variables)] // a response without result has nothing to look at
            fn output(response: call_response::CallResponse) -> Option<$output> {
                match response {
                    call_response::CallResponse::$response(response) => {
                        $crate::service::services!(@result response $($field)?)
                    }
                    _ => None,
                }
            }
        }
    )+};
    (@result $response:ident $field:ident) => { $crate::service::FromWire::from_wire($response.$field) };
    (@result $response:ident) => { Some(()) };
}
pub(crate) use services;

/// A collection in the form it has on the wire.
pub(crate) trait FromItems<Item> {
    fn from_items(items: impl Iterator<Item = Item>) -> Self;
}

macro_rules! sets {
    ($($set:ident { $field:ident: $item:ident })+) => {$(
        impl FromItems<hla::handle::$item> for hla::api::$set {
            fn from_items(items: impl Iterator<Item = hla::handle::$item>) -> Self {
                Self { $field: items.collect() }
            }
        }

        impl FromWire<Option<hla::api::$set>> for Vec<hla::handle::$item> {
            fn from_wire(wire: Option<hla::api::$set>) -> Option<Self> {
                Some(wire.unwrap_or_default().$field)
            }
        }
    )+};
}
sets! {
    FederateHandleSet { federate_handle: FederateHandle }
    AttributeHandleSet { attribute_handle: AttributeHandle }
    DimensionHandleSet { dimension_handle: DimensionHandle }
    RegionHandleSet { region_handle: RegionHandle }
    InteractionClassHandleSet { interaction_class_handle: InteractionClassHandle }
}

impl FromItems<FomModule> for FomModuleSet {
    fn from_items(items: impl Iterator<Item = FomModule>) -> Self {
        Self { fom_module: items.collect() }
    }
}

impl FromItems<(AttributeHandle, Bytes)> for AttributeHandleValueMap {
    fn from_items(items: impl Iterator<Item = (AttributeHandle, Bytes)>) -> Self {
        let pair = |(handle, value)| AttributeHandleValue { attribute_handle: Some(handle), value };
        Self { attribute_handle_value: items.map(pair).collect() }
    }
}

impl FromItems<(ParameterHandle, Bytes)> for ParameterHandleValueMap {
    fn from_items(items: impl Iterator<Item = (ParameterHandle, Bytes)>) -> Self {
        let pair = |(handle, value)| ParameterHandleValue { parameter_handle: Some(handle), value };
        Self { parameter_handle_value: items.map(pair).collect() }
    }
}

impl FromItems<(Vec<AttributeHandle>, Vec<RegionHandle>)> for AttributeSetRegionSetPairList {
    fn from_items(items: impl Iterator<Item = (Vec<AttributeHandle>, Vec<RegionHandle>)>) -> Self {
        let pair = |(attribute_handle, region_handle)| AttributeSetRegionSetPair {
            attribute_set: Some(AttributeHandleSet { attribute_handle }),
            region_set: Some(RegionHandleSet { region_handle }),
        };
        Self { attribute_set_region_set_pair: items.map(pair).collect() }
    }
}

/// The set field of a request. It is present even when empty: an absent set is not an empty one.
pub(crate) fn set<Item, Set: FromItems<Item>>(items: impl IntoIterator<Item = Item>) -> Option<Set> {
    Some(Set::from_items(items.into_iter()))
}
