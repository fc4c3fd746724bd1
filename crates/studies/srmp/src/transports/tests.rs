//! Every transport on the same small trace.

use std::time::Duration;

use base::Seed;
use srmp::Config;
use srmp::rate::Rate;
use wan::{LineSpec, Loss, Share};
use workload::Workload;

use super::{Bulk, Kind, Outcome, Setup, StarSpec, Trace, TransportError, run};
use crate::tcp;
use netsim::EVENTS_OF_A_STEP;

fn private(config: &mut Config) {
    config.rate.rate_min = Rate::new(10e6).expect("a rate");
}

const NOW: Duration = Duration::ZERO;

fn kinds() -> [Kind; 5] {
    let config = tcp::Config::MODERN;
    [
        Kind::Srmp(private),
        Kind::Multicast,
        Kind::Tcp { config, batch: NOW, unordered: false },
        Kind::Tcp { config, batch: NOW, unordered: true },
        Kind::Hybrid { config },
    ]
}

fn way(loss: f64) -> LineSpec {
    let loss = Loss::Bernoulli(Share::from_f64(loss).unwrap());
    LineSpec { delay: Duration::from_millis(50), loss, ..LineSpec::default() }
}

fn trace(sites: usize, seconds: u64) -> Trace {
    let workload = Workload::table1(15 * sites as u32);
    Trace::record(workload, sites, Duration::from_secs(seconds), Seed(1), || true).unwrap()
}

fn outcome(kind: Kind, sites: usize, loss: f64) -> Outcome {
    run(&Setup::new(StarSpec::of_way(sites, way(loss)), kind), &trace(sites, 60), Seed(2), || true).unwrap()
}

#[test]
fn without_loss_all_have_everything_and_multicast_goes_up_once() {
    for kind in kinds() {
        let outcome = outcome(kind, 4, 0.0);
        assert_eq!(outcome.delays[0].count(), outcome.mode0_expected, "{kind:?}");
        assert_eq!(outcome.finals.0, outcome.finals.1, "{kind:?}");
        assert_eq!(outcome.recovery.count(), 0);
        let (up, down): (u64, u64) =
            outcome.carried.iter().fold((0, 0), |sum, line| (sum.0 + line.up, sum.1 + line.down));
        let copies = down as f64 / up as f64;
        let expected = if matches!(kind, Kind::Tcp { .. }) { 1.0 } else { 3.0 };
        assert!((copies - expected).abs() < 0.1, "{kind:?}: {copies}");
    }
}

#[test]
fn with_loss_reliable_ones_recover_and_order_costs_those_behind() {
    let [srmp, multicast, tcp, streams, hybrid] = kinds().map(|kind| outcome(kind, 4, 0.05));
    for (name, outcome) in [("srmp", &srmp), ("tcp", &tcp), ("streams", &streams), ("hybrid", &hybrid)] {
        assert_eq!(outcome.finals.0, outcome.finals.1, "{name}");
        assert!(outcome.recovery.count() > 3, "{name}");
    }
    assert!(multicast.finals.1 < multicast.finals.0 && multicast.recovery.count() == 0);
    assert_eq!(tcp.delays[0].count(), tcp.mode0_expected);
    let got = srmp.delays[0].count() as f64 / srmp.mode0_expected as f64;
    assert!((got - 0.95).abs() < 0.01, "{got}");
    // TCP holds messages back by its window and even more by its order; SRMP holds nothing back.
    let held = [tcp.held, streams.held, srmp.held];
    assert!(held[0] > 1.2 * held[1] && held[1] > 0.05 && held[2] < 0.01, "{held:?}");
}

/// Without order, an old version that arrives late must not count as news.
#[test]
fn an_older_version_does_not_replace_a_newer_one() {
    let setup = Setup::new(StarSpec::of_way(4, way(0.05)), kinds()[3]);
    let trace = trace(4, 60).with_reliable_share(1.0, Seed(1));
    let outcome = run(&setup, &trace, Seed(2), || true).unwrap();
    assert_eq!(outcome.finals.0, outcome.finals.1);
}

#[test]
fn one_seed_is_one_run() {
    for kind in kinds() {
        assert_eq!(outcome(kind, 3, 0.1), outcome(kind, 3, 0.1), "{kind:?}");
    }
}

#[test]
fn a_run_ends_soon_when_its_caller_wants_no_more() {
    for kind in kinds() {
        let run_for = |steps: u64| {
            let mut asked = 0;
            let setup = Setup::new(StarSpec::of_way(3, way(0.0)), kind);
            let outcome = run(&setup, &trace(3, 10), Seed(2), || {
                asked += 1;
                asked < steps
            });
            (asked, outcome)
        };
        let (asked, whole) = run_for(u64::MAX);
        assert_eq!(asked, whole.expect("it runs").events / EVENTS_OF_A_STEP, "{kind:?}");
        let (asked, stopped) = run_for(2);
        assert!(matches!(stopped, Err(TransportError::Stopped)) && asked == 2, "{kind:?}: {asked}");
    }
    let trace = Trace::record(Workload::table1(15), 1, Duration::from_secs(60), Seed(1), || false);
    assert!(matches!(trace, Err(TransportError::Stopped)));
}

#[test]
fn a_competing_connection_fills_what_is_left() {
    let bulk = Bulk { from: 0, to: 1, begin: Duration::from_secs(10), end: Duration::from_secs(50) };
    let star = StarSpec::of_way(2, way(0.0)).with_access(500_000, 20_000);
    let mut setup = Setup { bulk: vec![bulk], ..Setup::new(star, Kind::Srmp(|_| ())) };
    setup.glimpse_every = Some(Duration::from_secs(1));
    let outcome = run(&setup, &trace(2, 60), Seed(1), || true).unwrap();
    let mean = |from: u64, to: u64| {
        let within = outcome.glimpses.iter().filter(|look| (from..to).contains(&look.at.as_secs()));
        let rates: Vec<f64> = within.map(|look| look.carried + look.competing).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    assert!(mean(15, 50) > 400e3 && mean(0, 10) < 200e3 && mean(52, 60) < 200e3, "{:?}", outcome.glimpses);
}

#[test]
fn impossible_settings_are_errors() {
    let setup = Setup::new(StarSpec::of_way(1, way(0.0)), Kind::Multicast);
    let error = run(&setup, &trace(1, 10), Seed(1), || true).unwrap_err().to_string();
    assert!(error.contains("1 sites, of which 1 send: expected two or more"), "{error}");
}
