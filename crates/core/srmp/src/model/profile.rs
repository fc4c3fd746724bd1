//! The two wire profiles.

use super::{Clock, DataId, MemberId, SeqSpace, SnSpace};

/// Bytes of the longest mode 1 message in either profile (RFC 4410, section 2).
pub const MESSAGE_BYTES_MAX: usize = 131_071;

/// A wire format, which also fixes the width of every number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// RFC 4410, byte for byte.
    V2,
    /// Wide numbers, epochs, authentication, loggers, state sync.
    V3,
}

impl Profile {
    /// The version number in the high half of a datagram's first byte.
    pub const fn version(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// Arithmetic of message numbers.
    pub const fn sn_space(self) -> SnSpace {
        match self {
            Self::V2 => SnSpace::V2,
            Self::V3 => SnSpace::V3,
        }
    }

    /// Arithmetic of datagram numbers.
    pub const fn seq_space(self) -> SeqSpace {
        match self {
            Self::V2 => SeqSpace::V2,
            Self::V3 => SeqSpace::V3,
        }
    }

    /// The clock of time stamps.
    pub const fn clock(self) -> Clock {
        match self {
            Self::V2 => Clock::V2,
            Self::V3 => Clock::V3,
        }
    }

    /// The most segments of a message: 127, which fit seven bits (RFC 4410, section 3.2), or
    /// 65 535.
    pub const fn segments_max(self) -> u16 {
        match self {
            Self::V2 => 127,
            Self::V3 => u16::MAX,
        }
    }

    /// Whether the wire has room for this member: a number of 32 or 64 bits that is not 0.
    pub const fn carries_member(self, member: MemberId) -> bool {
        member.0 != 0 && (matches!(self, Self::V3) || member.0 <= u32::MAX as u64)
    }

    /// Whether the wire has room for this data element, a number of 16 or 32 bits.
    pub const fn carries_data(self, data: DataId) -> bool {
        matches!(self, Self::V3) || data.0 <= u16::MAX as u32
    }
}
