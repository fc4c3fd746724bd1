//! Traffic patterns: the destinations of messages.

use base::{Rng, Seed};

use crate::arrivals::{below, unit};

/// Destinations of messages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pattern {
    /// Any other host, drawn for each message.
    Uniform,
    /// One other host for each host, drawn once so that each host receives from exactly one.
    Permutation,
    /// The host this many numbers further, wrapping around.
    Shift(u32),
    /// Every other host in turn. Each host begins with the next one, so that no host receives from
    /// two at a time.
    AllToAll,
    /// The host whose number has the bits in reverse; the number of hosts must be a power of two.
    /// Hosts that would send to themselves are silent.
    BitReversal,
    /// The host at the mirrored position when all are written row by row into a square; the number
    /// of hosts must be a square. Hosts on the diagonal are silent.
    Transpose,
    /// The host nearly half of the way around: (hosts + 1) / 2 - 1 numbers further.
    Tornado,
    /// Any host at most this many numbers away, wrapping around, drawn for each message.
    Near(u32),
    /// A share of the messages (0 to 1) goes to one host, the others are uniform.
    HotSpot {
        /// The host.
        host: u32,
        /// The share.
        share: f64,
    },
}

/// The reason why a pattern does not suit a number of hosts.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PatternError {
    /// There is no other host to send to.
    #[error("there is one host: a message needs another one")]
    Alone,
    /// The number is not a power of two.
    #[error("bit reversal needs a number of hosts that is a power of two, not {0}")]
    NoPowerOfTwo(u32),
    /// The number is not a square.
    #[error("a transpose needs a number of hosts that is a square, not {0}")]
    NoSquare(u32),
    /// The ranges of hosts on both sides overlap.
    #[error("hosts at most {distance} numbers away are not {distance} on each side: there are {hosts} hosts, which allow 1 to {most}", most = (.hosts - 1) / 2)]
    NotNear {
        /// The largest distance.
        distance: u32,
        /// Number of hosts.
        hosts: u32,
    },
    /// There is no such host.
    #[error("host {host} is none of the {hosts} hosts, which are numbered from 0")]
    NoHost {
        /// The number given.
        host: u32,
        /// Number of hosts.
        hosts: u32,
    },
    /// The share is not from 0 to 1.
    #[error("the share of a hot spot is {0}; expected 0 to 1")]
    NoShare(f64),
    /// The shift is a multiple of the number of hosts.
    #[error("a shift of {shift} leads each of the {hosts} hosts to itself")]
    Home {
        /// The shift.
        shift: u32,
        /// Number of hosts.
        hosts: u32,
    },
}

/// Draws the destination of each message. Every host has a random stream of its own.
#[derive(Clone, Debug)]
pub struct Destinations {
    pattern: Pattern,
    hosts: u32,
    /// By host; empty if nothing is drawn for each message.
    streams: Vec<Rng>,
    /// By host: its destination in a permutation; with all to all, the number of messages it has
    /// sent.
    fixed: Vec<u32>,
}

impl Destinations {
    /// Destinations for `hosts` hosts.
    ///
    /// # Errors
    /// The pattern does not suit that number.
    pub fn new(pattern: Pattern, hosts: u32, seed: Seed) -> Result<Self, PatternError> {
        if hosts < 2 {
            return Err(PatternError::Alone);
        }
        let seed = seed.split("destinations");
        let stream = |host: u32| seed.split_index(u64::from(host)).rng();
        let mut destinations = Self { pattern, hosts, streams: Vec::new(), fixed: Vec::new() };
        match pattern {
            Pattern::Uniform => destinations.streams = (0..hosts).map(stream).collect(),
            Pattern::HotSpot { host, .. } if host >= hosts => {
                return Err(PatternError::NoHost { host, hosts });
            }
            Pattern::HotSpot { share, .. } if !(0.0..=1.0).contains(&share) => {
                return Err(PatternError::NoShare(share));
            }
            Pattern::HotSpot { .. } => destinations.streams = (0..hosts).map(stream).collect(),
            Pattern::Near(distance) if distance == 0 || distance > (hosts - 1) / 2 => {
                return Err(PatternError::NotNear { distance, hosts });
            }
            Pattern::Near(_) => destinations.streams = (0..hosts).map(stream).collect(),
            Pattern::Transpose if hosts.isqrt().pow(2) != hosts => {
                return Err(PatternError::NoSquare(hosts));
            }
            Pattern::Tornado if hosts == 2 => return Err(PatternError::Home { shift: 0, hosts }),
            Pattern::Shift(shift) if shift % hosts == 0 => return Err(PatternError::Home { shift, hosts }),
            Pattern::BitReversal if !hosts.is_power_of_two() => {
                return Err(PatternError::NoPowerOfTwo(hosts));
            }
            Pattern::Shift(_) | Pattern::BitReversal | Pattern::Transpose | Pattern::Tornado => {}
            Pattern::AllToAll => destinations.fixed = vec![0; hosts as usize],
            Pattern::Permutation => destinations.fixed = cycle(hosts, &mut seed.rng()),
        }
        Ok(destinations)
    }

    /// True when each host always sends to the same one.
    pub fn are_fixed(&self) -> bool {
        self.streams.is_empty() && self.pattern != Pattern::AllToAll
    }

