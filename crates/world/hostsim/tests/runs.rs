//! Whole runs, compared with the sums of their costs.

mod common;

use std::time::Duration;

use base::Seed;
use common::{FREE, chain, done};
use hostsim::{
    Costs, Federation, HostModel, Joined, Placement, READ_PART, Recording, Task, Update, WARM_BYTES, Work,
    run,
};
use workload::Workload;
use workload::analysis::Forecast;

fn federation(nodes: u16, cores: u32, costs: Costs, task: Task) -> Federation {
    let work = Work { task, size_bytes: 16, from: 0, to: vec![nodes - 1] };
    chain(nodes, HostModel { cores, costs }, work)
}

const TRIPS: Task = Task::RoundTrips { count: 50, warm_up: 5 };

/// On one core, each turn finds the caches full of the data of two or three other processes.
#[test]
fn processes_of_one_core_share_its_caches() {
    let costs = Costs { refill_ns: 10_000.0, ..FREE };
    let p50 =
        |nodes, cores| done(&federation(nodes, cores, costs, TRIPS)).done[0].quantile_us(0.5).unwrap() / 10.0;
    let (one, three) = (p50(1, 1), p50(3, 1));
    assert!((4.0..=12.0).contains(&one), "four turns or more, with one or two others each: {one}");
    assert!(three > 2.5 * one, "twice the turns, with more others each: {three} and {one}");
    assert!(p50(3, 8) < three / 4.0, "with a core for each nobody takes them away");
}

/// A single cost counts in a round trip as often as its step occurs on the way.
#[test]
fn a_round_trip_is_the_sum_of_its_steps() {
    let p50 = |nodes, costs| {
        let report = done(&federation(nodes, 8, costs, TRIPS));
        assert_eq!(report.done[0].reflects, 50);
        report.done[0].quantile_us(0.5).unwrap() * 1e3
    };
    for nodes in [1, 2, 4] {
        // With one node four turns follow each other: asker, node, answerer, node. Each further
        // node adds two.
        let steps = f64::from(2 * (u32::from(nodes) + 1));
        let links = f64::from(2 * (u32::from(nodes) - 1));
        let near = |costs: Costs, expected: f64| {
            let found = p50(nodes, costs);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{nodes} nodes, {costs:?}: {found} and not {expected}"
            );
        };
        near(Costs { wake_ns: 10_000.0, ..FREE }, 10_000.0 * steps);
        near(Costs { wake_ns: 100_000.0, turn_ns: 10_000.0, ..FREE }, 110_000.0 * steps);
        let io = 1.0 + READ_PART;
        near(Costs { wake_ns: 100_000.0, write_ns: 8_000.0, ..FREE }, steps * (100_000.0 + 8_000.0 * io));
        near(Costs { wake_ns: 100_000.0, call_ns: 9_000.0, ..FREE }, 100_000.0 * steps + 2.0 * 9_000.0);
        near(Costs { wake_ns: 100_000.0, callback_ns: 9_000.0, ..FREE }, 100_000.0 * steps + 2.0 * 9_000.0);
        let link = Costs { wake_ns: 100_000.0, link_message_ns: 9_000.0, ..FREE };
        near(link, 100_000.0 * steps + 9_000.0 * links);
        let remote = Costs { wake_ns: 100_000.0, remote_message_ns: 9_000.0, ..FREE };
        let ends = if nodes > 1 { 2.0 } else { 0.0 };
        near(remote, 100_000.0 * steps + 9_000.0 * ends);
        let federates = Costs { federate_call_ns: 4_000.0, federate_callback_ns: 5_000.0, ..FREE };
        near(Costs { wake_ns: 100_000.0, ..federates }, 100_000.0 * steps + 2.0 * 9_000.0);
    }
}

/// Each additional byte is paid as often as it is written, read, and kept.
#[test]
fn a_byte_is_paid_where_it_passes() {
    let p50 = |size_bytes, costs| {
        let mut federation = federation(3, 8, Costs { wake_ns: 100_000.0, ..costs }, TRIPS);
        federation.work[0].size_bytes = size_bytes;
        done(&federation).done[0].quantile_us(0.5).unwrap() * 1e3
    };
    let of_a_byte = |costs| (p50(40_000, costs) - p50(30_000, costs)) / 10_000.0;
    let near = |costs: Costs, expected: f64| {
        let found = of_a_byte(costs);
        assert!((found / expected - 1.0).abs() < 0.02, "{costs:?}: {found} and not {expected}");
    };
    // From federate to node, over two links, to the other federate, and back.
    near(Costs { write_byte_ns: 3.0, ..FREE }, 8.0 * 3.0);
    near(Costs { read_byte_ns: 2.0, ..FREE }, 8.0 * 2.0);
    near(Costs { remote_byte_ns: 5.0, ..FREE }, 2.0 * 5.0);
    // Bytes that fit into the nearest caches have costs of their own.
    let bytes = Costs { write_byte_ns: 3.0, read_byte_ns: 2.0, ..FREE };
    assert_eq!(p50(16, bytes), p50(WARM_BYTES as u32 - 1_000, bytes));
    let warm = Costs { warm_byte_ns: 3.0, ..FREE };
    let found = (p50(9_000, warm) - p50(8_000, warm)) / 1_000.0;
    assert!((found / (16.0 * 3.0) - 1.0).abs() < 0.02, "{found}");
}

