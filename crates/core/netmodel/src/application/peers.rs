//! The hosts with which a host exchanges messages.

use super::Program;

/// Other hosts, relative to a host of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Peers {
    /// These hosts.
    Hosts(Vec<u32>),
    /// All other hosts of the program.
    Others,
    /// The hosts of the program so many ranks further (or back), wrapping around.
    Shift(Vec<i64>),
    /// The neighbours on a grid of the hosts of the program, row by row: one up and one down in
    /// each dimension, of which the first varies fastest.
    Grid {
        /// Hosts in each dimension.
        sides: Vec<u32>,
        /// True if the first host of a row is a neighbour of the last.
        wraps: bool,
    },
    /// All hosts of the program with this name, but the host itself.
    Program(String),
}

impl Peers {
    /// The peers of the host of this rank, each once.
    pub(super) fn of(&self, rank: u32, program: &Program, programs: &[Program]) -> Vec<u32> {
        let itself = program.hosts[rank as usize];
        let count = program.hosts.len() as i64;
        let mut peers = match self {
            Peers::Hosts(hosts) => hosts.clone(),
            Peers::Others => program.hosts.clone(),
            Peers::Shift(shifts) => {
                let further = |shift: &i64| (i64::from(rank) + shift % count).rem_euclid(count);
                shifts.iter().map(|shift| program.hosts[further(shift) as usize]).collect()
            }
            Peers::Grid { sides, wraps } => {
                neighbours(rank, sides, *wraps).map(|rank| program.hosts[rank as usize]).collect()
            }
            Peers::Program(name) => {
                let named = programs.iter().find(|program| program.name == *name);
                named.map_or_else(Vec::new, |program| program.hosts.clone())
            }
        };
        peers.retain(|peer| *peer != itself);
        // A side of two has one neighbour, up and down.
        if let Peers::Grid { .. } = self {
            let mut known = std::collections::BTreeSet::new();
            peers.retain(|peer| known.insert(*peer));
        }
        peers
    }

    /// Checks the peers for all hosts of a program.
    pub(super) fn check(&self, program: &Program, programs: &[Program]) -> Result<(), String> {
        let (count, name) = (program.hosts.len() as u64, &program.name);
        match self {
            Peers::Hosts(hosts) => {
                let runs =
                    |host: &u32| programs.iter().any(|program| program.hosts.binary_search(host).is_ok());
                if hosts.is_empty() {
                    return Err("the list of hosts is empty".to_owned());
                }
                if let Some(host) = hosts.iter().find(|host| program.hosts.binary_search(host).is_ok()) {
                    return Err(format!(
                        "host {host} runs `{name}` itself: name the others by `shift`, `grid` or \"others\""
                    ));
                }
                if let Some(host) = hosts.iter().find(|host| !runs(host)) {
                    return Err(format!("host {host} runs no program"));
                }
                let mut sorted = hosts.clone();
                sorted.sort_unstable();
                match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(pair) => Err(format!("host {} is in the list twice", pair[0])),
                    None => Ok(()),
                }
            }
            Peers::Others if count < 2 => Err(format!("`{name}` runs on one host, and there are no others")),
            Peers::Others => Ok(()),
            Peers::Shift(shifts) => {
                if shifts.is_empty() {
                    return Err("the list of shifts is empty".to_owned());
                }
                let rest = |shift: &i64| shift.rem_euclid(count as i64);
                if let Some(shift) = shifts.iter().find(|shift| rest(shift) == 0) {
                    return Err(format!(
                        "a shift of {shift} leads each of the {count} hosts of `{name}` to itself"
                    ));
                }
                let mut sorted: Vec<i64> = shifts.iter().map(rest).collect();
                sorted.sort_unstable();
                match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                    true => Err(format!("two shifts lead to the same one of the {count} hosts of `{name}`")),
                    false => Ok(()),
                }
            }
            Peers::Grid { sides, .. } => {
                let product =
                    sides.iter().fold(1_u64, |product, side| product.saturating_mul(u64::from(*side)));
                let by = || sides.iter().map(u32::to_string).collect::<Vec<_>>().join(" by ");
                if product != count {
                    return Err(format!(
                        "a grid of {} has {product} hosts, and `{name}` runs on {count}",
                        by()
                    ));
                }
                match sides.iter().all(|side| *side < 2) {
                    true => Err(format!("a grid of {} has no neighbours", by())),
                    false => Ok(()),
                }
            }
            Peers::Program(other) => match programs.iter().find(|program| program.name == *other) {
                None => {
                    let known: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
                    Err(format!("there is no program `{other}` (there are: {})", known.join(", ")))
                }
                Some(program) if program.name == *name && count < 2 => {
                    Err(format!("`{name}` runs on one host, and there are no others"))
                }
                Some(_) => Ok(()),
            },
        }
    }
}

/// The ranks of the neighbours on a grid, down and up in each dimension.
fn neighbours(rank: u32, sides: &[u32], wraps: bool) -> impl Iterator<Item = u32> + '_ {
    let mut stride = 1;
    sides.iter().flat_map(move |&side| {
        let (at, step) = (rank / stride % side, stride);
        stride *= side;
        let first = rank - at * step;
        let (down, up) = match wraps {
            true => (Some((at + side - 1) % side), Some((at + 1) % side)),
            false => (at.checked_sub(1), Some(at + 1).filter(|at| *at < side)),
        };
        [down, up].into_iter().flatten().map(move |at| first + at * step)
    })
}
