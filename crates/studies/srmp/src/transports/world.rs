//! The event loop of a run: sites send messages, lines carry datagrams, and deliveries are counted.

use std::net::SocketAddr;
use std::rc::Rc;

use base::{Moment, Seed};
use bytes::{Bytes, BytesMut};
use srmp::model::{DataId, MemberId, Profile, StreamKey};
use srmp::wire::Record;
use srmp::{Channel, Config, ConfigError, Destination, Endpoint, Event, SendError};

use super::links::{End, sum};
use super::outcome::{Glimpse, Outcome, Scores};
use super::star::{Fate, Star};
use super::trace::Trace;
use super::{Kind, Setup};
use crate::tcp::{self, Segment};
use netsim::EventQueue;
use netsim::{EVENTS_OF_A_STEP, EVENTS_PER_MOMENT_MAX};

/// Octets of IPv4 and UDP headers.
const HEADERS: usize = 28;
const PORT: u16 = 5_000;
/// Octets written at once to a competing connection, so that it always has data to send.
const PLENTY: u64 = 1 << 50;

/// A run that failed.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Invalid settings of an endpoint.
    #[error(transparent)]
    Endpoint(#[from] ConfigError),
    /// A message that its endpoint cannot carry.
    #[error("a message of an object: {0}")]
    Send(#[from] SendError),
    /// An invalid workload.
    #[error(transparent)]
    Traffic(#[from] workload::ConfigError),
    /// Fewer than two sites, more sending sites than sites, or a site without lines.
    #[error("{sites} sites, of which {sources} send: expected two or more, all of them with lines")]
    Sites {
        /// Number of sites.
        sites: usize,
        /// Number of sending sites.
        sources: usize,
    },
    /// Time does not advance.
    #[error("more than {EVENTS_PER_MOMENT_MAX} events at {0}")]
    Livelock(Moment),
    /// The caller stopped the run.
    #[error("stopped by its caller")]
    Stopped,
}

/// The contents of a datagram.
#[derive(Debug)]
enum Payload {
    Srmp(Bytes),
    /// A single message, by its index.
    Plain(usize),
    /// A segment for the end with this index, from its peer.
    Tcp(usize, Segment),
}

#[derive(Debug)]
struct Packet {
    from: usize,
    /// The receiving site; `None` for all others.
    to: Option<usize>,
    bytes: usize,
    payload: Payload,
}

/// An event of the simulation.
enum Next {
    /// The next message of the trace is due.
    Message,
    /// A datagram reaches the core.
    Core(Rc<Packet>),
    /// A datagram reaches the downlink of a site.
    Edge(usize, Rc<Packet>),
    /// A datagram arrives at a site.
    Arrive(usize, Rc<Packet>),
    /// The timer of an SRMP endpoint expires.
    Wake(usize),
    /// The timer of an end of a connection expires.
    WakeEnd(usize),
    /// A site writes its collected messages.
    Flush(usize),
    /// A competing connection begins (true) or ends.
    Bulk(usize, bool),
    Die(usize),
    Glimpse,
}

struct World<'a> {
    setup: &'a Setup,
    trace: &'a Trace,
    now: Moment,
    queue: EventQueue<Next>,
    star: Star,
    scores: Scores,
    next: usize,
    endpoints: Vec<Option<Endpoint>>,
    wakes: Vec<Moment>,
    ends: Vec<End>,
    /// Ends by site and peer's site; `None` on the diagonal.
    mesh: Vec<Option<usize>>,
    /// Messages that each site has collected for its next write.
    collected: Vec<Vec<usize>>,
    glimpses: Vec<Glimpse>,
    /// Octets on the first site's uplink since the last sample: those of the transport, and those
    /// of competing connections.
    seen: [u64; 2],
    events: u64,
}

/// Sends all messages of `trace`. The randomness of the lines derives from `seed`. `go_on` is
/// called every few hundred events and stops the run by returning false.
///
/// # Errors
/// [`TransportError`]: invalid settings, or time does not advance; [`TransportError::Stopped`] if
/// `go_on` stops the run.
pub fn run(
    setup: &Setup,
    trace: &Trace,
    seed: Seed,
    mut go_on: impl FnMut() -> bool,
) -> Result<Outcome, TransportError> {
    let (sites, sources) = (setup.star.sites, trace.sources);
    if sites < 2 || sources > sites || setup.star.up.len() != sites || setup.star.down.len() != sites {
        return Err(TransportError::Sites { sites, sources });
    }
    let mut world = World::new(setup, trace, seed)?;
    world.run_until(Moment::ZERO + trace.run + setup.settle, &mut go_on)?;
    let mut outcome = world.scores.outcome(trace, setup.settle);
    outcome.carried = world.star.carried();
    outcome.tcp = sum(&world.ends);
    outcome.glimpses = world.glimpses;
    outcome.events = world.events;
    Ok(outcome)
}

impl<'a> World<'a> {
    fn new(setup: &'a Setup, trace: &'a Trace, seed: Seed) -> Result<Self, TransportError> {
        let sites = setup.star.sites;
        let way = setup.star.way.phases()[0].spec.delay;
        let mut world = Self {
            setup,
            trace,
            now: Moment::ZERO,
            queue: EventQueue::new(),
            star: Star::new(&setup.star, seed.split("lines")),
            scores: Scores::new(trace, sites, way),
            next: 0,
            endpoints: Vec::new(),
            wakes: vec![Moment::MAX; sites],
            ends: Vec::new(),
            mesh: vec![None; sites * sites],
            collected: vec![Vec::new(); sites],
            glimpses: Vec::new(),
            seen: [0; 2],
            events: 0,
        };
        match setup.kind {
            Kind::Srmp(tune) => world.join(tune, seed)?,
            Kind::Tcp { config, .. } | Kind::Hybrid { config } => world.connect_all(config),
            Kind::Multicast => {}
        }
        for bulk in &setup.bulk {
            let first = world.connect(tcp::Config::MODERN, bulk.from, bulk.to, true);
            world.queue.push(Moment::ZERO + bulk.begin, Next::Bulk(first, true));
            world.queue.push(Moment::ZERO + bulk.end, Next::Bulk(first, false));
        }
        for (site, at) in &setup.deaths {
            world.queue.push(Moment::ZERO + *at, Next::Die(*site));
        }
        if let Some(first) = trace.messages.first() {
            world.queue.push(first.at, Next::Message);
        }
        if let Some(every) = setup.glimpse_every {
            world.queue.push(Moment::ZERO + every, Next::Glimpse);
        }
        Ok(world)
    }

    fn join(&mut self, tune: fn(&mut Config), seed: Seed) -> Result<(), TransportError> {
        for site in 0..self.setup.star.sites {
            let mut config = Config::new(Profile::V3, MemberId(site as u64 + 1));
            tune(&mut config);
            let seed = seed.split("endpoint").split_index(site as u64);
            self.endpoints.push(Some(Endpoint::new(config, seed, self.now)?));
        }
        (0..self.setup.star.sites).for_each(|site| self.drain(site));
        Ok(())
    }

    fn connect_all(&mut self, config: tcp::Config) {
        let sites = self.setup.star.sites;
        for a in 0..sites {
            for b in a + 1..sites {
                let first = self.connect(config, a, b, false);
                (self.mesh[a * sites + b], self.mesh[b * sites + a]) = (Some(first), Some(first + 1));
            }
        }
    }

    /// Opens a connection. Returns the index of its end at `a`; the end at `b` has the next index.
    fn connect(&mut self, config: tcp::Config, a: usize, b: usize, is_bulk: bool) -> usize {
        let first = self.ends.len();
        self.ends.push(End::new(config, a, first + 1, is_bulk));
        self.ends.push(End::new(config, b, first, is_bulk));
        first
    }

    fn run_until(&mut self, until: Moment, go_on: &mut impl FnMut() -> bool) -> Result<(), TransportError> {
        let mut at_this_moment = 0;
        while let Some((at, next)) = self.queue.pop_until(until) {
            at_this_moment = if at > self.now { 0 } else { at_this_moment + 1 };
            if at_this_moment > EVENTS_PER_MOMENT_MAX {
                return Err(TransportError::Livelock(at));
            }
            self.now = at;
            self.events += 1;
            self.happen(next)?;
            if self.events.is_multiple_of(EVENTS_OF_A_STEP) && !go_on() {
                return Err(TransportError::Stopped);
            }
        }
        Ok(())
    }

    fn happen(&mut self, next: Next) -> Result<(), TransportError> {
        match next {
            Next::Message => self.messages()?,
            Next::Core(packet) => self.core(&packet),
            Next::Edge(to, packet) => match self.star.down(self.now, to, packet.bytes) {
                Fate::At(at) => self.queue.push(at, Next::Arrive(to, packet)),
                Fate::Lost => self.lose(to, &packet),
            },
            Next::Arrive(to, packet) => self.arrive(to, &packet),
            Next::Wake(site) => self.wake(site),
            Next::WakeEnd(end) => self.wake_end(end),
            Next::Flush(site) => self.flush(site),
            Next::Bulk(end, begins) => {
                if begins {
                    self.ends[end].tcp.write(PLENTY);
                    self.pump(end);
                } else {
                    // The connection is cut: both ends leave their sites.
                    let peer = self.ends[end].peer;
                    (self.ends[end].site, self.ends[peer].site) = (usize::MAX, usize::MAX);
                }
            }
            Next::Die(site) => self.endpoints[site] = None,
            Next::Glimpse => self.glimpse(),
        }
        Ok(())
    }

    fn messages(&mut self) -> Result<(), TransportError> {
        let trace = self.trace;
        while let Some(message) = trace.messages.get(self.next).filter(|message| message.at <= self.now) {
            let index = self.next;
            self.next += 1;
            self.scores.send(self.now, trace, index);
            match self.setup.kind {
                Kind::Srmp(_) => self.submit(index)?,
                Kind::Multicast => self.send_plain(index),
                Kind::Hybrid { .. } if !message.is_reliable => self.send_plain(index),
                Kind::Hybrid { .. } => self.write(message.site, &[index]),
                Kind::Tcp { batch, .. } if batch.is_zero() => self.write(message.site, &[index]),
                Kind::Tcp { batch, .. } => {
                    if self.collected[message.site].is_empty() {
                        self.queue.push(self.now + batch, Next::Flush(message.site));
                    }
                    self.collected[message.site].push(index);
                }
            }
        }
        if let Some(message) = trace.messages.get(self.next) {
            self.queue.push(message.at, Next::Message);
        }
        Ok(())
    }

    fn send_plain(&mut self, index: usize) {
        let message = &self.trace.messages[index];
        let (from, bytes) = (message.site, message.size + HEADERS);
        self.send(Packet { from, to: None, bytes, payload: Payload::Plain(index) });
    }

    fn flush(&mut self, site: usize) {
        let collected = std::mem::take(&mut self.collected[site]);
        self.write(site, &collected);
    }

    /// Writes messages on all connections of a site.
    fn write(&mut self, site: usize, indices: &[usize]) {
        let sites = self.setup.star.sites;
        for to in 0..sites {
            let Some(end) = self.mesh[site * sites + to] else { continue };
            for index in indices {
                let size = self.trace.messages[*index].size;
                self.ends[end].write(*index, size);
            }
            self.pump(end);
        }
    }

    /// Sends the segments of an end of a connection, and schedules its next timeout.
    fn pump(&mut self, number: usize) {
        while let Some(segment) = self.ends[number].tcp.poll_transmit(self.now) {
            let end = &self.ends[number];
            let (from, to) = (end.site, self.ends[end.peer].site);
            if from == usize::MAX {
                return;
            }
            let bytes = segment.wire_bytes();
            let payload = Payload::Tcp(end.peer, segment);
            self.send(Packet { from, to: Some(to), bytes, payload });
        }
        let end = &mut self.ends[number];
        let due = end.tcp.poll_timeout().unwrap_or(Moment::MAX).max(self.now);
        if due < end.wake {
            end.wake = due;
            self.queue.push(due, Next::WakeEnd(number));
        }
    }

    fn wake_end(&mut self, number: usize) {
        let end = &mut self.ends[number];
        if end.wake != self.now {
            return;
        }
        end.wake = Moment::MAX;
        if end.tcp.poll_timeout().is_some_and(|due| due <= self.now) {
            end.tcp.handle_timeout(self.now);
        }
        self.pump(number);
    }

    fn submit(&mut self, index: usize) -> Result<(), TransportError> {
        let message = self.trace.messages[index];
        let Some(endpoint) = &mut self.endpoints[message.site] else { return Ok(()) };
        let mut body = BytesMut::zeroed(message.size);
        body[..8].copy_from_slice(&(index as u64).to_be_bytes());
        let element = message.element as u32;
        if message.is_reliable {
            endpoint.send_mode1(self.now, DataId(element), body.freeze(), true)?;
        } else {
            endpoint.send_mode0(self.now, Some(StreamKey(element)), 0, body.freeze())?;
        }
        self.drain(message.site);
        Ok(())
    }

    /// Takes the datagrams and events of an endpoint, and schedules its next timeout.
    fn drain(&mut self, site: usize) {
        loop {
            let Some(endpoint) = &mut self.endpoints[site] else { return };
            let Some(transmit) = endpoint.poll_transmit(self.now) else { break };
            let to = match transmit.to {
                Destination::Group => None,
                Destination::Site => continue, // nobody else is there
                Destination::Unicast(address) => match site_of(address, self.endpoints.len()) {
                    Some(to) => Some(to),
                    None => continue,
                },
            };
            let bytes = transmit.datagram.len() + HEADERS;
            self.send(Packet { from: site, to, bytes, payload: Payload::Srmp(transmit.datagram) });
        }
        while let Some(event) = self.endpoints[site].as_mut().and_then(Endpoint::poll_event) {
            let (Event::Mode0 { body, .. } | Event::Mode1 { body, .. }) = event else { continue };
            self.scores.deliver(self.now, self.trace, index_of(&body), site);
        }
        let due = self.endpoints[site].as_ref().and_then(Endpoint::poll_timeout).unwrap_or(Moment::MAX);
        let due = due.max(self.now);
        if due < self.wakes[site] {
            self.wakes[site] = due;
            self.queue.push(due, Next::Wake(site));
        }
    }

    fn wake(&mut self, site: usize) {
        if self.wakes[site] != self.now {
            return;
        }
        self.wakes[site] = Moment::MAX;
        let Some(endpoint) = &mut self.endpoints[site] else { return };
        if endpoint.poll_timeout().is_some_and(|due| due <= self.now) {
            endpoint.handle_timeout(self.now);
        }
        self.drain(site);
    }

    fn send(&mut self, packet: Packet) {
        let packet = Rc::new(packet);
        match self.star.up(self.now, packet.from, packet.bytes) {
            Fate::At(at) => {
                if packet.from == 0 {
                    let competes = matches!(packet.payload, Payload::Tcp(end, _) if self.ends[end].is_bulk);
                    self.seen[usize::from(competes)] += packet.bytes as u64;
                }
                self.queue.push(at, Next::Core(packet));
            }
            Fate::Lost => {
                for to in (0..self.setup.star.sites).filter(|to| packet.is_for(*to)) {
                    self.lose(to, &packet);
                }
            }
        }
    }

    fn core(&mut self, packet: &Rc<Packet>) {
        for to in (0..self.setup.star.sites).filter(|to| packet.is_for(*to)) {
            match self.star.way(self.now, packet.from, to, packet.bytes) {
                Fate::At(at) => self.queue.push(at, Next::Edge(to, Rc::clone(packet))),
                Fate::Lost => self.lose(to, packet),
            }
        }
    }

    fn arrive(&mut self, to: usize, packet: &Packet) {
        match &packet.payload {
            Payload::Plain(index) => self.scores.deliver(self.now, self.trace, *index, to),
            Payload::Srmp(datagram) => {
                let via = if packet.to.is_some() { Channel::Unicast } else { Channel::Group };
                let Some(endpoint) = &mut self.endpoints[to] else { return };
                endpoint.handle_datagram(self.now, address(packet.from), via, datagram);
                self.drain(to);
            }
            Payload::Tcp(number, segment) => {
                let peer = self.ends[*number].peer;
                self.ends[*number].tcp.handle_segment(self.now, segment);
                if !self.ends[*number].is_bulk {
                    let unordered = matches!(self.setup.kind, Kind::Tcp { unordered: true, .. });
                    let two = self.ends.get_disjoint_mut([*number, peer]);
                    let [here, sender] = two.expect("an end is not its own peer");
                    for index in sender.take_delivered(&here.tcp, unordered) {
                        self.scores.deliver(self.now, self.trace, index, to);
                    }
                }
                self.pump(*number);
            }
        }
    }

    /// Notes the messages that a site misses because a datagram is lost, if it is their first
    /// transmission.
    fn lose(&mut self, to: usize, packet: &Packet) {
        match &packet.payload {
            Payload::Plain(index) => self.scores.lose(*index, to),
            Payload::Tcp(number, segment) if !segment.again => {
                let sender = &self.ends[self.ends[*number].peer];
                sender.within(segment).for_each(|index| self.scores.lose(index, to));
            }
            Payload::Tcp(..) => {}
            Payload::Srmp(datagram) => {
                let Some(endpoint) = &self.endpoints[packet.from] else { return };
                let envelope = endpoint.format().decode(datagram).ok();
                let Some(read) = envelope.and_then(|envelope| envelope.without_protection().ok()) else {
                    return;
                };
                for record in read.records().filter_map(Result::ok) {
                    // For a repair, either its first transmission was noted as lost already, or it
                    // had arrived.
                    if let Record::Mode1(message) = record
                        && !message.flags.intersects(REPEATED)
                    {
                        self.scores.lose(index_of(&message.body), to);
                    }
                }
            }
        }
    }

    fn glimpse(&mut self) {
        let Some(every) = self.setup.glimpse_every else { return };
        let rate = |bytes: u64| bytes as f64 * 8.0 / every.as_secs_f64();
        let allowed =
            self.endpoints.first().and_then(Option::as_ref).map_or(0.0, |endpoint| endpoint.rate().rate);
        let [own, competing] = std::mem::take(&mut self.seen);
        self.glimpses.push(Glimpse {
            at: self.now.since(Moment::ZERO),
            allowed,
            carried: rate(own),
            competing: rate(competing),
            backlog: self.star.backlog(self.now, 0),
        });
        self.queue.push(self.now + every, Next::Glimpse);
    }
}

/// Flags of mode 1 messages that are not first transmissions.
const REPEATED: srmp::wire::Mode1Flags = srmp::wire::Mode1Flags::REPAIR.union(srmp::wire::Mode1Flags::COPY);

impl Packet {
    fn is_for(&self, site: usize) -> bool {
        self.to.map_or(site != self.from, |to| to == site)
    }
}

/// The index of a message, with which its body begins.
fn index_of(body: &[u8]) -> usize {
    body.first_chunk().map_or(usize::MAX, |number| u64::from_be_bytes(*number) as usize)
}

fn address(site: usize) -> SocketAddr {
    let [.., a, b, c] = (site as u32).to_be_bytes();
    SocketAddr::from(([10, a, b, c], PORT))
}

fn site_of(address: SocketAddr, sites: usize) -> Option<usize> {
    let std::net::IpAddr::V4(ip) = address.ip() else { return None };
    let [_, a, b, c] = ip.octets();
    Some(u32::from_be_bytes([0, a, b, c]) as usize).filter(|site| *site < sites)
}
