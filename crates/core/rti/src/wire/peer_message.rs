//! Messages from one node to one other (unicast).

use super::event::{attributes, put_attributes, put_regions, regions};
use super::packet::{class, put_class};
use super::{HandleValue, OwnershipRequest, Reader, Record, RegionSet, Values, Watermark, Writer};
use crate::control::management::federate_of;
use crate::control::{ExecutionId, NodeId, PublishedClass};
use bytes::{BufMut, Bytes, BytesMut};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use router::WireError;

/// A subscription of one attribute by a federate of another node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SubscribedAttribute {
    pub(crate) attribute: AttributeHandle,
    pub(crate) active: bool,
    /// The update rate designator; empty for none.
    pub(crate) rate: String,
    /// Values whose regions overlap none of these are not wanted. The default region: all are.
    pub(crate) regions: RegionSet,
}

/// The subscription of one federate at one class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Declaration {
    /// All its attributes there; empty: it no longer subscribes the class.
    Objects { federate: FederateHandle, class: ObjectClassHandle, attributes: Vec<SubscribedAttribute> },
    Interactions {
        federate: FederateHandle,
        class: InteractionClassHandle,
        /// Whether it subscribes actively; `None`: it no longer subscribes.
        active: Option<bool>,
        /// Interactions whose regions overlap none of these are not wanted. The default region: all are.
        regions: RegionSet,
    },
}

impl Declaration {
    pub(crate) fn federate(&self) -> FederateHandle {
        match self {
            Declaration::Objects { federate, .. } | Declaration::Interactions { federate, .. } => *federate,
        }
    }
}

/// One message to one other node, about one federation execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PeerMessage {
    /// About the stream of this class: the sender's or the receiver's, depending on the message.
    Stream(PublishedClass, StreamMessage),
    /// About federates and object instances.
    Objects(ObjectMessage),
    /// About logical time, in the encoding of time management.
    Time(Bytes),
}

/// Messages by which streams are followed, repaired and left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StreamMessage {
    /// Follow a stream of the receiver: from its beginning (with `fresh`, if all of it is still
    /// kept) or from now on. `declarations` are all declarations of the sender's federates that
    /// concern the class.
    Attach { fresh: bool, declarations: Vec<Declaration> },
    /// Unsubscribe. Acknowledged with [`StreamMessage::Detached`], so that a stale reply cannot be
    /// mistaken for the reply to a later Attach.
    Detach,
    /// The sender no longer counts the receiver among its followers. It filtered the stream for it until
    /// [switchover](StreamMessage::Switchover) `until`; 0: it did not.
    Detached { until: u64 },
    /// A part of a snapshot: the instances after the previous part, up to `until` (`None`: to the
    /// last one), as of message `at`. With `replay` there are none: they come with the messages
    /// after `at`, where the stream began. `for_all` is the last message until then that all followers
    /// get, whatever they want.
    SnapshotPart {
        at: u64,
        for_all: u64,
        until: Option<ObjectInstanceHandle>,
        records: Vec<Record>,
        replay: bool,
    },
    /// Requests the part of the snapshot that begins after this instance.
    SnapshotNext { after: ObjectInstanceHandle },
    /// The sender does not publish the class.
    Refused,
    /// Requests these messages, which the sender misses.
    RepairRequest { from: u64, to: u64 },
    /// Messages from number `first` on.
    Repair { first: u64, messages: Vec<Bytes> },
    /// The requested messages are no longer kept.
    Unavailable,
    /// Number of the last message of the stream. Those after `relevant` hold nothing for the
    /// receiver.
    HighWater { relevant: u64, last: u64 },
    /// From the switchover with this number on, messages come by the topic of the receiver's node, without
    /// those that hold nothing for it, or (`filtered` is false) by the topic of the class. The switchover
    /// happens once the receiver is ready.
    Switchover { number: u64, filtered: bool },
    /// The sender is ready for the switchover with this number: it knows which messages come twice. Again
    /// once it takes none of these any longer.
    Ready { number: u64 },
    /// The stream was switched over: messages after this number come by the topic of the receiver's node.
    Filtered { after: u64 },
    /// All that messages `first` to `last` hold for the receiver, as in a packet for one node.
    FilteredRepair { first: u64, last: u64, messages: Bytes },
}

