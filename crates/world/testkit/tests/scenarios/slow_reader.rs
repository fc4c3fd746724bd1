//! A federate that does not read delays no other one. Best-effort callbacks for it are dropped and
//! counted. Reliable ones are kept up to a limit, and beyond it the federate is disconnected
//! (1516.1-2025, 6.11; the limits are settings of this RTI).

use crate::weather::{self, Of};
use base::{Moment, Seed};
use hla::handle::ObjectInstanceHandle;
use std::time::Duration;
use testkit::observation::Observation;
use testkit::{Cluster, Failure, Limits, Options, Shape};

const LIMITS: Limits =
    Limits { stream_window: 4_000, unsent_bytes_high: 8_000, queue_bytes_max: 40_000, filter_window: 2 };

/// One node, a sender with its instance, a reader, and a federate that does not read.
fn prepared(seed: u64) -> Result<(Cluster, ObjectInstanceHandle), Failure> {
    let mut options = Options::quiet(Seed(seed), Shape::alone(), 3);
    options.delays = vec![Duration::from_millis(1); 3];
    options.restart = false;
    options.timeouts.heart = Duration::from_secs(180);
    options.timeouts.heartbeat = Duration::from_secs(60);
    options.limits = LIMITS;
    let mut cluster = Cluster::new(options);
    let instance = weather::prepare(&mut cluster, 1)?[0];
    cluster.run_for(Duration::from_millis(100))?;
    Ok((cluster, instance))
}

/// `count` updates of one attribute, a millisecond apart.
fn update(cluster: &mut Cluster, instance: ObjectInstanceHandle, of: Of, count: u32) -> Result<(), Failure> {
    let host = cluster.federates()[0];
    for _ in 0..count {
        weather::update(cluster, host, instance, of, 400)?;
        cluster.run_for(Duration::from_millis(1))?;
    }
    Ok(())
}

fn check<T>(run: impl FnOnce() -> Result<T, Failure>) -> T {
    run().unwrap_or_else(|failure| panic!("{failure}"))
}

/// When the second federate got each reflection.
fn arrivals(slow: bool) -> Vec<Moment> {
    check(|| {
        let (mut cluster, instance) = prepared(1)?;
        let [_, reader, other] = cluster.federates()[..] else { panic!("there are three") };
        cluster.set_reading(other, !slow);
        cluster.record();
        update(&mut cluster, instance, Of::Wind, 400)?;
        let came = cluster.recorded().iter().filter(|(host, seen)| {
            *host == reader && matches!(seen.observation, Observation::Received { .. })
        });
        Ok(came.map(|(_, seen)| seen.at).collect())
    })
}

#[test]
fn a_slow_reader_delays_nobody() {
    let (undisturbed, beside_a_slow_one) = (arrivals(false), arrivals(true));
    assert!(undisturbed.len() > 390, "{}", undisturbed.len());
    assert_eq!(undisturbed, beside_a_slow_one);
}

#[test]
fn best_effort_is_dropped_and_counted_and_the_rest_arrives() {
    for seed in 1..6 {
        let outcome = check(|| {
            let (mut cluster, instance) = prepared(seed)?;
            let slow = cluster.federates()[2];
            cluster.set_reading(slow, false);
            update(&mut cluster, instance, Of::Wind, 300)?;
            update(&mut cluster, instance, Of::Report, 30)?;
            assert!(joined(&cluster) == 3, "30 reliable callbacks fit");
            assert!(dropped(&cluster) > 50, "most of the rest does not");
            cluster.set_reading(slow, true);
            cluster.run_for(Duration::from_secs(2))?;
            cluster.finish()
        });
        assert!(outcome.dropped > 50, "{outcome:?}");
    }
}

#[test]
fn a_federate_that_never_reads_reliable_messages_is_disconnected() {
    check(|| {
        let (mut cluster, instance) = prepared(7)?;
        cluster.set_reading(cluster.federates()[2], false);
        update(&mut cluster, instance, Of::Report, 300)?;
        assert_eq!(joined(&cluster), 2, "{:?}", cluster.kernel(0).status());
        cluster.finish()
    });
}

fn joined(cluster: &Cluster) -> usize {
    cluster.kernel(0).status().federations.iter().map(|federation| federation.federates.len()).sum()
}

fn dropped(cluster: &Cluster) -> u64 {
    let federations = cluster.kernel(0).status().federations;
    federations.iter().flat_map(|federation| &federation.federates).map(|federate| federate.dropped).sum()
}
