//! The life of links, and the targets behind them.

use super::{Overlay, SILENT_LINKS_MAX, Timer};
use crate::error::{FrameError, Refusal};
use crate::event::Event;
use crate::link::{Link, Stage};
use crate::target::Stage as TargetStage;
use crate::wire::Frame;
use crate::{LinkId, TargetId};
use base::{Moment, NodeKey};
use bytes::Bytes;

/// Even a busy link carries a keep-alive once in this many intervals.
const BUSY_INTERVALS: u32 = 4;

impl Overlay {
    /// A link is up. `from` is the target that it was made for; `None`: the other node connected.
    pub fn handle_link_up(&mut self, now: Moment, id: LinkId, from: Option<TargetId>) {
        if self.links.contains_key(&id) {
            return;
        }
        let terms = match from.and_then(|target| self.targets.get_mut(target)) {
            Some(state) => {
                state.stage = TargetStage::Linked(id);
                // The terms that were configured at the attempt hold, even if the target changes
                // meanwhile.
                state.target.terms.clone()
            }
            None => Bytes::new(),
        };
        let limit = self.config.limits.links_max;
        let crowded = self.links.len() >= limit;
        let mut link = Link::new(now, from, terms.clone());
        if from.is_some() && !self.leaving && !crowded {
            // The initiator speaks first. A node that is full or leaves says so instead.
            link.out.push_back(self.greeting(now, terms));
        }
        self.links.insert(id, link);
        self.timers.set(Timer::Greeting(id), now + self.config.timing.greeting_max);
        if self.leaving {
            self.refuse(now, id, Refusal::Leaving);
        } else if crowded {
            self.refuse(now, id, Refusal::TooManyLinks { limit });
        }
        self.wake(id);
    }

    /// The other end of the link, which has just come up, has proven that it has one of these names.
    /// A greeting with another name is refused.
    pub fn handle_link_proven(&mut self, id: LinkId, names: Vec<String>) {
        if let Some(link) = self.links.get_mut(&id) {
            link.proven = Some(names);
        }
    }

    /// The target could not be connected to.
    pub fn handle_link_failed(&mut self, now: Moment, target: TargetId, why: &str) {
        // A late failure of an attempt that was given up must not disturb the next one.
        if self.targets.get(target).is_some_and(|state| state.stage == TargetStage::Connecting) {
            self.retry(now, target, why);
        }
    }

    /// The link is gone.
    pub fn handle_link_down(&mut self, now: Moment, id: LinkId, why: &str) {
        self.detach(now, id, why);
        self.links.remove(&id);
    }

    /// Something was heard on the link, for example a frame of a channel, so the other end is
    /// alive.
    pub fn handle_heard(&mut self, now: Moment, id: LinkId) {
        if let Some(link) = self.links.get_mut(&id) {
            link.last_heard = now;
        }
    }

