//! Joining groups, and receiving from them.

use std::rc::Rc;
use std::time::Duration;

use base::NodeKey;
use srmp::Event;
use srmp::auth::{GroupKey, KeyError, Keyring};
use srmp::frames::{Framed, REPAIRED};
use srmp::model::{Epoch, MemberId, Profile};
use srmp::rate::Rate;
use tokio::sync::Notify;

use crate::hub::Hub;
use crate::link::GroupInput;
use crate::link::multicast::{Membership, WAITING_MAX, keyring};
use crate::machine::{Input, Machine};
use crate::url::{MulticastUrl, SiteKey};
use srmp_udp::{HostConfig, OpenError, SrmpEvents, SrmpHost};

/// Maximum number of events taken at a time.
const BATCH: usize = 64;
/// Interval at which the counters are reported to the machine.
const COUNTED: Duration = Duration::from_secs(1);
/// The id of the only key of a site.
const KEY_ID: u8 = 1;

/// The reason why a node cannot take part in the multicast of its site.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum JoinError {
    /// The group cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The keys of the network cannot be used.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The network has handed out no key yet.
    #[error("there is no key yet")]
    NoKey,
    /// The key file cannot be used.
    #[error("{path}: {why}")]
    Key { path: String, why: String },
}

/// Joins and leaves groups as the machine requests. Never ends.
pub(crate) async fn keep_joining<M: Machine + 'static>(hub: Rc<Hub<M>>, url: Rc<MulticastUrl>) {
    let asked = Rc::clone(&hub.core.borrow().groups.asked);
    loop {
        let wanted = hub.core.borrow_mut().groups.wanted.pop_front();
        match wanted {
            None => asked.notified().await,
            Some((group, None)) => hub.core.borrow_mut().groups.place(group).now = None,
            Some((group, Some(member))) => {
                if let Err(error) = join(&hub, &url, group, member) {
                    tracing::error!(group, %error, "a multicast group is not used");
                }
            }
        }
    }
}

fn join<M: Machine + 'static>(
    hub: &Rc<Hub<M>>,
    url: &MulticastUrl,
    group: usize,
    member: NodeKey,
) -> Result<(), JoinError> {
    let mut core = hub.core.borrow_mut();
    let keys = core.groups.keys.clone();
    let place = core.groups.place(group);
    place.now = None;
    let mut config = config(url, group, member)?;
    if url.key == SiteKey::Network {
        let keys = keys.ok_or(JoinError::NoKey)?;
        config.protocol.keys = Some(keyring(&keys)?);
        config.protocol.encrypt = true;
    }
    // A node that leaves and comes back within one second must still have a new epoch.
    let epoch = config.protocol.epoch.0.max(place.epoch.saturating_add(1));
    config.protocol.epoch = Epoch(epoch);
    let (host, events) = SrmpHost::open(config)?;
    let (host, full) = (Rc::new(host), Rc::new(Notify::new()));
    place.lives += 1;
    place.epoch = epoch;
    let life = place.lives;
    place.now = Some(Membership::new(Rc::clone(&host), Rc::clone(&full)));
    tracing::info!(group = %host.group(), from = %host.local_address(), "multicast");
    tokio::task::spawn_local(hear(Rc::clone(hub), group, life, events));
    tokio::task::spawn_local(make_room(Rc::clone(hub), group, life, full));
    tokio::task::spawn_local(count(Rc::clone(hub), group, life));
    Ok(())
}

