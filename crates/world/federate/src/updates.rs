//! Sending many updates and interactions without waiting for each result.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use fedpro::client::CallError;
use hla::api::call_request::CallRequest;
use hla::api::{Request, SendInteractionRequest, UpdateAttributeValuesRequest};
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectInstanceHandle, ParameterHandle};

use crate::call::encode;
use crate::error::FederateError;
use crate::guard::Guard;

/// Sends updates and interactions without waiting for their results.
///
/// A method waits only while too many results are outstanding
/// ([`Options::updates_window`](crate::Options::updates_window)) or the network takes no more. So a
/// publisher runs at the pace of the RTI and uses a bounded amount of memory. Queued messages leave
/// together: when many bytes wait, when the task next waits for anything, or on
/// [`flush`](Updates::flush).
///
/// Failed services are counted in [`counts`](Updates::counts), and [`drained`](Updates::drained)
/// returns the first error.
#[derive(Clone)]
pub struct Updates {
    guard: Arc<Guard>,
}

/// Outcomes of the services called through [`Updates`] since the federate connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Services queued or sent, without a result yet.
    pub outstanding: usize,
    /// Services that succeeded.
    pub succeeded: u64,
    /// Services that ended with an exception.
    pub failed: u64,
    /// The last exception.
    pub last_error: Option<FederateError>,
}

impl Updates {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard }
    }

    /// Update Attribute Values (6.10) without waiting for its result.
    ///
    /// # Errors
    /// The session has ended, or the update is longer than a message may be.
    pub async fn update_attribute_values(
        &self,
        object_instance: ObjectInstanceHandle,
        attribute_values: impl IntoIterator<Item = (AttributeHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Result<(), FederateError> {
        self.send(UpdateAttributeValuesRequest {
            object_instance: Some(object_instance),
            attribute_values: Some(attribute_values.into_iter().collect()),
            user_supplied_tag: user_supplied_tag.into(),
        })
        .await
    }

    /// Send Interaction (6.12) without waiting for its result.
    ///
    /// # Errors
    /// The session has ended, or the interaction is longer than a message may be.
    pub async fn send_interaction(
        &self,
        interaction_class: InteractionClassHandle,
        parameter_values: impl IntoIterator<Item = (ParameterHandle, Bytes)>,
        user_supplied_tag: impl Into<Bytes>,
    ) -> Result<(), FederateError> {
        self.send(SendInteractionRequest {
            interaction_class: Some(interaction_class),
            parameter_values: Some(parameter_values.into_iter().collect()),
            user_supplied_tag: user_supplied_tag.into(),
        })
        .await
    }

    /// Any service without waiting for its result, which is only counted.
    ///
    /// # Errors
    /// The session has ended, or the request is longer than a message may be.
    pub fn send<R: Request>(&self, request: R) -> impl Future<Output = Result<(), FederateError>> + use<R> {
        self.send_any(request.into_call())
    }

    /// The same for a request whose kind is known only when the program runs.
    ///
    /// # Errors
    /// The session has ended, or the request is longer than a message may be.
    pub fn send_any(&self, request: CallRequest) -> impl Future<Output = Result<(), FederateError>> + use<> {
        let mut body = encode(request);
        let guard = Arc::clone(&self.guard);
        async move { poll_fn(|cx| poll_send(&guard, &mut body, cx)).await }
    }

    /// Writes the queued messages, as far as the network takes them now.
    pub fn flush(&self) {
        let mut state = self.guard.shared.lock();
        let now = state.now();
        state.flush(now);
    }

    /// Waits until every result is here.
    ///
    /// # Errors
    /// The first exception since this was last called, or the session has ended.
    pub async fn drained(&self) -> Result<(), FederateError> {
        poll_fn(|cx| {
            let mut state = self.guard.shared.lock();
            let now = state.now();
            if state.pending.counted() == 0 {
                return Poll::Ready(state.counts.unreported.take().map_or(Ok(()), Err));
            }
            if state.ended.is_some() {
                return Poll::Ready(Err(state.disconnected()));
            }
            state.writers.push(cx.waker().clone());
            state.flush(now);
            Poll::Pending
        })
        .await
    }

    /// The outcomes of all services called through [`Updates`].
    pub fn counts(&self) -> UpdateCounts {
        let state = self.guard.shared.lock();
        UpdateCounts {
            outstanding: state.pending.counted(),
            succeeded: state.counts.succeeded,
            failed: state.counts.failed,
            last_error: state.counts.last_error.clone(),
        }
    }
}

fn poll_send(guard: &Guard, body: &mut Bytes, cx: &mut Context<'_>) -> Poll<Result<(), FederateError>> {
    let mut state = guard.shared.lock();
    let now = state.recently();
    if state.pending.counted() < state.window || state.ended.is_some() {
        match state.call(now, body) {
            Ok(number) => {
                state.pending.push_counted(number);
                state.flush_if_much(now);
                return Poll::Ready(Ok(()));
            }
            Err(CallError::Full { .. }) => {}
            Err(error) => return Poll::Ready(Err(state.refusal(error))),
        }
    }
    state.writers.push(cx.waker().clone());
    let now = state.now();
    state.flush(now);
    Poll::Pending
}
