//! Outputs of the router: events, messages, parcels and frames.

use super::{Event, Router};
use crate::ClientKind;
use crate::client::{Client, ClientId, Ready};
use crate::connection::Timer;
use crate::message::{Envelope, Fifos, Interest, Message, Parcel};
use base::Moment;
use bytes::Bytes;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// The next output for the world.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event<I>> {
        self.events.pop_front()
    }

    /// True if [`poll_event`](Router::poll_event) or [`poll_ready`](Router::poll_ready) may return
    /// something.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.events.is_empty() || !self.ready.is_empty()
    }

    /// The next client whose pipe has something to take. It is not named again before its pipe was
    /// drained to `None`.
    #[must_use]
    pub fn poll_ready(&mut self) -> Option<ClientId> {
        while let Some(id) = self.ready.pop_front() {
            if let Some(client) = self.clients.get_mut(id)
                && client.ready == Ready::Listed
            {
                client.ready = Ready::Named;
                return Some(id);
            }
        }
        None
    }

    /// The next message for a local client.
    #[must_use]
    pub fn poll_message(&mut self, id: ClientId) -> Option<M> {
        self.poll_envelope(id).map(|envelope| envelope.message)
    }

    /// The next message for a local client, with its identity and the number of links it crossed.
    #[must_use]
    pub fn poll_envelope(&mut self, id: ClientId) -> Option<Envelope<M>> {
        let local = |kind| matches!(kind, ClientKind::Local { .. });
        self.poll(id, local, |client| client.pipe.poll_message())
    }

    /// Drops the droppable messages that wait for a client; returns their number.
    pub fn drop_droppable(&mut self, id: ClientId) -> u64 {
        self.poll(id, |_| true, |client| Some(client.pipe.drop_droppable())).unwrap_or(0)
    }

    /// The next parcel for the other end of a memory pipe.
    #[must_use]
    pub fn poll_parcel(&mut self, id: ClientId) -> Option<Parcel<M, I>> {
        self.poll(id, |kind| kind == ClientKind::Memory, |client| client.pipe.poll_parcel(false))
    }

    /// Like [`Router::poll_parcel`], but with no messages except those of the class `Control`: for
    /// a pipe whose other end is [stalled](Router::is_stalled).
    #[must_use]
    pub fn poll_urgent_parcel(&mut self, id: ClientId) -> Option<Parcel<M, I>> {
        self.poll(id, |kind| kind == ClientKind::Memory, |client| client.pipe.poll_parcel(true))
    }

    /// The next frame for a client's link. Call it only when the link can take the frame, because
    /// its contents are chosen now.
    #[must_use]
    pub fn poll_frame(&mut self, now: Moment, id: ClientId) -> Option<Bytes> {
        self.poll_frame_of(now, id, Fifos::ALL, usize::MAX)
    }

    /// Like [`Router::poll_frame`], but with only the kinds of messages in `fifos`, in at most
    /// `bytes_max` bytes (and at most
    /// [`PipeConfig::frame_bytes_max`](crate::PipeConfig::frame_bytes_max); none below
    /// [`FRAME_BYTES_MIN`](crate::FRAME_BYTES_MIN)).
    ///
    /// A link with an unordered and lossy side asks for `RELIABLE` on the ordered side and for
    /// `BEST_EFFORT` on the other. A frame of `BEST_EFFORT` alone is best effort: it may be lost,
    /// duplicated or reordered, needs no credit, and is taken by [`Router::handle_datagram`]. Such
    /// a frame holds messages that may be dropped, whole or in fragments, and nothing else.
    ///
    /// The client counts as drained when the requested kinds are taken.
    /// [`poll_ready`](Router::poll_ready) may name it again while other kinds still wait.
    #[must_use]
    pub fn poll_frame_of(
        &mut self,
        now: Moment,
        id: ClientId,
        fifos: Fifos,
        bytes_max: usize,
    ) -> Option<Bytes> {
        self.observe(now);
        let now = self.now;
        let frame = self.poll(
            id,
            |kind| matches!(kind, ClientKind::Link | ClientKind::Group),
            |client| {
                let frame = client.pipe.poll_frame(now, fifos, bytes_max)?;
                // Only frames on the ordered side are a sign of life.
                if fifos.contains(Fifos::RELIABLE) {
                    client.last_sent = now;
                }
                Some(frame)
            },
        );
        if frame.is_none() {
            self.wait_for_bundle(id);
        }
        frame
    }

    /// Sets the timer for the rest, which may wait for a fuller bundle.
    fn wait_for_bundle(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(id) else { return };
        if client.up
            && let Some(due) = client.pipe.bundle_due(self.now)
            && !self.connections.is_set(Timer::Bundle(id))
        {
            self.connections.set(Timer::Bundle(id), due);
        }
    }

    fn poll<T>(
        &mut self,
        id: ClientId,
        kind: impl Fn(ClientKind) -> bool,
        take: impl FnOnce(&mut Client<M, I>) -> Option<T>,
    ) -> Option<T> {
        let now = self.now;
        let client = self.clients.get_mut(id).filter(|client| client.up && kind(client.kind))?;
        let before = client.pipe.queued_bytes();
        let taken = take(client);
        // A message that leaves in fragments counts until its last one.
        self.queued_bytes = self.queued_bytes + client.pipe.queued_bytes() - before;
        // A client that is still to be named may have been asked for one kind while another waits.
        if taken.is_none() && (client.ready == Ready::Named || !client.pipe.is_due(now)) {
            client.ready = Ready::Idle;
        }
        if client.pipe.falls() {
            let paused = client.pipe.paused;
            self.events.push_back(Event::Relieved { client: id });
            if !paused {
                self.release(id);
            }
        }
        taken
    }

    /// The time of the next call of [`Router::handle_timeout`]; the last `now` seen while output is
    /// pending.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Moment> {
        if self.has_news() { Some(self.now) } else { self.connections.next() }
    }
}
