//! Applies commands, in their common order, to executions and federates.

use super::execution::{Execution, allows_non_regulated_grant};
use super::{Caller, Rti, Standing};
use crate::control::{Activity, Command, Event, ExecutionId, NodeId, WireError};
use crate::proposal::{CallerId, Completion, Outcome, Proposal, Report, Waiting};
use crate::services::executions;
use base::{Moment, NodeKey};
use hla::RtiError;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{FederateResigned, JoinResult, ResignAction};
use hla::handle::FederateHandle;
use std::collections::BTreeSet;

/// The origin of the command that is applied.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// No call here waits for its outcome.
    Nobody,
    /// This call waits for it.
    Awaited(Waiting),
    /// A call of this node waited for it, but its session has ended or it was answered with an
    /// exception. The command's effects for the caller alone are undone.
    GivenUp,
}

impl Rti {
    /// The next command to be ordered.
    pub fn poll_proposal(&mut self) -> Option<Proposal> {
        let proposal = self.shared.proposals.pop_front()?;
        if let Some(execution) = proposal.command.concerned() {
            *self.unsettled.entry(execution).or_default() += 1;
        }
        Some(proposal)
    }

    /// A proposal of this node has had its turn.
    pub(super) fn note_settled(&mut self, command: &Command) {
        let Some(execution) = command.concerned() else { return };
        if let Some(proposals) = self.unsettled.get_mut(&execution) {
            *proposals -= 1;
            if *proposals == 0 {
                self.unsettled.remove(&execution);
            }
        }
    }

    /// Applies a proposal of this node at its turn, and queues the resulting callbacks.
    ///
    /// Take the callbacks after sending the completion, so that a federate gets its response before
    /// the callbacks that the call caused. `None` if no call waits, or no longer waits, for the
    /// outcome.
    pub fn commit(&mut self, now: Moment, proposal: Proposal) -> Option<Completion> {
        self.shared.set_now(now);
        let Proposal { command, waiting, report } = proposal;
        self.note_settled(&command);
        let turn = match waiting {
            None => Turn::Nobody,
            Some(waiting) if self.waiting.get(&waiting.caller) == Some(&waiting.call) => {
                Turn::Awaited(waiting)
            }
            Some(_) => Turn::GivenUp,
        };
        let applied = match self.config.key {
            None => self.control.apply(command),
            Some(key) => self.control.apply_from(key, command),
        };
        let answer = applied.map(|events| self.take_events(events, turn));
        let Turn::Awaited(Waiting { caller, call, finish }) = turn else { return None };
        self.waiting.remove(&caller);
        if answer.is_ok()
            && let Some(report) = report
        {
            self.report(caller, report);
        }
        Some(Completion { caller, call, answer: answer.map(finish) })
    }

    /// Gives up a proposal of this node that cannot be put into the common order: it is too long, or too
    /// many wait. Returns the end of the call that waits for it, with `RTIinternalError` and the reason.
    pub fn give_up(&mut self, now: Moment, proposal: Proposal, why: &str) -> Option<Completion> {
        self.shared.set_now(now);
        let Proposal { command, waiting, .. } = proposal;
        self.note_settled(&command);
        // The federates would wait for the restore for ever.
        if let Command::BeginRestore { execution, number, .. } = command {
            self.propose(Command::RefuseRestore { execution, number, why: why.to_owned() });
        }
        let waiting = waiting.filter(|waiting| self.waiting.get(&waiting.caller) == Some(&waiting.call))?;
        self.waiting.remove(&waiting.caller);
        let text = format!("the control plane does not take the request: {why}");
        Some(waiting.end(Err(RtiError::internal(text))))
    }

    /// Applies, at its turn, a command that `from`, another node, has proposed. If it fails, only
    /// that node reports it; nothing happens here.
    ///
    /// # Errors
    /// The octets are not a command. Nothing has happened, here or at any other node that reads
    /// this version.
    pub fn commit_remote(&mut self, now: Moment, from: NodeKey, command: &[u8]) -> Result<(), WireError> {
        self.commit_command(now, from, Command::from_bytes(command)?);
        Ok(())
    }

    /// Like [`commit_remote`](Self::commit_remote), for a decoded command.
    pub fn commit_command(&mut self, now: Moment, from: NodeKey, command: Command) {
        self.shared.set_now(now);
        match self.control.apply_from(from, command) {
            Ok(events) => {
                self.take_events(events, Turn::Nobody);
            }
            Err(error) => tracing::debug!(%from, %error, "command refused"),
        }
    }

