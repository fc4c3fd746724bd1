//! A sender, its receivers and the lines between them, in virtual time.

pub(crate) mod line;
pub(crate) mod tcp;

use base::{Moment, Rng, Seed};
use line::{Line, Losses};
use rand_core::RngCore;
use srmp::model::{Clock, MemberId, Profile, Seq};
use srmp::rate::{BundleInfo, Config, Feedback, Rate, Receiver, Sender};
use std::collections::BTreeMap;
use std::time::Duration;
use tcp::Tcp;

/// Bytes of a bundle.
pub(crate) const BYTES: usize = 1_000;
/// Bytes of the headers of IP and UDP on the lines.
const HEADERS: usize = 28;
const SENDER: MemberId = MemberId(1);

/// A receiver and its path to the sender.
pub(crate) struct Peer {
    pub(crate) machine: Receiver,
    pub(crate) losses: Losses,
    /// The one-way delay in either direction.
    pub(crate) delay: Duration,
    /// Whether nothing arrives or leaves any longer.
    pub(crate) dead: bool,
    armed: Option<Moment>,
}

enum Event {
    Send(u64),
    Bundle(usize, BundleInfo),
    /// A report reaches the sender (`None`) or a receiver.
    Report(Option<usize>, Feedback),
    Timer(usize),
    SenderTimer,
    TcpAck(u64),
    TcpTimer,
}

/// Measurements over a span of time.
#[derive(Default)]
pub(crate) struct Seen {
    /// The integral of X over time.
    integral: f64,
    since: Moment,
    pub(crate) reports: u64,
    pub(crate) bundles: u64,
    pub(crate) tcp_packets: u64,
}

/// A sender, a shared line, and receivers behind it. The sender always has something to send; the
/// spacing of its bundles is half to one and a half of the mean.
pub(crate) struct World {
    pub(crate) now: Moment,
    pub(crate) sender: Sender,
    pub(crate) peers: Vec<Peer>,
    pub(crate) line: Option<Line>,
    pub(crate) tcp: Option<Tcp>,
    pub(crate) seen: Seen,
    clock: Clock,
    events: BTreeMap<(Moment, u64), Event>,
    numbered: u64,
    seq: u32,
    last_sent: Moment,
    planned: (Moment, u64),
    sender_armed: Option<Moment>,
    rng: Rng,
    /// The share of its interval that the next bundle takes.
    share: f64,
}

impl World {
    pub(crate) fn new(config: &Config, peers: Vec<(Duration, Losses)>) -> Self {
        let config = Config { bundle_bytes: BYTES, ..config.clone() };
        let peer = |(index, (delay, losses)): (usize, (Duration, Losses))| {
            let id = MemberId(index as u64 + 2);
            let machine = Receiver::new(config.clone(), id, SENDER, Seed(5).split_index(id.0));
            Peer { machine, losses, delay, dead: false, armed: None }
        };
        let mut world = Self {
            now: Moment::ZERO,
            sender: Sender::new(config.clone(), SENDER, Moment::ZERO),
            peers: peers.into_iter().enumerate().map(peer).collect(),
            line: None,
            tcp: None,
            seen: Seen::default(),
            clock: config.clock,
            events: BTreeMap::new(),
            numbered: 0,
            seq: 0,
            last_sent: Moment::ZERO,
            planned: (Moment::MAX, 0),
            sender_armed: None,
            rng: Seed(6).rng(),
            share: 1.0,
        };
        world.plan_send();
        world
    }

    /// A sender with receivers, with the defaults of profile v3.
    pub(crate) fn v3(peers: Vec<(Duration, Losses)>) -> Self {
        Self::new(&Config::new(Profile::V3), peers)
    }

    pub(crate) fn with_tcp(mut self, rtt: Duration) -> Self {
        self.tcp = Some(Tcp::new(rtt));
        self.schedule(Moment::ZERO, Event::TcpTimer);
        self
    }

    /// Runs for `time`. Returns the mean of X in bit/s.
    pub(crate) fn run(&mut self, time: Duration) -> f64 {
        let end = self.now + time;
        self.seen = Seen { since: self.now, ..Seen::default() };
        while let Some((&(at, _), _)) = self.events.first_key_value().filter(|((at, _), _)| *at <= end) {
            self.pass(at);
            let Some((_, event)) = self.events.pop_first() else { break };
            self.handle(&event);
        }
        self.pass(end);
        self.seen.integral / (end - self.seen.since).as_secs_f64()
    }

    fn pass(&mut self, at: Moment) {
        self.seen.integral += self.sender.rate().bits_per_second() * (at - self.now).as_secs_f64();
        self.now = at;
    }

