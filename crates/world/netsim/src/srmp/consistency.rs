//! Whether all have everything in the end, whatever happens meanwhile.
//!
//! Four sources and nine sites of four receivers, with loggers, so that some sites have region loggers. Lines and hosts lose up to a fifth of what
//! comes; sites are cut off and come back; hosts die and begin again without their state, sources and loggers among them; and again and again the
//! logger of a region dies while everybody sends.

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

/// Sites of receivers, and receivers at each.
const SITES: u32 = 9;
const HOSTS: u32 = 4;
/// The shortest run in which something of everything happens.
pub const RUN_MIN: Duration = Duration::from_secs(60);
/// In each such part of a run a site is cut off, hosts die, and a region logger does.
const PART: Duration = Duration::from_secs(60);
/// Hosts that die in each part.
const DEATHS: usize = 3;
/// A dead host begins again after this at most.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// A site is cut off for this long at most.
const CUT_MAX: Duration = Duration::from_secs(40);
/// After the last message.
const SETTLE: Duration = Duration::from_secs(120);
/// Most of what a line loses.
const LOSS_MAX: f64 = 0.2;

/// What happens in a run.
#[derive(Debug)]
pub struct Ordeal {
    /// The share that lines lose.
    pub loss: f64,
    /// In bursts of ten datagrams in the mean.
    pub in_bursts: bool,
    /// The group.
    pub setup: Setup,
}

/// A number in [0, 1).
fn uniform(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number below `end`.
fn below(rng: &mut Rng, end: usize) -> usize {
    (uniform(rng) * end as f64) as usize
}

fn tune(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
}

/// What happens in `run`, at least [`RUN_MIN`], by that chance.
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

/// A run: what happened, and what came of it. Consistent is what has all final values at all hosts. `go_on` is as for [`Group::run`].
///
/// # Errors
/// [`GroupError::Stopped`] by `go_on`; none besides that these settings should have.
pub fn run(time: Duration, seed: Seed, go_on: impl FnMut() -> bool) -> Result<(Ordeal, Report), GroupError> {
    let ordeal = ordeal(time, seed);
    let group = Group::new(ordeal.setup.clone(), seed)?;
    Ok((ordeal, group.run(go_on)?))
}
