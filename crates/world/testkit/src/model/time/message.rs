//! Messages: interactions, updates and deletions; their order types, and retraction.

use super::{Answer, Bound, Callback, Flaw, TimeModel, refuse};
use hla::Exception;
use hla::api::OrderType;
use hla::handle::FederateHandle;
use hla::time::LogicalTime;
use std::collections::BTreeSet;

/// The service by which a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// Send Interaction (6.12).
    Interaction,
    /// Update Attribute Values (6.10) of an instance.
    Update(usize),
    /// Delete Object Instance (6.16).
    Delete(usize),
}

/// A message.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// Its sender.
    pub sender: FederateHandle,
    /// How it was sent.
    pub sending: Sending,
    /// The time that its sender gave.
    pub time: Option<LogicalTime>,
    /// The order in which it was sent.
    pub sent: OrderType,
    /// It was retracted, or its sender can no longer retract it.
    pub(super) settled: bool,
    /// Federates that got it while it could still be retracted.
    pub(super) early: BTreeSet<FederateHandle>,
}

/// An object instance with one attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    /// The owner of all its attributes.
    pub owner: Option<FederateHandle>,
    /// The federates that know it.
    pub known: BTreeSet<FederateHandle>,
    /// The message that deletes it.
    pub deletion: Option<usize>,
    pub(super) attribute_order: OrderType,
    pub(super) delete_order: OrderType,
}

impl TimeModel {
    pub(super) fn register(&mut self, handle: FederateHandle) -> Answer {
        let order = OrderType::Timestamp;
        let number = self.instances.len();
        self.instances.push(Instance {
            owner: Some(handle),
            known: BTreeSet::from([handle]),
            deletion: None,
            attribute_order: order,
            delete_order: order,
        });
        let others: Vec<_> = self.federates.keys().copied().collect();
        others.into_iter().for_each(|other| self.discover(other));
        Answer::Registered(number)
    }

    /// A federate discovers what exists, has an owner, and is not known to it.
    pub(super) fn discover(&mut self, handle: FederateHandle) {
        for number in 0..self.instances.len() {
            let instance = &mut self.instances[number];
            let exists = instance.owner.is_some() && instance.deletion.is_none();
            if exists && instance.known.insert(handle) {
                self.tell(handle, Callback::Discovered(number));
            }
        }
    }

    /// The instance, if the caller knows and owns it.
    pub(super) fn owned(
        &mut self,
        handle: FederateHandle,
        instance: usize,
    ) -> Result<&mut Instance, Vec<Exception>> {
        let object = &mut self.instances[instance];
        if !object.known.contains(&handle) {
            return refuse(Exception::ObjectInstanceNotKnown);
        }
        match object.owner == Some(handle) && object.deletion.is_none() {
            true => Ok(object),
            false => refuse(Exception::AttributeNotOwned),
        }
    }

    pub(super) fn send(
        &mut self,
        handle: FederateHandle,
        sending: Sending,
        time: Option<LogicalTime>,
    ) -> Result<Answer, Vec<Exception>> {
        let bound = self.federates[&handle].send_bound();
        let preferred = match sending {
            Sending::Interaction => Ok(self.federates[&handle].interaction_order),
            Sending::Update(instance) => self.owned(handle, instance).map(|object| object.attribute_order),
            Sending::Delete(instance) => match self.owned(handle, instance) {
                Ok(object) => Ok(object.delete_order),
                Err(faults) if faults == [Exception::AttributeNotOwned] => {
                    refuse(Exception::DeletePrivilegeNotHeld)
                }
                Err(faults) => Err(faults),
            },
        };
        let in_the_past = bound.zip(time).is_some_and(|(bound, time)| !bound.admits(time));
        let late = in_the_past.then_some(Exception::InvalidLogicalTime);
        let preferred = match preferred {
            Ok(preferred) if late.is_none() => preferred,
            Ok(_) => return refuse(Exception::InvalidLogicalTime),
            Err(faults) => return Err(faults.into_iter().chain(late).collect()),
        };
        let sent = match bound.is_some() && time.is_some() {
            true => preferred,
            false => OrderType::Receive,
        };
        let number = self.messages.len();
        // Only what comes strictly after the least time stamp that may be sent can be retracted.
        let settled = match (bound, time) {
            (Some(bound), Some(time)) => sent == OrderType::Receive || Some(time) <= bound.time(),
            _ => true,
        };
        self.messages.push(Message { sender: handle, sending, time, sent, settled, early: BTreeSet::new() });
        self.distribute(handle, number);
        Ok(Answer::Sent((sent == OrderType::Timestamp).then_some(number)))
    }

