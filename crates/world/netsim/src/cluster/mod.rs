//! Clusters: hosts with a processor and a network interface, connected by a switch.
//!
//! On a [`Network`](crate::Network) the work of a host takes no time. In a cluster it takes time of
//! the host's single processor ([`Cpu`], [`Cost`]), and messages queue for links with a rate
//! ([`Port`], [`Ethernet`]). A host runs a [`Process`]: a machine that is handed messages and
//! polled for its own. Hosts may belong to several sites, each with a switch, and with lines
//! ([`Line`]) between the sites.
//!
//! A run depends on its processes only. Simultaneous events happen in the order in which they were
//! scheduled.

mod cost;
mod cpu;
mod ethernet;
mod lines;
#[cfg(test)]
mod tests;

pub use cost::Cost;
pub use cpu::{Cpu, CpuStats};
pub use ethernet::{Departure, Ethernet, Framing, Port, PortStats};
pub use lines::{Line, SiteId};

use crate::{Digest, EventQueue, HostId, Slots};
use base::Moment;
use bytes::Bytes;
use lines::Lines;
use std::time::Duration;

/// The processor costs of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostSpec {
    /// Processor time to receive a message, spent before the process sees it.
    pub receive: Cost,
    /// Processor time to send a message, spent before the message queues at the host's port.
    pub send: Cost,
}

/// A message from one host to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The receiver of an outgoing message, or the sender of an incoming one.
    pub host: HostId,
    /// A tag for the receiver; the cluster does not interpret it.
    pub channel: u32,
    /// The payload.
    pub bytes: Bytes,
}

/// An input of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A message has been received.
    Message(Message),
    /// The moment of [`poll_timeout`](Process::poll_timeout) has come.
    Timeout,
}

/// The program of a host, sans I/O.
pub trait Process {
    /// The error that ends a run.
    type Error;

    /// Handles an input. Returns the processor time that this takes, in addition to the costs of
    /// the host, before anything is sent.
    ///
    /// # Errors
    /// An error that ends the run.
    fn handle(&mut self, now: Moment, input: Input) -> Result<Duration, Self::Error>;

    /// The next message to send. Polled after each input until it returns `None`.
    fn poll_message(&mut self, now: Moment) -> Option<Message>;

    /// The moment of the next timeout.
    fn poll_timeout(&self) -> Option<Moment>;
}

/// Number of leading bytes of a message that enter the digest: its header, not its payload.
const DIGEST_BYTES: usize = 64;

enum Job {
    Receive(Message),
    Timeout,
    Extra,
    Send(Message),
}

enum Event {
    /// The processor of a host has finished a job.
    Done(HostId),
    /// A message, by slot, queues at the line to its receiver's site.
    AtLine(u32),
    /// A message, by slot, queues at the switch's port towards its receiver.
    AtSwitch(u32),
    /// A message, by slot, arrives in the receiver's memory.
    Arrived(u32),
    Wake(HostId),
}

/// A message in the network.
struct Flight {
    from: HostId,
    departure: Departure,
    message: Message,
}

struct HostState<P> {
    spec: HostSpec,
    site: SiteId,
    process: P,
    cpu: Cpu<Job>,
    /// The port towards the switch.
    out: Port,
    /// The switch's port towards this host.
    into: Port,
    wake: Option<Moment>,
    /// A timeout waits for the processor.
    timeout_queued: bool,
}

/// Hosts and the switch between them.
pub struct Cluster<P> {
    ethernet: Ethernet,
    lines: Lines,
    hosts: Vec<HostState<P>>,
    queue: EventQueue<Event>,
    flights: Slots<Flight>,
    now: Moment,
    events: u64,
    digest: Digest,
}

impl<P: Process> Cluster<P> {
    /// A cluster without hosts.
    pub fn new(ethernet: Ethernet) -> Self {
        Self {
            ethernet,
            lines: Lines::default(),
            hosts: Vec::new(),
            queue: EventQueue::new(),
            flights: Slots::default(),
            now: Moment::ZERO,
            events: 0,
            digest: Digest::EMPTY,
        }
    }

