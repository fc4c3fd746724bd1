//! Eventual consistency under faults.
//!
//! Four sources and nine sites of four receivers, with loggers, so that some sites have region
//! loggers. Lines and hosts lose up to a fifth of the datagrams. Sites are cut off and come back.
//! Hosts die and restart without their state, including sources and loggers. The logger of a region
//! dies repeatedly while all members send.

use std::time::Duration;

use base::{Rng, Seed};
use rand_core::RngCore;
use srmp::Config;
use srmp::rate::Rate;
use wan::LineSpec;
use workload::Workload;

use super::group::{Group, GroupError, Setup};
use super::layout::{Layout, LossAt};
use super::report::Report;
use super::scale::{RTT, SOURCES, bernoulli, bursts};
use super::table1::OBJECTS;
use super::tree::SETTLED;

/// Number of receiving sites, and receivers at each.
const SITES: u32 = 9;
const HOSTS: u32 = 4;
/// Shortest run in which each kind of fault occurs.
pub const RUN_MIN: Duration = Duration::from_secs(60);
/// Length of a part of a run. In each part a site is cut off, hosts die, and a region logger dies.
const PART: Duration = Duration::from_secs(60);
/// Number of hosts that die in each part.
const DEATHS: usize = 3;
/// Longest time until a dead host restarts.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// Longest time for which a site is cut off.
const CUT_MAX: Duration = Duration::from_secs(40);
/// Time from the last message to the end of the run.
const SETTLE: Duration = Duration::from_secs(120);
/// Largest loss of a line.
const LOSS_MAX: f64 = 0.2;

/// The faults of a run.
#[derive(Debug)]
pub struct Ordeal {
    /// The share of datagrams that lines lose.
    pub loss: f64,
    /// Losses come in bursts with a mean length of ten datagrams.
    pub in_bursts: bool,
    /// The settings of the group.
    pub setup: Setup,
}

/// A uniform number in [0, 1).
fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A uniform number below `end`.
fn below(rng: &mut Rng, end: usize) -> usize {
    (uniform(rng) * end as f64) as usize
}

fn tune(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
}

/// Draws the faults of a run of length `run`, at least [`RUN_MIN`], from `seed`.
pub fn ordeal(run: Duration, seed: Seed) -> Ordeal {
    let mut rng = seed.split("ordeal").rng();
    let in_bursts = uniform(&mut rng) < 0.5;
    let loss = 0.02 + (LOSS_MAX - 0.02) * uniform(&mut rng);
    let lines = if in_bursts { bursts(loss) } else { bernoulli(loss) };
    let mut sites = vec![1; SOURCES as usize];
    sites.extend(std::iter::repeat_n(HOSTS, SITES as usize));
    let hosts: u32 = sites.iter().sum();
    let (mut cuts, mut crashes, mut region_crashes) = (Vec::new(), Vec::new(), Vec::new());
    for part in 0..(run.as_secs() / PART.as_secs()).max(1) as u32 {
        let begin = SETTLED + PART * part;
        let within = |rng: &mut Rng, span: Duration| span.mul_f64(uniform(rng));
        let cut = within(&mut rng, PART - CUT_MAX);
        let site = below(&mut rng, sites.len());
        cuts.push((site, begin + cut, begin + cut + within(&mut rng, CUT_MAX)));
        let mut dead = Vec::new();
        while dead.len() < DEATHS {
            let host = below(&mut rng, hosts as usize);
            if !dead.contains(&host) {
                dead.push(host);
                let at = begin + within(&mut rng, PART - PAUSE_MAX);
                crashes.push((host, at, within(&mut rng, PAUSE_MAX)));
            }
        }
        region_crashes.push((begin + within(&mut rng, PART - PAUSE_MAX), within(&mut rng, PAUSE_MAX)));
    }
    let setup = Setup {
        layout: Layout {
            sites,
            trunk: LineSpec { delay: RTT / 2, loss: lines, ..LineSpec::default() },
            local_delay: Duration::from_micros(500),
            last_hop: bernoulli(loss / 4.0),
            loss_at: LossAt::Receiver,
            cuts,
        },
        workload: Workload::table1(SOURCES * OBJECTS),
        sources: SOURCES as usize,
        tune,
        urgent: false,
        join_within: Duration::from_secs(2),
        traffic_from: SETTLED,
        run,
        settle: SETTLE,
        crashes,
        region_crashes,
        loggers: true,
    };
    Ordeal { loss, in_bursts, setup }
}

/// Executes a run and returns its faults and its report. A run is consistent if all hosts have all
/// final values. `go_on` is as for [`Group::run`].
///
/// # Errors
/// [`GroupError::Stopped`] if `go_on` stops the run; these settings should cause no other.
pub fn run(time: Duration, seed: Seed, go_on: impl FnMut() -> bool) -> Result<(Ordeal, Report), GroupError> {
    let ordeal = ordeal(time, seed);
    let group = Group::new(ordeal.setup.clone(), seed)?;
    Ok((ordeal, group.run(go_on)?))
}
