//! `meshrti sim`: the built-in scenario gives the figures it always gave, they are as good as they must be, and wrong use is
//! told precisely.

mod exercise;
mod federation;
#[path = "common/golden.rs"]
mod golden;
mod network;
mod via;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};
#[cfg(unix)]
use std::time::Duration;

use golden::is_golden;
use serde_json::Value;

fn meshrti(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshrti")).args(arguments).output().expect("the program starts")
}

fn report(arguments: &[&str]) -> Value {
    let output = meshrti(&[&["sim"], arguments, &["--json"]].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).expect("the standard output is one JSON object")
}

fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let output = meshrti(&[&["sim"], arguments].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Starts a simulation that takes long, stops it by Ctrl-C once it listens, and gives its exit status and what it said.
#[cfg(unix)]
fn stopped(arguments: &[&str]) -> (Option<i32>, String) {
    stopped_after(Duration::ZERO, arguments)
}

/// The same, this long after it listens.
#[cfg(unix)]
fn stopped_after(delay: Duration, arguments: &[&str]) -> (Option<i32>, String) {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args([&["sim"], arguments, &["--verbose"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    // Before it listens to signals Ctrl-C would end it without a word.
    while !line.contains("Ctrl-C") {
        line.clear();
        assert!(log.read_line(&mut line).expect("it can be read") > 0, "it ended early");
    }
    std::thread::sleep(delay);
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.expect("there is such a command").success());
    let mut said = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut said).expect("it can be read");
    (child.wait().expect("it ends").code(), said)
}

/// A file in the folder for tests' own files.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the folder is there");
    path
}

/// The columns of the golden file.
const COLUMNS: [&str; 14] = [
    "study",
    "topology",
    "hops",
    "size_bytes",
    "pairs",
    "links",
    "mean_us",
    "std_us",
    "min_us",
    "max_us",
    "speedup_ratio",
    "slow_ratio",
    "slow_over_fast_ratio",
    "bimodal",
];

fn csv(report: &Value) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in report["rows"].as_array().expect("rows") {
        let cells = COLUMNS.map(|column| match &row[column] {
            Value::Null => String::new(),
            Value::String(word) => word.clone(),
            value => value.to_string(),
        });
        writeln!(text, "{}", cells.join(",")).expect("a string takes everything");
    }
    text
}

/// The rows of a study, by topology, hops and size.
fn rows<'a>(report: &'a Value, study: &str) -> BTreeMap<(&'a str, u64, u64), &'a Value> {
    let rows = report["rows"].as_array().expect("rows").iter().filter(|row| row["study"] == study);
    let key = |row: &'a Value| {
        let number = |key: &str| row[key].as_u64().expect("a number");
        (row["topology"].as_str().expect("a name"), number("hops"), number("size_bytes"))
    };
    rows.map(|row| (key(row), row)).collect()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().expect("a number")
}

/// Of experiments with many runs those that had ended are told, without the tables that nothing is known of.
#[cfg(unix)]
#[test]
fn ctrl_c_gives_the_runs_of_experiments_that_had_ended() {
    for (name, known) in [
        ("srmp-queueing", "figures are of the runs that had ended"),
        ("srmp-tcp", "figures are of the runs that had ended"),
        ("srmp-q4", "figures are of the runs that had ended"),
        ("srmp-q5", "figures are of the runs that had ended"),
        ("table1", "before all runs of a reading had ended"),
    ] {
        let seconds: &[&str] = if name == "table1" { &[] } else { &["--seconds", "10"] };
        let many = [&[name, "--replications", "1000", "--jobs", "1"], seconds].concat();
        // Until some run has ended, however busy this machine is.
        let delays = (0..8).map(|power| Duration::from_millis(500 << power));
        let told = delays.map(|delay| stopped_after(delay, &many)).find(|(status, said)| {
            assert_eq!(*status, Some(130), "{name}: {said}");
            said.contains(known)
        });
        let (_, said) = told.unwrap_or_else(|| panic!("{name}: no run ended in a minute"));
        assert!(said.contains("stopped by the user") && !said.contains("NaN"), "{name}: {said}");
    }
}

/// A run under way does not go to its end, which would take minutes, and the first one leaves nothing to tell.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_long_run_of_a_group() {
    for arguments in [
        ["srmp-scale", "--receivers", "5000"],
        ["srmp-goals", "--receivers", "5000"],
        ["srmp-consistency", "--seconds", "86400"],
    ] {
        let (status, said) = stopped(&arguments);
        assert_eq!(status, Some(130), "{arguments:?}: {said}");
        let sentence = "stopped by the user before the first run had ended: there are no figures of runs\n";
        assert!(said.ends_with(sentence), "{arguments:?}: {said}");
    }
}

