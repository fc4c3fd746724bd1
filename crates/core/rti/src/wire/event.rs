//! Events of streams: the changes that the followers of a stream receive, in order.

use super::packet::{class as class_of, put_class};
use super::{OwnershipDecision, Payload, Reader, RegionSet, Writer};
use crate::control::{NodeId, PublishedClass};
use crate::stamp::Stamp;
use bytes::Bytes;
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, MessageRetractionHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use hla::time::ENCODED_LEN;
use router::WireError;

/// A position in a stream: its messages up to this number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    /// The class of the stream.
    pub(crate) class: PublishedClass,
    /// The node that appends to it.
    pub(crate) node: NodeId,
    pub(crate) number: u64,
}

/// The state that a receiver must have reached before it may handle a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Watermark {
    /// Extensions of the object model that the control plane has applied.
    pub(crate) model: u32,
    /// The latest federate that the message mentions, which must have joined; invalid for none.
    pub(crate) federate: FederateHandle,
    /// The position up to which another stream must have been delivered, if the receiver follows
    /// it. These waits cannot form a cycle: the position was reached before the message was sent,
    /// so waits follow causal order.
    pub(crate) after: Option<Position>,
}

impl Watermark {
    pub(crate) fn write(self, out: &mut impl Writer) {
        out.number(self.model);
        out.number(self.federate.0);
    }

    pub(crate) fn read(r: &mut Reader) -> Result<Self, WireError> {
        let (model, federate) = (r.u32("the model version")?, FederateHandle(r.u32("a federate")?));
        Ok(Self { model, federate, after: None })
    }
}

/// An attribute of an instance in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordedAttribute {
    pub(crate) owner: FederateHandle,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) time_stamped: bool,
    /// It is offered to all federates that publish it (7.4).
    pub(crate) is_offered: bool,
}

/// A part of the stream of a dead node: the messages up to this number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct View {
    pub(crate) gone: NodeId,
    pub(crate) delivered: u64,
}

/// An instance, as nodes describe it to each other. Its class is the stream's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) instance: ObjectInstanceHandle,
    /// The node that registered it.
    pub(crate) registrar: NodeId,
    pub(crate) producer: FederateHandle,
    pub(crate) name: String,
    /// All attributes of the class at the sender's model version, by slot.
    pub(crate) attributes: Vec<RecordedAttribute>,
    /// The tags of offers, except empty ones.
    pub(crate) tags: Vec<(AttributeHandle, Bytes)>,
    /// Attributes with update regions.
    pub(crate) regions: Vec<(AttributeHandle, RegionSet)>,
    /// While its home is adopting it: the dead home whose stream the owners are known from.
    pub(crate) view: Option<View>,
}

/// One event of a stream.
///
/// Large parts are boxed: an event is moved some ten times on its way, and each copy of more than
/// 128 octets is a call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum StreamEvent {
    /// An instance was registered here, or found its new home here.
    Registered(Box<Record>),
    Removed {
        instance: ObjectInstanceHandle,
        producer: FederateHandle,
        tag: Bytes,
        stamp: Option<Stamp>,
    },
    /// The home of an instance has decided about the ownership of attributes.
    Ownership {
        instance: ObjectInstanceHandle,
        decision: Box<OwnershipDecision>,
    },
    /// The transportation type of attributes changed.
    Transported {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        transportation: TransportationTypeHandle,
    },
    /// The preferred order type of attributes changed.
    Ordered {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        time_stamped: bool,
    },
    /// The update regions of attributes changed (9.3, 9.6, 9.7). `is_away`: nobody at the receiver's node
    /// subscribes where they are, and the sender does not tell where they move until somebody does. That
    /// is not a part of the event on the wire, since followers differ in it.
    Regions {
        instance: ObjectInstanceHandle,
        regions: Vec<(AttributeHandle, RegionSet)>,
        is_away: bool,
    },
    Updated {
        instance: ObjectInstanceHandle,
        payload: Box<Payload>,
    },
    /// An interaction; its class is the stream's.
    Sent(Box<Payload>),
    Directed {
        interaction: InteractionClassHandle,
        instance: ObjectInstanceHandle,
        payload: Box<Payload>,
    },
    /// The sender of a message in time-stamp order has retracted it (8.22).
    Retracted {
        /// The instance that the message concerns.
        instance: Option<ObjectInstanceHandle>,
        retraction: MessageRetractionHandle,
        time: [u8; ENCODED_LEN],
    },
    /// The removal of an instance in time-stamp order can no longer be retracted.
    RemovalFinal(ObjectInstanceHandle),
    /// The node no longer publishes the class, until it announces that it does so again.
    Ended,
}

