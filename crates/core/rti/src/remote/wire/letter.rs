//! What one node says to one other, in letters.

use super::event::{attributes, put_attributes};
use super::{Head, NetTopic, Reader, Record, Writer};
use crate::control::ExecutionId;
use bytes::{BufMut, Bytes, BytesMut};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use router::WireError;

/// A subscription of one attribute by a federate elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SubscribedAttribute {
    pub(crate) attribute: AttributeHandle,
    pub(crate) active: bool,
    /// The update rate designator; empty for none.
    pub(crate) rate: String,
}

/// What a federate subscribes at one class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Declaration {
    /// All its attributes there; none: it subscribes the class no more.
    Objects { federate: FederateHandle, class: ObjectClassHandle, attributes: Vec<SubscribedAttribute> },
    /// Whether actively; `None`: no more.
    Interactions { federate: FederateHandle, class: InteractionClassHandle, active: Option<bool> },
}

impl Declaration {
    pub(crate) fn federate(&self) -> FederateHandle {
        match self {
            Declaration::Objects { federate, .. } | Declaration::Interactions { federate, .. } => *federate,
        }
    }
}

/// One letter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Letter {
    /// Let me follow your stream, from its beginning (`fresh`, if you still have all of it) or from now. These are
    /// all declarations of my federates that concern the topic.
    Attach { topic: NetTopic, fresh: bool, declarations: Vec<Declaration> },
    /// I follow no more. Answered, so that no answer to something earlier is taken for one to something later.
    Detach { topic: NetTopic },
    /// You follow no more.
    Left { topic: NetTopic },
    /// A declaration of one of my federates is this now.
    Declare { execution: ExecutionId, declaration: Declaration },
    /// Instances after the part before up to `until` (`None`: to the last), as they are after number `at`. With `replay`
    /// there are none: they come with the messages after `at`, where the stream began.
    Part { topic: NetTopic, at: u64, until: Option<ObjectInstanceHandle>, records: Vec<Record>, replay: bool },
    /// The next part, of what comes after this instance.
    More { topic: NetTopic, after: ObjectInstanceHandle },
    /// Nothing is published here about the topic.
    Refused { topic: NetTopic },
    /// I miss these numbers.
    Ask { topic: NetTopic, from: u64, to: u64 },
    /// Messages from number `first` on.
    Repair { topic: NetTopic, first: u64, messages: Vec<Bytes> },
    /// What was asked for is kept no more.
    Gone { topic: NetTopic },
    /// The last number that was said about the topic.
    Tail { topic: NetTopic, last: u64 },
    /// A federate of mine wants values of an instance whose home you are.
    Provide {
        execution: ExecutionId,
        requester: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        tag: Bytes,
    },
    /// The same of all instances of a class and below whose home you are.
    ProvideClass {
        execution: ExecutionId,
        requester: FederateHandle,
        class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
        tag: Bytes,
    },
    /// How does your federate send interactions of this class? `asker` wants to know.
    Query {
        execution: ExecutionId,
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
    },
    /// The answer.
    Report {
        execution: ExecutionId,
        asker: FederateHandle,
        federate: FederateHandle,
        class: InteractionClassHandle,
        transportation: TransportationTypeHandle,
    },
    /// Instances whose home is gone; you are to be their home.
    Adopt { execution: ExecutionId, class: ObjectClassHandle, records: Vec<Record> },
    /// Instances that their home, which is gone, has said to be deleted.
    Removed { execution: ExecutionId, instances: Vec<ObjectInstanceHandle> },
}

impl Letter {
    /// The federation execution it is about.
    pub(crate) fn execution(&self) -> ExecutionId {
        match self {
            Letter::Attach { topic, .. }
            | Letter::Detach { topic }
            | Letter::Left { topic }
            | Letter::Part { topic, .. }
            | Letter::More { topic, .. }
            | Letter::Refused { topic }
            | Letter::Ask { topic, .. }
            | Letter::Repair { topic, .. }
            | Letter::Gone { topic }
            | Letter::Tail { topic, .. } => topic.execution(),
            Letter::Declare { execution, .. }
            | Letter::Provide { execution, .. }
            | Letter::ProvideClass { execution, .. }
            | Letter::Query { execution, .. }
            | Letter::Report { execution, .. }
            | Letter::Adopt { execution, .. }
            | Letter::Removed { execution, .. } => *execution,
        }
    }

    /// Whether it asks for something that a federate may ask for again: it is not worth keeping for a node that takes
    /// nothing.
    pub(crate) fn is_request(&self) -> bool {
        matches!(self, Letter::Provide { .. } | Letter::ProvideClass { .. } | Letter::Query { .. })
    }

