//! Scenario files of networks by themselves: the examples give what they gave, and what is wrong or too much is told.

use std::path::PathBuf;

use super::golden::is_golden;
use super::via::csv;
use super::{file, refusal, report};

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/simulations").join(name)
}

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("paths of this repository are UTF-8")
}

#[test]
fn the_examples_give_what_they_gave() {
    let columns = [
        "scenario",
        "shape",
        "hosts",
        "switches",
        "links",
        "messages",
        "mean_us",
        "std_us",
        "min_us",
        "p50_us",
        "p99_us",
        "utilisation",
        "utilisation_max",
        "host_utilisation_max",
        "lost",
        "left_over",
        "events",
        "digest",
    ];
    // A tenth of the time is enough to see a change.
    let short = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(example(name)).expect("the example is there");
        assert!(text.contains(from));
        let scenario = file(name, &text.replacen(from, to, 1));
        report(&[path(&scenario)])
    };
    let reports = [
        short("fat-tree.toml", "until = \"100ms\"", "until = \"10ms\""),
        short("hot-spot.toml", "until = \"2s\"", "until = \"200ms\""),
        short("juo-wan.toml", "until = \"10s\"", "until = \"1s\""),
    ];
    assert!(reports.iter().all(|report| report["schema"] == "meshrti.sim.network/1"));
    is_golden("networks-small.csv", &csv(&columns, &reports));
}

/// The examples of packets with rules: nothing is lost where ports push back, and marks and losses are told.
#[test]
fn packets_are_marked_held_back_and_lost_as_the_examples_say() {
    let short = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(example(name)).expect("the example is there");
        assert!(text.contains(from));
        report(&[path(&file(name, &text.replacen(from, to, 1)))])
    };
    let of = |report: &serde_json::Value, key: &str| report["rows"][0][key].as_u64();
    let cluster = short("storage-cluster.toml", "until = \"50ms\"", "until = \"5ms\"");
    for key in ["lost", "packets_dropped", "packets_lost"] {
        assert_eq!(of(&cluster, key), Some(0), "{key}");
    }
    assert!(of(&cluster, "packets_marked") > Some(100) && of(&cluster, "marked") > Some(10), "{cluster}");
    assert!(cluster["rows"][0]["deadlock_s"].is_null());
    let wan = short("lossy-wan.toml", "until = \"20s\"", "until = \"5s\"");
    assert!(of(&wan, "packets_lost") > Some(5) && of(&wan, "packets_lost") >= of(&wan, "lost"), "{wan}");
    let notes = wan["notes"].to_string();
    assert!(notes.contains("were lost on links") && notes.contains("nothing is sent again"), "{notes}");
    let fluid = short("fat-tree.toml", "until = \"100ms\"", "until = \"1ms\"");
    assert_eq!((of(&fluid, "packets_arrived"), of(&fluid, "marked")), (None, None));
}

/// Six switches in a ring, each with a host that sends to the next but one: all ports fill up, and each waits for the next.
#[test]
fn a_circle_of_full_ports_is_told_and_is_bad_news() {
    let text = std::fs::read_to_string(example("storage-cluster.toml")).expect("the example is there");
    let ring = text
        .replacen(
            "shape = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8",
            "shape = \"ring\"\nswitches = 6\nhosts_per_switch = 1",
            1,
        )
        .replacen("{ hot_spot = 0, share = 0.12 }", "{ shift = 2 }", 1)
        .replacen("\"120us\"", "\"5us\"", 1)
        .replacen("\"256KiB\"", "\"8kB\"", 1)
        .replacen("\"64KiB\" # packets", "\"6kB\" # packets", 1)
        .replacen("discipline = \"deficit-round-robin\"", "discipline = \"fifo\"", 1)
        .replacen("quantum = \"3kB\"", "", 1)
        .replacen("until = \"50ms\"", "until = \"5ms\"", 1)
        .replacen("100-gigabit", "10-gigabit", 1);
    let scenario = file("ring.toml", &ring);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_meshrti"))
        .args(["sim", path(&scenario)])
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said} {}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("mean µs") && said.contains("6 links wait for each other"), "{said}");
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)] {
        assert!(said.contains(&format!("switch {from} to switch {to}")), "{said}");
    }
}

