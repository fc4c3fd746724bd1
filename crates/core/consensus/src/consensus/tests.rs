//! Cases of one, two and three members, with messages carried by hand.

use std::collections::BTreeMap;

use super::*;

/// Members whose messages all arrive, in order, when the test settles the group.
struct Group {
    members: BTreeMap<NodeKey, Consensus>,
    now: Moment,
    /// Applied bodies of each member.
    applied: BTreeMap<NodeKey, Vec<(NodeKey, u64, Bytes)>>,
    /// Messages from or to these members are lost.
    cut: Vec<NodeKey>,
    /// Long messages to a member behind a slow link, which are still on their way.
    delayed: Option<(NodeKey, Vec<(NodeKey, Bytes)>)>,
    /// A member that was removed ends at once, and answers nobody any more.
    end_removed: bool,
    config: Config,
}

const A: NodeKey = NodeKey(10);
const B: NodeKey = NodeKey(20);
const C: NodeKey = NodeKey(30);
const D: NodeKey = NodeKey(40);

impl Group {
    fn new(config: Config) -> Self {
        let creator = Consensus::bootstrap(A, Seed(1), config.clone()).unwrap();
        let (members, applied) = (BTreeMap::from([(A, creator)]), BTreeMap::new());
        let (cut, delayed, end_removed) = (Vec::new(), None, false);
        Self { members, now: Moment::ZERO, applied, cut, delayed, end_removed, config }
    }

    /// A group of the creator and the members that it added, all caught up.
    fn of(others: &[NodeKey], config: Config) -> Self {
        let mut group = Self::new(config);
        for key in others {
            group.join(*key);
        }
        group.run(3_000);
        group
    }

    fn join(&mut self, key: NodeKey) {
        self.members.insert(key, Consensus::joiner(key, Seed(1), self.config.clone()).unwrap());
        let now = self.now;
        self.at(A).add(now, key);
        self.run(500);
    }

    fn at(&mut self, key: NodeKey) -> &mut Consensus {
        self.members.get_mut(&key).unwrap()
    }

    fn propose(&mut self, key: NodeKey, body: &str) {
        let (now, body) = (self.now, Bytes::copy_from_slice(body.as_bytes()));
        self.at(key).propose(now, body).unwrap();
        self.settle();
    }

    /// Carries messages until there are none.
    fn settle(&mut self) {
        while self.round() {}
    }

    /// Carries the messages that there are now. Returns whether there were any.
    fn round(&mut self) -> bool {
        let mut mail = Vec::new();
        for (from, member) in &mut self.members {
            let seen = self.applied.entry(*from).or_default();
            while let Some(committed) = member.poll_committed() {
                match committed {
                    Committed::Entry { from, serial, body } => seen.push((from, serial.0, body)),
                    Committed::Restore(state) => *seen = load(&state),
                }
            }
            while let Some(event) = member.poll_event() {
                if event == Event::SnapshotWanted {
                    let point = member.snapshot_point().unwrap();
                    member.provide_snapshot(self.now, point, &save(seen)).unwrap();
                }
            }
            mail.extend(std::iter::from_fn(|| member.poll_message()).map(|(to, m)| (*from, to, m)));
        }
        if self.end_removed {
            self.members.retain(|_, member| !member.is_removed());
        }
        if mail.is_empty() {
            return false;
        }
        for (from, to, message) in mail {
            if self.cut.contains(&from) || self.cut.contains(&to) {
                continue;
            }
            if let Some((slow, delayed)) = &mut self.delayed
                && *slow == to
                && message.len() > 1_000
            {
                delayed.push((from, message));
                continue;
            }
            if let Some(member) = self.members.get_mut(&to) {
                member.handle_message(self.now, from, message).unwrap();
            }
        }
        true
    }