    /// Answers every call that waits for the control plane with `RTIinternalError` and the reason
    /// `why`, for example that there is no majority of nodes, or that the session is about to end.
    ///
    /// A command of such a call may still be committed later. Its effects for the caller alone are
    /// then undone: a join is followed by a resignation, and a reservation of names by their
    /// release. Its effects for the federation (a federation created or destroyed, a
    /// synchronization point) stay.
    pub fn fail_waiting(&mut self, now: Moment, why: &str) -> Vec<Completion> {
        self.shared.set_now(now);
        let failed = |(caller, call)| {
            let answer = Err(RtiError::internal(format!("the control plane cannot decide: {why}")));
            Completion { caller, call, answer }
        };
        let waiting = std::mem::take(&mut self.waiting);
        waiting.keys().for_each(|&caller| self.jobs.forget(caller));
        waiting.into_iter().map(failed).collect()
    }

    /// Sets the number of this node in the network. This happens automatically when the node with
    /// the key of [`Config::key`](crate::Config::key) is added. Before that no federate of this
    /// node is joined.
    pub fn set_node(&mut self, node: NodeId) {
        self.config.node = node;
        for execution in self.executions.values_mut() {
            execution.objects.node = node;
            execution.time.set_node(node);
        }
    }

    /// The number of this node, once it has one.
    pub(super) fn own_node(&self) -> Option<NodeId> {
        match self.config.key {
            Some(key) if self.control.is_network() => self.control.node_by_key(key).map(|own| own.node),
            _ => Some(self.config.node),
        }
    }

    pub(super) fn take_events(&mut self, events: Vec<Event>, turn: Turn) -> Outcome {
        let mut outcome = Outcome::default();
        let mut losses = BTreeSet::new();
        for event in events {
            if let Event::Resigned { execution, lost: true, .. } = event {
                losses.insert(execution);
            }
            self.take_event(event, turn, &mut outcome);
        }
        // The losses of a node that was removed have begun.
        for execution in losses {
            let names = self.control.execution(execution).map(|federation| &federation.names);
            if let Some(execution) = self.executions.get_mut(&execution) {
                execution.act(&mut self.shared, |objects, effects| objects.begin_losses(effects, names));
            }
        }
        self.settle_network();
        outcome
    }

    fn take_event(&mut self, event: Event, turn: Turn, outcome: &mut Outcome) {
        match event {
            Event::Created(id) => self.create(id),
            Event::Destroyed(id) => {
                self.shared.working.remove(&id);
                self.shared.draining.remove(&id);
                self.shared.capturing.remove(&id);
                if let Some(execution) = self.executions.remove(&id) {
                    execution.end(&mut self.shared);
                }
            }
            Event::ModelExtended(id) => {
                if let (Some(execution), Some(federation)) =
                    (self.executions.get_mut(&id), self.control.execution(id))
                {
                    let model = federation.model.clone();
                    execution.time.set_non_regulated_grant(allows_non_regulated_grant(&model));
                    execution.act(&mut self.shared, |objects, effects| objects.extend_model(effects, model));
                    execution.replication.learn(federation);
                    execution.managed_extended(&mut self.shared, federation);
                }
            }
            Event::Joined { execution, federate } => {
                outcome.joined = self.welcome(execution, federate, turn);
                if let (Some(execution), Some(federation)) =
                    (self.executions.get_mut(&execution), self.control.execution(execution))
                {
                    execution.replication.learn(federation);
                    execution.managed_joined(&mut self.shared, federation, federate);
                }
            }
            Event::Resigned { execution, federate, name, node, action, lost } => {
                self.take_resignation(execution, (federate, &name), (node, action, lost));
            }
            Event::DirectiveSet { execution, federate, directive } => {
                self.with(execution, |execution, shared| {
                    if let Some(federate) = execution.objects.federates.get_mut(&federate) {
                        federate.switches.resign_directive = directive;
                    }
                    execution.managed_directive(shared, federate, directive);
                });
            }
            Event::SyncRegistration { execution, federate, label, refusal } => {
                self.notify_registration(execution, federate, label, refusal);
            }
            Event::SyncAnnounced { execution, to, label, tag } => {
                self.notify_announced(execution, to, label, tag);
            }
            Event::Synchronized { execution, point } => self.notify_synchronized(execution, point),
            Event::SyncMissed { execution, label, federates } => {
                self.lose_for_missed(execution, &label, &federates);
            }
            Event::NamesReserved { execution, federate, names, granted, multiple } => match turn {
                Turn::GivenUp if granted => {
                    self.propose(Command::ReleaseNames { execution, federate, names });
                }
                Turn::GivenUp => {}
                Turn::Nobody | Turn::Awaited(_) => {
                    self.notify_reserved(execution, federate, names, granted, multiple);
                }
            },
            Event::NodeAdded { node, key, name: _ } => {
                if self.config.key == Some(key) {
                    self.set_node(node);
                }
            }
            Event::NodeRemoved { node, key: _ } => {
                if self.shared.peers.active && node != self.config.node {
                    self.remove_node(node);
                }
            }
            Event::Watched { execution, node, class, on } => {
                if let (Some(execution), Some(federation)) =
                    (self.executions.get_mut(&execution), self.control.execution(execution))
                {
                    execution.managed_watched(&mut self.shared, federation, (class, node), on);
                }
            }
            Event::AutoProvideSet { execution: id, on } => {
                if let (Some(execution), Some(federation)) =
                    (self.executions.get_mut(&id), self.control.execution(id))
                {
                    execution.objects.auto_provide = on;
                    execution.managed_switched(&mut self.shared, federation);
                }
            }
            Event::TimeHomeSet { execution: id } => {
                if let Some(federation) = self.control.execution(id)
                    && let Some(execution) = self.executions.get_mut(&id)
                {
                    execution.time.set_time_home(federation.time_home(), self.control.removals());
                    execution.settle(&mut self.shared);
                }
            }
            Event::PublishersChanged { execution, node, class, on } => {
                if self.shared.peers.active {
                    self.with(execution, |execution, shared| {
                        execution.time.streams_changed();
                        execution
                            .replicate(shared, |r, context| r.publishers_changed(context, node, class, on));
                        execution.settle(shared);
                    });
                }
            }
            Event::SaveScheduled { .. }
            | Event::SaveInitiated { .. }
            | Event::SaveAnswered { .. }
            | Event::SaveDrained { .. }
            | Event::PartsCopied { .. }
            | Event::SaveEnded { .. }
            | Event::RestoreRequested { .. }
            | Event::RestoreAnswered { .. }
            | Event::RestoreBegun { .. }
            | Event::Restored { .. }
            | Event::NotRestored { .. } => self.take_event_of_saves(event),
        }
    }

