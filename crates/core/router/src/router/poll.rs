//! What goes out.

use super::{Event, Router};
use crate::ClientKind;
use crate::client::{Client, ClientId, Ready};
use crate::message::{Envelope, Interest, Message, Parcel};
use crate::pipe::Pressure;
use base::Moment;
use bytes::Bytes;

impl<M: Message, I: Interest<Topic = M::Topic>> Router<M, I> {
    /// The next thing that the world has to know or do.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event<I>> {
        self.events.pop_front()
    }

    /// The next client with something to be taken. It is not named again before its pipe was drained to `None`.
    #[must_use]
    pub fn poll_ready(&mut self) -> Option<ClientId> {
        while let Some(id) = self.ready.pop_front() {
            if let Some(client) = self.clients.get_mut(id)
                && client.ready == Ready::Listed
            {
                client.ready = Ready::Told;
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

    /// The next message for a local client, with its identity and the links it crossed.
    #[must_use]
    pub fn poll_envelope(&mut self, id: ClientId) -> Option<Envelope<M>> {
        let local = |kind| matches!(kind, ClientKind::Local { .. });
        self.poll(id, local, |client| client.pipe.poll_message())
    }

    /// The next parcel for the other end of a memory pipe.
    #[must_use]
    pub fn poll_parcel(&mut self, id: ClientId) -> Option<Parcel<M, I>> {
        self.poll(id, |kind| kind == ClientKind::Memory, |client| client.pipe.poll_parcel())
    }

    /// The next frame for a client's link. Ask only when the link can take it: what is sent is chosen now.
    #[must_use]
    pub fn poll_frame(&mut self, now: Moment, id: ClientId) -> Option<Bytes> {
        self.observe(now);
        let now = self.now;
        let frame = self.poll(
            id,
            |kind| kind == ClientKind::Link,
            |client| {
                let frame = client.pipe.poll_frame(now)?;
                client.last_sent = now;
                Some(frame)
            },
        );
        if frame.is_none() {
            // What is left may wait for a fuller bundle.
            self.wake(id);
        }
        frame
    }

    fn poll<T>(
        &mut self,
        id: ClientId,
        kind: impl Fn(ClientKind) -> bool,
        take: impl FnOnce(&mut Client<M, I>) -> Option<T>,
    ) -> Option<T> {
        let client = self.clients.get_mut(id).filter(|client| client.up && kind(client.kind))?;
        let taken = take(client);
        if taken.is_none() {
            client.ready = Ready::Idle;
        }
        if client.pipe.pressure() == Pressure::Relieved {
            self.events.push_back(Event::Relieved { client: id });
        }
        taken
    }

    /// When to call [`Router::handle_timeout`] next; the last `now` seen while output is pending.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Moment> {
        if self.events.is_empty() && self.ready.is_empty() { self.connections.next() } else { Some(self.now) }
    }
}
