//! Messages of a tunnel, as bodies of unicasts between its ends.
//!
//! | type | body |
//! | --- | --- |
//! | 1 open | epoch u32, initiator u8, terms to the end |
//! | 2 opened | epoch u32 |
//! | 3 data | epoch u32, number u64, channel u8, frame to the end |
//! | 4 acknowledgement | epoch u32, number of the next frame wanted u64 |
//! | 5 none | epoch u32: the sender has no such tunnel (0: none at all) |
//! | 6 move | as 1: the path of the sender moves here from a link, and keeps its state |

use super::Reader;
use crate::config::TERMS_BYTES_MAX;
use crate::error::FrameError;
use base::ReadError;
use bytes::{BufMut, Bytes, BytesMut};

const OPEN: u8 = 1;
const MOVE: u8 = 6;

/// One message of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TunnelMessage {
    Open { epoch: u32, moves: bool, initiator: bool, terms: Bytes },
    Opened { epoch: u32 },
    Data { epoch: u32, number: u64, channel: u8, frame: Bytes },
    Ack { epoch: u32, next: u64 },
    None { epoch: u32 },
}

impl TunnelMessage {
    pub(crate) fn decode(body: Bytes) -> Result<Self, FrameError> {
        let mut r = Reader::new(body);
        let kind = r.u8("type")?;
        let epoch = r.u32("epoch")?;
        match kind {
            OPEN | MOVE => {
                let initiator = r.flag("initiator")?;
                let terms = r.rest();
                if terms.len() > TERMS_BYTES_MAX {
                    let (len, limit) = (terms.len(), TERMS_BYTES_MAX);
                    return Err(ReadError::TooLong { item: "terms", len, limit }.into());
                }
                Ok(Self::Open { epoch, moves: kind == MOVE, initiator, terms })
            }
            2 => Ok(r.end(Self::Opened { epoch })?),
            3 => {
                Ok(Self::Data { epoch, number: r.u64("number")?, channel: r.u8("channel")?, frame: r.rest() })
            }
            4 => {
                let next = r.u64("number")?;
                Ok(r.end(Self::Ack { epoch, next })?)
            }
            5 => Ok(r.end(Self::None { epoch })?),
            got => Err(FrameError::Type { got }),
        }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        let mut head = |kind: u8, epoch: u32| {
            out.put_u8(kind);
            out.put_u32(epoch);
        };
        match self {
            Self::Open { epoch, moves, initiator, terms } => {
                head(if *moves { MOVE } else { OPEN }, *epoch);
                out.put_u8(u8::from(*initiator));
                out.put_slice(terms);
            }
            Self::Opened { epoch } => head(2, *epoch),
            Self::Data { epoch, number, channel, frame } => {
                head(3, *epoch);
                out.put_u64(*number);
                out.put_u8(*channel);
                out.put_slice(frame);
            }
            Self::Ack { epoch, next } => {
                head(4, *epoch);
                out.put_u64(*next);
            }
            Self::None { epoch } => head(5, *epoch),
        }
        out.freeze()
    }
}
