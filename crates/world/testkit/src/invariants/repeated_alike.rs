//! A message that is sent again after a resume is the same to the octet (1516.1-2025, 12.13).

use super::Invariant;
use crate::observation::{Observation, Seen};

/// See the module.
pub(super) struct RepeatedAlike;

impl Invariant for RepeatedAlike {
    fn name(&self) -> &'static str {
        "repeated_alike"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.what {
            Observation::Repeated { session, number, identical: false } => {
                Err(format!("{session}: message {number} was another one the first time"))
            }
            _ => Ok(()),
        }
    }
}