const REGISTERED: u8 = 1;
const REMOVED: u8 = 2;
const OWNERSHIP: u8 = 3;
const TRANSPORTED: u8 = 4;
const ORDERED: u8 = 5;
const UPDATED: u8 = 6;
const SENT: u8 = 7;
const DIRECTED: u8 = 8;
const ENDED: u8 = 9;
const RETRACTED: u8 = 10;
const REMOVAL_FINAL: u8 = 11;
const REGIONS: u8 = 12;
/// Set in the octet of the kind if a [`Position`] follows. Most messages have none, and need no
/// octet for it.
const AFTER: u8 = 0x80;
/// Set besides if the position is one of a stream of the same class, and below 2^32: it then has six
/// octets. Each update by an owner that has acquired its attribute has such a position. To read one
/// field of it after the other made an update 1 % slower, and ten octets did no less.
const SHORT: u8 = 0x40;

impl StreamEvent {
    /// Whether it is sent to all followers of a stream, whatever they want.
    pub(crate) fn concerns_all(&self) -> bool {
        !matches!(self, StreamEvent::Updated { .. } | StreamEvent::Sent(_) | StreamEvent::Regions { .. })
    }

    /// The instance that an event of an object class's stream concerns.
    pub(crate) fn instance(&self) -> Option<ObjectInstanceHandle> {
        match self {
            StreamEvent::Registered(record) => Some(record.instance),
            StreamEvent::Removed { instance, .. }
            | StreamEvent::Ownership { instance, .. }
            | StreamEvent::Transported { instance, .. }
            | StreamEvent::Ordered { instance, .. }
            | StreamEvent::Regions { instance, .. }
            | StreamEvent::RemovalFinal(instance)
            | StreamEvent::Updated { instance, .. } => Some(*instance),
            StreamEvent::Retracted { instance, .. } => *instance,
            StreamEvent::Sent(_) | StreamEvent::Directed { .. } | StreamEvent::Ended => None,
        }
    }

    /// The latest federate that it mentions; invalid for none.
    pub(crate) fn latest_federate(&self) -> FederateHandle {
        match self {
            StreamEvent::Registered(record) => record.latest_federate(),
            StreamEvent::Removed { producer, .. } => *producer,
            StreamEvent::Ownership { decision, .. } => decision.latest_federate(),
            StreamEvent::Updated { payload, .. }
            | StreamEvent::Sent(payload)
            | StreamEvent::Directed { payload, .. } => payload.producer,
            StreamEvent::Transported { .. }
            | StreamEvent::Ordered { .. }
            | StreamEvent::Regions { .. }
            | StreamEvent::Retracted { .. }
            | StreamEvent::RemovalFinal(_)
            | StreamEvent::Ended => FederateHandle::INVALID,
        }
    }

    /// The stamp of a message that was sent in time-stamp order.
    pub(crate) fn stamp_in_time(&self) -> Option<Stamp> {
        let stamp = match self {
            StreamEvent::Updated { payload, .. }
            | StreamEvent::Sent(payload)
            | StreamEvent::Directed { payload, .. } => payload.stamp,
            StreamEvent::Removed { stamp, .. } => *stamp,
            _ => None,
        };
        stamp.filter(|stamp| stamp.is_in_time())
    }

