//! A run of a cluster is its seed: the same seed gives the same run, to the octet and the nanosecond.

use base::Seed;
use testkit::cluster::{Cluster, Kind, Options};

#[test]
fn two_runs_of_one_seed_have_one_digest() {
    let kinds = [Kind::Tree, Kind::Mesh, Kind::Hypercube, Kind::Graph];
    for (place, kind) in kinds.into_iter().cycle().take(12).enumerate() {
        let seed = Seed(0xc1_0000 + place as u64);
        let run = || match Cluster::new(Options::swarm(seed, kind)).run() {
            Ok(outcome) => outcome,
            Err(failure) => panic!("{kind:?} {seed}: {failure}"),
        };
        assert_eq!(run(), run(), "{kind:?} {seed}");
    }
}
