//! Departures: federates of other nodes that have left recently, and how their objects are disposed
//! of.
//!
//! A federate's node disposes of its objects and appends that to its streams. The control plane
//! takes another path. It may report first that the federate has left, and even that its node is
//! gone, after which nobody follows that node's streams. Messages still under way are then lost.
//! Every node therefore remembers the action of each departure. When the node goes, it carries out
//! the action itself on the instances that still belong to the federate.

use super::objects::Objects;
use crate::control::NodeId;
use crate::effect::Effects;
use hla::api::ResignAction;
use hla::handle::FederateHandle;
use std::collections::BTreeMap;

/// Number of departures that are remembered: more than a node can announce within the seconds that
/// its streams may lag, in about 100 KiB.
const REMEMBERED: usize = 4_096;

/// The remembered departures. See the module.
#[derive(Debug, Default)]
pub(crate) struct Departures(BTreeMap<FederateHandle, (NodeId, ResignAction)>);

impl Departures {
    /// Adds a departure. Handles ascend in the order of joining; the lowest one is therefore as
    /// good a choice for removal as the oldest departure.
    fn insert(&mut self, federate: FederateHandle, node: NodeId, action: ResignAction) {
        self.0.insert(federate, (node, action));
        if self.0.len() > REMEMBERED {
            self.0.pop_first();
        }
    }

    /// Takes the departures of a node that is gone. No message for which they are needed can arrive
    /// any more.
    pub(super) fn take(&mut self, gone: NodeId) -> BTreeMap<FederateHandle, ResignAction> {
        let of_gone = self.0.extract_if(.., |_, (node, _)| *node == gone);
        of_gone.map(|(federate, (_, action))| (federate, action)).collect()
    }
}

impl Objects {
    /// Handles the departure of a federate of another node. `lost`: its node is gone, and from now
    /// on every node that knows instances of the federate disposes of them. Otherwise its node has
    /// done so, and its streams report it.
    pub(crate) fn resigned_elsewhere(
        &mut self,
        effects: &mut Effects,
        federate: FederateHandle,
        node: NodeId,
        action: ResignAction,
        lost: bool,
    ) {
        if !self.replicated || self.federates.contains_key(&federate) {
            return;
        }
        if lost {
            self.forget_acquirer(federate);
            self.lose_federate(federate, action);
        } else if node != self.node {
            self.end_acquisitions(federate, action);
            self.departures.insert(federate, node, action);
        }
        self.forget_remote_federate(effects, federate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered_until_their_node_goes() {
        let mut departures = Departures::default();
        for number in 1..=REMEMBERED as u32 + 2 {
            let node = NodeId(if number % 2 == 0 { 2 } else { 3 });
            departures.insert(FederateHandle(number), node, ResignAction::DeleteObjects);
        }
        assert_eq!(departures.0.len(), REMEMBERED);
        let taken = departures.take(NodeId(2));
        assert_eq!(taken.len(), REMEMBERED / 2);
        assert_eq!(taken.first_key_value(), Some((&FederateHandle(4), &ResignAction::DeleteObjects)));
        assert!(departures.take(NodeId(2)).is_empty());
        assert_eq!(departures.0.first_key_value().map(|(federate, _)| federate.0), Some(3));
    }
}
