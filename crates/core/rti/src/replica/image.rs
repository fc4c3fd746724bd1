//! The streams of a node in a saved federation execution.
//!
//! An image is taken when all that was sent has been delivered. The streams then have no contents
//! that matter: in the restored federation execution, which has another id, each begins with number 1,
//! and its followers follow it from there on without any request. They have the instances from their
//! own parts of the image.

use super::context::Context;
use super::peers::{Outgoing, Peers};
use super::replication::Replication;
use super::state::{Following, InboundFilter, Outbound, Phase};
use crate::control::{Channels, Federation, NodeId, Placement, PublishedClass, placed};
use crate::wire::StreamEvent;
use hla::handle::{AttributeHandle, ObjectInstanceHandle};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A stream of a node.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct PublishedImage {
    followers: BTreeSet<NodeId>,
    /// Attributes with update regions of which some follower has lost sight.
    away: BTreeSet<(ObjectInstanceHandle, AttributeHandle)>,
}

/// See the module.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct StreamsImage {
    published: BTreeMap<PublishedClass, PublishedImage>,
    followed: BTreeSet<(PublishedClass, NodeId)>,
}

impl StreamsImage {
    /// The same streams, of and for the nodes that take the places of those of the image.
    ///
    /// # Errors
    /// The image has no part of a node.
    pub(crate) fn placed(self, placement: &Placement) -> Result<Self, String> {
        let published = self.published.into_iter().map(|(class, PublishedImage { followers, away })| {
            let followers = followers.into_iter().map(|node| placed(placement, node));
            Ok((class, PublishedImage { followers: followers.collect::<Result<_, String>>()?, away }))
        });
        let followed = self.followed.into_iter().map(|(class, node)| Ok((class, placed(placement, node)?)));
        Ok(Self {
            published: published.collect::<Result<_, String>>()?,
            followed: followed.collect::<Result<_, String>>()?,
        })
    }

    /// The classes that the node publishes.
    pub(crate) fn published(&self) -> impl Iterator<Item = PublishedClass> {
        self.published.keys().copied()
    }
}

impl Replication {
    /// Whether each stream that is followed here is delivered as it comes.
    pub(crate) fn is_at_rest(&self) -> bool {
        let is_live = |following: &Following| {
            matches!(following.phase, Phase::Live) && following.inbound.peek().is_none()
        };
        self.events.is_empty() && self.followed.values().all(is_live)
    }

    /// How much this node has sent and received.
    pub(crate) fn channels(&self, peers: &Peers, last_instance: u32) -> Channels {
        let (sent, received) = peers.exchanged(self.execution);
        let streams = self.outbound.iter().filter(|(_, out)| !out.followers.is_empty());
        let followed = self.positions().map(|at| ((at.class, at.node), at.number));
        Channels {
            sent,
            received,
            streams: streams.map(|(&class, out)| (class, out.last)).collect(),
            followed: followed.collect(),
            last_instance,
        }
    }

    /// The streams of this node, and those that it follows.
    pub(crate) fn image(&self) -> StreamsImage {
        let open = self.outbound.iter().filter(|(_, out)| out.open);
        let published = open.map(|(&class, out)| {
            let away = out.filters.values().flat_map(|filter| &filter.away).copied().collect();
            (class, PublishedImage { followers: out.followers.clone(), away })
        });
        StreamsImage { published: published.collect(), followed: self.followed.keys().copied().collect() }
    }

    /// Takes over the streams of an image.
    pub(crate) fn take_image(
        &mut self,
        context: &mut Context<'_>,
        image: StreamsImage,
        federation: &Federation,
    ) {
        for &(class, node) in &image.followed {
            let mut following = Following::new(&context.peers.buffers, InboundFilter::default());
            following.inbound.start(context.now, 0, context.peers.patience());
            following.phase = Phase::Live;
            self.followed.insert((class, node), following);
            self.moved.insert((class, node));
        }
        self.changes += 1;
        let mut away = Vec::new();
        for (class, published) in image.published {
            let out = Outbound {
                open: true,
                advertised: true,
                followers: published.followers,
                appended_at: context.now,
                ..Outbound::default()
            };
            self.outbound.insert(class, out);
            context.peers.emit(Outgoing::Advertise { topic: self.stream(class).topic(), any: true });
            away.extend(published.away.into_iter().map(|of| (class, of)));
        }
        self.learn_publishers(context, federation);
        for class in image.followed.into_iter().map(|(class, _)| class).collect::<BTreeSet<_>>() {
            self.refresh_interest(context, class);
        }
        for (class, (instance, attribute)) in away {
            let Some(object) = context.objects.instances.get(instance) else { continue };
            let regions = vec![(attribute, object.regions_of(attribute).clone())];
            let event = StreamEvent::Regions { instance, regions, is_away: false };
            self.append(context, class, &event, false, None);
        }
    }

    /// Announces the high-water marks of all streams by messages that are not lost.
    pub(crate) fn announce_all_reliably(&mut self, context: &mut Context<'_>) {
        for (&class, out) in self.outbound.iter().filter(|(_, out)| out.last > 0) {
            for &follower in &out.followers {
                self.announce_reliably(context, class, follower);
            }
        }
    }
}
