//! The keys of a site's multicast groups, which the neighbours of the site hand to each other and
//! rotate.
//!
//! Every node of a site accepts one key, or two while it changes from one to the next, and sends
//! under one. Keys are totally ordered ([`KeyName`]), and the greatest wins:
//!
//! 1. One node makes a key: the one with the least [`NodeKey`] among the neighbours it knows, at
//!    intervals and when a neighbour that had the newest key is gone. Others do so a moment later if
//!    no key has come. Two that do so at once do no harm.
//! 2. A node gives its newest key to every neighbour of the site that says that it has an older one,
//!    by their direct link alone, and only if the other end of the link has proven who it is.
//! 3. A node that got a greater key accepts both, and goes on sending under the former one until
//!    all neighbours of the site accept the new one.
//! 4. It accepts the former key until no neighbour sends under it any more, and then for a moment
//!    for what is still under way.
//!
//! A neighbour counts as covered by the groups only while it accepts the key under which this node
//! sends. So a neighbour without the key gets its messages by its link. Halves of a site that meet
//! again need no agreement: the lesser key gives way.
//!
//! This machine draws no secrets. It asks the world for them, one ahead of its use.

mod message;
#[cfg(test)]
mod tests;

pub(super) use message::KeyMessage;
use message::{SITE_BYTES_MAX, State};

use super::GroupOutput;
use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

/// Bytes of a secret.
pub const SECRET_BYTES: usize = 32;

/// The longest wait for neighbours to accept a new key before this node sends under it. After that
/// it reaches the missing ones over their links.
const SPREAD_MAX: Duration = Duration::from_secs(10);
/// How long the former key is accepted after the last neighbour has stopped using it: the longest
/// way of a datagram.
const LINGER: Duration = Duration::from_secs(2);
/// The longest time for which the former key is accepted after this node has stopped using it.
/// Neighbours may wait for others for up to [`SPREAD_MAX`].
const DRAIN_MAX: Duration = Duration::from_secs(14);
/// How long a node that starts waits for the key of its site before it makes one.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// How much later than the node with the least key the others make a key.
const MAKE_WAIT: Duration = Duration::from_secs(2);
/// A neighbour whose link is down for this long is gone, be it still a member of the network or not.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// Interval at which a message is repeated to a neighbour that does not acknowledge it, and at which
/// a secret is asked for again.
const REPEAT: Duration = Duration::from_secs(1);

/// Settings of keys that the network hands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKeyConfig {
    /// The site, of at most 255 bytes. Only nodes with the same text exchange keys.
    pub site: String,
    /// How often the key is rotated.
    pub interval: Duration,
}

/// A random secret.
#[derive(Clone, PartialEq, Eq)]
pub struct GroupSecret([u8; SECRET_BYTES]);

impl GroupSecret {
    /// A secret of random bytes.
    pub const fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the cipher of the groups.
    pub const fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }
}

impl fmt::Debug for GroupSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GroupSecret")
    }
}

/// The identity of a key. Of two keys the greater one wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct KeyName {
    /// One more than that of the key before, from 1.
    pub epoch: u64,
    /// The node that made the key.
    pub maker: NodeKey,
    /// The number by which datagrams refer to the key. No node accepts two keys of one number.
    pub id: u8,
}

/// A key and its identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupKey {
    /// Its identity.
    pub name: KeyName,
    /// The secret from which the keys of all members and groups are derived.
    pub secret: GroupSecret,
}

/// The keys that are now in use in all groups of a site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupKeys {
    /// The key of outgoing datagrams, which is accepted, too.
    pub sends: GroupKey,
    /// Another key that is accepted.
    pub other: Option<GroupKey>,
}

/// The change from the former key to the newest.
#[derive(Debug)]
struct Change {
    former: GroupKey,
    /// Whether this node still sends under the former key.
    sends_former: bool,
    /// When it began, or when this node stopped sending under the former key.
    since: Moment,
    /// The time since when no neighbour has sent under the former key.
    idle_since: Option<Moment>,
}

#[derive(Debug)]
struct Keys {
    newest: GroupKey,
    /// When the node that has to rotates it.
    rotate_at: Moment,
    change: Option<Change>,
}

