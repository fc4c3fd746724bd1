//! Counts of wrong passwords by address.

use base::{Address, Deadlines, Moment};
use std::collections::BTreeMap;
use std::time::Duration;

/// Limit on the addresses that are remembered. Beyond it, the one whose window ends first is
/// forgotten: counting would not slow down an attacker with thousands of addresses anyway.
const ADDRESSES_MAX: usize = 4_096;

/// Limits the rate at which passwords can be guessed: in each window an address may try a certain
/// number of wrong ones, and then none until the window is over. Refused attempts do not extend the
/// window, so that an honest federate of that address knows when it can connect.
pub(crate) struct PasswordFailures {
    max: u32,
    window: Duration,
    by_address: BTreeMap<Address, u32>,
    /// When the window of each address ends.
    ends: Deadlines<Address>,
    wrong: u64,
    refused: u64,
}

impl PasswordFailures {
    /// Allows `max` wrong passwords in `window`, at least one.
    pub(crate) fn new(max: u32, window: Duration) -> Self {
        let (by_address, ends) = (BTreeMap::new(), Deadlines::new());
        Self { max: max.max(1), window, by_address, ends, wrong: 0, refused: 0 }
    }

    /// Number of wrong passwords so far.
    pub(crate) const fn wrong(&self) -> u64 {
        self.wrong
    }

    /// Number of attempts refused so far.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Checks an attempt from `address`. `Some`: it is refused; the duration is the time until the
    /// next one is allowed.
    pub(crate) fn refuses(&mut self, now: Moment, address: Address) -> Option<Duration> {
        self.expire(now);
        let failed = *self.by_address.get(&address)?;
        let end = self.ends.get(address).filter(|_| failed >= self.max)?;
        self.refused += 1;
        Some(end.since(now))
    }

    /// Notes a wrong password from `address`.
    pub(crate) fn failed(&mut self, now: Moment, address: Address) {
        self.expire(now);
        self.wrong += 1;
        if let Some(failed) = self.by_address.get_mut(&address) {
            *failed += 1;
            return;
        }
        if self.by_address.len() >= ADDRESSES_MAX
            && let Some(forgotten) = self.ends.pop_due(Moment::MAX)
        {
            self.by_address.remove(&forgotten);
        }
        self.by_address.insert(address, 1);
        self.ends.set(address, now + self.window);
    }

    /// Forgets the addresses whose windows are over.
    fn expire(&mut self, now: Moment) {
        while let Some(address) = self.ends.pop_due(now) {
            self.by_address.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUESSER: Address = Address::numbered(1);
    const HONEST: Address = Address::numbered(2);
    const WINDOW: Duration = Duration::from_secs(60);

    fn secs(s: u64) -> Moment {
        Moment::from_secs(s)
    }

    #[test]
    fn an_address_may_fail_so_often_and_then_waits_for_the_end_of_its_window() {
        let mut failures = PasswordFailures::new(3, WINDOW);
        for s in 0..3 {
            assert_eq!(failures.refuses(secs(s), GUESSER), None);
            failures.failed(secs(s), GUESSER);
        }
        assert_eq!(failures.refuses(secs(3), GUESSER), Some(Duration::from_secs(57)));
        assert_eq!(failures.refuses(secs(3), HONEST), None, "other addresses are not concerned");
        assert_eq!(failures.refuses(secs(59), GUESSER), Some(Duration::from_secs(1)), "it does not grow");
        assert_eq!(failures.refuses(secs(60), GUESSER), None);
        assert_eq!((failures.wrong(), failures.refused()), (3, 2));
        failures.failed(secs(60), GUESSER);
        assert_eq!(failures.refuses(secs(61), GUESSER), None, "the count begins again");
    }

    #[test]
    fn thousands_of_guesses_are_as_good_as_a_few() {
        let mut failures = PasswordFailures::new(10, WINDOW);
        let mut tried = 0;
        for ms in 0..120_000 {
            let now = Moment::from_millis(ms);
            if failures.refuses(now, GUESSER).is_none() {
                tried += 1;
                failures.failed(now, GUESSER);
            }
        }
        assert_eq!(tried, 20, "in two minutes");
    }

    #[test]
    fn memory_is_bounded_whatever_addresses_there_are() {
        let mut failures = PasswordFailures::new(1, WINDOW);
        for number in 0..2 * ADDRESSES_MAX as u64 {
            failures.failed(Moment::from_millis(number), Address::numbered(number));
        }
        assert_eq!((failures.by_address.len(), failures.ends.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        let newest = Address::numbered(2 * ADDRESSES_MAX as u64 - 1);
        assert!(failures.refuses(secs(9), newest).is_some());
        assert!(failures.refuses(secs(9), GUESSER).is_none(), "forgotten");
    }
}
