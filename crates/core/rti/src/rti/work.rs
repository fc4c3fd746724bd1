//! Work in slices, between the events of federates.
//!
//! While there is any, [`Rti::poll_timeout`](super::Rti::poll_timeout) is due at once, and each
//! [`Rti::handle_timeout`](super::Rti::handle_timeout) does one slice of at most a few
//! milliseconds. Calls of federates that arrived in the meantime are served in between.

use super::Rti;
use crate::control::ExecutionId;
use crate::delivery::Delivery;
use crate::proposal::Completion;
use std::ops::Bound;

impl Rti {
    /// A call that has waited and now ends for a reason other than the control plane's: its work in
    /// slices is done, other nodes have answered, or it is refused.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        while let Some(completion) = self.shared.completions.pop_front() {
            if self.waiting.get(&completion.caller) == Some(&completion.call) {
                self.waiting.remove(&completion.caller);
                return Some(completion);
            }
        }
        None
    }

    pub(super) fn has_work(&self) -> bool {
        !self.shared.discarded.is_empty()
            || self.control.has_unswept_names()
            || self.next_to_work().is_some()
            || !self.shared.capturing.is_empty()
    }

    /// Does one slice of the federation execution whose turn it is.
    pub(super) fn work(&mut self) {
        if let Some(mut instances) = self.shared.discarded.pop_front()
            && !instances.discard_slice()
        {
            self.shared.discarded.push_back(instances);
        }
        self.control.sweep_names();
        self.capture();
        let Some(id) = self.next_to_work() else { return };
        self.shared.last_worked = id;
        let Self { executions, shared, control, .. } = self;
        let Some(execution) = executions.get_mut(&id) else { return };
        let mut effects = std::mem::take(&mut shared.effects);
        execution.objects.work(&mut effects, control, |client| shared.delivery.is_congested(client));
        shared.effects = effects;
        execution.time.work();
        execution.settle(shared);
        if execution.objects.is_settled() && !execution.time.has_work() {
            shared.working.remove(&id);
        }
    }

    fn next_to_work(&self) -> Option<ExecutionId> {
        let working = &self.shared.working;
        if working.is_empty() {
            return None;
        }
        let has_work = |id: &&ExecutionId| {
            let congested = |client| Delivery::is_congested(&self.shared.delivery, client);
            self.executions
                .get(id)
                .is_some_and(|execution| execution.time.has_work() || execution.objects.has_work(congested))
        };
        let after_last = working.range((Bound::Excluded(self.shared.last_worked), Bound::Unbounded));
        after_last.chain(working).find(has_work).copied()
    }
}
