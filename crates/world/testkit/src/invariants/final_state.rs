//! In the end every subscriber knows exactly the instances that exist.
//!
//! - A federate that subscribes an attribute which its owner owns knows the instance.
//! - No federate knows an instance that was deleted, or whose owner was lost with a directive to
//!   delete.
//! - The fate of the instances of federates that are gone is the same for all federates that knew
//!   them and still subscribe them.
//!
//! (1516.1-2025, 6.9, 6.16; 4.4 and 10.45 for the lost. `exactly_once` checks values: after a last
//! round of updates the last one that came is the last one that was sent.)

use super::Invariant;
use crate::ledger::{Fate, Instance, Ledger, Membership};
use crate::observation::{Observation, Seen, SessionId};
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::ObjectInstanceHandle;
use std::collections::BTreeSet;

/// See the module.
#[derive(Default)]
pub(super) struct FinalState {
    /// Instances that were removed at a federate and not discovered again. Handles belong to a
    /// federation, and a session may go from one federation to another.
    removed: BTreeSet<(SessionId, String, ObjectInstanceHandle)>,
    known: u64,
}

impl Invariant for FinalState {
    fn name(&self) -> &'static str {
        "final_state"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        let Observation::Received { session, callback, .. } = &seen.observation else { return Ok(()) };
        let Some(member) = ledger.member(*session) else { return Ok(()) };
        let key = |instance: Option<ObjectInstanceHandle>| {
            (*session, member.federation.clone(), instance.unwrap_or_default())
        };
        match callback {
            Callback::RemoveObjectInstance(c) => {
                self.removed.insert(key(c.object_instance));
            }
            Callback::DiscoverObjectInstance(c) => {
                self.removed.remove(&key(c.object_instance));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        for ((federation, handle), instance) in &ledger.instances {
            if ledger.is_destroyed(federation) {
                continue;
            }
            let joined = ledger.joined().filter(|(session, _, member)| {
                member.federation == *federation
                    && *session != instance.owner
                    && !member.doubtful.contains(handle)
            });
            let (mut knowing, mut removed) = (None, None);
            for (session, life, member) in joined {
                let knows = member.known.contains_key(handle);
                self.known += u64::from(knows);
                let name = || format!("{session} at {:?}: {handle:?} of {instance:?}", life.run);
                match instance.fate {
                    Fate::Exists if !knows && covers(ledger, member, instance) => {
                        return Err(format!("{} is not known", name()));
                    }
                    Fate::Lost if knows && subscribes(ledger, member, instance) => {
                        return Err(format!("{} is still known", name()));
                    }
                    Fate::Deleted
                        if knows && subscribes(ledger, member, instance) && ledger.lived(instance.owner) =>
                    {
                        return Err(format!("{} is still known", name()));
                    }
                    _ if !subscribes(ledger, member, instance) => {}
                    _ if knows => knowing = Some(name()),
                    _ if self.removed.contains(&(session, federation.clone(), *handle)) => {
                        removed = Some(name());
                    }
                    _ => {}
                }
            }
            if let (Some(knowing), Some(removed)) = (knowing, removed) {
                return Err(format!("known to {knowing}, and gone for {removed}"));
            }
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.known
    }
}

/// Whether a federate has subscribed an attribute of the instance that its owner certainly owns.
fn covers(ledger: &Ledger, member: &Membership, instance: &Instance) -> bool {
    let lineage = ledger.lineage(instance.class);
    lineage.iter().any(|&at| instance.owned.iter().any(|&a| member.subscribed.contains_key(&(at, a))))
}

/// Whether a federate has subscribed any attribute of the instance.
fn subscribes(ledger: &Ledger, member: &Membership, instance: &Instance) -> bool {
    let lineage = ledger.lineage(instance.class);
    member.subscribed.keys().any(|(at, _)| lineage.contains(at))
}
