//! Nodes that share one log, driven by hand. Proposals are committed at once, and each node applies
//! them when the test tells it to.

use base::{Moment, NodeKey};
use bytes::Bytes;
use hla::RtiError;
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{self, Message as _};
use hla::handle::FederateHandle;
use rti::{CallId, CallerId, Command, Completion, Config, NoFoms, Proposal, Rti};
use std::collections::{BTreeMap, VecDeque};

const NOW: Moment = Moment::from_secs(1);

/// A node of the network.
pub(crate) struct Node {
    pub(crate) rti: Rti,
    key: NodeKey,
    /// Number of log entries that it has applied.
    applied: usize,
    /// Its own proposals that are in the log and have not been applied.
    own: VecDeque<Proposal>,
    answers: BTreeMap<(CallerId, CallId), Result<Answer, RtiError>>,
    notified: BTreeMap<CallerId, Vec<Callback>>,
    calls: u32,
}

/// Nodes with the keys 100, 200…, and their log.
#[derive(Default)]
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    log: Vec<(NodeKey, Bytes)>,
}

impl Cluster {
    /// `count` nodes that are part of the network.
    pub(crate) fn new(count: usize) -> Self {
        let mut cluster = Self::default();
        for _ in 0..count {
            cluster.start();
        }
        cluster.settle();
        cluster
    }

    /// Starts one more node and proposes to add it. Returns its index.
    pub(crate) fn start(&mut self) -> usize {
        let at = self.nodes.len();
        let key = NodeKey((at as u64 + 1) * 100);
        let rti = Rti::new(Config { key: Some(key), ..Config::default() }, Box::new(NoFoms));
        let (own, answers, notified) = (VecDeque::new(), BTreeMap::new(), BTreeMap::new());
        self.nodes.push(Node { rti, key, applied: 0, own, answers, notified, calls: 0 });
        self.order(key, &Command::AddNode { key, name: format!("node {at}") });
        at
    }

    /// Puts a command of the nodes themselves into the log.
    pub(crate) fn order(&mut self, from: NodeKey, command: &Command) {
        self.log.push((from, command.to_bytes()));
    }

    /// The others declare a node dead.
    pub(crate) fn remove(&mut self, at: usize) {
        let (from, key) = (self.nodes[0].key, self.nodes[at].key);
        self.order(from, &Command::RemoveNode { key });
    }

    /// Puts the proposals of a node into the log.
    pub(crate) fn propose(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        while let Some(job) = node.rti.poll_job() {
            let completion = node.rti.finish_job(NOW, job.run());
            node.note(completion);
        }
        while let Some(proposal) = node.rti.poll_proposal() {
            self.log.push((node.key, proposal.to_bytes()));
            node.own.push_back(proposal);
        }
    }

    /// Makes one node apply the rest of the log.
    pub(crate) fn apply(&mut self, at: usize) {
        let Self { nodes, log } = self;
        let node = &mut nodes[at];
        while let Some((from, command)) = log.get(node.applied) {
            node.applied += 1;
            // No call waits for the nodes' own commands.
            let is_own = *from == node.key && node.own.front().is_some_and(|own| own.to_bytes() == *command);
            if is_own {
                let own = node.own.pop_front().expect("there is one at the front");
                let completion = node.rti.commit(NOW, own);
                node.note(completion);
            } else {
                node.rti.commit_remote(NOW, *from, command).expect("a command of this version");
            }
        }
        node.take_callbacks();
    }

    /// All nodes except those in `cut` propose and apply until nothing is left.
    pub(crate) fn settle_without(&mut self, cut: &[usize]) {
        let mut before = None;
        while before != Some(self.log.len()) {
            before = Some(self.log.len());
            for at in (0..self.nodes.len()).filter(|at| !cut.contains(at)) {
                self.propose(at);
                self.apply(at);
            }
            for at in (0..self.nodes.len()).filter(|at| !cut.contains(at)) {
                self.apply(at);
            }
        }
    }

