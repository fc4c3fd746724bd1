//! Each benchmark once, with tiny counts: that it runs, ends, and reports what it promises. Nothing here looks at how
//! long anything takes.

#![allow(clippy::print_stderr)] // what is skipped is told

#[path = "common/loopback.rs"]
mod loopback;
#[path = "common/report.rs"]
mod report;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use report::{assert_numbers, meshrti, report};
use serde_json::Value;

const ROUND_KEYS: [&str; 9] =
    ["size_bytes", "samples", "min_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "mean_us"];

#[test]
fn latency_with_and_without_other_objects() {
    let report = report(&[
        "latency",
        "--size",
        "16,1k",
        "--objects",
        "0,20",
        "--samples",
        "30",
        "--warm-up",
        "3",
        "--slices",
        "2",
    ]);
    assert_eq!(report["schema"], "meshrti.bench.results/1");
    let rows = report["rows"].as_array().unwrap();
    let found: Vec<_> =
        rows.iter().map(|row| (row["objects"].as_u64(), row["size_bytes"].as_u64())).collect();
    assert_eq!(found, [(0, 16), (0, 1024), (20, 16), (20, 1024)].map(|(o, s)| (Some(o), Some(s))));
    for row in rows {
        assert_numbers(row, &ROUND_KEYS);
        assert_numbers(row, &["floor_p50_us", "floor_p99_us", "p50_ratio", "p99_ratio", "one_way_mean_us"]);
        assert_eq!(row["samples"], 30);
        assert_eq!(row["outcome"], "measured");
    }
    assert_eq!(report["histograms"].as_array().map(Vec::len), Some(4));
    assert_eq!(report["histograms"][0]["runs_ns"].as_array().map(Vec::len), Some(2));
    assert_numbers(&report["method"], &["warm_up", "runs", "harness_us"]);
    assert_eq!(report["command_line"][2], "latency");
}

/// The floor crosses the line twice in a round trip, once each way, and the nodes do not.
#[test]
fn the_floor_crosses_emulated_lines() {
    let counts = ["--size", "16", "--samples", "5", "--warm-up", "1", "--slices", "1"];
    let report = report(&[&["latency", "--nodes", "2", "--floor-line", "delay=20ms"], &counts[..]].concat());
    let row = &report["rows"][0];
    assert!(row["floor_p50_us"].as_f64().is_some_and(|us| us >= 40_000.0), "{row}");
    assert_eq!(row["links"], 1, "{row}");
    let method = report["method"]["description"].to_string();
    assert!(method.contains("delay=20ms"), "{method}");
    let line = ["--floor-line", "delay=1ms"];
    let output = meshrti(&[&["bench", "latency", "--nodes", "2"], &line[..], &line, &counts].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = error.contains("--floor-line is given 2 times, and one link is on the path");
    assert_eq!((output.status.code(), told), (Some(2), true), "{error}");
}

/// The live objects are those of the simulation: they send the same messages.
#[test]
fn table_1_is_sent_live_as_it_is_simulated() {
    if !loopback::has_multicast() {
        return;
    }
    let report = report(&["srmp", "--table1", "6s", "--seed", "3"]);
    let rows = report["rows"].as_array().unwrap();
    let of = |what: &str, key: &str| {
        let row =
            rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("no {what}: {report}"));
        row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"))
    };
    for what in ["mode 0 sent", "mode 1 sent"] {
        assert_eq!(of(what, "live"), of(what, "simulated"), "{report}");
    }
    assert!((80.0..=100.0).contains(&of("mode 0 received, %", "live")), "{report}");
    assert!(of("mode 1 received, %", "live") > 0.0 && of("mode 0 delay p50, ms", "live") >= 50.0, "{report}");
}

/// Two addresses of one server take turns.
#[test]
fn carriers_are_measured_side_by_side() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(["--quiet", "serve", "--listen", "tcp://127.0.0.1:0", "--listen", "ws://127.0.0.1:0"])
        .current_dir(std::env::temp_dir())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let lines = BufReader::new(server.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let said: Vec<String> = lines.take_while(|line| line != "ready").collect();
    let urls: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("listening on ")).collect();
    let counts = ["--size", "16,64", "--samples", "20", "--warm-up", "3", "--slices", "2"];
    let report = report(&[&["latency", "--server", urls[0], "--beside", urls[1]], &counts[..]].concat());
    server.kill().and_then(|()| server.wait()).expect("it was started here");
    let rows = report["rows"].as_array().unwrap();
    let found: Vec<_> = rows.iter().map(|row| (row["server"].as_str(), row["size_bytes"].as_u64())).collect();
    let expected = [(urls[0], 16), (urls[1], 16), (urls[0], 64), (urls[1], 64)];
    assert_eq!(found, expected.map(|(url, size)| (Some(url), Some(size))));
    rows.iter().for_each(|row| assert_numbers(row, &["p50_us", "floor_p50_us", "p50_ratio"]));
}

