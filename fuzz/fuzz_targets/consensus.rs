//! Arbitrary messages to the members of a group: a leader, two followers and a node that is not yet
//! a member.
//!
//! Input: chunks, each a control byte, a length byte and that many bytes. The two low bits of the
//! control byte select the receiver, the next two the sender. Bit 4: the bytes are a whole message;
//! otherwise they get the head of a message of this group, of the kind given by their first byte.
//! Bit 5: time passes first. Bit 6: the receiver proposes the bytes instead.
#![no_main]

use base::{Moment, NodeKey, Seed};
use bytes::{BufMut, Bytes, BytesMut};
use consensus::{Config, Consensus, Event, VERSION};
use libfuzzer_sys::fuzz_target;
use meshrti_fuzz::chunks;
use std::collections::BTreeMap;
use std::time::Duration;

type Group = BTreeMap<NodeKey, Consensus>;

/// Delivers messages between the members. The creator's first messages make two of the others
/// members.
fn settle(group: &mut Group, now: Moment) {
    for _ in 0..20 {
        let mut mail = Vec::new();
        for (from, member) in group.iter_mut() {
            while member.poll_committed().is_some() {}
            while let Some(event) = member.poll_event() {
                if event == Event::SnapshotWanted
                    && let Ok(point) = member.snapshot_point()
                {
                    let _ = member.provide_snapshot(now, point, b"state");
                }
            }
            mail.extend(std::iter::from_fn(|| member.poll_message()).map(|(to, m)| (*from, to, m)));
        }
        for (from, to, message) in mail {
            if let Some(member) = group.get_mut(&to) {
                let _ = member.handle_message(now, from, message);
            }
        }
    }
}

fn pass(group: &mut Group, now: &mut Moment, steps: u32) {
    for _ in 0..steps {
        *now += Duration::from_millis(50);
        for member in group.values_mut() {
            member.handle_timeout(*now);
        }
        settle(group, *now);
    }
}

fuzz_target!(|data: &[u8]| {
    let config = Config { log_entries_max: 8, ..Config::default() };
    let mut now = Moment::ZERO;
    let mut creator =
        Consensus::bootstrap(NodeKey(1), Seed(1), config.clone()).expect("a sound configuration");
    creator.add(now, NodeKey(2));
    creator.add(now, NodeKey(3));
    let mut group = Group::from([(NodeKey(1), creator)]);
    for key in 2..=4 {
        let joiner = Consensus::joiner(NodeKey(key), Seed(key), config.clone());
        group.insert(NodeKey(key), joiner.expect("a sound configuration"));
    }
    settle(&mut group, now);
    pass(&mut group, &mut now, 4);
    for ([control], chunk) in chunks(data) {
        if control & 32 != 0 {
            pass(&mut group, &mut now, 3);
        }
        let (to, from) = (NodeKey(1 + u64::from(control & 3)), NodeKey(1 + u64::from(control >> 2 & 3)));
        let member = group.get_mut(&to).expect("four members");
        if control & 64 != 0 {
            let _ = member.propose(now, Bytes::copy_from_slice(chunk));
        } else {
            let mut message = BytesMut::new();
            let mut body = chunk;
            if let (0, [kind, fields @ ..]) = (control & 16, chunk) {
                message.put_u8(VERSION);
                message.put_u8(1 + kind % 6);
                message.put_u64_le(1);
                body = fields;
            }
            message.put_slice(body);
            let _ = member.handle_message(now, from, message.freeze());
        }
        settle(&mut group, now);
    }
    pass(&mut group, &mut now, 20);
});