/// Whatever is not there yet is left out of all of them, and of their files.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_every_experiment_with_groups_at_once() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stopped");
    let to = folder.to_str().expect("a path of letters");
    let check = |name: &str, files: &[&str]| {
        // srmp-goals has one run only.
        let more: &[&str] = if name == "srmp-goals" { &[] } else { &["--replications", "1000"] };
        let (status, said) = stopped(&[&[name], more, files].concat());
        assert_eq!(status, Some(130), "{name}: {said}");
        assert!(said.contains("stopped by the user") && !said.contains("NaN"), "{name}: {said}");
    };
    for name in ["table1", "srmp-table1", "srmp-scale", "srmp-goals"] {
        check(name, &[]);
    }
    for name in ["consistency", "queueing", "tcp", "q1", "q2", "q3", "q4", "q5"] {
        check(&format!("srmp-{name}"), &["--csv", to, "--plots", to]);
    }
}

#[test]
fn tree_against_mesh_is_what_it_was_and_what_it_must_be() {
    let report = report(&["router-tree-vs-mesh"]);
    assert_eq!(report["schema"], "meshrti.sim.router-tree-vs-mesh/1");
    is_golden("router-tree-vs-mesh.csv", &csv(&report));
    links_are_those_of_the_paper(&report);
    the_mesh_is_as_much_faster_as_it_must_be(&report);
    large_messages_are_limited_by_bandwidth(&report);
    late_starters_part_the_tree_in_two(&report);
}

/// Table 1 of the paper, as the routers themselves counted.
fn links_are_those_of_the_paper(report: &Value) {
    for study in ["exchanges", "late starters"] {
        for ((topology, hops, _), row) in rows(report, study) {
            let expected = if topology == "tree" { [2, 4, 6, 8] } else { [2, 3, 3, 3] };
            assert_eq!(row["links"], expected[hops as usize], "{row}");
        }
    }
}

/// Figures 15 and 16 of the paper, and what must come out of them.
fn the_mesh_is_as_much_faster_as_it_must_be(report: &Value) {
    let rows = rows(report, "exchanges");
    for ((_, hops, size), row) in rows.iter().filter(|((topology, ..), _)| *topology == "mesh") {
        let speedup = number(row, "speedup_ratio");
        match hops {
            0 => assert!((speedup - 1.0).abs() < 0.005, "0 hops are equal: {row}"),
            1 => assert!(speedup > 1.0, "{row}"),
            _ => assert!(speedup >= 2.0, "2 and 3 hops are at least twice as fast: {row}"),
        }
        let mean = |hops| number(rows[&("mesh", hops, *size)], "mean_us");
        if *hops > 0 {
            assert!((mean(*hops) / mean(1) - 1.0).abs() < 0.02, "hops make no difference to the mesh: {row}");
        }
    }
    // In step, all pairs are delayed alike: contention alone makes no groups.
    assert!(rows.values().all(|row| row["bimodal"] == false));
}

/// Figures 13 to 16 and 19 of the paper, over all sizes.
fn large_messages_are_limited_by_bandwidth(report: &Value) {
    let (other, large) = (rows(report, "other sizes"), rows(report, "large messages"));
    for topology in ["tree", "mesh"] {
        for hops in [0, 2, 3] {
            let at = |rows: &BTreeMap<(&str, u64, u64), &Value>, size| {
                number(rows[&(topology, hops, size)], "bandwidth_mb_per_s")
            };
            // A small message costs time for itself, a large one for its bytes.
            assert!(at(&other, 64) > 7.0 * at(&other, 8), "{topology}, {hops} hops");
            assert!(at(&large, 1_000_000) < 1.1 * at(&large, 262_144), "{topology}, {hops} hops");
        }
    }
    for ((topology, hops, _), row) in other.iter().chain(&large) {
        if *topology == "mesh" && *hops == 0 {
            assert!((number(row, "speedup_ratio") - 1.0).abs() < 0.01, "{row}");
        }
    }
}

