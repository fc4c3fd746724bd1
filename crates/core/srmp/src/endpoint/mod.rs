//! One member of one group, with all machines connected.
//!
//! | module | concern |
//! | --- | --- |
//! | [`submit`] | requests of the application |
//! | [`outgoing`] | bundles, and the times at which they leave |
//! | [`datagrams`] | numbering, sealing and queueing of outgoing datagrams |
//! | [`incoming`] | received datagrams, record by record |
//! | [`membership`] | members that join, leave, restart, or share one identity |
//! | [`members`] | the state kept of members |
//! | [`loggers`] | this member's role among loggers |
//! | [`asking`], [`serving`] | repair requests to loggers, and those that this member serves |
//! | [`syncing`] | transfers of the whole state to joining members |

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

use crate::auth::{Decryptor, DecryptorLimits, Encryptor, Signer, Verifier};
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

/// One member of one group: one daemon for all its local applications.
///
/// # Contract
/// - `now` never goes back. Call [`handle_timeout`](Self::handle_timeout) at
///   [`poll_timeout`](Self::poll_timeout) or soon after.
/// - After any call that takes `now`, call [`poll_transmit`](Self::poll_transmit) until it returns
///   `None`, and [`poll_event`](Self::poll_event) likewise.
/// - The sender may receive its own datagrams to the group: they are ignored. One socket on the
///   group's port must send and receive all unicast datagrams, since RFC 4410 names no group in
///   mode 2, so that the port identifies it.
/// - No input can make it panic, hang, or allocate without bound. Faults are counted.
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    format: Format,
    writer: Writer,
    encryptor: Option<Encryptor>,
    decryptor: Option<Decryptor>,
    signer: Option<Signer>,
    verifier: Option<Verifier>,
    /// The number of datagrams so far (v3).
    datagrams: u64,
    /// The number of bundles so far.
    bundles: u64,
    sender: Sender,
    shaper: Shaper<Queued>,
    rate: rate::Sender,
    bundle: Bundle,
    receive: Shared,
    members: Members,
    /// Members that have repair requests due.
    asking: Vec<MemberId>,
    /// Members for whose data a logger has to be asked.
    asking_near: Vec<MemberId>,
    /// `None` in profile v2 and in strict.
    loggers: Option<Box<Loggers>>,
    mode2: Mode2,
    /// The next mode 2 numbers: per data element in v2, one for all in v3.
    transactions: BTreeMap<DataId, u64>,
    seed: Seed,
    tickets: u64,
    last_bundle: Moment,
    /// Nothing has been sent yet.
    hello: bool,
    left: bool,
    out: VecDeque<Transmit>,
    events: VecDeque<Event>,
    counters: EndpointCounters,
    /// A scratch buffer, like the next two.
    announced: Vec<Dsn>,
    nacks: Vec<NackItem>,
    asked: Vec<(MemberId, usize)>,
}

