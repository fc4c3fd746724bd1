//! Callbacks that carry data, written straight to their wire form.
//!
//! Most messages of a federation are reflect and receive callbacks. They are encoded once for all
//! receivers that get the same values, with one allocation of the exact size.

use crate::wire::{HandleValue, Payload};
use bytes::Bytes;
use hla::api::{ConveyedRegionSet, Message as _, OrderType};
use hla::handle::{InteractionClassHandle, ObjectInstanceHandle};
use prost::encoding::{encode_varint, encoded_len_varint};

/// Field numbers of the callbacks in `CallbackRequest`; each timed form follows its untimed one.
const REFLECT_ATTRIBUTE_VALUES: u32 = 31;
const RECEIVE_INTERACTION: u32 = 33;
const RECEIVE_DIRECTED_INTERACTION: u32 = 35;
/// Field number of the regions in the forms that convey them.
const SENT_REGIONS: u32 = 6;
/// Field numbers of the parts that all three timed forms have in common.
const TIME: u32 = 7;
const SENT_ORDER: u32 = 8;
const RECEIVED_ORDER: u32 = 9;
const RETRACTION: u32 = 10;

/// `reflectAttributeValues` (6.11) with the values that `select` picks by position, in the received
/// order and with the regions that are conveyed to this receiver.
pub(crate) fn reflect(
    instance: ObjectInstanceHandle,
    payload: &Payload,
    received: (OrderType, Option<&ConveyedRegionSet>),
    select: impl Fn(usize) -> bool,
) -> Bytes {
    let mut lead = Lead::default();
    lead.put(long_handle(1, instance.0.to_be_bytes()));
    write(REFLECT_ATTRIBUTE_VALUES, &lead, 2, payload, received, select)
}

/// `receiveInteraction` (6.13) at `class` with the values that `select` picks by position.
pub(crate) fn receive(
    class: InteractionClassHandle,
    payload: &Payload,
    received: (OrderType, Option<&ConveyedRegionSet>),
    select: impl Fn(usize) -> bool,
) -> Bytes {
    let mut lead = Lead::default();
    lead.put(short_handle(1, class.0));
    write(RECEIVE_INTERACTION, &lead, 2, payload, received, select)
}

/// `receiveDirectedInteraction` (6.15).
pub(crate) fn receive_directed(
    class: InteractionClassHandle,
    instance: ObjectInstanceHandle,
    payload: &Payload,
    received: OrderType,
    select: impl Fn(usize) -> bool,
) -> Bytes {
    let mut lead = Lead::default();
    lead.put(short_handle(1, class.0));
    lead.put(long_handle(2, instance.0.to_be_bytes()));
    write(RECEIVE_DIRECTED_INTERACTION, &lead, 3, payload, (received, None), select)
}

/// The encoded handle fields in front of the values: at most a class and an instance.
#[derive(Default)]
struct Lead {
    octets: [u8; 24],
    len: usize,
}

impl Lead {
    fn put<const N: usize>(&mut self, handle: [u8; N]) {
        self.octets[self.len..self.len + N].copy_from_slice(&handle);
        self.len += N;
    }

    fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

/// Octets of the field of a 4-octet handle: key, length, and the handle message with its only
/// field.
const SHORT_HANDLE: usize = 8;
const LONG_HANDLE: usize = 12;
/// Octets of the field of an invalid handle: key and length.
const NO_HANDLE: usize = 2;

/// The field of a handle of 4 octets.
const fn short_handle(field: u32, handle: u32) -> [u8; SHORT_HANDLE] {
    let [a, b, c, d] = handle.to_be_bytes();
    [key(field), 6, key(1), 4, a, b, c, d]
}

/// The field of a handle, or of a time, of 8 octets.
const fn long_handle(field: u32, octets: [u8; 8]) -> [u8; LONG_HANDLE] {
    let [a, b, c, d, e, f, g, h] = octets;
    [key(field), 10, key(1), 8, a, b, c, d, e, f, g, h]
}

/// Key of a length-delimited field below 16.
const fn key(field: u32) -> u8 {
    (field << 3 | 2) as u8
}

const fn delimited_len(content: usize) -> usize {
    encoded_len_varint(content as u64) + content
}

fn entry_len(value: &HandleValue) -> usize {
    let bytes = if value.value.is_empty() { 0 } else { 1 + delimited_len(value.value.len()) };
    SHORT_HANDLE + bytes
}

/// Octets of the parts of a timed form: the time, and the fields that a message in receive order
/// does not have.
fn timed_len(payload: &Payload, received: OrderType) -> usize {
    let Some(stamp) = &payload.stamp else { return 0 };
    let order = |order| if order == OrderType::Timestamp { 2 } else { 0 };
    let retraction = if stamp.retraction.is_valid() { LONG_HANDLE } else { 0 };
    LONG_HANDLE + order(stamp.sent) + order(received) + retraction
}

fn put_timed(out: &mut Vec<u8>, payload: &Payload, received: OrderType) {
    let Some(stamp) = &payload.stamp else { return };
    out.extend_from_slice(&long_handle(TIME, stamp.time));
    for (field, order) in [(SENT_ORDER, stamp.sent), (RECEIVED_ORDER, received)] {
        // Receive order is 0, which proto3 omits.
        if order == OrderType::Timestamp {
            out.extend_from_slice(&[(field << 3) as u8, 1]);
        }
    }
    if stamp.retraction.is_valid() {
        out.extend_from_slice(&long_handle(RETRACTION, stamp.retraction.0.to_be_bytes()));
    }
}

fn write(
    callback: u32,
    lead: &Lead,
    values_field: u32,
    payload: &Payload,
    (received, conveyed): (OrderType, Option<&ConveyedRegionSet>),
    select: impl Fn(usize) -> bool,
) -> Bytes {
    let values = &payload.values[..];
    let selected = || values.iter().enumerate().filter(|(at, _)| select(*at)).map(|(_, value)| value);
    let map_len: usize = selected().map(|value| 1 + delimited_len(entry_len(value))).sum();
    let tag_len = if payload.tag.is_empty() { 0 } else { 1 + delimited_len(payload.tag.len()) };
    let regions_len = conveyed.map_or(0, |regions| 1 + delimited_len(regions.encoded_len()));
    // The RTI itself sends without a valid handle, which has no octets.
    let producer_len = if payload.producer.is_valid() { SHORT_HANDLE } else { NO_HANDLE };
    let handles_len = SHORT_HANDLE + producer_len + regions_len;
    let content =
        lead.len + 1 + delimited_len(map_len) + tag_len + handles_len + timed_len(payload, received);
    let callback_key = (callback + u32::from(payload.stamp.is_some())) << 3 | 2;

    let total = encoded_len_varint(callback_key.into()) + delimited_len(content);
    let mut out = Vec::with_capacity(total);
    put_varint(&mut out, callback_key as usize);
    put_varint(&mut out, content);
    out.extend_from_slice(lead.octets());
    out.push(key(values_field));
    put_varint(&mut out, map_len);
    for value in selected() {
        out.push(key(1));
        put_varint(&mut out, entry_len(value));
        out.extend_from_slice(&short_handle(1, value.handle));
        if !value.value.is_empty() {
            put_bytes(&mut out, 2, &value.value);
        }
    }
    if !payload.tag.is_empty() {
        put_bytes(&mut out, values_field + 1, &payload.tag);
    }
    out.extend_from_slice(&short_handle(values_field + 2, payload.transportation.0));
    match payload.producer.is_valid() {
        true => out.extend_from_slice(&short_handle(values_field + 3, payload.producer.0)),
        false => out.extend_from_slice(&[key(values_field + 3), 0]),
    }
    if let Some(regions) = conveyed {
        prost::encoding::message::encode(SENT_REGIONS, regions, &mut out);
    }
    put_timed(&mut out, payload, received);
    debug_assert_eq!(out.len(), total, "the length was computed for what is written");
    out.into()
}

fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &Bytes) {
    out.push(key(field));
    put_varint(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Writes a length as a varint. Most take one octet.
fn put_varint(out: &mut Vec<u8>, value: usize) {
    if value < 0x80 {
        out.push(value as u8);
    } else {
        encode_varint(value as u64, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp::Stamp;
    use crate::wire::{DimensionRange, Region, RegionSet};
    use hla::api::{self, callback_request::CallbackRequest as Callback};
    use hla::handle::{
        AttributeHandle, DimensionHandle, FederateHandle, MessageRetractionHandle, ParameterHandle,
        RegionHandle, TransportationTypeHandle,
    };
    use proptest::prelude::*;

    /// Larger handles belong to other RTIs; callbacks only carry our own.
    const OWN_MAX: u32 = 0xf000_0000;

    fn arbitrary_values() -> impl Strategy<Value = Vec<HandleValue>> {
        let value = (1..OWN_MAX, proptest::collection::vec(any::<u8>(), 0..200));
        let value = value.prop_map(|(handle, bytes)| HandleValue { handle, value: bytes.into() });
        proptest::collection::vec(value, 0..8)
    }

    fn order() -> impl Strategy<Value = OrderType> {
        prop_oneof![Just(OrderType::Receive), Just(OrderType::Timestamp)]
    }

    fn stamp() -> impl Strategy<Value = Stamp> {
        (any::<u64>(), order(), 0..1_u64 << 48).prop_map(|(time, sent, retraction)| Stamp {
            time: time.to_be_bytes(),
            sent,
            retraction: MessageRetractionHandle(retraction),
        })
    }

    fn regions() -> impl Strategy<Value = RegionSet> {
        let range = (1..OWN_MAX, 0_u32..1_000, 1_u32..1_000).prop_map(|(dimension, lower, extent)| {
            DimensionRange { dimension: DimensionHandle(dimension), lower, upper: lower + extent }
        });
        let ranges = proptest::collection::vec(range, 0..3);
        let region = ranges.prop_map(|ranges| Region { handle: RegionHandle(7), ranges: ranges.into() });
        proptest::collection::vec(region, 0..3).prop_map(RegionSet::from_iter)
    }

    fn payload(values: &[HandleValue], tag: &Bytes, stamp: Option<Stamp>) -> Payload {
        Payload {
            tag: tag.clone(),
            transportation: TransportationTypeHandle::BEST_EFFORT,
            producer: FederateHandle(9),
            stamp,
            regions: RegionSet::default(),
            values: values.into(),
        }
    }

    fn expected_map(values: &[HandleValue], mask: u8) -> api::AttributeHandleValueMap {
        let picked = values.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
        let attribute_handle_value = picked
            .map(|(_, v)| api::AttributeHandleValue {
                attribute_handle: Some(AttributeHandle(v.handle)),
                value: v.value.clone(),
            })
            .collect();
        api::AttributeHandleValueMap { attribute_handle_value }
    }

    proptest! {
        #[test]
        fn reflects_are_what_the_message_types_say(
            values in arbitrary_values(),
            mask: u8,
            tag in proptest::collection::vec(any::<u8>(), 0..300),
            instance in 1..1_u64 << 48,
            stamp in proptest::option::of(stamp()),
            received in order(),
            regions in proptest::option::of(regions()),
        ) {
            let tag = Bytes::from(tag);
            let payload = payload(&values, &tag, stamp);
            let instance = ObjectInstanceHandle(instance);
            let conveyed = regions.map(|regions| regions.to_api());
            let how = (received, conveyed.as_ref());
            let body = reflect(instance, &payload, how, |at| mask >> at & 1 == 1);
            let map = Some(expected_map(&values, mask));
            let expected = match stamp {
                None => Callback::ReflectAttributeValues(api::ReflectAttributeValues {
                    object_instance: Some(instance),
                    attribute_values: map,
                    user_supplied_tag: tag,
                    transportation_type: Some(TransportationTypeHandle::BEST_EFFORT),
                    producing_federate: Some(FederateHandle(9)),
                    optional_sent_regions: conveyed.clone(),
                }),
                Some(stamp) => Callback::ReflectAttributeValuesWithTime(api::ReflectAttributeValuesWithTime {
                    object_instance: Some(instance),
                    attribute_values: map,
                    user_supplied_tag: tag,
                    transportation_type: Some(TransportationTypeHandle::BEST_EFFORT),
                    producing_federate: Some(FederateHandle(9)),
                    optional_sent_regions: conveyed.clone(),
                    time: Some(stamp.to_api()),
                    sent_order_type: stamp.sent.into(),
                    received_order_type: received.into(),
                    optional_retraction: stamp.retraction_to_api(),
                }),
            };
            let expected = api::CallbackRequest { callback_request: Some(expected) };
            prop_assert_eq!(&body[..], &expected.encode_to_vec()[..]);
        }

        #[test]
        fn directed_interactions_are_what_the_message_types_say(values in arbitrary_values(), tag: Vec<u8>) {
            let tag = Bytes::from(tag);
            let (class, instance) = (InteractionClassHandle(3), ObjectInstanceHandle(4));
            let body =
                receive_directed(class, instance, &payload(&values, &tag, None), OrderType::Receive, |_| true);
            let parameter_handle_value = values
                .iter()
                .map(|v| api::ParameterHandleValue {
                    parameter_handle: Some(ParameterHandle(v.handle)),
                    value: v.value.clone(),
                })
                .collect();
            let expected = Callback::ReceiveDirectedInteraction(api::ReceiveDirectedInteraction {
                interaction_class: Some(class),
                object_instance: Some(instance),
                parameter_values: Some(api::ParameterHandleValueMap { parameter_handle_value }),
                user_supplied_tag: tag,
                transportation_type: Some(TransportationTypeHandle::BEST_EFFORT),
                producing_federate: Some(FederateHandle(9)),
            });
            let expected = api::CallbackRequest { callback_request: Some(expected) };
            prop_assert_eq!(&body[..], &expected.encode_to_vec()[..]);
        }
    }
}