/// Requests and reports about federates and object instances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ObjectMessage {
    /// The current declaration of one of the sender's federates.
    Declare(Declaration),
    /// A federate of the sender requests values of an instance from owners at the receiver (6.21).
    Provide {
        requester: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        tag: Bytes,
    },
    /// The same for all instances of a class and below.
    ProvideClass {
        requester: FederateHandle,
        class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
        tag: Bytes,
        /// The regions of attributes that are requested only where they overlap (9.13).
        regions: Vec<(AttributeHandle, RegionSet)>,
    },
    /// Asks for the transportation of this class's interactions sent by `federate`, of the receiver
    /// (6.32).
    QueryTransportation { asker: FederateHandle, federate: FederateHandle, class: InteractionClassHandle },
    /// The answer (6.33).
    ReportTransportation {
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
        transportation: TransportationTypeHandle,
    },
    /// Instances whose home has died; the receiver is their new home. The sender had delivered the
    /// stream of the dead home up to `delivered`.
    Adopt { class: ObjectClassHandle, gone: NodeId, delivered: u64, records: Vec<Record> },
    /// The sender has reported all instances whose home was the dead node `gone`.
    Adopted { gone: NodeId },
    /// Instances that their home, which has died, had deleted.
    Removed { instances: Vec<ObjectInstanceHandle> },
    /// A federate of the sender requests something about attributes of an instance whose home is
    /// the receiver (clause 7).
    Own(Box<OwnershipRequest>),
    /// A federate of the sender has changed the update regions of attributes that it owns, of an
    /// instance whose home is the receiver (9.3, 9.6, 9.7).
    Regions {
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        regions: Vec<(AttributeHandle, RegionSet)>,
    },
    /// Values of the HLAfederate instance for a federate of the sender (clause 11): the answer to
    /// a request of a federate of the receiver, or an update for all of them.
    Managed { requester: Option<FederateHandle>, federate: FederateHandle, values: Values },
    /// A federate of the sender has sent an interaction to the RTI that concerns a federate of the
    /// receiver.
    Ask { target: FederateHandle, asked: Asked },
    /// An interaction of the RTI, for subscribers at the receiver.
    Report { class: InteractionClassHandle, values: Values },
}

/// An interaction that a federate has sent to the RTI (clause 11).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub(crate) sender: FederateHandle,
    pub(crate) class: InteractionClassHandle,
    pub(crate) values: Values,
}

impl PeerMessage {
    /// Whether it is a request that the federate may repeat. It is then not worth keeping for a
    /// node that accepts nothing.
    pub(crate) fn is_request(&self) -> bool {
        matches!(
            self,
            PeerMessage::Objects(
                ObjectMessage::Provide { .. }
                    | ObjectMessage::ProvideClass { .. }
                    | ObjectMessage::QueryTransportation { .. }
            )
        )
    }

    /// Whether another node waits for it, and its order among messages about streams does not
    /// matter.
    pub(crate) fn is_urgent(&self) -> bool {
        let is_waited_for = matches!(
            self,
            PeerMessage::Objects(ObjectMessage::ReportTransportation { .. } | ObjectMessage::Own(_))
        );
        self.is_request() || is_waited_for || matches!(self, PeerMessage::Time(_))
    }

