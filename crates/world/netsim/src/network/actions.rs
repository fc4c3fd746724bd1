//! Changes of the network itself, immediate or scheduled: rules are added and removed, hosts die
//! and return.

use super::{Event, HostId, Network, SocketId};
use crate::fault::{Rule, RuleId};
use base::Moment;
use std::fmt;

/// A change of the network at a moment.
pub enum Action {
    /// Adds a rule under an id that the network has reserved for it.
    AddRule(RuleId, Box<dyn Rule>),
    /// Removes a rule and releases the segments that it stalled.
    RemoveRule(RuleId),
    /// Removes all rules and releases all stalled segments.
    Heal,
    /// See [`Network::kill`].
    Kill(HostId),
    /// See [`Network::revive`].
    Revive(HostId),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::AddRule(id, _) => write!(f, "AddRule({id})"),
            Action::RemoveRule(id) => write!(f, "RemoveRule({id})"),
            Action::Heal => f.write_str("Heal"),
            Action::Kill(host) => write!(f, "Kill({host})"),
            Action::Revive(host) => write!(f, "Revive({host})"),
        }
    }
}

impl Network {
    /// Adds a rule. It judges packets sent from now on, not those in flight.
    pub fn add_rule(&mut self, rule: impl Rule + 'static) -> RuleId {
        let id = self.rules.reserve();
        self.rules.add(id, Box::new(rule));
        id
    }

    /// Schedules `rule` to be added at `at`.
    pub fn schedule_rule(&mut self, at: Moment, rule: impl Rule + 'static) -> RuleId {
        let id = self.rules.reserve();
        self.schedule(at, Action::AddRule(id, Box::new(rule)));
        id
    }

    /// Removes a rule. Segments that it stalled go on unless another rule stalls them. Returns
    /// whether the rule was in force.
    pub fn remove_rule(&mut self, id: RuleId) -> bool {
        let was_there = self.rules.remove(id);
        self.release(Some(id));
        was_there
    }

    /// Removes all rules in force; all stalled segments go on. Scheduled actions remain.
    pub fn heal(&mut self) {
        self.rules.clear();
        self.release(None);
    }

    /// Kills the process of `host`: its connections are reset, it receives no more events, and
    /// connections to it are refused. (To silence a host instead, [stall](crate::Verdict::Stall)
    /// everything that it sends and receives.)
    pub fn kill(&mut self, host: HostId) {
        let state = self.host_mut(host);
        state.wake = None;
        state.up = false;
        let sockets: Vec<SocketId> = state.sockets.iter().copied().collect();
        for socket in sockets {
            self.reset(socket);
        }
    }

    /// Starts a new process on `host`, which can be reached again. It knows nothing of the old one.
    pub fn revive(&mut self, host: HostId) {
        self.host_mut(host).up = true;
    }

    /// True unless the host has been killed.
    pub fn is_up(&self, host: HostId) -> bool {
        self.host(host).up
    }

    /// Schedules `action` for `at`, or for now if that is past. Simultaneous events keep the order
    /// of scheduling.
    pub fn schedule(&mut self, at: Moment, action: Action) {
        let index = u32::try_from(self.actions.len()).expect("fewer than 2^32 actions");
        self.actions.push(Some(action));
        self.queue.push(at.max(self.now), Event::Action(index));
    }

    pub(super) fn act(&mut self, index: u32) {
        match self.actions.get_mut(index as usize).and_then(Option::take) {
            Some(Action::AddRule(id, rule)) => self.rules.add(id, rule),
            Some(Action::RemoveRule(id)) => {
                self.remove_rule(id);
            }
            Some(Action::Heal) => self.heal(),
            Some(Action::Kill(host)) => self.kill(host),
            Some(Action::Revive(host)) => self.revive(host),
            None => {}
        }
    }

    /// Releases the segments stalled by the rule `by`, or by any rule. The remaining rules judge
    /// them again.
    fn release(&mut self, by: Option<RuleId>) {
        let stalled: Vec<SocketId> = self.stalled.iter().copied().collect();
        for socket in stalled {
            let out = &mut self.socket_mut(socket).out;
            if by.is_some() && out.held_by != by {
                continue;
            }
            out.held_by = None;
            let held = std::mem::take(&mut out.held);
            self.stalled.remove(&socket);
            for segment in held {
                self.submit(socket, segment);
            }
        }
    }
}
