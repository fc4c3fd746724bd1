//! Running the library until it has nothing more to do, and reporting the changes.

use base::NodeKey;
use raft::eraftpb::{Entry, Message};
use raft::{Config as RaftConfig, Storage as _};
use rand_core::RngCore as _;

use super::{Consensus, Event};
use crate::config::Config;
use crate::configuration::Configuration;
use crate::log::Log;
use crate::wire::{self, Packet};

/// The state that was last reported, so that only changes are.
#[derive(Debug, Default)]
pub(super) struct Reported {
    leader: Option<NodeKey>,
    quorum: bool,
    pub(super) snapshot_wanted: bool,
}

/// The settings of the library.
pub(super) fn raft_config(key: NodeKey, config: &Config, log: &Log) -> RaftConfig {
    let election = config.election_ticks as usize;
    RaftConfig {
        id: key.0,
        election_tick: election,
        heartbeat_tick: config.heartbeat_ticks as usize,
        min_election_tick: election,
        max_election_tick: 2 * election,
        applied: log.first_index().map_or(0, |first| first - 1),
        max_size_per_msg: config.message_bytes as u64,
        max_inflight_msgs: config.inflight_messages,
        max_uncommitted_size: config.uncommitted_bytes_max as u64,
        check_quorum: true,
        pre_vote: true,
        ..RaftConfig::default()
    }
}

impl Consensus {
    /// Does everything that can be done without more input. Called at the end of every call that
    /// changed something.
    pub(super) fn pump(&mut self) {
        while !self.removed {
            self.settle();
            if self.removed {
                break;
            }
            self.follow_leader();
            let proposed = self.flush_proposals();
            let changed = self.review_members();
            if !proposed && !changed {
                break;
            }
        }
        if self.removed {
            return;
        }
        self.send_requests();
        self.report();
    }

    /// Overwrites the election timeout that the library drew when it entered a term or lost its
    /// leader.
    fn draw_timeout(&mut self) {
        let term = self.node.raft.term;
        if self.drawn.0 != term {
            let ticks = u64::from(self.config.election_ticks);
            let more = self.seed.split_index(term).rng().next_u64() % ticks;
            // `Config::check` bounds `election_ticks` by 100,000, so the sum is below twice that.
            self.drawn = (term, (ticks + more) as usize);
        }
        self.node.raft.set_randomized_election_timeout(self.drawn.1);
    }

    /// Takes everything that the library wants stored, sent and applied, until there is nothing.
    /// The log is not written to a disk, so entries are stored as soon as they are taken.
    fn settle(&mut self) {
        self.draw_timeout();
        while self.node.has_ready() {
            let mut ready = self.node.ready();
            self.post(ready.take_messages());
            if !ready.snapshot().is_empty() {
                self.restore(ready.snapshot().clone());
            }
            self.apply(ready.take_committed_entries());
            if self.removed {
                return;
            }
            let entries = ready.take_entries();
            self.note_appended(&entries);
            self.node.mut_store().append(entries);
            self.post(ready.take_persisted_messages());
            let mut light = self.node.advance(ready);
            self.post(light.take_messages());
            self.apply(light.take_committed_entries());
            if self.removed {
                return;
            }
            self.node.advance_apply();
            self.draw_timeout();
        }
        if std::mem::take(&mut self.configuration_stale) {
            self.configuration = self.last_configuration();
        }
    }

    /// Records whether these entries change the voters as of the end of the log: by containing a
    /// change, or by replacing an entry that contained one.
    fn note_appended(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        self.configuration_stale |= first.index <= self.configuration.index
            || entries.iter().any(|entry| wire::changes_of(entry).is_some());
    }

    /// The voters as of the end of the log: the applied configuration and the changes appended
    /// after it.
    fn last_configuration(&self) -> Configuration {
        let log = self.node.store();
        let mut last = self.applied_configuration.clone();
        for entry in (last.index.max(log.first() - 1) + 1..=log.last()).filter_map(|index| log.get(index)) {
            let changes = wire::changes_of(entry);
            let next = changes.and_then(|changes| last.changed(&changes, (entry.term, entry.index)));
            last = next.unwrap_or(last);
        }
        last
    }

    /// Queues messages of the library, in an order that does not depend on its hash maps.
    fn post(&mut self, mut messages: Vec<Message>) {
        messages.sort_by_key(|message| message.to);
        for message in messages {
            let is_due = !self.may_wait(&message) && !self.repeats_too_early(&message);
            if is_due && wire::is_wired(&message) {
                self.send(NodeKey(message.to), &Packet::Raft(message));
            }
        }
    }

    pub(super) fn send(&mut self, to: NodeKey, packet: &Packet) {
        if let Some(group) = self.group {
            self.messages.push_back((to, wire::encode(group, packet)));
        }
    }

    /// Ends this node's membership: emits the event and is silent from now on.
    pub(super) fn set_removed(&mut self) {
        self.removed = true;
        self.next_tick = None;
        self.admission = None;
        self.asked.clear();
        self.requests.clear();
        self.events.push_back(Event::Removed);
    }

    fn report(&mut self) {
        let leader = self.leader();
        if leader != self.reported.leader {
            self.reported.leader = leader;
            self.events.push_back(Event::Leader(leader));
        }
        let quorum = self.has_quorum();
        if quorum != self.reported.quorum {
            self.reported.quorum = quorum;
            self.events.push_back(Event::Quorum(quorum));
        }
        if !self.reported.snapshot_wanted && self.is_snapshot_due() {
            self.reported.snapshot_wanted = true;
            self.events.push_back(Event::SnapshotWanted);
        }
    }
}
