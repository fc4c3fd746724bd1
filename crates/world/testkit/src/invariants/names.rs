//! No two federates of a federation ever have the same name, or have the same name reserved
//! (1516.1-2025, 4.11, 6.2).
//!
//! This is checked at the end, among federates of nodes that were members all the time. A node that
//! the others have given up may not know it yet, and its federates believe that they still have
//! names which by then belong to others.

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use crate::request::{Joining, joined_handle};
use base::Moment;
use hla::api::call_request::CallRequest as Call;
use hla::api::callback_request::CallbackRequest as Callback;
use std::collections::BTreeMap;

/// Federation, whether it is a federate's name or an instance's, and the name.
type Name = (String, bool, String);

#[derive(Clone, Debug)]
struct Tenure {
    federate: SessionId,
    from: Moment,
    until: Option<Moment>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Names {
    tenures: BTreeMap<Name, Vec<Tenure>>,
    /// Names that a federate gave up without knowing that it had them.
    unclear: Vec<(SessionId, String)>,
    /// When each session last heard from its node. If the node is lost, it may have been lost from
    /// then on.
    heard: BTreeMap<SessionId, Moment>,
}

impl Invariant for Names {
    fn name(&self) -> &'static str {
        "names"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        let at = seen.at;
        if let Observation::Got { session, .. } | Observation::Received { session, .. } = &seen.observation {
            self.heard.insert(*session, at);
        }
        match &seen.observation {
            Observation::Made { session, request, .. } => self.given_up(at, *session, request, ledger),
            Observation::Got { session, request: Some(request), answer, .. } => {
                if let (Some(Joining { federation, name: Some(name), .. }), Some(_)) =
                    (Joining::of(request), joined_handle(answer))
                    // A federate that asked to resign without waiting for this answer may have
                    // resigned by now.
                    && ledger.member(*session).is_some_and(|member| !member.leaving)
                {
                    let federation = ledger.execution(*session, federation);
                    self.begin(at, *session, (federation, true, name.to_owned()));
                }
            }
            Observation::Received { session, callback, .. } => {
                let names = match callback {
                    Callback::ObjectInstanceNameReservationSucceeded(c) => {
                        vec![c.object_instance_name.clone()]
                    }
                    Callback::MultipleObjectInstanceNameReservationSucceeded(c) => {
                        c.object_instance_names.clone()
                    }
                    _ => return Ok(()),
                };
                let member = ledger.member(*session).filter(|member| !member.leaving);
                let Some(federation) = member.map(|member| member.federation.clone()) else {
                    return Ok(());
                };
                for name in names {
                    if !self.unclear.contains(&(*session, name.clone())) {
                        self.begin(at, *session, (federation.clone(), false, name));
                    }
                }
            }
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.end(self.heard.get(session).copied().unwrap_or(at), *session, |_| true);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        for (name, tenures) in &self.tenures {
            let counted: Vec<_> = tenures.iter().filter(|tenure| ledger.lived(tenure.federate)).collect();
            for (place, a) in counted.iter().enumerate() {
                let clash = counted[place + 1..].iter().find(|b| {
                    let begins = a.from.max(b.from);
                    [a, b].iter().all(|t| t.until.is_none_or(|until| until > begins))
                        && a.federate != b.federate
                });
                if let Some(b) = clash.filter(|_| !ledger.is_destroyed(&name.0)) {
                    return Err(format!("{name:?} was both {a:?} and {b:?}"));
                }
            }
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.tenures.values().map(|tenures| tenures.len() as u64).sum()
    }
}

impl Names {
    fn begin(&mut self, at: Moment, federate: SessionId, name: Name) {
        self.tenures.entry(name).or_default().push(Tenure { federate, from: at, until: None });
    }

    fn end(&mut self, at: Moment, session: SessionId, which: impl Fn(&Name) -> bool) {
        for (_, tenures) in self.tenures.iter_mut().filter(|(name, _)| which(name)) {
            for tenure in tenures.iter_mut().filter(|t| t.federate == session && t.until.is_none()) {
                tenure.until = Some(at);
            }
        }
    }

    /// A call gives names up from the moment at which it is made. A reserved name that is used
    /// belongs to the instance from then on.
    fn given_up(&mut self, at: Moment, session: SessionId, request: &Call, ledger: &Ledger) {
        let names = match request {
            Call::ResignFederationExecutionRequest(_) => return self.end(at, session, |_| true),
            Call::ReleaseObjectInstanceNameRequest(r) => vec![r.object_instance_name.clone()],
            Call::ReleaseMultipleObjectInstanceNamesRequest(r) => r.object_instance_names.clone(),
            Call::RegisterObjectInstanceWithNameRequest(r) => vec![r.object_instance_name.clone()],
            Call::RegisterObjectInstanceWithNameAndRegionsRequest(r) => {
                vec![r.object_instance_name.clone()]
            }
            _ => return,
        };
        let Some(federation) = ledger.member(session).map(|member| member.federation.clone()) else { return };
        for name in names {
            self.unclear.push((session, name.clone()));
            self.end(at, session, |of| *of == (federation.clone(), false, name.clone()));
        }
    }
}