    /// The latest federate it mentions.
    pub(crate) fn latest_federate(&self) -> FederateHandle {
        let of_records = |records: &[Record]| records.iter().map(Record::latest_federate).max();
        let latest = match self {
            PeerMessage::Stream(_, StreamMessage::Attach { declarations, .. }) => {
                declarations.iter().map(Declaration::federate).max()
            }
            PeerMessage::Stream(_, StreamMessage::SnapshotPart { records, .. }) => of_records(records),
            PeerMessage::Stream(_, _) | PeerMessage::Time(_) => None,
            PeerMessage::Objects(message) => match message {
                ObjectMessage::Declare(declaration) => Some(declaration.federate()),
                // The receiver must know the federate that an HLAfederate instance stands for.
                ObjectMessage::Provide { requester, instance, .. } => {
                    Some(federate_of(*instance).map_or(*requester, |federate| federate.max(*requester)))
                }
                ObjectMessage::ProvideClass { requester, .. } => Some(*requester),
                ObjectMessage::Managed { federate, .. } => Some(*federate),
                ObjectMessage::Ask { target, asked } => Some((*target).max(asked.sender)),
                ObjectMessage::QueryTransportation { asker, federate, .. }
                | ObjectMessage::ReportTransportation { asker, federate, .. } => {
                    Some((*asker).max(*federate))
                }
                ObjectMessage::Adopt { records, .. } => of_records(records),
                ObjectMessage::Own(request) => Some(request.federate),
                ObjectMessage::Regions { federate, .. } => Some(*federate),
                ObjectMessage::Removed { .. }
                | ObjectMessage::Adopted { .. }
                | ObjectMessage::Report { .. } => None,
            },
        };
        latest.unwrap_or_default()
    }

    /// Encodes the message for a model version.
    pub(crate) fn encode(&self, execution: ExecutionId, model: u32) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        out.number(execution.0);
        Watermark { model, federate: self.latest_federate(), after: None }.write(&mut out);
        match self {
            PeerMessage::Stream(class, message) => {
                out.put_u8(message.kind());
                put_class(&mut out, *class);
                message.write(&mut out);
            }
            PeerMessage::Objects(message) => {
                out.put_u8(message.kind());
                message.write(&mut out);
            }
            PeerMessage::Time(body) => {
                out.put_u8(TIME);
                out.put_slice(body);
            }
        }
        out.freeze()
    }

    /// The execution and the watermark of an encoded message.
    pub(crate) fn peek(body: Bytes) -> Result<(ExecutionId, Watermark), WireError> {
        let mut r = Reader::new(body);
        Ok((ExecutionId(r.u32("an execution")?), Watermark::read(&mut r)?))
    }

    pub(crate) fn decode(body: Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        r.u32("an execution")?;
        Watermark::read(&mut r)?;
        let kind = r.u8("the kind of message")?;
        let message = if kind < FIRST_OF_OBJECTS {
            let class = class(&mut r)?;
            Self::Stream(class, StreamMessage::read(kind, &mut r)?)
        } else if kind == TIME {
            Self::Time(r.rest())
        } else {
            Self::Objects(ObjectMessage::read(kind, &mut r)?)
        };
        Ok(r.end(message)?)
    }
}

/// The kind of [`PeerMessage::Time`].
const TIME: u8 = 32;

/// Smaller kinds belong to [`StreamMessage`], those up to 28 to [`ObjectMessage`].
const FIRST_OF_OBJECTS: u8 = 16;

impl StreamMessage {
    const fn kind(&self) -> u8 {
        match self {
            StreamMessage::Attach { .. } => 1,
            StreamMessage::Detach => 2,
            StreamMessage::Detached { .. } => 3,
            StreamMessage::SnapshotPart { .. } => 4,
            StreamMessage::SnapshotNext { .. } => 5,
            StreamMessage::Refused => 6,
            StreamMessage::RepairRequest { .. } => 7,
            StreamMessage::Repair { .. } => 8,
            StreamMessage::Unavailable => 9,
            StreamMessage::HighWater { .. } => 10,
            StreamMessage::Switchover { .. } => 11,
            StreamMessage::Ready { .. } => 12,
            StreamMessage::Filtered { .. } => 13,
            StreamMessage::FilteredRepair { .. } => 14,
        }
    }