    pub(crate) fn settle(&mut self) {
        self.settle_without(&[]);
    }

    /// Makes a node take over the state of node 0 instead of applying the commands.
    pub(crate) fn restore(&mut self, at: usize) {
        let snapshot = self.nodes[0].rti.snapshot();
        let (covered, log) = (self.nodes[0].applied, &self.log);
        let node = &mut self.nodes[at];
        node.rti.restore(NOW, &snapshot).expect("a snapshot of this version");
        for (from, command) in &log[node.applied..covered] {
            if *from == node.key && node.own.front().is_some_and(|own| own.to_bytes() == *command) {
                let own = node.own.pop_front().expect("there is one at the front");
                let completion = node.rti.settle(NOW, own);
                node.note(completion);
            }
        }
        node.applied = covered;
        node.take_callbacks();
        assert_eq!(node.rti.snapshot(), snapshot);
    }

    /// Asserts that every node is in the same state.
    pub(crate) fn assert_equal(&self) {
        for node in &self.nodes {
            assert_eq!(node.rti.snapshot(), self.nodes[0].rti.snapshot());
        }
    }

    /// Calls a service and lets all nodes process the consequences. Returns the answer.
    pub(crate) fn call(&mut self, at: usize, caller: u64, request: Call) -> Result<Answer, RtiError> {
        let call = self.begin(at, caller, request);
        self.settle();
        self.answer(at, caller, call).expect("an answer")
    }

    /// Calls a service and does nothing else.
    pub(crate) fn begin(&mut self, at: usize, caller: u64, request: Call) -> CallId {
        let node = &mut self.nodes[at];
        node.calls += 1;
        let (caller, call) = (CallerId(caller), CallId(node.calls));
        if let Some(answer) = node.rti.call(NOW, caller, call, request) {
            node.answers.insert((caller, call), answer);
        }
        node.take_callbacks();
        call
    }

    /// The answer to a call, if there is one yet.
    pub(crate) fn answer(
        &mut self,
        at: usize,
        caller: u64,
        call: CallId,
    ) -> Option<Result<Answer, RtiError>> {
        self.nodes[at].answers.remove(&(CallerId(caller), call))
    }

    /// The callbacks to a caller since the last call.
    pub(crate) fn notified(&mut self, at: usize, caller: u64) -> Vec<Callback> {
        self.nodes[at].notified.remove(&CallerId(caller)).unwrap_or_default()
    }

    /// A connected caller.
    pub(crate) fn connect(&mut self, at: usize, caller: u64) {
        self.nodes[at].rti.open(NOW, CallerId(caller)).expect("there is room");
        self.call(at, caller, Call::ConnectRequest(api::ConnectRequest::default())).expect("connect");
    }

    /// Joins the federation execution `F`, which is created if it does not exist.
    pub(crate) fn join(&mut self, at: usize, caller: u64) -> FederateHandle {
        self.connect(at, caller);
        let _exists = self.call(at, caller, create("F"));
        match self.call(at, caller, join("F", &format!("federate {caller}"))) {
            Ok(Answer::JoinFederationExecutionWithNameResponse(joined)) => {
                joined.result.and_then(|joined| joined.federate_handle).expect("a handle")
            }
            other => panic!("{other:?}"),
        }
    }

    /// Answers all waiting calls: nothing can be decided any more.
    pub(crate) fn fail_waiting(&mut self, at: usize, why: &str) {
        for completion in self.nodes[at].rti.fail_waiting(NOW, why) {
            self.nodes[at].note(Some(completion));
        }
    }

    /// A session ends.
    pub(crate) fn close(&mut self, at: usize, caller: u64) {
        self.nodes[at].rti.close(NOW, CallerId(caller));
    }

