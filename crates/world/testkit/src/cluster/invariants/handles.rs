//! No handle of a federate or an instance is given twice in a federation execution (1516.1-2025, 4.11, 6.8).

use super::Invariant;
use crate::cluster::ledger::{Ledger, joined_handle, joining, registered};
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub(super) struct Handles {
    calls: BTreeMap<(SessionId, u32), (String, Call)>,
    federates: BTreeSet<(String, FederateHandle)>,
    instances: BTreeSet<(String, ObjectInstanceHandle)>,
}

impl Invariant for Handles {
    fn name(&self) -> &'static str {
        "handles"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        match &seen.what {
            Observation::Made { session, call, request } => {
                // A join may be under way while a resignation before it is not yet answered.
                let federation = match (joining(request), ledger.member(*session)) {
                    (Some((federation, _)), _) => federation,
                    (None, member) => member.map(|member| member.federation.clone()).unwrap_or_default(),
                };
                self.calls.insert((*session, call.get()), (federation, request.clone()));
                Ok(())
            }
            Observation::Got { session, call, answer } => {
                let Some((federation, request)) = self.calls.remove(&(*session, call.get())) else {
                    return Ok(());
                };
                let joins = joined_handle(answer).is_some();
                let federation = if joins { ledger.execution(*session, &federation) } else { federation };
                if ledger.destroyed.contains(&federation) {
                    return Ok(());
                }
                if let Some(handle) = joined_handle(answer)
                    && !self.federates.insert((federation.clone(), handle))
                {
                    return Err(format!("{session} is given {handle:?}, which another federate had"));
                }
                match registered(&request, answer) {
                    Some((_, handle)) if !self.instances.insert((federation, handle)) => {
                        Err(format!("{session} is given {handle:?}, which another instance had"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn checked(&self) -> u64 {
        (self.federates.len() + self.instances.len()) as u64
    }
}
