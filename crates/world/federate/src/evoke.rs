//! The services of callback delivery, which a client library serves by itself: Evoke Callback,
//! Evoke Multiple Callbacks, Enable Callbacks and Disable Callbacks (1516.1-2025, clause 10).

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::callbacks::Callbacks;
use crate::federate::Federate;
use hla::api::callback_request::CallbackRequest as Callback;

impl Callbacks {
    /// Evoke Callback: passes one callback to `deliver`, and waits up to `min` for it if there is
    /// none. Returns whether there are more.
    ///
    /// `deliver` may call services and wait for them. While callbacks are disabled nothing is
    /// delivered, and the method returns false: calling it again would change nothing.
    pub async fn evoke(&mut self, min: Duration, deliver: impl AsyncFnOnce(Callback)) -> bool {
        let callback = match end_of(min) {
            Some(end) => timeout_at(end, self.recv()).await.unwrap_or(None),
            None => self.recv().await,
        };
        if let Some(callback) = callback {
            deliver(callback).await;
        }
        self.is_pending()
    }

    /// Evoke Multiple Callbacks: passes callbacks to `deliver`, one after the other, as long as
    /// there are any, and waits for further ones for `min`. It begins no delivery after `max`,
    /// except the first. Returns whether there are more.
    ///
    /// A `max` below `min` applies to both. See [`evoke`](Callbacks::evoke) for `deliver` and
    /// disabled callbacks.
    pub async fn evoke_multiple(
        &mut self,
        min: Duration,
        max: Duration,
        mut deliver: impl AsyncFnMut(Callback),
    ) -> bool {
        let (wait_until, end) = (end_of(min.min(max)), end_of(max));
        loop {
            let callback = match (self.try_recv(), wait_until) {
                (Some(callback), _) => Some(callback),
                (None, Some(until)) => timeout_at(until, self.recv()).await.unwrap_or(None),
                (None, None) => self.recv().await,
            };
            let Some(callback) = callback else { break };
            deliver(callback).await;
            if end.is_some_and(|end| Instant::now() >= end) {
                break;
            }
        }
        self.is_pending()
    }

    /// Disable Callbacks: none is delivered until [`enable`](Callbacks::enable). Callbacks that the
    /// RTI sends in the meantime wait, up to
    /// [`Options::callbacks_high`](crate::Options::callbacks_high) and
    /// [`Options::callbacks_max`](crate::Options::callbacks_max), and services can be called.
    ///
    /// A task that waits in [`recv`](Callbacks::recv) goes on waiting, even beyond the end of the
    /// session.
    pub fn disable(&mut self) {
        self.shared().hold_callbacks(true);
    }

    /// Enable Callbacks: delivers all waiting callbacks, in order.
    pub fn enable(&mut self) {
        self.shared().hold_callbacks(false);
    }
}

impl Federate {
    /// Disable Callbacks, see [`Callbacks::disable`].
    pub fn disable_callbacks(&self) {
        self.shared().hold_callbacks(true);
    }

    /// Enable Callbacks, see [`Callbacks::enable`].
    pub fn enable_callbacks(&self) {
        self.shared().hold_callbacks(false);
    }
}

/// The instant `after` from now; `None` if it never comes.
fn end_of(after: Duration) -> Option<Instant> {
    Instant::now().checked_add(after)
}
