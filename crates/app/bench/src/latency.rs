//! Round trips of one message at a time: update → reflect → update → reflect, or the same with
//! interactions.
//!
//! This process sends a message, and the server delivers it to a federate in another process. That
//! one sends the same values back. So there are two hops each way, as in BMLatency of the RTI
//! benchmark suite and in HLA Ping of the Army Research Laboratory, which report half of the time as
//! that of one way. All ways of travelling, all servers and the floor take turns, in slices, so that
//! any other load of the machine affects all of them.

use std::time::Duration;

use crate::error::BenchError;
use crate::exchange::way::{Kind, Order, Way};
use crate::exchange::{Asker, Federates, InFlight, Load, STAMP_BYTES};
use crate::floor::Floor;
use crate::process::{Launcher, PATIENCE};
use crate::server::{Server, federation_name};
use crate::wire::bytes_of;
use console::rounds::Rounds;
use wan::LineSpec;
use workload::share;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How messages travel.
    pub ways: Vec<Way>,
    /// The federates that ask, and those that answer.
    pub federates: Federates,
    /// Bytes of data in a message, besides its time stamp.
    pub sizes: Vec<usize>,
    /// Number of round trips of each size.
    pub samples: u64,
    /// Number of round trips before every slice that are not counted.
    pub warm_up: u64,
    /// Number of slices of the samples of each size; the floor has its turn between two of them.
    pub slices: u64,
    /// Numbers of other objects that exist while all sizes are measured, in rising order:
    /// registered by this federate, and mirrored by the other one.
    pub objects: Vec<usize>,
    /// Messages that are sent per second, whether or not earlier ones were answered. `None`: each
    /// leaves when the one before it was answered.
    pub rate_per_s: Option<f64>,
    /// Longest silence of a server that may still mean work.
    pub patience: Duration,
    /// The emulated lines of the links of the floor, in order: those of the links of the nodes.
    pub lines: Vec<LineSpec>,
}

impl Plan {
    /// Updates of these sizes without regions, while so many other objects exist.
    pub fn new(sizes: Vec<usize>, objects: Vec<usize>) -> Self {
        Self {
            ways: vec![Way::default()],
            federates: Federates::default(),
            sizes,
            samples: 10_000,
            warm_up: 200,
            slices: 5,
            objects,
            rate_per_s: None,
            patience: PATIENCE,
            lines: Vec::new(),
        }
    }
}

/// The round trips of one size.
#[derive(Clone, Debug)]
pub struct Latency {
    /// The address of the server.
    pub server: String,
    /// Links between its nodes that a message crosses.
    pub links: usize,
    /// The emulated line between the server and the federates that answer.
    pub line: Option<String>,
    /// How messages travelled.
    pub way: Way,
    /// Number of other objects that existed.
    pub objects: usize,
    /// Round trips through the server.
    pub rounds: Rounds,
    /// The same, slice by slice.
    pub slices: Vec<Rounds>,
    /// Round trips through the relay.
    pub floor: Rounds,
    /// Messages without an answer, all of them HLAbestEffort.
    pub lost: u64,
    /// Processor time of the server per round trip, in seconds, warm-up included; if this benchmark
    /// started the server.
    pub server_cpu_s: Option<f64>,
    /// The reason why there are no round trips, or not all of them.
    pub failure: Option<String>,
}

impl Latency {
    fn new(ring: &Ring<'_>, objects: usize, size: usize) -> Self {
        Self {
            server: ring.server.address().to_owned(),
            links: ring.server.links(),
            line: ring.server.line(),
            way: ring.way,
            objects,
            rounds: Rounds::new(size),
            slices: Vec::new(),
            floor: Rounds::new(size),
            lost: 0,
            server_cpu_s: Some(0.0),
            failure: None,
        }
    }
}

