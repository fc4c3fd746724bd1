//! Limits on peers that occupy a place and have not yet shown that they need it.

use crate::{Address, Moment};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A bounded set of peers that have connected and have not yet done what they connected for.
///
/// When the set is full, a newcomer displaces the oldest peer of the address with the most places.
/// An address that floods therefore evicts its own peers and no others. For a minimum age, in which
/// an honest peer completes its handshake, a peer is safe; only a newcomer from an address with
/// fewer places may displace it earlier. If no peer can be evicted, the newcomer is refused.
///
/// Cost: O(log n) per change.
#[derive(Clone, Debug)]
pub struct Pending<K> {
    max: usize,
    age_min: Duration,
    arrivals: u64,
    by_key: BTreeMap<K, Arrival>,
    /// The peers of each address, oldest first.
    by_address: BTreeMap<Address, BTreeMap<u64, K>>,
    /// Addresses by the number of their peers. Among addresses with equally many, the one with the
    /// oldest peer comes last.
    by_weight: BTreeSet<(usize, Reverse<u64>, Address)>,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    number: u64,
    address: Address,
    at: Moment,
}

impl<K: Ord + Copy> Pending<K> {
    /// An empty set of at most `max` peers (at least 1). Before the age of `age_min` a peer can be
    /// evicted only for a newcomer from an address with fewer peers.
    pub const fn new(max: usize, age_min: Duration) -> Self {
        Self {
            max: if max == 0 { 1 } else { max },
            age_min,
            arrivals: 0,
            by_key: BTreeMap::new(),
            by_address: BTreeMap::new(),
            by_weight: BTreeSet::new(),
        }
    }

    /// The number of peers in the set.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The largest number of peers.
    pub const fn max(&self) -> usize {
        self.max
    }

    /// Adds a peer. Returns the peer that must go and is no longer in the set: an evicted one, or
    /// the newcomer itself.
    pub fn insert(&mut self, now: Moment, key: K, address: Address) -> Option<K> {
        self.remove(key);
        let mut evicted = None;
        if self.by_key.len() >= self.max {
            evicted = self.evictable(now, address);
            match evicted {
                Some(other) => self.remove(other),
                None => return Some(key),
            };
        }
        self.arrivals += 1;
        let number = self.arrivals;
        self.by_key.insert(key, Arrival { number, address, at: now });
        self.change(address, |peers| {
            peers.insert(number, key);
        });
        evicted
    }

    /// Removes a peer that is gone or has done what it connected for. Returns whether it was in the
    /// set.
    pub fn remove(&mut self, key: K) -> bool {
        let Some(Arrival { number, address, .. }) = self.by_key.remove(&key) else { return false };
        self.change(address, |peers| {
            peers.remove(&number);
        });
        true
    }

    /// The peer that a newcomer from `address` may displace: the oldest one of the address with the
    /// most peers.
    pub fn evictable(&self, now: Moment, address: Address) -> Option<K> {
        let &(weight, _, heaviest) = self.by_weight.last()?;
        let own = self.by_address.get(&address).map_or(0, BTreeMap::len);
        match own + 1 < weight {
            true => self.oldest(heaviest).map(|(key, _)| key),
            false => self.evictable_of(now, heaviest),
        }
    }

    /// The oldest peer of `address`, if it has reached the minimum age.
    pub fn evictable_of(&self, now: Moment, address: Address) -> Option<K> {
        let (key, at) = self.oldest(address)?;
        (now.since(at) >= self.age_min).then_some(key)
    }

    fn oldest(&self, address: Address) -> Option<(K, Moment)> {
        let (_, key) = self.by_address.get(&address)?.first_key_value()?;
        Some((*key, self.by_key.get(key)?.at))
    }

