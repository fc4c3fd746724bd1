//! One federate.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use carrier::Filter;
use hla::Exception;
use hla::api::call_request::CallRequest;
use hla::api::call_response::CallResponse;
use hla::api::{FomModule, JoinResult, Request};
use tracing::{Instrument as _, info_span};

use crate::call::Call;
use crate::callbacks::Callbacks;
use crate::driver::Driver;
use crate::error::{ConnectError, FederateError};
use crate::guard::Guard;
use crate::options::Options;
use crate::state::Shared;
use crate::updates::Updates;

/// Attempts to create or join a federation execution: after its creation has failed because it
/// exists, another federate may destroy it. Even twice in a row is unlikely.
const CREATE_ATTEMPTS: u32 = 4;

/// A federate's connection to an RTI. Every service is a method that returns a [`Call`].
///
/// Clones are the same federate. When the last of its clones, [`Callbacks`] and [`Updates`] is
/// gone, its session is terminated, and the RTI resigns it by its automatic resign directive. The
/// orderly way is [`disconnect`](Federate::disconnect).
#[derive(Clone)]
pub struct Federate {
    guard: Arc<Guard>,
}

impl Federate {
    /// Opens a session with the RTI and connects to it (Connect, 4.2), with the configuration and
    /// the credentials in `options`, if any.
    ///
    /// It starts a task on the tokio runtime on which it is called; that runtime needs its I/O and
    /// time drivers.
    ///
    /// # Errors
    /// The address is malformed, nobody answers there, or the RTI does not accept this federate.
    pub async fn connect(options: Options) -> Result<(Federate, Callbacks), ConnectError> {
        let (federate, callbacks) = Self::open(&options).await?;
        let Options { address, configuration, credentials, .. } = options;
        let result = match (configuration, credentials) {
            (None, None) => federate.request_connect().await,
            (Some(configuration), None) => federate.request_connect_with_configuration(configuration).await,
            (None, Some(credentials)) => federate.request_connect_with_credentials(credentials).await,
            (Some(configuration), Some(credentials)) => {
                federate.request_connect_with_configuration_and_credentials(configuration, credentials).await
            }
        };
        match result {
            Ok(_) => Ok((federate, callbacks)),
            Err(source) => Err(ConnectError::Service { address, source }),
        }
    }

    /// Opens a session and calls no service. The services of 4.2 are then the `request_connect…`
    /// methods.
    ///
    /// # Errors
    /// The address is malformed, or nobody there opens a session.
    pub async fn open(options: &Options) -> Result<(Federate, Callbacks), ConnectError> {
        let target = options.target()?;
        let carrier = Filter::client(&target, options.tls.as_ref());
        carrier.map_err(|source| ConnectError::Tls { address: options.address.clone(), source })?;
        let shared = Arc::new(Shared::new(options));
        let guard = Arc::new(Guard { shared: Arc::clone(&shared) });
        let span = info_span!("federate", server = %options.address);
        tokio::spawn(Driver::new(Arc::clone(&shared), target, options.tls.clone()).instrument(span));
        poll_fn(|cx| {
            let mut state = shared.lock();
            if state.established {
                return Poll::Ready(Ok(()));
            }
            if let Some(end) = &state.ended {
                let (address, reason) = (options.address.clone(), end.reason.clone().into_owned());
                return Poll::Ready(Err(ConnectError::NoSession { address, reason }));
            }
            state.watchers.push(cx.waker().clone());
            Poll::Pending
        })
        .await?;
        Ok((Federate { guard: Arc::clone(&guard) }, Callbacks::new(guard)))
    }

    /// Joins a federation execution as a federate with this name and type (Join Federation
    /// Execution, 4.11), and creates it from `module` if it does not exist (4.5).
    ///
    /// # Errors
    /// Those of the two services, e.g. FederateNameAlreadyInUse or InvalidFOM. It tries again
    /// if the federation execution is destroyed in between, but not for ever.
    pub async fn create_or_join(
        &self,
        federation: &str,
        module: FomModule,
        name: &str,
        federate_type: &str,
    ) -> Result<JoinResult, FederateError> {
        let mut attempts_left = CREATE_ATTEMPTS;
        loop {
            attempts_left -= 1;
            let created = self.create_federation_execution(federation, module.clone());
            let joined = self.join_federation_execution_with_name(name, federate_type, federation);
            match created.await {
                Err(error) if !error.is(Exception::FederationExecutionAlreadyExists) => return Err(error),
                _ => {}
            }
            match joined.await {
                Err(error) if attempts_left > 0 && error.is(Exception::FederationExecutionDoesNotExist) => {}
                joined => return joined,
            }
        }
    }

    /// Calls a service by its request. The methods named after the services do just this.
    pub fn call<R: Request>(&self, request: R) -> Call<R::Output> {
        Call::start(&self.guard.shared, request.into_call(), R::output)
    }

    /// Calls a service by a request whose kind is known only when the program runs. The result is the
    /// response as it came.
    pub fn call_any(&self, request: CallRequest) -> Call<CallResponse> {
        Call::start(&self.guard.shared, request, Some)
    }

    /// A handle for sending many updates and interactions without waiting for each.
    pub fn updates(&self) -> Updates {
        Updates::new(Arc::clone(&self.guard))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.guard.shared
    }

    /// The id that the server gave the session.
    pub fn session_id(&self) -> u64 {
        self.guard.shared.lock().session.id()
    }

    /// Disconnects from the RTI (Disconnect, 4.3) and ends the session. A joined federate has to
    /// resign first.
    ///
    /// # Errors
    /// FederateIsExecutionMember, in which case the session goes on; or the session was already
    /// lost.
    pub async fn disconnect(&self) -> Result<(), FederateError> {
        self.request_disconnect().await?;
        self.terminate().await;
        Ok(())
    }

    /// Ends the session without calling a service. The RTI resigns a joined federate by its
    /// automatic resign directive. Returns when the server has confirmed the end, or fails to.
    pub async fn terminate(&self) {
        let shared = &self.guard.shared;
        {
            let mut state = shared.lock();
            let now = state.now();
            state.session.terminate(now);
            state.flush(now);
            state.wake_driver();
        }
        poll_fn(|cx| {
            let mut state = shared.lock();
            if state.ended.is_some() {
                return Poll::Ready(());
            }
            state.watchers.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Waits until the session has ended, and returns the reason.
    pub async fn ended(&self) -> String {
        poll_fn(|cx| {
            let mut state = self.guard.shared.lock();
            if let Some(end) = &state.ended {
                return Poll::Ready(end.reason.clone().into_owned());
            }
            state.watchers.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}
