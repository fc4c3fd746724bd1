//! The studies of the VIA paper: their figures are those they always were, and wrong use is told precisely.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use super::golden::is_golden;
use super::{refusal, report};

/// The rows of reports as comma-separated values.
pub(crate) fn csv(columns: &[&str], reports: &[Value]) -> String {
    let mut text = columns.join(",") + "\n";
    for row in reports.iter().flat_map(|report| report["rows"].as_array().expect("rows")) {
        let cells = columns.iter().map(|column| match row.get(*column) {
            None => panic!("no {column} in {row}"),
            Some(Value::Null) => String::new(),
            Some(Value::String(word)) => word.clone(),
            Some(value) => value.to_string(),
        });
        writeln!(text, "{}", cells.collect::<Vec<_>>().join(",")).expect("a string takes everything");
    }
    text
}

#[test]
fn table_1_of_the_via_paper_is_met() {
    let report = report(&["via-four-hop"]);
    assert_eq!(report["schema"], "meshrti.sim.via-four-hop/1");
    assert_eq!(report["summary"]["passed"], true);
    let columns = [
        "size_bytes",
        "model_us",
        "paper_simulated_us",
        "paper_measured_us",
        "model_to_simulated_percent",
        "model_to_measured_percent",
        "paper_to_measured_percent",
        "via_meas_us",
        "via_meas_to_measured_percent",
        "passed",
    ];
    for row in report["rows"].as_array().expect("rows") {
        assert_eq!(row["simulated_us"], row["model_us"], "the simulation of a message alone is the formula");
        for load in row["loads"].as_array().expect("loads") {
            let figure = |key: &str| load[key].as_f64().expect("a figure");
            assert!((0.85..1.05).contains(&(figure("mean_us") / figure("expected_us"))), "{row}");
        }
    }
    is_golden("via-four-hop.csv", &csv(&columns, &[report]));
}

/// All readings, and packets, of a fifth of a second on a torus of 8 by 8: with any number of threads.
#[test]
fn a_small_torus_is_what_it_was() {
    const SMALL: [&str; 5] = ["via-torus", "--torus", "8x8", "--until", "1700ms"];
    let run = |more: &[&str]| report(&[SMALL.as_slice(), more].concat());
    let reports = [
        run(&["--readings", "--jobs", "2"]),
        run(&["--packets", "1KiB"]),
        run(&["--packets", "1KiB", "--cut-through", "16B", "--direction", "message"]),
        run(&["--replications", "3"]),
    ];
    let columns = [
        "sharing",
        "direction",
        "subqueue",
        "packet_bytes",
        "replications",
        "messages",
        "unloaded_us",
        "mean_us",
        "std_us",
        "p50_us",
        "p99_us",
        "ci95_us",
        "utilisation",
        "utilisation_max",
        "left_over",
        "events",
        "rate_changes",
        "digest",
    ];
    let got = csv(&columns, &reports);
    is_golden("via-torus-small.csv", &got);
    let alone = run(&["--readings", "--jobs", "1"]);
    assert!(got.starts_with(&csv(&columns, &[alone])), "the number of threads makes a difference");
}

/// Queues of links by themselves, beside end to end.
#[test]
fn queues_at_every_link_are_what_they_were() {
    let run = |sharing: &str, more: &[&str]| {
        let words = ["via-torus", "--torus", "8x8", "--until", "1700ms", "--sharing", sharing];
        report(&[words.as_slice(), more].concat())
    };
    let reports = [
        run("hop-by-hop", &[]),
        run("hop-by-hop", &["--subqueue-buffer", "4KiB"]),
        run("hop-by-hop", &["--subqueue", "message", "--direction", "message"]),
        run("store-and-forward", &[]),
        run("store-and-forward", &["--subqueue", "message"]),
    ];
    let columns = [
        "sharing",
        "direction",
        "subqueue",
        "subqueue_buffer_bytes",
        "messages",
        "unloaded_us",
        "mean_us",
        "std_us",
        "p50_us",
        "p99_us",
        "utilisation",
        "left_over",
        "backlog_grows",
        "events",
        "digest",
    ];
    is_golden("via-torus-hops-small.csv", &csv(&columns, &reports));
}

