//! Sites that multicast to each other, each over its own up- and downlink.

use std::time::Duration;

use base::{Moment, Rng, Seed};
use wan::{Line, LineSpec, QueueStats, Verdict};
use workload::{Generator, Workload};

use super::formulas::{QueueError, mmc};
use super::sample::{Sample, exponential};
use netsim::EVENTS_OF_A_STEP;
use netsim::EventQueue;

/// The settings of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Experiment {
    /// Number of sites, 2 to 1000. A packet goes up its sender's link once, and down the link of
    /// each other site.
    pub sites: usize,
    /// Packets per second of all sites together.
    pub arrivals: f64,
    /// The arrival process.
    pub source: Source,
    /// Rate of each uplink and each downlink, in bit/s.
    pub rate: u64,
    /// Mean size of packets on the wire, in octets.
    pub mean_bytes: u32,
    /// The distribution of sizes.
    pub sizes: Sizes,
    /// Length of the run.
    pub run: Duration,
    /// Time at the beginning that is not measured.
    pub warm_up: Duration,
}

/// The arrival process of the packets of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Source {
    /// A Poisson process.
    #[default]
    Poisson,
    /// The objects of the SRMP paper's Table 1, 15 at each site. They determine the rate;
    /// [`Experiment::arrivals`] then only serves to check that the links can carry the traffic.
    Objects,
}

/// Objects at each site for [`Source::Objects`].
const OBJECTS: u32 = 15;

/// The distribution of packet sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sizes {
    /// Exponential, rounded to octets. A packet has the same size on both links.
    #[default]
    Exponential,
    /// All the same.
    Constant,
}

impl Default for Experiment {
    /// The check in section 4 of the SRMP paper, as two hops: 4 sites, Table 1's offered traffic,
    /// 384 kbit/s, 2000 bits on the wire, half an hour.
    fn default() -> Self {
        Self {
            sites: 4,
            arrivals: 166.03,
            source: Source::Poisson,
            rate: 384_000,
            mean_bytes: 250,
            sizes: Sizes::Exponential,
            run: Duration::from_secs(1_800),
            warm_up: Duration::from_secs(60),
        }
    }
}

/// The results of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Number of measured packets.
    pub packets: u64,
    /// Mean time on the uplink, in seconds.
    pub up: f64,
    /// Mean time on a downlink, in seconds.
    pub down: f64,
    /// Mean time from the sender to a receiver, in seconds: W.
    pub sojourn: f64,
    /// Measured rate of packets times that time: L, by Little's law.
    pub number: f64,
    /// Mean number in all queues together, counting each copy.
    pub copies: f64,
    /// Times from the sender to a receiver that 50 %, 95 %, 99 % and 100 % of the receptions do not
    /// exceed, in seconds.
    pub percentiles: [f64; 4],
    /// Share of time that the busiest downlink was busy.
    pub utilisation: f64,
    /// All times from the sender to a receiver.
    pub sample: Sample,
}

/// A packet on a link.
#[derive(Clone, Copy, Debug)]
struct Packet {
    from: usize,
    sent: Moment,
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A site sends its next packet.
    Send(usize),
    /// An object sends.
    Object,
    /// A packet arrives at the end of an uplink.
    Up(usize),
    /// A packet arrives at the end of a downlink.
    Down(usize),
}

struct World<'a> {
    experiment: &'a Experiment,
    events: EventQueue<Event>,
    up: Vec<Line<Packet>>,
    down: Vec<Line<Packet>>,
    sources: Vec<Rng>,
    objects: Option<Generator>,
    packets: u64,
    up_ns: u128,
    down_ns: u128,
    /// Times from sender to receiver.
    sample: Sample,
}

/// Runs `experiment`. All randomness derives from `seed`. `go_on` is called every few hundred
/// events and stops the run by returning false.
///
/// # Errors
/// [`QueueError`]: invalid numbers, or more traffic than a link can carry; [`QueueError::Stopped`]
/// if `go_on` stops the run.
pub fn run(
    experiment: &Experiment,
    seed: Seed,
    mut go_on: impl FnMut() -> bool,
) -> Result<Measured, QueueError> {
    check(experiment)?;
    let mut world = World::new(experiment, seed);
    let mut events: u64 = 0;
    let end = Moment::ZERO + experiment.warm_up + experiment.run;
    while let Some((now, event)) = world.events.pop_until(end) {
        world.handle(now, event);
        events += 1;
        if events.is_multiple_of(EVENTS_OF_A_STEP) && !go_on() {
            return Err(QueueError::Stopped);
        }
    }
    Ok(world.measured())
}

