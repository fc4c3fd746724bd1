//! A simulation: traffic over a topology, as fluid or as packets, and its measured results.

use std::sync::Arc;

use base::{Digest, Seed};

use crate::application::ApplicationResults;
use crate::fluid::end_to_end::EndToEnd;
use crate::fluid::hops::HopByHop;
use crate::fluid::lanes::Lanes;
use crate::fluid::run::{Carrier, Run};
use crate::fluid::stored::Stored;
use crate::fluid::{Fluid, Sharing};
use crate::host::{Host, Hosts, StageUse};
use crate::packet::ports::{Deadlock, Ports};
use crate::packet::run::Moving;
use crate::packet::{self, LinkCounts, PacketCounts, Packets};
use crate::stats::{Recorder, Truncation, WarmUp};
use crate::timeline::{Slice, Timeline};
use crate::topology::{Topology, TopologyError};
use crate::traffic::{Delivered, Exchanges, Traffic};
use crate::units::Picos;

mod packets;

pub use packets::PacketModel;

use packets::Mover;

/// A smaller growth of the number of messages in the network may be chance.
const GROWTH_MIN: f64 = 10.0;

/// The width of the first step of a window without an end, and the numbers of messages that steps
/// end: fewer double the width of the next one, more halve it.
const STEP_FIRST: Picos = Picos::from_micros(100);
const STEP_MESSAGES: std::ops::Range<u64> = 10_000..100_000;

/// The model of the movement of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// As fluid that shares links, each message at one rate over its whole path.
    Fluid(Sharing),
    /// As fluid that shares links. Each link has a queue of its own and passes its inflow on as it
    /// comes.
    HopByHop {
        /// Bytes of each subqueue that may wait at a switch; a full one slows its feeder. `None`:
        /// there is always room.
        buffer: Option<u64>,
    },
    /// As fluid that shares links. Each link has a queue of its own, which a message enters when
    /// all of it has come.
    StoreAndForward,
    /// As packets that queue at each link.
    Packets(PacketModel),
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Latencies of all messages born in the window that arrived.
    pub latency: Recorder,
    /// Mean share of the window in which links between switches were busy.
    pub utilisation: f64,
    /// The same for the busiest of these links.
    pub utilisation_max: f64,
    /// The same for the busiest link from or to a host.
    pub host_utilisation_max: f64,
    /// Mean number of messages in the network over the window, without a constant time in hosts; in
    /// stages of hosts they count.
    pub in_flight: f64,
    /// Births and ends of messages; with packets, births, and crossings of a link by a packet.
    pub events: u64,
    /// Number of times that the rate of a message changed.
    pub rate_changes: u64,
    /// Messages that had not ended at the end of the window.
    pub left_over: u64,
    /// Messages that lost a packet, at a full buffer or on a link, or had no way.
    pub lost: u64,
    /// Messages that had no way to their destination, because links had failed.
    pub unrouted: u64,
    /// The fates of packets; `None` for fluid.
    pub packets: Option<PacketCounts>,
    /// Links that wait for each other, for which the run was ended.
    pub deadlock: Option<Deadlock>,
    /// The initial part to leave out, by MSER-5. The other figures include it. `None` with few
    /// messages.
    pub warm_up: Option<Truncation>,
    /// True when the number of messages in the network kept growing, so that the results are not
    /// final.
    pub backlog_grows: bool,
    /// The use of the stages of hosts; empty if hosts take a constant time.
    pub stages: Vec<StageUse>,
    /// Results of requests and their responses, if messages are answered.
    pub exchanges: Option<Exchanges>,
    /// Results of programs, if hosts run some.
    pub application: Option<ApplicationResults>,
    /// The end of the window.
    pub until: Picos,
    /// A fingerprint of all messages and their times.
    pub digest: Digest,
}

impl Model {
    /// True when messages are cut into packets.
    pub fn is_packets(self) -> bool {
        matches!(self, Model::Packets(_))
    }

    /// True when each link serves a message by itself, so that it can wait there only behind
    /// messages of its flow.
    pub fn is_hop_by_hop(self) -> bool {
        matches!(self, Model::HopByHop { .. } | Model::StoreAndForward)
    }
}

/// The engine that moves the messages.
enum Engine<T> {
    EndToEnd(Box<Run<T, EndToEnd>>),
    HopByHop(Box<Run<T, HopByHop>>),
    Stored(Box<Run<T, Stored>>),
    Packets(Box<packet::run::Run<T, Packets>>),
    Ports(Box<packet::run::Run<T, Ports>>),
}