/// Runs the plan at `server` and at those `beside` it, such as other addresses of the same one, which
/// take turns with it. `progress` gets the number of finished round trips and their total. Of each size,
/// the results are in the order of the servers, and of the ways at each. A server that fails ends only
/// its own part; the reason stands in its results.
///
/// # Errors
/// The system fails or refuses a request.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    beside: &[Server],
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Latency>, BenchError> {
    let (links, lines) = server.floor_lines(&plan.lines);
    let mut floor = Floor::start(launcher, links, &lines).await?;
    let federation = federation_name("latency");
    let mut rings = Vec::new();
    for server in std::iter::once(server).chain(beside) {
        for way in &plan.ways {
            let federation = format!("{federation}-{}", rings.len());
            rings.push(Ring::start(launcher, server, federation, *way, plan).await);
        }
    }
    let slices = plan.slices.clamp(1, plan.samples.max(1));
    let each = plan.samples * (plan.sizes.len() * plan.objects.len().max(1)) as u64;
    let (all, mut done) = (each * rings.len() as u64, 0);
    let mut results = Vec::new();
    for &objects in if plan.objects.is_empty() { &[0][..] } else { &plan.objects } {
        for ring in &mut rings {
            ring.populate(objects).await;
        }
        for &size in &plan.sizes {
            let mut latencies: Vec<_> = rings.iter().map(|ring| Latency::new(ring, objects, size)).collect();
            let mut bare = Rounds::new(size);
            for slice in 0..slices {
                let samples = share(plan.samples, slices, slice);
                let bytes = bytes_of(&[size, STAMP_BYTES]);
                bare.add(&floor.rounds(size, bytes, plan.warm_up, samples).await?);
                // None of them is always the first.
                for turn in 0..rings.len() {
                    let at = (turn + slice as usize) % rings.len();
                    rings[at].rounds(plan, size, samples, &mut latencies[at]).await;
                    done += samples;
                    progress(done, all);
                }
            }
            let rounds = (plan.samples + slices * plan.warm_up) as f64;
            for mut latency in latencies {
                latency.floor = bare.clone();
                latency.server_cpu_s = latency.server_cpu_s.map(|sum| sum / rounds);
                results.push(latency);
            }
        }
    }
    for ring in rings {
        ring.end().await;
    }
    Ok(results)
}

/// This federate, the other one, and the server between them.
struct Ring<'a> {
    server: &'a Server,
    way: Way,
    /// `Err` once something has failed.
    asker: Result<Asker, String>,
}

impl<'a> Ring<'a> {
    async fn start(
        launcher: &Launcher,
        server: &'a Server,
        federation: String,
        way: Way,
        plan: &Plan,
    ) -> Self {
        let asker = match way.is_missing(server.edition()) {
            Some(reason) => Err(reason.to_owned()),
            None => {
                let asker =
                    Asker::start(launcher, server, &federation, (way, plan.federates), plan.patience).await;
                asker.map_err(|error| error.to_string())
            }
        };
        Self { server, way, asker }
    }

    /// Registers objects until there are `count` besides the one that is updated.
    async fn populate(&mut self, count: usize) {
        // Interactions need no object, but those that exist may cost something.
        let count = count + usize::from(self.way.kind != Kind::Interaction);
        self.with(async |asker| asker.populate(count).await).await;
    }

    async fn rounds(&mut self, plan: &Plan, size: usize, samples: u64, latency: &mut Latency) {
        let load = Load {
            size,
            in_flight: InFlight::Messages(1),
            warm_up: plan.warm_up,
            count: samples,
            rate_per_s: plan.rate_per_s.filter(|_| self.way.order == Order::Receive),
        };
        let before = self.server.cpu_s();
        let measured = self.with(async |asker| asker.measure(load).await).await;
        let used = self.server.cpu_s().zip(before).map(|(after, before)| after - before);
        latency.server_cpu_s = latency.server_cpu_s.zip(used).map(|(sum, used)| sum + used);
        if let Some(measured) = measured {
            latency.rounds.add(&measured.rounds);
            latency.slices.push(measured.rounds);
            latency.lost += measured.lost;
        }
        latency.failure = self.asker.as_ref().err().cloned();
    }

    /// Does something with the federates. `None` if it fails, or something has failed before.
    async fn with<T>(
        &mut self,
        work: impl AsyncFnOnce(Asker) -> Result<(Asker, T), BenchError>,
    ) -> Option<T> {
        let taken = std::mem::replace(&mut self.asker, Err("it was interrupted".to_owned()));
        let done = match taken {
            Ok(asker) => work(asker).await.map_err(|error| error.to_string()),
            Err(reason) => Err(reason),
        };
        let (asker, result) = match done {
            Ok((asker, result)) => (Ok(asker), Some(result)),
            Err(reason) => (Err(reason), None),
        };
        self.asker = asker;
        result
    }

    /// Its results are there: a server that fails now has done its part.
    async fn end(self) {
        if let Ok(asker) = self.asker {
            let _ = asker.end().await;
        }
    }
}
