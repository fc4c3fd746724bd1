//! The steps of a leader, case by case, and the end of every sequence of steps.

use super::*;
use proptest::prelude::*;

const ME: NodeKey = NodeKey(1);

fn seen(role: Role, well: bool) -> Seen {
    Seen { role, follows: well, heard: well, lost: !well }
}

/// Members as initials, the leader first: V and L are healthy, v and l are lost.
fn members(initials: &str) -> BTreeMap<NodeKey, Seen> {
    let role = |c: char| if c.eq_ignore_ascii_case(&'v') { Role::Voter } else { Role::Learner };
    (1..).zip(initials.chars()).map(|(k, c)| (NodeKey(k), seen(role(c), c.is_uppercase()))).collect()
}

fn step(initials: &str, asked: &[(u64, MemberRequest)]) -> Option<Step> {
    let asked = asked.iter().map(|(key, request)| (NodeKey(*key), *request)).collect();
    let members = members(initials);
    View { me: ME, joint: Joint::No, members: &members, asked: &asked, voters_max: 5 }.next_step()
}

/// `+2` makes 2 a voter, `-2` a learner, `x2` removes it.
fn changes(words: &str) -> Option<Step> {
    let change = |word: &str| {
        let key = NodeKey(word[1..].parse().unwrap());
        match &word[..1] {
            "+" => Change::Set(key, Role::Voter),
            "-" => Change::Set(key, Role::Learner),
            _ => Change::Remove(key),
        }
    };
    Some(Step::Propose(words.split_whitespace().map(change).collect()))
}

#[test]
fn groups_have_an_odd_number_of_voters() {
    let voters: Vec<usize> = (0..8).map(|n| voters_of(n, 5)).collect();
    assert_eq!(voters, [1, 1, 1, 3, 3, 5, 5, 5]);
    assert_eq!(voters_of(8, 4), 3);
}

#[test]
fn a_new_node_learns_first_and_votes_when_there_are_two() {
    assert_eq!(step("V", &[(2, MemberRequest::Add)]), changes("-2"));
    assert_eq!(step("VL", &[]), None);
    assert_eq!(step("VLL", &[]), changes("+2 +3"));
    assert_eq!(step("VLl", &[]), None, "never an even number");
    assert_eq!(step("VLlL", &[]), changes("+2 +4"));
    assert_eq!(step("VVVVVLL", &[]), None, "as many voters as there may be");
}

#[test]
fn a_lost_voter_is_replaced_if_there_is_somebody() {
    assert_eq!(step("VVv", &[]), None);
    assert_eq!(step("VVvL", &[]), changes("-3 +4"));
    assert_eq!(step("VVvl", &[]), None);
}

#[test]
fn removals_precede_additions() {
    assert_eq!(step("VVv", &[(3, MemberRequest::Remove), (9, MemberRequest::Add)]), changes("-2 x3"));
    assert_eq!(step("VVVL", &[(3, MemberRequest::Remove)]), changes("x3 +4"));
    assert_eq!(step("VL", &[(2, MemberRequest::Remove)]), changes("x2"));
    assert_eq!(step("V", &[(9, MemberRequest::Remove)]), changes("x9"), "so that it is not added later");
}

#[test]
fn a_leader_that_goes_hands_over() {
    let me = [(1, MemberRequest::Remove)];
    assert_eq!(step("VL", &me), changes("-1 +2"));
    assert_eq!(step("VVV", &me), changes("-1 -3"));
    assert_eq!(step("VVVL", &me), changes("-1 +4"));
    assert_eq!(step("LVL", &me), Some(Step::Transfer(NodeKey(2))));
    assert_eq!(
        step("V", &[(1, MemberRequest::Remove), (9, MemberRequest::Add)]),
        changes("-9"),
        "who may take over"
    );
    assert_eq!(step("Vl", &me), None, "nobody can");
    assert_eq!(step("Vvv", &me), None, "nobody can");
}

#[test]
fn the_voters_are_never_those_who_are_not_there() {
    // The leader and another member want to leave; the third is dead, and nobody has reported that
    // yet.
    assert_eq!(step("VvV", &[(1, MemberRequest::Remove), (3, MemberRequest::Remove)]), changes("-2 x3"));
    let silent = Seen { role: Role::Voter, follows: true, heard: false, lost: false };
    let mut members = members("VV");
    members.insert(NodeKey(3), silent);
    let asked = BTreeMap::from([(NodeKey(1), MemberRequest::Remove), (NodeKey(2), MemberRequest::Remove)]);
    let view = View { me: ME, joint: Joint::No, members: &members, asked: &asked, voters_max: 5 };
    assert_eq!(view.next_step(), changes("x2 -3"));
    members.insert(NodeKey(4), seen(Role::Learner, true));
    let view = View { me: ME, joint: Joint::No, members: &members, asked: &asked, voters_max: 5 };
    assert_eq!(view.next_step(), None, "the silent one comes back, or is lost");
}

#[test]
fn a_joint_step_is_ended_first() {
    let (members, asked) = (members("VVL"), BTreeMap::from([(NodeKey(9), MemberRequest::Add)]));
    let mut view = View { me: ME, joint: Joint::WithMe, members: &members, asked: &asked, voters_max: 5 };
    assert_eq!(view.next_step(), changes(""));
    view.joint = Joint::WithoutMe;
    assert_eq!(view.next_step(), Some(Step::Transfer(NodeKey(2))));
}

proptest! {
    /// Whatever the state of the group, the steps end, and the voters are an odd number of the
    /// members that stay.
    #[test]
    fn steps_come_to_an_end(initials in "V[VvLl]{0,12}", goers in proptest::collection::btree_set(1u64..14, 0..4)) {
        let mut now = members(&initials);
        let mut asked: BTreeMap<_, _> = goers.into_iter().map(|key| (NodeKey(key), MemberRequest::Remove)).collect();
        asked.insert(NodeKey(99), MemberRequest::Add);
        let mut me = ME;
        let mut before = now.values().filter(|seen| seen.role == Role::Voter).count();
        for steps in 0.. {
            prop_assert!(steps < 20, "no end: {now:?}");
            let view = View { me, joint: Joint::No, members: &now, asked: &asked, voters_max: 5 };
            match view.next_step() {
                None => break,
                Some(Step::Transfer(to)) => {
                    prop_assert_eq!(now[&to].role, Role::Voter);
                    me = to;
                }
                Some(Step::Propose(changes)) => for change in changes {
                    asked.remove(&change.key()).filter(|_| change.key() == me).map(|w| asked.insert(me, w));
                    match change {
                        Change::Set(key, role) => now.entry(key).or_insert(seen(role, true)).role = role,
                        Change::Remove(key) => {
                            prop_assert!(key != me);
                            now.remove(&key);
                        }
                    }
                },
            }
            let voters: Vec<_> = now.iter().filter(|(_, seen)| seen.role == Role::Voter).collect();
            let there = voters.iter().filter(|(key, seen)| **key == me || seen.heard).count();
            let odd = voters.len() % 2 == 1 && voters.len() <= 5;
            prop_assert!(steps == 0 || odd || voters.len() == before, "{now:?}");
            prop_assert!(there > voters.len() / 2 || voters.len() == before, "{now:?}");
            before = voters.len();
        }
    }
}