    /// Passes a new message to its receivers.
    fn distribute(&mut self, sender: FederateHandle, number: usize) {
        let receivers: Vec<_> = match self.messages[number].sending {
            Sending::Interaction => self.federates.keys().copied().collect(),
            Sending::Update(instance) => self.instances[instance].known.iter().copied().collect(),
            Sending::Delete(instance) => {
                self.instances[instance].deletion = Some(number);
                self.instances[instance].known.remove(&sender);
                self.instances[instance].known.iter().copied().collect()
            }
        };
        for receiver in receivers.into_iter().filter(|&receiver| receiver != sender) {
            let in_time = self.messages[number].sent == OrderType::Timestamp;
            if in_time && self.federates[&receiver].constrained {
                self.me(receiver).queue.push(number);
            } else {
                self.deliver(receiver, number, OrderType::Receive);
            }
        }
    }

    /// Delivers a message. One in receive order may have to wait. One of an instance that the
    /// receiver does not know is dropped.
    pub(super) fn deliver(&mut self, to: FederateHandle, number: usize, received: OrderType) {
        match self.messages[number].sending {
            Sending::Interaction => {}
            Sending::Update(instance) => {
                if !self.instances[instance].known.contains(&to) {
                    return;
                }
            }
            Sending::Delete(instance) => {
                if !self.instances[instance].known.remove(&to) {
                    return;
                }
            }
        }
        if !self.messages[number].settled {
            self.messages[number].early.insert(to);
        }
        let callback = Callback::Message(number, received);
        let at_once = self.has(Flaw::ReceiveOrderAtOnce);
        let me = self.me(to);
        let idle = me.constrained && me.advancing.is_none() && !me.asynchronous;
        match received == OrderType::Receive && idle && !at_once {
            true => me.withheld.push(callback),
            false => self.tell(to, callback),
        }
    }

    pub(super) fn release_withheld(&mut self, handle: FederateHandle) {
        for callback in std::mem::take(&mut self.me(handle).withheld) {
            self.tell(handle, callback);
        }
    }

    /// The sender can no longer retract these messages.
    pub(super) fn finish_messages(&mut self, which: impl Fn(&Message) -> bool) {
        for message in self.messages.iter_mut().filter(|message| which(message)) {
            message.settled = true;
            message.early.clear();
        }
    }

    pub(super) fn retract(
        &mut self,
        handle: FederateHandle,
        number: usize,
    ) -> Result<Answer, Vec<Exception>> {
        let Some(bound) = self.federates[&handle].send_bound() else {
            return refuse(Exception::TimeRegulationIsNotEnabled);
        };
        let Some(message) = self.messages.get_mut(number).filter(|message| message.sender == handle) else {
            return refuse(Exception::InvalidMessageRetractionHandle);
        };
        if message.settled || message.time <= bound.time() || bound == Bound::INFINITE {
            return refuse(Exception::MessageCanNoLongerBeRetracted);
        }
        message.settled = true;
        let (early, sending) = (std::mem::take(&mut message.early), message.sending);
        for federate in self.federates.values_mut() {
            federate.queue.retain(|&queued| queued != number);
        }
        let early: Vec<_> = early.into_iter().filter(|to| self.federates.contains_key(to)).collect();
        if !self.has(Flaw::RetractionForgetsEarly) {
            early.iter().for_each(|&to| self.tell(to, Callback::RequestRetraction(number)));
        }
        if let Sending::Delete(instance) = sending {
            self.instances[instance].deletion = None;
            self.instances[instance].known.extend(early.into_iter().chain([handle]));
            let everybody: Vec<_> = self.federates.keys().copied().collect();
            everybody.into_iter().for_each(|other| self.discover(other));
        }
        Ok(Answer::Done)
    }

    /// Deletes the instances of a federate that leaves, or leaves them without an owner.
    pub(super) fn dispose(&mut self, handle: FederateHandle, delete: bool) {
        for instance in 0..self.instances.len() {
            if self.instances[instance].owner == Some(handle) && self.instances[instance].deletion.is_none() {
                if delete {
                    let (sending, number) = (Sending::Delete(instance), self.messages.len());
                    let (sent, early) = (OrderType::Receive, BTreeSet::new());
                    self.messages.push(Message {
                        sender: handle,
                        sending,
                        time: None,
                        sent,
                        settled: true,
                        early,
                    });
                    self.distribute(handle, number);
                } else {
                    self.instances[instance].owner = None;
                }
            }
            self.instances[instance].known.remove(&handle);
        }
    }
}
