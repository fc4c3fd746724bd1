//! The way from a service to the federates: the router's clients, and proposals to the control plane.

use crate::control::{Command, ExecutionId, PublishedClass};
use crate::remote::NetworkLimits;
use crate::remote::net::Net;
use crate::services::connection::Report;
use base::{HandleMap, Moment, Seed, id};
use bytes::{BufMut, Bytes, BytesMut};
use hla::api::call_response::CallResponse;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{CallbackRequest, JoinResult, Message as _};
use hla::handle::{InteractionClassHandle, ObjectClassHandle};
use router::{
    ClientConfig, ClientError, ClientFlags, ClientId, ClientKind, Enqueued, Event, Interest, Message,
    PipeConfig, PipeStats, Priority, Router, RouterConfig, RouterId, Wire, WireError,
};
use std::collections::VecDeque;

id! {
    /// A session of a federate with this RTI, from connect to disconnect; given by whoever drives it.
    pub struct CallerId(u64) as "s";
    /// The number by which a caller knows its service call again.
    pub struct CallId(u32) as "call";
}

/// What a federate's client in the router can be interested in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Topic {
    /// Addressed to one federate, whatever its interest.
    Callback,
    /// Instances registered at exactly this class.
    Object(ExecutionId, ObjectClassHandle),
    /// Interactions sent at exactly this class.
    Interaction(ExecutionId, InteractionClassHandle),
    /// Directed interactions of a federation execution.
    Directed(ExecutionId),
}

impl Topic {
    /// The topic of what other nodes may publish.
    pub(crate) fn of(execution: ExecutionId, what: PublishedClass) -> Self {
        match what {
            PublishedClass::Objects(class) => Topic::Object(execution, class),
            PublishedClass::Interactions(class) => Topic::Interaction(execution, class),
            PublishedClass::Directed => Topic::Directed(execution),
        }
    }

    /// What other nodes may publish about it.
    fn published(self) -> Option<(ExecutionId, PublishedClass)> {
        match self {
            Topic::Callback => None,
            Topic::Object(execution, class) => Some((execution, PublishedClass::Objects(class))),
            Topic::Interaction(execution, class) => Some((execution, PublishedClass::Interactions(class))),
            Topic::Directed(execution) => Some((execution, PublishedClass::Directed)),
        }
    }
}

/// An encoded callback on its way to one federate. Many federates may share the body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Delivery {
    /// The encoded `CallbackRequest`.
    pub(crate) body: Bytes,
    /// It may be dropped when the federate does not keep up.
    pub(crate) best_effort: bool,
}

/// Memory that a waiting callback costs beside its body: its place in the queue and the shared
/// body's bookkeeping.
const DELIVERY_OVERHEAD: usize = 96;

impl Message for Delivery {
    type Topic = Topic;

    fn topic(&self) -> &Topic {
        &Topic::Callback
    }

    fn priority(&self) -> Priority {
        if self.best_effort { Priority::State } else { Priority::Reliable }
    }

    fn droppable(&self) -> bool {
        self.best_effort
    }

    fn bytes(&self) -> usize {
        self.body.len() + DELIVERY_OVERHEAD
    }
}

impl Wire for Delivery {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(self.best_effort.into());
        out.put_slice(&self.body);
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        match body.first() {
            Some(&flag @ 0..=1) => Ok(Self { body: body.slice(1..), best_effort: flag == 1 }),
            Some(flag) => Err(WireError(format!("a callback starts with 0 or 1, not {flag}"))),
            None => Err(WireError("a callback is not empty".to_owned())),
        }
    }
}

impl Interest for Topic {
    type Topic = Topic;
    type Key = Topic;

    fn key(&self) -> Option<Topic> {
        Some(*self)
    }

    fn topic_key(topic: &Topic) -> Topic {
        *topic
    }

    fn matches(&self, topic: &Topic) -> bool {
        self == topic
    }

    fn merge(&mut self, _other: &Self) {}
}

impl Wire for Topic {
    fn encode(&self, out: &mut BytesMut) {
        let (kind, execution, class) = match *self {
            Topic::Callback => (0, 0, 0),
            Topic::Object(execution, class) => (1, execution.0, class.0),
            Topic::Interaction(execution, class) => (2, execution.0, class.0),
            Topic::Directed(execution) => (3, execution.0, 0),
        };
        out.put_u8(kind);
        out.put_u32(execution);
        out.put_u32(class);
    }

    fn decode(body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        let octets: [u8; 9] = body[..]
            .try_into()
            .map_err(|_| WireError(format!("an interest has 9 octets, not {}", body.len())))?;
        let [kind, e0, e1, e2, e3, c0, c1, c2, c3] = octets;
        let execution = ExecutionId(u32::from_be_bytes([e0, e1, e2, e3]));
        let class = u32::from_be_bytes([c0, c1, c2, c3]);
        match kind {
            0 => Ok(Topic::Callback),
            1 => Ok(Topic::Object(execution, ObjectClassHandle(class))),
            2 => Ok(Topic::Interaction(execution, InteractionClassHandle(class))),
            3 => Ok(Topic::Directed(execution)),
            _ => Err(WireError(format!("{kind} is no kind of interest (0 to 3)"))),
        }
    }
}

