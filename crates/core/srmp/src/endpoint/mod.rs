//! One member of one group: everything wired together.
//!
//! | module | concern |
//! | --- | --- |
//! | [`submit`] | what the application asks |
//! | [`outgoing`] | bundles, and when they leave |
//! | [`datagrams`] | numbering, sealing and queueing what leaves |
//! | [`incoming`] | datagrams that come, record by record |
//! | [`membership`] | members that come, go, begin again, or are two |
//! | [`members`] | what is kept of them |
//! | [`loggers`] | this member's part among loggers |
//! | [`asking`], [`serving`] | wishes that go to loggers, and those that come |
//! | [`syncing`] | the whole state for who joins |

mod asking;
mod config;
mod counters;
mod datagrams;
mod event;
mod incoming;
mod loggers;
mod members;
mod membership;
mod outgoing;
mod serving;
mod submit;
mod syncing;

pub use config::{Config, ConfigError, Limits};
pub use counters::{Counters, EndpointCounters, LoggerView, RateView, Traffic};
pub use event::{Channel, Destination, Event, MemberView, Peer, SendError, Ticket, Transmit};

use crate::auth::{Opener, OpenerLimits, Sealer, Signer, Verifier};
use crate::mode2::{Due, Mode2};
use crate::model::{DataId, Dsn, MemberId, NackItem, Profile, StreamKey};
use crate::rate::{self, Shaper};
use crate::receive::{self, Interest, Shared};
use crate::send::{Bundle, Sender};
use crate::wire::{Format, Writer};
use base::{Moment, Seed};
use bytes::Bytes;
use loggers::Loggers;
use members::Members;
use std::collections::{BTreeMap, VecDeque};

/// A message that waits in the shaper.
#[derive(Debug)]
enum Queued {
    Mode0 { stream: Option<StreamKey>, body: Bytes, ticket: Ticket },
    Mode1 { dsn: Dsn, index: u16, urgent: bool, ticket: Ticket },
}

/// One member of one group: one daemon, for all its local applications.
///
/// # Contract
/// - `now` never goes back. Call [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout) or soon
///   after.
/// - After any call that takes `now`, call [`poll_transmit`](Self::poll_transmit) until it gives nothing, and
///   [`poll_event`](Self::poll_event) likewise.
/// - Datagrams of the group may be heard by their sender: they are ignored. Where unicast datagrams are sent from and where they
///   come in must be one socket, on the port that the group has (RFC 4410 names no group in mode 2, so the port does).
/// - Nothing that comes in can make it panic, allocate without bound or hang; what is wrong is counted.
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    format: Format,
    writer: Writer,
    sealer: Option<Sealer>,
    opener: Option<Opener>,
    signer: Option<Signer>,
    verifier: Option<Verifier>,
    /// Datagrams so far (v3).
    datagrams: u64,
    /// Bundles so far.
    bundles: u64,
    sender: Sender,
    shaper: Shaper<Queued>,
    rate: rate::Sender,
    bundle: Bundle,
    receive: Shared,
    members: Members,
    /// Members to be asked for something.
    asking: Vec<MemberId>,
    /// Members of which loggers are to be asked for something.
    asking_near: Vec<MemberId>,
    /// None in profile v2 and in strict.
    loggers: Option<Box<Loggers>>,
    mode2: Mode2,
    /// Mode 2 numbers: per data element in v2, one for all in v3.
    transactions: BTreeMap<DataId, u64>,
    seed: Seed,
    tickets: u64,
    last_bundle: Moment,
    /// Nothing was sent yet.
    hello: bool,
    left: bool,
    out: VecDeque<Transmit>,
    events: VecDeque<Event>,
    counters: EndpointCounters,
    /// Reused.
    announced: Vec<Dsn>,
    wishes: Vec<NackItem>,
    asked: Vec<(MemberId, usize)>,
}

impl Endpoint {
    /// A member that has just joined. It shows itself with its first bundle.
    ///
    /// # Errors
    /// Settings that cannot be.
    pub fn new(mut config: Config, seed: Seed, now: Moment) -> Result<Self, ConfigError> {
        let format = config.format()?;
        let mut receive = Shared::new(config.receive(), seed.split("receive"), now);
        receive.interest = std::mem::take(&mut config.interest);
        let rate = rate::Sender::new(config.rate.clone(), config.member, now);
        let shaper = Shaper::new(config.shaper.clone(), rate.rate(), seed.split("shaper"), now);
        let sealer =
            config.keys.as_ref().and_then(|keys| Sealer::new(keys, &format, config.member, config.epoch));
        let limits = OpenerLimits { senders_max: config.limits.members_max, ..OpenerLimits::default() };
        let opener = config.keys.as_ref().map(|keys| Opener::new(keys, &format, limits));
        // A restarted sender of v2 is told by a jump of its numbers: where it begins must not be where it was.
        let spread = config.profile == Profile::V2 && !config.strict;
        let first = if spread { receive::uniform(&mut seed.split("bundles").rng()) * 65_536.0 } else { 0.0 };
        let has_loggers = config.profile == Profile::V3 && !config.strict;
        let loggers = has_loggers.then(|| Box::new(Loggers::new(&config, seed.split("loggers"), now)));
        Ok(Self {
            sender: Sender::new(now, config.send(&format)),
            mode2: Mode2::new(config.mode2()),
            members: Members::new(&config.timing),
            signer: config.signer.take(),
            verifier: config.verifier.take(),
            writer: Writer::new(format),
            format,
            sealer,
            opener,
            datagrams: 0,
            bundles: first as u64,
            shaper,
            rate,
            bundle: Bundle::default(),
            receive,
            asking: Vec::new(),
            asking_near: Vec::new(),
            loggers,
            transactions: BTreeMap::new(),
            seed,
            tickets: 0,
            last_bundle: now,
            hello: true,
            left: false,
            out: VecDeque::new(),
            events: VecDeque::new(),
            counters: EndpointCounters::default(),
            announced: Vec::new(),
            wishes: Vec::new(),
            asked: Vec::new(),
            config,
        })
    }

