//! Floods: pairs of federates, one of which sends updates to the other as fast as it can.
//!
//! The study follows "Advanced Message Routing for Scalable Distributed Simulations" (Gottschalk,
//! Amburn and Davis 2005), section 4.1 and figure 9: "Attribute updates were sent between process
//! pairs as fast as possible, with loose synchronization to ensure multiple pairs were always
//! communicating." Here a sender has at most a window of updates on their way, and the receiver
//! acknowledges each half of a window.

use super::layout::with_federates;
use super::message::{Letter, Mailbox, frame_bytes};
use super::network::RouterNetwork;
use super::station::Application;
use super::{Busy, Hardware, RunError, SIZE_BYTES_MAX, Shape, WARM, busiest, busy, in_range};
use base::{Moment, Seed};
use bytes::Bytes;
use netsim::Digest;
use rand_core::RngCore;
use router::topology::{self, Topology};
use router::{ClientId, Router};
use std::time::Duration;

/// The settings of a flood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flood {
    /// Tree or mesh.
    pub shape: Shape,
    /// Number of routers in each layer of the tree below its root. The mesh has a triad for each
    /// router of the last layer.
    pub layers: Vec<usize>,
    /// Number of pairs. Their federates are spread evenly over the leaf routers.
    pub pairs: usize,
    /// The partners of pairs.
    pub partners: Partners,
    /// Hosts, links and pipes.
    pub hardware: Hardware,
    /// Size of an update, in bytes.
    pub size: usize,
    /// Several updates that wait for the same link share a frame. Otherwise each has its own.
    pub bundles: bool,
    /// The source of all randomness.
    pub seed: Seed,
}

/// How partners are chosen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Partners {
    /// A federate of the first half of the leaf routers sends to one of the other half: nearly all
    /// updates cross the root of the tree.
    Across,
    /// Both are drawn at random.
    Anywhere,
}

impl Partners {
    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Across => "across",
            Self::Anywhere => "anywhere",
        }
    }
}

/// The outcome of a flood.
#[derive(Clone, PartialEq, Debug)]
pub struct FloodOutcome {
    /// Updates that each pair's receiver got in a second, in the order of pairs.
    pub rates: Vec<f64>,
    /// The most heavily loaded part of the network.
    pub busiest: Busy,
    /// Time that was measured.
    pub measured: Duration,
    /// Events of the simulation.
    pub events: u64,
    /// A fingerprint of all received messages.
    pub digest: Digest,
}

/// Bytes that a pair has on their way at most, unless they are fewer than two updates.
pub const WINDOW_BYTES: usize = 64 << 10;
/// Updates that a pair has on their way at most.
const WINDOW_MESSAGES_MAX: usize = 64;
/// Time after the start before which nothing is counted: queues are full by then.
const SETTLE: Duration = Duration::from_millis(200);
/// Least time that is measured.
const MEASURED_MIN: Duration = Duration::from_millis(200);
/// It lasts until pairs have got so many updates on average.
const MESSAGES_MIN: u64 = 20;
/// Most time that is measured. A slow network has few updates then.
const MEASURED_MAX: Duration = Duration::from_secs(60);
/// Octets that may wait in a pipe: the windows of all pairs.
const PIPE_BYTES: usize = 1 << 30;

/// A federate of a pair.
#[derive(Debug)]
struct Member {
    number: u32,
    client: ClientId,
    task: Task,
}

#[derive(Debug)]
enum Task {
    /// It is in no pair.
    None,
    Send(Sender),
    Count(Counter),
}

/// The sender of a pair.
#[derive(Debug)]
struct Sender {
    partner: u32,
    body: Bytes,
    window: usize,
    /// Updates that the partner has not acknowledged.
    away: usize,
    has_begun: bool,
}

/// The receiver of a pair.
#[derive(Debug)]
struct Counter {
    received: u64,
    /// Updates after which it acknowledges.
    half: usize,
    unacknowledged: usize,
}

impl Application for Member {
    type Message = Letter;
    type Interest = Mailbox;