fn config(url: &MulticastUrl, group: usize, member: NodeKey) -> Result<HostConfig, JoinError> {
    let address = url.group_at(group).unwrap_or(url.group);
    let mut config = HostConfig::new(address, Profile::V3)?;
    config.interface = url.interface.clone();
    config.ttl = url.ttl;
    config.incoming = url.schedule();
    // The routers bundle messages, and know better which ones to drop. Old frames are recovered by
    // the streams of the nodes.
    let protocol = &mut config.protocol;
    protocol.set_momentary(REPAIRED);
    protocol.member = MemberId(member.0);
    // In this way nodes with different numbers of groups do not understand each other.
    protocol.session = format!("MeshRTI {} of {} from {}", group, url.groups, url.group);
    protocol.rate.rate_min = Rate::new(url.rate_min as f64).unwrap_or_default();
    if let SiteKey::File(path) = &url.key {
        let fail = |why: &dyn std::fmt::Display| JoinError::Key {
            path: path.display().to_string(),
            why: why.to_string(),
        };
        let secret = std::fs::read(path).map_err(|error| fail(&error))?;
        protocol.keys = Some(Keyring::new(GroupKey::new(KEY_ID, &secret).map_err(|error| fail(&error))?));
    }
    Ok(config)
}

/// Checks whether the first group can be joined here, so that errors are reported before the node
/// serves federates.
///
/// Needs a runtime with its I/O driver.
pub(crate) fn check(url: &MulticastUrl) -> Result<(), JoinError> {
    SrmpHost::check(&config(url, 0, NodeKey(1))?)?;
    Ok(())
}

/// Passes the events of a group to the machine, until the node has left the group.
async fn hear<M: Machine>(hub: Rc<Hub<M>>, group: usize, life: u64, mut events: SrmpEvents) {
    let (mut heard, mut frames, mut members) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(first) = events.recv().await {
        heard.push(first);
        while heard.len() < BATCH
            && let Some(next) = events.try_recv()
        {
            heard.push(next);
        }
        {
            let mut core = hub.core.borrow_mut();
            let core = &mut *core;
            let Some(membership) = core.groups.membership(group, life) else { return };
            let mut has_room = false;
            for event in heard.drain(..) {
                match membership.frames.handle(event) {
                    Framed::Frame(from, frame) => frames.push((NodeKey(from.0), frame)),
                    Framed::Answered(again) => has_room |= again,
                    Framed::Other(Event::MemberSeen { member, .. }) => {
                        members.push((NodeKey(member.0), true));
                    }
                    Framed::Other(Event::MemberLost { member, .. }) => {
                        members.push((NodeKey(member.0), false));
                    }
                    Framed::Other(Event::DuplicateMember { member, address }) => {
                        tracing::warn!(group, %member, %address, "two nodes are one member of a multicast group");
                    }
                    Framed::Other(_) => {}
                }
            }
            if has_room {
                core.groups.pump(&mut core.machine, hub.clock.now(), group);
            }
        }
        hub.act(|machine, now| {
            for (member, heard) in members.drain(..) {
                machine.handle(now, Input::Group(GroupInput::Member { group, member, heard }));
            }
            if !frames.is_empty() {
                machine.handle(now, Input::Group(GroupInput::Frames(&mut frames)));
            }
        });
        frames.clear();
    }
}

/// Continues sending when the group has room again.
async fn make_room<M: Machine>(hub: Rc<Hub<M>>, group: usize, life: u64, full: Rc<Notify>) {
    loop {
        full.notified().await;
        let host = hub.core.borrow_mut().groups.membership(group, life).map(|now| Rc::clone(&now.host));
        let Some(host) = host else { return };
        host.room(WAITING_MAX / 2).await;
        drop(host);
        {
            let mut core = hub.core.borrow_mut();
            let core = &mut *core;
            let Some(membership) = core.groups.membership(group, life) else { return };
            membership.blocked = false;
            core.groups.pump(&mut core.machine, hub.clock.now(), group);
        }
        hub.act(|_, _| ()); // room may have made the machine send more, to anybody
    }
}

/// Reports the counters of the group to the machine, until the node has left the group.
async fn count<M: Machine>(hub: Rc<Hub<M>>, group: usize, life: u64) {
    loop {
        tokio::time::sleep(COUNTED).await;
        let counts = hub.core.borrow_mut().groups.membership(group, life).map(|now| now.counts());
        let Some(counts) = counts else { return };
        hub.handle(Input::Group(GroupInput::Counts { group, counts }));
    }
}