    /// Changes the peers of `address`, and its entry in `by_weight` with them.
    fn change(&mut self, address: Address, change: impl FnOnce(&mut BTreeMap<u64, K>)) {
        let peers = self.by_address.entry(address).or_default();
        if let Some((&first, _)) = peers.first_key_value() {
            self.by_weight.remove(&(peers.len(), Reverse(first), address));
        }
        change(peers);
        match peers.first_key_value() {
            Some((&first, _)) => {
                self.by_weight.insert((peers.len(), Reverse(first), address));
            }
            None => {
                self.by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE_MIN: Duration = Duration::from_millis(100);
    const FLOOD: Address = Address::numbered(1);
    const HONEST: Address = Address::numbered(2);

    fn ms(ms: u64) -> Moment {
        Moment::from_millis(ms)
    }

    #[test]
    fn up_to_the_limit_nobody_goes_and_over_it_the_oldest() {
        let mut pending = Pending::new(3, AGE_MIN);
        for key in 0..3 {
            assert_eq!(pending.insert(ms(key), key, FLOOD), None);
        }
        assert!(pending.remove(1));
        assert_eq!(pending.insert(ms(50), 3, FLOOD), None);
        assert_eq!(pending.insert(ms(99), 4, FLOOD), Some(4), "the oldest is too young to go");
        assert_eq!(pending.insert(ms(100), 5, FLOOD), Some(0));
        assert_eq!(pending.insert(ms(101), 6, FLOOD), Some(6), "2 came at 2 ms");
        assert_eq!((pending.len(), pending.remove(6), pending.remove(2)), (3, false, true));
    }

    #[test]
    fn a_thousand_silent_peers_of_one_address_keep_nobody_else_out() {
        let mut pending = Pending::new(256, AGE_MIN);
        for key in 0..1050 {
            let evicted = pending.insert(ms(0), key, FLOOD);
            assert_eq!(evicted, (key >= 256).then_some(key), "its own newcomers are refused");
        }
        for key in 2000..2128 {
            assert_eq!(pending.insert(ms(1), key, HONEST), Some(key - 2000), "the flood makes room at once");
        }
        assert_eq!(pending.len(), 256);
    }

    #[test]
    fn churn_evicts_itself_whatever_an_honest_peer_needs() {
        let mut pending = Pending::new(256, AGE_MIN);
        let (mut honest, mut served) = (BTreeMap::new(), 0);
        for step in 0..50_000 {
            // Five connections a millisecond for ten seconds, and an honest peer with a delay of 50
            // ms every 10 ms.
            let now = ms(step / 5);
            let evicted = pending.insert(now, step, FLOOD);
            assert!(evicted.is_none_or(|evicted| evicted < 100_000), "{evicted:?} was honest");
            if step % 50 == 0 {
                assert!(pending.insert(now, 100_000 + step, HONEST).is_none_or(|gone| gone < 100_000));
                honest.insert(now + Duration::from_millis(50), 100_000 + step);
            }
            while let Some(entry) = honest.first_entry().filter(|entry| *entry.key() <= now) {
                assert!(pending.remove(entry.remove()), "it kept its place");
                served += 1;
            }
        }
        assert!(served > 900, "{served}");
    }

    #[test]
    fn of_addresses_with_as_many_peers_the_oldest_peer_goes() {
        let mut pending = Pending::new(3, AGE_MIN);
        for key in 0..3 {
            assert_eq!(pending.insert(ms(key), key, Address::numbered(10 - key)), None);
        }
        assert_eq!(pending.insert(ms(50), 3, Address::numbered(20)), Some(3), "all are young");
        assert_eq!(pending.insert(ms(100), 4, Address::numbered(20)), Some(0));
        assert_eq!(pending.evictable(ms(200), Address::numbered(30)), Some(1));
        assert_eq!(pending.evictable_of(ms(200), Address::numbered(20)), Some(4));
        assert_eq!(pending.evictable_of(ms(199), Address::numbered(20)), None);
    }

    #[test]
    fn a_key_that_comes_again_has_moved() {
        let mut pending = Pending::new(2, AGE_MIN);
        pending.insert(ms(0), 7, FLOOD);
        pending.insert(ms(1), 7, HONEST);
        assert_eq!((pending.len(), pending.max(), pending.is_empty()), (1, 2, false));
        assert_eq!(pending.evictable_of(ms(500), FLOOD), None);
        assert_eq!(pending.evictable_of(ms(500), HONEST), Some(7));
    }
}
