//! Events on their way to the application.

use std::collections::VecDeque;
use std::sync::Arc;

use srmp::Event;

use super::host::Shared;

/// Events that wait to be read.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    events: VecDeque<Event>,
    bytes: usize,
    /// The application has dropped the receiver.
    pub(super) is_abandoned: bool,
}

impl EventQueue {
    /// Appends an event. Returns false when it is dropped.
    pub(super) fn push(&mut self, event: Event, events_max: usize, bytes_max: usize) -> bool {
        if self.is_abandoned {
            return true;
        }
        let is_over = self.events.len() >= events_max || self.bytes >= bytes_max;
        let may_go = matches!(event, Event::Mode0 { .. } | Event::Sent { .. } | Event::Dropped { .. });
        if is_over && may_go {
            return false;
        }
        self.bytes += body_bytes(&event);
        self.events.push_back(event);
        true
    }

    /// Whether so many events wait that nothing more may be received.
    pub(super) fn is_stuffed(&self, events_max: usize, bytes_max: usize) -> bool {
        self.events.len() >= 2 * events_max || self.bytes >= 2 * bytes_max
    }

    /// Moves all events into an empty queue.
    fn take(&mut self, into: &mut VecDeque<Event>) {
        std::mem::swap(&mut self.events, into);
        self.bytes = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

fn body_bytes(event: &Event) -> usize {
    match event {
        Event::Mode0 { body, .. } | Event::Mode1 { body, .. } | Event::Mode2 { body, .. } => body.len(),
        _ => 0,
    }
}

/// The events of a host. If it is dropped, further events are discarded.
#[derive(Debug)]
pub struct SrmpEvents {
    pub(super) shared: Arc<Shared>,
    pub(super) taken: VecDeque<Event>,
}

impl SrmpEvents {
    /// The next event; `None` when the host has left the group and all events were read.
    ///
    /// The future may be cancelled without losing an event.
    pub async fn recv(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.try_recv() {
                return Some(event);
            }
            let heard = self.shared.events_ready.notified();
            {
                let state = self.shared.lock();
                if !state.events.is_empty() {
                    continue;
                }
                if state.is_over {
                    return None;
                }
            }
            heard.await;
        }
    }

    /// The next event, if there is one.
    pub fn try_recv(&mut self) -> Option<Event> {
        if self.taken.is_empty() {
            let mut state = self.shared.lock();
            let was_stuffed = state.is_stuffed();
            state.events.take(&mut self.taken);
            drop(state);
            if was_stuffed {
                self.shared.wake.notify_one();
            }
        }
        self.taken.pop_front()
    }
}

impl Drop for SrmpEvents {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.events = EventQueue { is_abandoned: true, ..EventQueue::default() };
        drop(state);
        self.shared.wake.notify_one();
    }
}
