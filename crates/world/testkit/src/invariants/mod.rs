//! What must always hold, one property to a file, with the clause it comes from.
//!
//! Properties look only at [what is seen](crate::observation), and at what is [known for sure](crate::ledger)
//! from it; never at the insides of the RTI. All of them hold of one node and of many.

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
    /// Its name, which is its file's.
    fn name(&self) -> &'static str;

    /// Looks at what was seen, which the ledger has taken in already. What it returns is wrong.
    ///
    /// # Errors
    /// The property does not hold.
    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String>;

    /// The run is over and everything has had its time.
    ///
    /// # Errors
    /// The property does not hold.
    fn finish(&mut self, ledger: &Ledger) -> Result<(), String> {
        let _ = ledger;
        Ok(())
    }

    /// How often it had something to say that was right: so that a test sees that it looks at something.
    fn checked(&self) -> u64;
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
        Box::new(order::Order::new(options.is_networked())),
        Box::new(repeated_alike::RepeatedAlike::default()),
        Box::new(response_first::ResponseFirst::default()),
        Box::new(subscribed_only::SubscribedOnly::default()),
        Box::new(synchronization::Synchronization::default()),
    ]
}
