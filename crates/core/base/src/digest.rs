//! A fingerprint of a run.

use std::fmt;

/// A running 64-bit hash of everything that happened, in order. Equal digests mean, for all
/// practical purposes, equal runs. The value is the same on every machine. The hash is not
/// cryptographic.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(u64);

impl Digest {
    /// The digest of an empty run.
    pub const EMPTY: Digest = Digest(0xcbf2_9ce4_8422_2325);

    /// Adds one word.
    pub fn word(&mut self, word: u64) {
        // For each word a bijection of the state, and for each state a bijection of the word. The
        // added constant keeps zeros from being absorbed.
        let mixed = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (mixed ^ (mixed >> 32)).wrapping_add(0xd1b5_4a32_d192_ed03);
    }

    /// Adds the number of octets, then the octets.
    pub fn octets(&mut self, octets: &[u8]) {
        self.word(octets.len() as u64);
        let (words, rest) = octets.as_chunks();
        for &word in words {
            self.word(u64::from_le_bytes(word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(last));
        }
    }

    /// The hash so far.
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&[u8]]) -> u64 {
        let mut digest = Digest::EMPTY;
        parts.iter().for_each(|part| digest.octets(part));
        digest.value()
    }

    #[test]
    fn every_octet_boundary_and_order_counts() {
        let all = [
            of(&[]),
            of(&[b""]),
            of(&[b"", b""]),
            of(&[b"\0"]),
            of(&[b"\0\0"]),
            of(&[b"ab", b"c"]),
            of(&[b"a", b"bc"]),
            of(&[b"c", b"ab"]),
            of(&[b"12345678"]),
            of(&[b"123456789"]),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b), "{i}");
        }
    }

    #[test]
    fn is_the_same_everywhere() {
        assert_eq!(of(&[b"federate"]), of(&[b"federate"]));
        assert_eq!(Digest::EMPTY.to_string(), "cbf29ce484222325");
    }
}
