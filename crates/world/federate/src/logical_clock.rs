//! A federate's logical time (clause 8) as a clock that the federate advances.

use hla::api;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::time::{LogicalTime, LogicalTimeInterval, TimeKind};

use crate::call::Call;
use crate::callbacks::Callbacks;
use crate::error::FederateError;
use crate::federate::Federate;

/// The logical time of a joined federate.
///
/// Each method calls a service of time management and waits for the callback that ends it. All
/// other callbacks that arrive meanwhile go in order to the function passed to the method, so
/// messages are processed before the federate reaches the time of the grant. That function may call
/// services: the calls are queued at once and can be awaited later.
///
/// A federate that advances in steps of the same length:
///
/// ```no_run
/// # use federate::{Callbacks, Federate, LogicalClock};
/// # use federate::hla::api::JoinResult;
/// # use federate::hla::time::{LogicalTime, LogicalTimeInterval};
/// # async fn example(
/// #     federate: Federate, mut callbacks: Callbacks, joined: JoinResult,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let step = LogicalTimeInterval::float64(0.25)?;
/// let end = LogicalTime::float64(60.0)?;
/// let mut clock = LogicalClock::new(&federate, &joined)?;
/// clock.regulate(step, &mut callbacks, |_| {}).await?;
/// clock.constrain(&mut callbacks, |_| {}).await?;
/// while clock.now() < end {
///     // Send updates with a time of `clock.now()` plus `step` or later here.
///     let next = clock.now().add(step)?;
///     clock.advance(next, &mut callbacks, |callback| println!("{callback:?}")).await?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// If a method is cancelled, the request to the RTI stays: await its callback with another call, or
/// take it from the callbacks.
#[derive(Clone)]
pub struct LogicalClock {
    federate: Federate,
    kind: TimeKind,
    now: LogicalTime,
}

impl LogicalClock {
    /// The clock of a federate that has just joined.
    ///
    /// # Errors
    /// `CouldNotCreateLogicalTimeFactory` if the federation's time is neither HLAinteger64Time nor
    /// HLAfloat64Time.
    pub fn new(federate: &Federate, joined: &api::JoinResult) -> Result<Self, FederateError> {
        let kind = TimeKind::from_name(&joined.logical_time_implementation_name)?;
        Ok(Self { federate: federate.clone(), kind, now: kind.initial() })
    }

    /// The time of the last grant.
    pub fn now(&self) -> LogicalTime {
        self.now
    }

    /// The federation's implementation of logical time.
    pub fn kind(&self) -> TimeKind {
        self.kind
    }

    /// Enables time regulation (8.2): from now on the federate sends nothing that is earlier than
    /// its logical time plus `lookahead`, and others wait for it. Returns the logical time, which
    /// may be later than before.
    ///
    /// # Errors
    /// The exceptions of the service; `Disconnected` if the session ends first.
    pub async fn regulate(
        &mut self,
        lookahead: LogicalTimeInterval,
        callbacks: &mut Callbacks,
        other: impl FnMut(Callback),
    ) -> Result<LogicalTime, FederateError> {
        let call = self.federate.enable_time_regulation(lookahead);
        let enabled = |callback: &Callback| match callback {
            Callback::TimeRegulationEnabled(enabled) => enabled.time.clone(),
            _ => None,
        };
        self.finish(call, callbacks, other, enabled).await
    }

    /// Makes the federate time-constrained (8.5): from now on it gets messages in time-stamp order.
    ///
    /// # Errors
    /// The exceptions of the service; `Disconnected` if the session ends first.
    pub async fn constrain(
        &mut self,
        callbacks: &mut Callbacks,
        other: impl FnMut(Callback),
    ) -> Result<LogicalTime, FederateError> {
        let call = self.federate.enable_time_constrained();
        let enabled = |callback: &Callback| match callback {
            Callback::TimeConstrainedEnabled(enabled) => enabled.time.clone(),
            _ => None,
        };
        self.finish(call, callbacks, other, enabled).await
    }

    /// Time Advance Request (8.8): advances to `to`. All messages up to that time come first.
    ///
    /// # Errors
    /// The exceptions of the service; `Disconnected` if the session ends first.
    pub async fn advance(
        &mut self,
        to: LogicalTime,
        callbacks: &mut Callbacks,
        other: impl FnMut(Callback),
    ) -> Result<LogicalTime, FederateError> {
        let call = self.federate.time_advance_request(to);
        self.finish(call, callbacks, other, granted).await
    }

    /// Time Advance Request Available (8.9): like [`advance`](Self::advance), but messages at `to`
    /// itself may still come afterwards, and be sent with a lookahead of zero.
    ///
    /// # Errors
    /// The exceptions of the service; `Disconnected` if the session ends first.
    pub async fn advance_available(
        &mut self,
        to: LogicalTime,
        callbacks: &mut Callbacks,
        other: impl FnMut(Callback),
    ) -> Result<LogicalTime, FederateError> {
        let call = self.federate.time_advance_request_available(to);
        self.finish(call, callbacks, other, granted).await
    }

    /// Next Message Request (8.10): advances to the time of the next messages, which come first, or
    /// to `to` if there are none up to then.
    ///
    /// # Errors
    /// The exceptions of the service; `Disconnected` if the session ends first.
    pub async fn next_message(
        &mut self,
        to: LogicalTime,
        callbacks: &mut Callbacks,
        other: impl FnMut(Callback),
    ) -> Result<LogicalTime, FederateError> {
        let call = self.federate.next_message_request(to);
        self.finish(call, callbacks, other, granted).await
    }

    /// Next Message Request Available (8.11): like [`next_message`](Self::next_message), but more
    /// messages at the granted time may come afterwards.
    ///
    /// # Errors
    /// The exceptions of the service; `Disconnected` if the session ends first.
    pub async fn next_message_available(
        &mut self,
        to: LogicalTime,
        callbacks: &mut Callbacks,
        other: impl FnMut(Callback),
    ) -> Result<LogicalTime, FederateError> {
        let call = self.federate.next_message_request_available(to);
        self.finish(call, callbacks, other, granted).await
    }

    /// Flush Queue Request (8.12): all messages that are here come, whatever their times, and the
    /// federate advances as far as it may.
    ///
    /// # Errors
    /// The exceptions of the service; `Disconnected` if the session ends first.
    pub async fn flush_queue(
        &mut self,
        to: LogicalTime,
        callbacks: &mut Callbacks,
        other: impl FnMut(Callback),
    ) -> Result<LogicalTime, FederateError> {
        let call = self.federate.flush_queue_request(to);
        self.finish(call, callbacks, other, granted).await
    }

    /// Awaits a call, and then the callback in which `end` finds a time, which is the new logical
    /// time.
    async fn finish(
        &mut self,
        call: Call<()>,
        callbacks: &mut Callbacks,
        mut other: impl FnMut(Callback),
        end: impl Fn(&Callback) -> Option<api::LogicalTime>,
    ) -> Result<LogicalTime, FederateError> {
        call.await?;
        while let Some(callback) = callbacks.recv().await {
            if let Some(time) = end(&callback) {
                self.now = self.kind.decode_time(&time.data)?;
                return Ok(self.now);
            }
            other(callback);
        }
        Err(FederateError::Disconnected("the session ended before the callback of time management".into()))
    }
}

/// The time of a grant.
fn granted(callback: &Callback) -> Option<api::LogicalTime> {
    match callback {
        Callback::TimeAdvanceGrant(grant) => grant.time.clone(),
        Callback::FlushQueueGrant(grant) => grant.time.clone(),
        _ => None,
    }
}
