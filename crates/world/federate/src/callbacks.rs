//! The callbacks of the RTI to the federate.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::Serial31;
use futures_core::Stream;
use hla::api::ExceptionData;
use hla::api::callback_request::CallbackRequest;

use crate::guard::Guard;
use crate::state::{Queued, Shared, State};

/// Largest number of callbacks that are taken from the driver at a time.
const BATCH: usize = 256;

/// The callbacks of one federate, in the order in which the RTI sent them: a stream, or
/// [`recv`](Callbacks::recv).
///
/// A callback is reported to the RTI as successful when it is taken, a few at a time. With
/// [`recv_unreported`](Callbacks::recv_unreported) the application does the reporting. The values
/// in a callback share the memory into which they were received, so copy small values that you keep
/// for a long time.
///
/// [`disable`](Callbacks::disable) stops delivery for a while. Federates that were written for the
/// standard's callback model HLA_EVOKED can use [`evoke`](Callbacks::evoke) and
/// [`evoke_multiple`](Callbacks::evoke_multiple).
///
/// The stream ends with the session. If the session was lost rather than closed, the last callback
/// is [`Callback::ConnectionLost`](crate::Callback::ConnectionLost).
pub struct Callbacks {
    guard: Arc<Guard>,
    batch: VecDeque<Queued>,
    reports: Reports,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reports {
    /// The callbacks of the batch have been reported.
    Given,
    /// The callbacks of the batch are still to be reported.
    Due,
}

/// A callback that the application has to report. A callback that is never reported does no harm.
#[derive(Debug)]
#[must_use = "the callback is to be reported with `Callbacks::report`"]
pub struct Ticket(Option<Serial31>);

impl Callbacks {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard, batch: VecDeque::new(), reports: Reports::Given }
    }

    /// The next callback; `None` when no more will come.
    pub async fn recv(&mut self) -> Option<CallbackRequest> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// The next callback, if it is already here.
    pub fn try_recv(&mut self) -> Option<CallbackRequest> {
        if self.guard.shared.holds_callbacks() {
            return None;
        }
        if self.batch.is_empty() {
            self.refill(Reports::Given);
        }
        self.take_reported()
    }

    /// Like [`recv`](Callbacks::recv), for use in a hand-written future.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<CallbackRequest>> {
        if self.poll_enabled(cx).is_pending() {
            return Poll::Pending;
        }
        if self.batch.is_empty() && self.poll_refill(cx, Reports::Given).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(self.take_reported())
    }

    /// The next callback. The application reports it by [`report`](Callbacks::report) once it has
    /// handled it.
    pub async fn recv_unreported(&mut self) -> Option<(CallbackRequest, Ticket)> {
        poll_fn(|cx| {
            if self.poll_enabled(cx).is_pending() {
                return Poll::Pending;
            }
            if self.batch.is_empty() && self.poll_refill(cx, Reports::Due).is_pending() {
                return Poll::Pending;
            }
            let reported = self.reports == Reports::Given;
            Poll::Ready(
                self.batch
                    .pop_front()
                    .map(|(number, callback)| (callback, Ticket(if reported { None } else { number }))),
            )
        })
        .await
    }

    /// Reports a callback as handled, or as failed with the text of an error
    /// (FederateInternalError).
    #[allow(clippy::needless_pass_by_value)] // each ticket serves for one report
    pub fn report(&mut self, ticket: Ticket, result: Result<(), String>) {
        let Some(number) = ticket.0 else { return };
        let result = result.map_err(|details| ExceptionData {
            exception_name: hla::Exception::FederateInternalError.name().to_owned(),
            details,
        });
        let mut state = self.guard.shared.lock();
        let now = state.now();
        state.session.callback_done(now, number, result);
        state.wake_driver();
    }

    /// Whether a callback could be delivered now.
    pub(crate) fn is_pending(&self) -> bool {
        let shared = &self.guard.shared;
        !(shared.holds_callbacks() || self.batch.is_empty() && shared.lock().callbacks.is_empty())
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.guard.shared
    }

    /// Ready unless callbacks are disabled.
    fn poll_enabled(&self, cx: &mut Context<'_>) -> Poll<()> {
        let shared = &self.guard.shared;
        if !shared.holds_callbacks() {
            return Poll::Ready(());
        }
        let mut state = shared.lock();
        if !shared.holds_callbacks() {
            return Poll::Ready(()); // callbacks were enabled just now
        }
        let now = state.now();
        state.await_callback(cx);
        state.flush(now);
        Poll::Pending
    }

    fn take_reported(&mut self) -> Option<CallbackRequest> {
        let (number, callback) = self.batch.pop_front()?;
        if self.reports == Reports::Due {
            self.report(Ticket(number), Ok(()));
        }
        Some(callback)
    }

    /// Ready when the batch holds a callback or the stream has ended.
    fn poll_refill(&mut self, cx: &mut Context<'_>, reports: Reports) -> Poll<()> {
        self.refill(reports);
        if !self.batch.is_empty() {
            return Poll::Ready(());
        }
        let mut state = self.guard.shared.lock();
        let now = state.now();
        if !state.callbacks.is_empty() {
            cx.waker().wake_by_ref(); // a callback came just now
            return Poll::Pending;
        }
        if state.ended.is_some() {
            return Poll::Ready(());
        }
        state.await_callback(cx);
        state.flush(now); // the application waits now, so its requests must reach the RTI
        Poll::Pending
    }

    fn refill(&mut self, reports: Reports) {
        let mut state = self.guard.shared.lock();
        let now = state.recently();
        let state: &mut State = &mut state;
        let count = state.callbacks.len().min(BATCH);
        if count == 0 {
            return;
        }
        if count == state.callbacks.len() {
            std::mem::swap(&mut self.batch, &mut state.callbacks);
        } else {
            self.batch.extend(state.callbacks.drain(..count));
        }
        self.reports = reports;
        if reports == Reports::Given {
            for number in self.batch.iter().filter_map(|(number, _)| *number) {
                state.session.callback_done(now, number, Ok(()));
            }
            state.wake_driver();
        }
        if state.reading_paused && state.callbacks.len() < state.callbacks_high {
            state.wake_driver();
        }
    }
}

impl Stream for Callbacks {
    type Item = CallbackRequest;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<CallbackRequest>> {
        self.poll_recv(cx)
    }
}
