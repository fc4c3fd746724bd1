//! A mesh joins every node to every other one. A node connects to the nodes that it learns of, even
//! if nobody configured them, unless a link between the two is planned.

use super::{Overlay, Timer};
use crate::config::{Target, TopologyKind};
use crate::target::Stage;
use crate::{TargetId, map::Entry};
use base::{Moment, NodeKey};
use bytes::Bytes;

impl Overlay {
    /// When two nodes learn of each other, the one with the larger key connects. The other one
    /// connects if nothing comes of that.
    pub(super) fn learn_all(&mut self, now: Moment) {
        if self.config.topology != TopologyKind::Mesh || self.leaving {
            return;
        }
        let strangers: Vec<NodeKey> =
            self.routes.to.keys().filter(|key| self.is_wanted(**key)).copied().collect();
        for key in strangers {
            if self.config.key > key {
                self.learn(key);
            } else if self.timers.get(Timer::Learn(key)).is_none() {
                self.timers.set(Timer::Learn(key), now + self.config.timing.learn_after);
            }
        }
    }

    /// Whether a link to the node is to be made now.
    fn is_wanted(&self, key: NodeKey) -> bool {
        self.is_stranger(key) && !self.waits_for_demand(key)
    }

    /// Whether the node can be connected to and nothing has been done about it. A node that is
    /// configured as a target by name, or that is expected to connect to this one, gets the planned
    /// link, with its terms and options.
    fn is_stranger(&self, key: NodeKey) -> bool {
        let open = |entry: &Entry| {
            let planned = self.config.awaited.contains(&entry.name) || self.targets.is_for_name(&entry.name);
            !entry.urls.is_empty() && !entry.leaving && !planned
        };
        !self.neighbours.contains_key(&key)
            && !self.targets.is_for(key)
            && self.map.get(key).is_some_and(open)
    }

    pub(super) fn learn_due(&mut self, key: NodeKey) {
        if self.routes.reaches(key) && self.is_wanted(key) && !self.leaving {
            self.learn(key);
        }
    }

    /// The way to the node over others is gone, and traffic cannot call for a link: this node tries
    /// to make one, until it forgets the other.
    pub(super) fn learn_lost(&mut self, key: NodeKey) {
        if self.config.on_demand.is_some() && !self.leaving && self.is_stranger(key) {
            self.learn(key);
        }
    }

    fn learn(&mut self, key: NodeKey) {
        let Some(entry) = self.map.get(key) else { return };
        let Some(url) = entry.urls.first().cloned() else { return };
        let target = Target { url, name: Some(entry.name.clone()), terms: Bytes::new() };
        let id = self.targets.add(target, Some(key));
        self.connect(id);
    }

    /// Forgets the node: it is no longer a target.
    pub(super) fn unlearn(&mut self, key: NodeKey) {
        let learned =
            |(id, state): (TargetId, &crate::target::TargetState)| (state.learned == Some(key)).then_some(id);
        let ids: Vec<TargetId> = self.targets.iter().filter_map(learned).collect();
        for id in ids {
            self.timers.clear(Timer::Connect(id));
            self.targets.remove(id);
        }
        for (_, state) in self.targets.iter_mut() {
            if state.peer == Some(key) && !matches!(state.stage, Stage::Linked(_)) {
                state.peer = None;
            }
        }
    }

    /// The next URL of a learned node, after an attempt at one has failed.
    pub(super) fn next_url(&self, target: TargetId) -> Option<String> {
        let state = self.targets.get(target)?;
        let urls = &self.map.get(state.learned?)?.urls;
        let at = urls.iter().position(|url| *url == state.target.url).map_or(0, |at| at + 1);
        urls.get(at % urls.len().max(1)).cloned()
    }
}
