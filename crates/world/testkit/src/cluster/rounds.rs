//! The phases of a run: formation of the network, and, after the faults, convergence, a last round
//! of messages, silence, judgement and leaving.

use super::{Cluster, Condition, FORM_MAX, Failure, LEAVE_MAX};
use crate::federate::Federate;
use crate::ledger::{Run, federation_of};
use crate::node::{self, View};
use base::Moment;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use netsim::HostId;
use std::collections::BTreeSet;
use std::time::Duration;

/// Time at the end of a run in which only keep-alives may be sent.
const SILENCE: Duration = Duration::from_secs(8);
/// The same for a single node, where silence is cheap: long enough for all timers of its sessions.
const SILENCE_ALONE: Duration = Duration::from_secs(130);
/// Bytes per second that each pair of nodes may exchange in silence: keep-alives of links and
/// heartbeats of the replicated log, over as many links as a path may have.
const PAIR_BYTES_PER_SECOND: u64 = 12_000;
/// Bytes of a heartbeat of a federate and its answer.
const HEARTBEAT_BYTES: u64 = 24 + 28;
/// Interval between two checks whether a condition holds.
const LOOK: Duration = Duration::from_millis(50);

impl Cluster {
    /// Runs until `done` succeeds, checking it at short intervals.
    ///
    /// # Errors
    /// A property does not hold, or `state` did not come about in time.
    pub fn wait(
        &mut self,
        bound: Duration,
        state: &str,
        done: impl Fn(&Self) -> Result<(), String>,
    ) -> Result<(), Failure> {
        let until = self.now() + bound;
        while let Err(missing) = done(self) {
            if self.now() >= until {
                return Err(self.failure("convergence", format!("{state}: not after {bound:?}: {missing}")));
            }
            self.run_for(LOOK)?;
        }
        Ok(())
    }

    /// Runs until each node is a member of a network.
    pub(crate) fn wait_for_members(&mut self, bound: Duration) -> Result<(), Failure> {
        self.wait(bound, "all nodes are members", |cluster| {
            let mut kernels = (0..cluster.nodes.len()).map(|node| cluster.kernel(node));
            kernels.all(|kernel| kernel.member_of().is_some()).then_some(()).ok_or_else(String::new)
        })
    }

    /// Runs until the nodes have found each other. Times of the plan count from then.
    pub(super) fn form(&mut self) -> Result<(), Failure> {
        if !self.options.is_networked() {
            return Ok(());
        }
        let plan = std::mem::take(&mut self.plan);
        self.wait(FORM_MAX, "the nodes find each other", |cluster| {
            let views: Vec<_> = cluster.up().into_iter().map(|node| cluster.view(node)).collect();
            // One voter more lets an odd group survive no additional loss, so groups stay odd.
            let all = |view: &View| {
                view.member && view.members.len() == views.len() && view.voters + 1 >= views.len()
            };
            match views.iter().find(|view| !all(view)) {
                Some(view) => Err(format!("{view:?}")),
                None => Ok(()),
            }
        })?;
        let begin = self.now().since(Moment::ZERO);
        self.plan = plan.into_iter().map(|(at, step)| (at + begin, step)).collect();
        Ok(())
    }

    /// Ends all faults: paused processes resume, nodes that were to be restarted are, and no
    /// federate begins anything new.
    pub(super) fn heal(&mut self) -> Result<(), Failure> {
        while let Some((_, step)) = self.plan.pop_front() {
            self.follow(step)?;
        }
        self.sim.network_mut().heal();
        for &host in &self.hostile {
            self.sim.network_mut().kill(host);
        }
        for host in self.federates.clone() {
            self.with_federate(host, |federate, port| {
                federate.calm_down();
                federate.set_reading(port, true);
            });
            self.watch(host)?;
        }
        Ok(())
    }