impl Keys {
    fn sends(&self) -> &GroupKey {
        match &self.change {
            Some(change) if change.sends_former => &change.former,
            _ => &self.newest,
        }
    }

    fn in_use(&self) -> GroupKeys {
        let other = self.change.as_ref().map(|change| match change.sends_former {
            true => self.newest.clone(),
            false => change.former.clone(),
        });
        GroupKeys { sends: self.sends().clone(), other }
    }
}

/// A key has to be made that is greater than `beyond`.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Moment,
    beyond: KeyName,
    why: &'static str,
}

/// A neighbour whose link has a proof.
#[derive(Debug, Default)]
struct Neighbour {
    /// Since when its link is down.
    down_since: Option<Moment>,
    /// Its last word over its present link; `None` before, and while the link is down.
    state: Option<State>,
    /// The greatest key that it may have.
    had: Option<KeyName>,
    /// The key that it was given over its present link.
    given: Option<KeyName>,
    /// The revisions of this node and of the neighbour in the last message to it.
    told: Option<(u32, u32)>,
    /// When the last messages are repeated.
    repeat_at: Moment,
}

impl Neighbour {
    fn newest(&self) -> Option<KeyName> {
        self.state.as_ref()?.newest
    }

    fn sends(&self) -> Option<KeyName> {
        let state = self.state.as_ref()?;
        if state.sends_former { state.former } else { state.newest }
    }

    fn is_changing(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.former.is_some())
    }

    fn accepts(&self, name: KeyName) -> bool {
        self.state.as_ref().is_some_and(|state| [state.newest, state.former].contains(&Some(name)))
    }
}

/// The machine of one node.
#[derive(Debug)]
pub(crate) struct KeyRotation {
    own: NodeKey,
    config: GroupKeyConfig,
    site: Bytes,
    begun: Moment,
    keys: Option<Keys>,
    /// A greater key that waits until the present change is over, and when it is to be rotated.
    pending: Option<(GroupKey, Moment)>,
    due: Option<Due>,
    /// The secret of the next key.
    secret: Option<GroupSecret>,
    /// When a missing secret is asked for again.
    draw_at: Moment,
    /// Counts the changes of what this node says to its neighbours, from 1.
    revision: u32,
    /// The revision since which this node has sent under its present key.
    sends_since: u32,
    neighbours: BTreeMap<NodeKey, Neighbour>,
    outputs: VecDeque<GroupOutput>,
}

impl KeyRotation {
    pub(crate) fn new(now: Moment, own: NodeKey, config: GroupKeyConfig) -> Self {
        let mut site = Bytes::from(config.site.clone().into_bytes());
        site.truncate(SITE_BYTES_MAX);
        let mut rotation = Self {
            own,
            config,
            site,
            begun: now,
            keys: None,
            pending: None,
            due: None,
            secret: None,
            draw_at: now,
            revision: 1,
            sends_since: 1,
            neighbours: BTreeMap::new(),
            outputs: VecDeque::new(),
        };
        rotation.review(now);
        rotation
    }

    /// A link to a neighbour is up. Its other end has proven who it is.
    pub(crate) fn handle_up(&mut self, now: Moment, node: NodeKey) {
        let had = self.neighbours.get(&node).and_then(|neighbour| neighbour.had);
        self.neighbours.insert(node, Neighbour { had, repeat_at: now + REPEAT, ..Neighbour::default() });
        self.review(now);
    }

    /// The link to a neighbour is down.
    pub(crate) fn handle_down(&mut self, now: Moment, node: NodeKey) {
        if let Some(neighbour) = self.neighbours.get_mut(&node) {
            neighbour.state = None;
            neighbour.down_since.get_or_insert(now);
        }
        self.review(now);
    }

    /// A node is no member of the network any more.
    pub(crate) fn handle_removed(&mut self, now: Moment, node: NodeKey) {
        self.forget(now, node, "a node that had it was removed");
        self.review(now);
    }

    /// The world has drawn a secret.
    pub(crate) fn handle_secret(&mut self, now: Moment, secret: GroupSecret) {
        self.secret = Some(secret);
        self.review(now);
    }