/// What a proposal that was accepted gives to the call it came from.
#[derive(Default)]
pub(crate) struct Outcome {
    /// For Join Federation Execution: who the caller is now.
    pub(crate) joined: Option<JoinResult>,
}

/// Makes the response of one service from the outcome of its proposal.
pub(crate) type Finish = fn(Outcome) -> CallResponse;

/// The service call that a proposal came from.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) caller: CallerId,
    pub(crate) call: CallId,
    pub(crate) finish: Finish,
}

/// A command for the control plane, and who waits for its outcome.
pub struct Proposal {
    pub(crate) command: Command,
    pub(crate) waiting: Option<Waiting>,
    /// For the caller when the command's turn has come.
    pub(crate) report: Option<Report>,
}

impl Proposal {
    /// The command to put into the order that all nodes agree on.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// The command in its wire form, for [`Rti::commit_remote`](crate::Rti::commit_remote) at the other nodes.
    pub fn to_bytes(&self) -> Bytes {
        self.command.to_bytes()
    }
}

/// The router with one client per caller, and what the services want done.
pub(crate) struct Plane {
    pub(crate) now: Moment,
    router: Router<Delivery, Topic>,
    callers: HandleMap<ClientId, CallerId>,
    pipe: PipeConfig,
    proposals: VecDeque<Proposal>,
    overloaded: Vec<CallerId>,
    /// Callers that are to be disconnected, and why.
    lost: VecDeque<(CallerId, String)>,
    /// Best-effort callbacks dropped for want of room, for all federates together.
    dropped: u64,
    /// The way to other nodes; none at a single node.
    pub(crate) net: Option<Box<Net>>,
    /// Changes of what federates here subscribe, for the other nodes.
    covered: VecDeque<(ExecutionId, PublishedClass, bool)>,
}

impl Plane {
    /// `queue_bytes_max` bounds what may wait for one federate.
    pub(crate) fn new(router: u32, queue_bytes_max: usize, queue_messages_max: usize) -> Self {
        // The seed only spreads reconnections of links between routers, of which there are none here.
        let router = Router::new(RouterConfig::new(RouterId(router), Seed(u64::from(router))));
        let mut pipe = PipeConfig::ordered().with_bytes_max(queue_bytes_max);
        pipe.messages_max = queue_messages_max;
        Self {
            now: Moment::ZERO,
            router,
            callers: HandleMap::default(),
            pipe,
            proposals: VecDeque::new(),
            overloaded: Vec::new(),
            lost: VecDeque::new(),
            dropped: 0,
            net: None,
            covered: VecDeque::new(),
        }
    }

    /// A client in the router stands for the other nodes. False when one does already, or there is no place for one.
    pub(crate) fn join_network(&mut self, limits: NetworkLimits) -> bool {
        if self.net.is_some() {
            return false;
        }
        let kind = ClientKind::Local { advise: true };
        let config = ClientConfig { flags: ClientFlags::SOURCE, kind, ..ClientConfig::local() };
        let Ok(client) = self.router.add_client(self.now, config) else { return false };
        self.net = Some(Box::new(Net::new(client, limits)));
        true
    }

    /// The client that stands for the other nodes.
    pub(crate) fn network_client(&self) -> Option<ClientId> {
        self.net.as_deref().map(|net| net.client)
    }

    /// What federates here subscribe from now on, or no more.
    pub(crate) fn poll_covered(&mut self) -> Option<(ExecutionId, PublishedClass, bool)> {
        self.take_router_events();
        self.covered.pop_front()
    }

    fn take_router_events(&mut self) {
        while let Some(event) = self.router.poll_event() {
            if let Event::InterestChanged { interest, any, .. } = event
                && let Some((execution, what)) = interest.published()
            {
                self.covered.push_back((execution, what, any));
            }
        }
    }

    /// Whether a client is interested in a topic.
    pub(crate) fn is_subscribed(&self, client: ClientId, topic: Topic) -> bool {
        self.router.interests(client).any(|interest| *interest == topic)
    }

    /// A client for a new caller.
    ///
    /// # Errors
    /// The router has no place for another one.
    pub(crate) fn add_client(&mut self, caller: CallerId) -> Result<ClientId, ClientError> {
        let config = ClientConfig { pipe: self.pipe.clone(), ..ClientConfig::local() };
        let client = self.router.add_client(self.now, config)?;
        self.callers.insert(client, caller);
        Ok(client)
    }

    /// Removes a client and everything that waits for it.
    pub(crate) fn remove_client(&mut self, client: ClientId) {
        let dropped = self.pipe_stats(client).map_or(0, PipeStats::dropped_messages);
        if let Some(caller) = self.callers.get(&client)
            && dropped > 0
        {
            tracing::warn!(%caller, dropped, "best-effort callbacks of this federate were dropped: it did not keep up");
        }
        self.callers.remove(&client);
        self.router.remove_client(self.now, client);
    }