#[test]
fn throughput_loses_nothing() {
    let report = report(&["throughput", "--size", "0,100", "--updates", "5000", "--slices", "2"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_numbers(row, &["size_bytes", "received_per_s", "floor_per_s", "throughput_ratio"]);
        assert_eq!((row["sent"].as_u64(), row["received"].as_u64()), (Some(5000), Some(5000)));
    }
}

#[test]
fn two_nodes_lose_nothing_either() {
    let latency = report(&[
        "latency",
        "--nodes",
        "3",
        "--size",
        "16",
        "--samples",
        "20",
        "--warm-up",
        "3",
        "--slices",
        "1",
    ]);
    assert_numbers(&latency["rows"][0], &["p50_us", "floor_p50_us", "p50_ratio"]);
    let flood = report(&["throughput", "--nodes", "2", "--updates", "5000", "--slices", "2"]);
    assert_eq!(flood["rows"][0]["received"].as_u64(), Some(5000));
}

#[test]
fn many_publishers_reach_one_subscriber() {
    let counts = ["--publishers", "1,3", "--updates", "90", "--slices", "2", "--live", "--sim"];
    let report = report(&[&["fanin", "--nodes", "2"], &counts[..]].concat());
    let rows = report["rows"].as_array().unwrap();
    let whose =
        |row: &serde_json::Value| (row["live"].as_bool().unwrap(), row["publishers"].as_u64().unwrap());
    let whose: Vec<_> = rows.iter().map(whose).collect();
    assert_eq!(whose, [(true, 1), (true, 3), (false, 1), (false, 3)]);
    for row in rows {
        let keys = ["updates_per_s", "single_updates_per_s", "fanin_ratio", "slowest_per_s", "fastest_per_s"];
        assert_numbers(row, &keys);
        let fairness = row["fairness_ratio"].as_f64().unwrap();
        assert!((0.0..=1.000_001).contains(&fairness), "{row}");
    }
}

#[test]
fn fanout_reaches_everybody() {
    let report =
        report(&["fanout", "--subscribers", "5", "--updates", "50", "--slices", "2", "--live", "--sim"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_numbers(row, &["subscribers", "updates", "fanout_us", "single_us", "fanout_ratio"]);
    }
    assert_numbers(&rows[1], &["server_cpu_fanout_us", "server_cpu_single_us", "server_cpu_ratio"]);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "it reads /proc")]
fn memory_is_told_per_federate_and_object() {
    let report = report(&["memory", "--federates", "5", "--objects", "200", "--idle", "10ms"]);
    assert_numbers(
        &report["rows"][0],
        &["federates", "objects", "empty_bytes", "federate_bytes", "object_bytes"],
    );
}

#[test]
fn the_floor_by_itself() {
    let report =
        report(&["floor", "--size", "0,100", "--samples", "30", "--warm-up", "3", "--flood", "100000"]);
    for row in report["rows"].as_array().unwrap() {
        assert_numbers(row, &ROUND_KEYS);
        assert_numbers(row, &["message_bytes", "per_s", "mbit_per_s"]);
    }
}

#[test]
fn a_short_run_of_everything_prints_tables() {
    let output = meshrti(&["bench", "quick", "--scale", "0.001"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    for heading in ["p99 to floor", "received/s", "ratio to singles", "bytes per object"] {
        assert!(text.contains(heading), "{heading} in\n{text}");
    }
}

#[test]
fn an_impossible_measurement_is_an_error() {
    let output = meshrti(&["bench", "latency", "--size", "0"]);
    assert_eq!(output.status.code(), Some(2));
    let output = meshrti(&["bench", "throughput", "--server", "127.0.0.1:1", "--updates", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
    let output = meshrti(&["bench", "role", "dance"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn srmp_reports_costs_and_delays_beside_bare_sockets() {
    // Without multicast over loopback there is nothing to measure; its own tests say so.
    let report = report(&["srmp", "--messages", "2000", "--slices", "2", "--delays", "100"]);
    let rows = report["rows"].as_array().unwrap();
    let kinds: Vec<_> = rows.iter().filter_map(|row| row["kind"].as_str()).collect();
    assert_eq!(kinds, ["bundled", "authenticated", "encrypted", "single", "delay"]);
    for row in &rows[..4] {
        assert_numbers(row, &["messages_per_core_per_s", "datagram_cpu_us", "floor_datagram_cpu_us"]);
        assert_numbers(row, &["datagram_cpu_ratio", "datagram_bytes", "datagrams", "messages"]);
    }
    assert_numbers(&rows[4], &["p50_us", "floor_p50_us", "added_p50_us", "offered_per_s"]);
}

/// Entities send the same in both worlds, and all of it arrives.
#[test]
fn entities_do_the_same_on_this_machine_and_in_the_simulator() {
    let text = "kind = \"federation\"\ntitle = \"entities\"\n\n[nodes]\ncount = 2\n\n[hosts]\npinned = true\n\n\
        [[tasks]]\ntask = \"entities\"\nfrom = 0\nto = 1\nworkload = \"table1\"\nobjects = 20\nrun = \"1s\"\nsubscribers = 3\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-entities.toml");
    std::fs::write(&path, text).expect("the folder is there");
    let both = report(&["federation", path.to_str().expect("the folder is UTF-8"), "--live", "--sim"]);
    let rows = both["rows"].as_array().unwrap();
    let found: Vec<_> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(found, ["reflects", "p50_us", "p90_us", "p99_us"]);
    rows.iter().for_each(|row| assert_numbers(row, &["measured", "simulated"]));
    assert_eq!(rows[0]["measured"], rows[0]["simulated"]);
    assert!(rows[0]["measured"].as_f64().is_some_and(|count| count > 30.0), "{both}");
}

/// A flood to several nodes gets through groups that lose datagrams, in both worlds.
#[test]
fn nodes_share_groups_on_this_machine_and_in_the_simulator() {
    if !loopback::has_multicast() {
        return;
    }
    let text = "kind = \"federation\"\ntitle = \"groups\"\n\n[nodes]\ncount = 3\njoined = \"mesh\"\n\n[multicast]\ngroups = 2\nloss = \"5%\"\n\n\
        [[tasks]]\ntask = \"flood\"\nfrom = 0\nto = [1, 2]\nsize = \"250B\"\ncount = 3000\nsubscribers = 2\n\n\
        [[tasks]]\ntask = \"entities\"\nfrom = 1\nto = [0, 2]\nworkload = \"table1\"\nobjects = 20\nrun = \"1s\"\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-groups.toml");
    std::fs::write(&path, text).expect("the folder is there");
    let both = report(&["federation", path.to_str().expect("the folder is UTF-8"), "--live", "--sim"]);
    let rows = both["rows"].as_array().unwrap();
    let found: Vec<_> =
        rows.iter().map(|row| (row["task"].as_u64(), row["what"].as_str().unwrap())).collect();
    let of_tasks = [(1, "reflects_per_s"), (2, "reflects"), (2, "p50_us"), (2, "p90_us"), (2, "p99_us")];
    assert_eq!(found[..5], of_tasks.map(|(task, what)| (Some(task), what)));
    let of_groups = [
        "group_frames",
        "group_datagrams",
        "group_bytes",
        "lost_datagrams",
        "repaired_frames",
        "recovered_frames",
    ];
    assert_eq!(found[5..11], of_groups.map(|what| (None, what)));
    assert_eq!(found[11..], ["asked_again", "link_bytes"].map(|what| (None, what)));
    rows.iter().for_each(|row| assert_numbers(row, &["measured", "simulated"]));
    for row in &rows[5..8] {
        assert!(row["measured"].as_f64() > Some(0.0) && row["simulated"].as_f64() > Some(0.0), "{row}");
    }
}

/// Pairs over a tree of seven nodes and over a mesh of four, in both worlds; the means of both rows of
/// `meshrti bench pairs` are of the same pairs.
#[test]
fn pairs_exchange_updates_over_trees_and_meshes() {
    let plots = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-pairs");
    let plots = plots.to_str().expect("the folder is UTF-8");
    let counts = ["--layers", "2,4", "--pairs", "4", "--size", "8,8k", "--exchanges", "5", "--warm-up", "1"];
    let both =
        report(&[&["pairs", "--hops", "0,2", "--live", "--sim", "--plots", plots], &counts[..]].concat());
    assert_eq!(both["schema"], "meshrti.bench.pairs/1");
    let rows = both["rows"].as_array().unwrap();
    let key = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        let number = |key: &str| row[key].as_u64().unwrap();
        let live = row["live"].as_bool().unwrap();
        (live, text("topology"), number("hops"), number("links"), number("size_bytes"))
    };
    let expected = [true, false].into_iter().flat_map(|live| {
        let networks = [("tree", 0, 2), ("mesh", 0, 2), ("tree", 2, 6), ("mesh", 2, 3)];
        networks.into_iter().flat_map(move |(topology, hops, links)| {
            [8, 8192].map(|size| (live, topology.to_owned(), hops, links, size))
        })
    });
    assert_eq!(rows.iter().map(key).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    for row in rows {
        assert_numbers(row, &["mean_us", "std_us"]);
        assert_eq!(row["pairs"], 4, "{row}");
        assert_eq!(row["speedup_ratio"].is_number(), row["topology"] == "mesh", "{row}");
        assert_eq!(row["error_ratio"].is_number(), row["live"] == false, "{row}");
    }
    for file in ["times-live", "times-sim", "speed-up-live", "distribution-live", "distribution-sim"] {
        let svg = std::fs::read_to_string(format!("{plots}/pairs-{file}.svg")).expect("the chart is drawn");
        assert!(svg.contains("</svg>"), "{file}");
    }

    let flood = ["--flood", "--updates", "50", "--partners", "across"];
    let floods =
        report(&[&["pairs", "--live", "--sim"], &flood[..], &["--size", "16,8k"], &counts[..4]].concat());
    let rows = floods["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8, "{floods}");
    rows.iter().for_each(|row| assert_numbers(row, &["updates_per_s", "min_per_s", "max_per_s"]));

    let refused = |arguments: &[&str]| {
        let output = meshrti(&[&["bench", "pairs"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let far = refused(&["--layers", "2,4", "--hops", "3"]);
    assert!(far.contains("--hops 3: the number of hops must be from 0 to 2, not 3"), "{far}");
    let uneven = refused(&["--layers", "2,5"]);
    assert!(uneven.contains("5 nodes cannot be spread evenly below 2"), "{uneven}");
    let small = refused(&["--size", "7"]);
    assert!(small.contains("7"), "{small}");
}

/// `meshrti bench federation` over a tree, with statistics over all of its round trips.
#[test]
fn a_tree_from_a_file_has_statistics_over_its_tasks() {
    let task = |from, to| {
        format!(
            "[[tasks]]\ntask = \"round-trips\"\nfrom = {from}\nto = {to}\nsize = \"64B\"\ncount = 9\nwarm_up = 1\n\n"
        )
    };
    let text = format!(
        "kind = \"federation\"\ntitle = \"a tree\"\ndiscard_largest = 1\n\n[nodes]\njoined = \"tree\"\nlayers = [1, 2]\n\n{}{}{}",
        task(2, 3),
        task(3, 2),
        task(2, 0),
    );
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-tree.toml");
    std::fs::write(&path, text).expect("the folder is there");
    let both = report(&["federation", path.to_str().expect("the folder is UTF-8"), "--live", "--sim"]);
    let rows = both["rows"].as_array().unwrap();
    let of_all: Vec<_> = rows.iter().filter(|row| row["task"].is_null()).collect();
    assert_eq!(
        of_all.iter().map(|row| row["what"].as_str().unwrap()).collect::<Vec<_>>(),
        ["mean_us", "std_us"]
    );
    of_all.iter().for_each(|row| assert_numbers(row, &["measured", "simulated"]));
}

#[test]
fn a_federation_is_measured_and_simulated_from_one_file() {
    let text = "kind = \"federation\"\ntitle = \"small\"\n\n[nodes]\ncount = 2\n\n\
        [[tasks]]\ntask = \"round-trips\"\nfrom = 0\nto = 1\nsize = \"64B\"\ncount = 20\nwarm_up = 2\n\n\
        [[tasks]]\ntask = \"flood\"\nfrom = 1\nto = 0\nsize = \"100B\"\ncount = 500\nsubscribers = 2\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-federation.toml");
    std::fs::write(&path, text).expect("the folder is there");
    let path = path.to_str().expect("the folder is UTF-8");
    let both = report(&["federation", path, "--live", "--sim"]);
    assert_eq!(both["schema"], "meshrti.bench.federation/1");
    let rows = both["rows"].as_array().unwrap();
    let found: Vec<_> = rows.iter().map(|row| (row["task"].as_u64(), row["what"].as_str())).collect();
    let what = [(1, "p50_us"), (1, "p90_us"), (1, "p99_us"), (2, "reflects_per_s")];
    assert_eq!(found, what.map(|(task, what)| (Some(task), Some(what))));
    rows.iter().for_each(|row| assert_numbers(row, &["measured", "simulated", "error_ratio"]));
    let live = report(&["federation", path]);
    assert!(
        live["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["measured"].is_number() && row["simulated"].is_null())
    );
    let mesh = text.replace("count = 2\n\n", "count = 3\njoined = \"mesh\"\n\n");
    std::fs::write(path, mesh).expect("the folder is there");
    let mesh = report(&["federation", path, "--live"]);
    assert!(mesh["rows"].as_array().unwrap().iter().all(|row| row["measured"].is_number()));
    let apart = text.replace(
        "[[tasks]]\ntask = \"r",
        "[hosts]\nplacement = \"apart\"\n[network]\nrate = \"1Gbit/s\"\n[[tasks]]\ntask = \"r",
    );
    std::fs::write(path, apart).expect("the folder is there");
    let output = meshrti(&["bench", "federation", path]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("can only be simulated"), "{said}");
}

/// A federation of two nodes, each with its federates on a computer of one core.
fn by_node(name: &str) -> String {
    let text = "kind = \"federation\"\ntitle = \"by node\"\n\n[nodes]\ncount = 2\n\n\
        [hosts]\nplacement = \"by-node\"\ncores = 1\npinned = true\n\n[network]\nrate = \"100Gbit/s\"\n\n\
        [[tasks]]\ntask = \"round-trips\"\nfrom = 0\nto = 1\nsize = \"64B\"\ncount = 20\nwarm_up = 2\n\n\
        [[tasks]]\ntask = \"flood\"\nfrom = 1\nto = 0\nsize = \"100B\"\ncount = 500\nsubscribers = 2\n";
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the folder is there");
    path.to_str().expect("the folder is UTF-8").to_owned()
}

/// Network namespaces, as long as this lives.
struct Namespaces;

impl Namespaces {
    /// `None` without the rights for them, or without a core for each.
    fn new() -> Option<Self> {
        Self::script("down");
        let up = Self::script("up")
            .map(|up| (up.status.success(), String::from_utf8_lossy(&up.stderr).into_owned()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if let (Some((true, _)), 2..) = (&up, cores) {
            return Some(Self);
        }
        Self::script("down");
        eprintln!("SKIPPED, nodes in network namespaces are NOT tested: {cores} core(s); {up:?}");
        None
    }

    fn script(what: &str) -> Option<Output> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/srmp/namespaces.sh");
        Command::new(script).args([what, "2", "mrtest"]).output().ok()
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        Self::script("down");
    }
}

#[test]
fn nodes_and_their_federates_are_in_namespaces_of_their_own() {
    let Some(_namespaces) = Namespaces::new() else { return };
    let path = by_node("bench-namespaces.toml");
    let with = |namespaces: &str| {
        meshrti(&["bench", "federation", &path, "--live", "--sim", "--namespaces", namespaces, "--json"])
    };
    let output = with("mrtest1=10.77.0.1,mrtest2=10.77.0.2");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let both: Value = serde_json::from_slice(&output.stdout).expect("the standard output is one JSON object");
    let rows = both["rows"].as_array().unwrap();
    let found: Vec<_> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(found, ["p50_us", "p90_us", "p99_us", "reflects_per_s"]);
    rows.iter().for_each(|row| assert_numbers(row, &["measured", "simulated", "error_ratio"]));
    // A node cannot listen at the address of another computer.
    assert_eq!(with("mrtest1=10.77.0.1,mrtest2=10.77.0.1").status.code(), Some(1));
}

#[test]
fn wrong_use_of_namespaces_is_told() {
    let path = by_node("bench-namespaces-wrong.toml");
    let say = |arguments: &[&str]| {
        let output = meshrti(arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let federation = |more: &[&str]| say(&[&["bench", "federation", &path], more].concat());
    let (code, said) = federation(&["--live", "--namespaces", "a"]);
    assert!(code == Some(2) && said.contains("expected NAME=ADDRESS"), "{said}");
    let (code, said) = federation(&["--sim", "--namespaces", "a=10.77.0.1,b=10.77.0.2"]);
    assert!(code == Some(2) && said.contains("--live"), "{said}");
    let (code, said) = federation(&["--live", "--namespaces", "a=10.77.0.1"]);
    assert!(code == Some(2) && said.contains("1 for 2 nodes"), "{said}");
    let (code, said) = say(&["sim", "calibrate", "--namespaces", "a=10.77.0.1"]);
    assert!(code == Some(2) && said.contains("at least two"), "{said}");
    let (code, said) = federation(&["--live"]);
    assert!(code == Some(2) && said.contains("can only be simulated"), "{said}");
}
