//! Messages that no member would send: each is refused or taken, and the member goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use base::{Moment, NodeKey, Rng, Seed};
use bytes::{Bytes, BytesMut};
use consensus::{Committed, Config, Consensus, Event, MessageError};
use rand_core::RngCore;

/// A group whose messages pass an attacker that alters some of them.
struct Group {
    members: BTreeMap<NodeKey, Consensus>,
    now: Moment,
    rng: Rng,
    /// Earlier messages, to be altered and sent again to any member.
    seen: Vec<Bytes>,
    refused: usize,
    taken: usize,
}

/// Numbers at boundaries.
const NUMBERS: [u64; 12] =
    [0, 1, 2, 3, 1 << 31, 1 << 47, 1 << 48, (1 << 48) + 1, 1 << 59, 1 << 60, u64::MAX - 1, u64::MAX];

impl Group {
    fn new(seed: u64) -> Self {
        let config = Config { log_entries_max: 10, ..Config::default() };
        let mut members = BTreeMap::new();
        let mut creator = Consensus::bootstrap(NodeKey(1), Seed(seed), config.clone()).unwrap();
        for key in 2..=5 {
            members
                .insert(NodeKey(key), Consensus::joiner(NodeKey(key), Seed(seed), config.clone()).unwrap());
            creator.add(Moment::ZERO, NodeKey(key));
        }
        members.insert(NodeKey(1), creator);
        let rng = Seed(seed).split("hostile").rng();
        Self { members, now: Moment::ZERO, rng, seen: Vec::new(), refused: 0, taken: 0 }
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.rng.next_u64() % n as u64).unwrap()
    }

    fn run(&mut self, ms: u64, altered: usize) {
        let end = self.now + Duration::from_millis(ms);
        while self.now < end {
            self.now += Duration::from_millis(10);
            let keys: Vec<NodeKey> = self.members.keys().copied().collect();
            for key in keys {
                let propose = self.below(20) == 0;
                let now = self.now;
                let member = self.members.get_mut(&key).unwrap();
                if member.poll_timeout().is_some_and(|due| due <= now) {
                    member.handle_timeout(now);
                }
                if propose {
                    let _ = member.propose(now, Bytes::from_static(b"proposal"));
                }
                self.carry(key, altered);
            }
        }
    }

    fn carry(&mut self, from: NodeKey, altered: usize) {
        let member = self.members.get_mut(&from).unwrap();
        while let Some(committed) = member.poll_committed() {
            if let Committed::Restore(state) = committed {
                assert!(state.len() < 100_000);
            }
        }
        while let Some(event) = member.poll_event() {
            if event == Event::SnapshotWanted {
                let point = member.snapshot_point().unwrap();
                member.provide_snapshot(self.now, point, b"state").unwrap();
            }
        }
        let mail: Vec<_> = std::iter::from_fn(|| member.poll_message()).collect();
        for (to, message) in mail {
            self.deliver(from, to, message.clone());
            for _ in 0..altered {
                let bad = self.alter(&message);
                let to = NodeKey(1 + self.below(5) as u64);
                let from = NodeKey(1 + self.below(7) as u64);
                self.deliver(from, to, bad);
            }
            if self.seen.len() < 200 {
                self.seen.push(message);
            } else {
                let at = self.below(200);
                self.seen[at] = message;
            }
        }
    }

    fn deliver(&mut self, from: NodeKey, to: NodeKey, message: Bytes) {
        let now = self.now;
        let Some(member) = self.members.get_mut(&to) else { return };
        match member.handle_message(now, from, message) {
            Ok(()) => self.taken += 1,
            Err(_) => self.refused += 1,
        }
    }

    /// The message or an earlier one, with a few bytes or numbers replaced, cut short, or extended.
    fn alter(&mut self, message: &Bytes) -> Bytes {
        let earlier = self.below(self.seen.len().max(1));
        let from = if self.below(2) == 0 { self.seen.get(earlier).unwrap_or(message) } else { message };
        let mut bytes = BytesMut::from(&from[..]);
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            match self.below(8) {
                0 => bytes[at] = self.rng.next_u64() as u8,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.extend_from_slice(&[0; 3]),
                3 => bytes[at] = bytes[at].wrapping_add(1),
                4 if bytes.len() > 10 => bytes[10] = 1 + self.below(10) as u8,
                _ => self.replace_number(&mut bytes),
            }
        }
        bytes.freeze()
    }

    /// Numbers start after the head of 10 bytes and the kind.
    fn replace_number(&mut self, bytes: &mut BytesMut) {
        let fields = bytes.len().saturating_sub(11) / 8;
        if fields == 0 {
            return;
        }
        let at = 11 + 8 * self.below(fields.min(8));
        let old = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let pick = self.below(NUMBERS.len());
        let new = match self.below(4) {
            0 => NUMBERS[pick],
            1 => old.wrapping_add(1),
            2 => old.wrapping_sub(1),
            _ => old.wrapping_add(self.below(20) as u64),
        };
        bytes[at..at + 8].copy_from_slice(&new.to_le_bytes());
    }
}

#[test]
fn altered_messages_do_no_harm_to_the_process() {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..60 {
        let mut group = Group::new(seed);
        group.run(1_000, 0);
        group.run(1_500, 1 + seed as usize % 4);
        group.run(500, 0);
        refused += group.refused;
        taken += group.taken;
    }
    assert!(refused > 1_000 && taken > 10_000, "refused {refused}, taken {taken}");
}

#[test]
fn noise_is_refused() {
    let mut rng = Seed(3).rng();
    let mut group = Group::new(3);
    group.run(1_000, 0);
    for len in 0..2_000 {
        let mut bytes = vec![0; len % 300];
        rng.fill_bytes(&mut bytes);
        if len % 2 == 0 && bytes.len() > 2 {
            // The right version and an existing kind.
            (bytes[0], bytes[1]) = (consensus::VERSION, 1 + bytes[1] % 6);
        }
        let member = group.members.get_mut(&NodeKey(1)).unwrap();
        assert!(member.handle_message(group.now, NodeKey(2), bytes.into()).is_err());
    }
}

#[test]
fn errors_say_what_and_where() {
    let mut member = Consensus::bootstrap(NodeKey(1), Seed(1), Config::default()).unwrap();
    let mut handle = |bytes: &[u8]| {
        let handled = member.handle_message(Moment::ZERO, NodeKey(2), Bytes::copy_from_slice(bytes));
        handled.map_err(|error| error.to_string())
    };
    let refused = |text: &str| Err(text.to_owned());
    assert_eq!(handle(b""), refused("version at byte 0 needs 1 bytes, 0 are left"));
    assert_eq!(handle(&[9]), refused("consensus message of version 9, this node speaks 1"));
    let head = |kind: u8| [&[1, kind, 1, 0, 0, 0, 0, 0, 0, 0][..]].concat();
    assert_eq!(handle(&head(77)), refused("kind at byte 1 has no value 77"));
    assert_eq!(handle(&head(3)), refused("term at byte 10 needs 8 bytes, 0 are left"));
    let long = [&head(6)[..], &[0]].concat();
    assert_eq!(handle(&long), refused("1 bytes too many from byte 10 on"));
    let other = [1, 6, 9, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        handle(&other),
        refused("consensus message of the group of k9, this node belongs to the group of k1")
    );
    let from_me = member.handle_message(Moment::ZERO, NodeKey(1), Bytes::new());
    assert_eq!(from_me, Err(MessageError::Sender { from: NodeKey(1) }));
}