/// Figure 18 of the paper.
fn late_starters_part_the_tree_in_two(report: &Value) {
    let rows = rows(report, "late starters");
    for hops in [2, 3] {
        let tree = rows[&("tree", hops, 8_192)];
        assert_eq!(tree["bimodal"], true, "{tree}");
        assert_eq!(tree["slow_ratio"], 0.25, "the late ones are the slow ones: {tree}");
        assert!(number(tree, "slow_over_fast_ratio") > 4.0, "{tree}");
        let mesh = rows[&("mesh", hops, 8_192)];
        assert_eq!(mesh["bimodal"], false, "{mesh}");
        assert!(number(mesh, "max_us") / number(mesh, "min_us") < 1.2, "narrow: {mesh}");
    }
    assert_eq!(rows[&("tree", 0, 8_192)]["bimodal"], false);
    let distributions = report["summary"]["distributions"].as_array().expect("distributions");
    assert_eq!(distributions.len(), 6);
    for distribution in distributions {
        let counts = distribution["counts"].as_array().expect("counts").iter().filter_map(Value::as_u64);
        assert_eq!(counts.sum::<u64>(), 48, "{distribution}");
    }
}

/// The built-in scenario made small.
fn small() -> String {
    let text = include_str!("../../../studies/routers/scenarios/router-tree-vs-mesh.toml");
    let (text, _) = text.split_once("# Figure 18").expect("the second study");
    text.replace("fan_outs = [2, 2, 4]", "fan_outs = [2, 2]")
        .replace("federates_per_leaf = 6", "federates_per_leaf = 2")
        .replace("hops = [0, 1, 2, 3]", "hops = [0, 2]")
        .replace("[1024, 2048, 4096, 8192, 10240]", "[100, 1000]")
        .replace("exchanges = 50", "exchanges = 3")
        .replace("pairs = [48]", "pairs = [1, 4]")
}

