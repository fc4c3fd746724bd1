//! The RTI: the interface for its driver.

pub(crate) mod access;
mod commit;
mod execution;
mod jobs;
mod memory;
mod mom;
mod mom_interactions;
mod network;
mod notify;
mod reporting;
mod restore;
mod restoring;
mod saving;
mod shared;
mod work;

use crate::caller::{Caller, Standing};
use crate::config::Config;
use crate::control::{ControlPlane, ExecutionId};
use crate::delivery::Delivery;
use crate::effect::{Effect, Effects, MomRequest};
use crate::image::Restored;
use crate::modules::FomSource;
use crate::object::objects::Objects;
use crate::proposal::{CallId, CallerId, Completion};
use crate::services::admission;
use crate::services::authorization::Authorization;
use crate::services::connection::{ServeSession, Session};
use crate::services::executions::{Reception, ServeConnected};
use crate::services::{Context, Reply, Serve, Served};
use crate::time::{TimeInput, TimeManager};
use base::Moment;
use bytes::Bytes;
use execution::Execution;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::{SERVICES, Service, ServiceGroup};
use hla::handle::FederateHandle;
use hla::{Exception, RtiError, match_call};
use jobs::Jobs;
pub use memory::{MemoryBounds, MemorySums};
use shared::Shared;
use std::collections::{BTreeMap, VecDeque};

/// The services of one node.
///
/// Contract: after every `&mut` call take all proposals with [`Rti::poll_proposal`] and have them
/// ordered. At its turn pass each proposal of this node to [`Rti::commit`], and those of other
/// nodes to [`Rti::commit_remote`]. Then answer calls, including those of [`Rti::poll_completion`].
/// Then drain [`Rti::poll_overloaded`], [`Rti::poll_lost`] and, for each caller of
/// [`Rti::poll_ready`], [`Rti::poll_callback`] as far as that federate can take callbacks; pass each
/// completion to [`Rti::note_completion`], and go on while [`Rti::settle_reports`] says so. While a
/// call of a caller waits for its completion, no further call of that caller may be made. Run the
/// job of [`Rti::poll_job`], if there is one, and pass its outcome to [`Rti::finish_job`]; calls of
/// others continue meanwhile. `now` never decreases.
pub struct Rti {
    config: Config,
    source: Box<dyn FomSource>,
    control: ControlPlane,
    executions: BTreeMap<ExecutionId, Execution>,
    callers: BTreeMap<CallerId, Caller>,
    /// Parts of images that are being restored, with the numbers of the requests.
    restored: BTreeMap<ExecutionId, (u64, Box<Restored>)>,
    /// The number of proposals of each execution that have not had their turn.
    unsettled: BTreeMap<ExecutionId, usize>,
    /// Calls that wait for the outcome of a proposal.
    waiting: BTreeMap<CallerId, CallId>,
    jobs: Jobs,
    memory: memory::Memory,
    /// The number of calls of each service, indexed as the call table.
    calls: Box<[u64]>,
    /// The last served call, until it is forgotten.
    last_call: Option<(CallerId, &'static Service)>,
    /// Decisions of the access policy that are yet to be logged.
    authorizations: VecDeque<(CallerId, Authorization)>,
    shared: Shared,
}

impl Rti {
    /// An RTI without federation executions. `source` supplies the FOM modules that federates name
    /// but do not send.
    pub fn new(config: Config, source: Box<dyn FomSource>) -> Self {
        let mut control = ControlPlane::new(config.fom.clone());
        control.set_read_at_once(config.fom_at_once_bytes);
        Self {
            control,
            shared: Shared::new(&config),
            executions: BTreeMap::new(),
            restored: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            callers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            jobs: Jobs::default(),
            memory: memory::Memory::default(),
            calls: vec![0; SERVICES.len()].into(),
            last_call: None,
            authorizations: VecDeque::new(),
            config,
            source,
        }
    }

    /// Opens a session whose federate is not connected yet.
    ///
    /// # Errors
    /// There is no room for another caller.
    pub fn open(&mut self, now: Moment, caller: CallerId) -> Result<(), RtiError> {
        self.shared.set_now(now);
        let client =
            self.shared.delivery.add(now, caller).map_err(|error| RtiError::internal(error.to_string()))?;
        let host = Box::default();
        self.callers.insert(caller, Caller::new(client, host));
        Ok(())
    }

    /// Sets the host that a caller runs on, for the management object model. Federates that have
    /// joined keep theirs.
    pub fn set_host(&mut self, caller: CallerId, host: &str) {
        if let Some(caller) = self.callers.get_mut(&caller) {
            caller.host = host.into();
        }
    }

