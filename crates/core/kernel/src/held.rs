//! Federates that send faster than the network accepts. They are not read until the congested pipes
//! have recovered.

use crate::network::Place;
use rti::CallerId;
use std::collections::{BTreeMap, VecDeque};

/// The paused callers, each with the congested pipes that it waits for.
#[derive(Default)]
pub(crate) struct Held {
    by: BTreeMap<CallerId, Vec<Place>>,
    released: VecDeque<CallerId>,
}

impl Held {
    /// Pauses the caller until its messages no longer wait in `places`.
    pub(crate) fn hold(&mut self, caller: CallerId, places: Vec<Place>) {
        if places.is_empty() {
            return;
        }
        let waits_in = self.by.entry(caller).or_default();
        for place in places {
            if !waits_in.contains(&place) {
                waits_in.push(place);
            }
        }
    }

    /// A pipe is no longer congested, or has been removed.
    pub(crate) fn relieve(&mut self, place: Place) {
        let released = &mut self.released;
        self.by.retain(|&caller, waits_in| {
            waits_in.retain(|other| *other != place);
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
        let mut place = || (0, router.add_client(Moment::ZERO, ClientConfig::local()).unwrap());
        let (a, b) = (place(), place());
        let (first, second) = (CallerId(1), CallerId(2));
        let mut held = Held::default();
        held.hold(first, vec![a, b]);
        held.hold(second, vec![a]);
        held.hold(second, Vec::new());
        held.relieve(a);
        assert_eq!(held.callers().collect::<Vec<_>>(), [first]);
        assert_eq!(held.poll_released(), Some(second));
        held.relieve(b);
        assert_eq!(held.poll_released(), Some(first));
        assert_eq!(held.poll_released(), None);
    }
}
