//! Independent losses of each object of a host, behind one endpoint.
//!
//! A host requests the messages that any of its objects misses. Its endpoint therefore receives a
//! mode 1 message once the first or a later transmission has reached each of its objects.

use std::collections::BTreeMap;

use base::{Moment, Seed};
use srmp::model::{DataId, Sn};
use wan::{Loss, LossProcess};

use super::cargo::Cargo;

/// The messages that some objects of a host have.
type Held = BTreeMap<(usize, DataId), (Sn, Vec<bool>)>;

/// The objects of all hosts, as receivers.
pub(super) struct Objects {
    per_host: usize,
    losses: Vec<LossProcess>,
    held: Vec<Held>,
    /// Mode 0 messages that could have reached an object, and those that did.
    receptions: (u64, u64),
}

impl Objects {
    pub(super) fn new(hosts: usize, per_host: usize, loss: &Loss, seed: Seed) -> Self {
        let losses = (0..hosts * per_host).map(|object| {
            let seed = seed.split_index(object as u64);
            LossProcess::new(loss.clone(), seed)
        });
        Self { per_host, losses: losses.collect(), held: vec![Held::new(); hosts], receptions: (0, 0) }
    }

    /// Handles a datagram that reaches a host. Returns false if its endpoint must not see it: some
    /// object still misses a message of it, or every object misses all of it.
    pub(super) fn receive(&mut self, now: Moment, host: usize, from: usize, cargo: &Cargo) -> bool {
        let own = host * self.per_host..(host + 1) * self.per_host;
        let got: Vec<bool> = self.losses[own].iter_mut().map(|loss| !loss.is_lost(now)).collect();
        let count = got.iter().filter(|got| **got).count();
        self.receptions.0 += u64::from(cargo.mode0) * self.per_host as u64;
        self.receptions.1 += u64::from(cargo.mode0) * count as u64;
        let mut complete = count > 0;
        for &(source, data, sn) in &cargo.mode1 {
            let from = source.map_or(from, |source| (source.0 - 1) as usize);
            let (held, objects) =
                self.held[host].entry((from, data)).or_insert_with(|| (sn, vec![false; self.per_host]));
            if *held != sn {
                *held = sn;
                objects.fill(false);
            }
            objects.iter_mut().zip(&got).for_each(|(has, got)| *has |= got);
            complete &= objects.iter().all(|has| *has);
        }
        complete
    }

    pub(super) fn receptions(&self) -> (u64, u64) {
        self.receptions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wan::Share;

    #[test]
    fn the_endpoint_gets_what_all_objects_have() {
        let loss = Loss::Bernoulli(Share::from_millionths(500_000));
        let mut objects = Objects::new(1, 3, &loss, Seed(1));
        let cargo = Cargo { mode1: vec![(None, DataId(0), Sn(1))], ..Cargo::default() };
        let mut sendings = Vec::new();
        for version in 0..2_000 {
            let cargo = Cargo { mode1: vec![(None, DataId(0), Sn(version))], ..cargo.clone() };
            sendings.push((1..).find(|_| objects.receive(Moment::ZERO, 0, 1, &cargo)).unwrap_or(0));
        }
        // The maximum of three geometric numbers with mean 2: 3 * 2 - 3 * 4/3 + 8/7.
        let mean = f64::from(sendings.iter().sum::<u32>()) / 2_000.0;
        assert!((mean - 22.0 / 7.0).abs() < 0.1, "{mean}");
    }
}
