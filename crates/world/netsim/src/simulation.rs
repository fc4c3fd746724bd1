//! Hosts of one type on a network.

use crate::network::{HostEvent, HostId, Network, NetworkOptions, SendError, SocketId};
use crate::{Delivery, Digest};
use base::{Moment, Seed};
use bytes::Bytes;

/// Number of host events at one moment that counts as a livelock.
pub const EVENTS_PER_MOMENT_MAX: u64 = 1_000_000;

/// Number of events between two calls of `go_on`. An event may reach all hosts of a site and take a
/// tenth of a millisecond; a stop should take effect soon.
pub const EVENTS_OF_A_STEP: u64 = 256;

/// The program of a host: a server process, a scripted federate, a traffic source.
pub trait Host {
    /// Handles an event of the host. All its actions go through `port`.
    fn handle(&mut self, event: HostEvent, port: &mut Port<'_>);
}

impl<H: Host + ?Sized> Host for Box<H> {
    fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        (**self).handle(event, port);
    }
}

/// The access of a host to the network.
#[derive(Debug)]
pub struct Port<'a> {
    network: &'a mut Network,
    host: HostId,
}

impl<'a> Port<'a> {
    /// The port of `host`.
    pub fn new(network: &'a mut Network, host: HostId) -> Self {
        Self { network, host }
    }

    /// The host of this port.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// The present, by the clock of the host.
    pub fn now(&self) -> Moment {
        self.network.local_time(self.host)
    }

    /// See [`Network::wake`]; `at` is by the clock of the host.
    pub fn wake(&mut self, at: Option<Moment>) {
        let (now, local) = (self.network.now(), self.now());
        self.network.wake(self.host, at.map(|at| now + at.since(local)));
    }

    /// See [`Network::connect`].
    pub fn connect(&mut self, to: HostId, port: u16) -> SocketId {
        self.network.connect(self.host, to, port)
    }

    /// See [`Network::send`].
    ///
    /// # Errors
    /// [`SendError`]: this end is closed, or its host knows that the connection is broken.
    pub fn send(&mut self, socket: SocketId, bytes: Bytes) -> Result<(), SendError> {
        self.network.send(self.own(socket), bytes)
    }

    /// See [`Network::room`].
    pub fn room(&self, socket: SocketId) -> usize {
        self.network.room(self.own(socket))
    }

    /// See [`Network::close`].
    pub fn close(&mut self, socket: SocketId) {
        self.network.close(self.own(socket));
    }

    /// See [`Network::reset`].
    pub fn reset(&mut self, socket: SocketId) {
        self.network.reset(self.own(socket));
    }

    /// See [`Network::set_reading`].
    pub fn set_reading(&mut self, socket: SocketId, reading: bool) {
        self.network.set_reading(self.own(socket), reading);
    }

    /// See [`Network::send_datagram`].
    pub fn send_datagram(&mut self, to: HostId, bytes: Bytes) {
        self.network.send_datagram(self.host, to, bytes);
    }

    /// See [`Network::note`].
    pub fn note(&mut self, octets: &[u8]) {
        self.network.note(octets);
    }

    /// Using the socket of another host is an error of the program, not of the simulated world, and
    /// panics.
    fn own(&self, socket: SocketId) -> SocketId {
        assert_eq!(self.network.host_of(socket), self.host, "{socket} is an end of another host");
        socket
    }
}

/// Hosts and the network between them. A dead host ([`Network::kill`]) receives no events;
/// [`restart`](Simulation::restart) replaces it by a new process.
#[derive(Debug)]
pub struct Simulation<H> {
    network: Network,
    hosts: Vec<H>,
    at_this_moment: u64,
}

/// A livelock: hosts keep each other busy while no time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("more than {EVENTS_PER_MOMENT_MAX} events at {at}, the last at {host}: time does not get on")]
pub struct Livelock {
    /// The moment of the livelock.
    pub at: Moment,
    /// A host that takes part.
    pub host: HostId,
}

impl<H> Simulation<H> {
    /// A world without hosts. All randomness derives from `seed`.
    pub fn new(seed: Seed, options: NetworkOptions) -> Self {
        Self { network: Network::new(seed, options), hosts: Vec::new(), at_this_moment: 0 }
    }

    /// The present.
    pub fn now(&self) -> Moment {
        self.network.now()
    }

    /// The network: links, rules, schedules, counters.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The network: links, rules, schedules, counters. Add hosts by
    /// [`add_host`](Simulation::add_host) only, which keeps both lists of hosts in step.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// A fingerprint of the run so far.
    pub fn digest(&self) -> Digest {
        self.network.digest()
    }

