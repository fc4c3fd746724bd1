//! The end of a run: convergence, a last round of messages, silence, and leaving.

use super::ledger;
use super::world::{Cluster, LEAVE_MAX};
use crate::federate::Federate;
use crate::world::Failure;
use hla::api;
use hla::api::call_request::CallRequest as Call;
use netsim::HostId;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long, at the end of a run, nothing may be said but signs of life.
const SILENCE: Duration = Duration::from_secs(8);
/// Bytes per second that each pair of nodes may exchange in silence: signs of life of links, and of the replicated log,
/// over as many links as a path may have.
const PAIR_BYTES_PER_SECOND: u64 = 12_000;
/// Bytes per second that each federate and its node may exchange in silence.
const FEDERATE_BYTES_PER_SECOND: u64 = 300;
/// How often it is looked whether something has come about.
const LOOK: Duration = Duration::from_millis(50);

impl Cluster {
    /// Runs until `done`, looking every now and then.
    ///
    /// # Errors
    /// A property does not hold, or `what` did not come about in time.
    pub fn wait(
        &mut self,
        bound: Duration,
        what: &str,
        done: impl Fn(&Self) -> Result<(), String>,
    ) -> Result<(), Failure> {
        let until = self.now() + bound;
        while let Err(missing) = done(self) {
            if self.now() >= until {
                return Err(self.failure("convergence", format!("{what}: not after {bound:?}: {missing}")));
            }
            self.run_for(LOOK)?;
        }
        Ok(())
    }

    /// Whether all nodes that run are members of one network and agree on it, and everything asked is answered.
    fn is_converged(&self) -> Result<(), String> {
        let up = self.up();
        let views: Vec<_> = up.iter().map(|&node| self.view(node)).collect();
        for (node, view) in up.iter().zip(&views) {
            if !view.member || view.leader.is_none() {
                return Err(format!("node {node} is no member, or has no leader: {view:?}"));
            }
            let mut keys: Vec<_> = views.iter().map(|view| view.key).collect();
            keys.sort_unstable();
            if view.members != keys {
                return Err(format!("node {node} has members {:?}, and there are {keys:?}", view.members));
            }
        }
        let busy = self.federates().iter().find(|&&host| !self.federate(host).is_settled());
        if let Some(host) = busy {
            return Err(format!("{host} waits for an answer"));
        }
        // Who was lost is resigned, and who lives is served.
        let alive = self.federates().iter().filter(|&&host| self.federate(host).is_alive()).count();
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

    /// Runs until everything has found its place, in bounded time, and then stays there.
    pub(super) fn converge(&mut self) -> Result<(), Failure> {
        let (timing, timeouts) = (&self.options.timing, &self.options.members.timeouts);
        let bound = timing.minority
            + 2 * (timing.silence + timing.node + timing.backoff)
            + timeouts.resume_window
            + 2 * timeouts.heart
            + Duration::from_secs(20);
        self.wait(bound, "after everything was healed", Self::is_converged)?;
        self.run_for(Duration::from_secs(1))?;
        self.wait(bound, "it had converged once", Self::is_converged)
    }

    /// A last round, of which nothing may be missing: everybody says all it can.
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
        self.wait(Duration::from_secs(10), "the last round", |cluster| {
            let busy = cluster.federates().iter().find(|&&host| !cluster.federate(host).is_settled());
            busy.map_or(Ok(()), |host| Err(format!("{host} waits for an answer")))
        })?;
        self.run_for(Duration::from_secs(2))
    }

    /// An update of every attribute of every own instance that is published, every interaction that is published, and
    /// the question who is there.
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
        let federation_name = ledger::federation_of(&federation).to_owned();
        let list = api::ListFederationExecutionMembersRequest { federation_name };
        calls.push(Call::ListFederationExecutionMembersRequest(list));
        calls
    }

    /// With nothing to do, nothing is said but signs of life.
    pub(super) fn keep_silent(&mut self) -> Result<(), Failure> {
        // The last announcement of what was said last.
        self.run_for(Duration::from_secs(4))?;
        self.observed = 0;
        let sent = self.network().stats().stream_sent_bytes;
        self.run_for(SILENCE)?;
        if self.observed > 0 {
            return Err(self.failure("silence", format!("{} things were seen", self.observed)));
        }
        let alive = self.federates().iter().filter(|&&host| self.federate(host).is_alive()).count() as u64;
        let nodes = self.up().len() as u64;
        let pairs = nodes * nodes.saturating_sub(1) / 2;
        let sent = (self.network().stats().stream_sent_bytes - sent) / SILENCE.as_secs();
        match sent <= pairs * PAIR_BYTES_PER_SECOND + alive * FEDERATE_BYTES_PER_SECOND {
            true => Ok(()),
            false => {
                let text = format!("{sent} octets a second were sent by {nodes} nodes and {alive} federates");
                Err(self.failure("silence", text))
            }
        }
    }

    /// Every federate ends its session, then every node leaves but the last; then nobody holds anything.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        for host in self.federates().to_vec() {
            self.with_federate(host, Federate::terminate);
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
            self.wait(LEAVE_MAX, "a node leaves", |cluster| match cluster.has_left(node) {
                true => Ok(()),
                false => Err(format!("node {node} is still there: {:?}", cluster.view(node))),
            })?;
            self.set_down(node);
        }
        Ok(())
    }

    /// A node without which the others still hang together; `None` when only one is left.
    fn next_to_leave(&self) -> Option<usize> {
        let (up, shape) = (self.up(), &self.options.shape);
        let spare = |&node: &usize| {
            let gone: BTreeSet<usize> = (0..shape.nodes).filter(|n| !up.contains(n) || *n == node).collect();
            // A node that joined later hangs at the anchor.
            let held = node == self.options.anchor && up.contains(&shape.nodes);
            !held && shape.largest_part(&gone, &BTreeSet::new(), &[]) == shape.nodes - gone.len()
        };
        up.iter().copied().rev().find(spare).filter(|_| up.len() > 1)
    }

    fn has_left(&self, node: usize) -> bool {
        self.kernel(node).has_left()
    }
}