    fn schedule(&mut self, at: Moment, event: Event) {
        self.numbered += 1;
        self.events.insert((at.max(self.now), self.numbered), event);
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Send(number) if number == self.planned.1 => self.send(),
            Event::Send(_) => {}
            Event::Bundle(index, bundle) => {
                let now = self.now;
                self.with_peer(index, |machine| machine.handle_bundle(now, &bundle));
            }
            Event::Report(Some(index), feedback) => {
                self.with_peer(index, |machine| machine.handle_feedback(&feedback));
            }
            Event::Report(None, feedback) => {
                self.sender.handle_feedback(self.now, &feedback);
                self.after_sender();
            }
            Event::Timer(index) => {
                let now = self.now;
                self.peers[index].armed = None;
                self.with_peer(index, |machine| {
                    if machine.poll_timeout().is_some_and(|at| at <= now) {
                        machine.handle_timeout(now);
                    }
                });
            }
            Event::SenderTimer => {
                self.sender_armed = None;
                self.sender.handle_timeout(self.now);
                self.after_sender();
            }
            Event::TcpAck(number) => {
                self.seen.tcp_packets += 1;
                self.tcp.iter_mut().for_each(|tcp| tcp.handle_ack(self.now, number));
                self.send_tcp();
            }
            Event::TcpTimer => {
                self.tcp.iter_mut().for_each(|tcp| tcp.handle_timeout(self.now));
                self.send_tcp();
                self.schedule(self.now + Duration::from_millis(50), Event::TcpTimer);
            }
        }
    }

    fn send(&mut self) {
        let (now, info) = (self.now, self.sender.info(self.now));
        self.sender.handle_sent(now, BYTES);
        self.seen.bundles += 1;
        self.seq += 1;
        self.last_sent = now;
        let bundle = BundleInfo { seq: Seq(self.seq), bytes: BYTES, stamp: self.clock.stamp(now), info };
        let leaves = match &mut self.line {
            Some(line) => line.pass(now, BYTES + HEADERS),
            None => Some(now),
        };
        if let Some(leaves) = leaves {
            for index in 0..self.peers.len() {
                let peer = &mut self.peers[index];
                if !peer.losses.next() {
                    let at = leaves + peer.delay;
                    self.schedule(at, Event::Bundle(index, bundle));
                }
            }
        }
        // Flows of perfectly even packets would lock into the phase of a queue, so that one of them
        // never loses.
        self.share = 0.5 + (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        self.planned.0 = Moment::MAX;
        self.after_sender();
    }

    fn with_peer(&mut self, index: usize, act: impl FnOnce(&mut Receiver)) {
        let peer = &mut self.peers[index];
        if peer.dead {
            return;
        }
        act(&mut peer.machine);
        let feedback = peer.machine.poll_feedback(self.now);
        let wake = peer.machine.poll_timeout().filter(|&at| peer.armed.is_none_or(|armed| at < armed));
        peer.armed = wake.or(peer.armed);
        if let Some(at) = wake {
            self.schedule(at, Event::Timer(index));
        }
        let Some(feedback) = feedback else { return };
        self.seen.reports += 1;
        let at = self.now + self.peers[index].delay;
        self.schedule(at, Event::Report(None, feedback));
        for other in (0..self.peers.len()).filter(|&other| other != index) {
            let at = at + self.peers[other].delay;
            self.schedule(at, Event::Report(Some(other), feedback));
        }
    }

    fn after_sender(&mut self) {
        self.plan_send();
        let wake = self.sender.poll_timeout();
        if let Some(at) = wake.filter(|&at| self.sender_armed.is_none_or(|armed| at < armed)) {
            self.sender_armed = Some(at);
            self.schedule(at, Event::SenderTimer);
        }
    }

    /// Plans the next bundle for the time that the rate allows. A rate that has risen brings it
    /// forward.
    fn plan_send(&mut self) {
        let at = self.last_sent + self.sender.rate().time_of(self.share * BYTES as f64);
        if at < self.planned.0 {
            self.planned = (at, self.planned.1 + 1);
            self.schedule(at, Event::Send(self.planned.1));
        }
    }

    fn send_tcp(&mut self) {
        let (Some(tcp), Some(line)) = (&mut self.tcp, &mut self.line) else { return };
        let mut acks = Vec::new();
        while let Some(number) = tcp.next_packet(self.now) {
            if let Some(leaves) = line.pass(self.now, BYTES + HEADERS) {
                acks.push((leaves + tcp.rtt(), number));
            }
        }
        for (at, number) in acks {
            self.schedule(at, Event::TcpAck(number));
        }
    }

    /// X now, in bit/s.
    pub(crate) fn rate(&self) -> f64 {
        self.sender.rate().bits_per_second()
    }

    /// The CLR, as an index of the receivers.
    pub(crate) fn clr(&self) -> Option<usize> {
        self.sender.clr().map(|member| member.0 as usize - 2)
    }
}

/// A rate, for tests.
pub(crate) fn rate(bits_per_second: f64) -> Rate {
    Rate::new(bits_per_second).expect("a rate")
}
