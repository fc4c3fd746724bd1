//! Events of the overlay: links, paths, reachability, refusals.

use super::{LinkTerms, Network, Shape, Yielding};
use base::{Moment, NodeKey};
use bytes::Bytes;
use overlay::{Event, Refusal, TopologyKind, Via};
use router::ClientFlags;
use rti::Rti;
use std::time::Duration;

/// Delay before this node yields to another network. The peers of its links learn of it meanwhile.
const FAREWELL: Duration = Duration::from_millis(10);

/// Whether messages may have been lost with a path, or may now take a path that was not there.
pub(super) const fn changes_paths(event: &Event) -> bool {
    matches!(
        event,
        Event::PathUp { .. }
            | Event::PathDown { .. }
            | Event::Reachable { .. }
            | Event::Unreachable { .. }
            | Event::RoutesChanged
    )
}

impl Network {
    pub(super) fn handle_event(&mut self, now: Moment, event: Event, rti: &mut Rti) {
        match event {
            Event::Connect { target, url } => self.links.connect(target, url),
            Event::Close { link, reason } => self.links.close(link, reason),
            Event::NeighbourUp { key, name, link, .. } => tracing::info!(%key, name, %link, "link up"),
            Event::NeighbourDown { key, why } => tracing::warn!(%key, why, "link down"),
            Event::PathUp { neighbour, via, initiator, terms } => {
                self.path_up(now, neighbour, via, initiator, &terms);
            }
            Event::PathMoved { neighbour, via } => {
                tracing::info!(%neighbour, ?via, "messages to this neighbour go another way");
                self.path_moved(now, neighbour, via);
            }
            Event::PathDown { neighbour } => {
                tracing::debug!(%neighbour, "no path for messages to this neighbour");
                self.links.path_down(neighbour);
                self.lose_member(now, neighbour);
                self.routers.neighbour_down(now, neighbour);
            }
            Event::Reachable { key, name } => {
                tracing::info!(%key, name, "node reachable");
                self.reformation.handle_reachable(now);
                self.note_contact(key);
                if self.overlay.is_member(key) {
                    self.membership.retry_now(now);
                }
                self.commands.greet(now, key);
            }
            Event::Unreachable { key } => {
                tracing::warn!(%key, "node unreachable");
                self.commands.suspect(now, key);
                self.reformation.handle_unreachable(key);
            }
            // The services look for losses after the last event of a turn.
            Event::RoutesChanged => {}
            Event::Received { from, body } => self.received(now, from, &body, rti),
            Event::Channel { from, channel, frame } => self.frame(now, from, channel, frame, false),
            Event::TunnelReady { neighbour } => self.serve(now, neighbour),
            Event::NetworkAdopted { network } => {
                tracing::info!(network = format_args!("{network:016x}"), "found a network");
                self.membership.found(now);
                let same = self.reformation.head().is_some_and(|head| head.network == network);
                if same && self.reformation.has_promised() {
                    self.rekey =
                        Some("the network lives, and this node had promised to create its successor");
                }
            }
            // The joining node is the one that adopts the other's shape.
            Event::Refused { refusal, target: Some(_), .. } if self.takes_shape(&refusal) => {}
            Event::Refused { refusal: refusal @ Refusal::Yields { network, .. }, .. } if !self.leaving => {
                let why = refusal.to_string();
                self.yielding.get_or_insert_with(|| Yielding { at: now + FAREWELL, network, why });
            }
            Event::RefusedByPeer { code: Refusal::YIELDS | Refusal::GIVEN_UP, text, .. } => {
                tracing::info!("{text}");
            }
            Event::Refused { refusal: refusal @ Refusal::GivenUp { .. }, .. } => tracing::info!("{refusal}"),
            Event::Refused { link, peer, refusal, .. } => {
                let peer = peer.map_or_else(|| "a node that has not greeted".to_owned(), |(_, name)| name);
                tracing::error!(%link, peer, "link refused: {refusal}");
            }
            Event::RefusedByPeer { code, target: Some(_), .. } if self.tries_shape(code) => {}
            Event::RefusedByPeer { link, peer, text, .. } => {
                tracing::error!(%link, %peer, "the other node refuses the link: {text}");
            }
            Event::NameTaken { holder } => {
                tracing::error!(name = self.config.overlay.name, %holder, "another node has this name: give this one another");
            }
            Event::Warned { key, warning } => tracing::warn!(%key, "{warning}"),
            other => tracing::debug!(?other, "overlay"),
        }
    }

    /// Notes the other shape if the refusal of a link names one and this node adopts any. Returns
    /// whether it did.
    pub(super) fn takes_shape(&mut self, refusal: &Refusal) -> bool {
        let settings = &self.config.overlay;
        let ours = Shape { topology: settings.topology, redundancy: settings.redundancy };
        let theirs = match *refusal {
            Refusal::Topology { theirs, .. } => Shape { topology: theirs, redundancy: false },
            Refusal::Redundancy { theirs } => Shape { redundancy: theirs, ..ours },
            _ => return false,
        };
        let takes = self.config.any_shape && !self.is_member();
        if takes {
            self.other_shape = Some(theirs);
        }
        takes
    }

    /// The other node refused a link because of the shape, but did not name its own in
    /// machine-readable form. The next shape is tried.
    pub(super) fn tries_shape(&mut self, code: u8) -> bool {
        let ours = &self.config.overlay;
        let all = TopologyKind::ALL;
        let index = all.iter().position(|kind| *kind == ours.topology).unwrap_or(0);
        let next = all[(index + 1) % all.len()];
        let [topology, redundancy] = [
            Refusal::Topology { theirs: next, ours: ours.topology },
            Refusal::Redundancy { theirs: !ours.redundancy },
        ];
        [topology, redundancy].iter().any(|refusal| refusal.code() == code && self.takes_shape(refusal))
    }

    /// Multicast groups belong to links, and are agreed on anew.
    fn path_moved(&mut self, now: Moment, neighbour: NodeKey, via: Via) {
        self.lose_member(now, neighbour);
        self.cover(now, neighbour, 0);
        self.links.path_moved(neighbour, via);
        self.begin_groups(now, neighbour);
        self.serve(now, neighbour);
    }

    fn begin_groups(&mut self, now: Moment, neighbour: NodeKey) {
        self.exchange_keys(now, neighbour);
        self.groups.greet(neighbour);
        self.report_receivers();
    }

    pub(super) fn path_up(
        &mut self,
        now: Moment,
        neighbour: NodeKey,
        via: Via,
        initiator: bool,
        terms: &Bytes,
    ) {
        let terms = match LinkTerms::decode(terms) {
            Ok(terms) => terms,
            Err(why) => return tracing::error!(%neighbour, why, "the terms of a link are not understood"),
        };
        let flags = match self.config.overlay.topology {
            // In a hypercube every neighbour is above, and ranks decide.
            TopologyKind::Hypercube => LinkTerms::default().near | ClientFlags::UPPER,
            _ if initiator => terms.near | ClientFlags::PERSISTENT,
            _ => terms.far,
        };
        self.links.path_up(neighbour, via);
        if let Err(error) = self.routers.neighbour_up(now, neighbour, initiator, flags, terms.rank) {
            tracing::error!(%neighbour, %error, "no client for this neighbour");
        }
        self.begin_groups(now, neighbour);
    }
}