    /// Adds a host. The name is for display only.
    pub fn add_host(&mut self, name: &str, host: H) -> HostId {
        self.hosts.push(host);
        self.network.add_host(name)
    }

    /// The program of a host.
    pub fn host(&self, host: HostId) -> &H {
        &self.hosts[host.0 as usize]
    }

    /// All hosts with their programs.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, &H)> {
        self.network.hosts().zip(&self.hosts)
    }

    /// Lets a host act now.
    pub fn call<R>(&mut self, host: HostId, act: impl FnOnce(&mut H, &mut Port<'_>) -> R) -> R {
        act(&mut self.hosts[host.0 as usize], &mut Port::new(&mut self.network, host))
    }

    /// Ends the process of a host, if it still runs, and starts `new` in its place. Returns the old
    /// one.
    pub fn restart(&mut self, host: HostId, new: H) -> H {
        self.network.kill(host);
        self.network.revive(host);
        std::mem::replace(&mut self.hosts[host.0 as usize], new)
    }
}

impl<H: Host> Simulation<H> {
    /// Handles the next event of a host if it is at or before `until`, and returns the host.
    /// Otherwise sets the present to `until` and returns `None`.
    ///
    /// # Errors
    /// [`Livelock`]: time does not advance.
    pub fn step(&mut self, until: Moment) -> Result<Option<HostId>, Livelock> {
        let before = self.network.now();
        let Some(Delivery { at, host, event }) = self.network.poll(until) else {
            self.at_this_moment = 0;
            return Ok(None);
        };
        self.at_this_moment = if at > before { 1 } else { self.at_this_moment + 1 };
        if self.at_this_moment > EVENTS_PER_MOMENT_MAX {
            return Err(Livelock { at, host });
        }
        self.call(host, |state, port| state.handle(event, port));
        Ok(Some(host))
    }

    /// Runs until `until`; with [`Moment::MAX`], until no event is left.
    ///
    /// # Errors
    /// [`Livelock`]: time does not advance.
    pub fn run_until(&mut self, until: Moment) -> Result<(), Livelock> {
        while self.step(until)?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Answers every datagram until its patience ends.
    struct Player {
        left: u32,
    }

    impl Host for Player {
        fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
            if let HostEvent::Datagram { from, bytes } = event
                && self.left > 0
            {
                self.left -= 1;
                port.send_datagram(from, bytes);
            }
        }
    }

    fn ping_pong(left: u32, delay: Duration) -> (Simulation<Player>, HostId) {
        let link = crate::LinkSpec { rate: None, delay };
        let mut sim = Simulation::new(Seed(1), NetworkOptions { link, ..Default::default() });
        let a = sim.add_host("a", Player { left });
        let b = sim.add_host("b", Player { left });
        sim.call(a, |_, port| port.send_datagram(b, Bytes::from_static(b"ball")));
        (sim, b)
    }

    #[test]
    fn runs_until_nothing_happens_or_the_moment_comes() {
        let (mut sim, b) = ping_pong(5, Duration::from_micros(10));
        sim.run_until(Moment::from_micros(35)).unwrap();
        assert_eq!((sim.now(), sim.host(b).left), (Moment::from_micros(35), 3));
        sim.run_until(Moment::MAX).unwrap();
        assert_eq!((sim.now(), sim.host(b).left), (Moment::from_micros(110), 0));
        assert_eq!(sim.network().stats().received_datagrams, 11);
    }

    #[test]
    fn a_run_that_stands_still_is_an_error_not_a_hang() {
        let (mut sim, _) = ping_pong(u32::MAX, Duration::ZERO);
        let stuck = sim.run_until(Moment::from_secs(1)).unwrap_err();
        assert_eq!(stuck.at, Moment::ZERO);
    }

    #[test]
    fn the_dead_hear_nothing_and_their_successors_do() {
        let (mut sim, b) = ping_pong(5, Duration::from_micros(10));
        sim.network_mut().kill(b);
        sim.run_until(Moment::MAX).unwrap();
        assert_eq!(sim.host(b).left, 5);
        let old = sim.restart(b, Player { left: 1 });
        assert_eq!(old.left, 5);
        sim.call(HostId(0), |_, port| port.send_datagram(b, Bytes::new()));
        sim.run_until(Moment::MAX).unwrap();
        assert_eq!(sim.host(b).left, 0);
    }
}