    fn write(&self, out: &mut BytesMut) {
        match self {
            StreamMessage::Attach { fresh, declarations } => {
                out.put_u8((*fresh).into());
                out.number(declarations.len() as u64);
                declarations.iter().for_each(|declaration| declaration.write(out));
            }
            StreamMessage::SnapshotPart { at, for_all, until, records, replay } => {
                out.put_u8((*replay).into());
                out.number(*at);
                out.number(*for_all);
                out.number(until.unwrap_or_default().0);
                put_records(out, records);
            }
            StreamMessage::SnapshotNext { after } => out.number(after.0),
            StreamMessage::RepairRequest { from, to } => {
                out.number(*from);
                out.number(*to);
            }
            StreamMessage::Repair { first, messages } => {
                out.number(*first);
                out.number(messages.len() as u64);
                messages.iter().for_each(|message| out.octets(message));
            }
            StreamMessage::HighWater { relevant, last } => {
                out.number(*relevant);
                out.number(*last);
            }
            StreamMessage::Switchover { number, filtered } => {
                out.number(*number);
                out.put_u8((*filtered).into());
            }
            StreamMessage::Ready { number }
            | StreamMessage::Filtered { after: number }
            | StreamMessage::Detached { until: number } => out.number(*number),
            StreamMessage::FilteredRepair { first, last, messages } => {
                out.number(*first);
                out.number(*last);
                out.octets(messages);
            }
            StreamMessage::Detach | StreamMessage::Refused | StreamMessage::Unavailable => {}
        }
    }

    fn read(kind: u8, r: &mut Reader) -> Result<Self, WireError> {
        Ok(match kind {
            1 => {
                let fresh = r.flag("whether from the beginning")?;
                let declarations = r.list("the number of declarations", Declaration::read)?;
                StreamMessage::Attach { fresh, declarations }
            }
            2 => StreamMessage::Detach,
            3 => StreamMessage::Detached { until: r.u64("the number of a switchover")? },
            4 => {
                let replay = r.flag("whether all comes with messages")?;
                let (at, for_all) = (r.u64("a number")?, r.u64("a number")?);
                let until = ObjectInstanceHandle(r.u64("an instance")?);
                let until = until.is_valid().then_some(until);
                let records = r.list("the number of instances", Record::read)?;
                StreamMessage::SnapshotPart { at, for_all, until, records, replay }
            }
            5 => StreamMessage::SnapshotNext { after: ObjectInstanceHandle(r.u64("an instance")?) },
            6 => StreamMessage::Refused,
            7 => StreamMessage::RepairRequest { from: r.u64("a number")?, to: r.u64("a number")? },
            8 => {
                let first = r.u64("a number")?;
                let messages = r.list("the number of messages", |r| r.octets("a message"))?;
                StreamMessage::Repair { first, messages }
            }
            9 => StreamMessage::Unavailable,
            10 => StreamMessage::HighWater { relevant: r.u64("a number")?, last: r.u64("a number")? },
            11 => {
                let number = r.u64("the number of a switchover")?;
                StreamMessage::Switchover { number, filtered: r.flag("whether messages are filtered")? }
            }
            12 => StreamMessage::Ready { number: r.u64("the number of a switchover")? },
            13 => StreamMessage::Filtered { after: r.u64("a number")? },
            14 => {
                let (first, last) = (r.u64("a number")?, r.u64("a number")?);
                StreamMessage::FilteredRepair { first, last, messages: r.octets("messages")? }
            }
            other => {
                return Err(WireError(format!("{other} is no kind of message about a stream (1 to 14)")));
            }
        })
    }
}

