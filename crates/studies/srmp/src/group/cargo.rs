//! The contents of a datagram, as the emulator sees them.

use bytes::Bytes;
use srmp::model::{DataId, MemberId, Sn};
use srmp::wire::{Format, Kind, Mode1Flags, Record};

/// Octets of IPv4 and UDP headers.
pub(super) const HEADERS: usize = 28;

/// The contents of a datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cargo {
    /// Octets of message bodies.
    pub(super) body_bytes: usize,
    /// Octets of control traffic: the whole of a datagram without messages; NACKs, announcements
    /// and digests of the others.
    pub(super) control_bytes: usize,
    /// The part of `control_bytes` that belongs to reports for congestion control.
    pub(super) feedback_bytes: usize,
    /// Number of mode 0 messages.
    pub(super) mode0: u32,
    /// Mode 1 messages or segments: source (`None` for the sender of the datagram), data element,
    /// sequence number.
    pub(super) mode1: Vec<(Option<MemberId>, DataId, Sn)>,
    /// Number of these that are retransmissions for members that missed them; state for joiners
    /// does not count.
    pub(super) repairs: u32,
    /// Repair requests: source, data element, sequence number.
    pub(super) asks: Vec<(MemberId, DataId, Sn)>,
    /// At least one mode 1 message is sent for the first time.
    pub(super) is_news: bool,
}

impl Cargo {
    /// Parses a datagram from an endpoint without keys.
    pub(super) fn of(format: &Format, datagram: &Bytes) -> Self {
        let mut cargo = Self::default();
        let Some(packet) =
            format.decode(datagram).ok().and_then(|envelope| envelope.without_protection().ok())
        else {
            return cargo;
        };
        let mut control = 0;
        for record in packet.records().filter_map(Result::ok) {
            match &record {
                Record::Mode0(message) => {
                    cargo.mode0 += 1;
                    cargo.body_bytes += message.body.len();
                }
                Record::Mode1(message) => {
                    let source = message.origin.map(|origin| origin.member);
                    cargo.mode1.push((source, message.dsn.data, message.dsn.sn));
                    let is_again = message.flags.intersects(Mode1Flags::REPAIR | Mode1Flags::COPY);
                    cargo.is_news |= !is_again;
                    cargo.repairs += u32::from(is_again && packet.header().kind != Kind::Sync);
                    cargo.body_bytes += message.body.len();
                }
                Record::Nack(nack) => {
                    control += format.record_bytes(&record);
                    cargo.asks.extend(nack.items.iter().map(|item| (nack.origin, item.data, item.sn)));
                }
                Record::Mode2(message) => cargo.body_bytes += message.body.len(),
                // A sender's rate report is part of its header, as in RFC 4410.
                Record::Echo(_) | Record::Congestion(_) => {}
                _ => control += format.record_bytes(&record),
            }
        }
        let carries = cargo.mode0 > 0 || !cargo.mode1.is_empty() || cargo.body_bytes > 0;
        cargo.control_bytes = if carries { control } else { datagram.len() + HEADERS };
        if packet.header().kind == Kind::Feedback {
            cargo.feedback_bytes = cargo.control_bytes;
        }
        cargo
    }
}
