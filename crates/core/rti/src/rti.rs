//! The RTI as its driver sees it.

mod commit;
mod execution;
mod network;
mod restore;
mod shared;
mod tell;

use crate::config::Config;
use crate::control::{Command, ControlPlane, ExecutionId};
use crate::delivery::Delivery;
use crate::effect::Effects;
use crate::modules::FomSource;
use crate::object::objects::Objects;
use crate::proposal::{CallId, CallerId};
use crate::services::{self, Context, Reply, Served, connection};
use base::Moment;
use bytes::Bytes;
use execution::Execution;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::handle::FederateHandle;
use hla::{Exception, RtiError};
use router::ClientId;
use shared::Shared;
use std::collections::BTreeMap;

/// How far a caller has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    /// Not connected.
    Open,
    /// Connected, not joined.
    Connected,
    /// Joined to a federation execution.
    Joined(ExecutionId, FederateHandle),
}

struct Caller {
    client: ClientId,
    standing: Standing,
    evolved: bool,
}

/// A service call whose outcome came after [`Rti::call`] had returned.
pub struct Completion {
    /// Who called.
    pub caller: CallerId,
    /// Which call.
    pub call: CallId,
    /// Its response or exception.
    pub answer: Result<Answer, RtiError>,
}

/// The services of one node.
///
/// Contract: after every `&mut` call take all proposals with [`Rti::poll_proposal`], have them
/// ordered, and give each back to [`Rti::commit`] when its turn has come, and those of other nodes to
/// [`Rti::commit_remote`]; then answer calls; then drain [`Rti::poll_overloaded`], [`Rti::poll_lost`] and, for each
/// caller of [`Rti::poll_ready`], [`Rti::poll_callback`] as far as that federate can take callbacks. While a call of a
/// caller waits for its completion, no further call of that caller may be made. `now` never decreases.
pub struct Rti {
    config: Config,
    source: Box<dyn FomSource>,
    control: ControlPlane,
    executions: BTreeMap<ExecutionId, Execution>,
    callers: BTreeMap<CallerId, Caller>,
    /// Calls that wait for the outcome of a proposal.
    waiting: BTreeMap<CallerId, CallId>,
    shared: Shared,
}

impl Rti {
    /// An RTI without federations. FOM modules that federates only name come from `source`.
    pub fn new(config: Config, source: Box<dyn FomSource>) -> Self {
        Self {
            control: ControlPlane::new(config.fom.clone()),
            shared: Shared::new(&config),
            executions: BTreeMap::new(),
            callers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            config,
            source,
        }
    }

    /// A session began; its federate is not yet connected.
    ///
    /// # Errors
    /// There is no room for another caller.
    pub fn open(&mut self, now: Moment, caller: CallerId) -> Result<(), RtiError> {
        self.shared.set_now(now);
        let client =
            self.shared.delivery.add(now, caller).map_err(|error| RtiError::internal(error.to_string()))?;
        self.callers.insert(caller, Caller { client, standing: Standing::Open, evolved: false });
        Ok(())
    }

    /// A session ended, for whatever reason. A federate that was joined is resigned by its automatic
    /// resign directive (4.4).
    pub fn close(&mut self, now: Moment, caller: CallerId) {
        self.shared.set_now(now);
        let Some(gone) = self.callers.remove(&caller) else { return };
        self.waiting.remove(&caller);
        if let Standing::Joined(execution, federate) = gone.standing
            && let Some(x) = self.executions.get_mut(&execution)
        {
            // Not only when the resignation is committed, which may take a majority of nodes: the client is gone.
            x.act(&mut self.shared, |objects, effects| {
                objects.resign_objects_of_lost(effects, federate);
                effects.propose(Command::Resign { execution, federate });
                objects.remove_federate(effects, federate);
            });
        }
        self.shared.delivery.remove(now, gone.client);
        self.settle_network();
    }

    /// Serves one service call. `None`: the answer comes as [`Completion`] from [`Rti::commit`].
    pub fn call(
        &mut self,
        now: Moment,
        caller: CallerId,
        call: CallId,
        request: Call,
    ) -> Option<Result<Answer, RtiError>> {
        self.shared.set_now(now);
        let served = self.serve(caller, call, request);
        self.settle_network();
        match served {
            Ok(Reply::Now(answer)) => Some(Ok(answer)),
            Ok(Reply::Later) => {
                self.waiting.insert(caller, call);
                None
            }
            Err(error) => Some(Err(error)),
        }
    }

    fn serve(&mut self, caller: CallerId, call: CallId, request: Call) -> Served {
        let Some(known) = self.callers.get_mut(&caller) else {
            return Err(RtiError::new(Exception::NotConnected, "the session has ended"));
        };
        if let Standing::Joined(execution, who) = known.standing
            && let Some(execution) = self.executions.get_mut(&execution)
        {
            if let Some(refusal) = refuse_for_member(&request) {
                return Err(refusal);
            }
            if !is_for_connected(&request) {
                let control = &self.control;
                return execution.act(&mut self.shared, |objects, effects| {
                    services::object::serve(Context { control, objects, effects, caller, call, who }, request)
                });
            }
        }
        self.serve_unjoined(caller, call, request)
    }

