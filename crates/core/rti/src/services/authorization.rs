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

/// Whether the policy decides about such calls.
pub(crate) const fn is_needed(call: &Call) -> bool {
    use Call::*;
    matches!(
        call,
        CreateFederationExecutionRequest(_)
            | CreateFederationExecutionWithTimeRequest(_)
            | CreateFederationExecutionWithModulesRequest(_)
            | CreateFederationExecutionWithModulesAndTimeRequest(_)
            | CreateFederationExecutionWithMimRequest(_)
            | CreateFederationExecutionWithMimAndTimeRequest(_)
            | DestroyFederationExecutionRequest(_)
            | JoinFederationExecutionRequest(_)
            | JoinFederationExecutionWithModulesRequest(_)
            | JoinFederationExecutionWithNameRequest(_)
            | JoinFederationExecutionWithNameAndModulesRequest(_)
            | PublishObjectClassAttributesRequest(_)
            | PublishInteractionClassRequest(_)
            | PublishObjectClassDirectedInteractionsRequest(_)
            | SubscribeObjectClassAttributesRequest(_)
            | SubscribeObjectClassAttributesWithRateRequest(_)
            | SubscribeObjectClassAttributesPassivelyRequest(_)
            | SubscribeObjectClassAttributesPassivelyWithRateRequest(_)
            | SubscribeObjectClassAttributesWithRegionsRequest(_)
            | SubscribeObjectClassAttributesWithRegionsAndRateRequest(_)
            | SubscribeInteractionClassRequest(_)
            | SubscribeInteractionClassPassivelyRequest(_)
            | SubscribeInteractionClassWithRegionsRequest(_)
            | SubscribeObjectClassDirectedInteractionsRequest(_)
            | SubscribeObjectClassDirectedInteractionsUniversallyRequest(_)
            | EnableTimeRegulationRequest(_)
    )
}

/// The joined federate of a call.
pub(crate) struct Member<'a> {
    pub(crate) federation: &'a Federation,
    pub(crate) model: &'a Fdd,
}

/// Asks about every operation of `call`. `member`: its caller's membership, if it is joined.
///
/// # Errors
/// The first refusal of `ask`.
pub(crate) fn ask_about(
    call: &Call,
    member: Option<&Member<'_>>,
    ask: &mut dyn FnMut(&Operation<'_>) -> Result<(), RtiError>,
) -> Result<(), RtiError> {
    match member {
        Some(member) => member.ask_about(call, ask),
        None => ask_about_executions(call, ask),
    }
}

fn ask_about_executions(
    call: &Call,
    ask: &mut dyn FnMut(&Operation<'_>) -> Result<(), RtiError>,
) -> Result<(), RtiError> {
    use Call::*;
    let operation = match call {
        CreateFederationExecutionRequest(r) => Operation::Create { federation: &r.federation_name },
        CreateFederationExecutionWithTimeRequest(r) => Operation::Create { federation: &r.federation_name },
        CreateFederationExecutionWithModulesRequest(r) => {
            Operation::Create { federation: &r.federation_name }
        }
        CreateFederationExecutionWithModulesAndTimeRequest(r) => {
            Operation::Create { federation: &r.federation_name }
        }
        CreateFederationExecutionWithMimRequest(r) => Operation::Create { federation: &r.federation_name },
        CreateFederationExecutionWithMimAndTimeRequest(r) => {
            Operation::Create { federation: &r.federation_name }
        }
        DestroyFederationExecutionRequest(r) => Operation::Destroy { federation: &r.federation_name },
        JoinFederationExecutionRequest(r) => join(&r.federation_name, "", &r.federate_type),
        JoinFederationExecutionWithModulesRequest(r) => join(&r.federation_name, "", &r.federate_type),
        JoinFederationExecutionWithNameRequest(r) => {
            join(&r.federation_name, &r.federate_name, &r.federate_type)
        }
        JoinFederationExecutionWithNameAndModulesRequest(r) => {
            join(&r.federation_name, &r.federate_name, &r.federate_type)
        }
        _ => return Ok(()),
    };
    ask(&operation)
}

fn join<'a>(federation: &'a str, name: &'a str, federate_type: &'a str) -> Operation<'a> {
    Operation::Join { federation, name, federate_type }
}

impl Member<'_> {
    fn ask_about(
        &self,
        call: &Call,
        ask: &mut dyn FnMut(&Operation<'_>) -> Result<(), RtiError>,
    ) -> Result<(), RtiError> {
        use Call::*;
        let federation = &*self.federation.name;
        let mut within = |topic| ask(&Operation::Within { federation, topic });
        let (publish, subscribe) = (Topic::Publish, Topic::Subscribe);
        let topic = match call {
            PublishObjectClassAttributesRequest(r) => self.objects(r.object_class).map(publish),
            PublishInteractionClassRequest(r) => self.interaction(r.interaction_class).map(publish),
            SubscribeObjectClassAttributesRequest(r) => self.objects(r.object_class).map(subscribe),
            SubscribeObjectClassAttributesWithRateRequest(r) => self.objects(r.object_class).map(subscribe),
            SubscribeObjectClassAttributesPassivelyRequest(r) => self.objects(r.object_class).map(subscribe),
            SubscribeObjectClassAttributesPassivelyWithRateRequest(r) => {
                self.objects(r.object_class).map(subscribe)
            }
            SubscribeObjectClassAttributesWithRegionsRequest(r) => {
                self.objects(r.object_class).map(subscribe)
            }
            SubscribeObjectClassAttributesWithRegionsAndRateRequest(r) => {
                self.objects(r.object_class).map(subscribe)
            }
            SubscribeInteractionClassRequest(r) => self.interaction(r.interaction_class).map(subscribe),
            SubscribeInteractionClassPassivelyRequest(r) => {
                self.interaction(r.interaction_class).map(subscribe)
            }
            SubscribeInteractionClassWithRegionsRequest(r) => {
                self.interaction(r.interaction_class).map(subscribe)
            }
            PublishObjectClassDirectedInteractionsRequest(r) => {
                return self.all(r.interaction_classes.as_ref(), publish, &mut within);
            }
            SubscribeObjectClassDirectedInteractionsRequest(r) => {
                return self.all(r.interaction_classes.as_ref(), subscribe, &mut within);
            }
            SubscribeObjectClassDirectedInteractionsUniversallyRequest(r) => {
                return self.all(r.interaction_classes.as_ref(), subscribe, &mut within);
            }
            EnableTimeRegulationRequest(_) => Some(Topic::RegulateTime),
            _ => None,
        };
        topic.map_or(Ok(()), within)
    }

    /// Asks about each class of a set.
    fn all<'a>(
        &'a self,
        set: Option<&InteractionClassHandleSet>,
        topic: fn(&'a str) -> Topic<'a>,
        ask: &mut dyn FnMut(Topic<'a>) -> Result<(), RtiError>,
    ) -> Result<(), RtiError> {
        let handles = set.map(|set| set.interaction_class_handle.as_slice()).unwrap_or_default();
        let mut names = handles.iter().filter_map(|&handle| self.interaction(Some(handle)));
        names.try_for_each(|name| ask(topic(name)))
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