/// Evaluates one expression for fluid engines or one for packet engines, whichever engine it is.
macro_rules! of_any {
    ($engine:expr, $run:ident => $fluid:expr, $packets:expr) => {
        match $engine {
            Engine::EndToEnd($run) => $fluid,
            Engine::HopByHop($run) => $fluid,
            Engine::Stored($run) => $fluid,
            Engine::Packets($run) => $packets,
            Engine::Ports($run) => $packets,
        }
    };
}

impl<T: Traffic> Engine<T> {
    fn new(
        model: Model,
        topology: &Topology,
        hosts: Option<Hosts>,
        traffic: T,
        lanes: usize,
        seed: Seed,
    ) -> Self {
        let sources = traffic.sources(topology.hosts());
        match model {
            Model::Fluid(sharing) => {
                let carrier = EndToEnd::new(Fluid::new(sharing, topology.rates()), Lanes::new(lanes));
                Engine::EndToEnd(Box::new(Run::new(carrier, traffic, sources).with_hosts(hosts)))
            }
            Model::HopByHop { buffer } => {
                let carrier = HopByHop::new(buffer, topology.rates());
                Engine::HopByHop(Box::new(Run::new(carrier, traffic, sources).with_hosts(hosts)))
            }
            Model::StoreAndForward => Engine::Stored(Box::new(
                Run::new(Stored::new(topology.rates()), traffic, sources).with_hosts(hosts),
            )),
            Model::Packets(model) => match model.mover(topology, seed) {
                Mover::Packets(packets) => Engine::Packets(Box::new(
                    packet::run::Run::new(*packets, traffic, sources).with_hosts(hosts),
                )),
                Mover::Ports(ports) => {
                    Engine::Ports(Box::new(packet::run::Run::new(*ports, traffic, sources).with_hosts(hosts)))
                }
            },
        }
    }

    fn run_until(&mut self, until: Picos, delivered: impl FnMut(&Delivered)) -> bool {
        of_any!(self, run => run.run_until(until, delivered), run.run_until(until, delivered))
    }

    /// The engine of packets, if it is one.
    fn packets(&self) -> Option<&dyn Moving> {
        of_any!(self, _run => None, Some(_run.packets()))
    }

    /// The same value as that of [`Engine::carried`], without changing anything.
    fn carried_so_far(&self, now: Picos) -> Vec<f64> {
        of_any!(self, run => run.carrier().carried(now), {
            let packets = run.packets();
            (0..packets.links()).map(|link| packets.sent(now, link) as f64).collect()
        })
    }

    /// Bytes that each link has carried since the beginning. Call it only once.
    fn carried(&mut self, now: Picos) -> Vec<f64> {
        match self {
            Engine::EndToEnd(run) => run.carrier_mut().take_carried(now),
            _ => self.carried_so_far(now),
        }
    }

    fn in_flight(&self) -> u64 {
        of_any!(self, run => run.in_flight(), run.in_flight())
    }

    fn unrouted(&self) -> u64 {
        of_any!(self, run => run.unrouted(), run.unrouted())
    }

    /// Numbers of events, and of changes of rates.
    fn events(&self) -> (u64, u64) {
        of_any!(self, run => (run.events(), run.carrier().rate_changes()), {
            (run.born_and_lost().0 + run.packets().crossings(), 0)
        })
    }

    /// Number of messages that lost a packet, and the fates of packets.
    fn packet_counts(&self) -> Option<(u64, PacketCounts)> {
        of_any!(self, _run => None, Some((_run.born_and_lost().1, _run.counts())))
    }

    fn stage_uses(&self) -> Vec<StageUse> {
        of_any!(self, run => run.stage_uses(), run.stage_uses())
    }

    fn traffic(&self) -> &T {
        of_any!(self, run => run.traffic(), run.traffic())
    }
}

/// Gives hosts the buses of their chain of stages, if they are one.
///
/// # Errors
/// There are too many links.
pub fn build(
    mut topology: Topology,
    host: Option<&Host>,
) -> Result<(Arc<Topology>, Option<Hosts>), TopologyError> {
    let Some(host) = host else { return Ok((Arc::new(topology), None)) };
    let buses = topology.add_buses(host.buses())?;
    let (out, into) = (buses.first().copied(), buses.last().copied());
    let buses = [out.unwrap_or(0), into.unwrap_or(0)];
    let hosts = Hosts::new(host, topology.hosts(), buses);
    Ok((Arc::new(topology), Some(hosts)))
}

