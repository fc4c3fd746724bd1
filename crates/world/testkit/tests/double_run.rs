//! A run is its seed: the same seed gives the same run, to the octet and the nanosecond.

use base::Seed;
use testkit::{Group, Options, World};

#[test]
fn two_runs_of_one_seed_have_one_digest() {
    let groups = [Group::Federation, Group::Declaration, Group::Object, Group::Support, Group::Session];
    for (place, group) in groups.into_iter().cycle().take(15).enumerate() {
        let seed = Seed(0xd0_0000 + place as u64);
        let run = || match World::new(Options::swarm(seed, group)).run() {
            Ok(outcome) => outcome,
            Err(failure) => panic!("{group:?} {seed}: {failure}"),
        };
        assert_eq!(run(), run(), "{group:?} {seed}");
    }
}
