//! Judges the messages that the federates of a simulation have sent and received.

use hla::handle::{FederateHandle, MessageRetractionHandle};
use std::collections::{BTreeMap, BTreeSet};

/// A receiver and a message.
type Receipt = (FederateHandle, MessageRetractionHandle);

#[derive(Default)]
pub(super) struct Record {
    /// Messages by sender, in the order of sending.
    pub(super) sent: BTreeMap<FederateHandle, Vec<MessageRetractionHandle>>,
    pub(super) retracted: BTreeSet<MessageRetractionHandle>,
    received: BTreeMap<Receipt, u32>,
    requested: BTreeMap<Receipt, u32>,
}

impl Record {
    pub(super) fn received(&mut self, by: FederateHandle, message: MessageRetractionHandle) {
        *self.received.entry((by, message)).or_default() += 1;
    }

    pub(super) fn requested(&mut self, of: FederateHandle, message: MessageRetractionHandle) {
        *self.requested.entry((of, message)).or_default() += 1;
    }

    /// Judges what `receiver` has got from `sender`. The nodes of both are alive, and all messages
    /// are due.
    pub(super) fn judge(&self, sender: FederateHandle, receiver: FederateHandle) -> Result<(), String> {
        for &message in self.sent.get(&sender).into_iter().flatten() {
            let received = self.received.get(&(receiver, message)).copied().unwrap_or(0);
            let requested = self.requested.get(&(receiver, message)).copied().unwrap_or(0);
            let right = match self.retracted.contains(&message) {
                false => (received, requested) == (1, 0),
                true => received == requested && received <= 1,
            };
            if !right {
                let retracted = self.retracted.contains(&message);
                return Err(format!(
                    "{receiver:?} has received {message:?} of {sender:?} {received} times, and the request to \
                     retract it {requested} times; it was retracted: {retracted}"
                ));
            }
        }
        Ok(())
    }
}
