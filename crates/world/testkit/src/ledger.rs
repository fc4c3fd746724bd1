//! Facts that follow from the observations of the federates: joined federates, their subscriptions,
//! publications, known and owned instances, and the messages sent.

use crate::fom;
use crate::observation::{Observation, Seen, SessionId};
use crate::request::{
    Declaration, Joining, Message, Regional, Stamp, attributes, joined_handle, message, registered,
};
use crate::script::Knowledge;
use base::Moment;
use hla::api::ResignAction;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::fom::{Fdd, OBJECT_ROOT, PRIVILEGE_TO_DELETE};
use hla::handle::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use netsim::HostId;
use std::collections::{BTreeMap, BTreeSet};

/// One start of one node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Run {
    /// The node.
    pub node: usize,
    /// 0 for its first start.
    pub start: u32,
}

/// Separates the name of a federation from its network, if that is not the first network.
const NETWORK_MARK: char = '#';

/// A session of a federate.
#[derive(Clone, Debug)]
pub struct Life {
    /// The federate's host.
    pub host: HostId,
    /// The start of a node at which it has its session.
    pub run: Run,
    /// When the session ended.
    pub over: Option<Moment>,
    /// Its membership, as far as it knows.
    pub joined: Option<Membership>,
    /// Calls that wait for an answer, by number, with the times at which they were made.
    pub asked: BTreeMap<u32, (Moment, Call)>,
}

/// A joined federate.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Its federation [execution](Ledger::execution).
    pub federation: String,
    /// Its handle.
    pub handle: FederateHandle,
    /// Its name, if it chose one.
    pub name: Option<String>,
    /// Its automatic resign directive, which decides the fate of its objects when it is lost.
    pub directive: i32,
    /// The directive is certain: no call that sets it has ended in an internal error.
    certain: bool,
    /// The federate has asked to resign.
    pub leaving: bool,
    /// Attributes that it subscribes without a break and without regions, and since when.
    pub subscribed: BTreeMap<(ObjectClassHandle, AttributeHandle), Moment>,
    /// Interaction classes that it subscribes without a break and without regions, and since when.
    pub subscribed_interactions: BTreeMap<InteractionClassHandle, Moment>,
    /// Object classes whose attributes it has ever subscribed with regions.
    pub regional: BTreeSet<ObjectClassHandle>,
    /// Interaction classes that it has ever subscribed with regions.
    pub regional_interactions: BTreeSet<InteractionClassHandle>,
    /// Attributes that it publishes without a break, and since when.
    pub published: BTreeMap<(ObjectClassHandle, AttributeHandle), Moment>,
    /// Interaction classes that it publishes without a break, and since when.
    pub published_interactions: BTreeMap<InteractionClassHandle, Moment>,
    /// Instances that it discovered: the class and the time of the discovery.
    pub known: BTreeMap<ObjectInstanceHandle, (ObjectClassHandle, Moment)>,
    /// Instances that it has ever deleted locally.
    pub doubtful: BTreeSet<ObjectInstanceHandle>,
    /// The privilege to delete. It comes with any other attribute and goes with the last one, so it
    /// is not counted.
    privilege: AttributeHandle,
    /// Classes whose privilege it has ever unpublished by name.
    unprivileged: BTreeSet<ObjectClassHandle>,
    /// Attributes whose transportation it may have changed.
    pub odd: BTreeSet<AttributeHandle>,
    /// Interaction classes whose transportation it may have changed.
    pub odd_interactions: BTreeSet<InteractionClassHandle>,
}

/// An object instance.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The class at which it was registered.
    pub class: ObjectClassHandle,
    /// The federate that registered it.
    pub owner: SessionId,
    /// When its registration was requested.
    pub asked: Moment,
    /// When its registration was answered.
    pub since: Moment,
    /// Attributes that its owner certainly owns, without the privilege to delete.
    pub owned: BTreeSet<AttributeHandle>,
    /// Whether its owner has never unpublished the privilege to delete by name: then an owner that
    /// still owns an attribute has the privilege too.
    pub privileged: bool,
    /// Its fate.
    pub fate: Fate,
}

/// The fate of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It exists, and belongs to its owner.
    Exists,
    /// Its owner deleted it, or resigned and had it deleted. If the owner's node dies before all
    /// others have heard of it, the fate is open after all.
    Deleted,
    /// Its owner was lost with a directive to delete it.
    Lost,
    /// It may exist or not: its deletion is under way, or the way in which its owner left leaves
    /// this open.
    Open,
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The sender.
    pub by: SessionId,
    /// The time of the call.
    pub at: Moment,
    /// The message.
    pub message: Message,
}

