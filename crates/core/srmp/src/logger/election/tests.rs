//! Whole sites of candidates, without other parts of the protocol.

use super::*;
use base::{Rng, Seed};
use proptest::prelude::*;
use rand_core::RngCore;
use std::collections::BTreeMap;

struct Candidate {
    election: Election,
    rank: Rank,
}

/// Candidates that hear each other after a delay, unless a message is lost.
struct Site {
    now: Moment,
    all: BTreeMap<u64, Candidate>,
    flying: Vec<(Moment, u64, MemberId, Rank, LoggerState)>,
    loss: f64,
    rng: Rng,
    /// The number of messages so far.
    sent: u64,
    /// Members that hear only each other.
    island: BTreeMap<u64, u32>,
}

impl Site {
    fn new(seed: u64, ranks: &[u128], loss: f64) -> Self {
        let mut site = Self {
            now: Moment::from_secs(1),
            all: BTreeMap::new(),
            flying: Vec::new(),
            loss,
            rng: Seed(seed).rng(),
            sent: 0,
            island: BTreeMap::new(),
        };
        for (index, rank) in ranks.iter().enumerate() {
            site.join(index as u64 + 1, *rank, seed);
        }
        site
    }

    fn join(&mut self, member: u64, rank: u128, seed: u64) {
        let config = LoggerConfig::default();
        let rank = Rank((rank << 112) | u128::from(member));
        let rng = Seed(seed).split_index(member).rng();
        let election = Election::new(self.now, MemberId(member), rank, &config, rng);
        self.all.insert(member, Candidate { election, rank });
    }