    /// Whether the logical time of receivers depends on it.
    pub(crate) fn is_in_time(&self) -> bool {
        matches!(self, StreamEvent::Retracted { .. }) || self.stamp_in_time().is_some()
    }

    const fn kind(&self) -> u8 {
        match self {
            StreamEvent::Registered(_) => REGISTERED,
            StreamEvent::Removed { .. } => REMOVED,
            StreamEvent::Ownership { .. } => OWNERSHIP,
            StreamEvent::Transported { .. } => TRANSPORTED,
            StreamEvent::Ordered { .. } => ORDERED,
            StreamEvent::Regions { .. } => REGIONS,
            StreamEvent::Updated { .. } => UPDATED,
            StreamEvent::Sent(_) => SENT,
            StreamEvent::Directed { .. } => DIRECTED,
            StreamEvent::Ended => ENDED,
            StreamEvent::Retracted { .. } => RETRACTED,
            StreamEvent::RemovalFinal(_) => REMOVAL_FINAL,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            StreamEvent::Registered(record) => record.write(out),
            StreamEvent::Removed { instance, producer, tag, stamp } => {
                out.number(instance.0);
                out.number(producer.0);
                out.octets(tag);
                out.octet(stamp.is_some().into());
                if let Some(stamp) = stamp {
                    stamp.write(out);
                }
            }
            StreamEvent::Ownership { instance, decision } => {
                out.number(instance.0);
                decision.write(out);
            }
            StreamEvent::Transported { instance, attributes, transportation } => {
                out.number(instance.0);
                put_attributes(out, attributes);
                out.number(transportation.0);
            }
            StreamEvent::Ordered { instance, attributes, time_stamped } => {
                out.number(instance.0);
                put_attributes(out, attributes);
                out.octet((*time_stamped).into());
            }
            StreamEvent::Regions { instance, regions, is_away: _ } => {
                out.number(instance.0);
                put_regions(out, regions);
            }
            StreamEvent::Updated { instance, payload } => {
                out.number(instance.0);
                payload.write(out);
            }
            StreamEvent::Sent(payload) => payload.write(out),
            StreamEvent::Directed { interaction, instance, payload } => {
                out.number(interaction.0);
                out.number(instance.0);
                payload.write(out);
            }
            StreamEvent::Retracted { instance, retraction, time } => {
                out.number(instance.unwrap_or_default().0);
                out.number(retraction.0);
                out.slice(time);
            }
            StreamEvent::RemovalFinal(instance) => out.number(instance.0),
            StreamEvent::Ended => {}
        }
    }

    fn read(kind: u8, r: &mut Reader) -> Result<Self, WireError> {
        Ok(match kind {
            REGISTERED => StreamEvent::Registered(Box::new(Record::read(r)?)),
            REMOVED => StreamEvent::Removed {
                instance: instance(r)?,
                producer: FederateHandle(r.u32("a producer")?),
                tag: r.octets("a tag")?,
                stamp: if r.flag("whether there is a time")? { Some(Stamp::read_wire(r)?) } else { None },
            },
            OWNERSHIP => StreamEvent::Ownership {
                instance: instance(r)?,
                decision: Box::new(OwnershipDecision::read(r)?),
            },
            TRANSPORTED => StreamEvent::Transported {
                instance: instance(r)?,
                attributes: attributes(r)?,
                transportation: TransportationTypeHandle(r.u32("a transportation type")?),
            },
            ORDERED => StreamEvent::Ordered {
                instance: instance(r)?,
                attributes: attributes(r)?,
                time_stamped: r.flag("the order type")?,
            },
            REGIONS => {
                let (instance, regions) = (instance(r)?, regions(r)?);
                StreamEvent::Regions { instance, regions, is_away: false }
            }
            UPDATED => StreamEvent::Updated { instance: instance(r)?, payload: Payload::read(r)? },
            SENT => StreamEvent::Sent(Payload::read(r)?),
            DIRECTED => StreamEvent::Directed {
                interaction: InteractionClassHandle(r.u32("an interaction class")?),
                instance: instance(r)?,
                payload: Payload::read(r)?,
            },
            ENDED => StreamEvent::Ended,
            RETRACTED => {
                let instance = ObjectInstanceHandle(r.u64("an instance")?);
                let retraction = MessageRetractionHandle(r.u64("a retraction handle")?);
                let time: [u8; ENCODED_LEN] = r.array("a time")?;
                let instance = instance.is_valid().then_some(instance);
                StreamEvent::Retracted { instance, retraction, time }
            }
            REMOVAL_FINAL => StreamEvent::RemovalFinal(instance(r)?),
            other => return Err(WireError(format!("{other} is no kind of event (1 to 12)"))),
        })
    }
}

