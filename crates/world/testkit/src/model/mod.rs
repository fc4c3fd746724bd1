//! The services in their simplest form: the answer to each call, and the callbacks to each
//! federate, computed from scratch from sets and maps.
//!
//! Nothing here is fast, incremental or routed. Advisories and discoveries are not events but
//! differences: before and after each step the model computes everything that every federate should
//! know, and reports the difference.

mod advice;
mod declaration;
mod distribution;
mod federation;
mod managed;
mod message;
mod object;
pub mod ownership;
mod regions;
mod support;
mod switches;
pub mod time;
mod unit;

pub use unit::units;

use advice::Advice;

use crate::fom;
use crate::observation::SessionId;
use crate::request::Joining;
use base::Moment;
use hla::Exception;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::fom::{Fdd, PRIVILEGE_TO_DELETE};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use managed::is_managed;
use regions::Regions;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The result of a call: this answer (`None`: the service's answer, which has no content), or one
/// of these exceptions. If several apply, any of them is right.
pub type Served = Result<Option<Answer>, Vec<Exception>>;

/// A callback that a federate is owed.
#[derive(Clone, PartialEq, Debug)]
pub struct Owed {
    /// Its receiver.
    pub to: SessionId,
    /// The callback. A set of attributes in an advisory is split into one callback for each.
    pub callback: Callback,
    /// It may be dropped if the federate does not keep up.
    pub best_effort: bool,
}

/// The effects of a step.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Effects {
    /// The callbacks that are owed, in no particular order.
    pub owed: Vec<Owed>,
    /// Sessions whose undelivered callbacks need no longer be delivered.
    pub released: Vec<SessionId>,
}

/// A session as the services see it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Caller {
    connected: bool,
    joined: Option<(String, FederateHandle)>,
}

/// The form of a subscription.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Subscribed {
    active: bool,
    /// Designator of the update rate, and the rate in Hz.
    rate: Option<(&'static str, f64)>,
}

/// A joined federate.
struct Federate {
    session: SessionId,
    name: String,
    publishes: BTreeSet<(ObjectClassHandle, AttributeHandle)>,
    subscribes: BTreeMap<(ObjectClassHandle, AttributeHandle), Subscribed>,
    publishes_interactions: BTreeSet<InteractionClassHandle>,
    /// Subscribed interaction classes; true: actively.
    subscribes_interactions: BTreeMap<InteractionClassHandle, bool>,
    publishes_directed: BTreeSet<(ObjectClassHandle, InteractionClassHandle)>,
    /// Subscribed directed interactions; true: universally.
    subscribes_directed: BTreeMap<(ObjectClassHandle, InteractionClassHandle), bool>,
    /// Its regions, with its subscriptions and updates in them.
    regions: Regions,
    default_transportation: BTreeMap<(ObjectClassHandle, AttributeHandle), TransportationTypeHandle>,
    interaction_transportation: BTreeMap<InteractionClassHandle, TransportationTypeHandle>,
    /// When it last got each attribute that it subscribes at a rate.
    reflected: BTreeMap<(ObjectInstanceHandle, AttributeHandle), Moment>,
    registration_advisory: bool,
    interaction_advisory: bool,
    scope_advisory: bool,
    update_advisory: bool,
    convey_regions: bool,
    directive: i32,
}

/// An object instance.
struct Instance {
    class: ObjectClassHandle,
    name: String,
    producer: FederateHandle,
    owners: BTreeMap<AttributeHandle, FederateHandle>,
    transportation: BTreeMap<AttributeHandle, TransportationTypeHandle>,
    /// The federates that know it, each with its known class.
    known: BTreeMap<FederateHandle, ObjectClassHandle>,
}

/// The state of an object instance name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Reserved(FederateHandle),
    Used,
}

/// An announced synchronization point.
struct Point {
    tag: bytes::Bytes,
    everybody: bool,
    achieved: BTreeMap<FederateHandle, Option<bool>>,
}

/// A federation execution.
struct Federation {
    now: Moment,
    model: Arc<Fdd>,
    privilege: AttributeHandle,
    federates: BTreeMap<FederateHandle, Federate>,
    federates_ever: u32,
    instances: BTreeMap<ObjectInstanceHandle, Instance>,
    instances_ever: u32,
    names: BTreeMap<String, Name>,
    points: BTreeMap<String, Point>,
}