    /// Drops what waits for a caller and all its interest, by giving it a new client.
    pub(crate) fn drop_callbacks(&mut self, caller: CallerId, client: &mut ClientId) {
        self.remove_client(*client);
        // One place was just made, so that there is one.
        if let Ok(fresh) = self.add_client(caller) {
            *client = fresh;
        }
    }

    /// Encodes a callback for one client.
    pub(crate) fn tell(&mut self, client: ClientId, callback: Callback) {
        let body = CallbackRequest { callback_request: Some(callback) }.encode_to_vec().into();
        if let Ok(Enqueued::Refused) =
            self.router.push(self.now, client, Delivery { body, best_effort: false })
        {
            self.overload(client);
        }
    }

    /// Lets `render` make a callback for every client that is interested in `topic`, `from` excepted. It is told whether
    /// others follow.
    pub(crate) fn fan_out(
        &mut self,
        from: ClientId,
        topic: Topic,
        render: impl FnMut(ClientId, bool) -> Option<Delivery>,
    ) {
        if let Ok(submitted) = self.router.submit_with(self.now, from, &topic, render) {
            self.count_dropped(submitted.dropped);
            for client in submitted.refused {
                self.overload(client);
            }
        }
    }

    /// Logs at 1, 2, 4, 8 … dropped callbacks: often enough to be seen, too seldom to be a load.
    fn count_dropped(&mut self, more: u32) {
        let before = self.dropped;
        self.dropped += u64::from(more);
        if self.dropped.leading_zeros() != before.leading_zeros() {
            tracing::warn!(
                total = self.dropped,
                "best-effort callbacks are dropped: a federate does not keep up"
            );
        }
    }

    fn overload(&mut self, client: ClientId) {
        if let Some(&caller) = self.callers.get(&client)
            && !self.overloaded.contains(&caller)
        {
            self.overloaded.push(caller);
        }
    }

    /// Makes `client` a sink of `topic`; told twice, it counts once.
    pub(crate) fn subscribe(&mut self, client: ClientId, topic: Topic) {
        self.set_interest(client, topic, true);
    }

    /// The opposite of [`Plane::subscribe`].
    pub(crate) fn unsubscribe(&mut self, client: ClientId, topic: Topic) {
        self.set_interest(client, topic, false);
    }

    fn set_interest(&mut self, client: ClientId, topic: Topic, any: bool) {
        if self.router.set_interest(self.now, client, topic, any).is_err() {
            // The model bounds the topics of a federation; more than the router's limit needs a model
            // of more than a million classes.
            self.overload(client);
        }
    }

    /// Proposes a command whose outcome nobody waits for.
    pub(crate) fn propose(&mut self, command: Command) {
        self.proposals.push_back(Proposal { command, waiting: None, report: None });
    }

    /// Proposes a command whose outcome ends a service call.
    pub(crate) fn propose_for(&mut self, waiting: Waiting, command: Command) {
        self.proposals.push_back(Proposal { command, waiting: Some(waiting), report: None });
    }

    /// Reports the state as it is when everything that was committed so far is known here.
    pub(crate) fn propose_report(&mut self, waiting: Waiting, report: Report) {
        let (command, waiting, report) = (Command::Barrier, Some(waiting), Some(report));
        self.proposals.push_back(Proposal { command, waiting, report });
    }

    pub(crate) fn has_proposals(&self) -> bool {
        !self.proposals.is_empty()
    }

    pub(crate) fn poll_proposal(&mut self) -> Option<Proposal> {
        self.proposals.pop_front()
    }

    /// The federate of `caller` cannot go on, because of what `why` says: it is to be disconnected with Connection
    /// Lost (4.4).
    pub(crate) fn lose(&mut self, caller: CallerId, why: impl Into<String>) {
        if !self.lost.iter().any(|(lost, _)| *lost == caller) {
            self.lost.push_back((caller, why.into()));
        }
    }

    pub(crate) fn poll_lost(&mut self) -> Option<(CallerId, String)> {
        self.lost.pop_front()
    }

    pub(crate) fn poll_overloaded(&mut self) -> Option<CallerId> {
        self.overloaded.pop()
    }

    /// A caller for whom callbacks wait; it is not named again before they were all taken.
    pub(crate) fn poll_ready(&mut self) -> Option<CallerId> {
        self.take_router_events();
        loop {
            let client = self.router.poll_ready()?;
            if let Some(&caller) = self.callers.get(&client) {
                return Some(caller);
            }
        }
    }

    /// The next callback for a client.
    pub(crate) fn poll_callback(&mut self, client: ClientId) -> Option<Bytes> {
        self.router.poll_message(client).map(|delivery| delivery.body)
    }

    pub(crate) fn pipe_stats(&self, client: ClientId) -> Option<&PipeStats> {
        self.router.pipe_stats(client)
    }

    /// Messages and bytes that wait for a client.
    pub(crate) fn queued(&self, client: ClientId) -> (usize, usize) {
        self.router.queued(client).unwrap_or_default()
    }
}