/// An encoded event of a stream with its watermark.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Framed {
    pub(crate) watermark: Watermark,
    pub(crate) event: StreamEvent,
}

impl Framed {
    /// Writes a watermark, followed by an event of a stream of this class.
    pub(crate) fn write(out: &mut Vec<u8>, class: PublishedClass, watermark: Watermark, event: &StreamEvent) {
        if let StreamEvent::Updated { payload, .. }
        | StreamEvent::Sent(payload)
        | StreamEvent::Directed { payload, .. } = event
        {
            out.reserve_exact(payload.wire_bytes_max() + 32);
        }
        watermark.write(out);
        match watermark.after {
            None => out.octet(event.kind()),
            Some(after) => match after.short(class) {
                Some(short) => {
                    out.octet(event.kind() | AFTER | SHORT);
                    out.slice(&short);
                }
                None => {
                    out.octet(event.kind() | AFTER);
                    after.write(out);
                }
            },
        }
        event.write(out);
    }

    /// A watermark and an event of a stream of this class in a buffer of their own.
    pub(crate) fn encode(class: PublishedClass, watermark: Watermark, event: &StreamEvent) -> Bytes {
        let mut out = Vec::new();
        Self::write(&mut out, class, watermark, event);
        out.into()
    }

    /// Reads a watermark and an event of a stream of this class.
    ///
    /// # Errors
    /// Part of them is missing, or has no meaning.
    pub(crate) fn decode(class: PublishedClass, body: Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let mut watermark = Watermark::read(&mut r)?;
        let mut kind = r.u8("the kind of event")?;
        if kind & AFTER != 0 {
            watermark.after = Some(match kind & SHORT {
                0 => Position::read(&mut r)?,
                _ => Position::of_short(class, r.array("a position in a stream")?),
            });
            kind &= !(AFTER | SHORT);
        }
        let event = StreamEvent::read(kind, &mut r)?;
        Ok(r.end(Self { watermark, event })?)
    }
}

impl Position {
    fn write(self, out: &mut Vec<u8>) {
        put_class(out, self.class);
        out.number(self.node.0);
        out.number(self.number);
    }

    fn read(r: &mut Reader) -> Result<Self, WireError> {
        let class = class_of(r)?;
        let node = NodeId(r.u16("a node")?);
        Ok(Self { class, node, number: r.u64("a number")? })
    }

    /// Its form in a stream of this class, if it has a short one.
    fn short(self, class: PublishedClass) -> Option<[u8; 6]> {
        let [a, b, c, d] = u32::try_from(self.number).ok()?.to_le_bytes();
        let [n0, n1] = self.node.0.to_le_bytes();
        (self.class == class).then_some([n0, n1, a, b, c, d])
    }

    /// The position whose short form in a stream of this class was read.
    const fn of_short(class: PublishedClass, [n0, n1, a, b, c, d]: [u8; 6]) -> Self {
        let number = u32::from_le_bytes([a, b, c, d]) as u64;
        Self { class, node: NodeId(u16::from_le_bytes([n0, n1])), number }
    }
}

impl Record {
    /// The latest federate that it mentions.
    pub(crate) fn latest_federate(&self) -> FederateHandle {
        let owners = self.attributes.iter().map(|attribute| attribute.owner);
        owners.chain([self.producer]).max().unwrap_or_default()
    }

