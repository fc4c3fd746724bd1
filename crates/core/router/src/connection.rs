//! Clients that come and go: when to reconnect, when to send a keep-alive, when to give a client
//! up.

use crate::client::ClientId;
use crate::config::Backoff;
use base::{Deadlines, Moment, Seed};
use indexmap::IndexMap;
use std::time::Duration;

/// A change of a link, reported by the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The link is up: frames can be sent and received.
    Up,
    /// The link went down, or could not be brought up.
    Down,
}

/// All timers of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A link may need a keep-alive.
    KeepAlive(ClientId),
    /// A link may be dead.
    Silence(ClientId),
    /// It is time to reach a persistent client.
    Connect(ClientId),
    /// A bundle has waited long enough.
    Bundle(ClientId),
    /// Credit has been withheld long enough.
    Credit(ClientId),
}

/// The timers of a client whose link is up.
fn timers_of_link(client: ClientId) -> [Timer; 4] {
    [Timer::KeepAlive(client), Timer::Silence(client), Timer::Bundle(client), Timer::Credit(client)]
}

/// Keeps the deadlines of a router and the attempts to reach its persistent clients.
#[derive(Debug)]
pub(crate) struct ConnectionManager {
    deadlines: Deadlines<Timer>,
    backoff: Backoff,
    seed: Seed,
    draws: u64,
    /// Attempts since the link was last up.
    attempts: IndexMap<ClientId, u32>,
}

impl ConnectionManager {
    pub(crate) fn new(backoff: Backoff, seed: Seed) -> Self {
        Self { deadlines: Deadlines::new(), backoff, seed, draws: 0, attempts: IndexMap::new() }
    }

    pub(crate) fn set(&mut self, timer: Timer, at: Moment) {
        self.deadlines.set(timer, at);
    }

    pub(crate) fn clear(&mut self, timer: Timer) {
        self.deadlines.clear(timer);
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.deadlines.get(timer).is_some()
    }

    pub(crate) fn next(&self) -> Option<Moment> {
        self.deadlines.next()
    }

    pub(crate) fn pop_due(&mut self, now: Moment) -> Option<Timer> {
        self.deadlines.pop_due(now)
    }

    /// Schedules an attempt to reach the client at once.
    pub(crate) fn connect_now(&mut self, client: ClientId, now: Moment) {
        self.attempts.insert(client, 0);
        self.deadlines.set(Timer::Connect(client), now);
    }

    /// Counts an attempt that starts now.
    pub(crate) fn attempt(&mut self, client: ClientId) -> u32 {
        let attempts = self.attempts.entry(client).or_insert(0);
        *attempts = attempts.saturating_add(1);
        *attempts
    }

    /// The link came up.
    pub(crate) fn connected(&mut self, client: ClientId) {
        self.attempts.swap_remove(&client);
        self.deadlines.clear(Timer::Connect(client));
    }

    /// The link went down or did not come up: schedules the next attempt to reach the client.
    pub(crate) fn retry(&mut self, client: ClientId, now: Moment) {
        let attempts = self.attempts.get(&client).copied().unwrap_or(0);
        let wait = self.wait(attempts);
        self.deadlines.set(Timer::Connect(client), now + wait);
        for timer in timers_of_link(client) {
            self.deadlines.clear(timer);
        }
    }

    /// The client is gone.
    pub(crate) fn forget(&mut self, client: ClientId) {
        self.attempts.swap_remove(&client);
        self.deadlines.clear(Timer::Connect(client));
        for timer in timers_of_link(client) {
            self.deadlines.clear(timer);
        }
    }

    fn wait(&mut self, failures: u32) -> Duration {
        let Backoff { first, factor, max, jitter_percent } = self.backoff;
        let times = factor.max(1).saturating_pow(failures.saturating_sub(1));
        let wait = first.saturating_mul(times).min(max);
        self.draws += 1;
        // A share between 0 and jitter_percent, in 1/65536 of a percent.
        let share = (self.seed.split_index(self.draws).0 & 0xffff) * u64::from(jitter_percent);
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let jitter = u128::from(nanos) * u128::from(share) / (100 << 16);
        wait + Duration::from_nanos(u64::try_from(jitter).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: ClientId = ClientId { slot: 3, generation: 0 };

    #[test]
    fn waits_grow_to_the_limit_with_bounded_jitter_and_repeat_with_the_seed() {
        let waits = |seed| {
            let mut m = ConnectionManager::new(Backoff::default(), Seed(seed));
            (1..12)
                .map(|_| {
                    m.attempt(C);
                    m.retry(C, Moment::ZERO);
                    m.next().expect("an attempt is scheduled") - Moment::ZERO
                })
                .collect::<Vec<_>>()
        };
        for (i, wait) in waits(7).into_iter().enumerate() {
            let plain = Duration::from_millis(100 << i).min(Duration::from_secs(10));
            assert!(plain <= wait && wait <= plain * 6 / 5, "attempt {i}: {wait:?}");
        }
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
    }

    #[test]
    fn success_forgets_failures() {
        let mut m = ConnectionManager::new(Backoff { jitter_percent: 0, ..Backoff::default() }, Seed(1));
        for _ in 0..5 {
            m.attempt(C);
        }
        m.connected(C);
        m.attempt(C);
        m.retry(C, Moment::from_secs(1));
        assert_eq!(m.next(), Some(Moment::from_millis(1_100)));
        m.forget(C);
        assert_eq!(m.next(), None);
    }
}