    fn send(&mut self, from: u64, outcome: Option<Outcome>) {
        let sent = match outcome {
            Some(Outcome::Advertise(sent) | Outcome::SteppedDown(sent)) => sent,
            Some(Outcome::Elected) => LoggerState::Active,
            None => return,
        };
        self.sent += 1;
        let rank = self.all[&from].rank;
        for to in self.all.keys().filter(|to| **to != from) {
            let lost = (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 <= self.loss;
            let apart = self.island.get(&from).unwrap_or(&0) != self.island.get(to).unwrap_or(&0);
            if !lost && !apart {
                self.flying.push((self.now + ms(1), *to, MemberId(from), rank, sent));
            }
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.all.values().map(|one| one.election.deadline());
            let Some(next) = due.chain(self.flying.iter().map(|flight| flight.0)).min() else { break };
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            let now = self.now;
            let arrived: Vec<_> = self.flying.extract_if(.., |flight| flight.0 <= now).collect();
            for (_, to, from, rank, sent) in arrived {
                let Some(one) = self.all.get_mut(&to) else { continue };
                let outcome = one.election.hear(now, (from, rank), sent, false);
                self.send(to, outcome);
            }
            let members: Vec<_> = self.all.keys().copied().collect();
            for member in members {
                let outcome = self.all.get_mut(&member).and_then(|one| one.election.expire(now));
                self.send(member, outcome);
            }
        }
        self.now = end;
    }

    fn loggers(&self) -> (Vec<u64>, Vec<u64>) {
        let of = |is: fn(&Election) -> bool| {
            self.all.iter().filter(|(_, one)| is(&one.election)).map(|(member, _)| *member).collect()
        };
        (of(Election::is_active), of(Election::is_standby))
    }
}

/// The candidates advertise less than the rank that they assume, so that each considers itself the
/// best.
#[test]
fn answers_do_not_multiply_though_each_thinks_itself_the_best() {
    for seed in 0..20 {
        let mut site = Site::new(seed, &[9; 5], 0.0);
        site.all.values_mut().for_each(|one| one.rank = Rank(one.rank.0 - (5 << 112)));
        site.run(ms(5_000));
        assert!(site.sent < 5 * 5_000 / 20, "seed {seed}: {} messages", site.sent);
        for (member, one) in &mut site.all {
            one.rank = Rank((9 << 112) | u128::from(*member));
        }
        site.run(ms(10_000));
        let (active, standby) = site.loggers();
        assert_eq!((active.len(), standby.len()), (1, 1), "seed {seed}: told rightly they agree");
    }
}

#[test]
fn a_member_with_the_state_of_the_site_claims_nothing() {
    let mut election =
        Election::new(Moment::ZERO, MemberId(1), Rank(9), &LoggerConfig::default(), Seed(1).rng());
    assert!(election.deadline() >= Moment::from_secs(1), "a logger may be silent for so long");
    let claims = |election: &mut Election, now| {
        let outcome = election.expire(now);
        outcome == Some(Outcome::Advertise(LoggerState::Claim))
    };
    for at in (0..30).map(|tenth| Moment::from_millis(100 * tenth)) {
        election.hear_transfer(at, MemberId(2));
        assert!(!claims(&mut election, at));
    }
    // No member has advertised itself as the logger: when the transfer is over, one has to become
    // it.
    let later = (30..90).map(|tenth| Moment::from_millis(100 * tenth));
    assert!(later.into_iter().any(|at| claims(&mut election, at)));
}

#[test]
fn the_best_is_elected_and_another_stands_by() {
    for seed in 0..20 {
        let mut site = Site::new(seed, &[5; 30], 0.0);
        site.run(ms(5_000));
        let (active, standby) = site.loggers();
        assert_eq!((active.len(), standby.len()), (1, 1), "seed {seed}");
        let before = active[0];
        site.join(99, 5, seed);
        site.run(ms(10_000));
        assert_eq!(site.loggers().0, [before], "who is merely better takes nothing over");
        site.join(50, 900, seed);
        site.run(ms(10_000));
        assert_eq!(site.loggers().0, [50], "who is preferred does");
    }
}

#[test]
fn a_standby_takes_over_within_the_time_of_an_election() {
    for seed in 0..20 {
        let mut site = Site::new(seed, &[5; 10], 0.0);
        site.run(ms(10_000));
        let (active, standby) = site.loggers();
        site.all.remove(&active[0]);
        site.run(ms(4_900));
        let (next, _) = site.loggers();
        assert_eq!(next.len(), 1, "seed {seed}");
        site.run(ms(8_000));
        let (next, stands_by) = site.loggers();
        assert_eq!((next.len(), stands_by.len()), (1, 1), "{standby:?} and then {next:?}");
        // Logger and standby disappear together.
        site.all.remove(&next[0]);
        site.all.remove(&stands_by[0]);
        site.run(ms(20_000));
        assert_eq!((site.loggers().0.len(), site.loggers().1.len()), (1, 1), "seed {seed}");
    }
}

#[test]
fn one_alone_is_its_own_logger() {
    let mut site = Site::new(1, &[5], 0.0);
    site.run(ms(3_000));
    assert_eq!(site.loggers(), (vec![1], vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Members come, go, lose each other and lose datagrams. In the end there is one logger, and
    /// one standby if there are two members.
    #[test]
    fn there_is_one_in_the_end(
        seed: u64,
        ranks in proptest::collection::vec(1u128..4, 1..12),
        loss in 0.0f64..0.2,
        apart in proptest::collection::vec(0u32..2, 12),
        dead in proptest::collection::vec(1u64..12, 0..4),
        times in (0u64..9_000, 0u64..9_000),
    ) {
        let mut site = Site::new(seed, &ranks, loss);
        site.run(ms(times.0));
        site.island = (1..=12).zip(apart).collect();
        site.run(ms(times.1));
        for member in dead {
            if site.all.len() > 1 {
                site.all.remove(&member);
            }
        }
        site.run(ms(6_000));
        site.island.clear();
        site.run(ms(30_000));
        site.loss = 0.0;
        site.run(ms(20_000));
        let (active, standby) = site.loggers();
        prop_assert_eq!((active.len(), standby.len()), (1, usize::from(site.all.len() > 1)));
    }
}
