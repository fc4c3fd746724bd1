//! The state that all federation executions of a node share.

use super::reporting::ServiceReports;
use crate::config::Config;
use crate::control::{ExecutionId, NodeId, PublishedClass};
use crate::delivery::Delivery;
use crate::effect::{Change, Effect, Effects, MomRequest};
use crate::object::instance::Instances;
use crate::proposal::{Completion, Proposal};
use crate::replica::context::Timer;
use crate::replica::peers::Peers;
use crate::wire::ObjectMessage;
use base::{Deadlines, Moment};
use hla::api::call_request::CallRequest as Call;
use hla::handle::{FederateHandle, InteractionClassHandle};
use std::collections::{BTreeSet, VecDeque};

/// A service that a federate of this node is to call, because another one has asked the RTI for it
/// (11.4.2).
pub(super) struct OnBehalf {
    pub(super) execution: ExecutionId,
    pub(super) target: FederateHandle,
    pub(super) call: Call,
    /// The federate that has asked, the class of its interaction, and its node if it is another one.
    pub(super) sender: FederateHandle,
    pub(super) class: InteractionClassHandle,
    pub(super) from: Option<NodeId>,
}

/// The state that all federation executions of a node share: the connections to federates, to other
/// nodes and to the control plane.
pub(crate) struct Shared {
    pub(super) now: Moment,
    pub(super) delivery: Delivery,
    pub(super) peers: Peers,
    pub(super) timers: Deadlines<Timer>,
    pub(super) proposals: VecDeque<Proposal>,
    /// Calls that have waited and now end.
    pub(super) completions: VecDeque<Completion>,
    /// Executions of which time management may have something to tell other nodes.
    pub(super) exchanges: BTreeSet<ExecutionId>,
    /// Memory of the objects of all executions, in bytes.
    pub(super) object_bytes: usize,
    /// Effects that are not applied yet.
    pub(super) effects: Effects,
    /// Classes in which federates here have gained or lost interest.
    pub(super) covers: VecDeque<(ExecutionId, PublishedClass)>,
    /// Messages to the nodes of federates.
    pub(super) forwards: VecDeque<(ExecutionId, FederateHandle, ObjectMessage)>,
    /// Requests to the management object models of executions.
    pub(super) managed: VecDeque<(ExecutionId, MomRequest)>,
    /// Services that federates are to call, since others have asked the RTI for that.
    pub(super) on_behalf: VecDeque<OnBehalf>,
    /// The federates of this node whose services are reported.
    pub(super) service_reports: ServiceReports,
    /// Executions whose federates have ceased to know instances.
    pub(super) reviews: BTreeSet<ExecutionId>,
    /// Executions with work in slices.
    pub(super) working: BTreeSet<ExecutionId>,
    /// Executions that drain their channels for a save.
    pub(super) draining: BTreeSet<ExecutionId>,
    /// Executions whose images are being copied.
    pub(super) capturing: BTreeSet<ExecutionId>,
    /// Instances of executions that have ended. Freeing a million of them takes a third of a
    /// second.
    pub(super) discarded: VecDeque<Instances>,
    /// The execution whose work was done last.
    pub(super) last_worked: ExecutionId,
}

impl Shared {
    pub(super) fn new(config: &Config) -> Self {
        let node = u32::from(config.node.0);
        Self {
            now: Moment::ZERO,
            delivery: Delivery::new(node, config.queue_bytes_max, config.queue_callbacks_max),
            peers: Peers::new(config.network.clone()),
            timers: Deadlines::new(),
            proposals: VecDeque::new(),
            completions: VecDeque::new(),
            exchanges: BTreeSet::new(),
            working: BTreeSet::new(),
            draining: BTreeSet::new(),
            capturing: BTreeSet::new(),
            discarded: VecDeque::new(),
            last_worked: ExecutionId(0),
            effects: Effects::default(),
            object_bytes: 0,
            covers: VecDeque::new(),
            forwards: VecDeque::new(),
            managed: VecDeque::new(),
            on_behalf: VecDeque::new(),
            service_reports: ServiceReports::default(),
            reviews: BTreeSet::new(),
        }
    }

    /// Sets the present. Every entry point of the RTI begins with it.
    pub(super) fn set_now(&mut self, now: Moment) {
        self.now = now;
        self.effects.now = now;
    }

    /// Applies an effect. Returns a change that only a federation execution can replicate.
    pub(super) fn apply(&mut self, effect: Effect) -> Option<Change> {
        match effect {
            Effect::Deliver { to, arrival } => self.delivery.deliver(self.now, to, arrival),
            Effect::Notify { to, callback } => self.delivery.notify(self.now, to, *callback),
            Effect::HoldReceiveOrder { to, on } => self.delivery.hold_receive_order(self.now, to, on),
            Effect::Propose(proposal) => self.proposals.push_back(*proposal),
            Effect::Replicate(change) => return Some(change),
            Effect::Time(input) => debug_assert!(false, "{input:?} outside a federation execution"),
            Effect::FreeNames { execution } => {
                let at = self.now + self.peers.limits.adoption_wait;
                self.timers.set(Timer::Names(execution), at);
            }
            Effect::Complete(completion) => self.completions.push_back(*completion),
            Effect::ReportServices { execution, federate, caller, on } => {
                self.service_reports.set(caller, (execution, federate), on);
            }
            Effect::Manage(execution, request) => self.managed.push_back((execution, *request)),
        }
        None
    }

    /// Applies the effects of a call of a federate that is not joined. They concern no federation
    /// execution.
    pub(super) fn apply_all(&mut self, mut effects: Effects) {
        for effect in effects.take() {
            let change = self.apply(effect);
            debug_assert!(change.is_none(), "{change:?} of a federate that is not joined");
        }
    }
}
