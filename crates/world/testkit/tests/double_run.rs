//! A run is its seed: the same seed gives the same run, to the octet and the nanosecond.

use base::Seed;
use testkit::{Cluster, Options, Setup};

#[test]
fn two_runs_of_one_seed_have_one_digest() {
    for (place, (name, setup)) in Setup::ALL.into_iter().cycle().take(3 * Setup::ALL.len()).enumerate() {
        let seed = Seed(0xd0_0000 + place as u64);
        let run = || match Cluster::new(Options::swarm(seed, setup)).run() {
            Ok(outcome) => outcome,
            Err(failure) => panic!("{name} {seed}: {failure}"),
        };
        assert_eq!(run(), run(), "{name} {seed}");
    }
}