    fn run(&mut self, ms: u64) {
        self.settle();
        let end = self.now + std::time::Duration::from_millis(ms);
        while self.now < end {
            self.now += std::time::Duration::from_millis(10);
            for member in self.members.values_mut() {
                if member.poll_timeout().is_some_and(|due| due <= self.now) {
                    member.handle_timeout(self.now);
                }
            }
            self.settle();
        }
    }

    fn bodies(&self, key: NodeKey) -> Vec<&[u8]> {
        self.applied[&key].iter().map(|(_, _, body)| &body[..]).collect()
    }

    fn roles(&self, key: NodeKey) -> Vec<(u64, Role)> {
        self.members[&key].members().iter().map(|(key, role)| (key.0, *role)).collect()
    }
}

fn save(seen: &[(NodeKey, u64, Bytes)]) -> Vec<u8> {
    let line = |(from, serial, body): &(NodeKey, u64, Bytes)| {
        format!("{} {serial} {}\n", from.0, String::from_utf8_lossy(body))
    };
    seen.iter().map(line).collect::<String>().into_bytes()
}

fn load(state: &[u8]) -> Vec<(NodeKey, u64, Bytes)> {
    let text = String::from_utf8(state.to_vec()).unwrap();
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        let (from, serial) = (NodeKey(number()), number());
        (from, serial, Bytes::copy_from_slice(words.next().unwrap().as_bytes()))
    };
    text.lines().map(line).collect()
}

#[test]
fn one_member_commits_at_once_without_messages_or_ticks() {
    let mut alone = Consensus::bootstrap(A, Seed(1), Config::default()).unwrap();
    assert!(alone.is_leader() && alone.has_quorum());
    for serial in 1..=3 {
        assert_eq!(alone.propose(Moment::ZERO, Bytes::from_static(b"x")), Ok(Serial(serial)));
        let Some(Committed::Entry { serial: got, .. }) = alone.poll_committed() else { panic!() };
        assert_eq!(got, Serial(serial));
    }
    assert_eq!((alone.poll_message(), alone.poll_timeout()), (None, None));
    alone.remove(Moment::ZERO, A);
    assert!(alone.is_removed());
    assert_eq!(alone.propose(Moment::ZERO, Bytes::new()), Err(ProposeError::Removed));
}

#[test]
fn a_second_member_learns_and_the_third_makes_three_voters() {
    let mut group = Group::new(Config::default());
    group.propose(A, "before");
    group.join(B);
    assert_eq!(group.roles(B), [(10, Role::Voter), (20, Role::Learner)]);
    assert_eq!(group.bodies(B), [b"before"]);
    group.join(C);
    group.run(1_000);
    for key in [A, B, C] {
        assert_eq!(group.roles(key), [(10, Role::Voter), (20, Role::Voter), (30, Role::Voter)], "{key}");
        assert!(group.members[&key].has_quorum());
        assert_eq!(group.members[&key].leader(), Some(A));
    }
    group.propose(B, "b1");
    group.propose(C, "c1");
    group.propose(B, "b2");
    assert_eq!(group.bodies(A), [&b"before"[..], b"b1", b"c1", b"b2"]);
    for key in [B, C] {
        assert_eq!(group.bodies(key), group.bodies(A));
    }
}

#[test]
fn a_joiner_may_propose_before_it_is_a_member() {
    let mut group = Group::new(Config::default());
    let mut joiner = Consensus::joiner(B, Seed(1), Config::default()).unwrap();
    joiner.propose(Moment::ZERO, "early".into()).unwrap();
    assert_eq!(joiner.poll_timeout(), None, "silent until somebody speaks to it");
    group.members.insert(B, joiner);
    group.at(A).add(Moment::ZERO, B);
    group.run(500);
    assert_eq!(group.bodies(A), [b"early"]);
    assert_eq!(group.applied[&A], group.applied[&B]);
}

