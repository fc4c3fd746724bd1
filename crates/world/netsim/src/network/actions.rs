//! What happens to the network itself, now or by schedule: rules come and go, hosts die and return.

use super::{Event, HostId, Network, SocketId};
use crate::fault::{Rule, RuleId};
use base::Moment;
use std::fmt;

/// Something to happen to the network at a moment.
pub enum Action {
    /// A rule comes into force under an id from [`Network::reserve_rule`].
    AddRule(RuleId, Box<dyn Rule>),
    /// A rule goes, and what it stalled flows on.
    RemoveRule(RuleId),
    /// All rules go, and everything stalled flows on.
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
    /// Puts a rule into force. It judges what is sent from now on, not what is under way.
    pub fn add_rule(&mut self, rule: impl Rule + 'static) -> RuleId {
        let id = self.rules.reserve();
        self.rules.add(id, Box::new(rule));
        id
    }

    /// An id for a rule that a scheduled [`Action::AddRule`] brings.
    pub fn reserve_rule(&mut self) -> RuleId {
        self.rules.reserve()
    }

    /// Schedules `rule` to come into force at `at`.
    pub fn schedule_rule(&mut self, at: Moment, rule: impl Rule + 'static) -> RuleId {
        let id = self.rules.reserve();
        self.schedule(at, Action::AddRule(id, Box::new(rule)));
        id
    }

    /// Removes a rule; what it stalled flows on, if no other rule holds it. Says whether it was in
    /// force.
    pub fn remove_rule(&mut self, id: RuleId) -> bool {
        let was_there = self.rules.remove(id);
        self.release(Some(id));
        was_there
    }

    /// Removes every rule in force; everything stalled flows on. Scheduled actions stay.
    pub fn heal(&mut self) {
        self.rules.clear();
        self.release(None);
    }

    /// The process of `host` dies: its connections are reset, it hears nothing more, and connections
    /// to it are refused. (For a host that falls silent, [stall](crate::Verdict::Stall) all that it
    /// sends and gets.)
    pub fn kill(&mut self, host: HostId) {
        let state = self.host_mut(host);
        state.wake = None;
        state.up = false;
        let sockets: Vec<SocketId> = state.sockets.iter().copied().collect();
        for socket in sockets {
            self.reset(socket);
        }
    }

    /// A new process runs on `host`: it is reached again. It knows nothing of the old one.
    pub fn revive(&mut self, host: HostId) {
        self.host_mut(host).up = true;
    }

    /// True unless the host was killed.
    pub fn is_up(&self, host: HostId) -> bool {
        self.host(host).up
    }

    /// Has `action` happen at `at`, or now if that is past; among the events of that moment it takes its
    /// place by the order of scheduling.
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

    /// Lets flow what `by`, or any rule, stalled. Other rules judge it anew.
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
