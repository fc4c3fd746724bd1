//! No federate gets its own reflection, interaction or removal (1516.1-2025, 6.11, 6.13, 6.15,
//! 6.17).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen};
use crate::request::{sent_tag, stamp};

/// See the module.
#[derive(Default)]
pub(super) struct NoEcho {
    looked_at: u64,
}

impl Invariant for NoEcho {
    fn name(&self) -> &'static str {
        "no_echo"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        let Observation::Received { session, callback, .. } = &seen.observation else { return Ok(()) };
        let Some(sent) = sent_tag(callback).and_then(stamp).and_then(|stamp| ledger.sent.get(&stamp)) else {
            return Ok(());
        };
        self.looked_at += 1;
        match sent.by == *session {
            true => Err(format!("{session} got what it sent itself: {sent:?}")),
            false => Ok(()),
        }
    }

    fn checked(&self) -> u64 {
        self.looked_at
    }
}