#[test]
fn models_of_packets_and_links_are_held_to_what_makes_sense() {
    let text = std::fs::read_to_string(example("storage-cluster.toml")).expect("the example is there");
    let wan = std::fs::read_to_string(example("lossy-wan.toml")).expect("the example is there");
    for (text, from, to, why) in [
        (
            &text,
            "quantum = \"3kB\"",
            "quantum = \"1kB\"",
            "a quantum of 1000 bytes is less than a packet on links of hosts, which takes 1538",
        ),
        (
            &text,
            "buffer = \"256KiB\"",
            "buffer = \"1500B\"",
            "a buffer of 1500 bytes has no room for a packet on links of hosts, which takes 1538",
        ),
        (
            &text,
            "mark_above = \"64KiB\"",
            "mark_above = \"1MiB\"",
            "marked above 1048576 bytes, and never more than 262144 bytes wait",
        ),
        (
            &text,
            "kind = \"packets\"",
            "kind = \"packets\"\npacket_size = \"9kB\"",
            "packets of 9000 bytes are too large for links of hosts: one holds 1472",
        ),
        (
            &wan,
            "kind = \"packets\"\nbuffer = \"512KiB\"",
            "kind = \"max-min\"",
            "packets are lost on the line between HARBOUR and SHIP: a fluid has no packets",
        ),
        (&wan, "loss = \"0.5%\"", "loss = \"100%\"", "line 1 of `lines`: `loss` is 100%"),
        (&wan, "delay = \"4ms\", rate", "rate", "line 2 of `lines`: `delay` is missing"),
    ] {
        assert!(text.contains(from), "{from}");
        let (status, error) = refusal(&[path(&file("packets-wrong.toml", &text.replacen(from, to, 1)))]);
        assert_eq!((status, error.contains(why)), (Some(2), true), "{to}: {error}");
    }
}

#[test]
fn mistakes_are_reported_and_excess_is_warned_of() {
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    let say = |from: &str, to: &str| {
        let scenario = file("wrong.toml", &text.replacen(from, to, 1));
        refusal(&[path(&scenario)])
    };
    for (from, to, why) in [
        ("\"64KiB\"", "65536", "the unit is missing"),
        ("ports = 8", "ports = 7", "the number of ports is 7; expected an even number"),
        ("\"uniform\"", "{ shift = 128 }", "leads each of the 128 hosts to itself"),
        ("ports = 8", "ports = 100000", "too many"),
        ("ports = 8", "ports = 96", "too many for shortest paths"),
        ("kind = \"network\"", "kind = \"net\"", "unknown kind `net`, expected `network`, `federation`"),
    ] {
        let (status, error) = say(from, to);
        assert_eq!((status, error.contains(why)), (Some(2), true), "{to}: {error}");
    }
    let star = text.replacen("shape = \"fat-tree\"\nports = 8", "shape = \"star\"\nhosts = 600000000", 1);
    let (status, error) = refusal(&[path(&file("large.toml", &star)), "--replications", "4", "--jobs", "4"]);
    assert_eq!(status, Some(1), "{error}");
    assert!(error.contains("this needs about 558.8 GiB of memory, and "), "{error}");
    assert!(error.contains("4 runs at a time"), "{error}");
    let hot =
        file("hot.toml", &text.replacen("\"63us\"", "\"10us\"", 1).replacen("\"100ms\"", "\"50us\"", 1));
    let notes = report(&[path(&hot)])["notes"].to_string();
    assert!(notes.contains("warning: a host sends 2.10 times what its link can carry"), "{notes}");
}

