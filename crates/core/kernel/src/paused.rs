//! Federates that send faster than the network accepts. They are not read until the congested pipes
//! have recovered.

use crate::network::RouterClient;
use rti::CallerId;
use std::collections::{BTreeMap, VecDeque};

/// The paused callers, each with the congested pipes that it waits for.
#[derive(Default)]
pub(crate) struct PausedCallers {
    by: BTreeMap<CallerId, Vec<RouterClient>>,
    released: VecDeque<CallerId>,
}

impl PausedCallers {
    /// Pauses the caller until its messages no longer wait in `pipes`.
    pub(crate) fn pause(&mut self, caller: CallerId, pipes: Vec<RouterClient>) {
        if pipes.is_empty() {
            return;
        }
        let waits_in = self.by.entry(caller).or_default();
        for pipe in pipes {
            if !waits_in.contains(&pipe) {
                waits_in.push(pipe);
            }
        }
    }

    /// A pipe is no longer congested, or has been removed.
    pub(crate) fn relieve(&mut self, pipe: RouterClient) {
        let released = &mut self.released;
        self.by.retain(|&caller, waits_in| {
            waits_in.retain(|other| *other != pipe);
            if waits_in.is_empty() {
                released.push_back(caller);
            }
            !waits_in.is_empty()
        });
    }

    /// The caller's session has ended.
    pub(crate) fn forget(&mut self, caller: CallerId) {
        self.by.remove(&caller);
    }

    /// The callers that are paused.
    pub(crate) fn callers(&self) -> impl Iterator<Item = CallerId> + '_ {
        self.by.keys().copied()
    }

    /// The next caller that is no longer paused.
    pub(crate) fn poll_released(&mut self) -> Option<CallerId> {
        self.released.pop_front()
    }

    /// The number of paused callers.
    pub(crate) fn len(&self) -> usize {
        self.by.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Moment;
    use router::{ClientConfig, Router, RouterConfig, RouterId};
    use rti::{NetTopic, Packet};

    #[test]
    fn a_caller_is_held_until_the_last_pipe_is_relieved() {
        let mut router: Router<Packet, NetTopic> = Router::new(RouterConfig::new(RouterId(1), base::Seed(1)));
        let mut pipe = || (0, router.add_client(Moment::ZERO, ClientConfig::local()).unwrap());
        let (a, b) = (pipe(), pipe());
        let (first, second) = (CallerId(1), CallerId(2));
        let mut paused = PausedCallers::default();
        paused.pause(first, vec![a, b]);
        paused.pause(second, vec![a]);
        paused.pause(second, Vec::new());
        paused.relieve(a);
        assert_eq!(paused.callers().collect::<Vec<_>>(), [first]);
        assert_eq!(paused.poll_released(), Some(second));
        paused.relieve(b);
        assert_eq!(paused.poll_released(), Some(first));
        assert_eq!(paused.poll_released(), None);
    }
}
