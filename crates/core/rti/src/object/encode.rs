//! Callbacks that carry data, written straight to their wire form.
//!
//! Reflect and receive callbacks are the messages that a federation consists of. They are encoded
//! once for all receivers that get the same values, with one allocation of the exact size.

use bytes::Bytes;
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectInstanceHandle, TransportationTypeHandle};
use prost::encoding::{encode_varint, encoded_len_varint};

/// Field numbers of the callbacks in `CallbackRequest`; each timed form follows its untimed one.
const REFLECT_ATTRIBUTE_VALUES: u32 = 31;
const RECEIVE_INTERACTION: u32 = 33;
const RECEIVE_DIRECTED_INTERACTION: u32 = 35;
/// Field number of the time in all three timed forms.
const TIME: u32 = 7;

/// A handle (of an attribute or a parameter) and its value.
#[derive(Clone, Debug)]
pub(crate) struct HandleValue {
    pub(crate) handle: u32,
    pub(crate) value: Bytes,
}

/// What comes with the values, the same for every receiver.
pub(crate) struct Envelope<'a> {
    pub(crate) tag: &'a Bytes,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) producer: FederateHandle,
    /// The time the sender gave, encoded; the callback is then the timed form, in receive order.
    pub(crate) time: Option<[u8; 8]>,
}

/// `reflectAttributeValues` (6.11) with the values that `select` picks by position.
pub(crate) fn reflect(
    instance: ObjectInstanceHandle,
    values: &[HandleValue],
    select: impl Fn(usize) -> bool,
    envelope: &Envelope<'_>,
) -> Bytes {
    let mut lead = Lead::default();
    lead.put(long_handle(1, instance.0.to_be_bytes()));
    write(REFLECT_ATTRIBUTE_VALUES, &lead, 2, values, select, envelope)
}

/// `receiveInteraction` (6.13) at `class` with the values that `select` picks by position.
pub(crate) fn receive(
    class: InteractionClassHandle,
    values: &[HandleValue],
    select: impl Fn(usize) -> bool,
    envelope: &Envelope<'_>,
) -> Bytes {
    let mut lead = Lead::default();
    lead.put(short_handle(1, class.0));
    write(RECEIVE_INTERACTION, &lead, 2, values, select, envelope)
}

/// `receiveDirectedInteraction` (6.15).
pub(crate) fn receive_directed(
    class: InteractionClassHandle,
    instance: ObjectInstanceHandle,
    values: &[HandleValue],
    select: impl Fn(usize) -> bool,
    envelope: &Envelope<'_>,
) -> Bytes {
    let mut lead = Lead::default();
    lead.put(short_handle(1, class.0));
    lead.put(long_handle(2, instance.0.to_be_bytes()));
    write(RECEIVE_DIRECTED_INTERACTION, &lead, 3, values, select, envelope)
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

/// Octets of the fields of a handle of 4 and one of 8 octets: key, length, and the handle message with its one field.
const SHORT_HANDLE: usize = 8;
const LONG_HANDLE: usize = 12;

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

fn write(
    callback: u32,
    lead: &Lead,
    values_field: u32,
    values: &[HandleValue],
    select: impl Fn(usize) -> bool,
    envelope: &Envelope<'_>,
) -> Bytes {
    let selected = || values.iter().enumerate().filter(|(at, _)| select(*at)).map(|(_, value)| value);
    let map_len: usize = selected().map(|value| 1 + delimited_len(entry_len(value))).sum();
    let tag_len = if envelope.tag.is_empty() { 0 } else { 1 + delimited_len(envelope.tag.len()) };
    let time_len = if envelope.time.is_some() { LONG_HANDLE } else { 0 };
    let content = lead.len + 1 + delimited_len(map_len) + tag_len + 2 * SHORT_HANDLE + time_len;
    let callback_key = (callback + u32::from(envelope.time.is_some())) << 3 | 2;

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
    if !envelope.tag.is_empty() {
        put_bytes(&mut out, values_field + 1, envelope.tag);
    }
    out.extend_from_slice(&short_handle(values_field + 2, envelope.transportation.0));
    out.extend_from_slice(&short_handle(values_field + 3, envelope.producer.0));
    if let Some(time) = envelope.time {
        out.extend_from_slice(&long_handle(TIME, time));
    }
    debug_assert_eq!(out.len(), total, "the length was computed for what is written");
    out.into()
}

fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &Bytes) {
    out.push(key(field));
    put_varint(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Most are lengths of one octet.
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
    use hla::api::{self, Message, callback_request::CallbackRequest as Callback};
    use hla::handle::{AttributeHandle, ParameterHandle};
    use proptest::prelude::*;

    /// Handles above belong to other RTIs; those of callbacks are our own.
    const OWN_MAX: u32 = 0xf000_0000;

    fn arbitrary_values() -> impl Strategy<Value = Vec<HandleValue>> {
        let value = (1..OWN_MAX, proptest::collection::vec(any::<u8>(), 0..200));
        let value = value.prop_map(|(handle, bytes)| HandleValue { handle, value: bytes.into() });
        proptest::collection::vec(value, 0..8)
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
            time in proptest::option::of(any::<u64>()),
        ) {
            let tag = Bytes::from(tag);
            let envelope = Envelope {
                tag: &tag,
                transportation: TransportationTypeHandle::BEST_EFFORT,
                producer: FederateHandle(9),
                time: time.map(u64::to_be_bytes),
            };
            let instance = ObjectInstanceHandle(instance);
            let body = reflect(instance, &values, |at| mask >> at & 1 == 1, &envelope);
            let map = Some(expected_map(&values, mask));
            let expected = match time {
                None => Callback::ReflectAttributeValues(api::ReflectAttributeValues {
                    object_instance: Some(instance),
                    attribute_values: map,
                    user_supplied_tag: tag.clone(),
                    transportation_type: Some(TransportationTypeHandle::BEST_EFFORT),
                    producing_federate: Some(FederateHandle(9)),
                    optional_sent_regions: None,
                }),
                Some(time) => Callback::ReflectAttributeValuesWithTime(api::ReflectAttributeValuesWithTime {
                    object_instance: Some(instance),
                    attribute_values: map,
                    user_supplied_tag: tag.clone(),
                    transportation_type: Some(TransportationTypeHandle::BEST_EFFORT),
                    producing_federate: Some(FederateHandle(9)),
                    time: Some(api::LogicalTime { data: Bytes::copy_from_slice(&time.to_be_bytes()) }),
                    ..Default::default()
                }),
            };
            let expected = api::CallbackRequest { callback_request: Some(expected) };
            prop_assert_eq!(&body[..], &expected.encode_to_vec()[..]);
        }

        #[test]
        fn directed_interactions_are_what_the_message_types_say(values in arbitrary_values(), tag: Vec<u8>) {
            let tag = Bytes::from(tag);
            let envelope = Envelope {
                tag: &tag,
                transportation: TransportationTypeHandle::RELIABLE,
                producer: FederateHandle(1),
                time: None,
            };
            let (class, instance) = (InteractionClassHandle(3), ObjectInstanceHandle(4));
            let body = receive_directed(class, instance, &values, |_| true, &envelope);
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
                user_supplied_tag: tag.clone(),
                transportation_type: Some(TransportationTypeHandle::RELIABLE),
                producing_federate: Some(FederateHandle(1)),
            });
            let expected = api::CallbackRequest { callback_request: Some(expected) };
            prop_assert_eq!(&body[..], &expected.encode_to_vec()[..]);
        }
    }
}
