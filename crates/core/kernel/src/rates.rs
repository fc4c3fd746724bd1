//! Sessions whose account limits the bytes that they may send in a second. A session that has sent
//! more is not read until it may send again, so that its federate is slowed down and loses nothing.

use base::Moment;
use fedpro::server::ConnId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU64;
use std::time::Duration;

/// The time for which a session may save up what it has not sent. Federates send in bursts, one for
/// each step of their simulation, and rarely wait for longer than this between two of them.
const BURST: Duration = Duration::from_secs(1);

/// The account of one session's bytes: the generic cell rate algorithm (ITU-T I.371), whose cells
/// are bytes.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    per_second: NonZeroU64,
    /// The moment by which a session that sends at exactly its rate would have sent all that was
    /// received.
    sent_by: Moment,
    /// It was held before.
    was_held: bool,
}

impl Allowance {
    /// The moment from which the session may be read; it may be in the past.
    fn readable_from(&self) -> Moment {
        Moment::ZERO + self.sent_by.since(Moment::ZERO + BURST)
    }
}

/// The sessions with a limit, by the connection that carries them or carried them last.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    by: BTreeMap<ConnId, Allowance>,
    /// Those that are not read, by the moment from which they are.
    held: BTreeSet<(Moment, ConnId)>,
    released: VecDeque<ConnId>,
    /// How often a session was held.
    holds: u64,
}

impl Rates {
    /// Limits the bytes that the session on `conn` may send in a second, or lifts the limit.
    pub(crate) fn set(&mut self, now: Moment, conn: ConnId, per_second: Option<NonZeroU64>) {
        match per_second {
            Some(per_second) => {
                let allowance =
                    self.by.entry(conn).or_insert(Allowance { per_second, sent_by: now, was_held: false });
                allowance.per_second = per_second;
            }
            None => {
                if self.is_held(conn) {
                    self.released.push_back(conn);
                }
                self.forget(conn);
            }
        }
    }

    /// Counts bytes that were received on a connection. Returns true if its session is held for the
    /// first time.
    pub(crate) fn received(&mut self, now: Moment, conn: ConnId, bytes: usize) -> bool {
        let Some(allowance) = self.by.get_mut(&conn) else { return false };
        let before = allowance.readable_from();
        let nanos = bytes as u128 * 1_000_000_000 / u128::from(allowance.per_second.get());
        let takes = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        allowance.sent_by = allowance.sent_by.max(now) + takes;
        let from = allowance.readable_from();
        self.held.remove(&(before, conn));
        if from <= now {
            return false;
        }
        self.holds += u64::from(before <= now);
        self.held.insert((from, conn));
        !std::mem::replace(&mut allowance.was_held, true)
    }

    /// The session continues on another connection.
    pub(crate) fn moved(&mut self, from: ConnId, to: ConnId) {
        let Some(allowance) = self.by.remove(&from) else { return };
        let at = allowance.readable_from();
        if self.held.remove(&(at, from)) {
            self.held.insert((at, to));
        }
        self.by.insert(to, allowance);
    }

    /// The session on this connection has ended.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        if let Some(allowance) = self.by.remove(&conn) {
            self.held.remove(&(allowance.readable_from(), conn));
        }
    }

    /// Whether the connection is not read for now.
    pub(crate) fn is_held(&self, conn: ConnId) -> bool {
        let allowance = self.by.get(&conn);
        allowance.is_some_and(|allowance| self.held.contains(&(allowance.readable_from(), conn)))
    }

    /// When to call [`Rates::handle_timeout`] next.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        self.held.first().map(|&(from, _)| from)
    }

    /// Lets the sessions be read that may be by now.
    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        while let Some(&(from, conn)) = self.held.first()
            && from <= now
        {
            self.held.pop_first();
            self.released.push_back(conn);
        }
    }

    /// The next connection that may be read again.
    pub(crate) fn poll_released(&mut self) -> Option<ConnId> {
        self.released.pop_front()
    }

    /// How often a session was not read because of its limit.
    pub(crate) fn holds(&self) -> u64 {
        self.holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONN: ConnId = ConnId(7);

    fn limited(per_second: u64) -> Rates {
        let mut rates = Rates::default();
        rates.set(Moment::ZERO, CONN, NonZeroU64::new(per_second));
        rates
    }

    #[test]
    fn a_session_is_held_once_it_has_sent_more_than_a_second_allows() {
        let mut rates = limited(1_000);
        assert!(!rates.received(Moment::ZERO, CONN, 1_000), "the burst");
        assert!(!rates.is_held(CONN));
        assert!(rates.received(Moment::ZERO, CONN, 500), "for the first time");
        assert!(rates.is_held(CONN));
        assert_eq!(rates.poll_timeout(), Some(Moment::from_millis(500)));
        rates.handle_timeout(Moment::from_millis(499));
        assert_eq!(rates.poll_released(), None);
        rates.handle_timeout(Moment::from_millis(500));
        assert_eq!((rates.poll_released(), rates.is_held(CONN)), (Some(CONN), false));
        assert_eq!((rates.poll_timeout(), rates.holds()), (None, 1));
    }

    #[test]
    fn a_session_takes_its_debt_to_another_connection() {
        let mut rates = limited(1_000);
        rates.received(Moment::ZERO, CONN, 3_000);
        rates.moved(CONN, ConnId(8));
        assert_eq!((rates.is_held(CONN), rates.is_held(ConnId(8))), (false, true));
        rates.forget(ConnId(8));
        assert_eq!((rates.is_held(ConnId(8)), rates.poll_timeout()), (false, None));
    }

    #[test]
    fn a_limit_that_is_lifted_lets_the_session_go() {
        let mut rates = limited(1);
        rates.received(Moment::ZERO, CONN, 1 << 30);
        assert!(rates.is_held(CONN));
        rates.set(Moment::ZERO, CONN, None);
        assert_eq!((rates.is_held(CONN), rates.poll_released()), (false, Some(CONN)));
        rates.received(Moment::ZERO, CONN, 1 << 30);
        assert!(!rates.is_held(CONN));
    }

    proptest! {
        #[test]
        fn nobody_sends_more_than_the_rate_and_a_burst(
            per_second in 1..100_000_u64,
            reads in proptest::collection::vec((0..2_000_u64, 1..70_000_usize), 1..50),
        ) {
            let mut rates = limited(per_second);
            let (mut now, mut sent) = (Moment::ZERO, 0_u64);
            for (pause, bytes) in reads {
                now += Duration::from_millis(pause);
                rates.handle_timeout(now);
                if rates.is_held(CONN) {
                    now = rates.poll_timeout().unwrap();
                    rates.handle_timeout(now);
                    prop_assert_eq!(rates.poll_released(), Some(CONN));
                }
                prop_assert!(!rates.is_held(CONN));
                rates.received(now, CONN, bytes);
                // The wait after a read pays for the octets that it brought beyond the limit.
                let elapsed = now.since(Moment::ZERO) + BURST;
                let most = elapsed.as_nanos() * u128::from(per_second) / 1_000_000_000 + 1;
                prop_assert!(u128::from(sent) <= most, "{sent} of {most}");
                sent += bytes as u64;
            }
        }
    }
}
