//! What must hold in a federation over many nodes, one property to a file.
//!
//! Properties look only at what federates see, and at what is [known for sure](super::ledger) from it.

mod answers;
mod exactly_once;
mod final_state;
mod handles;
mod known_class;
mod members;
mod names;
mod order;
mod synchronization;

use super::ledger::Ledger;
use crate::invariants;
use crate::observation::Seen;
use std::time::Duration;

pub use exactly_once::ExactlyOnce;

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
    fn checked(&self) -> u64 {
        0
    }
}

/// A property of a single node that holds over many nodes as well.
struct Same(Box<dyn invariants::Invariant>);

impl Invariant for Same {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn observe(&mut self, seen: &Seen, _: &Ledger) -> Result<(), String> {
        self.0.observe(seen)
    }

    fn finish(&mut self, _: &Ledger) -> Result<(), String> {
        self.0.finish()
    }
}

/// Every property. `patience` is how long an answer may take.
pub fn all(patience: Duration) -> Vec<Box<dyn Invariant>> {
    let mut all: Vec<Box<dyn Invariant>> = vec![
        Box::new(answers::Answers::new(patience)),
        Box::new(exactly_once::ExactlyOnce::default()),
        Box::new(order::Order::default()),
        Box::new(known_class::KnownClass::default()),
        Box::new(handles::Handles::default()),
        Box::new(names::Names::default()),
        Box::new(synchronization::Synchronization::default()),
        Box::new(members::Members::default()),
        Box::new(final_state::FinalState::default()),
    ];
    all.extend(invariants::at_federates().into_iter().map(|one| Box::new(Same(one)) as Box<dyn Invariant>));
    all
}
