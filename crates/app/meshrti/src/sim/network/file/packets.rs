//! The model of packets in a scenario.

use netmodel::packet::Switching;
use netmodel::packet::ports::{self, Flows, Full};
use netmodel::simulation::PacketModel;
use serde::Deserialize;

use super::links::PACKET_MAX;
use super::{Size, Subqueue};

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Packets {
    /// The default is the largest size that fits on every link.
    packet_size: Option<Size>,
    cut_through: Option<Size>,
    buffer: Option<Size>,
    when_full: Option<WhenFull>,
    #[serde(default)]
    discipline: Discipline,
    quantum: Option<Size>,
    subqueue: Option<Subqueue>,
    mark_above: Option<Size>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WhenFull {
    Drop,
    BackPressure,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Discipline {
    #[default]
    Fifo,
    DeficitRoundRobin,
}

impl Packets {
    /// The model of packets. `payload` is the number of message bytes that a packet can hold on
    /// every link, if links define it, `overhead` the maximum number of further bytes, and
    /// `message` the longest message, as far as it is known.
    ///
    /// # Errors
    /// A missing or invalid setting.
    pub(super) fn model(
        &self,
        payload: Option<u32>,
        overhead: u32,
        message: u64,
    ) -> Result<PacketModel, String> {
        let bytes = self.packet_size.map(|size| size.0).or(payload.map(u64::from));
        let bytes = bytes.ok_or(
            "[model]: `packet_size` is missing, and no link says how much a packet holds (`payload`, or a `kind` of Ethernet)",
        )?;
        let packet = u32::try_from(bytes).ok().filter(|_| (1..=PACKET_MAX).contains(&bytes));
        let packet = packet.ok_or("[model]: `packet_size` is not from 1B to 16MiB")?;
        if message.div_ceil(bytes) > u64::from(u32::MAX) {
            return Err("[model]: a message has more than 2^32 packets".to_owned());
        }
        if let (Some(_), None) = (self.when_full, self.buffer) {
            return Err("[model]: `buffer` is missing: without a limit no port is ever full".to_owned());
        }
        if self.mark_above.is_some_and(|above| above.0 == 0) {
            return Err("[model]: `mark_above` is zero: every packet would be marked".to_owned());
        }
        Ok(PacketModel {
            bytes: packet,
            switching: self.cut_through.map_or(Switching::StoreAndForward, |Size(header)| {
                Switching::CutThrough { header: header.min(bytes) }
            }),
            buffer: self.buffer.map(|Size(buffer)| buffer),
            full: match self.when_full {
                None | Some(WhenFull::Drop) => Full::Drop,
                Some(WhenFull::BackPressure) => Full::Wait,
            },
            discipline: self.discipline(bytes + u64::from(overhead))?,
            mark_above: self.mark_above.map(|Size(above)| above),
        })
    }

    /// The queueing discipline, where a packet has at most `wire` bytes on the link.
    fn discipline(&self, wire: u64) -> Result<ports::Discipline, String> {
        if self.discipline == Discipline::DeficitRoundRobin {
            let quantum = self.quantum.map_or(wire, |Size(quantum)| quantum);
            let flows = match self.subqueue.unwrap_or_default() {
                Subqueue::Flow => Flows::Pairs,
                Subqueue::Message => Flows::Messages,
            };
            return Ok(ports::Discipline::DeficitRoundRobin { quantum, flows });
        }
        match [("quantum", self.quantum.is_some()), ("subqueue", self.subqueue.is_some())]
            .iter()
            .find(|(_, is_there)| *is_there)
        {
            Some((key, _)) => Err(format!(
                "[model]: `{key}` is for `discipline = \"deficit-round-robin\"`: first come, first served, has no turns"
            )),
            None => Ok(ports::Discipline::Fifo),
        }
    }
}
