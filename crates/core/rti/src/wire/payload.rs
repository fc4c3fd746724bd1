//! Values of one message, with all data that travels with them.

use super::{Reader, RegionSet, Writer};
use crate::stamp::Stamp;
use bytes::Bytes;
use hla::api::OrderType;
use hla::handle::{FederateHandle, MessageRetractionHandle, TransportationTypeHandle};
use router::WireError;
use smallvec::SmallVec;

/// A handle (of an attribute or a parameter) and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HandleValue {
    pub(crate) handle: u32,
    pub(crate) value: Bytes,
}

impl HandleValue {
    pub(super) fn write(&self, out: &mut impl Writer) {
        out.number(self.handle);
        out.octets(&self.value);
    }

    pub(super) fn read(r: &mut Reader) -> Result<Self, WireError> {
        Ok(Self { handle: r.u32("a handle")?, value: r.octets("a value")? })
    }
}

/// Most updates carry one attribute, which needs no allocation. Room for a second one would add 40
/// octets to every move of a message.
pub(crate) type Values = SmallVec<[HandleValue; 1]>;

/// One passel of an update (6.10), or one interaction: everything except the instance or class.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Payload {
    pub(crate) producer: FederateHandle,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) tag: Bytes,
    /// The time given by the sender, with the sent order.
    pub(crate) stamp: Option<Stamp>,
    /// The regions with which it was sent, as of sending.
    pub(crate) regions: RegionSet,
    pub(crate) values: Values,
}

/// Bits of the octet that tells which optional parts of a payload follow.
const STAMPED: u8 = 1;
const REGIONS: u8 = 2;

impl Payload {
    /// Whether it is sent in time-stamp order.
    pub(crate) fn is_in_time(&self) -> bool {
        self.stamp.is_some_and(Stamp::is_in_time)
    }

    /// Maximum octets that [`Payload::write`] needs, so that a buffer grows only once.
    pub(crate) fn wire_bytes_max(&self) -> usize {
        let values: usize = self.values.iter().map(|value| value.value.len() + 10).sum();
        let regions = if self.regions.is_empty() { 0 } else { self.regions.wire_bytes_max() };
        48 + self.tag.len() + regions + values
    }

    pub(crate) fn write(&self, out: &mut impl Writer) {
        out.number(self.producer.0);
        out.number(self.transportation.0);
        out.octets(&self.tag);
        let stamped = if self.stamp.is_some() { STAMPED } else { 0 };
        out.octet(stamped | if self.regions.is_empty() { 0 } else { REGIONS });
        if let Some(stamp) = &self.stamp {
            stamp.write(out);
        }
        if !self.regions.is_empty() {
            self.regions.write(out);
        }
        out.number(self.values.len() as u64);
        self.values.iter().for_each(|value| value.write(out));
    }

    pub(crate) fn read(r: &mut Reader) -> Result<Box<Self>, WireError> {
        let producer = FederateHandle(r.u32("a producer")?);
        let transportation = TransportationTypeHandle(r.u32("a transportation type")?);
        let tag = r.octets("a tag")?;
        let parts = r.u8("the optional parts of a payload")?;
        if parts & !(STAMPED | REGIONS) != 0 {
            return Err(WireError(format!("{parts:#x} names unknown parts of a payload")));
        }
        let stamp = if parts & STAMPED == 0 { None } else { Some(Stamp::read_wire(r)?) };
        let regions = if parts & REGIONS == 0 { RegionSet::default() } else { RegionSet::read(r)? };
        let mut payload =
            Box::new(Self { producer, transportation, tag, stamp, regions, values: Values::new() });
        for _ in 0..r.count("the number of values", 1)? {
            payload.values.push(HandleValue::read(r)?);
        }
        Ok(payload)
    }
}

impl Stamp {
    pub(super) fn write(&self, out: &mut impl Writer) {
        out.slice(&self.time);
        out.octet(u8::from(self.sent == OrderType::Timestamp));
        out.number(self.retraction.0);
    }

    pub(super) fn read_wire(r: &mut Reader) -> Result<Self, WireError> {
        let time: [u8; hla::time::ENCODED_LEN] = r.array("a time")?;
        let sent = match r.flag("the sent order")? {
            true => OrderType::Timestamp,
            false => OrderType::Receive,
        };
        Ok(Self { time, sent, retraction: MessageRetractionHandle(r.u64("a retraction handle")?) })
    }
}