    /// A frame of the overlay arrived. A peer that breaks the protocol is refused; this node goes
    /// on.
    pub fn handle_frame(&mut self, now: Moment, id: LinkId, frame: Bytes) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.stage == Stage::Closing {
            return;
        }
        link.last_heard = now;
        link.received_frames += 1;
        self.stats.received_frames += 1;
        self.stats.received_bytes += frame.len() as u64;
        if let Err(error) = Frame::decode(frame).and_then(|frame| self.on_frame(now, id, frame)) {
            self.stats.hostile_links += 1;
            self.refuse(now, id, Refusal::of(error));
        }
    }

    fn on_frame(&mut self, now: Moment, id: LinkId, frame: Frame) -> Result<(), FrameError> {
        let Some(stage) = self.links.get(&id).map(|link| link.stage) else { return Ok(()) };
        let item = frame.name();
        match (stage, frame) {
            (_, Frame::Refusal { code, key, text }) => self.on_refusal(now, id, code, key, text),
            (Stage::Called | Stage::Waiting, Frame::Greeting(peer)) => self.on_greeting(now, id, peer),
            (Stage::Answered, Frame::Accept) => self.on_accept(now, id),
            (Stage::Up, Frame::Ping { token, summary }) => self.on_ping(id, token, summary),
            (Stage::Up, Frame::Pong(token)) => self.on_pong(now, id, token),
            (Stage::Up, Frame::Digest(known)) => self.on_digest(id, &known),
            (Stage::Up, Frame::Entries(entries)) => self.on_entries(now, id, entries),
            (Stage::Up, Frame::Unicast(piece)) => self.on_piece(now, piece),
            (Stage::Up, Frame::Path { mine, seen, tunnel }) => self.on_path(now, id, (mine, seen), tunnel),
            (Stage::Called | Stage::Waiting, _) => {
                return Err(FrameError::Unexpected { item, wanted: "a greeting" });
            }
            (Stage::Answered, _) => return Err(FrameError::Unexpected { item, wanted: "an acceptance" }),
            (Stage::Up, _) => return Err(FrameError::Unexpected { item, wanted: "anything else" }),
            (Stage::Closing, _) => {}
        }
        Ok(())
    }

    fn on_ping(&mut self, id: LinkId, token: u32, theirs: u64) {
        let ours = self.summary();
        let Some(link) = self.links.get_mut(&id) else { return };
        link.pong_due = Some(token);
        // Entries that are still under way make a difference once; lost entries make the same
        // difference twice.
        let differ = (theirs != ours).then_some((theirs, ours));
        match (differ, link.differs) {
            (Some(now), Some(before)) if now == before => {
                let first = !std::mem::replace(&mut link.compared, true);
                link.digest_due |= first;
                self.stats.repairs += u64::from(first);
            }
            _ => {
                link.differs = differ;
                link.compared = false;
            }
        }
        self.wake(id);
    }

    fn on_pong(&mut self, now: Moment, id: LinkId, token: u32) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let Some((_, at)) = link.asked.filter(|asked| asked.0 == token) else { return };
        link.asked = None;
        link.measured(now.since(at));
        if link.rtt_advertised.is_some_and(|advertised| advertised != link.rtt_to_advertise()) {
            self.announce_soon(now);
        }
    }

    fn on_refusal(&mut self, now: Moment, id: LinkId, code: u8, peer: NodeKey, text: String) {
        let target = self.links.get(&id).and_then(|link| link.target);
        let reason = format!("refused by the other node: {text}");
        self.events.push_back(Event::RefusedByPeer { link: id, target, peer, code, text });
        if let Some(state) = target.and_then(|target| self.targets.get_mut(target))
            && matches!(code, Refusal::YIELDS | Refusal::GIVEN_UP)
        {
            // The other node takes part in the other network soon, and waits for this node to
            // connect again.
            state.attempts = 0;
        }
        self.drop_link(now, id, &reason);
        if let Some(target) = target.filter(|_| code == Refusal::ALREADY_LINKED)
            && self.neighbours.contains_key(&peer)
        {
            self.cover(now, target, peer);
        }
    }

    /// Refuses the link: the other end is told, then the link is closed.
    pub(super) fn refuse(&mut self, now: Moment, id: LinkId, refusal: Refusal) {
        let Some(link) = self.links.get(&id) else { return };
        if link.stage == Stage::Closing {
            return;
        }
        let (target, code, text) = (link.target, refusal.code(), refusal.to_string());
        let peer = link.peer.as_ref().map(|peer| (peer.key, peer.name.clone()));
        self.stats.refused_links += 1;
        self.events.push_back(Event::Refused { link: id, target, peer, refusal });
        self.detach(now, id, &text);
        let frame = Frame::Refusal { code, key: self.config.key, text: text.clone() }.encode();
        self.close_after(now, id, &text, vec![frame]);
    }

    /// Closes a link that is already detached, after its last frames.
    pub(super) fn close_after(&mut self, now: Moment, id: LinkId, reason: &str, last: Vec<Bytes>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.stage = Stage::Closing;
        link.clear();
        link.out.extend(last);
        link.close_reason = reason.to_owned();
        self.timers.set(Timer::Close(id), now + self.config.timing.close_max);
        self.wake(id);
    }

    /// Gives up a link at once.
    pub(super) fn drop_link(&mut self, now: Moment, id: LinkId, reason: &str) {
        self.detach(now, id, reason);
        if let Some(link) = self.links.get_mut(&id) {
            link.close_reason = reason.to_owned();
            self.finish_close(id);
        }
    }

    pub(super) fn finish_close(&mut self, id: LinkId) {
        self.timers.clear(Timer::Close(id));
        if let Some(link) = self.links.remove(&id) {
            self.events.push_back(Event::Close { link: id, reason: link.close_reason });
        }
    }

    /// Removes the link from all state, whatever becomes of the link itself.
    pub(super) fn detach(&mut self, now: Moment, id: LinkId, why: &str) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let stage = std::mem::replace(&mut link.stage, Stage::Closing);
        let timers =
            [Timer::Greeting, Timer::KeepAlive, Timer::Silence, Timer::Close, Timer::RateLimit, Timer::Cycle];
        for timer in timers {
            self.timers.clear(timer(id));
        }
        if stage == Stage::Closing {
            return;
        }
        let (target, peer) = (link.target, link.peer_key());
        // A link that breaks at once keeps its back-off. Otherwise two nodes that always fail would
        // connect as fast as they can.
        let steady = stage == Stage::Up && now.since(link.up_since) >= self.config.timing.steady_after;
        let heard_long = link.heard_for() >= self.config.timing.steady_after;
        let mut waiting = link.urgent.take_all();
        waiting.extend(link.bulk.take_all());
        let path = std::mem::take(&mut link.path_reported);
        // Frames that the other end has not confirmed may be lost with the link.
        let unconfirmed = link.retiring && !link.path.is_withdrawn();
        if let Some(key) = peer.filter(|key| self.neighbours.get(key) == Some(&id)) {
            if heard_long && let Some(relation) = self.relations.get_mut(&key) {
                relation.silent_links = 0;
            }
            self.neighbours.remove(&key);
            if path {
                self.events.push_back(Event::PathDown { neighbour: key });
            }
            if path || unconfirmed {
                self.end_tunnel(key);
            }
            self.events.push_back(Event::NeighbourDown { key, why: why.to_owned() });
            self.announce_soon(now);
            self.recompute(now);
        }
        if let Some(target) = target {
            if let Some(state) = self.targets.get_mut(target).filter(|_| steady) {
                state.attempts = 0;
            }
            self.retry(now, target, why);
        }
        if let Some(key) = peer.filter(|key| !self.neighbours.contains_key(key)) {
            self.uncover(now, key, why);
        }
        // Last, when the routes no longer use this link: pieces of other nodes take another path.
        for piece in waiting {
            self.forward(piece);
        }
    }

    /// Retries the targets that relied on a link to `key`.
    fn uncover(&mut self, now: Moment, key: NodeKey, why: &str) {
        for target in self.targets.covered_by(key) {
            self.retry(now, target, why);
        }
    }

    /// Schedules the next attempt at the target.
    pub(super) fn retry(&mut self, now: Moment, target: TargetId, why: &str) {
        let wait = self.targets.wait(target, &self.config.timing.backoff);
        let next_url = self.next_url(target);
        let Some(state) = self.targets.get_mut(target) else { return };
        state.stage = TargetStage::Waiting;
        state.last_error = Some(why.to_owned());
        if let Some(url) = next_url {
            state.target.url = url;
        }
        if !self.leaving {
            self.timers.set(Timer::Connect(target), now + wait);
        }
    }

    /// Tries the target now.
    pub(super) fn connect(&mut self, target: TargetId) {
        if !self.leaving {
            self.connect_due(target);
        }
    }

    pub(super) fn connect_due(&mut self, target: TargetId) {
        let Some(state) = self.targets.get_mut(target) else { return };
        if let Some(key) = state.peer.filter(|key| self.neighbours.contains_key(key)) {
            state.stage = TargetStage::Covered(key);
            return;
        }
        if let Some(url) = self.targets.attempt(target) {
            self.events.push_back(Event::Connect { target, url });
        }
    }

    pub(super) fn greeting_timed_out(&mut self, now: Moment, id: LinkId) {
        self.refuse(now, id, Refusal::GreetingTimeout(self.config.timing.greeting_max));
    }

    pub(super) fn keep_alive(&mut self, now: Moment, id: LinkId) {
        let interval = self.config.timing.keep_alive;
        let Some(link) = self.links.get_mut(&id) else { return };
        // Busy links carry pings now and then, to measure the round trip and to compare maps.
        let due = (link.last_sent + interval).min(link.last_ping + BUSY_INTERVALS * interval);
        if due > now {
            self.timers.set(Timer::KeepAlive(id), due);
            return;
        }
        link.ping_due = true;
        self.timers.set(Timer::KeepAlive(id), now + interval);
        self.wake(id);
    }

    pub(super) fn check_silence(&mut self, now: Moment, id: LinkId, slept: bool) {
        let grace = 2 * self.config.timing.keep_alive;
        let Some(link) = self.links.get(&id) else { return };
        let due = link.last_heard + link.silence_max;
        if due > now {
            self.timers.set(Timer::Silence(id), due);
        // The host was suspended, or this process was not scheduled. The neighbour's frames may
        // still be in the socket.
        } else if slept {
            self.timers.set(Timer::Silence(id), now + grace);
        } else {
            self.stats.silent_links += 1;
            let (silence, heard_for) = (link.silence_max, link.heard_for());
            let relation = link.peer_key().and_then(|peer| self.relations.get_mut(&peer));
            if let Some(relation) = relation.filter(|_| heard_for < self.config.timing.steady_after) {
                relation.silent_links = (relation.silent_links + 1).min(SILENT_LINKS_MAX);
            }
            self.drop_link(now, id, &format!("nothing was heard for {silence:?}"));
        }
    }
}