/// A simulation in progress.
pub struct Simulation<T> {
    topology: Arc<Topology>,
    engine: Engine<T>,
    /// The time when sources begin to send, and the time when they stop and utilisation has been
    /// measured; [`Picos::MAX`] if that is when all traffic has ended.
    window: (Picos, Picos),
    /// The width of the next step if the window has no end.
    width: Picos,
    now: Picos,
    outcome: Outcome,
    measured: bool,
    warm_up: WarmUp,
    /// By quarter of the window: the sum of the numbers of messages in the network at the ends of
    /// steps, and the number of steps.
    quarters: [(u64, u64); 4],
    /// Time in the network up to the end of the window, of messages that ended by then.
    time_in_network: u128,
    /// The course of the run over time, if it is recorded.
    timeline: Option<Timeline>,
    steps: u64,
    /// The share of the window in which each link was busy, if it is recorded.
    link_shares: Vec<f64>,
    /// The fates of packets at each link in the window, if they are recorded.
    link_counts: Vec<LinkCounts>,
}

impl<T: Traffic> Simulation<T> {
    /// Simulates `traffic` of all hosts over a topology. As fluid, messages wait in `lanes` lanes.
    /// Random losses of links come from `seed`. Hosts that are chains of stages have the buses that
    /// [`build`] gave the topology.
    pub fn new(
        (topology, hosts): (Arc<Topology>, Option<Hosts>),
        traffic: T,
        lanes: usize,
        model: Model,
        window: (Picos, Picos),
        seed: Seed,
    ) -> Self {
        let engine = Engine::new(model, &topology, hosts, traffic, lanes, seed);
        let outcome = Outcome {
            latency: Recorder::default(),
            utilisation: 0.0,
            utilisation_max: 0.0,
            host_utilisation_max: 0.0,
            in_flight: 0.0,
            events: 0,
            rate_changes: 0,
            left_over: 0,
            lost: 0,
            unrouted: 0,
            packets: None,
            deadlock: None,
            warm_up: None,
            backlog_grows: false,
            stages: Vec::new(),
            exchanges: None,
            application: None,
            until: window.1,
            digest: Digest::EMPTY,
        };
        Self {
            topology,
            engine,
            window,
            width: STEP_FIRST,
            now: window.0,
            outcome,
            measured: false,
            warm_up: WarmUp::default(),
            quarters: [(0, 0); 4],
            time_in_network: 0,
            timeline: None,
            steps: 1_000,
            link_shares: Vec::new(),
            link_counts: Vec::new(),
        }
    }

    /// Records the course of the run over time, and the load of each link. Call it before the first
    /// step. It does not change the run itself.
    pub fn record(&mut self) {
        self.timeline = Some(Timeline::new(&self.topology, self.window));
    }

    /// The slices of the run so far, if they are recorded: a hundred at the end.
    pub fn slices(&self) -> &[Slice] {
        self.timeline.as_ref().map_or(&[], Timeline::slices)
    }

    /// The share of the window in which each link was busy, by its number. Empty before the end,
    /// and if it is not recorded.
    pub fn link_shares(&self) -> &[f64] {
        &self.link_shares
    }

    /// The fates of packets at each link in the window, by its number. Empty before the end, if
    /// they are not recorded, and for fluid.
    pub fn link_counts(&self) -> &[LinkCounts] {
        &self.link_counts
    }

    /// Simulates the window in `steps` steps instead of a thousand. It does not change the run
    /// itself.
    pub fn set_steps(&mut self, steps: u64) {
        self.steps = steps.max(1);
    }

    /// Ends the run at its present time, and measures the part of the window until then.
    pub fn stop(&mut self) {
        if !self.measured {
            self.window.1 = self.now.max(self.window.0 + Picos(1));
            self.measure();
        }
    }

    /// The network.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The part of the window that has been simulated, from 0 to 1; without an end, the part of the
    /// traffic.
    pub fn progress(&self) -> f64 {
        if self.is_open() {
            return self.engine.traffic().progress().map_or(0.0, |(share, _)| share);
        }
        let (from, to) = self.window;
        (self.now.since(from).as_secs() / to.since(from).as_secs()).min(1.0)
    }

    /// True if the window has no end.
    fn is_open(&self) -> bool {
        self.window.1 == Picos::MAX
    }

    /// Ends the window after all traffic has ended.
    fn close(&mut self) {
        let last = self.engine.traffic().progress().map_or(self.now, |(_, last)| last);
        self.now = last.max(self.window.0 + Picos(1));
        self.window.1 = self.now;
    }

