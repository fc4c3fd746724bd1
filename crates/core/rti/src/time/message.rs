//! Messages between the nodes with federates in logical time and the node that merges their bounds.

use super::bound::{Bound, Delay};
use super::summary::{LeastTwo, Summary};
use crate::control::{NodeId, PublishedClass};
use crate::wire::{Reader, Writer, put_class, read_class};
use bytes::Bytes;
use hla::handle::FederateHandle;
use hla::time::TimeKind;
use router::WireError;

/// A message of time management from one node to another.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum TimeMessage {
    /// To the time home: the state of a node's federates.
    Report(Box<Report>),
    /// From the time home: answer with a report of this generation, and grant nothing beyond it.
    Recall { epoch: u32, generation: u64 },
    /// From the time home: the state of all other nodes.
    Result(Box<MergedReports>),
}

/// Where a stream of the reporting node stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SentPosition {
    /// Number of its last message in time-stamp order.
    pub(super) number: u64,
    /// The control plane says of the stream's publication what the node says. Until then other
    /// nodes may follow it from its beginning.
    pub(super) settled: bool,
    /// Changes of publications that the node's control plane has applied.
    pub(super) version: u64,
}

/// A report of one node. Lists hold the changes since its last report in this epoch.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Report {
    /// The number of nodes that were removed from the network.
    pub(super) epoch: u32,
    /// The last recall that it answers; 0 for none.
    pub(super) generation: u64,
    pub(super) serial: u64,
    /// The node has, or had, federates in logical time.
    pub(super) participates: bool,
    /// Recalls that it has requested so far.
    pub(super) recalls: u64,
    /// Queries for a fresh GALT so far.
    pub(super) queries: u64,
    pub(super) summary: Summary,
    /// The least time stamp of a sent message that may not have arrived at all receivers.
    pub(super) vouched: Bound,
    /// Number of such messages.
    pub(super) outstanding: u64,
    /// The least bound that would let it grant more.
    pub(super) want: Option<Bound>,
    /// No message below is to reach a constrained federate of the node.
    pub(super) promised: Bound,
    /// Changes of publications that its control plane has applied.
    pub(super) version: u64,
    pub(super) sent: Vec<(PublishedClass, SentPosition)>,
    /// Classes that its federates subscribe, or no longer do.
    pub(super) covers: Vec<(PublishedClass, bool)>,
    /// Positions up to which it has received streams; `None`: it no longer follows the stream.
    pub(super) received: Vec<(PublishedClass, NodeId, Option<u64>)>,
}

/// The position up to which all others have received a stream, and the nodes that receive it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Accounted {
    pub(super) number: u64,
    pub(super) listed: Vec<NodeId>,
}

/// The reports of all nodes but the receiver. Lists hold changes since the last result.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct MergedReports {
    pub(super) epoch: u32,
    pub(super) generation: u64,
    /// The serial of the receiver's last report that the sender has taken.
    pub(super) serial: u64,
    /// Queries of the receiver that this answers.
    pub(super) queries: u64,
    /// Recalls that the receiver had requested when it answered the last one.
    pub(super) recalls: u64,
    pub(super) summary: Summary,
    pub(super) vouched: Bound,
    /// The greatest promise at the time of the last recall.
    pub(super) promised: Bound,
    /// Some federate has been conditional.
    pub(super) conditional: bool,
    /// All participants, if they have changed.
    pub(super) participants: Vec<NodeId>,
    pub(super) sent: Vec<(PublishedClass, NodeId, SentPosition)>,
    /// Of streams of the receiver.
    pub(super) accounted: Vec<(PublishedClass, Accounted)>,
}

impl TimeMessage {
    pub(super) fn epoch(&self) -> u32 {
        match self {
            Self::Report(report) => report.epoch,
            Self::Recall { epoch, .. } => *epoch,
            Self::Result(result) => result.epoch,
        }
    }