    /// Adds a host to the first site. The cluster polls its process for the first time when it runs
    /// on.
    pub fn add_host(&mut self, spec: HostSpec, process: P) -> HostId {
        self.add_host_at(SiteId(0), spec, process)
    }

    /// Sets the line from one site to another. Call it before anything is sent over the line.
    pub fn set_line(&mut self, from: SiteId, to: SiteId, line: Line) {
        self.lines.set(from, to, line);
    }

    /// Adds a host to a site. Sites whose hosts communicate need a [line](Cluster::set_line) in
    /// each direction. A run panics when a host sends without one, since that is a programming
    /// error.
    pub fn add_host_at(&mut self, site: SiteId, spec: HostSpec, process: P) -> HostId {
        let id = HostId(u32::try_from(self.hosts.len()).expect("fewer than 2^32 hosts"));
        self.hosts.push(HostState {
            spec,
            site,
            process,
            cpu: Cpu::new(),
            out: Port::default(),
            into: Port::default(),
            wake: None,
            timeout_queued: false,
        });
        // The first poll costs no processor time.
        self.host_mut(id).wake = Some(self.now);
        self.queue.push(self.now, Event::Wake(id));
        id
    }

    /// Handles all events up to and including `until`; with [`Moment::MAX`], until none is left.
    ///
    /// # Errors
    /// The error of the first process that fails.
    pub fn run_until(&mut self, until: Moment) -> Result<(), P::Error> {
        while self.step(until)? {}
        Ok(())
    }

    /// Handles the next event if it is at or before `until`. Otherwise sets the present to `until`
    /// and returns false.
    ///
    /// # Errors
    /// The error of the process concerned.
    pub fn step(&mut self, until: Moment) -> Result<bool, P::Error> {
        let Some((at, event)) = self.queue.pop_until(until) else {
            if until < Moment::MAX {
                self.now = self.now.max(until);
            }
            return Ok(false);
        };
        self.now = at;
        self.events += 1;
        match event {
            Event::Done(host) => self.job_done(host)?,
            Event::AtLine(slot) => self.at_line(slot),
            Event::AtSwitch(slot) => self.at_switch(slot),
            Event::Arrived(slot) => self.arrived(slot),
            Event::Wake(host) => self.wake(host),
        }
        Ok(true)
    }

    fn job_done(&mut self, id: HostId) -> Result<(), P::Error> {
        let now = self.now;
        let host = self.host_mut(id);
        let input = match host.cpu.finish(now) {
            Some(Job::Receive(message)) => Some(Input::Message(message)),
            Some(Job::Timeout) => {
                host.timeout_queued = false;
                Some(Input::Timeout)
            }
            Some(Job::Send(message)) => {
                self.launch(id, message);
                None
            }
            Some(Job::Extra) | None => None,
        };
        let Some(input) = input else {
            self.go_on(id);
            return Ok(());
        };
        if let Input::Message(message) = &input {
            self.digest.word(now.as_nanos());
            self.digest.word(u64::from(id.0) << 32 | u64::from(message.channel));
            self.digest.word(message.bytes.len() as u64);
            self.digest.octets(&message.bytes[..message.bytes.len().min(DIGEST_BYTES)]);
        }
        let host = self.host_mut(id);
        let extra = host.process.handle(now, input)?;
        if extra.is_zero() {
            self.go_on(id);
        } else {
            host.cpu.push_next(now, Job::Extra, extra);
            self.begin(id);
        }
        Ok(())
    }

    /// Queues the messages of the process and begins the next job of the processor.
    fn go_on(&mut self, id: HostId) {
        let now = self.now;
        let host = self.host_mut(id);
        while let Some(message) = host.process.poll_message(now) {
            let work = host.spec.send.of(message.bytes.len());
            host.cpu.push_next(now, Job::Send(message), work);
        }
        let wake = host.process.poll_timeout().map(|at| at.max(now));
        if wake != host.wake && !host.timeout_queued {
            host.wake = wake;
            if let Some(at) = wake {
                self.queue.push(at, Event::Wake(id));
            }
        }
        self.begin(id);
    }