    /// Simulates a thousandth of the window, or another [part](Self::set_steps), and after its end
    /// the rest. False when all messages have ended, or when links wait for each other for ever.
    /// Calls `delivered` with each message and its latency.
    pub fn step(&mut self, mut delivered: impl FnMut(&Delivered, Picos)) -> bool {
        let (from, to) = self.window;
        let until = if self.now >= to {
            Picos::MAX
        } else if self.is_open() {
            self.now + self.width
        } else {
            (self.now + Picos(to.since(from).0 / self.steps + 1)).min(to)
        };
        let (outcome, time, timeline) = (&mut self.outcome, &mut self.time_in_network, &mut self.timeline);
        let warm_up = &mut self.warm_up;
        let before = outcome.latency.summary.count();
        let more = self.engine.run_until(until, |message| {
            let latency = message.sojourn() + message.parcel.outside;
            outcome.latency.add(latency);
            warm_up.add(message.ended, latency);
            outcome.digest.word(message.number);
            outcome.digest.word(message.ended.0);
            if message.ended <= to {
                *time += u128::from(message.sojourn().0);
                if let Some(timeline) = timeline {
                    timeline.add(latency);
                }
            }
            delivered(message, latency);
        });
        if self.now < to {
            let passed = u128::from(self.now.since(from).0) * 4 / u128::from(to.since(from).0);
            let (sum, steps) = &mut self.quarters[passed as usize]; // below 4: the step began before the end
            *sum += self.engine.in_flight();
            *steps += 1;
        }
        self.now = until;
        if self.is_open() {
            let ended = self.outcome.latency.summary.count() - before;
            if ended < STEP_MESSAGES.start {
                self.width = Picos(self.width.0.saturating_mul(2));
            } else if ended >= STEP_MESSAGES.end {
                self.width = Picos((self.width.0 / 2).max(1));
            }
            if !more {
                self.close();
            }
        }
        if let Some(timeline) =
            self.timeline.as_mut().filter(|timeline| !self.measured && timeline.is_due(until.min(to)))
        {
            let carried = self.engine.carried_so_far(until.min(to));
            timeline.close(&self.topology, until.min(to), carried, self.engine.in_flight());
        }
        if !self.measured && (until >= to || !more) {
            self.measure();
        }
        let deadlock = self.engine.packets().and_then(Moving::deadlock);
        if deadlock.is_some() {
            self.outcome.deadlock = deadlock;
            self.stop();
            return false;
        }
        more || until < self.window.1
    }

    /// Measures the utilisation at the end of the window.
    fn measure(&mut self) {
        self.measured = true;
        let (from, to) = self.window;
        let window = to.since(from).0 as f64;
        let carried = self.engine.carried(to);
        let (mut sum, mut count) = (0.0, 0u32);
        for link in 0..self.topology.links() {
            let capacity = self.topology.class_of(link).capacity().bytes_per_ps();
            let share = carried[link as usize] / (window * capacity);
            let outcome = &mut self.outcome;
            if self.timeline.is_some() {
                self.link_shares.push(share);
            }
            if self.topology.is_between_switches(link) {
                (sum, count) = (sum + share, count + 1);
                outcome.utilisation_max = outcome.utilisation_max.max(share);
            } else {
                outcome.host_utilisation_max = outcome.host_utilisation_max.max(share);
            }
        }
        self.outcome.utilisation = sum / f64::from(count.max(1));
        self.outcome.left_over = self.engine.in_flight();
        if let Some(packets) = self.engine.packets().filter(|_| self.timeline.is_some()) {
            self.link_counts = (0..packets.links()).map(|link| packets.counts(link)).collect();
        }
    }

    /// True if each quarter of the window, without the first, had more messages in the network than
    /// the one before, and the last half as many more than the second: a queue without bound grows
    /// as the run does.
    fn backlog_grows(&self) -> bool {
        let [_, second, third, fourth] =
            self.quarters.map(|(sum, steps)| sum as f64 / f64::max(steps as f64, 1.0));
        second < third && third < fourth && fourth > 1.5 * second && fourth > second + GROWTH_MIN
    }

    /// The results so far.
    pub fn outcome(&self) -> Outcome {
        let window = self.now.min(self.window.1).since(self.window.0);
        let (events, rate_changes) = self.engine.events();
        let counts = self.engine.packet_counts();
        Outcome {
            events,
            rate_changes,
            lost: counts.map_or(0, |(lost, _)| lost) + self.engine.unrouted(),
            unrouted: self.engine.unrouted(),
            packets: counts.map(|(_, packets)| packets),
            warm_up: self.warm_up.truncation(self.window.0),
            backlog_grows: self.backlog_grows(),
            stages: self.engine.stage_uses(),
            exchanges: self.engine.traffic().exchanges().cloned(),
            application: self.engine.traffic().application(),
            until: self.window.1,
            in_flight: self.time_in_network as f64 / (window.0 as f64).max(1.0),
            ..self.outcome.clone()
        }
    }
}
