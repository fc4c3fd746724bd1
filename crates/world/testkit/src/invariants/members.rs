//! In the end every node gives the same list of a federation's members, and it is the right one:
//! every joined federate once, and none whose session is over or whose node died (1516.1-2025, 4.9;
//! 4.4: lost federates are resigned).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(super) struct Members {
    /// The last list that each session got in the calm, by federation.
    lists: BTreeMap<(String, SessionId), Vec<String>>,
}

impl Invariant for Members {
    fn name(&self) -> &'static str {
        "members"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        if let Observation::Received {
            session, callback: Callback::ReportFederationExecutionMembers(c), ..
        } = &seen.observation
            && ledger.calm.is_some()
        {
            let listed = c.report.iter().flat_map(|set| &set.federation_execution_member_information);
            let mut names: Vec<_> = listed.map(|member| member.federate_name.clone()).collect();
            names.sort();
            self.lists.insert((ledger.execution(*session, &c.federation_name), *session), names);
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        for ((federation, session), listed) in &self.lists {
            let joined: Vec<_> =
                ledger.joined().filter(|(_, _, member)| member.federation == *federation).collect();
            let mut missing = joined.iter().filter_map(|(_, _, member)| member.name.as_ref());
            if let Some(name) = missing.find(|name| !listed.contains(name)) {
                return Err(format!("{session}: {name:?} is not on the list {listed:?} of {federation:?}"));
            }
            if listed.len() != joined.len() {
                let joined: Vec<_> =
                    joined.iter().map(|(session, _, member)| (session, &member.name)).collect();
                return Err(format!(
                    "{session}: the list of {federation:?} is {listed:?}, joined are {joined:?}"
                ));
            }
            let others = self.lists.iter().find(|((of, _), other)| of == federation && *other != listed);
            if let Some(((_, other), list)) = others {
                return Err(format!(
                    "{session} is told that {federation:?} has {listed:?}, and {other} {list:?}"
                ));
            }
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.lists.len() as u64
    }
}
