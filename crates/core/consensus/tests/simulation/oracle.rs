//! Invariants of every run: one sequence, with each proposal once and in the order of its proposer.

use std::collections::BTreeMap;

use base::NodeKey;
use bytes::Bytes;
use consensus::Serial;

/// The number of entries that a member has applied, and their digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) count: usize,
    pub(crate) digest: u64,
}

pub(crate) const NOTHING: Applied = Applied { count: 0, digest: 0xcbf2_9ce4_8422_2325 };

impl Applied {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.count as u64, self.digest].iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        Self { count: usize::try_from(number(0)).unwrap(), digest: number(8) }
    }
}

/// FNV-1a.
pub(crate) fn fold(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |d, byte| (d ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The one sequence, as recorded from the first member to apply each entry.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// The state after each entry.
    sequence: Vec<Applied>,
    last: BTreeMap<NodeKey, u64>,
}

impl Oracle {
    /// Checks one more entry of a member that has applied `at`.
    pub(crate) fn apply(&mut self, at: Applied, from: NodeKey, serial: Serial, body: &Bytes) -> Applied {
        let digest = fold(fold(fold(at.digest, &from.0.to_le_bytes()), &serial.0.to_le_bytes()), body);
        let next = Applied { count: at.count + 1, digest };
        match self.sequence.get(at.count) {
            Some(known) => assert_eq!(*known, next, "another entry at {}: {from} {serial}", at.count),
            None => {
                assert_eq!(self.sequence.len(), at.count);
                let last = self.last.entry(from).or_insert(0);
                assert_eq!(serial.0, *last + 1, "proposals of {from} once and in order");
                assert!(body.starts_with(&body_head(from, serial.0)), "the body that was proposed");
                *last = serial.0;
                self.sequence.push(next);
            }
        }
        next
    }

    /// Checks that a member takes over a state of another member.
    pub(crate) fn restore(&self, before: Applied, after: Applied) {
        assert!(after.count >= before.count, "a snapshot goes forward");
        let known = if after.count == 0 { NOTHING } else { self.sequence[after.count - 1] };
        assert_eq!(known, after, "a state that was");
    }

    pub(crate) fn len(&self) -> usize {
        self.sequence.len()
    }

    pub(crate) fn last_of(&self, key: NodeKey) -> u64 {
        self.last.get(&key).copied().unwrap_or(0)
    }

    pub(crate) fn digest(&self) -> u64 {
        self.sequence.last().copied().unwrap_or(NOTHING).digest
    }
}

/// The first octets of the body of a proposal.
pub(crate) fn body_head(key: NodeKey, serial: u64) -> [u8; 16] {
    let mut head = [0; 16];
    head[..8].copy_from_slice(&key.0.to_le_bytes());
    head[8..].copy_from_slice(&serial.to_le_bytes());
    head
}
