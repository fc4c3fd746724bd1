//! What is said in streams.

use super::{Reader, Writer};
use crate::object::encode::{Envelope, HandleValue};
use bytes::{BufMut, Bytes, BytesMut};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use router::WireError;

/// What a receiver must know of the control plane before it can take what follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Head {
    /// Extensions of the object model.
    pub(crate) model: u32,
    /// The latest federate that is mentioned; invalid for none.
    pub(crate) federate: FederateHandle,
}

impl Head {
    pub(crate) fn write(self, out: &mut impl Writer) {
        out.number(self.model);
        out.number(self.federate.0);
    }

    pub(crate) fn read(r: &mut Reader) -> Result<Self, WireError> {
        Ok(Self { model: r.u32("the model version")?, federate: FederateHandle(r.u32("a federate")?) })
    }
}

/// Values with what comes along.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) producer: FederateHandle,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) tag: Bytes,
    pub(crate) time: Option<[u8; 8]>,
    pub(crate) values: Vec<HandleValue>,
}

/// An attribute of an instance, as others need to know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordedAttribute {
    pub(crate) owner: FederateHandle,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) time_stamped: bool,
}

/// An instance, as others need to know it; its class is the stream's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) instance: ObjectInstanceHandle,
    pub(crate) producer: FederateHandle,
    pub(crate) name: String,
    /// By slot of the class, all that the class has at the sender's model version.
    pub(crate) attributes: Vec<RecordedAttribute>,
}

/// One thing said in a stream.
#[derive(Clone, Debug)]
pub(crate) enum Saying {
    /// An instance came into being here, or found its new home here.
    Registered(Record),
    Removed {
        instance: ObjectInstanceHandle,
        producer: FederateHandle,
        tag: Bytes,
        time: Option<[u8; 8]>,
    },
    /// Attributes lost their owner.
    Disowned {
        instance: ObjectInstanceHandle,
        owner: FederateHandle,
        attributes: Vec<AttributeHandle>,
    },
    Transported {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        transportation: TransportationTypeHandle,
    },
    Ordered {
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        time_stamped: bool,
    },
    Updated {
        instance: ObjectInstanceHandle,
        load: Load,
    },
    /// An interaction; its class is the stream's.
    Sent(Load),
    Directed {
        interaction: InteractionClassHandle,
        instance: ObjectInstanceHandle,
        /// The sender is the home of the instance: the stream of this class comes first up to this number.
        after: Option<(ObjectClassHandle, u64)>,
        load: Load,
    },
    /// The sender says nothing more about the topic, until it says that it publishes it again.
    Ended,
}

const REGISTERED: u8 = 1;
const REMOVED: u8 = 2;
const DISOWNED: u8 = 3;
const TRANSPORTED: u8 = 4;
const ORDERED: u8 = 5;
const UPDATED: u8 = 6;
const SENT: u8 = 7;
const DIRECTED: u8 = 8;
const ENDED: u8 = 9;

/// A saying with its head, as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Spoken {
    pub(crate) head: Head,
    pub(crate) saying: Saying,
}

impl Spoken {
    /// Encodes everything but messages with values, for which there is [`Spoken::of_load`].
    pub(crate) fn encode(head: Head, saying: &Saying) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        head.write(&mut out);
        match saying {
            Saying::Registered(record) => {
                out.put_u8(REGISTERED);
                record.write(&mut out);
            }
            Saying::Removed { instance, producer, tag, time } => {
                out.put_u8(REMOVED);
                out.number(instance.0);
                out.number(producer.0);
                out.octets(tag);
                put_time(&mut out, *time);
            }
            Saying::Disowned { instance, owner, attributes } => {
                out.put_u8(DISOWNED);
                out.number(instance.0);
                out.number(owner.0);
                put_attributes(&mut out, attributes);
            }
            Saying::Transported { instance, attributes, transportation } => {
                out.put_u8(TRANSPORTED);
                out.number(instance.0);
                put_attributes(&mut out, attributes);
                out.number(transportation.0);
            }
            Saying::Ordered { instance, attributes, time_stamped } => {
                out.put_u8(ORDERED);
                out.number(instance.0);
                put_attributes(&mut out, attributes);
                out.put_u8((*time_stamped).into());
            }
            Saying::Updated { instance, load } => {
                return Self::of_load(head, Subject::Update(*instance), &load.values, &load.envelope());
            }
            Saying::Sent(load) => {
                return Self::of_load(head, Subject::Interaction, &load.values, &load.envelope());
            }
            Saying::Directed { interaction, instance, after, load } => {
                let subject = Subject::Directed(*interaction, *instance, *after);
                return Self::of_load(head, subject, &load.values, &load.envelope());
            }
            Saying::Ended => out.put_u8(ENDED),
        }
        out.freeze()
    }

    /// Encodes a message with values, once for all receivers.
    pub(crate) fn of_load(
        head: Head,
        subject: Subject,
        values: &[HandleValue],
        envelope: &Envelope<'_>,
    ) -> Bytes {
        let mut out = Vec::new();
        Self::write_load(&mut out, head, subject, values, envelope);
        out.into()
    }

    /// Writes what [`Spoken::of_load`] encodes.
    pub(crate) fn write_load(
        out: &mut Vec<u8>,
        head: Head,
        subject: Subject,
        values: &[HandleValue],
        envelope: &Envelope<'_>,
    ) {
        let lengths: usize = values.iter().map(|value| value.value.len() + 10).sum();
        out.reserve_exact(64 + envelope.tag.len() + lengths);
        head.write(out);
        match subject {
            Subject::Update(instance) => {
                out.octet(UPDATED);
                out.number(instance.0);
            }
            Subject::Interaction => out.octet(SENT),
            Subject::Directed(interaction, instance, after) => {
                out.octet(DIRECTED);
                out.number(interaction.0);
                out.number(instance.0);
                let (class, number) = after.unwrap_or_default();
                out.number(class.0);
                out.number(number);
            }
        }
        out.number(envelope.producer.0);
        out.number(envelope.transportation.0);
        out.octets(envelope.tag);
        put_time(out, envelope.time);
        out.number(values.len() as u64);
        for value in values {
            out.number(value.handle);
            out.octets(&value.value);
        }
    }

    pub(crate) fn decode(body: Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let head = Head::read(&mut r)?;
        let saying = match r.u8("the kind of event")? {
            REGISTERED => Saying::Registered(Record::read(&mut r)?),
            REMOVED => Saying::Removed {
                instance: instance(&mut r)?,
                producer: FederateHandle(r.u32("a producer")?),
                tag: r.octets("a tag")?,
                time: time(&mut r)?,
            },
            DISOWNED => Saying::Disowned {
                instance: instance(&mut r)?,
                owner: FederateHandle(r.u32("an owner")?),
                attributes: attributes(&mut r)?,
            },
            TRANSPORTED => Saying::Transported {
                instance: instance(&mut r)?,
                attributes: attributes(&mut r)?,
                transportation: TransportationTypeHandle(r.u32("a transportation type")?),
            },
            ORDERED => Saying::Ordered {
                instance: instance(&mut r)?,
                attributes: attributes(&mut r)?,
                time_stamped: r.flag("the order type")?,
            },
            UPDATED => Saying::Updated { instance: instance(&mut r)?, load: Load::read(&mut r)? },
            SENT => Saying::Sent(Load::read(&mut r)?),
            DIRECTED => {
                let interaction = InteractionClassHandle(r.u32("an interaction class")?);
                let instance = instance(&mut r)?;
                let class = ObjectClassHandle(r.u32("an object class")?);
                let number = r.u64("a number")?;
                let after = class.is_valid().then_some((class, number));
                Saying::Directed { interaction, instance, after, load: Load::read(&mut r)? }
            }
            ENDED => Saying::Ended,
            other => return Err(WireError(format!("{other} is no kind of event (1 to 9)"))),
        };
        r.end(Self { head, saying })
    }
}