#[test]
fn requests_and_responses_are_told_there_and_back() {
    let text = std::fs::read_to_string(example("request-response.toml")).expect("the example is there");
    let text = text.replacen("until = \"2s\"", "until = \"300ms\"", 1);
    let of = |text: &str| report(&[path(&file("exchange.toml", text))]);
    let whole = of(&text);
    let row = &whole["rows"][0];
    let exchanges = &row["exchanges"];
    let count = exchanges["count"].as_u64().expect("a number");
    assert!(count > 300 && row["messages"] == 2 * count && exchanges["failed"] == 0, "{row}");
    // Four links of 4.5 us, 60 us in hosts, and no less than nothing for the rest.
    assert!(exchanges["min_us"].as_f64() > Some(78.0), "{exchanges}");
    let notes = whole["notes"].to_string();
    assert!(notes.contains("requests were answered from 0s to 300ms, there and back: mean "), "{notes}");
    assert!(notes.contains("by MSER-5 the first run has settled at "), "{notes}");
    assert!(!notes.contains("warning"), "a closed loop carries what it can: {notes}");
    // A host that thinks half as long asks more often, and waits longer.
    let eager = of(&text.replacen("mean = \"20ms\"", "mean = \"5ms\"", 1))["rows"][0]["exchanges"].clone();
    assert!(
        eager["count"].as_u64() > Some(count) && eager["mean_us"].as_f64() > exchanges["mean_us"].as_f64()
    );
}

