//! Networks of queues with branches and feedback, against Jackson's product form: each station
//! behaves like a queue of its own.

use std::collections::{BTreeMap, VecDeque};

use base::{Rng, Seed};

use crate::arrivals::{exponential, unit};
use crate::fluid::end_to_end::EndToEnd;
use crate::fluid::lanes::Lanes;
use crate::fluid::run::Run;
use crate::fluid::{Fluid, Sharing};
use crate::packet::{self, Packets, Queue, Switching};
use crate::stats::Recorder;
use crate::traffic::{Delivered, Parcel, Traffic};
use crate::units::{Picos, Rate};

const STATIONS: usize = 3;
/// A mean visit takes 1 ms at the rate of the first station.
const MEAN: u64 = 100_000;
const RATES: [Rate; STATIONS] = [Rate::mbit(800), Rate::mbit(1_000), Rate::mbit(640)];
/// Arrivals from outside per ms.
const OUTSIDE: [f64; STATIONS] = [0.54, 0.18, 0.0];
/// Probabilities of the next station; the rest leaves. Stations 0 and 1 feed each other, station 2
/// feeds itself.
const NEXT: [[f64; STATIONS]; STATIONS] = [[0.0, 0.5, 0.3], [0.2, 0.0, 0.0], [0.0, 0.2, 0.3]];

/// Sources 0 to 2 are the arrivals from outside, and sources 3 to 5 the customers passed on to each
/// station. Every visit has a size of its own.
struct Customers {
    draws: Rng,
    gaps: Vec<Rng>,
    lanes: bool,
    end: Picos,
    /// By station: the times at which the customers that are passed on to it now came from outside.
    passed_on: [VecDeque<Picos>; STATIONS],
    /// By message under way: the time at which its customer came from outside, `None` if that is
    /// now.
    since: BTreeMap<u64, Option<Picos>>,
    sent: u64,
    visits: [Recorder; STATIONS],
    whole: Recorder,
}

fn gap(station: usize) -> Picos {
    Picos((1e9 / OUTSIDE[station]) as u64)
}

impl Traffic for Customers {
    fn first(&mut self, source: u32) -> Option<Picos> {
        let station = source as usize;
        (station < STATIONS && OUTSIDE[station] > 0.0)
            .then(|| exponential(&mut self.gaps[station], gap(station)))
    }

    fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel {
        let station = source as usize % STATIONS;
        let since = if source as usize >= STATIONS { self.passed_on[station].pop_front() } else { None };
        self.since.insert(self.sent, since);
        self.sent += 1;
        path.push(station as u32);
        if self.lanes {
            lanes.push(station as u32);
        }
        let bytes = exponential(&mut self.draws, Picos(MEAN)).0.max(1);
        Parcel { destination: station as u32, bytes, outside: Picos::ZERO }
    }

    fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
        let stream = self.gaps.get_mut(source as usize)?;
        Some(now + exponential(stream, gap(source as usize))).filter(|next| *next < self.end)
    }

    fn sources(&self, _: u32) -> u32 {
        2 * STATIONS as u32
    }

    fn ended(&mut self, message: &Delivered, arrived: bool, woken: &mut Vec<(Picos, u32)>) {
        assert!(arrived);
        let station = message.parcel.destination as usize;
        self.visits[station].add(message.sojourn());
        let since = self.since.remove(&message.number).expect("it was sent").unwrap_or(message.born);
        let mut drawn = unit(&mut self.draws);
        for (next, share) in NEXT[station].iter().enumerate() {
            if drawn < *share {
                self.passed_on[next].push_back(since);
                woken.push((message.ended, (STATIONS + next) as u32));
                return;
            }
            drawn -= share;
        }
        self.whole.add(message.ended.since(since));
    }
}

fn customers(lanes: bool, ms: u64) -> Customers {
    Customers {
        draws: Seed(21).rng(),
        gaps: (0..STATIONS as u64).map(|station| Seed(22).split_index(station).rng()).collect(),
        lanes,
        end: Picos::from_millis(ms),
        passed_on: Default::default(),
        since: BTreeMap::new(),
        sent: 0,
        visits: Default::default(),
        whole: Recorder::default(),
    }
}

/// Arrivals at each station per ms, by the traffic equations, and the load of each.
fn loads() -> ([f64; STATIONS], [f64; STATIONS]) {
    let mut arrivals = OUTSIDE;
    for _ in 0..200 {
        let coming = |to: usize| (0..STATIONS).map(|from| arrivals[from] * NEXT[from][to]).sum::<f64>();
        arrivals = std::array::from_fn(|to| OUTSIDE[to] + coming(to));
    }
    let service_ms = |station: usize| RATES[station].time_of(MEAN).as_micros() * 1e-3;
    (arrivals, std::array::from_fn(|station| arrivals[station] * service_ms(station)))
}

fn check(what: &str, customers: &Customers, ms: u64) {
    let near = |what: &str, recorder: &Recorder, expected_us: f64| {
        let interval = recorder.batches.interval().expect("there are enough");
        let off = (recorder.summary.mean_us() - expected_us).abs();
        assert!(off < 2.0 * interval.half_width_us, "{what}: off {expected_us} by {off}, {interval:?}");
        assert!(interval.half_width_us < 0.08 * expected_us, "{what}: {interval:?} says nothing");
    };
    let (arrivals, rho) = loads();
    let mut there = 0.0;
    for station in 0..STATIONS {
        assert!((0.2..0.8).contains(&rho[station]), "{rho:?}");
        let number = rho[station] / (1.0 - rho[station]);
        there += number;
        let visits = &customers.visits[station];
        near(&format!("{what}, station {station}"), visits, 1e3 * number / arrivals[station]);
        // By Little's law: the time of all visits over the time of the run.
        let counted = visits.summary.count() as f64 * visits.summary.mean_us() / (ms as f64 * 1e3);
        assert!((counted / number - 1.0).abs() < 0.12, "{what}, station {station}: {counted}, not {number}");
    }
    near(
        &format!("{what}, from coming to leaving"),
        &customers.whole,
        1e3 * there / OUTSIDE.iter().sum::<f64>(),
    );
}

#[test]
fn stations_are_as_if_each_were_by_itself() {
    const MS: u64 = 120_000;
    for lanes in [true, false] {
        // First come, first served, or shared: the means are the same.
        let carrier = EndToEnd::new(Fluid::new(Sharing::MinShare, RATES), Lanes::new(STATIONS));
        let mut run = Run::new(carrier, customers(lanes, MS), 2 * STATIONS as u32);
        assert!(!run.run_until(Picos::MAX, |_| {}));
        check(if lanes { "lanes" } else { "shared" }, run.traffic(), MS);
    }
    let queue = |rate| Queue { rate, delay: Picos::ZERO, buffer: None, overhead: 0 };
    let packets = Packets::new(Switching::StoreAndForward, u32::MAX, RATES.map(queue));
    let mut run = packet::run::Run::new(packets, customers(false, MS), 2 * STATIONS as u32);
    assert!(!run.run_until(Picos::MAX, |_| {}));
    check("packets", run.traffic(), MS);
}