/// The known facts of a run.
pub struct Ledger {
    /// The model of the federations, with every module that any federate adds.
    pub model: Fdd,
    privilege: AttributeHandle,
    directive: i32,
    /// All sessions of the run.
    pub lives: BTreeMap<SessionId, Life>,
    networks: BTreeMap<SessionId, u64>,
    first_network: Option<u64>,
    /// All instances of the run, by federation execution and handle.
    pub instances: BTreeMap<(String, ObjectInstanceHandle), Instance>,
    /// All messages sent.
    pub sent: BTreeMap<Stamp, Sent>,
    /// The time since which there are no faults, and federates do only what they are told.
    pub calm: Option<Moment>,
    /// Starts of nodes that have been members of the network since they began, and still are at the
    /// end.
    pub lived: BTreeSet<Run>,
    /// Federation executions that were destroyed, or may have been.
    destroyed: BTreeSet<String>,
}

impl Ledger {
    /// A ledger without facts.
    pub fn new(known: &Knowledge) -> Self {
        let model = fom::extended(&known.model);
        let root = model.object_class_by_name(OBJECT_ROOT).expect("every model has the root class");
        let privilege = model.attribute_by_name(root, PRIVILEGE_TO_DELETE).expect("and its privilege");
        Self {
            privilege,
            directive: model.switches().automatic_resign_action as i32,
            model,
            lives: BTreeMap::new(),
            networks: BTreeMap::new(),
            first_network: None,
            instances: BTreeMap::new(),
            sent: BTreeMap::new(),
            calm: None,
            lived: BTreeSet::new(),
            destroyed: BTreeSet::new(),
        }
    }

    /// Records that a session began.
    pub fn established(&mut self, session: SessionId, host: HostId, run: Run) {
        let life = Life { host, run, over: None, joined: None, asked: BTreeMap::new() };
        self.lives.insert(session, life);
    }

    /// Records the network that serves a session.
    pub fn served(&mut self, session: SessionId, network: u64) {
        self.first_network.get_or_insert(network);
        self.networks.insert(session, network);
    }

    /// Number of networks that served sessions.
    pub fn networks(&self) -> usize {
        self.networks.values().collect::<BTreeSet<_>>().len()
    }

    /// The federation execution that `session` means by a name: the one in its network. For a while
    /// there may be two of that name.
    pub fn execution(&self, session: SessionId, federation: &str) -> String {
        match self.networks.get(&session).filter(|network| Some(**network) != self.first_network) {
            Some(network) => format!("{federation}{NETWORK_MARK}{network:x}"),
            None => federation.to_owned(),
        }
    }

    /// Whether a federation execution was ever destroyed, as far as any federate knows. Its handles
    /// then start again.
    pub fn is_destroyed(&self, execution: &str) -> bool {
        let name = federation_of(execution);
        let destroys = |call: &Call| matches!(call, Call::DestroyFederationExecutionRequest(r) if r.federation_name == name);
        let mut asked = self.lives.values().flat_map(|life| life.asked.values());
        self.destroyed.contains(execution) || asked.any(|(_, call)| destroys(call))
    }

    /// Sessions that are joined and not over.
    pub fn joined(&self) -> impl Iterator<Item = (SessionId, &Life, &Membership)> {
        self.lives.iter().filter_map(|(&session, life)| Some((session, life, life.joined.as_ref()?)))
    }

    /// The membership of a session that is joined.
    pub fn member(&self, session: SessionId) -> Option<&Membership> {
        self.lives.get(&session)?.joined.as_ref()
    }

    /// An instance of the federation that `session` is joined to.
    pub fn instance(&self, session: SessionId, handle: ObjectInstanceHandle) -> Option<&Instance> {
        self.instances.get(&(self.member(session)?.federation.clone(), handle))
    }

    /// Whether the node of a session was a member all the time.
    pub fn lived(&self, session: SessionId) -> bool {
        self.lives.get(&session).is_some_and(|life| self.lived.contains(&life.run))
    }

    /// Whether the transportation of `attribute` in the model is reliable.
    pub fn is_reliable(&self, attribute: AttributeHandle) -> bool {
        let transportation = self.model.attribute(attribute).map(|attribute| attribute.transportation);
        transportation == Some(TransportationTypeHandle::RELIABLE)
    }

