//! The wire form of commands, as entries of the log.
//!
//! One octet holds the version of the form. The value follows in the format of
//! [postcard](https://postcard.jamesmunns.com/wire-format): numbers as variable-length integers,
//! texts and lists preceded by their length.

use super::Command;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the wire form of commands.
const COMMAND_VERSION: u8 = 6;

/// The longest command that is read, in octets: several object models at their limit of 64 MiB
/// each.
const COMMAND_BYTES_MAX: usize = 1 << 30;

/// Octets from another node that cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// There are more octets than are read.
    #[error("a {encoding} of {bytes} octets; at most {max} are read")]
    TooLong {
        /// The expected form.
        encoding: Encoding,
        /// Number of octets received.
        bytes: usize,
        /// The limit in octets.
        max: usize,
    },
    /// They were written by a node of another version.
    #[error("a {encoding} in version {found} of its form; this node reads version {known}")]
    Version {
        /// The expected form.
        encoding: Encoding,
        /// The version that it names.
        found: u8,
        /// The version that is understood here.
        known: u8,
    },
    /// They do not have the expected form.
    #[error("no {encoding}: {why}")]
    Malformed {
        /// The expected form.
        encoding: Encoding,
        /// Where decoding failed.
        why: String,
    },
    /// They have the form, but contradict themselves.
    #[error("a snapshot that contradicts itself: {0}")]
    Inconsistent(String),
}

/// A kind of value exchanged between nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// A [`Command`].
    Command,
    /// A snapshot of a [`ControlPlane`](super::ControlPlane).
    Snapshot,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Command => "command",
            Encoding::Snapshot => "snapshot",
        })
    }
}

impl Command {
    /// The wire form.
    pub fn to_bytes(&self) -> Bytes {
        encode(COMMAND_VERSION, self)
    }

    /// Decodes a command from its wire form.
    ///
    /// # Errors
    /// [`WireError`] if the octets are not a command.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        decode(Encoding::Command, COMMAND_VERSION, COMMAND_BYTES_MAX, bytes)
    }
}

/// Encodes a value after its version.
pub(super) fn encode<T: Serialize>(version: u8, value: &T) -> Bytes {
    let written = postcard::to_extend(value, vec![version]);
    Bytes::from(written.expect("memory takes all, and our types have no lists of unknown length"))
}

/// Decodes a value after its version. Nothing may follow it.
pub(super) fn decode<'a, T: Deserialize<'a>>(
    encoding: Encoding,
    known: u8,
    max: usize,
    bytes: &'a [u8],
) -> Result<T, WireError> {
    if bytes.len() > max {
        return Err(WireError::TooLong { encoding, bytes: bytes.len(), max });
    }
    let malformed = |why: String| WireError::Malformed { encoding, why };
    let Some((&found, body)) = bytes.split_first() else { return Err(malformed("it is empty".to_owned())) };
    if found != known {
        return Err(WireError::Version { encoding, found, known });
    }
    match postcard::take_from_bytes(body) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => {
            Err(malformed(format!("{} of its {} octets are left over", rest.len(), bytes.len())))
        }
        Err(error) => Err(malformed(format!("{error} ({} octets)", bytes.len()))),
    }
}

/// A resign action as its number in the Federate Protocol.
pub(crate) mod resign_action {
    use hla::api::ResignAction;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(action: &ResignAction, serializer: S) -> Result<S::Ok, S::Error> {
        (*action as i32).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ResignAction, D::Error> {
        let number = i32::deserialize(deserializer)?;
        ResignAction::try_from(number).map_err(|_| D::Error::custom("no resign action"))
    }
}
