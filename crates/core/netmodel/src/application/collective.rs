//! Collectives: the exchanges by which all hosts of a program communicate, step by step.

use super::Step;

/// An operation of all hosts of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collective {
    /// No host goes on before all have come: by dissemination, in ⌈log2 n⌉ rounds (Hensgen, Finkel
    /// and Manber 1988).
    Barrier {
        /// The size of each message.
        bytes: u64,
    },
    /// One host sends to all others, over a binomial tree in ⌈log2 n⌉ rounds. A host sends one
    /// message at a time, so that those with the most hosts behind them go first.
    Broadcast {
        /// The host that sends.
        root: u32,
        /// The size of the message.
        bytes: u64,
    },
    /// All hosts combine their data, each gets the result, in 2 (n - 1) steps around a ring: each
    /// step passes one of n parts to the next host (Patarasuk and Yuan 2009).
    RingAllReduce {
        /// The size of the data of a host.
        bytes: u64,
    },
    /// The same by recursive doubling: log2 n rounds, in which pairs swap all of their data. With a
    /// number of hosts that is no power of two, some hand their data to a neighbour before, and get
    /// the result after (Thakur, Rabenseifner and Gropp 2005).
    DoublingAllReduce {
        /// The size of the data of a host.
        bytes: u64,
    },
    /// Each host sends to each other, in n - 1 steps: to the host 1, 2, 3, ... ranks further.
    PairwiseAllToAll {
        /// The size of each message.
        bytes: u64,
    },
    /// The same at once.
    DirectAllToAll {
        /// The size of each message.
        bytes: u64,
    },
}

impl Collective {
    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Barrier { .. } => "barrier",
            Collective::Broadcast { .. } => "broadcast",
            Collective::RingAllReduce { .. } | Collective::DoublingAllReduce { .. } => "all-reduce",
            Collective::PairwiseAllToAll { .. } | Collective::DirectAllToAll { .. } => "all-to-all",
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Collective::Barrier { bytes }
            | Collective::Broadcast { bytes, .. }
            | Collective::RingAllReduce { bytes }
            | Collective::DoublingAllReduce { bytes }
            | Collective::PairwiseAllToAll { bytes }
            | Collective::DirectAllToAll { bytes } => bytes,
        }
    }

    pub(super) fn check(self, hosts: &[u32]) -> Result<(), String> {
        if hosts.len() < 2 {
            return Err("a collective needs at least two hosts".to_owned());
        }
        if self.bytes() == 0 {
            return Err("the size is zero".to_owned());
        }
        match self {
            Collective::Broadcast { root, .. } if hosts.binary_search(&root).is_err() => {
                Err(format!("the root, host {root}, does not run this program"))
            }
            _ => Ok(()),
        }
    }

    /// The step of the host of this rank: its messages, and those that it waits for. False after
    /// the last step.
    pub(super) fn step(self, rank: u32, hosts: &[u32], step: u32, next: &mut Step) -> bool {
        let count = hosts.len() as u32;
        let at = |rank: u32| hosts[rank as usize];
        let further = |by: u32| at(((u64::from(rank) + u64::from(by)) % u64::from(count)) as u32);
        let back = |by: u32| further(count - by % count);
        // The number of rounds in which what doubles reaches all.
        let rounds = count.next_power_of_two().trailing_zeros();
        match self {
            Collective::Barrier { bytes } => {
                if step >= rounds {
                    return false;
                }
                next.sends.push((further(1 << step), bytes));
                next.waits.push(back(1 << step));
            }
            Collective::Broadcast { root, bytes } => {
                if step >= rounds {
                    return false;
                }
                let root = hosts.binary_search(&root).unwrap_or(0) as u32;
                let from_root = (rank + count - root) % count;
                let reached = 1 << step;
                if from_root < reached && reached < count - from_root {
                    next.sends.push((further(reached), bytes));
                    next.holds = true;
                } else if (reached..2 * reached).contains(&from_root) {
                    next.waits.push(back(reached));
                }
            }
            Collective::RingAllReduce { bytes } => {
                if step >= 2 * (count - 1) {
                    return false;
                }
                // First each part is combined on its way around, then each whole part goes around.
                let (done, first) = (step % (count - 1), u32::from(step >= count - 1));
                let part = (rank + first + count - done) % count;
                next.sends.push((further(1), part_of(bytes, part, count)));
                next.waits.push(back(1));
            }
            Collective::DoublingAllReduce { bytes } => return doubling(rank, hosts, step, bytes, next),
            Collective::PairwiseAllToAll { bytes } => {
                if step >= count - 1 {
                    return false;
                }
                next.sends.push((further(step + 1), bytes));
                next.waits.push(back(step + 1));
            }
            Collective::DirectAllToAll { bytes } => {
                if step > 0 {
                    return false;
                }
                next.sends.extend((1..count).map(|by| (further(by), bytes)));
                next.waits.extend((1..count).map(back));
            }
        }
        true
    }
}

/// Bytes of one of `count` parts, of which the first ones take the rest. A message has at least
/// one byte.
fn part_of(bytes: u64, part: u32, count: u32) -> u64 {
    let (whole, rest) = (bytes / u64::from(count), bytes % u64::from(count));
    (whole + u64::from(u64::from(part) < rest)).max(1)
}

/// A step of an all-reduce by recursive doubling.
fn doubling(rank: u32, hosts: &[u32], step: u32, bytes: u64, next: &mut Step) -> bool {
    let count = hosts.len() as u32;
    let at = |rank: u32| hosts[rank as usize];
    let rounds = count.ilog2();
    // Of the first 2 `over` hosts, the even ones are represented by their neighbours.
    let over = count - (1 << rounds);
    let paired = rank < 2 * over;
    let is_represented = paired && rank.is_multiple_of(2);
    let before = u32::from(over > 0);
    if step >= rounds + 2 * before {
        return false;
    }
    let is_round = (before..before + rounds).contains(&step);
    if is_round && !is_represented {
        let place = if paired { rank / 2 } else { rank - over };
        let partner = place ^ (1 << (step - before));
        let partner = at(if partner < over { 2 * partner + 1 } else { partner + over });
        next.sends.push((partner, bytes));
        next.waits.push(partner);
    } else if !is_round && paired {
        // In the first step data goes to the odd host, in the last one the result comes from it.
        if is_represented == (step == 0) {
            next.sends.push((at(rank ^ 1), bytes));
        } else {
            next.waits.push(at(rank ^ 1));
        }
    }
    true
}
