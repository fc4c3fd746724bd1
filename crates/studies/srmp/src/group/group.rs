//! A group of members in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use base::{Moment, Rng, Seed};
use bytes::{Bytes, BytesMut};
use rand_core::RngCore;
use srmp::model::{DataId, Epoch, MemberId, Profile, StreamKey};
use srmp::{Channel, Config, ConfigError, Destination, Endpoint, Event, SendError, Transmit};
use srmp::{LoggerConfig, LoggerRole};
use wan::SpecError;
use workload::{Emission, Generator, Mode, Workload};

use super::cargo::{Cargo, HEADERS};
use super::layout::{Layout, Lines, LossAt};
use super::ledger::Ledger;
use super::objects::Objects;
use super::report::{Crossings, Report, Sent};
use super::totals::Totals;
use netsim::EventQueue;
use netsim::{EVENTS_OF_A_STEP, EVENTS_PER_MOMENT_MAX};

/// The port of the group.
const PORT: u16 = 5_000;
/// The tier of a logger that serves other sites.
const REGION: u8 = 1;
/// Octets of the message by which a restarted host introduces an object.
const INTRODUCTION_BYTES: usize = 250;

/// The settings of a group: its layout, its traffic and its faults.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Hosts and lines.
    pub layout: Layout,
    /// The objects of all sources, divided equally among the first [`sources`](Self::sources)
    /// hosts.
    pub workload: Workload,
    /// Number of hosts with objects.
    pub sources: usize,
    /// Changes the settings of an endpoint.
    pub tune: fn(&mut Config),
    /// Mode 1 messages do not wait for others of the same bundle.
    pub urgent: bool,
    /// Hosts join at random moments within this time from the start.
    pub join_within: Duration,
    /// Time from the start to the first traffic.
    pub traffic_from: Duration,
    /// Duration of the traffic.
    pub run: Duration,
    /// Time from the end of the traffic to the end of the run.
    pub settle: Duration,
    /// Deaths of hosts: host, moment, and time until it restarts without its state.
    pub crashes: Vec<(usize, Duration, Duration)>,
    /// Deaths of region loggers: moment, and time until the host restarts without its state. The
    /// victim is a region logger at that moment.
    pub region_crashes: Vec<(Duration, Duration)>,
    /// Hosts use loggers, and each may become the logger of its site.
    pub loggers: bool,
}