fn check(experiment: &Experiment) -> Result<(), QueueError> {
    if !(2..=1_000).contains(&experiment.sites) {
        let (what, value) = ("the number of sites", experiment.sites as f64);
        return Err(QueueError::Value { station: 0, what, value, expected: "2 to 1000" });
    }
    let service = experiment.rate as f64 / (8.0 * f64::from(experiment.mean_bytes.max(1)));
    let sites = experiment.sites as f64;
    mmc(experiment.arrivals * (sites - 1.0) / sites, service, 1).map(|_| ())
}

impl<'a> World<'a> {
    fn new(experiment: &'a Experiment, seed: Seed) -> Self {
        let spec = LineSpec { rate: Some(experiment.rate), ..LineSpec::default() };
        let lines = |label| -> Vec<Line<Packet>> {
            let seed = seed.split(label);
            (0..experiment.sites).map(|site| Line::new(spec.clone(), seed.split_index(site as u64))).collect()
        };
        let sources = seed.split("sources");
        let mut world = Self {
            experiment,
            events: EventQueue::new(),
            up: lines("up"),
            down: lines("down"),
            sources: (0..experiment.sites).map(|site| sources.split_index(site as u64).rng()).collect(),
            objects: None,
            packets: 0,
            up_ns: 0,
            down_ns: 0,
            sample: Sample::new(Moment::ZERO + experiment.warm_up, experiment.run),
        };
        match experiment.source {
            Source::Poisson => (0..experiment.sites).for_each(|site| world.send_later(Moment::ZERO, site)),
            Source::Objects => {
                let workload = Workload::table1(OBJECTS * experiment.sites as u32);
                let objects = Generator::new(workload, seed.split("objects"), Moment::ZERO);
                world.objects = objects.ok(); // the preset always works
                world.wake_objects();
            }
        }
        world
    }

    fn handle(&mut self, now: Moment, event: Event) {
        match event {
            Event::Send(site) => {
                self.send(now, site);
                self.send_later(now, site);
            }
            Event::Object => {
                while let Some(emission) = self.objects.as_mut().and_then(|objects| objects.poll(now)) {
                    self.send(now, (emission.object.number / OBJECTS) as usize);
                }
                self.wake_objects();
            }
            Event::Up(site) => {
                while let Some((at, packet)) = self.up[site].poll_at(now) {
                    self.fan_out(at, packet);
                }
            }
            Event::Down(site) => {
                while let Some((at, packet)) = self.down[site].poll_at(now) {
                    self.sample.add(packet.sent, at.since(packet.sent));
                }
            }
        }
    }

    fn send(&mut self, now: Moment, site: usize) {
        let bytes = self.size(site);
        let packet = Packet { from: site, sent: now, bytes };
        if let Verdict::Taken(passage) = self.up[site].offer(now, packet, bytes) {
            self.events.push(passage.arrives, Event::Up(site));
        }
    }

    fn wake_objects(&mut self) {
        let next = self.objects.as_ref().and_then(Generator::poll_timeout);
        next.into_iter().for_each(|at| self.events.push(at, Event::Object));
    }

    /// Sends a packet at the end of its uplink down to all other sites.
    fn fan_out(&mut self, now: Moment, packet: Packet) {
        let counts = self.counts(packet.sent);
        if counts {
            self.packets += 1;
            self.up_ns += now.since(packet.sent).as_nanos();
        }
        for to in (0..self.experiment.sites).filter(|&to| to != packet.from) {
            let verdict = self.down[to].offer(now, packet, packet.bytes);
            let Verdict::Taken(passage) = verdict else { continue };
            self.events.push(passage.arrives, Event::Down(to));
            if counts {
                self.down_ns += passage.arrives.since(now).as_nanos();
            }
        }
    }

    fn counts(&self, sent: Moment) -> bool {
        sent >= Moment::ZERO + self.experiment.warm_up
    }

    fn send_later(&mut self, now: Moment, site: usize) {
        let mean = self.experiment.sites as f64 / self.experiment.arrivals;
        let gap = mean * exponential(&mut self.sources[site]) * 1e9;
        self.events.push(now + Duration::from_nanos(gap as u64), Event::Send(site));
    }

    fn size(&mut self, site: usize) -> usize {
        let mean = self.experiment.mean_bytes;
        match self.experiment.sizes {
            Sizes::Constant => mean as usize,
            Sizes::Exponential => {
                (f64::from(mean) * exponential(&mut self.sources[site])).round().max(1.0) as usize
            }
        }
    }

