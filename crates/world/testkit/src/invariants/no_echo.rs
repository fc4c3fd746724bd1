//! Nobody gets its own reflection or interaction (1516.1-2025, 6.11, 6.13, 6.15).

use super::{Invariant, stamp};
use crate::observation::{Observation, Seen, SessionId};
use hla::api::callback_request::CallbackRequest as Callback;
use netsim::HostId;
use std::collections::BTreeMap;

/// See the module.
#[derive(Default)]
pub(super) struct NoEcho {
    hosts: BTreeMap<SessionId, HostId>,
}

impl Invariant for NoEcho {
    fn name(&self) -> &'static str {
        "no_echo"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        let (session, tag) = match &seen.what {
            Observation::Established { session, host } => {
                self.hosts.insert(*session, *host);
                return Ok(());
            }
            Observation::Received { session, callback, .. } => match callback {
                Callback::ReflectAttributeValues(c) => (session, &c.user_supplied_tag),
                Callback::ReceiveInteraction(c) => (session, &c.user_supplied_tag),
                Callback::ReceiveDirectedInteraction(c) => (session, &c.user_supplied_tag),
                Callback::RemoveObjectInstance(c) if !c.user_supplied_tag.is_empty() => {
                    (session, &c.user_supplied_tag)
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        match (stamp(tag), self.hosts.get(session)) {
            // An earlier session of the same host is another federate.
            (Some((host, _)), Some(own))
                if host == own.0 && self.hosts.values().filter(|h| *h == own).count() == 1 =>
            {
                Err(format!("{session} got what it sent itself"))
            }
            _ => Ok(()),
        }
    }
}