/// The handle of no federate, for effects from which no federate is excepted.
const NOBODY: FederateHandle = FederateHandle(0);

/// A group of services of a joined federate; `None`: the call is in another group.
type Group = fn(&mut Federation, FederateHandle, &Call, &mut Effects) -> Option<Served>;

/// All groups. A call that is in none of them is refused to every federate.
const GROUPS: [Group; 8] = [
    Federation::synchronize,
    Federation::declare,
    Federation::handle_objects,
    Federation::send,
    Federation::distribute,
    Federation::look_up,
    Federation::set_switch,
    Federation::get_switch,
];

/// All federations of a run.
pub struct Model {
    base: Arc<Fdd>,
    extended: Arc<Fdd>,
    callers: BTreeMap<SessionId, Caller>,
    federations: BTreeMap<String, Federation>,
}

impl Model {
    /// A model without federations and federates. New federations have the object model `base`.
    pub fn new(base: Arc<Fdd>) -> Self {
        let extended = Arc::new(fom::extended(&base));
        Self { base, extended, callers: BTreeMap::new(), federations: BTreeMap::new() }
    }

    /// Records that a session began.
    pub fn open(&mut self, session: SessionId) {
        self.callers.insert(session, Caller::default());
    }

    /// Whether a session's federate is joined.
    pub fn is_joined(&self, session: SessionId) -> bool {
        self.callers.get(&session).is_some_and(|caller| caller.joined.is_some())
    }

    /// Names of the joined federates, by federation.
    pub fn members(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut members = BTreeMap::new();
        for (name, federation) in &self.federations {
            let names = federation.federates.values().map(|federate| federate.name.as_str());
            members.insert(name.as_str(), names.collect());
        }
        members
    }

    /// Object instances by federation.
    pub fn instances(&self) -> BTreeMap<&str, usize> {
        self.federations
            .iter()
            .map(|(name, federation)| {
                let registered = federation.instances.keys().filter(|handle| !is_managed(**handle));
                (name.as_str(), registered.count())
            })
            .collect()
    }

    /// The session of the federate called `name`.
    pub fn session_of(&self, federation: &str, name: &str) -> Option<SessionId> {
        let federates = &self.federations.get(federation)?.federates;
        federates.values().find(|federate| federate.name == name).map(|federate| federate.session)
    }

    /// Compares the last values of the management object model that a session was told with the
    /// present ones.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare_managed(
        &self,
        session: SessionId,
        told: &BTreeMap<(ObjectInstanceHandle, AttributeHandle), bytes::Bytes>,
    ) -> Result<(), String> {
        let joined = self.callers.get(&session).and_then(|caller| caller.joined.as_ref());
        let Some((name, federate)) = joined else { return Ok(()) };
        self.federations.get(name).map_or(Ok(()), |federation| federation.compare_managed(*federate, told))
    }

    /// Executes a call. Returns its result and its effects.
    pub fn execute(&mut self, now: Moment, session: SessionId, request: &Call) -> (Served, Effects) {
        let mut effects = Effects::default();
        let caller = self.callers.get(&session).cloned().unwrap_or_default();
        let served = match &caller.joined {
            Some((federation, federate)) => {
                self.execute_joined(now, federation, *federate, request, &mut effects)
            }
            None => self.execute_alone(session, &caller, request, &mut effects),
        };
        (served, effects)
    }

    fn execute_joined(
        &mut self,
        now: Moment,
        name: &str,
        federate: FederateHandle,
        request: &Call,
        effects: &mut Effects,
    ) -> Served {
        let is_resign = matches!(request, Call::ResignFederationExecutionRequest(_));
        let federation = self.federations.get_mut(name).expect("a joined federate has its federation");
        let session = federation.federates[&federate].session;
        let served = match request {
            Call::ConnectRequest(_) => return Err(vec![Exception::AlreadyConnected]),
            Call::DisconnectRequest(_) => return Err(vec![Exception::FederateIsExecutionMember]),
            _ if Joining::of(request).is_some() => {
                return Err(vec![Exception::FederateAlreadyExecutionMember]);
            }
            Call::CreateFederationExecutionRequest(_)
            | Call::DestroyFederationExecutionRequest(_)
            | Call::ListFederationExecutionsRequest(_)
            | Call::ListFederationExecutionMembersRequest(_) => {
                return self.manage(session, request, effects);
            }
            _ => federation.execute(now, federate, request, effects)?,
        };
        if is_resign {
            effects.released.push(session);
            if let Some(caller) = self.callers.get_mut(&session) {
                caller.joined = None;
            }
        }
        Ok(served)
    }

    /// Records that a session is over. A joined federate is resigned by its automatic resign
    /// directive (4.4).
    pub fn close(&mut self, session: SessionId) -> Effects {
        let mut effects = Effects::default();
        effects.released.push(session);
        let caller = self.callers.remove(&session).unwrap_or_default();
        if let Some((name, federate)) = caller.joined
            && let Some(federation) = self.federations.get_mut(&name)
        {
            federation.lose(federate, &mut effects);
        }
        effects
    }
}

