//! The streams of this node, and the publishers of streams elsewhere.

use super::context::{Context, Timer};
use super::peers::Outgoing;
use super::replication::Replication;
use super::state::Beginning;
use crate::control::{Federation, NodeId, PublishedClass};
use crate::wire::StreamEvent;

impl Replication {
    /// Takes over the publishers from the control plane.
    pub(crate) fn learn_publishers(&mut self, context: &mut Context<'_>, federation: &Federation) {
        self.learn(federation);
        self.proposed = self.proposed.max(federation.publication_commands(context.objects.node));
        self.publishers.clear();
        for (class, node) in federation.publications() {
            self.publishers.entry(class).or_default().insert(node);
        }
        // Collected first: the review changes the replication that the iterator would borrow.
        for class in context.objects.interest.covered().collect::<Vec<_>>() {
            self.review_following(context, class, true);
        }
    }

    /// Opens the stream of a class that this node begins to publish, or ends that of one that it no
    /// longer publishes. The caller proposes the change to the control plane.
    pub(crate) fn publish(&mut self, context: &mut Context<'_>, class: PublishedClass, on: bool) {
        if !on {
            // The end is an event of the stream, so that followers get all earlier events first.
            self.append(context, class, &StreamEvent::Ended, false, None);
        }
        let topic = self.stream(class).topic();
        let out = self.outbound.entry(class).or_default();
        out.open = on;
        self.proposed += 1;
        out.proposed = self.proposed;
        if on {
            out.began = Some(out.last);
            out.beginning = Beginning::Pending;
            out.served.clear();
            if !std::mem::replace(&mut out.advertised, true) {
                context.peers.emit(Outgoing::Advertise { topic, any: true });
            }
        }
        self.release_when_idle(context, class);
    }

    /// Makes followers get snapshots: other nodes may follow from now on, and earlier events were
    /// appended to no stream.
    pub(crate) fn forget_beginnings(&mut self) {
        self.outbound.values_mut().for_each(|out| out.began = None);
    }

    /// Handles the control plane's event that a node publishes a class from now on, or no longer
    /// does.
    pub(crate) fn publishers_changed(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        class: PublishedClass,
        on: bool,
    ) {
        let publishers = self.publishers.entry(class).or_default();
        if on {
            publishers.insert(node);
        } else {
            publishers.remove(&node);
        }
        if node == context.objects.node {
            self.keep_beginning(context, class, on);
        } else {
            self.review_following(context, class, true);
        }
    }

    /// Keeps the beginning of a stream for a while, because the other nodes learn of the
    /// publication about now and may request it.
    fn keep_beginning(&mut self, context: &mut Context<'_>, class: PublishedClass, on: bool) {
        let stream = self.stream(class);
        let Some(out) = self.outbound.get_mut(&class) else { return };
        if on && out.beginning == Beginning::Pending {
            out.beginning = Beginning::Kept;
            context.timers.set(Timer::Beginning(stream), context.now + context.peers.limits.begin_kept);
        }
    }
}