impl ObjectMessage {
    const fn kind(&self) -> u8 {
        match self {
            ObjectMessage::Declare(_) => FIRST_OF_OBJECTS,
            ObjectMessage::Provide { .. } => 17,
            ObjectMessage::ProvideClass { .. } => 18,
            ObjectMessage::QueryTransportation { .. } => 19,
            ObjectMessage::ReportTransportation { .. } => 20,
            ObjectMessage::Adopt { .. } => 21,
            ObjectMessage::Removed { .. } => 22,
            ObjectMessage::Own(_) => 23,
            ObjectMessage::Adopted { .. } => 24,
            ObjectMessage::Regions { .. } => 25,
            ObjectMessage::Managed { .. } => 26,
            ObjectMessage::Ask { .. } => 27,
            ObjectMessage::Report { .. } => 28,
        }
    }

    fn write(&self, out: &mut BytesMut) {
        match self {
            ObjectMessage::Declare(declaration) => declaration.write(out),
            ObjectMessage::Provide { requester, instance, attributes, tag } => {
                out.number(requester.0);
                out.number(instance.0);
                put_attributes(out, attributes);
                out.octets(tag);
            }
            ObjectMessage::Regions { federate, instance, regions } => {
                out.number(federate.0);
                out.number(instance.0);
                put_regions(out, regions);
            }
            ObjectMessage::ProvideClass { requester, class, attributes, tag, regions } => {
                out.number(requester.0);
                out.number(class.0);
                put_attributes(out, attributes);
                out.octets(tag);
                put_regions(out, regions);
            }
            ObjectMessage::QueryTransportation { asker, federate, class } => {
                [asker.0, federate.0, class.0].into_iter().for_each(|number| out.number(number));
            }
            ObjectMessage::ReportTransportation { asker, federate, class, transportation } => {
                let numbers = [asker.0, federate.0, class.0, transportation.0];
                numbers.into_iter().for_each(|number| out.number(number));
            }
            ObjectMessage::Managed { requester, federate, values } => {
                out.number(requester.unwrap_or_default().0);
                out.number(federate.0);
                put_values(out, values);
            }
            ObjectMessage::Ask { target, asked: Asked { sender, class, values } } => {
                [target.0, sender.0, class.0].into_iter().for_each(|number| out.number(number));
                put_values(out, values);
            }
            ObjectMessage::Report { class, values } => {
                out.number(class.0);
                put_values(out, values);
            }
            ObjectMessage::Own(request) => request.write(out),
            ObjectMessage::Adopted { gone } => out.number(gone.0),
            ObjectMessage::Adopt { class, gone, delivered, records } => {
                out.number(class.0);
                out.number(gone.0);
                out.number(*delivered);
                put_records(out, records);
            }
            ObjectMessage::Removed { instances } => {
                out.number(instances.len() as u64);
                instances.iter().for_each(|instance| out.number(instance.0));
            }
        }
    }

