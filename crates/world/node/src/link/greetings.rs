//! Connections of other nodes that have not yet identified themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use base::{Address, Moment, Pending};
use tokio::task::AbortHandle;

/// A connection younger than this is not evicted for others of its own address. This is long enough
/// for the handshake of a distant node, encryption included.
const AGE_MIN: Duration = Duration::from_millis(250);

/// A bounded number of connections, with the tasks that listen to them.
///
/// Silent connections must not keep nodes out: beyond the limit, the oldest one of the address with
/// the most of them is evicted.
pub(crate) struct Greetings {
    pending: Pending<u64>,
    tasks: BTreeMap<u64, AbortHandle>,
    last: u64,
}

/// The outcome for a new connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Greeting {
    /// It has a place with this number. `evicted`: another connection has lost its place.
    Taken { number: u64, evicted: bool },
    /// There is no place for it.
    Refused,
}

impl Greetings {
    /// An empty set of at most `max` connections.
    pub(crate) const fn new(max: usize) -> Self {
        Self { pending: Pending::new(max, AGE_MIN), tasks: BTreeMap::new(), last: 0 }
    }

    /// The largest number of connections.
    pub(crate) const fn max(&self) -> usize {
        self.pending.max()
    }

    /// Handles a new connection from `address`.
    pub(crate) fn take(&mut self, now: Moment, address: Address) -> Greeting {
        self.last += 1;
        let number = self.last;
        let evicted = match self.pending.insert(now, number, address) {
            Some(refused) if refused == number => return Greeting::Refused,
            evicted => evicted,
        };
        if let Some(task) = evicted.and_then(|evicted| self.tasks.remove(&evicted)) {
            task.abort();
        }
        Greeting::Taken { number, evicted: evicted.is_some() }
    }

    /// Registers the task that listens to a connection.
    pub(crate) fn attend(&mut self, number: u64, task: AbortHandle) {
        self.tasks.insert(number, task);
    }

    /// Removes a connection that is gone or has identified itself.
    pub(crate) fn remove(&mut self, number: u64) {
        self.pending.remove(number);
        self.tasks.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_thousand_silent_connections_keep_no_node_out() {
        let mut greetings = Greetings::new(256);
        let (flood, honest) = (Address::numbered(1), Address::numbered(2));
        let mut tasks = Vec::new();
        let mut take = |greetings: &mut Greetings, now, address| {
            let greeting = greetings.take(now, address);
            if let Greeting::Taken { number, .. } = greeting {
                let task = tokio::spawn(std::future::pending::<()>());
                greetings.attend(number, task.abort_handle());
                tasks.push(task);
            }
            greeting
        };
        for _ in 0..1050 {
            take(&mut greetings, Moment::ZERO, flood);
        }
        assert_eq!(
            take(&mut greetings, Moment::ZERO, honest),
            Greeting::Taken { number: 1051, evicted: true }
        );
        // A node of the same address must wait until the silent connections have reached the
        // minimum age.
        assert_eq!(take(&mut greetings, Moment::from_millis(249), flood), Greeting::Refused);
        let later = Moment::from_millis(250);
        assert_eq!(take(&mut greetings, later, flood), Greeting::Taken { number: 1053, evicted: true });
        greetings.remove(1051);
        assert_eq!(take(&mut greetings, later, flood), Greeting::Taken { number: 1054, evicted: false });
        assert_eq!(greetings.tasks.len(), 256);
        for evicted in tasks.drain(..2) {
            assert!(evicted.await.unwrap_err().is_cancelled());
        }
    }
}