    /// Closes a session, no matter why it ended. A joined federate is resigned by its automatic
    /// resign directive (4.4).
    pub fn close(&mut self, now: Moment, caller: CallerId) {
        self.shared.set_now(now);
        let Some(gone) = self.callers.remove(&caller) else { return };
        self.waiting.remove(&caller);
        self.shared.service_reports.close(caller);
        self.jobs.forget(caller);
        if let Standing::Joined(execution, federate) = gone.standing
            && let Some(execution) = self.executions.get_mut(&execution)
        {
            let time = execution.time.logical_time(federate);
            self.shared.managed.push_back((execution.id(), MomRequest::Lost { federate, time }));
            execution.act(&mut self.shared, |objects, effects| {
                objects.resign_lost(effects, federate);
                // Others need not wait for it until its objects are disposed of.
                effects.push(Effect::Time(TimeInput::Left(federate)));
            });
        }
        self.shared.delivery.remove(now, gone.client);
        self.settle_network();
    }

    /// Serves one service call. `None`: the answer comes as [`Completion`] from [`Rti::commit`], or
    /// from [`Rti::finish_job`] if the call carries FOM modules.
    pub fn call(
        &mut self,
        now: Moment,
        caller: CallerId,
        call: CallId,
        request: Call,
    ) -> Option<Result<Answer, RtiError>> {
        self.shared.set_now(now);
        let served = self.authorize(caller, &request).and_then(|()| self.serve(caller, call, request));
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

    /// The one entry point of all calls. A call is checked against its row of the call table and
    /// counted before it is served. The row also decides which context the service gets.
    fn serve(&mut self, caller: CallerId, call: CallId, request: Call) -> Served<Answer> {
        let report = self.begin_report(caller, call, &request);
        let served = match_call!(request, {
            Nothing(request) => self.serve_session(caller, request),
            Connection(request) => self.serve_connected(caller, call, request),
            Membership(request) => self.serve_joined(caller, call, request),
        });
        if let Some(report) = report {
            self.end_report(caller, report, &served);
        }
        served
    }

    fn serve_session<R: ServeSession>(&mut self, caller: CallerId, request: R) -> Served<Answer> {
        self.last_call = Some((caller, R::SERVICE));
        let Self { callers, calls, shared, .. } = self;
        let known = admit(callers, calls, caller, R::SERVICE)?;
        let session = Session { now: shared.now, id: caller, caller: known, delivery: &mut shared.delivery };
        Ok(request.serve(session)?.map(R::response))
    }

    fn serve_connected<R: ServeConnected>(
        &mut self,
        caller: CallerId,
        call: CallId,
        request: R,
    ) -> Served<Answer> {
        self.last_call = Some((caller, R::SERVICE));
        let &mut Caller { client, ref host, .. } =
            admit(&mut self.callers, &mut self.calls, caller, R::SERVICE)?;
        let (mut effects, mut to_read) = (Effects::default(), None);
        let used = self.control.bytes() + self.shared.object_bytes;
        let (models, federations) = self.memory.both(self.control.model_bytes(), used);
        let reception = Reception {
            control: &self.control,
            models,
            federations,
            effects: &mut effects,
            source: &*self.source,
            to_read: &mut to_read,
            node: self.config.node,
            caller,
            call,
            client,
            host,
            congested: self.shared.delivery.is_congested(client),
            federations_max: self.config.federations_max,
            directive: self.config.automatic_resign,
        };
        let served = request.serve(reception);
        self.shared.apply_all(effects);
        if let Some(call) = to_read {
            self.enqueue(call)?;
        }
        Ok(served?.map(R::response))
    }

    fn serve_joined<R: Serve>(&mut self, caller: CallerId, call: CallId, request: R) -> Served<Answer> {
        self.last_call = Some((caller, R::SERVICE));
        self.prepare_for_time(R::SERVICE);
        let Self { callers, calls, control, executions, shared, memory, .. } = self;
        let &mut Caller { standing, evolved, .. } = admit(callers, calls, caller, R::SERVICE)?;
        let joined = match standing {
            Standing::Joined(execution, federate) => executions.get_mut(&execution).zip(Some(federate)),
            Standing::Open | Standing::Connected => None,
        };
        let Some((execution, federate)) = joined else {
            return Err(RtiError::new(Exception::FederateNotExecutionMember, "this federate is not joined"));
        };
        let growth = memory.federations(control.bytes() + shared.object_bytes);
        execution.time.set_now(shared.now);
        // Only these services change what the management object model tells at once.
        let may_change =
            matches!(R::SERVICE.group, ServiceGroup::TimeManagement | ServiceGroup::SupportServices);
        if may_change && execution.mom.tells() {
            shared.managed.push_back((execution.id(), MomRequest::Changed(federate)));
        }
        let served = execution.serve(shared, |objects, time, effects| {
            let context =
                Context { control, objects, time, effects, growth, caller, call, federate, evolved };
            // Made at once: to read a result of several parts back right after it was stored stalls.
            request.serve(context).map(|reply| reply.map(R::response))
        });
        if let Err(error) = &served {
            execution.note_exception(shared, (federate, R::SERVICE.name), error);
        }
        served
    }

    /// The only node of a network replicates nothing. But streams account for what federates may
    /// still send, so they must exist before the first federate in logical time.
    fn prepare_for_time(&mut self, service: &Service) {
        if service.group == ServiceGroup::TimeManagement
            && self.control.is_network()
            && !self.shared.peers.active
        {
            self.set_networked(self.shared.now, true);
        }
    }

    /// The number of calls of each service, without those that the call table refused.
    pub fn calls(&self) -> impl Iterator<Item = (&'static Service, u64)> {
        SERVICES.iter().zip(self.calls.iter().copied())
    }

    /// The last call served since [`Rti::forget_last_call`], with its caller.
    pub fn last_call(&self) -> Option<(CallerId, &'static Service)> {
        self.last_call
    }

    /// Forgets the [last call](Rti::last_call).
    pub fn forget_last_call(&mut self) {
        self.last_call = None;
    }

    /// The callers that are joined, by federation execution and federate.
    pub(crate) fn joined_callers(
        &self,
    ) -> impl Iterator<Item = ((ExecutionId, FederateHandle), CallerId)> + '_ {
        self.callers.iter().filter_map(|(caller, known)| match known.standing {
            Standing::Joined(execution, federate) => Some(((execution, federate), *caller)),
            Standing::Open | Standing::Connected => None,
        })
    }

