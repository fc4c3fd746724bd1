//! What one federate sends reliably arrives everywhere in the order of sending (1516.1-2025, 6.11,
//! 6.13: receive order, reliable transportation).

use super::{Invariant, data, stamp};
use crate::observation::{Observation, Seen, SessionId};
use hla::handle::TransportationTypeHandle;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(super) struct SenderOrder {
    last: BTreeMap<(SessionId, u32), u32>,
}

impl Invariant for SenderOrder {
    fn name(&self) -> &'static str {
        "sender_order"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        let Observation::Received { session, callback, .. } = &seen.what else { return Ok(()) };
        let Some((tag, transportation)) = data(callback) else { return Ok(()) };
        let Some((host, count)) = stamp(tag) else {
            return Err(format!("{session}: a tag that nobody sent: {tag:?}"));
        };
        if transportation != Some(TransportationTypeHandle::RELIABLE) {
            return Ok(());
        }
        let last = self.last.entry((*session, host)).or_default();
        if count < *last {
            return Err(format!("{session}: number {count} of host {host} came after number {last}"));
        }
        *last = count;
        Ok(())
    }
}
