//! A message that is sent again after a resume is identical to the octet (1516.1-2025, 12.13).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen};

/// See the module.
#[derive(Default)]
pub(super) struct RepeatedAlike {
    repeated: u64,
}

impl Invariant for RepeatedAlike {
    fn name(&self) -> &'static str {
        "repeated_alike"
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        let Observation::Repeated { session, number, identical } = &seen.observation else { return Ok(()) };
        self.repeated += 1;
        match identical {
            true => Ok(()),
            false => Err(format!("{session}: message {number} was another one the first time")),
        }
    }

    fn checked(&self) -> u64 {
        self.repeated
    }
}