    /// Takes an event about a save or a restore.
    fn take_event_of_saves(&mut self, event: Event) {
        match event {
            Event::SaveScheduled { execution } => self.save_scheduled(execution),
            Event::SaveInitiated { execution, label, time, to } => {
                self.save_initiated(execution, label, time, &to);
            }
            Event::SaveAnswered { execution } => self.save_answered(execution),
            Event::SaveDrained { execution } => self.save_drained(execution),
            Event::PartsCopied { execution } => self.parts_copied(execution),
            Event::SaveEnded { execution, to, failure } => self.save_ended(execution, &to, failure),
            Event::RestoreRequested { execution, number, federate, label } => {
                self.restore_requested(execution, number, federate, label);
            }
            Event::RestoreAnswered { execution, federate, label, granted } => {
                self.restore_answered(execution, federate, label, granted);
            }
            Event::RestoreBegun { execution, label, to } => self.restore_begun(execution, &label, to),
            Event::Restored { from, to, assignment } => self.take_restored(from, to, &assignment),
            Event::NotRestored { execution, to, reason } => self.not_restored(execution, &to, reason),
            other => debug_assert!(false, "{other:?} has nothing to do with saves"),
        }
    }

    /// A federate has resigned, or is lost.
    fn take_resignation(
        &mut self,
        id: ExecutionId,
        (federate, name): (FederateHandle, &str),
        (node, action, lost): (NodeId, ResignAction, bool),
    ) {
        if lost {
            self.with(id, |execution, shared| execution.report_lost(shared, None, (federate, name), None));
        }
        self.farewell(id, federate, lost);
        self.with(id, |execution, shared| {
            execution.act(shared, |objects, effects| {
                objects.resigned_elsewhere(effects, federate, node, action, lost);
            });
        });
        if let (Some(execution), Some(federation)) =
            (self.executions.get_mut(&id), self.control.execution(id))
        {
            execution.managed_resigned(&mut self.shared, federation, federate);
        }
    }

    /// Creates the machines of a new federation execution.
    pub(super) fn create(&mut self, id: ExecutionId) {
        let Some(federation) = self.control.execution(id) else { return };
        let mut execution = Execution::new(federation, self.config.node);
        if self.shared.peers.active {
            execution.start_replication(&mut self.shared, federation, self.control.removals());
        }
        let scheduled = federation.scheduled_save();
        if scheduled.is_some() {
            execution.schedule_save(&mut self.shared, scheduled);
        }
        self.executions.insert(id, execution);
    }