/// A group that cannot run, or that was stopped.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// Invalid settings of a line.
    #[error(transparent)]
    Line(#[from] SpecError),
    /// Invalid settings of an endpoint.
    #[error(transparent)]
    Endpoint(#[from] ConfigError),
    /// An invalid workload.
    #[error(transparent)]
    Traffic(#[from] workload::ConfigError),
    /// Objects that cannot be divided equally among the sources, or more sources than hosts.
    #[error("{objects} objects do not go evenly on {sources} of {hosts} hosts")]
    Objects {
        /// Number of objects.
        objects: u64,
        /// Number of sources.
        sources: usize,
        /// Number of hosts.
        hosts: usize,
    },
    /// A message that its endpoint cannot carry.
    #[error("a message of an object: {0}")]
    Send(#[from] SendError),
    /// Time does not advance.
    #[error("more than {EVENTS_PER_MOMENT_MAX} events at {0}")]
    Livelock(Moment),
    /// The caller stopped the run.
    #[error("stopped by its caller")]
    Stopped,
}

/// An event of the simulation.
enum Next {
    /// A datagram reaches a site.
    Arrive { site: usize, flight: Rc<Flight> },
    /// The timer of an endpoint expires; stale if it has been moved.
    Wake(usize),
    /// An object has a message or changes its state.
    Traffic,
    /// A host starts.
    Start(usize),
    /// A host dies.
    Die(usize),
    /// The logger of a region dies; its host restarts after this time.
    DieRegion(Duration),
}

/// A datagram in flight.
struct Flight {
    from: usize,
    to: Destination,
    datagram: Bytes,
    cargo: Cargo,
}

struct Host {
    endpoint: Option<Endpoint>,
    site: usize,
    epoch: u32,
    wake: Moment,
}

/// A host that has restarted and is catching up.
struct Joining {
    since: Moment,
    /// The data elements that existed at the restart and that it still misses: source, element.
    missing: BTreeSet<(usize, usize)>,
}

/// A simulated group.
pub struct Group {
    setup: Setup,
    seed: Seed,
    now: Moment,
    queue: EventQueue<Next>,
    hosts: Vec<Host>,
    /// Hosts, by site.
    sites: Vec<Vec<usize>>,
    lines: Lines,
    generator: Generator,
    per_source: usize,
    objects: Option<Objects>,
    ledger: Ledger,
    totals: Totals,
    sent: Sent,
    unsent: u64,
    crossings: Crossings,
    /// Requests that reached their source, by source, data element and sequence number.
    asked: BTreeMap<(usize, DataId, u32), u64>,
    joining: BTreeMap<usize, Joining>,
    joins: srmp::Histogram,
    source_bytes: Vec<u64>,
    /// For each host, the moment at which it missed a message without knowing it; for a single data
    /// element only.
    unaware: Vec<Option<Moment>>,
    detection: srmp::Histogram,
    lost: BTreeSet<(usize, DataId, u32)>,
    blank: Bytes,
    region_deaths: u64,
    events: u64,
}

impl Group {
    /// Creates a group. All randomness derives from `seed`.
    ///
    /// # Errors
    /// [`GroupError`]: invalid settings.
    pub fn new(setup: Setup, seed: Seed) -> Result<Self, GroupError> {
        let hosts = setup.layout.hosts();
        let (objects, sources) = (setup.workload.objects(), setup.sources);
        if sources == 0
            || sources > hosts
            || objects % sources as u64 != 0
            || setup.workload.classes.len() != 1
        {
            return Err(GroupError::Objects { objects, sources, hosts });
        }
        let per_source = (objects / sources as u64) as usize;
        let start = Moment::ZERO + setup.traffic_from;
        let generator = Generator::new(setup.workload.clone(), seed.split("objects"), start)?;
        let by_object = setup.layout.loss_at == LossAt::Object;
        let objects = by_object
            .then(|| Objects::new(hosts, per_source, &setup.layout.trunk.loss, seed.split("object losses")));
        let mut group = Self {
            lines: Lines::new(&setup.layout, seed)?,
            ledger: Ledger::new(hosts, sources, per_source),
            sites: Vec::new(),
            hosts: Vec::with_capacity(hosts),
            objects,
            generator,
            per_source,
            seed,
            now: Moment::ZERO,
            queue: EventQueue::new(),
            totals: Totals::default(),
            sent: Sent::default(),
            unsent: 0,
            crossings: Crossings::default(),
            asked: BTreeMap::new(),
            joining: BTreeMap::new(),
            joins: srmp::Histogram::default(),
            source_bytes: Vec::new(),
            unaware: vec![None; hosts],
            detection: srmp::Histogram::default(),
            lost: BTreeSet::new(),
            blank: Bytes::from(vec![0; 65_536]),
            region_deaths: 0,
            events: 0,
            setup,
        };
        group.place();
        Ok(group)
    }

    fn place(&mut self) {
        let mut rng = self.seed.split("joins").rng();
        for (site, count) in self.setup.layout.sites.iter().enumerate() {
            let first = self.hosts.len();
            self.sites.push((first..first + *count as usize).collect());
            for host in first..first + *count as usize {
                self.hosts.push(Host { endpoint: None, site, epoch: 0, wake: Moment::MAX });
                let at = Moment::ZERO + self.setup.join_within.mul_f64(uniform(&mut rng));
                self.queue.push(at, Next::Start(host));
            }
        }
        for &(host, at, pause) in &self.setup.crashes {
            self.queue.push(Moment::ZERO + at, Next::Die(host));
            self.queue.push(Moment::ZERO + at + pause, Next::Start(host));
        }
        for &(at, pause) in &self.setup.region_crashes {
            self.queue.push(Moment::ZERO + at, Next::DieRegion(pause));
        }
        let first = self.generator.poll_timeout();
        first.into_iter().for_each(|at| self.queue.push(at, Next::Traffic));
    }

    /// Runs to the end. `go_on` is called every few hundred events and stops the run by returning
    /// false.
    ///
    /// # Errors
    /// [`GroupError`]: a message of an object cannot be sent, or time does not advance;
    /// [`GroupError::Stopped`] if `go_on` stops the run.
    pub fn run(mut self, mut go_on: impl FnMut() -> bool) -> Result<Report, GroupError> {
        let stop = Moment::ZERO + self.setup.traffic_from + self.setup.run;
        self.run_until(Moment::ZERO + self.setup.traffic_from, &mut go_on)?;
        let before = std::mem::take(&mut self.sent);
        self.run_until(stop, &mut go_on)?;
        let generated = self.generator.counters(stop)[0];
        let sent = self.sent;
        self.run_until(stop + self.setup.settle, &mut go_on)?;
        for (index, host) in self.hosts.iter().enumerate() {
            if let Some(endpoint) = &host.endpoint {
                self.totals.add(&endpoint.counters(), index >= self.setup.sources);
            }
        }
        let copies = ((self.hosts.len() - 1) * self.setup.sources * self.per_source) as f64;
        let hours = (self.setup.run + self.setup.settle).as_secs_f64() / 3_600.0;
        Ok(Report {
            generated,
            sent,
            joining: before,
            unsent: self.unsent,
            object_receptions: self.objects.as_ref().map_or((0, 0), Objects::receptions),
            lost: self.lost.len() as u64,
            finals: self.ledger.finals(),
            stale_seconds_per_hour: self.ledger.stale_seconds() / (copies * hours).max(f64::MIN_POSITIVE),
            detection: self.detection,
            crossings: self.crossings,
            most_asked: self.asked.values().copied().max().unwrap_or(0),
            joins: self.joins,
            unjoined: self.joining.len() as u64,
            source_bytes: self.source_bytes,
            totals: self.totals,
            region_deaths: self.region_deaths,
            events: self.events,
        })
    }

    fn run_until(&mut self, until: Moment, go_on: &mut impl FnMut() -> bool) -> Result<(), GroupError> {
        let mut at_this_moment = 0;
        while let Some((at, next)) = self.queue.pop_until(until) {
            at_this_moment = if at > self.now { 0 } else { at_this_moment + 1 };
            if at_this_moment > EVENTS_PER_MOMENT_MAX {
                return Err(GroupError::Livelock(at));
            }
            self.now = at;
            self.events += 1;
            self.happen(next)?;
            if self.events.is_multiple_of(EVENTS_OF_A_STEP) && !go_on() {
                return Err(GroupError::Stopped);
            }
        }
        self.now = until;
        Ok(())
    }

    fn happen(&mut self, next: Next) -> Result<(), GroupError> {
        match next {
            Next::Arrive { site, flight } => self.arrive(site, &flight),
            Next::Wake(host) => self.wake(host),
            Next::Traffic => self.traffic()?,
            Next::Start(host) => self.start(host)?,
            Next::Die(host) => self.die(host),
            Next::DieRegion(pause) => self.die_region(pause),
        }
        Ok(())
    }

    fn start(&mut self, host: usize) -> Result<(), GroupError> {
        let there = &mut self.hosts[host];
        // A host that died twice before its restart restarts once.
        if there.endpoint.is_some() {
            return Ok(());
        }
        there.epoch += 1;
        let again = there.epoch > 1;
        let mut config = Config::new(Profile::V3, member(host));
        config.epoch = Epoch(there.epoch);
        (self.setup.tune)(&mut config);
        if self.setup.loggers {
            config.logger = LoggerConfig::in_site(LoggerRole::Candidate);
        }
        let seed = self.seed.split("host").split_index(host as u64).split_index(there.epoch.into());
        there.endpoint = Some(Endpoint::new(config, seed, self.now)?);
        there.wake = Moment::MAX;
        if again {
            let joining = Joining { since: self.now, missing: self.ledger.known(host) };
            self.joining.insert(host, joining);
        }
        // A restarted host introduces its objects.
        let introduced = if again && host < self.setup.sources { self.per_source } else { 0 };
        for element in 0..introduced {
            self.update(host, element, INTRODUCTION_BYTES)?;
        }
        self.drain(host);
        Ok(())
    }

    fn die(&mut self, host: usize) {
        if let Some(endpoint) = self.hosts[host].endpoint.take() {
            self.totals.add(&endpoint.counters(), host >= self.setup.sources);
        }
        self.ledger.forget(host);
        self.joining.remove(&host);
    }

    /// Kills the first host that serves other sites as a region logger, if there is one.
    fn die_region(&mut self, pause: Duration) {
        let serves = |host: &Host| {
            let view = host.endpoint.as_ref().and_then(Endpoint::logger);
            view.is_some_and(|view| view.is_active && view.tier == REGION && view.children > 0)
        };
        if let Some(host) = self.hosts.iter().position(serves) {
            self.region_deaths += 1;
            self.die(host);
            self.queue.push(self.now + pause, Next::Start(host));
        }
    }

    fn wake(&mut self, host: usize) {
        let there = &mut self.hosts[host];
        if there.wake != self.now {
            return;
        }
        there.wake = Moment::MAX;
        let Some(endpoint) = &mut there.endpoint else { return };
        if endpoint.poll_timeout().is_some_and(|due| due <= self.now) {
            endpoint.handle_timeout(self.now);
        }
        self.drain(host);
    }

    fn traffic(&mut self) -> Result<(), GroupError> {
        let stop = Moment::ZERO + self.setup.traffic_from + self.setup.run;
        while let Some(emission) = self.generator.poll(self.now) {
            self.emit(&emission)?;
        }
        if let Some(at) = self.generator.poll_timeout().filter(|at| *at <= stop) {
            self.queue.push(at, Next::Traffic);
        }
        Ok(())
    }

    fn emit(&mut self, emission: &Emission) -> Result<(), GroupError> {
        let number = emission.object.number as usize;
        let (host, element) = (number / self.per_source, number % self.per_source);
        let Some(endpoint) = &mut self.hosts[host].endpoint else {
            self.unsent += 1;
            return Ok(());
        };
        match emission.mode {
            Mode::Zero => {
                let body = self.blank.slice(..emission.size as usize);
                endpoint.send_mode0(self.now, Some(StreamKey(element as u32)), 0, body)?;
            }
            Mode::One => self.update(host, element, emission.size as usize)?,
        }
        self.drain(host);
        Ok(())
    }

    /// Sends a new version of an element; its body begins with the number of the version.
    fn update(&mut self, host: usize, element: usize, size: usize) -> Result<(), GroupError> {
        let Some(endpoint) = &mut self.hosts[host].endpoint else { return Ok(()) };
        let version = self.ledger.send(self.now, host, element);
        let mut body = BytesMut::zeroed(size.max(8));
        body[..8].copy_from_slice(&version.to_be_bytes());
        endpoint.send_mode1(self.now, DataId(element as u32), body.freeze(), self.setup.urgent)?;
        Ok(())
    }

    /// Takes the datagrams and events of an endpoint, and schedules its next timeout.
    fn drain(&mut self, host: usize) {
        loop {
            let Some(endpoint) = &mut self.hosts[host].endpoint else { return };
            let Some(transmit) = endpoint.poll_transmit(self.now) else { break };
            self.send(host, transmit);
        }
        while let Some(event) = self.hosts[host].endpoint.as_mut().and_then(Endpoint::poll_event) {
            self.note(host, &event);
        }
        let there = &mut self.hosts[host];
        let due = there.endpoint.as_ref().and_then(Endpoint::poll_timeout).unwrap_or(Moment::MAX);
        let due = due.max(self.now);
        if due < there.wake {
            there.wake = due;
            self.queue.push(due, Next::Wake(host));
        }
    }

    fn note(&mut self, host: usize, event: &Event) {
        let Event::Mode1 { from, data, body, .. } = event else { return };
        let source = (from.0 - 1) as usize;
        let version = body.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
        let delay = self.setup.layout.delay(self.hosts[source].site, self.hosts[host].site);
        self.ledger.deliver(self.now, (host, source, data.0 as usize), version, delay);
        let Some(joining) = self.joining.get_mut(&host) else { return };
        joining.missing.remove(&(source, data.0 as usize));
        if joining.missing.is_empty() {
            self.joins.record(self.now.since(joining.since));
            self.joining.remove(&host);
        }
    }

    fn send(&mut self, from: usize, transmit: Transmit) {
        let Transmit { to, datagram } = transmit;
        let site = self.hosts[from].site;
        let Some(endpoint) = &self.hosts[from].endpoint else { return };
        let cargo = Cargo::of(endpoint.format(), &datagram);
        self.count(&cargo, datagram.len());
        if self.lines.is_lost_at_sender(self.now, site) {
            return;
        }
        let bytes = datagram.len() + HEADERS;
        if from < self.setup.sources {
            let second = (self.now.as_nanos() / 1_000_000_000) as usize;
            if self.source_bytes.len() <= second {
                self.source_bytes.resize(second + 1, 0);
            }
            self.source_bytes[second] += bytes as u64;
        }
        let flight = Rc::new(Flight { from, to, datagram, cargo });
        let sites = match to {
            Destination::Group => 0..self.sites.len(),
            Destination::Site => site..site + 1,
            Destination::Unicast(address) => {
                let Some(host) = host_of(address).filter(|host| *host < self.hosts.len()) else { return };
                let site = self.hosts[host].site;
                site..site + 1
            }
        };
        for to in sites {
            // The sender is alone at its site.
            if to == site && self.sites[site].len() == 1 {
                continue;
            }
            if to != site {
                self.crossings.repairs_between_sites += u64::from(flight.cargo.repairs);
                self.crossings.asks_between_sites += flight.cargo.asks.len() as u64;
            }
            match self.lines.travel(self.now, site, to, bytes) {
                Some((at, copy)) => {
                    for at in std::iter::once(at).chain(copy) {
                        self.queue.push(at, Next::Arrive { site: to, flight: Rc::clone(&flight) });
                    }
                }
                None => {
                    let at = self.now + self.setup.layout.delay(site, to);
                    (0..self.sites[to].len()).for_each(|index| self.miss(self.sites[to][index], &flight, at));
                }
            }
        }
    }

    fn count(&mut self, cargo: &Cargo, len: usize) {
        let sent = &mut self.sent;
        sent.datagrams += 1;
        sent.body_bytes += cargo.body_bytes as u64;
        sent.udp_bytes += len as u64;
        sent.ip_bytes += (len + HEADERS) as u64;
        sent.control_bytes += cargo.control_bytes as u64;
        sent.feedback_bytes += cargo.feedback_bytes as u64;
    }

    fn arrive(&mut self, site: usize, flight: &Rc<Flight>) {
        for index in 0..self.sites[site].len() {
            let host = self.sites[site][index];
            let meant = match flight.to {
                Destination::Unicast(address) => host_of(address) == Some(host),
                Destination::Group | Destination::Site => host != flight.from,
            };
            if !meant {
                continue;
            }
            self.crossings.repairs_to_hosts += u64::from(flight.cargo.repairs);
            self.crossings.asks_to_hosts += flight.cargo.asks.len() as u64;
            if self.lines.is_lost_at_host(self.now, host) {
                self.miss(host, flight, self.now);
            } else {
                self.receive(host, flight);
            }
        }
    }

    fn receive(&mut self, host: usize, flight: &Flight) {
        if let Some(objects) = &mut self.objects
            && !objects.receive(self.now, host, flight.from, &flight.cargo)
        {
            return;
        }
        let via = match flight.to {
            Destination::Unicast(_) => Channel::Unicast,
            Destination::Group => Channel::Group,
            Destination::Site => Channel::Site,
        };
        let Some(endpoint) = &mut self.hosts[host].endpoint else { return };
        for &(_, data, sn) in flight.cargo.asks.iter().filter(|ask| ask.0 == member(host)) {
            *self.asked.entry((host, data, sn.0)).or_default() += 1;
        }
        let before = endpoint.counters().receive.wants_opened;
        endpoint.handle_datagram(self.now, address(flight.from), via, &flight.datagram);
        let knows = endpoint.counters().receive.wants_opened > before;
        if (knows || !flight.cargo.mode1.is_empty())
            && let Some(since) = self.unaware[host].take()
            && knows
        {
            self.detection.record(self.now.since(since));
        }
        self.drain(host);
    }

    /// Notes that a host does not receive a datagram that it could have received at `at`.
    fn miss(&mut self, host: usize, flight: &Flight, at: Moment) {
        if host == flight.from {
            return;
        }
        let from = |source: Option<MemberId>| source.map_or(flight.from, |source| (source.0 - 1) as usize);
        let mode1 = flight.cargo.mode1.iter();
        self.lost.extend(mode1.map(|(source, data, sn)| (from(*source), *data, sn.0)));
        if self.per_source * self.setup.sources == 1 && flight.cargo.is_news {
            self.unaware[host] = Some(at);
        }
    }
}

fn member(host: usize) -> MemberId {
    MemberId(host as u64 + 1)
}

fn address(host: usize) -> SocketAddr {
    let [.., a, b, c] = (host as u32).to_be_bytes();
    SocketAddr::from(([10, a, b, c], PORT))
}

fn host_of(address: SocketAddr) -> Option<usize> {
    let std::net::IpAddr::V4(ip) = address.ip() else { return None };
    let [_, a, b, c] = ip.octets();
    Some(u32::from_be_bytes([0, a, b, c]) as usize)
}

/// A uniform number in [0, 1).
fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
