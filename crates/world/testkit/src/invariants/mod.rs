//! What must always hold, one property to a file, with the clause it comes from.
//!
//! Properties look only at [what is seen](crate::observation) and never at the insides of the RTI.

mod answered_once;
mod as_the_model;
mod called_back_once;
mod interaction_once;
mod known_instances;
mod lost_federates;
mod no_echo;
mod repeated_alike;
mod response_first;
mod sender_order;
mod subscribed_only;
mod synchronization;

pub use as_the_model::AsTheModel;

use crate::observation::Seen;
use base::Moment;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::TransportationTypeHandle;
use std::fmt;

/// A property of every run.
pub trait Invariant {
    /// Its name, which is its file's.
    fn name(&self) -> &'static str;

    /// Looks at what was seen. What it returns is wrong.
    fn observe(&mut self, seen: &Seen) -> Result<(), String>;

    /// The run is over and everything has had its time.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A property that did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which.
    pub invariant: &'static str,
    /// When it was noticed.
    pub at: Moment,
    /// What was seen, and what should have been.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} does not hold: {}", self.at, self.invariant, self.text)
    }
}

/// Every property but the comparison with the model.
pub fn all() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(answered_once::AnsweredOnce::default()),
        Box::new(called_back_once::CalledBackOnce::default()),
        Box::new(interaction_once::InteractionOnce::default()),
        Box::new(known_instances::KnownInstances::default()),
        Box::new(no_echo::NoEcho::default()),
        Box::new(repeated_alike::RepeatedAlike),
        Box::new(response_first::ResponseFirst::default()),
        Box::new(sender_order::SenderOrder::default()),
        Box::new(subscribed_only::SubscribedOnly::default()),
        Box::new(synchronization::Synchronization::default()),
    ]
}

/// Those that look only at what federates see, and so hold over any number of nodes.
pub fn at_federates() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(interaction_once::InteractionOnce::default()),
        Box::new(known_instances::KnownInstances::default()),
        Box::new(no_echo::NoEcho::default()),
        Box::new(subscribed_only::SubscribedOnly::default()),
        Box::new(synchronization::Synchronization::default()),
    ]
}

/// Tag and transportation of a callback that brings what another federate has sent.
pub(crate) fn data(callback: &Callback) -> Option<(&[u8], Option<TransportationTypeHandle>)> {
    match callback {
        Callback::ReflectAttributeValues(c) => Some((&c.user_supplied_tag, c.transportation_type)),
        Callback::ReceiveInteraction(c) => Some((&c.user_supplied_tag, c.transportation_type)),
        Callback::ReceiveDirectedInteraction(c) => Some((&c.user_supplied_tag, c.transportation_type)),
        _ => None,
    }
}

/// The stamp that a tag starts with: the sender's host, and its counter.
pub fn stamp(tag: &[u8]) -> Option<(u32, u32)> {
    let (host, rest) = tag.split_first_chunk::<4>()?;
    let (count, _) = rest.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*host), u32::from_be_bytes(*count)))
}