impl Federation {
    fn new(model: Arc<Fdd>) -> Self {
        let root = model.object_class_by_name(hla::fom::OBJECT_ROOT).expect("every model has its root");
        let privilege = model.attribute_by_name(root, PRIVILEGE_TO_DELETE).expect("the MIM has it");
        let mut federation = Self {
            now: Moment::ZERO,
            model,
            privilege,
            federates: BTreeMap::new(),
            federates_ever: 0,
            instances: BTreeMap::new(),
            instances_ever: 0,
            names: BTreeMap::new(),
            points: BTreeMap::new(),
        };
        federation.add_whole();
        federation
    }

    fn execute(&mut self, now: Moment, federate: FederateHandle, request: &Call, fx: &mut Effects) -> Served {
        self.now = now;
        let served = GROUPS.iter().find_map(|group| group(self, federate, request, fx));
        served.unwrap_or_else(|| Err(vec![Exception::RTIinternalError]))
    }

    fn notify(&self, fx: &mut Effects, federate: FederateHandle, callback: Callback) {
        self.notify_as(fx, federate, callback, false);
    }

    fn notify_as(&self, fx: &mut Effects, caller: FederateHandle, callback: Callback, best_effort: bool) {
        if let Some(federate) = self.federates.get(&caller) {
            let to = federate.session;
            let owed = units(callback).into_iter().map(|callback| Owed { to, callback, best_effort });
            fx.owed.extend(owed);
        }
    }

    fn me(&mut self, federate: FederateHandle) -> &mut Federate {
        self.federates.get_mut(&federate).expect("a joined federate is in its federation")
    }

    fn lineage(&self, class: ObjectClassHandle) -> Vec<ObjectClassHandle> {
        fom::lineage(&self.model, class)
    }

    fn interaction_lineage(&self, class: InteractionClassHandle) -> Vec<InteractionClassHandle> {
        fom::interaction_lineage(&self.model, class)
    }

    fn available(&self, class: ObjectClassHandle) -> Vec<AttributeHandle> {
        self.model.object_class(class).map(|class| class.attributes.clone()).unwrap_or_default()
    }

    /// The exceptions for an object class and for attributes that must be available there.
    fn check_attributes(
        &self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
        undefined: Exception,
    ) -> Vec<Exception> {
        if self.model.object_class(class).is_none() {
            return vec![undefined];
        }
        let available = self.available(class);
        match attributes.iter().all(|attribute| available.contains(attribute)) {
            true => Vec::new(),
            false => vec![Exception::AttributeNotDefined],
        }
    }

    fn is_mom(&self, class: ObjectClassHandle) -> bool {
        self.model.object_class(class).is_some_and(|class| class.name.starts_with("HLAobjectRoot.HLAmanager"))
    }

    fn is_mom_interaction(&self, class: InteractionClassHandle) -> bool {
        self.model
            .interaction_class(class)
            .is_some_and(|class| class.name.starts_with("HLAinteractionRoot.HLAmanager"))
    }
}

/// An error with these exceptions, unless there are none.
fn refuse_if(faults: Vec<Exception>) -> Result<(), Vec<Exception>> {
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The result of a call that succeeds with this answer.
fn served(answer: Answer) -> Served {
    Ok(Some(answer))
}

/// Shorthand for an answer that carries `$result`.
macro_rules! answer {
    ($variant:ident, $result:expr) => {
        $crate::model::served(hla::api::call_response::CallResponse::$variant(hla::api::$variant {
            result: $result.into(),
        }))
    };
}
use answer;