    /// The latest federate it mentions.
    pub(crate) fn federate(&self) -> FederateHandle {
        let of_records = |records: &[Record]| {
            let all = records.iter().flat_map(|record| {
                record.attributes.iter().map(|attribute| attribute.owner).chain([record.producer])
            });
            all.max().unwrap_or_default()
        };
        match self {
            Letter::Attach { declarations, .. } => {
                declarations.iter().map(Declaration::federate).max().unwrap_or_default()
            }
            Letter::Declare { declaration, .. } => declaration.federate(),
            Letter::Part { records, .. } | Letter::Adopt { records, .. } => of_records(records),
            Letter::Provide { requester, .. } | Letter::ProvideClass { requester, .. } => *requester,
            Letter::Query { asker, federate, .. } | Letter::Report { asker, federate, .. } => {
                (*asker).max(*federate)
            }
            _ => FederateHandle::INVALID,
        }
    }

    /// Encodes the letter as of a model version.
    pub(crate) fn encode(&self, model: u32) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        out.number(self.execution().0);
        Head { model, federate: self.federate() }.write(&mut out);
        self.write(&mut out);
        out.freeze()
    }

    /// The execution and the head of an encoded letter.
    pub(crate) fn peek(body: Bytes) -> Result<(ExecutionId, Head), WireError> {
        let mut r = Reader::new(body);
        Ok((ExecutionId(r.u32("an execution")?), Head::read(&mut r)?))
    }

    pub(crate) fn decode(body: Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let execution = ExecutionId(r.u32("an execution")?);
        Head::read(&mut r)?;
        let letter = Self::read(execution, &mut r)?;
        r.end(letter)
    }

    fn write(&self, out: &mut BytesMut) {
        match self {
            Letter::Attach { topic, fresh, declarations } => {
                out.put_u8(1);
                topic.write_class(out);
                out.put_u8((*fresh).into());
                out.number(declarations.len() as u64);
                declarations.iter().for_each(|declaration| declaration.write(out));
            }
            Letter::Detach { topic } => of_topic(out, 2, topic),
            Letter::Left { topic } => of_topic(out, 16, topic),
            Letter::Declare { declaration, .. } => {
                out.put_u8(3);
                declaration.write(out);
            }
            Letter::Part { topic, at, until, records, replay } => {
                of_topic(out, 4, topic);
                out.put_u8((*replay).into());
                out.number(*at);
                out.number(until.unwrap_or_default().0);
                put_records(out, records);
            }
            Letter::More { topic, after } => {
                of_topic(out, 5, topic);
                out.number(after.0);
            }
            Letter::Refused { topic } => of_topic(out, 6, topic),
            Letter::Ask { topic, from, to } => {
                of_topic(out, 7, topic);
                out.number(*from);
                out.number(*to);
            }
            Letter::Repair { topic, first, messages } => {
                of_topic(out, 8, topic);
                out.number(*first);
                out.number(messages.len() as u64);
                messages.iter().for_each(|message| out.octets(message));
            }
            Letter::Gone { topic } => of_topic(out, 9, topic),
            Letter::Tail { topic, last } => {
                of_topic(out, 10, topic);
                out.number(*last);
            }
            other => other.write_request(out),
        }
    }

    fn write_request(&self, out: &mut BytesMut) {
        match self {
            Letter::Provide { requester, instance, attributes, tag, .. } => {
                out.put_u8(11);
                out.number(requester.0);
                out.number(instance.0);
                put_attributes(out, attributes);
                out.octets(tag);
            }
            Letter::ProvideClass { requester, class, attributes, tag, .. } => {
                out.put_u8(12);
                out.number(requester.0);
                out.number(class.0);
                put_attributes(out, attributes);
                out.octets(tag);
            }
            Letter::Query { asker, federate, class, .. } => {
                out.put_u8(13);
                [asker.0, federate.0, class.0].into_iter().for_each(|number| out.number(number));
            }
            Letter::Report { asker, federate, class, transportation, .. } => {
                out.put_u8(14);
                let numbers = [asker.0, federate.0, class.0, transportation.0];
                numbers.into_iter().for_each(|number| out.number(number));
            }
            Letter::Adopt { class, records, .. } => {
                out.put_u8(15);
                out.number(class.0);
                put_records(out, records);
            }
            Letter::Removed { instances, .. } => {
                out.put_u8(17);
                out.number(instances.len() as u64);
                instances.iter().for_each(|instance| out.number(instance.0));
            }
            _ => {}
        }
    }

    fn read(execution: ExecutionId, r: &mut Reader) -> Result<Self, WireError> {
        let kind = r.u8("the kind of letter")?;
        if let 1..=2 | 4..=10 | 16 = kind {
            let topic = NetTopic::read_class(execution, r)?;
            return Self::read_of_topic(kind, topic, r);
        }
        Ok(match kind {
            3 => Letter::Declare { execution, declaration: Declaration::read(r)? },
            11 => Letter::Provide {
                execution,
                requester: FederateHandle(r.u32("a requester")?),
                instance: ObjectInstanceHandle(r.u64("an instance")?),
                attributes: attributes(r)?,
                tag: r.octets("a tag")?,
            },
            12 => Letter::ProvideClass {
                execution,
                requester: FederateHandle(r.u32("a requester")?),
                class: ObjectClassHandle(r.u32("an object class")?),
                attributes: attributes(r)?,
                tag: r.octets("a tag")?,
            },
            13 => Letter::Query {
                execution,
                asker: FederateHandle(r.u32("an asker")?),
                federate: FederateHandle(r.u32("a federate")?),
                class: InteractionClassHandle(r.u32("an interaction class")?),
            },
            14 => Letter::Report {
                execution,
                asker: FederateHandle(r.u32("an asker")?),
                federate: FederateHandle(r.u32("a federate")?),
                class: InteractionClassHandle(r.u32("an interaction class")?),
                transportation: TransportationTypeHandle(r.u32("a transportation type")?),
            },
            15 => Letter::Adopt {
                execution,
                class: ObjectClassHandle(r.u32("an object class")?),
                records: records(r)?,
            },
            17 => {
                let count = r.count("the number of instances")?;
                let mut instances = Vec::with_capacity(count.min(4096));
                for _ in 0..count {
                    instances.push(ObjectInstanceHandle(r.u64("an instance")?));
                }
                Letter::Removed { execution, instances }
            }
            other => return Err(WireError(format!("{other} is no kind of letter (1 to 17)"))),
        })
    }

    fn read_of_topic(kind: u8, topic: NetTopic, r: &mut Reader) -> Result<Self, WireError> {
        Ok(match kind {
            1 => {
                let fresh = r.flag("whether from the beginning")?;
                let count = r.count("the number of declarations")?;
                let mut declarations = Vec::with_capacity(count.min(256));
                for _ in 0..count {
                    declarations.push(Declaration::read(r)?);
                }
                Letter::Attach { topic, fresh, declarations }
            }
            2 => Letter::Detach { topic },
            16 => Letter::Left { topic },
            4 => {
                let replay = r.flag("whether all comes with messages")?;
                let at = r.u64("a number")?;
                let until = ObjectInstanceHandle(r.u64("an instance")?);
                let until = until.is_valid().then_some(until);
                Letter::Part { topic, at, until, records: records(r)?, replay }
            }
            5 => Letter::More { topic, after: ObjectInstanceHandle(r.u64("an instance")?) },
            6 => Letter::Refused { topic },
            7 => Letter::Ask { topic, from: r.u64("a number")?, to: r.u64("a number")? },
            8 => {
                let first = r.u64("a number")?;
                let count = r.count("the number of messages")?;
                let mut messages = Vec::with_capacity(count.min(1024));
                for _ in 0..count {
                    messages.push(r.octets("a message")?);
                }
                Letter::Repair { topic, first, messages }
            }
            9 => Letter::Gone { topic },
            _ => Letter::Tail { topic, last: r.u64("a number")? },
        })
    }
}

