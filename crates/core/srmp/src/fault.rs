//! What can be wrong with a datagram, as keys of counters.

use std::fmt;

macro_rules! faults {
    ($($(#[$meta:meta])* $name:ident = $key:literal,)+) => {
        /// Why a datagram, or a record of one, was dropped. Every error of [`wire`](crate::wire) and [`auth`](crate::auth) has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[$meta])* $name,)+
        }

        impl Fault {
            /// All of them, in the order of their counters.
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
    /// Shorter than its header.
    Short = "rx_short",
    /// Of a version that is neither 2 nor 3.
    BadVersion = "rx_bad_version",
    /// Of the other profile: harmless where both share a group.
    OtherProfile = "rx_other_profile",
    /// Of a type that the profile has not.
    BadType = "rx_bad_type",
    /// Of another session.
    OtherSession = "rx_other_session",
    /// Its length field contradicts what came.
    BadLength = "rx_bad_length",
    /// With flags that the profile has not, or that exclude each other.
    BadFlags = "rx_bad_flags",
    /// From member 0, which is nobody.
    BadSender = "rx_bad_sender",
    /// A message or record runs over the end of its datagram, or of itself.
    Truncated = "rx_truncated",
    /// A message or record of a kind that is not known.
    UnknownKind = "rx_unknown_kind",
    /// A field has a value that it cannot have.
    BadValue = "rx_bad_value",
    /// Without the tag that the group demands, or with one that the group does not use.
    AuthMismatch = "rx_auth_mismatch",
    /// Under a key that is not, or no longer, or not yet accepted.
    AuthUnknownKey = "rx_auth_unknown_key",
    /// The tag is not that of the bytes.
    AuthFailed = "rx_auth_failed",
    /// Of an earlier life of its sender.
    OldEpoch = "rx_old_epoch",
    /// Seen before, or too old to tell.
    Replayed = "rx_replayed",
    /// Of a sender that there is no room for.
    TooManySenders = "rx_too_many_senders",
    /// The signature of a mode 1 message is missing, or not that of its source.
    BadSignature = "rx_bad_signature",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often each [`Fault`] was met.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FaultCounts([u64; Fault::ALL.len()]);

impl FaultCounts {
    /// Counts one.
    pub fn add(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// How often it was met.
    pub fn get(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// All together.
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