    fn begin(&mut self, id: HostId) {
        let now = self.now;
        if let Some(done) = self.host_mut(id).cpu.begin(now) {
            self.queue.push(done, Event::Done(id));
        }
    }

    fn wake(&mut self, id: HostId) {
        let now = self.now;
        let host = self.host_mut(id);
        // A wake-up that has been moved leaves a stale event behind.
        if host.wake == Some(now) {
            host.wake = None;
            host.timeout_queued = true;
            host.cpu.push(now, Job::Timeout, Duration::ZERO);
            self.begin(id);
        }
    }

    /// Queues a message at the port of its host.
    fn launch(&mut self, from: HostId, message: Message) {
        let (now, ethernet, bytes) = (self.now, self.ethernet, message.bytes.len());
        let far = self.host(from).site != self.host(message.host).site;
        let departure = ethernet.depart(&mut self.host_mut(from).out, now, bytes);
        let slot = self.flights.put(Flight { from, departure, message });
        self.queue.push(departure.head, if far { Event::AtLine(slot) } else { Event::AtSwitch(slot) });
    }

    fn at_line(&mut self, slot: u32) {
        let Some(flight) = self.flights.get(slot) else { return };
        let ends = (self.host(flight.from).site, self.host(flight.message.host).site);
        let bytes = flight.message.bytes.len();
        let over = self.lines.cross(ends, &self.ethernet.framing, &flight.departure, bytes);
        self.queue.push(over.head, Event::AtSwitch(slot));
        if let Some(flight) = self.flights.get_mut(slot) {
            flight.departure = over;
        }
    }

    fn at_switch(&mut self, slot: u32) {
        let ethernet = self.ethernet;
        let Some(flight) = self.flights.get(slot) else { return };
        let (departure, to, bytes) = (flight.departure, flight.message.host, flight.message.bytes.len());
        let heard = ethernet.arrive(&mut self.host_mut(to).into, &departure, bytes);
        self.queue.push(heard, Event::Arrived(slot));
    }

    fn arrived(&mut self, slot: u32) {
        let now = self.now;
        let Some(Flight { from, mut message, .. }) = self.flights.take(slot) else { return };
        let id = std::mem::replace(&mut message.host, from);
        let host = self.host_mut(id);
        let work = host.spec.receive.of(message.bytes.len());
        host.cpu.push(now, Job::Receive(message), work);
        self.begin(id);
    }

    fn host_mut(&mut self, id: HostId) -> &mut HostState<P> {
        self.hosts.get_mut(id.0 as usize).expect("hosts are of this cluster")
    }

    fn host(&self, id: HostId) -> &HostState<P> {
        self.hosts.get(id.0 as usize).expect("hosts are of this cluster")
    }
}

impl<P> Cluster<P> {
    /// The present.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A fingerprint of all received messages: when and where each arrived, its length, and its
    /// first bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> + use<P> {
        (0..self.hosts.len() as u32).map(HostId)
    }
}

impl<P: Process> Cluster<P> {
    /// The process of a host.
    pub fn process(&self, host: HostId) -> &P {
        &self.host(host).process
    }

    /// Counters of a host's processor.
    pub fn cpu(&self, host: HostId) -> &CpuStats {
        self.host(host).cpu.stats()
    }

    /// Backlog of a host's processor, of its port towards the switch, and of the switch's port
    /// towards it, as the time that the queued work takes.
    pub fn backlog(&self, host: HostId) -> [Duration; 3] {
        let (now, host) = (self.now, self.host(host));
        [host.cpu.backlog(), host.out.backlog(now), host.into.backlog(now)]
    }

    /// Counters of the line from one site to another, and the transmission time of its backlog.
    /// `None` if there is no such line.
    pub fn line(&self, from: SiteId, to: SiteId) -> Option<(PortStats, Duration)> {
        self.lines.stats((from, to), self.now)
    }

    /// Counters of a host's port towards the switch, and of the switch's port towards the host.
    pub fn ports(&self, host: HostId) -> (&PortStats, &PortStats) {
        let host = self.host(host);
        (host.out.stats(), host.into.stats())
    }
}
