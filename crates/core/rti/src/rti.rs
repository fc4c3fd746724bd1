//! The RTI as its driver sees it.

use crate::config::Config;
use crate::control::{Command, ControlPlane, Event, ExecutionId, SyncRefusal};
use crate::modules::FomSource;
use crate::object::execution::Execution;
use crate::plane::{CallId, CallerId, Outcome, Plane, Proposal, Waiting};
use crate::services::{self, Context, Reply, Served, connection};
use base::Moment;
use bytes::Bytes;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{
    self, JoinResult, SynchronizationPointFailureReason, callback_request::CallbackRequest as Callback,
};
use hla::handle::FederateHandle;
use hla::{Exception, RtiError};
use router::ClientId;
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
/// ordered, and give each back to [`Rti::commit`]; then answer calls; then drain
/// [`Rti::poll_overloaded`] and, for each caller of [`Rti::poll_ready`],
/// [`Rti::poll_callback`] as far as that federate can take callbacks. While a call of a caller
/// waits for its completion, no further call of that caller may be made. `now` never decreases.
pub struct Rti {
    config: Config,
    source: Box<dyn FomSource>,
    control: ControlPlane,
    executions: BTreeMap<ExecutionId, Execution>,
    callers: BTreeMap<CallerId, Caller>,
    plane: Plane,
}

impl Rti {
    /// An RTI without federations. FOM modules that federates only name come from `source`.
    pub fn new(config: Config, source: Box<dyn FomSource>) -> Self {
        Self {
            control: ControlPlane::new(config.fom.clone()),
            plane: Plane::new(u32::from(config.node.0), config.queue_bytes_max, config.queue_callbacks_max),
            executions: BTreeMap::new(),
            callers: BTreeMap::new(),
            config,
            source,
        }
    }

    /// A session began; its federate is not yet connected.
    ///
    /// # Errors
    /// There is no room for another caller.
    pub fn open(&mut self, now: Moment, caller: CallerId) -> Result<(), RtiError> {
        self.plane.now = now;
        let client = self.plane.add_client(caller).map_err(|error| RtiError::internal(error.to_string()))?;
        self.callers.insert(caller, Caller { client, standing: Standing::Open, evolved: false });
        Ok(())
    }

    /// A session ended, for whatever reason. A federate that was joined is resigned by its automatic
    /// resign directive (4.4).
    pub fn close(&mut self, now: Moment, caller: CallerId) {
        self.plane.now = now;
        let Some(gone) = self.callers.remove(&caller) else { return };
        if let Standing::Joined(execution, federate) = gone.standing
            && let Some(x) = self.executions.get_mut(&execution)
        {
            x.resign_objects_of_lost(&mut self.plane, federate);
            self.plane.propose(Command::Resign { execution, federate });
        }
        self.plane.remove_client(gone.client);
    }