    fn measured(mut self) -> Measured {
        let run = self.experiment.run.as_secs_f64();
        let packets = self.packets.max(1) as f64;
        let copies = packets * (self.experiment.sites - 1) as f64;
        let (up, down) = (self.up_ns as f64 / 1e9 / packets, self.down_ns as f64 / 1e9 / copies);
        let whole = self.experiment.warm_up + self.experiment.run;
        let all = |lines: &[Line<Packet>], of: &dyn Fn(&QueueStats) -> f64| -> Vec<f64> {
            lines.iter().map(|line| of(line.queue())).collect()
        };
        let numbers =
            |lines: &[Line<Packet>]| all(lines, &|queue| queue.datagrams_mean(whole)).iter().sum::<f64>();
        Measured {
            packets: self.packets,
            up,
            down,
            sojourn: up + down,
            number: packets / run * (up + down),
            copies: numbers(&self.up) + numbers(&self.down),
            percentiles: [0.5, 0.95, 0.99, 1.0].map(|share| self.sample.percentile(share)),
            utilisation: all(&self.down, &|queue| queue.utilisation(whole)).into_iter().fold(0.0, f64::max),
            sample: self.sample,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queueing::md1;

    fn near(got: f64, expected: f64, part: f64) {
        assert!((got / expected - 1.0).abs() <= part, "{got}, not {expected} to {part}");
    }

    /// The limits set by the evaluation of SRMP.
    #[test]
    fn two_hops_at_384_kbit_per_s_are_those_of_the_formulas() {
        let measured = run(&Experiment::default(), Seed(1), || true).unwrap();
        near(measured.sojourn, 0.0215, 0.10);
        near(measured.number, 3.56, 0.10);
        near(measured.up, mmc(41.5, 192.0, 1).unwrap().sojourn, 0.03);
        near(measured.utilisation, 0.6486, 0.03);
        near(measured.copies, 8.48, 0.10);
        let [half, most, nearly_all, all] = measured.percentiles;
        assert!(half < measured.sojourn && measured.sojourn < most && most < nearly_all && nearly_all < all);
    }

    /// An uplink is an M/D/1 queue. Its output is smoother than Poisson arrivals, so that it waits
    /// less at the downlinks than in such a queue.
    #[test]
    fn constant_sizes_wait_half_as_long() {
        let experiment = Experiment { sizes: Sizes::Constant, ..Experiment::default() };
        let measured = run(&experiment, Seed(1), || true).unwrap();
        near(measured.up, md1(166.03 / 4.0, 192.0).unwrap().sojourn, 0.02);
        near(measured.sojourn, 0.0160, 0.10);
        assert!(measured.down <= md1(124.5, 192.0).unwrap().sojourn * 1.02);
    }

    /// Objects are burstier than Poisson arrivals over 50 s and more even over short times. Queues
    /// are shorter half of the time and longer in the worst case.
    #[test]
    fn objects_offer_what_they_should() {
        let experiment = Experiment { source: Source::Objects, ..Experiment::default() };
        let measured = run(&experiment, Seed(1), || true).unwrap();
        near(measured.packets as f64 / 1_800.0, 166.2, 0.06);
        near(measured.sojourn, 0.0215, 0.30);
    }

    #[test]
    fn a_seed_is_a_run() {
        let experiment = Experiment { run: Duration::from_secs(20), ..Experiment::default() };
        assert_eq!(run(&experiment, Seed(3), || true), run(&experiment, Seed(3), || true));
        assert_ne!(run(&experiment, Seed(3), || true), run(&experiment, Seed(4), || true));
    }

    #[test]
    fn a_run_ends_soon_when_its_caller_wants_no_more() {
        let experiment = Experiment { run: Duration::from_secs(20), ..Experiment::default() };
        let mut asked = 0;
        let stopped = run(&experiment, Seed(3), || {
            asked += 1;
            asked < 3
        });
        assert_eq!((stopped, asked), (Err(QueueError::Stopped), 3));
    }

    #[test]
    fn an_unrepresentable_message_is_an_error() {
        let error = |experiment: Experiment| run(&experiment, Seed(1), || true).unwrap_err().to_string();
        let base = Experiment::default;
        assert!(error(Experiment { arrivals: 300.0, ..base() }).contains("from 1 on the queue grows"));
        assert!(
            error(Experiment { sites: 1, ..base() }).contains("the number of sites is 1; expected 2 to 1000")
        );
    }
}
