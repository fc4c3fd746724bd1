//! Authorization (4.2 to 4.11): the calls that the access policy decides about.
//!
//! A call is authorized when its federate declares what it wants, so updates and interactions cost
//! nothing. A call that would be refused anyway, for its caller's standing or an unknown class, is
//! left to its service: the standard's exceptions for these come first.

use crate::caller::Standing;
use crate::control::Federation;
use crate::object::objects::Objects;
use access::{Account, Decision, Operation, Topic};
use hla::api::call_request::CallRequest as Call;
use hla::api::{InteractionClassHandleSet, Service};
use hla::fom::Fdd;
use hla::handle::{FederateHandle, InteractionClassHandle, ObjectClassHandle};
use hla::{Exception, RtiError};

/// The part of a call that the policy decides about.
pub(crate) enum Subject<'a> {
    /// A federation execution.
    Execution(Operation<'a>),
    /// The publication of classes.
    Publish(Classes<'a>),
    /// The subscription of classes.
    Subscribe(Classes<'a>),
    /// Time regulation.
    RegulateTime,
}

/// The classes of a declaration.
pub(crate) enum Classes<'a> {
    Objects(Option<ObjectClassHandle>),
    Interaction(Option<InteractionClassHandle>),
    Directed(Option<&'a InteractionClassHandleSet>),
}

impl<'a> Subject<'a> {
    /// `None`: the policy does not decide about such calls.
    pub(crate) fn of(call: &'a Call) -> Option<Self> {
        use Call::*;
        use Classes::{Directed, Interaction, Objects};
        use Subject::{Publish, Subscribe};
        let create = |federation| Subject::Execution(Operation::Create { federation });
        let destroy = |federation| Subject::Execution(Operation::Destroy { federation });
        let join = |federation, name, kind| Subject::Execution(join(federation, name, kind));
        Some(match call {
            CreateFederationExecutionRequest(r) => create(&r.federation_name),
            CreateFederationExecutionWithTimeRequest(r) => create(&r.federation_name),
            CreateFederationExecutionWithModulesRequest(r) => create(&r.federation_name),
            CreateFederationExecutionWithModulesAndTimeRequest(r) => create(&r.federation_name),
            CreateFederationExecutionWithMimRequest(r) => create(&r.federation_name),
            CreateFederationExecutionWithMimAndTimeRequest(r) => create(&r.federation_name),
            DestroyFederationExecutionRequest(r) => destroy(&r.federation_name),
            JoinFederationExecutionRequest(r) => join(&r.federation_name, "", &r.federate_type),
            JoinFederationExecutionWithModulesRequest(r) => join(&r.federation_name, "", &r.federate_type),
            JoinFederationExecutionWithNameRequest(r) => {
                join(&r.federation_name, &r.federate_name, &r.federate_type)
            }
            JoinFederationExecutionWithNameAndModulesRequest(r) => {
                join(&r.federation_name, &r.federate_name, &r.federate_type)
            }
            PublishObjectClassAttributesRequest(r) => Publish(Objects(r.object_class)),
            PublishInteractionClassRequest(r) => Publish(Interaction(r.interaction_class)),
            PublishObjectClassDirectedInteractionsRequest(r) => {
                Publish(Directed(r.interaction_classes.as_ref()))
            }
            SubscribeObjectClassAttributesRequest(r) => Subscribe(Objects(r.object_class)),
            SubscribeObjectClassAttributesWithRateRequest(r) => Subscribe(Objects(r.object_class)),
            SubscribeObjectClassAttributesPassivelyRequest(r) => Subscribe(Objects(r.object_class)),
            SubscribeObjectClassAttributesPassivelyWithRateRequest(r) => Subscribe(Objects(r.object_class)),
            SubscribeObjectClassAttributesWithRegionsRequest(r) => Subscribe(Objects(r.object_class)),
            SubscribeObjectClassAttributesWithRegionsAndRateRequest(r) => Subscribe(Objects(r.object_class)),
            SubscribeInteractionClassRequest(r) => Subscribe(Interaction(r.interaction_class)),
            SubscribeInteractionClassPassivelyRequest(r) => Subscribe(Interaction(r.interaction_class)),
            SubscribeInteractionClassWithRegionsRequest(r) => Subscribe(Interaction(r.interaction_class)),
            SubscribeObjectClassDirectedInteractionsRequest(r) => {
                Subscribe(Directed(r.interaction_classes.as_ref()))
            }
            SubscribeObjectClassDirectedInteractionsUniversallyRequest(r) => {
                Subscribe(Directed(r.interaction_classes.as_ref()))
            }
            EnableTimeRegulationRequest(_) => Subject::RegulateTime,
            _ => return None,
        })
    }

    /// Asks about every operation in it. `member`: the membership of the caller, if it is joined.
    ///
    /// # Errors
    /// The first refusal of `ask`.
    pub(crate) fn ask_about(
        &self,
        member: Option<&Member<'_>>,
        ask: &mut dyn FnMut(&Operation<'_>) -> Result<(), RtiError>,
    ) -> Result<(), RtiError> {
        match (self, member) {
            (Subject::Execution(operation), _) => ask(operation),
            (Subject::Publish(classes), Some(member)) => member.ask_about(classes, Topic::Publish, ask),
            (Subject::Subscribe(classes), Some(member)) => member.ask_about(classes, Topic::Subscribe, ask),
            (Subject::RegulateTime, Some(member)) => {
                ask(&Operation::Within { federation: &member.federation.name, topic: Topic::RegulateTime })
            }
            (_, None) => Ok(()), // the service refuses it
        }
    }
}

fn join<'a>(federation: &'a str, name: &'a str, federate_type: &'a str) -> Operation<'a> {
    Operation::Join { federation, name, federate_type }
}

/// The joined federate of a call.
pub(crate) struct Member<'a> {
    pub(crate) federation: &'a Federation,
    pub(crate) model: &'a Fdd,
}