    pub(super) fn encode(&self) -> Bytes {
        let mut out = Vec::new();
        match self {
            Self::Report(report) => {
                out.octet(0);
                report.write(&mut out);
            }
            Self::Recall { epoch, generation } => {
                out.octet(1);
                out.number(*epoch);
                out.number(*generation);
            }
            Self::Result(result) => {
                out.octet(2);
                result.write(&mut out);
            }
        }
        out.into()
    }

    /// Reads a message about a federation execution with times of this kind.
    pub(super) fn decode(kind: TimeKind, body: Bytes) -> Result<Self, WireError> {
        let mut r = Reader::new(body);
        let message = match r.u8("the kind of time message")? {
            0 => Self::Report(Box::new(Report::read(kind, &mut r)?)),
            1 => Self::Recall { epoch: r.u32("an epoch")?, generation: r.u64("a generation")? },
            2 => Self::Result(Box::new(MergedReports::read(kind, &mut r)?)),
            other => return Err(WireError(format!("{other} is no kind of time message (0 to 2)"))),
        };
        Ok(r.end(message)?)
    }
}

impl Report {
    fn write(&self, out: &mut Vec<u8>) {
        out.number(self.epoch);
        for number in [self.generation, self.serial, self.recalls, self.queries] {
            out.number(number);
        }
        out.octet(self.participates.into());
        self.summary.write(out);
        put_bound(out, self.vouched);
        out.number(self.outstanding);
        out.octet(self.want.is_some().into());
        if let Some(want) = self.want {
            put_bound(out, want);
        }
        put_bound(out, self.promised);
        out.number(self.version);
        out.number(self.sent.len() as u64);
        for (class, sent) in &self.sent {
            put_class(out, *class);
            sent.write(out);
        }
        out.number(self.covers.len() as u64);
        for (class, on) in &self.covers {
            put_class(out, *class);
            out.octet((*on).into());
        }
        out.number(self.received.len() as u64);
        for (class, node, number) in &self.received {
            put_class(out, *class);
            out.number(node.0);
            out.number(number.map_or(0, |number| number.saturating_add(1)));
        }
    }

    fn read(kind: TimeKind, r: &mut Reader) -> Result<Self, WireError> {
        Ok(Self {
            epoch: r.u32("an epoch")?,
            generation: r.u64("a generation")?,
            serial: r.u64("a serial number")?,
            recalls: r.u64("a number of recalls")?,
            queries: r.u64("a number of queries")?,
            participates: r.flag("whether a node participates")?,
            summary: Summary::read(kind, r)?,
            vouched: bound(r)?,
            outstanding: r.u64("a number of messages")?,
            want: if r.flag("whether a bound is wanted")? { Some(bound(r)?) } else { None },
            promised: bound(r)?,
            version: r.u64("a version")?,
            sent: r.list("the number of streams", |r| {
                Ok::<_, WireError>((read_class(r)?, SentPosition::read(r)?))
            })?,
            covers: r.list("the number of classes", |r| {
                Ok::<_, WireError>((read_class(r)?, r.flag("whether a class is covered")?))
            })?,
            received: r.list("the number of positions", |r| {
                let (class, node) = (read_class(r)?, node(r)?);
                Ok::<_, WireError>((class, node, r.u64("a position")?.checked_sub(1)))
            })?,
        })
    }
}

impl SentPosition {
    fn write(self, out: &mut Vec<u8>) {
        out.number(self.number);
        out.octet(self.settled.into());
        out.number(self.version);
    }

    fn read(r: &mut Reader) -> Result<Self, WireError> {
        Ok(Self {
            number: r.u64("a number")?,
            settled: r.flag("whether a publication is settled")?,
            version: r.u64("a version")?,
        })
    }
}