    /// The next datagram to be sent.
    pub fn poll_transmit(&mut self, now: Moment) -> Option<Transmit> {
        if self.out.is_empty() {
            self.pump(now);
        }
        self.out.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Moment> {
        let again = self.sender.again_at(Moment::ZERO);
        let shaped = self.shaper.poll_timeout();
        let announced = self.announce_at();
        let bundles =
            [self.bundle.flush_at(), self.heartbeat_at(), self.sender.deadline(), again, shaped, announced];
        // Who left sends no bundle, so nothing of them is due.
        let bundles = bundles.into_iter().filter(|_| !self.left);
        let others =
            [self.rate.poll_timeout(), self.mode2.deadline(), self.members.deadline(), self.loggers_at()];
        bundles.chain(others).flatten().min()
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.sender.expire(now);
        self.rate.handle_timeout(now);
        self.shaper.set_rate(now, self.rate.rate());
        while let Some(due) = self.mode2.expire(now) {
            match due {
                Due::Again { to, transaction, data, body } => {
                    self.put_mode2(now, to, transaction, data, body);
                }
                Due::TimedOut { ticket } => self.events.push_back(Event::TimedOut { ticket: Ticket(ticket) }),
            }
        }
        while let Some(member) = self.members.pop_wake(now) {
            self.expire_member(now, member);
        }
        self.expire_loggers(now);
    }

    /// Counters.
    pub fn counters(&self) -> Counters<'_> {
        Counters {
            endpoint: &self.counters,
            receive: &self.receive.counters,
            send: self.sender.counters(),
            mode2: self.mode2.counters(),
            shaper: self.shaper.stats(),
            rate: self.rate.stats(),
            logger: self.loggers.as_ref().map(|loggers| &loggers.counters),
        }
    }

    /// What this member is among the loggers of its site.
    pub fn logger(&self) -> Option<LoggerView> {
        self.loggers.as_ref().filter(|loggers| loggers.config.site).map(|loggers| loggers.view())
    }

    /// Where own congestion control stands.
    pub fn rate(&self) -> RateView {
        RateView {
            rate: self.rate.rate().bits_per_second(),
            suppression: self.rate.suppression().bits_per_second(),
            rtt_max: self.rate.rtt_max(),
            clr: self.rate.clr(),
        }
    }

    /// Who this is.
    pub fn member(&self) -> MemberId {
        self.config.member
    }

    /// The wire format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The other members that were ever heard and are not forgotten, in order of their identities. Where more only listen than
    /// [`Limits::listeners_max`], a sample of those.
    pub fn members(&self) -> impl Iterator<Item = MemberView> + '_ {
        self.members.remotes.iter().map(|(member, remote)| remote.view(*member))
    }

    /// Members heard of late; an estimate where there is a sample.
    pub fn live_members(&self) -> u32 {
        self.members.live
    }

    /// Mode 1 messages, or segments of them, that wait for the rate.
    pub fn reliable_waiting(&self) -> usize {
        self.shaper.waiting().0
    }

    /// Messages of modes 0 and 1, or segments of them, that wait for the rate.
    pub fn waiting(&self) -> usize {
        let (reliable, best_effort) = self.shaper.waiting();
        reliable + best_effort
    }

    /// The newest messages held of a member, for an application that joins later. A message is empty when memory was short, or
    /// [nothing is kept](Config::keeps_state).
    pub fn messages(&self, member: MemberId) -> impl Iterator<Item = (DataId, crate::model::Sn, &[u8])> + '_ {
        let speaker = self.members.remotes.get(&member).and_then(|remote| remote.speaker.as_ref());
        speaker.into_iter().flat_map(|speaker| speaker.origin.messages())
    }

    /// What is held of a member, as its own digests tell it; what a joiner sends to ask for the rest.
    pub fn digest_of(&self, member: MemberId) -> Option<crate::wire::Digest> {
        let speaker = self.members.remotes.get(&member).and_then(|remote| remote.speaker.as_ref());
        speaker.map(|speaker| speaker.origin.digest())
    }

    /// The share of own mode 1 messages that somebody misses after their first sending, as reports and NACKs of late show it: from 0.8
    /// until 0.5 a copy costs no more than the repair that it saves; with less it may be worth being paid from
    /// [`copy_share`](Config::copy_share).
    pub fn missed_share(&self) -> f64 {
        self.sender.missed_share()
    }

    /// Own data elements with their newest messages.
    pub fn own_messages(&self) -> impl Iterator<Item = (Dsn, &Bytes)> + '_ {
        self.sender.messages()
    }

    /// Bytes of others' messages that are held.
    pub fn held_bytes(&self) -> usize {
        self.receive.bytes
    }

    /// Changes what is wanted of others' data. Who leaves something out cannot be a logger any more.
    pub fn set_interest(&mut self, interest: Interest) {
        if let Some(loggers) = self.loggers.as_mut().filter(|_| interest != Interest::All) {
            loggers.is_giving_up = true;
        }
        self.receive.interest = interest;
        for remote in self.members.remotes.values_mut() {
            if let Some(speaker) = &mut remote.speaker {
                speaker.origin.apply_interest(&mut self.receive);
            }
        }
    }
}
