//! A message reaches a federate at most once, and a promised one does reach it.
//!
//! A message is promised if it is reliable, its sender has its answer, the nodes of sender and
//! receiver stay members of the network, and
//!
//! - for an attribute of an update: the receiver had discovered the instance before the call was
//!   made, and from before the discovery until the arrival it subscribed the attribute at the known
//!   class of the instance, without regions; it never subscribed that class with regions, which may
//!   have caused the discovery before the other subscription had its effect;
//! - for an interaction: before the call was made the receiver had received another one of the
//!   class from the same node, which no subscription with regions can have brought; the sender
//!   published the class from before the sending of that one, and the receiver subscribed it
//!   without regions from before its arrival, both without a break;
//! - for either, in the calm at the end: subscription, publication and discovery are older than the
//!   calm.
//!
//! Nothing is promised to subscriptions with regions: `as_the_model` judges what they filter.
//!
//! (1516.1-2025, 6.11, 6.13; reliable transportation. This RTI itself defines what it promises over
//! many nodes.)

use super::Invariant;
use crate::ledger::{Ledger, Life, Membership, Run, Sent};
use crate::observation::{Observation, Seen, SessionId};
use crate::request::{Message, Stamp, is_of_rti, stamp};
use base::Moment;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::{AttributeHandle, InteractionClassHandle, ObjectInstanceHandle, TransportationTypeHandle};
use std::collections::{BTreeMap, BTreeSet};

/// An item that may arrive: an attribute of an update, or (`None`) an interaction.
type Item = Option<AttributeHandle>;

/// An interaction whose arrival shows that the receiver follows the stream.
#[derive(Clone, Copy)]
struct Heard {
    sent: Moment,
    came: Moment,
}

/// See the module.
#[derive(Default)]
pub(super) struct ExactlyOnce {
    came: BTreeSet<(SessionId, Stamp, Item)>,
    /// Promised items that have not come yet.
    promised: BTreeMap<SessionId, BTreeSet<(Stamp, Item)>>,
    heard: BTreeMap<(SessionId, Run, InteractionClassHandle), Heard>,
    kept: u64,
}