#[test]
fn the_loss_of_the_leader_is_survived() {
    let mut group = Group::of(&[B, C], Config::default());
    group.propose(B, "b1");
    group.cut.push(A);
    group.propose(B, "b2");
    group.propose(C, "c1");
    group.run(1_500);
    assert!(!group.members[&A].has_quorum());
    assert_ne!(group.members[&B].leader(), Some(A));
    let mut bodies = group.bodies(B);
    assert_eq!(bodies, group.bodies(C));
    bodies.sort_unstable();
    assert_eq!(bodies, [b"b1", b"b2", b"c1"]);
    let now = group.now;
    group.at(B).remove(now, A);
    group.run(1_000);
    assert_eq!(group.roles(C).len(), 2);
    group.cut.clear();
    group.run(2_000);
    assert!(group.members[&A].is_removed());
}

#[test]
fn a_leader_that_leaves_hands_over() {
    for others in [&[B][..], &[B, C], &[B, C, D]] {
        let mut group = Group::of(others, Config::default());
        let now = group.now;
        group.at(A).remove(now, A);
        group.run(1_000);
        assert!(group.members[&A].is_removed(), "{others:?}");
        group.members.remove(&A);
        group.propose(B, "after");
        group.run(300);
        assert_eq!(group.bodies(B), [b"after"]);
        let voters = group.roles(B).iter().filter(|(_, role)| *role == Role::Voter).count();
        assert_eq!(voters, crate::members::voters_of(others.len(), 9));
    }
}

#[test]
fn a_silent_voter_gives_its_place_to_a_learner() {
    let mut group = Group::of(&[B, C, D], Config::default());
    let voters = |group: &Group| -> Vec<u64> {
        group.roles(A).iter().filter(|(_, role)| *role == Role::Voter).map(|(key, _)| *key).collect()
    };
    assert_eq!(voters(&group), [10, 20, 30]);
    group.cut.push(C);
    group.run(7_000);
    assert_eq!(voters(&group), [10, 20, 40]);
    group.cut.clear();
    group.run(7_000);
    assert_eq!(voters(&group), [10, 20, 40], "who comes back learns");
    assert!(group.members[&C].has_quorum());
}

#[test]
fn a_node_that_was_removed_early_is_never_added() {
    let mut group = Group::of(&[B, C], Config::default());
    let now = group.now;
    group.at(B).remove(now, D);
    group.run(200);
    group.at(C).add(now, D);
    group.run(500);
    assert_eq!(group.roles(A).len(), 3);
}

#[test]
fn a_laggard_gets_a_snapshot_and_memory_stays_bounded() {
    let config = Config { log_entries_max: 40, ..Config::default() };
    let mut group = Group::of(&[B, C], config);
    group.cut.push(C);
    for i in 0..500 {
        group.propose(A, &format!("a{i}"));
    }
    for key in [A, B] {
        assert!(group.members[&key].status().log_entries <= 60, "{:?}", group.members[&key]);
    }
    group.cut.clear();
    group.run(1_000);
    assert_eq!(group.applied[&C].len(), 500);
    assert_eq!(group.applied[&C], group.applied[&A]);
}

#[test]
fn a_snapshot_is_of_everything_or_refused() {
    let mut alone = Consensus::bootstrap(A, Seed(1), Config::default()).unwrap();
    alone.propose(Moment::ZERO, Bytes::new()).unwrap();
    assert_eq!(alone.snapshot_point().unwrap_err(), SnapshotError::NotDrained { left: 1 });
    let mut joiner = Consensus::joiner(B, Seed(1), Config::default()).unwrap();
    assert_eq!(joiner.snapshot_point().unwrap_err(), SnapshotError::NoMember);
    while alone.poll_committed().is_some() {}
    let (first, second) = (alone.snapshot_point().unwrap(), alone.snapshot_point().unwrap());
    // Entries that are committed while the state is encoded stay in the log.
    alone.propose(Moment::ZERO, Bytes::from_static(b"later")).unwrap();
    while alone.poll_committed().is_some() {}
    let third = alone.snapshot_point().unwrap();
    assert_eq!(alone.provide_snapshot(Moment::ZERO, second, b"before"), Ok(()));
    assert_eq!(alone.provide_snapshot(Moment::ZERO, third, b"after"), Ok(()));
    assert_eq!(alone.provide_snapshot(Moment::ZERO, first, b"before"), Err(SnapshotError::Outdated));
}

