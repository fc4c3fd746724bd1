//! The steps of a leader, case by case, and that they come to an end.

use super::*;
use proptest::prelude::*;

const ME: NodeKey = NodeKey(1);

fn seen(role: Role, well: bool) -> Seen {
    Seen { role, follows: well, heard: well, lost: !well }
}

/// Members from letters, the leader first: V and L are well, v and l are lost.
fn members(letters: &str) -> BTreeMap<NodeKey, Seen> {
    let role = |c: char| if c.eq_ignore_ascii_case(&'v') { Role::Voter } else { Role::Learner };
    (1..).zip(letters.chars()).map(|(k, c)| (NodeKey(k), seen(role(c), c.is_uppercase()))).collect()
}

fn step(letters: &str, asked: &[(u64, Wish)]) -> Option<Step> {
    let asked = asked.iter().map(|(key, wish)| (NodeKey(*key), *wish)).collect();
    View { me: ME, members: &members(letters), asked: &asked, voters_max: 5 }.next_step()
}

fn set(key: u64, role: Role) -> Option<Step> {
    Some(Step::Propose(Change::Set(NodeKey(key), role)))
}

#[test]
fn groups_have_an_odd_number_of_voters() {
    let voters: Vec<usize> = (0..8).map(|n| voters_of(n, 5)).collect();
    assert_eq!(voters, [1, 1, 1, 3, 3, 5, 5, 5]);
    assert_eq!(voters_of(8, 4), 3);
}

#[test]
fn who_comes_learns_first_and_votes_when_there_are_two() {
    assert_eq!(step("V", &[(2, Wish::Add)]), set(2, Role::Learner));
    assert_eq!(step("VL", &[]), None);
    assert_eq!(step("VLL", &[]), set(2, Role::Voter));
    assert_eq!(step("VVL", &[]), set(3, Role::Voter));
    assert_eq!(step("VLl", &[]), None, "the even number would last");
    assert_eq!(step("VVVVVLL", &[]), None, "as many voters as there may be");
}

#[test]
fn a_lost_voter_is_replaced_if_there_is_somebody() {
    assert_eq!(step("VVv", &[]), None);
    assert_eq!(step("VVvL", &[]), set(3, Role::Learner));
    assert_eq!(step("VVlL", &[]), set(4, Role::Voter));
}

#[test]
fn who_goes_goes_first() {
    assert_eq!(
        step("VVv", &[(3, Wish::Remove), (9, Wish::Add)]),
        Some(Step::Propose(Change::Remove(NodeKey(3))))
    );
    assert_eq!(step("VV", &[]), set(2, Role::Learner), "two voters are not better than one");
    assert_eq!(step("VVV", &[(1, Wish::Remove)]), Some(Step::Transfer(NodeKey(2))));
    assert_eq!(step("VvV", &[(1, Wish::Remove)]), Some(Step::Transfer(NodeKey(3))));
    assert_eq!(step("VL", &[(1, Wish::Remove)]), set(2, Role::Voter), "an heir");
    assert_eq!(step("LVV", &[]), Some(Step::Transfer(NodeKey(2))), "a leader that was made a learner");
}

proptest! {
    /// Whatever the group looks like, the steps end, one voter changes at a time, and the leader stays.
    #[test]
    fn steps_come_to_an_end(letters in "V[VvLl]{0,12}", goers in proptest::collection::btree_set(2u64..14, 0..4)) {
        let mut now = members(&letters);
        let mut asked: BTreeMap<_, _> = goers.into_iter().map(|key| (NodeKey(key), Wish::Remove)).collect();
        asked.insert(NodeKey(99), Wish::Add);
        let mut steps = 0;
        while let Some(step) = (View { me: ME, members: &now, asked: &asked, voters_max: 5 }).next_step() {
            let Step::Propose(change) = step else { panic!("handed over") };
            match change {
                Change::Set(key, role) => {
                    prop_assert!(key != ME);
                    asked.remove(&key);
                    now.entry(key).or_insert(seen(role, true)).role = role;
                }
                Change::Remove(key) => {
                    now.remove(&key);
                    asked.remove(&key);
                }
            }
            steps += 1;
            prop_assert!(steps < 60, "no end: {:?}", now);
        }
        let voters = now.values().filter(|seen| seen.role == Role::Voter).count();
        prop_assert!(voters <= voters_of(now.len(), 5));
    }
}