    /// True when a host never sends.
    pub fn is_silent(&self, host: u32) -> bool {
        match self.pattern {
            Pattern::BitReversal => reversed(host, self.hosts) == host,
            Pattern::Transpose => transposed(host, self.hosts) == host,
            _ => false,
        }
    }

    /// The destination of the next message of a host.
    pub fn next(&mut self, host: u32) -> u32 {
        match self.pattern {
            Pattern::Permutation => self.fixed[host as usize],
            Pattern::Shift(shift) => self.further(host, shift),
            Pattern::Tornado => self.further(host, self.hosts.div_ceil(2) - 1),
            Pattern::BitReversal => reversed(host, self.hosts),
            Pattern::Transpose => transposed(host, self.hosts),
            Pattern::Near(distance) => {
                let drawn = below(&mut self.streams[host as usize], 2 * distance);
                // Forwards first, then backwards, which is nearly all the way around.
                let forwards = if drawn < distance { drawn + 1 } else { self.hosts + distance - drawn - 1 };
                self.further(host, forwards)
            }
            Pattern::AllToAll => {
                let sent = &mut self.fixed[host as usize];
                let step = 1 + *sent % (self.hosts - 1);
                *sent = step;
                self.further(host, step)
            }
            Pattern::Uniform => self.other(host),
            Pattern::HotSpot { host: spot, share } => {
                let hot = unit(&mut self.streams[host as usize]) < share;
                if hot && host != spot { spot } else { self.other(host) }
            }
        }
    }

    /// The host `shift` numbers further, wrapping around.
    fn further(&self, host: u32, shift: u32) -> u32 {
        ((u64::from(host) + u64::from(shift)) % u64::from(self.hosts)) as u32
    }

    /// Any host but this one.
    fn other(&mut self, host: u32) -> u32 {
        let drawn = below(&mut self.streams[host as usize], self.hosts - 1);
        drawn + u32::from(drawn >= host)
    }
}

fn reversed(host: u32, hosts: u32) -> u32 {
    host.reverse_bits() >> (u32::BITS - hosts.trailing_zeros())
}

fn transposed(host: u32, hosts: u32) -> u32 {
    let side = hosts.isqrt();
    host % side * side + host / side
}

/// A random permutation that is one cycle (Sattolo 1986), so that no host sends to itself.
fn cycle(hosts: u32, stream: &mut Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..hosts).collect();
    for last in (1..hosts).rev() {
        order.swap(last as usize, below(stream, last) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn patterns_send_where_they_say() {
        let new = |pattern| Destinations::new(pattern, 16, Seed(1)).unwrap();
        let mut permutation = new(Pattern::Permutation);
        let all: BTreeSet<u32> = (0..16).map(|host| permutation.next(host)).collect();
        assert_eq!(all.len(), 16);
        assert!((0..16).all(|host| permutation.next(host) != host && permutation.are_fixed()));
        let mut shift = new(Pattern::Shift(5));
        assert_eq!([shift.next(0), shift.next(15)], [5, 4]);
        let mut reversal = new(Pattern::BitReversal);
        assert_eq!((reversal.next(1), reversal.next(12)), (8, 3));
        assert!(reversal.is_silent(6) && !reversal.is_silent(1));
        let mut transpose = new(Pattern::Transpose);
        assert_eq!((transpose.next(1), transpose.next(11)), (4, 14));
        assert!(transpose.is_silent(5) && !transpose.is_silent(4));
        let mut tornado = new(Pattern::Tornado);
        assert_eq!([tornado.next(0), tornado.next(12)], [7, 3]);
        let mut near = new(Pattern::Near(2));
        let reached: BTreeSet<u32> = (0..100).map(|_| near.next(1)).collect();
        assert_eq!(reached, BTreeSet::from([15, 0, 2, 3]));
        let mut uniform = new(Pattern::Uniform);
        let mut counts = [0; 16];
        (0..15_000).for_each(|_| counts[uniform.next(3) as usize] += 1);
        assert_eq!(counts[3], 0);
        assert!(counts.iter().enumerate().all(|(host, count)| host == 3 || (850..1_150).contains(count)));
        let mut hot = new(Pattern::HotSpot { host: 2, share: 0.5 });
        let hits = (0..1_000).filter(|_| hot.next(7) == 2).count();
        assert!((480..600).contains(&hits), "{hits}");
    }

    #[test]
    fn patterns_that_do_not_suit_are_told() {
        let say = |pattern, hosts| Destinations::new(pattern, hosts, Seed(1)).unwrap_err().to_string();
        assert!(say(Pattern::Uniform, 1).contains("one host"));
        assert!(say(Pattern::BitReversal, 12).contains("power of two, not 12"));
        assert!(say(Pattern::Transpose, 12).contains("a square, not 12"));
        assert!(say(Pattern::Tornado, 2).contains("a shift of 0"));
        assert!(say(Pattern::Near(0), 4).contains("there are 4 hosts, which allow 1 to 1"));
        assert!(say(Pattern::Near(2), 4).contains("at most 2 numbers away"));
        assert!(say(Pattern::Shift(8), 4).contains("leads each of the 4 hosts to itself"));
        assert!(say(Pattern::HotSpot { host: 9, share: 0.1 }, 4).contains("host 9 is none of the 4"));
        assert!(say(Pattern::HotSpot { host: 1, share: 1.5 }, 4).contains("1.5; expected 0 to 1"));
    }
}
