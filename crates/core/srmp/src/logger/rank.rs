//! The rank of candidates in the election.

use crate::model::MemberId;
use std::time::Duration;

/// The quality of a member as a logger: the greater, the better. Compared field by field: priority,
/// freedom from overload, losses, distance, uptime, and member id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rank(pub(crate) u128);

/// The properties that make up a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merits {
    pub(crate) priority: u8,
    pub(crate) is_overloaded: bool,
    /// The mean loss event rate.
    pub(crate) loss: f64,
    /// The median round-trip time to other members of the site; zero when it is unknown.
    pub(crate) rtt: Duration,
    pub(crate) uptime: Duration,
    pub(crate) member: MemberId,
}

impl Rank {
    pub(crate) fn of(merits: &Merits) -> Self {
        // In per cent, up to 15; NaN counts as 0.
        let losses = (merits.loss * 100.0).clamp(0.0, 15.0) as u8;
        let rtt = merits.rtt.as_millis().min(255) as u8;
        let uptime = merits.uptime.as_secs().max(1).ilog2().min(15) as u8;
        let head = [
            merits.priority,
            u8::from(!merits.is_overloaded),
            15 - losses.min(15),
            255 - rtt,
            uptime,
            0,
            0,
            0,
        ];
        Self((u128::from(u64::from_be_bytes(head)) << 64) | u128::from(merits.member.0))
    }

    pub(crate) fn priority(self) -> u8 {
        (self.0 >> 120) as u8
    }

    pub(crate) fn is_overloaded(self) -> bool {
        (self.0 >> 112) as u8 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_count_in_their_order() {
        let base = Merits {
            priority: 100,
            is_overloaded: false,
            loss: 0.02,
            rtt: Duration::from_millis(3),
            uptime: Duration::from_secs(100),
            member: MemberId(5),
        };
        let rank = |merits: Merits| Rank::of(&merits);
        let better = [
            Merits { priority: 101, is_overloaded: true, ..base },
            Merits { loss: 0.0, rtt: Duration::from_secs(9), ..base },
            Merits { rtt: Duration::from_millis(2), uptime: Duration::ZERO, ..base },
            Merits { uptime: Duration::from_secs(300), member: MemberId(1), ..base },
            Merits { member: MemberId(6), ..base },
        ];
        for merits in better {
            assert!(rank(merits) > rank(base), "{merits:?}");
        }
        for merits in [Merits { is_overloaded: true, ..base }, Merits { loss: 0.9, ..base }] {
            assert!(rank(merits) < rank(base), "{merits:?}");
        }
        assert_eq!(rank(base).priority(), 100);
        assert_eq!(rank(Merits { loss: f64::NAN, ..base }), rank(Merits { loss: 0.0, ..base }));
    }
}