/// With one node on two cores, the federates of both sides share a core. The other core runs the
/// node, which costs nothing here.
#[test]
fn processes_stay_on_their_cores() {
    let costs = Costs { federate_call_ns: 1_000.0, federate_callback_ns: 1_000.0, ..FREE };
    let flood = Task::Flood { count: 20_000, subscribers: 1 };
    let per_s = |pinned, cores| {
        let federation = Federation { pinned, ..federation(1, cores, costs, flood) };
        done(&federation).done[0].per_s()
    };
    // The first batch must get through before both sides work.
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.06, "{found}/s");
    near(per_s(false, 2), 1e6);
    near(per_s(true, 2), 0.5e6);
    near(per_s(true, 3), 1e6);
}

/// With a core for each process a flood is as fast as its busiest process; with one core it is as
/// slow as all of them together.
#[test]
fn a_flood_is_as_fast_as_its_bottleneck() {
    let costs = Costs {
        call_ns: 2_000.0,
        callback_ns: 1_000.0,
        federate_call_ns: 500.0,
        federate_callback_ns: 800.0,
        ..FREE
    };
    let flood = Task::Flood { count: 20_000, subscribers: 1 };
    let per_s = |cores| done(&federation(1, cores, costs, flood)).done[0].per_s();
    let (many, one) = (per_s(8), per_s(1));
    assert!((many * 3_000e-9 - 1.0).abs() < 0.03, "{many}/s");
    assert!((one * 4_300e-9 - 1.0).abs() < 0.03, "{one}/s");
}