    /// A neighbour has sent a message.
    pub(crate) fn handle_message(&mut self, now: Moment, node: NodeKey, message: KeyMessage) {
        let newest = self.keys.as_ref().map(|keys| keys.newest.name);
        let Some(neighbour) = self.neighbours.get_mut(&node).filter(|node| node.down_since.is_none()) else {
            return tracing::debug!(%node, "a message about keys over a link that proves nothing");
        };
        match message {
            KeyMessage::State(state) if state.site == self.site => {
                neighbour.had = neighbour.had.max(state.newest);
                neighbour.state = Some(state);
            }
            KeyMessage::State(_) => neighbour.state = None,
            KeyMessage::Key(key, left) if neighbour.state.is_some() => {
                neighbour.had = neighbour.had.max(Some(key.name));
                let best = self.pending.as_ref().map(|(key, _)| key.name).max(newest);
                if Some(key.name) > best {
                    self.pending = Some((key, now + left.min(self.config.interval)));
                }
            }
            KeyMessage::Key(..) => tracing::debug!(%node, "a key of another site"),
        }
        self.review(now);
    }

    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        self.review(now);
    }

    /// The next request to the world.
    pub(crate) fn poll_output(&mut self) -> Option<GroupOutput> {
        self.outputs.pop_front()
    }

    /// The next message for a neighbour.
    pub(crate) fn poll_message(&mut self, now: Moment, node: NodeKey) -> Option<KeyMessage> {
        let newest = self.keys.as_ref().map(|keys| &keys.newest);
        let left = self.keys.as_ref().map(|keys| keys.rotate_at.since(now)).unwrap_or_default();
        let neighbour = self.neighbours.get_mut(&node)?;
        if !owes(self.revision, newest, neighbour) {
            return None;
        }
        neighbour.repeat_at = now + REPEAT;
        if let Some(newest) = newest
            && owes_key(newest, neighbour)
        {
            neighbour.given = Some(newest.name);
            neighbour.had = neighbour.had.max(Some(newest.name));
            return Some(KeyMessage::Key(newest.clone(), left));
        }
        let seen = neighbour.state.as_ref().map_or(0, |state| state.revision);
        neighbour.told = Some((self.revision, seen));
        let change = self.keys.as_ref().and_then(|keys| keys.change.as_ref());
        Some(KeyMessage::State(State {
            site: self.site.clone(),
            revision: self.revision,
            seen,
            newest: newest.map(|key| key.name),
            former: change.map(|change| change.former.name),
            sends_former: change.is_some_and(|change| change.sends_former),
        }))
    }

    /// The neighbours for which there are messages.
    pub(crate) fn addressees(&self) -> impl Iterator<Item = NodeKey> + '_ {
        let newest = self.keys.as_ref().map(|keys| &keys.newest);
        let owed = move |(_, neighbour): &(&NodeKey, &Neighbour)| owes(self.revision, newest, neighbour);
        self.neighbours.iter().filter(owed).map(|(node, _)| *node)
    }

    /// Whether a neighbour understands what this node sends to the groups.
    pub(crate) fn covers(&self, node: NodeKey) -> bool {
        let state = self.neighbours.get(&node).and_then(|neighbour| neighbour.state.as_ref());
        let Some((sends, state)) = self.sends().zip(state) else { return false };
        // A neighbour that does not know that this node still sends under the former key may be
        // about to give it up.
        let knows = state.seen >= self.sends_since;
        state.newest == Some(sends) || (knows && state.former == Some(sends))
    }

    /// The key of outgoing datagrams.
    pub(crate) fn sends(&self) -> Option<KeyName> {
        self.keys.as_ref().map(|keys| keys.sends().name)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let gone = self.neighbours.values().filter_map(|neighbour| Some(neighbour.down_since? + GONE_AFTER));
        let repeat = self.neighbours.values().filter(|neighbour| self.is_behind(neighbour));
        let repeat = repeat.map(|neighbour| neighbour.repeat_at);
        let own = match &self.keys {
            _ if self.secret.is_none() => Some(self.draw_at),
            Some(Keys { change: Some(_), .. }) => None,
            _ => Some(self.next_make().0),
        };
        let change = self.keys.as_ref().and_then(|keys| keys.change.as_ref()).map(end_of);
        gone.chain(repeat).chain(own).chain(change).min()
    }

    /// Whether a neighbour of the site has not acknowledged what this node said last, or has an
    /// older key.
    fn is_behind(&self, neighbour: &Neighbour) -> bool {
        let newest = self.keys.as_ref().map(|keys| keys.newest.name);
        neighbour.state.as_ref().is_some_and(|state| state.seen != self.revision || state.newest < newest)
    }

    /// Does all that has become possible.
    fn review(&mut self, now: Moment) {
        let gone =
            |neighbour: &Neighbour| neighbour.down_since.is_some_and(|since| since + GONE_AFTER <= now);
        let gone: Vec<_> = self.neighbours.iter().filter(|(_, n)| gone(n)).map(|(node, _)| *node).collect();
        for node in gone {
            self.forget(now, node, "a neighbour that had it is gone");
        }
        let mut sent = self.sends();
        while self.step(now) {
            self.revision = self.revision.saturating_add(1);
            if self.sends() != sent {
                (sent, self.sends_since) = (self.sends(), self.revision);
            }
            self.outputs.extend(self.keys.as_ref().map(|keys| GroupOutput::Keys(keys.in_use())));
        }
        self.repeat(now);
        if self.secret.is_none() && self.draw_at <= now {
            self.draw_at = now + REPEAT;
            self.outputs.push_back(GroupOutput::DrawSecret);
        }
    }

    /// Repeats messages that were not acknowledged.
    fn repeat(&mut self, now: Moment) {
        let behind = |(node, other): (&NodeKey, &Neighbour)| {
            (other.repeat_at <= now && self.is_behind(other)).then_some(*node)
        };
        let behind: Vec<_> = self.neighbours.iter().filter_map(behind).collect();
        for node in behind {
            if let Some(neighbour) = self.neighbours.get_mut(&node) {
                (neighbour.told, neighbour.given) = (None, None);
                neighbour.repeat_at = now + REPEAT;
            }
        }
    }

    /// Changes the keys by one step. Returns whether it did.
    fn step(&mut self, now: Moment) -> bool {
        let Some(keys) = &mut self.keys else {
            let pending = self.pending.take();
            return match pending {
                Some((key, rotate_at)) => self.adopt(now, key, rotate_at),
                None => {
                    let (at, why) = self.next_make();
                    at <= now && self.make(now, why)
                }
            };
        };
        if let Some(change) = &mut keys.change {
            let progress = advance(now, change, keys.newest.name, &self.neighbours);
            if progress == Progress::Over {
                keys.change = None;
            }
            return progress != Progress::Waits;
        }
        if self.due.is_some_and(|due| due.beyond < keys.newest.name) {
            self.due = None;
        }
        if let Some((key, rotate_at)) = self.pending.take()
            && key.name > keys.newest.name
        {
            if key.name.id != keys.newest.name.id {
                return self.adopt(now, key, rotate_at);
            }
            // Two halves of a site that meet have given one number to two keys. Neither can be
            // accepted beside the other, so both give way to a third.
            self.make_after(now, key.name, "two keys had one number");
        }
        let (at, why) = self.next_make();
        at <= now && self.make(now, why)
    }

    /// When this node makes a key unless a greater one comes first, and the reason.
    fn next_make(&self) -> (Moment, &'static str) {
        let Some(keys) = &self.keys else { return (self.begun + FIRST_WAIT + self.wait(), "the first one") };
        let regular = (keys.rotate_at + self.wait(), "the interval is over");
        match self.due.filter(|due| due.beyond >= keys.newest.name) {
            Some(due) if due.at < regular.0 => (due.at, due.why),
            _ => regular,
        }
    }

    /// The least of the neighbours makes the key, and others only if it does not.
    fn wait(&self) -> Duration {
        let mut others = self.neighbours.iter().filter(|(_, neighbour)| neighbour.state.is_some());
        if others.all(|(node, _)| *node > self.own) { Duration::ZERO } else { MAKE_WAIT }
    }

    fn make_after(&mut self, now: Moment, beyond: KeyName, why: &'static str) {
        let at = now + self.wait();
        let due = self.due.get_or_insert(Due { at, beyond, why });
        (due.at, due.beyond) = (due.at.min(at), due.beyond.max(beyond));
    }

    /// Forgets a neighbour. A key that it has must not stay in use.
    fn forget(&mut self, now: Moment, node: NodeKey, why: &'static str) {
        let Some(gone) = self.neighbours.remove(&node) else { return };
        let newest = self.keys.as_ref().map(|keys| keys.newest.name);
        if let Some(had) = gone.had.filter(|had| Some(*had) >= newest) {
            self.make_after(now, had, why);
        }
    }

    /// Makes a key. Returns false when there is no secret yet.
    fn make(&mut self, now: Moment, why: &'static str) -> bool {
        let Some(secret) = self.secret.take() else { return false };
        self.draw_at = now;
        let newest = self.keys.as_ref().map(|keys| keys.newest.name);
        let beyond = self.due.map(|due| due.beyond).max(newest);
        let epoch = beyond.map_or(1, |name| name.epoch.saturating_add(1));
        // Nodes that make keys of one epoch apart from each other rarely give them one number.
        let [id, ..] = Seed(self.own.0).split("group key").split_index(epoch).0.to_be_bytes();
        let taken = [newest, beyond].map(|name| name.map(|name| name.id));
        let id = (0..=u8::MAX).map(|step| id.wrapping_add(step)).find(|id| !taken.contains(&Some(*id)));
        let name = KeyName { epoch, maker: self.own, id: id.unwrap_or_default() };
        tracing::info!(epoch, why, "a new key of the multicast groups");
        self.due = None;
        self.adopt(now, GroupKey { name, secret }, now + self.config.interval)
    }

    /// Accepts a greater key. Returns true: something has changed.
    fn adopt(&mut self, now: Moment, newest: GroupKey, rotate_at: Moment) -> bool {
        let former = self.keys.take().map(|keys| keys.newest);
        let change = former.map(|former| Change { former, sends_former: true, since: now, idle_since: None });
        tracing::debug!(epoch = newest.name.epoch, maker = %newest.name.maker, "another key of the multicast groups");
        self.keys = Some(Keys { newest, rotate_at, change });
        true
    }
}