    /// Proposes a command whose outcome no call waits for.
    pub(super) fn propose(&mut self, command: Command) {
        self.shared.proposals.push_back(Proposal::new(command));
    }

    /// Delivers a report to the caller that requested it.
    pub(super) fn report(&mut self, caller: CallerId, report: Report) {
        if let Some(known) = self.callers.get(&caller) {
            let mut effects = crate::effect::Effects::default();
            effects.notify(known.client, executions::report(report, &self.control));
            self.shared.apply_all(effects);
        }
    }

    /// Gives the caller that waits for a join its federate. If no call waits for it, a federate of
    /// this node is resigned: its session ended during the join, or its call was answered with an
    /// exception.
    pub(super) fn welcome(
        &mut self,
        execution: ExecutionId,
        federate: FederateHandle,
        turn: Turn,
    ) -> Option<JoinResult> {
        let Turn::Awaited(Waiting { caller: caller_id, .. }) = turn else {
            let member = self.control.execution(execution)?.member(federate)?;
            if self.own_node() == Some(member.node) {
                let action = ResignAction::NoAction;
                self.propose(Command::Resign { execution, federate, action });
            }
            return None;
        };
        let directive = self.control.execution(execution)?.member(federate)?.directive;
        let caller = self.callers.get_mut(&caller_id)?;
        let (id, standing) = (execution, Standing::Joined(execution, federate));
        let execution = self.executions.get_mut(&execution)?;
        caller.standing = standing;
        execution.objects.join(federate, caller_id, caller.client);
        execution.time.set_now(self.shared.now);
        execution.time.joined(federate);
        let joined = execution.objects.federate_mut(federate);
        joined.switches.resign_directive = directive;
        if joined.switches.service_reporting {
            self.shared.service_reports.set(caller_id, (id, federate), true);
        }
        joined.objects_max = caller.account.as_ref().and_then(|account| account.limits().objects);
        let logical_time_implementation_name = execution.objects.time.name().to_owned();
        Some(JoinResult { federate_handle: Some(federate), logical_time_implementation_name })
    }

    /// Handles the resignation of a federate of this node: drops its waiting callbacks and lets it
    /// join again. If it was resigned because the others declared this node dead, it is
    /// disconnected.
    fn farewell(&mut self, id: ExecutionId, federate: FederateHandle, lost: bool) {
        let Some(execution) = self.executions.get_mut(&id) else { return };
        let Some(caller_id) = execution.objects.federates.get(&federate).map(|federate| federate.caller)
        else {
            return;
        };
        execution.act(&mut self.shared, |objects, effects| objects.remove_federate(effects, federate));
        let Some(Caller { standing, activity, client, .. }) = self.callers.get_mut(&caller_id) else {
            return;
        };
        if *standing == Standing::Joined(id, federate) {
            (*standing, *activity) = (Standing::Connected, Activity::Normal);
            self.shared.service_reports.forget(caller_id);
            self.shared.delivery.drop_waiting(self.shared.now, caller_id, client);
            if let Some(execution) = self.executions.get(&id)
                && execution.mom.resigned.contains(&federate)
            {
                let reason = "another federate has resigned it through the management object model";
                let resigned = FederateResigned { reason_for_resign_description: reason.to_owned() };
                self.shared.effects.notify(*client, Callback::FederateResigned(resigned));
                let effects = std::mem::take(&mut self.shared.effects);
                self.shared.apply_all(effects);
            }
            if lost {
                self.shared
                    .delivery
                    .lose(caller_id, "the network of RTI nodes took this federate's node for dead");
            }
        }
    }

    fn lose_for_missed(&mut self, execution: ExecutionId, label: &str, federates: &BTreeSet<FederateHandle>) {
        let Some(execution) = self.executions.get(&execution) else { return };
        for federate in federates.iter().filter_map(|federate| execution.objects.federates.get(federate)) {
            let text = format!(
                "this RTI node was cut off for so long that the outcome of synchronization point `{label}` is lost"
            );
            self.shared.delivery.lose(federate.caller, text);
        }
    }

    /// A caller whose federate cannot continue, and the reason: end its session with Connection
    /// Lost (4.4).
    pub fn poll_lost(&mut self) -> Option<(CallerId, String)> {
        self.shared.delivery.poll_lost()
    }
}