impl Endpoint {
    /// Creates a member that has just joined. Its first bundle announces it to the others.
    ///
    /// # Errors
    /// [`ConfigError`] when settings are invalid.
    pub fn new(mut config: Config, seed: Seed, now: Moment) -> Result<Self, ConfigError> {
        let format = config.format()?;
        let mut receive = Shared::new(config.receive(), seed.split("receive"), now);
        receive.interest = std::mem::take(&mut config.interest);
        let rate = rate::Sender::new(config.rate.clone(), config.member, now);
        let shaper = Shaper::new(config.shaper.clone(), rate.rate(), seed.split("shaper"), now);
        let encryptor =
            config.keys.as_ref().and_then(|keys| Encryptor::new(keys, &format, config.member, config.epoch));
        let limits = DecryptorLimits { senders_max: config.limits.members_max, ..DecryptorLimits::default() };
        let decryptor = config.keys.as_ref().map(|keys| Decryptor::new(keys, &format, limits));
        // Others detect the restart of a v2 sender by a jump of its numbers, so it must begin
        // elsewhere than before.
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
            encryptor,
            decryptor,
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
            nacks: Vec::new(),
            asked: Vec::new(),
            config,
        })
    }

    /// The next datagram to send.
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

    /// The time at which to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Moment> {
        let again = self.sender.again_at(Moment::ZERO);
        let shaped = self.shaper.poll_timeout();
        let announced = self.announce_at();
        let bundles =
            [self.bundle.flush_at(), self.heartbeat_at(), self.sender.deadline(), again, shaped, announced];
        // A member that has left sends no bundles, so none is due.
        let bundles = bundles.into_iter().filter(|_| !self.left);
        let others =
            [self.rate.poll_timeout(), self.mode2.deadline(), self.members.deadline(), self.loggers_at()];
        bundles.chain(others).flatten().min()
    }

    /// Handles the timers that have expired.
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

    /// All counters.
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

    /// This member's role among the loggers of its site; `None` when the site has none.
    pub fn logger(&self) -> Option<LoggerView> {
        self.loggers.as_ref().filter(|loggers| loggers.config.site).map(|loggers| loggers.view())
    }

    /// The state of this member's congestion control.
    pub fn rate(&self) -> RateView {
        RateView {
            rate: self.rate.rate().bits_per_second(),
            suppression: self.rate.suppression().bits_per_second(),
            rtt_max: self.rate.rtt_max(),
            clr: self.rate.clr(),
        }
    }

    /// The identity of this member.
    pub fn member(&self) -> MemberId {
        self.config.member
    }

    /// The wire format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The other members that have been heard and are not forgotten, in order of their identities.
    /// Only a sample of the members that only listen, if there are more than
    /// [`Limits::listeners_max`].
    pub fn members(&self) -> impl Iterator<Item = MemberView> + '_ {
        self.members.remotes.iter().map(|(member, remote)| remote.view(*member))
    }

    /// The number of members heard recently; an estimate when only a sample is kept.
    pub fn live_members(&self) -> u32 {
        self.members.live
    }

    /// The number of mode 1 messages or segments that wait for the rate.
    pub fn reliable_waiting(&self) -> usize {
        self.shaper.waiting().0
    }

    /// The number of messages or segments of modes 0 and 1 that wait for the rate.
    pub fn waiting(&self) -> usize {
        let (reliable, best_effort) = self.shaper.waiting();
        reliable + best_effort
    }

    /// The newest messages held of a member, for an application that starts later. A message is
    /// empty when memory was short or [nothing is kept](Config::keeps_state).
    pub fn messages(&self, member: MemberId) -> impl Iterator<Item = (DataId, crate::model::Sn, &[u8])> + '_ {
        let remote_sender = self.members.remotes.get(&member).and_then(|remote| remote.sender.as_ref());
        remote_sender.into_iter().flat_map(|remote_sender| remote_sender.origin.messages())
    }

    /// The share of this member's mode 1 messages that some receiver misses after the first
    /// sending, as recent reports and NACKs show it. From above 0.8 until it falls to 0.5, a copy
    /// costs no more than the repair that it saves. Below that a copy may still be worth paying for
    /// from [`copy_share`](Config::copy_share).
    pub fn missed_share(&self) -> f64 {
        self.sender.missed_share()
    }

    /// This member's data elements with their newest messages.
    pub fn own_messages(&self) -> impl Iterator<Item = (Dsn, &Bytes)> + '_ {
        self.sender.messages()
    }

    /// Bytes held of others' messages.
    pub fn held_bytes(&self) -> usize {
        self.receive.bytes
    }

    /// Changes the data of others that this member wants. A member that does not want all data can
    /// no longer be a logger.
    pub fn set_interest(&mut self, interest: Interest) {
        if let Some(loggers) = self.loggers.as_mut().filter(|_| interest != Interest::All) {
            loggers.is_giving_up = true;
        }
        self.receive.interest = interest;
        for remote in self.members.remotes.values_mut() {
            if let Some(remote_sender) = &mut remote.sender {
                remote_sender.origin.apply_interest(&mut self.receive);
            }
        }
    }
}