fn owes_key(newest: &GroupKey, neighbour: &Neighbour) -> bool {
    neighbour.state.is_some()
        && neighbour.newest() < Some(newest.name)
        && neighbour.given != Some(newest.name)
}

/// Whether there is a message for a neighbour.
fn owes(revision: u32, newest: Option<&GroupKey>, neighbour: &Neighbour) -> bool {
    let seen = neighbour.state.as_ref().map_or(0, |state| state.revision);
    let is_untold = neighbour.told != Some((revision, seen));
    neighbour.down_since.is_none() && (is_untold || newest.is_some_and(|key| owes_key(key, neighbour)))
}

/// When a change goes on at the latest.
fn end_of(change: &Change) -> Moment {
    if change.sends_former {
        return change.since + SPREAD_MAX;
    }
    let idle = change.idle_since.map(|since| since + LINGER);
    idle.into_iter().chain([change.since + DRAIN_MAX]).min().unwrap_or(change.since)
}

/// The progress of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    Waits,
    /// This node sends under the newest key from now on.
    Sends,
    Over,
}

/// Lets a change go on.
fn advance(
    now: Moment,
    change: &mut Change,
    newest: KeyName,
    neighbours: &BTreeMap<NodeKey, Neighbour>,
) -> Progress {
    let mut others = neighbours.values().filter(|neighbour| neighbour.state.is_some());
    if change.sends_former {
        // A neighbour with a greater key does not come back to this one. One that is still changing
        // to another key may be waiting for this node to stop using the former one.
        let lacks = |other: &Neighbour| {
            !other.accepts(newest) && other.newest() < Some(newest) && !other.is_changing()
        };
        if others.any(lacks) && now < change.since + SPREAD_MAX {
            return Progress::Waits;
        }
        (change.sends_former, change.since) = (false, now);
        tracing::info!(epoch = newest.epoch, "the multicast groups use another key");
        return Progress::Sends;
    }
    if others.any(|other| other.sends() == Some(change.former.name)) {
        change.idle_since = None;
    } else {
        change.idle_since.get_or_insert(now);
    }
    if now >= end_of(change) { Progress::Over } else { Progress::Waits }
}