    /// The names of the federates of `F`, as node 0 knows them.
    pub(crate) fn members(&mut self) -> Vec<String> {
        let lister = 9_000 + u64::from(self.nodes[0].calls);
        self.connect(0, lister);
        self.call(0, lister, list_members("F")).expect("a list");
        match self.notified(0, lister).pop() {
            Some(Callback::ReportFederationExecutionMembers(report)) => {
                let set = report.report.unwrap_or_default();
                let members = set.federation_execution_member_information;
                members.into_iter().map(|member| member.federate_name).collect()
            }
            other => panic!("{other:?}"),
        }
    }
}

impl Node {
    fn note(&mut self, completion: Option<Completion>) {
        if let Some(Completion { caller, call, answer }) = completion {
            let twice = self.answers.insert((caller, call), answer);
            assert!(twice.is_none(), "one answer per call");
        }
    }

    fn take_callbacks(&mut self) {
        while let Some(caller) = self.rti.poll_ready() {
            while let Some(body) = self.rti.poll_callback(caller) {
                let callback = api::CallbackRequest::decode(body).expect("a callback").callback_request;
                self.notified.entry(caller).or_default().extend(callback);
            }
        }
    }
}

pub(crate) fn create(name: &str) -> Call {
    Call::CreateFederationExecutionWithModulesRequest(api::CreateFederationExecutionWithModulesRequest {
        federation_name: name.to_owned(),
        fom_modules: None,
    })
}

pub(crate) fn destroy(name: &str) -> Call {
    let federation_name = name.to_owned();
    Call::DestroyFederationExecutionRequest(api::DestroyFederationExecutionRequest { federation_name })
}

pub(crate) fn join(federation: &str, name: &str) -> Call {
    Call::JoinFederationExecutionWithNameRequest(api::JoinFederationExecutionWithNameRequest {
        federate_name: name.to_owned(),
        federate_type: "T".to_owned(),
        federation_name: federation.to_owned(),
    })
}

pub(crate) fn register(label: &str) -> Call {
    Call::RegisterFederationSynchronizationPointRequest(api::RegisterFederationSynchronizationPointRequest {
        synchronization_point_label: label.to_owned(),
        user_supplied_tag: "tag".into(),
    })
}

pub(crate) fn achieve(label: &str, successfully: bool) -> Call {
    Call::SynchronizationPointAchievedRequest(api::SynchronizationPointAchievedRequest {
        synchronization_point_label: label.to_owned(),
        successfully,
    })
}

pub(crate) fn reserve(name: &str) -> Call {
    let object_instance_name = name.to_owned();
    Call::ReserveObjectInstanceNameRequest(api::ReserveObjectInstanceNameRequest { object_instance_name })
}

pub(crate) fn reserve_all(names: impl Iterator<Item = String>) -> Call {
    Call::ReserveMultipleObjectInstanceNamesRequest(api::ReserveMultipleObjectInstanceNamesRequest {
        object_instance_names: names.collect(),
    })
}

pub(crate) fn list_members(federation: &str) -> Call {
    Call::ListFederationExecutionMembersRequest(api::ListFederationExecutionMembersRequest {
        federation_name: federation.to_owned(),
    })
}

pub(crate) fn announced(label: &str) -> Callback {
    Callback::AnnounceSynchronizationPoint(api::AnnounceSynchronizationPoint {
        synchronization_point_label: label.to_owned(),
        user_supplied_tag: "tag".into(),
    })
}

pub(crate) fn synchronized(label: &str, failed: &[FederateHandle]) -> Callback {
    Callback::FederationSynchronized(api::FederationSynchronized {
        synchronization_point_label: label.to_owned(),
        failed_to_sync_set: Some(api::FederateHandleSet { federate_handle: failed.to_vec() }),
    })
}

pub(crate) fn reserved(name: &str) -> Callback {
    Callback::ObjectInstanceNameReservationSucceeded(api::ObjectInstanceNameReservationSucceeded {
        object_instance_name: name.to_owned(),
    })
}

pub(crate) fn not_reserved(name: &str) -> Callback {
    Callback::ObjectInstanceNameReservationFailed(api::ObjectInstanceNameReservationFailed {
        object_instance_name: name.to_owned(),
    })
}
