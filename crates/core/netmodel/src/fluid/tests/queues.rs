//! One link as a queue, against closed forms.

use base::{Rng, Seed};

use crate::arrivals::{Gaps, Sources, exponential, unit};
use crate::fluid::end_to_end::EndToEnd;
use crate::fluid::hops::HopByHop;
use crate::fluid::lanes::Lanes;
use crate::fluid::run::{Carrier, Run};
use crate::fluid::stored::Stored;
use crate::fluid::{Fluid, Sharing};
use crate::stats::Recorder;
use crate::traffic::{Parcel, Traffic};
use crate::units::{Picos, Rate};

/// Distributions of sizes with the mean [`MEAN`].
#[derive(Clone, Copy, Debug)]
enum Sizes {
    Fixed,
    Exponential,
    /// One in ten is 5.5 times as long as the mean.
    TwoPoint,
}

const MEAN: u64 = 100_000;
const RATE: Rate = Rate::mbit(800);
/// Time of a mean message: 1 ms.
const SERVICE_US: f64 = 1_000.0;

/// Sources that send over all links of a path, each in a lane of its own, in one common lane, or in
/// none.
struct Poisson {
    sources: Sources,
    sizes: Sizes,
    draws: Rng,
    lane: Option<u32>,
    path: Vec<u32>,
    end: Picos,
}

impl Traffic for Poisson {
    fn first(&mut self, source: u32) -> Option<Picos> {
        Some(self.sources.first(source, Picos::ZERO))
    }

    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel {
        path.extend(&self.path);
        lanes.extend(self.lane.map(|lanes| source % lanes));
        let bytes = match self.sizes {
            Sizes::Fixed => MEAN,
            Sizes::Exponential => exponential(&mut self.draws, Picos(MEAN)).0,
            Sizes::TwoPoint if unit(&mut self.draws) < 0.1 => MEAN * 11 / 2,
            Sizes::TwoPoint => MEAN / 2,
        };
        Parcel { destination: 0, bytes, outside: Picos::ZERO }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        Some(self.sources.next(source, now)).filter(|next| *next < self.end)
    }
}

/// Times in the network of 4 sources over one link, with the total load `rho`.
fn sojourns(sizes: Sizes, lanes: Option<u32>, rho: f64, messages: u64) -> Recorder {
    let whole = EndToEnd::new(Fluid::new(Sharing::MinShare, [RATE]), Lanes::new(lanes.unwrap_or(0) as usize));
    sojourns_on(whole, sizes, lanes, rho, messages)
}

fn sojourns_on(carrier: impl Carrier, sizes: Sizes, lanes: Option<u32>, rho: f64, messages: u64) -> Recorder {
    let gap = Picos((SERVICE_US * 1e6 / rho) as u64 * 4);
    let traffic = Poisson {
        sources: Sources::new(Gaps::Poisson(gap), 4, Seed(8)),
        sizes,
        draws: Seed(9).rng(),
        lane: lanes,
        path: vec![0],
        end: Picos(gap.0 / 4 * messages),
    };
    let mut run = Run::new(carrier, traffic, 4);
    let mut recorder = Recorder::default();
    assert!(!run.run_until(Picos::MAX, |message| recorder.add(message.sojourn())));
    assert_eq!((run.in_flight(), run.born()), (0, recorder.summary.count()));
    recorder
}

fn check(what: &str, recorder: &Recorder, expected_us: f64) {
    let interval = recorder.batches.interval().expect("there are enough messages");
    let mean = recorder.summary.mean_us();
    // Twice the interval holds in 9,999 of 10,000 seeds; this is one seed.
    let off = (mean - expected_us).abs();
    assert!(off < 2.0 * interval.half_width_us, "{what}: {mean} instead of {expected_us}, {interval:?}");
    assert!(interval.half_width_us < 0.05 * expected_us, "{what}: {interval:?} says nothing");
}

/// Processor sharing: S / (1 - rho), whatever the distribution of sizes.
#[test]
fn a_shared_link_is_insensitive_to_sizes() {
    for sizes in [Sizes::Fixed, Sizes::Exponential, Sizes::TwoPoint] {
        check(&format!("{sizes:?}"), &sojourns(sizes, None, 0.6, 100_000), SERVICE_US / 0.4);
    }
}

/// On one link there is nothing to couple: the result is the same with queues at the links.
#[test]
fn one_link_hop_by_hop_shares_its_processor_too() {
    for sizes in [Sizes::Exponential, Sizes::TwoPoint] {
        let hops = sojourns_on(HopByHop::new(None, [RATE]), sizes, None, 0.6, 100_000);
        let stored = sojourns_on(Stored::new([RATE]), sizes, None, 0.6, 100_000);
        check(&format!("{sizes:?}"), &hops, SERVICE_US / 0.4);
        check(&format!("{sizes:?}, stored"), &stored, SERVICE_US / 0.4);
    }
}

/// First come, first served: waiting rho S (1 + c²) / (2 (1 - rho)), by Pollaczek and Khinchine.
#[test]
fn a_link_with_one_lane_is_a_queue() {
    for (sizes, c2) in [(Sizes::Fixed, 0.0), (Sizes::Exponential, 1.0), (Sizes::TwoPoint, 2.25)] {
        let waiting = 0.6 * SERVICE_US * (1.0 + c2) / (2.0 * 0.4);
        check(&format!("{sizes:?}"), &sojourns(sizes, Some(1), 0.6, 100_000), waiting + SERVICE_US);
    }
}

/// All input leaves, in order in each lane, and the links have counted it.
#[test]
fn bytes_are_conserved_and_lanes_keep_order() {
    for sharing in [Sharing::MinShare, Sharing::MaxMin] {
        let traffic = Poisson {
            sources: Sources::new(Gaps::Poisson(Picos::from_millis(5)), 4, Seed(1)),
            sizes: Sizes::Exponential,
            draws: Seed(2).rng(),
            lane: Some(4),
            path: vec![2, 0, 1],
            end: Picos::from_secs(10),
        };
        let fluid = Fluid::new(sharing, [RATE, Rate::mbit(900), RATE]);
        let mut run = Run::new(EndToEnd::new(fluid, Lanes::new(4)), traffic, 4);
        let (mut bytes, mut carried) = (0, vec![0.0; 3]);
        let mut last = [None; 4];
        for second in 1..20 {
            run.run_until(Picos::from_secs(second), |message| {
                bytes += message.parcel.bytes;
                let before = last[message.source as usize].replace(message.number);
                assert!(before < Some(message.number));
            });
            // Reading the counters in between must not change their sum.
            let more = run.carrier_mut().take_carried(Picos::from_secs(second));
            carried.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        assert_eq!(run.in_flight(), 0);
        for sum in carried {
            assert!((sum / bytes as f64 - 1.0).abs() < 1e-9, "{sum} of {bytes}");
        }
    }
}
