//! The mass object test of "RTI Latency Testing over the Defense Research and Engineering Network"
//! (2001, section 3a): round trips of updates of many objects, updated as fast as possible.
//!
//! One federate registers the objects, each with an array of opaque data and a time stamp. The other
//! one registers a mirror of each when it discovers it. Both are in step once the first federate has
//! discovered all mirrors. Then it updates its objects in turn, without a pause; the other federate
//! updates the mirror of each with the same values; and each reflect of a mirror is a sample.
//!
//! The paper does not say how many updates were under way at a time. The time of one that waits
//! behind others says more about their number than about the RTI, so here the number is a setting.

use std::time::Duration;

use crate::error::BenchError;
use crate::exchange::way::{Order, Way};
use crate::exchange::{Asker, Federates, InFlight, Load, STAMP_BYTES};
use crate::floor::Floor;
use crate::process::Launcher;
use crate::server::{Server, federation_name};
use crate::wire::bytes_of;
use console::rounds::Rounds;

/// The most bytes that the floor has under way: they have to fit into the buffers of sockets.
const FLOOR_BYTES_MAX: usize = 64 << 10;

/// The settings of the benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How messages travel.
    pub ways: Vec<Way>,
    /// The federates that ask, and those that mirror each object and answer each update.
    pub federates: Federates,
    /// Numbers of objects of each asking federate.
    pub objects: Vec<usize>,
    /// Numbers of updates of an asking federate that are under way at a time.
    pub in_flight: Vec<InFlight>,
    /// Bytes of data of an object, besides its time stamp.
    pub size: usize,
    /// Reflects in a run. A run of sweeps ends with a whole sweep.
    pub samples: u64,
    /// Updates before the first run that are not counted.
    pub warm_up: u64,
    /// Runs of each case.
    pub runs: u64,
    /// Longest silence of a server that may still mean work.
    pub patience: Duration,
}

/// A case, and its runs.
#[derive(Clone, Debug)]
pub struct Mass {
    /// How messages travelled.
    pub way: Way,
    /// Number of objects of each asking federate.
    pub objects: usize,
    /// Updates under way.
    pub in_flight: InFlight,
    /// Links between nodes that a message crosses.
    pub links: usize,
    /// The emulated line between the server and the federates that answer.
    pub line: Option<String>,
    /// The round trips of each run.
    pub runs: Vec<Rounds>,
    /// Answers per second in each run.
    pub answers_per_s: Vec<f64>,
    /// Round trips through the relay, with as many under way; `None` if they do not fit into the
    /// buffers of sockets.
    pub floor: Option<Rounds>,
    /// Time for which the objects were registered and discovered, and their mirrors too, in seconds.
    pub setup_s: f64,
    /// Growth of the server's memory for an object with its mirror, in bytes, if this benchmark
    /// started the server.
    pub pair_bytes: Option<f64>,
    /// Processor time of the server for a round trip, in seconds, likewise.
    pub server_cpu_s: Option<f64>,
    /// Messages without an answer, all of them HLAbestEffort.
    pub lost: u64,
    /// The reason why there are no runs, or not all of them.
    pub failure: Option<String>,
}

/// Runs the plan. `progress` gets the number of finished runs and of all. A case that fails says why,
/// and the next one begins.
///
/// # Errors
/// The system fails or refuses a request.
pub async fn measure(
    launcher: &Launcher,
    server: &Server,
    plan: &Plan,
    mut progress: impl FnMut(u64, u64),
) -> Result<Vec<Mass>, BenchError> {
    let (links, lines) = server.floor_lines(&[]);
    let mut floor = Floor::start(launcher, links, &lines).await?;
    let all = (plan.ways.len() * plan.objects.len() * plan.in_flight.len()) as u64 * plan.runs;
    let (mut results, mut done) = (Vec::new(), 0);
    for &objects in &plan.objects {
        for &way in &plan.ways {
            let federation = format!("{} {}", federation_name("mass"), results.len());
            let mut cases: Vec<Mass> =
                plan.in_flight.iter().map(|in_flight| Mass::new(server, way, objects, *in_flight)).collect();
            let mut finished = |runs| {
                done += runs;
                progress(done, all);
            };
            let measured =
                measure_cases(launcher, server, &mut floor, plan, &federation, &mut cases, &mut finished);
            if let Err(error) = Box::pin(measured).await {
                let unfinished = |case: &&mut Mass| (case.runs.len() as u64) < plan.runs;
                for case in cases.iter_mut().filter(unfinished) {
                    case.failure = Some(error.to_string());
                    finished(plan.runs - case.runs.len() as u64);
                }
            }
            results.append(&mut cases);
        }
    }
    Ok(results)
}