#[test]
fn entries_of_megabytes_pass() {
    let mut group = Group::of(&[B, C], Config::default());
    for key in [A, B, C] {
        let now = group.now;
        group.at(key).propose(now, vec![b'x'; 5 << 20].into()).unwrap();
    }
    group.run(200);
    for key in [A, B, C] {
        assert_eq!(group.applied[&key].iter().map(|(_, _, body)| body.len()).sum::<usize>(), 15 << 20);
        assert_eq!(group.members[&key].status().waiting_bytes, 0);
    }
}

#[test]
fn messages_of_other_groups_and_from_nobody_are_refused() {
    let mut group = Group::of(&[B], Config::default());
    let mut other = Consensus::bootstrap(C, Seed(1), Config::default()).unwrap();
    other.add(Moment::ZERO, B);
    let point = other.snapshot_point().unwrap();
    other.provide_snapshot(Moment::ZERO, point, b"").unwrap();
    let message = std::iter::from_fn(|| other.poll_message()).last().unwrap().1;
    let now = group.now;
    let refused = group.at(B).handle_message(now, C, message.clone());
    assert!(matches!(refused, Err(crate::MessageError::Group { .. })), "{refused:?}");
    assert!(matches!(group.at(B).handle_message(now, B, message), Err(crate::MessageError::Sender { .. })));
}

#[test]
fn a_leader_that_cannot_be_reached_is_replaced_sooner() {
    let elected = |suspected: bool| {
        let mut group = Group::of(&[B, C], Config::default());
        group.cut.push(A);
        let now = group.now;
        for key in [B, C].into_iter().filter(|_| suspected) {
            group.at(key).suspect(now, A);
        }
        let began = group.now;
        while !group.at(B).is_leader() && !group.at(C).is_leader() {
            group.run(10);
        }
        group.now.since(began)
    };
    let (patient, quick) = (elected(false), elected(true));
    let least = Config::default().election_timeout();
    assert!(patient >= least.mul_f32(0.75), "{patient:?}: a heartbeat may be old when the silence begins");
    assert!(quick <= least && quick + least.mul_f32(0.5) <= patient, "{quick:?} after {patient:?}");
}

#[test]
fn a_suspicion_that_is_wrong_changes_nothing() {
    let mut group = Group::of(&[B, C], Config::default());
    let term = group.at(A).status().term;
    for _ in 0..20 {
        let now = group.now;
        group.at(B).suspect(now, A);
        group.at(A).suspect(now, A);
        group.run(70);
    }
    group.run(500);
    assert!(group.at(A).is_leader());
    assert_eq!(group.members.values().map(|member| member.status().term).max(), Some(term));
}

/// The first voters of a group begin it together. A voter that starts as a joiner gets there too.
#[test]
fn several_nodes_begin_a_group_together() {
    for missing in [None, Some(C)] {
        let voters = BTreeSet::from([A, B, C]);
        let config = Config::default();
        let mut group = Group::new(config.clone());
        group.members.clear();
        for key in &voters {
            let begin = Consensus::begin_group(group.now, *key, A, voters.clone(), Seed(1), config.clone());
            let joins = Consensus::joiner(*key, Seed(1), config.clone());
            let member = if missing == Some(*key) { joins } else { begin };
            group.members.insert(*key, member.unwrap());
        }
        group.run(3_000);
        for key in voters.clone() {
            group.propose(key, "hello");
        }
        group.run(2_000);
        let applied = group.applied[&A].clone();
        assert_eq!(applied.len(), 3, "{missing:?}");
        for key in voters.clone() {
            assert_eq!(group.applied[&key], applied);
            assert_eq!(group.at(key).configuration().voters, voters);
        }
    }
    let stranger =
        Consensus::begin_group(Moment::ZERO, D, A, BTreeSet::from([A, B]), Seed(1), Config::default());
    assert!(stranger.is_err());
}

