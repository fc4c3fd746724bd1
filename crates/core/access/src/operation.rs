//! Operations: what a federate asks to do.

use crate::right::{Right, Scope};
use crate::words::quote;
use std::fmt;

/// An operation that a policy allows or refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation<'a> {
    /// Connect (4.2): be served at all.
    Connect,
    /// Ask for the state of the server, as `meshrti status` does.
    SeeStatus,
    /// Create Federation Execution (4.5).
    Create {
        /// Its name.
        federation: &'a str,
    },
    /// Destroy Federation Execution (4.6).
    Destroy {
        /// Its name.
        federation: &'a str,
    },
    /// Join Federation Execution (4.11).
    Join {
        /// The name of the federation execution.
        federation: &'a str,
        /// The name of the federate; empty if the RTI is to choose it.
        name: &'a str,
        /// The type of the federate.
        federate_type: &'a str,
    },
    /// A service of a joined federate.
    Within {
        /// The name of the federation execution.
        federation: &'a str,
        /// Its subject.
        topic: Topic<'a>,
    },
}

/// The subject of a service of a joined federate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic<'a> {
    /// Publish a class (5.2 to 5.7), by its full name.
    Publish(&'a str),
    /// Subscribe to a class (5.8 to 5.13, 9.8, 9.10), by its full name.
    Subscribe(&'a str),
    /// Enable Time Regulation (8.2): hold up the time of others.
    RegulateTime,
}

impl Operation<'_> {
    /// Reads an operation from its sentence, such as `join Range as Viewer`.
    ///
    /// # Errors
    /// The sentence is none, or has a pattern where a name should be; says which.
    pub fn read<T>(sentence: &str, then: impl FnOnce(Operation<'_>) -> T) -> Result<T, String> {
        let right: Right = sentence.parse()?;
        if sentence.contains('*') {
            return Err("an operation has names, without `*`".to_owned());
        }
        // A part that was left out is the pattern of all names in a right, and the empty name here.
        let names = right.names();
        let [federation, name, federate_type] = [names[0].name(), names[1].name(), names[2].name()];
        let within = |topic| Operation::Within { federation, topic };
        Ok(then(match &right.scope {
            Scope::Anything => return Err("`do anything` is a right; name one operation".to_owned()),
            Scope::Connect => Operation::Connect,
            Scope::SeeStatus => Operation::SeeStatus,
            Scope::Create(_) => Operation::Create { federation },
            Scope::Destroy(_) => Operation::Destroy { federation },
            Scope::Join { .. } => Operation::Join { federation, name, federate_type },
            Scope::Publish { class, .. } => within(Topic::Publish(class)),
            Scope::Subscribe { class, .. } => within(Topic::Subscribe(class)),
            Scope::RegulateTime(_) => within(Topic::RegulateTime),
        }))
    }
}

/// The sentence of the operation.
impl fmt::Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operation::Connect => f.write_str("connect"),
            Operation::SeeStatus => f.write_str("see status"),
            Operation::Create { federation } => write!(f, "create {}", quote(federation)),
            Operation::Destroy { federation } => write!(f, "destroy {}", quote(federation)),
            Operation::Join { federation, name, federate_type } => {
                write!(f, "join {}", quote(federation))?;
                if !name.is_empty() {
                    write!(f, " as {}", quote(name))?;
                }
                if !federate_type.is_empty() {
                    write!(f, " of type {}", quote(federate_type))?;
                }
                Ok(())
            }
            Operation::Within { federation, topic } => {
                match topic {
                    Topic::Publish(class) => write!(f, "publish {class}")?,
                    Topic::Subscribe(class) => write!(f, "subscribe {class}")?,
                    Topic::RegulateTime => f.write_str("regulate time")?,
                }
                if federation.is_empty() { Ok(()) } else { write!(f, " in {}", quote(federation)) }
            }
        }
    }
}