    /// Whether the transportation of interactions of `class` in the model is reliable.
    pub fn is_reliable_interaction(&self, class: InteractionClassHandle) -> bool {
        let transportation = self.model.interaction_class(class).map(|class| class.transportation);
        transportation == Some(TransportationTypeHandle::RELIABLE)
    }

    /// `class` and its superclasses, most specific first.
    pub fn lineage(&self, class: ObjectClassHandle) -> Vec<ObjectClassHandle> {
        fom::lineage(&self.model, class)
    }

    /// `class` and its superclasses, most specific first.
    pub fn interaction_lineage(&self, class: InteractionClassHandle) -> Vec<InteractionClassHandle> {
        fom::interaction_lineage(&self.model, class)
    }

    /// Records an observation.
    pub fn learn(&mut self, seen: &Seen) {
        match &seen.observation {
            Observation::Made { session, call, request } => {
                self.made(seen.at, *session, call.get(), request);
            }
            Observation::Got { session, call, answer, .. } => self.got(seen.at, *session, call.get(), answer),
            Observation::Received { session, callback, .. } => self.received(seen.at, *session, callback),
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.over(seen.at, *session);
            }
            _ => {}
        }
    }

    fn made(&mut self, at: Moment, session: SessionId, call: u32, request: &Call) {
        let Some(life) = self.lives.get_mut(&session) else { return };
        life.asked.insert(call, (at, request.clone()));
        if let Some(member) = &mut life.joined {
            member.asked(request);
            if let Call::DeleteObjectInstanceRequest(r) = request {
                let key = (member.federation.clone(), r.object_instance.unwrap_or_default());
                if let Some(instance) =
                    self.instances.get_mut(&key).filter(|i| i.fate == Fate::Exists && i.owner == session)
                {
                    instance.fate = Fate::Open;
                }
            }
            if let Some(Declaration::Unpublish(class, gone)) = Declaration::of(request) {
                self.disown(session, class, gone);
            }
        }
        if let Some((stamp, message)) = message(request) {
            self.sent.insert(stamp, Sent { by: session, at, message });
        }
    }

    /// A federate that stops publishing an attribute no longer owns it.
    fn disown(&mut self, session: SessionId, class: ObjectClassHandle, gone: Option<&[AttributeHandle]>) {
        for instance in self.instances.values_mut().filter(|i| i.owner == session && i.class == class) {
            instance.owned.retain(|attribute| gone.is_some_and(|gone| !gone.contains(attribute)));
            instance.privileged &= !gone.is_some_and(|gone| gone.contains(&self.privilege));
        }
    }

    fn got(&mut self, at: Moment, session: SessionId, call: u32, answer: &Answer) {
        let Some(life) = self.lives.get_mut(&session) else { return };
        let Some((asked, request)) = life.asked.remove(&call) else { return };
        if let Some(handle) = joined_handle(answer) {
            let mut joined = Joining::of(&request).map(|joining| {
                let federation = self.execution(session, joining.federation);
                let name = joining.name.map(str::to_owned);
                Membership::new(federation, handle, name, self.directive, self.privilege)
            });
            self.lives.entry(session).and_modify(|life| {
                // Calls that the federate has made since, without waiting for this answer, already
                // count; a resignation may be among them.
                if let Some(member) = &mut joined {
                    life.asked.range(call..).for_each(|(_, (_, later))| member.asked(later));
                }
                life.joined = joined;
            });
            return;
        }
        let refused = matches!(answer, Answer::ExceptionData(_));
        if let (Call::DestroyFederationExecutionRequest(r), false) = (&request, refused) {
            self.destroyed.insert(self.execution(session, &r.federation_name));
        }
        let Some(life) = self.lives.get_mut(&session) else { return };
        let Some(member) = &mut life.joined else { return };
        match (&request, refused) {
            (Call::ResignFederationExecutionRequest(_), true) => {
                // Another resignation may have been requested since, before this answer came.
                let resigns =
                    |(_, call): &(Moment, Call)| matches!(call, Call::ResignFederationExecutionRequest(_));
                member.leaving = life.asked.values().any(resigns);
                // Nobody learns whether an internal error came before the objects were dealt with
                // or after it.
                if is_internal(answer) {
                    let federation = member.federation.clone();
                    self.leave_open(session, &federation);
                }
            }
            (Call::SetAutomaticResignDirectiveRequest(_), true) => {
                member.certain &= !is_internal(answer);
            }
            (Call::ResignFederationExecutionRequest(r), false) => {
                let federation = member.federation.clone();
                life.joined = None;
                self.orphan(session, &federation, r.resign_action, Fate::Deleted);
            }
            (Call::DeleteObjectInstanceRequest(r), _) => {
                let key = (member.federation.clone(), r.object_instance.unwrap_or_default());
                if let Some(instance) =
                    self.instances.get_mut(&key).filter(|i| i.fate == Fate::Open && i.owner == session)
                {
                    instance.fate = if refused { Fate::Exists } else { Fate::Deleted };
                }
            }
            (_, true) => {}
            (_, false) => {
                member.answered(at, &request);
                // Calls may follow each other without waiting for answers. An attribute that a
                // later call removes stays removed.
                life.asked.range(call..).for_each(|(_, (_, later))| member.asked(later));
                if let Some((class, handle)) = registered(&request, answer) {
                    let owned =
                        member.published.keys().filter(|(of, _)| *of == class).map(|&(_, a)| a).collect();
                    let privileged = !member.unprivileged.contains(&class);
                    // Its handle may have been that of an instance of another federation, whose
                    // deletion was requested before this answer came.
                    let deletes = |(_, later): &(Moment, Call)| matches!(later, Call::DeleteObjectInstanceRequest(r) if r.object_instance == Some(handle));
                    let is_deleted = life.asked.range(call..).any(|(_, later)| deletes(later));
                    let instance = Instance {
                        class,
                        owner: session,
                        asked,
                        since: at,
                        owned,
                        privileged,
                        fate: if is_deleted { Fate::Open } else { Fate::Exists },
                    };
                    self.instances.insert((member.federation.clone(), handle), instance);
                }
            }
        }
    }

    fn received(&mut self, at: Moment, session: SessionId, callback: &Callback) {
        let Some(member) = self.lives.get_mut(&session).and_then(|life| life.joined.as_mut()) else { return };
        match callback {
            Callback::DiscoverObjectInstance(c) => {
                let class = c.object_class.unwrap_or_default();
                member.known.insert(c.object_instance.unwrap_or_default(), (class, at));
            }
            Callback::RemoveObjectInstance(c) => {
                member.known.remove(&c.object_instance.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn over(&mut self, at: Moment, session: SessionId) {
        let Some(life) = self.lives.get_mut(&session) else { return };
        life.over = Some(at);
        let asked = std::mem::take(&mut life.asked);
        let sets = |call: &Call| matches!(call, Call::SetAutomaticResignDirectiveRequest(_));
        let certain = !asked.values().any(|(_, call)| sets(call));
        let joined = life.joined.take();
        for (_, call) in asked.values() {
            if let Call::DestroyFederationExecutionRequest(r) = call {
                self.destroyed.insert(self.execution(session, &r.federation_name));
            }
        }
        if let Some(member) = joined {
            let certain = certain && member.certain;
            let fate = if certain && !member.leaving { Fate::Lost } else { Fate::Open };
            self.orphan(session, &member.federation, member.directive, fate);
        }
    }

    /// Marks the existence of a federate's instances and its ownership of their attributes as open.
    fn leave_open(&mut self, session: SessionId, federation: &str) {
        let own = self.instances.iter_mut().filter(|((of, _), i)| of == federation && i.owner == session);
        for (_, instance) in own.filter(|(_, instance)| instance.fate != Fate::Deleted) {
            // A deletion that is still under way may be refused. The instance then exists as far as
            // that call is concerned, but its attributes stay in doubt.
            if instance.fate == Fate::Exists {
                instance.fate = Fate::Open;
            }
            instance.owned.clear();
        }
    }

    /// Sets the fate of the instances of a federate that resigned or was lost: `fate` if the action
    /// deletes.
    fn orphan(&mut self, session: SessionId, federation: &str, action: i32, fate: Fate) {
        let deletes = matches!(
            ResignAction::try_from(action),
            Ok(ResignAction::DeleteObjects
                | ResignAction::DeleteObjectsThenDivest
                | ResignAction::CancelThenDeleteThenDivest)
        );
        let own = self.instances.iter_mut().filter(|((of, _), i)| of == federation && i.owner == session);
        for (_, instance) in own.filter(|(_, instance)| instance.fate != Fate::Deleted) {
            // A federate that still owns an attribute also has the privilege to delete, unless it
            // gave that up by name.
            let owns = instance.privileged && !instance.owned.is_empty();
            let sure = deletes && instance.fate == Fate::Exists && owns;
            instance.fate = if sure { fate } else { Fate::Open };
            instance.owned.clear();
        }
    }
}

impl Membership {
    fn new(
        federation: String,
        handle: FederateHandle,
        name: Option<String>,
        directive: i32,
        privilege: AttributeHandle,
    ) -> Self {
        Self {
            privilege,
            unprivileged: BTreeSet::new(),
            federation,
            handle,
            name,
            directive,
            certain: true,
            leaving: false,
            subscribed: BTreeMap::new(),
            subscribed_interactions: BTreeMap::new(),
            regional: BTreeSet::new(),
            regional_interactions: BTreeSet::new(),
            published: BTreeMap::new(),
            published_interactions: BTreeMap::new(),
            known: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            odd: BTreeSet::new(),
            odd_interactions: BTreeSet::new(),
        }
    }

    /// Records that a call was made: it takes things away from now on.
    fn asked(&mut self, request: &Call) {
        match Declaration::of(request) {
            Some(Declaration::Unsubscribe(class, gone)) => {
                self.subscribed.retain(|(of, attribute), _| {
                    *of != class || gone.is_some_and(|gone| !gone.contains(attribute))
                });
            }
            Some(Declaration::Unpublish(class, gone)) => {
                if gone.is_some_and(|gone| gone.contains(&self.privilege)) {
                    self.unprivileged.insert(class);
                }
                self.published.retain(|(of, attribute), _| {
                    *of != class || gone.is_some_and(|gone| !gone.contains(attribute))
                });
            }
            Some(Declaration::UnsubscribeInteraction(class)) => {
                self.subscribed_interactions.remove(&class);
            }
            Some(Declaration::UnpublishInteraction(class)) => {
                self.published_interactions.remove(&class);
            }
            _ => {}
        }
        match Regional::of(request) {
            Some(Regional::Subscribe(class, ..)) => drop(self.regional.insert(class)),
            Some(Regional::SubscribeInteraction(class, ..)) => {
                self.regional_interactions.insert(class);
            }
            _ => {}
        }
        match request {
            Call::ResignFederationExecutionRequest(_) => self.leaving = true,
            Call::LocalDeleteObjectInstanceRequest(r) => {
                self.doubtful.insert(r.object_instance.unwrap_or_default());
            }
            Call::ChangeDefaultAttributeTransportationTypeRequest(r) => {
                self.odd.extend(attributes(&r.attributes));
            }
            Call::RequestAttributeTransportationTypeChangeRequest(r) => {
                self.odd.extend(attributes(&r.attributes));
            }
            Call::RequestInteractionTransportationTypeChangeRequest(r) => {
                self.odd_interactions.extend(r.interaction_class);
            }
            _ => {}
        }
    }

    /// Records that a call was answered: it adds things from now on.
    fn answered(&mut self, at: Moment, request: &Call) {
        match Declaration::of(request) {
            Some(Declaration::Subscribe(class, attributes, _)) => {
                for &attribute in attributes {
                    self.subscribed.entry((class, attribute)).or_insert(at);
                }
            }
            Some(Declaration::Publish(class, attributes)) => {
                for &attribute in attributes.iter().filter(|other| **other != self.privilege) {
                    self.published.entry((class, attribute)).or_insert(at);
                }
            }
            Some(Declaration::SubscribeInteraction(class, _)) => {
                self.subscribed_interactions.entry(class).or_insert(at);
            }
            Some(Declaration::PublishInteraction(class)) => {
                self.published_interactions.entry(class).or_insert(at);
            }
            _ => {}
        }
        if let Call::SetAutomaticResignDirectiveRequest(r) = request {
            self.directive = r.value;
        }
    }
}

/// Whether a call ended in an internal error. It may have had an effect nevertheless.
fn is_internal(answer: &Answer) -> bool {
    matches!(answer, Answer::ExceptionData(exception) if exception.exception_name == "RTIinternalError")
}

/// The name of a federation [execution](Ledger::execution) without its network.
pub(crate) fn federation_of(execution: &str) -> &str {
    execution.split(NETWORK_MARK).next().unwrap_or_default()
}