    pub(crate) fn write(&self, out: &mut impl Writer) {
        out.number(self.instance.0);
        out.number(self.registrar.0);
        out.number(self.producer.0);
        out.octets(self.name.as_bytes());
        out.number(self.attributes.len() as u64);
        for attribute in &self.attributes {
            out.number(attribute.owner.0);
            let flags = u64::from(attribute.time_stamped) | u64::from(attribute.is_offered) << 1;
            out.number(u64::from(attribute.transportation.0) << 2 | flags);
        }
        out.number(self.tags.len() as u64);
        for (attribute, tag) in &self.tags {
            out.number(attribute.0);
            out.octets(tag);
        }
        out.octet(self.view.is_some().into());
        if let Some(View { gone, delivered }) = self.view {
            out.number(gone.0);
            out.number(delivered);
        }
        put_regions(out, &self.regions);
    }

    pub(crate) fn read(r: &mut Reader) -> Result<Self, WireError> {
        let instance = instance(r)?;
        let registrar = NodeId(r.u16("the node that registered an instance")?);
        let producer = FederateHandle(r.u32("a producer")?);
        let name = r.text("a name")?;
        let attributes = r.list("the number of attributes", |r| {
            let owner = FederateHandle(r.u32("an owner")?);
            let how = r.u64("transportation, order and offer")?;
            let transportation = u32::try_from(how >> 2)
                .map_err(|_| WireError("a transportation type has 32 bits".to_owned()))?;
            let transportation = TransportationTypeHandle(transportation);
            let (time_stamped, is_offered) = (how & 1 != 0, how & 2 != 0);
            Ok::<_, WireError>(RecordedAttribute { owner, transportation, time_stamped, is_offered })
        })?;
        let tags = r.list("the number of tags", |r| {
            Ok::<_, WireError>((AttributeHandle(r.u32("an attribute")?), r.octets("a tag")?))
        })?;
        let view = match r.flag("whether it is being adopted")? {
            true => Some(View { gone: NodeId(r.u16("a node")?), delivered: r.u64("a number")? }),
            false => None,
        };
        let regions = regions(r)?;
        Ok(Self { instance, registrar, producer, name, attributes, tags, view, regions })
    }
}

fn instance(r: &mut Reader) -> Result<ObjectInstanceHandle, WireError> {
    let handle = ObjectInstanceHandle(r.u64("an instance")?);
    if !handle.is_valid() {
        return Err(WireError("0 is no object instance".to_owned()));
    }
    Ok(handle)
}

pub(super) fn attributes(r: &mut Reader) -> Result<Vec<AttributeHandle>, WireError> {
    r.list("the number of attributes", |r| Ok(AttributeHandle(r.u32("an attribute")?)))
}

pub(super) fn put_attributes(out: &mut impl Writer, attributes: &[AttributeHandle]) {
    out.number(attributes.len() as u64);
    for attribute in attributes {
        out.number(attribute.0);
    }
}

/// Attributes with their regions. Attributes with the same regions follow each other.
pub(super) fn regions(r: &mut Reader) -> Result<Vec<(AttributeHandle, RegionSet)>, WireError> {
    let mut all = Vec::new();
    for _ in 0..r.count("the number of sets of regions", 1)? {
        let set = RegionSet::read(r)?;
        all.extend(attributes(r)?.into_iter().map(|attribute| (attribute, set.clone())));
    }
    Ok(all)
}

pub(super) fn put_regions(out: &mut impl Writer, regions: &[(AttributeHandle, RegionSet)]) {
    let sets = || regions.chunk_by(|(_, one), (_, next)| one == next);
    out.number(sets().count() as u64);
    for attributes in sets() {
        if let Some((_, set)) = attributes.first() {
            set.write(out);
        }
        out.number(attributes.len() as u64);
        attributes.iter().for_each(|(attribute, _)| out.number(attribute.0));
    }
}