    fn serve_unjoined(&mut self, caller: CallerId, call: CallId, request: Call) -> Served {
        let known = self.callers.get_mut(&caller).expect("the caller was found before");
        if let Call::DisconnectRequest(_) = request {
            known.standing = Standing::Open;
            self.shared.delivery.drop_waiting(self.shared.now, caller, &mut known.client);
            return services::done!(DisconnectResponse);
        }
        if let Some(connected) = connection::connect(&request, self.config.password.as_deref()) {
            if known.standing != Standing::Open {
                return Err(RtiError::new(Exception::AlreadyConnected, "this federate is connected"));
            }
            let connected = connected?;
            known.standing = Standing::Connected;
            known.evolved = connected.evolved;
            return Ok(Reply::Now(connected.answer));
        }
        if known.standing == Standing::Open {
            return Err(RtiError::new(Exception::NotConnected, "connect comes first"));
        }
        let mut effects = Effects::default();
        let mut reception = connection::Reception {
            control: &self.control,
            effects: &mut effects,
            source: &*self.source,
            limits: &self.config.fom,
            node: self.config.node,
            caller,
            call,
            client: known.client,
        };
        let served = reception.serve(request).unwrap_or_else(|| {
            Err(RtiError::new(Exception::FederateNotExecutionMember, "this federate is not joined"))
        });
        self.shared.apply(effects);
        served
    }

    /// A caller whose reliable callbacks found no room any more: end its session, saying so.
    pub fn poll_overloaded(&mut self) -> Option<CallerId> {
        self.shared.delivery.poll_overloaded()
    }

    /// A caller for whom callbacks wait. It is not named again before all of them were taken.
    pub fn poll_ready(&mut self) -> Option<CallerId> {
        self.shared.delivery.poll_ready()
    }

    /// The next encoded `CallbackRequest` for a caller.
    pub fn poll_callback(&mut self, caller: CallerId) -> Option<Bytes> {
        let client = self.callers.get(&caller)?.client;
        self.shared.delivery.poll_callback(client)
    }

    /// Whether the caller's federate speaks the 2010 edition through an adapter.
    pub fn is_evolved(&self, caller: CallerId) -> bool {
        self.callers.get(&caller).is_some_and(|caller| caller.evolved)
    }

    /// Whether the caller's federate is joined to a federation execution.
    pub fn is_joined(&self, caller: CallerId) -> bool {
        self.callers.get(&caller).is_some_and(|caller| matches!(caller.standing, Standing::Joined(..)))
    }

    /// The control plane, to look at.
    pub fn control(&self) -> &ControlPlane {
        &self.control
    }

    pub(crate) fn objects(&self, id: ExecutionId) -> Option<&Objects> {
        self.executions.get(&id).map(|x| &x.objects)
    }

    pub(crate) fn delivery(&self) -> &Delivery {
        &self.shared.delivery
    }
}

/// Calls that make sense only before joining, and how they are refused to a joined federate.
fn refuse_for_member(request: &Call) -> Option<RtiError> {
    let exception = match request {
        Call::DisconnectRequest(_) => Exception::FederateIsExecutionMember,
        Call::JoinFederationExecutionRequest(_)
        | Call::JoinFederationExecutionWithModulesRequest(_)
        | Call::JoinFederationExecutionWithNameRequest(_)
        | Call::JoinFederationExecutionWithNameAndModulesRequest(_) => {
            Exception::FederateAlreadyExecutionMember
        }
        _ => return None,
    };
    Some(RtiError::new(exception, "this federate is joined; resign comes first"))
}

/// Calls that need a connection and nothing more.
fn is_for_connected(request: &Call) -> bool {
    matches!(
        request,
        Call::ConnectRequest(_)
            | Call::ConnectWithCredentialsRequest(_)
            | Call::ConnectWithConfigurationRequest(_)
            | Call::ConnectWithConfigurationAndCredentialsRequest(_)
            | Call::CreateFederationExecutionRequest(_)
            | Call::CreateFederationExecutionWithTimeRequest(_)
            | Call::CreateFederationExecutionWithModulesRequest(_)
            | Call::CreateFederationExecutionWithModulesAndTimeRequest(_)
            | Call::CreateFederationExecutionWithMimRequest(_)
            | Call::CreateFederationExecutionWithMimAndTimeRequest(_)
            | Call::DestroyFederationExecutionRequest(_)
            | Call::ListFederationExecutionsRequest(_)
            | Call::ListFederationExecutionMembersRequest(_)
    )
}
