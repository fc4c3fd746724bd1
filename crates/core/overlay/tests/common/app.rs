//! A stand-in for the rest of a node. It follows events, sends numbered frames over every path, and
//! checks that the frames of a path begin with the first one and have no gap.

use base::{Moment, NodeKey};
use bytes::Bytes;
use overlay::{Event, LinkId, Overlay, Refusal, Via};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub struct Session {
    pub via: Via,
    pub initiator: bool,
    pub sent: u32,
    pub received: u32,
    /// Total number of frames to send.
    pub wanted: u32,
}

#[derive(Default)]
pub struct App {
    pub neighbours: BTreeMap<NodeKey, LinkId>,
    pub sessions: BTreeMap<NodeKey, Session>,
    /// Number of sessions ever opened.
    pub opened: u64,
    /// Number of times that a session went another way.
    pub moved: u64,
    pub reachable: BTreeSet<NodeKey>,
    pub received: Vec<(NodeKey, Bytes)>,
    pub refusals: Vec<Refusal>,
    pub refused_by_peer: Vec<(u8, String)>,
    pub other: Vec<Event>,
    /// Some session may have something to send.
    eager: bool,
    /// Frames of channels for links.
    pub out: Vec<(LinkId, Bytes)>,
}

impl App {
    pub fn event(&mut self, _now: Moment, event: Event) {
        match event {
            Event::NeighbourUp { key, link, .. } => {
                assert_eq!(self.neighbours.insert(key, link), None, "{key} comes once");
            }
            Event::NeighbourDown { key, .. } => {
                assert!(
                    !self.sessions.get(&key).is_some_and(|s| s.via != Via::Tunnel),
                    "the path goes first"
                );
                assert!(self.neighbours.remove(&key).is_some(), "{key} was there");
            }
            Event::PathUp { neighbour, via, initiator, .. } => {
                if let Via::Link(link) = via {
                    assert_eq!(self.neighbours.get(&neighbour), Some(&link));
                }
                let session = Session { via, initiator, sent: 0, received: 0, wanted: 3 };
                assert!(self.sessions.insert(neighbour, session).is_none(), "one path to {neighbour}");
                self.opened += 1;
                self.eager = true;
            }
            Event::PathMoved { neighbour, via } => {
                if let Via::Link(link) = via {
                    assert_eq!(self.neighbours.get(&neighbour), Some(&link));
                }
                let session = self.sessions.get_mut(&neighbour).expect("a path that moves is there");
                assert_ne!(std::mem::replace(&mut session.via, via), via, "it moves");
                self.moved += 1;
                self.eager = true;
            }
            Event::PathDown { neighbour } => {
                assert!(self.sessions.remove(&neighbour).is_some(), "there was a path to {neighbour}");
            }
            Event::Reachable { key, .. } => assert!(self.reachable.insert(key), "{key} is news"),
            Event::Unreachable { key } => assert!(self.reachable.remove(&key), "{key} was there"),
            Event::Received { from, body } => self.received.push((from, body)),
            Event::Channel { from, channel, frame } => {
                assert_eq!(channel, 1);
                let session = self.sessions.get_mut(&from).expect("a tunnelled frame has a path");
                session.take(&frame);
            }
            Event::TunnelReady { .. } => self.eager = true,
            Event::Refused { refusal, .. } => self.refusals.push(refusal),
            Event::RefusedByPeer { code, text, .. } => self.refused_by_peer.push((code, text)),
            other => self.other.push(other),
        }
    }

    /// Sets the total number of frames to send to a node.
    pub fn want(&mut self, key: NodeKey, frames: u32) {
        self.sessions.get_mut(&key).expect("a path").wanted = frames;
        self.eager = true;
    }

    /// Handles a frame of a channel that came over a link, which is that of `peer` if it may carry
    /// such frames. Without a path it is dropped.
    pub fn channel_on_link(&mut self, link: LinkId, peer: Option<NodeKey>, frame: &[u8]) {
        if let Some(session) = self.sessions.values_mut().find(|session| session.via == Via::Link(link)) {
            session.take(frame);
        } else if let Some(session) = peer.and_then(|peer| self.sessions.get_mut(&peer))
            && session.via == Via::Tunnel
        {
            session.take(frame);
        }
    }

    /// Sends the wanted frames over all paths.
    pub fn pump(&mut self, now: Moment, overlay: &mut Overlay) {
        if !std::mem::take(&mut self.eager) {
            return;
        }
        for (key, session) in &mut self.sessions {
            while session.sent < session.wanted {
                let frame = Bytes::copy_from_slice(&session.sent.to_be_bytes());
                match session.via {
                    Via::Link(link) => self.out.push((link, frame)),
                    Via::Tunnel => {
                        if !overlay.can_send_channel(*key) {
                            break;
                        }
                        overlay.send_channel(now, *key, 1, frame).expect("there is room");
                    }
                }
                session.sent += 1;
            }
        }
    }
}

impl Session {
    fn take(&mut self, frame: &[u8]) {
        let number = u32::from_be_bytes(frame.try_into().expect("four bytes"));
        assert_eq!(number, self.received, "from its start, in order, without gaps");
        self.received += 1;
    }
}