/// Hosts as queues beside hosts that take a constant time, which stays what it was.
#[test]
fn stages_of_hosts_are_shown_beside_the_constant() {
    let run = |more: &[&str]| {
        let words = ["via-torus", "--torus", "8x8", "--until", "1700ms", "--host-model", "stages"];
        report(&[words.as_slice(), more].concat())
    };
    let reports = [run(&[]), run(&["--packets", "4KiB"]), run(&["--sharing", "hop-by-hop", "--jobs", "2"])];
    let columns = [
        "host_model",
        "sharing",
        "messages",
        "mean_us",
        "std_us",
        "p99_us",
        "utilisation",
        "left_over",
        "digest",
    ];
    is_golden("via-torus-stages-small.csv", &csv(&columns, &reports));
    for report in &reports {
        let rows = report["rows"].as_array().expect("rows");
        let mean = |row: usize| rows[row]["mean_us"].as_f64().expect("a mean");
        assert!(mean(1) > mean(0), "the bus is shared: {report}");
        assert_eq!(
            (rows[0]["stages"].as_array(), rows[1]["stages"].as_array().map(Vec::len)),
            (Some(&vec![]), Some(7))
        );
        assert_eq!(rows[0]["messages"], rows[1]["messages"]);
    }
    let constant = report(&["via-torus", "--torus", "8x8", "--until", "1700ms"]);
    assert_eq!(constant["rows"][0]["digest"], reports[0]["rows"][0]["digest"]);
    let [one, three] = ["1", "3"].map(|jobs| csv(&columns, &[run(&["--jobs", jobs])]));
    assert_eq!(one, three, "the number of threads makes a difference");
}

#[test]
fn every_message_can_be_written() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("messages.csv");
    let report = report(&[
        "via-torus",
        "--torus",
        "4x4",
        "--until",
        "1600ms",
        "--messages",
        path.to_str().expect("UTF-8"),
    ]);
    let text = std::fs::read_to_string(&path).expect("the file is written");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("number,source,destination,bytes,born_ps,latency_ps"));
    let latencies: Vec<f64> = lines
        .map(|line| line.rsplit(',').next().and_then(|ps| ps.parse::<f64>().ok()).expect("a latency"))
        .collect();
    let row = &report["rows"][0];
    assert_eq!(row["messages"], latencies.len());
    let mean = latencies.iter().sum::<f64>() * 1e-6 / latencies.len() as f64;
    assert!((mean - row["mean_us"].as_f64().expect("a mean")).abs() < 1e-3);
}

#[test]
fn wrong_use_of_via_torus_is_told() {
    for (arguments, why) in [
        (["via-torus", "--torus", "16x"].as_slice(), "write for example 16x16"),
        (&["via-torus", "--torus", "1x4"], "a side is 1; expected at least 2"),
        (&["via-torus", "--torus", "90000x90000"], "too many"),
        (&["via-torus", "--packets", "1024"], "the unit is missing"),
        (&["via-torus", "--packets", "0B"], "is not from 1B"),
        (&["via-torus", "--cut-through", "16B"], "--packets"),
        (&["via-torus", "--until", "1s"], "nothing happens until 1s"),
        (&["via-torus", "--until", "10"], "the unit is missing"),
        (&["via-torus", "--messages-per-s", "0"], "is not in 0.001"),
        (&["via-torus", "--readings", "--sharing", "max-min"], "cannot be used with"),
        (&["via-torus", "--messages", "x", "--replications", "2"], "only one run can be written"),
        (&["via-torus", "--subqueue-buffer", "4KiB"], "with --sharing hop-by-hop only"),
        (&["via-torus", "--sharing", "hop-by-hop", "--subqueue-buffer", "4096"], "the unit is missing"),
        (
            &["via-torus", "--sharing", "store-and-forward", "--subqueue", "port"],
            "--subqueue port: where each link has a queue of its own",
        ),
        (&["via-torus", "--receivers", "5"], "hint: --receivers is an option of srmp-scale"),
        (&["via-four-hop", "--hops", "3"], "hint: --hops is an option of via-torus"),
        (&["router-tree-vs-mesh", "--torus", "4x4"], "hint: --torus is an option of via-torus"),
    ] {
        let (status, error) = refusal(arguments);
        assert_eq!((status, error.contains(why)), (Some(2), true), "{arguments:?}: {error}");
    }
}