impl Member<'_> {
    /// Asks about the declaration of classes that the model has.
    fn ask_about<'a>(
        &'a self,
        classes: &Classes<'_>,
        topic: fn(&'a str) -> Topic<'a>,
        ask: &mut dyn FnMut(&Operation<'_>) -> Result<(), RtiError>,
    ) -> Result<(), RtiError> {
        let federation = &*self.federation.name;
        let mut within = |name| ask(&Operation::Within { federation, topic: topic(name) });
        match *classes {
            Classes::Objects(class) => self.objects(class).map_or(Ok(()), within),
            Classes::Interaction(class) => self.interaction(class).map_or(Ok(()), within),
            Classes::Directed(set) => {
                let handles = set.map(|set| set.interaction_class_handle.as_slice()).unwrap_or_default();
                let mut names = handles.iter().filter_map(|&handle| self.interaction(Some(handle)));
                names.try_for_each(&mut within)
            }
        }
    }

    fn objects(&self, handle: Option<ObjectClassHandle>) -> Option<&str> {
        Some(&self.model.object_class(handle?)?.name)
    }

    fn interaction(&self, handle: Option<InteractionClassHandle>) -> Option<&str> {
        Some(&self.model.interaction_class(handle?)?.name)
    }

    /// Asks about everything that a federate does: that it is joined, and its declarations.
    ///
    /// # Errors
    /// The first refusal of `ask`.
    pub(crate) fn ask_about_all(
        &self,
        objects: &Objects,
        federate: FederateHandle,
        regulates: bool,
        ask: &mut dyn FnMut(&Operation<'_>) -> Result<(), RtiError>,
    ) -> Result<(), RtiError> {
        let federation = &*self.federation.name;
        if let Some(member) = self.federation.member(federate) {
            ask(&join(federation, &member.name, &member.federate_type))?;
        }
        let declared = objects.federate(federate);
        let object_names = |handles: &mut dyn Iterator<Item = ObjectClassHandle>| {
            handles.filter_map(|handle| self.objects(Some(handle))).collect::<Vec<_>>()
        };
        let names = |handles: &mut dyn Iterator<Item = InteractionClassHandle>| {
            handles.filter_map(|handle| self.interaction(Some(handle))).collect::<Vec<_>>()
        };
        let published = [
            object_names(&mut declared.publications.keys().copied()),
            names(&mut declared.published_interactions.iter().copied()),
            names(&mut declared.published_directed.values().flatten().copied()),
        ];
        let subscribed = [
            object_names(&mut declared.subscriptions.keys().copied()),
            names(&mut declared.subscribed_interactions.keys().copied()),
            names(&mut declared.subscribed_directed.values().flat_map(|of| of.keys().copied())),
        ];
        let topics = published.iter().flatten().map(|name| Topic::Publish(name));
        let topics = topics.chain(subscribed.iter().flatten().map(|name| Topic::Subscribe(name)));
        let topics = topics.chain(regulates.then_some(Topic::RegulateTime));
        topics.into_iter().try_for_each(|topic| ask(&Operation::Within { federation, topic }))
    }
}

/// A decision of the policy, for the audit log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authorization {
    /// The operation, as a sentence.
    pub operation: String,
    /// Whether it was allowed.
    pub allowed: bool,
    /// The line of the policy that decided; `None` if there is none about it.
    pub line: Option<usize>,
}

impl Authorization {
    /// The record of a decision.
    pub fn of(operation: &Operation<'_>, decision: Decision<'_>) -> Self {
        let line = decision.rule.map(|rule| rule.line);
        Self { operation: operation.to_string(), allowed: decision.allowed, line }
    }
}

/// The exception of a refused call: Unauthorized if its service may raise that. The other services
/// know no better one than RTIinternalError.
///
/// # Errors
/// The account may not do it.
pub(crate) fn refuse(
    account: &Account,
    service: &Service,
    operation: &Operation<'_>,
) -> Result<(), RtiError> {
    let Some(text) = account.refusal(operation) else { return Ok(()) };
    Err(match service.raises(Exception::Unauthorized) {
        true => RtiError::new(Exception::Unauthorized, text),
        false => RtiError::internal(text),
    })
}

/// Whether a caller of this standing gets as far as to be authorized for `service`.
pub(crate) fn is_due(service: &Service, standing: Standing) -> bool {
    use hla::api::Needs;
    matches!(
        (service.needs, standing),
        (Needs::Connection, Standing::Connected) | (Needs::Membership, Standing::Joined(..))
    )
}