fn of_topic(out: &mut BytesMut, kind: u8, topic: &NetTopic) {
    out.put_u8(kind);
    topic.write_class(out);
}

fn put_records(out: &mut BytesMut, records: &[Record]) {
    out.number(records.len() as u64);
    records.iter().for_each(|record| record.write(out));
}

fn records(r: &mut Reader) -> Result<Vec<Record>, WireError> {
    let count = r.count("the number of instances")?;
    let mut records = Vec::with_capacity(count.min(4096));
    for _ in 0..count {
        records.push(Record::read(r)?);
    }
    Ok(records)
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
                }
            }
            Declaration::Interactions { federate, class, active } => {
                out.put_u8(1);
                out.number(federate.0);
                out.number(class.0);
                out.put_u8(active.map_or(2, u8::from));
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
            return Ok(Declaration::Interactions { federate, class, active });
        }
        let class = ObjectClassHandle(r.u32("an object class")?);
        let count = r.count("the number of attributes")?;
        let mut attributes = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            attributes.push(SubscribedAttribute {
                attribute: AttributeHandle(r.u32("an attribute")?),
                active: r.flag("how it is subscribed")?,
                rate: r.text("an update rate designator")?,
            });
        }
        Ok(Declaration::Objects { federate, class, attributes })
    }
}