    fn poll_timeout(&self) -> Option<Moment> {
        match &self.task {
            Task::Send(sender) if !sender.has_begun => Some(WARM),
            _ => None,
        }
    }

    fn act(&mut self, now: Moment, router: &mut Router<Letter, Mailbox>) -> Result<(), RunError> {
        let mut got = Vec::new();
        while let Some(envelope) = router.poll_envelope(self.client) {
            got.push(envelope.message.from);
        }
        match &mut self.task {
            Task::Send(sender) => {
                if !sender.has_begun && now < WARM {
                    return Ok(());
                }
                sender.has_begun = true;
                sender.away -= got.len() * sender.window.div_ceil(2);
                let (partner, body) = (sender.partner, sender.body.clone());
                let free = sender.window - sender.away;
                sender.away = sender.window;
                (0..free).try_for_each(|_| self.send(now, router, partner, body.clone()))
            }
            Task::Count(counter) => {
                let mut answers = Vec::new();
                for from in got {
                    counter.received += 1;
                    counter.unacknowledged += 1;
                    if counter.unacknowledged == counter.half {
                        counter.unacknowledged = 0;
                        answers.push(from);
                    }
                }
                answers.into_iter().try_for_each(|to| self.send(now, router, to, Bytes::new()))
            }
            Task::None => Ok(()),
        }
    }
}

impl Member {
    fn send(
        &self,
        now: Moment,
        router: &mut Router<Letter, Mailbox>,
        to: u32,
        body: Bytes,
    ) -> Result<(), RunError> {
        Letter { to, from: self.number, body }.submit(now, router, self.client)
    }
}

impl Flood {
    fn leaves(&self) -> usize {
        self.layers.last().copied().unwrap_or(1)
    }

    /// Number of federates at each leaf router.
    fn federates_per_leaf(&self) -> usize {
        (2 * self.pairs).div_ceil(self.leaves())
    }

    fn topology(&self) -> Topology {
        let routers = match self.shape {
            Shape::Tree => topology::tree_of_layers(&self.layers),
            Shape::Mesh => topology::mesh(self.leaves()),
        };
        with_federates(routers, self.federates_per_leaf())
    }

    /// The senders and receivers of all pairs.
    fn partners(&self) -> Vec<(u32, u32)> {
        let number = |federate: usize| u32::try_from(federate).unwrap_or(u32::MAX);
        let pairs = partners(self.leaves(), self.federates_per_leaf(), self.pairs, self.partners, self.seed);
        pairs.into_iter().map(|(sender, receiver)| (number(sender), number(receiver))).collect()
    }

    /// The name of a process, for display.
    fn process_name(&self, process: usize) -> String {
        let mut first = 0;
        let widths: Vec<usize> = match self.shape {
            Shape::Tree => std::iter::once(1).chain(self.layers.iter().copied()).collect(),
            Shape::Mesh => vec![self.leaves()],
        };
        for (layer, width) in widths.iter().enumerate() {
            if process < first + width {
                let number = process - first;
                return match self.shape {
                    Shape::Mesh => format!("triad {number}"),
                    Shape::Tree if layer == 0 => "root router".to_owned(),
                    Shape::Tree if layer + 1 == widths.len() => format!("leaf router {number}"),
                    Shape::Tree => format!("router {number} of layer {layer}"),
                };
            }
            first += width;
        }
        format!("federate {}", process - first)
    }

    fn check(&self) -> Result<(), RunError> {
        in_range("the number of layers", 1, 8, self.layers.len())?;
        for &width in &self.layers {
            in_range("the number of routers in a layer", 1, super::LEAVES_MAX, width)?;
        }
        in_range("the number of pairs", 1, super::FEDERATES_MAX / 4, self.pairs)?;
        in_range("a size in bytes", 1, SIZE_BYTES_MAX, self.size)
    }
}