    /// Serves one service call. `None`: the answer comes as [`Completion`] from [`Rti::commit`].
    pub fn call(
        &mut self,
        now: Moment,
        caller: CallerId,
        call: CallId,
        request: Call,
    ) -> Option<Result<Answer, RtiError>> {
        self.plane.now = now;
        match self.serve(caller, call, request) {
            Ok(Reply::Now(answer)) => Some(Ok(answer)),
            Ok(Reply::Later) => None,
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
                let (control, plane) = (&self.control, &mut self.plane);
                return services::object::serve(
                    Context { control, execution, plane, caller, call, who },
                    request,
                );
            }
        }
        self.serve_unjoined(caller, call, request)
    }

    fn serve_unjoined(&mut self, caller: CallerId, call: CallId, request: Call) -> Served {
        let known = self.callers.get_mut(&caller).expect("the caller was found before");
        if let Call::DisconnectRequest(_) = request {
            known.standing = Standing::Open;
            self.plane.drop_callbacks(caller, &mut known.client);
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
        let mut reception = connection::Reception {
            control: &self.control,
            plane: &mut self.plane,
            source: &*self.source,
            limits: &self.config.fom,
            node: self.config.node,
            caller,
            call,
            client: known.client,
        };
        reception.serve(request).unwrap_or_else(|| {
            Err(RtiError::new(Exception::FederateNotExecutionMember, "this federate is not joined"))
        })
    }

    /// The next command to be ordered.
    pub fn poll_proposal(&mut self) -> Option<Proposal> {
        self.plane.poll_proposal()
    }

    /// Applies a proposal whose turn has come, and tells federates what follows from it.
    ///
    /// The callbacks wait; take them after the completion was sent, so that a federate gets its response
    /// before the callbacks that the call caused.
    pub fn commit(&mut self, now: Moment, proposal: Proposal) -> Option<Completion> {
        self.plane.now = now;
        let Proposal { command, waiting } = proposal;
        let answer = match self.control.apply(command) {
            Ok(events) => {
                let mut outcome = Outcome::default();
                for event in events {
                    self.take_event(event, waiting, &mut outcome);
                }
                Ok(outcome)
            }
            Err(error) => Err(error),
        };
        let Waiting { caller, call, finish } = waiting?;
        Some(Completion { caller, call, answer: answer.map(finish) })
    }

    fn take_event(&mut self, event: Event, waiting: Option<Waiting>, outcome: &mut Outcome) {
        match event {
            Event::Created(id) => {
                if let Some(federation) = self.control.execution(id) {
                    let execution =
                        Execution::new(id, self.config.node, federation.model.clone(), federation.time);
                    self.executions.insert(id, execution);
                }
            }
            Event::Destroyed(id) => {
                self.executions.remove(&id);
            }
            Event::ModelExtended(id) => {
                if let (Some(x), Some(federation)) =
                    (self.executions.get_mut(&id), self.control.execution(id))
                {
                    x.extend_model(federation.model.clone(), &mut self.plane);
                }
            }
            Event::Joined { execution, federate } => {
                outcome.joined = self.welcome(execution, federate, waiting.map(|waiting| waiting.caller));
            }
            Event::Resigned { execution, federate } => self.farewell(execution, federate),
            other => self.tell_event(other),
        }
    }

    /// The caller that waits for a join is the federate now.
    fn welcome(
        &mut self,
        execution: ExecutionId,
        federate: FederateHandle,
        caller: Option<CallerId>,
    ) -> Option<JoinResult> {
        let caller_id = caller?;
        let x = self.executions.get_mut(&execution)?;
        let Some(caller) = self.callers.get_mut(&caller_id) else {
            // The session ended while its join was on its way.
            self.plane.propose(Command::Resign { execution, federate });
            return None;
        };
        caller.standing = Standing::Joined(execution, federate);
        x.join(federate, caller_id, caller.client);
        let logical_time_implementation_name = x.time.name().to_owned();
        Some(JoinResult { federate_handle: Some(federate), logical_time_implementation_name })
    }

    /// A federate of this node has resigned: whatever waits for it is dropped, and it may join again.
    fn farewell(&mut self, execution: ExecutionId, federate: FederateHandle) {
        let Some(x) = self.executions.get_mut(&execution) else { return };
        let Some(caller_id) = x.federates.get(&federate).map(|federate| federate.caller) else { return };
        x.remove_federate(&mut self.plane, federate);
        let Some(caller) = self.callers.get_mut(&caller_id) else { return };
        if caller.standing == Standing::Joined(execution, federate) {
            caller.standing = Standing::Connected;
            self.plane.drop_callbacks(caller_id, &mut caller.client);
        }
    }

    fn tell_event(&mut self, event: Event) {
        match event {
            Event::SyncRegistration { execution, federate, label, refusal } => {
                self.tell(execution, federate, sync_registration(label, refusal));
            }
            Event::SyncAnnounced { execution, to, label, tag } => {
                let announce = api::AnnounceSynchronizationPoint {
                    synchronization_point_label: label,
                    user_supplied_tag: tag.into(),
                };
                for federate in to {
                    self.tell(execution, federate, Callback::AnnounceSynchronizationPoint(announce.clone()));
                }
            }
            Event::Synchronized { execution, point } => {
                let failed = api::FederateHandleSet { federate_handle: point.failed.into_iter().collect() };
                let synchronized = api::FederationSynchronized {
                    synchronization_point_label: point.label,
                    failed_to_sync_set: Some(failed),
                };
                for federate in point.members {
                    self.tell(execution, federate, Callback::FederationSynchronized(synchronized.clone()));
                }
            }
            Event::NamesReserved { execution, federate, names, granted, multiple } => {
                for callback in reservation(names, granted, multiple) {
                    self.tell(execution, federate, callback);
                }
            }
            Event::Created(_)
            | Event::Destroyed(_)
            | Event::ModelExtended(_)
            | Event::Joined { .. }
            | Event::Resigned { .. } => {}
        }
    }

    fn tell(&mut self, execution: ExecutionId, federate: FederateHandle, callback: Callback) {
        if let Some(execution) = self.executions.get(&execution) {
            execution.tell(&mut self.plane, federate, callback);
        }
    }

    /// A caller whose reliable callbacks found no room any more: end its session, saying so.
    pub fn poll_overloaded(&mut self) -> Option<CallerId> {
        self.plane.poll_overloaded()
    }

    /// A caller for whom callbacks wait. It is not named again before all of them were taken.
    pub fn poll_ready(&mut self) -> Option<CallerId> {
        self.plane.poll_ready()
    }

    /// The next encoded `CallbackRequest` for a caller.
    pub fn poll_callback(&mut self, caller: CallerId) -> Option<Bytes> {
        let client = self.callers.get(&caller)?.client;
        self.plane.poll_callback(client)
    }

    /// Whether the caller's federate speaks the 2010 edition through an adapter.
    pub fn is_evolved(&self, caller: CallerId) -> bool {
        self.callers.get(&caller).is_some_and(|caller| caller.evolved)
    }

    /// Whether the caller's federate is joined to a federation execution.
    pub fn is_joined(&self, caller: CallerId) -> bool {
        self.callers.get(&caller).is_some_and(|caller| matches!(caller.standing, Standing::Joined(..)))
    }

    pub(crate) fn control(&self) -> &ControlPlane {
        &self.control
    }

    pub(crate) fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        self.executions.get(&id)
    }

    pub(crate) fn plane(&self) -> &Plane {
        &self.plane
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

fn sync_registration(label: String, refusal: Option<SyncRefusal>) -> Callback {
    let reason = match refusal {
        None => {
            return Callback::SynchronizationPointRegistrationSucceeded(
                api::SynchronizationPointRegistrationSucceeded { synchronization_point_label: label },
            );
        }
        Some(SyncRefusal::LabelNotUnique) => {
            SynchronizationPointFailureReason::SynchronizationPointLabelNotUnique
        }
        Some(SyncRefusal::SetMemberNotJoined) => {
            SynchronizationPointFailureReason::SynchronizationSetMemberNotJoined
        }
    };
    Callback::SynchronizationPointRegistrationFailed(api::SynchronizationPointRegistrationFailed {
        synchronization_point_label: label,
        reason: reason.into(),
    })
}

fn reservation(names: std::collections::BTreeSet<String>, granted: bool, multiple: bool) -> Vec<Callback> {
    if multiple {
        let object_instance_names = names.into_iter().collect();
        return vec![if granted {
            Callback::MultipleObjectInstanceNameReservationSucceeded(
                api::MultipleObjectInstanceNameReservationSucceeded { object_instance_names },
            )
        } else {
            Callback::MultipleObjectInstanceNameReservationFailed(
                api::MultipleObjectInstanceNameReservationFailed { object_instance_names },
            )
        }];
    }
    let one = |object_instance_name| {
        if granted {
            Callback::ObjectInstanceNameReservationSucceeded(api::ObjectInstanceNameReservationSucceeded {
                object_instance_name,
            })
        } else {
            Callback::ObjectInstanceNameReservationFailed(api::ObjectInstanceNameReservationFailed {
                object_instance_name,
            })
        }
    };
    names.into_iter().map(one).collect()
}
