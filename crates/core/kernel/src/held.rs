//! Federates that send faster than the network takes: nothing more is read of them until it does.

use crate::network::Place;
use rti::CallerId;
use std::collections::{BTreeMap, VecDeque};

/// Who is held back, and by which congested pipes.
#[derive(Default)]
pub(crate) struct Held {
    by: BTreeMap<CallerId, Vec<Place>>,
    released: VecDeque<CallerId>,
}

impl Held {
    /// What the caller has sent waits in `places`.
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

    /// A pipe is no longer congested, or gone.
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

    /// Who is held back.
    pub(crate) fn callers(&self) -> impl Iterator<Item = CallerId> + '_ {
        self.by.keys().copied()
    }

    /// The next one that is not any more.
    pub(crate) fn poll_released(&mut self) -> Option<CallerId> {
        self.released.pop_front()
    }

    /// How many are held back.
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