/// The senders and receivers of so many pairs. Federates are numbered leaf by leaf, `per_leaf` at each
/// of the `leaves`; pairs take the first federate of each leaf before the second one of any.
pub fn partners(
    leaves: usize,
    per_leaf: usize,
    pairs: usize,
    choice: Partners,
    seed: Seed,
) -> Vec<(usize, usize)> {
    let by_seat = (0..per_leaf).flat_map(|seat| (0..leaves).map(move |leaf| leaf * per_leaf + seat));
    let mut all: Vec<usize> = by_seat.take(2 * pairs).collect();
    match choice {
        Partners::Across => all.sort_unstable(),
        Partners::Anywhere => {
            let mut rng = seed.split("partners").rng();
            for last in (1..all.len()).rev() {
                let bits = u128::from(rng.next_u64());
                all.swap(last, ((bits * (last as u128 + 1)) >> 64) as usize); // Fisher and Yates
            }
        }
    }
    let (first, second) = all.split_at(pairs.min(all.len() / 2));
    first.iter().copied().zip(second.iter().copied()).collect()
}

/// Executes a flood, until each pair's rate is known.
///
/// # Errors
/// [`RunError`]: the settings are invalid, or the network breaks down.
pub fn run(flood: &Flood) -> Result<FloodOutcome, RunError> {
    flood.check()?;
    let window = (WINDOW_BYTES / flood.size).clamp(2, WINDOW_MESSAGES_MAX);
    let mut hardware = flood.hardware.clone();
    hardware.pipe.bytes_max = PIPE_BYTES;
    hardware.pipe.high_water = PIPE_BYTES / 2;
    hardware.pipe.low_water = PIPE_BYTES / 4;
    if !flood.bundles {
        hardware.pipe.frame_bytes_max = frame_bytes(flood.size);
    }
    let body = Bytes::from(vec![0; flood.size]);
    let pairs = flood.partners();
    let mut tasks = std::collections::BTreeMap::new();
    for &(first, second) in &pairs {
        let sender = Sender { partner: second, body: body.clone(), window, away: 0, has_begun: false };
        tasks.insert(first, Task::Send(sender));
        let counter = Counter { received: 0, half: window.div_ceil(2), unacknowledged: 0 };
        tasks.insert(second, Task::Count(counter));
    }
    let mut network = RouterNetwork::build(&flood.topology(), &hardware, flood.seed, |number, client| {
        Member { number, client, task: tasks.remove(&number).unwrap_or(Task::None) }
    })?;
    let begin = WARM + SETTLE;
    network.cluster.run_until(begin)?;
    let before = (received(&network, &pairs), busy(&hardware, &network.cluster));
    let mut end = begin;
    loop {
        end += MEASURED_MIN;
        network.cluster.run_until(end)?;
        let after = received(&network, &pairs);
        let all: u64 = after.iter().zip(&before.0).map(|(after, before)| after - before).sum();
        let measured = end.since(begin);
        if all < MESSAGES_MIN * pairs.len() as u64 && measured < MEASURED_MAX {
            continue;
        }
        let rate = |(after, before): (&u64, &u64)| (after - before) as f64 / measured.as_secs_f64();
        let parts = (&hardware, &network.cluster);
        return Ok(FloodOutcome {
            rates: after.iter().zip(&before.0).map(rate).collect(),
            busiest: busiest(parts, &before.1, measured, |process| flood.process_name(process)),
            measured,
            events: network.cluster.events(),
            digest: network.cluster.digest(),
        });
    }
}

