//! No handle of a federate or an instance is assigned twice in a federation execution (1516.1-2025,
//! 4.11, 6.8).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen};
use crate::request::{Joining, joined_handle, registered};
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use std::collections::BTreeSet;

/// See the module.
#[derive(Default)]
pub(super) struct Handles {
    federates: BTreeSet<(String, FederateHandle)>,
    instances: BTreeSet<(String, ObjectInstanceHandle)>,
}

impl Invariant for Handles {
    fn name(&self) -> &'static str {
        "handles"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        let Observation::Got { session, request: Some(request), answer, .. } = &seen.observation else {
            return Ok(());
        };
        if let (Some(joining), Some(handle)) = (Joining::of(request), joined_handle(answer)) {
            let federation = ledger.execution(*session, joining.federation);
            let known = ledger.is_destroyed(&federation);
            if !known && !self.federates.insert((federation, handle)) {
                return Err(format!("{session} is given {handle:?}, which another federate had"));
            }
        }
        if let (Some(member), Some((_, handle))) = (ledger.member(*session), registered(request, answer)) {
            let federation = member.federation.clone();
            if !ledger.is_destroyed(&federation) && !self.instances.insert((federation, handle)) {
                return Err(format!("{session} is given {handle:?}, which another instance had"));
            }
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        (self.federates.len() + self.instances.len()) as u64
    }
}