#[test]
fn objects_send_from_their_hosts() {
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    let arrivals = "{ process = \"poisson\", mean_gap = \"63us\" }";
    let lines = text.lines().filter(|line| !line.starts_with("message_size"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let with = |objects: &str, until: &str| {
        assert!(text.contains(arrivals));
        let text = text.replacen(arrivals, objects, 1).replacen("\"100ms\"", until, 1);
        file("objects.toml", &text)
    };
    let scenario = with("{ process = \"objects\", workload = \"full4\", per_host = 10 }", "\"2s\"");
    let first = report(&[path(&scenario)]);
    let messages = first["rows"][0]["messages"].as_f64().expect("a number");
    assert!((2_000.0..9_000.0).contains(&messages), "{messages}");
    assert_eq!(report(&[path(&scenario)])["rows"][0]["digest"], first["rows"][0]["digest"]);

    let class = "[[class]]\nname = \"ship\"\ncount = 5\npreset = \"table1\"\n";
    file("ships.toml", class);
    let ships = with("{ process = \"objects\", workload = \"ships.toml\" }", "\"2s\"");
    let messages = report(&[path(&ships)])["rows"][0]["messages"].as_f64().expect("a number");
    assert!((messages / (128.0 * 5.0 * 2.77 * 2.0) - 1.0).abs() < 0.2, "{messages}");
    let none = with("{ process = \"objects\", workload = \"boats.toml\" }", "\"2s\"");
    let (status, error) = refusal(&[path(&none)]);
    assert!(
        status == Some(2) && error.contains("boats.toml") && error.contains("presets are table1"),
        "{error}"
    );
}

#[test]
fn files_tell_the_course_over_time_and_links() {
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    let scenario = file("course.toml", &text.replacen("until = \"100ms\"", "until = \"5ms\"", 1));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("course");
    let trace = folder.with_extension("json");
    let words = [path(&scenario), "--csv", path(&folder), "--plots", path(&folder), "--trace", path(&trace)];
    let report = report(&words);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was written");
    let rows = |name: &str| read(name).lines().count() - 1;
    assert_eq!(rows("timeline.csv"), 100);
    assert_eq!(rows("links.csv") as u64, report["rows"][0]["links"].as_u64().expect("a number"));
    assert!(read("latency.csv").trim_end().ends_with(",1"), "all of them up to the last");
    for chart in ["latency-over-time", "load-over-time", "latency-histogram", "latency-cdf", "links"] {
        assert!(read(&format!("{chart}.svg")).starts_with("<svg"));
    }
    assert!(!folder.join("links-heat.svg").exists(), "a fat tree has no plane");
    let trace = std::fs::read_to_string(trace).expect("it was written");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("it is JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count() as u64;
    let messages = report["rows"][0]["messages"].as_u64().expect("a number");
    assert_eq!((of("b"), of("e"), of("C")), (messages, messages, 200));
    for (scenario, words) in
        [("router-tree-vs-mesh", ["--trace", "t.json"]), ("via-four-hop", ["--csv", "t"])]
    {
        let (status, said) = refusal(&[scenario, words[0], words[1]]);
        assert!(status == Some(2) && said.contains("via-torus"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_gives_what_is_known_so_far() {
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    // Long enough that nobody sees its end.
    let scenario = file("long.toml", &text.replacen("until = \"100ms\"", "until = \"9999s\"", 1));
    let (status, said) = super::stopped(&[path(&scenario), "--replications", "3", "--jobs", "1"]);
    assert_eq!(status, Some(130), "{said}");
    assert!(said.contains("stopped by the user: 1 of 3 runs"), "{said}");
    assert!(said.contains("mean µs"), "{said}");
}

#[test]
fn a_table_of_sites_is_read_by_name() {
    let text = std::fs::read_to_string(example("juo-wan.toml")).expect("the example is there");
    let short = text.replacen("until = \"10s\"", "until = \"1s\"", 1);
    for (from, to, why) in [
        (
            "between = [\"NORFOLK\", \"MAUI\"]",
            "between = [\"NORFOLK\", \"MAUII\"]",
            "line 2 of `lines`: there is no site `MAUII`",
        ),
        ("name = \"MAUI\"", "name = \"NORFOLK\"", "two sites are called `NORFOLK`"),
        (
            "to = \"MAUI\", via = \"NORFOLK\"",
            "to = \"MAUI\", via = \"OAHU\"",
            "entry 1 of `routes`: there is no site `OAHU`",
        ),
        (
            "hosts = { rate",
            "switches = { rate = \"1Gbit/s\", delay = \"1us\" }\nhosts = { rate",
            "leave `switches` out",
        ),
        (
            "{ at = \"DAYTON\", to = \"MAUI\", via = \"NORFOLK\" }",
            "{ at = \"NORFOLK\", to = \"DAYTON\", via = \"SAN-DIEGO\" }",
            "routes from NORFOLK to DAYTON go in a circle",
        ),
        ("rate = \"10Mbit/s\", delay = \"33ms\"", "rate = \"0Mbit/s\", delay = \"33ms\"", "rate"),
    ] {
        assert!(short.contains(from), "{from}");
        let (status, error) = refusal(&[path(&file("wan-wrong.toml", &short.replacen(from, to, 1)))]);
        assert_eq!((status, error.contains(why)), (Some(2), true), "{to}: {error}");
    }
    // Straight ways load the lines less, and are quicker.
    let (before, rest) = short.split_once("# The quickest way").expect("it has routes");
    let straight = before.to_owned() + rest.split_once("\n]\n").expect("they end").1;
    let mean = |name: &str, text: &str| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let report = report(&[path(&file(&format!("{name}.toml"), text)), "--csv", path(&folder)]);
        let links = std::fs::read_to_string(folder.join("links.csv")).expect("it was written");
        let direct = links.lines().find(|line| line.starts_with("MAUI,DAYTON,true,"));
        let share: f64 = direct.and_then(|line| line.split(',').nth(3)?.parse().ok()).expect("a share");
        (report["rows"][0]["mean_us"].as_f64().expect("a number"), share)
    };
    let (by_norfolk, unused) = mean("wan-by-norfolk", &short);
    let (direct, used) = mean("wan-straight", &straight);
    assert!(
        direct < 0.8 * by_norfolk && unused == 0.0 && used > 0.01,
        "{direct} {by_norfolk} {unused} {used}"
    );
}

#[test]
fn recorded_messages_are_sent_again() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    let (head, traffic) = text.split_once("[traffic]").expect("it has traffic");
    let (_, tail) = traffic.split_once("[model]").expect("and a model");
    let with = |traffic: &str| format!("{head}[traffic]\n{traffic}\n[model]{tail}");
    // The recording of a run on a torus can be read in another network.
    let messages = folder.join("recorded.csv");
    let torus =
        ["via-torus", "--torus", "4x4", "--hops", "2", "--until", "1600ms", "--messages", path(&messages)];
    let first = report(&torus);
    let scenario = file("replay.toml", &with("trace = \"recorded.csv\""));
    let again = report(&[path(&scenario)]);
    assert_eq!(again["rows"][0]["messages"], first["rows"][0]["messages"]);
    let notes = again["notes"].to_string();
    assert!(notes.contains("32,768 bytes a message"), "{notes}");
    let from =
        report(&[path(&file("replay-late.toml", &with("trace = \"recorded.csv\"\nfrom = \"1550ms\"")))]);
    assert!(from["rows"][0]["messages"].as_u64() < first["rows"][0]["messages"].as_u64());
    for (traffic, why) in [
        ("trace = \"nowhere.csv\"", "nowhere.csv: "),
        (
            "trace = \"recorded.csv\"\nmessage_size = \"1kB\"",
            "a `trace` says it all: leave `message_size` out",
        ),
        ("pattern = \"uniform\"", "`arrivals` is missing (or name a `trace`)"),
        ("trace = \"recorded.csv\"\nfrom = \"9s\"", "no message from 9s to"),
        ("trace = \"replay.toml\"", "line 1: there is no column `source`"),
    ] {
        let (status, error) = refusal(&[path(&file("replay-wrong.toml", &with(traffic)))]);
        assert_eq!((status, error.contains(why)), (Some(2), true), "{traffic}: {error}");
    }
}

/// Programs end by themselves: times of iterations, shares, and the total, with any number of threads.
#[test]
fn applications_give_what_they_gave() {
    let columns = [
        "program",
        "hosts",
        "iterations",
        "mean_us",
        "std_us",
        "min_us",
        "p50_us",
        "p99_us",
        "max_us",
        "compute_ratio",
        "communication_ratio",
    ];
    let short = |name: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(example(name)).expect("the example is there");
        assert!(text.contains(from));
        file(name, &text.replacen(from, to, 1))
    };
    let scenarios = [
        short("stencil.toml", "iterations = 200", "iterations = 20"),
        short("all-reduce.toml", "iterations = 50", "iterations = 10"),
        short("hla-time-peers.toml", "iterations = 1000", "iterations = 80"),
        short("hla-time-server.toml", "iterations = 1000", "iterations = 80"),
    ];
    let rows: Vec<serde_json::Value> = scenarios
        .iter()
        .flat_map(|scenario| {
            let row = report(&[path(scenario)])["rows"][0]["application"].take();
            assert_eq!(row["iterations_ended"], row["iterations"]);
            row["programs"].as_array().expect("there are programs").clone()
        })
        .collect();
    is_golden("applications-small.csv", &csv(&columns, &[serde_json::json!({ "rows": rows })]));
    let threads = |jobs| {
        let mut report = super::report(&[path(&scenarios[3]), "--replications", "3", "--jobs", jobs]);
        let mut row = report["rows"][0].take();
        for key in ["cpu_s", "messages_per_cpu_s", "rss_bytes"] {
            row[key].take();
        }
        row
    };
    assert_eq!(threads("1"), threads("3"));
}

#[test]
fn programs_that_wait_for_ever_are_refused_or_told() {
    let text = std::fs::read_to_string(example("hla-time-server.toml")).expect("the example is there");
    let from = "from = { program = \"federates\" }, tag = \"advance\"";
    let deadlock =
        file("deadlock.toml", &text.replacen(from, "from = { program = \"federates\" }, tag = \"x\"", 1));
    let (status, said) = refusal(&[path(&deadlock)]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("the programs deadlock: host 0 waits in iteration 1, phase 1 of `rti`"), "{said}");
    // A lost message is not sent again.
    let lossy = "hosts = { kind = \"gigabit-ethernet\", loss = \"0.01%\" }";
    let lossy = file("stall.toml", &text.replacen("hosts = \"gigabit-ethernet\"", lossy, 1));
    let output = super::meshrti(&["sim", path(&lossy)]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the programs stalled: the first message lost was one of host"), "{said}");
}

/// Messages of a simulation become a trace, by either of its files, and the replay of it is the same.
#[test]
fn messages_of_a_simulation_become_a_trace() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let [messages, perfetto, one, other] =
        ["from-messages.csv", "from-perfetto.json", "trace-one.csv", "trace-other.csv"]
            .map(|name| folder.join(name));
    let torus = ["via-torus", "--torus", "4x4", "--hops", "2", "--until", "1600ms"];
    let files = ["--messages", path(&messages), "--trace", path(&perfetto)];
    let first = report(&[&torus[..], &files].concat());
    for (input, output) in [(&messages, &one), (&perfetto, &other)] {
        let report = report(&["trace-from", path(input), "-o", path(output)]);
        assert_eq!(report["schema"], "meshrti.sim.trace-from/1");
        let rows = report["rows"].as_array().expect("rows");
        let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
        assert_eq!(first["rows"][0]["messages"], sum("sent"));
        assert_eq!((sum("sent"), rows.len()), (sum("received"), 64));
    }
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("it was written");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(read(&one), read(&other), "both have all messages");
    let text = std::fs::read_to_string(example("fat-tree.toml")).expect("the example is there");
    let (head, traffic) = text.split_once("[traffic]").expect("it has traffic");
    let (_, tail) = traffic.split_once("[model]").expect("and a model");
    let replay =
        file("replay-trace.toml", &format!("{head}[traffic]\ntrace = \"trace-one.csv\"\n[model]{tail}"));
    assert_eq!(report(&[path(&replay)])["rows"][0]["messages"], first["rows"][0]["messages"]);
    let pairs = ["trace-from", path(&messages), "-o", path(&one), "--host", "0=1", "--host", "8=0"];
    let some = report(&pairs);
    assert_eq!(some["rows"].as_array().map(Vec::len), Some(2));
    let scenario = example("fat-tree.toml");
    for (input, why) in [
        (path(&scenario), "it is no capture, and line 1 has no column `source`"),
        ("nowhere.pcap", "nowhere.pcap: it cannot be read"),
    ] {
        let (status, error) = refusal(&["trace-from", input, "-o", path(&other)]);
        assert_eq!((status, error.contains(why)), (Some(2), true), "{error}");
    }
    let empty = ["trace-from", path(&messages), "-o", path(&one), "--host", "0=1"];
    let (status, error) = refusal(&empty);
    assert_eq!(status, Some(2));
    assert!(
        error.contains("packets is a message between two hosts: ") && error.contains("without a --host"),
        "{error}"
    );
}

/// A cut cable costs static routes what would have crossed it, the others what is sent before they know.
#[test]
fn routes_follow_failures_and_loads() {
    let text = std::fs::read_to_string(example("adaptive-routing.toml")).expect("the example is there");
    let columns =
        ["rule", "messages", "mean_us", "p50_us", "p99_us", "utilisation_max", "lost", "unrouted", "digest"];
    let [adaptive, shortest, fixed] = ["adaptive", "shortest", "static"].map(|rule| {
        let name = format!("routing-{rule}.toml");
        report(&[path(&file(&name, &text.replacen("rule = \"adaptive\"", &format!("rule = \"{rule}\""), 1)))])
    });
    let of = |report: &serde_json::Value, key: &str| report["rows"][0][key].as_f64().expect("it is a number");
    assert!(of(&adaptive, "mean_us") < of(&shortest, "mean_us"));
    assert!(of(&shortest, "unrouted") < of(&fixed, "unrouted"));
    is_golden("routing-small.csv", &csv(&columns, &[adaptive, shortest, fixed]));
    let wrong = file("routing-wrong.toml", &text.replacen("[0, 6]", "[0, 1]", 1));
    let (status, error) = refusal(&[path(&wrong)]);
    assert_eq!(status, Some(2));
    assert!(error.contains("fault 1: no cable joins switches 0 and 1 of 8"), "{error}");
}

/// A torus, a fat tree and one switch behind lines: messages between sites take at least the delay of a line.
#[test]
fn clusters_stand_behind_lines() {
    let text = std::fs::read_to_string(example("clusters-wan.toml")).expect("the example is there");
    let scenario = file("clusters.toml", &text.replacen("until = \"1s\"", "until = \"50ms\"", 1));
    let links = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("clusters");
    let report = report(&[path(&scenario), "--csv", path(&links)]);
    let columns = [
        "shape",
        "hosts",
        "switches",
        "links",
        "messages",
        "mean_us",
        "p50_us",
        "p99_us",
        "utilisation_max",
        "digest",
    ];
    assert_eq!(report["rows"][0]["hosts"], 64 + 54 + 8);
    is_golden("clusters-small.csv", &csv(&columns, &[report]));
    let links = std::fs::read_to_string(links.join("links.csv")).expect("it was written");
    assert!(links.contains("NORTH,SOUTH,") && links.contains("NORTH/4,"), "{links}");
}