impl Mass {
    fn new(server: &Server, way: Way, objects: usize, in_flight: InFlight) -> Self {
        Self {
            way,
            objects,
            in_flight,
            links: server.links(),
            line: server.line(),
            runs: Vec::new(),
            answers_per_s: Vec::new(),
            floor: None,
            setup_s: 0.0,
            pair_bytes: None,
            server_cpu_s: None,
            lost: 0,
            failure: None,
        }
    }

    /// All runs together.
    pub fn rounds(&self) -> Rounds {
        let mut all = Rounds::new(self.runs.first().map_or(0, Rounds::size_bytes));
        self.runs.iter().for_each(|run| all.add(run));
        all
    }
}

/// Measures cases of one number of objects in one way, which share the objects.
async fn measure_cases(
    launcher: &Launcher,
    server: &Server,
    floor: &mut Floor,
    plan: &Plan,
    federation: &str,
    cases: &mut [Mass],
    finished: &mut impl FnMut(u64),
) -> Result<(), BenchError> {
    let Some(first) = cases.first() else { return Ok(()) };
    let (way, objects) = (first.way, first.objects);
    if let Some(reason) = way.is_missing(server.edition()) {
        return Err(BenchError::Unusable(reason.to_owned()));
    }
    let asker = Asker::start(launcher, server, federation, (way, plan.federates), plan.patience).await?;
    let before = server.resident_bytes().ok();
    let (mut asker, setup) = asker.populate(objects).await?;
    let grown = server.resident_bytes().ok().zip(before);
    let pair_bytes = grown.map(|(after, before)| after.saturating_sub(before) as f64 / objects.max(1) as f64);
    for case in cases.iter_mut() {
        (case.setup_s, case.pair_bytes) = (setup.as_secs_f64(), pair_bytes);
        let in_flight = match case.in_flight {
            // In logical time a step has all messages that are under way.
            InFlight::Messages(0) => InFlight::Messages(1),
            in_flight => in_flight,
        };
        let count = match in_flight {
            InFlight::Messages(_) => plan.samples,
            InFlight::Sweep => {
                let producers = plan.federates.producers.max(1) as u64;
                plan.samples.div_ceil(producers).next_multiple_of(objects.max(1) as u64) * producers
            }
        };
        let mut load = Load { size: plan.size, in_flight, warm_up: plan.warm_up, count, rate_per_s: None };
        let cpu_before = server.cpu_s();
        for _ in 0..plan.runs {
            let (back, measured) = asker.measure(load).await?;
            asker = back;
            load.warm_up = 0;
            case.answers_per_s.push(measured.rounds.samples() as f64 / measured.took_s());
            case.runs.push(measured.rounds);
            case.lost += measured.lost;
            finished(1);
        }
        let rounds = (plan.warm_up + plan.runs * count) as f64;
        let spent = server.cpu_s().zip(cpu_before);
        case.server_cpu_s = spent.map(|(after, before)| (after - before) / rounds);
        case.floor = floor_of(floor, plan, in_flight).await?;
    }
    let ended = asker.end().await;
    // In logical time the other federate never leaves by itself.
    if way.order == Order::Receive { ended } else { Ok(()) }
}

/// Round trips through the relay with as many messages under way.
async fn floor_of(floor: &mut Floor, plan: &Plan, in_flight: InFlight) -> Result<Option<Rounds>, BenchError> {
    let InFlight::Messages(messages) = in_flight else { return Ok(None) };
    let bytes = bytes_of(&[plan.size, STAMP_BYTES]);
    if messages * bytes > FLOOR_BYTES_MAX {
        return Ok(None);
    }
    let counts = (plan.warm_up, plan.samples * plan.runs);
    Ok(Some(floor.rounds_in_flight(plan.size, bytes, messages as u64, counts).await?))
}