    /// Whether all running nodes are members of one network and agree on it, and every call is
    /// answered.
    fn is_converged(&self) -> Result<(), String> {
        let up = self.up();
        let views: Vec<_> = up.iter().filter_map(|&node| node::view(self.kernel(node))).collect();
        let mut keys: Vec<_> = views.iter().map(|view| view.key).collect();
        keys.sort_unstable();
        for (node, view) in up.iter().zip(&views) {
            if !view.member || view.leader.is_none() {
                return Err(format!("node {node} is no member, or has no leader: {view:?}"));
            }
            if view.members != keys {
                return Err(format!("node {node} has members {:?}, and there are {keys:?}", view.members));
            }
            // Until a proposal is committed, a federate may be resigned for its own node but still
            // be on the lists of the others.
            if view.proposals > 0 {
                return Err(format!("node {node} has {} proposals that are not committed", view.proposals));
            }
        }
        if self.model.as_ref().is_some_and(|model| !model.is_settled()) {
            return Err("not everybody has what it is owed, or a session has no connection".to_owned());
        }
        self.all_federates(Federate::is_settled)?;
        // A federate whose node is gone must notice it before it is counted: otherwise it could
        // stand in for a lost one that has not been resigned yet.
        let alive: Vec<_> =
            self.federates().iter().filter(|&&host| self.federate(host).is_alive()).copied().collect();
        for &host in &alive {
            let life = self.federate(host).session_id().and_then(|session| self.ledger.lives.get(&session));
            if let Some(Run { node, start }) = life.map(|life| life.run)
                && (self.starts[node].0 != start || !self.is_running(node))
            {
                return Err(format!("{host} does not know yet that its node {node} is gone"));
            }
        }
        // Lost federates are resigned; all others are served.
        let alive = alive.len();
        let statuses: Vec<_> = up.iter().map(|&node| self.kernel(node).status()).collect();
        let sessions: usize = statuses.iter().map(|status| status.sessions).sum();
        let federations = statuses.iter().flat_map(|status| &status.federations);
        let served: usize = federations.map(|federation| federation.federates.len()).sum();
        let joined = self.ledger.joined().count();
        match (sessions, served) == (alive, joined) {
            true => Ok(()),
            false => Err(format!("{sessions} sessions for {alive}, {served} members for {joined}")),
        }
    }

    /// Runs until the cluster has converged, in bounded time, and checks that it stays so.
    pub(super) fn converge(&mut self) -> Result<(), Failure> {
        let (timing, timeouts) = (self.options.timing, self.options.timeouts);
        let of_sessions = timeouts.resume_window + 2 * timeouts.heart + Duration::from_secs(20);
        let of_nodes = timing.minority + 2 * (timing.silence + timing.node + timing.backoff);
        // Receivers may still notice messages in flight, and nodes may still reorganize.
        let (bound, then, bound_then) = match self.options.is_networked() {
            true => (of_nodes + of_sessions, Duration::from_secs(1), of_nodes + of_sessions),
            false => (of_sessions, Duration::from_secs(3) + 3 * timeouts.heart, Duration::ZERO),
        };
        self.wait(bound, "after everything was healed", Self::is_converged)?;
        self.run_for(then)?;
        self.wait(bound_then, "it had converged once", Self::is_converged)
    }

    /// A last round, in which no message may be missing: every federate sends all it can.
    pub(super) fn last_round(&mut self) -> Result<(), Failure> {
        self.ledger.calm = Some(self.now());
        for _ in 0..2 {
            self.run_for(Duration::from_millis(100))?;
            for host in self.federates().to_vec() {
                if self.is_joined(host) {
                    for call in self.everything(host) {
                        self.act(host, call)?;
                    }
                }
            }
        }
        self.settle_calls(Duration::from_secs(10))?;
        self.run_for(Duration::from_secs(2))
    }

    /// An update of every published attribute of every instance of its own, every published
    /// interaction, and a request for the list of members.
    fn everything(&mut self, host: HostId) -> Vec<Call> {
        let joined = self.ledger.joined().find(|(_, life, _)| life.host == host);
        let Some((session, _, member)) = joined else { return Vec::new() };
        let federation = member.federation.clone();
        let interactions: Vec<_> = member.published_interactions.keys().copied().collect();
        let own = self.ledger.instances.iter().filter(|((of, _), i)| *of == federation && i.owner == session);
        let own: Vec<_> = own.map(|((_, handle), i)| (*handle, i.owned.clone())).collect();
        let mut calls = Vec::new();
        for (handle, owned) in own {
            for attribute in owned {
                let tag = self.stamp(host);
                let pair =
                    api::AttributeHandleValue { attribute_handle: Some(attribute), value: tag.clone() };
                calls.push(Call::UpdateAttributeValuesRequest(api::UpdateAttributeValuesRequest {
                    object_instance: Some(handle),
                    attribute_values: Some(api::AttributeHandleValueMap {
                        attribute_handle_value: vec![pair],
                    }),
                    user_supplied_tag: tag,
                }));
            }
        }
        for class in interactions {
            let user_supplied_tag = self.stamp(host);
            calls.push(Call::SendInteractionRequest(api::SendInteractionRequest {
                interaction_class: Some(class),
                parameter_values: Some(api::ParameterHandleValueMap::default()),
                user_supplied_tag,
            }));
        }
        let federation_name = federation_of(&federation).to_owned();
        let list = api::ListFederationExecutionMembersRequest { federation_name };
        calls.push(Call::ListFederationExecutionMembersRequest(list));
        calls
    }