#[test]
fn a_file_of_ones_own_whatever_the_jobs() {
    let path = file("small.toml", &small());
    let path = path.to_str().expect("a name of plain characters");
    let run = |jobs: &str| report(&[path, "--seed", "7", "--replications", "3", "--jobs", jobs]);
    let (one, four) = (run("1"), run("4"));
    assert_eq!(one["rows"], four["rows"]);
    assert_eq!(one["seed"], 7);
    assert_eq!(one["summary"]["scenario"], "small");
    let rows = one["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 2 * 2 * 2);
    assert!(rows.iter().all(|row| row["ci95_us"].is_number()));
    let other = report(&[path, "--seed", "8", "--replications", "3"]);
    assert_ne!(one["rows"], other["rows"], "chance comes from the seed");
}

#[test]
fn the_papers_figures_are_tables_and_charts() {
    let text = small().replace("histogram_of_bytes = []", "histogram_of_bytes = [1000]");
    let scenario = file("figures.toml", &text.replace("pairs = [1, 4]", "pairs = [4]"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("figures");
    let path = |path: &PathBuf| path.to_str().expect("a name of plain characters").to_owned();
    let report = report(&[&path(&scenario), "--csv", &path(&folder), "--plots", &path(&folder)]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was written");
    let rows = |name: &str| read(name).lines().count() - 1;
    assert_eq!(rows("exchanges.csv"), report["rows"].as_array().expect("rows").len());
    assert_eq!(rows("pairs.csv"), 2 * 2 * 4, "four pairs for each topology and distance");
    assert!(read("pairs.csv").trim_end().ends_with(",1"), "all of them up to the last");
    for chart in ["times-tree", "times-mesh", "ratio", "ratio-linear", "bandwidth"] {
        assert!(read(&format!("{chart}.svg")).contains("2 hops"), "{chart}");
    }
    for topology in ["tree", "mesh"] {
        assert!(read(&format!("cdf-exchanges-{topology}-1000.svg")).contains("share of pairs"));
    }
}

/// Figure 9 of the router paper, small: what it says about sizes and topologies.
#[test]
fn a_mesh_delivers_more_of_a_flood_than_a_tree() {
    let report = report(&["router-floods", "--pairs", "8", "--layers", "2,4", "--sizes", "64,8192"]);
    assert_eq!(report["schema"], "meshrti.sim.router-floods/1");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 2 * 2 * 2, "topologies, partners, frames, sizes");
    for row in rows {
        let of = |size: u64| {
            let same = |other: &&Value| {
                ["topology", "partners", "updates"].iter().all(|key| other[*key] == row[*key])
                    && other["size_bytes"] == size
            };
            rows.iter().find(same).and_then(|row| row["updates_per_s"].as_f64()).expect("a rate")
        };
        assert!(of(64) > of(8_192), "{row}");
        match row["topology"].as_str() {
            Some("mesh") => {
                // A few pairs anywhere do not fill the tree.
                let least = if row["partners"] == "across" { 1.4 } else { 0.95 };
                assert!(row["ratio"].as_f64().expect("a ratio") > least, "{row}");
            }
            _ => assert!(row["ratio"].is_null(), "{row}"),
        }
    }
    let (status, error) = refusal(&["router-floods", "--pairs", "0"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("the number of pairs must be from 1 to 16384, not 0"), "{error}");
}

#[test]
fn table_1_of_the_router_paper_is_counted_by_the_routers() {
    let report = report(&["router-table1"]);
    assert_eq!(report["schema"], "meshrti.sim.router-table1/1");
    assert_eq!(report["summary"]["passed"], true);
    let columns = ["topology", "hops", "links", "paper_links", "equal"];
    is_golden("router-table1.csv", &via::csv(&columns, &[report]));
}

/// The paper's latency run of three levels: the mesh is better, and by how much is seen only where
/// federates take messages at once.
#[test]
fn one_exchange_at_a_time_is_shorter_on_the_mesh_by_less_than_its_error() {
    let report = report(&["router-latency", "--sizes", "128", "--looks", "0,1000", "--exchanges", "100"]);
    assert_eq!(report["schema"], "meshrti.sim.router-latency/1");
    assert_eq!(report["summary"]["passed"], true);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 4, "looks; 0, 1 and 2 hops, and any");
    for row in rows {
        let (hops, ratio) = (row["hops"].as_str().expect("hops"), number(row, "ratio"));
        let links = (&row["tree_links"], &row["mesh_links"]);
        match hops.parse::<usize>() {
            Ok(hops) => assert_eq!(links, (&[2, 4, 6][hops].into(), &[2, 3, 3][hops].into()), "{row}"),
            Err(_) => {
                assert_eq!(row["within_error"], if row["look_us"] == 0 { "no" } else { "yes" }, "{row}");
            }
        }
        if row["look_us"] == 0 {
            // A message crosses as many links; the triads' pipes are the rest.
            let of_links = |key| row[key].as_f64();
            if let (Some(tree), Some(mesh)) = (of_links("tree_links"), of_links("mesh_links")) {
                assert!((ratio / (tree / mesh) - 1.0).abs() < 0.03, "{row}");
            }
        }
    }
    let (status, error) = refusal(&["router-latency", "--fan-outs", "3,3"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("the fan-out there must be even to pair 1-hop neighbours, not 3"), "{error}");
}

/// Figures 13 to 19 of the router paper, in the reading that needs no contention.
#[test]
fn statements_of_the_router_paper_stand_beside_ours() {
    let report = report(&["router-figures", "--readings", "alone"]);
    assert_eq!(report["schema"], "meshrti.sim.router-figures/1");
    let rows = report["rows"].as_array().expect("rows");
    let of = |table: &str| rows.iter().filter(|row| row["table"] == table).collect::<Vec<_>>();
    assert_eq!(of("reasons").len(), 9);
    let figures = of("figures");
    let holds = |claim: &str| figures.iter().find(|row| row["claim"] == claim).map(|row| &row["holds"]);
    assert_eq!(holds("1"), Some(&Value::from("yes")), "curves meet at a megabyte: {figures:?}");
    assert_eq!(holds("2"), Some(&Value::from("no")), "0 hops of the mesh are apart: {figures:?}");
    assert_eq!(holds("8"), None, "a pair alone has no groups: {figures:?}");
    for reading in ["rti", "alone", "per-byte"] {
        let shown = meshrti(&["sim", "router-tree-vs-mesh", "--reading", reading, "--show"]);
        let text = String::from_utf8_lossy(&shown.stdout);
        assert!(shown.status.success() && text.contains("kind = \"router-networks\""), "{reading}: {text}");
    }
}

/// Sendings of reliable messages of SRMP to three receivers: copies are what is above the optimum.
#[test]
fn sendings_of_a_source_stand_beside_the_optimum_and_a_live_run() {
    let report = report(&["srmp-sendings", "--replications", "3"]);
    assert_eq!(report["schema"], "meshrti.sim.srmp-sendings/1");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 2 * 2 + 1, "sizes, delays, copies; a live run");
    for row in rows {
        let (each, optimum) = (number(row, "sendings_per_message"), number(row, "optimum"));
        assert!((optimum - 1.15).abs() < 0.002, "{row}");
        match row["copies"].as_str() {
            Some("none") => assert!(row["copies_sent"] == 0 && each < 1.3 * optimum, "{row}"),
            _ => assert!(number(row, "copies_sent") > number(row, "repairs"), "{row}"),
        }
    }
}

#[test]
fn there_is_a_list_and_every_scenario_can_be_shown() {
    let list = report(&["list"]);
    let rows = list["rows"].as_array().expect("rows");
    for name in ["router-tree-vs-mesh", "juo", "via-torus", "srmp-q5", "interest-scale", "calibrate"] {
        assert!(rows.iter().any(|row| row["scenario"] == name), "{name}: {list}");
    }
    let shown = meshrti(&["sim", "router-tree-vs-mesh", "--show"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert_eq!(text, include_str!("../../../studies/routers/scenarios/router-tree-vs-mesh.toml"));
}

#[test]
fn wrong_use_is_told_precisely() {
    let (status, error) = refusal(&["nowhere"]);
    assert_eq!(status, Some(2));
    assert!(error.contains("nowhere: no built-in scenario, and as a file it cannot be read"), "{error}");
    let path = file("wrong.toml", &small().replace("hops = ", "hopps = "));
    let (status, error) = refusal(&[path.to_str().expect("plain")]);
    assert_eq!(status, Some(2));
    assert!(error.contains("unknown field `hopps`") && error.contains("line "), "{error}");
    let path = file("too-far.toml", &small().replace("hops = [0, 2]", "hops = [4]"));
    let (status, error) = refusal(&[path.to_str().expect("plain")]);
    assert_eq!(status, Some(1));
    assert!(
        error.contains("tree, 4 hops, 1 pairs: the number of hops must be from 0 to 2, not 4"),
        "{error}"
    );
}

#[test]
fn a_file_has_the_options_of_its_kind() {
    let path = file("kind.toml", &small());
    let path = path.to_str().expect("plain");
    let named = meshrti(&["sim", "router-networks", path, "--show"]);
    assert_eq!(named.stdout, meshrti(&["sim", path, "--show"]).stdout);
    assert_eq!(named.stdout, meshrti(&["--quiet", "sim", path, "--show"]).stdout);
    let (status, error) = refusal(&[path, "--trace", "t.json"]);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("hint: --trace is an option of network, via-torus"), "{error}");
    let other = file("other.toml", "kind = \"flight\"");
    let (status, error) = refusal(&[other.to_str().expect("plain")]);
    assert!(status == Some(2) && error.contains("unknown kind `flight`, expected `network`"), "{error}");
    let (status, error) = refusal(&["--seed", "3", "juo"]);
    assert!(status == Some(2) && error.contains("hint: meshrti sim SCENARIO --seed"), "{error}");
}

#[test]
fn grant_scale_counts_what_a_grant_of_logical_time_costs() {
    let report =
        report(&["grant-scale", "--nodes", "2,3", "--federates", "2", "--steps", "4", "--ratio-max", "9"]);
    let rows = report["rows"].as_array().expect("rows");
    let [lock_step, events] =
        ["lock-step", "events"].map(|name| rows.iter().filter(move |row| row["workload"] == name));
    assert_eq!(events.count(), 2);
    let grants: Vec<_> = lock_step.map(|row| row["grants"].as_u64()).collect();
    assert_eq!(grants, [Some(2 * 2 * 4), Some(3 * 2 * 4)]);
    assert!(rows.iter().all(|row| row["messages"].as_u64() > Some(0)), "{rows:?}");
}

#[test]
fn region_scale_counts_what_a_wanted_update_costs() {
    let run = ["--nodes", "2,3", "--warm-up", "20", "--seconds", "2", "--ratio-max", "99"];
    let report = report(&[&["region-scale", "--entities", "20", "--area-km2", "100"][..], &run].concat());
    let rows = report["rows"].as_array().expect("rows");
    let nodes: Vec<_> = rows.iter().map(|row| row["nodes"].as_u64()).collect();
    assert_eq!(nodes, [Some(2), Some(3)]);
    for row in rows {
        let (part, all) = (&row["with_regions"], &row["without"]);
        assert_eq!(part["updates"], all["updates"]);
        assert!(
            part["wanted"].as_u64() < all["wanted"].as_u64() && row["ratio"].as_f64() > Some(0.5),
            "{row}"
        );
    }
}

#[test]
fn interest_scale_counts_what_a_change_of_interest_costs() {
    let report = report(&["interest-scale", "--nodes", "6", "--federates", "1"]);
    let rows = report["rows"].as_array().expect("rows");
    let of = |publishing: u64| {
        let row = rows.iter().find(|row| row["what"] == "subscribe" && row["publishing_nodes"] == publishing);
        row.expect("there is such a class")["router"].as_u64()
    };
    assert_eq!([of(0), of(1), of(4)], [Some(0), Some(3), Some(12)]);
    let (code, text) = refusal(&["via-torus", "--nodes", "6"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("interest-scale"), "{text}");
}