/// The updates that the receiver of each pair has got so far.
fn received(network: &RouterNetwork<Member>, pairs: &[(u32, u32)]) -> Vec<u64> {
    let of = |&(_, receiver): &(u32, u32)| {
        let host = network.federates.get(receiver as usize)?;
        match &network.cluster.process(*host).application.as_ref()?.task {
            Task::Count(counter) => Some(counter.received),
            _ => None,
        }
    };
    pairs.iter().map(|pair| of(pair).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netsim::cluster::{Cost, Ethernet, HostSpec};
    use router::PipeConfig;
    use std::collections::BTreeSet;

    fn flood(shape: Shape, partners: Partners) -> Flood {
        let cost = Cost { per_message: Duration::from_micros(15), per_byte_ps: 1_000 };
        let host = HostSpec { receive: cost, send: cost };
        Flood {
            shape,
            layers: vec![2, 5, 20],
            pairs: 50,
            partners,
            hardware: Hardware {
                ethernet: Ethernet::GIGABIT,
                router: host,
                federate: host,
                memory_pipe: Duration::from_micros(1),
                pipe: PipeConfig::default(),
            },
            size: 1_000,
            bundles: false,
            seed: Seed(1),
        }
    }

    #[test]
    fn the_layers_are_those_of_the_paper() {
        let tree = flood(Shape::Tree, Partners::Across);
        let topology = tree.topology();
        assert_eq!(topology.check(), Ok(()));
        assert_eq!(topology.routers.len() - topology.entries.len(), 28);
        let names = [0, 2, 3, 7, 8, 27, 28].map(|process| tree.process_name(process));
        let expected = [
            "root router",
            "router 1 of layer 1",
            "router 0 of layer 2",
            "router 4 of layer 2",
            "leaf router 0",
            "leaf router 19",
            "federate 0",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn each_federate_is_in_one_pair() {
        for partners in [Partners::Across, Partners::Anywhere] {
            let flood = flood(Shape::Mesh, partners);
            let pairs = flood.partners();
            let all: BTreeSet<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            assert_eq!((pairs.len(), all.len(), all.last().copied()), (50, 100, Some(99)));
            if partners == Partners::Across {
                assert!(pairs.iter().all(|&(a, b)| a / 5 < 10 && b / 5 >= 10), "{pairs:?}");
            }
        }
    }

    #[test]
    fn the_root_of_a_tree_bounds_what_passes() {
        let flat = |shape| Flood { layers: vec![20], ..flood(shape, Partners::Across) };
        let tree = run(&flat(Shape::Tree)).unwrap();
        assert!(tree.busiest.part.starts_with("root router, processor"), "{:?}", tree.busiest);
        assert!(tree.busiest.utilisation > 0.99, "{:?}", tree.busiest);
        // It receives and sends each update, and an acknowledgement for half a window of them.
        let work = Duration::from_micros(30) + Duration::from_nanos(2 * frame_bytes(1_000) as u64);
        let bound = 1.0 / work.as_secs_f64() / 50.0;
        let mean = tree.rates.iter().sum::<f64>() / 50.0;
        assert!((0.9 * bound..bound).contains(&mean), "{mean} of {bound}");
        let mesh = run(&flat(Shape::Mesh)).unwrap();
        let ratio = mesh.rates.iter().sum::<f64>() / 50.0 / mean;
        assert!((5.0..12.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn bundles_let_more_pass() {
        let alone = run(&Flood { pairs: 10, ..flood(Shape::Tree, Partners::Anywhere) }).unwrap();
        let bundled = run(&Flood { pairs: 10, bundles: true, ..flood(Shape::Tree, Partners::Anywhere) });
        let sum = |outcome: &FloodOutcome| outcome.rates.iter().sum::<f64>();
        assert!(sum(&bundled.unwrap()) > 1.5 * sum(&alone));
    }

    #[test]
    fn a_run_is_a_function_of_its_seed() {
        let of = |seed| run(&Flood { pairs: 5, seed: Seed(seed), ..flood(Shape::Mesh, Partners::Anywhere) });
        assert_eq!(of(1).unwrap(), of(1).unwrap());
        assert_ne!(of(1).unwrap().digest, of(2).unwrap().digest);
    }

    #[test]
    fn impossible_settings_are_refused_with_the_reason() {
        let say = |flood: Flood| run(&flood).unwrap_err().to_string();
        let good = || flood(Shape::Tree, Partners::Across);
        assert_eq!(say(Flood { pairs: 0, ..good() }), "the number of pairs must be from 1 to 16384, not 0");
        assert_eq!(say(Flood { size: 0, ..good() }), "a size in bytes must be from 1 to 1048576, not 0");
        assert_eq!(
            say(Flood { layers: vec![], ..good() }),
            "the number of layers must be from 1 to 8, not 0"
        );
        let wide = Flood { layers: vec![2_000], ..good() };
        assert_eq!(say(wide), "the number of routers in a layer must be from 1 to 1024, not 2000");
    }
}