    /// The name of a joined federate for people, with that of its federation execution.
    pub fn federate_name(&self, caller: CallerId) -> Option<String> {
        let Standing::Joined(execution, federate) = self.callers.get(&caller)?.standing else { return None };
        let federation = self.control.execution(execution)?;
        Some(format!("federate `{}` of `{}`", federation.member(federate)?.name, federation.name))
    }

    /// A caller whose reliable callbacks exceeded their limit: end its session with this reason.
    pub fn poll_overloaded(&mut self) -> Option<CallerId> {
        self.shared.delivery.poll_overloaded()
    }

    /// A caller for which callbacks wait. It is not named again before all of them were taken.
    pub fn poll_ready(&mut self) -> Option<CallerId> {
        self.shared.delivery.poll_ready()
    }

    /// The next encoded `CallbackRequest` for a caller.
    pub fn poll_callback(&mut self, caller: CallerId) -> Option<Bytes> {
        let client = self.callers.get(&caller)?.client;
        let body = self.shared.delivery.poll_callback(client)?;
        if !self.shared.service_reports.is_empty() {
            self.report_callback(caller, &body);
        }
        Some(body)
    }

    /// Whether the caller's federate speaks the 2010 edition through an adapter.
    pub fn is_evolved(&self, caller: CallerId) -> bool {
        self.callers.get(&caller).is_some_and(|caller| caller.evolved)
    }

    /// Whether the caller's federate is joined to a federation execution.
    pub fn is_joined(&self, caller: CallerId) -> bool {
        self.callers.get(&caller).is_some_and(|caller| matches!(caller.standing, Standing::Joined(..)))
    }

    /// Read access to the control plane.
    pub fn control(&self) -> &ControlPlane {
        &self.control
    }

    /// The moment of the last input.
    pub fn now(&self) -> Moment {
        self.shared.now
    }

    pub(crate) fn objects(&self, id: ExecutionId) -> Option<&Objects> {
        self.executions.get(&id).map(|execution| &execution.objects)
    }

    pub(crate) fn time_of(&self, id: ExecutionId) -> Option<&TimeManager> {
        Some(&self.executions.get(&id)?.time)
    }

    pub(crate) fn delivery(&self) -> &Delivery {
        &self.shared.delivery
    }
}

/// Checks a call against the call table, and counts it if it is to be served.
fn admit<'a>(
    callers: &'a mut BTreeMap<CallerId, Caller>,
    calls: &mut [u64],
    caller: CallerId,
    service: &Service,
) -> Result<&'a mut Caller, RtiError> {
    let Some(known) = callers.get_mut(&caller) else {
        return Err(RtiError::new(Exception::NotConnected, "the session has ended"));
    };
    admission::admit(service, known.standing, known.activity)?;
    calls[service.index()] += 1;
    Ok(known)
}
