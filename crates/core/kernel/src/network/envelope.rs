//! The unicasts between nodes: one octet for the kind, then the body.

use base::NodeKey;
use bytes::{BufMut, Bytes, BytesMut};

/// A message from one node to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unicast {
    /// A message of the replicated log.
    Consensus(Bytes),
    /// A message of the services.
    Services(Bytes),
    /// The request of a node that has found the network to become a member of it.
    Join {
        /// Its name.
        name: String,
    },
    /// The reason why a node that asked cannot become a member.
    Refused(String),
    /// A message between nodes outside any network: see [`consensus::reformation`].
    Reformation(Bytes),
}

/// Longest name or reason, in bytes.
const TEXT_MAX: usize = 4 << 10;
/// First octet of a message of the log.
const CONSENSUS: u8 = 1;

impl Unicast {
    /// Whether a message that begins with `first` belongs to the log.
    pub(crate) fn is_consensus(first: u8) -> bool {
        first == CONSENSUS
    }

    /// The encoded message.
    pub(crate) fn encode(&self) -> Bytes {
        let (kind, body): (u8, &[u8]) = match self {
            Self::Consensus(body) => (CONSENSUS, body),
            Self::Services(body) => (2, body),
            Self::Join { name } => (3, name.as_bytes()),
            Self::Refused(why) => (4, why.as_bytes()),
            Self::Reformation(body) => (5, body),
        };
        let mut out = BytesMut::with_capacity(1 + body.len());
        out.put_u8(kind);
        out.put_slice(body);
        out.freeze()
    }

    /// Decodes the octets that `from` sent.
    ///
    /// # Errors
    /// A description of what is wrong with them, for the log file.
    pub(crate) fn decode(from: NodeKey, octets: &Bytes) -> Result<Self, String> {
        let kind = *octets.first().ok_or_else(|| format!("{from} sent an empty message"))?;
        let body = octets.slice(1..);
        Ok(match kind {
            CONSENSUS => Self::Consensus(body),
            2 => Self::Services(body),
            3 => Self::Join { name: text(from, &body)? },
            4 => Self::Refused(text(from, &body)?),
            5 => Self::Reformation(body),
            _ => return Err(format!("{from} sent a message of kind {kind}, which is none (1 to 5)")),
        })
    }
}

fn text(from: NodeKey, body: &Bytes) -> Result<String, String> {
    if body.len() > TEXT_MAX {
        return Err(format!("{from} sent a text of {} octets, more than {TEXT_MAX}", body.len()));
    }
    String::from_utf8(body.to_vec()).map_err(|error| format!("{from} sent a text that is not UTF-8: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_understood() {
        let all = [
            Unicast::Consensus(Bytes::from_static(b"c")),
            Unicast::Services(Bytes::new()),
            Unicast::Join { name: "Köln".to_owned() },
            Unicast::Refused("why".to_owned()),
            Unicast::Reformation(Bytes::from_static(b"r")),
        ];
        for message in all {
            assert_eq!(Unicast::decode(NodeKey(1), &message.encode()), Ok(message));
        }
        for wrong in [&b""[..], b"\0", b"\x06x", b"\x03\xff"] {
            assert!(Unicast::decode(NodeKey(1), &Bytes::copy_from_slice(wrong)).is_err());
        }
        let long = [&[3][..], &[b'x'; TEXT_MAX + 1]].concat();
        assert!(Unicast::decode(NodeKey(1), &long.into()).is_err());
    }
}