/// A follower has each configuration as long as it has the entry that contains it.
#[test]
fn the_configuration_is_that_of_the_end_of_the_log() {
    let mut group = Group::of(&[B, C], Config::default());
    let before = group.at(B).configuration().clone();
    assert_eq!(before.voters, BTreeSet::from([A, B, C]));
    group.cut = vec![B, C];
    let now = group.now;
    group.at(A).remove(now, B);
    group.settle();
    let pending = group.at(A).configuration().clone();
    assert_ne!(pending, before, "appended, and never committed");
    assert!(group.at(A).members().contains_key(&B));
    group.run(3_000);
    group.cut = vec![A];
    group.run(3_000);
    group.propose(B, "other");
    group.run(1_000);
    group.cut.clear();
    group.run(3_000);
    let now_has = group.at(C).configuration().clone();
    assert_eq!(group.at(A).configuration(), &now_has, "replaced by what the new leader has");
    assert_ne!(pending.version(), now_has.version());
}

/// Members that are gone have ended: nothing answers in their place.
#[test]
fn all_members_of_a_group_leave_at_once() {
    let others = [B, C, D, NodeKey(50)];
    for count in 1..=others.len() {
        for (delay, first) in (0..=3).flat_map(|delay| (0..=count).map(move |first| (delay, first))) {
            let mut group = Group::of(&others[..count], Config::default());
            group.end_removed = true;
            let mut keys: Vec<NodeKey> = group.members.keys().copied().collect();
            keys.rotate_left(first);
            for key in keys {
                let now = group.now;
                group.at(key).remove(now, key);
                for _ in 0..delay {
                    group.round();
                }
            }
            group.run(2_000);
            let left: Vec<_> = group.members.keys().collect();
            assert!(left.is_empty(), "{left:?} of {} wait for ever: {delay} {first}", count + 1);
        }
    }
}

/// C lacks an entry of 10,000 octets. From now on it gets nothing that is long.
fn one_behind() -> (Group, String) {
    let mut group = Group::of(&[B, C], Config::default());
    let long = "x".repeat(10_000);
    group.cut = vec![C];
    group.propose(A, &long);
    group.cut.clear();
    group.delayed = Some((C, Vec::new()));
    // C lacks what comes before this, and says so.
    group.propose(A, "y");
    (group, long)
}

/// The heartbeats and their answers overtake the entries, as they do among the pieces of a network.
#[test]
fn a_slow_follower_is_not_flooded_with_copies_of_what_it_lacks() {
    let (mut group, long) = one_behind();
    group.run(5_000);
    let (_, delayed) = group.delayed.take().unwrap();
    assert!((1..=6).contains(&delayed.len()), "{} copies in 5 s", delayed.len());
    assert!(group.bodies(C).is_empty());
    for (from, message) in delayed {
        let now = group.now;
        group.at(C).handle_message(now, from, message).unwrap();
    }
    group.run(200);
    assert_eq!(group.bodies(C), [long.as_bytes(), b"y"]);
}

/// Copies that are lost are replaced: soon after the first ones, and in seconds whatever happened.
#[test]
fn lost_entries_are_sent_again() {
    for (lost_for, wait) in [(0, 400), (70_000, 4_200)] {
        let (mut group, long) = one_behind();
        group.run(lost_for);
        group.delayed = None;
        group.run(wait);
        assert_eq!(group.bodies(C), [long.as_bytes(), b"y"], "lost for {lost_for} ms");
    }
}

#[test]
fn entries_are_sent_again_at_once_when_paths_have_changed() {
    let (mut group, long) = one_behind();
    group.run(5_000);
    group.delayed = None;
    group.at(A).handle_paths_changed();
    group.run(150);
    assert_eq!(group.bodies(C), [long.as_bytes(), b"y"]);
}