    fn read(kind: u8, r: &mut Reader) -> Result<Self, WireError> {
        Ok(match kind {
            FIRST_OF_OBJECTS => ObjectMessage::Declare(Declaration::read(r)?),
            17 => ObjectMessage::Provide {
                requester: FederateHandle(r.u32("a requester")?),
                instance: ObjectInstanceHandle(r.u64("an instance")?),
                attributes: attributes(r)?,
                tag: r.octets("a tag")?,
            },
            18 => ObjectMessage::ProvideClass {
                requester: FederateHandle(r.u32("a requester")?),
                class: ObjectClassHandle(r.u32("an object class")?),
                attributes: attributes(r)?,
                tag: r.octets("a tag")?,
                regions: regions(r)?,
            },
            19 => ObjectMessage::QueryTransportation {
                asker: FederateHandle(r.u32("an asker")?),
                federate: FederateHandle(r.u32("a federate")?),
                class: InteractionClassHandle(r.u32("an interaction class")?),
            },
            20 => ObjectMessage::ReportTransportation {
                asker: FederateHandle(r.u32("an asker")?),
                federate: FederateHandle(r.u32("a federate")?),
                class: InteractionClassHandle(r.u32("an interaction class")?),
                transportation: TransportationTypeHandle(r.u32("a transportation type")?),
            },
            21 => ObjectMessage::Adopt {
                class: ObjectClassHandle(r.u32("an object class")?),
                gone: NodeId(r.u16("a node")?),
                delivered: r.u64("a number")?,
                records: r.list("the number of instances", Record::read)?,
            },
            22 => ObjectMessage::Removed {
                instances: r
                    .list("the number of instances", |r| r.u64("an instance").map(ObjectInstanceHandle))?,
            },
            23 => ObjectMessage::Own(Box::new(OwnershipRequest::read(r)?)),
            24 => ObjectMessage::Adopted { gone: NodeId(r.u16("a node")?) },
            25 => ObjectMessage::Regions {
                federate: FederateHandle(r.u32("a federate")?),
                instance: ObjectInstanceHandle(r.u64("an instance")?),
                regions: regions(r)?,
            },
            26 => ObjectMessage::Managed {
                requester: Some(FederateHandle(r.u32("a requester")?)).filter(|to| to.is_valid()),
                federate: FederateHandle(r.u32("a federate")?),
                values: values(r)?,
            },
            27 => ObjectMessage::Ask {
                target: FederateHandle(r.u32("a federate")?),
                asked: Asked {
                    sender: FederateHandle(r.u32("a sender")?),
                    class: InteractionClassHandle(r.u32("an interaction class")?),
                    values: values(r)?,
                },
            },
            28 => ObjectMessage::Report {
                class: InteractionClassHandle(r.u32("an interaction class")?),
                values: values(r)?,
            },
            other => {
                return Err(WireError(format!("{other} is no kind of message about objects (16 to 28)")));
            }
        })
    }
}

fn put_values(out: &mut BytesMut, values: &Values) {
    out.number(values.len() as u64);
    values.iter().for_each(|value| value.write(out));
}

fn values(r: &mut Reader) -> Result<Values, WireError> {
    Ok(r.list("the number of values", HandleValue::read)?.into())
}

fn put_records(out: &mut BytesMut, records: &[Record]) {
    out.number(records.len() as u64);
    records.iter().for_each(|record| record.write(out));
}

impl Declaration {
    fn write(&self, out: &mut BytesMut) {
        match self {
            Declaration::Objects { federate, class, attributes } => {
                out.put_u8(0);
                out.number(federate.0);
                out.number(class.0);
                out.number(attributes.len() as u64);
                for subscribed in attributes {
                    out.number(subscribed.attribute.0);
                    out.put_u8(subscribed.active.into());
                    out.octets(subscribed.rate.as_bytes());
                    subscribed.regions.write(out);
                }
            }
            Declaration::Interactions { federate, class, active, regions } => {
                out.put_u8(1);
                out.number(federate.0);
                out.number(class.0);
                out.put_u8(active.map_or(2, u8::from));
                regions.write(out);
            }
        }
    }

    fn read(r: &mut Reader) -> Result<Self, WireError> {
        let is_interaction = r.flag("the kind of declaration")?;
        let federate = FederateHandle(r.u32("a federate")?);
        if is_interaction {
            let class = InteractionClassHandle(r.u32("an interaction class")?);
            let active = match r.u8("how it is subscribed")? {
                2 => None,
                how @ 0..=1 => Some(how == 1),
                other => return Err(WireError(format!("{other} is no way to subscribe (0 to 2)"))),
            };
            let regions = RegionSet::read(r)?;
            return Ok(Declaration::Interactions { federate, class, active, regions });
        }
        let class = ObjectClassHandle(r.u32("an object class")?);
        let attributes = r.list("the number of attributes", |r| {
            Ok::<_, WireError>(SubscribedAttribute {
                attribute: AttributeHandle(r.u32("an attribute")?),
                active: r.flag("how it is subscribed")?,
                rate: r.text("an update rate designator")?,
                regions: RegionSet::read(r)?,
            })
        })?;
        Ok(Declaration::Objects { federate, class, attributes })
    }
}
