//! An interaction reaches a federate at most once, as its class or a superclass of it
//! (1516.1-2025, 6.13, 6.15).

use super::{Invariant, stamp};
use crate::observation::{Observation, Seen, SessionId};
use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub(super) struct InteractionOnce {
    /// Whether a stamp is that of a directed interaction.
    sent: BTreeMap<(u32, u32), bool>,
    got: BTreeSet<(SessionId, (u32, u32))>,
}

impl Invariant for InteractionOnce {
    fn name(&self) -> &'static str {
        "interaction_once"
    }

    fn observe(&mut self, seen: &Seen) -> Result<(), String> {
        match &seen.what {
            Observation::Made { request: Call::SendInteractionRequest(r), .. } => {
                self.sent.extend(stamp(&r.user_supplied_tag).map(|stamp| (stamp, false)));
            }
            Observation::Made { request: Call::SendDirectedInteractionRequest(r), .. } => {
                self.sent.extend(stamp(&r.user_supplied_tag).map(|stamp| (stamp, true)));
            }
            Observation::Received { session, callback: Callback::ReceiveInteraction(c), .. } => {
                return self.received(*session, &c.user_supplied_tag, false);
            }
            Observation::Received { session, callback: Callback::ReceiveDirectedInteraction(c), .. } => {
                return self.received(*session, &c.user_supplied_tag, true);
            }
            _ => {}
        }
        Ok(())
    }
}

impl InteractionOnce {
    fn received(&mut self, session: SessionId, tag: &[u8], directed: bool) -> Result<(), String> {
        let Some(stamp) = stamp(tag).filter(|stamp| self.sent.get(stamp) == Some(&directed)) else {
            return Err(format!("{session} got an interaction that nobody sent, tag {tag:?}"));
        };
        match self.got.insert((session, stamp)) {
            true => Ok(()),
            false => Err(format!("{session} got interaction {stamp:?} twice")),
        }
    }
}
