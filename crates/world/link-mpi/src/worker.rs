//! Moves messages between a [`Carrier`] and a messenger, and hands streams to the users of links.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tracing::{info, warn};

use crate::carrier::Carrier;

/// Time after the last activity for which the worker polls without a pause.
const BUSY: Duration = Duration::from_micros(50);

/// The shortest pause between two polls.
const PAUSE_MIN: Duration = Duration::from_micros(20);

/// A pause is this fraction of the silence before it. So it prolongs a wait by at most that
/// fraction, and needs little processor time.
const PAUSE_PART: u32 = 8;

/// An event of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message arrived from a rank.
    Received(u32, Bytes),
    /// A rank has taken a message.
    Sent(u32),
}

/// Carries messages between ranks, reliably, and in order from one rank to another. A rank may send
/// to itself.
pub trait Messenger {
    /// Starts to send. `message` counts as sent when `to` has begun to take it.
    fn send(&mut self, to: u32, message: Bytes);
    /// Appends the events since the last call to `events`.
    fn poll(&mut self, events: &mut Vec<Event>);
}

/// State shared between the worker and the streams of a rank.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Notified to wake a worker that pauses.
    bell: Condvar,
}

struct State {
    carrier: Carrier,
    /// The worker pauses.
    pauses: bool,
}

impl Shared {
    pub(crate) fn new(carrier: Carrier) -> Self {
        Self { state: Mutex::new(State { carrier, pauses: false }), bell: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The machine is consistent between any two calls, so it is after a panic elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts on the machine, and wakes the worker when there is something to send.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut Carrier) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state.carrier);
        if state.pauses && state.carrier.has_messages() {
            state.pauses = false;
            self.bell.notify_one();
        }
        result
    }

    /// Pauses until there is something to send, at most for `time`.
    fn pause(&self, time: Duration) {
        let mut state = self.lock();
        if state.carrier.has_messages() {
            return;
        }
        state.pauses = true;
        let waited = self.bell.wait_timeout_while(state, time, |state| state.pauses);
        waited.unwrap_or_else(PoisonError::into_inner).0.pauses = false;
    }
}

/// Moves messages until all ranks have left. `pause_max` is the longest pause between two polls for
/// messages.
///
/// MPI offers nothing to sleep on; it has to be polled. So the worker polls often while there is
/// activity, and less often the longer a silence lasts.
pub(crate) fn work(shared: &Shared, messenger: &mut impl Messenger, pause_max: Duration) {
    let mut events = Vec::new();
    let mut last = Instant::now();
    let mut remaining = None;
    loop {
        messenger.poll(&mut events);
        let (mut active, over) = (!events.is_empty(), {
            let mut state = shared.lock();
            let carrier = &mut state.carrier;
            for event in events.drain(..) {
                match event {
                    Event::Sent(to) => carrier.handle_sent(to),
                    Event::Received(from, message) => {
                        if let Err(error) = carrier.handle_message(from, message) {
                            warn!(from, %error, "a rank speaks another language; its links are closed");
                        }
                    }
                }
            }
            carrier.is_over()
        });
        if over {
            return;
        }
        while let Some((to, message)) = shared.act(Carrier::poll_message) {
            messenger.send(to, message);
            active = true;
        }
        log_awaited_ranks(shared, &mut remaining);
        let silence = last.elapsed();
        if active {
            last = Instant::now();
        } else if silence < BUSY {
            std::thread::yield_now();
        } else {
            shared.pause((silence / PAUSE_PART).max(PAUSE_MIN).min(pause_max));
        }
    }
}

/// Logs once that this rank waits for others, because MPI ends for all ranks together.
fn log_awaited_ranks(shared: &Shared, logged: &mut Option<usize>) {
    let remaining = {
        let state = shared.lock();
        state.carrier.is_leaving().then(|| state.carrier.remaining())
    };
    if let Some(count) = remaining.filter(|&count| count > 0)
        && logged.is_none()
    {
        *logged = Some(count);
        info!(ranks = count, "left; MPI ends when the other ranks have left too");
    }
}