/// With a core for each process the subscriber or the node limits both; on one core more publishers cost
/// nothing but their wake-ups, which are free here. Updates of each stay in order.
#[test]
fn many_publishers_reach_one_subscriber() {
    let costs = Costs { call_ns: 2_000.0, callback_ns: 1_000.0, federate_call_ns: 500.0, ..FREE };
    let of = |publishers, cores| {
        let task = Task::FanIn { count: 20_001, publishers };
        let report = done(&federation(2, cores, costs, task));
        let done = &report.done[0];
        assert_eq!((done.reflects, done.expected, done.out_of_turn), (20_001, 20_001, 0));
        assert_eq!(done.federates_ns.len(), publishers as usize + 1);
        assert!(done.federates_ns[..publishers as usize].iter().all(|ns| *ns > 0.0));
        done.per_s()
    };
    let ratio = of(7, 16) / of(1, 16);
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    let ratio = of(7, 1) / of(1, 1);
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

/// Updates that a workload generates are the same if they were recorded.
#[test]
fn a_recording_is_replayed_as_it_was() {
    let run = Duration::from_secs(20);
    let entities = Task::Entities { workload: 0, run, subscribers: 2 };
    let drawn =
        Federation { workloads: vec![Workload::table1(50)], ..federation(2, 4, EXAMPLE.costs, entities) };
    let recording = Recording::new(drawn.script(0).unwrap());
    assert!(recording.objects() <= 50 && recording.length() <= run);
    let replay = Task::Replay { recording: 0, subscribers: 2 };
    let replayed = Federation { recordings: vec![recording], ..federation(2, 4, EXAMPLE.costs, replay) };
    let [drawn, replayed] = [drawn, replayed].map(|federation| done(&federation).done.remove(0));
    assert_eq!((replayed.reflects, replayed.expected), (drawn.reflects, drawn.expected));
    assert!(replayed.reflects > 0);
}

#[test]
fn nothing_is_lost_and_a_run_repeats_itself() {
    let flood = Task::Flood { count: 3_000, subscribers: 4 };
    let costs = HostModel { cores: 2, ..EXAMPLE }.costs;
    let mut federation = federation(3, 2, costs, flood);
    federation.work.push(Work { task: TRIPS, size_bytes: 5_000, from: 2, to: vec![1] });
    for joined in [Joined::Chain, Joined::Star, Joined::Tree([2].into()), Joined::Mesh] {
        for placement in [Placement::Together, Placement::ByNode, Placement::Apart] {
            let federation = Federation { joined: joined.clone(), placement, ..federation.clone() };
            let report = done(&federation);
            assert_eq!(report.done[0].reflects, 12_000);
            assert_eq!(report.done[1].reflects, 50);
            assert_eq!(report.done[0].out_of_turn, 0);
            assert_eq!(done(&federation), report);
        }
    }
}

/// Without overload no queues form: times are about those of a single update, and processors idle
/// for the part that the load leaves.
#[test]
fn a_pace_that_can_be_kept_is_kept() {
    let mean_gap = Duration::from_micros(500);
    let paced = Task::Paced { count: 4_000, mean_gap, subscribers: 1 };
    let report = done(&federation(1, 4, EXAMPLE.costs, paced));
    let took = report.took.as_secs_f64();
    assert!((took / 2.0 - 1.0).abs() < 0.1, "{took} s");
    let p50 = report.done[0].quantile_us(0.5).unwrap();
    let trip = done(&federation(1, 4, EXAMPLE.costs, TRIPS)).done[0].quantile_us(0.5).unwrap();
    assert!((0.4..0.7).contains(&(p50 / trip)), "{p50} of {trip} us");
}

/// A flood of more bytes than a session holds waits for room, as the library of federates does.
/// 4,096 calls of 10 KiB may be unanswered, which are more than the 16 MiB that may be unsent.
#[test]
fn a_flood_of_long_updates_waits_for_room() {
    let task = Task::Flood { count: 3_000, subscribers: 1 };
    let mut federation = federation(1, 4, EXAMPLE.costs, task);
    federation.work[0].size_bytes = 10 << 10;
    let report = done(&federation);
    assert_eq!(report.done[0].reflects, 3_000);
    assert_eq!(done(&federation), report);
}

/// Entities update as the forecast of their workload predicts, and all updates arrive. Their number
/// depends on the seed alone.
#[test]
fn entities_do_what_their_workload_says() {
    let run = Duration::from_secs(40);
    let entities = Task::Entities { workload: 0, run, subscribers: 2 };
    let federation =
        Federation { workloads: vec![Workload::table1(200)], ..federation(3, 4, EXAMPLE.costs, entities) };
    let report = done(&federation);
    let forecast = Forecast::of(&federation.workloads[0].classes[0], run).unwrap();
    let wanted = 2.0 * (forecast.mode0.mean + forecast.mode1.mean);
    let found = &report.done[0];
    assert_eq!((found.reflects, found.times_ns.len() as u64), (found.expected, found.expected));
    assert!((found.expected as f64 / wanted - 1.0).abs() < 0.15, "{} of about {wanted}", found.expected);
    let took = report.took.as_secs_f64();
    assert!((39.0..41.0).contains(&took), "{took} s");
    assert_eq!(done(&federation), report);
    let slower = Federation {
        nodes: 1,
        work: vec![Work { to: vec![0], ..federation.work[0].clone() }],
        ..federation.clone()
    };
    assert_eq!(done(&slower).done[0].expected, found.expected);
    let other = Federation { seed: Seed(2), ..federation };
    assert_ne!(done(&other).done[0].expected, found.expected);
}

#[test]
fn nonsense_is_refused() {
    let say = |change: &dyn Fn(&mut Federation)| {
        let mut federation = federation(2, 2, FREE, TRIPS);
        change(&mut federation);
        run(&federation, |_| true).unwrap_err().to_string()
    };
    assert_eq!(say(&|f| f.nodes = 0), "the number of nodes must be from 1 to 1000, not 0");
    assert_eq!(say(&|f| f.work.clear()), "the number of tasks must be from 1 to 1000, not 0");
    assert_eq!(say(&|f| f.work[0].to = vec![2]), "task 1 is at node 2, but nodes are numbered from 0 to 1");
    assert_eq!(
        say(&|f| f.work[0].size_bytes = 3),
        "the size of an update in bytes must be from 8 to 1048576, not 3"
    );
    let entities = Task::Entities { workload: 0, run: Duration::from_secs(9), subscribers: 1 };
    assert_eq!(say(&|f| f.work[0].task = entities), "task 1 has workload 0, but there are 0");
    let with = |count| {
        say(&|f| {
            f.work[0].task = entities;
            f.workloads = vec![Workload::table1(count)];
        })
    };
    assert_eq!(with(100_001), "the number of objects of a workload must be from 1 to 100000, not 100001");
    let replay = Task::Replay { recording: 1, subscribers: 1 };
    let update = Update { at: Duration::ZERO, object: 7, size_bytes: 2 << 20, reliable: true };
    let recorded = |updates: &[Update]| {
        say(&|f| {
            f.work[0].task = replay;
            f.recordings = vec![Recording::default(), Recording::new(updates.to_vec())];
        })
    };
    assert_eq!(say(&|f| f.work[0].task = replay), "task 1 has recording 1, but there are 0");
    assert_eq!(recorded(&[]), "the number of objects of a recording must be from 1 to 100000, not 0");
    let long = "the size of a recorded update in bytes must be from 0 to 1048576, not 2097152";
    assert_eq!(recorded(&[update]), long);
    let none = Task::FanIn { count: 5, publishers: 0 };
    assert_eq!(say(&|f| f.work[0].task = none), "the number of publishers must be from 1 to 1000, not 0");
    assert_eq!(say(&|f| f.hosts.cores = 0), "host model: `cores` is 0; expected at least 1");
}

const EXAMPLE: HostModel = HostModel::EXAMPLE;
