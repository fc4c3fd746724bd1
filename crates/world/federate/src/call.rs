//! The future of the result of a service.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::Serial31;
use bytes::Bytes;
use fedpro::client::CallError;
use hla::api::{CallRequest, Message as _, call_request, call_response};

use crate::error::FederateError;
use crate::state::Shared;

/// A service call in progress: a future of its result.
///
/// The request is queued as soon as this is made. Requests reach the RTI in the order in which
/// their methods were called, no matter whether or in which order their results are awaited. A
/// request is written when the driver next runs, or at once when a call that has to wait is polled.
/// So calls made together leave together.
///
/// Dropping it gives up the result, not the service.
#[must_use = "the service is called anyway, but nobody will know whether it failed"]
pub struct Call<T> {
    shared: Arc<Shared>,
    progress: Progress,
    service: &'static str,
    output: fn(call_response::CallResponse) -> Option<T>,
}

enum Progress {
    /// The session has too much to write; the encoded request waits here.
    Paused(Bytes),
    /// The request is queued under this number.
    Sent(Serial31),
    /// The request cannot be sent.
    Failed(FederateError),
    /// The result was returned.
    Finished,
}

impl<T> Call<T> {
    /// Queues a request. `output` takes the result out of the response, if it is one to this request.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        request: call_request::CallRequest,
        output: fn(call_response::CallResponse) -> Option<T>,
    ) -> Self {
        let service = request.service().name;
        let mut call = Self { shared: Arc::clone(shared), progress: Progress::Finished, service, output };
        call.progress = call.send(encode(request));
        call
    }

    fn send(&self, mut body: Bytes) -> Progress {
        let mut state = self.shared.lock();
        let now = state.now();
        match state.call(now, &mut body) {
            Ok(number) => {
                state.pending.push(number);
                Progress::Sent(number)
            }
            Err(CallError::Full { .. }) => Progress::Paused(body),
            Err(error) => Progress::Failed(state.refusal(error)),
        }
    }

    fn result(&self, response: call_response::CallResponse) -> Result<T, FederateError> {
        if let call_response::CallResponse::ExceptionData(data) = response {
            return Err(FederateError::raised(data));
        }
        (self.output)(response).ok_or_else(|| {
            FederateError::Protocol(format!("its answer to {} is no result of it", self.service))
        })
    }
}

/// Encodes a request as it is sent.
pub(crate) fn encode(request: call_request::CallRequest) -> Bytes {
    CallRequest { call_request: Some(request) }.encode_to_vec().into()
}

impl<T> Future for Call<T> {
    type Output = Result<T, FederateError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Progress::Paused(body) = &mut self.progress {
            let body = std::mem::take(body);
            self.progress = self.send(body);
        }
        let number = match &self.progress {
            Progress::Sent(number) => *number,
            Progress::Paused(_) => {
                let mut state = self.shared.lock();
                let now = state.now();
                state.writers.push(cx.waker().clone());
                state.flush(now);
                return Poll::Pending;
            }
            Progress::Failed(_) | Progress::Finished => {
                return match std::mem::replace(&mut self.progress, Progress::Finished) {
                    Progress::Failed(error) => Poll::Ready(Err(error)),
                    _ => panic!("a call was polled after it gave its result"),
                };
            }
        };
        let mut state = self.shared.lock();
        let response = match state.pending.poll(number, cx.waker()) {
            Poll::Ready(response) => Ok(response),
            Poll::Pending if state.ended.is_some() => Err(state.disconnected()),
            Poll::Pending => {
                if state.session.has_output() {
                    let now = state.now();
                    state.flush(now);
                }
                return Poll::Pending;
            }
        };
        drop(state);
        self.progress = Progress::Finished;
        Poll::Ready(response.and_then(|response| self.result(response)))
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        if let Progress::Sent(number) = self.progress {
            self.shared.lock().pending.abandon(number);
        }
    }
}