    /// With nothing to do, only keep-alives are sent.
    pub(super) fn keep_silent(&mut self) -> Result<(), Failure> {
        // Time for the last announcement of the last messages.
        self.run_for(Duration::from_secs(4))?;
        self.observed = 0;
        let sent = self.network().stats().stream_sent_bytes;
        let silence = if self.options.is_networked() { SILENCE } else { SILENCE_ALONE };
        self.run_for(silence)?;
        if self.observed > 0 {
            return Err(self.failure("silence", format!("{} things were seen", self.observed)));
        }
        let alive = self.federates().iter().filter(|&&host| self.federate(host).is_alive()).count() as u64;
        let nodes = self.up().len() as u64;
        let pairs = nodes * nodes.saturating_sub(1) / 2;
        // Heartbeats are sent a sixth of their interval early.
        let interval = self.options.timeouts.heartbeat.as_millis() as u64 * 5 / 6;
        let beats = silence.as_millis() as u64 / interval + 1;
        let most = pairs * PAIR_BYTES_PER_SECOND * silence.as_secs() + alive * beats * HEARTBEAT_BYTES;
        let sent = self.network().stats().stream_sent_bytes - sent;
        match sent <= most {
            true => Ok(()),
            false => {
                let text = format!("{sent} octets were sent by {nodes} nodes and {alive} federates");
                Err(self.failure("silence", text))
            }
        }
    }

    /// Asks every property for its final check.
    pub(super) fn judge(&mut self) -> Result<(), Failure> {
        for node in self.up() {
            let status = self.kernel(node).network();
            self.outcome.moved_paths += status.as_ref().map_or(0, |status| status.overlay.moved_paths);
            for (_, stats) in status.map(|status| status.routers).unwrap_or_default() {
                self.outcome.multicast.0 += stats.group_messages;
                self.outcome.multicast.1 += stats.directed_messages;
            }
            let run = Run { node, start: self.starts[node].0 };
            let key = node::key(&self.options, node, run.start);
            if node::view(self.kernel(node)).is_none_or(|view| view.member && view.key == key) {
                self.ledger.lived.insert(run);
            } else {
                self.outcome.lost_nodes += 1;
            }
        }
        if self.options.faults.is_empty() && self.ledger.lived.len() < self.options.shape.nodes {
            return Err(
                self.failure("membership", "a node was given up though nothing went wrong".to_owned())
            );
        }
        if let Some(model) = &mut self.model {
            model.finish().map_err(|text| self.failure("as_the_model", text))?;
        }
        for place in 0..self.invariants.len() {
            let invariant = &mut self.invariants[place];
            let name = invariant.name();
            let judged = invariant.finish(&self.ledger);
            *self.outcome.checked.entry(name).or_default() += invariant.checked();
            judged.map_err(|text| self.failure(name, text))?;
        }
        Ok(())
    }

    /// Every federate ends its session, then every node but the last leaves; then no node holds any
    /// state of them.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        for host in self.federates().to_vec() {
            self.with_federate(host, Federate::terminate);
            self.watch(host)?;
        }
        self.wait(Duration::from_secs(15), "the end of all sessions", |cluster| {
            for node in cluster.up() {
                let status = cluster.kernel(node).status();
                let joined: usize =
                    status.federations.iter().map(|federation| federation.federates.len()).sum();
                if (status.sessions, status.connections, joined) != (0, 0, 0) {
                    return Err(format!("node {node} still holds {status:?}"));
                }
            }
            Ok(())
        })?;
        while let Some(node) = self.next_to_leave() {
            self.leave(node);
            self.wait(LEAVE_MAX, "a node leaves", |cluster| match cluster.kernel(node).has_left() {
                true => Ok(()),
                false => Err(format!("node {node} is still there: {:?}", cluster.view(node))),
            })?;
            self.starts[node].1 = Condition::Down;
            self.sim.network_mut().kill(self.nodes[node]);
        }
        Ok(())
    }

    /// A node without which the others stay connected; `None` if only one is left.
    fn next_to_leave(&self) -> Option<usize> {
        let (up, shape) = (self.up(), &self.options.shape);
        let spare = |&node: &usize| {
            let gone: BTreeSet<usize> = (0..shape.nodes).filter(|n| !up.contains(n) || *n == node).collect();
            // A node that joined later is linked to the protected node only.
            let held = node == self.options.protected && up.contains(&shape.nodes);
            !held && shape.largest_part(&gone, &BTreeSet::new(), &[]) == shape.nodes - gone.len()
        };
        up.iter().copied().rev().find(spare).filter(|_| up.len() > 1)
    }
}