/// What values are about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Update(ObjectInstanceHandle),
    Interaction,
    /// Interaction class, instance, and what comes before: see [`Saying::Directed`].
    Directed(InteractionClassHandle, ObjectInstanceHandle, Option<(ObjectClassHandle, u64)>),
}

impl Load {
    pub(crate) fn envelope(&self) -> Envelope<'_> {
        Envelope {
            tag: &self.tag,
            transportation: self.transportation,
            producer: self.producer,
            time: self.time,
        }
    }

    fn read(r: &mut Reader) -> Result<Self, WireError> {
        let producer = FederateHandle(r.u32("a producer")?);
        let transportation = TransportationTypeHandle(r.u32("a transportation type")?);
        let tag = r.octets("a tag")?;
        let time = time(r)?;
        let count = r.count("the number of values")?;
        let mut values = Vec::with_capacity(count.min(256));
        for _ in 0..count {
            values.push(HandleValue { handle: r.u32("a handle")?, value: r.octets("a value")? });
        }
        Ok(Self { producer, transportation, tag, time, values })
    }
}

impl Record {
    pub(crate) fn write(&self, out: &mut BytesMut) {
        out.number(self.instance.0);
        out.number(self.producer.0);
        out.octets(self.name.as_bytes());
        out.number(self.attributes.len() as u64);
        for attribute in &self.attributes {
            out.number(attribute.owner.0);
            out.number(u64::from(attribute.transportation.0) << 1 | u64::from(attribute.time_stamped));
        }
    }

    pub(crate) fn read(r: &mut Reader) -> Result<Self, WireError> {
        let instance = instance(r)?;
        let producer = FederateHandle(r.u32("a producer")?);
        let name = r.text("a name")?;
        let count = r.count("the number of attributes")?;
        let mut attributes = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            let owner = FederateHandle(r.u32("an owner")?);
            let how = r.u64("transportation and order")?;
            let transportation = u32::try_from(how >> 1)
                .map_err(|_| WireError("a transportation type has 32 bits".to_owned()))?;
            attributes.push(RecordedAttribute {
                owner,
                transportation: TransportationTypeHandle(transportation),
                time_stamped: how & 1 == 1,
            });
        }
        Ok(Self { instance, producer, name, attributes })
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
    let count = r.count("the number of attributes")?;
    let mut attributes = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        attributes.push(AttributeHandle(r.u32("an attribute")?));
    }
    Ok(attributes)
}

pub(super) fn put_attributes(out: &mut BytesMut, attributes: &[AttributeHandle]) {
    out.number(attributes.len() as u64);
    for attribute in attributes {
        out.number(attribute.0);
    }
}

fn put_time(out: &mut impl Writer, time: Option<[u8; 8]>) {
    match time {
        None => out.octet(0),
        Some(octets) => {
            out.octet(1);
            out.slice(&octets);
        }
    }
}

fn time(r: &mut Reader) -> Result<Option<[u8; 8]>, WireError> {
    if !r.flag("whether there is a time")? {
        return Ok(None);
    }
    let mut octets = [0; 8];
    for octet in &mut octets {
        *octet = r.u8("a time")?;
    }
    Ok(Some(octets))
}
