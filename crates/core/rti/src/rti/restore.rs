//! Restoring: a node that lags behind takes over the state of the others.

use super::commit::Turn;
use super::{Completion, Rti};
use crate::control::{Command, ControlPlane, ExecutionId, WireError};
use crate::proposal::{Proposal, Waiting};
use base::Moment;
use bytes::Bytes;
use hla::RtiError;
use hla::handle::FederateHandle;
use std::collections::BTreeSet;

impl Rti {
    /// The encoded control plane of this node. It is the same at all nodes that have applied the same
    /// commands. With very many names, encoding takes long:
    /// [`begin_snapshot`](Rti::begin_snapshot) leaves it to a job.
    pub fn snapshot(&self) -> Bytes {
        self.control.snapshot()
    }

    /// Replaces the control plane with that of a snapshot: for a new node that joins a network, or
    /// for a node that was cut off for so long that the commands it missed are no longer available.
    ///
    /// The changes have the same consequences as commands: executions begin and end, federates of
    /// other nodes come and go, and federates of this node are told of the synchronization points
    /// that they missed. If the outcome of one is lost, its members here are disconnected
    /// ([`Rti::poll_lost`]). Afterwards pass the proposals of this node that the snapshot covers to
    /// [`Rti::settle`]; the others are still to be committed.
    ///
    /// # Errors
    /// [`WireError`]; then nothing has changed.
    pub fn restore(&mut self, now: Moment, snapshot: &Bytes) -> Result<(), WireError> {
        self.shared.set_now(now);
        let newer = ControlPlane::restore(self.jobs.take_decoded(snapshot)?, &self.control)?;
        let older = std::mem::replace(&mut self.control, newer);
        let own = self.own_node();
        if let (Some(_), Some(node)) = (self.config.key, own) {
            self.set_node(node);
        }
        let events = older.difference(&self.control, own);
        self.take_events(events, Turn::Nobody);
        self.release_missed_names(&older);
        self.control.discard(older);
        Ok(())
    }

    /// Ends a proposal of this node that the last restored snapshot covers. Its call is answered if
    /// the state shows the outcome, and otherwise with `RTIinternalError`. Its effects for the
    /// caller alone are undone.
    pub fn settle(&mut self, now: Moment, proposal: Proposal) -> Option<Completion> {
        self.shared.set_now(now);
        let Proposal { command, waiting, report } = proposal;
        self.note_settled(&command);
        let Waiting { caller, call, finish } = waiting?;
        if self.waiting.get(&caller) != Some(&call) {
            return None;
        }
        self.waiting.remove(&caller);
        let answer = match self.has_visible_effect(&command) {
            true => Ok(finish(Default::default())),
            false => Err(RtiError::internal(
                "this RTI node was cut off from the others meanwhile; whether the service took effect is not known",
            )),
        };
        if let Some(report) = report {
            self.report(caller, report);
        }
        Some(Completion { caller, call, answer })
    }

    /// Whether the state shows the effect of the command, so that its caller may be told that it
    /// succeeded.
    fn has_visible_effect(&self, command: &Command) -> bool {
        let member = |execution: ExecutionId, federate: FederateHandle| {
            self.control.execution(execution).and_then(|federation| federation.member(federate))
        };
        match command {
            Command::Barrier => true,
            Command::Destroy { federation } => self.control.federation(federation).is_none(),
            Command::Resign { execution, federate, .. } => member(*execution, *federate).is_none(),
            Command::SetResignDirective { execution, federate, directive } => {
                member(*execution, *federate).is_some_and(|member| member.directive == *directive)
            }
            Command::AchieveSync { execution, federate, label, .. } => self
                .control
                .execution(*execution)
                .is_some_and(|federation| federation.sync.has_answered(label, *federate)),
            _ => false,
        }
    }

    /// Releases names that federates here were granted in the meantime. Their calls end with an
    /// exception, so they do not know of the grant.
    fn release_missed_names(&mut self, older: &ControlPlane) {
        let mut missed = Vec::new();
        for (&id, execution) in &self.executions {
            let (Some(old), Some(new)) = (older.execution(id), self.control.execution(id)) else {
                continue;
            };
            // Very many names may be reserved, by federates of other nodes.
            let federates = execution.objects.federates.keys();
            for &federate in federates.filter(|&&federate| new.names.has_reservations(federate)) {
                let is_new = |name: &&str| !old.names.is_reserved_by(name, federate);
                let names: BTreeSet<String> =
                    new.names.reserved_by(federate).filter(is_new).map(str::to_owned).collect();
                if !names.is_empty() {
                    missed.push(Command::ReleaseNames { execution: id, federate, names });
                }
            }
        }
        missed.into_iter().for_each(|command| self.propose(command));
    }
}