impl MergedReports {
    fn write(&self, out: &mut Vec<u8>) {
        out.number(self.epoch);
        for number in [self.generation, self.serial, self.queries, self.recalls] {
            out.number(number);
        }
        self.summary.write(out);
        put_bound(out, self.vouched);
        put_bound(out, self.promised);
        out.octet(self.conditional.into());
        put_nodes(out, &self.participants);
        out.number(self.sent.len() as u64);
        for (class, node, sent) in &self.sent {
            put_class(out, *class);
            out.number(node.0);
            sent.write(out);
        }
        out.number(self.accounted.len() as u64);
        for (class, accounted) in &self.accounted {
            put_class(out, *class);
            out.number(accounted.number);
            put_nodes(out, &accounted.listed);
        }
    }

    fn read(kind: TimeKind, r: &mut Reader) -> Result<Self, WireError> {
        Ok(Self {
            epoch: r.u32("an epoch")?,
            generation: r.u64("a generation")?,
            serial: r.u64("a serial number")?,
            queries: r.u64("a number of queries")?,
            recalls: r.u64("a number of recalls")?,
            summary: Summary::read(kind, r)?,
            vouched: bound(r)?,
            promised: bound(r)?,
            conditional: r.flag("whether a federate was conditional")?,
            participants: nodes(r)?,
            sent: r.list("the number of streams", |r| {
                let (class, node) = (read_class(r)?, node(r)?);
                Ok::<_, WireError>((class, node, SentPosition::read(r)?))
            })?,
            accounted: r.list("the number of streams", |r| {
                let class = read_class(r)?;
                let number = r.u64("a number")?;
                Ok::<_, WireError>((class, Accounted { number, listed: nodes(r)? }))
            })?,
        })
    }
}

impl Summary {
    fn write(&self, out: &mut Vec<u8>) {
        out.octet(self.bounds.iter().count() as u8);
        for (bound, federate) in self.bounds.iter() {
            put_bound(out, bound);
            out.number(federate.0);
        }
        out.octet(self.delays.iter().count() as u8);
        for (delay, federate) in self.delays.iter() {
            out.slice(&delay.lookahead.encode());
            out.octet(delay.exclusive.into());
            out.number(federate.0);
        }
    }

    fn read(kind: TimeKind, r: &mut Reader) -> Result<Self, WireError> {
        let (mut bounds, mut delays) = (LeastTwo::default(), LeastTwo::default());
        for _ in 0..two(r)? {
            let bound = bound(r)?;
            bounds.add(bound, FederateHandle(r.u32("a federate")?));
        }
        for _ in 0..two(r)? {
            let octets: [u8; hla::time::ENCODED_LEN] = r.array("a lookahead")?;
            let lookahead =
                kind.decode_interval(&octets).map_err(|error| WireError(error.details.into_owned()))?;
            let exclusive = r.flag("whether a delay is exclusive")?;
            delays.add(Delay { lookahead, exclusive }, FederateHandle(r.u32("a federate")?));
        }
        Ok(Self { bounds, delays })
    }
}

fn two(r: &mut Reader) -> Result<u8, WireError> {
    match r.u8("the number of entries of a summary")? {
        number @ 0..=2 => Ok(number),
        other => Err(WireError(format!("a summary has two entries at most, not {other}"))),
    }
}

fn put_bound(out: &mut Vec<u8>, bound: Bound) {
    out.slice(&bound.to_bits().to_be_bytes());
}

fn bound(r: &mut Reader) -> Result<Bound, WireError> {
    Ok(Bound::from_bits(u64::from_be_bytes(r.array("a bound")?)))
}

fn put_nodes(out: &mut Vec<u8>, nodes: &[NodeId]) {
    out.number(nodes.len() as u64);
    nodes.iter().for_each(|node| out.number(node.0));
}

fn nodes(r: &mut Reader) -> Result<Vec<NodeId>, WireError> {
    r.list("the number of nodes", node)
}

fn node(r: &mut Reader) -> Result<NodeId, WireError> {
    Ok(NodeId(r.u16("a node")?))
}
