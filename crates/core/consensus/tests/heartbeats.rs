//! The traffic of a large group while nothing happens.

use std::collections::BTreeMap;
use std::time::Duration;

use base::{Moment, NodeKey, Seed};
use consensus::{Committed, Config, Consensus, Event, Role};

const MEMBERS: u64 = 100;

struct Group {
    members: BTreeMap<NodeKey, Consensus>,
    now: Moment,
    messages: u64,
    applied: BTreeMap<NodeKey, u64>,
}

impl Group {
    fn of(members: u64) -> Self {
        let creator = Consensus::bootstrap(NodeKey(1), Seed(1), Config::default()).expect("sound");
        let members_of_one = BTreeMap::from([(NodeKey(1), creator)]);
        let mut group =
            Self { members: members_of_one, now: Moment::ZERO, messages: 0, applied: BTreeMap::new() };
        for key in (2..=members).map(NodeKey) {
            let joiner = Consensus::joiner(key, Seed(key.0), Config::default()).expect("sound");
            group.members.insert(key, joiner);
            let now = group.now;
            group.at(1).add(now, key);
        }
        group.run(20_000);
        group
    }

    fn at(&mut self, key: u64) -> &mut Consensus {
        self.members.get_mut(&NodeKey(key)).expect("a member")
    }

    /// Delivers messages until there are none; those to dead members are counted too.
    fn settle(&mut self) {
        loop {
            let mut mail = Vec::new();
            for (from, member) in &mut self.members {
                while let Some(committed) = member.poll_committed() {
                    let entry = matches!(committed, Committed::Entry { .. });
                    *self.applied.entry(*from).or_default() += u64::from(entry);
                }
                while let Some(event) = member.poll_event() {
                    if event == Event::SnapshotWanted {
                        let point = member.snapshot_point().expect("all is taken");
                        member.provide_snapshot(self.now, point, b"state").expect("small");
                    }
                }
                mail.extend(std::iter::from_fn(|| member.poll_message()).map(|(to, m)| (*from, to, m)));
            }
            if mail.is_empty() {
                return;
            }
            self.messages += mail.len() as u64;
            for (from, to, message) in mail {
                if let Some(member) = self.members.get_mut(&to) {
                    member.handle_message(self.now, from, message).expect("sound");
                }
            }
        }
    }

    fn run(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while self.now < end {
            self.now += Duration::from_millis(10);
            for member in self.members.values_mut() {
                if member.poll_timeout().is_some_and(|at| at <= self.now) {
                    member.handle_timeout(self.now);
                }
            }
            self.settle();
        }
    }

    fn all_have_quorum(&self) -> bool {
        self.members.values().all(Consensus::has_quorum)
    }
}

#[test]
fn a_hundred_members_at_rest_say_little_and_know_their_leader() {
    let mut group = Group::of(MEMBERS);
    let roles: Vec<Role> = group.at(1).members().values().copied().collect();
    assert_eq!(roles.len() as u64, MEMBERS);
    assert_eq!(roles.iter().filter(|role| **role == Role::Voter).count(), 9);
    let before = group.messages;
    for _ in 0..100 {
        group.run(100);
        assert!(group.all_have_quorum());
    }
    let per_second = (group.messages - before) / 10;
    // Eight voters get heartbeats ten times a second, ninety-one learners about once, and all
    // answer.
    assert!(per_second <= 2 * (80 + 110), "{per_second} messages a second");

    // Proposals still reach all members at once.
    let (now, before) = (group.now, group.applied.clone());
    group.at(77).propose(now, "news".into()).expect("a member");
    group.settle();
    group.run(100);
    assert!(group.applied.iter().all(|(key, count)| *count == before.get(key).unwrap_or(&0) + 1));

    // The leader dies: learners know the next leader as soon as there is one.
    let leader = group.at(50).leader().expect("there is one");
    group.members.remove(&leader);
    group.run(1_500);
    assert!(group.all_have_quorum());
    assert!(group.members.values().all(|member| member.leader().is_some_and(|key| key != leader)));
}
