//! Network identities: the creator of a network and the time of its foundation.

use crate::Seed;

/// Low bits of a network's number, which hold the time of its foundation. The bits above them
/// identify the creator.
const SINCE_BITS: u32 = 44;

/// The number of the network that the node called `creator` creates, `millis` milliseconds after
/// 1970 (or after the start of a simulation). Never 0. The creator's name is hashed to 20 bits; the
/// time takes 44. Until the year 2527 a network created later by the same node has a greater
/// number.
pub fn network_number(creator: &str, millis: u64) -> u64 {
    let whose = Seed(0).split(creator).0 >> SINCE_BITS << SINCE_BITS;
    (whose | network_since(millis)).max(1)
}

/// The number of the network that replaces `previous` after that one is lost. It has the same
/// creator, and it is always greater, even if the clock has gone back.
pub fn successor_number(previous: u64, millis: u64) -> u64 {
    let since = network_since(millis).max(network_since(previous) + 1);
    (previous >> SINCE_BITS << SINCE_BITS) | since
}

/// The part of a network's number that holds the time of its foundation.
pub const fn network_since(number: u64) -> u64 {
    number & ((1 << SINCE_BITS) - 1)
}

/// Whether two networks have the same creator.
pub const fn is_same_creator(a: u64, b: u64) -> bool {
    a >> SINCE_BITS == b >> SINCE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_the_creator_and_the_time() {
        let number = network_number("NORFOLK", 1_795_357_200_000);
        assert_eq!(network_since(number), 1_795_357_200_000);
        assert!(!is_same_creator(number, network_number("MAUI", 1_795_357_200_000)));
        assert_ne!(network_number("", 0), 0);
    }

    #[test]
    fn a_successor_is_greater_even_when_the_clock_has_gone_back() {
        let first = network_number("NORFOLK", 5_000);
        for millis in [0, 5_000, 9_000] {
            let second = successor_number(first, millis);
            assert!(second > first && is_same_creator(first, second));
        }
    }
}
