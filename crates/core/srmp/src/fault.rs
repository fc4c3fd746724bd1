//! The faults of datagrams, as keys of counters.

use std::fmt;

macro_rules! faults {
    ($($(#[$meta:meta])* $name:ident = $key:literal,)+) => {
        /// The reason why a datagram or one of its records was dropped. Every error of
        /// [`wire`](crate::wire) and [`auth`](crate::auth) has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[$meta])* $name,)+
        }

        impl Fault {
            /// All faults, in the order of their counters.
            pub const ALL: &[Fault] = &[$(Fault::$name,)+];

            /// The counter's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Fault::$name => $key,)+
                }
            }
        }
    };
}

faults! {
    /// The datagram is shorter than its header.
    Short = "rx_short",
    /// The version is neither 2 nor 3.
    BadVersion = "rx_bad_version",
    /// The datagram is of the other profile. Harmless where both share a group.
    OtherProfile = "rx_other_profile",
    /// The profile has no such type.
    BadType = "rx_bad_type",
    /// The datagram belongs to another session.
    OtherSession = "rx_other_session",
    /// The length field contradicts the length of the datagram.
    BadLength = "rx_bad_length",
    /// The profile has no such flags, or they exclude each other.
    BadFlags = "rx_bad_flags",
    /// The sender is 0, which denotes no member.
    BadSender = "rx_bad_sender",
    /// A message or record runs beyond the end of its datagram or of itself.
    Truncated = "rx_truncated",
    /// The kind of a message or record is unknown.
    UnknownKind = "rx_unknown_kind",
    /// A field has an invalid value.
    BadValue = "rx_bad_value",
    /// The tag that the group demands is missing, or there is one that the group does not use.
    AuthMismatch = "rx_auth_mismatch",
    /// The key is unknown, no longer accepted, or not yet accepted.
    AuthUnknownKey = "rx_auth_unknown_key",
    /// The tag does not match the bytes.
    AuthFailed = "rx_auth_failed",
    /// The datagram is of an earlier epoch of its sender.
    OldEpoch = "rx_old_epoch",
    /// The datagram was received before, or is too old to tell.
    Replayed = "rx_replayed",
    /// There is no room for another sender.
    TooManySenders = "rx_too_many_senders",
    /// The signature of a mode 1 message is missing, or is not that of its source.
    BadSignature = "rx_bad_signature",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of occurrences of each [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FaultCounts([u64; Fault::ALL.len()]);

impl FaultCounts {
    /// Counts one occurrence.
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// The number of occurrences of one fault.
    pub fn get(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// The number of all occurrences.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Every fault with its count, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (Fault, u64)> + '_ {
        Fault::ALL.iter().copied().zip(self.0.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_own_place_and_name() {
        let mut counts = FaultCounts::default();
        for (times, fault) in Fault::ALL.iter().enumerate() {
            (0..=times).for_each(|_| counts.add(*fault));
        }
        for (times, (fault, count)) in counts.iter().enumerate() {
            assert_eq!((count, counts.get(fault)), (times as u64 + 1, count));
            assert!(fault.name().starts_with("rx_"));
        }
        let mut names: Vec<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Fault::ALL.len());
    }
}
