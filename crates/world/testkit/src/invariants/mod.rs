//! Properties that must always hold, one in each file, with the clause of the standard.
//!
//! Properties use only [observations](crate::observation) and the [facts](crate::ledger) that
//! follow from them, never the internals of the RTI. All of them hold for one node and for many.

mod answers;
mod as_the_model;
mod called_back_once;
mod exactly_once;
mod final_state;
mod handles;
mod known_class;
mod known_instances;
mod lost_federates;
mod members;
mod names;
mod no_echo;
mod order;
mod repeated_alike;
mod response_first;
mod subscribed_only;
mod synchronization;

pub use as_the_model::AsTheModel;

use crate::ledger::Ledger;
use crate::observation::Seen;
use crate::options::Options;
use base::Moment;
use std::fmt;

/// A property of every run.
pub trait Invariant {
    /// Its name, which is that of its file.
    fn name(&self) -> &'static str;

    /// Checks an observation, which the ledger has already recorded.
    ///
    /// # Errors
    /// The property does not hold, for this reason.
    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String>;

    /// The final check, after the run is over and everything has had its time.
    ///
    /// # Errors
    /// The property does not hold, for this reason.
    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        let _ = ledger;
        Ok(())
    }

    /// Number of checks that succeeded, so that a test can see that the property checks anything at
    /// all.
    fn checked(&self) -> u64;
}

/// A property that did not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Name of the property.
    pub invariant: &'static str,
    /// When the violation was noticed.
    pub at: Moment,
    /// The observation and the expectation.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} does not hold: {}", self.at, self.invariant, self.text)
    }
}

/// Every property except the comparison with the model.
pub fn all(options: &Options) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(answers::Answers::new(options.patience())),
        Box::new(called_back_once::CalledBackOnce::new(options.is_tapped)),
        Box::new(exactly_once::ExactlyOnce::default()),
        Box::new(final_state::FinalState::default()),
        Box::new(handles::Handles::default()),
        Box::new(known_class::KnownClass::default()),
        Box::new(known_instances::KnownInstances::default()),
        Box::new(members::Members::default()),
        Box::new(names::Names::default()),
        Box::new(no_echo::NoEcho::default()),
        Box::new(order::DeliveryOrder::new(options.is_networked())),
        Box::new(repeated_alike::RepeatedAlike::default()),
        Box::new(response_first::ResponseFirst::default()),
        Box::new(subscribed_only::SubscribedOnly::default()),
        Box::new(synchronization::Synchronization::default()),
    ]
}