impl Invariant for ExactlyOnce {
    fn name(&self) -> &'static str {
        "exactly_once"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        match &seen.observation {
            Observation::Made { session, request, .. } => self.withdraw(*session, request, ledger),
            Observation::Got { request: Some(request), answer, .. }
                if !matches!(answer, Answer::ExceptionData(_)) =>
            {
                let tag = match request {
                    Call::UpdateAttributeValuesRequest(r) => Some(&r.user_supplied_tag),
                    Call::SendInteractionRequest(r) => Some(&r.user_supplied_tag),
                    Call::SendInteractionWithRegionsRequest(r) => Some(&r.user_supplied_tag),
                    _ => None,
                };
                if let Some(stamp) = tag.and_then(|tag| stamp(tag)) {
                    self.promise(stamp, ledger);
                }
            }
            Observation::Received { session, callback, .. } => {
                return self.received(seen.at, *session, callback, ledger);
            }
            Observation::Over { session, .. } | Observation::Killed { session: Some(session) } => {
                self.forget(*session);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        for (&receiver, missing) in &self.promised {
            for (stamp, item) in missing {
                let Some(sent) = ledger.sent.get(stamp) else { continue };
                if ledger.lived(receiver) && ledger.lived(sent.by) {
                    let runs =
                        [receiver, sent.by].map(|session| ledger.lives.get(&session).map(|life| life.run));
                    return Err(format!(
                        "{receiver} never got {item:?} of {stamp:?}: {sent:?}, runs {runs:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.kept
    }
}

impl ExactlyOnce {
    fn forget(&mut self, session: SessionId) {
        self.promised.remove(&session);
        self.heard.retain(|(of, _, _), _| *of != session);
    }

    /// Withdraws the promises that a call of the receiver ends.
    fn withdraw(&mut self, session: SessionId, request: &Call, ledger: &Ledger) {
        match request {
            Call::ResignFederationExecutionRequest(_) => self.forget(session),
            Call::UnsubscribeObjectClassRequest(_)
            | Call::UnsubscribeObjectClassAttributesRequest(_)
            | Call::LocalDeleteObjectInstanceRequest(_) => {
                let member = ledger.member(session);
                if let Some(promised) = self.promised.get_mut(&session) {
                    promised.retain(|(stamp, item)| match (ledger.sent.get(stamp), item, member) {
                        (
                            Some(Sent { message: Message::Update(instance, _), .. }),
                            Some(attribute),
                            Some(member),
                        ) => may_reflect(member, *instance, *attribute),
                        _ => true,
                    });
                }
            }
            Call::UnsubscribeInteractionClassRequest(_) => {
                self.heard.retain(|(of, _, _), _| *of != session);
                if let Some(promised) = self.promised.get_mut(&session) {
                    promised.retain(|(_, item)| item.is_some());
                }
            }
            _ => {}
        }
    }

    /// Records the promises of a message that was certainly sent.
    fn promise(&mut self, stamp: Stamp, ledger: &Ledger) {
        let Some(sent) = ledger.sent.get(&stamp) else { return };
        let Some((life, sender)) =
            ledger.lives.get(&sent.by).and_then(|life| Some((life, life.joined.as_ref()?)))
        else {
            return;
        };
        for (receiver, _, member) in ledger.joined() {
            if receiver == sent.by || member.federation != sender.federation || member.leaving {
                continue;
            }
            let items: Vec<Item> = match &sent.message {
                Message::Update(instance, attributes) => {
                    let reliable = |&&attribute: &&AttributeHandle| {
                        ledger.is_reliable(attribute) && !sender.odd.contains(&attribute)
                    };
                    let due = attributes.iter().filter(reliable);
                    let due = due.filter(|&&a| is_promised(ledger, member, *instance, a, sent.at));
                    due.map(|&attribute| Some(attribute)).collect()
                }
                Message::Interaction(class) => {
                    let due = self.is_interaction_promised(
                        ledger,
                        (life, sender),
                        (receiver, member),
                        *class,
                        sent.at,
                    );
                    due.then_some(None).into_iter().collect()
                }
                Message::Directed | Message::Delete | Message::Other => Vec::new(),
            };
            for item in items {
                if self.came.contains(&(receiver, stamp, item)) {
                    self.kept += 1;
                } else {
                    self.promised.entry(receiver).or_default().insert((stamp, item));
                }
            }
        }
    }

    fn is_interaction_promised(
        &self,
        ledger: &Ledger,
        (life, sender): (&Life, &Membership),
        (receiver, member): (SessionId, &Membership),
        class: InteractionClassHandle,
        at: Moment,
    ) -> bool {
        if !ledger.is_reliable_interaction(class) || sender.odd_interactions.contains(&class) {
            return false;
        }
        let lineage = ledger.interaction_lineage(class);
        let subscribed = lineage.iter().find_map(|at| member.subscribed_interactions.get(at));
        let published = sender.published_interactions.get(&class);
        let (Some(&subscribed), Some(&published)) = (subscribed, published) else { return false };
        let heard = self.heard.get(&(receiver, life.run, class));
        let follows =
            heard.is_some_and(|heard| heard.came < at && subscribed < heard.came && published < heard.sent);
        let calm = ledger.calm.is_some_and(|calm| subscribed < calm && published < calm && at >= calm);
        follows || calm
    }

    fn received(
        &mut self,
        at: Moment,
        session: SessionId,
        callback: &Callback,
        ledger: &Ledger,
    ) -> Result<(), String> {
        match callback {
            Callback::ReflectAttributeValues(c) => {
                let Some(stamp) = stamp(&c.user_supplied_tag) else { return Ok(()) };
                let sent = ledger.sent.get(&stamp);
                let Some(Sent { message: Message::Update(instance, attributes), .. }) = sent else {
                    return Err(format!(
                        "{session} got a reflection of {stamp:?}, which is no update: {sent:?}"
                    ));
                };
                if c.object_instance != Some(*instance) {
                    return Err(format!(
                        "{session} got {stamp:?} for {:?}, sent for {instance:?}",
                        c.object_instance
                    ));
                }
                for pair in c.attribute_values.iter().flat_map(|map| &map.attribute_handle_value) {
                    let attribute = pair.attribute_handle.unwrap_or_default();
                    if !attributes.contains(&attribute) || !pair.value.starts_with(&c.user_supplied_tag) {
                        return Err(format!(
                            "{session} got a value of {attribute:?} that {stamp:?} did not send"
                        ));
                    }
                    self.take(session, stamp, Some(attribute))?;
                }
                Ok(())
            }
            _ if is_of_rti(callback) => Ok(()),
            Callback::ReceiveInteraction(c) => {
                let stamp = stamp(&c.user_supplied_tag);
                let Some((stamp, Sent { by, at: sent, message: Message::Interaction(class) })) =
                    stamp.and_then(|stamp| Some((stamp, ledger.sent.get(&stamp)?)))
                else {
                    return Err(format!("{session} got an interaction that nobody sent: {c:?}"));
                };
                let reliable = c.transportation_type == Some(TransportationTypeHandle::RELIABLE);
                let lineage = ledger.interaction_lineage(*class);
                let is_plain = ledger.member(session).is_some_and(|member| {
                    lineage.iter().all(|class| !member.regional_interactions.contains(class))
                });
                if let Some(life) = ledger.lives.get(by).filter(|_| reliable && is_plain) {
                    let heard = Heard { sent: *sent, came: at };
                    self.heard.entry((session, life.run, *class)).or_insert(heard);
                }
                self.take(session, stamp, None)
            }
            Callback::ReceiveDirectedInteraction(c) => {
                let sent = |stamp: &Stamp| ledger.sent.get(stamp).map(|sent| &sent.message);
                match stamp(&c.user_supplied_tag).filter(|at| matches!(sent(at), Some(Message::Directed))) {
                    Some(stamp) => self.take(session, stamp, None),
                    None => Err(format!("{session} got an interaction that nobody sent: {c:?}")),
                }
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, session: SessionId, stamp: Stamp, item: Item) -> Result<(), String> {
        if !self.came.insert((session, stamp, item)) {
            return Err(format!("{session} got {item:?} of {stamp:?} twice"));
        }
        let promised = self.promised.get_mut(&session);
        self.kept += u64::from(promised.is_some_and(|promised| promised.remove(&(stamp, item))));
        Ok(())
    }
}

fn may_reflect(member: &Membership, instance: ObjectInstanceHandle, attribute: AttributeHandle) -> bool {
    let Some(&(class, _)) = member.known.get(&instance) else { return true };
    !member.doubtful.contains(&instance) && member.subscribed.contains_key(&(class, attribute))
}

fn is_promised(
    ledger: &Ledger,
    member: &Membership,
    instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
    at: Moment,
) -> bool {
    let Some(&(class, known)) = member.known.get(&instance) else { return false };
    let Some(&subscribed) = member.subscribed.get(&(class, attribute)) else { return false };
    let calm = ledger.calm.is_some_and(|calm| subscribed < calm && known < calm && at >= calm);
    let follows = known < at && subscribed < known && !member.regional.contains(&class);
    !member.doubtful.contains(&instance) && (follows || calm)
}
